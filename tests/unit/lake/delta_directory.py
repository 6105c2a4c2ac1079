"""A Delta table in a directory, with no Spark: a transaction that commits as Delta's does, what other writers do to it, and a reader of its own."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyroaring import BitMap64

from minercdc.lake.merge.rows import CDC_TYPE
from minercdc.lake.table.columns import CDC, TableColumn
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native_delta.data_file import added
from minercdc.lake.table.native_delta.deletion_vectors import read_vector
from minercdc.lake.table.native_delta.schema import fields_of, schema_of, statistics_of

VECTORS = "delta.enableDeletionVectors"
_MAPPING = "delta.columnMapping.mode"
_MAGIC = (1681511377).to_bytes(4, "little")


class Conflict(Exception):
    """Another writer has committed since the transaction began."""


class LocalFiles:
    """A table's directory, as `HadoopFiles` has it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: str) -> bytes | None:
        file = self.root / name
        return file.read_bytes() if file.exists() else None

    def source(self, name: str) -> Any:
        return pa.OSFile(str(self.root / name))

    def write(self, name: str, content: bytes | memoryview) -> None:
        assert not (self.root / name).exists()
        (self.root / name).write_bytes(content)


class Directory:
    """The table.

    :ivar columns: of the source, in order.
    """

    def __init__(self, root: Path, columns: list[TableColumn], *, marks: bool) -> None:
        self.files = LocalFiles(root)
        self.columns = columns
        self.properties = {VECTORS: "true"} if marks else {}
        schema = schema_of([*((one.name, one.type, "") for one in columns), (CDC, CDC_TYPE, "")])
        assert schema is not None
        self._fields: list[dict[str, Any]] = json.loads(schema)["fields"]
        self._numbers = 100
        self._make([])

    @classmethod
    def there(cls, root: Path) -> Directory:
        """A table that others have made and write, in its newest version; for reading."""
        found = cls.__new__(cls)
        found.files = LocalFiles(root)
        commits = sorted(file for file in (root / "_delta_log").glob("*.json") if file.stem.isdecimal())
        found.version = int(commits[-1].stem)
        actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
        (*_, newest) = (one["metaData"] for one in actions if "metaData" in one)
        found._fields = json.loads(newest["schemaString"])["fields"]
        return found

    def _make(self, adds: list[dict[str, Any]]) -> None:
        self.version = -1
        (self.files.root / "_delta_log").mkdir(parents=True)
        self.commit(adds)

    @property
    def fields(self) -> tuple[FileField, ...]:
        found = fields_of(json.dumps({"fields": self._fields}))
        assert found is not None
        return found

    def commit(self, actions: Iterable[Mapping[str, Any]], said: str | None = None) -> None:
        self.version += 1
        lines = [{"commitInfo": {"txnId": str(uuid.uuid4()), "userMetadata": said}}, *actions]
        text = "\n".join(json.dumps(one) for one in lines)
        (self.files.root / f"_delta_log/{self.version:020}.json").write_text(text)

    def live(self) -> list[dict[str, Any]]:
        """The `add` of each file, as all commits since the newest checkpoint have them."""
        found: dict[str, dict[str, Any]] = {}
        begin = 0
        last = self.files.read("_delta_log/_last_checkpoint")
        if last is not None:
            begin = json.loads(last)["version"] + 1
            for row in pq.read_table(self.files.root / f"_delta_log/{begin - 1:020}.checkpoint.parquet").to_pylist():
                if row["add"] is not None:
                    one = {name: value for name, value in row["add"].items() if value is not None}
                    found[one["path"]] = {**one, "partitionValues": {}}
        for version in range(begin, self.version + 1):
            lines = (self.files.root / f"_delta_log/{version:020}.json").read_text().splitlines()
            actions = [json.loads(line) for line in lines]
            for one in actions:
                if "remove" in one:
                    gone = found.pop(one["remove"]["path"])
                    assert gone.get("deletionVector") == one["remove"].get("deletionVector")
            for one in actions:
                if "add" in one:
                    assert one["add"]["path"] not in found
                    found[one["add"]["path"]] = one["add"]
        return list(found.values())

    def rows_of(self, one: Mapping[str, Any]) -> pa.Table:
        """A file's rows that are not deleted, in the table's columns."""
        there = pq.read_table(self.files.root / one["path"])
        columns = [
            there.column(field.physical).cast(field.type)
            if field.physical in there.column_names
            else pa.nulls(there.num_rows, field.type)
            for field in self.fields
        ]
        rows = pa.table(columns, schema=pa.schema([field.arrow() for field in self.fields]))
        if "deletionVector" in one:
            gone = set(read_vector(self.files, one["deletionVector"]))  # type: ignore[arg-type]
            rows = rows.take(pa.array([at for at in range(rows.num_rows) if at not in gone], pa.int64()))
        return rows

    def rows(self) -> list[dict[str, Any]]:
        """All rows, by the columns' names."""
        found = [self.rows_of(one) for one in self.live()]
        names = [field.name for field in self.fields]
        return [row for part in found for row in part.rename_columns(names).to_pylist()]

    def check_statistics(self) -> None:
        """No reader passes over a file that has what it looks for."""
        for one in self.live():
            told, whole = json.loads(one["stats"]), pq.read_table(self.files.root / one["path"])
            assert told["numRecords"] == whole.num_rows
            assert told.get("tightBounds", True) or "deletionVector" in one
            assert "deletionVector" not in one or not told["tightBounds"]
            for name, nulls in told["nullCount"].items():
                assert nulls == whole.column(name).null_count
            for name, least in told["minValues"].items():
                values = [value for value in whole.column(name).to_pylist() if value is not None]
                assert comparable(least, values[0]) <= min(map(comparable, values))
                assert max(map(comparable, values)) <= comparable(told["maxValues"][name], values[0])

    # --- what others do

    def optimize(self, *, ordered: bool) -> None:
        """Join all files: by Spark's number, which is lower than PyArrow's, of rows of a group."""
        live = self.live()
        rows = pa.concat_tables([self.rows_of(one) for one in live]) if live else None
        actions = [{"remove": _removed(one)} for one in live]
        if rows is not None and rows.num_rows:
            rows = rows.take(list(range(rows.num_rows))[:: 1 if ordered else -1])
            actions.append({"add": self._added(rows)})
        self.commit(actions)

    def _added(self, rows: pa.Table) -> dict[str, Any]:
        return added(self.files, rows, statistics_of(rows), "snappy", dictionaries=True, spark="4.0.0")  # type: ignore[arg-type]

    def delete(self, places: Iterable[int]) -> None:
        """Delete rows of the newest file, by a vector within the log."""
        (*_, one) = self.live()
        gone = BitMap64(places)
        if "deletionVector" in one:
            gone |= read_vector(self.files, one["deletionVector"])  # type: ignore[arg-type]
        content = _MAGIC + gone.serialize()
        vector = {
            "storageType": "i",
            "pathOrInlineDv": _z85(content),
            "sizeInBytes": len(content),
            "cardinality": len(gone),
        }
        stats = json.dumps({**json.loads(one["stats"]), "tightBounds": False})
        self.commit([{"remove": _removed(one)}, {"add": {**one, "stats": stats, "deletionVector": vector}}])

    def checkpoint(self) -> None:
        """Write a checkpoint, and remove the commits before it."""
        rows = [{"add": {**one, "partitionValues": None}} for one in self.live()] + [{"add": None}]
        log = self.files.root / "_delta_log"
        kind = (
            pa.Table.from_pylist(rows) if len(rows) > 1 else pa.table({"add": pa.nulls(1, pa.struct({"path": pa.string()}))})
        )
        pq.write_table(kind, log / f"{self.version:020}.checkpoint.parquet")
        (log / "_last_checkpoint").write_text(json.dumps({"version": self.version, "size": len(rows)}))
        for version in range(self.version):
            (log / f"{version:020}.json").unlink(missing_ok=True)

    def vacuum(self) -> None:
        """Remove the files that the newest version does not name."""
        live = self.live()
        kept = {one["path"] for one in live} | {
            f"deletion_vector_{_uuid_of(one['deletionVector']['pathOrInlineDv'])}.bin"
            for one in live
            if one.get("deletionVector", {}).get("storageType") == "u"
        }
        for file in self.files.root.iterdir():
            if file.is_file() and file.name not in kept:
                file.unlink()

    def make_again(self) -> None:
        """Delete the table, and make it again with the rows that it had."""
        parts = [self.rows_of(one) for one in self.live()]
        shutil.rmtree(self.files.root)
        self.files.root.mkdir()
        rows = pa.concat_tables(parts) if parts else None
        self.version = -1
        (self.files.root / "_delta_log").mkdir()
        self.commit([{"add": self._added(rows)}] if rows is not None and rows.num_rows else [])

    # --- DDL

    def map_columns(self) -> None:
        """Give each column an id, and its name as its physical one."""
        if _MAPPING in self.properties:
            return
        self.properties[_MAPPING] = "name"
        for field in self._fields:
            for one in (field, *(field["type"]["fields"] if isinstance(field["type"], dict) else ())):
                one["metadata"] |= self._mapped(one["name"])
        self.commit([])

    def _mapped(self, physical: str) -> dict[str, Any]:
        self._numbers += 1
        return {"delta.columnMapping.id": self._numbers, "delta.columnMapping.physicalName": physical}

    def add_column(self, column: TableColumn) -> None:
        (field,) = json.loads(schema_of([(column.name, column.type, "")]) or "")["fields"]
        if _MAPPING in self.properties:
            field["metadata"] |= self._mapped(f"col-{uuid.uuid4()}")
        self._fields.insert(-1, field)
        self.columns = [*self.columns, column]
        self.commit([])

    def drop_column(self, column: TableColumn) -> None:
        self.map_columns()
        self._fields = [one for one in self._fields if one["name"] != column.name]
        self.columns = [one for one in self.columns if one != column]
        self.commit([])

    def rename_column(self, column: TableColumn, name: str) -> None:
        self.map_columns()
        self._field(column)["name"] = name
        self.columns = [TableColumn(name, one.type, one.id) if one == column else one for one in self.columns]
        self.commit([])

    def widen_column(self, column: TableColumn, kind: str) -> None:
        (wide,) = json.loads(schema_of([(column.name, kind, "")]) or "")["fields"]
        field = self._field(column)
        field["type"] = wide["type"]
        field["metadata"]["delta.typeChanges"] = [{"fromType": "x", "toType": "y"}]
        self.columns = [TableColumn(one.name, kind, one.id) if one == column else one for one in self.columns]
        self.commit([])

    def _field(self, column: TableColumn) -> dict[str, Any]:
        return next(one for one in self._fields if one["name"] == column.name)


