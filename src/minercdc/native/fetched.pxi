"""Rows of a snapshot's query as columns (see arrow.pxi)."""

ctypedef struct fetched_column:
    ArrowArray *values
    char kind  # l an integer, d an exact number, U a text, Z bytes
    uint32_t scale  # of an exact number


cdef enum:
    NUMBER_TEXT = 64  # no 128 bits with a sign and a point have more


cdef class ArrowRows:
    """Fetched rows as a sequence of `events.FetchedRow`, made when they are looked at; a slice is a view of the same columns.

    :param frame: a DataFrame of the driver.
    :param formats: of its columns, as RowSchema wanted them: `l`, `U`, `Z` or `d:<precision>,<scale>`.
    :param names: of its columns, for errors.
    :raises TypeError: its columns have other types.
    """

    cdef fetched_column *columns
    cdef int width
    cdef int64_t begin, count
    cdef list capsules
    cdef object names

    def __cinit__(self, frame, formats, names):
        cdef int i
        cdef ArrowSchema *schema
        cdef fetched_column *column
        if frame is None:
            return
        arrays = frame.column_arrays()
        if len(arrays) != len(formats):
            raise TypeError(f"{len(arrays)} columns")
        self.room(len(formats))
        self.capsules, self.names, self.count = [], names, frame.num_rows()
        for i in range(self.width):
            typed, values = arrays[i].__arrow_c_array__()
            schema = <ArrowSchema *>PyCapsule_GetPointer(typed, "arrow_schema")
            column = &self.columns[i]
            column.values = <ArrowArray *>PyCapsule_GetPointer(values, "arrow_array")
            found = (<bytes>schema.format).decode()
            kind = found[:1]
            if found != formats[i] or kind not in "ldUZ" or column.values.length != self.count:
                raise TypeError(f"column {names[i]} came as {found!r}")
            if column.values.n_buffers != (2 if kind in "ld" else 3):
                raise TypeError(f"column {names[i]} has {column.values.n_buffers} buffers")
            column.kind = ord(kind)
            if kind == "d":
                column.scale = int(found.partition(",")[2])
            self.capsules.append(values)

    def __init__(self, _frame, _formats, _names):
        """See `__cinit__`."""

    def __dealloc__(self):
        free(self.columns)

    cdef int room(self, int width) except -1:
        self.columns, self.width = <fetched_column *>calloc(width + 1, sizeof(fetched_column)), width
        if self.columns == NULL:
            raise MemoryError
        return 0

    cdef ArrowRows view(self, int64_t begin, int64_t count):
        cdef ArrowRows rows = ArrowRows.__new__(ArrowRows, None, None, None)
        rows.room(self.width)
        memcpy(rows.columns, self.columns, self.width * sizeof(fetched_column))
        rows.capsules, rows.names = self.capsules, self.names
        rows.begin, rows.count = self.begin + begin, count
        return rows

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        """A row, or a view of some; raises ValueDecodeError for a text that is no UTF-8."""
        cdef int i
        if isinstance(at, slice):
            begin, end, step = at.indices(self.count)
            if step != 1:
                raise ValueError("rows come in their order")
            return self.view(begin, max(end - begin, 0))
        if at < 0:
            at += self.count
        if not 0 <= at < self.count:
            raise IndexError(at)
        return tuple([self.value(i, at) for i in range(self.width)])

    def row_id(self, Py_ssize_t at):
        """The first value of a row."""
        return self.value(0, at if at >= 0 else at + self.count)

    def column(self, int place):
        """The values at one place of all rows; raises ValueDecodeError."""
        if not 0 <= place < self.width:
            raise IndexError(place)
        return [self.value(place, i) for i in range(self.count)]

    @property
    def size(self):
        """Bytes of the values."""
        cdef int64_t size = 0
        cdef int64_t *ends
        cdef int i
        for i in range(self.width):
            if self.columns[i].kind == b'U' or self.columns[i].kind == b'Z':
                ends = <int64_t *>self.columns[i].values.buffers[1] + self.columns[i].values.offset + self.begin
                size += ends[self.count] - ends[0]
            size += (16 if self.columns[i].kind == b'd' else 8) * self.count
        return size

    cdef object value(self, int column, int64_t at):
        """What the driver gives for it in a tuple, with a NUMBER as text."""
        cdef fetched_column *of = &self.columns[column]
        cdef char number[NUMBER_TEXT]
        cdef const char *data
        cdef int64_t size
        if not 0 <= at < self.count:
            raise IndexError(at)
        at += self.begin
        if is_null_at(of, at):
            return None
        if of.kind == b'l' or of.kind == b'd':
            size = number_at(of, at, number)
            if size:
                return number[:size].decode()
            raise ValueDecodeError(f"column {self.names[column]} has a number that the driver did not give exactly")
        data = bytes_at(of, at, &size)
        if data == NULL:
            raise ValueDecodeError(f"column {self.names[column]} has a value that has no place in what the driver gave")
        if of.kind == b'Z':
            return data[:size]
        try:
            return data[:size].decode()
        except UnicodeDecodeError as error:
            raise ValueDecodeError(f"column {self.names[column]} has a text that is no UTF-8: {error}") from error


