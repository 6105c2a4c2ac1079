"""All open transactions, by XID and by age. Counterpart of `capture/logminer/buffer/transactions.py`."""


cdef struct linked:
    void *oldest
    void *newest
    size_t count


cdef void link(linked *chain, OpenTransaction transaction) noexcept:
    """Into its place by order."""
    cdef void *newer = NULL
    cdef void *older = chain.newest
    while older != NULL and (<OpenTransaction>older).order > transaction.order:
        newer, older = older, (<OpenTransaction>older).older
    transaction.older, transaction.newer = older, newer
    if older == NULL:
        chain.oldest = <void *>transaction
    else:
        (<OpenTransaction>older).newer = <void *>transaction
    if newer == NULL:
        chain.newest = <void *>transaction
    else:
        (<OpenTransaction>newer).older = <void *>transaction
    chain.count += 1


cdef void unlink(linked *chain, OpenTransaction transaction) noexcept:
    if transaction.older == NULL:
        chain.oldest = transaction.newer
    else:
        (<OpenTransaction>transaction.older).newer = transaction.newer
    if transaction.newer == NULL:
        chain.newest = transaction.older
    else:
        (<OpenTransaction>transaction.newer).older = transaction.older
    transaction.older = transaction.newer = NULL
    chain.count -= 1


