"""Other values: of the same length and form, equal where those were equal, different where those were."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.operate.recording.replacement import MinedText, Replacement

TEXTS = st.text(st.characters(blacklist_characters="\n"), max_size=30)
SQL = (
    'insert into "S"."O\'X"("A","B","C","D","E","F","G") values (\'Jörg\',\'-12.50\','
    "TO_DATE('2026-11-25 08:15:00', 'YYYY-MM-DD HH24:MI:SS'),HEXTORAW('c1ff02'),UNISTR('\\00e9x\\D83D\\DE00'),NULL,"
    "TO_DSINTERVAL('+02 23:59:59.5'))"
)


@given(TEXTS, TEXTS)
def test_equal_and_different_stay_so(one: str, other: str) -> None:
    replacement = Replacement()
    assert replacement.text(one) == replacement.text(one)
    assert (replacement.text(one) == replacement.text(other)) == (one == other)


@given(TEXTS)
def test_length_and_bytes_stay(text: str) -> None:
    made = Replacement().text(text)
    assert len(made) == len(text)
    assert len(made.encode("utf-8", "surrogatepass")) == len(text.encode("utf-8", "surrogatepass"))


@given(st.integers(-(10**12), 10**12) | st.decimals(-(10**9), 10**9, places=3))
def test_a_number_stays_one_of_as_many_digits(number: int | Decimal) -> None:
    made = Replacement().value(number)
    assert type(made) is type(number)
    assert re.sub("[1-9]", "9", str(made)) == re.sub("[1-9]", "9", str(number))


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))
def test_a_time_stays_one_and_spans_between_times_stay(time: datetime) -> None:
    replacement = Replacement()
    assert replacement.value(time) - replacement.value(datetime(2000, 1, 1)) == time - datetime(2000, 1, 1)


def test_a_statement_keeps_its_form() -> None:
    made = Replacement().sql(SQL)
    assert len(made) == len(SQL)
    form = re.compile(
        r'insert into "S"\."O\'X"\("A","B","C","D","E","F","G"\) values \(\'[A-Z][^\x00-\x7f][a-z][a-z]\',\'-[1-9]{2}\.[1-9]0\','
        r"TO_DATE\('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d', 'YYYY-MM-DD HH24:MI:SS'\),HEXTORAW\('[0-9a-f]{6}'\),"
        r"UNISTR\('\\00[c-f][0-9a-f][a-z]\\d8[0-3][0-9a-f]\\de[0-3][0-9a-f]'\),NULL,"
        r"TO_DSINTERVAL\('\+0[0-2] [0-2][0-3]:[0-5]\d:[0-5]\d\.[0-5]'\)\)"
    )
    assert form.fullmatch(made), made
    for value in ("Jörg", "12.50", "c1ff02"):
        assert value not in made


@pytest.mark.parametrize("text", ["NaN", "-Inf", "", "0", "0.00"])
def test_what_has_no_other_form_stays(text: str) -> None:
    assert Replacement().text(text) == text


def test_a_password_in_ddl_is_always_hidden() -> None:
    assert "geheim" not in Replacement().sql("CREATE USER X IDENTIFIED BY geheim QUOTA 1M ON USERS")


def test_users_stay_where_a_list_names_them() -> None:
    replacement = Replacement(["BATCH"])
    assert replacement.name("Batch") == "Batch"
    assert replacement.name("ALICE") != "ALICE"
    assert replacement.name("UNKNOWN") == "UNKNOWN"
    assert replacement.name(None) is None


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_pieces_are_replaced_together_wherever_they_are_cut(cuts: list[int]) -> None:
    replacement = Replacement()
    pieces, at = [], 0
    for length in cuts:
        pieces.append(SQL[at : at + length])
        at += length
    pieces.append(SQL[at:])
    rows = [_row(piece, csf=int(number < len(pieces) - 1)) for number, piece in enumerate(pieces)]
    text = MinedText(replacement)
    made = [row for one in rows for row in text.whole([one])]
    sql = LogMinerRow._fields.index("sql")
    assert "".join(row[sql] for row in made) == replacement.sql(SQL)
    assert [len(row[sql]) for row in made] == [len(piece) for piece in pieces]


def _row(sql: str, csf: int) -> list[object]:
    fields: dict[str, object] = dict.fromkeys(LogMinerRow._fields)
    return list((fields | {"sql": sql, "csf": csf}).values())
