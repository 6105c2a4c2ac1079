"""Types beyond NUMBER, VARCHAR2 and DATE: literals, conversions, arithmetic, order, storing."""

from __future__ import annotations

import math

import pytest
from sandbox.tests.unit.sql.client import SqlClient

from minercdc_sandbox.interfaces import OraType
from minercdc_sandbox.sql import binary, calendar, intervals, temporal, zones


def text(shop: SqlClient, expression: str) -> object:
    return shop.value(f"to_char({expression})")


# ---- binary floats ----


@pytest.mark.parametrize(
    ("value", "size", "image"),
    [
        (1.5, 4, "bfc00000"),
        (-1.5, 4, "403fffff"),
        (2.5, 8, "c004000000000000"),
        (-2.5, 8, "3ffbffffffffffff"),
        (0.0, 8, "8000000000000000"),
        (-0.0, 8, "8000000000000000"),
        (math.inf, 4, "ff800000"),
        (1e300, 4, "ff800000"),
    ],
)
def test_binary_floats_have_the_documented_images(value: float, size: int, image: str) -> None:
    assert binary.encode(value, size).hex() == image


def test_order_of_binary_floats_is_that_of_their_bytes() -> None:
    values = [-math.inf, -1e300, -1.5, -5e-324, 0.0, 5e-324, 1.0, 1e300, math.inf, math.nan]
    images = [binary.encode(value, 8) for value in values]
    assert images == sorted(images)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1.5f", "1.5E+000"),
        ("15000000500f", "1.50000005E+010"),
        ("2.5d + 1", "3.5E+000"),
        ("1.1f + 1.1d", "2.200000023841858E+000"),
        ("1/0d", "Inf"),
        ("-1/0f", "-Inf"),
        ("0/0d", "Nan"),
        ("-0d", "0"),
        ("binary_double_infinity * 0", "Nan"),
        ("to_binary_double('-1.25E2')", "-1.25E+002"),
        ("to_number(0.1d)", ".1"),
        ("to_number(1.1f)", "1.10000002"),
        ("nanvl(binary_float_nan, 7)", "7E+000"),
        ("mod(7.5d, 2)", "1.5E+000"),
        ("round(2.55d, 1)", "2.6E+000"),
        ("trunc(-2.59f, 1)", "-2.5E+000"),
        ("sqrt(-1d)", "Nan"),
        ("coalesce(null, 1f, 2d)", "1E+000"),
        ("cast('3' as binary_double)", "3E+000"),
    ],
)
def test_binary_float_expressions(shop: SqlClient, expression: str, expected: str) -> None:
    assert text(shop, expression) == expected


def test_nan_is_greatest_and_equal_to_itself(shop: SqlClient) -> None:
    shop.run("create table f (n number, v binary_double)")
    for n, value in enumerate(["binary_double_nan", "1/0d", "-1/0d", "0d", "-2.5", "1e308d"]):
        shop.run(f"insert into f values ({n}, {value})")
    assert [n for (n,) in shop.rows("select n from f order by v")] == [2, 4, 3, 5, 1, 0]
    assert shop.rows("select n from f where v = binary_float_nan") == [(0,)]
    assert shop.rows("select n from f where v is nan or v is infinite order by n") == [(0,), (1,), (2,)]
    assert shop.value("(select to_char(sum(v)) from f where v is not nan and v is not infinite)") == "1E+308"
    shop.fails(1722, "select to_number(binary_double_nan) from dual")
    shop.fails(1426, "select to_number(1/0d) from dual")
    shop.fails(1426, "select to_binary_float('1e99') from dual")


# ---- time zones ----


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("timestamp '2024-07-01 12:00:00 Europe/Berlin', 'HH24:MI TZR TZH:TZM'", "12:00 Europe/Berlin +02:00"),
        ("timestamp '2024-01-01 12:00:00 Europe/Berlin' at time zone '-05:30', 'HH24:MI TZH:TZM'", "05:30 -05:30"),
        ("timestamp '2024-10-27 02:30:00 Europe/Berlin' at time zone 'UTC', 'HH24:MI'", "01:30"),
        ("from_tz(timestamp '2024-01-01 00:00:00', '+02:00') at time zone '+00:00', 'DD HH24'", "31 22"),
        ("sys_extract_utc(timestamp '2024-01-01 00:00:00 +02:00'), 'DD HH24'", "31 22"),
        ("to_timestamp_tz('2024 +05:30', 'YYYY TZH:TZM'), 'TZR'", "+05:30"),
        ("timestamp '2024-03-31 01:59:59 +01:00' + interval '1' second, 'HH24:MI:SS TZH'", "02:00:00 +01"),
        ("timestamp '2024-03-30 12:00:00 Europe/Berlin' + interval '1' day, 'HH24 TZH'", "13 +02"),
    ],
)
def test_zoned_timestamps(shop: SqlClient, expression: str, expected: str) -> None:
    assert text(shop, expression) == expected


