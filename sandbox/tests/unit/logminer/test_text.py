"""SQL text of redo records, and which logs a range needs: no database, no server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.logminer.contents import _pieces
from minercdc_sandbox.logminer.literals import literal
from minercdc_sandbox.logminer.logs import LogFile, check_range, find_log, logs_covering, logs_to_read
from minercdc_sandbox.logminer.mining import without_undone
from minercdc_sandbox.logminer.reading import MiningRange
from minercdc_sandbox.logminer.sql_text import TextOptions, known_shape, raw_shape
from minercdc_sandbox.records import RedoOp, RedoRecord, StoredColumn, TableVersion
from minercdc_sandbox.redo.log import RedoLog
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.storage.clock import ScnClock

ISO = Nls(
    date_format="YYYY-MM-DD HH24:MI:SS",
    timestamp_format="YYYY-MM-DD HH24:MI:SS.FF9",
    timestamp_tz_format="YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
)


@pytest.mark.parametrize(
    ("kind", "scale", "stored", "text"),
    [
        (OraType.NUMBER, 0, "c502182e445a02", "'123456789.01'"),
        (OraType.NUMBER, 0, "c402", "'1000000'"),
        (OraType.NUMBER, 0, "c20218", "'123'"),
        (OraType.NUMBER, 0, "3d6466", "'-100'"),
        (OraType.NUMBER, 0, "80", "'0'"),
        (OraType.NUMBER, 0, "c006", "'.05'"),
        (OraType.DATE, 0, "787e021c0e2e3c", "TO_DATE('2026-02-28 13:45:59', 'YYYY-MM-DD HH24:MI:SS')"),
        (OraType.TIMESTAMP, 6, "787c01020405061dcd6500", "TO_TIMESTAMP('2024-01-02 03:04:05.500000000')"),
        (OraType.TIMESTAMP, 0, "787c0102040506", "TO_TIMESTAMP('2024-01-02 03:04:05.000000000')"),
        (OraType.TIMESTAMP_TZ, 6, "787c010116230600000000195a", "TO_TIMESTAMP_TZ('2024-01-02 03:04:05.000000000 +05:30')"),
        (OraType.RAW, 0, "cafe0012ab", "HEXTORAW('cafe0012ab')"),
        (OraType.BINARY_DOUBLE, 0, "c004000000000000", "'2.5E+000'"),
        (OraType.BINARY_DOUBLE, 0, "3ffbffffffffffff", "'-2.5E+000'"),
        (OraType.BINARY_DOUBLE, 0, "8000000000000000", "'0'"),
        (OraType.BINARY_FLOAT, 0, "bfc00000", "'1.5E+000'"),
        # As a real 23ai prints them: docs/reference/logminer-facts.md#f.
        (OraType.BINARY_DOUBLE, 0, "bff0000000000000", "'1.0E+000'"),
        (OraType.BINARY_DOUBLE, 0, "c005bf0a8b145769", "'2.7182818284590451E+000'"),
        (OraType.BINARY_DOUBLE, 0, "d4b249ad2594c37d", "'1.0E+100'"),
        (OraType.BINARY_FLOAT, 0, "c11fd70a", "'9.98999977E+000'"),
        (OraType.BINARY_FLOAT, 0, "c048f5c3", "'3.1400001E+000'"),
    ],
)
def test_literals(kind: OraType, scale: int, stored: str, text: str) -> None:
    assert literal(StoredColumn("C", kind, "", scale=scale), ISO)(bytes.fromhex(stored)) == text


@pytest.mark.parametrize(
    ("scale", "stored", "text"),
    [
        (6, "787d060f0b1f01075bca00", "15-JUN-25 10.30.00.123456 AM"),
        (6, "78640101010101", "01-JAN-00 12.00.00 AM"),
        (9, "78640101010101", "01-JAN-00 12.00.00 AM"),
        (0, "787d060f0b1f01", "15-JUN-25 10.30.00 AM"),
        (3, "787e0301090101" + "1dcd6500", "01-MAR-26 08.00.00.500 AM"),
    ],
)
def test_a_timestamp_without_fraction_has_no_point_by_the_default_format(scale: int, stored: str, text: str) -> None:
    shown = literal(StoredColumn("C", OraType.TIMESTAMP, "", scale=scale), Nls())(bytes.fromhex(stored))
    assert shown == f"TO_TIMESTAMP('{text}')"


@pytest.mark.parametrize(
    ("kind", "stored", "model", "text"),
    [
        # As Debezium's tests have them, by its formats: FF prints no digits of a fraction of 0, and the point is the format's.
        (OraType.TIMESTAMP, "787802010101" + "01", "YYYY-MM-DD HH24:MI:SS.FF", "TO_TIMESTAMP('2020-02-01 00:00:00.')"),
        (OraType.TIMESTAMP, "787802010101" + "01", "YYYY-MM-DD HH24:MI:SS.FF3", "TO_TIMESTAMP('2020-02-01 00:00:00.000')"),
        (
            OraType.TIMESTAMP,
            "787802010101011dcd6500",
            "YYYY-MM-DD HH24:MI:SS.FF",
            "TO_TIMESTAMP('2020-02-01 00:00:00.500000')",
        ),
        (OraType.TIMESTAMP, "787802010101" + "01", "YYYY-MM-DD HH24:MI:SSXFF", "TO_TIMESTAMP('2020-02-01 00:00:00')"),
        (
            OraType.TIMESTAMP_TZ,
            "787c020e0a3b03" + "00000000" + "153c",
            "YYYY-MM-DD HH24:MI:SS.FF TZH:TZM",
            "TO_TIMESTAMP_TZ('2024-02-14 10:58:02. +01:00')",
        ),
        (
            OraType.TIMESTAMP_TZ,
            "787c020e0a3b03" + "0c134730" + "153c",
            "YYYY-MM-DD HH24:MI:SS.FF TZH:TZM",
            "TO_TIMESTAMP_TZ('2024-02-14 10:58:02.202590 +01:00')",
        ),
        (
            OraType.TIMESTAMP_TZ,
            "787c020e0a3b03" + "00000000" + "153c",
            "DD-MON-RR HH.MI.SSXFF AM TZR",
            "TO_TIMESTAMP_TZ('14-FEB-24 10.58.02 AM +01:00')",
        ),
    ],
)
def test_a_fraction_of_zero_has_no_digits_where_the_format_does_not_say_how_many(
    kind: OraType, stored: str, model: str, text: str
) -> None:
    nls = replace(Nls(), timestamp_format=model, timestamp_tz_format=model)
    assert literal(StoredColumn("C", kind, "", scale=6), nls)(bytes.fromhex(stored)) == text


@pytest.mark.parametrize(
    ("value", "text"), [("it's", "'it''s'"), ("", "''"), ("a\\b", "'a\\b'"), ("né", "UNISTR('n\\00E9')")]
)
def test_national_text_of_ascii_is_plain(value: str, text: str) -> None:
    assert literal(StoredColumn("C", OraType.VARCHAR2, "", national=True), ISO)(value) == text


def test_types_without_text_say_so() -> None:
    with pytest.raises(OraError, match="ORA-03001.*CURSOR"):
        literal(StoredColumn("C", OraType.CURSOR, "CURSOR"), ISO)


VERSION = TableVersion(
    "S", "T", 1, 1, 1, (StoredColumn("ID", OraType.NUMBER, "NUMBER"), StoredColumn("N", OraType.VARCHAR2, "VARCHAR2(9)"))
)
ONE, TWO = b"\xc1\x02", b"\xc1\x03"


def record(op: RedoOp, **facts: object) -> RedoRecord:
    return RedoRecord(op, 1, (1, 2, 3), 0, row_id="AAAR3xAAMAAAACDAAA", **facts)  # type: ignore[arg-type]


def test_statement_forms() -> None:
    plain = known_shape(VERSION, TextOptions(ISO, row_ids=False, delimiter=False)).render
    full = known_shape(VERSION, TextOptions(ISO)).render
    update = record(RedoOp.UPDATE, before=(ONE, None), after=(ONE, "x"), changed=(1,), logged=(0, 1))
    assert plain(update) == (
        'update "S"."T" set "N" = \'x\' where "ID" = \'1\' and "N" IS NULL',
        'update "S"."T" set "N" = NULL where "ID" = \'1\' and "N" = \'x\'',
    )
    assert full(update)[0].endswith(" and ROWID = 'AAAR3xAAMAAAACDAAA';")
    minimal = record(RedoOp.UPDATE, before=(ONE, "a"), after=(ONE, "x"), changed=(1,), logged=(1,))
    assert plain(minimal)[0] == 'update "S"."T" set "N" = \'x\' where "N" = \'a\''
    undo = record(RedoOp.UPDATE, before=(ONE, "x"), after=(ONE, "a"), changed=(1,), undo=True)
    assert plain(undo) == ('update "S"."T" set "N" = \'a\'', None)
    undone_insert = record(RedoOp.DELETE, before=(ONE, "x"), undo=True)
    assert plain(undone_insert) == ('delete from "S"."T" where ROWID = \'AAAR3xAAMAAAACDAAA\'', None)
    raw = raw_shape("UNKNOWN", "OBJ# 9", 2, TextOptions(ISO, row_ids=False)).render
    assert raw(record(RedoOp.DELETE, before=(ONE, None)))[0] == (
        'delete from "UNKNOWN"."OBJ# 9" where "COL 1" = HEXTORAW(\'c102\') and "COL 2" IS NULL;'
    )


def test_pieces_end_between_characters() -> None:
    for lead in range(4):
        text = "a" * lead + "\u20ac\U0001f600" * 2500
        pieces = _pieces(text)
        assert "".join(pieces) == text
        assert all(3997 <= len(piece.encode()) <= 4000 for piece in pieces[:-1])


def test_undo_takes_the_latest_change_of_its_row() -> None:
    def change(row: str, *, undo: bool = False) -> RedoRecord:
        return RedoRecord(RedoOp.UPDATE, 1, (1, 2, 3), 0, row_id=row, undo=undo)

    first, second, other, undo = change("A"), change("A"), change("B"), change("A", undo=True)
    assert without_undone([first, second, other, undo]) == [first, other]
    assert without_undone([first, second, undo, change("A", undo=True), other]) == [other]


@pytest.fixture
def redo() -> Iterator[RedoLog]:
    """Thread 1: sequences 1 to 3 archived, 4 current; about 100 SCNs each."""
    clock = ScnClock(1000, lambda: 1_800_000_000.0)
    log = RedoLog(clock.advance, clock.now)
    for _ in range(3):
        clock.advance(99)
        log.switch()
    yield log
    log.close()


def _files(redo: RedoLog, *sequences: int) -> list[LogFile]:
    names = {log.sequence: log.name or "" for log in redo.archived()}
    names[4] = next(group.members[0] for group in redo.groups() if group.status == "CURRENT")
    return [find_log(redo, names[sequence]) for sequence in sequences]


@pytest.mark.parametrize(
    ("sequences", "start", "end", "covered"),
    [
        ((1, 2, 3, 4), None, None, True),
        ((1, 3, 4), None, None, False),
        ((2, 3), 1150, 1250, True),
        ((2, 3), 1050, 1250, False),
        ((2, 3), 1150, 1500, False),
        ((2, 3, 4), 1150, 99999, True),
        ((4, 3, 2), 1150, None, True),
        ((1, 2), 900, 1150, False),
    ],
)
def test_coverage(redo: RedoLog, sequences: tuple[int, ...], start: int | None, end: int | None, covered: bool) -> None:
    files, wanted = _files(redo, *sequences), MiningRange(start, end)
    if covered:
        check_range(redo, files, wanted)
    else:
        with pytest.raises(OraError, match="ORA-01291"):
            check_range(redo, files, wanted)


def test_a_quiet_thread_counts_too(redo: RedoLog) -> None:
    redo.add_thread(2)
    with pytest.raises(OraError, match="ORA-01291"):
        check_range(redo, _files(redo, 1, 2, 3, 4), MiningRange(1150, None))
    check_range(redo, _files(redo, 1, 2, 3, 4), MiningRange(1150, 1200))  # before that thread was enabled


def test_only_logs_that_touch_the_range_are_read(redo: RedoLog) -> None:
    files = _files(redo, 1, 2, 3, 4)
    assert [f.sequence for f in logs_to_read(redo, files, MiningRange(1250, None))] == [3, 4]
    assert [f.sequence for f in logs_to_read(redo, files, MiningRange(1150, 1160))] == [2]
    assert [f.sequence for f in logs_covering(redo, MiningRange(1150, 1250))] == [2, 3]
    redo.delete_archived(1, 1)  # its online group holds sequence 4 by now
    with pytest.raises(OraError, match="ORA-00308"):
        logs_to_read(redo, files, MiningRange(1050, 1160))
    with pytest.raises(OraError, match="ORA-01291"):
        logs_covering(redo, MiningRange(1050, 1160))
    redo.delete_archived(1, 2)  # still online
    assert [f.sequence for f in logs_covering(redo, MiningRange(1150, 1160))] == [2]


@given(value=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**14), max_value=10**14, places=6))
@example(value=Decimal("100"))
@example(value=Decimal("-0.5"))
def test_numbers_are_written_as_to_char_writes_them(value: Decimal) -> None:
    for point in ".,":
        nls = replace(ISO, numeric_characters=f"{point} ")
        stored = number.encode(value)
        assert literal(StoredColumn("C", OraType.NUMBER, ""), nls)(stored) == f"'{number.text(stored, point)}'"


def test_names_are_never_read_as_code() -> None:
    columns = (StoredColumn("A{b}\"'\\", OraType.VARCHAR2, "VARCHAR2(9)"),)
    shape = known_shape(TableVersion("S{x}", "T'\\", 1, 1, 1, columns), TextOptions(ISO))
    assert shape.redo(record(RedoOp.INSERT, after=("a{b}",))) == (
        'insert into "S{x}"."T\'\\"("A{b}"\'\\") values (\'a{b}\');'
    )
