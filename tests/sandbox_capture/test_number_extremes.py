"""NUMBERs at the ends of what Oracle holds: the stream has them as a snapshot does, to the last digit."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

NUMBERS = [
    *("0", "1", "-1", "0.1", "1e-130", "-1e-130", "1e125", "-1e125", "1e-129", "1.5e-128", "12e-130"),
    *("9.99999999999999999999999999999999999999e125", "-9.99999999999999999999999999999999999999e125"),
    *("9.9999999999999999999999999999999999999999e125", "1e126 / 10", "99999999999999999999999999999999999999"),
    *("9999999999999999999999999999999999999999", "12345678901234567890123456789012345678.9", "1/3", "-2/3", "1e40/7"),
    *("99999999999999999999999999999999999999e-130", "1.00000000000000000000000000000000000001", "1/3e100", "-1/7e-100"),
    *(
        "123456789012345678901234567890.1234567891",
        ".0000000000000000000000000000000000000000123456789012345678901234567890123456789",
    ),
]


@pytest.mark.parametrize("column", ["number", "float", "number(38, 127)", "number(38, -84)"])
def test_the_stream_has_every_digit(sandbox: SandboxProcess, tmp_path: Path, column: str) -> None:
    lab: Lab = make_lab(sandbox, tmp_path)
    lab.run(
        f"create table n (id number(10) primary key, k {column})", "alter table n add supplemental log data (all) columns"
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    for i, number in enumerate(NUMBERS):
        with suppress(oracledb.DatabaseError):  # ORA-01426, ORA-01438: beyond the column, or beyond a NUMBER
            lab.run(f"insert into n values ({i}, {number})")
    lab.run("update n set id = id + 1000", "commit")
    reader.until_marker(1)
    snapshot = Reader(lab).take_snapshot()
    assert reader.replica("N") == snapshot.replica("N")
    assert len(snapshot.replica("N")) > 2
    lab.app.close()
