# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The rim of the C core: Python's objects in, Python's objects out. See docs/architecture.md, "The native path"."""

from cpython.bytes cimport PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyBytes_AS_STRING
from cpython.exc cimport PyErr_Clear
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from minercdc.contracts import Record
from minercdc.events import ChangeEvent, Op


cdef extern from "core.h":
    ctypedef struct cell:
        uint32_t at, size
        uint8_t kind
    enum: CELL_ABSENT, CELL_NULL
    enum: OPERATION_NONE, OPERATION_INSERT, OPERATION_DELETE, OPERATION_UPDATE
    enum: FUNCTION_NONE, FUNCTION_UNISTR, FUNCTION_TO_DATE, FUNCTION_TO_TIMESTAMP, FUNCTION_TO_TIMESTAMP_TZ, FUNCTION_HEXTORAW
    enum: FUNCTION_TO_YMINTERVAL, FUNCTION_TO_DSINTERVAL, FUNCTION_EMPTY_CLOB, FUNCTION_EMPTY_BLOB, FUNCTIONS
    enum: USE_REFUSED, USE_AS_IS, USE_CHECKED
    enum: CHECK_NEVER, CHECK_ANY, CHECK_NUMBER, CHECK_SINGLE, CHECK_DOUBLE, CHECK_DATE, CHECK_TIMESTAMP, CHECK_ZONED
    enum: CHECK_YEAR_MONTH, CHECK_DAY_SECOND
    enum: PRINT_NEVER, PRINT_TEXT, PRINT_INTEGER, PRINT_CANONICAL, PRINT_PADDED, PRINT_NUMBER_DOUBLE, PRINT_DECIMAL
    enum: PRINT_VARIABLE_SCALE, PRINT_SINGLE, PRINT_DOUBLE, PRINT_EPOCH, PRINT_ISO, PRINT_ZONED, PRINT_HEX, PRINT_BASE64
    enum: PRINT_BASE64_URL, PRINT_MONTHS, PRINT_SECONDS, PRINT_MONTHS_ISO, PRINT_SECONDS_ISO
    enum: SPELLED_DATE, SPELLED_TIMESTAMP, SPELLED_ZONED
    ctypedef struct scan_column:
        const char *name
        uint32_t name_size
        int32_t position
        uint8_t uses[1]
        uint8_t check, absent
    ctypedef struct scan_table:
        scan_column *columns
        uint32_t width, count
    int scan_statement(scan_table *, const char *, size_t, cell *, cell *, uint32_t *) nogil
    void scan_table_free(scan_table *) nogil
    ctypedef struct buffer:
        char *data
        size_t size, room
        int failed
    ctypedef struct print_column:
        uint32_t position
        uint8_t kind, spelling
        int32_t digits
        const char *member
        uint32_t member_size
        const char *unavailable
        uint32_t unavailable_size
    void put(buffer *, const char *, size_t) nogil
    void put_integer(buffer *, int64_t) nogil
    int print_cell(buffer *, const print_column *, const char *, const cell *) nogil
    int print_row(buffer *, const print_column *, uint32_t, const char *, const cell *, size_t *, const cell *, const size_t *) nogil
    ctypedef int (*float_text)(const char *, size_t, int, char *) noexcept
    float_text print_float

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, PyObject *) except? -1.0
    char *PyOS_double_to_string(double, char, int, int, int *) except NULL
    enum: Py_DTSF_ADD_DOT_0
    int PyUnicode_IS_COMPACT_ASCII(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)


