"""The initial snapshot against the sandbox, and its hand-over to streaming."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab, workload

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.prerequisites import LogMinerPrerequisites
from minercdc.config.sections import TableFilterConfig
from minercdc.errors import ConfigError, SchemaHistoryError
from minercdc.oracle import open_transactions, scn
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary import tables as dictionary
from minercdc.oracle.prerequisites import check
from minercdc.pipeline.start_checks import check_prerequisites
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial import delivery, snapshot_scn
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, Progress, SchemaChange, SnapshotMark
from minercdc.stream.offset import SnapshotState


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path)
    yield lab
    lab.app.close()


def fill(lab: Lab, count: int) -> None:
    with lab.app.cursor() as cursor:
        rows = [(n, f"name {n}", n / 4) for n in range(count)]
        cursor.executemany("insert into item (id, name, qty) values (:1, :2, :3)", rows)
    lab.app.commit()


def keys(events: list[Event], table: str = "ITEM") -> list[str]:
    found = [e.after for e in events if isinstance(e, ChangeEvent) and e.schema.id.table == table]
    return [str(after[0]) for after in found if after]


def test_every_row_comes_once_with_its_mark(lab: Lab) -> None:
    fill(lab, 300)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(**{"snapshot.fetch.size": 7})
    assert sorted(keys(reader.events), key=int) == [str(n) for n in range(300)]
    reads = [event for event in reader.events if isinstance(event, ChangeEvent)]
    assert [reads[0].snapshot, reads[-2].snapshot, reads[-1].snapshot] == [
        SnapshotMark.FIRST,
        SnapshotMark.LAST_IN_DATA_COLLECTION,
        SnapshotMark.LAST,
    ]
    assert len({event.row_id for event in reads}) == 301
    assert all(event.before is None and event.tx is None and event.seq == 0 for event in reads)
    state = reader.snapshot_state
    assert state is not None
    assert state.completed
    assert {table.table: (table.rows, table.expected_rows) for table in state.tables} == {
        f"{lab.schema}.ITEM": (300, 300),
        f"{lab.schema}.MARKER": (1, 1),
    }


def test_snapshot_and_redo_give_equal_rows(lab: Lab) -> None:
    lab.run(
        "create table kinds (id number(10) primary key, n number, p number(12,3), v varchar2(20), c char(5), d date,"
        " t timestamp(6), t0 timestamp(0), t9 timestamp(9), r raw(8))",
        "alter table kinds add supplemental log data (all) columns",
    )
    insert = "insert into kinds values (:1, :2, :3, :4, :5, {}, hextoraw('00fF'))".format(
        "to_date(:6, 'YYYY-MM-DD HH24:MI:SS'), to_timestamp(:7, 'YYYY-MM-DD HH24:MI:SS.FF9'),"
        " to_timestamp(:8, 'YYYY-MM-DD HH24:MI:SS.FF9'), to_timestamp(:9, 'YYYY-MM-DD HH24:MI:SS.FF9')"
    )
    stamp = "1999-12-31 23:59:59.123456789"
    rows: list[tuple[Any, ...]] = [
        (1, "0.5", "-0.001", "it''s é", "ab", "2026-02-28 13:45:59", stamp, stamp, stamp),
        (2, "12345678901234567890123456789012345678", "100", "x", "abcde", "0001-01-01 00:00:00", stamp, stamp, stamp),
        (3, "1e-10", None, None, None, None, None, None, None),
        (4, "1e40", "0", "a\nb", " ", "9999-12-31 00:00:00", stamp, stamp, stamp),
    ]
    with lab.app.cursor() as cursor:
        cursor.setinputsizes(None, None, None, None, None, None, None, None, None)
        for row in rows:
            cursor.execute(insert, row)
    lab.app.commit()
    reader = Reader(lab).take_snapshot()
    snapshot = [row for _, _, row in reader.changes("KINDS")]
    lab.run("delete from kinds")
    reader.until_marker(1)
    redo = [before for op, before, _ in reader.changes("KINDS") if op == "d"]
    assert len(snapshot) == 4
    assert sorted(redo, key=str) == sorted(snapshot, key=str)
    assert (snapshot[0] or ())[:6] == ("1", "0.5", "-0.001", "it''s é", "ab   ", "2026-02-28 13:45:59")


def test_changes_during_the_snapshot_follow_it(lab: Lab) -> None:
    workload(lab, 1, 10)
    reader = Reader(lab)
    stop = threading.Event()
    writers = [threading.Thread(target=workload, args=(lab, seed, 10_000, stop)) for seed in (2, 3)]
    for writer in writers:
        writer.start()
    try:
        reader.take_snapshot()
        lab.switch_log()
        reader.until_marker(1)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    reader.until_marker(2)
    held = sorted((str(row[0]), float(row[2])) for row in lab.rows("item"))
    assert sorted((str(row[0]), float(str(row[2]))) for row in reader.replica("ITEM")) == held


@pytest.mark.parametrize("gap", range(4))
@pytest.mark.parametrize("early", [True, False], ids=["begun before", "begun in the gap"])
def test_commit_between_the_reads_of_the_start_is_in_exactly_one_part(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, gap: int, early: bool
) -> None:
    """Gaps: before q, between q and the open transactions, between those and s, after s."""
    reads = 0

    def commits_at(read: Callable[[oracledb.Connection], Any]) -> Callable[[oracledb.Connection], Any]:
        def reading(connection: oracledb.Connection) -> Any:
            nonlocal reads
            if reads == gap:
                commit()
            reads += 1
            found = read(connection)
            if reads == gap == 3:
                commit()
            return found

        return reading

    def commit() -> None:
        if not early:
            lab.run("insert into item (id) values (1)")
        lab.run("insert into item (id) values (2)")
        lab.app.commit()

    if early:
        lab.run("insert into item (id) values (1)")
    monkeypatch.setattr(snapshot_scn, "current_scn", commits_at(scn.current_scn))
    monkeypatch.setattr(snapshot_scn, "oldest_open_scn", commits_at(open_transactions.oldest_open_scn))
    reader = Reader(lab).take_snapshot()
    assert reads == 3
    reader.until_marker(1)
    assert sorted(keys(reader.events)) == ["1", "2"]


def test_transaction_open_across_the_snapshot_comes_whole_afterwards(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    with lab.session() as other, other.cursor() as cursor:
        cursor.execute("insert into item (id) values (2)")
        other.commit()
    lab.switch_log()
    reader = Reader(lab).take_snapshot()
    assert keys(reader.events) == ["2"]
    lab.run("insert into item (id) values (3)")
    reader.until_marker(1)
    assert keys(reader.events) == ["2", "1", "3"]


@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_killed_snapshot_goes_on_at_the_same_scn(lab: Lab, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    monkeypatch.setattr(delivery, "_PROGRESS_ROWS", 20)
    fill(lab, 50)
    tables = Tables()
    stop = threading.Event()
    delivered: list[Event] = []
    pending: list[Event] = []
    state = None
    progresses = 0
    for event in lab.snapshot(tables).take(None, stop):
        pending.append(event)
        if isinstance(event, Progress):
            delivered += pending
            pending = []
            state = event.snapshot
            if progresses == after:
                break
            progresses += 1
    assert state is not None
    lab.run("delete from item where id < 25", "insert into item (id) values (777)", "update item set qty = 9 where id = 30")
    lab.app.commit()
    recovered = Tables(e.after for e in delivered if isinstance(e, SchemaChange) and e.after)
    delivered += list(lab.snapshot(recovered).take(state, stop))
    assert sorted(keys(delivered), key=int) == [str(n) for n in range(50)]
    reads = [event for event in delivered if isinstance(event, ChangeEvent)]
    assert {event.scn for event in reads} == {state.scn}
    assert [event.snapshot for event in reads].count(SnapshotMark.FIRST) == 1
    last = delivered[-1]
    assert isinstance(last, Progress)
    assert isinstance(last.position, LogMinerPosition)
    reader = Reader(lab, last.position, recovered)
    reader.events = delivered
    reader.until_marker(1)
    assert {str(row[0]) for row in lab.rows("item")} == {str(row[0]) for row in reader.replica("ITEM")}


def interrupted(lab: Lab, tables: Tables) -> tuple[SnapshotState, list[Event]]:
    """The state of a snapshot that ends after its second Progress, and what came until then."""
    delivered: list[Event] = []
    taking = lab.snapshot(tables).take(None, threading.Event())
    while sum(isinstance(event, Progress) for event in delivered) < 2:
        delivered.append(next(taking))
    last = delivered[-1]
    assert isinstance(last, Progress)
    assert last.snapshot is not None
    return last.snapshot, delivered


def test_a_resumed_snapshot_reads_no_table_that_the_configuration_has_lost(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delivery, "_PROGRESS_ROWS", 20)
    fill(lab, 50)
    lab.run("insert into marker values (1)", "create table added (n number primary key)")
    lab.app.commit()
    tables = Tables()
    state, delivered = interrupted(lab, tables)
    assert 0 < len(keys(delivered)) < 50
    lab.filter = TableFilter(table_include=[rf"{lab.schema}\.(MARKER|ADDED)"])
    lab.run("insert into added values (1)")
    lab.app.commit()
    rest = list(lab.snapshot(tables).take(state, threading.Event()))
    assert keys(rest) == []
    assert keys(rest, "MARKER") == ["1"]
    marks = [event.snapshot for event in [*delivered, *rest] if isinstance(event, ChangeEvent)]
    assert (marks.count(SnapshotMark.FIRST), marks[-1]) == (1, SnapshotMark.LAST)
    assert f"{lab.schema}.ITEM is not captured any more: what is left" in caplog.text
    last = rest[-1]
    assert isinstance(last, Progress)
    assert isinstance(last.position, LogMinerPosition)
    assert last.snapshot is not None
    assert last.snapshot.completed
    done = {table.table: table.completed for table in last.snapshot.tables}
    assert done == {f"{lab.schema}.ADDED": True, f"{lab.schema}.ITEM": False, f"{lab.schema}.MARKER": True}


def test_a_table_that_the_configuration_has_again_is_read_to_its_end(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_PROGRESS_ROWS", 20)
    fill(lab, 50)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    tables = Tables()
    state, delivered = interrupted(lab, tables)
    everything, lab.filter = lab.filter, TableFilter(table_include=[rf"{lab.schema}\.MARKER"])
    stop = threading.Event()
    for event in lab.snapshot(tables).take(state, stop):
        delivered.append(event)
        stop.set()
    assert isinstance(event, Progress)
    lab.filter = everything
    delivered += lab.snapshot(tables).take(event.snapshot, threading.Event())
    assert sorted(keys(delivered), key=int) == [str(n) for n in range(50)]


def test_stopped_snapshot_is_not_taken_for_complete(lab: Lab) -> None:
    fill(lab, 30)
    stop = threading.Event()
    events = []
    for event in lab.snapshot(Tables(), **{"snapshot.fetch.size": 5}).take(None, stop):
        events.append(event)
        if isinstance(event, ChangeEvent):
            stop.set()
    assert not any(isinstance(e, Progress) and e.snapshot and e.snapshot.completed for e in events)
    assert not any(t.completed for e in events if isinstance(e, Progress) and e.snapshot for t in e.snapshot.tables)


def test_resumption_needs_the_structures_of_then(lab: Lab) -> None:
    fill(lab, 3)
    stop = threading.Event()
    taking = lab.snapshot(Tables()).take(None, stop)
    state = next(event.snapshot for event in taking if isinstance(event, Progress))
    with pytest.raises(SchemaHistoryError, match="ITEM"):
        list(lab.snapshot(Tables()).take(state, stop))


def test_tables_outside_the_list_get_their_structure_only(lab: Lab) -> None:
    fill(lab, 3)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(**{"snapshot.include.collection.list": rf"{lab.schema}\.MARKER"})
    assert keys(reader.events) == []
    assert keys(reader.events, "MARKER") == ["1"]
    assert {e.table.table for e in reader.events if isinstance(e, SchemaChange)} == {"ITEM", "MARKER"}


def test_ddl_waits_while_the_structures_are_read(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    altered, refused = threading.Event(), threading.Event()

    def alter() -> None:
        with lab.session() as session, session.cursor() as cursor:
            for _ in range(200):
                try:
                    cursor.execute("alter table item add (extra number)")
                except oracledb.DatabaseError:  # ORA-00054
                    refused.set()
                    time.sleep(1)  # long enough for the scan: after the DDL it would meet ORA-01466
                else:
                    altered.set()
                    return

    thread = threading.Thread(target=alter)
    read_tables = dictionary.read_tables

    def slowly(*args: Any, **more: Any) -> Any:
        thread.start()
        assert refused.wait(10)
        return read_tables(*args, **more)

    monkeypatch.setattr(snapshot_scn, "read_tables", slowly)
    reader = Reader(lab).take_snapshot()
    thread.join()
    assert altered.is_set()
    item = reader.tables.find(lab.table("item"))
    assert item is not None
    assert [column.name for column in item.columns] == ["ID", "NAME", "QTY", "D"]
    reader.until_marker(1)
    assert [change.table.table for change in reader.schema_changes()] == ["ITEM"]


def test_prepared_database_has_no_finding_but_tables_without_full_logging(lab: Lab) -> None:
    with connect(lab.config, "pdb") as connection:
        findings = check(connection, lab.config, lab.filter, LogMinerPrerequisites())
    assert [(f.blocking, f.problem.split(":")[0]) for f in findings] == [(False, f"{lab.schema}.MARKER")]
    assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in findings[0].fix


@pytest.mark.parametrize("lobs", [False, True], ids=["without LOBs", "with LOBs"])
def test_documents_that_the_database_serializes(sandbox: SandboxProcess, tmp_path: Path, lobs: bool) -> None:
    """JSON and VECTOR come as CLOBs: they may be longer than a VARCHAR2. JSON is a large value, as in redo."""
    lab = make_lab(sandbox, tmp_path, **{"lob.enabled": lobs})
    lab.run(
        "create table documents (id number(10) primary key, j json, v vector)",
        "alter table documents add supplemental log data (all) columns",
    )
    long = "x" * 9000
    with lab.app.cursor() as cursor:
        cursor.execute("insert into documents values (1, :1, :2)", [f'{{"b": [1.50, null], "a": "{long}"}}', "[1, 2.5]"])
        cursor.execute("insert into documents values (2, null, null)")
    lab.app.commit()
    rows = sorted(after for _, _, after in Reader(lab).take_snapshot().changes("DOCUMENTS") if after)
    assert [row[0] for row in rows] == ["1", "2"]
    text = f'{{"b":[1.5,null],"a":"{long}"}}'
    assert [row[1] for row in rows] == ([text, None] if lobs else [UNAVAILABLE] * 2)
    assert [float(one) for one in str(rows[0][2]).strip("[]").split(",")] == [1.0, 2.5]
    assert rows[1][2] is None
    lab.app.close()


def test_a_first_start_refuses_a_record_key_of_no_column(lab: Lab) -> None:
    """As `minercdc check` does; later the column may have been dropped, and then its table is suspended."""
    lists: dict[str, Any] = {"message.key.columns": rf"{lab.schema}\.ITEM:ID,NAM", "schema.include.list": lab.schema}
    config = replace(lab.connector_config("suspend"), filters=TableFilterConfig(**lists))
    with pytest.raises(ConfigError, match=rf"message.key.columns: table {lab.schema}.ITEM has no column NAM"):
        check_prerequisites(config, first=True)
    assert [finding.rule for finding in check_prerequisites(config)] == ["table-logging"]


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("killed", [False, True])
def test_no_row_is_read_of_a_table_that_has_the_name_by_now(
    lab: Lab, caplog: pytest.LogCaptureFixture, rows: int, killed: bool
) -> None:
    """AS OF means the rows of the past, of the table that has the name at present. Such a table is read during the stream."""
    lab.run("create table set_aside (id number(10) primary key, name varchar2(80), qty number(12,3), d date)")
    lab.run("insert into item (id) values (1)", *(f"insert into set_aside (id) values ({n})" for n in range(7, 7 + rows)))
    lab.app.commit()
    tables, delivered = Tables(), list[Event]()
    retried = {"snapshot.database.errors.max.retries": 1}
    taking = lab.snapshot(tables, **retried).take(None, threading.Event())
    while not delivered or not isinstance(delivered[-1], Progress):
        delivered.append(next(taking))
    lab.run("rename item to old_item", "rename set_aside to item")
    if killed:
        taking.close()  # type: ignore[attr-defined]
        tables = Tables(e.after for e in delivered if isinstance(e, SchemaChange) and e.after)
        taking = lab.snapshot(tables, **retried).take(delivered[-1].snapshot, threading.Event())
    delivered += taking
    last = delivered[-1]
    assert isinstance(last, Progress)
    assert keys(delivered) == []
    assert last.signals is not None
    assert {one.table for snapshot in last.signals.snapshots for one in snapshot.tables} >= {f"{lab.schema}.ITEM"}
    assert "trying again" not in caplog.text
