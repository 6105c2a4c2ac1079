"""Schedules merges: which tables, when and up to which SCN; several at once, each thread in its own Spark session."""

from __future__ import annotations

import logging
import shlex
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.merge.attempts import attempts, cause_of
from minercdc.lake.merge.compiled import CompiledReads
from minercdc.lake.merge.joint_read import JointRead, JointTable
from minercdc.lake.merge.kept_records import KeptRecords
from minercdc.lake.merge.latest import FEW_ROWS
from minercdc.lake.merge.log_records import keep_pending
from minercdc.lake.merge.pending import is_pending
from minercdc.lake.merge.sync_report import SyncReport
from minercdc.lake.merge.table_merge import TableMerge
from minercdc.lake.read.decode import RowDecoder
from minercdc.lake.spark.own_sessions import ThreadSessions, compile_code, own_session
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.arrivals import Arrivals
from minercdc.lake.stream.change_log import Arrival, ChangeLog
from minercdc.lake.stream.deleted_records import deleted
from minercdc.lake.stream.log_columns import OF_RECORD, schema_of
from minercdc.lake.stream.marks import Ends, Mark
from minercdc.lake.stream.record_source import RecordSource
from minercdc.lake.stream.scanned_batch import arrival_of, log_rows
from minercdc.lake.table.format import NO_TABLE, Applied, LakeTable, changed_since, take_over
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.gaps import Gap, gap_at, last_read, read_scn
from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.state import NONE_LEFT, NOTED, Entry, StateTable
from minercdc.schema.table import TableId
from minercdc.stream.counters.lake import LakeFigures

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_PUBLISH_S = 10.0  # an SCN without changes is published this often
_LOOK_S = 5.0
_TRY_AGAIN_S = 600.0  # a table that failed
_EARLY = 0.8  # of the time between two merges: micro-batches, each of which may have records for the next one, do not come on the dot