CONSTANTS = {
    "CELL_ABSENT": CELL_ABSENT, "CELL_NULL": CELL_NULL, "FUNCTION_NONE": FUNCTION_NONE,
    "FUNCTION_UNISTR": FUNCTION_UNISTR, "FUNCTION_TO_DATE": FUNCTION_TO_DATE,
    "FUNCTION_TO_TIMESTAMP": FUNCTION_TO_TIMESTAMP, "FUNCTION_TO_TIMESTAMP_TZ": FUNCTION_TO_TIMESTAMP_TZ,
    "FUNCTION_HEXTORAW": FUNCTION_HEXTORAW, "FUNCTION_TO_YMINTERVAL": FUNCTION_TO_YMINTERVAL,
    "FUNCTION_TO_DSINTERVAL": FUNCTION_TO_DSINTERVAL, "FUNCTION_EMPTY_CLOB": FUNCTION_EMPTY_CLOB,
    "FUNCTION_EMPTY_BLOB": FUNCTION_EMPTY_BLOB, "FUNCTIONS": FUNCTIONS, "USE_REFUSED": USE_REFUSED,
    "USE_AS_IS": USE_AS_IS, "USE_CHECKED": USE_CHECKED, "CHECK_NEVER": CHECK_NEVER, "CHECK_ANY": CHECK_ANY,
    "CHECK_NUMBER": CHECK_NUMBER, "CHECK_SINGLE": CHECK_SINGLE, "CHECK_DOUBLE": CHECK_DOUBLE, "CHECK_DATE": CHECK_DATE,
    "CHECK_TIMESTAMP": CHECK_TIMESTAMP, "CHECK_ZONED": CHECK_ZONED, "CHECK_YEAR_MONTH": CHECK_YEAR_MONTH,
    "CHECK_DAY_SECOND": CHECK_DAY_SECOND, "PRINT_NEVER": PRINT_NEVER, "PRINT_TEXT": PRINT_TEXT,
    "PRINT_INTEGER": PRINT_INTEGER, "PRINT_CANONICAL": PRINT_CANONICAL, "PRINT_PADDED": PRINT_PADDED,
    "PRINT_NUMBER_DOUBLE": PRINT_NUMBER_DOUBLE, "PRINT_DECIMAL": PRINT_DECIMAL,
    "PRINT_VARIABLE_SCALE": PRINT_VARIABLE_SCALE, "PRINT_SINGLE": PRINT_SINGLE, "PRINT_DOUBLE": PRINT_DOUBLE,
    "PRINT_EPOCH": PRINT_EPOCH, "PRINT_ISO": PRINT_ISO, "PRINT_ZONED": PRINT_ZONED, "PRINT_HEX": PRINT_HEX,
    "PRINT_BASE64": PRINT_BASE64, "PRINT_BASE64_URL": PRINT_BASE64_URL, "PRINT_MONTHS": PRINT_MONTHS,
    "PRINT_SECONDS": PRINT_SECONDS, "PRINT_MONTHS_ISO": PRINT_MONTHS_ISO, "PRINT_SECONDS_ISO": PRINT_SECONDS_ISO,
    "SPELLED_DATE": SPELLED_DATE, "SPELLED_TIMESTAMP": SPELLED_TIMESTAMP, "SPELLED_ZONED": SPELLED_ZONED,
}
"""The enums of core.h, by name."""


cdef int _float_text(const char *text, size_t size, int is_single, char *out) noexcept:
    """See `float_text` in core.h."""
    cdef char ended[72]
    cdef double value, back
    cdef int digits, length = 0
    cdef char *shortest
    if size >= sizeof(ended):
        return 0
    memcpy(ended, text, size)
    ended[size] = 0
    try:
        value = PyOS_string_to_double(ended, NULL, NULL)
        if value - value != 0:  # infinite
            return 0
        if is_single:
            if not -3.4028234663852886e38 <= value <= 3.4028234663852886e38:
                return 0
            for digits in range(6, 10):
                shortest = PyOS_double_to_string(value, b'g', digits, 0, NULL)
                back = PyOS_string_to_double(shortest, NULL, NULL)
                PyMem_Free(shortest)
                if <float>back == <float>value:
                    break
            else:
                return 0
            value = back
        shortest = PyOS_double_to_string(value, b'r', 0, Py_DTSF_ADD_DOT_0, NULL)
        while shortest[length]:
            length += 1
        if length <= 32:
            memcpy(out, shortest, length)
        PyMem_Free(shortest)
        return length if length <= 32 else 0
    except Exception:
        return 0


print_float = _float_text


cdef class TableScan:
    """How the statements of one table version are scanned.

    :param decoder: reads what is not scanned: `schema`, and `decode(sql)` -> (operation, before, after).
    :param columns: (name, position, uses, check, absent) as `scan_column` has them, those of a row first; `uses` as bytes.
    """

    cdef scan_table table
    cdef list names
    cdef readonly object decoder
    cdef readonly object schema
    cdef readonly str name
    cdef object printer, print  # the RunPrinter that prints its rows, and what that made for it

    def __cinit__(self, decoder, list columns, uint32_t width):
        self.decoder, self.schema, self.name = decoder, decoder.schema, str(decoder.schema.id)
        self.names = []
        self.table.width, self.table.count = width, <uint32_t>len(columns)
        self.table.columns = <scan_column *>calloc(len(columns) + 1, sizeof(scan_column))
        if self.table.columns == NULL:
            raise MemoryError
        cdef bytes encoded, given
        cdef scan_column *column
        for i, (name, position, uses, check, absent) in enumerate(columns):
            encoded, given = name.encode(), uses
            assert len(given) == FUNCTIONS and -1 <= position < <int>width
            self.names.append(encoded)
            column = &self.table.columns[i]
            column.name, column.name_size = PyBytes_AS_STRING(encoded), <uint32_t>PyBytes_GET_SIZE(encoded)
            column.position, column.check, column.absent = position, check, absent
            memcpy(column.uses, PyBytes_AS_STRING(given), FUNCTIONS)

    def __dealloc__(self):
        scan_table_free(&self.table)


