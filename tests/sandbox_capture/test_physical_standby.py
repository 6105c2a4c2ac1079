"""Redo is mined in a physical standby: archived logs as far as they are applied, without a dictionary, while the rest is the primary's."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import ITEM_CHANGES, ITEM_EVENTS, ITEM_TABLES, Reader, switch_supplemental_logging_on
from tests.sandbox_capture.secondary import (
    SecondaryLab,
    come_in_the_order_of_their_commits,
    delivers_each_transaction_once,
    enable_second_thread,
)

from minercdc.capture.logminer.logs.physical_standby import table_findings
from minercdc.errors import PrerequisiteError
from minercdc.operate.check.examination import _examined
from minercdc.operate.check.physical_standby import OF_STANDBY
from minercdc.operate.check.source import ExaminedSource
from minercdc.oracle.connect import connect
from minercdc.oracle.finding import Severity
from minercdc.oracle.grants import Platform
from minercdc.pipeline.start_checks import check_prerequisites
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.events import UNAVAILABLE

_names = (f"stby{i}" for i in itertools.count())


class StandbyLab(SecondaryLab):
    """A lab whose redo is mined in the sandbox's standby."""

    def __init__(self, sandbox: SandboxProcess, directory: Path, **mining: Any) -> None:
        super().__init__(sandbox, next(_names), directory, "physical_standby", "ORCLSTBY", **mining)
        self.call("open_standby")


def make_lab(sandbox: SandboxProcess, directory: Path, **mining: Any) -> StandbyLab:
    switch_supplemental_logging_on(sandbox)
    lab = StandbyLab(sandbox, directory, **mining)
    lab.run(*ITEM_TABLES)
    return lab


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[StandbyLab]:
    lab = make_lab(sandbox, tmp_path)
    yield lab
    lab.call("resume_apply")
    lab.app.close()


@pytest.fixture
def reader(lab: StandbyLab) -> Reader:
    return Reader(lab).take_snapshot(with_rows=False)


def test_changes_come_as_they_were_made_once_their_log_is_applied(lab: StandbyLab, reader: Reader) -> None:
    lab.run(*ITEM_CHANGES)
    lab.app.commit()
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes() == ITEM_EVENTS


def test_what_is_not_applied_waits_and_nothing_is_lost_or_repeated_over_restarts(lab: StandbyLab, reader: Reader) -> None:
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.call("stall_apply")
    lab.run("insert into item values (2, 'b', 2, null)", "update item set qty = 5 where id = 1")
    lab.mark(2)
    looks = itertools.count()
    reader.until(lambda _: next(looks) > 5)
    assert not reader.changes("MARKER")[1:], "its log is archived, but not applied"
    assert reader.changes() == [("c", None, ("1", "a", "1", None))]
    assert lab.counters.spent.totals()[Cause.APPLY] > 0, "it is the standby that is waited for"
    again = Reader(lab, reader.position, reader.tables)  # restarted while apply is stalled
    threading.Timer(0.2, lab.call, ("resume_apply",)).start()
    again.until(lambda found: found.has_marker(2))
    assert again.changes() == [("c", None, ("2", "b", "2", None)), ("u", ("1", "a", "1", None), ("1", "a", "5", None))]
    third = Reader(lab, again.position, reader.tables)
    lab.run("delete from item where id = 2")
    lab.mark(3)
    third.until(lambda found: found.has_marker(3))
    assert third.changes() == [("d", ("2", "b", "2", None), None)]


def test_a_transaction_over_several_logs_comes_whole_after_a_restart(lab: StandbyLab, reader: Reader) -> None:
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.switch_log()
    lab.run("insert into item values (2, 'b', 2, null)")
    other = lab.session()
    other.cursor().execute("insert into marker values (1)")
    other.commit()
    lab.switch_log()
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes() == []
    again = Reader(lab, reader.position, reader.tables)
    lab.run("insert into item values (3, 'c', 3, null)")
    lab.app.commit()
    lab.mark(2)
    again.until(lambda found: found.has_marker(2))
    assert [row for _, _, row in again.changes()] == [
        (str(n), name, str(n), None) for n, name in ((1, "a"), (2, "b"), (3, "c"))
    ]


@pytest.mark.parametrize("memory", [64 * 1024, 192 << 20])
def test_rows_that_are_kept_over_a_restart_or_spilled_are_decoded(
    sandbox: SandboxProcess, tmp_path: Path, memory: int
) -> None:
    bounds = {"minercdc.log.mining.buffer.memory.max.bytes": memory, "minercdc.log.mining.buffer.durable.after.ms": 0}
    lab = make_lab(sandbox, tmp_path, **bounds)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run(*(f"insert into item values ({n}, '{'x' * 80}', {n}, null)" for n in range(300)))
    lab.switch_log()
    other = lab.session()
    for number in (1, 2):
        other.cursor().execute(f"insert into marker values ({number})")
        other.commit()
        lab.switch_log()
        reader.until(partial(Reader.has_marker, number=number))
    assert reader.position is not None
    assert reader.position.kept
    again = Reader(lab, reader.position, reader.tables)
    lab.run("update item set qty = -1 where id = 7")
    lab.commit()
    lab.mark(3)
    again.until(lambda found: found.has_marker(3))
    assert again.replica("ITEM") == sorted(
        ((str(n), "x" * 80, "-1" if n == 7 else str(n), None) for n in range(300)), key=str
    )
    lab.app.close()


