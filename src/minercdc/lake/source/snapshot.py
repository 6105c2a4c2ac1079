"""Reads tables from Oracle AS OF one SCN into their lake tables, on Spark's executors: no row passes the connector or Kafka.

The last commit of a table says how far it is then: the lake merges into it what was committed after the SCN, and no more. A
table of which not all can be read keeps the rows that it had.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from minercdc.capture.table_selection import table_filters, table_names
from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError, MinerCdcError, SnapshotTooOldError
from minercdc.lake.merge.attempts import attempts, cause_of
from minercdc.lake.merge.modes import modes_of
from minercdc.lake.merge.rows import Clear, MergeStep
from minercdc.lake.merge.table_merge import evolved, key_ids, key_since
from minercdc.lake.read.decode import RowDecoder, TableShape
from minercdc.lake.source.oracle_values import OracleValue
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.spark.own_sessions import compile_code, own_session
from minercdc.lake.spark.session import refuse_session
from minercdc.lake.spark.sql import in_type
from minercdc.lake.stream.app import own_cause
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.format import Applied, LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.history import Field, TableHistories, TableHistory, TableVersion
from minercdc.lake.table.ownership import claim
from minercdc.lake.table.state import Entry, StateTable
from minercdc.lake.table.types import refuse_unsupported_modes
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect, of_database
from minercdc.oracle.dictionary.tables import read_altered, read_table_ids, read_tables
from minercdc.oracle.present_scn import present_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.values.codec import LARGE_TYPES
from minercdc.values.supported import without_unsupported

if TYPE_CHECKING:
    import oracledb
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

_POLL_S = 0.5
_WAS_OTHER = "was altered since, and had another name or other columns, or may have had, at SCN"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of one table.

    :param name: `SCHEMA.TABLE`, with several pluggable databases `PDB.SCHEMA.TABLE`.
    :param scn: the SCN as of which it was read, or was to be read.
    :param rows: how many rows of the source it has, 0 when it was not read.
    :param seconds: how long the last try took; 0 for a table that was refused.
    :param failure: why it was not read, '' when it was.
    """

    name: str
    scn: int
    rows: int
    seconds: float
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What became of all tables that were to be read.

    :param scn: the SCN as of which they were read, but for those that took a later try (`Loaded.scn`).
    """

    scn: int
    tables: Sequence[Loaded]

    @property
    def failed(self) -> list[Loaded]:
        """The tables that were not read."""
        return [table for table in self.tables if table.failure]


class Progress(Protocol):
    """Receives how far reading is, for a display. `read` may be called by another thread."""

    def begun(self, scn: int, tables: int, ranges: int) -> None:
        """What is ahead: so many tables as of `scn`, in so many ranges; called again before tables that could not be read are
        tried again."""

    def read(self, ranges: int) -> None:
        """So many more ranges are read."""

    def done(self, table: Loaded) -> None:
        """A table is read or refused, or this try of it failed."""


class _NoProgress:
    def begun(self, scn: int, tables: int, ranges: int) -> None:
        pass

    def read(self, ranges: int) -> None:
        pass

    def done(self, table: Loaded) -> None:
        pass


class Coverage(Protocol):
    """Which tables the connector's stream keeps up to date; `handover.Handover` is one."""

    def refusal(self, table: str, scn: int) -> str:
        """Why the stream does not have all that was committed to a table after an SCN; '' when it does.

        :param table: its name, as `Loaded.name`.
        """


def snapshot(
    spark: SparkSession,
    config: ConnectorConfig,
    *,
    scn: int | None = None,
    table: str | None = None,
    coverage: Coverage | None = None,
    tries: int = 1,
    progress: Progress | None = None,
) -> Snapshot:
    """Read the captured tables, or those of one name, into the lake as of an SCN. If all captured ones were read as of it, a
    lake without a complete SCN is complete at it. No lake of the configuration may run meanwhile, but for a rebuild.

    :param scn: None for the present one.
    :param table: see `TableNames.given`; None for all.
    :param coverage: tables that it refuses are not read, and have its reason as `failure`; None to read all.
    :param tries: of a table whose undo is gone (ORA-01555) or that was altered (ORA-01466); those after the first as of the
        present.
    :param progress: receives how far reading is; None for no display.
    :raises ConfigError: the configuration cannot be used, as where the topics have numbers as doubles (decimal.handling.mode).
    :raises LakeError: there is no such table, the lake has a table up to a later SCN, the records are in a form that is not read
        back, or the session is one of Spark Connect, of a Spark before 4.0, or without the format.
    :raises MinerCdcError: the database, Kafka or the schema history cannot be used. What fails for one table only, such as a table
        in its place that is not the lake's, is in its `failure`.
    """
    refuse_session(spark, config)
    return _Loading(spark, config, progress or _NoProgress()).run(scn, table, coverage, tries)


