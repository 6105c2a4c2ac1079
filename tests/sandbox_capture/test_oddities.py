"""What redo looks like now and then (docs/reference/logminer-facts.md, B and D): each oddity by the sandbox, and nothing is lost or repeated."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.stream.events import Progress

Say = Callable[[str], None]


@pytest.fixture(params=[False, True], ids=["uncommitted", "committed"])
def lab(request: pytest.FixtureRequest, sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path, committed=request.param)
    yield lab
    lab.app.close()


@pytest.fixture
def reader(lab: Lab) -> Reader:
    return Reader(lab).take_snapshot(with_rows=False)


@pytest.fixture
def say(sandbox: SandboxProcess) -> Iterator[Say]:
    """Calls a procedure of DBMS_SANDBOX."""
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:

        def call(procedure: str) -> None:
            cursor.execute(f"call dbms_sandbox.{procedure}")

        yield call


def ids(reader: Reader) -> list[Any]:
    return [after and after[0] for _, _, after in reader.changes("ITEM")]


def resume(reader: Reader) -> str:
    assert isinstance(reader.position, LogMinerPosition)
    return reader.position.threads[1].resume.rs_id


def test_d4_a_start_that_never_ends_holds_no_position_back(lab: Lab, reader: Reader, say: Say) -> None:
    say("start_phantom()")
    reader.until_marker(1)
    before = resume(reader)
    for number in range(2, 5):
        lab.switch_log()
        lab.run(f"insert into item (id) values ({number})")
        lab.app.commit()
        reader.until_marker(number)
    reader.until(lambda reader: resume(reader) > before)
    assert ids(reader) == ["2", "3", "4"]


def test_e69_a_start_after_the_first_change_loses_nothing(lab: Lab, reader: Reader, say: Say) -> None:
    for number in (1, 2):
        say(f"start_late('{lab.schema}')")
        lab.run(f"insert into item (id) values ({number})", f"insert into item (id) values ({number + 10})")
        lab.app.commit()
        reader.until_marker(number)
    assert ids(reader) == ["1", "11", "2", "12"]


def test_e69_a_late_start_between_two_runs_loses_nothing(lab: Lab, reader: Reader, say: Say) -> None:
    with lab.session() as slow:
        say(f"start_late('{lab.schema}')")
        slow.cursor().execute("insert into item (id) values (1)")
        say(f"release_strand('{lab.schema}')")
        reader.until_marker(1)
        slow.cursor().execute("insert into item (id) values (2)")
        slow.commit()
    reader.until_marker(2)
    assert ids(reader) == ["1", "2"]


def commit_together(say: Say, first: oracledb.Connection, second: oracledb.Connection) -> None:
    """Both commits have one SCN."""
    say("meet_commits(2)")
    waiting = threading.Thread(target=second.commit)
    waiting.start()
    first.commit()
    waiting.join(10)
    assert not waiting.is_alive()


def ends_a_transaction(reader: Reader) -> bool:
    last = reader.events[-1]
    return isinstance(last, Progress) and last.committed is not None


def test_d2_two_commits_of_one_scn_come_once_each_whatever_stops_between(lab: Lab, reader: Reader, say: Say) -> None:
    with lab.session() as other:
        for number in range(3):
            lab.run(f"insert into item (id) values ({number})")
            other.cursor().execute(f"insert into item (id) values ({10 + number})")
            commit_together(say, lab.app, other)
            done = len(ids(reader))
            reader.until(lambda reader, done=done: ends_a_transaction(reader) and len(ids(reader)) > done)  # type: ignore[misc]
    reader.until_marker(1)
    assert sorted(ids(reader), key=int) == ["0", "1", "2", "10", "11", "12"]
