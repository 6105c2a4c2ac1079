"""`txlog` against the sandbox: what a poll delivers."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.txlog_lab import TxlogLab, folded, names, txlog_lab

from minercdc.capture.flashback.dictionary import Dictionary
from minercdc.capture.txlog.adapter import _gap
from minercdc.capture.txlog.noted import begin_after
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.capture.txlog.purge import purge, purged_up_to
from minercdc.capture.txlog.reading import LogReader
from minercdc.errors import ConfigError, LogGapError, TransientSourceError, UnknownSourceError
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.present_scn import PresentScn
from minercdc.pipeline.engine import skip_sent
from minercdc.schema.table import TableId
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, TransactionInfo
from minercdc.stream.offset import PartialTransaction

_PATIENCE_SECONDS = 120.0


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[TxlogLab]:
    with txlog_lab(sandbox, tmp_path) as made:
        yield made


class Run:
    """A connector from the present SCN on."""

    def __init__(self, lab: TxlogLab) -> None:
        self.lab = lab
        self.tables = Tables()
        self.events: list[Event] = []
        self.position = TxlogPosition(lab.start())

    def until(self, done: Callable[[], bool], **more: object) -> Run:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with closing(self.lab.capture(self.tables, **more).stream(self.position, threading.Event())) as stream:  # type: ignore[type-var]
            pending: list[Event] = []
            for event in stream:
                pending.append(event)
                if isinstance(event, Progress) and isinstance(event.position, TxlogPosition):
                    self.events += pending
                    pending, self.position = [], event.position
                    if done():
                        return self
                assert time.monotonic() < deadline, self.changes
        raise AssertionError("the stream ended")

    @property
    def changes(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Operation, table and key of each change."""
        return [
            (
                event.op.value,
                event.schema.id.table,
                tuple(str((event.after or event.before or ())[at]) for at in event.schema.key),
            )
            for event in self.events
            if isinstance(event, ChangeEvent)
        ]


def test_changes_come_by_the_last_transaction_of_each_row(lab: TxlogLab) -> None:
    lab.install()
    run = Run(lab)
    lab.run(
        "insert into a values (1, 'first', 'N')",
        """insert into "b" ("Key", c) values (7, 'text')""",
        "insert into a values (2, 'two', 'N')",
    )
    lab.app.commit()
    lab.run("update a set v = 'second' where id = 1", "savepoint s", "update a set v = 'not' where id = 2", "rollback to s")
    lab.app.commit()
    lab.run("insert into a values (3, 'rolled back', 'N')")
    lab.app.rollback()
    run.until(lambda: len(run.changes) == 3)
    assert run.changes == [("u", "A", ("2",)), ("u", "b", ("7",)), ("u", "A", ("1",))]
    assert folded(run.events, "A")[("1",)][1] == "second"
    [first, _, last] = [event for event in run.events if isinstance(event, ChangeEvent)]
    assert first.tx is not None
    assert last.tx is not None
    assert first.tx.commit_scn < last.tx.commit_scn
    assert (first.tx.id, last.tx.id) == (f"{1000:016x}", f"{1001:016x}")


