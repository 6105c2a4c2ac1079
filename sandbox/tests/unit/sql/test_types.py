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


# ---- time zones ----


def test_region_survives_in_the_stored_bytes() -> None:
    cell = temporal.zoned((2024, 7, 1, 12, 0, 0, 0), zones.parse("europe/berlin"))
    assert len(cell) == 13
    assert cell[11] & 0x80
    assert temporal.zone_of(cell) == "Europe/Berlin"
    assert temporal.local(cell)[3] == 12


# ---- intervals ----


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
