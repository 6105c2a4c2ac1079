"""The records of one table as typed rows, decoded in Python, for the data source that reads segments: a Python data source hands rows
to Spark and cannot use Spark SQL, in which `changes.typed_changes` does the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from minercdc.config.load import ConnectorConfig
from minercdc.errors import LakeError
from minercdc.lake.read.decode import RowDecoder, TableShape
from minercdc.lake.read.row_values import converted, placeholder_of, reading_of
from minercdc.lake.spark.sql import quoted
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.types import LakeColumn, refuse_unsupported_modes
from minercdc.messages.formats.reading import record_readers

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Row: TypeAlias = dict[str, Any]

ORDER = "op STRING, scn BIGINT, commit_scn BIGINT, seq BIGINT, commit_time TIMESTAMP, row_id STRING"


@dataclass(frozen=True, slots=True)
class _Member:
    """A column of the newest version in the images, or keys, of records of one version.

    :param source: name of the member; None where that version has no such column.
    :param placeholder: what stands for a value that redo does not hold: text is compared with the member, bytes with the value
        that is read from it.
    """

    name: str
    source: str | None
    read: Callable[[Any], Any]
    placeholder: object


class ChangeRows:
    """Decodes records of a table, into the columns of its newest version in `table`.

    :param table: with one version at least.
    :param refuse: called with the SCN of each record before its values are read; what it raises, `row` raises.
    :raises ConfigError: records are in a format that is not read back, have numbers as doubles (decimal.handling.mode), or a certificate of the schema registry cannot be read.
    :ivar schema: of the rows, as Spark SQL.
    """

    def __init__(self, table: TableHistory, config: ConnectorConfig, refuse: Callable[[int], None] = lambda _: None) -> None:
        refuse_unsupported_modes(config.values)
        self._refuse = refuse
        decoder = RowDecoder(config)
        self._config, self._table = config, table
        self._read_key, self._read_value = record_readers(config)
        shapes = [decoder.shape(version) for version in table.versions]
        newest = shapes[-1]
        columns = newest.table_columns()
        ids = {field.id for field, _, _ in newest.columns if field.name in newest.key}
        key = [column for column in columns if column.id in ids]
        self._has_key = bool(key)
        self._images = [self._members(shape, columns, key=False) for shape in shapes]
        self._keys = [self._members(shape, key, key=True) for shape in shapes]
        self._structs = {**({"key": key} if key else {}), "before": columns, "after": columns}
        self.schema = ", ".join([ORDER, *(f"{name} {_struct(of)}" for name, of in self._structs.items())])

    def fits(self, schema: StructType) -> bool:
        """Whether the structs of the rows (key, before, after) have the names and types of a Spark schema that was made of
        such a text."""
        found = {
            field.name: [(member.name, member.dataType.simpleString()) for member in field.dataType.fields]
            for field in schema.fields
            if hasattr(field.dataType, "fields")
        }
        return found == {name: [(column.name, column.type.lower()) for column in of] for name, of in self._structs.items()}

    def _members(self, shape: TableShape, target: list[TableColumn], *, key: bool) -> list[_Member]:
        found = {
            field.id: (column.member, column) for field, column, _ in shape.columns if not key or field.name in shape.key
        }
        members = []
        for column in target:
            if column.id not in found:
                members.append(_Member(column.name, None, _null, None))
                continue
            name, source = found[column.id]
            placeholder = None if key else placeholder_of(source, self._config.values)
            members.append(_Member(column.name, name, self._reading(source, column), placeholder))
        return members

    def _reading(self, source: LakeColumn, target: TableColumn) -> Callable[[Any], Any]:
        read = reading_of(source, self._config.values, self._config.lake)
        if source.spark_type == target.type:
            return read
        return lambda member: converted(read(member), source.spark_type, target.type, target.name)

    def row(self, key: bytes | None, value: bytes) -> Row:
        """The row of a record that is no tombstone, in the types of `row_values`; `commit_time` in microseconds since 1970.

        :raises LakeError: it is no record of the table, or a value does not fit.
        :raises SinkError, DeliveryError: the schema registry lacks its schema, or does not answer.
        """
        try:
            envelope = self._read_value(value)
            source = envelope["source"]
            scn = int(source["scn"])
            self._refuse(scn)
            commit_scn = int(source.get("commit_scn") or scn)
            version = self._table.index_of(scn, commit_scn)
            row: Row = {
                "op": envelope["op"],
                "scn": scn,
                "commit_scn": commit_scn,
                "seq": source.get("txSeq") or 0,
                "commit_time": (source.get("commit_ts_ms") or source["ts_ms"]) * 1000,
                "row_id": source.get("row_id"),
            }
            images = self._images[version]
            if self._has_key:
                given = None if key is None else self._read_key(key)
                row["key"] = _image(given, self._keys[version])
            return row | {part: _image(envelope.get(part), images) for part in ("before", "after")}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LakeError(f"a record of {self._table.name} cannot be decoded: {error!r}", hint="See its topic.") from error


def _null(_: Any) -> None:
    return None


def _image(given: Mapping[str, Any] | None, members: list[_Member]) -> Row | None:
    if given is None:
        return None
    row: Row = {}
    for member in members:
        found = None if member.source is None else given.get(member.source)
        if found is None or (isinstance(member.placeholder, str) and found == member.placeholder):
            row[member.name] = None
        else:
            value = member.read(found)
            row[member.name] = None if isinstance(value, bytes) and value == member.placeholder else value
    return row


def _struct(columns: list[TableColumn]) -> str:
    return f"STRUCT<{', '.join(f'{quoted(column.name)}: {column.type}' for column in columns)}>"
