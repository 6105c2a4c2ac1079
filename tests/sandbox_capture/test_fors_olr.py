"""`fors_olr` against a server that breaks, restarts and answers badly; and value by value against `logminer`."""

from __future__ import annotations

import itertools
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.history import TRANSACTIONS, write
from tests.conformance.subject import Subject, transactions
from tests.examples import every_other, one_of_each
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.fors_server import wire
from tests.fors_server.printing import Style
from tests.fors_server.server import Faults, ForsServer
from tests.native_pair import taken_apart
from tests.sandbox_capture.test_olr import ROWS, TYPES, Run, changes, facts, seconds

from minercdc.errors import (
    ConfigError,
    SourceError,
    TransientSourceError,
    UnknownSourceError,
)
from minercdc.schema.tables import Tables
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Event, Progress

_numbers = itertools.count()

Opened = Callable[..., Subject]
QUICK = {"minercdc.fors.timeout.ms": "500"}


@pytest.fixture
def opened(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Opened]:
    """Makes subjects, and ends them; no command may have been sent before the one before it was answered."""
    with sandbox.connect(service=sandbox.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    made: list[Subject] = []

    def make(**more: Any) -> Subject:
        number = next(_numbers)
        made.append(Subject(sandbox, "fors_olr", f"fors{number}", tmp_path / str(number), **more))
        return made[-1]

    yield make
    for subject in made:
        subject.close()
        assert server_of(subject).violations == 0


def server_of(subject: Subject) -> ForsServer:
    assert isinstance(subject.server, ForsServer)
    return subject.server


def expected() -> list[list[Any]]:
    return [list(one) for one in TRANSACTIONS]


@pytest.mark.parametrize(
    "style",
    [
        Style(),
        Style(order="big"),
        Style(values="text", time="redo"),
        Style(order="big", values="text", changed=True),
        Style(charset=171),
        Style(shift=5),
    ],
    ids=str,
)
def test_every_style_of_servers(opened: Opened, style: Style) -> None:
    subject = opened(style=style)
    write(subject.sessions)
    found = transactions(Run(subject).to(len(TRANSACTIONS)).kept)
    if not style.changed:
        assert found == expected()
    assert [[(one.op, one.table) for one in changes] for changes in found] == [
        [(one.op, one.table) for one in changes] for changes in expected()
    ]


def test_a_column_that_is_not_listed_is_unavailable(opened: Opened) -> None:
    subject = opened(style=Style(changed=True))
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into orders values (1, 2, 3)")
        cursor.execute("update orders set total = 4 where id = 1")
    subject.sessions["one"].commit()
    _, updated = changes(Run(subject).to(1).kept)
    assert updated.before == ("1", UNAVAILABLE, "3")
    assert updated.after == ("1", UNAVAILABLE, "4")


@pytest.mark.parametrize("at", every_other([1, 30, 300, 1500, 2500]))
def test_a_connection_that_is_cut_loses_and_repeats_nothing(opened: Opened, at: int) -> None:
    subject = opened(faults=Faults(cut_after=at))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    assert [type(error) for error in run.errors] == [TransientSourceError]
    assert transactions(run.kept) == expected()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "another code": lambda answer: answer[:4] + b"\x09\x00" + answer[6:],
    "Ok in place of Data": lambda _: wire.Writer().frame(wire.OK),
    "an Error": lambda _: wire.Writer().error(7, "Таблица не найдена"),
    "an operation that is cut": lambda answer: wire.Writer().frame(wire.DATA, answer[6:-1]),
    "another operation": lambda answer: answer[:6] + b"\x03" + answer[7:],
    "another transaction": lambda answer: answer[:15] + bytes(8) + answer[23:],
    "no bytes": lambda _: bytes(4),
    "random bytes": lambda answer: wire.Writer().frame(wire.DATA, random.Random(1).randbytes(len(answer))),
}


@pytest.mark.parametrize(("damage", "number"), one_of_each(list(DAMAGES), [0, 2, 4, 5]))
def test_damaged_answers_get_an_error_and_lose_nothing(opened: Opened, damage: str, number: int) -> None:
    """Begin, a change, Commit, and the next Begin."""
    subject = opened(faults=Faults(damage={number: DAMAGES[damage]}))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    (error,) = run.errors
    assert isinstance(error, SourceError)
    assert any(word in str(error) for word in ("cannot be read", "are missing", "answered LastCommitedSCN", "arrived after"))
    assert transactions(run.kept) == expected()


def test_hostile_bytes_all_along(opened: Opened) -> None:
    """Data answers are damaged at random; each time the connector begins again, and in the end all is there."""
    chance = random.Random(42)
    subject = opened(faults=Faults(damage={n: DAMAGES[chance.choice(list(DAMAGES))] for n in range(0, 60, 3)}))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=40)
    assert len(run.errors) > 5
    assert transactions(run.kept) == expected()


