"""NUMBER keeps 38 digits, with either sign, wherever it goes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc_sandbox.interfaces import BindType, OraType
from minercdc_sandbox.server import sandbox_database
from minercdc_sandbox.session import SandboxSession
from minercdc_sandbox.sql import number

WIDE = Context(prec=60)
WIDEST = Decimal("-" + "1234567890" * 3 + "12345678")
NUMBERS = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent, WIDE),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.integers(-80, 70),
)


@given(NUMBERS)
def test_stored_form_is_exact(value: Decimal) -> None:
    assert number.decode(number.encode(value)) == value


@given(NUMBERS)
def test_text_reads_back(value: Decimal) -> None:
    text = number.text(number.encode(value))
    assert "E" in text or WIDE.create_decimal(text) == value
    assert len(text.replace(".", "").lstrip("-")) <= 40
    assert not text.lstrip("-").startswith("0") or value == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("-0.5", "-.5"),
        ("100.25", "100.25"),
        ("1E+39", "1" + "0" * 39),
        ("1E-40", "." + "0" * 39 + "1"),
        (str(WIDEST), str(WIDEST)),
    ],
)
def test_text(value: str, text: str) -> None:
    assert number.text(number.encode(Decimal(value))) == text


@pytest.fixture
def session() -> Iterator[SandboxSession]:
    database = sandbox_database()
    yield database.open_session("SYSTEM", "ORCLPDB1", {})
    database.close()


def one(session: SandboxSession, sql: str) -> tuple[object, ...]:
    rows = session.execute(sql).rows
    assert rows is not None
    (found,) = rows.fetch(2)
    return found


def test_widest_negative_number_survives_insert_select_and_redo(session: SandboxSession) -> None:
    session.execute("create table wide (n number(38))")
    start = session.database.clock.read()
    session.execute("insert into wide values (:1)", [BindType(OraType.NUMBER, 22)], [(number.encode(WIDEST),)], commit=True)
    found = one(
        session, "select n, to_char(n), to_char(-n), to_char(abs(n)), to_char(ceil(n)), to_char(mod(n, 7)) from wide"
    )
    rest = int(WIDEST.copy_abs()) % 7
    assert found == (number.encode(WIDEST), str(WIDEST), str(WIDEST)[1:], str(WIDEST)[1:], str(WIDEST), f"-{rest}")
    session.execute(
        f"begin dbms_logmnr.start_logmnr(startscn => {start}, options => dbms_logmnr.dict_from_online_catalog); end;"
    )
    (redo,) = one(session, "select sql_redo from v$logmnr_contents where operation_code = 1")
    assert redo == f"""insert into "SYSTEM"."WIDE"("N") values ('{WIDEST}');"""
