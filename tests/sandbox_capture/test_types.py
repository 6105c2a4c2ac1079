"""Every type of the sandbox: a row read by the snapshot is the row that redo holds, also from its stored image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.errors import ValueDecodeError
from minercdc.stream.events import Row

_COLUMNS = {
    "bf": ("binary_float", ["1.5f", "-3.4e38f", "binary_float_nan", "-1/0f", "1e-45f", "1.1f", "0f"]),
    "bd": ("binary_double", ["2.5d", "-1.7976931348623157e308d", "binary_double_nan", "1/0d", "4.9e-324d", "0.1d", "-0d"]),
    "fl": ("float(24)", ["1.5", "-123456789", "3.14159265358979", "1e100", "1e-100", "0.1", "0"]),
    "tz": (
        "timestamp(9) with time zone",
        [
            "timestamp '2024-01-02 03:04:05.123456789 +05:30'",
            "timestamp '2024-01-02 03:04:05 -09:30'",
            "timestamp '2024-07-01 12:00:00 Europe/Berlin'",
            "timestamp '9999-12-31 12:00:00 +00:00'",
            "timestamp '-4712-01-02 00:00:00.5 +01:00'",
            "timestamp '0001-01-02 00:00:00 +14:00'",
            "timestamp '1582-10-04 23:59:59 +00:00'",
        ],
    ),
    "ltz": (
        "timestamp(3) with local time zone",
        [
            "timestamp '2024-01-02 03:04:05.1235 +05:30'",
            "timestamp '2024-01-02 03:04:05 -09:30'",
            "timestamp '2024-10-27 02:30:00 Europe/Berlin'",
            "timestamp '9999-12-31 12:00:00 +00:00'",
            "timestamp '-4712-01-02 00:00:00.5 +01:00'",
            "timestamp '2000-02-29 00:00:00 +00:00'",
            "timestamp '1582-10-15 00:00:00 +00:00'",
        ],
    ),
    "ym": (
        "interval year(4) to month",
        [
            "interval '1-2' year to month",
            "-interval '9999-11' year(4) to month",
            "interval '0' month",
            "numtoyminterval(-1,'MONTH')",
            "to_yminterval('P12Y')",
            "interval '3' year",
            "null",
        ],
    ),
    "ds": (
        "interval day(5) to second(9)",
        [
            "interval '1 02:03:04.5' day to second",
            "-interval '99999 23:59:59.999999999' day(5) to second(9)",
            "interval '0' second",
            "-interval '0.000000001' second(2,9)",
            "to_dsinterval('P3DT4H')",
            "numtodsinterval(90,'MINUTE')",
            "null",
        ],
    ),
    "nc": ("nchar(5)", ["n'abc'", r"unistr('nch\00E1r')", "n'it''s'", r"unistr('\\\\x')", "n'x;--'", "'y'", "null"]),
    "nv": (
        "nvarchar2(20)",
        ["n'abc'", r"unistr('\D83D\DE00\20AC')", "n'it''s, ok'", r"unistr('back\\slash')", "'plain'", "n' lead'", "null"],
    ),
    "d": (
        "date",
        [
            "date '2026-02-28'",
            "date '-4712-01-01'",
            "date '9999-12-31'",
            "to_date('15-03-0044 BC','DD-MM-YYYY BC')",
            "date '0001-01-01'",
            "date '1582-10-04'",
            "date '1582-10-15'",
        ],
    ),
    "ts": (
        "timestamp(9)",
        [
            "timestamp '2026-02-28 23:59:59.999999999'",
            "timestamp '-4712-01-01 00:00:00.000000001'",
            "timestamp '9999-12-31 23:59:59.999999999'",
            "timestamp '-0001-12-31 12:30:00'",
            "timestamp '0001-01-01 00:00:00'",
            "timestamp '1582-10-04 23:59:59'",
            "null",
        ],
    ),
}
_ROWS = 7


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path)
    names = ", ".join(f"{name} {declared}" for name, (declared, _) in _COLUMNS.items())
    lab.run(
        f"create table wide (id number(5) primary key, {names})",
        "alter table wide add supplemental log data (all) columns",
    )
    yield lab
    lab.app.close()


def fill(lab: Lab) -> None:
    for n in range(_ROWS):
        values = ", ".join(values[n] for _, values in _COLUMNS.values())
        lab.run(f"insert into wide values ({n}, {values})")
    lab.app.commit()


def snapshot_rows(lab: Lab) -> list[Row]:
    return Reader(lab).take_snapshot().replica("WIDE")


def test_snapshot_and_redo_give_the_same_of_every_type(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    fill(lab)
    reader.until_marker(1)
    expected = snapshot_rows(lab)
    assert len(expected) == _ROWS
    assert reader.replica("WIDE") == expected
    lab.run("update wide set bf = bf + 1, nv = nv || n'!' where id < 3", "delete from wide where id = 4")
    lab.app.commit()
    reader.until_marker(2)
    assert reader.replica("WIDE") == snapshot_rows(lab)


def test_stored_images_give_the_same_of_every_type(lab: Lab) -> None:
    """After ADD the records of before are `COL n` and HEXTORAW. The region of a number is not known."""
    fill(lab)
    lab.run("update wide set tz = tz at time zone '+02:00' where id = 2")
    lab.app.commit()
    expected = snapshot_rows(lab)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("delete from wide")
    lab.app.commit()
    lab.run("alter table wide add extra number")
    reader.until_marker(1)
    befores = [before for op, before, _ in reader.changes("WIDE") if op == "d"]
    assert sorted(befores, key=str) == expected


def test_a_stored_region_is_refused_by_name(lab: Lab) -> None:
    fill(lab)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("delete from wide where id = 2")
    lab.app.commit()
    lab.run("alter table wide add extra number")
    with pytest.raises(ValueDecodeError, match=r"time zone region number \d+.*SCN") as caught:
        reader.until_marker(1)
    assert "redo_log_catalog" in caught.value.hint
