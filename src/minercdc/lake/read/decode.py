"""Typed rows of one table from the records of the change log, each decoded with the table version of its time.

A decoded row has op, scn, commit_scn, seq, commit_time, row_id, partition and offset as the change log has them, and

    k0, k1, ..   the key columns, from the record key; from the row image where the key had other columns at that time
    c0, c1, ..   the columns of the lake table, in its order
    m0, m1, ..   only on request (`partial`): whether the column's value is missing in redo
    old          with these, if there is a key: struct of k0, k1, ..: the key before a change of it; null for no change
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from minercdc.config.load import ConnectorConfig
from minercdc.lake.read.compiled_plan import read_column
from minercdc.lake.read.homes import homes
from minercdc.lake.read.native_columns import ReadColumn, ReadPlan, columns_of, read_batches
from minercdc.lake.spark.arrow import from_arrow
from minercdc.lake.spark.sql import in_type, literal, quoted
from minercdc.lake.stream.change_log import VANISHED
from minercdc.lake.table.columns import TableColumn, lake_names
from minercdc.lake.table.defaults import fill_of
from minercdc.lake.table.history import Field, TableHistory, TableVersion
from minercdc.lake.table.types import LakeColumn, lake_column
from minercdc.messages.configured import key_columns, published_columns
from minercdc.messages.envelope.column_changes import TEXTS, ColumnChanges
from minercdc.schema.table import Column, TableId, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession

_RECORD_TYPES = (
    "op STRING",
    "scn BIGINT",
    "commit_scn BIGINT",
    "seq BIGINT",
    "commit_time TIMESTAMP",
    "row_id STRING",
    "partition INT",
    "offset BIGINT",
)
RECORD = ("op", "scn", "commit_scn", "seq", "commit_time", "row_id", "partition", "offset")


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the lake keeps of one version of a table.

    :param columns: (source column, how its values are read, lake's column) of each.
    :param key: names of the record key's columns; empty when the ROWID identifies rows.
    """

    columns: tuple[tuple[Field, LakeColumn, TableColumn], ...]
    key: tuple[str, ...]

    def table_columns(self) -> list[TableColumn]:
        """The lake's columns, in the order of `columns`."""
        return [column for _, _, column in self.columns]


class _Reading(NamedTuple):
    """How compiled code reads records of one table version.

    :param schema: of what it makes, as Spark SQL.
    :param selected: SQL of each column of the decoded rows, from that.
    :param sources: the columns of that which are `c0`, .., `k0`, .. as they are; None for one that is not.
    """

    plan: ReadPlan
    schema: str
    selected: list[str]
    sources: Mapping[str, str | None]


class ScannedRows(NamedTuple):
    """The last records of rows, decoded by compiled code in this process.

    :param found: as the code makes them.
    """

    found: pa.Table
    reading: _Reading

    def frame(self, spark: SparkSession) -> DataFrame:
        """The decoded rows."""
        return from_arrow(spark, self.found, self.reading.schema).selectExpr(*self.reading.selected)

    def rows(self) -> pa.Table | None:
        """The decoded rows as Arrow columns; None where only SQL makes their columns of what was found."""
        import pyarrow as pa

        columns = {name: self.found.column(name) for name in RECORD}
        for name, source in self.reading.sources.items():
            if source is None:
                return None
            columns[name] = self.found.column(source)
        return pa.table(columns)