cdef bint is_null_at(const fetched_column *column, int64_t at) noexcept nogil:
    cdef const uint8_t *valid = <const uint8_t *>column.values.buffers[0]
    at += column.values.offset
    return valid != NULL and not valid[at >> 3] >> (at & 7) & 1


cdef const char *bytes_at(const fetched_column *column, int64_t at, int64_t *size) noexcept nogil:
    """NULL when its offsets cannot be."""
    cdef const int64_t *ends = <const int64_t *>column.values.buffers[1] + column.values.offset + at
    if not 0 <= ends[0] <= ends[1] or ends[1] - ends[0] > INT32_MAX:
        return NULL
    size[0] = ends[1] - ends[0]
    if not size[0]:
        return b""
    return <const char *>column.values.buffers[2] + ends[0]


cdef int number_at(const fetched_column *column, int64_t at, char *out) noexcept nogil:
    """The number in canonical form, and its length: `-12.5`, `0.5`, no zeros at the end of a fraction. 0 when it has more than 64 bits."""
    cdef const int64_t *words = <const int64_t *>column.values.buffers[1]
    cdef int64_t value
    cdef uint64_t rest
    cdef char digits[NUMBER_TEXT]
    cdef uint32_t scale = 0
    cdef int count = 0, size = 0, i
    at += column.values.offset
    if column.kind == b'l':
        value = words[at]
    else:
        value, scale = words[2 * at], column.scale
        if words[2 * at + 1] != (-1 if value < 0 else 0) or scale > 18:
            return 0
    rest = <uint64_t>value if value >= 0 else 0 - <uint64_t>value
    while scale and rest and rest % 10 == 0:
        rest //= 10
        scale -= 1
    if rest == 0:
        scale = 0
    while rest or count <= <int>scale:
        digits[count] = <char>(48 + rest % 10)
        rest //= 10
        count += 1
    if value < 0:
        out[0] = b'-'
        size = 1
    for i in range(count - 1, -1, -1):
        out[size] = digits[i]
        size += 1
        if i and i == <int>scale:
            out[size] = b'.'
            size += 1
    return size


cdef bint is_utf8(const char *text, int64_t size) noexcept nogil:
    """As Python's strict decoder has it: no surrogates, nothing too long, nothing beyond U+10FFFF."""
    cdef const uint8_t *at = <const uint8_t *>text
    cdef const uint8_t *end = at + size
    cdef int more
    cdef uint8_t least, most
    while at < end:
        if at[0] < 0x80:
            at += 1
            continue
        least, most = 0x80, 0xbf
        if 0xc2 <= at[0] <= 0xdf:
            more = 1
        elif 0xe0 <= at[0] <= 0xef:
            more = 2
            if at[0] == 0xe0:
                least = 0xa0
            elif at[0] == 0xed:
                most = 0x9f
        elif 0xf0 <= at[0] <= 0xf4:
            more = 3
            if at[0] == 0xf0:
                least = 0x90
            elif at[0] == 0xf4:
                most = 0x8f
        else:
            return False
        if end - at <= more or not least <= at[1] <= most:
            return False
        if more > 1 and at[2] & 0xc0 != 0x80:
            return False
        if more > 2 and at[3] & 0xc0 != 0x80:
            return False
        at += more + 1
    return True
