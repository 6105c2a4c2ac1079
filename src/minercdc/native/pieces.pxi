"""Texts made of the pieces of payloads (`pieces.c`)."""


cdef class Nodes:
    """The values of payloads of one schema.

    :param nodes: (kind, member, number of the first node that is not below it, until) as `node` has them, in the order of the schema.
    """

    cdef node *nodes
    cdef place *places
    cdef readonly Py_ssize_t count
    cdef list kept

    def __cinit__(self, list nodes not None):
        cdef bytes member, until
        self.count, self.kept = len(nodes), []
        self.nodes = <node *>calloc(self.count, sizeof(node))
        self.places = <place *>calloc(self.count, sizeof(place))
        if self.nodes == NULL or self.places == NULL:
            raise MemoryError
        for i, (kind, member, following, until) in enumerate(nodes):
            if not i < following <= self.count:
                raise ValueError("not a number of a node")
            self.kept += (member, until)
            self.nodes[i].kind, self.nodes[i].next = kind, following
            self.nodes[i].member, self.nodes[i].member_size = PyBytes_AS_STRING(member), <uint32_t>PyBytes_GET_SIZE(member)
            self.nodes[i].until, self.nodes[i].until_size = PyBytes_AS_STRING(until), <uint32_t>PyBytes_GET_SIZE(until)

    def __dealloc__(self):
        free(self.nodes)
        free(self.places)

    cdef bint find(self, bytes document, Py_ssize_t first, Py_ssize_t begin, Py_ssize_t end):
        """Find the values of the payload that a document has between two bytes, and whose node is the one numbered `first`."""
        return find_places(self.nodes, <uint32_t>first, PyBytes_AS_STRING(document) + begin, end - begin, self.places)


cdef class Pieces:
    """What a text is made of.

    :param pieces: (kind, first, last, text) as `text_piece` has them, by the numbers of `nodes`.
    """

    cdef text_piece *pieces
    cdef Py_ssize_t count
    cdef list kept
    cdef Nodes nodes

    def __cinit__(self, Nodes nodes not None, list pieces not None):
        cdef bytes text
        self.nodes, self.count, self.kept = nodes, len(pieces), []
        self.pieces = <text_piece *>calloc(self.count + 1, sizeof(text_piece))
        if self.pieces == NULL:
            raise MemoryError
        for i, (kind, first, last, text) in enumerate(pieces):
            if not (0 <= first < nodes.count and 0 <= last < nodes.count):
                raise ValueError("not a number of a node")
            self.kept.append(text)
            self.pieces[i].kind, self.pieces[i].first, self.pieces[i].last = kind, first, last
            self.pieces[i].text, self.pieces[i].text_size = PyBytes_AS_STRING(text), <uint32_t>PyBytes_GET_SIZE(text)

    def __dealloc__(self):
        free(self.pieces)

    cdef object written(self, buffer *out):
        """The text, of the payload that was looked at last; None for one that Python has to write."""
        out.size = 0
        if not write_pieces(out, self.pieces, self.count, self.nodes.places):
            if out.failed:
                out.failed = 0
                raise MemoryError
            return None
        return PyBytes_FromStringAndSize(out.data, out.size)