class RowDecoder:
    """Decodes the records of a connector's tables."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._published: Callable[[TableId, Column], bool] = published_columns(config.filters)
        self._changes = ColumnChanges(config.column_rules)
        self._key_columns: Callable[[TableSchema], tuple[int, ...]] = key_columns(config.filters, former=True)
        self._shapes: dict[TableVersion, TableShape] = {}

    def shape(self, version: TableVersion) -> TableShape:
        """What the lake keeps of a table version: published columns and key columns of types that it holds."""
        if version not in self._shapes:
            self._shapes[version] = self._shape(version)
        return self._shapes[version]

    def _shape(self, version: TableVersion) -> TableShape:
        schema = version.schema
        key = self._key_columns(schema)
        kept: list[tuple[Field, LakeColumn]] = []
        for i, field in enumerate(version.fields):
            column = lake_column(field.column, self._config.values, self._config.lake)
            if column is not None and (i in key or self._published(schema.id, field.column)):
                kept.append((field, self._as_hidden(schema.id, column)))
        names = lake_names([field.name for field, _ in kept])
        columns = (
            (field, column, TableColumn(name, column.spark_type, field.id))
            for (field, column), name in zip(kept, names, strict=True)
        )
        return TableShape(tuple(columns), tuple(schema.columns[i].name for i in key))

    def _as_hidden(self, table: TableId, column: LakeColumn) -> LakeColumn:
        """The column, without its placeholder where values are hashed: its hash, cut to the column's length, may be that of a value."""
        if column.unavailable is None or column.source is None or column.source.type_name not in TEXTS:
            return column
        rule = self._changes.rule_of(table, column.source)
        return replace(column, unavailable=None) if rule is not None and rule.is_hash else column

    def decode(
        self,
        rows: DataFrame,
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        scns: tuple[int, int],
        *,
        partial: bool = False,
        before: bool = False,
        short: bool = False,
    ) -> DataFrame:
        """Rows of the change log, of one table -> typed rows in the columns of its lake table.

        :param target: the lake table's columns.
        :param key: ids of the key's columns, all in `target`; empty when the ROWID identifies rows.
        :param scns: lowest and highest SCN among the rows.
        :param partial: mark missing values, in columns `m0`, `m1`, .., and add `old`.
        :param before: take the columns of a deleted row, besides its key, from its before image; else they are null.
        :param short: the rows are few, and none has a number of more than eight bytes.
        """
        first, last = table.index_at(scns[0]), table.index_at(scns[1])
        fills = self.fills(table)
        decoded = None
        for index in range(first, last + 1):
            part = rows
            if index > first:
                part = part.where(table.condition(index))
            for later in range(index + 1, last + 1):
                part = part.where(f"NOT {table.condition(later)}")
            typed = self._decode_version(
                part, table.versions[index], target, key, fills, partial=partial, before=before, short=short
            )
            decoded = typed if decoded is None else decoded.unionByName(typed)
        assert decoded is not None
        return decoded

    def compiled(
        self,
        rows: DataFrame,
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        scns: tuple[int, int],
        *,
        before: bool = False,
        last: bool = False,
    ) -> DataFrame | None:
        """As `decode`, by compiled code in Python workers; None where only SQL decodes the rows. The query fails with
        `native_columns.RecordLeft` where it meets a record that only SQL decodes.

        :param last: only the last record of each row, found in one task; all records have a ROWID then.
        """
        reading = self._reading(table, target, key, scns, before=before)
        if reading is None:
            return None
        read = columns_of(reading.plan, RECORD, ("key" if key else "row_id") if last else None)
        records = rows.selectExpr(*RECORD, "key", "value")
        return (records.coalesce(1) if last else records).mapInArrow(read, reading.schema).selectExpr(*reading.selected)

    def scanned(
        self,
        rows: Sequence[pa.RecordBatch],
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        scns: tuple[int, int],
        *,
        before: bool = False,
        every: bool = False,
    ) -> ScannedRows | None:
        """As `compiled` of the last record of each row, in this process, of rows of the change log that it has. Raises
        `native_columns.RecordLeft` where it meets a record that only SQL decodes.

        :param every: all records; None where one of them is there twice.
        """
        import pyarrow as pa

        reading = self._reading(table, target, key, scns, before=before)
        if reading is None or (every and _has_twice(rows)):
            return None
        last = None if every else "key" if key else "row_id"
        row_ids = homes(rows) if last == "key" else None
        found = list(read_batches(reading.plan, RECORD, last, iter(rows), row_ids))
        return ScannedRows(pa.Table.from_batches(found), reading)

    def is_compiled(self, version: TableVersion) -> bool:
        """Whether compiled code reads all columns of a table version."""
        shape = self.shape(version)
        return self._read_columns(shape, shape.table_columns()) is not None

    def _reading(
        self,
        table: TableHistory,
        target: Sequence[TableColumn],
        key: Sequence[str],
        scns: tuple[int, int],
        *,
        before: bool,
    ) -> _Reading | None:
        """How compiled code reads the records between two SCNs; None where it does not."""
        version = table.version_at(scns[0])
        if version is not table.version_at(scns[1]):
            return None
        found = self._read_columns(self.shape(version), target)
        if found is None:
            return None
        shape, fills = self.shape(version), self.fills(table)
        in_key = {field.id for field, _, _ in shape.columns if field.name in shape.key}
        images = {number: column for number, column in found.items() if number not in in_key}
        keys = {number: column for number, column in found.items() if number in in_key}
        values = self._config.values
        plan = ReadPlan(
            tuple(images.values()),
            tuple(keys.values()),
            values.value_converter_schemas_enable,
            values.key_converter_schemas_enable,
            before,
        )
        types = [f"n{i} {column.spark_type}" for i, column in enumerate((*plan.images, *plan.keys))]
        place = {number: (f"n{i}", found[number].spark_type) for i, number in enumerate((*images, *keys))}
        selected = list(RECORD)
        sources: dict[str, str | None] = {}
        for i, column in enumerate(target):
            source, kind = place.get(column.id, ("", ""))
            sources[f"c{i}"] = source if kind == column.type else None
            if column.id in place:
                selected.append(f"{in_type(*place[column.id], column.type)} AS c{i}")
            else:
                since, fill = fills.get(column.id, (0, "NULL"))
                selected.append(f"CAST({fill if version.since < since else 'NULL'} AS {column.type}) AS c{i}")
        kinds = {column.id: column.type for column in target}
        for i, part in enumerate(key):
            source, kind = place.get(part, ("", ""))
            sources[f"k{i}"] = source if kind == kinds[part] else None
            value = in_type(*place[part], kinds[part]) if part in place else f"CAST(NULL AS {kinds[part]})"
            selected.append(f"{value} AS k{i}")
        return _Reading(plan, ", ".join((*_RECORD_TYPES, *types)), selected, sources)

    def _read_columns(self, shape: TableShape, target: Sequence[TableColumn]) -> dict[str, ReadColumn] | None:
        """How compiled code reads the columns of the target that the version has, by their ids; None where it does not."""
        wanted = {column.id for column in target}
        found = {}
        for field, column, _ in shape.columns:
            if field.id in wanted:
                one = read_column(column, self._config.values)
                if one is None:
                    return None
                found[field.id] = one
        return found

    def _decode_version(
        self,
        rows: DataFrame,
        version: TableVersion,
        target: Sequence[TableColumn],
        key: Sequence[str],
        fills: Mapping[str, tuple[int, str]],
        *,
        partial: bool,
        before: bool,
        short: bool,
    ) -> DataFrame:
        shape = self.shape(version)
        of_id = {field.id: (field, column) for field, column, _ in shape.columns}
        selected = list(RECORD)
        for i, column in enumerate(target):
            found = of_id.get(column.id)
            if found is None:
                since, fill = fills.get(column.id, (0, "NULL"))
                selected.append(f"CAST({fill if version.since < since else 'NULL'} AS {column.type}) AS c{i}")
            elif found[0].name in shape.key:
                selected.append(f"{typed_value(found, 'k', column, short=short)} AS c{i}")
            else:
                selected.append(f"{typed_value(found, 'i', column, short=short)} AS c{i}")
            if partial:
                flag = _missing(found[1]) if found and found[0].name not in shape.key else "false"
                if before and found and found[0].name not in shape.key:
                    flag += f" OR ({VANISHED})"
                selected.append(f"{flag} AS m{i}")
        types = {column.id: column for column in target}
        for i, part in enumerate(key):
            selected.append(f"{self._key_part(of_id.get(part), shape, types[part], short=short)} AS k{i}")
        if partial and key:
            parts = (self._key_part(of_id.get(part), shape, types[part], "o", None, short=short) for part in key)
            old = ", ".join(f"'k{i}', {part}" for i, part in enumerate(parts))
            selected.append(f"if(o IS NULL, NULL, named_struct({old})) AS old")
        parsed = self._parsed(rows, shape, before=before, partial=partial, old=partial and bool(key))
        return parsed.selectExpr(*selected)

    @staticmethod
    def _key_part(
        found: tuple[Field, LakeColumn] | None,
        shape: TableShape,
        column: TableColumn,
        struct: str = "k",
        image: str | None = "i",
        *,
        short: bool,
    ) -> str:
        source = struct if found is not None and found[0].name in shape.key else image
        if found is None or source is None:
            return f"CAST(NULL AS {column.type})"
        return typed_value(found, source, column, short=short)

    def _parsed(self, rows: DataFrame, shape: TableShape, *, before: bool, partial: bool, old: bool) -> DataFrame:
        """The rows with the parsed record key as `k`, the row image as `i`, the names of columns that redo did not hold as `u`, and
        the key of before a change of it as `o`."""
        of_name = {field.name: column for field, column, _ in shape.columns}
        values = ", ".join(f"{quoted(column.member)}: {column.json_type}" for column in of_name.values())
        parts = [of_name[name] for name in shape.key if name in of_name]
        keys = ", ".join(f"{quoted(column.member)}: {column.json_type}" for column in parts)
        images = f"before: STRUCT<{values}>, after: STRUCT<{values}>" if before else f"after: STRUCT<{values}>"
        envelope = _from_json("value", f"STRUCT<{images}>", payload=self._config.values.value_converter_schemas_enable)
        wrapped_key = self._config.values.key_converter_schemas_enable
        selected = [f"{envelope} AS e" if before else f"{envelope}.after AS i"]  # few steps: Spark analyses each by itself
        if keys:
            selected.append(f"{_from_json('key', f'STRUCT<{keys}>', payload=wrapped_key)} AS k")
        if partial:
            selected.append("from_json(unavailable, 'ARRAY<STRING>') AS u")
        if old:
            old_key = (
                _from_json("old_key", f"STRUCT<{keys}>", payload=wrapped_key) if keys else "CAST(NULL AS STRUCT<none: INT>)"
            )
            selected.append(f"{old_key} AS o")
        parsed = rows.selectExpr(*RECORD, *selected)
        return parsed.selectExpr("* EXCEPT (e)", "if(op = 'd', e.before, e.after) AS i") if before else parsed

    def fills(self, table: TableHistory) -> dict[str, tuple[int, str]]:
        """Id of each column that was added with a literal DEFAULT, which all older rows got -> (SCN of the ADD, its SQL)."""
        found: dict[str, tuple[int, str]] = {}
        for version in table.versions:
            for field, column, _ in self.shape(version).columns:
                if not field.since or field.default is None or field.id in found:
                    continue
                if (fill := fill_of(column, field.default)) is not None:
                    found[field.id] = (field.since, fill)
        return found


