"""Every ORA- code of `oracle/codes.py`, raised by the server at each place where the capture can meet it; and what is done about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from tests.examples import one_of_each
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, replica
from tests.sandbox_capture.running import Ledger, Running, running
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.logs.redo_logs import read_logs
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.query import build_query
from minercdc.errors import (
    DeliveryError,
    FencedError,
    LogGapError,
    MinerCdcError,
    MiningSessionError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
)
from minercdc.oracle.codes import ORA
from minercdc.oracle.connect import connect
from minercdc.oracle.scn import current_scn
from minercdc.schema.tables import Tables
from minercdc.sinks.file_schema_history import FileSchemaHistory
from minercdc.snapshot.incremental.watermarks import Marks
from minercdc.stream.events import SchemaChange

# Sockets of connections that broke are left to the garbage collector (MiningSession.close says why).
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

PLACES = {
    "connect": "at => 'connect'",
    "start": "at => 'execute', matching => 'START_LOGMNR'",
    "third fetch": "at => 'fetch', matching => 'V$LOGMNR_CONTENTS', nth => 3",
}


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    quick: dict[str, Any] = {"query.fetch.size": 2, "log.mining.log.backoff.initial.delay.ms": 10}
    lab = make_lab(sandbox, tmp_path, **quick)
    yield lab
    lab.app.close()


@pytest.fixture
def faults(sandbox: SandboxProcess) -> Iterator[oracledb.Cursor]:
    with sandbox.connect(service=sandbox.root_service) as connection, connection.cursor() as cursor:
        yield cursor
        cursor.execute("call dbms_sandbox.clear_faults()")


def arm(faults: oracledb.Cursor, code: int, place: str, times: int = 1) -> None:
    """The next calls of the connector there fail with `code`; 0 loses the connection instead."""
    call = "drop_connection(" if not code else f"fail_call({code}, "
    faults.execute(f"call dbms_sandbox.{call}{PLACES[place]}, username => 'C##MINERCDC', times => {times})")


# ---- each code at each place ----


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda seconds: None))


def mine(lab: Lab) -> None:
    """One pass over what the lab's user has done."""
    connection = connect(lab.config, "root")
    session = MiningSession(connection, fetch_size=2)
    try:
        logs = [log for log in read_logs(connection, current_scn(connection)) if log.current]
        session.use_logs(logs)
        session.start(logs[0].first_scn)
        sql, binds = build_query({}, lab.sandbox.service, frozenset())
        assert sum(len(batch) for batch in session.rows(sql, binds)) > 6
    finally:
        session.close()


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("place", PLACES)
def test_each_code_is_what_the_table_says(lab: Lab, faults: oracledb.Cursor, place: str) -> None:
    lab.run(*(f"insert into item (id) values ({number})" for number in range(8)))
    lab.app.commit()
    for code, known in ORA.items():
        if place == "connect" and code == 1013:
            continue  # it answers a break: test_driver_codes.py
        arm(faults, code, place, times=0)
        with pytest.raises(MinerCdcError) as caught:
            mine(lab)
        faults.execute("call dbms_sandbox.clear_faults()")
        assert type(caught.value) is known.kind, f"ORA-{code:05}: {caught.value}"
        assert f"ORA-{code:05}" in caught.value.message
        if isinstance(caught.value, SourceError):
            assert caught.value.ora_code == code
    mine(lab)


@pytest.mark.usefixtures("quick_retries")
def test_each_code_at_a_commit_in_the_source_is_what_the_table_says(lab: Lab, faults: oracledb.Cursor) -> None:
    """Marks of incremental snapshots are all that is ever committed there; what is committed in Kafka has codes of its own."""
    lab.run("create table signals (id varchar2(50), type varchar2(50), data varchar2(500))")
    lab.run("grant insert on signals to c##minercdc")
    marks = Marks(lab.table("SIGNALS"), "insert")
    for code, known in ORA.items():
        connection = connect(lab.config, "pdb")
        faults.execute(f"call dbms_sandbox.fail_call({code}, at => 'commit', username => 'C##MINERCDC')")
        with pytest.raises(MinerCdcError) as caught:
            marks.open(connection, "w", 0)
        passes = known.kind in (TransientSourceError, MiningSessionError, LogGapError)
        assert type(caught.value) is (known.kind if passes else PrerequisiteError), f"ORA-{code:05}"
        with suppress(oracledb.Error):
            connection.close()
    assert lab.rows("signals") == []


@pytest.mark.usefixtures("quick_retries")
def test_a_listener_that_recovers_is_not_even_noticed(lab: Lab, faults: oracledb.Cursor) -> None:
    for code, known in ORA.items():
        if known.kind is TransientSourceError and code != 1013:
            arm(faults, code, "connect")
            connect(lab.config, "root").close()


# ---- what is done about it, end to end ----

# One code of each class, with its class's answer, and that of a connection that breaks (0).
PASSING = {0: "restart", 3113: "restart", 1291: "new session", 4036: "new session", 600: "new session"}
FINAL = {1017: SourceError, 942: PrerequisiteError, 1287: LogGapError, 353: LogGapError, 1555: SnapshotTooOldError}