cdef class PiecesWriter(PayloadWriter):
    """Writes payloads of one schema as texts of their pieces.

    :param choices: lists of pieces: the first that fits a payload is written.
    """

    cdef Nodes nodes
    cdef list choices
    cdef buffer out

    def __cinit__(self, Nodes nodes not None, list choices not None):
        self.nodes, self.choices = nodes, [Pieces(nodes, pieces) for pieces in choices]

    def __dealloc__(self):
        free(self.out.data)

    cdef object written(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        cdef Pieces pieces
        if not self.nodes.find(document, 0, begin, end):
            return None
        for pieces in self.choices:
            if (found := pieces.written(&self.out)) is not None:
                return found
        return None


cdef class CutWriter(PayloadWriter):
    """Writes payloads as they are, between two texts."""

    cdef bytes head, tail

    def __cinit__(self, bytes head not None, bytes tail not None):
        self.head, self.tail = head, tail

    cdef object written(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        cdef Py_ssize_t head = PyBytes_GET_SIZE(self.head), tail = PyBytes_GET_SIZE(self.tail)
        cdef bytes made = PyBytes_FromStringAndSize(NULL, head + end - begin + tail)
        cdef char *to = PyBytes_AS_STRING(made)
        memcpy(to, PyBytes_AS_STRING(self.head), head)
        memcpy(to + head, PyBytes_AS_STRING(document) + begin, end - begin)
        memcpy(to + head + end - begin, PyBytes_AS_STRING(self.tail), tail)
        return made


cdef buffer _made  # the text that is being made, under the interpreter's lock


cdef class HeaderPrint:
    """Headers of records, of which some are constant.

    :param headers: (name, content): a text, None for null; the number of a node whose value is printed; or lists of pieces, the first of
        which that fits is printed.
    :param with_nulls: whether there are headers of values that are null.
    """

    cdef tuple constant  # all of them, where no value is printed
    cdef list headers
    cdef list last  # of each header the pair that was made last
    cdef Nodes nodes
    cdef bint with_nulls

    def __cinit__(self, Nodes nodes not None, tuple headers not None, bint with_nulls=True):
        self.nodes, self.with_nulls, self.headers, self.constant = nodes, with_nulls, [], None
        for name, content in headers:
            if isinstance(content, int) and not 0 <= content < nodes.count:
                raise ValueError("not a number of a node")
            if isinstance(content, list):
                content = [Pieces(nodes, pieces) for pieces in content]
            self.headers.append((name, content))
        self.last = [None] * len(self.headers)
        if not any(isinstance(content, (int, list)) for _, content in headers):
            self.constant = headers

    cdef object made(self, buffer *out):
        """The headers of the payload that was looked at last; None where Python has to make them."""
        cdef Py_ssize_t i
        cdef tuple pair
        cdef list found = []
        if self.constant is not None:
            return self.constant
        for i in range(PyList_GET_SIZE(self.headers)):
            pair = <tuple>PyList_GET_ITEM(self.headers, i)
            content = <object>PyTuple_GET_ITEM(pair, 1)
            if isinstance(content, int):
                pair = self.of_value(i, content, out)
            elif isinstance(content, list):
                pair = self.of_pieces(<object>PyTuple_GET_ITEM(pair, 0), content, out)
            if pair is None:
                return None
            if self.with_nulls or pair[1] is not None:
                found.append(pair)
        return tuple(found)

    cdef tuple of_value(self, Py_ssize_t i, Py_ssize_t number, buffer *out):
        """The header of a value; the one that was made last, where that is the same."""
        cdef place *value = &self.nodes.places[number]
        cdef const char *at = value.at
        cdef Py_ssize_t size = value.size
        cdef tuple last = <tuple>PyList_GET_ITEM(self.last, i)
        cdef object name = (<tuple>PyList_GET_ITEM(self.headers, i))[0], content
        if at == NULL or is_null(value):
            return name, None
        if at[0] == 34:
            at, size = at + 1, size - 2
            if memchr(at, 92, size) != NULL:
                out.size = 0
                if not put_content(out, value):
                    return None
                if out.failed:
                    out.failed = 0
                    raise MemoryError
                return name, PyBytes_FromStringAndSize(out.data, out.size)
        if last is not None:
            content = last[1]
            if PyBytes_GET_SIZE(content) == size and memcmp(PyBytes_AS_STRING(content), at, size) == 0:
                return last
        last = (name, PyBytes_FromStringAndSize(at, size))
        self.last[i] = last
        return last

    cdef tuple of_pieces(self, object name, list choices, buffer *out):
        """A header of pieces; None where a text in it is escaped."""
        cdef Pieces pieces
        for pieces in choices:
            found = pieces.written(out)
            if found is not None:
                if memchr(PyBytes_AS_STRING(found), 92, PyBytes_GET_SIZE(found)) != NULL:
                    return None
                return name, found
        return None

    cdef object found(self, bytes document, Py_ssize_t begin, Py_ssize_t end):
        """As `made`, of the payload that a document has between two bytes."""
        return self.made(&_made) if self.nodes.find(document, 0, begin, end) else None

    def headers_of(self, bytes document not None, Py_ssize_t begin, Py_ssize_t end):
        """As `found`.

        :raises IndexError: the document has no such bytes.
        """
        if not 0 <= begin <= end <= PyBytes_GET_SIZE(document):
            raise IndexError("not within the document")
        return self.found(document, begin, end)


cdef class RecordPlan:
    """What the records of one kind become.

    :param topic: None where records are left out.
    :param key, value: True: as it is; None: there is none; else (text before it, pieces), with `}` after them.
    :param headers: see `HeaderPrint`.
    """

    cdef object topic
    cdef bint keeps_key, keeps_value
    cdef Pieces key, value
    cdef HeaderPrint headers
    # Of the record that was made last.
    cdef object made_key, made_value
    cdef tuple made_headers

    def __cinit__(self, Nodes nodes not None, topic, key, value, tuple headers not None):
        self.topic, self.keeps_key, self.keeps_value = topic, key is True, value is True
        self.key = Pieces(nodes, key) if isinstance(key, list) else None
        self.value = Pieces(nodes, value) if isinstance(value, list) else None
        self.headers = HeaderPrint(nodes, headers)

    cdef bint make(self, bytes key, bytes value) except -1:
        """Make key, value and headers of those that were looked at last; False where Python has to."""
        self.made_key = key if self.keeps_key else None if self.key is None else self.key.written(&_made)
        self.made_value = value if self.keeps_value else None if self.value is None else self.value.written(&_made)
        if (self.made_key is None and self.key is not None) or (self.made_value is None and self.value is not None):
            return False
        self.made_headers = self.headers.made(&_made)
        return self.made_headers is not None


cdef class RecordShape:
    """What the records of a topic with certain schemas become: tombstones, or those with a value, by the rows that it has.

    :param heads: what keys, and values, begin with, as far as their payload; None where there is none.
    :param nodes: of the value, then of the key.
    :param of_value: how many are the value's.
    :param looks: whether keys, and values, are looked into.
    :param rows: numbers of the nodes of the row before and after; empty where it does not matter which a value has.
    :param plans: for a value with the row after only, with both, with the row before only; without `rows`, and for tombstones, the
        first. None for records that Python transforms.
    """

    cdef bytes key_head, value_head
    cdef Nodes nodes
    cdef Py_ssize_t of_value
    cdef bint looks_at_value, looks_at_key
    cdef Py_ssize_t before, after
    cdef list plans

    def __cinit__(self, tuple heads not None, Nodes nodes not None, Py_ssize_t of_value, tuple looks, tuple rows, plans):
        cdef RecordPlan plan
        self.key_head, self.value_head = heads
        self.nodes, self.of_value, self.plans = nodes, of_value, list(plans)
        self.looks_at_key, self.looks_at_value = looks
        self.before, self.after = rows or (-1, -1)
        if len(self.plans) != 3 or not 0 <= of_value <= nodes.count or max(self.before, self.after) >= of_value:
            raise ValueError("not the nodes of a record")
        if (rows and not self.looks_at_value) or (self.looks_at_key and of_value == nodes.count):
            raise ValueError("a value is looked for where nothing is looked into")
        for plan in self.plans:  # each None or a RecordPlan
            pass

    cdef RecordPlan plan_of(self, bytes key, bytes value):
        """The plan of a record, whose values have their places then; None where Python transforms it."""
        cdef Py_ssize_t kind = 0
        cdef place *places = self.nodes.places
        if not begins_with(key, self.key_head) or not begins_with(value, self.value_head):
            return None
        if self.looks_at_key and key is not None:
            if not self.nodes.find(key, self.of_value, PyBytes_GET_SIZE(self.key_head), PyBytes_GET_SIZE(key) - 1):
                return None
        if self.looks_at_value and value is not None:
            if not self.nodes.find(value, 0, PyBytes_GET_SIZE(self.value_head), PyBytes_GET_SIZE(value) - 1):
                return None
            if self.before >= 0:
                if not is_null(&places[self.before]):
                    kind = 2 if is_null(&places[self.after]) else 1
                elif is_null(&places[self.after]):
                    return None
        return <RecordPlan>PyList_GET_ITEM(self.plans, kind)

    def made(self, bytes key, bytes value):
        """(topic, None where the record is left out, key, value, headers) of a record; None for one that Python transforms."""
        cdef RecordPlan plan = self.plan_of(key, value)
        if plan is None or not plan.make(key, value):
            return None
        return plan.topic, plan.made_key, plan.made_value, plan.made_headers


cdef inline bint begins_with(bytes document, bytes head):
    """Whether a document has a head; or neither is there."""
    cdef Py_ssize_t size
    if document is None or head is None:
        return document is head
    size = PyBytes_GET_SIZE(head)
    return PyBytes_GET_SIZE(document) > size and memcmp(PyBytes_AS_STRING(document), PyBytes_AS_STRING(head), size) == 0


def transform_records(Records records not None, dict shapes not None, otherwise):
    """The records transformed; None where one of Python's cannot be among them.

    :param shapes: topic -> (RecordShape of records with a value, of tombstones), each None where it is not known.
    :param otherwise: transforms a record in Python, and may change `shapes`; returns None for one that is left out.
    """
    cdef Py_ssize_t i
    cdef Records out = Records()
    cdef object topic, last = None, key, value, record
    cdef RecordShape shape
    cdef RecordPlan plan
    cdef tuple headers, of_topic = None
    for i in range(PyList_GET_SIZE(records.values)):
        topic = <object>PyList_GET_ITEM(records.topics, i)
        key, value = <object>PyList_GET_ITEM(records.keys, i), <object>PyList_GET_ITEM(records.values, i)
        if topic is not last:
            of_topic, last = shapes.get(topic), topic
        plan = None
        if of_topic is not None and not (records.own and i in records.own):
            shape = of_topic[value is None]
            if shape is not None:
                plan = shape.plan_of(key, value)
        if plan is not None:
            if plan.topic is None:
                continue
            if not plan.make(key, value):
                plan = None
        if plan is None:
            record = otherwise(records[i])
            last = None
            if record is None:
                continue
            if record.timestamp_ms is not None or record.partition != (0 if record.key is None else None):
                return None
            out.add(record.topic, record.key, record.value)
            headers = record.headers
        else:
            out.add(plan.topic, plan.made_key, plan.made_value)
            headers = plan.made_headers
        if headers:
            out.own[PyList_GET_SIZE(out.values) - 1] = headers
    return out
