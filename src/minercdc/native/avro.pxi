"""Avro's binary form of JSON payloads (`avro.c`)."""


cdef int _double_of(const char *text, size_t size, double *out) noexcept:
    cdef char ended[64]
    if size >= sizeof(ended):
        return 0
    memcpy(ended, text, size)
    ended[size] = 0
    try:
        out[0] = PyOS_string_to_double(ended, NULL, NULL)
    except ValueError:
        return 0
    return 1


read_double = _double_of


cdef class AvroWriter:
    """Writes payloads of one schema, after a header.

    :param fields: (kind, place of null, bits, member, number of the first field that is not below), in the order of the schema.
    """

    cdef avro_field *fields
    cdef buffer out
    cdef list members
    cdef bytes header

    def __cinit__(self, list fields, bytes header):
        cdef bytes member
        self.fields = <avro_field *>calloc(len(fields), sizeof(avro_field))
        if self.fields == NULL:
            raise MemoryError
        self.members = []  # keeps the texts that the fields point to
        self.header = header
        for i, (kind, null, bits, member, next_field) in enumerate(fields):
            self.members.append(member)
            self.fields[i].kind, self.fields[i].null, self.fields[i].bits = kind, null, bits
            self.fields[i].next = next_field
            self.fields[i].member = PyBytes_AS_STRING(member)
            self.fields[i].member_size = <uint32_t>PyBytes_GET_SIZE(member)

    def __dealloc__(self):
        free(self.fields)
        free(self.out.data)

    def write(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        """Header and payload, which is the document between two bytes; None for one that Python has to write."""
        if not 0 <= begin <= end <= PyBytes_GET_SIZE(document):
            raise IndexError("not within the document")
        self.out.size = 0
        put(&self.out, PyBytes_AS_STRING(self.header), PyBytes_GET_SIZE(self.header))
        if not avro_write(&self.out, self.fields, PyBytes_AS_STRING(document) + begin, end - begin):
            if self.out.failed:
                self.out.failed = 0
                raise MemoryError
            return None
        return PyBytes_FromStringAndSize(self.out.data, self.out.size)
