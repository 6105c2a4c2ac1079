"""Compares each lake table with Oracle `AS OF SCN`, at the newest SCN that is complete in the lake.

Both sides become rows of texts on Spark's executors (`source.oracle_table`, `source.oracle_values`). What is brought together, by key, is a
hash per row; the first rows whose hashes differ are read again and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minercdc.capture.table_selection import captured_by, table_filters
from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError, SnapshotTooOldError, SourceError
from minercdc.lake.read.decode import RowDecoder, TableShape
from minercdc.lake.read.reader import LakeTables, tables
from minercdc.lake.source.oracle_values import OracleValue, row_hash
from minercdc.lake.source.segment_history import history_of
from minercdc.lake.spark.own_sessions import compile_code, own_session
from minercdc.lake.spark.sql import quoted
from minercdc.lake.stream.app import own_cause
from minercdc.lake.table.columns import CDC
from minercdc.lake.table.history import TableHistory
from minercdc.messages.configured import published_columns
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect, of_database
from minercdc.oracle.dictionary.tables import read_table_ids, read_tables
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.values.codec import LARGE_TYPES, is_supported

if TYPE_CHECKING:
    import oracledb
    from pyspark.sql import DataFrame, SparkSession

SHOWN = 20  # differing rows of a table
_SHOWN_CHARACTERS = 60
_THREADS = 2
_CREATED = (
    "SELECT CASE WHEN CREATED > CAST(SCN_TO_TIMESTAMP(:scn) AS DATE) THEN 1 ELSE 0 END FROM ALL_OBJECTS"
    " WHERE OWNER = :owner AND OBJECT_NAME = :name AND OBJECT_TYPE = 'TABLE'"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs, or a column or table that one side lacks.

    :param key: values of the key's columns, or the ROWID; empty for what concerns the table.
    :param details: one line each.
    """

    key: str
    details: tuple[str, ...]


@dataclass(slots=True)
class TableReport:
    """What the comparison of one table found.

    :ivar name: `SCHEMA.TABLE`, with several pluggable databases `PDB.SCHEMA.TABLE`.
    :ivar rows: keys found on either side; 0 when it was not compared.
    :ivar differences: rows that differ; of a lake also columns that it lacks, and 1 for a table that one side lacks. `shown` has
        the first of them.
    :ivar failure: why the table could not be compared, '' when it was.
    """

    name: str
    rows: int = 0
    differences: int = 0
    shown: list[Difference] = field(default_factory=list)
    failure: str = ""

    def lines(self) -> Iterator[str]:
        """The report as lines of text; none when the table is equal."""
        if self.failure:
            yield f"{self.name}: not compared: {self.failure}"
        for difference in self.shown:
            yield f"{self.name} {difference.key}".rstrip()
            yield from (f"    {line}" for line in difference.details)
        if (more := self.differences - len(self.shown)) > 0:
            yield f"{self.name}: {more} more rows differ"


@dataclass(frozen=True, slots=True)
class Report:
    """The comparison of all tables, sorted by name, at one SCN."""

    scn: int
    tables: Sequence[TableReport]

    @property
    def equal(self) -> bool:
        """Whether every table was compared, and none differs."""
        return all(not table.differences and not table.failure for table in self.tables)

    def summary(self) -> str:
        """One line: how many tables and rows were compared, and how many differences were found; without tables that failed."""
        compared = [table for table in self.tables if not table.failure]
        rows, differences = sum(table.rows for table in compared), sum(table.differences for table in compared)
        return f"verified: {len(compared)} tables, {rows} rows, {differences} differences"


