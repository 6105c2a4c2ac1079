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


cdef class PayloadWriter:
    """Writes payloads of one schema."""

    cdef object written(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        """The payload that a document has between two bytes, written; None for one that Python has to write."""
        raise NotImplementedError

    def write(self, bytes document not None, Py_ssize_t begin, Py_ssize_t end):
        """As `written`.

        :raises IndexError: the document has no such bytes.
        """
        if not 0 <= begin <= end <= PyBytes_GET_SIZE(document):
            raise IndexError("not within the document")
        return self.written(document, begin, end)


cdef class AvroWriter(PayloadWriter):
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

    cdef object written(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        self.out.size = 0
        put(&self.out, PyBytes_AS_STRING(self.header), PyBytes_GET_SIZE(self.header))
        if not avro_write(&self.out, self.fields, PyBytes_AS_STRING(document) + begin, end - begin):
            if self.out.failed:
                self.out.failed = 0
                raise MemoryError
            return None
        return PyBytes_FromStringAndSize(self.out.data, self.out.size)


cdef enum:
    _MOST_SCHEMAS = 100_000_000


def rewrite_records(Records records not None, dict keys, dict values, dict headers=None):
    """Whether all records are rewritten; none is where one cannot be, as one whose schema is not known yet.

    :param keys, values: topic -> number of the schema -> PayloadWriter; None for a side that stays as it is.
    :param headers: topic -> number of the value's schema -> HeaderPrint of headers that are added to those of a record; None for none.
    """
    cdef Py_ssize_t i, count = PyList_GET_SIZE(records.values)
    cdef list new_keys = [], new_values = []
    cdef dict new_own = {}
    cdef object topic, found, last = None
    cdef dict of_keys = None, of_values = None, of_headers = None
    cdef tuple own
    for i in range(count):
        topic = <object>PyList_GET_ITEM(records.topics, i)
        if topic is not last:
            of_keys, of_values = keys.get(topic) if keys is not None else None, values.get(topic) if values is not None else None
            of_headers, last = headers.get(topic) if headers is not None else None, topic
        if keys is not None:
            found = <object>PyList_GET_ITEM(records.keys, i)
            if found is not None and (found := rewritten(of_keys, found)) is None:
                return False
            new_keys.append(found)
        if headers is not None:
            own = records.own.get(i, ()) + records.headers
            found = <object>PyList_GET_ITEM(records.values, i)
            if found is not None:
                if (found := added_headers(of_headers, found)) is None:
                    return False
                own += <tuple>found
            if own:
                new_own[i] = own
        if values is not None:
            found = <object>PyList_GET_ITEM(records.values, i)
            if found is not None and (found := rewritten(of_values, found)) is None:
                return False
            new_values.append(found)
    if keys is not None:
        records.keys = new_keys
    if values is not None:
        records.values = new_values
    if headers is not None:
        records.own, records.headers = new_own, ()
    return True


cdef inline Py_ssize_t payload_of(bytes document, int64_t *number):
    """Where the payload of a document begins whose schema is a number (`formats.connect.numbered`); 0 for another document."""
    cdef const char *at = PyBytes_AS_STRING(document)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(document), begin = 11
    number[0] = 0
    if size < 24 or memcmp(at, b'{"schema":@', 11) != 0:
        return 0
    while begin < size and 48 <= at[begin] <= 57 and number[0] < _MOST_SCHEMAS:
        number[0] = number[0] * 10 + at[begin] - 48
        begin += 1
    if size - begin < 12 or memcmp(at + begin, b',"payload":', 11) != 0:
        return 0
    return begin + 11


cdef object rewritten(dict writers, bytes document):
    """A document in the format of its schema's writer; None where there is none, or Python has to write it."""
    cdef int64_t number
    cdef Py_ssize_t begin = payload_of(document, &number)
    if writers is None or begin == 0 or (writer := writers.get(number)) is None:
        return None
    return (<PayloadWriter>writer).written(document, begin, PyBytes_GET_SIZE(document) - 1)


cdef object added_headers(dict prints, bytes document):
    """The headers that a value's record gets; None where they are not known, or Python has to make them."""
    cdef int64_t number
    cdef Py_ssize_t begin = payload_of(document, &number)
    if prints is None or begin == 0 or (made := prints.get(number)) is None:
        return None
    return (<HeaderPrint>made).found(document, begin, PyBytes_GET_SIZE(document) - 1)
