"""`minercdc.log.mining.flush.table`: the one table of the source that is written to, where it is configured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.errors import PrerequisiteError

FLUSH: dict[str, Any] = {"minercdc.log.mining.flush.table": "redo_flush"}


@pytest.fixture
def owner(fresh_sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    """The connector's user in the captured container."""
    with fresh_sandbox.connect("c##minercdc", "minercdc") as connection:
        yield connection.cursor()


def rows(owner: oracledb.Cursor) -> list[tuple[Any, ...]]:
    return list(owner.execute("select last_scn from redo_flush"))


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_each_pass_writes_the_row(
    fresh_sandbox: SandboxProcess, owner: oracledb.Cursor, tmp_path: Path, committed: bool
) -> None:
    lab = make_lab(fresh_sandbox, tmp_path, committed=committed, **FLUSH)
    reader = Reader(lab).take_snapshot(with_rows=False)
    reader.until_marker(1)
    ((first,),) = rows(owner)
    owner.execute("insert into redo_flush values (0)")  # another connector did so
    owner.connection.commit()
    lab.run("insert into item (id) values (1)")
    lab.app.commit()
    reader.until_marker(2)
    ((second,),) = rows(owner)
    assert second > first
    assert [op for op, _, _ in reader.changes("ITEM")] == ["c"]
    lab.app.close()


def test_without_the_option_nothing_is_written(
    fresh_sandbox: SandboxProcess, owner: oracledb.Cursor, tmp_path: Path
) -> None:
    lab = make_lab(fresh_sandbox, tmp_path)
    Reader(lab).take_snapshot(with_rows=False).until_marker(1)
    assert owner.execute("select count(*) from user_tables").fetchone() == (0,)
    lab.app.close()


def test_a_missing_grant_is_reported(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(fresh_sandbox, tmp_path, **FLUSH)
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.fail_call(1031, matching => 'create table \"REDO_FLUSH\"')")
    reader = Reader(lab).take_snapshot(with_rows=False)
    with pytest.raises(PrerequisiteError, match="creating table REDO_FLUSH.*ORA-01031"):
        reader.until_marker(1)
    lab.app.close()
