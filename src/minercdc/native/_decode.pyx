# cython: language_level=3
"""Records to the columns of the change log, and records of the change log to columns of tables, in Arrow's form: the rim of envelope.c and decode.c."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy


cdef extern from "decode.h":
    enum: READ_TEXT, READ_INTEGER, READ_DECIMAL, READ_DECIMAL_TEXT, READ_SCALED_TEXT, READ_VARIABLE_TEXT, READ_MILLIS, READ_MICROS
    enum: READ_NANOS, READ_NANOS_TEXT, READ_ISO, READ_ISO_TEXT, READ_BASE64, READ_BASE64_URL, READ_HEX, READ_SINGLE, READ_DOUBLE
    enum: READ_BOOLEAN
    enum: READ_DONE, READ_LEFT, READ_NO_MEMORY
    ctypedef struct read_column:
        const char *member
        uint32_t member_size
        uint8_t kind, width
        int32_t precision, scale
    ctypedef struct read_values:
        uint8_t *valid
        char *fixed
        int32_t *offsets
        char *text
        size_t size, room
        int64_t nulls
    ctypedef struct read_table:
        const read_column *columns
        const read_column *keys
        uint32_t count, key_count
        int value_wrapped, key_wrapped
        read_values *values
    int read_row(const read_table *, const char *, size_t, const char *, size_t, int, int64_t)
    ctypedef struct read_change:
        const char *key
        const char *row_id
        int32_t key_size, row_id_size
        int64_t commit_scn, seq, offset
        int is_delete
    int mark_last "last_changes" (const read_change *, int64_t, int, uint8_t *) nogil
    ctypedef int (*read_number)(const char *, size_t, double *) noexcept
    read_number read_double_text

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, object) except? -1.0

KINDS = {
    "TEXT": READ_TEXT, "INTEGER": READ_INTEGER, "DECIMAL": READ_DECIMAL, "DECIMAL_TEXT": READ_DECIMAL_TEXT,
    "SCALED_TEXT": READ_SCALED_TEXT, "VARIABLE_TEXT": READ_VARIABLE_TEXT, "MILLIS": READ_MILLIS, "MICROS": READ_MICROS,
    "NANOS": READ_NANOS, "NANOS_TEXT": READ_NANOS_TEXT, "ISO": READ_ISO, "ISO_TEXT": READ_ISO_TEXT, "BASE64": READ_BASE64,
    "BASE64_URL": READ_BASE64_URL, "HEX": READ_HEX, "SINGLE": READ_SINGLE, "DOUBLE": READ_DOUBLE, "BOOLEAN": READ_BOOLEAN,
}
"""The kinds of decode.h, by name."""


cdef int _double_of(const char *text, size_t size, double *value) noexcept:
    cdef char ended[72]
    if size >= sizeof(ended):
        return 0
    memcpy(ended, text, size)
    ended[size] = 0
    try:
        value[0] = PyOS_string_to_double(ended, NULL, OverflowError)
        return 1
    except Exception:
        return 0


read_double_text = _double_of


cdef class Texts:
    """An Arrow array of text, by its buffers.

    :param offset: of its first row in the buffers.
    """

    cdef object kept
    cdef const uint8_t *valid
    cdef const int32_t *offsets
    cdef const char *data
    cdef Py_ssize_t count, offset

    def __cinit__(self, Py_ssize_t count, Py_ssize_t offset, valid, offsets, data):
        cdef const uint8_t[::1] bits, numbers, content
        self.kept, self.count, self.offset = (valid, offsets, data), count, offset
        self.valid, self.offsets, self.data = NULL, NULL, b""
        if valid is not None:
            bits = memoryview(valid).cast("B")
            if bits.shape[0] * 8 < count + offset:
                raise ValueError("the bitmap is too short")
            self.valid = &bits[0]
        numbers = memoryview(offsets).cast("B")
        if numbers.shape[0] < <Py_ssize_t>sizeof(int32_t) * (count + offset + 1):
            raise ValueError("there are too few offsets")
        self.offsets = <const int32_t *>&numbers[0] + offset
        if data is not None:
            content = memoryview(data).cast("B")
            if content.shape[0]:
                self.data = <const char *>&content[0]
            if self.offsets[count] > content.shape[0]:
                raise ValueError("the texts are too short")

    cdef bint is_null(self, Py_ssize_t i) noexcept:
        return self.valid != NULL and not self.valid[(i + self.offset) >> 3] >> ((i + self.offset) & 7) & 1


cdef class ColumnReader:
    """Reads the records of one table version.

    :param columns, keys: (member, kind, width, precision, scale) of what is read of the image, and of the record key.
    :param value_wrapped, key_wrapped: it is the `payload` of the document.
    """

    cdef list members
    cdef read_column *columns
    cdef Py_ssize_t count, key_count
    cdef bint value_wrapped, key_wrapped

    def __cinit__(self, list columns, list keys, bint value_wrapped, bint key_wrapped):
        cdef Py_ssize_t i
        self.count, self.key_count, self.members = len(columns), len(keys), []
        self.value_wrapped, self.key_wrapped = value_wrapped, key_wrapped
        self.columns = <read_column *>calloc(self.count + self.key_count + 1, sizeof(read_column))
        if self.columns == NULL:
            raise MemoryError
        for i, (member, kind, width, precision, scale) in enumerate(columns + keys):
            self.members.append(<bytes?>member)
            self.columns[i].member, self.columns[i].member_size = PyBytes_AS_STRING(member), len(member)
            self.columns[i].kind, self.columns[i].width = kind, width
            self.columns[i].precision, self.columns[i].scale = precision, scale

    def __dealloc__(self):
        free(self.columns)

    def read(self, Texts keys not None, Texts values not None, Texts ops not None, bint before):
        """For each column, then for each of the key: (bitmap, offsets or None, values) of Arrow, and how many are null; the number of the first
        record that is left to others where there is one.

        :param before: of deletes, read the image before the change.
        """
        cdef read_table table
        cdef Py_ssize_t i, total = self.count + self.key_count, count = values.count
        cdef const char *key
        cdef size_t key_size
        cdef int status = READ_DONE
        cdef bint is_delete
        if keys.count != count or ops.count != count:
            raise ValueError("columns of different lengths")
        table.columns, table.keys = self.columns, self.columns + self.count
        table.count, table.key_count = self.count, self.key_count
        table.value_wrapped, table.key_wrapped = self.value_wrapped, self.key_wrapped
        table.values = <read_values *>calloc(total + 1, sizeof(read_values))
        if table.values == NULL:
            raise MemoryError
        try:
            kept = [self.make_room(&table.values[i], self.columns[i].width, count) for i in range(total)]
            for i in range(count):
                if values.is_null(i) or ops.is_null(i):
                    return i
                key, key_size = NULL, 0
                if not keys.is_null(i):
                    key, key_size = keys.data + keys.offsets[i], keys.offsets[i + 1] - keys.offsets[i]
                is_delete = ops.offsets[i + 1] - ops.offsets[i] == 1 and ops.data[ops.offsets[i]] == b'd'
                status = read_row(
                    &table, key, key_size, values.data + values.offsets[i], values.offsets[i + 1] - values.offsets[i],
                    before and is_delete, i,
                )
                if status == READ_NO_MEMORY:
                    raise MemoryError
                if status != READ_DONE:
                    return i
            return [self.taken(&table.values[i], self.columns[i].kind, kept[i], count) for i in range(total)]
        finally:
            for i in range(total):
                free(table.values[i].text)
            free(table.values)

    cdef tuple make_room(self, read_values *out, int width, Py_ssize_t count):
        cdef bytes valid = bytes((count + 7) // 8 + 1)
        cdef bytes numbers = bytes(count * width) if width else bytes((count + 1) * sizeof(int32_t))
        out.valid = <uint8_t *>PyBytes_AS_STRING(valid)
        if width:
            out.fixed = PyBytes_AS_STRING(numbers)
        else:
            out.offsets = <int32_t *>PyBytes_AS_STRING(numbers)
        return valid, numbers

    cdef tuple taken(self, read_values *out, int kind, tuple kept, Py_ssize_t count):
        valid, numbers = kept
        if out.offsets != NULL:
            return valid, numbers, PyBytes_FromStringAndSize(out.text, out.size), out.nulls
        if kind == READ_BOOLEAN:
            return valid, None, _bits(numbers), out.nulls
        return valid, None, numbers, out.nulls


cdef bytes _bits(bytes values):
    cdef Py_ssize_t i, count = len(values)
    cdef bytes made = bytes((count + 7) // 8 + 1)
    cdef uint8_t *bits = <uint8_t *>PyBytes_AS_STRING(made)
    cdef const char *given = PyBytes_AS_STRING(values)
    for i in range(count):
        bits[i >> 3] |= given[i] << (i & 7)
    return made


def last_changes(list parts, bint by_row):
    """One bytes object of 0 and 1 for all rows of the parts: 1 for the last change of each key, of rows that have no key of each ROWID, in the
    order of `merge.latest`.

    :param parts: (keys, ROWIDs, ops, commit SCNs, sequence numbers, offsets) of each part; the numbers as memory of 64 bits each.
    :param by_row: several rows may have had one key; else the keys are ROWIDs.
    """
    cdef Py_ssize_t count = 0, at = 0, i
    cdef Texts keys, row_ids, ops
    cdef const int64_t[::1] scns, seqs, offsets
    cdef read_change *changes
    cdef read_change *one
    cdef bytes kept
    for part in parts:
        count += (<Texts?>part[0]).count
    changes = <read_change *>calloc(count + 1, sizeof(read_change))
    if changes == NULL:
        raise MemoryError
    try:
        for part in parts:
            keys, row_ids, ops, scns, seqs, offsets = part
            if not keys.count == row_ids.count == ops.count == scns.shape[0] == seqs.shape[0] == offsets.shape[0]:
                raise ValueError("columns of different lengths")
            for i in range(keys.count):
                one = &changes[at]
                at += 1
                one.key, one.key_size = keys.data + keys.offsets[i], -1 if keys.is_null(i) else keys.offsets[i + 1] - keys.offsets[i]
                one.row_id = row_ids.data + row_ids.offsets[i]
                one.row_id_size = 0 if row_ids.is_null(i) else row_ids.offsets[i + 1] - row_ids.offsets[i]
                one.commit_scn, one.seq, one.offset = scns[i], seqs[i], offsets[i]
                one.is_delete = ops.offsets[i + 1] - ops.offsets[i] == 1 and ops.data[ops.offsets[i]] == b'd'
        kept = bytes(count)
        if not mark_last(changes, count, by_row, <uint8_t *>PyBytes_AS_STRING(kept)):
            raise MemoryError
        return kept
    finally:
        free(changes)


include "envelopes.pxi"
