"""Functions, operators and conversions against values an Oracle user expects."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from sandbox.tests.unit.sql.client import SqlClient


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1+1", 2),
        ("7/2", Decimal("3.5")),
        ("1/3", Decimal("0." + "3" * 40)),
        ("-3*-4", 12),
        ("'a'||null||'b'", "ab"),
        ("''", None),
        ("1||2", "12"),
        ("'5'+1", 6),
        ("nvl(null, 'x')", "x"),
        ("nvl('', 0)", "0"),
        ("coalesce(null, null, 3)", 3),
        ("decode(2, 1, 'one', 2, 'two', 'many')", "two"),
        ("decode(null, null, 'none', 'some')", "none"),
        ("case when 1=2 then 'a' else 'b' end", "b"),
        ("case 3 when 1 then 'a' when 3 then 'c' end", "c"),
        ("upper('aß')", "ASS"),
        ("substr('abcdef', 2, 3)", "bcd"),
        ("substr('abcdef', -2)", "ef"),
        ("substr('abcdef', 0, 2)", "ab"),
        ("substr('abc', 5)", None),
        ("instr('corporate floor', 'or', 3, 2)", 14),
        ("instr('corporate floor', 'or', -3, 2)", 2),
        ("instr('abc', 'z')", 0),
        ("length('a'||chr(233))", 2),
        ("length('')", None),
        ("trim('  a ')", "a"),
        ("trim(both 'x' from 'xxaxx')", "a"),
        ("ltrim('xyxa', 'xy')", "a"),
        ("rtrim('a  ')", "a"),
        ("lpad('7', 3, '0')", "007"),
        ("rpad('abc', 2)", "ab"),
        ("replace('aXbX', 'X')", "ab"),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(1234.567, -2)", 1200),
        ("round(1.005, 2)", Decimal("1.01")),
        ("trunc(-2.7)", -2),
        ("mod(11, 4)", 3),
        ("mod(-11, 4)", -3),
        ("mod(5, 0)", 5),
        ("abs(-1.5)", Decimal("1.5")),
        ("ceil(1.2) - floor(-1.2)", 4),
        ("power(2, 10)", 1024),
        ("greatest(1, 3, 2)", 3),
        ("least('b', 'a')", "a"),
        ("greatest(1, null)", None),
        ("to_char(0.5)", ".5"),
        ("to_char(1/3)", "." + "3" * 40),
        ("to_char(2/3*1e40)", "6" * 39 + "7"),
        ("to_char(-12.50)", "-12.5"),
        ("to_char(1234567.891, '9,999,999.99')", " 1,234,567.89"),
        ("to_char(0.5, 'FM0.00')", "0.50"),
        ("to_char(5, '000')", " 005"),
        ("to_char(12345, '999')", "####"),
        ("to_char(-5, 'S99')", " -5"),
        ("to_char(255, 'FMXX')", "FF"),
        ("to_number('1,234.5', '9,999.9')", Decimal("1234.5")),
        ("to_char(date '2026-02-28', 'YYYY-MM-DD HH24:MI:SS')", "2026-02-28 00:00:00"),
        ("to_char(date '2026-02-01', 'DD-MON-RR')", "01-FEB-26"),
        ("to_char(date '2026-02-01', 'FMDay, DD Month YYYY')", "Sunday, 1 February 2026"),
        ("to_char(timestamp '2026-02-28 13:45:59.123456', 'HH12:MI:SS.FF3 AM')", "01:45:59.123 PM"),
        ("to_date('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')", datetime(2026, 2, 28, 13, 45, 59)),
        ("to_date('28-FEB-26')", datetime(2026, 2, 28)),
        ("to_timestamp('2026-02-28 01:02:03.5', 'YYYY-MM-DD HH24:MI:SS.FF')", datetime(2026, 2, 28, 1, 2, 3, 500000)),
        ("date '2026-03-01' - date '2026-02-28'", 1),
        ("date '2026-02-28' + 1.5", datetime(2026, 3, 1, 12)),
        ("trunc(to_date('2026-02-28 13:45', 'YYYY-MM-DD HH24:MI'))", datetime(2026, 2, 28)),
        ("trunc(date '2026-05-17', 'MM')", datetime(2026, 5, 1)),
        ("add_months(date '2026-01-31', 1)", datetime(2026, 2, 28)),
        ("last_day(date '2024-02-01')", datetime(2024, 2, 29)),
        ("months_between(date '2026-03-31', date '2026-02-28')", 1),
        ("extract(year from date '2026-02-28')", 2026),
        ("timestamp '2026-01-01 00:00:00' + interval '90' minute", datetime(2026, 1, 1, 1, 30)),
        ("cast('12.7' as number(3))", 13),
        ("cast(timestamp '2026-01-01 01:02:03.9' as date)", datetime(2026, 1, 1, 1, 2, 3)),
        ("cast('abcdef' as varchar2(3))", "abc"),
        ("rawtohex(hextoraw('0aff'))", "0AFF"),
        ("user", "SHOP"),
        ("sys_context('USERENV', 'CON_NAME')", "ORCLPDB1"),
        ("sysdate", datetime(2026, 9, 21, 14, 13, 20)),
        ("systimestamp", datetime(2026, 9, 21, 14, 13, 20, 250000)),
        ("(select max(1) from dual)", 1),
        ("q'[it's]'", "it's"),
        ("1e2", 100),
        ("12345678901234567890123456789012345678", 12345678901234567890123456789012345678),
    ],
)
def test_value(shop: SqlClient, expression: str, expected: Any) -> None:
    assert shop.value(expression) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("1 < 2", True),
        ("'10' > 9", True),
        ("null = null", False),
        ("not (null = 1)", False),
        ("1 in (3, 2, 1)", True),
        ("1 not in (2, null)", False),
        ("2 between 1 and 3", True),
        ("'abc' like 'a_c'", True),
        ("'a%c' like 'a!%c' escape '!'", True),
        ("'abc' like 'A%'", False),
        ("'' is null", True),
        ("exists (select 1 from dual)", True),
        ("not exists (select 1 from dual where 1=0)", True),
        ("date '2026-01-01' < timestamp '2026-01-01 00:00:00.1'", True),
        ("date '2026-02-28' = '28-FEB-26'", True),
        ("timestamp '2026-01-01 05:30:00 +05:30' = timestamp '2026-01-01 00:00:00 +00:00'", True),
        ("regexp_like('Order42', '^order[[:digit:]]+$', 'i')", True),
        ("(1, 'a') in ((1, 'a'), (2, 'b'))", True),
        ("scn_to_timestamp(timestamp_to_scn(sysdate)) <= systimestamp", True),
        ("'a' = 'a  '", True),
    ],
)
def test_condition(shop: SqlClient, condition: str, expected: bool) -> None:
    assert bool(shop.rows(f"select 1 from dual where {condition}")) is expected


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1/0", 1476),
        ("to_number('x')", 1722),
        ("'x'+1", 1722),
        ("to_date('2026-02-30', 'YYYY-MM-DD')", 1839),
        ("to_date('2026-13-01', 'YYYY-MM-DD')", 1843),
        ("to_date('2026-01-01 10', 'YYYY-MM-DD')", 1830),
        ("to_date('2026-01', 'YYYY-MM-DD')", 1840),
        ("to_date('x', 'YYYY')", 1858),
        ("to_char(sysdate, 'YYYZ')", 1821),
        ("sysdate + sysdate", 975),
        ("sysdate + hextoraw('00')", 975),
        ("nosuch", 904),
        ("nosuch(1)", 904),
        ("substr('a')", 938),
        ("upper('a', 'b')", 939),
        ("hextoraw('zz')", 1465),
        ("seq.nextval", 2289),
        ("(select 1 from dual union all select 2 from dual)", 1427),
        ("hextoraw('00') + 1", 932),
        ("count(1, 2)", 939),
        ("scn_to_timestamp(1)", 8181),
        ("case when 1=1 then 1 else 'a' end", 932),
        ("1 +", 936),
        ("(1", 907),
        ("'abc", 1756),
    ],
)
def test_error(shop: SqlClient, expression: str, code: int) -> None:
    shop.fails(code, f"select {expression} from dual")


def test_position_of_the_culprit(shop: SqlClient) -> None:
    sql = "select 1, wrong from dual"
    assert shop.fails(904, sql).position == sql.index("wrong")


def test_nls_formats_steer_implicit_conversion(shop: SqlClient) -> None:
    shop.run("alter session set nls_date_format='YYYY-MM-DD HH24:MI:SS' nls_numeric_characters=',.'")
    assert shop.value("to_char(date '2026-02-28')") == "2026-02-28 00:00:00"
    assert shop.value("''||1.5") == "1,5"


def test_session_time_zone(shop: SqlClient) -> None:
    shop.run("alter session set time_zone='+02:00'")
    assert shop.value("to_char(current_timestamp, 'HH24 TZR')") == "16 +02:00"
    assert shop.value("to_char(systimestamp, 'HH24 TZR')") == "14 +00:00"
