"""Keeps the lake's files few, and removes what is older than its retention.

1. The lake's record gets an entry that says which SCNs can still be read. Where each commit lists a table's versions, the record keeps
   one an hour.
2. Of each table that changed, small files are joined, clustered (minercdc.lake.cluster), and deleted rows taken out; files that no
   kept version has are removed.
3. The change log loses the records that no table needs, the record old entries that are not needed any more.

A kill between two steps leaves something too much, never too little. When another writer commits at the same moment, step 2 or 3
fails and is left for the next time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.maintain.retention import Cut, cut, thinned, versions
from minercdc.lake.merge.attempts import cause_of
from minercdc.lake.merge.table_merge import key_ids
from minercdc.lake.read.decode import RowDecoder
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.spark.own_sessions import own_session
from minercdc.lake.spark.sql import literal
from minercdc.lake.table.columns import clustering_of
from minercdc.lake.table.format import NO_TABLE, READERS_TIME, Applied, LakeTable
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.ownership import refuse_others
from minercdc.lake.table.paths import LakePaths
from minercdc.lake.table.state import Entry, StateTable, state_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_MOST_LISTED = 1000  # values in one condition


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did to one table.

    :param files, bytes: (before, after) of its newest version; (0, 0) with a failure.
    :param failure: why maintenance of it ended early, '' when it did not.
    """

    name: str
    files: tuple[int, int]
    bytes: tuple[int, int]
    failure: str = ""


