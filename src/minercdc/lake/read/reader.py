"""All lake tables as of one commit SCN.

A table that was merged up to an earlier SCN is completed from the change log; of one that was merged further an older version
is read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.maintain.retention import versions
from minercdc.lake.merge.attempts import cause_of
from minercdc.lake.merge.modes import MODES
from minercdc.lake.merge.pending import pending, stages
from minercdc.lake.merge.rows import CDC_TYPE, NEWER, as_rows, cdc_struct, matches
from minercdc.lake.merge.table_merge import (
    key_ids,
    key_since,
    reduced,
    refuse_undecodable,
    refuse_unplaced,
    refuse_unplaced_rows,
    rekeyings,
)
from minercdc.lake.read.decode import RowDecoder, TableShape
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.spark.own_sessions import case_sensitive, few_partitions
from minercdc.lake.spark.session import refuse_session
from minercdc.lake.spark.sql import as_text, quoted
from minercdc.lake.stream.change_log import Arrival, ChangeLog
from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.format import NO_TABLE, Applied, TableFormat, columns_of
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.gaps import Gap, gap_at, read_scn
from minercdc.lake.table.history import TableHistories, TableHistory
from minercdc.lake.table.ownership import refuse_others
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.state import NOTED, Entry, StateTable
from minercdc.lake.table.statements import no_rows
from minercdc.lake.table.widening import widened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


log = logging.getLogger(__name__)


class LakeTables(Mapping[str, "DataFrame"]):
    """`SCHEMA.TABLE`, or `PDB.SCHEMA.TABLE` with several pluggable databases -> its rows as of `scn`, for every table of the
    source then; in any `minercdc.lake.mode` the source's rows only, with its columns and `__cdc` of the last change.

    A table that lacks changes up to that SCN is not among them: taking it by its name raises LakeError with the cause; another
    name raises KeyError.

    :ivar scn: the commit SCN that all of them are read at.
    :ivar incomplete: name of a table -> why it is not among them.
    """

    def __init__(self, scn: int, tables: Mapping[str, DataFrame], incomplete: Mapping[str, Gap]) -> None:
        self.scn = scn
        self.incomplete = {name: gap.cause for name, gap in incomplete.items()}
        self._tables = dict(tables)
        self._gaps = incomplete

    def __getitem__(self, name: str) -> DataFrame:
        if (gap := self._gaps.get(name)) is not None:
            readable = f"It can be read up to SCN {gap.since - 1}. " if gap.since > 1 else ""
            raise LakeError(f"{name} is not complete at SCN {self.scn}: {gap.cause}", hint=f"{readable}{gap.hint}")
        if name not in self._tables and (alike := [one for one in self._tables if one.endswith(f".{name}")]):
            raise KeyError(f"{name}: give one of {', '.join(alike)}")
        return self._tables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def tables(spark: SparkSession, config: ConnectorConfig, scn: int | None = None) -> LakeTables:
    """The lake's tables as of one commit SCN: every transaction up to it as a whole, none after it.

    A table that lacks changes up to that SCN is left out, with a warning in the log (`LakeTables.incomplete`).

    :param scn: None for the newest complete one.
    :raises LakeError: there is no lake, it is not complete up to this SCN yet, no longer keeps what it takes to read it, or
        has a new snapshot since, with unknown commits before it; the records are in a form that is not read back; or the session
        is one of Spark Connect, of a Spark before 4.0, or without the format.
    :raises SinkError, SchemaHistoryError: Kafka, or the schema history, cannot be read.
    :raises ConfigError: the configuration names no brokers, or `topic.naming.strategy` a function that cannot be loaded.
    """
    refuse_session(spark, config)
    with few_partitions(spark):
        return _tables(spark, config, scn)


def _tables(spark: SparkSession, config: ConnectorConfig, scn: int | None) -> LakeTables:
    from pyspark.errors import AnalysisException

    paths = LakePaths(config)
    refuse_others(spark, config)
    lake = format_of(config)
    state = StateTable(spark, lake.state(spark))
    if not state.exists():
        raise LakeError(f"there is no lake at {paths.root}", hint="Start it: minercdc lake CONFIG")
    entries = state.entries()
    history = history_of(config)
    history.refresh()
    at = _readable_scn(entries, history, scn)
    reader = _Reader(spark, config, ChangeLog(spark, lake.changes(spark), config.values), lake)
    noted = [entry for entry in entries if entry.kind in NOTED]
    there = [table for table in history.tables() if table.exists_at(at)]
    gaps = {table.name: gap for table in there if (gap := reader.gap(table, noted, at)) is not None}
    for name, gap in gaps.items():
        log.warning("%s is left out, since it is not complete at SCN %s: %s. %s", name, at, gap.cause, gap.hint)
    recorded = versions(entries)
    bases = {t.name: _base(recorded.get(t.name, ()), t.name, at) for t in there if t.name not in gaps}
    known = [Applied(base.scn, base.batch) for base in bases.values()]
    lowest = Applied(min((a.scn for a in known), default=0), min((a.batch for a in known), default=0))
    arrivals = reader.arrivals(lowest)
    found = {}
    for table in history.tables():
        if table.name in bases:
            mine = [arrival for arrival in arrivals if arrival.topic == table.topic]
            base = bases[table.name]
            try:
                _refuse_lost(base, entries, at)
                with case_sensitive(spark):
                    found[table.name] = reader.read(table, base, at, mine, noted)
            except LakeError as error:
                gaps[table.name] = Gap(base.scn + 1, error.message, error.hint)
            except AnalysisException as error:  # it is made again just now, or is no such table any more
                gaps[table.name] = Gap(0, cause_of(error), "Try again once it is merged: minercdc lake status CONFIG")
            if gap := gaps.get(table.name):
                log.warning("%s is left out: %s. %s", table.name, gap.cause, gap.hint)
    return LakeTables(at, found, gaps)


def _readable_scn(entries: Sequence[Entry], history: TableHistories, scn: int | None) -> int:
    known = [entry.scn for entry in entries if entry.kind == "complete"]
    complete = max(known, default=0)
    if not complete:
        raise LakeError(
            "the lake has not reached a complete SCN yet",
            hint="It has one as soon as the change log contains the initial snapshot.",
        )
    kept = max((entry.scn for entry in entries if entry.kind == "trimmed"), default=min(known))
    at = complete if scn is None else scn
    if at > complete:
        raise LakeError(f"SCN {at} is not complete in the lake yet", hint=f"It is complete up to SCN {complete}.")
    if at < kept:
        raise LakeError(f"SCN {at} is older than what the lake keeps", hint=f"It can be read from SCN {kept} on.")
    taken = min((read for table in history.tables() for read in table.reads if read > at), default=None)
    if taken is not None and not any(at <= one < taken for one in known):
        last = max((one for one in known if one < at), default=kept)
        raise LakeError(
            f"SCN {at} lies between {last} and {taken}, where the connector took a new snapshot: the commits between them are unknown",
            hint=f"Read SCN {last} or {taken}.",
        )
    return at


def _base(mine: Sequence[Entry], name: str, scn: int) -> Entry:
    """The newest version of a table that holds nothing after an SCN; `NO_TABLE` when the change log alone has the table.

    :param mine: the entries of kind `table` of that table, oldest first.
    """
    usable = [entry for entry in mine if entry.scn <= scn]
    return usable[-1] if usable else Entry("table", name, version=NO_TABLE)


def _refuse_lost(base: Entry, entries: Sequence[Entry], scn: int) -> None:
    """Raise LakeError where a table had versions up to an SCN that are gone, as the lake table was made again since, and the change log
    does not have all of its rows.

    :param base: what `_base` gives.
    :param entries: of the record.
    """
    mine = [entry for entry in entries if entry.name == base.name and entry.scn <= scn]
    had = any(entry.kind == "table" and entry.version != NO_TABLE for entry in mine)
    is_trimmed = any(entry.kind == "trimmed" for entry in entries)
    if base.version == NO_TABLE and had and (is_trimmed or any(entry.kind == "read" for entry in mine)):
        later = min((e.scn for e in entries if e.kind == "table" and e.name == base.name and e.scn > scn), default=0)
        raise LakeError(
            f"the lake table of {base.name} was made again, and the rows that it had at SCN {scn} are gone",
            hint=f"Read SCN {later} or a later one." if later else "Read the newest SCN.",
        )


class _Reader:
    """Reads tables as of an SCN."""

    def __init__(self, spark: SparkSession, config: ConnectorConfig, log: ChangeLog, lake: TableFormat) -> None:
        self._spark = spark
        self._lake = config.lake
        self._log = log
        self._format = lake
        self._decoder = RowDecoder(config)

    def gap(self, table: TableHistory, noted: Sequence[Entry], scn: int) -> Gap | None:
        """Why a table is not complete at an SCN, as `gap_at`; None when it is. The table has a version at the SCN."""
        return gap_at(table, noted, scn, by_rowid=not self._decoder.shape(table.version_at(scn)).key)

    def arrivals(self, lowest: Applied) -> list[Arrival]:
        """What the change log may have that a table with `lowest` lacks."""
        return self._log.arrivals(f"batch > {lowest.batch} OR commit_scn > {lowest.scn}")

    def read(
        self, table: TableHistory, base: Entry, scn: int, arrivals: Sequence[Arrival], noted: Sequence[Entry]
    ) -> DataFrame:
        if waits := [at for at, _ in table.renamed_from if base.scn < at <= scn]:
            raise LakeError(
                f"{table.name} was renamed at SCN {waits[0]}, and its rows are not merged yet",
                hint=f"Wait for the next merge, or read an SCN before {waits[0]}.",
            )
        applied = Applied(base.scn, base.batch)
        batch = max((arrival.batch for arrival in arrivals), default=base.batch)
        read = read_scn(table.name, noted, applied.scn)
        shape = self._decoder.shape(table.version_at(scn))
        present, target = self._present(table, shape, base)
        apart = rekeyings(self._decoder, table)
        for stage in stages(table, arrivals, applied, Applied(scn, batch), apart=apart):
            present = self._brought(present, table, target, arrivals, applied, stage, read)
            applied = stage
        return present if present is not None else self._none(target)

    def _brought(
        self,
        present: DataFrame | None,
        table: TableHistory,
        target: Sequence[TableColumn],
        arrivals: Sequence[Arrival],
        applied: Applied,
        goal: Applied,
        read: int,
    ) -> DataFrame | None:
        """The rows at a goal, from those that are there at `applied`; None for none."""
        truncate = self._lake.minercdc_lake_truncate == "apply"
        work = pending(table, arrivals, applied, goal, truncate=truncate, read=read)
        present = None if work.clears else present
        refuse_undecodable(table, work, self._log.table.name)
        if not work.rows:
            return present
        key = key_ids(self._decoder.shape(table.version_at(work.scn)))
        if set(key) - {column.id for column in target}:
            raise LakeError(
                f"{table.name} lost a column of its key after SCN {goal.scn}, and its earlier rows are not merged",
                hint=f"Wait for the next merge, or read SCN {goal.scn} or an earlier one.",
            )
        refuse_unplaced(table, key, work)
        if not key and present is not None and key_since(self._decoder, table, work.scn) > applied.scn:
            refuse_unplaced_rows(table, present)
        rows = self._log.rows().where(work.limits(table.topic).condition())
        changes = reduced(self._decoder, rows, present, table, target, key, work)
        if present is None:
            return as_rows(changes.where("op <> 'd'"), target)
        return _overlaid(present, changes, target, key)

    def _present(self, table: TableHistory, shape: TableShape, base: Entry) -> tuple[DataFrame | None, list[TableColumn]]:
        """The rows of the base, in the columns of the shape, and these columns; None for the rows when there are none. The
        columns have the types of the base where those are wider."""
        wanted = shape.table_columns()
        if base.version == NO_TABLE:
            return None, wanted
        lake = self._format.table(self._spark, table.table)
        version = lake.rewritten(base.version)
        rows = lake.read(version)
        columns = columns_of(rows.schema)
        key = key_ids(self._decoder.shape(table.version_at(base.scn)))
        rows = MODES[lake.mode(version)].current(rows, columns, key)
        there = {column.id: column for column in columns}
        fills = self._decoder.fills(table)
        target, selected = [], []
        for column in wanted:
            old = there.get(column.id)
            kind = column.type if old is None else (widened(old.type, column.type) or "STRING")
            since, fill = fills.get(column.id, (0, "NULL"))
            value = (fill if since > base.scn else "NULL") if old is None else quoted(old.name)
            target.append(TableColumn(column.name, kind, column.id))
            typed = as_text(value, old.type) if old is not None and kind == "STRING" else f"CAST({value} AS {kind})"
            selected.append(f"{typed} AS {quoted(column.name)}")
        return rows.selectExpr(*selected, CDC), target

    def _none(self, target: Sequence[TableColumn]) -> DataFrame:
        return self._spark.sql(no_rows(target, CDC_TYPE))


def _overlaid(present: DataFrame, changes: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
    """The rows of `present` with the changes applied that are newer than them.

    :param changes: as `merge.reduced` returns them.
    :param target: columns of `present`.
    :param key: ids of the key's columns; empty when the ROWID identifies rows.
    """
    from pyspark.sql.functions import expr

    both = present.alias("t").join(changes.alias("c"), expr(matches(target, key)), "full_outer")
    takes = f"c.op IS NOT NULL AND (t.{CDC} IS NULL OR {NEWER})"
    named = [f"if({takes}, c.c{i}, t.{quoted(column.name)}) AS {quoted(column.name)}" for i, column in enumerate(target)]
    return both.where(f"NOT ({takes} AND c.op = 'd')").selectExpr(
        *named, f"if({takes}, {cdc_struct('c.')}, t.{CDC}) AS {CDC}"
    )
