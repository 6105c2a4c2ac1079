"""Rows of runs to records."""

cdef enum:
    _SCN_DIGITS = 19
    _NUMBER_DIGITS = 12

cdef int64_t _MOST_NUMBER = 1_000_000_000_000


cdef class TablePrint:
    """How the rows of one table version are printed.

    :param columns, key: (position, kind, spelling, digits, member, unavailable) as `print_column` has them, `member` and
        `unavailable` as bytes or None; `key` is empty for a table without key.
    :param compared: positions whose change makes another key.
    :param silent: (position, name as JSON) of the members whose value is null when redo does not hold it: a header names them.
    :param key_frame, frame: bytes before and after.
    :param has_rowid_key: the key is the row's ROWID; its frame is then up to and from the quotes of that.
    :param source: what the source blocks of its rows have before the time, before the token (empty: they have none), before the
        time in microseconds, and before the transaction's id.
    """

    cdef print_column *columns
    cdef uint32_t count, key_count
    cdef size_t *marks
    cdef list kept
    cdef tuple compared, silent
    cdef object topic, head, tail, key_head, key_tail
    cdef bytes before_time, before_token, before_us, before_id
    cdef bint has_rowid_key
    # The beginning of the last source block, up to `scn`, where the token's number lies in it, and whose it is.
    cdef buffer source_head
    cdef size_t number_at
    cdef object run
    cdef size_t segment
    cdef int64_t time_us

    def __cinit__(
        self, topic, list columns, list key, tuple compared, tuple key_frame, tuple frame, bint has_rowid_key, tuple source, tuple silent
    ):
        self.topic, self.compared, self.has_rowid_key, self.silent = topic, compared, has_rowid_key, silent
        self.before_time, self.before_token, self.before_us, self.before_id = source
        self.key_head, self.key_tail = key_frame
        self.head, self.tail = frame
        self.kept = []
        self.count, self.key_count = <uint32_t>len(columns), <uint32_t>len(key)
        self.columns = <print_column *>calloc(len(columns) + len(key) + 1, sizeof(print_column))
        self.marks = <size_t *>calloc(4 * len(columns) + 2 * len(key) + 1, sizeof(size_t))
        if self.columns == NULL or self.marks == NULL:
            raise MemoryError
        cdef print_column *column
        cdef bytes member, unavailable
        for i, (position, kind, spelling, digits, member, unavailable_) in enumerate(columns + key):
            column = &self.columns[i]
            column.position, column.kind, column.spelling, column.digits = position, kind, spelling, digits
            column.member, column.member_size = PyBytes_AS_STRING(member), <uint32_t>PyBytes_GET_SIZE(member)
            self.kept.append(member)
            if unavailable_ is not None:
                unavailable = unavailable_
                column.unavailable = PyBytes_AS_STRING(unavailable)
                column.unavailable_size = <uint32_t>PyBytes_GET_SIZE(unavailable)
                self.kept.append(unavailable)

    def __dealloc__(self):
        free(self.columns)
        free(self.marks)
        free(self.source_head.data)


cdef inline void put_text(buffer *out, const char *text) noexcept nogil:
    put(out, text, strlen(text))


cdef inline void put_bytes(buffer *out, bytes text):
    put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef void put_quoted(buffer *out, const char *text, int32_t size) noexcept nogil:
    """A text of the database as it is, in quotes; `null` when there is none or it is empty."""
    if size <= 0:
        put_text(out, b"null")
        return
    put_text(out, b'"')
    put(out, text, size)
    put_text(out, b'"')


cdef void put_digits(char *to, int width, int64_t value) noexcept nogil:
    """A number that is not negative, with zeros before it; of more digits than `width`, the last ones."""
    while width > 0:
        width -= 1
        to[width] = <char>(48 + value % 10)
        value //= 10


