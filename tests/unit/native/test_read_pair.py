"""Rows that a snapshot fetched, of every type: printed natively and by Python they are the same records and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.native_pair import IS_NATIVE, NO_BOUND, encoder, outcome
from tests.unit.native.test_pair import (
    DATES,
    FRACTIONS,
    HANDLINGS,
    MONTHS,
    NUMBERS,
    OFFSETS,
    PROPERTIES,
    SECONDS,
    STAMPS,
    columns_of,
)
from tests.unit.native.test_pair import TEXTS as REDO_TEXTS

from minercdc.oracle.fetching.rows import RowConverter
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import FetchedRows, ReadRun, Scn, SnapshotMark
from minercdc.values.codec import ValueHandling

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

ID = Column("ID", "NUMBER", 10, 0)
ROW_ID = "AAASjHAAMAAAACDAAA"
TEXTS = [text for text in REDO_TEXTS if text.isprintable() or text.isascii()]  # the driver gives no half of a surrogate pair
BINARY = [b"", b"\0", b"\xde\xad\xbe\xef", b"\xff" * 100]
SIGNED = [f" {text}" for text in STAMPS]  # as TO_CHAR gives years AD
FETCHED: dict[str, Sequence[Any]] = {
    "NUMBER": [*NUMBERS, "1" + "0" * 125, "-" + "9" * 64],
    "FLOAT": NUMBERS,
    "BINARY_FLOAT": [1.5, -0.0, 0.1, 3.4028234663852886e38, 1e39, 1e-46, float("nan"), float("inf"), "1.5", 7],
    "BINARY_DOUBLE": [1.5, -0.0, 0.1, 1e308, 5e-324, float("nan"), float("-inf"), 1e22, 123456789012345680.0],
    "VARCHAR2": TEXTS,
    "NVARCHAR2": TEXTS,
    "CHAR": ["x   ", "'", "''", *TEXTS],
    "RAW": [*BINARY, "text"],
    "DATE": [*DATES, *STAMPS[:4], *(f" {text}" for text in DATES)],
    "TIMESTAMP": [*STAMPS, *SIGNED, *(DATES[0] + part for part in FRACTIONS)],
    "TIMESTAMP WITH TIME ZONE": [*STAMPS, *SIGNED, *(DATES[0] + ".5" + offset for offset in OFFSETS)],
    "TIMESTAMP WITH LOCAL TIME ZONE": [*STAMPS, *SIGNED],
    "INTERVAL YEAR TO MONTH": MONTHS,
    "INTERVAL DAY TO SECOND": SECONDS,
    "CLOB": [*TEXTS, 5],
    "BLOB": [*BINARY, "text"],
    "XMLTYPE": ["<a/>", *TEXTS],
    "LONG": TEXTS,
    "BOOLEAN": [True, False, "x"],
    "JSON": [{"a": 1}, "x"],
}


def run_of(schema: TableSchema, rows: list[tuple[Any, ...]], *, lobs: bool = True) -> ReadRun:
    found = FetchedRows(schema, rows, RowConverter(schema, lobs=lobs))
    return ReadRun(found, Scn(77), 1_700_000_000_123_456, SnapshotMark.INCREMENTAL)


def check(run: ReadRun, handling: ValueHandling | None = None, **properties: Any) -> int:
    """Both paths alike, row by row and as many as can be at once; how many rows were printed natively."""
    python, native = encoder(handling, **properties), encoder(handling, **properties)
    expected: list[Any] = []
    for i in range(len(run)):
        try:
            (event,) = run.events(i, i + 1)
        except Exception as error:  # as for an object that the driver never gives: the same on both paths
            expected.append(error)
        else:
            expected.append(outcome(python, event))
    at = printed = 0
    while at < len(run):
        encoded = native.encode_run(run, at, NO_BOUND, NO_BOUND)
        assert encoded.operations == (0, 0, 0, encoded.rows)
        assert encoded.bytes == sum(100 + len(record.value or b"") for record in encoded.records)
        assert encoded.time_us == run.time_us or not encoded.rows
        for record in encoded.records:
            assert isinstance(expected[at], Sequence), expected[at]
            assert [plain(record)] == [plain(one) for one in expected[at]], run.fetched.rows[at]
            at += 1
        printed += encoded.rows
        at += 1  # which Python prints
    return printed


def plain(record: Record) -> tuple[Any, ...]:
    return record.topic, record.key, record.value, record.headers, record.partition


@pytest.mark.parametrize("type_name", FETCHED)
@pytest.mark.parametrize(
    ("handling", "key"),
    [*((one, False) for one in HANDLINGS), (HANDLINGS[0], True)],
    ids=[*(f"value {i}" for i in range(len(HANDLINGS))), "key"],
)
def test_every_value_of_every_type(type_name: str, handling: ValueHandling, key: bool) -> None:
    printed = 0
    for column in columns_of(type_name):
        schema = TableSchema(TableId("D", "S", "T"), (ID, column), (0, 1) if key else (0,))
        flags = [("1",), ("0",)] if RowConverter(schema).places[1][1] >= 0 else [()]
        rows = [(ROW_ID, "1", value, *flag) for value in [None, *FETCHED[type_name]] for flag in flags]
        printed += check(run_of(schema, rows), handling)
    assert printed > 1 or type_name in ("BOOLEAN", "JSON")


def test_what_the_database_prints_is_printed_natively() -> None:
    columns = (
        ID,
        Column("D", "DATE"),
        Column("T", "TIMESTAMP", None, 6),
        Column("Z", "TIMESTAMP WITH TIME ZONE", None, 3),
        Column("Y", "INTERVAL YEAR TO MONTH"),
        Column("S", "INTERVAL DAY TO SECOND"),
        Column("R", "RAW", 9),
        Column("F", "BINARY_FLOAT"),
    )
    schema = TableSchema(TableId("D", "S", "T"), columns, (0,))
    times = (" 2026-02-28 13:45:59", " 2026-02-28 13:45:59.123456000", " 2026-02-28 13:45:59.123000000 +05:30")
    row = (ROW_ID, "1", *times, "+02-03", "+01 02:03:04.500000", b"x", 0.1)
    assert check(run_of(schema, [row] * 3)) == 3


def test_large_values_that_are_not_read_have_the_placeholder() -> None:
    schema = TableSchema(TableId("D", "S", "T"), (ID, Column("DOC", "CLOB"), Column("PIC", "BLOB")), (0,))
    assert check(run_of(schema, [(ROW_ID, "1", None, None)] * 3, lobs=False)) == 3


@pytest.mark.parametrize("properties", PROPERTIES, ids=range(len(PROPERTIES)))
@pytest.mark.parametrize("key", [(), (0,), (2, 0)], ids=str)
@pytest.mark.parametrize("row_id", [ROW_ID, None], ids=str)
def test_keys_and_frames(properties: dict[str, Any], key: tuple[int, ...], row_id: str | None) -> None:
    columns = (ID, Column("HIDDEN", "VARCHAR2", 9), Column('k"\\', "NUMBER", 9, 2), Column("V", "VARCHAR2", 9))
    schema = TableSchema(TableId("D", "S", "T"), columns, key)
    rows = [(row_id, "1", "h", "2.5", "v"), (row_id, "2", None, None, None), (row_id, None, "h", "x", "v")]
    printed = check(run_of(schema, rows), **properties)
    changed = any(name.startswith(("column_mask", "column_truncate")) for name in properties)
    keyless = not key and properties.get("minercdc_keyless_table_key") == "rowid" and row_id is None
    assert printed == (0 if changed or keyless else 2)


NUMBER_TEXTS = st.none() | st.text("0123456789.-+eE", max_size=45)
ROWS = st.tuples(
    st.none() | st.text(max_size=20),
    NUMBER_TEXTS,
    st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    st.none() | st.sampled_from([*STAMPS, *SIGNED]) | st.text("0123456789-: .", max_size=30),
    st.none() | st.binary(),
    st.none() | st.floats(),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=5))
def test_anything(rows: list[tuple[Any, ...]]) -> None:
    types = [("VARCHAR2", 9), ("TIMESTAMP", None), ("RAW", 9), ("BINARY_DOUBLE", None)]
    columns = (ID, *(Column(f"C{i}", name, length) for i, (name, length) in enumerate(types)))
    check(run_of(TableSchema(TableId("D", "S", "T"), columns, (0,)), rows))