ctypedef struct scanned_row:
    const char *sql       # kept by `texts`
    size_t before, after  # first cells
    int operation
    int64_t scn, ssn, time_us


cdef class ScannedRows:
    """Rows of one transaction that follow each other, whose values are found and not copied. See `events.ScannedRows`."""

    cdef scanned_row *rows
    cdef cell *cells
    cdef size_t count, room, cell_count, cell_room
    cdef list scans, mined, texts, row_ids, rs_ids
    cdef readonly object tx
    cdef readonly Py_ssize_t first_seq

    def __cinit__(self, tx, Py_ssize_t first_seq):
        self.tx, self.first_seq = tx, first_seq
        self.scans, self.mined, self.texts, self.row_ids, self.rs_ids = [], [], [], [], []

    def __dealloc__(self):
        free(self.rows)
        free(self.cells)

    def __len__(self):
        return self.count

    @property
    def tables(self):
        return frozenset({scan.schema.id for scan in self.scans})

    def event(self, Py_ssize_t i):
        if not 0 <= i < <Py_ssize_t>self.count:
            raise IndexError(i)
        cdef TableScan scan = self.scans[i]
        op, before, after = scan.decoder.decode(self.mined[i])
        cdef scanned_row *row = &self.rows[i]
        return ChangeEvent(
            op, scan.schema, before, after, row.scn, row.time_us, self.tx, self.first_seq + i, self.row_ids[i], self.rs_ids[i], row.ssn
        )

    cdef int make_room(self, uint32_t width) except -1:
        """For one row more."""
        cdef void *more
        if self.count == self.room:
            self.room = 2 * self.room if self.room else 4
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

    cdef int take(self, TableScan scan, object sql, int code) except -1:
        """Scan a statement: 1 when it is a row of the run, 0 when it changes none of the columns, 2 when Python has to read it.

        When it is a row, the caller fills in the rest of it."""
        cdef uint32_t width = scan.table.width, assigned = 0
        cdef const char *text
        cdef size_t size
        cdef object kept = sql
        self.make_room(width)
        if PyUnicode_IS_COMPACT_ASCII(sql):
            text, size = <const char *>PyUnicode_DATA(sql), <size_t>PyUnicode_GET_LENGTH(sql)
        else:
            try:
                kept = (<str>sql).encode()
            except UnicodeEncodeError:  # half a surrogate pair
                return 2
            text, size = PyBytes_AS_STRING(kept), <size_t>PyBytes_GET_SIZE(kept)
        cdef cell *before = self.cells + self.cell_count
        cdef int operation = scan_statement(&scan.table, text, size, before, before + width, &assigned)
        if operation == OPERATION_NONE or operation != code:
            return 2
        if operation == OPERATION_UPDATE and not assigned:
            return 0
        cdef scanned_row *row = &self.rows[self.count]
        row.sql, row.operation, row.before, row.after = text, operation, self.cell_count, self.cell_count + width
        self.texts.append(kept)
        self.cell_count += 2 * width
        self.count += 1
        return 1


