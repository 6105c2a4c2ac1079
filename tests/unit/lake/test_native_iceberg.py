"""Columns of Iceberg's data files, and its schemas: `tests/spark_iceberg/test_native_iceberg.py` has the merges beside Spark's."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from minercdc.lake.merge.rows import CDC_TYPE
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native.parquet import UnknownRows, encoded
from minercdc.lake.table.native_iceberg.append import in_fields, schema_of_rows
from minercdc.lake.table.native_iceberg.columns import rows_of_file
from minercdc.lake.table.native_iceberg.schema import fields_of, schema_of


def field(name: str, number: int, kind: Any = None, *members: FileField) -> FileField:
    if members:
        kind = pa.struct([member.arrow() for member in members])
    return FileField(name, name, number, pa.int32() if kind is None else kind, members)


def file_of(fields: list[FileField], *rows: dict[str, Any]) -> pa.BufferReader:
    table = pa.Table.from_pylist(list(rows), pa.schema([one.arrow() for one in fields]))
    return pa.BufferReader(encoded(table, "zstd", True))


WRITTEN = [field("ID", 1), field("NAME", 2, pa.string()), field("C", 3, None, field("scn", 4), field("op", 5, pa.string()))]
ROWS = [{"ID": n, "NAME": f"n{n}", "C": {"scn": n * 10, "op": "u"}} for n in (1, 2)]


def test_a_column_is_found_by_its_id() -> None:
    """NAME was renamed, and ID, which was dropped, has come again with another id; a member has another name, and one is new."""
    cdc = field("C", 3, None, field("op", 5, pa.string()), field("at", 4), field("new", 9))
    rows = rows_of_file(file_of(WRITTEN, *ROWS), [field("TITLE", 2, pa.string()), field("ID", 7), cdc])
    assert rows.to_pylist() == [{"TITLE": f"n{n}", "C": {"op": "u", "at": n * 10}} for n in (1, 2)]


def test_members_are_read_alone() -> None:
    cdc = field("C", 3, None, field("at", 4), field("op", 5, pa.string()))
    rows = rows_of_file(file_of(WRITTEN, *ROWS), [field("KEY", 1), cdc], [("C", "at"), ("KEY",)])
    assert rows.to_pylist() == [{"KEY": n, "C": {"at": n * 10}} for n in (1, 2)]


def test_names_with_dots_and_commas_are_columns() -> None:
    odd = [field("A.B", 1), field("C, (D)", 2), field("A", 3, None, field("B", 4))]
    rows = rows_of_file(file_of(odd, {"A.B": 1, "C, (D)": 2, "A": {"B": 3}}), odd)
    assert rows.to_pylist() == [{"A.B": 1, "C, (D)": 2, "A": {"B": 3}}]


def test_a_struct_that_is_null_stays_null() -> None:
    rows = rows_of_file(file_of(WRITTEN, {"ID": 1, "NAME": None, "C": None}), WRITTEN)
    assert rows.to_pylist() == [{"ID": 1, "NAME": None, "C": None}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([FileField("ID", "ID", None, pa.int32())], "has no id of column ID"),
        ([field("OTHER", 8)], "has none of the columns"),
    ],
)
def test_a_file_of_other_columns_is_left_to_spark(fields: list[FileField], message: str) -> None:
    with pytest.raises(UnknownRows, match=message):
        rows_of_file(file_of(fields, *({one.name: 1 for one in fields},)), [field("ID", 1)])


COLUMNS = [
    ("ID", "INT"),
    ("N", "DECIMAL(18,4)"),
    ("T", "STRING"),
    ("A", "TIMESTAMP_NTZ"),
    ("Z", "TIMESTAMP"),
    ("B", "BINARY"),
]


def test_a_schema_has_the_types_of_its_columns() -> None:
    schema = schema_of([*((name, kind, f"of {name}") for name, kind in COLUMNS), ("__cdc", CDC_TYPE, "")])
    assert schema is not None
    found = fields_of(schema)
    assert found is not None
    types = [pa.int32(), pa.decimal128(18, 4), pa.string(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.binary()]
    assert [(one.name, one.type) for one in found[:-1]] == [
        (name, kind) for (name, _), kind in zip(COLUMNS, types, strict=True)
    ]
    assert [member.name for member in found[-1].members][:3] == ["op", "scn", "commit_scn"]
    numbers = [one.number for one in found] + [member.number for member in found[-1].members]
    assert len(set(numbers)) == len(numbers)
    assert [one.get("doc") for one in json.loads(schema)["fields"]] == [*(f"of {name}" for name, _ in COLUMNS), None]


def test_a_type_that_is_not_known_is_left_to_spark() -> None:
    assert schema_of([("ID", "INTERVAL DAY TO SECOND", "")]) is None
    assert schema_of_rows(pa.table({"a": pa.array([1.5])})) is None


@pytest.mark.parametrize(
    "more",
    [{"required": True}, {"write-default": 1}, {"initial-default": 1}, {"type": "uuid"}, {"type": {"type": "list"}}],
)
def test_a_column_that_needs_more_is_left_to_spark(more: dict[str, Any]) -> None:
    one = {"id": 1, "name": "ID", "required": False, "type": "int", **more}
    assert fields_of(json.dumps({"fields": [one]})) is None


def test_rows_are_appended_in_the_order_of_the_table() -> None:
    rows = pa.table({"B": pa.array(["x"]), "A": pa.array([1], pa.int32())})
    found = in_fields(rows, [field("A", 1), field("B", 2, pa.string())])
    assert found.to_pylist() == [{"A": 1, "B": "x"}]
    assert found.schema.field("B").metadata == {b"PARQUET:field_id": b"2"}