cdef class TransactionBuffer:
    """See `transactions.TransactionBuffer`, whose methods these are.

    :param make_spill: () -> SpillFile.
    :param make_row, make_start: of tuples, or arguments, what Python works with.
    :param undo_change: see `undo.undo_change`.
    """

    cdef xid_table table
    cdef linked active, untouched  # with captured rows, and with nothing but a START
    cdef int64_t order, held_bytes, memory_max
    cdef object make_spill, make_row, make_start, undo_change
    cdef Names names
    cdef public set given_up
    # See `transactions.TransactionBuffer.watch`.
    cdef dict logs, asleep, floors

    def __cinit__(self, int64_t memory_max, make_spill, make_row, make_start, undo_change):
        self.memory_max, self.make_spill, self.make_row = memory_max, make_spill, make_row
        self.make_start, self.undo_change = make_start, undo_change
        self.given_up, self.names = set(), Names()

    def __dealloc__(self):
        self.forget_all()
        xid_free(&self.table)

    def __len__(self):
        return self.active.count

    def counted(self):
        return self.names.counted()

    @property
    def native_rows(self):
        return self

    def pack(self, bytes part):
        """Rows as files keep them: their names, the rows with numbers of these, and how many rows."""
        cdef int32_t count = <int32_t>len(self.names.values), number, given = 0
        cdef uint8_t *used = <uint8_t *>calloc(count + 1, 1)
        cdef int32_t *to = <int32_t *>calloc(count + 1, sizeof(int32_t))
        cdef size_t rows
        cdef bytes packed
        cdef list listed = []
        try:
            if used == NULL or to == NULL:
                raise MemoryError
            rows = block_numbers(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part), used, count)
            if rows == NO_PLACE:
                raise SystemError("no row there")
            for number in range(count):
                if used[number]:
                    to[number] = given
                    given += 1
                    listed.append(self.names.values[number])
            packed = PyBytes_FromStringAndSize(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
            block_renumber(PyBytes_AS_STRING(packed), PyBytes_GET_SIZE(packed), to, count)
            return listed, packed, rows
        finally:
            free(used)
            free(to)

    def unpack(self, listed, bytes part):
        """Back from `pack`; the names get numbers of this buffer. Raises ValueError for what are no rows."""
        cdef int32_t count = <int32_t>len(listed), number
        cdef int32_t *to = <int32_t *>calloc(count + 1, sizeof(int32_t))
        cdef bytes rows
        try:
            if to == NULL:
                raise MemoryError
            for number in range(count):
                to[number] = self.names.number(listed[number])
            rows = PyBytes_FromStringAndSize(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
            if not block_renumber(PyBytes_AS_STRING(rows), PyBytes_GET_SIZE(rows), to, count):
                raise ValueError("bytes that are not a row")
            return rows
        finally:
            free(to)

    def watch(self, logs, asleep, floors):
        self.logs = {thread: log.encode() for thread, log in logs.items()}
        self.asleep = {thread: (rs_id.encode(), slots) for thread, (rs_id, slots) in asleep.items()}
        self.floors = dict(floors)

    def write_out(self, OpenTransaction transaction):
        cdef int64_t before = transaction.cost()
        if transaction.spill is None:
            transaction.spill = self.make_spill()
        transaction.write_out()
        self.held_bytes += transaction.cost() - before

    def restored(self, kept, start, file):
        cdef OpenTransaction made = OpenTransaction.__new__(OpenTransaction)
        cdef bytes xid = kept.key[1]
        made.container, made.buffer, made.names = kept.container, self, self.names
        memcpy(&made.xid, PyBytes_AS_STRING(xid), 8)
        made.scn, made.start_scn, made.time_us, made.start_thread = start.scn, start.start_scn, microseconds(start.time), start.thread
        made.thread, made.user, made.client, made.seen_at = kept.thread, kept.user, kept.client_id, NO_PLACE
        made.spill, made.kept, made.changes, made.is_large, made.seen = file, kept, kept.changes, kept.is_large, file.seen
        self.place_at(made, start.address)
        return made

    def adopt(self, OpenTransaction transaction):
        cdef OpenTransaction known = self.known(transaction.container, transaction.xid)
        if known is not None:
            self.drop(known)
        self.order += 1
        transaction.order = self.order
        if not xid_put(&self.table, transaction.container, <uint64_t>transaction.xid, <void *>transaction):
            raise MemoryError
        Py_INCREF(transaction)
        self.activate(transaction, transaction.thread)

    cdef void forget_all(self):
        cdef void *at
        while (at := self.active.oldest) != NULL:
            self.drop(<OpenTransaction>at)
        while (at := self.untouched.oldest) != NULL:
            self.drop(<OpenTransaction>at)

    cdef int drop(self, OpenTransaction transaction) noexcept:
        """Out of the buffer."""
        if transaction.is_active:
            unlink(&self.active, transaction)
            self.held_bytes -= transaction.cost()
        else:
            unlink(&self.untouched, transaction)
        if xid_remove(&self.table, transaction.container, <uint64_t>transaction.xid) != NULL:
            Py_DECREF(transaction)
        return 0

    cdef OpenTransaction known(self, int64_t container, int64_t xid):
        """By its own XID: with captured rows or a START alone."""
        cdef void *found = xid_find(&self.table, container, <uint64_t>xid)
        return None if found == NULL else <OpenTransaction>found

    cdef OpenTransaction made(self, int64_t container, int64_t xid, const mined_row *row, int64_t start_scn, object user, object client):
        """A transaction that was not known; not linked yet."""
        cdef OpenTransaction made = OpenTransaction.__new__(OpenTransaction)
        self.order += 1
        made.container, made.xid, made.order, made.buffer, made.names = container, xid, self.order, self, self.names
        made.scn, made.start_scn, made.time_us, made.start_thread = row.scn, start_scn, row.time_us, row.thread
        made.thread, made.user, made.client, made.seen_at = row.thread, user, client, NO_PLACE
        if not xid_put(&self.table, container, <uint64_t>xid, <void *>made):
            raise MemoryError
        Py_INCREF(made)
        return made

    cdef int place_at(self, OpenTransaction made, object address) except -1:
        """Note the address of its start, None for none."""
        if address is None:
            return 0
        cdef bytes rs_id = address.rs_id.encode()
        if len(rs_id) >= ADDRESS_ROOM:
            raise MiningSessionError(f"RS_ID is longer than {ADDRESS_ROOM - 1} characters: {address.rs_id}")
        memcpy(made.address.rs_id, PyBytes_AS_STRING(rs_id), len(rs_id))
        made.address.size, made.address.rows, made.has_address = <int32_t>len(rs_id), address.rows, True
        return 0

    cdef int activate(self, OpenTransaction transaction, int64_t thread) except -1:
        """Its first captured row has come."""
        transaction.is_active, transaction.thread = True, thread
        self.held_bytes += transaction.cost()
        link(&self.active, transaction)
        return 0

    cdef int append_row(self, OpenTransaction transaction, const mined_row *row) except -1:
        cdef int64_t before = transaction.cost()
        transaction.put(row)
        self.held_bytes += transaction.cost() - before
        if self.held_bytes > self.memory_max:
            self.spill_largest()
        return 0

    cdef int spill_largest(self) except -1:
        cdef OpenTransaction largest = None
        cdef void *at = self.active.oldest
        while at != NULL:
            if largest is None or (<OpenTransaction>at).block.size > largest.block.size:
                largest = <OpenTransaction>at
            at = (<OpenTransaction>at).newer
        if largest is None or largest.block.size == 0:
            return 0
        self.write_out(largest)
        return 0

    cdef int64_t resolved(self, int64_t container, int64_t xid) noexcept:
        """The XID that a partial one stands for: that of the same undo segment and slot, of an open transaction or else of one that is
        given up."""
        cdef OpenTransaction own
        cdef bytes given_up
        cdef int untouched
        cdef void *at
        if not is_partial(&xid):
            return xid
        own = self.known(container, xid)
        if own is not None and own.is_active:
            return xid
        for untouched in range(2):
            at = self.untouched.oldest if untouched else self.active.oldest
            while at != NULL:
                if (<OpenTransaction>at).container == container and memcmp(&(<OpenTransaction>at).xid, &xid, 4) == 0:
                    return (<OpenTransaction>at).xid
                at = (<OpenTransaction>at).newer
        for given_up in self.given_up:
            if memcmp(PyBytes_AS_STRING(given_up), &xid, 4) == 0:
                memcpy(&xid, PyBytes_AS_STRING(given_up), 8)
                break
        return xid

    cdef int read(self, row, mined_row *out, list kept) except -1:
        if not self.names.read(tuple(row), out, kept):
            raise MiningSessionError("a row of V$LOGMNR_CONTENTS has a value that no row has, such as a number beyond 64 bits")
        return 0

    cdef OpenTransaction of_row(self, const mined_row *row):
        """The open transaction of a row that has captured rows, else None."""
        cdef int64_t xid
        memcpy(&xid, row.xid, 8)
        cdef OpenTransaction found = self.known(row.container, self.resolved(row.container, xid))
        return found if found is not None and found.is_active else None

    def begin(self, row, address):
        cdef mined_row mined
        cdef list kept = []
        cdef int64_t xid
        cdef OpenTransaction known
        self.read(row, &mined, kept)
        memcpy(&xid, mined.xid, 8)
        if xid == 0:
            return
        xid = self.resolved(mined.container, xid)
        known = self.known(mined.container, xid)
        if known is not None:
            if known.is_active:
                return
            self.drop(known)
        if self.given_up and (<char *>&xid)[:8] in self.given_up:
            return
        known = self.made(mined.container, xid, &mined, mined.scn, row.user, row.client_id)
        link(&self.untouched, known)
        self.place_at(known, address)

    def append(self, row, address):
        cdef mined_row mined
        cdef list kept = []
        cdef int64_t xid
        cdef OpenTransaction transaction
        self.read(row, &mined, kept)
        memcpy(&xid, mined.xid, 8)
        xid = self.resolved(mined.container, xid)
        if self.given_up and (<char *>&xid)[:8] in self.given_up:
            return
        transaction = self.known(mined.container, xid)
        if transaction is None:
            transaction = self.made(mined.container, xid, &mined, 0, row.user, row.client_id)
            self.place_at(transaction, address)
            self.activate(transaction, mined.thread)
        elif not transaction.is_active:
            unlink(&self.untouched, transaction)
            self.activate(transaction, mined.thread)
        if address is None and transaction.is_repeated(row):
            return
        self.append_row(transaction, &mined)

    def end_statement(self, row, address):
        cdef mined_row mined
        cdef list kept = []
        self.read(row, &mined, kept)
        cdef OpenTransaction transaction = self.of_row(&mined)
        if transaction is not None and not (address is None and transaction.is_repeated(row)):
            self.append_row(transaction, &mined)

    def undo(self, row, address, unseen):
        cdef mined_row mined
        cdef list kept = []
        self.read(row, &mined, kept)
        cdef OpenTransaction transaction = self.of_row(&mined)
        if transaction is None or (address is None and transaction.is_repeated(row)):
            return False
        cdef int64_t before = transaction.cost()
        undone = transaction.undo(row, unseen)
        self.held_bytes += transaction.cost() - before
        return undone

    def find(self, row):
        cdef mined_row mined
        cdef list kept = []
        self.read(row, &mined, kept)
        return self.of_row(&mined)

    def end(self, row):
        cdef mined_row mined
        cdef list kept = []
        cdef int64_t xid
        self.read(row, &mined, kept)
        memcpy(&xid, mined.xid, 8)
        xid = self.resolved(mined.container, xid)
        self.given_up.discard((<char *>&xid)[:8])
        cdef OpenTransaction found = self.known(mined.container, xid)
        if found is None:
            return None
        self.drop(found)
        return found if found.is_active else None

    def give_up(self, OpenTransaction transaction):
        self.drop(transaction)
        self.given_up.add(transaction.key[1])
        transaction.close()

    def open(self):
        cdef list found = []
        cdef void *at = self.active.oldest
        while at != NULL:
            found.append(<OpenTransaction>at)
            at = (<OpenTransaction>at).newer
        return found

    cdef OpenTransaction oldest_of(self, int64_t thread, bint untouched):
        cdef void *at = self.untouched.oldest if untouched else self.active.oldest
        while at != NULL:
            if (<OpenTransaction>at).start_thread == thread if untouched else (
                (<OpenTransaction>at).has_address and (<OpenTransaction>at).thread == thread and (<OpenTransaction>at).kept is None
            ):
                return <OpenTransaction>at
            at = (<OpenTransaction>at).newer
        return None

    def oldest(self, int64_t thread):
        cdef OpenTransaction found = self.oldest_of(thread, False)
        return None if found is None else found.start

    def oldest_untouched(self, int64_t thread):
        cdef OpenTransaction found = self.oldest_of(thread, True)
        return None if found is None else found.start

    def drop_untouched(self, before_scn):
        cdef void *at = self.untouched.oldest
        cdef void *newer
        while at != NULL:
            newer = (<OpenTransaction>at).newer
            if (<OpenTransaction>at).scn < before_scn:
                self.drop(<OpenTransaction>at)
            at = newer

    def close(self):
        for transaction in self.open():
            transaction.close()
        self.forget_all()
