"""`log.mining.strategy=redo_log_catalog`: the connector writes a dictionary to the redo, and rows have the names of their time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.running import Ledger, running
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.session import redo_dictionary
from minercdc.errors import PrerequisiteError

STRATEGY: dict[str, Any] = {"log.mining.strategy": "redo_log_catalog"}


@pytest.fixture(params=[False, True], ids=["uncommitted", "committed"])
def lab(fresh_sandbox: SandboxProcess, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lab]:
    lab = make_lab(fresh_sandbox, tmp_path, committed=request.param, **STRATEGY)
    yield lab
    lab.app.close()


def dictionaries(lab: Lab) -> int:
    """How many the archived logs hold."""
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        ((count,),) = cursor.execute("select count(*) from v$archived_log where dictionary_begin = 'YES'").fetchall()
        return int(count)


def test_a_dictionary_is_written_once_and_rows_of_every_version_have_names(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    assert dictionaries(lab) == 0
    lab.run("insert into item (id, name) values (1, 'old')")
    lab.app.commit()
    reader.until_marker(1)
    assert dictionaries(lab) == 1
    lab.run(
        "insert into item (id, name) values (2, 'before')",
        "alter table item add (more varchar2(10) default 'm')",
        "insert into item (id, name, more) values (3, 'after', 'x')",
        "alter table item drop column name",
        "update item set qty = 1",
    )
    lab.app.commit()
    lab.switch_log()
    again = Reader(lab, reader.position, reader.tables)
    again.until_marker(2)
    assert dictionaries(lab) == 1
    assert [after for op, _, after in again.changes() if op == "c"] == [
        ("2", "before", None, None),
        ("3", "after", None, None, "x"),
    ]
    assert len([op for op, _, _ in again.changes() if op == "u"]) == 3
    assert [change.ddl.split()[:2] for change in again.schema_changes()] == [["alter", "table"]] * 2


def test_rows_of_a_dropped_table_still_come(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    reader.until_marker(1)
    lab.run("insert into item (id, name) values (1, 'n')")
    lab.app.commit()
    lab.run("drop table item purge")
    reader.until_marker(2)
    assert reader.changes() == [("c", None, ("1", "n", None, None))]


def test_a_dictionary_far_back_is_followed_by_a_new_one(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redo_dictionary, "_FAR_BACK", 3)
    ledger, written = Ledger(), []
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        for number in range(2, 14):
            lab.run(f"insert into item (id) values ({number})")
            lab.app.commit()
            lab.switch_log()
            engine.until_marker(number)
            written.append(dictionaries(lab))
    assert written[0] == 1
    assert 3 <= written[-1] <= 6  # one for every few logs, and not one for each
    assert [event.after and event.after[0] for event in ledger.changes()] == [str(number) for number in range(2, 14)]


def test_what_is_lacking_to_write_it_is_reported(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    with lab.sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.fail_call(6550, matching => 'DBMS_LOGMNR_D.BUILD')")
    with pytest.raises(PrerequisiteError, match=r"DBMS_LOGMNR_D with log\.mining\.strategy"):
        reader.until_marker(1)
