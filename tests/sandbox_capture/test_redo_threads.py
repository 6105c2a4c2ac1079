"""Several redo threads, as those of the instances of a cluster, are read as one history."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import (
    Reader,
)
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.logs.window import LogWindow
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.stream.events import ChangeEvent


@pytest.mark.parametrize("kind", ["public", ""])
def test_two_redo_threads_are_read_as_one_history(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool, kind: str
) -> None:
    """Changes of one row, made in turn in both threads, come in the order they were made; so they do when one closes. A thread that
    is enabled without PUBLIC is a PRIVATE one."""
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"alter database enable {kind} thread 2")
        enabled = cursor.execute("select enabled from v$thread where thread# = 2").fetchall()
        assert enabled == [("PUBLIC" if kind else "PRIVATE",)]
        lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
        reader = Reader(lab).take_snapshot(with_rows=False)
        lab.run("insert into item (id, qty) values (1, 0)", "commit")
        with fresh_sandbox.connect(lab.schema, lab.schema.lower(), "ORCLPDB1_2") as second:
            for n in range(1, 9):
                session = second if n % 2 else lab.app
                session.cursor().execute("update item set qty = :1 where id = 1", [n])
                session.commit()
                if n == 4:
                    reader.until_marker(1)
                    lab.switch_log()
        cursor.execute("call dbms_sandbox.close_thread(2)")
        lab.run("update item set qty = 9 where id = 1", "commit")
        reader.until_marker(2)
        cursor.execute("alter database disable thread 2")
        lab.run("update item set qty = 10 where id = 1", "commit")
        reader.until_marker(3)
    assert [after and after[2] for _, _, after in reader.changes()] == [str(n) for n in range(11)]
    threads = [
        e.tx.redo_thread for e in reader.events if isinstance(e, ChangeEvent) and e.tx and e.schema.id.table == "ITEM"
    ]
    assert threads[:5] == [1, 2, 1, 2, 1]
    lab.app.close()


def test_a_thread_that_was_down_when_the_stream_began_is_read_when_it_is_up_again(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("alter database enable public thread 2")
        lab = make_lab(fresh_sandbox, tmp_path, committed=committed)

        def insert_in_second(number: int) -> None:
            with fresh_sandbox.connect(lab.schema, lab.schema.lower(), "ORCLPDB1_2") as second:
                second.cursor().execute("insert into item (id) values (:1)", [number])
                second.commit()

        insert_in_second(1)
        cursor.execute("call dbms_sandbox.close_thread(2)")
        for number in range(3):
            lab.run(f"insert into marker values ({100 + number})", "commit")
            lab.switch_log()
        reader = Reader(lab).take_snapshot(with_rows=False)
        cursor.execute("call dbms_sandbox.open_thread(2)")
        with fresh_sandbox.connect(service=f"{fresh_sandbox.root_service}_2") as second_root:
            for _ in range(4):  # what it wrote before is in no online log any more
                second_root.cursor().execute("alter system switch logfile")
        insert_in_second(2)
        reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == ["2"]
    lab.app.close()


@pytest.mark.parametrize(
    "after", ["the logs are listed", "the session has started", "the session has started on one thread"]
)
def test_a_thread_that_opens_during_a_pass_does_not_change_the_order_of_a_rows_changes(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass does not read the opened thread's log, and the later change of the other thread is in one that it reads. In a cluster
    the thread may have been enabled since, too."""
    enabling = "alter database enable public thread 2"
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        if after == "the session has started on one thread":
            cursor.execute("alter session set container = cdb$root")
            cursor.execute("alter system set cluster_database = true")
            cursor.execute(f"alter session set container = {fresh_sandbox.service}")
            opening_it = enabling
        else:
            cursor.execute(enabling)
            cursor.execute("call dbms_sandbox.close_thread(2)")
            opening_it = "call dbms_sandbox.open_thread(2)"
        lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
        reader = Reader(lab).take_snapshot(with_rows=False)
        lab.run("insert into item (id, qty) values (1, 0)", "commit")
        reader.until_marker(1)
        place, name = (LogWindow, "choose") if after == "the logs are listed" else (MiningSession, "start")
        before, opened = getattr(place, name), False

        def opening(*args: Any, **options: Any) -> Any:
            nonlocal opened
            done = before(*args, **options)
            if not opened:
                opened = True
                cursor.execute(opening_it)
                with fresh_sandbox.connect(lab.schema, lab.schema.lower(), "ORCLPDB1_2") as second:
                    second.cursor().execute("update item set qty = 1 where id = 1")
                    second.commit()
                lab.run("update item set qty = 2 where id = 1", "commit")
            return done

        monkeypatch.setattr(place, name, opening)
        reader.until(lambda read: len(read.changes()) == 3)
    assert [row and row[2] for _, _, row in reader.changes()] == ["0", "1", "2"]
    lab.app.close()


def test_a_thread_without_rows_is_read_from_the_start_scn_after_a_restart(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    with fresh_sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("alter database enable public thread 2")
    lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
    reader = Reader(lab).take_snapshot(with_rows=False)
    with fresh_sandbox.connect(service=f"{fresh_sandbox.root_service}_2") as second_root:
        for number in range(4):
            lab.run(f"insert into item (id) values ({number})", "commit")
            lab.switch_log()
            second_root.cursor().execute("alter system switch logfile")
    position = reader.until_marker(1).position
    assert position is not None
    again = Reader(lab, replace(position, threads={1: position.threads[1]}), reader.tables)
    with fresh_sandbox.connect(lab.schema, lab.schema.lower(), "ORCLPDB1_2") as second:
        second.cursor().execute("insert into item (id) values (9)")
        second.commit()
    again.until_marker(2)
    assert [after and after[0] for _, _, after in again.changes()] == ["9"]
    lab.app.close()