class Maintenance:
    """Maintains the lake of a connector, in a Spark session of its own.

    :param least: files replaced by commits younger than this stay, also with a shorter retention.
    :raises LakeError, ConfigError: as `history.TableHistories`.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: ConnectorConfig,
        *,
        least: timedelta = timedelta(0),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._config = config
        self._spark = own_session(spark)
        self._format = format_of(config)
        for name, value in self._format.maintenance.items():
            self._spark.conf.set(name, value)
        self._history = history_of(config)
        self._state = StateTable(self._spark, self._format.state(self._spark))
        self._retention = timedelta(milliseconds=config.lake.minercdc_lake_retention_ms)
        self._least = least
        self._decoder = RowDecoder(config) if config.lake.minercdc_lake_cluster == "key" else None
        self._clock = clock
        self._versions: dict[str, int] = {}  # when it was maintained last

    def refuse_absent(self) -> None:
        """Raises LakeError when there is no lake, as for a path that is mistyped: `run` does nothing then."""
        if not self._state.exists():
            raise LakeError(f"there is no lake at {LakePaths(self._config).root}", hint="Start it: minercdc lake CONFIG")

    def run(
        self,
        name: str | None = None,
        done: Callable[[Maintained], None] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Maintained]:
        """Maintain the tables that changed since this object did it last, then, where they have something older than the
        retention, the change log and the record; or tables of one name only. Returns what was done to tables; one that
        fails is in it with its `failure`. A failure at the change log or the record is logged.

        :param name: of the only tables (`TableNames.given`); None for all.
        :param done: called after each table.
        :param stopped: whether to leave the rest for the next time; looked at before each table.
        :raises LakeError: there is no table of the name.
        :raises SinkError, SchemaHistoryError: the schema history cannot be read.
        :raises ConfigError: the lake is another connector's, or as `TableHistories.refresh`.
        """
        refuse_others(self._spark, self._config)
        if not self._state.exists():
            return []
        self._history.refresh()
        if name is not None and not self._history.given(name):
            raise self._history.unknown(name)
        entries = self._thinned(self._state.entries())
        removed = cut(entries, self._clock() - self._retention)
        if removed is not None and removed.scn > max((e.scn for e in entries if e.kind == "trimmed"), default=-1):
            self._state.append([Entry("trimmed", scn=removed.scn, batch=removed.merged.batch)])
        found: list[Maintained] = []
        state, recorded = state_of(entries), versions(entries)
        for table in self._history.tables():
            if stopped():
                return found
            if (name is None or name in self._history.names.given(table.table)) and (
                report := self._table(table, state.applied(table.name), recorded.get(table.name, ()))
            ) is not None:
                found.append(report)
                done(report)
        if removed is not None and name is None:
            self._own(removed)
        return found

    def _thinned(self, entries: list[Entry]) -> list[Entry]:
        """The entries without versions that may go (`thinned`), which are removed from the record, too."""
        going = thinned(entries, self._clock() - READERS_TIME) if self._format.lists_versions else []
        for begin in range(0, len(going), _MOST_LISTED):
            listed = ", ".join(_timestamp(entry.at) for entry in going[begin : begin + _MOST_LISTED])
            self._state.table.delete(f"kind = 'table' AND at IN ({listed})")
        gone = {entry.at for entry in going}
        return [entry for entry in entries if entry.at not in gone]

    def _table(self, table: TableHistory, applied: Applied, recorded: Sequence[Entry]) -> Maintained | None:
        """Cluster and rewrite one table; None when it is not there, or has not changed since. A failure is in what is
        returned, and is not raised."""
        lake = self._format.table(self._spark, table.table)
        version = lake.newest_version()
        if version in (NO_TABLE, self._versions.get(table.name)):
            return None
        try:
            before = lake.size()
            self._cluster(lake, table, applied)
            lake.compact(self._age(), {entry.version for entry in recorded})
            after = lake.size()
        except Exception as error:
            log.debug("%s: maintenance failed", table.name, exc_info=True)
            return Maintained(table.name, (0, 0), (0, 0), self._left(error))
        self._versions[table.name] = lake.newest_version()
        return Maintained(table.name, (before[0], after[0]), (before[1], after[1]))

    def _cluster(self, lake: LakeTable, table: TableHistory, applied: Applied) -> None:
        """Have a table clustered by the key that it has now. One without a key is left as it is."""
        if self._decoder is None or not table.versions:
            return
        key = key_ids(self._decoder.shape(table.version_at(applied.scn)))
        wanted = clustering_of(lake.columns() or [], key)
        if wanted and wanted != lake.clustering():
            lake.cluster(wanted)

    def _age(self) -> timedelta:
        """Versions that were replaced longer ago may go."""
        # A version may have been replaced a while before the record says so.
        return max(self._retention + min(self._retention, timedelta(hours=1)), self._least)

    def _own(self, removed: Cut) -> None:
        """Remove what may go from the change log and the record, and join their files. A failure is logged, and leaves the
        rest for the next time."""
        changes, state = self._format.changes(self._spark), self._state.table
        topics = {table.name: table.topic for table in self._history.tables()}
        try:
            changes.delete(unneeded_records(removed, topics.get))
            changes.compact(self._age())
            kept = ", ".join(_timestamp(at) for at in sorted(removed.kept))
            state.delete(
                f"at < {_timestamp(removed.until)} AND kind IN ('complete', 'table', 'failed') AND at NOT IN ({kept})"
            )
            state.delete(f"kind = 'trimmed' AND scn < {removed.scn}")
            state.compact(self._age())
        except Exception as error:
            log.warning("the change log was not maintained: %s", self._left(error))
            log.debug("maintenance failed", exc_info=True)

    def _left(self, error: BaseException) -> str:
        """Why something is left for the next time."""
        return "another writer committed at the same moment" if self._format.is_conflict(error) else cause_of(error)


def unneeded_records(removed: Cut, topic_of: Callable[[str], str | None]) -> str:
    """SQL condition of the change log's records that no reader needs after a cut.

    :param topic_of: topic of a table; None for a table that is not known.
    """
    lagging = {topic: applied for name, applied in removed.lagging.items() if (topic := topic_of(name)) is not None}
    tables = {topic for name in removed.tables if (topic := topic_of(name)) is not None} - lagging.keys()

    def merged(scn: int, batch: int) -> str:
        return f"batch <= {batch} AND coalesce(commit_scn, 0) <= {scn}"

    listed = ", ".join(map(literal, sorted(tables)))
    conditions = [f"topic IN ({listed}) AND {merged(removed.merged.scn, removed.merged.batch)}"] if tables else []
    conditions += [f"topic = {literal(topic)} AND {merged(a.scn, a.batch)}" for topic, a in sorted(lagging.items())]
    return " OR ".join(f"({condition})" for condition in conditions) or "false"


def _timestamp(at: datetime) -> str:
    return f"TIMESTAMP'{at.replace(tzinfo=None).isoformat(sep=' ', timespec='microseconds')}Z'"
