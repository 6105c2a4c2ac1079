"""Fetched rows to committed transactions: what `capture/logminer/buffer/buffered.py` does, for the usual rows."""



cdef class Batch:
    """Fetched rows, as tuples."""

    cdef list rows

    def __init__(self, rows):
        self.rows = list(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, Py_ssize_t at):
        return self.rows[at]

    cdef int read(self, Py_ssize_t at, Names names, mined_row *row, list kept) except -1:
        """See `Names.read`."""
        return names.read(<tuple?>PyList_GET_ITEM(self.rows, at), row, kept)

    cdef object user(self, Py_ssize_t at):
        return (<tuple>PyList_GET_ITEM(self.rows, at))[FIELD_USER]

    cdef object client(self, Py_ssize_t at):
        return (<tuple>PyList_GET_ITEM(self.rows, at))[FIELD_CLIENT]


cdef int compared(const char *one, int32_t size, const char *other, int32_t other_size) noexcept nogil:
    """As Python compares texts."""
    cdef int found = memcmp(one, other, min(size, other_size)) if size and other_size else 0
    return found if found else size - other_size


cdef int copy_place(redo_place *place, object rs_id, int64_t rows) except -1:
    cdef bytes text = (<str?>rs_id).encode()
    if len(text) >= ADDRESS_ROOM:
        return 0
    memcpy(place.rs_id, PyBytes_AS_STRING(text), len(text))
    place.size, place.rows = <int32_t>len(text), rows
    return 1