@pytest.mark.parametrize(
    "command", every_other([wire.START_SCN, wire.TABLE_LIST, wire.LAST_COMMITED_SCN, wire.GET_SAVED_SCN])
)
def test_an_error_of_the_server_is_named_and_what_follows_is_tried_again(opened: Opened, command: int) -> None:
    subject = opened(faults=Faults(refuse={command: (1403, "нет данных")}))
    write(subject.sessions)
    run = Run(subject).to(len(TRANSACTIONS), restarts=1)
    (error,) = run.errors
    assert isinstance(error, UnknownSourceError)
    assert "error 1403: нет данных" in str(error)
    assert transactions(run.kept) == expected()


def test_a_connector_that_ended_before_start_scn_left_its_list_at_the_server(opened: Opened) -> None:
    subject = opened(faults=Faults(refuse={wire.START_SCN: (1, "no")}))
    write(subject.sessions)
    with pytest.raises(UnknownSourceError, match=r"StartSCN \d+ by error 1: no") as refused:
        Run(subject).to(1)
    assert "take a new snapshot" in str(refused.value)
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == expected()


def test_a_query_that_the_database_refuses_is_named(opened: Opened) -> None:
    subject = opened(settings={"minercdc.fors.table.list.sql": "SELECT OWNER, NAME FROM NOWHERE"})
    with pytest.raises(UnknownSourceError, match=r"TableList by error 942: ORA-00942") as refused:
        Run(subject).to(1)
    assert "minercdc.fors.table.list.sql" in str(refused.value)


def test_a_query_of_ones_own_lists_the_tables(opened: Opened) -> None:
    sql = "SELECT OWNER, TABLE_NAME AS NAME FROM ALL_TABLES WHERE TABLE_NAME = 'ORDERS'"
    subject = opened(settings={"minercdc.fors.table.list.sql": sql})
    write(subject.sessions)
    found = transactions(Run(subject).to(5).kept)
    assert {change.table for one in found for change in one} == {"ORDERS"}


def test_a_server_that_does_not_answer_is_named(opened: Opened) -> None:
    subject = opened(faults=Faults(silent=True), settings=QUICK)
    with pytest.raises(TransientSourceError, match=r"did not answer GetStatus in 0\.5 s") as silent:
        Run(subject).to(1)
    assert "minercdc.fors.byte.order" in str(silent.value)


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_byte_order_is_found_out(opened: Opened, order: Any) -> None:
    subject = opened(
        style=Style(order=order), settings={"minercdc.fors.timeout.ms": "3000", "minercdc.fors.byte.order": "auto"}
    )
    write(subject.sessions)
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == expected()


@pytest.mark.parametrize("forgets", [False, True], ids=["with its saved SCN", "without"])
def test_a_restarted_server_loses_and_repeats_nothing(opened: Opened, forgets: bool) -> None:
    """A transaction is open all the while, and commits after the restart."""
    subject = opened()
    server = server_of(subject)
    with subject.sessions["one"].cursor() as cursor:
        cursor.execute("insert into note values ('old')")
    other = subject.sessions["two"]
    with other.cursor() as cursor:
        for number in range(20):
            cursor.execute(f"insert into orders values ({number}, 1, 1)")
            other.commit()
        run = Run(subject).to(20)
        run.until(seconds(4))  # V$TRANSACTION is read
        assert server.saved is not None
        server.forget() if forgets else server.restart()
        cursor.execute("insert into orders values (20, 1, 1)")
        other.commit()
        subject.sessions["one"].commit()
        run.to(22)
    found = [change.after for changes in transactions(run.kept) for change in changes]
    assert found == [*((str(number), "1", "1") for number in range(21)), ("old",)]
    assert len(server.started) == 2


def test_what_is_not_stored_is_not_acknowledged(opened: Opened) -> None:
    subject = opened()
    server = server_of(subject)
    write(subject.sessions)
    with closing(subject.read([], subject.start)) as stream:  # which confirms nothing
        for event in stream:
            if isinstance(event, Progress) and server.unconfirmed == len(TRANSACTIONS):
                break
    assert {scn for code, scn in server.requests if code == wire.LAST_COMMITED_SCN} == {0}
    run = Run(subject).until(lambda _: server.unconfirmed == 0)
    assert transactions(run.kept) == expected()
    confirmed = [scn for code, scn in server.requests if code == wire.LAST_COMMITED_SCN]
    assert confirmed[-1] == max(change.tx.commit_scn for change in changes(run.kept) if change.tx)


