"""Fetched rows as columns, through Arrow's C data interface: no object of Python for a value, and no NUMBER through a float."""


cdef extern from *:
    """
    struct ArrowSchema {
        const char *format, *name, *metadata;
        int64_t flags, n_children;
        struct ArrowSchema **children, *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children, *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    """
    cdef struct ArrowSchema:
        const char *format
        const char *name
        const char *metadata
        int64_t flags, n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept
        void *private_data
    cdef struct ArrowArray:
        int64_t length, null_count, offset, n_buffers, n_children
        const void **buffers


# Of the members of a row (`FIELDS`): l an integer, U a text, Z bytes, t a time in microseconds.
cdef const char *_KINDS = "lllUlZlUUUlllUtUUllU"


# 1: no row may be without it.
cdef const char *_NEEDED = "111010000011101"


cdef const char *format_of(int column) noexcept:
    if _KINDS[column] == b'l':
        return b"l"
    if _KINDS[column] == b'U':
        return b"U"
    return b"Z" if _KINDS[column] == b'Z' else b"tsu:"


MINED_FORMATS = [(<bytes>format_of(i)).decode() for i in range(FIELD_COUNT)]
"""Of the members of a row of V$LOGMNR_CONTENTS, for RowSchema."""


cdef void release_child(ArrowSchema *schema) noexcept:
    schema.release = NULL


cdef void release_schema(ArrowSchema *schema) noexcept:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
        free(schema.children[i])
    free(schema.children)
    schema.release = NULL


cdef void forget_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


class RowSchema:
    """The types in which the columns of a query are wanted; see Arrow's PyCapsule interface.

    :param formats: of the columns, as Arrow's C interface spells them.
    """

    def __init__(self, columns, formats):
        self.names = [name.encode() for name in columns]
        self.formats = [form.encode() for form in formats]
        assert len(self.names) == len(self.formats)

    def __arrow_c_schema__(self):
        cdef ArrowSchema *schema = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
        cdef Py_ssize_t i, count = len(self.names)
        if schema == NULL:
            raise MemoryError
        schema.children = <ArrowSchema **>calloc(count + 1, sizeof(ArrowSchema *))
        if schema.children == NULL:
            free(schema)
            raise MemoryError
        schema.format, schema.name, schema.release = b"+s", b"", release_schema
        for i in range(count):
            schema.children[i] = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
            if schema.children[i] == NULL:
                release_schema(schema)
                free(schema)
                raise MemoryError
            schema.n_children = i + 1
            schema.children[i].format = PyBytes_AS_STRING(self.formats[i])
            schema.children[i].name = PyBytes_AS_STRING(self.names[i])
            schema.children[i].flags, schema.children[i].release = 2, release_child  # values may be null
        return PyCapsule_New(schema, "arrow_schema", forget_schema)