def test_zoned_timestamps_compare_by_instant_and_local_ones_move_with_the_session(shop: SqlClient) -> None:
    shop.run("alter session set time_zone = '+02:00'")
    shop.run("create table z (n number, tz timestamp with time zone, l timestamp with local time zone)")
    shop.run("insert into z values (1, timestamp '2024-01-01 12:00:00 +05:00', timestamp '2024-01-01 12:00:00')")
    shop.run("insert into z values (2, timestamp '2024-01-01 08:00:00 +00:00', timestamp '2024-01-01 12:00:00 +05:00')")
    assert shop.rows("select n from z order by tz") == [(1,), (2,)]
    assert shop.rows("select n from z where tz = timestamp '2024-01-01 09:00:00'") == [(1,)]
    assert shop.rows("select n from z order by l") == [(2,), (1,)]
    assert shop.rows("select to_char(l, 'HH24:MI') from z order by n") == [("12:00",), ("09:00",)]
    shop.run("alter session set time_zone = 'America/New_York'")
    assert shop.rows("select to_char(l, 'HH24:MI') from z order by n") == [("05:00",), ("02:00",)]
    assert shop.rows("select extract(hour from tz), extract(timezone_hour from tz), extract(hour from l) from z") == [
        (7, 5, 5),
        (8, 0, 2),
    ]
    assert shop.value("sessiontimezone") == "America/New_York"
    assert shop.rows("select to_char(min(tz), 'TZH'), to_char(max(tz), 'TZH') from z") == [("+05", "+00")]
    assert (
        shop.value(
            "to_char(greatest(timestamp '2024-01-01 12:00:00 +05:00', timestamp '2024-01-01 08:00:00 +00:00'), 'HH24')"
        )
        == "08"
    )
    shop.fails(2329, "create table y (tz timestamp with time zone primary key)")
    shop.fails(1882, "alter session set time_zone = 'Mars/Olympus'")
    shop.fails(1878, "select timestamp '2024-03-31 02:30:00 Europe/Berlin' from dual")
    shop.fails(1874, "select timestamp '2024-03-31 02:30:00 +16:00' from dual")


def test_region_survives_in_the_stored_bytes() -> None:
    cell = temporal.zoned((2024, 7, 1, 12, 0, 0, 0), zones.parse("europe/berlin"))
    assert len(cell) == 13
    assert cell[11] & 0x80
    assert temporal.zone_of(cell) == "Europe/Berlin"
    assert temporal.local(cell)[3] == 12


# ---- intervals ----


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("interval '1 02:03:04.5' day to second", "+01 02:03:04.500000"),
        ("interval '100:30' hour(3) to minute", "+000000004 04:30:00.000000"),
        ("interval '1.55' second(2, 1)", "+000000000 00:00:01.6"),
        ("-interval '1-2' year to month", "-01-02"),
        ("interval '1-2' year to month", "+01-02"),
        ("interval '14' month", "+000000001-02"),
        ("to_yminterval('-3-06') * 2", "-000000007-00"),
        ("to_dsinterval('P1DT2H')", "+000000001 02:00:00.000000000"),
        ("numtodsinterval(1.5, 'hour') / 3", "+000000000 00:30:00.000000000"),
        ("timestamp '2024-03-01 00:00:00.5' - timestamp '2024-02-28 12:00:00.0'", "+000000001 12:00:00.500000000"),
        ("timestamp '2024-01-01 00:00:00 +02:00' - timestamp '2024-01-01 00:00:00 +00:00'", "-000000000 02:00:00.000000000"),
        ("date '2024-02-29' + interval '4' year, 'YYYY-MM-DD'", "2028-02-29"),
        ("date '2024-01-31' - numtoyminterval(1, 'month'), 'YYYY-MM-DD'", "2023-12-31"),
        ("extract(minute from interval '-1 02:03:04.5' day to second)", "-3"),
        ("extract(month from interval '5-7' year to month)", "7"),
    ],
)
def test_intervals(shop: SqlClient, expression: str, expected: str) -> None:
    assert text(shop, expression) == expected


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        (1873, "interval '100' day"),
        (1867, "interval '1-2-3' year to month"),
        (1839, "date '2024-01-31' + interval '1' month"),
        (1839, "date '2024-02-29' + interval '1' year"),
        (30089, "interval '1' week"),
        (30081, "interval '1' day + 1"),
        (1850, "to_dsinterval('1 25:00:00')"),
        (1476, "interval '1' day / 0"),
        (30076, "extract(hour from date '2024-01-01')"),
    ],
)
def test_intervals_that_are_wrong(shop: SqlClient, code: int, expression: str) -> None:
    shop.fails(code, f"select {expression} from dual")