cdef class RunScanner:
    """Takes rows of V$LOGMNR_CONTENTS as long as they can be scanned.

    :param fields: names of a row's members, of which those of `LogMinerRow` are read.
    :param utc_us: time of a row -> microseconds since the epoch in UTC.
    :ivar scans: by (owner, table, object id) of a row; rows of others are Python's.
    """

    cdef readonly dict scans
    cdef object utc_us
    cdef Py_ssize_t scn, code, rs_id, ssn, owner, table, row_id, status, timestamp, object_id, sql

    def __init__(self, fields, utc_us):
        self.scans, self.utc_us = {}, utc_us
        at = {name: i for i, name in enumerate(fields)}
        self.scn, self.code, self.rs_id, self.ssn, self.owner = at["scn"], at["code"], at["rs_id"], at["ssn"], at["owner"]
        self.table, self.row_id, self.status, self.timestamp = at["table"], at["row_id"], at["status"], at["timestamp"]
        self.object_id, self.sql = at["object_id"], at["sql"]

    def scan(self, list rows, Py_ssize_t begin, Py_ssize_t most, object tx, Py_ssize_t first_seq):
        """(ScannedRows, index of the first row that was not taken): at most `most` rows from `begin` on, which are all of one
        transaction; the first has the number `first_seq`."""
        cdef ScannedRows run = ScannedRows(tx, first_seq)
        cdef Py_ssize_t at = begin, end = min(PyList_GET_SIZE(rows), begin + most)
        cdef object last_time = None, found, sql, code, rs_id, last_owner = None, last_table = None, last_id = None
        cdef object owner, table, object_id, time
        cdef TableScan scan = None
        cdef int64_t time_us = 0, scn, ssn
        cdef int taken
        cdef tuple row
        while at < end:
            row = <tuple>PyList_GET_ITEM(rows, at)
            owner, table, object_id = <object>PyTuple_GET_ITEM(row, self.owner), <object>PyTuple_GET_ITEM(row, self.table), <object>PyTuple_GET_ITEM(row, self.object_id)
            if scan is None or owner is not last_owner or table is not last_table or object_id is not last_id:
                found = self.scans.get((owner, table, object_id))
                if found is None:
                    break
                scan, last_owner, last_table, last_id = found, owner, table, object_id
            sql, code = <object>PyTuple_GET_ITEM(row, self.sql), <object>PyTuple_GET_ITEM(row, self.code)
            rs_id = <object>PyTuple_GET_ITEM(row, self.rs_id)
            if type(sql) is not str or <object>PyTuple_GET_ITEM(row, self.status) or not 1 <= code <= 3:
                break
            try:
                scn, ssn = <object>PyTuple_GET_ITEM(row, self.scn), <object>PyTuple_GET_ITEM(row, self.ssn)
            except OverflowError:
                break
            taken = run.take(scan, sql, code)
            if taken == 2:
                break
            at += 1
            if taken == 0:
                continue
            time = <object>PyTuple_GET_ITEM(row, self.timestamp)
            if time is not last_time and time != last_time:
                last_time, time_us = time, self.utc_us(time)
            run.rows[run.count - 1].scn, run.rows[run.count - 1].ssn, run.rows[run.count - 1].time_us = scn, ssn, time_us
            run.scans.append(scan)
            run.mined.append(sql)
            run.row_ids.append(<object>PyTuple_GET_ITEM(row, self.row_id))
            run.rs_ids.append(rs_id.strip())
        return run, at


cdef class TablePrint:
    """How the rows of one table version are printed.

    :param columns, key: (position, kind, spelling, digits, member, unavailable) as `print_column` has them, `member` and
        `unavailable` as bytes or None; `key` is empty for a table without key.
    :param compared: positions whose change makes another key.
    :param key_frame, frame: bytes before and after.
    :param has_rowid_key: the key is the row's ROWID; its frame is then up to and from the quotes of that.
    :param pieces: (tx, time in microseconds) -> the five constant texts of a source block, as bytes.
    """

    cdef print_column *columns
    cdef uint32_t count, key_count
    cdef size_t *marks
    cdef list kept
    cdef tuple compared
    cdef object topic, pieces, head, tail, key_head, key_tail
    cdef bint has_rowid_key
    cdef object tx
    cdef int64_t time_us
    cdef bytes source_head, before_rs_id, before_redo_sql, source_end

    def __cinit__(self, topic, list columns, list key, tuple compared, tuple key_frame, tuple frame, bint has_rowid_key, pieces):
        self.topic, self.compared, self.pieces, self.has_rowid_key = topic, compared, pieces, has_rowid_key
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

    cdef int at(self, object tx, int64_t time_us) except -1:
        """Get the source block's constant texts ready."""
        if tx is not self.tx or time_us != self.time_us:
            self.source_head, self.before_rs_id, self.before_redo_sql, self.source_end = self.pieces(tx, time_us)
            self.tx, self.time_us = tx, time_us
        return 0


cdef inline void put_bytes(buffer *out, bytes text):
    put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef int put_quoted(buffer *out, object text) except -1:
    """A text of the database as it is, in quotes; `null` when it is None or empty. 0 when it is not ASCII."""
    if not text:
        put(out, b"null", 4)
        return 1
    if type(text) is not str or not PyUnicode_IS_COMPACT_ASCII(text):
        return 0
    put(out, b'"', 1)
    put(out, <const char *>PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))
    put(out, b'"', 1)
    return 1


