"""Statements to rows whose values are found and not copied."""

_CREATE, _UPDATE, _DELETE = Op.CREATE, Op.UPDATE, Op.DELETE


cdef class TableScan:
    """How the statements of one table version are scanned.

    :param columns: (name, position, uses, check, absent) as `scan_column` has them, those of a row first; `uses` as bytes.
    :param conversions: for each column of a row, by `enum function`: from a literal's text to Row text, None where that is the same.
    """

    cdef scan_table table
    cdef list names, conversions
    cdef cell *cells  # of the statement that `decode` reads
    cdef readonly object schema
    cdef readonly str name
    cdef object printer, print  # the RunPrinter that prints its rows, and what that made for it

    def __cinit__(self, schema, list columns, list conversions):
        cdef uint32_t width = <uint32_t>len(conversions)
        self.schema, self.name, self.conversions = schema, str(schema.id), conversions
        self.names = []
        self.cells = <cell *>calloc(2 * width + 1, sizeof(cell))
        if self.cells == NULL:
            raise MemoryError
        self.table.width, self.table.count = width, <uint32_t>len(columns)
        self.table.columns = <scan_column *>calloc(len(columns) + 1, sizeof(scan_column))
        if self.table.columns == NULL:
            raise MemoryError
        cdef bytes encoded, given
        cdef scan_column *column
        for i, (name, position, uses, check, absent) in enumerate(columns):
            encoded, given = name.encode("utf-8", "surrogatepass"), uses
            assert len(given) == FUNCTIONS and -1 <= position < <int>width
            self.names.append(encoded)
            column = &self.table.columns[i]
            column.name, column.name_size = PyBytes_AS_STRING(encoded), <uint32_t>PyBytes_GET_SIZE(encoded)
            column.position, column.check, column.absent = position, check, absent
            memcpy(column.uses, PyBytes_AS_STRING(given), FUNCTIONS)

    def __dealloc__(self):
        free(self.cells)
        scan_table_free(&self.table)

    def decode(self, str sql):
        """(operation, before, after) of a statement, as of `RedoDecoder.decode`; None when that has to read it."""
        cdef Py_ssize_t size = 0
        cdef const char *text
        cdef uint32_t assigned = 0
        cdef cell *after = self.cells + self.table.width
        try:
            text = PyUnicode_AsUTF8AndSize(sql, &size)
        except UnicodeEncodeError:  # half a surrogate pair
            return None
        cdef int operation = scan_statement(&self.table, text, size, self.cells, after, &assigned)
        if operation == OPERATION_NONE:
            return None
        if operation == OPERATION_UPDATE and not assigned:
            return _UPDATE, None, None
        return self.change(operation, text, self.cells, after)

    cdef tuple change(self, int operation, const char *sql, const cell *before, const cell *after):
        """(operation, before, after) of the cells of a scanned statement."""
        cdef list old = [], new = []
        cdef uint32_t i
        if operation != OPERATION_INSERT:
            for i in range(self.table.width):
                old.append(self.value(sql, i, &before[i]))
        if operation == OPERATION_DELETE:
            return _DELETE, tuple(old), None
        for i in range(self.table.width):
            if (
                operation == OPERATION_UPDATE and after[i].kind == before[i].kind and after[i].at == before[i].at
                and after[i].size == before[i].size
            ):
                new.append(old[i])
            else:
                new.append(self.value(sql, i, &after[i]))
        return (_CREATE, None, tuple(new)) if operation == OPERATION_INSERT else (_UPDATE, tuple(old), tuple(new))

    cdef object value(self, const char *sql, uint32_t i, const cell *one):
        """What a row has in column `i`."""
        if one.kind == CELL_NULL:
            return None
        if one.kind == CELL_ABSENT:
            return UNAVAILABLE
        if one.kind == CELL_EMPTY:
            return ""
        cdef str text = sql[one.at:one.at + one.size].decode("utf-8")
        if one.kind != CELL_TEXT:
            text = text.replace("''", "'")
        convert = (<tuple>self.conversions[i])[one.function]
        return text if convert is None else convert(text)


ctypedef struct redo_place:
    char rs_id[ADDRESS_ROOM]  # without blanks
    int32_t size
    int64_t rows


ctypedef struct scanned_row:
    const char *sql
    size_t sql_size
    const char *rs_id
    const char *row_id
    int32_t rs_size, row_id_size  # NO_TEXT for none
    size_t before, after  # first cells
    int operation
    Py_ssize_t scan  # index in `scans`
    int64_t scn, ssn, time_us


