"""Messages of Protocol Buffers of JSON payloads (`protobuf.c`)."""


cdef class ProtobufWriter(PayloadWriter):
    """Writes payloads of one schema, after a header.

    :param fields: (kind, number, presence, bits, scale, whether it may be null, member, number of the first field that is not below), in
        the order of the schema.
    """

    cdef protobuf_field *fields
    cdef buffer out
    cdef list members
    cdef bytes header

    def __cinit__(self, list fields not None, bytes header not None):
        cdef bytes member
        self.fields = <protobuf_field *>calloc(len(fields) + 1, sizeof(protobuf_field))
        if self.fields == NULL:
            raise MemoryError
        self.members, self.header = [], header
        for i, (kind, number, presence, bits, scale, may_be_null, member, following) in enumerate(fields):
            if not i < following <= len(fields):
                raise ValueError("not a number of a field")
            self.members.append(member)
            self.fields[i].kind, self.fields[i].number, self.fields[i].presence = kind, number, presence
            self.fields[i].bits, self.fields[i].scale, self.fields[i].may_be_null = bits, scale, may_be_null
            self.fields[i].next = following
            self.fields[i].member = PyBytes_AS_STRING(member)
            self.fields[i].member_size = <uint32_t>PyBytes_GET_SIZE(member)

    def __dealloc__(self):
        free(self.fields)
        free(self.out.data)

    cdef object written(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        self.out.size = 0
        put(&self.out, PyBytes_AS_STRING(self.header), PyBytes_GET_SIZE(self.header))
        if not protobuf_write(&self.out, self.fields, PyBytes_AS_STRING(document) + begin, end - begin):
            if self.out.failed:
                self.out.failed = 0
                raise MemoryError
            return None
        return PyBytes_FromStringAndSize(self.out.data, self.out.size)
