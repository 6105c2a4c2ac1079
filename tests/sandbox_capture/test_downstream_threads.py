"""Several redo threads in a downstream database, and what `minercdc check` examines of both databases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Reader
from tests.sandbox_capture.secondary import (
    DownstreamLab,
    come_in_the_order_of_their_commits,
    downstream_lab,
    enable_second_thread,
    looks,
)

from minercdc.operate.check.downstream import OF_DOWNSTREAM
from minercdc.operate.check.examination import _examined
from minercdc.operate.check.source import ExaminedSource
from minercdc.oracle.connect import connect
from minercdc.oracle.grants import Platform
from minercdc.pipeline.start_checks import check_prerequisites


@pytest.fixture
def two_threads(fresh_sandbox: SandboxProcess, tmp_path: Path) -> DownstreamLab:
    enable_second_thread(fresh_sandbox)
    lab = downstream_lab(fresh_sandbox, tmp_path)
    lab.switch_second()
    return lab


def test_two_redo_threads_come_in_the_order_of_their_commits_however_their_logs_arrive(two_threads: DownstreamLab) -> None:
    come_in_the_order_of_their_commits(two_threads, "shipping")


def test_a_thread_whose_logs_do_not_arrive_holds_the_other_back(two_threads: DownstreamLab) -> None:
    lab = two_threads
    reader = Reader(lab).take_snapshot(with_rows=False)
    session = lab.second()
    session.cursor().execute("insert into item values (1, 'a', 0, null)")
    session.commit()
    with lab.sandbox.connect(service=f"{lab.sandbox.root_service}_2") as admin, admin.cursor() as cursor:
        cursor.execute("select sequence# from v$log where status = 'CURRENT' and thread# = 2")
        ((held,),) = cursor.fetchall()
    for sequence in range(held, held + 20):
        lab.call("hold_log", 2, sequence)
    lab.mark(1)
    reader.until(looks(30))
    assert reader.changes("ITEM", "MARKER") == [], "row 1 was committed before the marker"
    lab.call("resume_shipping")
    lab.switch_second()
    lab.switch_log()
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(1))
    assert [row and row[0] for _, _, row in again.changes("ITEM", "MARKER")] == ["1", "1"]


def test_a_thread_that_went_down_holds_the_other_back_until_its_last_log_has_arrived(two_threads: DownstreamLab) -> None:
    lab = two_threads
    reader = Reader(lab).take_snapshot(with_rows=False)
    session = lab.second()
    for number in (1, 2):
        session.cursor().execute("insert into item values (:1, 'a', 0, null)", [number])
        session.commit()
        if number == 1:
            lab.switch_second()
    lab.call("close_thread", 2)
    lab.mark(1)
    reader.until(looks(30))
    assert (len(reader.changes()), reader.changes("MARKER")) == (1, []), "row 2 was committed before the marker"
    lab.call("open_thread", 2)  # with a log switch
    lab.switch_second()
    lab.switch_log()
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(1))
    assert [row and row[0] for _, _, row in again.changes("ITEM", "MARKER")] == ["2", "1"]


def test_check_examines_both_databases(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = downstream_lab(fresh_sandbox, tmp_path)
    config = replace(lab.connector_config("fail"), secondary=lab.place)

    def rules() -> set[str]:
        return {finding.rule for finding in check_prerequisites(config) if finding.rule.startswith("downstream")}

    def advised() -> dict[str, str]:
        with connect(lab.config, "root") as source, lab.connect_other() as downstream:
            mined = ExaminedSource(config, source, [], Platform.ORACLE, True, frozenset(), downstream)
            return {finding.rule: finding.problem for finding in _examined(mined, OF_DOWNSTREAM)}

    lab.mark(1)
    assert (rules(), advised()) == (set(), {})
    lab.call("hold_log", 1, lab.sequence())
    for number in (2, 3, 4):
        lab.mark(number)
    assert "although later ones exist" in advised()["downstream-transport"]
    lab.call("resume_shipping")
    lab.call("stall_shipping")
    for number in (5, 6, 7):
        lab.mark(number)
    assert "none after" in advised()["downstream-transport"]
    with fresh_sandbox.connect(service="ORCLMINE") as admin, admin.cursor() as cursor:
        cursor.execute("revoke logmining from c##minercdc")
    (finding,) = [found for found in check_prerequisites(config) if found.rule == "downstream-grants"]
    assert finding.blocking
    assert finding.fix == "On the downstream database: GRANT LOGMINING TO C##MINERCDC CONTAINER=ALL;"
    itself = lab.place.model_copy(update={"secondary_dbname": lab.sandbox.root_service})
    (finding,) = [found for found in check_prerequisites(replace(config, secondary=itself)) if found.blocking]
    assert (finding.rule, "it is that database or a copy" in finding.problem) == ("downstream-role", True)
