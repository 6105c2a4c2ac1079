"""Where mining begins for an SCN of the past, by redo and V$TRANSACTION."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer import open_at
from minercdc.capture.logminer.session.logminer_session import MiningSession


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path)
    yield lab
    lab.app.close()


def _one(sandbox: SandboxProcess, sql: str) -> int:
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        return int(cursor.execute(sql).fetchone()[0])


def _forget_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = open_at._ends

    def without_start(session: MiningSession, container: str | None) -> Iterator[open_at.End]:
        return (end._replace(start_scn=None) for end in ends(session, container))

    monkeypatch.setattr(open_at, "_ends", without_start)


@pytest.mark.parametrize("known", [True, False], ids=["START_SCN on COMMIT", "no START_SCN on COMMIT"])
@pytest.mark.parametrize("ended", [True, False], ids=["committed", "open"])
def test_it_begins_with_the_oldest_transaction_logs_ago(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, known: bool, ended: bool
) -> None:
    if not known:
        _forget_starts(monkeypatch)
    with lab.app.cursor() as cursor, lab.sandbox.connect(service=lab.sandbox.root_service) as admin:
        cursor.execute("insert into item (id) values (1)")
        begun = _one(lab.sandbox, "select min(start_scn) from v$transaction where start_scn > 0")
        for _ in range(3):
            admin.cursor().execute("alter system switch logfile")
        scn = _one(lab.sandbox, "select current_scn from v$database")
        admin.cursor().execute("alter system switch logfile")
        if ended:
            lab.app.commit()
        try:
            assert begun - 5 <= lab.mine_from(scn) <= begun
            if ended:
                later = _one(lab.sandbox, "select current_scn from v$database")
                assert lab.mine_from(later) == later
        finally:
            lab.app.rollback()


@pytest.mark.parametrize("known", [True, False], ids=["START_SCN on COMMIT", "no START_SCN on COMMIT"])
def test_it_finds_a_transaction_of_another_redo_thread(
    fresh_sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("alter database enable public thread 2")
        lab = make_lab(fresh_sandbox, tmp_path)
        if not known:
            _forget_starts(monkeypatch)
        with fresh_sandbox.connect(lab.schema, lab.schema.lower(), "ORCLPDB1_2") as second:
            second.cursor().execute("insert into item (id) values (1)")
            begun = _one(fresh_sandbox, "select min(start_scn) from gv$transaction where start_scn > 0")
            for number in range(3):
                lab.run(f"insert into item (id) values ({10 + number})", "commit")
                lab.switch_log()
            scn = _one(fresh_sandbox, "select current_scn from v$database")
            lab.run("insert into item (id) values (20)", "commit")
            assert begun - 5 <= lab.mine_from(scn) <= begun
            second.commit()
        assert begun - 5 <= lab.mine_from(scn) <= begun
    lab.app.close()