def test_interval_columns_keep_their_precision(shop: SqlClient) -> None:
    shop.run("create table i (y interval year(3) to month, d interval day(1) to second(1))")
    shop.run("insert into i values ('-999-11', '9 23:59:59.94')")
    shop.fails(1873, "insert into i (y) values (interval '1000-0' year(4) to month)")
    shop.fails(1873, "insert into i (d) values (interval '9 23:59:59.95' day to second)")
    assert shop.rows("select to_char(y), to_char(d) from i") == [("-999-11", "+9 23:59:59.9")]
    assert shop.rows("select count(*) from i where d < interval '10' day and y < interval '0' year") == [(1,)]
    shop.run("update i set d = d - interval '9' day")
    assert shop.rows("select to_char(d) from i") == [("+0 23:59:59.9",)]


def test_interval_images() -> None:
    assert intervals.encode_months(14).hex() == "800000013e"
    assert intervals.parse("1 02:03:04.5").hex() == "800000013e3f409dcd6500"


# ---- national text ----


def test_national_text_counts_utf16_units(shop: SqlClient) -> None:
    shop.run("create table n (c nchar(3), v nvarchar2(3))")
    shop.run("insert into n values (n'a', unistr('\\D83D\\DE00x'))")
    shop.fails(12899, "insert into n (v) values (unistr('\\D83D\\DE00xy'))")
    assert shop.rows("select c, v, asciistr(v) from n") == [("a  ", "\U0001f600x", "\\D83D\\DE00x")]
    columns = shop.run("select c, v || 'x' from n").columns
    assert columns is not None
    assert [(c.type, c.national, c.size) for c in columns] == [(OraType.CHAR, True, 6), (OraType.VARCHAR2, True, 8)]
    assert shop.rows("select count(*) from n where c = 'a'") == [(1,)]
    shop.fails(30186, "select unistr('\\12') from dual")


# ---- calendar ----


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("date '-4712-01-01', 'SYYYY-MM-DD BC'", "-4712-01-01 BC"),
        ("date '-0044-03-15', 'YYYY B.C.'", "0044 B.C."),
        ("to_date('0044 BC', 'YYYY AD'), 'SYYYY'", "-0044"),
        ("date '1582-10-04' + 1, 'SYYYY-MM-DD DY'", " 1582-10-15 FRI"),
        ("date '1500-02-29', 'DDD'", "060"),
        ("date '2000-01-01', 'J'", "2451545"),
        ("add_months(date '1500-01-31', 1), 'YYYY-MM-DD'", "1500-02-29"),
    ],
)
def test_years_before_christ_and_the_julian_calendar(shop: SqlClient, expression: str, expected: str) -> None:
    assert text(shop, expression) == expected


def test_dates_beyond_the_calendar(shop: SqlClient) -> None:
    assert shop.value("date '0001-01-01' - date '-0001-12-31'") == 367
    for expression in (
        *("date '-4713-01-01'", "date '0000-01-01'", "date '9999-12-31' + 1", "date '-4712-01-01' - 1"),
        *("date '0001-01-01' - 1", "add_months(date '9999-12-01', 1)"),
    ):
        shop.fails(1841, f"select {expression} from dual")
    shop.fails(1839, "select date '1582-10-10' from dual")
    shop.fails(1839, "select date '1900-02-29' from dual")


def test_day_numbers_go_there_and_back() -> None:
    first = calendar.day_number(-4712, 1, 1)
    year_zero = range(calendar.day_number(0, 1, 1), calendar.day_number(1, 1, 1))
    for number in range(first, calendar.day_number(2100, 1, 1), 97):
        if number not in year_zero:
            assert calendar.day_number(*calendar.from_day_number(number)) == number


def test_bytes_become_text(shop: SqlClient) -> None:
    assert shop.value("to_char(to_clob(to_blob(hextoraw('c3a978'))))") == "\u00e9x"
    assert shop.value("to_char(to_clob(to_blob(hextoraw('e9')), 31))") == "\u00e9"
    shop.fails(1482, "select to_clob(to_blob(hextoraw('e9')), 4711) from dual")
