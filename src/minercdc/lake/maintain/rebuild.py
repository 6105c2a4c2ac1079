"""Rebuilds one lake table: from the change log if that is complete, otherwise from Oracle AS OF the present SCN.

Either way the table is replaced in one commit, which says how far it is then; before it nothing is changed, and from the
change log others may follow. The lake may run meanwhile: where it merges the table at the same moment, one of the two
commits is refused, and made again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.merge.attempts import attempts, cause_of
from minercdc.lake.merge.latest import FEW_ROWS
from minercdc.lake.merge.modes import modes_of
from minercdc.lake.merge.table_merge import TableMerge, key_ids
from minercdc.lake.read.decode import RowDecoder
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.source.snapshot import Progress, snapshot
from minercdc.lake.spark.own_sessions import compile_code, own_session
from minercdc.lake.spark.sql import literal
from minercdc.lake.stream.change_log import ChangeLog
from minercdc.lake.table.format import Applied, LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.gaps import gap_at, kept_since
from minercdc.lake.table.history import TableHistories, TableHistory
from minercdc.lake.table.ownership import claim
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.state import NOTED, Entry, StateTable
from minercdc.lake.table.types import refuse_unsupported_modes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A table that was made again.

    :param scn: it has every commit up to this SCN.
    :param rows: how many rows of the source it has; a mode may keep others beside them.
    :param source: where its rows come from.
    """

    name: str
    scn: int
    rows: int
    source: Literal["the change log", "Oracle"]


def rebuild_given(
    spark: SparkSession, config: ConnectorConfig, given: str, *, progress: Progress | None = None
) -> Iterator[Rebuilt]:
    """`rebuild` each table that a user means by a name (`TableNames.given`), each when it is iterated to. Raises as `rebuild`."""
    found = []
    if config.database.has_several_pdbs:
        history = history_of(config)
        history.refresh()
        found = [one.name for one in history.given(given) if one.versions]
    for name in found or [given]:
        yield rebuild(spark, config, name, progress=progress)


def rebuild(spark: SparkSession, config: ConnectorConfig, table: str, *, progress: Progress | None = None) -> Rebuilt:
    """Make a lake table again. Its quarantine ends with that.

    :param table: `SCHEMA.TABLE`, with several pluggable databases `PDB.SCHEMA.TABLE`.
    :param progress: see `snapshot.snapshot`; used where the table is read from Oracle.
    :raises ConfigError: the configuration cannot be used, as where the topics have numbers as doubles (decimal.handling.mode).
    :raises LakeError: there is no lake, complete SCN or such table, the connector leaves out its rows, they cannot be read from
        Oracle, or the records are in a form that is not read back.
    :raises MinerCdcError: Kafka, the schema history or the database cannot be used.
    """
    return _Rebuild(spark, config, table).run(progress)


class _Rebuild:
    def __init__(self, spark: SparkSession, config: ConnectorConfig, name: str) -> None:
        refuse_unsupported_modes(config.values)
        self._spark = own_session(spark)
        compile_code(self._spark, wanted=False)
        self._config = config
        self._name = name
        self._paths = LakePaths(config)
        self._format = format_of(config)
        self._state = StateTable(self._spark, self._format.state(self._spark))
        self._log = ChangeLog(self._spark, self._format.changes(self._spark), config.values)
        self._decoder = RowDecoder(config)
        self._mode_of = modes_of(config)

    def run(self, progress: Progress | None) -> Rebuilt:
        if not self._state.exists():
            raise LakeError(f"there is no lake at {self._paths.root}", hint="Start it: minercdc lake CONFIG")
        claim(self._spark, self._config)
        entries = self._state.entries()
        complete = next((entry for entry in reversed(entries) if entry.kind == "complete"), None)
        history = history_of(self._config)
        history.refresh()
        table = history.find(self._name)
        if complete is None:
            raise LakeError("the lake has not reached a complete SCN yet")
        if table is None or not table.versions:
            raise history.unknown(self._name)
        self._refuse_left_out(table, entries, complete.scn)
        if self._is_kept(table, entries, complete.scn):
            from py4j.protocol import Py4JJavaError
            from pyspark.errors import PySparkException

            try:
                return self._from_log(
                    history, self._format.table(self._spark, table.table), Applied(complete.scn, complete.batch)
                )
            except (LakeError, PySparkException, Py4JJavaError) as error:
                log.warning(
                    "%s cannot be rebuilt from the change log and is read from Oracle: %s", self._name, cause_of(error)
                )
        return self._from_oracle(progress)

    def _refuse_left_out(self, table: TableHistory, entries: list[Entry], scn: int) -> None:
        noted = [entry for entry in entries if entry.kind in NOTED]
        gap = gap_at(table, [entry for entry in noted if entry.kind != "lost"], scn, by_rowid=False)
        if gap is not None and not gap.final:
            raise LakeError(f"{self._name} cannot be rebuilt now: {gap.cause}", hint=gap.hint)

    def _is_kept(self, table: TableHistory, entries: list[Entry], scn: int) -> bool:
        """Whether the table can be made from the change log: that has all records of its present name since its rows were last
        read as a whole, or it was created, up to the SCN. False, too, when the log was trimmed and the lake table may have older
        rows (a mode that keeps them)."""
        since = kept_since(table, entries, scn)
        trimmed = max((entry.scn for entry in entries if entry.kind == "trimmed"), default=0)
        lake, mode = self._format.table(self._spark, table.table), self._mode_of(table.table)
        if trimmed and mode.keeps and lake.exists() and lake.mode() == mode.name:
            return False  # the lake table has rows of before
        return since is not None and since >= trimmed and self._log.exists()

    def _from_log(self, history: TableHistories, lake: LakeTable, complete: Applied) -> Rebuilt:
        merge = TableMerge(self._config, self._log, self._decoder)

        def replaced() -> tuple[Applied, TableHistory]:
            there = lake.applied() if lake.columns() is not None else None
            goal = max(complete, there or complete, key=lambda one: (one.scn, one.batch))  # a lake that runs may be ahead
            # After the goal: DDL and records up to it may have come since the last time.
            history.refresh()
            table = history.find(self._name)
            if table is None or not self._is_kept(table, self._state.entries(), goal.scn):
                raise LakeError(f"not all of it up to SCN {goal.scn} is in the change log")
            arrivals = self._log.arrivals(f"topic = {literal(table.topic)}")
            compile_code(self._spark, wanted=sum(arrival.rows for arrival in arrivals) >= FEW_ROWS)
            # Of a table that takes several steps, a lake that runs may take the next one.
            merge.run(lake, table, arrivals, Applied(), goal, furthest=goal.scn, again=True)
            return goal, table

        goal, table = attempts(self._format.is_conflict)(replaced)
        self._state.append([Entry("table", self._name, lake.reached(goal), goal.scn, goal.batch)])
        key = key_ids(self._decoder.shape(table.version_at(goal.scn)))
        rows = self._mode_of(table.table).current(lake.read(), lake.columns() or [], key)
        return Rebuilt(self._name, goal.scn, rows.count(), "the change log")

    def _from_oracle(self, progress: Progress | None) -> Rebuilt:
        taken = snapshot(self._spark, self._config, table=self._name, progress=progress)
        (loaded,) = taken.tables
        if loaded.failure:
            raise LakeError(f"{self._name} could not be read from Oracle: {loaded.failure}", hint="Nothing is changed.")
        return Rebuilt(self._name, loaded.scn, loaded.rows, "Oracle")