def test_ddl_is_followed_without_a_dictionary(lab: StandbyLab, reader: Reader) -> None:
    lab.run(
        "insert into item values (1, 'a', 1, null)",
        "alter table item add (note varchar2(10))",
        "insert into item values (2, 'b', 2, null, 'new')",
        "alter table item drop column qty",
        "insert into item values (3, 'c', null, 'newer')",
        "alter table item rename to thing",
        "insert into thing values (4, 'd', null, null)",
        "create table later (id number(5) primary key, t timestamp)",
        "insert into later values (7, timestamp '2026-01-02 03:04:05.5')",
        "drop table later purge",
    )
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert [row for _, _, row in reader.changes("ITEM", "THING")] == [
        ("1", "a", "1", None),
        ("2", "b", "2", None, "new"),
        ("3", "c", None, "newer"),
        ("4", "d", None, None),
    ]
    assert [row for _, _, row in reader.changes("LATER")] == [("7", "2026-01-02 03:04:05.500000000")], "it is gone by now"


def test_tables_of_others_are_left_out(lab: StandbyLab, reader: Reader, sandbox: SandboxProcess) -> None:
    name = next(_names)
    sandbox.create_user(name)
    with sandbox.connect(name, name) as other, other.cursor() as cursor:
        cursor.execute("create table item (id number primary key)")
        cursor.execute("insert into item values (1)")
        cursor.execute("create table gone (id number)")
        cursor.execute("insert into gone values (1)")
        other.commit()
        cursor.execute("drop table gone purge")
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes() == []


def test_a_table_that_no_snapshot_has_is_found_by_its_object_id(lab: StandbyLab, reader: Reader) -> None:
    """As the signal table, whose structure no snapshot takes."""
    other = next(_names)
    lab.sandbox.create_user(other)
    with lab.sandbox.connect(other, other) as session, session.cursor() as cursor:
        cursor.execute("create table signals (id varchar2(42) primary key, type varchar2(32), data varchar2(2048))")
        lab.filter = replace(lab.filter, also=frozenset({(other.upper(), "SIGNALS")}))
        cursor.execute("insert into signals values ('1', 'log', null)")
        session.commit()
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes("SIGNALS") == [("c", None, ("1", "log", None))]


