"""Redo literal and driver value give the same Row text; Row text gives Debezium's JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.errors import MinerCdcError, ValueDecodeError
from minercdc.schema.table import Column
from minercdc.values.codec import ValueHandling, codec_for, is_supported, reading_for
from minercdc.values.number import canonical
from minercdc.values.temporal import days_from_civil

DEFAULT = ValueHandling()


def column(type_name: str, length: int | None = None, scale: int | None = None) -> Column:
    return Column("C", type_name, length, scale)


LITERALS = [
    (column("NUMBER", 10, 0), "'42'", "42"),
    (column("NUMBER", 10, 2), "'.5'", "0.5"),
    (column("NUMBER", 10, 2), "'-.05'", "-0.05"),
    (column("NUMBER", 10, 3), "'4.250'", "4.25"),
    (column("NUMBER"), "'1.5E+3'", "1500"),
    (column("NUMBER"), "'1E-5'", "0.00001"),
    (column("NUMBER"), "'" + "9" * 38 + "'", "9" * 38),
    (column("BINARY_DOUBLE"), "'7.25E+003'", "7250.0"),
    (column("BINARY_FLOAT"), "'1.00000001E-001'", "0.1"),
    (column("BINARY_DOUBLE"), "'Nan'", "NaN"),
    (column("BINARY_DOUBLE"), "'-Inf'", "-Infinity"),
    (column("VARCHAR2", 80), "'''tis O''Hara''''s'", "'tis O'Hara''s"),
    (column("CHAR", 10), "'ab        '", "ab        "),
    (column("NCHAR", 6), r"UNISTR('\00E9t\00E9   ')", "été   "),
    (column("NVARCHAR2", 20), r"UNISTR('ok \D83D\DE00!')", "ok 😀!"),
    (column("NVARCHAR2", 20), "UNISTR('a') || UNISTR('||') || UNISTR('b')", "a||b"),
    (column("NVARCHAR2", 40), r"UNISTR('it''s a \\ in ('') \00FC')", "it's a \\ in (') ü"),
    (column("DATE"), "TO_DATE('2024-02-29 06:07:08', 'YYYY-MM-DD HH24:MI:SS')", "2024-02-29 06:07:08"),
    (column("DATE"), "TO_DATE('09-JUN-21', 'DD-MON-RR')", "2021-06-09 00:00:00"),
    (column("DATE"), "TO_DATE('31-DEC-99', 'DD-MON-RR')", "1999-12-31 00:00:00"),
    (column("DATE"), "TO_DATE('0000-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')", "0000-01-01 00:00:00"),
    (column("TIMESTAMP", None, 6), "TO_TIMESTAMP('2025-07-11 08:09:10.654321000')", "2025-07-11 08:09:10.654321000"),
    (column("TIMESTAMP", None, 3), "TO_TIMESTAMP('2025-07-11 08:09:10.654')", "2025-07-11 08:09:10.654000000"),
    (column("TIMESTAMP", None, 0), "TO_TIMESTAMP('2021-09-30 12:00:00.')", "2021-09-30 12:00:00.000000000"),
    (column("TIMESTAMP", None, 6), "TO_TIMESTAMP('07-OCT-22 11.59.58.765000 PM')", "2022-10-07 23:59:58.765000000"),
    (column("TIMESTAMP", None, 6), "TO_TIMESTAMP('07-OCT-22 12.00.00.000000 AM')", "2022-10-07 00:00:00.000000000"),
    (column("TIMESTAMP", None, 6), "TO_TIMESTAMP('-4712-01-01 00:00:00.000000000')", "-4712-01-01 00:00:00.000000000"),
    (
        column("TIMESTAMP WITH TIME ZONE", None, 6),
        "TO_TIMESTAMP_TZ('2025-07-11 08:09:10.500000000 +05:30')",
        "2025-07-11 08:09:10.500000000 +05:30",
    ),
    (
        column("TIMESTAMP WITH LOCAL TIME ZONE", None, 6),
        "TO_TIMESTAMP_TZ('2025-11-02 06:05:04.250000000')",
        "2025-11-02 06:05:04.250000000",
    ),
    (column("INTERVAL YEAR TO MONTH"), "TO_YMINTERVAL('+0101-11')", "101-11"),
    (column("INTERVAL YEAR TO MONTH"), "TO_YMINTERVAL('-04-01')", "-4-1"),
    (column("INTERVAL DAY TO SECOND"), "TO_DSINTERVAL('+00012 00:00:00.000001')", "12 00:00:00.000001000"),
    (column("INTERVAL DAY TO SECOND"), "TO_DSINTERVAL('-002 01:01:01.01')", "-2 01:01:01.010000000"),
    (column("RAW", 16), "HEXTORAW('CAFE0012ab')", "cafe0012ab"),
    (column("ROWID"), "'AAASo8AAMAAAACXAAA'", "AAASo8AAMAAAACXAAA"),
]


@pytest.mark.parametrize(("col", "literal", "text"), LITERALS)
def test_redo_literal_becomes_canonical_row_text(col: Column, literal: str, text: str) -> None:
    assert codec_for(col, DEFAULT).from_redo(literal) == text


DRIVER = [
    (column("NUMBER", 10, 2), "0.5", "0.5"),
    (column("NUMBER", 10, 0), 42, "42"),
    (column("BINARY_FLOAT"), 0.10000000149011612, "0.1"),
    (column("BINARY_DOUBLE"), 7250.0, "7250.0"),
    (column("DATE"), " 2024-02-29 06:07:08", "2024-02-29 06:07:08"),
    (column("DATE"), "-4712-01-01 00:00:00", "-4712-01-01 00:00:00"),
    (column("TIMESTAMP", None, 6), " 2025-07-11 08:09:10.654321000", "2025-07-11 08:09:10.654321000"),
    (column("INTERVAL YEAR TO MONTH"), "+01-02", "1-2"),
    (column("RAW", 4), b"\xca\xfe", "cafe"),
    (column("CHAR", 4), "ab  ", "ab  "),
]


@pytest.mark.parametrize(("col", "value", "text"), DRIVER)
def test_driver_value_becomes_the_same_row_text(col: Column, value: object, text: str) -> None:
    assert codec_for(col, DEFAULT).from_driver(value) == text


JSON = [
    (column("NUMBER", 2, 0), {}, "12", "int8", None, "12"),
    (column("NUMBER", 4, 0), {}, "-12", "int16", None, "-12"),
    (column("NUMBER", 9, 0), {}, "12", "int32", None, "12"),
    (column("NUMBER", 18, 0), {}, "12", "int64", None, "12"),
    (column("NUMBER", 5, -3), {}, "12000", "int32", None, "12000"),
    (column("NUMBER", 5, -3), {"decimal": "string"}, "12000", "int32", None, "12000"),
    (column("NUMBER", 9, 0), {"decimal": "string"}, "12", "string", None, '"12"'),
    (column("NUMBER", 9, 0), {"decimal": "double"}, "12", "float64", None, "12.0"),
    (column("NUMBER", 10, 2), {"decimal": "string"}, "12.5", "string", None, '"12.50"'),
    (column("NUMBER", 10, 2), {"decimal": "double"}, "12.5", "float64", None, "12.5"),
    (column("NUMBER", 10, 2), {}, "12.5", "bytes", "org.apache.kafka.connect.data.Decimal", '"BOI="'),
    (column("NUMBER", None, 0), {}, "128", "bytes", "org.apache.kafka.connect.data.Decimal", '"AIA="'),
    (column("NUMBER", 10, 2), {}, "-1.28", "bytes", "org.apache.kafka.connect.data.Decimal", '"gA=="'),
    (column("NUMBER"), {}, "78.724", "struct", "io.debezium.data.VariableScaleDecimal", '{"scale":3,"value":"ATOE"}'),
    (column("FLOAT", 126), {}, "2", "struct", "io.debezium.data.VariableScaleDecimal", '{"scale":0,"value":"Ag=="}'),
    (column("NUMBER"), {"decimal": "string"}, "1500", "string", None, '"1500"'),
    (column("BINARY_FLOAT"), {}, "0.1", "float32", None, "0.1"),
    (column("BINARY_DOUBLE"), {}, "NaN", "float64", None, '"NaN"'),
    (column("VARCHAR2", 9), {}, 'a"\n\\é', "string", None, '"a\\"\\n\\\\é"'),
    (column("DATE"), {}, "1970-01-01 00:00:00", "int64", "io.debezium.time.Timestamp", "0"),
    (column("DATE"), {}, "2026-02-28 13:45:59", "int64", "io.debezium.time.Timestamp", "1772286359000"),
    (column("DATE"), {"time_precision": "connect"}, "1969-12-31 23:59:59", "int64", "org.apache.kafka.connect.data.Timestamp", "-1000"),
    (column("DATE"), {"time_precision": "isostring"}, "2026-02-28 13:45:59", "string", "io.debezium.time.IsoTimestamp", '"2026-02-28T13:45:59Z"'),
    # Oracle has no year 0: 1 BC is ISO 8601's 0000, which has no sign.
    (column("DATE"), {"time_precision": "isostring"}, "-0001-12-31 13:45:59", "string", "io.debezium.time.IsoTimestamp", '"0000-12-31T13:45:59Z"'),
    (column("DATE"), {"time_precision": "isostring"}, "-0002-01-01 00:00:00", "string", "io.debezium.time.IsoTimestamp", '"-0001-01-01T00:00:00Z"'),
    (column("TIMESTAMP WITH TIME ZONE", scale=0), {}, "-0001-12-31 01:02:03.000000000 +02:00", "string", "io.debezium.time.ZonedTimestamp", '"0000-12-31T01:02:03+02:00"'),
    (column("TIMESTAMP", None, 3), {}, "1970-01-01 00:00:01.250000000", "int64", "io.debezium.time.Timestamp", "1250"),
    (column("TIMESTAMP", None, 6), {}, "1970-01-01 00:00:01.250001000", "int64", "io.debezium.time.MicroTimestamp", "1250001"),
    (column("TIMESTAMP"), {}, "1969-12-31 23:59:59.750000000", "int64", "io.debezium.time.MicroTimestamp", "-250000"),
    (column("TIMESTAMP", None, 9), {}, "1970-01-01 00:00:00.000000001", "int64", "io.debezium.time.NanoTimestamp", "1"),
    (column("TIMESTAMP", None, 9), {"time_precision": "microseconds"}, "1970-01-01 00:00:00.000001999", "int64", "io.debezium.time.MicroTimestamp", "1"),
    (column("TIMESTAMP WITH TIME ZONE", None, 6), {}, "2026-11-20 09:15:00.250000000 +05:30", "string", "io.debezium.time.ZonedTimestamp", '"2026-11-20T09:15:00.250000+05:30"'),
    (column("TIMESTAMP WITH LOCAL TIME ZONE", None, 6), {}, "2026-11-20 09:15:00.000000000", "string", "io.debezium.time.ZonedTimestamp", '"2026-11-20T09:15:00.000000Z"'),
    (column("INTERVAL YEAR TO MONTH"), {}, "1-2", "int64", "io.debezium.time.MicroDuration", "36817200000000"),
    (column("INTERVAL YEAR TO MONTH"), {"interval": "string"}, "-4-1", "string", "io.debezium.time.Interval", '"P-4Y-1M0DT0H0M0S"'),
    (column("INTERVAL DAY TO SECOND"), {}, "-2 01:01:01.010000000", "int64", "io.debezium.time.MicroDuration", "-176461010000"),
    (column("INTERVAL DAY TO SECOND"), {"interval": "string"}, "3 04:05:06.780000000", "string", "io.debezium.time.Interval", '"P0Y0M3DT4H5M6.78S"'),
    (column("RAW", 4), {}, "cafe", "bytes", None, '"yv4="'),
    (column("RAW", 4), {"binary": "base64-url-safe"}, "fbff", "string", None, '"-_8="'),
    (column("RAW", 4), {"binary": "hex"}, "cafe", "string", None, '"cafe"'),
]  # fmt: skip


@pytest.mark.parametrize(("col", "handling", "text", "type_", "name", "fragment"), JSON)
def test_row_text_becomes_json(
    col: Column, handling: dict[str, str], text: str, type_: str, name: str | None, fragment: str
) -> None:
    codec = codec_for(col, ValueHandling(**handling))  # type: ignore[arg-type]
    assert (codec.field.type, codec.field.name) == (type_, name)
    assert codec.to_json(text) == fragment


def test_decimal_names_scale_and_precision() -> None:
    field = codec_for(column("NUMBER", 10, 2), DEFAULT).field
    assert (field.version, field.parameters) == (1, {"scale": "2", "connect.decimal.precision": "10"})


@pytest.mark.parametrize(
    ("col", "text"),
    [
        (column("NUMBER", 5, 0), "1.5"),
        (column("NUMBER", 5, 0), "x"),
        (column("NUMBER", 5, 2), "1.234"),
        (column("NUMBER"), "--1"),
        (column("NUMBER", 5, 0), "٣"),
        (column("DATE"), "2026"),
        (column("TIMESTAMP", None, 9), "2300-01-01 00:00:00.000000000"),
        (column("RAW", 4), "xy"),
        (column("INTERVAL YEAR TO MONTH"), "1"),
    ],
)
def test_text_that_does_not_fit_its_type_is_refused(col: Column, text: str) -> None:
    with pytest.raises(ValueDecodeError):
        codec_for(col, DEFAULT).to_json(text)


@pytest.mark.parametrize(
    "literal", ["'1", "1", "TO_DATE('1')", "NULL", "'1' x", "FOO('1')", "UNISTR('a') || 'b'", "HEXTORAW('c102')"]
)
def test_literal_that_is_no_number_is_refused(literal: str) -> None:
    with pytest.raises(MinerCdcError):
        codec_for(column("NUMBER", 5, 0), DEFAULT).from_redo(literal)


def test_unsupported_type_is_named() -> None:
    assert not is_supported(column("SDO_GEOMETRY"))
    with pytest.raises(ValueDecodeError, match="SDO_GEOMETRY"):
        codec_for(column("SDO_GEOMETRY"), DEFAULT)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=8))
def test_any_number_survives(value: Decimal) -> None:
    text = codec_for(column("NUMBER"), DEFAULT).from_redo(f"'{value}'")
    fragment = json.loads(codec_for(column("NUMBER"), DEFAULT).to_json(text))
    unscaled = int.from_bytes(base64.b64decode(fragment["value"]), "big", signed=True)
    assert Fraction(unscaled, 10 ** fragment["scale"]) == Fraction(value) == Fraction(text)


@given(st.dates())
def test_day_numbers_agree_with_the_calendar(day: date) -> None:
    assert days_from_civil(day.year, day.month, day.day) == (day - date(1970, 1, 1)).days


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_text_survives_unistr(value: str) -> None:
    units = value.encode("utf-16-be")
    escaped = "".join(f"\\{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    codec = codec_for(column("NVARCHAR2", 80), DEFAULT)
    assert codec.from_redo(f"UNISTR('{escaped}')") == value
    assert json.loads(codec.to_json(value)) == value


@given(st.integers(-(10**14), 10**14), st.integers(0, 6))
def test_decimals_are_the_bytes_of_the_unscaled_number(unscaled: int, scale: int) -> None:
    text = canonical(format(Decimal(unscaled).scaleb(-scale), "f"))
    encoded = json.loads(codec_for(column("NUMBER", 38, scale), ValueHandling(decimal="precise")).to_json(text))
    if isinstance(encoded, int):
        assert encoded == unscaled
    else:
        image = base64.b64decode(encoded)
        assert int.from_bytes(image, "big", signed=True) == unscaled
        assert len(image) == (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)), st.sampled_from([3, 6]))
def test_times_are_counted_from_the_epoch(time: datetime, digits: int) -> None:
    text = f"{time:%m-%d %H:%M:%S.%f}000"
    codec = codec_for(column("TIMESTAMP", None, digits), DEFAULT)
    since = time - datetime(1970, 1, 1)
    assert int(codec.to_json(f"{time.year:04d}-{text}")) == since // timedelta(microseconds=10 ** (6 - digits))


NUMBERS = ("7", ".5", "-.5", "4.20", "+3", "007", "-0", "1E+3", "-12.0", ".00", "100", "9" * 20)
DATES = ("2026-02-28 13:45:59", "-0044-03-15 01:02:03", "31-DEC-99", "1500-02-29 00:00:00")
TIMES = (*DATES, "2026-02-28 13:45:59.", "2026-02-28 13:45:59.12", "28-FEB-26 01.45.59.765000 PM")
TIME_PRECISIONS = ("adaptive", "connect", "isostring", "microseconds", "nanoseconds")
BINARY = ("bytes", "base64", "base64-url-safe", "hex")
ZONED = ("2026-02-28 13:45:59.5 +05:30", "28-FEB-26 01.45.59.765000 PM -03:00")
SPELLINGS = [
    (Column("C", "NUMBER"), NUMBERS),
    (Column("C", "FLOAT", 126), NUMBERS),
    (Column("C", "NUMBER", 38, 0), NUMBERS),
    (Column("C", "NUMBER", 24, 2), NUMBERS),
    (Column("C", "DATE"), DATES),
    (Column("C", "TIMESTAMP", None, 3), TIMES),
    (Column("C", "TIMESTAMP", None, 6), TIMES),
    (Column("C", "TIMESTAMP", None, 9), TIMES),
    (Column("C", "TIMESTAMP WITH LOCAL TIME ZONE", None, 6), TIMES),
    (Column("C", "TIMESTAMP WITH TIME ZONE", None, 6), ZONED),
    (Column("C", "RAW", 16), ("CAFE", "cafe", "0aF0")),
]


@pytest.mark.parametrize(("col", "spellings"), SPELLINGS, ids=lambda value: str(value)[:60])
def test_a_spelling_is_printed_as_its_canonical_text(col: Column, spellings: tuple[str, ...]) -> None:
    reading = reading_for(col)
    assert reading.spellings
    converts = {convert for convert in reading.literals.values() if convert}
    assert converts
    assert not any(reading.as_spelled().literals.values())
    for decimal, time_precision, binary in product(("precise", "string", "double"), TIME_PRECISIONS, BINARY):
        handling = ValueHandling(decimal, time_precision, binary=binary)  # type: ignore[arg-type]
        to_json = codec_for(col, handling).to_json
        for convert, text in product(converts, spellings):
            assert _outcome(to_json, text) == _outcome(to_json, convert(text)), text


def _outcome(convert: Callable[[str], str], text: str) -> str:
    """JSON, or that it is refused."""
    try:
        return convert(text)
    except ValueDecodeError:
        return "refused"