def verify(
    spark: SparkSession,
    config: ConnectorConfig,
    *,
    table: str | None = None,
    done: Callable[[TableReport, int], None] = lambda _report, _total: None,
) -> Report:
    """Compare the lake with Oracle, at the newest SCN that is complete in the lake.

    :param table: see `TableNames.given`; None for all.
    :param done: called with each table's report, also of a failure, and the number of tables.
    :raises LakeError, ConfigError: as `reader.tables` and `oracle.connect.connect`; LakeError where neither side has the table.
    :raises MinerCdcError: Oracle, Kafka or the schema history cannot be read. What fails for one table only is in its report.
    """
    session = own_session(spark)
    session.conf.set("spark.sql.ansi.enabled", "true")  # casts of decimals print no exponents
    lake = tables(session, config)
    comparison = _Comparison(session, config, lake)
    names = [name for name in comparison.names() if table is None or comparison.is_given(table, name)]
    if table is not None and not names:
        there = ", ".join(comparison.names()) or "none"
        raise LakeError(f"neither the lake nor Oracle has a table {table} at SCN {lake.scn}", hint=f"Tables there: {there}.")
    found = []
    for large in (False, True):
        compile_code(session, wanted=large)
        with ThreadPoolExecutor(_THREADS, "lake-verify") as pool:
            for report in pool.map(comparison.compare, [name for name in names if comparison.is_large(name) == large]):
                found.append(report)
                done(report, len(names))
    return Report(lake.scn, sorted(found, key=lambda report: report.name))


@dataclass(frozen=True, slots=True)
class _Side:
    """How one table is read on both sides.

    :param values: its columns, `names` the lake's names for them, `key` positions of its key; empty for the ROWID.
    """

    schema: TableSchema
    values: tuple[OracleValue, ...]
    names: tuple[str, ...]
    key: tuple[int, ...]

    def oracle(self) -> list[str]:
        return [value.of_oracle(f"c{i}") for i, value in enumerate(self.values)]

    def lake(self) -> list[str]:
        return [value.of_lake(quoted(name)) for value, name in zip(self.values, self.names, strict=True)]

    def keys(self, texts: Sequence[str], row_id: str) -> list[str]:
        """SQL of the key as `k0`, `k1`, ..: the texts of its columns, or for a table without one the ROWID alone."""
        return [f"{part} AS k{i}" for i, part in enumerate([texts[p] for p in self.key] or [row_id])]

    def key_text(self, key: Sequence[str | None]) -> str:
        named = [self.schema.columns[p].name for p in self.key] or ["ROWID"]
        return ", ".join(f"{name}={value}" for name, value in zip(named, key, strict=True))


