"""Reads chunks ahead of the stream, in a thread with its own connection, up to a limit.

Without marks, one query reads a stretch of several chunks as of one SCN: a query per chunk would cost more than its rows.
With marks, each chunk is read between its own two.

    thread   Began, Chunk, Chunk, .. | Failed | Broken    -> queue ->    stage   first() .. take()

After an error the reader knows where to go on; after a kill the stage knows it from the stored state.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from uuid import uuid4

import oracledb

from minercdc.errors import MinerCdcError, MiningSessionError, SnapshotTooOldError, SourceError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.object_ids import refuse_renamed
from minercdc.oracle.fetching.columns import fetch_columns
from minercdc.oracle.fetching.rows import exact_values
from minercdc.oracle.present_scn import present_scn, reached_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.incremental.keyset import SESSION, Keyset, key_columns, order_of
from minercdc.snapshot.incremental.outcome import Began, Broken, Failed, Outcome, in_chunks
from minercdc.snapshot.incremental.watermarks import Marks
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.events import FetchedRow, FetchedRows
from minercdc.stream.offset import TableRead

_log = logging.getLogger(__name__)

_STRETCH = 16  # chunks per query without marks
_IN_FLIGHT = 64  # chunks read ahead
_IN_FLIGHT_BYTES = 64 * 1024 * 1024
_SAMPLE = 16  # rows whose size is measured
_LARGE_ROWS = 100  # per fetch of a table with large values
_WAIT_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 30.0
_TRIES = 6  # half a minute with those waits; a condition of the user's can fail for ever with what passes elsewhere
_INVALID_IDENTIFIER = 904


@dataclass(frozen=True, slots=True)
class Pace:
    """How much of a table is read at a time, and of each row.

    :param chunk: rows of a chunk.
    :param lobs: read large values; else they are UNAVAILABLE.
    """

    chunk: int
    lobs: bool = False


class ChunkReader:
    """Reads one table at a time, in a thread that `start` begins and `stop` ends; `chunks.Reader`. One thread calls its
    methods.

    :param connect: opens a connection to where the tables of a database are; the thread calls it.
    :param shape: version of a table at the point the stream has come to; None when it is dropped there. The thread calls it.
    :param marks: None to read without marks, as of an SCN.
    :param now: reads the clock: seconds since the epoch.
    """

    def __init__(
        self,
        connect: Callable[[str], oracledb.Connection],
        shape: Callable[[TableId], TableSchema | None],
        pace: Pace,
        marks: Marks | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._context = ReaderContext(connect, shape, pace, marks, now)
        self._reading: _Reading | None = None

    def start(self, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        """Begin to read a table after the last key of `state`, and stop reading any other. What is read, and errors too, come
        by `first`.

        :param surrogate: column to order by in place of the key, see `keyset.order_of`; '' for none.
        :param emitted_scn: highest commit SCN emitted so far; no chunk may be older.
        """
        self.stop()
        self._reading = _Reading(self._context, table, state, surrogate, emitted_scn)
        self._reading.thread.start()

    def first(self) -> Outcome | None:
        """The next outcome, without waiting; None when none is read yet, or nothing is being read. It stays the next until
        `take`."""
        return self._reading.first() if self._reading else None

    def take(self) -> None:
        """Drop the outcome that `first` returned; only after one was returned."""
        if self._reading:
            self._reading.take()

    def floor(self) -> int:
        """Lowest `Chunk.floor` of the chunks that are not taken and of those to come; 0 when that is not known yet, or
        nothing is being read."""
        return self._reading.floor() if self._reading else 0

    def stop(self) -> None:
        """Read no more, and drop what was not taken. The thread is not waited for: it ends after the fetch that it is in."""
        if self._reading:
            self._reading.abandon()
            self._reading = None


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What the reading of every table shares: the parameters of `ChunkReader`."""

    connect: Callable[[str], oracledb.Connection]
    shape: Callable[[TableId], TableSchema | None]
    pace: Pace
    marks: Marks | None
    now: Callable[[], float]

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int(self.now() * 1000)