def test_rows_come_when_the_job_does_not_run_and_come_once_when_it_does(lab: TxlogLab) -> None:
    lab.install()
    lab.run("begin dbms_scheduler.disable('J_COALESCE_LOG'); end;")
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 1)
    with lab.app.cursor() as cursor:
        [(scn,)] = cursor.execute("select scn from sy$txlog").fetchall()
    [event] = [event for event in run.events if isinstance(event, ChangeEvent) and event.tx]
    assert event.tx is not None
    assert scn == event.tx.commit_scn, "what is delivered is written in the log, so it stays: ORA_ROWSCN may differ later"
    lab.run("call sync_core.coalesce_log()")
    lab.run("insert into a values (2, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    assert run.changes == [("u", "A", ("1",)), ("u", "A", ("2",))]


def test_what_is_committed_after_the_log_was_coalesced_waits_for_the_next_poll(
    lab: TxlogLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.install()
    lab.run("begin dbms_scheduler.disable('J_COALESCE_LOG'); end;")
    run, real = Run(lab), LogReader.coalesce
    late = ["insert into a values (3, 'x', 'N')", "update a set v = 'late' where id = 2"]
    lab.run("insert into a values (1, 'x', 'N')", "insert into a values (2, 'x', 'N')")
    lab.app.commit()

    def coalesce(reader: LogReader, connection: oracledb.Connection) -> None:
        real(reader, connection)
        if late:
            lab.run(late.pop())
            lab.app.commit()

    monkeypatch.setattr(LogReader, "coalesce", coalesce)
    run.until(lambda: len(run.changes) == 3)
    assert run.changes == [("u", "A", ("1",)), ("u", "A", ("2",)), ("u", "A", ("3",))]
    assert folded(run.events, "A") == lab.contents("A")
    since = [event.position for event in run.events if isinstance(event, Progress) and not event.committed]
    assert len(since) >= 2


def test_a_row_that_changes_all_the_time_comes_where_the_present_scn_is_not_exact(
    lab: TxlogLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last change is always after an SCN of three seconds ago."""
    lab.install()
    run, old = Run(lab), lab.start()
    monkeypatch.setattr(PresentScn, "read", lambda *_: old)
    monkeypatch.setattr(PresentScn, "is_exact", False)
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()
    polls = itertools.count()
    run.until(lambda: len(run.changes) == 1 or next(polls) > 20)
    assert run.changes == [("u", "A", ("1",))]


@pytest.mark.parametrize("damage", ["drop trigger a_databus_trg", "alter trigger a_databus_trg disable"])
def test_a_trigger_that_was_away_is_named_once(lab: TxlogLab, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2 and not run.position.scn)
    assert not caplog.text
    lab.run(damage, "update a set v = 'unnoted'")
    lab.app.commit()
    lab.install()
    lab.run("insert into a values (2, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 3 and not run.position.scn)
    lab.run("insert into a values (3, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 4)
    [record] = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "A: its trigger was missing, disabled or another version since SCN" in record.getMessage()


def test_transactions_that_share_the_scn_of_a_chunks_end_all_come(lab: TxlogLab, sandbox: SandboxProcess) -> None:
    """Databus cuts a chunk at a number of rows, and its next query begins after the SCN that was cut through."""
    lab.install()
    lab.settings = {"minercdc.txlog.chunk.rows": 1}
    run = Run(lab)
    sessions = [lab.session() for _ in range(3)]
    with sandbox.connect() as admin:
        lab.run("begin dbms_scheduler.disable('J_COALESCE_LOG'); end;")
        admin.cursor().execute("call dbms_sandbox.meet_commits(3)")
        for number, session in enumerate(sessions):
            session.cursor().execute("insert into a (id) values (:1)", [number])
        threads = [threading.Thread(target=session.commit) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lab.run("insert into a (id) values (9)")
    lab.app.commit()
    stop, found = threading.Event(), list[Event]()
    for event in lab.capture(Tables()).stream(run.position, stop):
        found.append(event)
        if isinstance(event, Progress) and event.committed is not None:
            stop.set()
    assert len([one for one in found if isinstance(one, ChangeEvent)]) == 3, (
        "a stop leaves nothing out of an SCN that counts"
    )
    run.until(lambda: len(run.changes) == 4)
    scns = [event.tx.commit_scn for event in run.events if isinstance(event, ChangeEvent) and event.tx]
    assert len(set(scns)) == 2
    assert sorted(key for _, _, key in run.changes) == [("0",), ("1",), ("2",), ("9",)]
    ends = [one.time_us for one in run.events if isinstance(one, Progress) and one.committed is None]
    assert not any(ends), "a chunk is taken for all that there was, so the lag looks like none"
    run.until(lambda: bool(isinstance(run.events[-1], Progress) and run.events[-1].time_us and not run.position.scn))
    for session in sessions:
        session.close()


@pytest.mark.parametrize("damage", ["drop view sy$a", "alter table a rename to a2"])
def test_a_view_that_vanishes_stops_the_stream_before_it_passes_a_change(lab: TxlogLab, damage: str) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    lab.run("update a set v = 'y'")
    lab.app.commit()
    lab.run(damage)
    position = run.position
    with pytest.raises(UnknownSourceError, match=r"A: the table exists but its view SY.A is not visible"):
        run.until(lambda: len(run.changes) == 3)
    assert run.position == position
    if "rename" in damage:
        lab.run("alter table a2 rename to a")
    lab.install()
    run.until(lambda: len(run.changes) == 3)


def test_a_table_that_the_user_may_not_see_any_more_is_not_taken_for_dropped(
    lab: TxlogLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    real = Dictionary.refresh

    def refresh(dictionary: Dictionary, connection: oracledb.Connection) -> frozenset[TableId]:
        found = real(dictionary, connection)
        dictionary.shapes = {table: shape for table, shape in dictionary.shapes.items() if table.table != "A"}
        return found

    lab.run("update a set v = 'y'")
    lab.app.commit()
    with monkeypatch.context() as patched:
        patched.setattr(Dictionary, "refresh", refresh)
        with pytest.raises(UnknownSourceError, match=r"A: the table is not visible but its view SY.A is valid"):
            run.until(lambda: len(run.changes) == 3)
    run.until(lambda: len(run.changes) == 3)


def test_a_table_that_is_dropped_stops_nothing(lab: TxlogLab) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    lab.run("drop table a purge", """insert into "b" ("Key") values (2)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 3)


def test_a_view_that_is_invalid_is_named_and_tried_again(lab: TxlogLab) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 1)
    lab.run("alter table a drop column v", "update a set gone = 'Y'")
    lab.app.commit()
    with pytest.raises(TransientSourceError, match="minercdc txlog install") as failed:
        run.until(lambda: len(run.changes) == 2)
    assert failed.value.ora_code == 4063
    lab.install()
    run.until(lambda: len(run.changes) == 2)


def test_soft_deletes_come_as_deletes(lab: TxlogLab) -> None:
    """Before the other rows of the table: by message.key.columns one of them may have the record key, here V."""
    lab.install()
    lab.settings = {"minercdc.txlog.soft.delete": "GONE:Y"}
    run = Run(lab)
    lab.run(
        "insert into a values (1, 'x', 'N')", "insert into a values (2, 'x', 'Y')", """insert into "b" ("Key") values (1)"""
    )
    lab.app.commit()
    run.until(lambda: len(run.changes) == 3)
    assert [change[:2] for change in run.changes] == [("d", "A"), ("u", "A"), ("u", "b")]
    [deleted] = [event for event in run.events if isinstance(event, ChangeEvent) and event.op is Op.DELETE]
    assert deleted.before is not None
    assert deleted.before[1] == "x"
    assert deleted.after is None


def test_a_soft_delete_is_that_of_the_table_that_is_spelled_so(lab: TxlogLab) -> None:
    """Of tables whose names differ in case, that in upper case is meant where none is spelled like the property."""
    for name in ("TWIN", "Twin"):
        lab.run(f'create table "{name}" (id number(9) primary key, gone char(1))')
    lab.install()
    for given, gone in (("twin", "TWIN"), ("Twin", "Twin"), ('"Twin"', "Twin")):
        lab.settings = {"minercdc.txlog.soft.delete": f"{lab.schema}.{given}=GONE:Y"}
        run = Run(lab)
        for name in ("TWIN", "Twin"):
            lab.run(f"""merge into "{name}" t using dual on (id = 1) when matched then update set gone = 'Y'
                when not matched then insert values (1, 'Y')""")
        lab.app.commit()
        run.until(lambda run=run: len(run.changes) == 2)  # type: ignore[misc]
        assert sorted(change[:2] for change in run.changes) == sorted(
            ("d" if name == gone else "u", name) for name in ("TWIN", "Twin")
        )


def test_a_soft_delete_by_a_column_that_the_table_does_not_have_is_named(
    lab: TxlogLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.install()
    lab.settings = {"minercdc.txlog.soft.delete": f"GONE:Y;{lab.schema}.A=GOEN:Y"}
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'Y')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    [record] = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "A has no column GOEN, so none of its rows counts as deleted" in record.getMessage()


def test_large_values_come_as_they_are_stored(lab: TxlogLab) -> None:
    lab.run("create table large (id number(9) primary key, t clob, b blob)")
    lab.install()
    run = Run(lab)
    text = "it's \u00e9\n" * 3_000
    with lab.app.cursor() as cursor:
        cursor.execute("insert into large values (1, :1, :2)", [text, text.encode()])
        cursor.execute("insert into large values (2, null, empty_blob())")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    lab.run("update large set b = hextoraw('0a') where id = 1")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 3)
    rows = [(event.after or ())[:3] for event in run.events if isinstance(event, ChangeEvent)]
    assert rows == [("1", text, text.encode().hex()), ("2", None, ""), ("1", text, "0a")]


