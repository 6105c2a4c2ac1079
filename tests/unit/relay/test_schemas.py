"""Generated schemas: the example of Databus's documentation, types, versions."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from minercdc.errors import RelayError, ValueDecodeError
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.events.schemas import generated, lower_camel, record_name, schema_id
from minercdc.relay.events.values import NotLongError, row_reader, row_writer
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Row

PERSON = TableSchema(
    TableId("DB", "PERSON", "sy$person"),
    (
        Column("TXN", "NUMBER"),
        Column("KEY", "NUMBER", nullable=False),
        Column("FIRST_NAME", "VARCHAR2", 120),
        Column("LAST_NAME", "VARCHAR2", 120),
        Column("BIRTH_DATE", "DATE"),
        Column("DELETED", "VARCHAR2", 5),
    ),
    key=(1,),
)
# As the documentation prints it.
EXAMPLE = json.loads("""{
  "name" : "Person_V1",
  "doc" : "Auto-generated Avro schema for sy$person. Generated at Dec 04, 2012 05:07:05 PM UTC",
  "type" : "record",
  "meta" : "dbFieldName=sy$person;",
  "namespace" : "com.linkedin.events.example.person",
  "fields" : [
    { "name" : "txn", "type" : [ "long", "null" ], "meta" : "dbFieldName=TXN;dbFieldPosition=0;" },
    { "name" : "key", "type" : [ "long", "null" ], "meta" : "dbFieldName=KEY;dbFieldPosition=1;" },
    { "name" : "firstName", "type" : [ "string", "null" ], "meta" : "dbFieldName=FIRST_NAME;dbFieldPosition=2;" },
    { "name" : "lastName", "type" : [ "string", "null" ], "meta" : "dbFieldName=LAST_NAME;dbFieldPosition=3;" },
    { "name" : "birthDate", "type" : [ "long", "null" ], "meta" : "dbFieldName=BIRTH_DATE;dbFieldPosition=4;" },
    { "name" : "deleted", "type" : [ "string", "null" ], "meta" : "dbFieldName=DELETED;dbFieldPosition=5;" }
  ]
}""")
NOW = datetime(2012, 12, 4, 17, 7, 5, tzinfo=UTC)
NAME = "com.linkedin.events.example.person.Person"


@pytest.mark.parametrize("types", ["lossless", "databus"])
@pytest.mark.parametrize("table", ["sy$person", "SY$PERSON"])
def test_the_example_comes_out_equal(types: Any, table: str) -> None:
    person = TableSchema(TableId("DB", "PERSON", table), PERSON.columns, PERSON.key)
    made = generated(person, range(6), name=NAME, version=1, types=types, now=NOW)
    assert made == EXAMPLE
    assert list(made) == list(EXAMPLE)


def test_the_registry_has_the_example_in_its_file(tmp_path: Path) -> None:
    registry = SchemaRegistry(tmp_path, namespace="com.linkedin.events.example.person")
    source, version = registry.version_of(PERSON, range(6), now=NOW)
    assert (source.id, source.name, version.number) == (101, NAME, 1)
    assert json.loads((tmp_path / f"{NAME}.1.avsc").read_text()) == EXAMPLE
    assert version.id == schema_id(json.dumps(EXAMPLE, separators=(",", ":")))


def table(*columns: Column, name: str = "T") -> TableSchema:
    return TableSchema(TableId("DB", "S", name), columns, (0,))


@pytest.mark.parametrize(
    ("column", "lossless", "databus"),
    [
        (Column("C", "NUMBER", 18, 0), "long", "long"),
        (Column("C", "NUMBER", 19, 0), "string", "long"),
        (Column("C", "NUMBER", 10, 2), "string", "float"),
        (Column("C", "NUMBER", 20, 8), "string", "double"),
        (Column("C", "NUMBER", 30, 20), "string", "string"),
        (Column("C", "NUMBER", 5, -2), "long", "long"),
        (Column("C", "FLOAT", 126), "string", "double"),
        (Column("C", "BINARY_DOUBLE"), "double", "double"),
        (Column("C", "BINARY_FLOAT"), "float", "float"),
        (Column("C", "TIMESTAMP", scale=3), "long", "long"),
        (Column("C", "TIMESTAMP", scale=6), "string", "long"),
        (Column("C", "TIMESTAMP WITH TIME ZONE", scale=6), "string", "string"),
        (Column("C", "RAW", 16), "bytes", "bytes"),
        (Column("C", "BLOB"), "bytes", "bytes"),
        (Column("C", "CLOB"), "string", "string"),
        (Column("C", "XMLTYPE"), "string", "string"),
        (Column("C", "INTERVAL DAY TO SECOND"), "string", "string"),
    ],
)
def test_types(column: Column, lossless: str, databus: str) -> None:
    for types, expected in (("lossless", lossless), ("databus", databus)):
        made = generated(table(column), [0], name="a.T", version=1, types=types)  # type: ignore[arg-type]
        assert made["fields"][0]["type"] == [expected, "null"]


def test_names() -> None:
    assert [lower_camel(name) for name in ("A", "FIRST_NAME", "firstName", "X$Y#Z", "1A")] == [
        *("a", "firstName", "firstName", "xYZ", "_1a"),
    ]
    assert [record_name(name) for name in ("SY$PERSON", "ORDER_ITEMS", "sy$x")] == ["Person", "OrderItems", "X"]


def test_columns_that_would_share_a_field_name() -> None:
    made = generated(
        table(Column("A_B", "NUMBER"), Column("A__B", "NUMBER")), [0, 1], name="a.T", version=1, types="lossless"
    )
    assert [field["name"] for field in made["fields"]] == ["aB", "aB_"]


def written(schema: TableSchema, row: Row, registry: SchemaRegistry) -> dict[str, Any]:
    positions = range(len(schema.columns))
    _, version = registry.version_of(schema, positions)
    return row_reader(version.schema)(row_writer(schema, positions, version.schema, "?")(row))


def test_values(tmp_path: Path) -> None:
    columns = {
        Column("N", "NUMBER"): ("12", 12),
        Column("SPELLED", "NUMBER"): ("1E+3", 1000),
        Column("P", "NUMBER", 10, 2): (".50", "0.5"),
        Column("BIG", "NUMBER", 38, 0): ("-9" * 19, None),
        Column("D", "DATE"): ("2026-02-28 13:45:59", 1772286359000),
        Column("OLD", "DATE"): ("1969-12-31 23:59:59", -1000),
        Column("TS3", "TIMESTAMP", scale=3): ("2026-02-28 13:45:59.125000000", 1772286359125),
        Column("TS9", "TIMESTAMP", scale=9): ("2026-02-28 13:45:59.123456789", "2026-02-28 13:45:59.123456789"),
        Column("R", "RAW", 4): ("DEADbeef", b"\xde\xad\xbe\xef"),
        Column("V", "VARCHAR2", 20): ("Müller \U0001f600", "Müller \U0001f600"),
        Column("BD", "BINARY_DOUBLE"): ("1.5", 1.5),
        Column("NOTHING", "NUMBER"): (None, None),
        Column("LOB", "CLOB"): (UNAVAILABLE, "?"),
        Column("BLOB", "BLOB"): (UNAVAILABLE, b"?"),
        Column("LONG", "NUMBER"): (str(2**63 - 1), 2**63 - 1),
        Column("LEAST", "NUMBER"): (str(-(2**63)), -(2**63)),
    }
    row = tuple(given for given, _ in columns.values())
    row = tuple("-" + "9" * 38 if value == "-9" * 19 else value for value in row)
    found = written(table(*columns), row, SchemaRegistry(tmp_path, namespace="a"))
    expected = [value for _, value in columns.values()]
    expected[3] = "-" + "9" * 38
    assert list(found.values()) == expected


@pytest.mark.parametrize("text", ["1.5", ".5", str(2**63), str(-(2**63) - 1), "1E+30"])
def test_a_number_that_is_no_long_requests_another_version(text: str, tmp_path: Path) -> None:
    registry = SchemaRegistry(tmp_path, namespace="a")
    schema = table(Column("N", "NUMBER"), Column("M", "NUMBER"))
    with pytest.raises(NotLongError) as caught:
        written(schema, (text, "1"), registry)
    source, version = registry.version_of(schema, [0, 1], widen=[caught.value.column])
    assert version.number == 2
    assert [field["type"][0] for field in version.schema["fields"]] == ["string", "long"]
    found = written(schema, (text, "1"), registry)
    assert Decimal(found["n"]) == Decimal(text)
    # It stays so, over a restart and with more columns.
    again = SchemaRegistry(tmp_path, namespace="a")
    assert again.version_of(schema, [0, 1])[1].id == version.id
    more = table(*schema.columns, Column("X", "DATE"))
    source, third = again.version_of(more, [0, 1, 2])
    assert (third.number, source.id) == (3, 101)
    assert [field["type"][0] for field in third.schema["fields"]] == ["string", "long", "long"]


def test_a_number_that_redo_does_not_hold(tmp_path: Path) -> None:
    with pytest.raises(ValueDecodeError, match="column N"):
        written(table(Column("N", "NUMBER")), (UNAVAILABLE,), SchemaRegistry(tmp_path, namespace="a"))


def test_sources_keep_their_ids(tmp_path: Path) -> None:
    names = {"S.B": (7, "x.y.Bee")}
    registry = SchemaRegistry(tmp_path, namespace="a", names=names)
    assert [registry.source_of(name).id for name in ("S.A", "S.B", "S.C", "S.A")] == [101, 7, 102, 101]
    again = SchemaRegistry(tmp_path, namespace="a", names=names)
    assert [(one.id, one.name, one.table) for one in again.sources()] == [
        *((7, "x.y.Bee", "S.B"), (101, "a.A", "S.A"), (102, "a.C", "S.C")),
    ]
    assert again.source_of("OTHER.A").name == "a.other.A"


def test_tables_whose_names_are_one_without_quotes_are_two_sources(tmp_path: Path) -> None:
    registry = SchemaRegistry(tmp_path, namespace="a", names={"A.B.D": (7, "x.D")})
    one = table(Column("N", "NUMBER"))
    ids = [TableId("DB", "A", "B.C"), TableId("DB", "A.B", "C"), TableId("DB", "A.B", "D")]
    found = [registry.version_of(replace(one, id=table_id), [0])[0] for table_id in ids]
    assert [(source.table, source.name) for source in found] == [("A.B.C", "a.C"), ('"A.B".C', "a.a.C"), ('"A.B".D', "x.D")]
    assert SchemaRegistry(tmp_path, namespace="a").sources() == sorted(found, key=lambda source: source.id)


def test_a_source_id_that_is_taken(tmp_path: Path) -> None:
    SchemaRegistry(tmp_path, namespace="a").source_of("S.A")
    with pytest.raises(RelayError, match=r"101 x\.B of S\.B is there already, of S\.A"):
        SchemaRegistry(tmp_path, namespace="a", names={"S.B": (101, "x.B")}).source_of("S.B")


def test_a_damaged_registry(tmp_path: Path) -> None:
    (tmp_path / "sources.json").write_text("{")
    with pytest.raises(RelayError, match="cannot be read"):
        SchemaRegistry(tmp_path)