# The rows of one transaction in a run.
ctypedef struct run_segment:
    size_t begin
    int64_t first_seq, start_scn, commit_scn, start_us, commit_us, thread
    char id[16]
    bint has_id  # else only Python prints its rows
    # Of a transaction that ends here: where a restart goes on, and what was delivered then.
    redo_place resume, commit
    int64_t resume_scn, complete_scn


cdef int64_t floor_thousandth(int64_t value) noexcept nogil:
    return value // 1000


cdef str text_of(const char *data, int32_t size):
    return None if size < 0 else data[:size].decode("utf-8", "surrogatepass")


cdef inline bint is_blank(char c) noexcept nogil:
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31


cdef void trim(const char **data, int32_t *size) noexcept nogil:
    """As str.strip does, of ASCII."""
    while size[0] > 0 and is_blank(data[0][0]):
        data[0] += 1
        size[0] -= 1
    while size[0] > 0 and is_blank(data[0][size[0] - 1]):
        size[0] -= 1


cdef void give_row_id(mined_row *row, const char *data, size_t size, size_t following) noexcept nogil:
    """As `row_ids.with_row_ids`: `following` is where the row after it begins."""
    cdef mined_row other
    if not is_change(row) or not is_placeholder(&row.row_id):
        return
    row.row_id.size = NO_TEXT
    if block_get(data, size, following, &other) == 0:
        return
    if other.code == CODE_INTERNAL or (
        other.code == OPERATION_UPDATE and other.name == row.name and not is_placeholder(&other.row_id)
    ):
        row.row_id = other.row_id