@dataclass(slots=True)
class _Window:
    """The window of a chunk whose high mark is not written yet.

    :param opened_ms: time of its low mark, milliseconds since the epoch.
    :param chunk: what was read in it; None before.
    :param tried: the high mark may be written.
    """

    id: str
    opened_ms: int
    chunk: Chunk | None = None
    tried: bool = False


@dataclass(slots=True)
class _Flight:
    """Outcomes that were read and not taken, oldest first, with the number of their rows and their bytes in all."""

    outcomes: deque[Outcome] = field(default_factory=deque)
    rows: int = 0
    bytes: int = 0


class _Reading:
    """The reading of one table, from its start or a later key on; not used for another one. Its owner starts `thread`, which
    reads and puts outcomes; the owner calls `first`, `take`, `floor` and `abandon`. The thread ends at the table's end, at an
    error that does not pass, or after `abandon`.

    :param state: how far the table was delivered.
    """

    def __init__(self, context: ReaderContext, table: TableId, state: TableRead, surrogate: str, emitted_scn: int) -> None:
        self._context = context
        self._emitted_scn = emitted_scn
        self._table = table
        self._state = state  # moves with what is read, ahead of the stored one
        self._surrogate = surrogate
        self._flight = _Flight()
        self._changed = threading.Condition()
        self._abandoned = threading.Event()
        self._scn = 0  # `Chunk.floor` of the last read: no later chunk has a lower one
        self._unclosed: _Window | None = None
        self._too_old = False
        self.thread = threading.Thread(target=self._run, name=f"incremental snapshot of {table}", daemon=True)

    # ---- the stage's side ----

    def first(self) -> Outcome | None:
        with self._changed:
            return self._flight.outcomes[0] if self._flight.outcomes else None

    def take(self) -> None:
        with self._changed:
            taken = self._flight.outcomes.popleft()
            if isinstance(taken, Chunk):
                self._flight.rows -= len(taken.rows)
                self._flight.bytes -= taken.size
            self._changed.notify()

    def floor(self) -> int:
        with self._changed:
            chunk = next((outcome for outcome in self._flight.outcomes if isinstance(outcome, Chunk)), None)
            return chunk.floor if chunk else self._scn

    def abandon(self) -> None:
        self._abandoned.set()
        with self._changed:
            self._flight = _Flight()
            self._changed.notify()

    # ---- the thread's side ----

    def _run(self) -> None:
        wait, tries = _WAIT_SECONDS, 0
        while not self._abandoned.is_set():
            read = self._state
            try:
                with closing(self._connect()) as connection:
                    tries += 1
                    self._read(connection)
                return
            except (SnapshotTooOldError, TransientSourceError, MiningSessionError) as error:
                if tries >= _TRIES and self._state == read:
                    self._fail(error)
                    return
                self._too_old |= isinstance(error, SnapshotTooOldError)
                _log.warning("%s: %s; reading on in %.0f s", self._table, error.message, wait)
            except SourceError as error:
                if not self._outdated(error):
                    self._fail(error)
                    return
            except MinerCdcError as error:
                self._fail(error)
                return
            except Exception as error:
                self._put(Broken(error))
                return
            wait, tries = (min(2 * wait, _LONGEST_WAIT_SECONDS), tries) if self._state == read else (_WAIT_SECONDS, 0)
            self._abandoned.wait(wait)

    def _fail(self, error: MinerCdcError) -> None:
        """Put Failed, in place of a chunk whose high mark cannot be written: it would be waited for without end."""
        scn = self._present_scn()
        with self._changed:
            waits = self._unclosed.chunk if self._unclosed else None
            self._flight.outcomes = deque(one for one in self._flight.outcomes if one is not waits)
        self._put(Failed(error, scn))

    def _connect(self) -> oracledb.Connection:
        connection = self._context.connect(self._table.database)
        try:
            with oracle_errors("preparing the session"), connection.cursor() as cursor:
                cursor.execute(SESSION)
        except BaseException:
            connection.close()
            raise
        return connection

    def _present_scn(self) -> int:
        """The present SCN, for `Failed.scn`; 0 when the signal's own condition may be the cause, or the database does not
        answer."""
        if self._state.condition:
            return 0
        try:
            with closing(self._connect()) as connection:
                return present_scn(connection)
        except MinerCdcError:
            return 0

    def _outdated(self, error: SourceError) -> bool:
        """Whether the error may be that a column which the stream still knows is gone (ORA-00904), so that the stream has to
        come to its DDL first. Always False with a condition: a name in it that is no column fails in the same way, for good."""
        return error.ora_code == _INVALID_IDENTIFIER and not self._state.condition

    def _read(self, connection: oracledb.Connection) -> None:
        if self._unclosed is not None:
            self._close(connection)
        if not self._state.maximum and not self._begin(connection):
            return
        more = True
        while more and not self._abandoned.is_set():
            schema = self._context.shape(self._table)
            if schema is None:
                raise SourceError(f"{self._table} was dropped")
            if not key_columns(schema, self._state.order):
                self._begin(connection)
            keyset = Keyset(schema, self._state.order, self._state.condition, lobs=self._context.pace.lobs)
            more = self._marked(connection, keyset) if self._context.marks else self._stretch(connection, keyset)

    def _begin(self, connection: oracledb.Connection) -> bool:
        """Fix the order and the end in `_state`, and put Began; False when there is nothing to read."""
        schema = self._context.shape(self._table)
        if schema is None:
            raise SourceError(f"{self._table} was dropped")
        order = order_of(schema, self._surrogate)
        self._choose_scn(connection)
        keyset = Keyset(schema, order, self._state.condition, lobs=self._context.pace.lobs)
        with oracle_errors(f"looking for the last row of {self._table}"), connection.cursor() as cursor:
            cursor.outputtypehandler = exact_values
            cursor.execute(keyset.maximum_statement(None))
            row = cursor.fetchone()
        # Chunks wait until the stream has come to them, and has followed a RENAME before. The end does not: it has to be that of the
        # table that the stream means.
        refuse_renamed(connection, schema, self._emitted_scn)
        maximum = keyset.maximum_of(row) if row is not None else ()
        self._state = replace(self._state, order=order, last=(), maximum=maximum)
        self._put(Began(order, maximum, schema.version))
        return bool(maximum)

    def _choose_scn(self, connection: oracledb.Connection) -> int:
        """The SCN of the next read; sets `_scn`, above which changes of the stream count as newer. No later one is lower."""
        # Each read of CURRENT_SCN moves it forward: no later commit has an SCN up to those read after it.
        now = present_scn(connection)
        # Redo that is written stays; an SCN that is not goes with the instance, and is given again. What is written can fall: a
        # thread that is opened has written nothing for a while.
        least = max(reached_scn(connection), self._emitted_scn, self._scn)
        with self._changed:
            self._scn = least
        # After a DDL that nothing followed, the written SCN is too old for its table (ORA-01466). And the newest commits
        # emitted may be newer than it: their rows must not come in an older image.
        return max(now, least) if self._too_old else least

    def _stretch(self, connection: oracledb.Connection, keyset: Keyset) -> bool:
        """Read several chunks as of one SCN, and put them. True when there may be more rows.

        The stream may emit commits at exactly that SCN later: in an idle database it cannot know that there are no more. They
        have the images that the chunk has.
        """
        scn, size = self._choose_scn(connection), self._context.pace.chunk
        floor = self._scn
        time_us = self._context.now_ms() * 1000
        limit = _STRETCH * size
        chunks = in_chunks(self._fetched(connection, keyset, scn, limit), size)
        self._too_old = False
        count = 0
        held: Sequence[FetchedRow] | None = None
        for rows in chunks:
            if held is not None:
                self._put(self._chunk(keyset, held, floor, scn - 1, time_us, final=False))
            held = rows
            count += len(rows)
            if self._abandoned.is_set():
                return False
        final = count < limit
        if held is not None:
            self._put(self._chunk(keyset, held, floor, scn - 1, time_us, final=final))
        elif final:
            self._put(self._end(keyset, floor, scn - 1, time_us))
        return not final

    def _marked(self, connection: oracledb.Connection, keyset: Keyset) -> bool:
        """Read one chunk between two marks. True when there may be more rows. The chunk is put before the high mark is written: a
        stage that sees the mark has the chunk."""
        marks, limit = self._context.marks, self._context.pace.chunk
        assert marks is not None
        self._choose_scn(connection)
        floor = self._scn
        window = _Window(str(uuid4()), self._context.now_ms())
        marks.open(connection, window.id, window.opened_ms)
        self._unclosed = window  # also where nothing can be read in it: its row does not stay in the signal table
        try:
            batches = list(self._fetched(connection, keyset, None, limit))
        except MinerCdcError:
            with suppress(MinerCdcError):
                self._close(connection)
            raise
        rows = batches[0] if len(batches) == 1 else [row for batch in batches for row in batch]
        final, time_us = len(rows) < limit, self._context.now_ms() * 1000
        chunk = (
            self._chunk(keyset, rows, floor, 0, time_us, final=final, window=window.id)
            if rows
            else replace(self._end(keyset, floor, 0, time_us), window=window.id)
        )
        window.chunk = chunk
        self._put(chunk)
        self._close(connection)
        return not final

    def _close(self, connection: oracledb.Connection) -> None:
        window, marks = self._unclosed, self._context.marks
        assert window is not None
        assert marks is not None
        again, window.tried = window.tried, True
        marks.close(connection, window.id, window.opened_ms, self._context.now_ms(), again=again)
        if window.chunk is not None:
            window.chunk.closed_scn = present_scn(connection)
        self._unclosed = None

    def _fetched(
        self, connection: oracledb.Connection, keyset: Keyset, scn: int | None, limit: int
    ) -> Iterator[Sequence[FetchedRow]]:
        state, pace = self._state, self._context.pace
        with oracle_errors(f"reading a chunk of {self._table}"), connection.cursor() as cursor:
            if keyset.arrow is not None:
                statement = keyset.statement(scn, limit, state.last, state.maximum, as_columns=True)
                binds = keyset.binds(cursor, state.last, state.maximum)
                batches = fetch_columns(connection, statement, binds, pace.chunk, keyset.arrow)
                if batches is not None:
                    yield from batches
                    return
                keyset.arrow = None
            cursor.arraysize = cursor.prefetchrows = min(pace.chunk, _LARGE_ROWS) if pace.lobs else pace.chunk
            cursor.outputtypehandler = exact_values
            statement = keyset.statement(scn, limit, state.last, state.maximum)
            cursor.execute(statement, keyset.binds(cursor, state.last, state.maximum))
            while batch := cursor.fetchmany():
                yield batch

    def _chunk(
        self,
        keyset: Keyset,
        rows: Sequence[FetchedRow],
        floor: int,
        ceiling: int,
        time_us: int,
        *,
        final: bool,
        window: str = "",
    ) -> Chunk:
        last = keyset.last_of(rows)
        self._state = replace(self._state, last=last)
        found = FetchedRows(keyset.schema, rows, keyset.rows)
        return Chunk(found, last, floor, ceiling, time_us, final, window, found.size(_SAMPLE))

    def _end(self, keyset: Keyset, floor: int, ceiling: int, time_us: int) -> Chunk:
        return Chunk(FetchedRows(keyset.schema, [], keyset.rows), self._state.last, floor, ceiling, time_us, final=True)

    def _put(self, outcome: Outcome) -> None:
        """Put an outcome for the stage once there is room, for which it waits; drop it when the reading is abandoned."""
        flight, most = self._flight, _IN_FLIGHT * self._context.pace.chunk
        with self._changed:
            while (flight.rows >= most or flight.bytes >= _IN_FLIGHT_BYTES) and not self._abandoned.is_set():
                self._changed.wait(_WAIT_SECONDS)
            if self._abandoned.is_set():
                return
            self._flight.outcomes.append(outcome)
            if isinstance(outcome, Chunk):
                self._flight.rows += len(outcome.rows)
                self._flight.bytes += outcome.size