class _Comparison:
    """Compares tables of one lake at one SCN. Construction reads the schema history, and Oracle's dictionary on connections
    that it closes.

    :raises LakeError, ConfigError, SinkError, SchemaHistoryError: as `TableHistories` and `TableHistories.refresh`.
    :raises SourceError, PrerequisiteError, ConfigError: as `connect` and `read_table_ids`.
    """

    def __init__(self, spark: SparkSession, config: ConnectorConfig, lake: LakeTables) -> None:
        self._spark = spark
        self._config = config
        self._lake = lake
        self._decoder = RowDecoder(config)
        self._published = published_columns(config.filters)
        history = history_of(config)
        history.refresh()
        self._shared = history.shared
        self._history = {known.name: known for known in history.tables()}
        self._names = history.names
        selected = table_filters(config)
        is_captured = captured_by(selected)
        self._captured = {name for name in (*lake, *lake.incomplete) if is_captured(self._history[name].table)}
        self._oracle: dict[str, TableSchema] = {}
        self._cuts: dict[str, tuple[str, ...]] = {}
        self._later: set[str] = set()
        for database, tables_of in selected.items():
            with closing(connect(of_database(config.database, database))) as connection:
                self._look(connection, read_table_ids(connection, tables_of, database))

    def _look(self, connection: oracledb.Connection, ids: Sequence[TableId]) -> None:
        """Note what one database says about its tables: shape, ROWIDs to cut it at, and whether it is later than the
        SCN."""
        from minercdc.lake.source.oracle_table import ranges_of  # needs PySpark

        for schema in read_tables(connection, ids):
            name = self._names.of(schema.id)
            self._oracle[name] = schema
            self._cuts[name] = ranges_of(connection, schema.id)
            if name not in self._captured and self._is_later(connection, schema.id):
                self._later.add(name)

    def names(self) -> list[str]:
        """Tables that either side has at the SCN, and that the configuration selects."""
        return sorted((self._captured | set(self._oracle)) - self._later)

    def is_given(self, given: str, name: str) -> bool:
        """Whether a user means one of `names` by a name."""
        found = self._history[name].table if name in self._history else self._oracle[name].id
        return given in self._names.given(found)

    def is_large(self, name: str) -> bool:
        """Whether a table has so many extents that it is read in several ranges: then generated code pays."""
        return bool(self._cuts.get(name))

    def _is_later(self, connection: oracledb.Connection, table: TableId) -> bool:
        """Whether a table that the lake lacks came after the SCN: its first version in the schema history is later, or
        Oracle created it later. False when the database no longer knows the time of the SCN."""
        known = self._history.get(self._names.of(table))
        if known is not None and known.versions and known.versions[0].since > self._lake.scn:
            return True
        try:
            with oracle_errors(f"reading when {table} was created"), connection.cursor() as cursor:
                cursor.execute(_CREATED, {"scn": self._lake.scn, "owner": table.schema, "name": table.table})
                return any(created == 1 for (created,) in cursor)
        except SnapshotTooOldError:
            return False

    def compare(self, name: str) -> TableReport:
        """The report of one table; a SourceError, or an error of Spark, is its failure. Other errors are raised."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        if (cause := self._lake.incomplete.get(name)) is not None:
            return TableReport(name, failure=f"it is not complete: {cause}")
        if reason := self._shared(name):
            return TableReport(name, failure=reason)
        try:
            if name not in self._lake:
                return TableReport(name, differences=1, shown=[Difference("", ("the lake has no such table",))])
            if name not in self._oracle:
                return self._dropped(name)
            return self._compared(name)
        except SourceError as error:
            return TableReport(name, failure=f"{error.code}: {error.message}")
        except (PySparkException, Py4JJavaError) as error:
            return TableReport(name, failure=own_cause(str(error)))

    def _dropped(self, name: str) -> TableReport:
        if any(scn > self._lake.scn for scn in self._history[name].dropped):
            return TableReport(name, failure=f"it was dropped in Oracle after SCN {self._lake.scn}")
        return TableReport(name, differences=1, shown=[Difference("", ("Oracle has no such table",))])

    def _compared(self, name: str) -> TableReport:
        from pyspark.sql import Observation
        from pyspark.sql.functions import expr

        history, frame = self._history[name], self._lake[name]
        shape = self._decoder.shape(history.version_at(self._lake.scn))
        missing = self._missing(name, shape, history)
        side = self._side(self._oracle[name], shape, frame)
        oracle, lake = self._oracle_rows(side), frame
        ours, theirs = side.oracle(), side.lake()
        both = oracle.selectExpr(*side.keys(ours, "row_id"), f"{row_hash(ours)} AS h", "row_id", "true AS o").unionAll(
            lake.selectExpr(*side.keys(theirs, f"{CDC}.row_id"), f"{row_hash(theirs)} AS h", "NULL AS row_id", "false AS o")
        )
        keys = [f"k{i}" for i in range(max(len(side.key), 1))]
        counted = both.groupBy(*keys).agg(
            expr("count_if(o) AS of_oracle"),
            expr("count_if(NOT o) AS of_lake"),
            expr("max(if(o, h, NULL)) <=> max(if(o, NULL, h)) AS same"),
            expr("max(row_id) AS row_id"),
        )
        differs = "NOT (of_oracle = 1 AND of_lake = 1 AND same)"
        seen = Observation()
        found = (
            counted.observe(seen, expr("count(1) AS rows"), expr(f"count_if({differs}) AS differing"))
            .where(differs)
            .orderBy(*keys)
            .limit(SHOWN)
            .collect()
        )
        report = TableReport(name, seen.get["rows"], seen.get["differing"] + len(missing), missing)
        report.shown += self._shown(side, keys, found)
        return report

    def _missing(self, name: str, shape: TableShape, history: TableHistory) -> list[Difference]:
        """Columns that Oracle has, and that the lake should have."""
        there = {field.name for field, _, _ in shape.columns}
        known = {field.name for version in history.versions for field in version.fields}
        table = self._oracle[name]
        lacking = [
            column.name
            for column in table.columns
            if is_supported(column)
            and self._published(table.id, column)
            and column.name not in known
            and column.name not in there
        ]
        return [Difference("", (f"the lake has no column {column}",)) for column in lacking]

    def _side(self, table: TableSchema, shape: TableShape, frame: DataFrame) -> _Side:
        kinds = {field.name: field.dataType.simpleString().upper() for field in frame.schema.fields}
        names: list[str] = []
        values: list[OracleValue] = []
        for source, _, column in shape.columns:
            if self._is_read(source.column):
                names.append(column.name)
                values.append(OracleValue(source.column, kinds[column.name]))
        schema = TableSchema(table.id, tuple(value.column for value in values))
        positions = schema.positions()
        return _Side(schema, tuple(values), tuple(names), tuple(positions[part] for part in shape.key))

    def _is_read(self, column: Column) -> bool:
        """Whether a column is compared: one of large values only with `lob.enabled`, since the lake has the placeholder
        without it."""
        return self._config.capture.lob_enabled or column.type_name not in LARGE_TYPES

    def _oracle_rows(self, side: _Side, row_ids: Sequence[str] | None = None) -> DataFrame:
        from minercdc.lake.source.oracle_table import oracle_rows

        forms = [value.form for value in side.values]
        cuts = self._cuts[self._names.of(side.schema.id)] if row_ids is None else ()
        return oracle_rows(self._spark, self._config, side.schema, forms, self._lake.scn, cuts=cuts, row_ids=row_ids)

    def _shown(self, side: _Side, keys: Sequence[str], found: Sequence[Any]) -> Iterator[Difference]:
        """The differing rows as they are on both sides, column by column; none where nothing was found."""
        from pyspark.sql.functions import broadcast, expr

        if not found:
            return
        row_ids = [row["row_id"] for row in found if row["row_id"] is not None]
        texts = [f"{text} AS t{i}" for i, text in enumerate(side.oracle())]
        oracle = {}
        if row_ids:
            for row in self._oracle_rows(side, row_ids).selectExpr("row_id", *texts).collect():
                oracle[row["row_id"]] = tuple(row)[1:]
        wanted = self._spark.createDataFrame(
            [tuple(row[key] for key in keys) for row in found], ", ".join(f"w_{key} STRING" for key in keys)
        )
        theirs = side.lake()
        rows = self._lake[self._names.of(side.schema.id)].selectExpr(
            *side.keys(theirs, f"{CDC}.row_id"), *(f"{text} AS t{i}" for i, text in enumerate(theirs))
        )
        same = expr(" AND ".join(f"{key} <=> w_{key}" for key in keys))
        lake: dict[tuple[str | None, ...], list[tuple[str | None, ...]]] = {}
        for row in rows.join(broadcast(wanted), same, "left_semi").collect():
            values = tuple(row)
            lake.setdefault(values[: len(keys)], []).append(values[len(keys) :])
        for row in found:
            key = tuple(row[part] for part in keys)
            details = _details(side, oracle.get(row["row_id"]), lake.get(key, []))
            yield Difference(side.key_text(key), tuple(details))


def _details(side: _Side, oracle: Sequence[str | None] | None, lake: Sequence[Sequence[str | None]]) -> Iterator[str]:
    names = [column.name for column in side.schema.columns]
    if oracle is None or not lake:
        there, missing = (lake[0], "Oracle") if oracle is None and lake else (oracle or (), "the lake")
        row = ", ".join(f"{name}={_short(value)}" for name, value in zip(names, there, strict=False))
        yield f"{missing} lacks this row: {row}"
        return
    if len(lake) > 1:
        yield f"the lake has this row {len(lake)} times"
    for copy in lake:
        for name, value, other in zip(names, oracle, copy, strict=True):
            if value != other:
                start = _first_difference(value, other)
                yield f"{name}: Oracle {_short(value, start)}, lake {_short(other, start)}"


def _first_difference(one: str | None, other: str | None) -> int:
    if one is None or other is None:
        return 0
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (left, right) in pairs if left != right), min(len(one), len(other)))


def _short(value: str | None, start: int = 0) -> str:
    """A value's text, or of a long one the part from a little before position `start` on."""
    if value is None:
        return "NULL"
    if len(value) <= _SHOWN_CHARACTERS:
        return repr(value)
    begin = max(start - 10, 0)
    part = value[begin : begin + _SHOWN_CHARACTERS]
    where = f" from character {begin + 1}" if begin else ""
    return f"{part!r}{where} of {len(value)}"