cdef class ScannedRows:
    """Rows that follow each other, of one transaction or of several. See `events.ScannedRows`.

    :param progress: (number of the transaction within the run) -> Progress; None when it has no ends within.
    """

    cdef scanned_row *rows
    cdef cell *cells
    cdef run_segment *segments
    cdef row_block *blocks
    cdef size_t count, room, cell_count, cell_room, segment_count, segment_room, block_count, block_room, size
    cdef list scans, kept, infos, users, clients
    cdef object progress_of

    def __cinit__(self, progress_of=None):
        self.scans, self.kept, self.infos, self.users, self.clients = [], [], [], [], []
        self.progress_of = progress_of

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.block_count):
            block_free(&self.blocks[i])
        free(self.rows)
        free(self.cells)
        free(self.segments)
        free(self.blocks)

    def __len__(self):
        return self.count

    @property
    def tables(self):
        return frozenset({(<TableScan>scan).schema.id for scan in self.scans})

    @property
    def commit_scns(self):
        cdef size_t i
        cdef int64_t least = self.segments[0].commit_scn, most = self.segments[0].commit_scn
        for i in range(1, self.segment_count):
            least, most = min(least, self.segments[i].commit_scn), max(most, self.segments[i].commit_scn)
        return least, most

    cdef size_t segment_of(self, size_t i) noexcept:
        """The segment that a row is in."""
        cdef size_t low = 0, high = self.segment_count
        while high - low > 1:
            if self.segments[(low + high) // 2].begin <= i:
                low = (low + high) // 2
            else:
                high = (low + high) // 2
        return low

    cdef object info(self, size_t n):
        cdef run_segment *at = &self.segments[n]
        found = self.infos[n]
        if found is None:
            found = self.infos[n] = TransactionInfo(
                at.id[:16].decode(), at.start_scn, at.commit_scn, at.start_us, at.commit_us, at.thread, self.users[n], self.clients[n]
            )
        return found

    def place(self, Py_ssize_t i):
        if not 0 <= i < <Py_ssize_t>self.count:
            raise IndexError(i)
        cdef size_t n = self.segment_of(i)
        return self.info(n), self.segments[n].first_seq + i - <Py_ssize_t>self.segments[n].begin

    def ended(self, Py_ssize_t rows):
        if rows >= <Py_ssize_t>self.count or rows <= 0:
            return self.segment_count - 1 if rows > 0 else 0
        return self.segment_of(rows)

    def end(self, Py_ssize_t n):
        if not 0 <= n < <Py_ssize_t>self.segment_count:
            raise IndexError(n)
        return self.count if n == <Py_ssize_t>self.segment_count - 1 else self.segments[n + 1].begin

    def progress(self, Py_ssize_t n):
        if not 0 <= n < <Py_ssize_t>self.segment_count or self.progress_of is None:
            raise IndexError(n)
        cdef run_segment *at = &self.segments[n]
        return self.progress_of(
            self.info(n),
            (at.resume.rs_id[:at.resume.size].decode(), at.resume_scn),
            (at.commit.rs_id[:at.commit.size].decode(), at.commit.rows),
            at.complete_scn,
        )

    def event(self, Py_ssize_t i):
        if not 0 <= i < <Py_ssize_t>self.count:
            raise IndexError(i)
        cdef scanned_row *row = &self.rows[i]
        cdef TableScan scan = self.scans[row.scan]
        tx, seq = self.place(i)
        op, before, after = scan.change(row.operation, row.sql, self.cells + row.before, self.cells + row.after)
        return ChangeEvent(
            op, scan.schema, before, after, row.scn, row.time_us, tx, seq,
            text_of(row.row_id, row.row_id_size), text_of(row.rs_id, row.rs_size), row.ssn,
        )

    cdef int make_room(self, uint32_t width) except -1:
        """For one row more."""
        cdef void *more
        if self.count == self.room:
            self.room = 2 * self.room if self.room else 8
            more = realloc(self.rows, self.room * sizeof(scanned_row))
            if more == NULL:
                raise MemoryError
            self.rows = <scanned_row *>more
        if self.cell_count + 2 * width > self.cell_room:
            self.cell_room = 2 * (self.cell_room + 2 * width)
            more = realloc(self.cells, self.cell_room * sizeof(cell))
            if more == NULL:
                raise MemoryError
            self.cells = <cell *>more
        return 0

    cdef run_segment *begin_segment(self, object user, object client) except NULL:
        cdef void *more
        if self.segment_count == self.segment_room:
            self.segment_room = 2 * self.segment_room if self.segment_room else 1
            more = realloc(self.segments, self.segment_room * sizeof(run_segment))
            if more == NULL:
                raise MemoryError
            self.segments = <run_segment *>more
        cdef run_segment *at = &self.segments[self.segment_count]
        memset(at, 0, sizeof(run_segment))
        at.begin = self.count
        self.infos.append(None)
        self.users.append(user)
        self.clients.append(client)
        self.segment_count += 1
        return at

    cdef int begin_known(self, object tx, int64_t first_seq) except -1:
        """A segment of a transaction of which there is a TransactionInfo."""
        cdef run_segment *at = self.begin_segment(tx.user, tx.client_id)
        cdef bytes id = (<str?>tx.id).encode("utf-8", "surrogatepass")
        self.infos[self.segment_count - 1] = tx
        at.first_seq, at.commit_scn = first_seq, tx.commit_scn
        try:
            at.start_scn, at.start_us, at.commit_us, at.thread = tx.start_scn, tx.start_us, tx.commit_us, tx.redo_thread
        except OverflowError:
            return 0
        if len(id) == 16:
            memcpy(at.id, PyBytes_AS_STRING(id), 16)
            at.has_id = id.isalnum()
        return 0

    cdef void forget_segment(self, size_t cell_count):
        """Take the last segment out, with its rows."""
        self.segment_count -= 1
        self.count = self.segments[self.segment_count].begin
        self.cell_count = cell_count
        self.infos.pop()
        self.users.pop()
        self.clients.pop()

    cdef int own(self, row_block *block) except -1:
        """Take over the memory of a block whose texts rows of this run point to."""
        cdef void *more
        if self.block_count == self.block_room:
            self.block_room = 2 * self.block_room if self.block_room else 4
            more = realloc(self.blocks, self.block_room * sizeof(row_block))
            if more == NULL:
                raise MemoryError
            self.blocks = <row_block *>more
        self.blocks[self.block_count] = block[0]
        self.block_count += 1
        memset(block, 0, sizeof(row_block))
        return 0

    cdef Py_ssize_t index_of(self, TableScan scan) except -1:
        """Its place in `scans`."""
        cdef Py_ssize_t i = PyList_GET_SIZE(self.scans) - 1
        while i >= 0 and <object>PyList_GET_ITEM(self.scans, i) is not scan:
            i -= 1
        if i < 0:
            self.scans.append(scan)
            i = PyList_GET_SIZE(self.scans) - 1
        return i

    cdef int take(self, Py_ssize_t scan_index, const mined_row *mined, int64_t time_us) except -1:
        """Scan a statement: 1 when it is a row of the run, 0 when it changes none of the columns, 2 when Python has to read it.

        The texts of `mined` must live as long as the run."""
        cdef TableScan scan = <TableScan>PyList_GET_ITEM(self.scans, scan_index)
        cdef uint32_t width = scan.table.width, assigned = 0
        if mined.sql.size < 0 or mined.status or mined.flags & MINED_HALF_PAIR or not is_change(mined):
            return 2
        self.make_room(width)
        cdef cell *before = self.cells + self.cell_count
        cdef int operation = scan_statement(&scan.table, mined.sql.data, mined.sql.size, before, before + width, &assigned)
        if operation == OPERATION_NONE or operation != mined.code:
            return 2
        if operation == OPERATION_UPDATE and not assigned:
            return 0
        cdef scanned_row *row = &self.rows[self.count]
        row.sql, row.sql_size, row.operation, row.scan = mined.sql.data, mined.sql.size, operation, scan_index
        row.before, row.after = self.cell_count, self.cell_count + width
        row.rs_id, row.rs_size = mined.rs_id.data, max(mined.rs_id.size, 0)
        trim(&row.rs_id, &row.rs_size)
        row.row_id, row.row_id_size = mined.row_id.data, mined.row_id.size
        row.scn, row.ssn, row.time_us = mined.scn, mined.ssn, time_us
        self.cell_count += 2 * width
        self.count += 1
        self.size += mined.sql.size
        return 1


cdef class RunScanner:
    """Knows how rows of V$LOGMNR_CONTENTS are scanned.

    :ivar scans: by (owner, table, object id) of a row; rows of others are Python's.
    """

    cdef readonly dict scans

    def __init__(self):
        self.scans = {}

    def cursor(self, OpenTransaction transaction):
        """Goes through a transaction that has ended."""
        return RunCursor(self, transaction)


cdef class RunCursor:
    """Goes through the rows of a transaction that has ended, as runs, and as single rows where they cannot be scanned.

    :ivar is_done: all rows were gone through.
    :ivar is_stuck: the next row cannot be scanned.
    """

    cdef RunScanner scanner
    cdef OpenTransaction transaction
    cdef object parts
    cdef bytes part  # None: what is in memory
    cdef bytes ahead  # the part after it, where `is_ahead`; None: what is in memory
    cdef bint is_ahead
    cdef size_t at
    cdef readonly bint is_done, is_stuck

    def __cinit__(self, RunScanner scanner, OpenTransaction transaction):
        self.scanner, self.transaction = scanner, transaction
        self.parts = transaction.spilled()
        self.turn()

    cdef int turn(self) except -1:
        """To the next part that has rows, when the present one is at its end."""
        cdef mined_row row
        while not self.get(&row):
            if self.parts is None:
                self.is_done = True
                return 0
            self.look_ahead()
            self.at, self.part, self.is_ahead = 0, self.ahead, False
            if self.part is None:
                self.parts = None
        return 0

    cdef uint32_t get(self, mined_row *row) except? 0:
        cdef const char *data
        cdef size_t size
        cdef uint32_t found
        if self.part is not None:
            data, size = PyBytes_AS_STRING(self.part), PyBytes_GET_SIZE(self.part)
        elif self.parts is not None:
            return 0
        else:
            data, size = self.transaction.block.data, self.transaction.block.size
        found = block_get(data, size, self.at, row)
        if found and self.at + found < size:
            give_row_id(row, data, size, self.at + found)
        elif found and self.part is None:
            give_row_id(row, NULL, 0, 0)
        elif found:
            self.look_ahead()
            if self.ahead is not None:
                give_row_id(row, PyBytes_AS_STRING(self.ahead), PyBytes_GET_SIZE(self.ahead), 0)
            else:
                give_row_id(row, self.transaction.block.data, self.transaction.block.size, 0)
        return found

    cdef int look_ahead(self) except -1:
        if not self.is_ahead:
            self.ahead, self.is_ahead = next(self.parts, None), True
        return 0

    def scan(self, object tx, Py_ssize_t first_seq, Py_ssize_t most, int64_t offset_us):
        """The next rows, until one cannot be scanned; `most` rows at most."""
        cdef ScannedRows run = ScannedRows()
        cdef Py_ssize_t scan = -1, taken = 0
        cdef int32_t last = -1
        cdef mined_row row
        cdef uint32_t size
        cdef object keeper = self.transaction if self.part is None else self.part
        run.begin_known(tx, first_seq)
        run.kept += (keeper, self.transaction)
        self.is_stuck = False
        while taken < most:
            size = self.get(&row)
            if self.is_ahead:
                run.kept.append(self.ahead)  # its row's ROWID may be there
            if size == 0:
                self.turn()
                break
            if row.code == CODE_INTERNAL:
                self.at += size
                continue
            if scan < 0 or row.name != last:
                found = self.scanner.scans.get(self.transaction.names.values[row.name])
                if found is None:
                    self.is_stuck = True
                    break
                scan, last = run.index_of(found), row.name
            if run.take(scan, &row, row.time_us - offset_us) == 2:
                self.is_stuck = True
                break
            self.at += size
            taken += 1
        return run

    def row(self):
        """The next row as a tuple of Python."""
        cdef mined_row row
        if not self.get(&row):
            raise IndexError
        return self.transaction.shown(&row)

    def skip(self):
        """Pass over the next row."""
        cdef mined_row row
        self.at += self.get(&row)
        self.is_stuck = False
        self.turn()
