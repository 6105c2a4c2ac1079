"""`txlog` against the sandbox: what is installed, checked, repaired and removed."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.txlog_lab import TxlogLab, txlog_lab

from minercdc.capture.txlog import installation
from minercdc.capture.txlog.dictionary import read_existing
from minercdc.capture.txlog.installation import install, objects, refuse_unusable, removals, remove
from minercdc.capture.txlog.names import unusable_names
from minercdc.capture.txlog.noted import begin_after
from minercdc.capture.txlog.prerequisites import TxlogPrerequisites
from minercdc.errors import ConfigError, LogGapError, SourceError
from minercdc.oracle.connect import connect, database_name
from minercdc.schema.table import Column, TableId, TableSchema

_PATIENCE_SECONDS = 120.0


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[TxlogLab]:
    with txlog_lab(sandbox, tmp_path) as made:
        yield made


def context_of(lab: TxlogLab) -> Any:
    """What `begin_after` uses of it."""
    return SimpleNamespace(
        connect_pdb=lambda: connect(lab.config, "pdb"), mined=lab.filter, database=database_name(lab.config)
    )


def own(lab: TxlogLab) -> set[tuple[str, str]]:
    """All objects of the schema, and the columns of its tables."""
    with lab.app.cursor() as cursor:
        found = {
            (str(kind), str(name)) for kind, name in cursor.execute("select object_type, object_name from user_objects")
        }
        columns = cursor.execute("select table_name, column_name from user_tab_cols where table_name in ('A', 'b')")
        return found | {(str(table), str(name)) for table, name in columns}


def problems(lab: TxlogLab) -> dict[str, str]:
    return {one.what: one.problem for one in objects(read_existing(lab.app), lab.captured()) if one.problem}


def test_installing_is_idempotent_and_removing_leaves_nothing(lab: TxlogLab) -> None:
    lab.run('alter table "b" add (txn number)')
    before = own(lab)
    lab.run('create trigger "b_DATABUS_TRG" before insert on "b" for each row begin null; end;')
    assert lab.install() > 15
    assert lab.install() == 0
    assert problems(lab) == {}
    names = {name for _, name in own(lab)}
    assert {"SY$SCN_SEQ", "SY$SOURCES", "SY$TXLOG", "SYNC_CORE", "SYNC_ALERT", "SYNC_CORE_SETTINGS", "SY$A", "SY$b"} <= names
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    assert remove(lab.app, lambda _: None) > 15
    assert own(lab) == before, "TXN of b was there before, so it stays"
    assert remove(lab.app, lambda _: None) == 0


def test_a_column_txn_of_the_application_is_refused_before_anything_is_made(lab: TxlogLab) -> None:
    lab.run('alter table "b" add (txn number)', """insert into "b" ("Key", txn) values (1, 77)""")
    lab.app.commit()
    before = own(lab)
    assert "rename it" in problems(lab)["column b.TXN"]
    with pytest.raises(ConfigError, match="column b.TXN: it belongs to the table"):
        lab.install()
    assert own(lab) == before
    lab.run('alter table "b" rename column txn to number_of_bank')
    lab.install()
    assert problems(lab) == {}


def test_an_alert_that_fails_stops_no_writer(lab: TxlogLab) -> None:
    lab.install()
    lab.run("update sync_core_settings set raise_dbms_alerts = 'Y'")
    lab.app.commit()
    with lab.sandbox.connect() as admin:
        admin.cursor().execute(f"revoke execute on dbms_alert from {lab.schema}")
    with pytest.raises(oracledb.DatabaseError):
        lab.run("call sync_core.unconditional_signal_beep()")
    lab.run("insert into a values (1, 'x', 'N')")
    lab.app.commit()


def test_a_column_that_install_added_to_a_table_created_again_goes_by_remove(lab: TxlogLab) -> None:
    before = own(lab)
    lab.run(
        'create trigger "b_DATABUS_TRG" before insert on "b" for each row begin null; end;',
        'alter table "b" add (txn number)',
    )
    lab.install()
    lab.run('drop table "b" purge', 'create table "b" ("Key" number(9) primary key, c clob)')
    lab.install()
    assert problems(lab) == {}
    remove(lab.app, lambda _: None)
    assert {one for one in own(lab) if not one[1].startswith("SYS_")} == {
        one for one in before if not one[1].startswith("SYS_")
    }


def test_an_open_transaction_is_waited_for_once_and_holds_up_no_writer_for_long(lab: TxlogLab) -> None:
    lab.run("alter table a add (txn number invisible)", "create index of_txn on a (txn)")
    lab.run("create trigger a_databus_trg before insert on a for each row begin null; end;")
    before, writer, said = lab.session(), lab.session(), list[str]()
    before.cursor().execute("insert into a (id) values (1)")
    installing = threading.Thread(target=lambda: install(lab.app, lab.captured(), said.append))
    installing.start()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not any("trying again" in line for line in said):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    writer.cursor().execute("insert into a (id) values (2)")
    writer.commit()
    assert installing.is_alive()
    before.commit()
    installing.join()
    before.cursor().execute("insert into a (id) values (3)")
    assert problems(lab) == {}
    assert lab.install() == 0, "nothing is locked where nothing is to do"
    lab.run("update sy$sources set waited = 0")
    lab.app.commit()
    wanted = ("transactions on {} from before its trigger", "SCN from which on all transactions on {} are noted")
    assert set(problems(lab)) == {what.format(name) for what in wanted for name in ("A", "b")}
    before.rollback()
    for session in (before, writer):
        session.close()


@pytest.mark.parametrize("way", ["install", "remove"])
def test_it_can_be_repeated_after_it_broke_off_anywhere(lab: TxlogLab, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    before, real, broken = own(lab), installation.run, 0
    left = -1

    def breaking(connection: oracledb.Connection, texts: Sequence[str], doing: str) -> None:
        nonlocal left
        for text in texts:
            if left == 0:
                left = -1
                raise SourceError(f"killed before {text}")
            left -= 1
            real(connection, [text], doing)

    monkeypatch.setattr(installation, "run", breaking)
    for fails_at in itertools.count():
        if way == "remove":
            lab.install()
        left = fails_at
        try:
            if way == "install":
                lab.install()
            else:
                remove(lab.app, lambda _: None)
        except SourceError:
            broken += 1
            lab.app.rollback()
        done, left = left >= 0, -1
        if way == "install":
            lab.install()
            assert problems(lab) == {}
        remove(lab.app, lambda _: None)
        assert own(lab) == before, f"broken off before statement {fails_at}"
        if done:
            break
    assert broken > 15


DAMAGES = (
    ("drop trigger a_databus_trg", "trigger A_DATABUS_TRG", "missing"),
    ("alter trigger a_databus_trg disable", "trigger A_DATABUS_TRG", "disabled"),
    (
        "create or replace trigger a_databus_trg before insert on a for each row begin null; end;",
        "trigger A_DATABUS_TRG",
        "another version",
    ),
    ("drop view sy$a", "view SY$A", "missing"),
    ("alter table a add (more number)", "view SY$A", "another version: the table's columns changed"),
    ("drop package body sync_core", "package body SYNC_CORE", "missing"),
    ("begin dbms_scheduler.disable('J_COALESCE_LOG'); end;", "job J_COALESCE_LOG", "disabled"),
    ("begin dbms_scheduler.drop_job('J_CALL_SIGNAL'); end;", "job J_CALL_SIGNAL", "missing"),
    ("delete from sync_core_settings", "row of SYNC_CORE_SETTINGS", "missing"),
    ("drop index sy$txlog_i1", "index SY$TXLOG_I1", "missing"),
    ("create or replace package sync_alert as n number; end;", "package SYNC_ALERT", "another version"),
)


def test_what_is_damaged_is_found_and_repaired(lab: TxlogLab) -> None:
    lab.install()
    for damage, what, problem in DAMAGES:
        lab.run(damage)
        lab.app.commit()
        assert problems(lab).get(what) == problem, damage
        lab.install()
        assert problems(lab) == {}, damage


def test_tables_that_cannot_be_sources_are_refused_each_with_its_reason(lab: TxlogLab) -> None:
    def table(name: str, key: tuple[int, ...] = (0,), schema: str = "S", txn: str = "") -> TableSchema:
        columns = [Column("ID", "NUMBER", 9, 0, False, None)]
        columns += [Column("TXN", txn, None, None, True, None)] if txn else []
        return TableSchema(TableId("D", schema, name), tuple(columns), key)

    tables = [table("T", ()), table("L" * 120), table("TXLOG"), table("U", schema="OTHER"), table("W", txn="DATE")]
    with pytest.raises(ConfigError) as refused:
        refuse_unusable(tables, "S", "19.3.0.0.0")
    text = str(refused.value)
    for reason in (
        "S.T: it has no key",
        "132 bytes, and names have 128",
        "SY$TXLOG, which txlog itself",
        "OTHER are captured",
        "TXN is not a NUMBER",
    ):
        assert reason in text, text
    with pytest.raises(ConfigError, match="127 tables are captured, and the mask of SY.TXLOG has 126 bits"):
        refuse_unusable([table(f"T{n}") for n in range(127)], "S", "19.3.0.0.0")
    refuse_unusable([table(f"T{n}") for n in range(126)], "S", "19.3.0.0.0")
    assert list(unusable_names(["ORDER_LINES_OF_AP"], 30)) == []
    assert len(list(unusable_names(["ORDER_LINES_OF_JUNE"], 30))) == 1


def test_the_126th_table_has_a_bit_and_the_next_one_has_none(lab: TxlogLab) -> None:
    for number in range(124):
        lab.run(f"create table t{number} (id number primary key)")
    lab.install()
    last = max(source.bit for source in read_existing(lab.app).registered.values())
    assert last == 125
    assert read_existing(lab.app).registered["b"].bit == 125
    lab.run("insert into a values (1, 'x', 'N')", """insert into "b" ("Key") values (1)""")
    lab.app.commit()
    with lab.app.cursor() as cursor:
        cursor.execute("select bitand(mask, power(2, 125)) / power(2, 125), bitand(mask, 1) from sy$txlog")
        assert cursor.fetchall() == [(1, 1)]
    lab.run("create table one_more (id number primary key)")
    with pytest.raises(ConfigError, match="127 tables"):
        refuse_unusable(lab.captured(), lab.schema, lab.app.version)


def test_what_is_missing_is_found_before_the_connector_starts(lab: TxlogLab) -> None:
    from minercdc.capture.txlog.prerequisites import TxlogPrerequisites

    needed = TxlogPrerequisites()
    with connect(lab.config, "pdb") as connection:
        found = list(needed.database(connection, lab.captured()))
        assert [finding.blocking for finding in found] == [True, True]
        assert "minercdc txlog install" in found[0].fix
        lab.install()
        assert list(needed.database(connection, lab.captured())) == []
        assert list(removals(read_existing(lab.app)))


@pytest.mark.parametrize(
    ("damage", "state"), [("drop trigger a_databus_trg", "missing"), ("alter trigger a_databus_trg disable", "disabled")]
)
def test_a_connector_is_not_ready_without_a_trigger(lab: TxlogLab, damage: str, state: str) -> None:
    lab.install()
    needed = TxlogPrerequisites()
    assert not list(needed.database(lab.app, lab.captured()))
    lab.run(damage)
    [finding] = needed.database(lab.app, lab.captured())
    assert finding.blocking
    assert f"A: its trigger A_DATABUS_TRG is {state}" in finding.problem


def test_install_is_in_step_with_itself(lab: TxlogLab) -> None:
    said: list[str] = []
    install(lab.app, lab.captured(), said.append)
    assert len(said) == len(set(said))
    assert said[0] == "sequence SY$SCN_SEQ: missing"


def test_an_scn_from_before_the_end_of_the_installation_is_refused(lab: TxlogLab) -> None:
    """A transaction that was committed before a trigger was there is in no log, so a stream from before would leave it out."""
    lab.run("insert into a values (1, 'unnoted', 'N')")
    early = lab.start()
    lab.app.commit()
    lab.install()
    context = context_of(lab)
    with pytest.raises(LogGapError, match=rf"SCN {early} lies before the installation.*\.A \(from SCN"):
        begin_after(context, early)
    late = lab.start()
    assert begin_after(context, late) == late
    lab.run("insert into a values (2, 'noted', 'N')")
    lab.app.commit()
    assert lab.install() == 0
    assert begin_after(context, late) == late, "later commits do not move it"


def test_a_trigger_that_was_away_moves_the_scn_on(lab: TxlogLab) -> None:
    lab.install()
    before = lab.start()
    context = context_of(lab)
    lab.run("drop trigger a_databus_trg", "insert into a values (1, 'unnoted', 'N')")
    lab.app.commit()
    lab.install()
    with pytest.raises(LogGapError, match=r"\.A \(from SCN"):
        begin_after(context, before)
    assert begin_after(context, lab.start())


def test_an_installation_that_broke_off_before_the_scn_was_noted_is_blocking_and_made_up_for(lab: TxlogLab) -> None:
    lab.install()
    lab.run("update sy$sources set since_scn = null where name = 'A'")
    lab.app.commit()
    assert list(problems(lab)) == ["SCN from which on all transactions on A are noted"]
    findings = [one.problem for one in TxlogPrerequisites().database(lab.app, lab.captured())]
    assert any("A: minercdc txlog install has not finished" in one for one in findings)
    with pytest.raises(LogGapError, match="not yet"):
        begin_after(context_of(lab), lab.start())
    lab.install()
    assert problems(lab) == {}
    assert not list(TxlogPrerequisites().database(lab.app, lab.captured()))


def test_sources_of_databus_itself_do_not_say_it(lab: TxlogLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.install()
    lab.run("alter table sy$sources drop column since_scn")
    assert begin_after(context_of(lab), 5) == 5
    assert "does not record from which SCN" in caplog.text
    lab.install()
    with pytest.raises(LogGapError):
        begin_after(context_of(lab), 5)