def test_an_alert_ends_the_pause(lab: TxlogLab) -> None:
    lab.install()
    lab.run("update sync_core_settings set raise_dbms_alerts = 'Y'")
    lab.app.commit()
    lab.settings = {"minercdc.txlog.alerts": True, "minercdc.txlog.interval.ms": 250_000}
    run = Run(lab)
    began, has_read = time.monotonic(), threading.Event()

    def change() -> None:
        assert has_read.wait(_PATIENCE_SECONDS)  # and pauses then
        with lab.session() as session:
            session.cursor().execute("insert into a (id) values (1)")
            session.commit()

    writer = threading.Thread(target=change)

    def is_there() -> bool:
        has_read.set()
        return len(run.changes) == 1

    writer.start()
    run.until(is_there)
    writer.join()
    assert time.monotonic() - began < 200


def test_a_changed_table_comes_with_its_new_columns_once_it_is_installed_again(
    lab: TxlogLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 1)
    lab.run("alter table a add (more number default 5)", "insert into a (id) values (2)")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 2)
    assert caplog.text.count("its view SY$A does not show MORE, so changes come without") == 1
    lab.install()
    lab.run("insert into a (id) values (3)")
    lab.app.commit()
    run.until(lambda: len(run.changes) == 3)
    rows = [event for event in run.events if isinstance(event, ChangeEvent)]
    assert [[column.name for column in event.schema.columns] for event in rows] == [
        *([["ID", "V", "GONE", "TXN"]] * 2),
        ["ID", "V", "GONE", "TXN", "MORE"],
    ]
    assert rows[-1].after is not None
    assert rows[-1].after[-1] == "5"