def test_values_are_those_of_a_snapshot(lab: StandbyLab) -> None:
    columns = {
        "n": ("number", "123456789.25"),
        "f": ("binary_double", "-2.5"),
        "c": ("char(5)", "'ab'"),
        "v": ("nvarchar2(9)", "'\u00e9\u20ac'"),
        "r": ("raw(9)", "hextoraw('00ff10')"),
        "t": ("timestamp(9)", "timestamp '2026-01-02 03:04:05.000000001'"),
        "u": ("timestamp", "timestamp '2026-01-02 03:04:05.5'"),
        "d": ("date", "date '2026-01-02'"),
        "z": ("timestamp with time zone", "timestamp '2026-01-02 03:04:05.5 +05:30'"),
        "y": ("interval year to month", "interval '1-2' year to month"),
        "s": ("interval day to second", "interval '-1 2:3:4.5' day to second"),
        "e": ("varchar2(3)", "null"),
    }
    lab.run(
        f"create table kinds (id number primary key, {', '.join(f'{name} {kind}' for name, (kind, _) in columns.items())})",
        "alter table kinds add supplemental log data (all) columns",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run(f"insert into kinds values (1, {', '.join(value for _, value in columns.values())})")
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    read = Reader(lab).take_snapshot()
    assert reader.changes("KINDS") == [("c", None, row) for _, _, row in read.changes("KINDS")]
    lab.run("update kinds set e = 'x'", "delete from kinds")
    lab.mark(2)
    reader.until(lambda found: found.has_marker(2))
    assert [op for op, _, _ in reader.changes("KINDS")] == ["c", "u", "d"]
    assert reader.replica("KINDS") == []


def test_large_values_have_the_placeholder(lab: StandbyLab) -> None:
    lab.run(
        "create table large (id number primary key, l clob, v varchar2(9))",
        "alter table large add supplemental log data (all) columns",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run(
        "insert into large values (1, 'text', 'a')",
        "insert into large values (2, null, null)",
        "delete from large where id = 1",
    )
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes("LARGE") == [
        ("c", None, ("1", UNAVAILABLE, "a")),
        ("c", None, ("2", UNAVAILABLE, None)),
        ("d", ("1", UNAVAILABLE, "a"), None),
    ]


def test_after_a_switchover_the_error_says_what_to_do(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(fresh_sandbox, tmp_path)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.call("switch_over")
    with pytest.raises(PrerequisiteError, match=r"database\.\* is a PHYSICAL STANDBY \(READ ONLY WITH APPLY\)") as caught:
        Reader(lab, reader.position, reader.tables).until(lambda _: False)
    assert "swap database.* and secondary.* and continue from the same offset" in (caught.value.hint or "")
    lab.config, lab.other = lab.other, lab.config  # the service ORCLSTBY is the primary now
    with fresh_sandbox.connect(service="ORCLSTBY") as primary, primary.cursor() as cursor:
        cursor.execute("alter session set container = ORCLPDB1")
        cursor.execute(f"insert into {lab.schema}.item values (1, 'a', 1, null)")
        cursor.execute(f"insert into {lab.schema}.marker values (2)")
        primary.commit()
    with fresh_sandbox.connect(service="ORCLSTBY") as admin, admin.cursor() as cursor:
        cursor.execute("alter system switch logfile")
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(2))
    assert again.changes() == [("c", None, ("1", "a", "1", None))]


def test_a_partitioned_table_is_refused_by_name(lab: StandbyLab) -> None:
    lab.run("create table parts (id number primary key) partition by range (id) (partition p1 values less than (10))")
    with connect(lab.config, "pdb") as connection:
        (finding,) = table_findings(connection, lab.filter)
    assert finding.blocking
    assert f"{lab.schema}.PARTS is partitioned" in finding.problem
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("insert into parts values (1)")
    lab.mark(1)
    with pytest.raises(PrerequisiteError, match=f"{lab.schema}.PARTS is partitioned"):
        reader.until(lambda found: found.has_marker(1))


def test_redo_that_the_standby_has_no_more_is_a_gap(lab: StandbyLab, reader: Reader) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.mark(2)
    lab.mark(3)
    assert reader.position is not None
    assert lab.unreadable(reader.position) is None
    sequence = reader.position.threads[1].resume.sequence
    lab.call("purge_log", 1, sequence)
    gap = lab.unreadable(reader.position)
    assert gap is not None
    assert f"log sequence {sequence}" in gap.message


@pytest.mark.parametrize("real_time", [0, 1])
def test_the_engine_delivers_each_transaction_once_while_apply_stalls_and_sessions_end(
    lab: StandbyLab, real_time: int
) -> None:
    lab.call("open_standby", real_time)
    delivers_each_transaction_once(lab, "apply")


def test_check_examines_both_databases(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(fresh_sandbox, tmp_path)
    config = replace(lab.connector_config("fail"), secondary=lab.place)

    def rules() -> set[str]:
        return {finding.rule for finding in check_prerequisites(config) if finding.rule.startswith("standby")}

    def advised() -> set[str]:
        with connect(lab.config, "root") as primary, lab.connect_other() as standby:
            mined = ExaminedSource(config, primary, [], Platform.ORACLE, True, frozenset(), standby)
            return {finding.rule for finding in _examined(mined, OF_STANDBY) if finding.severity is not Severity.UNKNOWN}

    lab.mark(1)
    assert (rules(), advised()) == (set(), set())
    lab.call("stall_apply")
    assert advised() == {"standby-apply"}
    lab.call("jump_clock", 3 * 3600)
    assert advised() == {"standby-apply", "standby-lag"}
    lab.app = lab.session()
    lab.run("create table parts (id number primary key) partition by range (id) (partition p1 values less than (10))")
    assert rules() == {"standby-tables"}
    lab.call("switch_over")
    (finding,) = [found for found in check_prerequisites(config) if found.rule == "database-role"]
    assert finding.blocking
    assert "database.* must be the primary" in finding.problem


@pytest.fixture
def two_threads(fresh_sandbox: SandboxProcess, tmp_path: Path) -> StandbyLab:
    enable_second_thread(fresh_sandbox)
    return make_lab(fresh_sandbox, tmp_path)


def test_two_redo_threads_come_in_the_order_of_their_commits_however_their_logs_arrive(two_threads: StandbyLab) -> None:
    come_in_the_order_of_their_commits(two_threads, "apply")


def test_a_thread_that_went_down_holds_the_other_back_until_its_last_log_has_arrived(two_threads: StandbyLab) -> None:
    """With real-time apply, which also applies what is in no archived log yet."""
    lab = two_threads
    lab.call("open_standby", 1)
    reader = Reader(lab).take_snapshot(with_rows=False)
    session = lab.second()
    for number in (1, 2):
        session.cursor().execute("insert into item values (:1, 'a', 0, null)", [number])
        session.commit()
        if number == 1:
            lab.switch_second()
    lab.call("close_thread", 2)
    lab.mark(1)
    looks = itertools.count()
    reader.until(lambda _: next(looks) > 30)
    assert (len(reader.changes()), reader.changes("MARKER")) == (1, []), "row 2 was committed before the marker"
    lab.call("open_thread", 2)  # with a log switch
    lab.switch_second()
    lab.switch_log()
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(1))
    assert [row and row[0] for _, _, row in again.changes("ITEM", "MARKER")] == ["2", "1"]
