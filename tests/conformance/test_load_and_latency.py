"""What each adapter asks of the database, and what its latency depends on: rows of docs/capture/README.md. No test depends on a rate or a clock."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.asked import Clock
from tests.conformance.history import ODD, STATEMENTS, TABLES, write
from tests.conformance.subject import Subject, transactions
from tests.conformance.test_conformance import until
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Committed
from tests.olr_server.server import CONFIRM, INFO, START, OlrServer

from minercdc.capture import open_transactions
from minercdc.capture.flashback import capture as flashback
from minercdc.capture.open_transactions import OldestUndelivered
from minercdc.capture.txlog import capture as txlog
from minercdc.config.source.flashback import FlashbackConfig
from minercdc.config.source.txlog import TxlogConfig
from minercdc.stream.events import ChangeEvent, Event, Progress

pytestmark = pytest.mark.timeout(120)

AN_HOUR = {"poll.interval.ms": "3600000"}
OPEN = {"V$DATABASE", "V$THREAD", "V$TRANSACTION", "DBA_2PC_PENDING"}
"""What shows which transactions are open."""
IDENTITY = {"V$PDBS", "V$PDB_INCARNATION"}
"""What shows, beside V$DATABASE, which database it is; asked when a stream begins."""
_SCAN = re.compile(r'"(?P<table>[^"]+)" VERSIONS BETWEEN (?P<window>SCN \d+ AND \d+)')
_numbers = itertools.count()
Opened = Callable[..., Subject]


@pytest.fixture
def opened(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Opened]:
    """Makes subjects, and ends them."""
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    made: list[Subject] = []

    def make(adapter: str, **more: Any) -> Subject:
        number = next(_numbers)
        made.append(Subject(sandbox, adapter, f"cost{number}", tmp_path / str(number), **more))
        return made[-1]

    yield make
    for subject in made:
        subject.close()


def complete(events: Iterator[Event], times: int) -> list[Event]:
    """Events until it was so many times that the SCN went on up to which everything has come."""
    found: list[Event] = []
    before = None
    for event in events:
        found.append(event)
        if isinstance(event, Progress) and event.committed is None:
            times -= before is not None and event.complete_scn > before
            before = event.complete_scn
            if not times:
                return found
    raise AssertionError("the stream ended")


# ---- logminer, logminer_unbuffered ----


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_logminer_is_started_once_a_pass(opened: Opened, adapter: str) -> None:
    """And no captured table is read. What waits for its commit is held by the connector, or by LogMiner's session."""
    subject = opened(adapter)
    write(subject.sessions, STATEMENTS[:4])
    with closing(subject.read([], subject.start)) as stream:
        until(stream, 1)
        write(subject.sessions, STATEMENTS[4:7])
        until(stream, 1)
    asked = [sql for _, sql in subject.asked.statements if "START_LOGMNR" in sql or "V$LOGMNR_CONTENTS" in sql]
    assert len(asked) >= 4
    assert all("START_LOGMNR" in sql for sql in asked[::2])
    assert all("V$LOGMNR_CONTENTS" in sql for sql in asked[1::2])
    assert all(("COMMITTED_DATA_ONLY" in sql) == (adapter == "logminer_unbuffered") for sql in asked[::2])
    others = {name for name in subject.asked.sources() if not name.startswith(("V$", "ALL_", "NLS_", "DUAL"))}
    assert others <= {"DBA_2PC_PENDING"}


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_redo_is_noticed_without_waiting_for_the_poll(opened: Opened, adapter: str) -> None:
    """By V$THREAD; how soon is said by tests/unit/capture/logminer/test_waiting.py."""
    subject = opened(adapter, settings=AN_HOUR)
    write(subject.sessions, STATEMENTS[:4])
    with closing(subject.read([], subject.start)) as stream:
        until(stream, 1)
        write(subject.sessions, STATEMENTS[4:7])
        until(stream, 1)
    assert subject.asked.times("LAST_REDO_CHANGE#")


# ---- flashback ----


def test_each_window_scans_each_table_once(opened: Opened) -> None:
    """With changes and without."""
    subject = opened("flashback")
    with closing(subject.read([], subject.start, stop=subject.asked.clock)) as stream:
        complete(stream, 3)
        write(subject.sessions, STATEMENTS[:4])
        assert len(transactions(complete(stream, 1))) == 1
    scans = [_SCAN.search(sql) for _, sql in subject.asked.statements if "VERSIONS BETWEEN" in sql]
    scanned = [(found["window"], found["table"]) for found in scans if found is not None]
    windows = {window for window, _ in scanned}
    assert len(windows) >= 4
    assert sorted(scanned) == sorted(itertools.product(windows, ("CUSTOMER", "NOTE", "ORDERS", ODD)))


