"""Rows that a snapshot fetched to records."""


cdef class ReadPrinter:
    """Prints the fetched rows of one table version.

    :param values: for each column of a row, by position: its place in what was fetched, -1 for one that is not read; and the place
        that says whether it is null (`1`) or empty, -1 where None is null.
    """

    cdef TablePrint table
    cdef int *places
    cdef Py_ssize_t width, least
    cdef buffer value, key

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

    def __dealloc__(self):
        free(self.places)
        free(self.value.data)
        free(self.key.data)

    def print_rows(self, list rows, Py_ssize_t begin, Py_ssize_t most_records, Py_ssize_t most_bytes, bytes source, bytes end):
        """(Records, bytes of the records) of rows from number `begin` on, until one has to be printed by Python, or the bounds are
        reached.

        :param source: what the source blocks of the rows have before the ROWID.
        :param end: what follows the ROWID, up to the end of the envelope.
        """
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
            size += 100 + <Py_ssize_t>self.value.size
            i += 1
        return records, size

    cdef bint print_value(self, tuple row, bytes source, bytes end) except -1:
        cdef buffer *out = &self.value
        out.size = out.failed = 0
        put_bytes(out, self.table.head)
        put(out, b'{"before":null,"after":', 23)
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
            put(out, b"null", 4)
            return True
        if type(row_id) is not str or not PyUnicode_IS_COMPACT_ASCII(row_id) or not PyUnicode_GET_LENGTH(row_id):
            return False
        put_quoted(out, <const char *>PyUnicode_DATA(row_id), <int32_t>PyUnicode_GET_LENGTH(row_id))
        return True

    cdef bint print_columns(self, buffer *out, tuple row, const print_column *columns, uint32_t count) except -1:
        """The members of a row with braces."""
        cdef uint32_t i
        if count == 0:
            put(out, b"{", 1)
        for i in range(count):
            put(out, columns[i].member, columns[i].member_size)
            if not self.print_one(out, row, &columns[i]):
                return False
        put(out, b"}", 1)
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
