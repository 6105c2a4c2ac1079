"""The progress and the size of each lake table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.config.target.lake import Mode
from minercdc.errors import LakeError
from minercdc.lake.merge.modes import modes_of
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.stream.record_source import source_of
from minercdc.lake.table.format import Applied, LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.ownership import refuse_others
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.state import LakeState, StateTable, state_of, time_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table.

    :param name: `SCHEMA.TABLE`, with several pluggable databases `PDB.SCHEMA.TABLE`.
    :param scn: it has every commit up to this SCN; 0 when it was never merged.
    :param merged_at: when it was merged last, None for never.
    :param waiting: records in the change log that are not merged.
    :param waiting_since: commit time of the oldest of them; None for none, and when none of them says it.
    :param mode: how its lake table is kept; as it will be, where there is none.
    :param rows, files, bytes: of its newest version.
    :param failure: why it is quarantined, '' when it is not.
    """

    name: str
    mode: Mode
    scn: int
    merged_at: datetime | None
    waiting: int
    waiting_since: datetime | None
    rows: int
    files: int
    bytes: int
    failure: str

    def lag_s(self, now: datetime) -> float:
        """Seconds since `waiting_since`; 0 where that is None."""
        return max((now - self.waiting_since).total_seconds(), 0.0) if self.waiting_since else 0.0


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The whole lake.

    :param complete_scn: the change log has every commit up to this SCN; 0 for none yet.
    :param delivered_scn: Kafka has every commit up to this SCN; that of the initial snapshot while its rows are delivered; 0
        when the connector has stored none.
    :param readable_from: the lowest SCN that can be read; 0 for none.
    :param records, files, bytes: of the change log.
    """

    complete_scn: int
    delivered_scn: int
    readable_from: int
    records: int
    files: int
    bytes: int
    tables: Sequence[TableStatus]


def status(spark: SparkSession, config: ConnectorConfig, table: str | None = None) -> LakeStatus:
    """How far the lake is, whether it runs or not. Nothing is changed; Spark counts the rows of the change log and the tables.

    :param table: see `TableNames.given`; None for all.
    :raises LakeError: there is no lake, or no such table; or the records are in a form that is not read back.
    :raises SinkError, SchemaHistoryError: Kafka or the schema history cannot be read.
    :raises ConfigError: as `reader.tables`.
    """
    paths = LakePaths(config)
    refuse_others(spark, config)
    lake = format_of(config)
    changes = ChangeLog(spark, lake.changes(spark), config.values)
    if not changes.exists():
        raise LakeError(f"there is no lake at {paths.root}", hint="Start it: minercdc lake CONFIG")
    source = source_of(config)
    history, state = source.history(), StateTable(spark, lake.state(spark))
    history.refresh()
    entries = state.entries() if state.exists() else []
    known = state_of(entries)
    tables = list(history.tables()) if table is None else history.given(table)
    if not tables and table is not None:
        raise history.unknown(table)
    mark = source.newest()
    waiting, mode_of = _waiting(changes, tables, known), modes_of(config)
    return LakeStatus(
        known.complete,
        mark.scn if mark is not None else 0,
        known.trimmed or min((entry.scn for entry in entries if entry.kind == "complete"), default=0),
        changes.rows().count(),
        *changes.table.size(),
        tables=[
            _table(
                lake.table(spark, one.table),
                one.name,
                mode_of(one.table).name,
                known,
                waiting.get(one.topic, (0, None)),
            )
            for one in sorted(tables, key=lambda one: one.name)
        ],
    )


def _waiting(changes: ChangeLog, tables: Sequence[TableHistory], state: LakeState) -> dict[str, tuple[int, datetime | None]]:
    """Topic -> number of records that are not merged, and the commit time of the oldest; None where none of them says it.
    Topics without such records are left out."""
    from pyspark.sql.functions import expr

    cases = " ".join(
        f"WHEN {literal(t.topic)} THEN NOT (batch <= {a.batch} AND commit_scn <= {a.scn})"
        for t in tables
        if (a := state.applied(t.name)) != Applied()
    )
    topics = ", ".join(literal(t.topic) for t in tables) or "''"
    rows = changes.rows().where(f"topic IN ({topics})")
    if cases:
        rows = rows.where(f"CASE topic {cases} ELSE true END")
    counted = rows.groupBy("topic").agg(expr("count(1) AS waiting"), expr("unix_micros(min(commit_time)) AS since"))
    return {
        row["topic"]: (row["waiting"], None if row["since"] is None else time_of(row["since"])) for row in counted.collect()
    }


def _table(lake: LakeTable, name: str, mode: Mode, state: LakeState, waiting: tuple[int, datetime | None]) -> TableStatus:
    from pyspark.errors import AnalysisException

    entry, rows, files, size = state.tables.get(name), 0, 0, 0
    if lake.exists():
        with suppress(AnalysisException):  # its first version is written just now, or was not because of a kill
            rows, (files, size), mode = lake.read().count(), lake.size(), lake.mode()
    return TableStatus(
        name,
        mode,
        entry.scn if entry is not None else 0,
        entry.at if entry is not None else None,
        *waiting,
        rows,
        files,
        size,
        failure=state.failed.get(name, ""),
    )