@dataclass(frozen=True, slots=True)
class _Task:
    """A table to read, in its ranges.

    :param name: see `Loaded`.
    :param known: ids of all columns that it ever had.
    :param key_since: SCN from which on it has had its key.
    :param refusal: why its rows as of the SCN would not be those of its name and columns; '' where they are.
    """

    name: str
    schema: TableSchema
    shape: TableShape
    cuts: Sequence[str]
    known: Collection[str]
    key_since: int
    refusal: str = ""

    @property
    def ranges(self) -> int:
        return len(self.cuts) + 1


class _Loading:
    def __init__(self, spark: SparkSession, config: ConnectorConfig, progress: Progress) -> None:
        refuse_unsupported_modes(config.values)
        claim(spark, config)
        self._config = config
        self._progress = progress
        self._spark = own_session(spark)
        self._spark.conf.set("spark.sql.ansi.enabled", "true")  # a value that a type cannot hold is an error, not null
        self._format = format_of(config)
        self._state = StateTable(self._spark, self._format.state(self._spark))
        self._decoder = RowDecoder(config)
        self._mode_of = modes_of(config)
        self._filters, self._names = table_filters(config), table_names(config)

    def run(self, scn: int | None, table: str | None, coverage: Coverage | None, tries: int) -> Snapshot:
        compile_code(self._spark, wanted=False)
        history = history_of(self._config)
        history.refresh_if_any()
        name_of = self._names.of
        with self._connected() as connections:
            first_one = next(iter(connections.values()))
            ids = self._ids(connections, table)
            first = at = present_scn(first_one) if scn is None else scn
            self._refuse_later(at, [name_of(one) for one in ids])
            refused = {one: why for one in ids if coverage is not None and (why := coverage.refusal(name_of(one), at))}
            found = {one: Loaded(name_of(one), at, 0, 0.0, why) for one, why in refused.items()}
            for loaded in found.values():
                self._progress.done(loaded)
            left = [one for one in ids if one not in refused]
            for turn in range(tries):
                tasks = [
                    task
                    for database, connection in connections.items()
                    for task in self._tasks(connection, [one for one in left if one.database == database], history, at)
                ]
                self._progress.begun(at, len(tasks), sum(task.ranges for task in tasks))
                found |= {task.schema.id: self._loaded(task, at) for task in tasks}
                left = [one for one in left if one in found and found[one].failure and _passes(found[one].failure)]
                if not left or turn + 1 == tries:
                    break
                at = present_scn(first_one)
        done = [found[one] for one in ids if one in found]
        if table is None and all(one.scn == first and not one.failure for one in done) and not self._state.read().complete:
            self._state.append([Entry("complete", scn=first, batch=0)])
        return Snapshot(first, done)

    @contextmanager
    def _connected(self) -> Iterator[dict[str, oracledb.Connection]]:
        """A connection to each database, by its name, while the context lasts; its end closes them."""
        database = self._config.database
        with ExitStack() as stack:
            yield {name: stack.enter_context(closing(connect(of_database(database, name)))) for name in self._filters}

    def _ids(self, connections: Mapping[str, oracledb.Connection], table: str | None) -> list[TableId]:
        """The captured tables that are wanted: all, or those that `table` may mean (`TableNames.given`)."""
        there = [
            one for name, connection in connections.items() for one in read_table_ids(connection, self._filters[name], name)
        ]
        ids = [one for one in there if table is None or table in self._names.given(one)]
        if table is not None and not ids:
            raise LakeError(f"Oracle has no table {table} that the configuration selects")
        return ids

    def _tasks(
        self, connection: oracledb.Connection, ids: Sequence[TableId], history: TableHistories, scn: int
    ) -> list[_Task]:
        from minercdc.lake.source.oracle_table import ranges_of

        kept = [without_unsupported(schema) for schema in read_tables(connection, ids)]
        altered = _altered(connection, ids, scn)
        tasks = []
        for schema in kept:
            known, name = history.find(self._names.of(schema.id)), self._names.of(schema.id)
            shape = self._decoder.shape(_version(schema, known, scn))
            ids_known = {field.id for version in known.versions for field in version.fields} if known is not None else set()
            since = key_since(self._decoder, known, scn) if known is not None and known.versions else 0
            is_other = schema.id in altered and not was_so(schema, known, scn) and _answers(connection, schema.id, scn)
            why = f"{name} {_WAS_OTHER} {scn}" if is_other else ""
            tasks.append(_Task(name, schema, shape, ranges_of(connection, schema.id), ids_known, since, why))
        return tasks

    def _refuse_later(self, scn: int, names: Sequence[str]) -> None:
        state = self._state.read()
        for name in names:
            if (there := state.applied(name).scn) > scn:
                raise LakeError(f"the lake has {name} up to SCN {there} already, which is after {scn}")

    def _loaded(self, task: _Task, scn: int) -> Loaded:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        begun = time.monotonic()
        try:
            if task.refusal:
                raise LakeError(task.refusal)
            rows = attempts(self._format.is_conflict)(lambda: self._load(task, scn))
            loaded = Loaded(task.name, scn, rows, time.monotonic() - begun)
        except (LakeError, PySparkException, Py4JJavaError) as error:
            log.debug("%s: reading failed", task.name, exc_info=True)
            failure = cause_of(error) if isinstance(error, LakeError) else own_cause(str(error))
            loaded = Loaded(task.name, scn, 0, time.monotonic() - begun, failure)
        self._progress.done(loaded)
        return loaded

    def _load(self, task: _Task, scn: int) -> int:
        compile_code(self._spark, wanted=task.ranges > 1)
        applied = Applied(scn, self._state.read().batch)
        lake, mode = self._format.table(self._spark, task.schema.id), self._mode_of(task.schema.id)
        target, key = task.shape.table_columns(), key_ids(task.shape)
        there = lake.columns()
        with self._watched(task):
            if there is None or not mode.keeps or lake.mode() != mode.name:
                step = MergeStep(target, key, 0, None, late=False, read=True, applied=None, goal=applied)
                lake.replace(mode.rows(self._changes(task, target, scn), step), target, applied, mode.name)
            else:  # what it keeps of rows that are gone is nowhere else
                target = evolved(lake, there, target, task.known, self._config.lake.minercdc_lake_type_change)
                clear, before = Clear(scn, None, read=True), _said(lake)
                # A lake that runs may have merged later changes meanwhile: they stay, and would be there twice if it did that again.
                applied = max(applied, before, key=lambda one: one.scn)
                step = MergeStep(target, key, task.key_since, clear, late=False, read=True, applied=None, goal=applied)
                mode.merge(lake, self._changes(task, target, scn), step)
        table = Entry("table", task.name, lake.reached(applied), applied.scn, applied.batch)
        self._state.append([table, Entry("read", task.name, scn=scn)])
        return int(mode.current(lake.read(), target, key).count())

    def _changes(self, task: _Task, target: Sequence[TableColumn], scn: int) -> DataFrame:
        """The rows in the types of the lake's columns, as `decode` has rows of a snapshot."""
        from minercdc.lake.source.oracle_table import oracle_rows

        types = {column.id: column for column in target}
        read = [(source.column, column) for source, _, column in task.shape.columns if self._is_read(source)]
        values = [OracleValue(source, column.type) for source, column in read]
        schema = replace(task.schema, columns=tuple(source for source, _ in read), key=())
        rows = oracle_rows(self._spark, self._config, schema, [value.form for value in values], scn, cuts=task.cuts)
        typed = {}
        for i, ((_, column), value) in enumerate(zip(read, values, strict=True)):
            typed[column.id] = in_type(value.typed(f"c{i}"), column.type, types[column.id].type)
        names = {source.name: source.id for source, _, _ in task.shape.columns}
        return rows.selectExpr(
            "'r' AS op",
            f"{scn}L AS scn",
            f"{scn}L AS commit_scn",
            "0L AS seq",
            "current_timestamp() AS commit_time",
            "row_id",
            "0 AS partition",
            "0L AS offset",
            *(f"{typed[names[part]]} AS k{i}" for i, part in enumerate(task.shape.key)),
            *(f"{typed.get(column.id, f'CAST(NULL AS {column.type})')} AS c{i}" for i, column in enumerate(target)),
        )

    def _is_read(self, source: Field) -> bool:
        """Whether the values of a column are read: large ones only with `lob.enabled`, as those of redo."""
        return self._config.capture.lob_enabled or source.column.type_name not in LARGE_TYPES

    @contextmanager
    def _watched(self, task: _Task) -> Iterator[None]:
        """Report the ranges that are read while a table is written, by the tasks that Spark has done. A thread looks while
        the context lasts; the calling thread's Spark jobs are in a group of their own meanwhile."""
        group = f"minercdc snapshot of {task.name}"
        context = self._spark.sparkContext
        context.setJobGroup(group, group)
        ended = threading.Event()
        reported = 0

        def report(most: int) -> None:
            nonlocal reported
            if most > reported:
                self._progress.read(most - reported)
                reported = most

        def watch() -> None:
            while not ended.wait(_POLL_S):
                report(min(_tasks_done(self._spark, group, task.ranges), task.ranges))

        watcher = threading.Thread(target=watch, name="lake-snapshot-progress", daemon=True)
        watcher.start()
        try:
            yield
            ended.set()
            watcher.join()
            report(task.ranges)
        finally:
            ended.set()
            watcher.join()
            context.setJobGroup("", "")


