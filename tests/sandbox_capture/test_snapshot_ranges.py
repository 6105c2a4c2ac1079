"""Snapshots over several connections, of tables cut into ranges; SELECTs of the user's; what cannot be read at its SCN."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab, workload

from minercdc.config.sections import SnapshotConfig
from minercdc.errors import ConfigError, SnapshotTooOldError, SourceError
from minercdc.oracle.connect import connect, database_name
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial import delivery
from minercdc.snapshot.initial import rowid_ranges as chunks
from minercdc.snapshot.initial import snapshot as initial
from minercdc.snapshot.initial.snapshot_scn import Place, fix_given
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import ChangeEvent, Event, Notification, Progress, SchemaChange, SnapshotMark
from minercdc.stream.offset import ChunkProgress, SnapshotState

ROWS = 1500


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(chunks, "_LEAST_BLOCKS", 2)  # 128 rows; a test should not need a table of megabytes
    lab = make_lab(sandbox, tmp_path)
    yield lab
    lab.app.close()


def fill(lab: Lab, count: int = ROWS) -> None:
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into item (id, name) values (:1, :2)", [(n, f"name {n}") for n in range(count)])
    lab.app.commit()


def keys(events: list[Event]) -> list[int]:
    return [int(str(e.after[0])) for e in events if isinstance(e, ChangeEvent) and e.schema.id.table == "ITEM" and e.after]


def reads(events: list[Event]) -> list[ChangeEvent]:
    return [event for event in events if isinstance(event, ChangeEvent)]


def place(row_id: str) -> list[int]:
    """ROWID as numbers, in the order of the database."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return [digits.index(character) for character in row_id]


PARALLEL = {"snapshot.max.threads": 3, "snapshot.max.threads.multiplier": 2, "snapshot.fetch.size": 50}


def test_ranges_read_side_by_side_have_every_row_once(lab: Lab) -> None:
    fill(lab)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(**PARALLEL)
    assert sorted(keys(reader.events)) == list(range(ROWS))
    marks = [event.snapshot for event in reads(reader.events)]
    assert marks[0] is SnapshotMark.FIRST
    assert marks[-1] is SnapshotMark.LAST
    assert sum(mark is not SnapshotMark.TRUE for mark in marks) in (
        3,
        4,
    )  # the last of a table, unless it is the last of all
    state = reader.snapshot_state
    assert state is not None
    ranges = {table.table.rpartition(".")[2]: table.chunks for table in state.tables}
    assert len(ranges["ITEM"]) == 6
    assert all(table.completed for table in state.tables)
    assert [(chunk.first, chunk.until) for chunk in ranges["ITEM"]] == [
        (before.until if before else None, chunk.until)
        for before, chunk in zip((None, *ranges["ITEM"]), ranges["ITEM"], strict=False)
    ]


def test_row_order_within_a_range_is_kept(lab: Lab) -> None:
    fill(lab)
    reader = Reader(lab).take_snapshot(**PARALLEL)
    state = reader.snapshot_state
    assert state is not None
    item = next(table for table in state.tables if table.table.endswith(".ITEM"))
    rows = [place(event.row_id or "") for event in reads(reader.events)]
    for chunk in item.chunks:
        first, until = place(chunk.first or ""), place(chunk.until or "/")
        inside = [row for row in rows if first <= row < until]
        assert inside
        assert inside == sorted(inside)


@pytest.mark.parametrize("divided", ["", "subpartition by hash (id) subpartitions 2"], ids=["", "subpartitions"])
def test_partitions_are_cut_and_read_whole(lab: Lab, divided: str) -> None:
    lab.run(
        f"create table parted (id number primary key, region varchar2(10)) partition by range (id) {divided}"
        " (partition p1 values less than (500), partition p2 values less than (1000), partition p3 values less than (maxvalue))"
    )
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into parted values (:1, 'x')", [(n,) for n in range(ROWS)])
    lab.app.commit()
    reader = Reader(lab).take_snapshot(**PARALLEL)
    found = sorted(int(str(e.after[0])) for e in reads(reader.events) if e.after and e.schema.id.table == "PARTED")
    assert found == list(range(ROWS))
    state = reader.snapshot_state
    assert state is not None
    parted = next(table for table in state.tables if table.table.endswith(".PARTED"))
    assert len({chunk.first[:6] for chunk in parted.chunks if chunk.first}) > 1, "cut within one partition only"


