"""Rows of V$LOGMNR_CONTENTS as they are fetched, and numbers for the names in them."""

FIELDS = (
    "scn", "code", "thread", "rs_id", "ssn", "xid", "con_id", "owner", "table", "row_id", "rollback", "csf", "status", "info",
    "timestamp", "user", "client_id", "object_id", "start_scn", "sql",
)
"""A row of V$LOGMNR_CONTENTS as a tuple."""

cdef enum:  # places in FIELDS
    FIELD_SCN, FIELD_CODE, FIELD_THREAD, FIELD_RS_ID, FIELD_SSN, FIELD_XID, FIELD_CONTAINER, FIELD_OWNER, FIELD_TABLE, FIELD_ROW_ID
    FIELD_ROLLBACK, FIELD_CSF, FIELD_STATUS, FIELD_INFO, FIELD_TIME, FIELD_USER, FIELD_CLIENT, FIELD_OBJECT_ID, FIELD_START_SCN, FIELD_SQL
    FIELD_COUNT


PyDateTime_IMPORT

cdef object _EPOCH = __import__("datetime").datetime(1970, 1, 1)
cdef object _timedelta = __import__("datetime").timedelta


cdef int64_t microseconds(datetime time) noexcept:
    """Since 1970 by the wall clock."""
    cdef int64_t year = PyDateTime_GET_YEAR(time), month = PyDateTime_GET_MONTH(time), day = PyDateTime_GET_DAY(time)
    year -= month <= 2
    cdef int64_t era = year // 400, of_era = year % 400
    cdef int64_t of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    cdef int64_t days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    cdef int64_t seconds = PyDateTime_DATE_GET_HOUR(time) * 3600 + PyDateTime_DATE_GET_MINUTE(time) * 60
    return ((days * 86400 + seconds + PyDateTime_DATE_GET_SECOND(time)) * 1000000) + PyDateTime_DATE_GET_MICROSECOND(time)


cdef int utf8(object text, mined_text *out, list kept) except -1:
    """The text's bytes, which live as long as `text` and `kept`. 0 for one with half of a surrogate pair, which is encoded all the same."""
    cdef int whole = 1
    if text is None:
        out.data, out.size = NULL, NO_TEXT
        return 1
    if PyUnicode_IS_COMPACT_ASCII(<str?>text):
        out.data, out.size = <const char *>PyUnicode_DATA(text), <int32_t>PyUnicode_GET_LENGTH(text)
        return 1
    try:
        encoded = (<str>text).encode()
    except UnicodeEncodeError:
        encoded, whole = (<str>text).encode("utf-8", "surrogatepass"), 0
    kept.append(encoded)
    out.data, out.size = PyBytes_AS_STRING(encoded), <int32_t>PyBytes_GET_SIZE(encoded)
    return whole


cdef inline bint same_text(const mined_text *one, const mined_text *other) noexcept:
    return one.size == other.size and (one.size <= 0 or memcmp(one.data, other.data, one.size) == 0)


cdef inline bint is_change(const mined_row *row) noexcept nogil:
    """Whether the row is an INSERT, DELETE or UPDATE."""
    return OPERATION_INSERT <= row.code <= OPERATION_UPDATE


cdef inline bint is_placeholder(const mined_text *row_id) noexcept nogil:
    """Whether it stands in the place of a ROWID that LogMiner does not know."""
    return row_id.size == PLACEHOLDER_SIZE and memcmp(row_id.data, b"AAAAAAAAAAAAAAAAAA", PLACEHOLDER_SIZE) == 0


cdef bint is_partial(const int64_t *xid) noexcept nogil:
    """Whether its START lay before what LogMiner read."""
    return memcmp(<const char *>xid + 4, b"\xff\xff\xff\xff", 4) == 0