class Merger:
    """Appends to the change log, and merges tables from it up to complete SCNs.

    `append` and `note_unread` are called by the stream's thread, what merges by one thread at a time.

    :param figures: kept up to date.
    :raises LakeError, ConfigError: as `TableHistories` and its `refresh`.
    :raises SinkError, SchemaHistoryError: the schema history cannot be read.
    """

    def __init__(self, spark: SparkSession, config: ConnectorConfig, source: RecordSource, figures: LakeFigures) -> None:
        self._config = config
        self._source = source
        self._format = format_of(config)
        self._figures = figures
        self._spark = own_session(spark)
        compile_code(self._spark, wanted=False)  # it reads and writes the lake's own few records
        self._log = self._change_log(self._spark)
        self._state_table = StateTable(self._spark, self._format.state(self._spark))
        self._history = source.history()
        self._decoder = RowDecoder(config)
        self._compiled = CompiledReads()
        self._kept = KeptRecords()
        self._lock = threading.Lock()
        self._arrivals = Arrivals()
        self._news: list[Entry] = []  # not recorded yet
        self._partitions: Counter[str] = Counter()  # of the topics of a micro-batch
        self._held: Ends | None = None  # how far the change log had the topics at the start
        self._waiting: set[str] = set()  # tables that have pending records and are not due
        self._begun: dict[str, float] = {}  # the last merge of each table
        self._round_s = 0.0  # that the last merges took
        self._unknown: set[str] = set()
        self._failed_at: dict[str, float] = {}
        # Nothing is merged before a mark is reached: after a lost checkpoint the topics are read again from their begin.
        self._scn, self._goal_batch, self._history_scn = 0, 0, -1
        self._published, self._published_scn = 0.0, 0  # when, and how far
        self._looked = 0.0  # for what other processes recorded
        self._report = SyncReport()
        self._sessions = ThreadSessions(self._spark)
        self._joint = JointRead(self._change_log(own_session(spark)))
        self._pool = ThreadPoolExecutor(config.lake.minercdc_lake_merge_threads, "lake-merge")
        self._recover()

    def _change_log(self, spark: SparkSession) -> ChangeLog:
        return ChangeLog(spark, self._format.changes(spark), self._config.values)

    def _recover(self) -> None:
        """Find out how far the tables are: their commits say it where the record lacks the last."""
        self._log.table.prepare()
        self._state_table.table.prepare()
        self._state = self._state_table.read()
        self._state.failed.clear()  # they are tried again
        self._batch = self._state.batch
        if not self._log.exists():
            return
        self._history.refresh_if_any()
        arrivals = self._log.arrivals()
        self._arrivals.add(arrivals)
        self._batch = max([self._batch, *(arrival.batch for arrival in arrivals)])
        for topic in self._arrivals.topics():
            table = self._history.of_topic(topic)
            if table is None:
                continue
            found = self._format.table(self._spark, table.table)
            try:
                if is_gone := self._is_gone(table):
                    self._state_table.append([Entry("table", table.name, NO_TABLE)])
                applied = None if is_gone or found.columns() is None else found.applied()
            except LakeError:  # merging it says why
                continue
            known = self._state.applied(table.name)
            if applied is not None and (applied.scn, applied.batch) > (known.scn, known.batch):
                entry = Entry("table", table.name, found.reached(applied, first=True), applied.scn, applied.batch)
                self._state_table.append([entry])
                self._state.follow(entry)

    def _is_gone(self, table: TableHistory) -> bool:
        """Whether a lake table was deleted; it is forgotten then, with a warning, to be merged again from the begin of
        the change log. That it is gone is to be recorded: the versions of another one may have the same numbers."""
        entry = self._state.tables.get(table.name)
        if entry is None or entry.version == NO_TABLE or self._format.table(self._spark, table.table).exists():
            return False
        was_read = any(entry.kind == "read" and entry.name == table.name for entry in self._state.noted)
        if self._state.trimmed or table.renamed_from or was_read:
            raise LakeError(
                f"the lake table of {table.name} was deleted, and the change log does not contain all of its rows",
                hint=f"Read it again: minercdc lake rebuild CONFIG --table {shlex.quote(table.name)}",
            )
        log.warning("%s: the lake table was deleted; it is rebuilt from the change log", table.name)
        del self._state.tables[table.name]
        return True

    @property
    def complete_scn(self) -> int:
        """The complete SCN that was published last; 0 for none since the start."""
        return self._published_scn

    def log_identity(self) -> str:
        """See `LogTable.identity`, of the change log; '' where there is none yet."""
        return self._log.table.identity() if self._log.exists() else ""

    def append(self, records: DataFrame, writer: str, number: int, rows: int, *, one_topic: bool) -> None:
        """Append a micro-batch to the change log; nothing when the log has it already.

        :param writer, number, one_topic: see `ChangeLog.append`.
        :param rows: how many records it has, at most.
        """
        batch = self._batch + 1
        arrivals = self._log.append(records, batch, writer, number, one_topic=one_topic)
        if arrivals is None:
            compile_code(self._sessions.get(), wanted=rows >= FEW_ROWS)
            arrivals = self._arrived_since(batch)
        self._note(arrivals, batch)

    def _arrived_since(self, batch: int) -> list[Arrival]:
        """What the change log has of a batch, and of later ones: where an append was made before, it may have been by another lake, which has
        gone on since."""
        return self._change_log(self._sessions.get()).arrivals(f"batch >= {batch}")

    def _note(self, arrivals: Sequence[Arrival], batch: int) -> None:
        # In this order: tables are merged up to `_batch`, with the arrivals that are known then.
        self._arrivals.add(arrivals)
        self._note_left(arrivals)
        with self._lock:
            self._batch = max([batch, *(arrival.batch for arrival in arrivals)])

    def append_scanned(self, rows: Mapping[str, pa.RecordBatch], writer: str, number: int) -> None:
        """As `append`, of rows that `scanned_batch` has read.

        :param rows: by topic; with none, all that is done is to make the change log where there is none.
        """
        import pyarrow as pa

        if not rows and self._log.exists():
            return
        batch, session = self._batch + 1, self._sessions.get()
        made = pa.Table.from_batches(log_rows(rows, batch), schema_of(("batch", "topic", *OF_RECORD)))
        compile_code(session, wanted=made.num_rows >= FEW_ROWS)
        if self._log.append_rows(made, writer, number, session):
            self._kept.add(batch, rows)
            self._note([arrival_of(topic, batch, part) for topic, part in rows.items()], batch)
        else:
            self._note(self._arrived_since(batch), batch)

    def note_unread(self, read: Ends, ends: Ends) -> None:
        """Record as lost what a micro-batch, not appended yet, will not find. Raises as `RecordSource.unread`, and SinkError when the source cannot be read.

        :param read, ends: how far the topics are read before it, and after it.
        """
        if self._held is None:  # the checkpoint may be lost, with the change log as it was
            self._held = self._log.ends() if self._log.exists() else {}
            self._warn_of_deletes(read, self._held, ends)
        # Made again, and all that it has now is still to be read; of one that has records already, Spark reads those after them only.
        short = {place: end for place, end in ends.items() if end < read.get(place, 0)}
        again = {topic for topic, _ in short} - {topic for (topic, _), end in short.items() if end}
        found = list(self._source.unread(read, self._held, ends))
        self._record_losses(one for one in found if one[0] in again)
        self._record_losses((one for one in found if one[0] not in again), left=NONE_LEFT)
        self._partitions = Counter(topic for topic, _ in ends)

    def _warn_of_deletes(self, read: Ends, held: Ends, ends: Ends) -> None:
        """Warn of topics whose deletes may be gone since this lake ran the last time."""
        if not self._state.complete:
            return
        for _, cause in self._source.uncertain(read, held, ends, self._state.completed):
            log.warning(
                "%s. Rows that were deleted meanwhile may still be in its lake table. Compare it: minercdc lake verify CONFIG; if it differs,"
                " read it again: minercdc lake rebuild CONFIG --table TABLE",
                cause,
            )

    def _record_losses(self, found: Iterable[tuple[str, str]], *, left: int = 0) -> None:
        """Record losses at once.

        :param left: see `state`, of entries of kind `lost`.
        """
        with self._lock:
            scn = self._state.complete + 1
            self._record([Entry("lost", topic, version=left, scn=scn, detail=cause) for topic, cause in found])

    def _record(self, entries: Sequence[Entry]) -> None:
        self._state_table.append(entries)
        for entry in entries:
            self._state.follow(entry)

    def _note_left(self, arrivals: Iterable[Arrival]) -> None:
        """Record of which SCN the first records are that are left of topics that lost some. They are in the order of their commits, but for
        those of several partitions, and of rows that were read beside the stream."""
        with self._lock:
            for one in sorted(arrivals, key=lambda one: one.batch):
                in_order = self._partitions[one.topic] == 1 and not (one.read and not one.snapshot)
                left = one.lowest if in_order else one.highest
                losses = self._state.open_losses(one.topic) if left else ()
                self._record([replace(entry, version=left) for entry in losses])

    def complete(self, mark: Mark) -> None:
        """Note that the change log has all records up to a mark. A mark of a snapshot counts only while there is none of
        the stream. Losses are recorded at once, the rest with the next merge. Raises as `TableHistories.refresh`; it may be called again then."""
        if gone := list(deleted(self._state.topics, mark.topics)):
            self._history.refresh_if_any()
            for topic, cause in gone:
                self._record_losses([(topic, cause)], left=last_read(self._history.of_topic(topic), mark.scn))
        there = dict.fromkeys(self._state.topics, "") | dict(mark.topics)
        news = [
            Entry("topic", topic, detail=number)
            for topic, number in there.items()
            if self._state.topics.get(topic) != number
        ]
        seen = {(entry.kind, entry.name, entry.scn) for entry in self._state.noted}
        news += [entry for entry in mark.left_out if (entry.kind, entry.name, entry.scn) not in seen]
        for entry in news:
            self._state.follow(entry)
        self._news += news
        if mark.snapshot and self._state.complete:
            return
        if mark.scn > self._scn:
            self._scn, self._goal_batch = mark.scn, self._batch
        if not mark.snapshot:
            self._state.complete = max(self._state.complete, mark.scn)

    def merge_due(self, *, all_pending: bool = False) -> None:
        """Merge tables with many or old pending records, and record how far they are; a table that fails is quarantined. Before
        the first `complete` nothing is done.

        :raises SinkError, SchemaHistoryError, ConfigError: as `TableHistories.refresh`.
        """
        with self._lock:
            goal = Applied(self._scn, self._goal_batch)
        if not goal.scn:
            return
        self._refresh_history()
        self._follow_others()
        due = [table for table in self._history.tables() if self._is_due(table, goal, all_pending=all_pending)]
        begun = time.monotonic()
        for table in due:
            self._begun[table.name] = begun
            self._waiting.discard(table.name)
        done = self._merge(due, goal)
        if due:
            self._round_s = time.monotonic() - begun
        self._publish(done, goal)
        self._warn_of_unknown()

    def _follow_others(self) -> None:
        """Follow what `lake rebuild` and `lake snapshot` recorded; looks at most every `_LOOK_S` seconds."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        with self._lock:
            entries = self._state_table.of_others()
        for entry in entries:
            if entry.kind == "table":
                self._follow_table(entry)
            elif entry.kind in NOTED:
                self._state.follow(entry)

    def _follow_table(self, entry: Entry) -> None:
        """Follow what another process recorded of a table, as the table says it: this lake may have merged changes since, or meanwhile."""
        table, is_there = self._history.find(entry.name), False
        if table is not None:
            lake, known = self._format.table(self._spark, table.table), self._state.tables.get(entry.name)
            with suppress(LakeError):  # merging it says why
                newest = lake.newest_version()
                is_there = newest == entry.version
                if not is_there and known is not None and known.version == newest:
                    return  # merged since
                if not is_there and newest != NO_TABLE and (found := lake.applied()) is not None:
                    entry, is_there = replace(entry, version=newest, scn=found.scn, batch=found.batch), True
        if not is_there and not self._is_news(entry):
            return
        log.info("%s was read again: it is at SCN %s now", entry.name, entry.scn)
        self._state.follow(entry)
        if table is not None:  # some were forgotten as merged
            self._arrivals.replace(table.topic, self._log.arrivals(f"topic = {literal(table.topic)}"))

    def _is_news(self, entry: Entry) -> bool:
        """Whether what another process recorded of a table, which does not say how far it is, is newer than what is known."""
        known = self._state.tables.get(entry.name)
        return known is None or entry.scn >= known.scn or entry.version > known.version

    def _refresh_history(self) -> None:
        """Read what DDL did up to the present goal; it was written before the goal's mark."""
        if self._history_scn != self._scn:
            self._history.refresh()
            self._history_scn = self._scn

    def flush(self) -> None:
        """As `merge_due`, of all that is complete, however little or young; not of tables that failed within ten minutes."""
        self.merge_due(all_pending=True)

    def close(self) -> None:
        """Wait for merges that run, and end the threads."""
        self._pool.shutdown()

    def _is_due(self, table: TableHistory, goal: Applied, *, all_pending: bool) -> bool:
        name = table.name
        if name in self._state.failed and time.monotonic() - self._failed_at.get(name, 0.0) < _TRY_AGAIN_S:
            return False
        applied = self._state.applied(name)
        if goal.scn < applied.scn:  # read as of a later SCN by `lake snapshot`
            return False
        mine = [arrival for arrival in self._arrivals.of(table.topic) if is_pending(arrival, applied, goal)]
        rows = sum(arrival.rows for arrival in mine)
        new = rows or table.has_event(applied.scn, goal.scn)
        if not new and (name in self._state.failed or not self._gap(table, goal)):
            self._waiting.discard(name)
            return False
        self._waiting.add(name)
        lake = self._config.lake
        passed = None if name not in self._begun else time.monotonic() - self._begun[name]
        rested = has_rested(passed, lake.minercdc_lake_merge_interval_ms / 1000, self._round_s)
        return all_pending or rested or rows >= lake.minercdc_lake_merge_rows

    def _gap(self, table: TableHistory, goal: Applied) -> Gap | None:
        """Why a table cannot be merged up to a goal by any later record; None where it can."""
        if not (table.lost or table.moved or table.handed or self._state.noted) or not table.exists_at(goal.scn):
            return None
        by_rowid = not self._decoder.shape(table.version_at(goal.scn)).key
        gap = gap_at(table, self._state.noted, goal.scn, by_rowid=by_rowid)
        return gap if gap is not None and gap.final else None

    def _merge(self, due: Sequence[TableHistory], goal: Applied) -> list[Entry]:
        self._keep_pending(due, goal)
        renamed = [table for table in due if table.renamed_to or table.renamed_from]
        done: list[Entry] = []
        for _ in renamed:  # a table whose new name waits for another one takes more than one turn
            for table in sorted(renamed, key=lambda table: min((scn for scn, _ in table.renamed_to), default=1 << 63)):
                for one in self._bring(table, goal) if self._state.applied(table.name) != goal else ():
                    done.append(one)
                    self._state.follow(one)
            renamed = [table for table in renamed if table.name not in self._state.failed]
        others = [table for table in due if not (table.renamed_to or table.renamed_from)]
        with self._joint.of([read for table in others if (read := self._joint_table(table, goal)) is not None]):
            for entries in self._pool.map(lambda table: self._bring(table, goal), others):
                done += entries
        return done

    def _keep_pending(self, due: Iterable[TableHistory], goal: Applied) -> None:
        """Have the tables' pending records in this process, where others scanned them and they are few: it merges them then."""
        wanted: list[Arrival] = []
        for table in due:
            applied, arrivals = self._state.applied(table.name), self._arrivals.of(table.topic)
            if self._kept.has(arrivals):
                continue
            read = read_scn(table.name, self._state.noted, applied.scn)
            merge = TableMerge(self._config, self._log, self._decoder, None, self._compiled, self._kept)
            with suppress(Exception):  # merging it says why
                wanted += merge.unread(table, arrivals, applied, goal, read=read)
        if wanted:
            keep_pending(self._kept, self._log.table, wanted)

    def _joint_table(self, table: TableHistory, goal: Applied) -> JointTable | None:
        """What the table's merge reads if the table is as it is recorded; None where that is not read with others'."""
        applied, arrivals = self._state.applied(table.name), self._arrivals.of(table.topic)
        read = read_scn(table.name, self._state.noted, applied.scn)
        try:
            merge = TableMerge(self._config, self._log, self._decoder, None, self._compiled, self._kept)
            return merge.joint_table(table, arrivals, applied, goal, read=read)
        except Exception:  # merging it says why
            return None

    def _bring(self, table: TableHistory, goal: Applied) -> list[Entry]:
        """Merge one table. Returns the entries to be recorded: an error is one of kind `failed`, and is not raised."""
        begun = time.monotonic()
        try:
            return attempts(self._format.is_conflict)(lambda: list(self._brought(table, goal)))
        except Exception as error:
            log.debug("%s: merging failed", table.name, exc_info=True)
            return [Entry("failed", table.name, scn=goal.scn, batch=goal.batch, detail=cause_of(error))]
        finally:
            self._figures.table(table.name).merges.add(time.monotonic() - begun)

    def _brought(self, table: TableHistory, goal: Applied) -> Iterable[Entry]:
        session = self._sessions.get()
        changes = self._change_log(session)
        merge = TableMerge(self._config, changes, self._decoder, self._joint, self._compiled, self._kept)
        lake = self._format.table(session, table.table)
        applied = self._state.applied(table.name)
        arrivals = self._arrivals.of(table.topic)
        if self._is_gone(table):
            self._news.append(Entry("table", table.name, NO_TABLE))  # recorded also where the merge fails
            applied, arrivals = Applied(), self._log.arrivals(f"topic = {literal(table.topic)}")
        elif (found := self._changed(lake, table)) is not None:
            applied, arrivals = found, self._log.arrivals(f"topic = {literal(table.topic)}")
        read = read_scn(table.name, self._state.noted, applied.scn)
        furthest = self._state.furthest.get(table.name, 0)
        gap = self._gap(table, goal)
        if gap is not None:
            goal = Applied(gap.since - 1, goal.batch)
        compile_code(session, wanted=sum(a.rows for a in arrivals if is_pending(a, applied, goal)) >= FEW_ROWS)
        # Rows that a rename brings come first: until then the table is brought no further.
        waits = min((scn for scn, _ in table.renamed_from if applied.scn < scn <= goal.scn), default=0)
        if waits:
            goal = Applied(waits - 1, goal.batch)
        for scn, new in table.renamed_to:
            if applied.scn < scn <= goal.scn:
                if self._hands_over(new, scn):
                    goal = Applied(scn - 1, goal.batch)
                    break
                until = Applied(scn, goal.batch)
                merge.run(lake, table, arrivals, applied, until, read=read, furthest=furthest)
                taker = self._format.table(session, new)
                if taker.columns() is None or (taker.applied() or Applied()).scn < scn:  # not before a kill
                    take_over(taker, lake, until)
                    yield _merged(self._history.names.of(new), until, taker)
                applied = until
                yield _merged(table.name, applied, lake)
        if goal.scn > applied.scn or (goal.scn == applied.scn and goal.batch > applied.batch):
            merge.run(lake, table, arrivals, applied, goal, read=read, furthest=furthest)
            yield _merged(table.name, goal, lake)
        if gap is not None:
            detail = f"it lacks changes from SCN {gap.since} on: {gap.cause}. {gap.hint}"
            yield Entry("failed", table.name, scn=goal.scn, batch=goal.batch, detail=detail)

    def _hands_over(self, table: TableId, scn: int) -> bool:
        """Whether a name that another table's rows come to at an SCN has rows of its own that go to a third name before: tables swap names
        so. They would be lost, where it is not due, or in quarantine."""
        name = self._history.names.of(table)
        taker, applied = self._history.find(name), self._state.applied(name)
        return taker is not None and any(applied.scn < at < scn for at, _ in taker.renamed_to)

    def _changed(self, lake: LakeTable, table: TableHistory) -> Applied | None:
        """How far a table is to which more was done than the record says (by others, a failed merge); else None."""
        entry = self._state.tables.get(table.name)
        if entry is not None:
            return changed_since(lake, entry.version, Applied(entry.scn, entry.batch))
        return lake.applied() if lake.exists() else None

    def _publish(self, done: Sequence[Entry], goal: Applied) -> None:
        """Record what was merged, and the SCN that all tables can be read at now; log and count the failures."""
        news, self._news = self._news, []
        entries = [*news, *done]
        self._report.merged |= bool(done)
        for entry in done:
            if entry.kind == "failed":
                self._failed_at[entry.name] = time.monotonic()
                self._figures.table(entry.name).failures += 1
                log.error(
                    "%s is quarantined: %s\n  The other tables continue. This table is retried in ten minutes, or at the next start.",
                    entry.name,
                    entry.detail,
                )
        now = time.monotonic()
        complete = self._state.complete
        if complete and (entries or (complete > self._published_scn and now - self._published >= _PUBLISH_S)):
            entries.append(Entry("complete", scn=complete, batch=goal.batch))
            self._published, self._published_scn = now, complete
        self._state_table.append(entries)
        for entry in done:
            self._state.follow(entry)
        self._forget_merged()
        self._note_figures()
        if self._state.complete >= goal.scn and not self._waiting:
            self._report.reached(goal.scn, len(self._state.failed))

    def _forget_merged(self) -> None:
        with self._lock:
            known = self._batch
        for topic in self._arrivals.topics():
            if (table := self._history.of_topic(topic)) is not None:
                merged = self._arrivals.drop_merged(topic, self._state.applied(table.name))
                self._kept.keep_only(topic, {arrival.batch for arrival in self._arrivals.of(topic)}, known)
                self._figures.table(table.name).merged += merged

    def _note_figures(self) -> None:
        self._figures.complete_scn = self._state.complete
        for table in self._history.tables():
            figures, waiting = self._figures.table(table.name), self._arrivals.of(table.topic)
            figures.scn = self._state.applied(table.name).scn
            figures.waiting = sum(arrival.rows for arrival in waiting)
            figures.oldest_us = min((arrival.oldest_us for arrival in waiting if arrival.oldest_us), default=0)
            figures.failure = self._state.failed.get(table.name, "")

    def _warn_of_unknown(self) -> None:
        topics = {topic for topic in self._arrivals.topics() if self._history.of_topic(topic) is None}
        for topic in sorted(topics - self._unknown):
            log.warning(
                "topic %s has the connector's prefix, but its table is not in the schema history: its records are only in the change log",
                topic,
            )
        self._unknown |= topics


def has_rested(passed: float | None, interval: float, took: float) -> bool:
    """Whether a table is merged again however few records wait for it. Merges that take long come less often, so that they take about half of
    the time at most.

    :param passed: seconds since its last merge began; None where there was none.
    :param interval: seconds, as configured.
    :param took: seconds that the last merges took.
    """
    return passed is None or passed >= _EARLY * max(interval, 2 * took)


def _merged(name: str, applied: Applied, lake: LakeTable) -> Entry:
    return Entry("table", name, lake.reached(applied), applied.scn, applied.batch)