def work(lab: Lab) -> None:
    """Transactions of one and of several rows."""
    for number in range(0, 24, 2):
        lab.run(f"insert into item (id) values ({number})", f"insert into item (id) values ({number + 1})")
        lab.app.commit()
        lab.run(f"update item set qty = 1 where id = {number}")
        lab.app.commit()


def check(lab: Lab, ledger: Ledger) -> None:
    """Nothing is lost, repeated or out of order."""
    transactions = ledger.transactions()
    assert [seq for _, seq in transactions] == [[1, 2], [1]] * 12
    assert len({xid for xid, _ in transactions}) == 24
    assert [(row[0], row[2]) for row in replica(ledger.kept, "ITEM")] == sorted(
        ((str(n), None if n % 2 else "1") for n in range(24)), key=str
    )


@pytest.mark.parametrize(
    ("code", "place"),
    # LogMiner's errors do not come when a session is made.
    [
        *one_of_each([3113, 0], list(PLACES)[::-1]),
        *one_of_each([code for code, answer in PASSING.items() if answer == "new session"], ["third fetch", "start"]),
    ],
)
@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_what_passes_loses_and_repeats_nothing(
    lab: Lab, faults: oracledb.Cursor, place: str, code: int, committed: bool
) -> None:
    lab.committed = committed
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        restarts, sessions = engine.counters.restarts, engine.sessions
        arm(faults, code, place)
        if place == "connect":  # the connection there is has to go first
            faults.execute(
                "call dbms_sandbox.drop_connection(at => 'fetch', username => 'C##MINERCDC', matching => 'LOGMNR')"
            )
        work(lab)
        engine.until_marker(2)
        assert engine.sessions > sessions
        assert (engine.counters.restarts > restarts) == (PASSING[code] == "restart")
    check(lab, ledger)


@pytest.mark.parametrize("code", FINAL)
@pytest.mark.parametrize("place", ["start", "third fetch"])
def test_what_does_not_pass_ends_with_its_code(lab: Lab, faults: oracledb.Cursor, code: int, place: str) -> None:
    ledger = Ledger()
    engine = Running(lab, ledger)
    try:
        engine.until_marker(1)
        arm(faults, code, place)
        work(lab)
        error = engine.ended()
        assert type(error) is FINAL[code]
        assert f"ORA-{code:05}" in str(error)
        assert "hint:" in str(error)
        assert engine.counters.restarts == 0
    finally:
        engine.stop()
    with running(lab, ledger) as engine:  # once the cause is gone
        engine.until_marker(2)
    check(lab, ledger)


def test_a_logminer_error_that_stays_becomes_a_restart(lab: Lab, faults: oracledb.Cursor) -> None:
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        arm(faults, 1291, "start", times=0)
        engine.until(lambda: engine.counters.restarts > 0)
        faults.execute("call dbms_sandbox.clear_faults()")
        work(lab)
        engine.until_marker(2)
    check(lab, ledger)


def test_restarts_are_counted_and_end(lab: Lab, faults: oracledb.Cursor) -> None:
    engine = Running(lab, Ledger(), max_restarts=2)
    try:
        engine.until_marker(1)
        arm(faults, 3113, "start", times=0)
        assert type(engine.ended()) is TransientSourceError
        assert engine.counters.restarts == 2
    finally:
        engine.stop()


@pytest.mark.parametrize("is_durable", [False, True], ids=["not committed", "answer lost"])
def test_a_commit_that_fails_in_kafka_is_repeated_or_recognised(lab: Lab, is_durable: bool) -> None:
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        for _ in range(3):
            ledger.failures.append((DeliveryError("committing to Kafka failed"), is_durable))
        work(lab)
        engine.until_marker(2)
        engine.until(lambda: not ledger.failures)
        assert engine.counters.restarts == 3
    check(lab, ledger)


def test_an_instance_that_was_fenced_stops(lab: Lab) -> None:
    ledger = Ledger()
    engine = Running(lab, ledger)
    try:
        engine.until_marker(1)
        ledger.failures.append((FencedError("another instance"), False))
        work(lab)
        assert type(engine.ended()) is FencedError
    finally:
        engine.stop()