cdef class Names:
    """Numbers for names of tables, (owner, table, object id), and for other texts that come again."""

    cdef dict numbers
    cdef list values
    cdef object owner, table, object_id, last_time
    cdef int32_t last
    cdef int64_t time_us
    # Rows and bytes of redo by number, since `counted`.
    cdef int64_t *counts
    cdef int32_t room
    cdef bint has_counts

    def __cinit__(self):
        self.numbers, self.values, self.last = {}, [], -1

    def __dealloc__(self):
        free(self.counts)

    cdef int count(self, int32_t number, int32_t size) except -1:
        """Count a row of redo of the table with this number."""
        cdef int64_t *larger
        cdef int32_t room
        if number >= self.room:
            room = 2 * number + 16
            larger = <int64_t *>realloc(self.counts, 2 * room * sizeof(int64_t))
            if larger == NULL:
                raise MemoryError
            memset(larger + 2 * self.room, 0, 2 * (room - self.room) * sizeof(int64_t))
            self.counts, self.room = larger, room
        self.counts[2 * number] += 1
        self.counts[2 * number + 1] += max(size, 0)
        self.has_counts = True
        return 0

    cdef list counted(self):
        """(Name, rows, bytes) of the tables with rows since the last call."""
        cdef int32_t number
        cdef list found = []
        if self.has_counts:
            for number in range(min(self.room, <int32_t>len(self.values))):
                if self.counts[2 * number]:
                    found.append((self.values[number], self.counts[2 * number], self.counts[2 * number + 1]))
            memset(self.counts, 0, 2 * self.room * sizeof(int64_t))
            self.has_counts = False
        return found

    cdef int32_t number(self, object value) except -2:
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            self.values.append(value)
        return found

    cdef int read(self, tuple fields, mined_row *row, list kept) except -1:
        """A tuple as a row; 0 when it has values that no row should have."""
        if PyTuple_GET_SIZE(fields) != FIELD_COUNT:
            return 0
        cdef object xid = <object>PyTuple_GET_ITEM(fields, FIELD_XID), container = <object>PyTuple_GET_ITEM(fields, FIELD_CONTAINER)
        cdef object owner = <object>PyTuple_GET_ITEM(fields, FIELD_OWNER), table = <object>PyTuple_GET_ITEM(fields, FIELD_TABLE)
        cdef object info = <object>PyTuple_GET_ITEM(fields, FIELD_INFO), time = <object>PyTuple_GET_ITEM(fields, FIELD_TIME)
        cdef object object_id = <object>PyTuple_GET_ITEM(fields, FIELD_OBJECT_ID), start_scn = <object>PyTuple_GET_ITEM(fields, FIELD_START_SCN)
        cdef int whole
        row.flags = 0
        try:
            row.scn, row.code = <object>PyTuple_GET_ITEM(fields, FIELD_SCN), <object>PyTuple_GET_ITEM(fields, FIELD_CODE)
            row.thread, row.ssn = <object>PyTuple_GET_ITEM(fields, FIELD_THREAD), <object>PyTuple_GET_ITEM(fields, FIELD_SSN)
            row.status = <object>PyTuple_GET_ITEM(fields, FIELD_STATUS)
            row.container = row.start_scn = 0
            if container is not None:
                row.container = container
                row.flags |= MINED_HAS_CONTAINER
            if start_scn is not None:
                row.start_scn = start_scn
                row.flags |= MINED_HAS_START
            if <object>PyTuple_GET_ITEM(fields, FIELD_ROLLBACK):
                row.flags |= MINED_IS_UNDO
            if <object>PyTuple_GET_ITEM(fields, FIELD_CSF):
                row.flags |= MINED_GOES_ON
            if time is not self.last_time:
                self.time_us, self.last_time = microseconds(<datetime?>time), time
            row.time_us = self.time_us
            if PyBytes_GET_SIZE(<bytes?>xid) != 8:
                return 0
            memcpy(row.xid, PyBytes_AS_STRING(xid), 8)
            if self.last < 0 or object_id is not self.object_id or table != self.table or owner != self.owner:
                if self.last < 0 or object_id != self.object_id or table != self.table or owner != self.owner:
                    self.last = self.number((owner, table, object_id))
                self.owner, self.table, self.object_id = owner, table, object_id
            row.name = self.last
            row.info = -1 if info is None else self.number(info)
            whole = utf8(<object>PyTuple_GET_ITEM(fields, FIELD_RS_ID), &row.rs_id, kept)
            whole &= utf8(<object>PyTuple_GET_ITEM(fields, FIELD_ROW_ID), &row.row_id, kept)
            whole &= utf8(<object>PyTuple_GET_ITEM(fields, FIELD_SQL), &row.sql, kept)
        except (OverflowError, TypeError):
            return 0
        if not whole:
            row.flags |= MINED_HALF_PAIR
        return row.rs_id.size >= 0
