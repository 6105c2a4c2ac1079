"""An open transaction, whose rows lie in memory as `store.c` has them. Counterpart of `transactions.Transaction` in
`capture/logminer/buffer/`."""

LARGE_CODES = frozenset({9, 10, 11, 29, 68, 70, 71, 91, 92, 93})
"""Operation codes of rows that set large values."""


cdef size_t rows_in(bytes part) except? 0:
    cdef mined_row row
    cdef size_t at = 0, count = 0
    cdef uint32_t size
    while (size := block_get(PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part), at, &row)):
        at += size
        count += 1
    return count


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
        if is_placeholder(&row.row_id) or (row.code > OPERATION_UPDATE and row.code in LARGE_CODES):
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