cdef bint is_ascii(const char *data, int32_t size) noexcept nogil:
    cdef int32_t i
    cdef uint64_t eight, seen = 0
    for i in range(size // 8):
        memcpy(&eight, data + 8 * i, 8)
        seen |= eight
    for i in range(size - size % 8, size):
        seen |= <uint8_t>data[i]
    return seen & 0x8080808080808080u == 0


cdef class ArrowBatch(Batch):
    """Fetched rows, as a DataFrame of the driver.

    :raises TypeError: its columns are not as RowSchema wanted them.
    """

    cdef ArrowArray *columns[FIELD_COUNT]
    cdef list capsules
    cdef int64_t count
    # The names that were met last, by a row that has them.
    cdef int64_t name_rows[4]
    cdef int32_t names_met[4]
    cdef int met

    def __cinit__(self, frame):
        cdef int i
        cdef ArrowSchema *schema
        arrays = frame.column_arrays()
        if len(arrays) != FIELD_COUNT:
            raise TypeError(f"{len(arrays)} columns")
        self.capsules, self.count = [], frame.num_rows()
        for i in range(FIELD_COUNT):
            typed, values = arrays[i].__arrow_c_array__()
            schema = <ArrowSchema *>PyCapsule_GetPointer(typed, "arrow_schema")
            self.columns[i] = <ArrowArray *>PyCapsule_GetPointer(values, "arrow_array")
            wanted, found = <bytes>format_of(i), <bytes>schema.format
            if wanted != found or self.columns[i].length != self.count or self.columns[i].n_buffers != (2 if wanted[:1] in b"lt" else 3):
                raise TypeError(f"column {i} came as {found!r}")
            self.capsules.append(values)
        for i in range(4):
            self.name_rows[i] = -1

    def __init__(self, _frame):
        """The tuples of `Batch` are not there."""

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t at):
        cdef mined_text text
        cdef int i
        if at < 0:
            at += self.count
        if not 0 <= at < self.count:
            raise IndexError(at)
        fields = []
        for i in range(FIELD_COUNT):
            if self.is_null(i, at):
                fields.append(None)
            elif _KINDS[i] == b'l':
                fields.append(self.integer(i, at))
            elif _KINDS[i] == b't':
                fields.append(_EPOCH + _timedelta(microseconds=self.integer(i, at)))
            else:
                self.text(i, at, &text)
                fields.append(text.data[:text.size] if _KINDS[i] == b'Z' else text.data[:text.size].decode())
        return tuple(fields)

    cdef bint is_null(self, int column, int64_t at) noexcept:
        cdef const uint8_t *valid = <const uint8_t *>self.columns[column].buffers[0]
        at += self.columns[column].offset
        return valid != NULL and not valid[at >> 3] >> (at & 7) & 1

    cdef int64_t integer(self, int column, int64_t at) noexcept:
        return (<const int64_t *>self.columns[column].buffers[1])[at + self.columns[column].offset]

    cdef int text(self, int column, int64_t at, mined_text *out) except -1:
        cdef const int64_t *ends = <const int64_t *>self.columns[column].buffers[1] + self.columns[column].offset + at
        if self.is_null(column, at):
            out.data, out.size = NULL, NO_TEXT
            return 0
        if not 0 <= ends[0] <= ends[1] or ends[1] - ends[0] > INT32_MAX:
            raise MiningSessionError("the driver gave a text that has no place")
        out.data, out.size = <const char *>self.columns[column].buffers[2] + ends[0], <int32_t>(ends[1] - ends[0])
        return 0

    cdef int checked(self, int column, int64_t at, mined_text *out) except -1:
        """A text that is UTF-8, which the driver does not look at."""
        self.text(column, at, out)
        if out.size > 0 and not is_ascii(out.data, out.size):
            try:
                out.data[:out.size].decode()
            except UnicodeDecodeError as error:
                raise MiningSessionError(f"LogMiner returned text that is not valid UTF-8: {error}") from error
        return 0

    cdef bint same(self, int column, int64_t one, int64_t other) except -1:
        cdef mined_text a, b
        self.text(column, one, &a)
        self.text(column, other, &b)
        return same_text(&a, &b)

    cdef int32_t name(self, int64_t at, Names names) except -2:
        cdef int i
        for i in range(4):
            if self.name_rows[i] >= 0 and self.integer(FIELD_OBJECT_ID, at) == self.integer(FIELD_OBJECT_ID, self.name_rows[i]) and (
                self.is_null(FIELD_OBJECT_ID, at) == self.is_null(FIELD_OBJECT_ID, self.name_rows[i])
            ) and self.same(FIELD_TABLE, at, self.name_rows[i]) and self.same(FIELD_OWNER, at, self.name_rows[i]):
                return self.names_met[i]
        self.met = (self.met + 1) & 3
        self.names_met[self.met] = names.number((self.shown(FIELD_OWNER, at), self.shown(FIELD_TABLE, at), None if self.is_null(FIELD_OBJECT_ID, at) else self.integer(FIELD_OBJECT_ID, at)))
        self.name_rows[self.met] = at
        return self.names_met[self.met]

    cdef object shown(self, int column, int64_t at):
        cdef mined_text text
        self.checked(column, at, &text)
        return None if text.size < 0 else text.data[:text.size].decode()

    cdef int read(self, Py_ssize_t at, Names names, mined_row *row, list kept) except -1:
        cdef mined_text xid
        cdef int column
        for column in range(15):
            if _NEEDED[column] == 49 and self.is_null(column, at):
                return 0
        self.text(FIELD_XID, at, &xid)
        if xid.size != 8 or not INT32_MIN <= self.integer(FIELD_STATUS, at) <= INT32_MAX or not 0 <= self.integer(FIELD_CODE, at) <= 0xffff:
            return 0
        if not 0 <= self.integer(FIELD_THREAD, at) <= 0xffff:
            return 0
        memcpy(row.xid, xid.data, 8)
        row.scn, row.code, row.thread = self.integer(FIELD_SCN, at), <int32_t>self.integer(FIELD_CODE, at), <int32_t>self.integer(FIELD_THREAD, at)
        row.ssn, row.status, row.time_us = self.integer(FIELD_SSN, at), <int32_t>self.integer(FIELD_STATUS, at), self.integer(FIELD_TIME, at)
        row.flags, row.container, row.start_scn = 0, 0, 0
        if not self.is_null(FIELD_CONTAINER, at):
            row.container = self.integer(FIELD_CONTAINER, at)
            row.flags |= MINED_HAS_CONTAINER
        if not self.is_null(FIELD_START_SCN, at):
            row.start_scn = self.integer(FIELD_START_SCN, at)
            row.flags |= MINED_HAS_START
        if self.integer(FIELD_ROLLBACK, at):
            row.flags |= MINED_IS_UNDO
        if self.integer(FIELD_CSF, at):
            row.flags |= MINED_GOES_ON
        row.name = self.name(at, names)
        row.info = -1 if self.is_null(FIELD_INFO, at) else names.number(self.shown(FIELD_INFO, at))
        self.checked(FIELD_RS_ID, at, &row.rs_id)
        self.checked(FIELD_ROW_ID, at, &row.row_id)
        self.checked(FIELD_SQL, at, &row.sql)
        return row.rs_id.size >= 0

    cdef object user(self, Py_ssize_t at):
        return self.shown(FIELD_USER, at)

    cdef object client(self, Py_ssize_t at):
        return self.shown(FIELD_CLIENT, at)