@pytest.mark.parametrize("at", [300, 700, 1100, 1500, 1900])
def test_transactions_with_the_same_commit_scn(opened: Opened, sandbox: SandboxProcess, at: int) -> None:
    """The connection is cut at some byte, and the server restarts after another transaction.

    Its commit SCNs are rounded up here, to far after the present, so those of V$TRANSACTION do not fit them: a transaction that is open all
    the while keeps StartSCN before all of them.
    """
    subject = opened(block=100_000, faults=Faults(cut_after=at))
    owner = subject.shapes[0].id.schema.lower()
    with sandbox.connect(owner, owner) as early:
        early.cursor().execute("insert into note values ('open')")
        write(subject.sessions)
        run = Run(subject).to(3, restarts=1)
        server_of(subject).restart()
        run.to(len(TRANSACTIONS), restarts=2)
        early.rollback()
    assert transactions(run.kept) == expected()
    assert len({change.tx.commit_scn for change in changes(run.kept) if change.tx}) == 1


def test_a_full_queue_is_emptied(opened: Opened) -> None:
    subject = opened(queue=1)
    write(subject.sessions)
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == expected()


def test_only_archived_logs_are_read(opened: Opened) -> None:
    subject = opened(archived=True)
    write(subject.sessions)
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == expected()


def test_a_transaction_of_many_rows_does_not_wait_in_memory(opened: Opened) -> None:
    subject = opened()
    with subject.sessions["one"].cursor() as cursor:
        cursor.executemany("insert into orders values (:1, 1, 1)", [(number,) for number in range(3_000)])
    subject.sessions["one"].commit()
    server, seen = server_of(subject), 0
    with closing(subject.read([], subject.start)) as stream:
        for event in stream:
            seen += isinstance(event, ChangeEvent)
            if seen == 1:
                assert 1_000 < server.answers < 2_700  # it reads on while the first ones are taken
            if isinstance(event, Progress) and event.committed is not None:
                break
    assert seen == 3_000


@pytest.mark.parametrize("encoding", ["oracle", "text"])
@pytest.mark.parametrize("piece", [7, 8_000])
def test_the_same_events_as_logminer(opened: Opened, encoding: Any, piece: int) -> None:
    subject = opened(
        tables=TYPES,
        style=Style(values=encoding, piece=piece),
        settings={"lob.enabled": "true", "minercdc.lob.reselect": "none", "minercdc.fors.empty.lob": "empty"},
    )
    with subject.sessions["one"].cursor() as cursor:
        for statement in ROWS:
            cursor.execute(statement)
            if "update" in statement:
                subject.sessions["one"].commit()
    subject.sessions["one"].commit()
    found = Run(subject).to(3).kept
    miner = subject.open(Tables(subject.shapes), "logminer")
    begun = miner.start_position(int(str(subject.start["fors_scn"])) - 1, int(str(subject.start["fors_begun"])))
    wanted: list[Event] = []
    with closing(miner.capture):
        for event in taken_apart(miner.capture.stream(begun, threading.Event())):
            wanted.append(event)
            if sum(isinstance(one, Progress) and one.committed is not None for one in wanted) == 3:
                break
    assert [*map(facts, changes(found))] == [*map(facts, changes(wanted))]
    assert len(changes(found)) == len(ROWS)


def test_the_server_answers_any_command(opened: Opened) -> None:
    """Each frame has one answer, whatever it holds, and the connector works afterwards."""
    subject, chance = opened(), random.Random(3)
    server = server_of(subject)
    write(subject.sessions)
    with socket.create_connection((server.host, server.port)) as client:
        for _ in range(300):
            code = chance.choice([wire.GET_STATUS, wire.GET_SAVED_SCN, wire.LAST_COMMITED_SCN, wire.BACK_TO_SCN, 0, 8, 77])
            client.sendall(wire.Writer().frame(code, chance.randbytes(chance.choice([0, 0, 3, 8, 50]))))
            size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "little")
            answer = client.recv(size, socket.MSG_WAITALL)
            assert answer[:1] in (b"\x03", b"\x05", b"\x06")  # it is not replicating
    assert transactions(Run(subject).to(len(TRANSACTIONS)).kept) == expected()


def test_a_position_of_another_adapter_is_refused(opened: Opened) -> None:
    capture = opened().open(Tables()).capture
    with pytest.raises(ConfigError, match="not a position of fors_olr"):
        capture.load_position({"olr_scn": "1", "olr_begun": "1"})
    with pytest.raises(TypeError):
        next(iter(capture.stream(None, threading.Event())))  # type: ignore[arg-type]


def test_the_stop_ends_every_wait(opened: Opened) -> None:
    subject = opened(faults=Faults(silent=True))
    capture, stop = subject.open(Tables()).capture, threading.Event()
    threading.Timer(0.3, stop.set).start()
    begun = time.monotonic()
    assert all(isinstance(event, Progress) for event in capture.stream(capture.load_position(subject.start), stop))
    assert time.monotonic() - begun < 60