cdef class RunPrinter:
    """Prints the rows of runs as records.

    :param print_of: schema -> TablePrint, or None when its rows are Python's.
    :param tombstones: `tombstones.on.delete`.
    :param skipped: letters of the operations that have no records.
    """

    cdef buffer value, key
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

    def print_run(self, ScannedRows run, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes end):
        """Rows from `begin` on, until one has to be printed by Python, or the bounds are reached.

        :param end: of the envelope, from the operation on.
        :returns: (records, rows printed, bytes of the records, rows by operation code, rows by table, time of the last row)
        """
        cdef Py_ssize_t i = begin, size = 0
        cdef list records = []
        cdef Py_ssize_t[4] operations
        cdef TableScan scan
        cdef TablePrint table = None
        cdef object key, value, last = None
        cdef scanned_row *row
        cdef dict tables = {}
        memset(operations, 0, sizeof(operations))
        while i < <Py_ssize_t>run.count:
            row = &run.rows[i]
            scan = <TableScan>PyList_GET_ITEM(run.scans, i)
            if scan is not last:
                if scan.printer is not self:
                    scan.print, scan.printer = self.print_of(scan.schema), self
                if scan.print is None:
                    break
                table, last = scan.print, scan
            if not self.skips[row.operation]:
                key = self.print_one(run, i, row, table, end)
                if key is False:
                    break
                value = PyBytes_FromStringAndSize(self.value.data, self.value.size)
                records.append(Record(table.topic, key, value, (), 0 if key is None else None))
                size += 100 + <Py_ssize_t>self.value.size
                if row.operation == OPERATION_DELETE and key is not None and self.tombstones:
                    records.append(Record(table.topic, key, None))
                    size += 100
            operations[row.operation] += 1
            tables[scan.name] = tables.get(scan.name, 0) + 1
            i += 1
            if PyList_GET_SIZE(records) >= most_records or size >= most_bytes:
                break
        time_us = run.rows[i - 1].time_us if i > begin else 0
        return records, i - begin, size, (operations[1], operations[2], operations[3]), tables, time_us

    cdef object print_one(self, ScannedRows run, Py_ssize_t i, scanned_row *row, TablePrint table, bytes end):
        """The key, None where there is none; the value in the buffer. False when Python has to print the row."""
        cdef cell *before = NULL if row.operation == OPERATION_INSERT else run.cells + row.before
        cdef cell *after = NULL if row.operation == OPERATION_DELETE else run.cells + row.after
        cdef cell *image = before if after == NULL else after
        cdef buffer *out = &self.value
        cdef size_t *old = table.marks
        cdef Py_ssize_t position
        for position in table.compared:
            if image[position].kind == CELL_ABSENT:
                return False  # the error is Python's
            if after != NULL and before != NULL and not same(run, row, &before[position], &after[position]):
                return False  # perhaps another key
        table.at(run.tx, row.time_us)
        out.size = out.failed = 0
        put_bytes(out, table.head)
        put(out, b'{"before":', 10)
        if before == NULL:
            put(out, b"null", 4)
        elif not print_row(out, table.columns, table.count, row.sql, before, old, NULL, NULL):
            return False
        put(out, b',"after":', 9)
        if after == NULL:
            put(out, b"null", 4)
        elif not print_row(
            out, table.columns, table.count, row.sql, after, old + 2 * table.count, before, NULL if before == NULL else old
        ):
            return False
        put(out, b',"source":', 10)
        put_bytes(out, table.source_head)
        put_integer(out, row.scn)
        put_bytes(out, table.before_rs_id)
        if not put_quoted(out, <object>PyList_GET_ITEM(run.rs_ids, i)):
            return False
        put(out, b',"ssn":', 7)
        put_integer(out, row.ssn)
        put_bytes(out, table.before_redo_sql)
        put(out, b'null,"row_id":', 14)
        if not put_quoted(out, <object>PyList_GET_ITEM(run.row_ids, i)):
            return False
        put_bytes(out, table.source_end)
        put_integer(out, run.first_seq + i)
        put(out, b'},"transaction":null,"op":"', 27)
        put(out, PyBytes_AS_STRING(self.letters) + row.operation, 1)
        put_bytes(out, end)
        put_bytes(out, table.tail)
        if out.failed:
            raise MemoryError
        return self.print_key(run, i, row, table, image)

    cdef object print_key(self, ScannedRows run, Py_ssize_t i, scanned_row *row, TablePrint table, cell *image):
        cdef buffer *out = &self.key
        cdef object row_id
        if not table.key_count and not table.has_rowid_key:
            return None
        out.size = out.failed = 0
        put_bytes(out, table.key_head)
        if table.has_rowid_key:
            row_id = <object>PyList_GET_ITEM(run.row_ids, i)
            if not row_id or not put_quoted(out, row_id):
                return False
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