@pytest.mark.parametrize("option", [{"legacy.snapshot.max.threads": True}, {"snapshot.max.threads": 1}])
def test_tables_are_left_whole_when_that_is_configured(lab: Lab, option: dict[str, Any]) -> None:
    fill(lab)
    reader = Reader(lab).take_snapshot(**{**PARALLEL, **option})
    assert sorted(keys(reader.events)) == list(range(ROWS))
    state = reader.snapshot_state
    assert state is not None
    assert [len(table.chunks) for table in state.tables] == [1, 1]


@pytest.mark.parametrize("after", [0, 2, 7])
def test_killed_snapshot_goes_on_with_every_range(lab: Lab, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    monkeypatch.setattr(delivery, "_PROGRESS_ROWS", 60)
    fill(lab)
    tables, stop = Tables(), threading.Event()
    delivered: list[Event] = []
    pending: list[Event] = []
    state: SnapshotState | None = None
    seen = 0
    taking = lab.snapshot(tables, **PARALLEL).take(None, stop)
    for event in taking:
        pending.append(event)
        if isinstance(event, Progress):
            delivered += pending
            pending, state = [], event.snapshot
            if seen == after:
                break
            seen += 1
    taking.close()  # type: ignore[attr-defined]
    assert state is not None
    lab.run("delete from item where id < 700", "insert into item (id) values (777777)")
    lab.app.commit()
    recovered = Tables(e.after for e in delivered if isinstance(e, SchemaChange) and e.after)
    delivered += list(lab.snapshot(recovered, **PARALLEL).take(state, stop))
    assert sorted(keys(delivered)) == list(range(ROWS))
    assert [event.snapshot for event in reads(delivered)].count(SnapshotMark.FIRST) == 1
    assert reads(delivered)[-1].snapshot is SnapshotMark.LAST


KINDS = {
    "without a key": "create table other (id number, body varchar2(100))",
    "with large values": "create table other (id number primary key, body clob)",
    "in partitions": "create table other (id number primary key, body varchar2(100)) partition by range (id)"
    " (partition p1 values less than (200), partition p2 values less than (400), partition p3 values less than (maxvalue))",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_any_kind_is_read_in_ranges_and_once_though_killed(
    sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(chunks, "_LEAST_BLOCKS", 2)
    monkeypatch.setattr(delivery, "_PROGRESS_ROWS", 60)
    lab = make_lab(sandbox, tmp_path, **{"lob.enabled": True})
    lab.run(KINDS[kind])
    held = {str(n): f"{n} " * 20 for n in range(600)}
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into other values (:1, :2)", list(held.items()))
    lab.app.commit()
    delivered: list[Event] = []
    pending: list[Event] = []
    state: SnapshotState | None = None
    taking = lab.snapshot(Tables(), **PARALLEL).take(None, threading.Event())
    for event in taking:
        pending.append(event)
        if isinstance(event, Progress):
            delivered, pending, state = delivered + pending, [], event.snapshot
            if len(reads(delivered)) >= 200:
                break
    taking.close()  # type: ignore[attr-defined]
    assert state is not None
    (table,) = (table for table in state.tables if table.table.endswith(".OTHER"))
    assert len(table.chunks) > 1
    assert 0 < table.rows < 600
    lab.run("update other set body = 'later'", "delete from other where id < 300")
    lab.app.commit()
    recovered = Tables(e.after for e in delivered if isinstance(e, SchemaChange) and e.after)
    delivered += list(lab.snapshot(recovered, **PARALLEL).take(state, threading.Event()))
    found = [(str(e.after[0]), str(e.after[1])) for e in reads(delivered) if e.after and e.schema.id.table == "OTHER"]
    assert len(found) == len(held)
    assert dict(found) == held
    lab.app.close()


def test_parallel_snapshot_under_load_hands_over_to_the_stream(lab: Lab) -> None:
    workload(lab, 1, 200)
    fill_from, count = 100_000, 600
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into item (id) values (:1)", [(fill_from + n,) for n in range(count)])
    lab.app.commit()
    reader, stop = Reader(lab), threading.Event()
    writer = threading.Thread(target=workload, args=(lab, 2, 10_000, stop))
    writer.start()
    try:
        reader.take_snapshot(**PARALLEL)
        reader.until_marker(1)
    finally:
        stop.set()
        writer.join()
    reader.until_marker(2)
    held = sorted((str(row[0]), float(row[2] or 0)) for row in lab.rows("item"))
    assert sorted((str(row[0]), float(str(row[2] or 0))) for row in reader.replica("ITEM")) == held


@pytest.mark.parametrize(("order", "first"), [("ascending", "MARKER"), ("descending", "ITEM")])
def test_tables_are_read_in_order_of_their_rows(lab: Lab, order: str, first: str) -> None:
    fill(lab, 20)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    reader = Reader(lab).take_snapshot(**{"snapshot.tables.order.by.row.count": order})
    assert reads(reader.events)[0].schema.id.table == first


def test_a_select_of_the_users_is_read_as_of_the_snapshots_scn(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lab, 30)
    batches = Scan.batches

    def late(scan: Scan, connection: oracledb.Connection, chunk: ChunkProgress) -> Any:
        if scan.schema.id.table == "ITEM":
            lab.run("insert into item (id) values (20000)")
            lab.app.commit()
        return batches(scan, connection, chunk)

    monkeypatch.setattr(Scan, "batches", late)
    select = f"select i.*, 'x' more from {lab.schema}.item i where mod(id, 2) = 0 -- even; ones"
    reader = Reader(lab).take_snapshot(selects={f"{lab.sandbox.service}.{lab.schema}.ITEM": select})
    assert sorted(keys(reader.events)) == list(range(0, 30, 2))
    assert {event.row_id for event in reads(reader.events)} == {None}


def test_names_of_tables_that_are_not_captured_are_warned_of(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    fill(lab, 3)
    included = {"snapshot.include.collection.list": f"{lab.schema}.ITEM,{lab.schema}.ITMES"}
    reader = Reader(lab).take_snapshot(**included)
    assert len(keys(reader.events)) == 3
    warnings = [record.getMessage() for record in caplog.records if "is no captured table" in record.getMessage()]
    assert warnings == [f"snapshot.include.collection.list: {lab.schema}.ITMES is no captured table"]


def test_a_select_for_no_captured_table_is_refused_before_a_row_is_read(lab: Lab) -> None:
    fill(lab, 3)
    reader = Reader(lab)
    with pytest.raises(ConfigError, match=rf"{lab.schema}\.ITMES is not a captured table.*did you mean {lab.schema}\.ITEM"):
        reader.take_snapshot(selects={f"{lab.schema}.ITMES": "select 1 from dual"})
    assert reads(reader.events) == []


def test_a_select_that_lacks_a_column_fails_its_table_by_name(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    fill(lab, 3)
    select = f"select id from {lab.schema}.item"
    reader = Reader(lab).take_snapshot(selects={f"{lab.schema}.ITEM": select})
    assert left_over(reader) == [(True, "ITEM", select)]
    assert 'ORA-00904: "NAME"' in caplog.text


def test_a_select_for_a_table_without_key_is_refused(lab: Lab) -> None:
    lab.run("create table loose (a number)")
    with pytest.raises(ConfigError, match="no key"):
        Reader(lab).take_snapshot(selects={f"{lab.schema}.LOOSE": f"select * from {lab.schema}.loose"})


class Failing:
    """Lets `Scan.batches` fail as of its SCN, a few times, after the first batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.times = times
        self.resumed: list[str | None] = []
        batches = Scan.batches

        def failing(scan: Scan, connection: oracledb.Connection, chunk: ChunkProgress) -> Iterator[Any]:
            if scan.schema.id.table != "ITEM":
                yield from batches(scan, connection, chunk)
                return
            self.resumed.append(chunk.last_row_id)
            for batch in batches(scan, connection, chunk):
                yield batch
                if self.times:
                    self.times -= 1
                    raise SnapshotTooOldError("ORA-01555: snapshot too old", ora_code=1555)

        monkeypatch.setattr(Scan, "batches", failing)


def test_what_cannot_be_read_is_tried_again_from_its_last_row(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from minercdc.snapshot.initial import parallel

    monkeypatch.setattr(parallel, "_RETRY_SECONDS", 0.01)
    fill(lab, 100)
    failing = Failing(monkeypatch, 2)
    reader = Reader(lab).take_snapshot(**{"snapshot.fetch.size": 10, "snapshot.database.errors.max.retries": 2})
    assert sorted(keys(reader.events)) == list(range(100))
    assert len(failing.resumed) == 3
    assert None not in failing.resumed[1:]


def test_only_the_range_that_failed_is_read_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from minercdc.snapshot.initial import parallel

    monkeypatch.setattr(parallel, "_RETRY_SECONDS", 0.01)
    fill(lab)
    failing = Failing(monkeypatch, 1)
    reader = Reader(lab).take_snapshot(**PARALLEL, **{"snapshot.database.errors.max.retries": 1})
    assert sorted(keys(reader.events)) == list(range(ROWS))
    assert len(failing.resumed) == 7, "six ranges, and one of them once more"
    assert len([last for last in failing.resumed if last is not None]) == 1


def test_ranges_are_reported_as_they_begin_and_end(lab: Lab) -> None:
    fill(lab)
    reader = Reader(lab).take_snapshot(**PARALLEL)
    reported: dict[str, list[int]] = {"TABLE_CHUNK_IN_PROGRESS": [], "TABLE_CHUNK_COMPLETED": []}
    for event in reader.events:
        if isinstance(event, Notification) and event.type in reported and _is_of_item(event):
            assert event.additional_data["total_chunks"] == "6"
            reported[event.type].append(int(event.additional_data["chunk_index"]))
    assert sorted(reported["TABLE_CHUNK_IN_PROGRESS"]) == sorted(reported["TABLE_CHUNK_COMPLETED"]) == list(range(6))


def _is_of_item(event: Notification) -> bool:
    data = event.additional_data
    return (data.get("scanned_collection") or data["current_collection_in_progress"]).endswith(".ITEM")


def test_what_cannot_be_read_after_all_tries_is_left_to_an_incremental_snapshot(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lab, 100)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    Failing(monkeypatch, 1)
    reader = Reader(lab).take_snapshot(**{"snapshot.fetch.size": 10})
    assert len(keys(reader.events)) == 10
    assert [event.snapshot for event in reads(reader.events)][-1] is SnapshotMark.LAST
    last = reader.events[-1]
    assert isinstance(last, Progress)
    assert last.signals is not None
    (snapshot,) = last.signals.snapshots
    assert [table.table for table in snapshot.tables] == [f"{lab.schema}.ITEM"]
    assert not snapshot.blocking
    notices = [
        e.additional_data["status"] for e in reader.events if isinstance(e, Notification) and "status" in e.additional_data
    ]
    assert sorted(notices) == ["SQL_EXCEPTION", "SUCCEEDED"]


def left_over(reader: Reader) -> list[tuple[bool, str, str]]:
    """What is left to ad hoc snapshots: (blocking, table, condition)."""
    last = reader.events[-1]
    assert isinstance(last, Progress)
    return [
        (snapshot.blocking, table.table.rpartition(".")[2], table.condition)
        for snapshot in (last.signals.snapshots if last.signals else ())
        for table in snapshot.tables
    ]


def test_a_table_without_key_that_cannot_be_read_is_left_to_an_incremental_snapshot_too(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab.run("drop table item", "create table item (id number)", "insert into item values (1)")
    lab.run("insert into marker values (1)")
    lab.app.commit()
    Failing(monkeypatch, 1)
    reader = Reader(lab).take_snapshot()
    assert left_over(reader) == [(False, "ITEM", "")]
    assert "rows of it may come twice" in caplog.text


@pytest.mark.parametrize(
    "ddl",
    [
        "alter table item drop column name",
        "alter table item rename to item_2",
        "drop table item purge",
        "truncate table item",
    ],
)
def test_ddl_while_the_snapshot_is_down_or_just_after_its_scn_leaves_that_table_only(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, ddl: str
) -> None:
    """It used to end the connector at every start: ORA-00904, ORA-00942, ORA-01466 of a table's own SELECT."""
    fill(lab, 20)
    lab.run("insert into marker values (1)")
    lab.app.commit()
    taking = lab.snapshot(tables := Tables()).take(None, threading.Event())
    planned = list(itertools.takewhile(lambda event: not isinstance(event, ChangeEvent), taking))
    state = next(event.snapshot for event in reversed(planned) if isinstance(event, Progress))
    taking.close()  # type: ignore[attr-defined]
    assert state is not None
    untouched = replace(state, tables=tuple(replace(t, rows=0, chunks=(ChunkProgress(),)) for t in state.tables))
    lab.run(ddl)
    reader = Reader(lab, tables=tables)
    for event in lab.snapshot(tables).take(untouched, threading.Event()):
        reader.events.append(event)
    assert left_over(reader) == [(False, "ITEM", "")]
    assert [event.schema.id.table for event in reads(reader.events)] == ["MARKER"]


def test_a_table_that_cannot_be_counted_is_read_all_the_same(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lab, 5)
    order = initial.InitialSnapshot._in_order

    def altered(self: Any, connection: Any, schemas: Any, scn: int) -> Any:
        lab.run("alter table item modify name varchar2(90)")
        return order(self, connection, schemas, scn)

    monkeypatch.setattr(initial.InitialSnapshot, "_in_order", altered)
    reader = Reader(lab).take_snapshot()
    assert left_over(reader) in ([], [(False, "ITEM", "")])


def given(lab: Lab, **options: Any) -> Reader:
    """A reader that begins at a given SCN or time."""
    tables = Tables()
    config = SnapshotConfig(**{"snapshot.mode": "no_data", **options})
    with connect(lab.config, "pdb") as connection:
        fixed = fix_given([Place(connection, lab.filter, database_name(lab.config))], config, lab.mine_from)
    for schema in fixed.schemas:
        tables.put(schema)
    return Reader(lab, lab.start_position(fixed.scn, fixed.mine_from), tables)


def current_scn(lab: Lab) -> int:
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        return int(cursor.execute("select current_scn from v$database").fetchone()[0])


def test_streaming_from_a_given_scn_has_what_was_committed_after_it(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    lab.app.commit()
    lab.run("insert into item (id) values (2)")  # open at the SCN, and whole in the log that holds it
    scn = current_scn(lab)
    lab.app.commit()
    lab.run("insert into item (id) values (3)")
    lab.app.commit()
    lab.switch_log()
    reader = given(lab, **{"minercdc.start.scn": scn}).until_marker(1)
    assert keys(reader.events) == [2, 3]


def test_a_given_scn_in_the_future_is_refused(lab: Lab) -> None:
    with pytest.raises(SourceError, match="future"):
        given(lab, **{"minercdc.start.scn": current_scn(lab) + 10**9})


def test_streaming_from_a_given_time(lab: Lab) -> None:
    lab.run("insert into item (id) values (1)")
    lab.app.commit()
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        (now,) = cursor.execute(
            "select to_char(sys_extract_utc(systimestamp), 'YYYY-MM-DD\"T\"HH24:MI:SS') from dual"
        ).fetchone()
    reader = given(lab, **{"minercdc.start.timestamp": now}).until_marker(1)
    # TIMESTAMP_TO_SCN is exact to three seconds only: the first row may be among them.
    assert reader.has_marker(1)
