# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The rim of the C core: Python's objects in, Python's objects out. See docs/architecture.md, "The native path"."""

from json.encoder import encode_basestring

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.datetime cimport (
    PyDateTime_DATE_GET_HOUR,
    PyDateTime_DATE_GET_MICROSECOND,
    PyDateTime_DATE_GET_MINUTE,
    PyDateTime_DATE_GET_SECOND,
    PyDateTime_GET_DAY,
    PyDateTime_GET_MONTH,
    PyDateTime_GET_YEAR,
    PyDateTime_IMPORT,
    datetime,
)
from cpython.exc cimport PyErr_Clear
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset, strlen

from minercdc.stream.contracts import Record
from minercdc.errors import MiningSessionError, ValueDecodeError
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, TransactionInfo


cdef extern from "core.h":
    ctypedef struct cell:
        uint32_t at, size
        uint8_t kind, function
    enum: CELL_ABSENT, CELL_NULL, CELL_EMPTY, CELL_TEXT
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
    int reserve(buffer *, size_t) nogil
    void put(buffer *, const char *, size_t) nogil
    void put_integer(buffer *, int64_t) nogil
    int print_cell(buffer *, const print_column *, const char *, const cell *) nogil
    int print_row(buffer *, const print_column *, uint32_t, const char *, const cell *, size_t *, const cell *, const size_t *) nogil
    ctypedef int (*float_text)(const char *, size_t, int, char *) noexcept
    float_text print_float

cdef extern from "store.h":
    enum: NO_TEXT
    size_t NO_PLACE
    enum: MINED_HAS_CONTAINER, MINED_HAS_START, MINED_IS_UNDO, MINED_GOES_ON, MINED_HALF_PAIR
    ctypedef struct mined_text:
        const char *data
        int32_t size
    ctypedef struct mined_row:
        int64_t scn, ssn, time_us, container, start_scn
        int32_t code, thread, status, name, info
        uint32_t flags
        uint8_t xid[8]
        mined_text rs_id, row_id, sql
    ctypedef struct row_block:
        char *data
        size_t size, room
        uint32_t last
    ctypedef struct xid_entry:
        void *value
    ctypedef struct xid_table:
        xid_entry *entries
        size_t room, count
    int block_put(row_block *, const mined_row *) nogil
    uint32_t block_get(const char *, size_t, size_t, mined_row *) nogil
    size_t block_before(const row_block *, size_t) nogil
    int block_take_out(row_block *, size_t) nogil
    int block_prepend(row_block *, const char *, size_t) nogil
    size_t block_part(const char *, size_t, size_t, size_t) nogil
    void block_free(row_block *) nogil
    size_t block_numbers(const char *, size_t, uint8_t *, int32_t) nogil
    int block_renumber(char *, size_t, const int32_t *, int32_t) nogil
    void *xid_find(const xid_table *, int64_t, uint64_t) nogil
    int xid_put(xid_table *, int64_t, uint64_t, void *) nogil
    void *xid_remove(xid_table *, int64_t, uint64_t) nogil
    void xid_free(xid_table *) nogil

cdef extern from "avro.h":
    enum: AVRO_BOOLEAN, AVRO_INTEGER, AVRO_FLOAT, AVRO_DOUBLE, AVRO_STRING, AVRO_BYTES, AVRO_RECORD
    enum: AVRO_REQUIRED, AVRO_NULL_FIRST, AVRO_NULL_LAST
    ctypedef struct avro_field:
        const char *member
        uint32_t member_size, next
        uint8_t kind, null, bits
    int avro_write(buffer *, const avro_field *, const char *, size_t)
    ctypedef int (*double_of)(const char *, size_t, double *) noexcept
    double_of read_double

cdef extern from "pieces.h":
    enum: NODE_VALUE, NODE_STRUCT, NODE_PASSED, NODE_WHOLE, NODE_REST
    enum: PIECE_TEXT, PIECE_COPY, PIECE_OPEN, PIECE_OR_NULL, PIECE_MASKED, PIECE_QUOTED, PIECE_SUFFIXED, PIECE_BARE, PIECE_GIVEN
    enum: PIECE_IS_NULL, PIECE_TIME
    ctypedef struct node:
        const char *member
        const char *until
        uint32_t member_size, next, until_size
        uint8_t kind
    ctypedef struct place:
        const char *at
        size_t size
    ctypedef struct text_piece:
        const char *text
        uint32_t text_size, first, last
        uint8_t kind
    int find_places(const node *, uint32_t, const char *, size_t, place *)
    int write_pieces(buffer *, const text_piece *, size_t, const place *)
    int is_null(const place *)
    int put_content(buffer *, const place *)

