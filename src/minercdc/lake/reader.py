"""All lake tables as of one commit SCN.

A table that was merged up to an earlier SCN is completed from the change log; of one that was merged further an older version
is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.kafka.client import KafkaClient
from minercdc.lake.change_log import Arrival, ChangeLog
from minercdc.lake.columns import CDC, TableColumn
from minercdc.lake.decode import RowDecoder, TableShape
from minercdc.lake.delta import NO_TABLE, Applied, DeltaTable, columns_of, exists
from minercdc.lake.history import LakeHistory, TableHistory
from minercdc.lake.merge import CDC_TYPE, NEWER, as_rows, cdc_struct, key_ids, matches, pending, pending_filter, reduced
from minercdc.lake.paths import LakePaths
from minercdc.lake.spark_session import refuse_connect
from minercdc.lake.sql import as_text, quoted
from minercdc.lake.state import Entry, StateTable
from minercdc.lake.types import widened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LakeTables(Mapping[str, "DataFrame"]):
    """`SCHEMA.TABLE` -> its rows as of `scn`, for every table that the source had then.

    :ivar scn: the commit SCN that all of them are read at.
    """

    def __init__(self, scn: int, tables: Mapping[str, DataFrame]) -> None:
        self.scn = scn
        self._tables = dict(tables)

    def __getitem__(self, name: str) -> DataFrame:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def tables(spark: SparkSession, config: ConnectorConfig, scn: int | None = None) -> LakeTables:
    """The lake's tables as of one commit SCN: every transaction up to it as a whole, none after it.

    :param scn: None for the newest complete one.
    :raises LakeError: the lake is not complete up to this SCN yet, or no longer keeps what it takes to read it; or the
        session is one of Spark Connect.
    """
    refuse_connect(spark)
    paths = LakePaths(config)
    if not exists(spark, paths.state):
        raise LakeError(f"there is no lake at {paths.root}", hint="Start it: minercdc lake CONFIG")
    entries = StateTable(spark, paths.state).entries()
    at = _readable_scn(entries, scn)
    history = LakeHistory(config, KafkaClient(config.kafka, config.topics, config.kafka_client))
    history.refresh()
    bases = {table.name: _base(entries, table.name, at) for table in history.tables() if table.exists_at(at)}
    known = [Applied(base.scn, base.batch) for base in bases.values()]
    log = ChangeLog(spark, paths.changes, config.values)
    lowest = Applied(min((a.scn for a in known), default=0), min((a.batch for a in known), default=0))
    arrivals = log.arrivals(f"batch > {lowest.batch} OR commit_scn > {lowest.scn}")
    reader = _Reader(spark, config, log, paths)
    found = {}
    for table in history.tables():
        if table.name in bases:
            found[table.name] = reader.read(table, bases[table.name], at, [a for a in arrivals if a.topic == table.topic])
    return LakeTables(at, found)


def _readable_scn(entries: Sequence[Entry], scn: int | None) -> int:
    complete = max((entry.scn for entry in entries if entry.kind == "complete"), default=0)
    if not complete:
        raise LakeError(
            "the lake has no complete SCN yet", hint="It has one once the initial snapshot is in the change log."
        )
    first = min((entry.scn for entry in entries if entry.kind == "complete"), default=0)
    kept = max((entry.scn for entry in entries if entry.kind == "trimmed"), default=first)
    at = complete if scn is None else scn
    if at > complete:
        raise LakeError(f"SCN {at} is not complete in the lake yet", hint=f"It is complete up to SCN {complete}.")
    if at < kept:
        raise LakeError(f"SCN {at} is older than what the lake keeps", hint=f"It can be read from SCN {kept} on.")
    return at


def _base(entries: Sequence[Entry], name: str, scn: int) -> Entry:
    """The newest version of a table that holds nothing after an SCN; `NO_TABLE` when the change log alone has the table."""
    mine: list[Entry] = []
    for entry in entries:
        if entry.kind == "table" and entry.name == name:
            if mine and entry.version < mine[-1].version:
                mine.clear()  # the Delta table was deleted, and made again
            mine.append(entry)
    usable = [entry for entry in mine if entry.scn <= scn]
    return usable[-1] if usable else Entry("table", name, version=NO_TABLE)


class _Reader:
    """Reads tables as of an SCN."""

    def __init__(self, spark: SparkSession, config: ConnectorConfig, log: ChangeLog, paths: LakePaths) -> None:
        self._spark = spark
        self._lake = config.lake
        self._log = log
        self._paths = paths
        self._decoder = RowDecoder(config)

    def read(self, table: TableHistory, base: Entry, scn: int, arrivals: Sequence[Arrival]) -> DataFrame:
        if waits := [at for at, _ in table.renamed_from if base.scn < at <= scn]:
            raise LakeError(
                f"{table.name} got its name at SCN {waits[0]}, and its rows are not merged yet",
                hint=f"Wait for the next merge, or read an SCN before {waits[0]}.",
            )
        applied = Applied(base.scn, base.batch)
        batch = max((arrival.batch for arrival in arrivals), default=base.batch)
        work = pending(table, arrivals, applied, Applied(scn, batch), truncate=self._lake.minercdc_lake_truncate == "apply")
        shape = self._decoder.shape(table.version_at(scn))
        present, target = self._present(table, shape, base, gone=work.clears)
        if not work.rows:
            return present if present is not None else self._none(target)
        key = key_ids(shape)
        rows = self._log.rows().where(pending_filter(table.topic, work, applied, batch))
        changes = reduced(self._decoder, rows, present, table, target, key, work)
        if present is None:
            return as_rows(changes.where("op <> 'd'"), target)
        return _overlaid(present, changes, target, key)

    def _present(
        self, table: TableHistory, shape: TableShape, base: Entry, *, gone: bool
    ) -> tuple[DataFrame | None, list[TableColumn]]:
        """The rows of the base, in the columns of the shape, and these columns; None for the rows when there are none."""
        wanted = shape.table_columns()
        if base.version == NO_TABLE or gone:
            return None, wanted
        rows = DeltaTable(self._spark, self._paths.table(table.table)).read(base.version)
        there = {column.id: column for column in columns_of(rows.schema)}
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
        columns = ", ".join(f"CAST(NULL AS {column.type}) AS {quoted(column.name)}" for column in target)
        return self._spark.sql(f"SELECT {columns}, CAST(NULL AS {CDC_TYPE}) AS {CDC} WHERE false")


def _overlaid(present: DataFrame, changes: DataFrame, target: Sequence[TableColumn], key: Sequence[str]) -> DataFrame:
    """The rows of `present` with the changes applied that are newer than them."""
    from pyspark.sql.functions import expr

    both = present.alias("t").join(changes.alias("c"), expr(matches(target, key)), "full_outer")
    takes = f"c.op IS NOT NULL AND (t.{CDC} IS NULL OR {NEWER})"
    named = [f"if({takes}, c.c{i}, t.{quoted(column.name)}) AS {quoted(column.name)}" for i, column in enumerate(target)]
    return both.where(f"NOT ({takes} AND c.op = 'd')").selectExpr(
        *named, f"if({takes}, {cdc_struct('c.')}, t.{CDC}) AS {CDC}"
    )
