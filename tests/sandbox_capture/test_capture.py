"""The capture against the sandbox: what the application did is what comes out, across restarts, log switches and DDL."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import (
    ITEM_CHANGES,
    ITEM_EVENTS,
    ITEM_TABLES,
    Lab,
    Reader,
    replica,
    switch_supplemental_logging_on,
)

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.errors import LogGapError, MiningSessionError
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Progress, SchemaChange

_names = (f"lab{i}" for i in itertools.count())


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path, committed: bool) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path, committed=committed)
    yield lab
    lab.app.close()


def make_lab(sandbox: SandboxProcess, directory: Path, *, committed: bool = False, **mining: Any) -> Lab:
    switch_supplemental_logging_on(sandbox)
    lab = Lab(sandbox, next(_names), directory, committed=committed, **mining)
    lab.run(*ITEM_TABLES)
    return lab


@pytest.fixture
def reader(lab: Lab) -> Reader:
    return Reader(lab).take_snapshot(with_rows=False)


def test_changes_come_as_they_were_made(lab: Lab, reader: Reader) -> None:
    lab.run(*ITEM_CHANGES)
    lab.app.commit()
    reader.until_marker(1)
    assert reader.changes() == ITEM_EVENTS
    events = [event for event in reader.events if isinstance(event, ChangeEvent)]
    assert [event.seq for event in events] == [1, 2, 3, 4, 5, 1]
    tx = events[0].tx
    assert tx is not None
    assert tx.user == lab.schema
    assert tx.start_scn <= events[0].scn <= tx.commit_scn
    assert abs(tx.commit_us / 1e6 - time.time()) < 60


def test_a_commit_is_not_kept_waiting_for_the_poll_interval(
    sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    lab = make_lab(sandbox, tmp_path, committed=committed, **{"poll.interval.ms": 600_000})
    reader = Reader(lab).take_snapshot(with_rows=False)
    writer = threading.Timer(2, lambda: lab.run("insert into item (id) values (1)", "commit"))
    writer.start()
    reader.until(lambda reader: bool(reader.changes()))
    writer.join()
    lab.app.close()


def test_what_was_undone_does_not_come(lab: Lab, reader: Reader) -> None:
    lab.run(
        "insert into item (id, qty) values (1, 1)",
        "savepoint s",
        "update item set qty = 2 where id = 1",
        "update item set qty = 3 where id = 1",
        "insert into item (id) values (2)",
        "rollback to savepoint s",
        "update item set qty = 4 where id = 1",
    )
    with pytest.raises(oracledb.IntegrityError):
        lab.run("insert into item (id) values (1)")
    lab.app.commit()
    lab.run("insert into item (id) values (7)")
    lab.app.rollback()
    reader.until_marker(1)
    assert [(op, after and after[2]) for op, _, after in reader.changes()] == [("c", "1"), ("u", "4")]


def test_undo_rows_without_an_address_undo_once_however_often_they_are_shown(lab: Lab, reader: Reader) -> None:
    """Their RS_ID is all zeros, so that every pass shows them again."""
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute(f"call dbms_sandbox.hide_addresses('{lab.schema}')")
        try:
            lab.run("insert into item (id, qty) values (1, 1)", "update item set qty = 2 where id = 1", "savepoint s")
            lab.run("update item set qty = 3 where id = 1", "rollback to savepoint s")
            cursor.execute(f"call dbms_sandbox.release_strand('{lab.schema}')")
            stream = reader.stream()
            idle = (event for event in stream if isinstance(event, Progress) and event.committed is None)
            for _ in range(4):  # passes of one run
                next(idle)
            lab.run("update item set qty = 4 where id = 1")
            lab.app.commit()
            next(event for event in stream if isinstance(event, ChangeEvent) and event.schema.id.table == "ITEM")
            next(event for event in stream if isinstance(event, Progress) and event.committed)
            stream.close()  # type: ignore[attr-defined]
        finally:
            cursor.execute(f"call dbms_sandbox.show_addresses('{lab.schema}')")
    assert [(op, after and after[2]) for op, _, after in reader.changes()] == [("c", "1"), ("u", "2"), ("u", "4")]


def test_a_transaction_is_whole_though_its_start_is_not_read_again(lab: Lab, reader: Reader) -> None:
    """It began with a table that is not captured, which holds no position back."""
    with lab.sandbox.connect() as admin, admin.cursor() as cursor, lab.session() as slow:
        cursor.execute(f"create table noise_{lab.schema} (n number)")
        cursor.execute(f"grant insert on noise_{lab.schema} to {lab.schema}")
        slow.cursor().execute(f"insert into system.noise_{lab.schema} values (1)")
        cursor.execute(f"call dbms_sandbox.release_strand('{lab.schema}')")
        reader.until_marker(1)
        slow.cursor().execute("insert into item (id) values (1)")
        cursor.execute(f"call dbms_sandbox.release_strand('{lab.schema}')")
        reader.until_marker(2)
        slow.cursor().execute("insert into item (id) values (2)")
        slow.commit()
        reader.until_marker(3)
    assert [after and after[0] for _, _, after in reader.changes()] == ["1", "2"]


def test_transactions_of_several_sessions_come_in_order_of_commit(lab: Lab, reader: Reader) -> None:
    with lab.session() as other, other.cursor() as cursor:
        lab.run("insert into item (id) values (1)")
        cursor.execute("insert into item (id) values (2)")
        lab.run("insert into item (id) values (3)")
        other.commit()
        lab.app.commit()
    reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == ["2", "1", "3"]


def test_long_statements_come_whole(lab: Lab, reader: Reader) -> None:
    lab.run("create table wide (id number primary key, a varchar2(4000), b varchar2(4000))")
    texts = ["'" * 1999, "a,'é" * 790]
    with lab.app.cursor() as cursor:
        cursor.execute("insert into wide values (1, :1, :2)", texts)
    lab.app.commit()
    reader.until_marker(1)
    assert reader.changes("WIDE") == [("c", None, ("1", *texts))]


def test_ddl_is_followed_in_its_place(lab: Lab, reader: Reader) -> None:
    lab.run(
        "insert into item (id, name) values (1, 'before')",
        "alter table item add (extra varchar2(10))",
        "insert into item (id, name, extra) values (2, 'after', 'x')",
        "alter table item drop column name",
        "insert into item (id, extra) values (3, 'y')",
        "create table fresh (id number(5) primary key, v varchar2(5))",
        "insert into fresh values (1, 'v')",
        "truncate table item",
        "drop table fresh",
    )
    reader.until_marker(1)
    kinds = [
        (type(event).__name__, event.schema.id.table if isinstance(event, ChangeEvent) else event.table.table)
        for event in reader.events
        if isinstance(event, ChangeEvent) or (isinstance(event, SchemaChange) and not event.snapshot)
    ]
    assert kinds == [
        ("ChangeEvent", "ITEM"),
        ("SchemaChange", "ITEM"),
        ("ChangeEvent", "ITEM"),
        ("SchemaChange", "ITEM"),
        ("ChangeEvent", "ITEM"),
        ("SchemaChange", "FRESH"),
        ("ChangeEvent", "FRESH"),
        ("SchemaChange", "ITEM"),
        ("SchemaChange", "FRESH"),
        ("ChangeEvent", "MARKER"),
    ]
    assert [change.truncate for change in reader.schema_changes()] == [False, False, False, True, False]


def test_capture_that_keeps_up_meets_ddl_with_the_right_shape(lab: Lab, reader: Reader) -> None:
    for number in range(1, 4):
        lab.run(f"insert into item (id) values ({number})")
        lab.app.commit()
        reader.until_marker(number)
        lab.run(f"alter table item add (c{number} number)")
    reader.until_marker(9)
    assert [len(after or ()) for _, _, after in reader.changes("ITEM")] == [4, 5, 6]


def workload(lab: Lab, seed: int, transactions: int, stop: threading.Event | None = None) -> None:
    """Random changes of a few rows in small transactions, some of them undone."""
    chance = random.Random(seed)
    keys = range(seed * 1000, seed * 1000 + 20)
    alive: set[int] = set()
    with lab.session() as session, session.cursor() as cursor:
        for _ in range(transactions):
            if stop is not None and stop.is_set():
                break
            now = set(alive)
            for _ in range(chance.randint(1, 6)):
                key = chance.choice(keys)
                if key not in now:
                    cursor.execute("insert into item (id, name, qty) values (:1, :2, 0)", [key, f"n{key}"])
                    now.add(key)
                elif chance.random() < 0.3:
                    cursor.execute("delete from item where id = :1", [key])
                    now.discard(key)
                else:
                    cursor.execute("update item set qty = qty + 1 where id = :1", [key])
            if chance.random() < 0.25:
                session.rollback()
            else:
                session.commit()
                alive = now


def test_concurrent_sessions_and_log_switches_end_in_an_equal_replica(lab: Lab, reader: Reader) -> None:
    threads = [threading.Thread(target=workload, args=(lab, seed, 40)) for seed in range(1, 4)]
    for thread in threads:
        thread.start()
    for number in range(1, 6):
        reader.until_marker(number)
        lab.switch_log()
    for thread in threads:
        thread.join()
    reader.until_marker(99)
    assert [row[:1] for row in reader.replica("ITEM")] == [row[:1] for row in sorted(lab.rows("item"), key=str)]
    assert [float(str(row[2])) for row in reader.replica("ITEM")] == [
        float(row[2]) for row in sorted(lab.rows("item"), key=str)
    ]


def test_restart_from_every_position_misses_and_repeats_nothing(lab: Lab, reader: Reader) -> None:
    with lab.session() as other, other.cursor() as cursor:
        cursor.execute("insert into item (id, name) values (500, 'long')")
        workload(lab, 1, 12)
        lab.run("create table later (id number primary key)")
        lab.run("insert into later values (1)")
        lab.app.commit()
        lab.switch_log()
        cursor.execute("update item set qty = 1 where id = 500")
        other.commit()
    workload(lab, 2, 3)
    reader.until_marker(1)
    whole = reader.events
    shapes = Tables(event.after for event in whole if isinstance(event, SchemaChange) and event.snapshot and event.after)
    for i, event in enumerate(whole):
        if isinstance(event, SchemaChange) and not event.snapshot:
            shapes.apply(event)
        if isinstance(event, Progress) and event.committed and isinstance(event.position, LogMinerPosition):
            saved = LogMinerPosition.from_json(event.position.to_json())
            again = Reader(lab, saved, Tables(shapes))
            rest = [e for e in whole[i + 1 :] if isinstance(e, ChangeEvent)]
            if rest:
                again.until(lambda reader: reader.has_marker(1))
            delivered = [e for e in again.events if isinstance(e, ChangeEvent)]
            assert [(e.op, e.before, e.after, e.seq, e.scn, e.rs_id) for e in delivered] == [
                (e.op, e.before, e.after, e.seq, e.scn, e.rs_id) for e in rest
            ]


def test_connector_changes_from_one_mode_to_the_other_without_loss(lab: Lab, reader: Reader) -> None:
    """With a transaction open across each change, and one long one across them all."""
    with lab.session() as long, long.cursor() as slow, lab.session() as other, other.cursor() as cursor:
        slow.execute("insert into item (id) values (900)")
        for run in range(5):
            cursor.execute("insert into item (id) values (:1)", [run])
            reader.until_marker(run)
            other.commit()
            workload(lab, 10 + run, 5)
            if run % 2:
                lab.switch_log()
            lab.committed = not lab.committed
        long.commit()
    reader.until_marker(99)
    assert [row[0] for row in reader.replica("ITEM")] == sorted((row[0] for row in lab.rows("item")), key=str)
    events = [(e.op, e.before, e.after) for e in reader.events if isinstance(e, ChangeEvent)]
    assert sum(after is not None and after[0] == "900" for _, _, after in events) == 1


@pytest.mark.parametrize("change", ["mode", "large values"])
def test_a_transaction_that_first_changed_what_is_not_captured_comes_whole_after_a_change(
    sandbox: SandboxProcess, tmp_path: Path, change: str
) -> None:
    """Its START lies in a log before the one that the stream had come to: LogMiner shows committed rows, and large values, only when
    it has read their transaction from its START."""
    lab = make_lab(sandbox, tmp_path)
    lab.run("create table noise (id number primary key)", "create table doc (id number primary key, body clob)")
    lab.filter = TableFilter(table_include=[rf"{lab.schema}\.(MARKER|ITEM|DOC)"])
    reader = Reader(lab).take_snapshot(with_rows=False)
    with lab.session() as long, long.cursor() as slow:
        slow.execute("insert into noise values (1)")
        for run in range(3):
            lab.switch_log()
            reader.until_marker(run)
        if change == "mode":
            lab.committed = True
        else:
            lab.shared = lab.shared.model_copy(update={"lob_enabled": True})
        slow.execute("insert into item (id) values (900)")
        slow.execute("insert into doc values (901, :1)", ["x" * 5000])
        long.commit()
    reader.until_marker(9)
    assert [row[0] for row in reader.replica("ITEM")] == ["900"]
    assert [row[0] for row in reader.replica("DOC")] == ["901"]
    assert reader.position is not None
    assert reader.position.whole


def test_the_same_xid_of_another_container_is_another_transaction(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool
) -> None:
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("create pluggable database other admin user boss identified by boss")
        cursor.execute("alter pluggable database other open")
        lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
        reader = Reader(lab).take_snapshot(with_rows=False)
        with fresh_sandbox.connect("boss", "boss", "other") as boss, boss.cursor() as elsewhere:
            elsewhere.execute("create table item (id number)")
            for number in range(60):
                lab.run(f"insert into item (id) values ({number})")
                elsewhere.execute("insert into item values (:1)", [1000 + number])
                boss.commit() if number % 2 else boss.rollback()
                lab.app.commit()
    reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == [str(number) for number in range(60)]
    lab.app.close()


def test_resetlogs_stops_the_capture(fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool) -> None:
    lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
    reader = Reader(lab).take_snapshot(with_rows=False).until_marker(1)
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.reset_logs()")
    with pytest.raises(LogGapError, match="RESETLOGS"):
        for _ in reader.stream():
            pass


def test_catching_up_over_many_logs_takes_a_few_at_a_time(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(sandbox, tmp_path, committed=False, **{"log.mining.log.count.min": 2})
    reader = Reader(lab).take_snapshot(with_rows=False)
    for number in range(7):
        lab.run(f"insert into item (id) values ({number})")
        lab.app.commit()
        lab.switch_log()
        if number in (2, 3):
            lab.switch_log()
    reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == [str(n) for n in range(7)]
    lab.app.close()


def test_large_transactions_wait_on_disk(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(sandbox, tmp_path, committed=False, **{"minercdc.log.mining.buffer.memory.max.bytes": 64 * 1024})
    reader = Reader(lab).take_snapshot(with_rows=False)
    with lab.app.cursor() as cursor:
        cursor.executemany("insert into item (id, name) values (:1, 'x')", [(n,) for n in range(1000)])
        cursor.execute("savepoint s")
        cursor.executemany("insert into item (id, name) values (:1, 'x')", [(n,) for n in range(1000, 1500)])
        cursor.execute("rollback to savepoint s")
    lab.app.commit()
    reader.until_marker(1)
    assert [after and after[0] for _, _, after in reader.changes()] == [str(n) for n in range(1000)]
    assert list((tmp_path / "spill").iterdir()) == list(lab.files.directory.iterdir()) == []
    lab.app.close()


def test_idle_capture_ticks_and_stops_at_once(lab: Lab, reader: Reader) -> None:
    ticks = 0
    began = time.monotonic()
    for event in reader.stream():
        ticks += isinstance(event, Progress)
        if ticks == 5:
            stopping = time.monotonic()
            reader.stop()
    assert time.monotonic() - stopping < 60
    assert stopping - began < 120


def test_progress_says_how_far_every_commit_is_delivered(lab: Lab, reader: Reader) -> None:
    reader.until_marker(1)
    commit = next(e.tx.commit_scn for e in reader.events if isinstance(e, ChangeEvent) and e.tx)
    reader.until_marker(2)  # an SCN is complete when there is redo beyond it
    reader.until(lambda reader: isinstance(reader.events[-1], Progress) and reader.events[-1].complete_scn >= commit)


def test_replica_refuses_repeated_events(lab: Lab, reader: Reader) -> None:
    lab.run("insert into item (id) values (1)")
    lab.app.commit()
    reader.until_marker(1)
    with pytest.raises(AssertionError, match="a row was there"):
        replica([*reader.events, *reader.events], "ITEM")


def test_session_that_is_renewed_all_the_time_reads_on(sandbox: SandboxProcess, tmp_path: Path, committed: bool) -> None:
    lab = make_lab(sandbox, tmp_path, committed=committed, **{"log.mining.session.max.ms": 1})
    reader = Reader(lab).take_snapshot(with_rows=False)
    lab.run("insert into item (id) values (1)")
    for number in range(1, 4):
        reader.until_marker(number)
    assert [after and after[0] for _, _, after in reader.changes()] == ["1"]
    lab.app.close()


def test_sessions_that_break_are_replaced_and_no_row_is_lost_or_repeated(
    sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """D-14: the log was overwritten under the reader, after a few rows."""
    settings = {"query.fetch.size": 3, "log.mining.log.backoff.initial.delay.ms": 1, "log.mining.log.query.max.retries": 9}
    lab = make_lab(sandbox, tmp_path, committed=committed, **settings)
    reader = Reader(lab).take_snapshot(with_rows=False)
    whole_rows = MiningSession.rows
    passes = itertools.count()

    def breaking(self: MiningSession, *query: Any) -> Iterator[Sequence[tuple[Any, ...]]]:
        broken = next(passes) % 8 != 7
        for i, batch in enumerate(whole_rows(self, *query)):
            if broken and i == 2:
                raise MiningSessionError("ORA-00310")
            yield batch

    monkeypatch.setattr(MiningSession, "rows", breaking)
    workload(lab, 1, 30)
    reader.until_marker(1)
    assert next(passes) > 5
    assert sorted(str(row[0]) for row in reader.replica("ITEM")) == sorted(str(row[0]) for row in lab.rows("item"))
    lab.app.close()


def test_redo_that_is_read_again_does_not_count_as_lag(lab: Lab) -> None:
    lab.mining = lab.mining.model_copy(update={"query_fetch_size": 20})
    with lab.session() as old:
        old.cursor().execute("insert into item (id) values (1)")
        for number in range(10, 200):
            lab.run(f"insert into item (id) values ({number})", "commit")
        time.sleep(2.1)  # LogMiner's times are whole seconds
        reader = Reader(lab).take_snapshot()
        snapshot_us = int(time.time() * 1_000_000)
        with lab.sandbox.connect() as admin, admin.cursor() as cursor:
            cursor.execute("call dbms_sandbox.delay_call(0.02, at => 'fetch', matching => 'LOGMNR', times => 20)")
        reader.until_marker(1)
        old.commit()
    reader.until_marker(2)
    assert ("1", None, None, None) in [row for _, _, row in reader.changes("ITEM")]
    times = [event.time_us for event in reader.events if isinstance(event, Progress) and event.time_us]
    assert min(times) >= snapshot_us - 1_000_000


def test_sessions_that_always_break_stop_the_capture(lab: Lab, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise MiningSessionError("ORA-01284")

    monkeypatch.setattr(MiningSession, "start", broken)
    lab.mining = lab.mining.model_copy(
        update={"log_mining_log_query_max_retries": 2, "log_mining_log_backoff_initial_delay_ms": 1}
    )
    with pytest.raises(MiningSessionError, match="ORA-01284"):
        list(reader.stream())


def test_progress_never_claims_a_time_before_which_commits_are_still_to_come(lab: Lab, reader: Reader) -> None:
    """Lag is the source's present minus that time: while catching up it must not say that all is delivered."""
    for number in range(10, 40):
        lab.run(f"insert into item (id) values ({number})")
        lab.app.commit()
    time.sleep(2.1)  # LogMiner's times are whole seconds: the commits are to be older than the present
    reader.until_marker(1)
    claimed = 0
    for event in reader.events:
        if isinstance(event, Progress):
            claimed = max(claimed, event.time_us)
        elif isinstance(event, ChangeEvent) and event.tx is not None:
            assert claimed <= event.tx.commit_us + 1_000_000
    stream = reader.stream()
    now_us = time.time() * 1_000_000
    assert any(isinstance(event, Progress) and event.time_us >= now_us - 2_000_000 for event in islice(stream, 20)), "idle"
    stream.close()  # type: ignore[attr-defined]
