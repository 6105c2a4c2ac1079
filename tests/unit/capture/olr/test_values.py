"""OpenLogReplicator's values to canonical Row text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from minercdc.capture.olr.message import ABSENT, Binary, Number, Operation, Single
from minercdc.capture.olr.rows import RowReader
from minercdc.capture.olr.values import converter
from minercdc.config.source.olr import OlrConfig
from minercdc.errors import SchemaMismatchError, ValueDecodeError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE

DEFAULTS: dict[str, Any] = {}
TZ, LTZ = "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"
YM, DS = "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND"


def text_of(type_name: str, value: Any, precision: int | None = None, **settings: Any) -> str | None:
    given: dict[str, Any] = {f"minercdc.olr.{name.replace('_', '.')}": setting for name, setting in settings.items()}
    return converter(Column("C", type_name, precision), OlrConfig(**given))(value)


@pytest.mark.parametrize(
    ("type_name", "value", "expected"),
    [
        ("NUMBER", Number("1234567890123456789012345678901234567890"), "1234567890123456789012345678901234567890"),
        ("NUMBER", Number("-.50"), "-0.5"),
        ("NUMBER", Number("1E-130"), "0." + "0" * 129 + "1"),
        ("NUMBER", "12345678901234567890.12", "12345678901234567890.12"),
        ("NUMBER", Binary("0.1"), "0.1"),
        ("BINARY_DOUBLE", Number("Infinity"), "Infinity"),
        ("BINARY_FLOAT", Number("1.5e+10"), "15000000000.0"),
        ("VARCHAR2", "?", "?"),
        ("VARCHAR2", "", None),
        ("CHAR", "a  ", "a  "),
        ("NVARCHAR2", "grün \U0001f600", "grün \U0001f600"),
        ("VARCHAR2", "a\ud83d", "a\ufffd"),
        ("DATE", Number("1700000000000000000"), "2023-11-14 22:13:20"),
        ("DATE", "2023-11-14T22:13:20Z", "2023-11-14 22:13:20"),
        ("DATE", "2023-11-14", "2023-11-14 00:00:00"),
        ("DATE", "-4712-01-01 00:00:00", "-4712-01-01 00:00:00"),
        ("DATE", "4712BC-01-01T00:00:00", "-4712-01-01 00:00:00"),
        ("DATE", Number("253402300799000000000"), "9999-12-31 23:59:59"),
        ("TIMESTAMP", Number("-1"), "1969-12-31 23:59:59.999999999"),
        ("TIMESTAMP", "2023-11-14 22:13:20.5", "2023-11-14 22:13:20.500000000"),
        (LTZ, Number("1700000000123456789"), "2023-11-14 22:13:20.123456789"),
        (TZ, "1700000000123456789,+02:00", "2023-11-15 00:13:20.123456789 +02:00"),
        (TZ, "2023-11-14T22:13:20.5Z -03:30", "2023-11-14 18:43:20.500000000 -03:30"),
        (TZ, "1700000000000000000,Europe/Warsaw", "2023-11-14 23:13:20.000000000 +01:00"),
        (TZ, "1700000000000000000,UTC", "2023-11-14 22:13:20.000000000 +00:00"),
        ("RAW", "DEADbeef", "deadbeef"),
        ("RAW", b"\x00\xff", "00ff"),
        ("BLOB", "", ""),
        ("CLOB", "", ""),
        (YM, Number("-14"), "-1-2"),
        (YM, "+01-02", "1-2"),
        (DS, Number("-90000000000001"), "-1 01:00:00.000000001"),
        (DS, "1,02:03:04.500000000", "1 02:03:04.500000000"),
        ("XMLTYPE", "<a/>", "<a/>"),
        ("BOOLEAN", Number("1"), "true"),
        ("BOOLEAN", Number("0"), "false"),
    ],
)
def test_values(type_name: str, value: Any, expected: str | None) -> None:
    assert text_of(type_name, value) == expected


@pytest.mark.parametrize("type_name", ["NUMBER", "DATE", "RAW", TZ, YM, DS, "VARCHAR2", "CLOB"])
def test_null(type_name: str) -> None:
    assert text_of(type_name, None) is None


@pytest.mark.parametrize(
    ("type_name", "value", "message"),
    [
        ("NUMBER", "?", "cannot decode"),
        ("NUMBER", "12a", "not a NUMBER"),
        ("NUMBER", b"1", "bytes"),
        ("NUMBER", Binary("0.30000000000000004"), "binary number"),
        ("DATE", "yesterday", "not a date"),
        ("DATE", Number("9" * 24), "timestamp.unit"),
        (TZ, "1700000000000000000", "no time zone"),
        (TZ, "1700000000000000000,Nowhere/Else", "time zone"),
        ("RAW", "abc", "hexadecimal"),
        (YM, "x", "interval"),
        ("JSON", "{}", "cannot be read"),
        ("BOOLEAN", Number("2"), "not a BOOLEAN"),
        ("BOOLEAN", ABSENT, "has no content"),
        ("DATE", ABSENT, "has no content"),
        ("RAW", ABSENT, "has no content"),
    ],
)
def test_what_cannot_be_right_is_refused(type_name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueDecodeError, match=message):
        text_of(type_name, value)


@pytest.mark.parametrize(
    ("shown", "precision", "expected"),
    [
        ("0.5", None, "0.5"),
        ("0.000123456", None, "0.000123456"),
        ("-123456.0", None, "-123456"),
        ("1234567.0", None, None),
        ("123456790.0", None, None),
        ("1000000000.0", None, None),  # 1000000001 comes as the same float
        ("1.2345678", None, None),
        ("123456.0", 6, "123456"),
        ("1.5", 3, "1.5"),
        ("123450000.0", 5, "123450000"),  # of a NUMBER(5,-4)
        ("0.12345678", 6, None),
    ],
)
def test_a_number_from_a_float32_has_six_digits_or_is_refused(
    shown: str, precision: int | None, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(ValueDecodeError, match="float32.*\n.*format.type to json"):
            text_of("NUMBER", Single(shown), precision)
    else:
        assert text_of("NUMBER", Single(shown), precision) == expected
    assert text_of("BINARY_FLOAT", Single(shown)) == shown


@pytest.mark.parametrize("value", [Number("1749983400"), "1749983401"])
def test_seconds_are_no_nanoseconds(value: str) -> None:
    """As a server with `timestamp` 3 or 7 sends them: they would be dates of 1970."""
    for column in (
        Column("C", "DATE"),
        Column("C", "TIMESTAMP", scale=6),
        Column("C", LTZ, scale=0),
        Column("C", TZ, scale=6),
    ):
        shown = f"{value},+00:00" if column.type_name == TZ else value
        with pytest.raises(ValueDecodeError, match=r"1970-01-01 00:00:01.*(?s:.)*minercdc.olr.timestamp.unit"):
            converter(column, OlrConfig(**DEFAULTS))(shown)
        seconds: dict[str, Any] = {"minercdc.olr.timestamp.unit": "s"}
        assert str(converter(column, OlrConfig(**seconds))(shown)).startswith("2025-06-15 10:30:0")
    with pytest.raises(ValueDecodeError, match=r"more than the 6 digits(?s:.)*interval-dts 9"):
        converter(Column("C", DS, scale=6), OlrConfig(**DEFAULTS))(Number("-90001"))
    assert converter(Column("C", "TIMESTAMP", scale=6), OlrConfig(**DEFAULTS))("1749983400123456000") == (
        "2025-06-15 10:30:00.123456000"
    )


def test_settings_of_times() -> None:
    assert text_of("DATE", Number("1700000000"), timestamp_unit="s") == "2023-11-14 22:13:20"
    assert text_of("TIMESTAMP", "1700000000123", timestamp_unit="ms") == "2023-11-14 22:13:20.123000000"
    local = text_of(TZ, "2023-07-14T22:13:20 Europe/Warsaw", timestamp_tz_clock="local")
    assert local == "2023-07-14 22:13:20.000000000 +02:00"
    assert text_of("DATE", ABSENT, protobuf_nulls="accept") is None
    assert text_of("NUMBER", ABSENT) is None


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-210_866_803_200, 253_402_300_799), st.integers(0, 999_999_999))
def test_numbers_and_dates_of_one_moment_are_one_text(seconds: int, fraction: int) -> None:
    found = text_of("TIMESTAMP", Number(seconds * 10**9 + fraction))
    assert found is not None
    assert text_of("TIMESTAMP", found) == found
    assert found.endswith(f".{fraction:09d}")


# ---- rows ----

COLUMNS = (Column("ID", "NUMBER"), Column("NAME", "VARCHAR2"), Column("DOC", "CLOB"))
SCHEMA = TableSchema(TableId("DB", "S", "T"), COLUMNS, (0,), stored=("ID", "NAME", "DOC", "GONE"))


def reader(**more: Any) -> RowReader:
    return RowReader(SCHEMA, OlrConfig(**DEFAULTS), **{"lobs": True, **more})


def test_an_update_keeps_what_it_does_not_change() -> None:
    operation = Operation("u", before={"ID": Number("1"), "NAME": "a"}, after={"ID": Number("2")})
    assert reader().read(operation)[1:] == (("1", "a", UNAVAILABLE), ("2", "a", UNAVAILABLE))


def test_what_is_missing_is_not_null() -> None:
    assert reader().read(Operation("d", before={"ID": Number("1")}))[1:] == (("1", UNAVAILABLE, UNAVAILABLE), None)
    inserted = Operation("c", after={"ID": Number("1"), "NAME": None, "DOC": "x"})
    assert reader().read(inserted)[1:] == (None, ("1", None, "x"))
    assert reader(lobs=False).read(inserted)[2] == ("1", None, UNAVAILABLE)


def test_an_insert_without_its_nulls_is_refused() -> None:
    with pytest.raises(SchemaMismatchError, match="does not contain NAME") as refused:
        reader().read(Operation("c", after={"ID": Number("1")}))
    assert "column to 2" in str(refused.value)
    # A column that is younger than the row.
    assert reader().read(Operation("c", after={"ID": "1"}, columns=frozenset({"ID"})))[2] == ("1", UNAVAILABLE, UNAVAILABLE)


def test_columns_that_the_table_does_not_have() -> None:
    assert reader().unknown(Operation("u", before={"ID": "1", "GONE": "1"}, after={"NEW": "2"})) == ["NEW"]


def test_a_number_whose_lost_digits_may_not_show_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    columns = (Column("ID", "NUMBER", 5), Column("V", "NUMBER"), Column("F", "FLOAT", 126))
    rows = RowReader(TableSchema(TableId("DB", "S", "T"), columns, (0,)), OlrConfig(**DEFAULTS), lobs=True)
    change = Operation("c", after={"ID": Single("7"), "V": Number("5"), "F": Number("5")})
    rows.read(change)
    assert caplog.messages == []  # five digits fit, and a number in text has all of its own
    for _ in range(2):
        rows.read(Operation("c", after={"ID": Single("7"), "V": Single("5"), "F": Number("5")}))
    assert [message.split()[0] for message in caplog.messages] == ["S.T.V"]
