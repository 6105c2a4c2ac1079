cdef extern from "envelope.h":
    ctypedef struct span:
        const char *at
        int64_t size
    ctypedef struct grown:
        char *at
        size_t size, room
    ctypedef struct text_column:
        grown ends, text, valid
        int64_t nulls
    ctypedef struct scan_plan:
        span placeholders[2]
        span rowid_member
        int value_wrapped, key_wrapped
    ctypedef struct log_columns:
        int64_t count
        grown partition, offset, scn, commit_scn, seq, commit_us
        grown initial, partial, long_number
        text_column op, row_id, key, value, unavailable, old_key
    ctypedef struct log_record:
        int32_t partition
        int64_t offset
        span key, value, old_key, unavailable
    int scan_record(const scan_plan *, const log_record *, log_columns *)
    size_t columns_size(const log_columns *)
    void free_columns(log_columns *)


cdef span _span(bytes text):
    cdef span found
    found.at, found.size = NULL, -1
    if text is not None:
        found.at, found.size = PyBytes_AS_STRING(text), len(text)
    return found


cdef class EnvelopeScan:
    """The columns of the change log of one topic's records, by the SQL of `lake.stream.change_log`.

    :param placeholders: the two texts of a value that redo does not hold.
    :param rowid_member: of the key of a row that has none.
    :param value_wrapped, key_wrapped: it is the `payload` of the document.
    """

    cdef tuple kept
    cdef scan_plan plan
    cdef log_columns columns

    def __cinit__(self, tuple placeholders, bytes rowid_member, bint value_wrapped, bint key_wrapped):
        self.kept = (<bytes?>placeholders[0], <bytes?>placeholders[1], rowid_member)
        self.plan.placeholders[0], self.plan.placeholders[1] = _span(placeholders[0]), _span(placeholders[1])
        self.plan.rowid_member = _span(rowid_member)
        self.plan.value_wrapped, self.plan.key_wrapped = value_wrapped, key_wrapped

    def __dealloc__(self):
        free_columns(&self.columns)

    def add(self, int32_t partition, int64_t offset, bytes key, bytes value not None, bytes old_key, bytes unavailable):
        """Add a record. False where it is left to SQL: what was added is of no use then."""
        cdef log_record record
        cdef int status
        record.partition, record.offset = partition, offset
        record.key, record.value, record.old_key, record.unavailable = _span(key), _span(value), _span(old_key), _span(unavailable)
        status = scan_record(&self.plan, &record, &self.columns)
        if status == READ_NO_MEMORY:
            raise MemoryError
        return status == READ_DONE

    @property
    def size(self):
        """Bytes that are kept."""
        return columns_size(&self.columns)

    def taken(self):
        """(number of rows, name -> (bitmap or None, offsets or None, values, nulls) of Arrow)."""
        cdef log_columns *c = &self.columns
        return c.count, {
            "partition": _fixed(&c.partition), "offset": _fixed(&c.offset), "op": _text(&c.op), "scn": _fixed(&c.scn),
            "commit_scn": _fixed(&c.commit_scn), "seq": _fixed(&c.seq), "commit_time": _fixed(&c.commit_us),
            "row_id": _text(&c.row_id), "initial": _flags(&c.initial), "partial": _flags(&c.partial),
            "long_number": _flags(&c.long_number), "key": _text(&c.key), "value": _text(&c.value),
            "unavailable": _text(&c.unavailable), "old_key": _text(&c.old_key),
        }


cdef bytes _bytes_of(grown *of):
    return PyBytes_FromStringAndSize(of.at, of.size)


cdef tuple _fixed(grown *of):
    return None, None, _bytes_of(of), 0


cdef tuple _flags(grown *of):
    return None, None, _bits(_bytes_of(of)), 0


cdef tuple _text(text_column *of):
    return (
        _bits(_bytes_of(&of.valid)) if of.nulls else None, bytes(sizeof(int32_t)) + _bytes_of(&of.ends), _bytes_of(&of.text), of.nulls
    )