def _said(lake: LakeTable) -> Applied:
    """How far a table is; SCN 0 where that is not known."""
    with suppress(LakeError):
        return lake.applied() or Applied()
    return Applied()


def _tasks_done(spark: SparkSession, group: str, ranges: int) -> int:
    """Finished tasks of the stage that has a task per range, of the jobs of a group; 0 before it begins."""
    tracker = spark.sparkContext.statusTracker()
    most = 0
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage_id in info.stageIds if info is not None else ():
            stage = tracker.getStageInfo(stage_id)
            if stage is not None and stage.numTasks == ranges:
                most = max(most, stage.numCompletedTasks)
    return most


def _passes(failure: str) -> bool:
    """Whether a later SCN helps: undo of this one is gone, or the table was altered since."""
    return any(code in failure for code in ("ORA-01555", "ORA-01466", _WAS_OTHER))


def _altered(connection: oracledb.Connection, ids: Sequence[TableId], scn: int) -> Collection[TableId]:
    """Which tables had DDL, of any kind, after an SCN; all of them where that is not known."""
    try:
        return read_altered(connection, ids, scn)
    except SnapshotTooOldError:
        return ids


def _answers(connection: oracledb.Connection, table: TableId, scn: int) -> bool:
    """Whether Oracle reads a table as of an SCN: it refuses by itself after DDL that changes how rows are stored (ORA-01466), and reads as of
    before a RENAME of the table or of a column by the present names."""
    try:
        with oracle_errors(f"reading {table} as of SCN {scn}"), connection.cursor() as cursor:
            cursor.execute(f'SELECT NULL FROM "{table.schema}"."{table.table}" AS OF SCN {scn} WHERE 1 = 0')
    except MinerCdcError:  # reading the rows says why
        return False
    return True


def was_so(schema: TableSchema, known: TableHistory | None, scn: int) -> bool:
    """Whether the schema history has a table under its name and with its columns at an SCN. What it has of that very SCN may have been read
    from the dictionary later.

    :param schema: as the dictionary has it now.
    """
    if known is None or not known.versions or not known.exists_at(scn):
        return False
    version = known.version_at(scn)
    then = version.schema
    if version.since >= scn or (then.object_id and schema.object_id and then.object_id != schema.object_id):
        return False
    now, before = ([(c.name, c.type_name, c.length, c.scale) for c in one.columns] for one in (schema, then))
    return now == before


def _version(schema: TableSchema, known: TableHistory | None, scn: int) -> TableVersion:
    """The table at the SCN, each column with its id of the schema history. A column, or a table, that the history does not know at the
    SCN gets ids of its own, `NAME@SCN`."""
    there: dict[str, Field] = {}
    if known is not None and known.versions and known.exists_at(scn):
        there = {field.name: field for field in known.version_at(scn).fields}
    fields = tuple(
        replace(there[column.name], column=column) if column.name in there else Field(f"{column.name}@{scn}", column)
        for column in schema.columns
    )
    return TableVersion(scn, schema, fields)