cdef class Records:
    """Records of a run, as a sequence of `contracts.Record`.

    :ivar at: number of the record that `produce` came to.
    :ivar headers: of each record, (name, content) pairs, after its own.
    :ivar own: number of a record -> its own headers; those of the others are ().
    """

    cdef list topics, keys, values
    cdef public tuple headers
    cdef readonly dict own
    cdef readonly Py_ssize_t at

    def __cinit__(self):
        self.topics, self.keys, self.values = [], [], []
        self.headers, self.own = (), {}

    cdef int add(self, object topic, object key, object value) except -1:
        self.topics.append(topic)
        self.keys.append(key)
        self.values.append(value)
        return 0

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[n] for n in range(*i.indices(len(self)))]
        key = self.keys[i]
        headers = self.headers
        if self.own:
            headers = self.own.get(i if i >= 0 else i + len(self), ()) + headers
        return Record(self.topics[i], key, self.values[i], headers, 0 if key is None else None)

    def new_topics(self, known):
        """Topics that are not among those known."""
        return set(self.topics).difference(known)

    def lines(self, begin_of, bytes between, bytes end):
        """All records, of which none has headers of its own, as one text: for each `begin_of(topic)`, key, `between`, value, `end`; `null` where there is no key or value."""
        cdef list parts = []
        cdef Py_ssize_t i
        cdef object topic = None, key, value, begin = None
        for i in range(PyList_GET_SIZE(self.values)):
            if self.topics[i] is not topic:
                topic = self.topics[i]
                begin = begin_of(topic)
            key, value = self.keys[i], self.values[i]
            parts += (begin, key if key else b"null", between, value if value else b"null", end)
        return b"".join(parts)

    def produce(self, produce, Py_ssize_t begin):
        """Call `produce(topic, value, key, partition)` for each record from number `begin` on; with headers they are the eighth
        argument. The number of those it took: it may raise BufferError, for a queue that is full.

        :raises Exception: another error of `produce`; see `at` for the record.
        """
        cdef Py_ssize_t i = begin, count = PyList_GET_SIZE(self.values)
        cdef object key, topic, value, partition
        cdef list headers = list(self.headers)
        cdef bint bare = not headers and not self.own
        try:
            while i < count:
                topic, value = <object>PyList_GET_ITEM(self.topics, i), <object>PyList_GET_ITEM(self.values, i)
                key = <object>PyList_GET_ITEM(self.keys, i)
                partition = _NO_KEY if key is None else _BY_KEY
                if bare:
                    produce(topic, value, key, partition)
                else:
                    own = self.own.get(i, ())
                    all_headers = [*own, *headers] if own else headers
                    if all_headers:
                        produce(topic, value, key, partition, None, None, 0, all_headers)
                    else:
                        produce(topic, value, key, partition)
                i += 1
        except BufferError:
            pass
        finally:
            self.at = i
        return i


cdef object _NO_KEY = 0, _BY_KEY = -1


