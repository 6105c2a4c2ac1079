"""Open transactions, whose rows lie in memory as `store.c` has them. Counterpart of `capture/logminer/buffer/transactions.py`."""

FIELDS = (
    "scn", "code", "thread", "rs_id", "ssn", "xid", "con_id", "owner", "table", "row_id", "rollback", "csf", "status", "info",
    "timestamp", "user", "client_id", "object_id", "start_scn", "sql",
)
"""A row of V$LOGMNR_CONTENTS as a tuple."""


PyDateTime_IMPORT

cdef object _EPOCH = __import__("datetime").datetime(1970, 1, 1)
cdef object _timedelta = __import__("datetime").timedelta
cdef bytes _PLACEHOLDER = b"A" * 18


cdef int64_t microseconds(datetime time) noexcept:
    """Since 1970 by the wall clock."""
    cdef int64_t year = PyDateTime_GET_YEAR(time), month = PyDateTime_GET_MONTH(time), day = PyDateTime_GET_DAY(time)
    year -= month <= 2
    cdef int64_t era = year // 400, of_era = year % 400
    cdef int64_t of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    cdef int64_t days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    cdef int64_t seconds = PyDateTime_DATE_GET_HOUR(time) * 3600 + PyDateTime_DATE_GET_MINUTE(time) * 60
    return ((days * 86400 + seconds + PyDateTime_DATE_GET_SECOND(time)) * 1000000) + PyDateTime_DATE_GET_MICROSECOND(time)


cdef int utf8(object text, mined_text *out, list kept) except -1:
    """The text's bytes, which live as long as `text` and `kept`. 0 for one with half of a surrogate pair, which is encoded all the same."""
    cdef int whole = 1
    if text is None:
        out.data, out.size = NULL, NO_TEXT
        return 1
    if PyUnicode_IS_COMPACT_ASCII(<str?>text):
        out.data, out.size = <const char *>PyUnicode_DATA(text), <int32_t>PyUnicode_GET_LENGTH(text)
        return 1
    try:
        encoded = (<str>text).encode()
    except UnicodeEncodeError:
        encoded, whole = (<str>text).encode("utf-8", "surrogatepass"), 0
    kept.append(encoded)
    out.data, out.size = PyBytes_AS_STRING(encoded), <int32_t>PyBytes_GET_SIZE(encoded)
    return whole


cdef inline bint same_text(const mined_text *one, const mined_text *other) noexcept:
    return one.size == other.size and (one.size <= 0 or memcmp(one.data, other.data, one.size) == 0)