def test_a_killed_session_is_replaced(lab: Lab, faults: oracledb.Cursor) -> None:
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        for number in range(0, 24, 2):
            found = faults.execute("select sid, serial# from v$session where username = 'C##MINERCDC'").fetchall()
            for sid, serial in found:
                with suppress(oracledb.DatabaseError):  # it went by itself meanwhile
                    faults.execute(f"alter system kill session '{sid},{serial}' immediate")
            lab.run(f"insert into item (id) values ({number})", f"insert into item (id) values ({number + 1})")
            lab.app.commit()
            lab.run(f"update item set qty = 1 where id = {number}")
            lab.app.commit()
        engine.until_marker(2)
        assert engine.counters.restarts > 0
    check(lab, ledger)


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_a_database_that_is_restarted_is_gone_on_with(tmp_path: Path, committed: bool) -> None:
    """Killed with a transaction open and one just committed, and started again on its port and data."""
    server = SandboxProcess((), "--data", str(tmp_path / "data"))
    ledger = Ledger()
    try:
        lab = make_lab(server, tmp_path, committed=committed)
        with running(lab, ledger) as engine:
            engine.until_marker(1)
            lab.run("insert into item (id) values (1)")
            lab.app.commit()
            open_one = lab.session()
            open_one.cursor().execute("insert into item (id) values (2)")
            for marker in itertools.count(2):
                lab.run(f"insert into item (id) values ({marker + 100})")
                lab.app.commit()
                server.kill()
                with pytest.raises(oracledb.Error):
                    lab.run("insert into item (id) values (3)")
                server = SandboxProcess((), "--data", str(tmp_path / "data"), "--port", str(server.port))
                lab.sandbox = server
                lab.app = lab.session()
                engine.until_marker(marker)
                if marker == 4:
                    break
            assert engine.counters.restarts >= 3
        assert [row[0] for row in replica(ledger.kept, "ITEM")] == ["1", "102", "103", "104"]
        assert [row[0] for row in lab.rows("item")] == ["1", "102", "103", "104"]
        with closing(lab.app):
            assert len({xid for xid, _ in ledger.transactions()}) == len(ledger.transactions()) == 4
    finally:
        assert server.stop() == (0, "")


@pytest.mark.parametrize("committed", [False, True], ids=["uncommitted", "committed"])
def test_a_session_that_grew_is_replaced_between_passes(
    sandbox: SandboxProcess, faults: oracledb.Cursor, tmp_path: Path, committed: bool
) -> None:
    limit: dict[str, Any] = {"minercdc.log.mining.session.max.pga.bytes": 64 << 20}
    lab = make_lab(sandbox, tmp_path, committed=committed, **limit)
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        sessions = engine.sessions
        faults.execute("call dbms_sandbox.grow_pga('C##MINERCDC', 1000)")
        engine.until_marker(2)
        assert engine.sessions == sessions
        for grown in range(1, 4):
            faults.execute(f"call dbms_sandbox.grow_pga('C##MINERCDC', {64 << 20})")
            engine.until_marker(20 + grown)  # a pass ends
            engine.until(lambda grown=grown: engine.sessions >= sessions + grown)  # type: ignore[misc]
            engine.until_marker(2 + grown)  # the new one is there
        work(lab)
        engine.until_marker(9)
        assert engine.sessions == sessions + 3
        assert engine.counters.restarts == 0
    check(lab, ledger)
    lab.app.close()


def test_a_limit_that_cannot_be_watched_is_reported_and_does_not_stop_the_capture(
    lab: Lab, faults: oracledb.Cursor, caplog: pytest.LogCaptureFixture
) -> None:
    faults.execute("call dbms_sandbox.fail_call(942, matching => 'V$MYSTAT', username => 'C##MINERCDC', times => 0)")
    ledger = Ledger()
    with running(lab, ledger) as engine:
        engine.until_marker(1)
        work(lab)
        engine.until_marker(2)
    check(lab, ledger)
    assert [r.message for r in caplog.records if "max.pga.bytes has no effect" in r.message]


def test_a_schema_history_in_a_file_stays_in_step_with_the_offset(lab: Lab, tmp_path: Path) -> None:
    """DDL around commits that fail, with and without having taken place; the offset says what the file has too much."""
    ledger, path = Ledger(), tmp_path / "history.jsonl"
    for number in range(1, 6):  # every number of failures with either outcome
        history = FileSchemaHistory(path, server="s", clock_ms=lambda: 0)
        with running(lab, ledger, history=history) as engine:
            engine.until(lambda: ledger.offset is not None and ledger.offset.position is not None)
            ledger.failures += [(DeliveryError("committing to Kafka failed"), number % 2 == 0)] * (number % 3)
            lab.run(f"insert into item (id) values ({number})")
            lab.run(f"alter table item add (c{number} number(5))")
            lab.run(f"update item set c{number} = {number} where id = {number}")
            lab.app.commit()
            engine.until_marker(number)
        assert ledger.offset is not None
        assert ledger.offset.history is not None
        with path.open("ab") as file:  # as when it is killed after a line
            file.write(b"{}\n")
    assert [change.after.version for change in ledger.kept if isinstance(change, SchemaChange) and change.after
            and change.table.table == "ITEM"] == list(range(1, 7))  # fmt: skip
    assert [seq for _, seq in ledger.transactions()] == [[1]] * 10
    offset = ledger.offset
    assert offset is not None
    assert ledger.changes()[-1].after == ("5", None, None, None, *[None] * 4, "5")
    tables = Tables()
    for change in FileSchemaHistory(path, server="s", clock_ms=lambda: 0).recover(offset.history):
        tables.apply(change)
    found = tables.find(lab.table("ITEM"))
    assert found is not None
    assert [column.name for column in found.columns][4:] == [f"C{number}" for number in range(1, 6)]