class Transaction:
    """As `DeltaTransaction`; refuses each commit that another one came before."""

    def __init__(self, table: Directory) -> None:
        self._table = table
        self.version = table.version
        self._reads = False
        self._given: Mapping[str, str] = {}

    def properties(self) -> Mapping[str, str]:
        return self._table.properties

    def plain_fields(self) -> tuple[FileField, ...]:
        return self._table.fields

    def give(self, properties: Mapping[str, str]) -> None:
        self._given = properties

    def reads_all(self) -> None:
        self._reads = True

    def commit(self, actions: Iterable[Mapping[str, Any]], writer: str, number: int, said: str | None = None) -> None:
        assert self._reads
        if self._table.version != self.version:
            raise Conflict
        found = list(actions)
        self._table.properties |= self._given
        assert VECTORS in self._table.properties or not any("deletionVector" in one.get("add", {}) for one in found)
        self._table.commit(found, said)


def _removed(one: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("path", "deletionVector")
    return {**{name: one[name] for name in kept if name in one}, "dataChange": False}


def comparable(value: Any, like: Any = None) -> Any:
    """A value, or what the log says of one like another, as readers compare it."""
    if isinstance(like, datetime):
        value = datetime.fromisoformat(value)
    elif isinstance(like, Decimal):
        value = Decimal(str(value))
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return value.encode() if isinstance(value, str) else value


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _z85(content: bytes) -> str:
    content += bytes(-len(content) % 4)
    found = ""
    for at in range(0, len(content), 4):
        number = int.from_bytes(content[at : at + 4], "big")
        found += "".join(_DIGITS[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return found


def _uuid_of(place: str) -> uuid.UUID:
    number = b""
    for at in range(0, 20, 5):
        word = 0
        for digit in place[at : at + 5]:
            word = word * 85 + _DIGITS.index(digit)
        number += word.to_bytes(4, "big")
    return uuid.UUID(bytes=number)
