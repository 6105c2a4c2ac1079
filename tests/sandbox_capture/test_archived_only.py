"""LogMiner on archived logs only, in the source itself (`log.mining.archive.log.only.mode`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import ITEM_TABLES, Lab, Reader, switch_supplemental_logging_on
from tests.sandbox_capture.secondary import enable_second_thread, looks

from minercdc.capture.logminer.session.waiting import PassPause
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import ChangeEvent, Progress

_numbers = itertools.count()


class ArchivedLab(Lab):
    """A lab whose archived logs are mined."""

    def __init__(self, sandbox: SandboxProcess, directory: Path, **mining: Any) -> None:
        given = {
            "log.mining.archive.log.only.mode": True,
            "log.mining.archive.log.only.scn.poll.interval.ms": 10,
            **mining,
        }
        switch_supplemental_logging_on(sandbox)
        super().__init__(sandbox, f"archived{next(_numbers)}", directory, **given)
        self.run(*ITEM_TABLES)

    def mark(self, number: int) -> None:
        """Commit a row of the marker, and have it archived."""
        self.run(f"insert into marker values ({number})", "commit")
        self.switch_log()

    def administer(self, statement: str, service: str = "") -> None:
        """Run a statement in the root, by the instance whose service name ends with `service`."""
        with self.sandbox.connect(service=f"{self.sandbox.root_service}{service}") as admin, admin.cursor() as cursor:
            cursor.execute(statement)


def test_complete_is_only_what_the_pass_has_read_when_it_takes_fewer_logs_than_there_are(
    fresh_sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has read all that there are, it does not wait for redo."""
    lab = ArchivedLab(fresh_sandbox, tmp_path, **{"log.mining.log.count.min": 1})
    reader = Reader(lab).take_snapshot(with_rows=False)
    for number in range(1, 5):
        lab.mark(number)
    wait, read_before = PassPause.wait, []

    def noted(pause: PassPause, connection: oracledb.Connection, stop: StopFlag) -> Iterator[float]:
        read_before.append(len(reader.changes("MARKER")))
        return wait(pause, connection, stop)

    monkeypatch.setattr(PassPause, "wait", noted)
    reader.until(lambda found: found.has_marker(4)).until(looks(20))
    assert read_before[0] == 4
    complete, commits = 0, []
    for event in reader.events:
        if isinstance(event, Progress):
            complete = max(complete, event.complete_scn)
        elif isinstance(event, ChangeEvent) and event.tx is not None:
            assert event.tx.commit_scn > complete, f"it came when {complete} was said to be complete"
            commits.append(event.tx.commit_scn)
    assert len(commits) == 4
    assert complete >= commits[-1]
    lab.app.close()


@pytest.mark.parametrize("destination", ["", "LOG_ARCHIVE_DEST_1"])
def test_archived_logs_are_found_where_the_view_of_destinations_is_empty(
    fresh_sandbox: SandboxProcess, tmp_path: Path, destination: str
) -> None:
    lab = ArchivedLab(fresh_sandbox, tmp_path, **({"archive.destination.name": destination} if destination else {}))
    lab.administer(  # the connector's user has a table of that name, which is empty
        "create table c##minercdc.v$archive_dest_status (dest_id number, dest_name varchar2(256), status varchar2(9), type varchar2(14))"
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.app.close()


def test_archived_logs_of_a_destination_that_is_not_used_any_more_are_found(
    fresh_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    """Archiving went to another one while the connector was down; one that is full, or deferred, keeps its logs as well."""
    lab = ArchivedLab(fresh_sandbox, tmp_path)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.mark(1)
    lab.administer(f"alter system set log_archive_dest_2 = 'LOCATION={tmp_path / 'second'}'")
    lab.administer("alter system set log_archive_dest_1 = ''")
    lab.mark(2)
    assert reader.position is not None
    assert lab.unreadable(reader.position) is None
    reader.until(lambda found: found.has_marker(2))
    assert len(reader.changes("MARKER")) == 2
    lab.app.close()


def test_a_thread_that_went_down_holds_the_other_back_until_its_last_log_is_archived(
    fresh_sandbox: SandboxProcess, tmp_path: Path
) -> None:
    enable_second_thread(fresh_sandbox)
    lab = ArchivedLab(fresh_sandbox, tmp_path)
    lab.administer("alter system switch logfile", "_2")
    reader = Reader(lab).take_snapshot(with_rows=False)
    with lab.sandbox.connect(lab.schema, lab.schema.lower(), f"{lab.sandbox.service}_2") as second:
        for number in (1, 2):
            second.cursor().execute("insert into item values (:1, 'a', 0, null)", [number])
            second.commit()
            if number == 1:
                lab.administer("alter system switch logfile", "_2")
    lab.administer("call dbms_sandbox.close_thread(2)")
    lab.mark(1)
    reader.until(looks(30))
    assert (len(reader.changes()), reader.changes("MARKER")) == (1, []), "row 2 was committed before the marker"
    lab.administer("call dbms_sandbox.open_thread(2)")  # with a log switch
    lab.administer("alter system switch logfile", "_2")
    lab.switch_log()
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(1))
    assert [row and row[0] for _, _, row in again.changes("ITEM", "MARKER")] == ["2", "1"]
    lab.app.close()
