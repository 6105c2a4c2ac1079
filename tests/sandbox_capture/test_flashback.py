"""Windows of row versions against the sandbox: what comes, in which order, and what becomes of tables in trouble."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.flashback_lab import FlashbackLab, Run

from minercdc.capture.flashback import undo
from minercdc.capture.flashback.dictionary import Dictionary
from minercdc.capture.flashback.prerequisites import FlashbackPrerequisites
from minercdc.config.sections import DatabaseConfig
from minercdc.config.source.flashback import FlashbackConfig
from minercdc.errors import LogGapError
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.present_scn import PresentScn, present_scn
from minercdc.schema.table import TableId, without_comments
from minercdc.schema.table_filter import TableFilter
from minercdc.stream.events import Progress, SchemaChange, TransactionInfo

_names = (f"fb{n}" for n in itertools.count())
TABLES = (
    "create table t (id number(9) primary key, v varchar2(20))",
    "create table u (id number(9) primary key, t number(9))",
)


@pytest.fixture
def make(sandbox: SandboxProcess, tmp_path: Path) -> Callable[..., FlashbackLab]:
    def made(server: SandboxProcess | None = None, **settings: object) -> FlashbackLab:
        lab = FlashbackLab(server or sandbox, next(_names), tmp_path, **{"poll.interval.ms": 5})  # type: ignore[arg-type]
        lab.settings = settings
        lab.run(*TABLES, "insert into t values (1, 'a')", "insert into t values (2, 'a')", "commit")
        return lab

    return made


def test_transactions_come_whole_in_commit_order(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    run, two = Run(lab), lab.session()
    two.cursor().execute("update t set v = 'two' where id = 2")
    lab.run(
        "update t set v = 'b' where id = 1", "insert into u values (1, 1)", "update t set v = 'c' where id = 1", "commit"
    )
    two.commit()
    lab.run("insert into t values (3, 'gone')", "delete from t where id = 3", "commit")
    run.to_now()
    assert run.transactions() == [[("T", "u"), ("U", "c")], [("T", "u")]]
    assert run.changes("t") == [("u", ("1", "a"), ("1", "c")), ("u", ("2", "a"), ("2", "two"))]
    two.close()


def test_two_transactions_of_one_scn_stay_two(fresh_sandbox: SandboxProcess, make: Callable[..., FlashbackLab]) -> None:
    lab = make(fresh_sandbox)
    run, two = Run(lab), lab.session()
    lab.run("update t set v = 'one' where id = 1", "insert into u values (1, 1)")
    two.cursor().execute("update t set v = 'two' where id = 2")
    with fresh_sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.meet_commits(2)")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda session: session.commit(), (lab.app, two)))
    stop, committed = threading.Event(), list[TransactionInfo]()
    for event in lab.capture(run.tables).stream(run.position, stop):
        if isinstance(event, Progress) and event.committed is not None:
            committed.append(event.committed)
            stop.set()
    assert len(committed) == 2, "a stop leaves nothing out of an SCN that counts as delivered"
    run.to_now()
    assert sorted(map(len, run.transactions())) == [1, 2]
    two.close()


def test_only_the_last_version_of_a_row(make: Callable[..., FlashbackLab]) -> None:
    lab = make(**{"minercdc.flashback.versions": "last"})
    run = Run(lab)
    lab.run("update t set v = 'b' where id = 1", "insert into t values (5, 'x')", "commit")
    lab.run("update t set v = 'c' where id = 1", "delete from t where id = 5", "commit")
    lab.run("update t set id = 20 where id = 2", "commit", "insert into t values (2, 'new')", "commit")
    run.to_now()
    assert run.changes("t") == [("u", ("1", "a"), ("1", "c")), ("u", ("2", "a"), ("20", "a")), ("c", None, ("2", "new"))]


def test_the_last_version_does_not_come_after_another_row_has_its_key(make: Callable[..., FlashbackLab]) -> None:
    lab = make(**{"minercdc.flashback.versions": "last"})
    run = Run(lab)
    lab.run("update t set id = 20 where id = 2", "commit", "insert into t values (2, 'new')", "commit")
    lab.run("update t set id = 21 where id = 20", "commit")
    run.to_now()
    found = {"1": "a", "2": "a"}
    for _, before, after in run.changes("t"):
        if before is not None:
            assert found.pop(before[0]) == before[1]
        if after is not None:
            found[after[0]] = after[1]
    assert found == {"1": "a", "2": "new", "21": "a"}


@pytest.mark.parametrize("versions", ["all", "last"])
def test_a_record_key_of_the_users_passes_from_row_to_row(make: Callable[..., FlashbackLab], versions: str) -> None:
    """By message.key.columns readers know the rows by V: in whatever order, the newest record of V is the row that has it."""
    lab = make(**{"minercdc.flashback.versions": versions})
    lab.run("update t set v = 'b' where id = 2", "commit")
    run = Run(lab)
    lab.run("delete from t where id = 2", "insert into t values (3, 'b')", "commit")
    lab.run("update t set v = 'c' where id = 1", "commit", "insert into t values (4, 'a')", "commit")
    lab.run("update t set v = 'd' where id = 1", "commit")
    run.to_now(record_key=lambda schema: (1,) if schema.id.table == "T" else schema.key)
    found = {"a": "1", "b": "2"}
    for _, before, after in run.changes("t"):
        if before is not None and (after is None or before[1] != after[1]):
            del found[before[1]]
        if after is not None:
            found[after[1]] = after[0]
    assert found == {"b": "3", "a": "4", "d": "1"}


@pytest.mark.parametrize(
    ("ddl", "shapes"),
    [
        ("truncate table t", []),
        ("create index t_v on t (v)", []),
        ("alter table t add (w number default 7)", [("T", 3)]),
        ("alter table t drop column v", [("T", 1)]),
    ],
)
def test_a_table_with_ddl_is_suspended_and_tried_again(
    make: Callable[..., FlashbackLab], ddl: str, shapes: list[tuple[str, int]]
) -> None:
    lab = make()
    run = Run(lab)
    lab.run("insert into t (id) values (7)", "insert into u values (7, 7)", ddl)
    run.to_now()
    assert run.suspensions() == [("T", False)]
    assert run.changes() == [("c", None, ("7", "7"))]
    assert run.shapes() == shapes
    lab.run("insert into t (id) values (8)", "commit")
    run.to_now()
    assert run.suspensions() == [("T", False), ("T", True)]
    assert [kind for kind, _ in run.phases()] == ["DEMOTED", "PROMOTED"]
    assert run.changes("t")[-1][2][0] == "8"


def test_a_row_that_moves_between_partitions_is_deleted_and_inserted(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    lab.run(
        "create table m (id number primary key, place number) partition by range (place)"
        " (partition low values less than (10), partition high values less than (20)) enable row movement",
        "insert into m values (1, 5)",
        "commit",
    )
    run = Run(lab)
    lab.run("update m set place = 15 where id = 1", "commit")
    run.to_now()
    assert run.changes("m") == [("d", ("1", "5"), None), ("c", None, ("1", "15"))]


def test_a_table_without_its_grant_stops_no_other(make: Callable[..., FlashbackLab], sandbox: SandboxProcess) -> None:
    lab = make()
    reader = f"{lab.schema}_R"
    with sandbox.connect() as admin:
        admin.cursor().execute(f"create user {reader} identified by r")
        admin.cursor().execute(f"grant create session, select_catalog_role to {reader}")
    for table in ("t", "u"):
        lab.run(f"grant select, flashback on {table} to {reader}")
    run = Run(lab)
    low = {"database.user": reader, "database.password": "r", "database.dbname": sandbox.service}
    lab.config = DatabaseConfig(**{"database.hostname": sandbox.host, "database.port": sandbox.port, **low})  # type: ignore[arg-type]
    lab.run(f"revoke flashback on u from {reader}", "insert into t values (3, 'x')", "insert into u values (3, 3)", "commit")
    run.until(lambda run: len(run.changes("t")) == 1)
    ((kind, reason),) = run.phases()
    assert kind == "DEMOTED"
    assert "ORA-01031" in reason
    lab.run(f"grant flashback on u to {reader}", "insert into u values (4, 4)", "commit")
    run.until(lambda run: len(run.phases()) == 2)
    assert run.suspensions() == [("U", False), ("U", True)]


def test_tables_that_are_created_renamed_and_dropped(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    run = Run(lab)
    lab.run("create table later (id number primary key)", "insert into later values (1)", "commit")
    lab.run("update later set id = 2", "commit")
    run.to_now()
    assert (run.shapes(), run.suspensions()) == ([("LATER", 1)], [])
    assert run.changes("later") == [("c", None, ("1",)), ("u", ("1",), ("2",))]
    lab.run("rename later to latest", "insert into latest values (3)", "commit")
    run.to_now()
    assert run.shapes()[1:] == [("LATEST", 1)]
    lab.run(
        "drop table latest purge",
        "create table latest (id number primary key, v number)",
        "insert into latest values (4, 4)",
        "commit",
    )
    run.to_now().to_now()
    assert run.shapes()[2:] == [("LATEST", 0), ("LATEST", 2)]
    assert run.suspensions()[-2:] == [("LATEST", False), ("LATEST", True)]


@pytest.mark.parametrize("strategy", ["ora_rowscn", "column:MADE", "greatest:MADE,SEEN"])
def test_a_table_whose_undo_is_gone_is_read_incrementally_until_it_joins(
    fresh_sandbox: SandboxProcess, make: Callable[..., FlashbackLab], strategy: str
) -> None:
    lab = make(fresh_sandbox)
    lab.settings = {"minercdc.flashback.incremental": f"{lab.schema}.W={strategy}"}
    lab.run(
        "create table w (id number(9) primary key, made date, seen timestamp)",
        "insert into w values (1, sysdate, null)",
        "commit",
    )
    run, admin = Run(lab), fresh_sandbox.connect()
    run.to_now()
    lab.run("insert into w values (2, sysdate, systimestamp)", "insert into u values (1, 1)", "commit")
    fault = "call dbms_sandbox.fail_call({}, at => 'execute', matching => '\"W\" VERSIONS', nth => 1)"
    admin.cursor().execute(fault.format(30052))
    run.to_now()
    assert [kind for kind, _ in run.phases()] == ["DEMOTED"]
    assert run.suspensions() == [("W", False)]
    assert ("c", None, ("1", "1")) in run.changes("u"), "the other tables go on"
    run.until(lambda run: len(run.changes("w")) >= 1)
    assert ("r", ("2",)) in [(op, after[:1]) for op, _, after in run.changes("w")]
    run.until(lambda run: len(run.phases()) >= 2)
    assert [kind for kind, _ in run.phases()] == ["DEMOTED", "PROMOTED"]
    assert run.suspensions() == [("W", False), ("W", True)]
    lab.run("delete from w where id = 1", "commit")
    run.to_now()
    assert run.changes("w")[-1][:2][0] == "d"
    admin.close()


def test_undo_that_is_really_overrun(fresh_sandbox: SandboxProcess, make: Callable[..., FlashbackLab]) -> None:
    lab = make(fresh_sandbox)
    run, admin = Run(lab), fresh_sandbox.connect()
    lab.run("insert into t values (3, 'before')", "commit")
    for statement in ("alter system set undo_retention = 60", "call dbms_sandbox.jump_clock(300)"):
        admin.cursor().execute(statement)
    lab.run("update t set v = 'moves the horizon' where id = 1", "commit")
    admin.cursor().execute("call dbms_sandbox.jump_clock(300)")
    lab.run("update t set v = 'and again' where id = 1", "commit")
    run.to_now()
    assert {kind for kind, _ in run.phases()} == {"DEMOTED"}
    run.until(lambda run: [kind for kind, _ in run.phases()].count("PROMOTED") == 2)
    rows = {after[0]: after[1] for _, _, after in run.changes("t")}
    assert rows == {"1": "and again", "2": "a", "3": "before"}
    admin.close()


def test_a_slow_table_leaves_before_undo_runs_out(
    make: Callable[..., FlashbackLab], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make()
    run = Run(lab)
    monkeypatch.setattr(undo.UndoWatch, "too_slow", lambda self, age, seconds: next(t for t in seconds if t.table == "T"))
    lab.run("update t set v = 'b' where id = 1", "commit")
    run.to_now()
    assert ("u", ("1", "a"), ("1", "b")) in run.changes("t"), "what was read is delivered"
    assert run.phases()[0] == (
        "DEMOTED",
        "read incrementally, without deletes: undo would run out before its versions are read",
    )


def test_which_table_is_too_slow() -> None:
    given: dict[str, Any] = {"minercdc.flashback.undo.retention.ms": 100_000}
    watch = undo.UndoWatch(FlashbackConfig(**given))
    slow, quick = TableId("D", "S", "SLOW"), TableId("D", "S", "QUICK")
    assert watch.too_slow(10, {slow: 9, quick: 1}) is None
    assert watch.too_slow(60, {slow: 30, quick: 1}) is None
    assert watch.too_slow(90, {slow: 45, quick: 1}) == slow


def test_a_transaction_that_was_delivered_in_part_is_not_numbered_otherwise(
    make: Callable[..., FlashbackLab], sandbox: SandboxProcess
) -> None:
    """Its other tables leave the window with the one that cannot be read any more."""
    lab = make()
    run = Run(lab)
    run.to_now()
    lab.run(
        "insert into t values (7, 'x')", "insert into u values (7, 7)", "commit", "insert into u values (8, 8)", "commit"
    )
    run.until(lambda run: bool(run.position.end))
    kept = len(run.events)
    lab.run("truncate table t")
    run.to_now(split=lambda: True)
    assert [table for table, automatic in run.suspensions() if not automatic] == ["T", "U"]
    assert [event for event in run.events[kept:] if getattr(event, "tx", None)] == []


def test_a_database_that_was_restored_is_refused(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    run = Run(lab)
    run.position = lab.start_position(10**12, 0)
    with pytest.raises(LogGapError, match="restored"):
        run.to_now()


def test_without_any_exact_scn_changes_come_a_little_later(
    make: Callable[..., FlashbackLab], sandbox: SandboxProcess
) -> None:
    lab = make()
    reader = f"{lab.schema}_R"
    with sandbox.connect() as admin:
        admin.cursor().execute(f"create user {reader} identified by r")
        admin.cursor().execute(f"grant create session to {reader}")
    for table in ("t", "u"):
        lab.run(f"grant select, flashback on {table} to {reader}")
    run = Run(lab)
    low = {"database.user": reader, "database.password": "r", "database.dbname": sandbox.service}
    lab.config = DatabaseConfig(**{"database.hostname": sandbox.host, "database.port": sandbox.port, **low})  # type: ignore[arg-type]
    with connect(lab.config) as connection:
        present = PresentScn()
        assert present.read(connection) <= present_scn(connection)
        assert not present.is_exact
        found = list(FlashbackPrerequisites().privileges(connection, reader))
        assert [(one.blocking, "DBMS_FLASHBACK" in one.fix) for one in found] == [(False, True)]
        shapes = read_tables(connection, [lab.table("t"), lab.table("u")])
        assert list(FlashbackPrerequisites().database(connection, shapes)) == []
        lab.run(f"revoke flashback on u from {reader}")
        (missing,) = FlashbackPrerequisites().database(connection, shapes)
        assert missing.fix == f'GRANT SELECT, FLASHBACK ON "{lab.schema}"."U" TO {reader}'
        assert missing.blocking
        lab.run(f"grant flashback on u to {reader}")
    lab.run("insert into t values (3, 'x')", "commit")
    run.until(lambda run: len(run.changes()) == 1)
    assert run.changes() == [("c", None, ("3", "x"))]


def test_a_comment_alone_is_no_other_shape(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    lab.run("comment on table t is 'all'", "comment on column t.v is 'first'")
    with connect(lab.config) as connection:
        plain, described = (
            Dictionary(TableFilter(schema_include=[lab.schema]), lab.table("t").database, comments=on)
            for on in (False, True)
        )
        assert plain.refresh(connection) == described.refresh(connection) == {lab.table("t"), lab.table("u")}
        shape = described.shapes[lab.table("t")]
        assert (shape.comment, [column.comment for column in shape.columns]) == ("all", [None, "first"])
        assert plain.shapes[lab.table("t")] == without_comments(shape)
        lab.run("comment on column t.v is 'second'")
        assert described.refresh(connection) == frozenset()
        assert described.shapes[lab.table("t")] == shape
        lab.run("alter table t add (w number)")
        assert described.refresh(connection) == {lab.table("t")}
        assert [column.comment for column in described.shapes[lab.table("t")].columns] == [None, "second", None]


def test_tables_that_refer_to_each_other_are_named(
    make: Callable[..., FlashbackLab], caplog: pytest.LogCaptureFixture
) -> None:
    lab = make()
    lab.run(
        "create table p (id number primary key, k number)",
        "create table k (id number primary key, p number references p (id))",
        "alter table p add constraint p_k foreign key (k) references k (id) deferrable initially deferred",
    )
    run = Run(lab)
    lab.run("insert into p values (1, 1)", "insert into k values (1, 1)", "commit")
    run.to_now()
    assert sorted(run.transactions()[0]) == [("K", "c"), ("P", "c")]
    assert f"foreign keys of {lab.schema}.K, {lab.schema}.P are circular" in caplog.text


def test_after_a_pause_windows_are_cut_and_follow_each_other_at_once(
    fresh_sandbox: SandboxProcess, make: Callable[..., FlashbackLab]
) -> None:
    lab = make(fresh_sandbox, **{"minercdc.flashback.window.max.ms": 60_000, "minercdc.flashback.interval.ms": 200_000})
    run, admin = Run(lab), fresh_sandbox.connect()
    for number in range(3, 7):
        admin.cursor().execute("call dbms_sandbox.jump_clock(100)")
        lab.run(f"insert into t values ({number}, 'x')", "commit")
    begun = time.monotonic()
    run.to_now()
    assert time.monotonic() - begun < 100
    assert [after[0] for _, _, after in run.changes("t")] == ["3", "4", "5", "6"]
    ends = {event.position.end for event in run.events if isinstance(event, Progress) and event.position}  # type: ignore[attr-defined]
    assert len(ends - {0}) >= 3
    whole = [one.time_us for one in run.events if isinstance(one, Progress) and one.committed is None and one.time_us]
    assert len(whole) <= 1, "a window that was cut is taken for all that there was, so the lag looks like none"
    admin.close()


@pytest.mark.parametrize("changes", [(), ("update t_old set v = 'b' where id = 1",)])
def test_a_table_whose_name_another_one_takes_keeps_its_rows(
    make: Callable[..., FlashbackLab], changes: tuple[str, ...]
) -> None:
    """As migrations do: the table is set aside, and a new one gets its name. It is the same table, of which no row is new."""
    lab = make()
    run = Run(lab)
    lab.run(
        "rename t to t_old", "create table t (id number(9) primary key, w number)", "insert into t values (9, 9)", *changes
    )
    lab.run("commit")
    run.to_now()
    renames = [one for one in run.events if isinstance(one, SchemaChange) and one.before is not None and not one.snapshot]
    assert [(one.before.id.table, one.after and one.after.id.table) for one in renames if one.before] == [("T", "T_OLD")]
    assert run.changes("t") == [] or run.changes("t") == [("c", None, ("9", "9"))]
    assert run.suspensions() == [] or run.suspensions()[0] == ("T", False)


def test_a_table_that_takes_the_name_of_another_one_keeps_its_rows(make: Callable[..., FlashbackLab]) -> None:
    lab = make()
    run = Run(lab)
    lab.run("rename t to z", "rename u to t", "update z set v = 'b' where id = 1", "insert into t values (9, 9)", "commit")
    run.to_now()
    renames = [one for one in run.events if isinstance(one, SchemaChange) and one.before is not None and not one.snapshot]
    assert [(one.before.id.table, one.after and one.after.id.table) for one in renames if one.before] == [
        ("T", "Z"),
        ("U", "T"),
    ]
    assert run.suspensions() == []
    assert run.changes("z") == [("u", ("1", "a"), ("1", "b"))]
    assert run.changes("t") == [("c", None, ("9", "9"))]