cdef class Names:
    """Numbers for names of tables, (owner, table, object id), and for other texts that come again."""

    cdef dict numbers
    cdef list values
    cdef object owner, table, object_id, last_time
    cdef int32_t last
    cdef int64_t time_us
    # Rows and bytes of redo by number, since `counted`.
    cdef int64_t *counts
    cdef int32_t room
    cdef bint has_counts

    def __cinit__(self):
        self.numbers, self.values, self.last = {}, [], -1

    def __dealloc__(self):
        free(self.counts)

    cdef int count(self, int32_t number, int32_t size) except -1:
        """Count a row of redo of the table with this number."""
        cdef int64_t *larger
        cdef int32_t room
        if number >= self.room:
            room = 2 * number + 16
            larger = <int64_t *>realloc(self.counts, 2 * room * sizeof(int64_t))
            if larger == NULL:
                raise MemoryError
            memset(larger + 2 * self.room, 0, 2 * (room - self.room) * sizeof(int64_t))
            self.counts, self.room = larger, room
        self.counts[2 * number] += 1
        self.counts[2 * number + 1] += max(size, 0)
        self.has_counts = True
        return 0

    cdef list counted(self):
        """(Name, rows, bytes) of the tables with rows since the last call."""
        cdef int32_t number
        cdef list found = []
        if self.has_counts:
            for number in range(min(self.room, <int32_t>len(self.values))):
                if self.counts[2 * number]:
                    found.append((self.values[number], self.counts[2 * number], self.counts[2 * number + 1]))
            memset(self.counts, 0, 2 * self.room * sizeof(int64_t))
            self.has_counts = False
        return found

    cdef int32_t number(self, object value) except -2:
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
        return found

    cdef int read(self, tuple fields, mined_row *row, list kept) except -1:
        """A tuple as a row; 0 when it has values that no row should have."""
        if PyTuple_GET_SIZE(fields) != 20:
            return 0
        cdef object xid = <object>PyTuple_GET_ITEM(fields, 5), container = <object>PyTuple_GET_ITEM(fields, 6)
        cdef object owner = <object>PyTuple_GET_ITEM(fields, 7), table = <object>PyTuple_GET_ITEM(fields, 8)
        cdef object info = <object>PyTuple_GET_ITEM(fields, 13), time = <object>PyTuple_GET_ITEM(fields, 14)
        cdef object object_id = <object>PyTuple_GET_ITEM(fields, 17), start_scn = <object>PyTuple_GET_ITEM(fields, 18)
        cdef int whole
        row.flags = 0
        try:
            row.scn, row.code = <object>PyTuple_GET_ITEM(fields, 0), <object>PyTuple_GET_ITEM(fields, 1)
            row.thread, row.ssn = <object>PyTuple_GET_ITEM(fields, 2), <object>PyTuple_GET_ITEM(fields, 4)
            row.status = <object>PyTuple_GET_ITEM(fields, 12)
            row.container = row.start_scn = 0
            if container is not None:
                row.container = container
                row.flags |= MINED_HAS_CONTAINER
            if start_scn is not None:
                row.start_scn = start_scn
                row.flags |= MINED_HAS_START
            if <object>PyTuple_GET_ITEM(fields, 10):
                row.flags |= MINED_IS_UNDO
            if <object>PyTuple_GET_ITEM(fields, 11):
                row.flags |= MINED_GOES_ON
            if time is not self.last_time:
                self.time_us, self.last_time = microseconds(<datetime?>time), time
            row.time_us = self.time_us
            if PyBytes_GET_SIZE(<bytes?>xid) != 8:
                return 0
            memcpy(row.xid, PyBytes_AS_STRING(xid), 8)
            if self.last < 0 or object_id is not self.object_id or table != self.table or owner != self.owner:
                if self.last < 0 or object_id != self.object_id or table != self.table or owner != self.owner:
                    self.last = self.number((owner, table, object_id))
                self.owner, self.table, self.object_id = owner, table, object_id
            row.name = self.last
            row.info = -1 if info is None else self.number(info)
            whole = utf8(<object>PyTuple_GET_ITEM(fields, 3), &row.rs_id, kept)
            whole &= utf8(<object>PyTuple_GET_ITEM(fields, 9), &row.row_id, kept)
            whole &= utf8(<object>PyTuple_GET_ITEM(fields, 19), &row.sql, kept)
        except (OverflowError, TypeError):
            return 0
        if not whole:
            row.flags |= MINED_HALF_PAIR
        return row.rs_id.size >= 0


