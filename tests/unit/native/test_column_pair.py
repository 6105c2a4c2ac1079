"""Rows of a snapshot that come as columns: they are the tuples, and are printed as these are."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrow_frame import Frame
from tests.examples import examples
from tests.native_pair import IS_NATIVE, encoder
from tests.unit.native.test_pair import DATES, HANDLINGS, MONTHS, NUMBERS, SECONDS, STAMPS, columns_of
from tests.unit.native.test_read_pair import BINARY, ROW_ID, TEXTS, check

from minercdc import native
from minercdc.errors import ValueDecodeError
from minercdc.oracle.fetching.columns import arrow_columns
from minercdc.oracle.fetching.rows import RowConverter
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import FetchedRows, ReadRun, Scn, SnapshotMark
from minercdc.values.codec import ValueHandling

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

ID = Column("ID", "NUMBER", 10, 0)
_AD = [f" {text}" for text in STAMPS]
VALUES: dict[str, list[str]] = {
    "NUMBER": NUMBERS,
    "FLOAT": NUMBERS,
    "VARCHAR2": TEXTS,
    "NVARCHAR2": TEXTS,
    "CHAR": ["x   ", *TEXTS],
    "DATE": [*STAMPS[:4], *(f" {text}" for text in DATES)],
    "TIMESTAMP": [*STAMPS, *_AD],
    "TIMESTAMP WITH TIME ZONE": [*STAMPS, *_AD],
    "TIMESTAMP WITH LOCAL TIME ZONE": [*STAMPS, *_AD],
    "INTERVAL YEAR TO MONTH": MONTHS,
    "INTERVAL DAY TO SECOND": SECONDS,
}


def columnar(schema: TableSchema, rows: list[tuple[Any, ...]]) -> ReadRun:
    """Rows of texts and bytes."""
    columns = arrow_columns(schema, lobs=True)
    assert columns is not None
    assert native.rows is not None
    formats, names = [column.format for column in columns], [column.name for column in columns]
    frame = Frame(formats, [[_value(form, value) for form, value in zip(formats, row, strict=True)] for row in rows])
    found = FetchedRows(schema, native.rows.ArrowRows(frame, formats, names), RowConverter(schema))
    run = ReadRun(found, Scn(77), 1_700_000_000_123_456, SnapshotMark.TRUE)
    _frames.append(frame)
    return run


_frames: list[Frame] = []


@pytest.fixture(autouse=True)
def _live_frames() -> Iterator[None]:
    """Frames live as long as the rows that look at them."""
    yield
    _frames.clear()


def _value(form: str, value: Any) -> int | bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if form[0] == "d":
        return int(Decimal(value).scaleb(int(form.partition(",")[2])))
    return int(Decimal(value)) if form == "l" else str(value).encode()


def fits(form: str, text: str) -> bool:
    """Whether a column of that type can have this NUMBER."""
    if form[0] not in "ld":
        return True
    scale = int(form.partition(",")[2] or 0)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return False
    return number.is_finite() and abs(number) < 10 ** (18 - scale) and number == round(number, scale)


@pytest.mark.parametrize("type_name", VALUES)
@pytest.mark.parametrize("handling", HANDLINGS, ids=range(len(HANDLINGS)))
@pytest.mark.parametrize("key", [False, True], ids=["value", "key"])
def test_every_value_of_every_type(type_name: str, handling: ValueHandling, key: bool) -> None:
    printed = 0
    for column in columns_of(type_name):
        schema = TableSchema(TableId("D", "S", "T"), (ID, column), (0, 1) if key else (0,))
        columns = arrow_columns(schema, lobs=True)
        assert columns is not None
        texts = [text for text in VALUES[type_name] if text and fits(columns[2].format, text)]
        rows = [(ROW_ID, "1", None), *((ROW_ID, "1", text) for text in texts)]
        run = columnar(schema, rows)
        assert [tuple(row[:2]) for row in run.fetched.rows] == [(ROW_ID, "1")] * len(rows)
        printed += check(run, handling)
    assert printed > 1


def test_bytes() -> None:
    schema = TableSchema(TableId("D", "S", "T"), (ID, Column("R", "RAW", 200)), (0,))
    run = columnar(schema, [(ROW_ID, "1", value) for value in [None, *BINARY]])
    assert [row[2] for row in run.fetched.rows] == [None, *BINARY]
    for handling in HANDLINGS:
        assert check(run, handling) == len(run)


@given(st.lists(st.one_of(st.none(), st.integers(1 - 10**18, 10**18 - 1)), min_size=1), st.integers(0, 18))
@settings(max_examples=examples(300), deadline=None)
def test_numbers(values: list[int | None], scale: int) -> None:
    column = Column("N", "NUMBER", 18, scale)
    schema = TableSchema(TableId("D", "S", "T"), (ID, column), (0,))
    texts = [None if value is None else format(Decimal(value).scaleb(-scale), "f") for value in values]
    run = columnar(schema, [(ROW_ID, "1", text) for text in texts])
    assert [None if row[2] is None else Decimal(row[2]) for row in run.fetched.rows] == [
        None if text is None else Decimal(text) for text in texts
    ]
    python = RowConverter(schema)([(ROW_ID, "1", text) for text in texts])
    assert list(run.fetched.convert(run.fetched.rows)) == list(python)
    assert check(run) == len(values)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=12), st.text(max_size=6).map(str.encode)), min_size=1, max_size=9))
@settings(max_examples=examples(500), deadline=None)
def test_texts_that_are_none_are_refused_alone(values: list[bytes | None]) -> None:
    schema = TableSchema(TableId("D", "S", "T"), (ID, Column("V", "VARCHAR2", 99)), (0,))
    run = columnar(schema, [(ROW_ID, "1", value) for value in values])
    good = [value for value in values if value is None or _is_text(value)]
    assert check(run) == len(good)
    for i, value in enumerate(values):
        if value is None or _is_text(value):
            assert run.fetched.rows[i][2] == (None if value is None else value.decode())
        else:
            with pytest.raises(ValueDecodeError, match="column V has a text that is no UTF-8"):
                run.events(i, i + 1)
            assert run.fetched.row_id(i) == ROW_ID


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_part_is_a_view_of_the_same_rows() -> None:
    schema = TableSchema(TableId("D", "S", "T"), (ID, Column("V", "VARCHAR2", 99)), (0,))
    run = columnar(schema, [(f"R{n}", str(n), f"é{n}") for n in range(10)])
    rows = run.fetched.rows
    part = rows[3:8][1:]
    assert [row[0] for row in part] == ["R4", "R5", "R6", "R7"]
    assert part[-1] == ("R7", "7", "é7")
    assert run.fetched.only(part).row_id(-1) == "R7"
    assert run.fetched.convert.values(part, 1) == ["é4", "é5", "é6", "é7"]
    assert list(rows[5:5]) == []
    assert (run.fetched.size(100), run.fetched.only(part).size(0)) == (10 * (2 + 3 + 3 * 8), 4 * (2 + 3 + 3 * 8))
    assert run.fetched.only(part).row_ids() == ["R4", "R5", "R6", "R7"]
    for place in (4, -5):
        with pytest.raises(IndexError):
            part[place]
    middle = ReadRun(run.fetched.only(part), run.scn, run.time_us, SnapshotMark.TRUE)
    assert check(middle) == 4


@pytest.mark.parametrize("bounds", [(1, 1 << 30), (3, 1 << 30), (1 << 30, 1), (1 << 30, 700)], ids=str)
def test_bounds_are_those_of_tuples(bounds: tuple[int, int]) -> None:
    schema = TableSchema(TableId("D", "S", "T"), (ID, Column("V", "VARCHAR2", 99)), (0,))
    rows = [(ROW_ID, str(n), "x" * n) for n in range(20)]
    run = columnar(schema, list(rows))
    tuples = ReadRun(FetchedRows(schema, rows, RowConverter(schema)), run.scn, run.time_us, run.snapshot)
    one, other = encoder().encode_run(run, 2, *bounds), encoder().encode_run(tuples, 2, *bounds)
    assert (one.rows, one.bytes, list(one.records)) == (other.rows, other.bytes, list(other.records))


def test_what_is_no_column_of_the_query_is_refused() -> None:
    assert native.rows is not None
    frame = Frame(["U", "l"], [(b"R", 1)])
    with pytest.raises(TypeError, match="column N came as 'l'"):
        native.rows.ArrowRows(frame, ["U", "U"], ["ROWID", "N"])
    with pytest.raises(TypeError, match="2 columns"):
        native.rows.ArrowRows(frame, ["U"], ["ROWID"])


@pytest.mark.parametrize(
    "type_name", ["BINARY_FLOAT", "BINARY_DOUBLE", "CLOB", "BLOB", "XMLTYPE", "LONG", "JSON", "BOOLEAN"]
)
def test_types_that_come_as_tuples(type_name: str) -> None:
    assert arrow_columns(TableSchema(TableId("D", "S", "T"), (ID, Column("V", type_name)), (0,)), lobs=True) is None
