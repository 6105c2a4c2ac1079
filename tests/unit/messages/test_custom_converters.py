"""Columns converted by Debezium's own converters, which are built in, and by a user's in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.messages.formats.test_avro import parts
from tests.unit.messages.test_column_changes import configured, encoded, encoder
from tests.unit.messages.test_envelope import LOG, NEW, ORDERS, event

from minercdc.errors import ConfigError, DecodeError, LakeError
from minercdc.lake.table.history import TableHistories
from minercdc.messages.avro.schema import avro_schema
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op
from minercdc.values.conversion import Conversion

ORACLE = "io.debezium.connector.oracle.converters."
TABLE = TableSchema(
    ORDERS.id,
    (
        Column("ID", "NUMBER", 9, 0, nullable=False),
        Column("FLAG", "NUMBER", 1, 0, default="1"),
        Column("BIG", "NUMBER", 30, -2),
        Column("CODE", "RAW", 8),
        Column("NAME", "VARCHAR2", 20, default="'none'"),
    ),
    key=(0,),
    stored=("ID", "FLAG", "BIG", "CODE", "NAME"),
)
ROW = ("1", "1", "1200", "414243", "x")


class Doubling:
    """Lengths in place of names, doubled numbers as keys."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.factor = int(options["factor"])

    def __call__(self, table: TableId, column: Column) -> Conversion | None:
        if column.name == "NAME":
            return Conversion("int32", len, name="com.example.Length", version=2, parameters={"of": "NAME"})
        if column.name == "ID":
            return Conversion("int64", lambda text: self.factor * int(text))
        return None


def of_type(kind: str, value: Any) -> Any:
    """A converter whose values are of a type."""
    return lambda _options: lambda _table, column: Conversion(kind, lambda _: value) if column.name == "NAME" else None


WRONG, NO_TYPE, NOTHING = of_type("int8", 300), of_type("decimal", 1), of_type("string", None)
BYTES, NAN = of_type("bytes", b"\x01"), of_type("float64", float("nan"))
NO_CONVERSION: Any = lambda _options: lambda _table, _column: "string"  # noqa: E731


def ours(name: str, **options: str) -> dict[str, str]:
    return {"converters": "mine", "mine.type": f"{__name__}:{name}", **{f"mine.{k}": v for k, v in options.items()}}


def row(properties: dict[str, str], values: Any = ROW) -> Any:
    (record,) = encoded(properties, event(Op.CREATE, None, values, TABLE))
    return json.loads(record.value or b"")["after"]


def test_a_number_of_one_digit_becomes_a_boolean() -> None:
    properties = {"converters": "b", "b.type": f"{ORACLE}NumberOneToBooleanConverter"}
    assert [row(properties, (*ROW[:1], flag, *ROW[2:]))["FLAG"] for flag in ("1", "0", None)] == [True, False, None]
    assert row({**properties, "b.selector": r"OTHER\..*"})["FLAG"] == 1
    assert row({**properties, "b.selector": r"SALES\.ORDERS\.FLAG"})["FLAG"] is True


def test_a_negative_scale_becomes_zero() -> None:
    properties = {"converters": "z", "z.type": f"{ORACLE}NumberToZeroScaleConverter"}
    assert row({})["BIG"] == "DA=="
    assert row(properties)["BIG"] == "BLA="
    assert row({**properties, "z.decimal.mode": "string"})["BIG"] == "1200"
    assert row({**properties, "z.decimal.mode": "double"})["BIG"] == 1200.0


def test_raw_becomes_text() -> None:
    properties = {"converters": "r", "r.type": f"{ORACLE}RawToStringConverter"}
    assert row(properties)["CODE"] == "ABC"
    assert row({**properties, "r.charset": "utf-16-be"}, (*ROW[:3], "00e4", "x"))["CODE"] == "ä"
    with pytest.raises(DecodeError, match="converter r failed at column CODE: UnicodeDecodeError"):
        row(properties, (*ROW[:3], "ff", "x"))