cdef class RunPrinter:
    """Prints the rows of runs as records.

    :param print_of: schema -> TablePrint, or None when its rows are Python's.
    :param tombstones: `tombstones.on.delete`.
    :param skipped: letters of the operations that have no records.
    """

    cdef buffer value, key
    # What the source blocks of a transaction have in common, after `scn`, `ssn` and `row_id`; and whose it is.
    cdef buffer before_rs_id, before_redo_sql, source_end
    cdef object run
    cdef size_t segment
    cdef object print_of
    cdef bint tombstones
    cdef bint skips[4]
    cdef bytes letters

    def __cinit__(self, print_of, bint tombstones, str skipped):
        self.print_of, self.tombstones = print_of, tombstones
        self.letters = b" cdu"
        for i, letter in enumerate(" cdu"):
            self.skips[i] = letter in skipped

    def __dealloc__(self):
        free(self.value.data)
        free(self.key.data)
        free(self.before_rs_id.data)
        free(self.before_redo_sql.data)
        free(self.source_end.data)

    def print_run(self, ScannedRows run, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes end, bint without_deletes=False):
        """Rows from `begin` on, until one has to be printed by Python, or the bounds are reached.

        :param end: of the envelope, from the operation on.
        :param without_deletes: these have to be printed by Python.
        :returns: (records, rows printed, bytes of the records, rows by operation code, rows by table, time of the last row)
        """
        cdef Py_ssize_t i = begin, size = 0
        cdef Records records = Records()
        cdef Py_ssize_t[4] operations
        cdef TableScan scan
        cdef TablePrint table = None
        cdef object key, value
        cdef scanned_row *row
        cdef dict tables = {}
        cdef size_t segment = 0
        cdef Py_ssize_t last = -1, of_table = 0
        if begin >= <Py_ssize_t>run.count:
            raise IndexError(begin)
        segment = run.segment_of(begin)
        memset(operations, 0, sizeof(operations))
        while i < <Py_ssize_t>run.count:
            row = &run.rows[i]
            if row.scan != last:
                scan = <TableScan>PyList_GET_ITEM(run.scans, row.scan)
                if scan.printer is not self:
                    scan.print, scan.printer = self.print_of(scan.schema), self
                if scan.print is None:
                    break
                if of_table:
                    tables[table_name] = tables.get(table_name, 0) + of_table
                table, last, table_name, of_table = scan.print, row.scan, scan.name, 0
            if without_deletes and row.operation == OPERATION_DELETE:
                break
            while segment + 1 < run.segment_count and i >= <Py_ssize_t>run.segments[segment + 1].begin:
                segment += 1
            if not self.skips[row.operation]:
                if not self.turn_to(run, segment) or not self.begin_source(run, segment, table, row.time_us):
                    break
                key = self.print_one(run, i, segment, row, table, end)
                if key is False:
                    break
                value = PyBytes_FromStringAndSize(self.value.data, self.value.size)
                records.add(table.topic, key, value)
                if table.silent:
                    self.note_unavailable(run, row, table, records)
                size += RECORD_COST + <Py_ssize_t>self.value.size
                if row.operation == OPERATION_DELETE and key is not None and self.tombstones:
                    records.add(table.topic, key, None)
                    size += RECORD_COST
            operations[row.operation] += 1
            of_table += 1
            i += 1
            if PyList_GET_SIZE(records.values) >= most_records or size >= most_bytes:
                break
        if of_table:
            tables[table_name] = tables.get(table_name, 0) + of_table
        time_us = run.rows[i - 1].time_us if i > begin else 0
        return records, i - begin, size, (operations[1], operations[2], operations[3], 0), tables, time_us

    cdef int note_unavailable(self, ScannedRows run, scanned_row *row, TablePrint table, Records records) except -1:
        """Give the last record the header that names the columns which are null though redo does not say so, if there are any."""
        cdef cell *image = run.cells + (row.before if row.operation == OPERATION_DELETE else row.after)
        cdef Py_ssize_t position
        cdef list names = None
        for position, name in table.silent:
            if image[position].kind == CELL_ABSENT:
                if names is None:
                    names = []
                names.append(name)
        if names is not None:
            records.own[PyList_GET_SIZE(records.values) - 1] = (("__minercdc.unavailable", b"[" + b",".join(names) + b"]"),)
        return 0

    cdef bint turn_to(self, ScannedRows run, size_t segment) except -1:
        """Get what the source blocks of a transaction have in common ready; False when Python has to print its rows."""
        cdef run_segment *at = &run.segments[segment]
        cdef buffer *out
        if run is self.run and segment == self.segment:
            return True
        if not at.has_id:
            return False
        out = &self.before_rs_id
        out.size = 0
        put_text(out, b'","commit_scn":"')
        put_integer(out, at.commit_scn)
        put_text(out, b'","lcr_position":null,"rs_id":')
        out = &self.before_redo_sql
        out.size = 0
        put_text(out, b',"redo_thread":')
        put_integer(out, at.thread)
        put_text(out, b',"user_name":')
        user = <object>PyList_GET_ITEM(run.users, segment)
        put_bytes(out, b"null" if user is None else encode_basestring(user).encode())
        put_text(out, b',"redo_sql":')
        out = &self.source_end
        out.size = 0
        put_text(out, b',"commit_ts_ms":')
        put_integer(out, floor_thousandth(at.commit_us))
        if at.start_scn:
            put_text(out, b',"start_scn":"')
            put_integer(out, at.start_scn)
            put_text(out, b'","start_ts_ms":')
            put_integer(out, floor_thousandth(at.start_us))
        else:
            put_text(out, b',"start_scn":null,"start_ts_ms":null')
        put_text(out, b',"txSeq":')
        self.run, self.segment = run, segment
        return True

    cdef bint begin_source(self, ScannedRows run, size_t segment, TablePrint table, int64_t time_us) except -1:
        """Get the beginning of a source block ready; False when Python has to print it."""
        cdef buffer *out = &table.source_head
        if run is table.run and segment == table.segment and time_us == table.time_us:
            return True
        if not -9223372036854775 <= time_us <= 9223372036854775:
            return False
        out.size = 0
        put_bytes(out, table.before_time)
        put_integer(out, floor_thousandth(time_us))
        if table.before_token and not self.begin_token(&run.segments[segment], table):
            return False
        put_bytes(out, table.before_us)
        put_integer(out, time_us)
        put_text(out, b',"ts_ns":')
        put_integer(out, time_us * 1000)
        put_bytes(out, table.before_id)
        put(out, run.segments[segment].id, 16)
        put_text(out, b'","scn":"')
        table.run, table.segment, table.time_us = run, segment, time_us
        return True

    cdef bint begin_token(self, run_segment *at, TablePrint table) except -1:
        """Add the token of `source_sequence.of_change`, with zeros for its number; False when Python has to print it."""
        cdef buffer *out = &table.source_head
        cdef char[_SCN_DIGITS] scn
        if at.commit_scn <= 0:
            return False
        put_digits(scn, _SCN_DIGITS, at.commit_scn)
        put_bytes(out, table.before_token)
        put_text(out, b'"[\\"')
        put(out, scn, _SCN_DIGITS)
        put_text(out, b'\\",\\"')
        put(out, at.id, 16)
        put_text(out, b'\\",\\"')
        table.number_at = out.size
        put(out, b"000000000000", _NUMBER_DIGITS)
        put_text(out, b'\\"]"')
        return True

    cdef object print_one(self, ScannedRows run, Py_ssize_t i, size_t segment, scanned_row *row, TablePrint table, bytes end):
        """The key, None where there is none; the value in the buffer. False when Python has to print the row."""
        cdef cell *before = NULL if row.operation == OPERATION_INSERT else run.cells + row.before
        cdef cell *after = NULL if row.operation == OPERATION_DELETE else run.cells + row.after
        cdef cell *image = before if after == NULL else after
        cdef buffer *out = &self.value
        cdef size_t *old = table.marks
        cdef Py_ssize_t position
        cdef int64_t number = run.segments[segment].first_seq + i - <Py_ssize_t>run.segments[segment].begin
        for position in table.compared:
            if image[position].kind == CELL_ABSENT:
                return False  # the error is Python's
            if after != NULL and before != NULL and not same(run, row, &before[position], &after[position]):
                return False  # perhaps another key
        out.size = out.failed = 0
        put_bytes(out, table.head)
        put_text(out, b'{"before":')
        if before == NULL:
            put_text(out, b"null")
        elif not print_row(out, table.columns, table.count, row.sql, before, old, NULL, NULL):
            return False
        put_text(out, b',"after":')
        if after == NULL:
            put_text(out, b"null")
        elif not print_row(
            out, table.columns, table.count, row.sql, after, old + 2 * table.count, before, NULL if before == NULL else old
        ):
            return False
        put_text(out, b',"source":')
        if table.before_token and not table.source_head.failed:
            if number >= _MOST_NUMBER:
                return False
            put_digits(table.source_head.data + table.number_at, _NUMBER_DIGITS, number)
        put(out, table.source_head.data, table.source_head.size)
        put_integer(out, row.scn)
        put(out, self.before_rs_id.data, self.before_rs_id.size)
        put_quoted(out, row.rs_id, row.rs_size)
        put_text(out, b',"ssn":')
        put_integer(out, row.ssn)
        put(out, self.before_redo_sql.data, self.before_redo_sql.size)
        put_text(out, b'null,"row_id":')
        put_quoted(out, row.row_id, row.row_id_size)
        put(out, self.source_end.data, self.source_end.size)
        put_integer(out, number)
        put_text(out, b'},"transaction":null,"op":"')
        put(out, PyBytes_AS_STRING(self.letters) + row.operation, 1)
        put_bytes(out, end)
        put_bytes(out, table.tail)
        if out.failed or self.before_rs_id.failed or self.before_redo_sql.failed or self.source_end.failed or table.source_head.failed:
            raise MemoryError
        return self.print_key(run, i, row, table, image)

    cdef object print_key(self, ScannedRows run, Py_ssize_t i, scanned_row *row, TablePrint table, cell *image):
        cdef buffer *out = &self.key
        if not table.key_count and not table.has_rowid_key:
            return None
        out.size = out.failed = 0
        put_bytes(out, table.key_head)
        if table.has_rowid_key:
            if row.row_id_size <= 0:
                return False
            put_quoted(out, row.row_id, row.row_id_size)
        elif not print_row(
            out, table.columns + table.count, table.key_count, row.sql, image, table.marks + 4 * table.count, NULL, NULL
        ):
            return False
        put_bytes(out, table.key_tail)
        if out.failed:
            raise MemoryError
        return PyBytes_FromStringAndSize(out.data, out.size)


cdef bint same(ScannedRows run, scanned_row *row, cell *one, cell *other):
    """Whether two cells are spelled alike."""
    if one.kind != other.kind or one.size != other.size:
        return False
    return one.at == other.at or memcmp(row.sql + one.at, row.sql + other.at, one.size) == 0