cdef class Miner:
    """Takes rows in redo order, and gives the transactions that were committed as runs. It stops at each row that it leaves to
    Python, before anything was done for it.

    :param make_address: of a record and a number within it.
    :param lobs: `lob.enabled`.
    """

    cdef TransactionBuffer buffer
    cdef RunScanner scanner
    cdef object make_address
    cdef bint lobs
    # The thread that is read, as `_Reading` and `Delivered` have it.
    cdef int64_t thread, skip, commits, scn, last_commit_scn, complete_scn
    cdef redo_place at, last_commit
    cdef bint has_commit, is_alone
    cdef object reading, delivered
    # Of the thread that is read, see `transactions.TransactionBuffer.watch`.
    cdef bytes log, asleep_to
    cdef object asleep_slots
    cdef redo_place floor
    cdef int64_t floor_scn

    def __cinit__(self, TransactionBuffer buffer, RunScanner scanner, make_address, bint lobs):
        self.buffer, self.scanner, self.make_address, self.lobs = buffer, scanner, make_address, lobs

    cdef int turn_to(self, int64_t thread, dict threads, delivery) except -1:
        """Read on in a thread; 0 when it is new, or its marks are not as those that Oracle has."""
        self.store(delivery)
        reading, delivered = threads.get(thread), delivery.threads.get(thread)
        if reading is None or delivered is None:
            return 0
        last = delivered.last_commit
        self.has_commit = last is not None
        if not copy_place(&self.at, reading.rs_id, reading.rows) or (last is not None and not copy_place(&self.last_commit, last.rs_id, last.rows)):
            return 0
        self.skip, self.commits, self.scn = reading.skip, reading.commits, reading.scn
        self.last_commit_scn, self.complete_scn = delivered.last_commit_scn, delivery.complete_scn
        self.is_alone = len(delivery.threads) == 1
        self.thread, self.reading, self.delivered = thread, reading, delivered
        self.log = self.asleep_to = self.asleep_slots = None
        self.floor.size = 0
        if self.buffer.logs is not None:
            self.log = self.buffer.logs.get(thread, b"")
            self.asleep_to, self.asleep_slots = self.buffer.asleep.get(thread, (None, None))
            floor = self.buffer.floors.get(thread)
            if floor is not None:
                copy_place(&self.floor, floor[0].rs_id, 0)
                self.floor_scn = floor[1]
        return 1

    cdef bint is_kept_row(self, const char *rs_id, int32_t rs_size, bint same, const int64_t *xid) except -1:
        """Whether the row is Python's, because of transactions that are kept: `capture/logminer/kept/keeping.py` looks at it."""
        cdef Py_ssize_t size
        if not same and self.log is not None:
            size = PyBytes_GET_SIZE(self.log)
            if size == 0 or size >= rs_size or rs_id[size] != b'.' or memcmp(rs_id, PyBytes_AS_STRING(self.log), size) != 0:
                return True
        if self.asleep_to is not None:
            if compared(rs_id, rs_size, PyBytes_AS_STRING(self.asleep_to), <int32_t>PyBytes_GET_SIZE(self.asleep_to)) >= 0:
                return True
            return (<const char *>xid)[:4] in self.asleep_slots
        return False

    cdef int store(self, delivery) except -1:
        """Note how far the thread is read."""
        if self.reading is None:
            return 0
        reading, delivered = self.reading, self.delivered
        self.reading = self.delivered = None
        reading.rs_id, reading.rows, reading.skip = self.at.rs_id[:self.at.size].decode(), self.at.rows, self.skip
        reading.commits, reading.scn = self.commits, self.scn
        if self.has_commit:
            delivered.last_commit = self.make_address(self.last_commit.rs_id[:self.last_commit.size].decode(), self.last_commit.rows)
            delivered.last_commit_scn = self.last_commit_scn
        delivery.complete_scn = self.complete_scn
        return 0

    def advance(
        self, Batch batch, Py_ssize_t begin, dict threads, delivery, int64_t bound, int64_t snapshot_scn, int64_t offset_us, progress
    ):
        """Take the rows from index `begin` on. (The committed changes as ScannedRows, or None; index of the first row that was not
        taken, which is Python's when there are no changes.)

        :param threads, delivery: see `buffered.BufferedAssembly`; kept up to date.
        :param bound: commits at or after this SCN are Python's.
        :param offset_us: of the host's time from UTC, in microseconds.
        :param progress: see `ScannedRows`; None: transactions with rows are Python's.
        """
        cdef ScannedRows run = None
        cdef Py_ssize_t at = begin, count = len(batch)
        cdef TransactionBuffer buffer = self.buffer
        cdef OpenTransaction known
        cdef dict captured = delivery.captured, large = delivery.large
        cdef mined_row row
        cdef const char *rs_id
        cdef int32_t rs_size, last_name = -1
        cdef bint same, is_captured = False
        cdef int64_t xid, before
        cdef list kept = []
        cdef int taken
        self.reading = None
        try:
            while at < count:
                if kept:
                    kept.clear()
                if not batch.read(at, buffer.names, &row, kept) or row.flags & MINED_GOES_ON or row.thread == 0:
                    break
                rs_id, rs_size = row.rs_id.data, row.rs_id.size
                trim(&rs_id, &rs_size)
                if rs_size == 0 or rs_size >= ADDRESS_ROOM or is_nowhere(rs_id, rs_size):
                    break
                if self.reading is None or row.thread != self.thread:
                    if not self.turn_to(row.thread, threads, delivery):
                        break
                same = compared(rs_id, rs_size, self.at.rs_id, self.at.size) == 0
                if same and self.skip:
                    self.skip -= 1
                    at += 1
                    continue
                memcpy(&xid, row.xid, 8)
                if self.log is not None and self.is_kept_row(rs_id, rs_size, same, &xid):
                    break
                if is_partial(&xid) or (buffer.given_up and (<char *>&xid)[:8] in buffer.given_up):
                    break
                if is_change(&row):
                    if row.name != last_name:
                        found = captured.get(buffer.names.values[row.name])
                        if found is None:
                            break
                        is_captured, last_name = found, row.name
                    if is_captured:
                        known = buffer.known(row.container, xid)
                        if row.flags & MINED_IS_UNDO:
                            if known is not None and known.is_active:
                                if known.is_large or large.get(buffer.names.values[row.name]) != frozenset():
                                    break
                                before = known.cost()
                                taken = known.undo_plain(&row)
                                if taken < 0:
                                    break
                                buffer.held_bytes += known.cost() - before
                        else:
                            if known is None:
                                known = buffer.made(row.container, xid, &row, 0, batch.user(at), batch.client(at))
                                memcpy(known.address.rs_id, rs_id, rs_size)
                                known.address.size, known.address.rows, known.has_address = rs_size, self.at.rows + 1 if same else 1, True
                                buffer.activate(known, row.thread)
                            elif not known.is_active:
                                unlink(&buffer.untouched, known)
                                buffer.activate(known, row.thread)
                            buffer.append_row(known, &row)
                elif row.code == CODE_START:
                    if xid:
                        known = buffer.known(row.container, xid)
                        if known is None or not known.is_active:
                            if known is not None:
                                buffer.drop(known)
                            known = buffer.made(row.container, xid, &row, row.scn, batch.user(at), batch.client(at))
                            link(&buffer.untouched, known)
                            memcpy(known.address.rs_id, rs_id, rs_size)
                            known.address.size, known.address.rows, known.has_address = rs_size, self.at.rows + 1 if same else 1, True
                elif row.code == CODE_ROLLBACK:
                    known = buffer.known(row.container, xid)
                    if known is not None:
                        if known.kept is not None:
                            break
                        buffer.drop(known)
                        known.close()
                elif row.code == CODE_COMMIT:
                    if row.scn >= bound:
                        break
                    if run is None and progress is not None:
                        run = ScannedRows(progress)
                    known = buffer.known(row.container, xid)
                    taken = self.commit(run, known, &row, rs_id, rs_size, self.commits + 1 if same else 1, snapshot_scn, offset_us, batch, at)
                    if not taken:
                        break
                    self.commits = self.commits if same else 0
                    self.commits += 1
                else:
                    break
                if is_change(&row):
                    buffer.names.count(row.name, row.sql.size)
                if same:
                    self.at.rows += 1
                else:
                    memcpy(self.at.rs_id, rs_id, rs_size)
                    self.at.size, self.at.rows, self.skip = rs_size, 1, 0
                    if row.code != CODE_COMMIT:
                        self.commits = 0
                self.scn = row.scn
                at += 1
                if run is not None and (run.count >= RUN_ROWS or run.size >= RUN_BYTES):
                    break
        finally:
            self.store(delivery)
        return (run if run is not None and run.count else None), at

    cdef int commit(
        self, ScannedRows run, OpenTransaction known, const mined_row *row, const char *rs_id, int32_t rs_size, int64_t place,
        int64_t snapshot_scn, int64_t offset_us, Batch batch, Py_ssize_t at
    ) except -1:
        """Take a COMMIT; 0 when it is Python's."""
        cdef int order = 1
        cdef size_t cells
        cdef run_segment *ended
        cdef bint is_known = known is not None and known.is_active
        cdef int64_t cost = known.cost() if is_known else 0
        if is_known and known.kept is not None:
            return 0
        if self.has_commit:
            order = compared(rs_id, rs_size, self.last_commit.rs_id, self.last_commit.size)
            if order == 0:
                order = 1 if place > self.last_commit.rows else 0
        if is_known and order > 0 and row.scn > snapshot_scn:
            if run is None or known.spill is not None or known.count > RUN_ROWS or (self.lobs and known.is_large):
                return 0
            cells = run.cell_count
            ended = run.begin_segment(known.user or batch.user(at), known.client or batch.client(at))
            ended.start_scn = known.start_scn or (row.start_scn if row.flags & MINED_HAS_START else 0)
            ended.first_seq, ended.commit_scn, ended.thread = 1, row.scn, row.thread
            ended.start_us, ended.commit_us = known.time_us - offset_us, row.time_us - offset_us
            hex_of(ended.id, &known.xid)
            ended.has_id = True
            if not self.take_rows(run, known, offset_us):
                run.forget_segment(cells)
                return 0
            if run.count == ended.begin:
                run.forget_segment(cells)
                ended = NULL
            else:
                run.own(&known.block)
        else:
            ended = NULL
        if known is not None:
            self.buffer.drop(known)
            if is_known:
                self.buffer.held_bytes += known.cost() - cost  # its rows may be the run's now
            known.close()
        if order > 0:
            memcpy(self.last_commit.rs_id, rs_id, rs_size)
            self.last_commit.size, self.last_commit.rows, self.has_commit = rs_size, place, True
            self.last_commit_scn = row.scn
            if self.is_alone:
                self.complete_scn = max(self.complete_scn, row.scn - 1)
        if ended != NULL:
            self.mark(ended, row, rs_id, rs_size)
        return 1

    cdef int take_rows(self, ScannedRows run, OpenTransaction known, int64_t offset_us) except -1:
        """Scan the rows of a transaction; 0 when one is Python's."""
        cdef mined_row row
        cdef size_t at = 0
        cdef uint32_t size
        cdef int32_t last = -1
        cdef Py_ssize_t scan = -1
        while (size := block_get(known.block.data, known.block.size, at, &row)):
            if row.code == CODE_INTERNAL:
                at += size
                continue
            if scan < 0 or row.name != last:
                found = self.scanner.scans.get(known.names.values[row.name])
                if found is None:
                    return 0
                scan, last = run.index_of(found), row.name
            give_row_id(&row, known.block.data, known.block.size, at + size)
            if run.take(scan, &row, row.time_us - offset_us) == 2:
                return 0
            at += size
        return 1

    cdef int mark(self, run_segment *ended, const mined_row *row, const char *rs_id, int32_t rs_size) except -1:
        """Note where a restart goes on after a transaction: at the start of the oldest that is open, else at its COMMIT."""
        cdef OpenTransaction oldest
        cdef int which
        memcpy(ended.resume.rs_id, rs_id, rs_size)
        ended.resume.size, ended.resume_scn = rs_size, row.scn
        for which in range(2 if self.lobs else 1):
            oldest = self.buffer.oldest_of(row.thread, which == 1)
            if oldest is not None and oldest.has_address and compared(
                oldest.address.rs_id, oldest.address.size, ended.resume.rs_id, ended.resume.size
            ) < 0:
                ended.resume, ended.resume_scn = oldest.address, oldest.scn
        if self.floor.size and compared(self.floor.rs_id, self.floor.size, ended.resume.rs_id, ended.resume.size) < 0:
            ended.resume, ended.resume_scn = self.floor, self.floor_scn
        ended.commit, ended.complete_scn = self.last_commit, self.complete_scn
        return 0


cdef bint is_nowhere(const char *rs_id, int32_t size) noexcept nogil:
    """The address of rows that have none."""
    cdef int32_t i
    for i in range(size):
        if rs_id[i] != b'0' and rs_id[i] != b'x' and rs_id[i] != b'.':
            return False
    return True


cdef void hex_of(char *out, const int64_t *xid) noexcept nogil:
    cdef const uint8_t *bytes_of = <const uint8_t *>xid
    cdef int i
    for i in range(8):
        out[2 * i] = b"0123456789abcdef"[bytes_of[i] >> 4]
        out[2 * i + 1] = b"0123456789abcdef"[bytes_of[i] & 15]