@cython.freelist(256)
@cython.no_gc
cdef class OpenTransaction:
    """See `transactions.Transaction`.

    :ivar bytes: of its rows in memory.
    """

    cdef row_block block
    cdef size_t count  # rows in memory
    cdef int64_t container, xid
    cdef bint has_container, is_active
    # What its START says, or its first row.
    cdef int64_t order, scn, start_scn, time_us, start_thread
    cdef bint has_address
    cdef redo_place address
    cdef object user, client
    cdef void *older
    cdef void *newer
    cdef readonly int64_t thread, changes
    cdef public bint is_large
    cdef public object spill
    # What positions name of it, None while it is not kept over a restart.
    cdef public object kept
    cdef set seen
    cdef Names names
    cdef TransactionBuffer buffer
    # Where `row_before` looked last.
    cdef size_t seen_later, seen_at

    def __dealloc__(self):
        block_free(&self.block)

    @property
    def key(self):
        return self.container, (<char *>&self.xid)[:8]

    @property
    def bytes(self):
        return self.cost()

    @property
    def start(self):
        address = (self.address.rs_id[:self.address.size].decode(), self.address.rows) if self.has_address else None
        return self.buffer.make_start(
            self.order, address, self.scn, self.start_scn, _EPOCH + _timedelta(microseconds=self.time_us), self.user, self.client,
            self.start_thread,
        )

    cdef int64_t cost(self) noexcept:
        return TRANSACTION_COST + <int64_t>self.block.size + ROW_COST * <int64_t>self.count

    cdef object shown(self, const mined_row *row):
        """A row as Python has it."""
        owner, table, object_id = self.names.values[row.name]
        return self.buffer.make_row((
            row.scn, row.code, row.thread, text_of(row.rs_id.data, row.rs_id.size), row.ssn, (<const char *>row.xid)[:8],
            row.container if row.flags & MINED_HAS_CONTAINER else None, owner, table, text_of(row.row_id.data, row.row_id.size),
            1 if row.flags & MINED_IS_UNDO else 0, 1 if row.flags & MINED_GOES_ON else 0, row.status,
            None if row.info < 0 else self.names.values[row.info], _EPOCH + _timedelta(microseconds=row.time_us), self.user,
            self.client, object_id, row.start_scn if row.flags & MINED_HAS_START else None, text_of(row.sql.data, row.sql.size),
        ))

    cdef int put(self, const mined_row *row) except -1:
        if not block_put(&self.block, row):
            raise MemoryError
        self.count += 1
        self.changes += row.code != CODE_INTERNAL
        self.seen_at = NO_PLACE
        if row.code == CODE_INTERNAL:
            return 0
        if row.row_id.size == 18 and memcmp(row.row_id.data, PyBytes_AS_STRING(_PLACEHOLDER), 18) == 0:
            self.is_large = True
        if row.code > OPERATION_UPDATE and row.code in _LARGE:
            self.is_large = True
        return 0

    cdef size_t locate(self, size_t later) except? <size_t>-1:
        """Where the row begins that `later` rows follow; chunks come back from disk as far as needed."""
        cdef size_t end, at
        cdef bytes part
        while self.count <= later:
            if not self.spill:
                return NO_PLACE
            part = self.spill.pop_part()
            if not block_prepend(&self.block, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part)):
                raise MemoryError
            self.count += rows_in(part)
            self.seen_at = NO_PLACE
        if self.seen_at != NO_PLACE and self.seen_later <= later:
            at, end = self.seen_later, self.seen_at
        else:
            at, end = 0, block_before(&self.block, self.block.size)
        while at < later:
            at, end = at + 1, block_before(&self.block, end)
        self.seen_later, self.seen_at = later, end
        return end

    def undo(self, fields, unseen):
        """See `transactions.Transaction.undo`."""
        return self.buffer.undo_change(self, fields, unseen)

    cdef int undo_plain(self, const mined_row *undone) except -2:
        """Take out what an undo row of a table without large columns cancels: 1; 0 when no change of its row is there, -1 when
        it is Python's."""
        cdef mined_row row
        cdef size_t at, later = 0
        cdef int code = OPERATION_UPDATE
        if undone.code != OPERATION_UPDATE:
            code = OPERATION_DELETE if undone.code == OPERATION_INSERT else OPERATION_INSERT
        while (at := self.locate(later)) != NO_PLACE:
            block_get(self.block.data, self.block.size, at, &row)
            if same_text(&row.row_id, &undone.row_id) and self.same_object(row.name, undone.name):
                if row.code != code:
                    return -1
                self.remove(at)
                return 1
            later += 1
        return 0

    cdef bint same_object(self, int32_t one, int32_t other) except -1:
        if one == other:
            return True
        owner, table, object_id = self.names.values[one]
        other_owner, other_table, other_id = self.names.values[other]
        if object_id and other_id:
            return object_id == other_id
        return table == other_table and owner == other_owner

    cdef int remove(self, size_t at) except -1:
        if not block_take_out(&self.block, at):
            raise SystemError("no row there")
        self.count -= 1
        self.seen_at = NO_PLACE
        return 0

    def row_before(self, size_t later):
        """See `transactions.Transaction.row_before`."""
        cdef mined_row row
        cdef size_t at = self.locate(later)
        if at == NO_PLACE:
            return None
        block_get(self.block.data, self.block.size, at, &row)
        return self.shown(&row)

    def take_out(self, size_t later):
        """See `transactions.Transaction.take_out`."""
        self.remove(self.locate(later))

    def put_in_place(self, size_t later, rows):
        """See `transactions.Transaction.put_in_place`."""
        cdef mined_row mined
        cdef list kept = []
        cdef list newer = []
        cdef size_t left
        cdef int64_t changes = self.changes
        for left in range(later):
            newer.append(self.row_before(0))
            self.take_out(0)
        self.take_out(0)
        for row in (*rows, *reversed(newer)):
            self.buffer.read(row, &mined, kept)
            self.put(&mined)
        self.changes = changes

    @property
    def without_address(self):
        if self.seen is None:
            self.seen = set()
        return self.seen

    def is_repeated(self, row):
        """See `transactions.Transaction.is_repeated`."""
        identity = (row.scn, row.ssn, int(row.code), row.rollback, row.row_id, row.sql)
        if self.seen is None:
            self.seen = set()
        if identity in self.seen:
            return True
        self.seen.add(identity)
        return False

    def spilled(self):
        """The parts on disk, oldest first."""
        return self.spill.parts() if self.spill else iter(())

    def listed(self, bytes part, size_t at):
        """Some rows of a part, or of memory where that is None, from `at` on; and where the next begins, None at the end."""
        cdef mined_row row
        cdef list rows = []
        cdef uint32_t size
        while len(rows) < 256:
            if part is not None:
                size = block_get(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part), at, &row)
            else:
                size = block_get(self.block.data, self.block.size, at, &row)
            if size == 0:
                return rows, None
            rows.append(self.shown(&row))
            at += size
        return rows, at

    def replay(self):
        """See `transactions.Transaction.replay`."""
        for part in self.spilled():
            at = 0
            while at is not None:
                rows, at = self.listed(part, at)
                yield from rows
        at = 0
        while at is not None:
            rows, at = self.listed(None, at)
            yield from rows

    def write_out(self):
        """Move the rows in memory to the spill file."""
        cdef size_t at = 0, size
        while at < self.block.size:
            size = block_part(self.block.data, self.block.size, at, PART_BYTES)
            if size == 0:
                raise SystemError("no row there")
            self.spill.append_part(PyBytes_FromStringAndSize(self.block.data + at, size))
            at += size
        block_free(&self.block)
        self.count = 0
        self.seen_at = NO_PLACE

    def close(self):
        """See `transactions.Transaction.close`."""
        if self.spill is not None:
            self.spill.close()


cdef frozenset _LARGE = frozenset({9, 10, 11, 29, 68, 70, 71, 91, 92, 93})


cdef size_t rows_in(bytes part) except? 0:
    cdef mined_row row
    cdef size_t at = 0, count = 0
    cdef uint32_t size
    while (size := block_get(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part), at, &row)):
        at += size
        count += 1
    return count


cdef bint is_partial(const int64_t *xid) noexcept nogil:
    """Whether its START lay before what LogMiner read."""
    return memcmp(<const char *>xid + 4, b"\xff\xff\xff\xff", 4) == 0


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