def test_a_transaction_that_was_delivered_in_part_comes_again_whole(lab: TxlogLab) -> None:
    """However often it is cut: its rows may have changed since, so leaving out as many as came would lose some."""
    lab.install()
    run, came = Run(lab), list[Event]()
    lab.run(*(f"insert into a (id) values ({number})" for number in range(6)))
    lab.app.commit()
    start, partial = run.position, None
    for rows, change in ((2, "update a set v = 'later' where id in (0, 1)"), (3, "update a set v = 'later' where id = 2")):
        [tx, *_], left = _one_run(run, start, partial)
        came += left[:rows]
        partial = PartialTransaction(tx.id, tx.commit_scn, rows)
        lab.run(change)
        lab.app.commit()
    ids, left = _one_run(run, start, partial)
    assert len(ids) == 3
    assert folded([*came, *left], "A") == lab.contents("A")


def _one_run(
    run: Run, start: TxlogPosition, partial: PartialTransaction | None
) -> tuple[list[TransactionInfo], list[ChangeEvent]]:
    """The transactions of all rows of the table, and the changes without those that were delivered."""
    run.events, run.position = [], start
    run.until(lambda: len(run.changes) == 6, split=lambda: partial.tx_id if partial else "")
    left = skip_sent(iter(run.events), partial) if partial else run.events
    found = [event.tx for event in run.events if isinstance(event, ChangeEvent) and event.tx]
    return list({tx.id: tx for tx in found}.values()), [event for event in left if isinstance(event, ChangeEvent)]


def test_the_snapshot_and_the_stream_meet_without_loss_or_repetition(lab: TxlogLab) -> None:
    lab.run(*(f"insert into a (id, v) values ({number}, 'before the trigger')" for number in range(5)))
    lab.app.commit()
    lab.install()
    stopped, written = threading.Event(), [0]

    def write() -> None:
        with closing(lab.session()) as session, session.cursor() as cursor:
            for number in itertools.count(100):
                cursor.execute("insert into a (id, v) values (:1, 'row')", [number])
                cursor.execute("update a set v = :1 where id = :2", [f"changed {number}", number % 5])
                if is_last := stopped.is_set():
                    cursor.execute("insert into a (id, v) values (99, 'last')")
                session.commit()
                written[0] += 1
                if is_last:
                    return

    def await_written(more: int) -> None:
        enough, deadline = written[0] + more, time.monotonic() + _PATIENCE_SECONDS
        while written[0] < enough:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    run = Run(lab)
    await_written(20)
    for event in lab.snapshot(run.tables).take(None, threading.Event()):
        run.events.append(event)
        if isinstance(event, Progress) and isinstance(event.position, TxlogPosition):
            run.position = event.position
    await_written(20)
    stopped.set()
    writer.join()
    # The writer is as fast as it can be, so only the newest events are looked at each time.
    run.until(lambda: any(isinstance(one, ChangeEvent) and str((one.after or ("",))[0]) == "99" for one in run.events[-9:]))
    assert folded(run.events, "A") == lab.contents("A")
    images = [event.after for event in run.events if isinstance(event, ChangeEvent) and event.schema.id.table == "A"]
    assert len(images) == len(set(images)), "an image came by the snapshot and by the stream"
    assert {event.op.value for event in run.events if isinstance(event, ChangeEvent)} == {"r", "u"}


