"""`olr` against a server with the faults that users of OpenLogReplicator report; and value by value against `logminer`."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.history import STATEMENTS, TRANSACTIONS, write
from tests.conformance.subject import Subject, transactions
from tests.examples import every_other, one_of_each
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.native_pair import taken_apart
from tests.olr_server.printing import Style
from tests.olr_server.server import Faults, OlrServer
from tests.sandbox_capture.lab import canonical

from minercdc.errors import ConfigError, LogGapError, MinerCdcError, SourceError, TransientSourceError, UnknownSourceError
from minercdc.schema.tables import Tables
from minercdc.stream.events import ChangeEvent, Event, Progress, SchemaChange, UndecodableRow

_PATIENCE_SECONDS = 120.0
_numbers = itertools.count()

Opened = Callable[..., Subject]


@pytest.fixture
def opened(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Opened]:
    """Makes subjects, and ends them."""
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    made: list[Subject] = []

    def make(**more: Any) -> Subject:
        number = next(_numbers)
        made.append(Subject(sandbox, "olr", f"olr{number}", tmp_path / str(number), **more))
        return made[-1]

    yield make
    for subject in made:
        subject.close()


class Run:
    """A connector: it stores each position, confirms it, and begins again from the stored one after an error.

    :ivar kept: events up to the stored position.
    :ivar errors: that ended streams.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.kept: list[Event] = []
        self.errors: list[MinerCdcError] = []
        self.position = subject.start

    def until(self, done: Callable[[Run], bool], restarts: int = 0) -> Run:
        """Read on until `done`, which is looked at after each Progress."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self._read(done, deadline)
                return self
            except MinerCdcError as error:
                self.errors.append(error)
                if len(self.errors) > restarts:
                    raise

    def to(self, count: int, restarts: int = 0) -> Run:
        """Read on until there are so many transactions."""
        return self.until(lambda run: len(transactions(run.kept)) >= count, restarts)

    def _read(self, done: Callable[[Run], bool], deadline: float) -> None:
        tables = Tables()
        for shape in self._subject.shapes:
            tables.put(shape)
        for event in self.kept:
            if isinstance(event, SchemaChange):
                tables.apply(event)
        capture = self._subject.open(tables).capture
        pending: list[Event] = []
        with closing(capture):
            for event in capture.stream(capture.load_position(self.position), threading.Event()):
                pending.append(event)
                if isinstance(event, Progress):
                    assert event.position is not None
                    self.kept += pending
                    self.position, pending = event.position.to_json(), []
                    capture.confirm(event.position)
                    if done(self):
                        return
                assert time.monotonic() < deadline, f"not in time: {self.kept[-3:]}"


def server_of(subject: Subject) -> OlrServer:
    assert isinstance(subject.server, OlrServer)
    return subject.server


@pytest.mark.parametrize(
    "style", [Style(), Style(ends=False), Style(whole=True, xid=1), Style(dates="text", xid=2)], ids=str
)
def test_every_style_of_messages(opened: Opened, style: Style) -> None:
    subject = opened(style=style)
    write(subject.sessions)
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == [list(one) for one in TRANSACTIONS]


@pytest.mark.parametrize(("at", "meaning"), one_of_each([3, 400, 1500, 4000], ["commit", "begin"]))
def test_a_connection_that_is_cut_loses_and_repeats_nothing(opened: Opened, at: int, meaning: Any) -> None:
    subject = opened(style=Style(meaning=meaning), faults=Faults(cut_after=at))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    assert [type(error) for error in run.errors] == [TransientSourceError]
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]


@pytest.mark.parametrize("number", every_other(range(1, 9)))
def test_a_message_that_the_server_loses_is_requested_again(opened: Opened, number: int) -> None:
    subject = opened(faults=Faults(drop=number), checkpoint_seconds=1e6)
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    assert all(isinstance(error, UnknownSourceError) for error in run.errors)
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]


def test_a_commit_that_the_server_loses_is_requested_again_while_checkpoints_come(opened: Opened) -> None:
    subject = opened(faults=Faults(drop_commit=True), checkpoint_seconds=0.0, settings={"minercdc.olr.timeout.ms": "500"})
    write(subject.sessions, STATEMENTS[:5])
    run = Run(subject).to(1, restarts=1)
    assert [type(error) for error in run.errors] == [TransientSourceError]
    assert transactions(run.kept) == [list(TRANSACTIONS[0])]


def test_a_lost_begin_does_not_hide_what_c_scn_means(opened: Opened) -> None:
    subject = opened(style=Style(meaning="begin", ends=False), faults=Faults(drop=0), checkpoint_seconds=1e6)
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS))
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]


@pytest.mark.parametrize(
    "bytes_", every_other([b"\xff" * 30, b"", b'{"c_scn":1,"c_idx":0,"payload":[{"op":"x"}]}', b'{"c_scn":1'])
)
def test_bytes_that_are_no_message_get_an_error_and_lose_nothing(opened: Opened, bytes_: bytes) -> None:
    subject = opened(faults=Faults(instead={4: bytes_}))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    (error,) = run.errors
    assert isinstance(error, UnknownSourceError)
    assert "cannot be read" in str(error)
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]


@pytest.mark.parametrize("meaning", ["commit", "begin"])
def test_a_restarted_server_counts_again_and_nothing_is_lost(opened: Opened, meaning: Any) -> None:
    """A transaction is open all the while, and commits after the restart."""
    subject = opened(style=Style(meaning=meaning))
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into note values ('old')")
    other = subject.sessions["two"]
    with other.cursor() as cursor:
        for number in range(20):
            cursor.execute(f"insert into orders values ({number}, 1, 1)")
            other.commit()
        run = Run(subject).to(20)
        run.until(seconds(5))  # time for confirmations
        server_of(subject).restart()
        cursor.execute("insert into orders values (20, 1, 1)")
        other.commit()
        subject.sessions["one"].commit()
        run.to(22)
    found = [change.after for changes in transactions(run.kept) for change in changes]
    assert found == [*((str(number), "1", "1") for number in range(21)), ("old",)]


def seconds(number: float) -> Callable[[Run], bool]:
    """Whether so much time is over."""
    end = time.monotonic() + number
    return lambda _: time.monotonic() > end


def test_a_server_that_lost_its_state_is_started_where_the_oldest_transaction_began(opened: Opened) -> None:
    subject = opened()
    write(subject.sessions, STATEMENTS[:5])
    run = Run(subject).to(1)
    server_of(subject).forget()
    write(subject.sessions, STATEMENTS[5:])
    run.to(len(TRANSACTIONS))
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]
    codes = [request.get("code", 0) for request in server_of(subject).requests]
    assert codes.count(1) == 2


def test_what_is_stored_is_confirmed_within_15_seconds_and_no_more(opened: Opened) -> None:
    subject = opened(checkpoint_seconds=1e6)
    server = server_of(subject)
    write(subject.sessions)
    with closing(subject.read([], subject.start)) as stream:  # which confirms nothing
        for event in stream:
            if isinstance(event, Progress) and event.committed and server.unconfirmed >= 20:
                break
    assert server.confirmed == (0, 0)
    begun = time.monotonic()
    run = Run(subject).until(lambda _: server.sent > 20 and server.unconfirmed == 0)
    assert time.monotonic() - begun < 120
    assert len(transactions(run.kept)) == len(TRANSACTIONS)


def test_a_full_queue_is_emptied(opened: Opened) -> None:
    subject = opened(queue=8, checkpoint_seconds=1e6)
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS))
    assert transactions(run.kept) == [list(one) for one in TRANSACTIONS]


def test_a_transaction_that_the_queue_cannot_hold_is_named(opened: Opened) -> None:
    subject = opened(queue=8, checkpoint_seconds=1e6, settings={"minercdc.olr.timeout.ms": "500"})
    with subject.sessions["one"].cursor() as cursor:
        for number in range(20):
            cursor.execute(f"insert into orders values ({number}, 1, 1)")
    subject.sessions["one"].commit()
    with pytest.raises(TransientSourceError, match=r"stopped within transaction \w+ after [1-7] changes") as stopped:
        Run(subject).to(1)
    assert "queue-size" in str(stopped.value)


@pytest.mark.parametrize(
    ("faults", "error", "message"),
    [
        (Faults(failed_start=True), LogGapError, "cannot start at SCN"),
        (Faults(silent=True), TransientSourceError, "did not answer INFO in 0.5 s"),
        (Faults(starting=100), TransientSourceError, "is STARTING for 0.5 s"),
    ],
)
def test_what_hinders_the_start_is_named(opened: Opened, faults: Faults, error: type[Exception], message: str) -> None:
    subject = opened(faults=faults, settings={"minercdc.olr.timeout.ms": "500"})
    with pytest.raises(error, match=message):
        Run(subject).to(1)


def test_a_server_that_is_starting_is_waited_for(opened: Opened) -> None:
    subject = opened(faults=Faults(starting=2))
    write(subject.sessions)
    assert transactions(Run(subject).to(1).kept)


def test_another_source_is_refused(opened: Opened) -> None:
    subject = opened(settings={"openlogreplicator.source": "OTHER"})
    with pytest.raises(ConfigError, match=r"openlogreplicator\.source: .* has no source OTHER"):
        Run(subject).to(1)


def test_what_another_client_confirmed_is_noticed(opened: Opened) -> None:
    subject = opened(checkpoint_seconds=1e6)  # only messages of transactions are counted
    server = server_of(subject)
    write(subject.sessions, STATEMENTS[:5])
    run = Run(subject).to(1)
    write(subject.sessions, STATEMENTS[5:])
    with closing(subject.read([], run.position)) as stream:
        assert isinstance(next(stream), (Progress, ChangeEvent))
        while len(server._messages) < 20:
            next(stream)
        server._confirm((2**62, 0))
    with pytest.raises(SourceError, match="another client has confirmed"):
        run.to(2)


TYPES = (
    "create table every (id number(9) primary key, big number(38), small number(38,30), f float, bf binary_float, bd binary_double,"
    " c char(5), nc nchar(4), v varchar2(4000), nv nvarchar2(100), d date, t timestamp(9), tz timestamp(9) with time zone,"
    " lz timestamp with local time zone, r raw(2000), ym interval year(4) to month, ds interval day(4) to second(9), cl clob,"
    " nl nclob, bl blob)",
)
ROWS: Sequence[str] = (
    "insert into every (id) values (1)",
    "insert into every values (2, 99999999999999999999999999999999999999, 0.123456789012345678901234567890, 1.5, 1.5, -2.25, 'ab',"
    " n'x', 'it''s \"q\" \\ ' || chr(10) || chr(9) || unistr('\\00fc\\d83d\\de00'), n'y', date '2026-02-28',"
    " timestamp '2026-02-28 13:45:59.123456789', timestamp '2026-02-28 13:45:59.000000001 -03:30',"
    " timestamp '2026-02-28 13:45:59.5', hextoraw('00ff'), interval '-12-3' year to month,"
    " interval '-3 04:05:06.000000007' day to second, 'text', n'text', hextoraw('DEADBEEF'))",
    "insert into every (id, d, t) values (3, date '9999-12-31', timestamp '1583-01-01 00:00:00.000000001')",
    "update every set big = -1, v = null, cl = empty_clob() where id = 2",
    "update every set id = 4, bd = binary_double_infinity, bf = binary_float_nan where id = 3",
    "delete from every where id = 2",
)


@pytest.mark.parametrize("dates", ["ns", "text"])
def test_the_same_events_as_logminer(opened: Opened, dates: Any) -> None:
    subject = opened(
        tables=TYPES, style=Style(dates=dates), settings={"lob.enabled": "true", "minercdc.lob.reselect": "none"}
    )
    with subject.sessions["one"].cursor() as cursor:
        for statement in ROWS:
            cursor.execute(statement)
            if "update" in statement:
                subject.sessions["one"].commit()
    subject.sessions["one"].commit()
    found = Run(subject).to(3).kept
    miner = subject.open(_tables(subject), "logminer")
    begun = miner.start_position(int(str(subject.start["olr_scn"])) - 1, int(str(subject.start["olr_begun"])))
    wanted: list[Event] = []
    with closing(miner.capture):
        for event in taken_apart(miner.capture.stream(begun, threading.Event())):
            wanted.append(event)
            if sum(isinstance(one, Progress) and one.committed is not None for one in wanted) == 3:
                break
    assert [*map(facts, changes(found))] == [*map(facts, changes(wanted))]
    assert len(changes(found)) == len(ROWS)


def _tables(subject: Subject) -> Tables:
    return Tables(subject.shapes)


def changes(events: Sequence[Event]) -> list[ChangeEvent]:
    assert not [event for event in events if isinstance(event, UndecodableRow)]
    return [event for event in events if isinstance(event, ChangeEvent)]


def facts(event: ChangeEvent) -> tuple[Any, ...]:
    """All that both ways of reading say."""
    tx = event.tx
    assert tx is not None
    images = canonical(event.schema, event.before), canonical(event.schema, event.after)
    return (
        event.op,
        *images,
        event.scn,
        event.seq,
        event.row_id,
        tx.id,
        tx.start_scn,
        tx.commit_scn,
        tx.commit_us,
        event.time_us,
    )


def test_ddl_is_followed(opened: Opened) -> None:
    subject = opened()
    one = subject.sessions["one"]
    with one.cursor() as cursor:
        for statement in (
            "insert into note values ('a')",
            "alter table note add (n number)",
            "insert into note values ('b', 1)",
            "create table later (id number primary key)",
            "insert into later values (1)",
            "rename later to now",
            "insert into now values (2)",
            "truncate table now",
            "drop table now",
        ):
            cursor.execute(statement)
            one.commit()
    run = Run(subject).until(lambda run: any(isinstance(e, SchemaChange) and e.after is None for e in run.kept))
    assert [(c.schema.id.table, c.after) for c in changes(run.kept)] == [
        ("NOTE", ("a",)),
        ("NOTE", ("b", "1")),
        ("LATER", ("1",)),
        ("NOW", ("2",)),
    ]
    ddl = [event for event in run.kept if isinstance(event, SchemaChange)]
    assert [(e.table.table, e.ddl.split()[0], e.truncate) for e in ddl] == [
        ("NOTE", "alter", False),
        ("LATER", "create", False),
        ("NOW", "rename", False),
        ("NOW", "truncate", True),
        ("NOW", "drop", False),
    ]


@pytest.mark.parametrize("mode", ["fail", "warn"])
def test_a_value_that_the_server_cannot_decode(opened: Opened, mode: str) -> None:
    bad = (
        b'{"scn":%d,"e_scn":%d,"xid":"1.2.3","c_scn":%d,"c_idx":0,"payload":[{"op":"begin"},{"op":"c","num":0,"schema":{"owner":"%s",'
        b'"table":"ORDERS"},"after":{"ID":"?","CUSTOMER":1,"TOTAL":1}},{"op":"commit"}]}'
    )
    subject = opened(settings={"event.processing.failure.handling.mode": mode})
    scn = subject.scn()
    owner = subject.shapes[0].id.schema.encode()
    # The first message is a checkpoint, since there are no transactions.
    server_of(subject).faults.instead[0] = bad % (scn, scn, scn - 100, owner)
    if mode == "fail":
        with pytest.raises(MinerCdcError, match=r"ID: OpenLogReplicator sent \? for a NUMBER"):
            Run(subject).to(1)
        return
    run = Run(subject).until(lambda run: any(isinstance(event, UndecodableRow) for event in run.kept))
    (left_out,) = (event for event in run.kept if isinstance(event, UndecodableRow))
    assert "sent ? for a NUMBER" in left_out.reason
    assert left_out.redo_sql is not None
    assert '"ID": "?"' in left_out.redo_sql