@pytest.mark.parametrize(("takes", "between"), [(0.0, 1.0), (0.1, 1.0), (10.0, 60.0)])
def test_windows_begin_an_interval_apart_or_rest_as_long_as_they_read(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, takes: float, between: float
) -> None:
    """A change comes with the first window that begins after its commit."""
    subject = opened("flashback", tables=TABLES[:3], settings={"minercdc.flashback.interval.ms": "1000"})
    clock = subject.asked.clock
    clock.takes = {"VERSIONS BETWEEN": takes}
    monkeypatch.setattr(flashback, "monotonic", clock)
    with closing(subject.read([], subject.start, stop=clock)) as stream:
        complete(stream, 3)
        write(subject.sessions, STATEMENTS[:4])
        assert len(transactions(complete(stream, 1))) == 1
    begun = subject.asked.times("CURRENT_SCN")[-4:]  # nothing is to be read in the first one
    assert [after - before for before, after in itertools.pairwise(begun)] == pytest.approx([between] * 3)
    assert FlashbackConfig.model_fields["minercdc_flashback_interval_ms"].default == 1000


# ---- olr, fors_olr ----


def test_olr_asks_which_transactions_are_open_and_nothing_else(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_transactions, "_EVERY_SECONDS", 0.0)
    subject = opened("olr")
    write(subject.sessions)
    with closing(subject.read([], subject.start)) as stream:
        until(stream, 8)
        complete(stream, 2)
    assert subject.asked.sources() == OPEN | IDENTITY


def test_fors_olr_asks_which_transactions_are_open_and_the_dictionary(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_transactions, "_EVERY_SECONDS", 0.0)
    subject = opened("fors_olr")
    write(subject.sessions)
    with closing(subject.read([], subject.start)) as stream:
        until(stream, 8)
    sources = subject.asked.sources()
    assert sources >= OPEN
    assert {name for name in sources if not name.startswith("ALL_")} == OPEN | IDENTITY


def test_open_transactions_are_looked_up_every_three_seconds(
    sandbox: SandboxProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(open_transactions, "monotonic", clock)
    looks: list[float] = []

    def connect() -> Any:
        looks.append(clock.now)
        return sandbox.connect(service=sandbox.root_service)

    oldest = OldestUndelivered(connect, 0)
    for _ in range(100):
        clock.wait(0.1)
        oldest.look(1 << 60)
        oldest.close()
    assert [after - before for before, after in itertools.pairwise([0.0, *looks])] == pytest.approx([3.0] * 3, abs=0.11)


def test_olr_requests_no_data_but_takes_what_the_server_pushes(opened: Opened) -> None:
    subject = opened("olr", settings=AN_HOUR)
    server = subject.server
    assert isinstance(server, OlrServer)
    write(subject.sessions, STATEMENTS[:4])
    with closing(subject.read([], subject.start)) as stream:
        until(stream, 1)
        write(subject.sessions, STATEMENTS[4:])
        until(stream, 7)
    codes = [request.get("code", INFO) for request in server.requests]
    assert codes[:2] == [INFO, START]
    assert set(codes[2:]) <= {CONFIRM}


def test_fors_olr_waits_for_the_log_to_be_archived(opened: Opened) -> None:
    subject = opened("fors_olr", archived=True, switches=False)
    server = subject.server
    assert isinstance(server, ForsServer)
    server.switch()
    write(subject.sessions)
    with closing(subject.read([], subject.start)) as stream:
        for event in stream:
            assert not isinstance(event, ChangeEvent)
            if len(server.feed.units) >= 3:  # it has looked for archived logs as often
                break
        assert not any(isinstance(unit, Committed) for unit in server.feed.units)
        server.switch()
        assert len(transactions(until(stream, 8))) == 8


# ---- txlog ----


def test_a_poll_queries_each_view_once_by_an_indexed_column(opened: Opened) -> None:
    """And the log has a row for each transaction, whatever it changes."""
    subject = opened("txlog")
    with closing(subject.read([], subject.start, stop=subject.asked.clock)) as stream:
        complete(stream, 3)
        write(subject.sessions, STATEMENTS[:9])
        until(stream, 2)
    polls = len(subject.asked.times("coalesce_log"))
    reads = [subject.asked.times(f'"SY${table}" SRC') for table in ("CUSTOMER", "ORDERS")]
    assert polls >= 4
    assert [len(found) for found in reads] == [polls] * 2
    assert all("WHERE SRC.TXN = TX.TXN" in sql for _, sql in subject.asked.statements if " SRC" in sql)
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("select table_name from user_ind_columns where column_name = 'TXN' and column_position = 1")
        assert {name for (name,) in cursor} >= {"CUSTOMER", "ORDERS"}
        cursor.execute("select count(*) from sy$txlog")
        assert cursor.fetchone() == (3,)


def test_polls_are_an_interval_apart(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change comes with the first poll after its commit."""
    subject = opened("txlog", settings={"minercdc.txlog.interval.ms": "500"})
    clock = subject.asked.clock
    monkeypatch.setattr(txlog, "monotonic", clock)
    with closing(subject.read([], subject.start, stop=clock)) as stream:
        complete(stream, 3)
        write(subject.sessions, STATEMENTS[:4])
        assert len(transactions(complete(stream, 1))) == 1
    begun = subject.asked.times("coalesce_log")[-4:]
    assert [after - before for before, after in itertools.pairwise(begun)] == pytest.approx([0.5] * 3)
    assert TxlogConfig.model_fields["minercdc_txlog_interval_ms"].default == 500
