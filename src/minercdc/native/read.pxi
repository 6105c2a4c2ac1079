"""Rows that a snapshot fetched to records."""


ctypedef struct piece:
    const char *data
    size_t size


ctypedef struct read_frame:
    piece head, source, end, key_head, key_tail
    bint has_key, has_rowid_key
    const print_column *columns  # of the value, then of the key
    uint32_t count, key_count


cdef class ReadPrinter:
    """Prints the fetched rows of one table version.

    :param values: for each column of a row, by position: its place in what was fetched, -1 for one that is not read; and the place
        that says whether it is null (`1`) or empty, -1 where None is null.
    """

    cdef TablePrint table
    cdef int *places
    cdef Py_ssize_t width, least
    cdef bint with_floats
    cdef buffer value, key, hex
    cdef int64_t *ends
    cdef Py_ssize_t room

    def __cinit__(self, TablePrint table, list values):
        cdef Py_ssize_t i
        self.table, self.width = table, len(values)
        self.places = <int *>calloc(2 * len(values) + 1, sizeof(int))
        if self.places == NULL:
            raise MemoryError
        for i, (place, null) in enumerate(values):
            self.places[2 * i], self.places[2 * i + 1] = place, null
            self.least = max(self.least, <Py_ssize_t>place, <Py_ssize_t>null)
        for i in range(table.count + table.key_count):
            if table.columns[i].position >= self.width:
                raise IndexError(table.columns[i].position)
            # Only Python knows their shortest text.
            self.with_floats |= table.columns[i].kind in (PRINT_SINGLE, PRINT_DOUBLE, PRINT_NUMBER_DOUBLE)

    def __dealloc__(self):
        free(self.places)
        free(self.value.data)
        free(self.key.data)
        free(self.hex.data)
        free(self.ends)

    def print_rows(self, rows, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes source, bytes end):
        """(Records, bytes of the records) of rows from number `begin` on, until one has to be printed by Python, or the bounds are
        reached.

        :param source: what the source blocks of the rows have before the ROWID.
        :param end: what follows the ROWID, up to the end of the envelope.
        """
        if isinstance(rows, ArrowRows):
            return self.print_columns_of(<ArrowRows>rows, begin, most_records, most_bytes, source, end)
        return self.print_tuples(<list?>rows, begin, most_records, most_bytes, source, end)

    cdef tuple print_tuples(self, list rows, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes source, bytes end):
        cdef Records records = Records()
        cdef Py_ssize_t i = begin, size = 0
        cdef object key
        cdef tuple row
        while i < PyList_GET_SIZE(rows) and PyList_GET_SIZE(records.values) < most_records and size < most_bytes:
            row = <tuple?>PyList_GET_ITEM(rows, i)
            if PyTuple_GET_SIZE(row) <= self.least or not self.print_value(row, source, end):
                break
            key = self.print_key(row)
            if key is False:
                break
            records.add(self.table.topic, key, PyBytes_FromStringAndSize(self.value.data, self.value.size))
            size += RECORD_COST + <Py_ssize_t>self.value.size
            i += 1
        return records, size

    cdef bint print_value(self, tuple row, bytes source, bytes end) except -1:
        cdef buffer *out = &self.value
        out.size = out.failed = 0
        put_bytes(out, self.table.head)
        put_text(out, b'{"before":null,"after":')
        if not self.print_columns(out, row, self.table.columns, self.table.count):
            return False
        put_bytes(out, source)
        if not self.print_row_id(out, row, True):
            return False
        put_bytes(out, end)
        if out.failed:
            raise MemoryError
        return True

    cdef object print_key(self, tuple row):
        """The key, None where there is none; False when Python has to print the row."""
        cdef buffer *out = &self.key
        if not self.table.key_count and not self.table.has_rowid_key:
            return None
        out.size = out.failed = 0
        put_bytes(out, self.table.key_head)
        if self.table.has_rowid_key:
            if not self.print_row_id(out, row, False):
                return False
        elif not self.print_columns(out, row, self.table.columns + self.table.count, self.table.key_count):
            return False
        put_bytes(out, self.table.key_tail)
        if out.failed:
            raise MemoryError
        return PyBytes_FromStringAndSize(out.data, out.size)

    cdef bint print_row_id(self, buffer *out, tuple row, bint may_be_null) except -1:
        cdef object row_id = <object>PyTuple_GET_ITEM(row, 0)
        if row_id is None and may_be_null:
            put_text(out, b"null")
            return True
        if type(row_id) is not str or not PyUnicode_IS_COMPACT_ASCII(row_id) or not PyUnicode_GET_LENGTH(row_id):
            return False
        put_quoted(out, <const char *>PyUnicode_DATA(row_id), <int32_t>PyUnicode_GET_LENGTH(row_id))
        return True

    cdef bint print_columns(self, buffer *out, tuple row, const print_column *columns, uint32_t count) except -1:
        """The members of a row with braces."""
        cdef uint32_t i
        if count == 0:
            put_text(out, b"{")
        for i in range(count):
            put(out, columns[i].member, columns[i].member_size)
            if not self.print_one(out, row, &columns[i]):
                return False
        put_text(out, b"}")
        return True

    cdef bint print_one(self, buffer *out, tuple row, const print_column *column) except -1:
        cdef int place = self.places[2 * column.position], null = self.places[2 * column.position + 1]
        cdef cell found
        cdef Py_ssize_t size = 0
        cdef const char *text = b""
        cdef object value
        found.at = found.size = 0
        found.kind = CELL_ABSENT
        if place >= 0:
            value = <object>PyTuple_GET_ITEM(row, place)
            if value is None:
                found.kind = CELL_NULL
                if null >= 0 and <object>PyTuple_GET_ITEM(row, null) == "0":
                    found.kind = CELL_EMPTY
            else:
                if column.kind == PRINT_SINGLE or column.kind == PRINT_DOUBLE:
                    if type(value) is not float:
                        return False
                    value = repr(value)
                elif column.kind == PRINT_HEX or column.kind == PRINT_BASE64 or column.kind == PRINT_BASE64_URL:
                    if type(value) is not bytes:
                        return False
                    value = (<bytes>value).hex()
                if type(value) is not str:
                    return False
                try:
                    text = PyUnicode_AsUTF8AndSize(value, &size)
                except UnicodeEncodeError:
                    return False
                if size > 0xffffffff:
                    return False
                found.kind, found.size = CELL_TEXT, <uint32_t>size
                if size and text[0] == b' ' and (column.kind == PRINT_EPOCH or column.kind == PRINT_ISO or column.kind == PRINT_ZONED):
                    found.at, found.size = 1, found.size - 1  # the sign of the year
        return print_cell(out, column, text, &found)

    cdef tuple print_columns_of(self, ArrowRows rows, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes source, bytes end):
        """`print_rows` without an object for a value. The texts of all records are made first; meanwhile other threads run."""
        cdef TablePrint table = self.table
        cdef Records records = Records()
        cdef Py_ssize_t i, count = max(min(<Py_ssize_t>rows.count - begin, most_records), 0)
        cdef int64_t first = rows.begin + begin, value_at = 0, key_at = 0
        cdef read_frame frame
        cdef object key
        if rows.width <= self.least or begin < 0:
            return records, 0
        self.make_room(count)
        frame.head, frame.source, frame.end = piece_of(table.head), piece_of(source), piece_of(end)
        frame.key_head, frame.key_tail = piece_of(table.key_head), piece_of(table.key_tail)
        frame.has_key, frame.has_rowid_key = table.key_count or table.has_rowid_key, table.has_rowid_key
        frame.columns, frame.count, frame.key_count = table.columns, table.count, table.key_count
        if self.with_floats:
            count = self.print_texts(&frame, rows.columns, first, count, most_bytes)
        else:
            with nogil:
                count = self.print_texts(&frame, rows.columns, first, count, most_bytes)
        if self.value.failed or self.key.failed or self.hex.failed:
            raise MemoryError
        for i in range(count):
            key = PyBytes_FromStringAndSize(self.key.data + key_at, self.ends[2 * i + 1] - key_at) if frame.has_key else None
            records.add(table.topic, key, PyBytes_FromStringAndSize(self.value.data + value_at, self.ends[2 * i] - value_at))
            value_at, key_at = self.ends[2 * i], self.ends[2 * i + 1]
        return records, RECORD_COST * count + value_at

    cdef int make_room(self, Py_ssize_t count) except -1:
        if count > self.room:
            ends = <int64_t *>realloc(self.ends, 2 * count * sizeof(int64_t))
            if ends == NULL:
                raise MemoryError
            self.ends, self.room = ends, count
        return 0

    cdef Py_ssize_t print_texts(
        self, const read_frame *frame, const fetched_column *columns, int64_t first, Py_ssize_t count, Py_ssize_t most_bytes
    ) noexcept nogil:
        """Values and keys of rows one after the other, with `ends` of each; how many rows, up to one that Python has to print."""
        cdef Py_ssize_t i = 0
        self.value.size = self.key.size = 0
        self.value.failed = self.key.failed = self.hex.failed = 0
        while i < count and <Py_ssize_t>self.value.size + RECORD_COST * i < most_bytes:
            if not self.print_value_at(frame, columns, first + i) or not self.print_key_at(frame, columns, first + i):
                break
            self.ends[2 * i], self.ends[2 * i + 1] = self.value.size, self.key.size
            i += 1
        return i

    cdef bint print_value_at(self, const read_frame *frame, const fetched_column *columns, int64_t at) noexcept nogil:
        cdef buffer *out = &self.value
        put(out, frame.head.data, frame.head.size)
        put_text(out, b'{"before":null,"after":')
        if not self.print_columns_at(out, frame.columns, frame.count, columns, at):
            return False
        put(out, frame.source.data, frame.source.size)
        if not print_row_id_at(out, columns, at, True):
            return False
        put(out, frame.end.data, frame.end.size)
        return True

    cdef bint print_key_at(self, const read_frame *frame, const fetched_column *columns, int64_t at) noexcept nogil:
        cdef buffer *out = &self.key
        if not frame.has_key:
            return True
        put(out, frame.key_head.data, frame.key_head.size)
        if frame.has_rowid_key:
            if not print_row_id_at(out, columns, at, False):
                return False
        elif not self.print_columns_at(out, frame.columns + frame.count, frame.key_count, columns, at):
            return False
        put(out, frame.key_tail.data, frame.key_tail.size)
        return True

    cdef bint print_columns_at(
        self, buffer *out, const print_column *printed, uint32_t count, const fetched_column *columns, int64_t at
    ) noexcept nogil:
        """The members of a row with braces."""
        cdef uint32_t i
        if count == 0:
            put_text(out, b"{")
        for i in range(count):
            put(out, printed[i].member, printed[i].member_size)
            if not self.print_one_at(out, &printed[i], columns, at):
                return False
        put_text(out, b"}")
        return True

    cdef bint print_one_at(self, buffer *out, const print_column *column, const fetched_column *columns, int64_t at) noexcept nogil:
        cdef int place = self.places[2 * column.position]
        cdef const fetched_column *fetched
        cdef char number[NUMBER_TEXT]
        cdef const char *text = b""
        cdef int64_t size = 0
        cdef cell found
        found.at = found.size = 0
        found.kind = CELL_ABSENT
        if place < 0:
            return print_cell(out, column, text, &found)
        fetched = &columns[place]
        if is_null_at(fetched, at):
            found.kind = CELL_NULL
            return print_cell(out, column, text, &found)
        if fetched.kind == b'l' or fetched.kind == b'd':
            text, size = number, number_at(fetched, at, number)
            if size == 0:
                return False
        else:
            text = bytes_at(fetched, at, &size)
            if text == NULL:
                return False
            if fetched.kind == b'Z':
                text, size = self.hex_of(text, size), 2 * size
                if text == NULL:
                    return False
            elif not is_ascii(text, <int32_t>size) and not is_utf8(text, size):
                return False
        if (fetched.kind == b'Z') != (column.kind == PRINT_HEX or column.kind == PRINT_BASE64 or column.kind == PRINT_BASE64_URL):
            return False
        found.kind, found.size = CELL_TEXT, <uint32_t>size
        if size and text[0] == b' ' and (column.kind == PRINT_EPOCH or column.kind == PRINT_ISO or column.kind == PRINT_ZONED):
            found.at, found.size = 1, found.size - 1  # the sign of the year
        return print_cell(out, column, text, &found)

    cdef const char *hex_of(self, const char *data, int64_t size) noexcept nogil:
        cdef const char *digits = b"0123456789abcdef"
        cdef int64_t i
        self.hex.size = 0
        if not reserve(&self.hex, 2 * size + 1):
            return NULL
        for i in range(size):
            self.hex.data[2 * i] = digits[<uint8_t>data[i] >> 4]
            self.hex.data[2 * i + 1] = digits[<uint8_t>data[i] & 15]
        return self.hex.data


cdef bint print_row_id_at(buffer *out, const fetched_column *columns, int64_t at, bint may_be_null) noexcept nogil:
    cdef int64_t size = 0
    cdef const char *text
    if is_null_at(&columns[0], at):
        if may_be_null:
            put_text(out, b"null")
        return may_be_null
    text = bytes_at(&columns[0], at, &size)
    if columns[0].kind != b'U' or text == NULL or size == 0 or not is_ascii(text, <int32_t>size):
        return False
    put_quoted(out, text, <int32_t>size)
    return True


cdef piece piece_of(bytes text) noexcept:
    """Its place; good as long as it is."""
    cdef piece found
    found.data, found.size = PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)
    return found