def _has_twice(rows: Sequence[pa.RecordBatch]) -> bool:
    """Whether a record is among them twice, as after a lost checkpoint."""
    import pyarrow as pa

    places = pa.Table.from_batches(rows).select(["partition", "offset", "commit_scn", "seq"])
    return bool(places.group_by(places.column_names).aggregate([]).num_rows < places.num_rows)


def _from_json(column: str, kind: str, *, payload: bool) -> str:
    """SQL of a JSON document of that type; with `payload` it is in a member of that name, beside its schema."""
    kind = f"STRUCT<payload: {kind}>" if payload else kind
    return f"from_json({column}, {literal(kind)}, map('mode', 'FAILFAST')){'.payload' if payload else ''}"


def _missing(column: LakeColumn) -> str:
    """SQL: redo did not hold the value, by its placeholder or, for a type that has none, by the record's header."""
    if column.unavailable is not None:
        return f"coalesce({column.unavailable(_member('i', column.member))}, false)"
    return f"coalesce(array_contains(u, {literal(column.member)}), false)"


def _member(struct: str, name: str) -> str:
    return f"{struct}.{quoted(name)}"


def typed_value(found: tuple[Field, LakeColumn], struct: str, column: TableColumn, *, short: bool = False) -> str:
    """SQL of a value in the type of the lake's column.

    :param found: (source column, how its values are read) in the version of the record.
    :param struct: SQL of the parsed record's struct.
    :param short: see `RowDecoder.decode`.
    """
    _, source = found
    value = source.short if short and source.short is not None else source.value
    return in_type(value(_member(struct, source.member)), source.spark_type, column.type)