cdef extern from "protobuf.h":
    enum: PROTOBUF_BOOLEAN, PROTOBUF_INTEGER, PROTOBUF_FLOAT, PROTOBUF_DOUBLE, PROTOBUF_STRING, PROTOBUF_BYTES, PROTOBUF_MESSAGE
    enum: PROTOBUF_DECIMAL, PROTOBUF_DATE, PROTOBUF_TIME, PROTOBUF_STAMP, PROTOBUF_PLAIN, PROTOBUF_EXPLICIT, PROTOBUF_WRAPPED
    ctypedef struct protobuf_field:
        const char *member
        uint32_t member_size, next, number
        int32_t scale
        uint8_t kind, presence, bits, may_be_null
    int protobuf_write(buffer *, const protobuf_field *, const char *, size_t)

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, PyObject *) except? -1.0
    char *PyOS_double_to_string(double, char, int, int, int *) except NULL
    enum: Py_DTSF_ADD_DOT_0
    int PyUnicode_IS_COMPACT_ASCII(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL


cdef enum:
    ADDRESS_ROOM = 48  # for an RS_ID
    PLACEHOLDER_SIZE = 18  # of a ROWID
    RECORD_COST = 100  # of a record beside its value, in bytes, as `pipeline/publisher.py` counts it
    ROW_COST = 16  # of a buffered row beside its bytes, and of a transaction
    TRANSACTION_COST = 400
    PART_BYTES = 1 << 20  # of a spill file that are in memory at once
    RUN_ROWS = 1024  # of several transactions in one run, and their statements
    RUN_BYTES = 1 << 20
    CODE_INTERNAL = 0
    CODE_START = 6
    CODE_COMMIT = 7
    CODE_ROLLBACK = 36

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
    "AVRO_BOOLEAN": AVRO_BOOLEAN, "AVRO_INTEGER": AVRO_INTEGER, "AVRO_FLOAT": AVRO_FLOAT, "AVRO_DOUBLE": AVRO_DOUBLE,
    "AVRO_STRING": AVRO_STRING, "AVRO_BYTES": AVRO_BYTES, "AVRO_RECORD": AVRO_RECORD, "AVRO_REQUIRED": AVRO_REQUIRED,
    "AVRO_NULL_FIRST": AVRO_NULL_FIRST, "AVRO_NULL_LAST": AVRO_NULL_LAST,
    "NODE_VALUE": NODE_VALUE, "NODE_STRUCT": NODE_STRUCT, "NODE_PASSED": NODE_PASSED, "NODE_WHOLE": NODE_WHOLE, "NODE_REST": NODE_REST,
    "PIECE_TEXT": PIECE_TEXT, "PIECE_COPY": PIECE_COPY, "PIECE_OPEN": PIECE_OPEN, "PIECE_OR_NULL": PIECE_OR_NULL,
    "PIECE_MASKED": PIECE_MASKED, "PIECE_QUOTED": PIECE_QUOTED, "PIECE_SUFFIXED": PIECE_SUFFIXED,
    "PIECE_BARE": PIECE_BARE, "PIECE_GIVEN": PIECE_GIVEN, "PIECE_IS_NULL": PIECE_IS_NULL, "PIECE_TIME": PIECE_TIME,
    "PROTOBUF_BOOLEAN": PROTOBUF_BOOLEAN, "PROTOBUF_INTEGER": PROTOBUF_INTEGER, "PROTOBUF_FLOAT": PROTOBUF_FLOAT,
    "PROTOBUF_DOUBLE": PROTOBUF_DOUBLE, "PROTOBUF_STRING": PROTOBUF_STRING, "PROTOBUF_BYTES": PROTOBUF_BYTES,
    "PROTOBUF_MESSAGE": PROTOBUF_MESSAGE, "PROTOBUF_DECIMAL": PROTOBUF_DECIMAL, "PROTOBUF_DATE": PROTOBUF_DATE,
    "PROTOBUF_TIME": PROTOBUF_TIME, "PROTOBUF_STAMP": PROTOBUF_STAMP, "PROTOBUF_PLAIN": PROTOBUF_PLAIN,
    "PROTOBUF_EXPLICIT": PROTOBUF_EXPLICIT, "PROTOBUF_WRAPPED": PROTOBUF_WRAPPED,
}
"""The enums of core.h, avro.h, pieces.h and protobuf.h, by name."""

OPERATION_CODES = {
    "INTERNAL": CODE_INTERNAL, "INSERT": OPERATION_INSERT, "DELETE": OPERATION_DELETE, "UPDATE": OPERATION_UPDATE,
    "START": CODE_START, "COMMIT": CODE_COMMIT, "ROLLBACK": CODE_ROLLBACK,
}
"""Those of V$LOGMNR_CONTENTS that are told apart here, beside `LARGE_CODES`."""

SIZES = {"PLACEHOLDER_SIZE": PLACEHOLDER_SIZE, "RECORD_COST": RECORD_COST, "PART_BYTES": PART_BYTES}
"""In bytes; the Python path has the same."""


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


include "scan.pxi"
include "print.pxi"
include "mined.pxi"
include "transaction.pxi"
include "transaction_buffer.pxi"
include "mine.pxi"
include "arrow.pxi"
include "fetched.pxi"
include "read.pxi"
include "avro.pxi"
include "pieces.pxi"
include "protobuf.pxi"