def test_a_class_in_python_gives_schema_and_value_of_columns_and_keys() -> None:
    properties = {**ours("Doubling", factor="2"), "value.converter.schemas.enable": "true"}
    (record,) = encoded(properties, event(Op.CREATE, None, ROW, TABLE))
    document = json.loads(record.value or b"")
    assert document["payload"]["after"].items() >= {"ID": 2, "NAME": 1, "FLAG": 1}.items()
    assert record.key == b'{"ID":2}'
    fields = {field["field"]: field for field in document["schema"]["fields"][1]["fields"]}
    assert fields["NAME"] == {
        "type": "int32",
        "optional": True,
        "field": "NAME",
        "name": "com.example.Length",
        "version": 2,
        "parameters": {"of": "NAME"},
    }
    assert fields["FLAG"]["default"] == 1
    (record,) = encoded({**properties, "decimal.handling.mode": "string"}, event(Op.CREATE, None, ROW, TABLE))
    avro: Any = avro_schema(parts(record.value)[0])
    assert avro["fields"][0]["type"][1]["fields"][4]["type"][1]["connect.name"] == "com.example.Length"


def test_the_first_converter_that_takes_a_column_counts() -> None:
    both = {**ours("Doubling", factor="3"), "converters": "mine,r", "r.type": f"{ORACLE}RawToStringConverter"}
    assert row(both).items() >= {"ID": 3, "CODE": "ABC"}.items()


@pytest.mark.parametrize(("name", "expected"), [("NOTHING", None), ("BYTES", "AQ=="), ("NAN", "NaN")])
def test_values_are_written_as_their_type_is(name: str, expected: Any) -> None:
    assert row(ours(name))["NAME"] == expected


def test_a_value_of_another_type_is_an_error_of_the_row() -> None:
    made = encoder(ours("WRONG"))
    with pytest.raises(DecodeError, match=r"converter mine failed at column NAME: TypeError\('300 is no int8'\)"):
        made.encode(event(Op.CREATE, None, ROW, TABLE))
    assert made.encode(event(Op.CREATE, None, ("a", None, None), LOG))


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"converters": "a"}, "a.type: needed, since converters lists a"),
        (
            {"converters": "a", "a.type": "com.example.Isbn"},
            "a.type: com.example.Isbn is a Java class, which cannot run here",
        ),
        (
            {"converters": "a", "a.type": f"{ORACLE}RawToStringConverter", "a.x": "1"},
            "a.x: this converter has no such option",
        ),
        (ours("Missing"), "mine.type: .* cannot be loaded"),
        (ours("NO_TYPE"), "mine gives column NAME the type decimal, which there is not"),
        (ours("NO_CONVERSION"), "mine returned 'string', not minercdc.values.conversion.Conversion"),
        (
            {"converters": "a", "a.type": f"{ORACLE}RawToStringConverter", "a.charset": "x"},
            "a.charset: unknown character set x",
        ),
        (
            {"converters": "a", "a.type": f"{ORACLE}NumberToZeroScaleConverter", "a.decimal.mode": "x"},
            "a.decimal.mode: x is not one of",
        ),
        ({"converters": "a", "a.type": f"{ORACLE}RawToStringConverter", "a.selector": "("}, "a.selector: "),
    ],
)
def test_problems_are_named(properties: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        row(properties)


def test_converted_columns_are_not_read_back() -> None:
    with pytest.raises(LakeError, match="converters"):
        TableHistories(configured(ours("Doubling", factor="2")))


def test_a_value_that_redo_lacks_is_not_converted() -> None:
    shown = of_type_of(repr)
    globals()["SHOWN"] = shown
    assert row(ours("SHOWN"), (*ROW[:4], UNAVAILABLE))["NAME"] == "__debezium_unavailable_value"
    assert row(ours("SHOWN"))["NAME"] == "'x'"
    assert row(ours("Doubling", factor="2"), (*ROW[:4], UNAVAILABLE))["NAME"] is None


def of_type_of(convert: Any) -> Any:
    return lambda _options: lambda _table, column: Conversion("string", convert) if column.name == "NAME" else None


def test_other_columns_stay() -> None:
    (plain,), (made,) = (encoded(p, event(Op.CREATE, None, NEW)) for p in ({}, ours("BYTES")))
    assert json.loads(plain.value or b"")["after"] == json.loads(made.value or b"")["after"]