def test_redo_has_what_triggers_change_as_any_other_change(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = TxlogLab(sandbox, next(names), tmp_path)
    lab.run(
        "create table a (id number(9) primary key, v varchar2(40))", "alter table a add supplemental log data (all) columns"
    )
    lab.prepare()
    lab.install()
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    mined = Lab.__new__(Lab)
    mined.__dict__.update(lab.__dict__)
    mined.filter = TableFilter(schema_include=[lab.schema])
    reader = Reader(mined).take_snapshot(with_rows=False)
    lab.run(
        "insert into a (id, v) values (1, 'x')", "savepoint s", "insert into a (id, v) values (2, 'undone')", "rollback to s"
    )
    lab.app.commit()
    reader.until(lambda one: any(isinstance(event, Progress) and event.committed for event in one.events))
    rows = [event for event in reader.events if isinstance(event, ChangeEvent)]
    assert [(event.op.value, event.schema.id.table) for event in rows] == [("c", "SY$TXLOG"), ("c", "A")]
    assert rows[0].after is not None
    assert rows[1].after is not None
    assert rows[0].after[0] == rows[1].after[-1] == "1000", "the row has the number that the log has"
    assert len({event.tx.id for event in rows if event.tx}) == 1
    lab.app.close()


def noted(lab: TxlogLab) -> int:
    """How many transactions are in the log."""
    with lab.app.cursor() as cursor:
        return int((cursor.execute("select count(*) from sy$txlog").fetchone() or (0,))[0])


def context_of(lab: TxlogLab) -> Any:
    """What `begin_after` and the factory use of it."""
    return SimpleNamespace(
        connect_pdb=lambda: connect(lab.config, "pdb"), mined=lab.filter, database=database_name(lab.config)
    )


def test_a_purge_removes_what_was_delivered_and_nothing_else(lab: TxlogLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minercdc.capture.txlog.purge._ROWS", 2)
    lab.install()
    run, before = Run(lab), lab.start()
    for key in range(3):
        lab.run(f"insert into a values ({key}, 'read', 'N')")
        lab.app.commit()
    run.until(lambda: len(run.changes) == 3 and not run.position.scn)  # the end of a poll
    read = run.position.since
    lab.run("insert into a values (8, 'not read yet', 'N')")
    lab.app.commit()
    lab.run("call sync_core.coalesce_log()", "insert into a values (9, 'open', 'N')")
    writer, app = lab.app, lab.session()
    assert purge(app, lab.schema, read) == 3
    assert purge(app, lab.schema, read) == 0
    writer.commit()
    assert noted(lab) == 2
    run.until(lambda: len(run.changes) == 5)
    assert [key for _, _, key in run.changes] == [("0",), ("1",), ("2",), ("8",), ("9",)]
    with pytest.raises(LogGapError, match="before its purged part"):
        begin_after(context_of(lab), before)
    assert begin_after(context_of(lab), read) == read


def test_a_reader_that_a_purge_did_not_wait_for_is_refused(lab: TxlogLab) -> None:
    """Before it starts, at its start, and while it runs: it passes over nothing."""
    lab.install()
    late = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()
    late.until(lambda: len(late.changes) == 1 and not late.position.scn)
    with closing(lab.capture(late.tables).stream(late.position, threading.Event())) as stream:  # type: ignore[type-var]
        next(stream)
        lab.run("insert into a values (2, 'never read', 'N')")
        lab.app.commit()
        lab.run("call sync_core.coalesce_log()")
        purge(lab.app, lab.schema, lab.start())
        with pytest.raises(LogGapError, match="SY\\$TXLOG no longer has transactions up to SCN"):
            for _ in stream:
                pass
    with pytest.raises(LogGapError):
        late.until(lambda: len(late.changes) == 2)
    gap = _gap(context_of(lab), late.position)
    assert gap is not None
    assert "also pass this connector's configuration" in gap.hint
    assert _gap(context_of(lab), TxlogPosition(lab.start())) is None
    assert len(late.changes) == 1


def test_a_log_that_cannot_note_a_purge_is_not_purged(lab: TxlogLab) -> None:
    """So Databus and earlier releases made it: readers would not know. They go on; `install` adds the column."""
    lab.install()
    run = Run(lab)
    lab.run("insert into a values (1, 'x', 'N')", "alter table sy$sources drop column purged_scn")
    with pytest.raises(ConfigError, match="no column PURGED_SCN"):
        purge(lab.app, lab.schema, lab.start())
    run.until(lambda: len(run.changes) == 1 and not run.position.scn)
    assert _gap(context_of(lab), run.position) is None
    assert lab.install() == 1
    assert purge(lab.app, lab.schema, run.position.since) == 1
    assert purged_up_to(lab.app, lab.schema) == run.position.since
