"""INVISIBLE columns are columns: captured, and kept when their visibility changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Reader, without_versions
from tests.sandbox_capture.test_capture import make_lab


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_they_are_in_snapshots_and_in_the_stream(sandbox: SandboxProcess, tmp_path: Path, committed: bool) -> None:
    lab = make_lab(sandbox, tmp_path, committed=committed)
    lab.run(
        "create table h (id number(10) primary key, a varchar2(5) invisible, b varchar2(5), c varchar2(5))",
        "alter table h add supplemental log data (all) columns",
        "insert into h (id, a, b, c) values (1, 'a', 'b', 'c')",
        "commit",
    )
    reader = Reader(lab).take_snapshot()
    lab.run(
        "insert into h (id, a, b) values (2, 'x', 'y')",
        "commit",
        "alter table h modify c invisible",
        "insert into h (id, c) values (3, 'z')",
        "commit",
        "alter table h modify (c visible, b invisible)",
        "alter table h add (d varchar2(5) default 'd' invisible)",
        "update h set a = 'n' where id = 1",
        "commit",
        "alter table h modify a visible",
        "insert into h values (4, 'C', 'A')",
        "commit",
        "create table made (id number(5) primary key, v varchar2(5) invisible)",
        "alter table made add supplemental log data (all) columns",
        "insert into made (id, v) values (1, 'v')",
        "commit",
    )
    reader.until_marker(1)
    assert reader.changes("H") == [
        ("r", None, ("1", "a", "b", "c")),
        ("c", None, ("2", "x", "y", None)),
        ("c", None, ("3", None, None, "z")),
        ("u", ("1", "a", "b", "c", "d"), ("1", "n", "b", "c", "d")),
        ("c", None, ("4", "A", None, "C", "d")),
    ]
    assert reader.changes("MADE") == [("c", None, ("1", "v"))]
    again = Reader(lab).take_snapshot()
    for name in ("H", "MADE"):
        known, present = reader.tables.find(lab.table(name)), lab.read_table(lab.table(name))
        assert known is not None
        assert present is not None
        assert without_versions(known) == present
        if name == "MADE":
            assert again.replica(name) == reader.replica(name)
    lab.app.close()
