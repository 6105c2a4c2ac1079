"""Redo is mined in a downstream database: the archived logs that it has received, with the dictionary in them; the rest is the source's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import ITEM_CHANGES, ITEM_EVENTS, Reader
from tests.sandbox_capture.secondary import DownstreamLab, delivers_each_transaction_once, downstream_lab, looks
from tests.sandbox_capture.test_lobs import same_as_snapshot

from minercdc.errors import LogGapError, PrerequisiteError
from minercdc.stream.counters.lag_causes import Cause


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[DownstreamLab]:
    lab = downstream_lab(sandbox, tmp_path)
    yield lab
    lab.call("resume_shipping")
    lab.app.close()


@pytest.fixture
def reader(lab: DownstreamLab) -> Reader:
    return Reader(lab).take_snapshot(with_rows=False)


def test_changes_come_as_they_were_made_once_their_log_is_received(lab: DownstreamLab, reader: Reader) -> None:
    lab.run(*ITEM_CHANGES)
    lab.app.commit()
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes() == ITEM_EVENTS


def test_what_is_not_shipped_waits_and_nothing_is_lost_or_repeated_over_restarts(lab: DownstreamLab, reader: Reader) -> None:
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.call("stall_shipping")
    lab.run("insert into item values (2, 'b', 2, null)", "update item set qty = 5 where id = 1")
    lab.mark(2)
    reader.until(looks())
    assert not reader.changes("MARKER")[1:], "its log is archived, but not shipped"
    assert reader.changes() == [("c", None, ("1", "a", "1", None))]
    assert lab.counters.spent.totals()[Cause.SHIPPING] > 0, "it is the downstream database that is waited for"
    again = Reader(lab, reader.position, reader.tables)  # restarted while shipping is stalled
    threading.Timer(0.2, lab.call, ("resume_shipping",)).start()
    again.until(lambda found: found.has_marker(2))
    assert again.changes() == [("c", None, ("2", "b", "2", None)), ("u", ("1", "a", "1", None), ("1", "a", "5", None))]
    third = Reader(lab, again.position, reader.tables)
    lab.run("delete from item where id = 2")
    lab.mark(3)
    third.until(lambda found: found.has_marker(3))
    assert third.changes() == [("d", ("2", "b", "2", None), None)]


def test_the_dictionary_is_written_in_the_source_and_waited_for_like_a_log(lab: DownstreamLab, reader: Reader) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.mark(2)  # a log after the dictionary's has arrived: it is not on its way any more
    reader.until(lambda found: found.has_marker(2))
    assert lab.dictionaries() > 0
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        listed = cursor.execute("select sequence# from v$archived_log where dictionary_begin = 'YES'").fetchall()
    for (sequence,) in listed:
        lab.call("purge_foreign_log", 1, sequence)
    lab.call("stall_shipping")
    before = lab.dictionaries()
    lab.mark(3)
    again = Reader(lab, reader.position, reader.tables)
    again.until(looks(20))
    assert again.changes("MARKER") == []
    assert lab.dictionaries() == before + 1, "there is none that can be used, so one is written, once"
    third = Reader(lab, again.position, reader.tables)
    third.until(looks())
    assert lab.dictionaries() == before + 1, "it is on its way"
    lab.call("resume_shipping")
    third.until(lambda found: found.has_marker(3))


def test_ddl_is_followed_by_the_dictionary_in_the_redo(lab: DownstreamLab, reader: Reader) -> None:
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
    assert [change.ddl.split()[0] for change in reader.schema_changes()] == ["alter", "alter", "alter", "create", "drop"]


def test_snapshot_and_stream_amount_to_the_source(lab: DownstreamLab) -> None:
    """What a physical standby refuses, for want of a dictionary: partitions, index-organized tables, ROWIDs, regions of time zones."""
    lab.run(
        "create table parts (id number primary key, z timestamp with time zone, w rowid)"
        " partition by range (id) (partition p1 values less than (10), partition p2 values less than (maxvalue))",
        "alter table parts add supplemental log data (all) columns",
        "insert into parts values (1, timestamp '2026-01-02 03:04:05.5 Europe/Paris', null)",
        "insert into item values (1, 'a', 1, null)",
    )
    lab.app.commit()
    reader = Reader(lab).take_snapshot()
    lab.run(
        "insert into parts select 11, timestamp '2026-07-02 03:04:05.5 America/New_York', rowid from parts where id = 1",
        "update parts set w = rowid where id = 1",
        "insert into parts values (12, null, null)",
        "delete from parts where id = 12",
        "update item set name = 'b' where id = 1",
        "alter table parts split partition p2 at (20) into (partition p2, partition p3)",
        "insert into parts values (21, null, null)",
    )
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    now = Reader(lab).take_snapshot()
    for table in ("PARTS", "ITEM"):
        assert reader.replica(table) == now.replica(table)
    assert len(now.replica("PARTS")) == 3


@pytest.mark.parametrize("memory", [64 * 1024, 192 << 20])
def test_rows_that_are_kept_over_a_restart_or_spilled_are_decoded(
    sandbox: SandboxProcess, tmp_path: Path, memory: int
) -> None:
    bounds = {"minercdc.log.mining.buffer.memory.max.bytes": memory, "minercdc.log.mining.buffer.durable.after.ms": 0}
    lab = downstream_lab(sandbox, tmp_path, **bounds)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run(*(f"insert into item values ({n}, '{'x' * 80}', {n}, null)" for n in range(300)))
    lab.switch_log()
    other = lab.session()
    for number in (1, 2):
        other.cursor().execute(f"insert into marker values ({number})")
        other.commit()
        lab.switch_log()
        reader.until(lambda found, number=number: found.has_marker(number))  # type: ignore[misc]
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


def test_large_values_come_whole(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = downstream_lab(sandbox, tmp_path, **{"lob.enabled": True})
    lab.run(
        "create table doc (id number(10) primary key, t varchar2(10), c clob, b blob)",
        "alter table doc add supplemental log data (all) columns",
    )
    reader = Reader(lab).take_snapshot(with_rows=False)
    with lab.app.cursor() as cursor:
        for number, size in enumerate((10, 3_000, 9_000, 200_000), 1):
            cursor.execute("insert into doc values (:1, 't', :2, :3)", [number, "x" * size, b"\x01\xff" * size])
            if number == 2:
                lab.switch_log()  # the transaction goes on in the next log
        cursor.execute("update doc set c = :1 where id = 1", ["y" * 50_000])
        cursor.execute("update doc set t = 'u' where id = 3")
    lab.commit()
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    same_as_snapshot(lab, reader, "DOC")
    lab.app.close()


def test_a_log_that_arrives_after_later_ones_is_waited_for_and_then_a_gap(lab: DownstreamLab, reader: Reader) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    missing, written = lab.sequence() + 1, lab.dictionaries()
    lab.call("hold_log", 1, missing)
    for number in (2, 3, 4):
        lab.mark(number)
    with pytest.raises(LogGapError, match=f"redo thread 1: log sequence {missing} .* has not reached the downstream") as gap:
        reader.until(lambda found: found.has_marker(4))
    assert "may still be shipped" in (gap.value.hint or "")
    assert [row for _, _, row in reader.changes("MARKER")] == [("1",), ("2",)], "what lies before it has come"
    assert reader.position is not None
    assert lab.unreadable(reader.position) is None, "the source has it, so that it can be shipped"
    lab.call("resume_shipping")
    again = Reader(lab, reader.position, reader.tables).until(lambda found: found.has_marker(4))
    assert [row for _, _, row in again.changes("MARKER")] == [("3",), ("4",)]
    assert lab.dictionaries() == written, "none is needed for a log that is late"


def test_the_source_is_reached_in_its_root(lab: DownstreamLab, reader: Reader) -> None:
    inside = {"database_dbname": lab.sandbox.service, "database_pdb_name": None}
    lab.config = lab.config.model_copy(update=inside)
    with pytest.raises(PrerequisiteError, match="must be written in the root, but this is a pluggable database"):
        reader.until(looks())


def test_a_log_that_neither_has_is_a_gap_before_the_stream_begins(lab: DownstreamLab, reader: Reader) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    missing = lab.sequence()
    lab.call("hold_log", 1, missing)
    lab.mark(2)
    lab.mark(3)
    lab.call("purge_log", 1, missing)
    assert reader.position is not None
    gap = lab.unreadable(reader.position)
    assert gap is not None
    assert f"redo thread 1: log sequence {missing} " in gap.message
    assert "has not reached the downstream database" in gap.message


def test_logs_that_the_source_has_deleted_are_read(lab: DownstreamLab, reader: Reader) -> None:
    first = lab.sequence()
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.commit()
    lab.mark(1)
    lab.call("purge_log", 1, first)
    reader.until(lambda found: found.has_marker(1))
    assert reader.changes() == [("c", None, ("1", "a", "1", None))]


def test_logs_of_another_database_are_never_read(lab: DownstreamLab, reader: Reader) -> None:
    """Of the same thread, with the same sequence numbers and SCNs; a dictionary is in them, too."""
    for number in range(1, 5):
        lab.run(f"insert into item values ({number}, 'a', 1, null)")
        sequence = lab.sequence()
        lab.mark(number)
        lab.call("ship_other", 1, sequence)
    reader.until(lambda found: found.has_marker(4))
    assert [row and row[0] for _, _, row in reader.changes()] == ["1", "2", "3", "4"]


def test_after_resetlogs_the_position_is_of_another_incarnation(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = downstream_lab(fresh_sandbox, tmp_path)
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    lab.call("reset_logs")
    assert reader.position is not None
    gap = lab.unreadable(reader.position)
    assert gap is not None
    assert "opened with RESETLOGS" in gap.message
    with pytest.raises(LogGapError, match="opened with RESETLOGS"):
        Reader(lab, reader.position, reader.tables).until(looks())
    lab.app = lab.session()
    fresh = Reader(lab).take_snapshot(with_rows=False)
    lab.run("insert into item values (9, 'n', 1, null)")
    lab.mark(2)
    fresh.until(lambda found: found.has_marker(2))
    assert [row and row[0] for _, _, row in fresh.changes()] == ["9"]


def test_the_engine_delivers_each_transaction_once_while_shipping_stalls_and_sessions_end(lab: DownstreamLab) -> None:
    delivers_each_transaction_once(lab, "shipping")


def test_redo_that_is_read_is_not_read_again_while_nothing_arrives(lab: DownstreamLab, reader: Reader) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    again = Reader(lab, reader.position, reader.tables)
    before = lab.counters.mining.passes.count
    again.until(looks(30))
    assert lab.counters.mining.passes.count - before <= 2


def test_a_transaction_that_began_before_logs_were_shipped_is_a_gap(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    with fresh_sandbox.connect() as early, early.cursor() as cursor:
        cursor.execute("create table early (n number)")
        cursor.execute("insert into early values (1)")
        with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
            admin.cursor().execute("alter system switch logfile")
        lab = downstream_lab(fresh_sandbox, tmp_path)
        reader = Reader(lab).take_snapshot(with_rows=False)
        lab.mark(1)
        with pytest.raises(LogGapError, match=r"log sequence 1 .* has not reached the downstream database"):
            reader.until(looks(30))
        early.rollback()
    fresh = Reader(lab).take_snapshot(with_rows=False)
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.mark(2)
    fresh.until(lambda found: found.has_marker(2))
    assert [row and row[0] for _, _, row in fresh.changes()] == ["1"]


def test_when_a_log_between_the_dictionary_and_the_rows_is_gone_another_one_is_written(
    lab: DownstreamLab, reader: Reader
) -> None:
    lab.mark(1)
    reader.until(lambda found: found.has_marker(1))
    gone = lab.sequence()
    for number in (2, 3):
        lab.mark(number)
        reader.until(lambda found, number=number: found.has_marker(number))  # type: ignore[misc]
    lab.call("purge_foreign_log", 1, gone)
    again = Reader(lab, reader.position, reader.tables)
    lab.run("insert into item values (1, 'a', 1, null)")
    lab.mark(4)
    again.until(lambda found: found.has_marker(4))
    assert again.changes() == [("c", None, ("1", "a", "1", None))]
