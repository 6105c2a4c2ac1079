"""Every DPY- code of `oracle/codes.py` at each place where the capture can meet it, as the driver raises it itself: by what the
network or the server does to it. Codes the driver raises nowhere but in a logon, or would raise for a database that the
sandbox is not, are put into its mouth (`Muttering`)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from tests.e2e.proxy import Proxy
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.logminer.logs.redo_logs import read_logs
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.query import build_query
from minercdc.errors import MinerCdcError, TransientSourceError, UnknownSourceError
from minercdc.local.ports import free_port
from minercdc.oracle.codes import DPY
from minercdc.oracle.connect import connect
from minercdc.oracle.scn import current_scn

pytestmark = [
    pytest.mark.usefixtures("quick_retries"),
    # Sockets of connections that broke are left to the garbage collector (MiningSession.close says why).
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]

PLACES = ("connect", "start", "third fetch")
Arm = Callable[[], None]


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(sandbox, tmp_path)
    lab.run(*(f"insert into item (id) values ({number})" for number in range(8)))
    lab.app.commit()
    yield lab
    lab.app.close()


def configure(lab: Lab, **more: Any) -> None:
    quick = {"database_connection_timeout_ms": 5_000, "database_query_timeout_ms": 1_000}
    lab.config = lab.config.model_copy(update=quick | more)


def mine(lab: Lab, place: str, arm: Arm, wrap: Callable[[Any], Any] = lambda connection: connection) -> None:
    """One pass, with a fault armed when it comes to `place`."""
    if place == "connect":
        arm()
    connection = connect(lab.config, "root")
    session = MiningSession(wrap(connection), fetch_size=2)
    try:
        logs = [log for log in read_logs(connection, current_scn(connection)) if log.current]
        session.use_logs(logs)
        if place == "start":
            arm()
        session.start(logs[0].first_scn)
        sql, binds = build_query({}, lab.sandbox.service, frozenset())
        for number, batch in enumerate(session.rows(sql, binds), 1):
            assert batch
            if number == 2 and place == "third fetch":
                arm()
    finally:
        session.close()


def raised(code: int, lab: Lab, place: str, arm: Arm, **options: Any) -> None:
    """A pass that meets the fault ends with the code's error."""
    with pytest.raises(MinerCdcError) as caught:
        mine(lab, place, arm, **options)
    assert f"DPY-{code:04}" in caught.value.message
    assert type(caught.value) is DPY[code].kind, caught.value.message


def packet(type_: int, body: bytes) -> bytes:
    """A TNS packet as it is once both sides know large ones: the length has four bytes."""
    return (8 + len(body)).to_bytes(4, "big") + bytes([type_, 0, 0, 0]) + body


def notice(number: int) -> bytes:
    """A control packet with an in-band notification."""
    return packet(14, (8).to_bytes(2, "big") + bytes(4) + number.to_bytes(4, "big"))


# ---- what happens to a connection ----

NONSENSE = {5000: packet(99, b"abc"), 4033: notice(2396), 3008: notice(7777)}


@pytest.mark.parametrize("place", ["start", "third fetch"])
@pytest.mark.parametrize("code", NONSENSE)
def test_bytes_that_the_driver_does_not_understand(lab: Lab, code: int, place: str) -> None:
    with Proxy((lab.sandbox.host, lab.sandbox.port)) as proxy:
        configure(lab, database_port=proxy.port)
        raised(code, lab, place, lambda: proxy.answer(NONSENSE[code]))
        mine(lab, "", lambda: None)


@pytest.mark.parametrize("place", ["start", "third fetch"])
def test_a_connection_that_is_reset(lab: Lab, place: str) -> None:
    with Proxy((lab.sandbox.host, lab.sandbox.port)) as proxy:
        configure(lab, database_port=proxy.port)
        raised(4011, lab, place, proxy.drop)


@pytest.mark.parametrize("place", ["start", "third fetch"])
def test_a_network_that_swallows_everything(lab: Lab, place: str) -> None:
    """The driver's break is not answered either: it gives the connection up."""
    with Proxy((lab.sandbox.host, lab.sandbox.port)) as proxy:
        configure(lab, database_port=proxy.port)
        raised(4011, lab, place, proxy.freeze)


CALLS = {"connect": "ALTER SESSION", "start": "START_LOGMNR", "third fetch": "V$LOGMNR_CONTENTS"}


@pytest.mark.parametrize("place", PLACES)
def test_a_call_that_takes_too_long(lab: Lab, place: str) -> None:
    configure(lab)
    at = "fetch" if place == "third fetch" else "execute"
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin:

        def arm() -> None:
            # longer than the limit, and not so long that the driver's break is given up, too
            who = f"matching => '{CALLS[place]}', username => 'C##MINERCDC', times => 0"
            admin.cursor().execute(f"call dbms_sandbox.delay_call(1.4, at => '{at}', {who})")

        try:
            raised(4024, lab, place, arm)
        finally:
            admin.cursor().execute("call dbms_sandbox.clear_faults()")


@pytest.mark.parametrize("place", PLACES)
def test_a_connection_that_was_closed(lab: Lab, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[oracledb.Connection] = []
    log_on = oracledb.connect

    def connected(**settings: Any) -> oracledb.Connection:
        made.append(log_on(**settings))
        if place == "connect":
            made[-1].close()
        return made[-1]

    monkeypatch.setattr(oracledb, "connect", connected)
    raised(1001, lab, place, lambda: made[-1].close() if made else None)


# ---- what happens to a logon ----


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """A port where each caller gets `answer`, or none and is hung up on."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            caller.settimeout(1.0)
            with caller, suppress(OSError):
                caller.recv(4096)
                if answer is not None:
                    caller.sendall(answer)
                    caller.recv(4096)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def refusal(text: bytes) -> bytes:
    body = b"\x22\0" + len(text).to_bytes(2, "big") + text
    return (8 + len(body)).to_bytes(2, "big") + bytes([0, 0, 4, 0, 0, 0]) + body


ANSWERS = {
    4011: None,
    5005: refusal(b"no"),
    6000: refusal(b"(DESCRIPTION=(ERR=12516)(VSNNUM=318767104))"),
    3010: (16).to_bytes(2, "big") + bytes([0, 0, 2, 0, 0, 0]) + (300).to_bytes(2, "big") + bytes(6),  # an ACCEPT of old
}


@pytest.mark.parametrize("code", ANSWERS)
def test_what_answers_in_place_of_a_database(lab: Lab, code: int) -> None:
    with answering(ANSWERS[code]) as port:
        configure(lab, database_port=port)
        raised(code, lab, "connect", lambda: None)


@pytest.mark.parametrize(
    ("code", "url"),
    {
        6001: "{host}:{port}/NOSUCH",
        6003: "jdbc:oracle:thin:@{host}:{port}:NOSUCH",
        6005: "{host}:{closed}/ORCLCDB",
        4000: "NOSUCH",
        4017: "(DESCRIPTION",
        4018: "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST={host})(PORT=x)))",
    }.items(),
)
def test_a_connect_string_that_leads_nowhere(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, url: str
) -> None:
    (tmp_path / "tnsnames.ora").write_text("OTHER = (DESCRIPTION = (ADDRESS = (PROTOCOL = tcp)(HOST = h)(PORT = 1)))\n")
    monkeypatch.setattr(oracledb.defaults, "config_dir", str(tmp_path))
    where = {"host": lab.sandbox.host, "port": lab.sandbox.port, "closed": free_port()}
    configure(lab, database_url=url.format(**where))
    raised(code, lab, "connect", lambda: None)


def test_a_name_without_a_tnsnames_file(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracledb.defaults, "config_dir", None)
    configure(lab, database_url="NOSUCH")
    raised(4027, lab, "connect", lambda: None)


def test_a_proxy_that_refuses(lab: Lab) -> None:
    with answering(b"HTTP/1.0 403 Forbidden\r\n\r\n") as port:
        proxied = f"(HTTPS_PROXY=127.0.0.1)(HTTPS_PROXY_PORT={port})(PROTOCOL=tcps)(HOST=db)(PORT=1)"
        configure(lab, database_url=f"(DESCRIPTION=(ADDRESS={proxied})(CONNECT_DATA=(SERVICE_NAME=s)))")
        raised(6004, lab, "connect", lambda: None)


@pytest.mark.parametrize("answer", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", bytes(64), b"\xff" * 64])
def test_another_protocol_does_not_hold_a_logon_up(lab: Lab, answer: bytes) -> None:
    with answering(answer) as port:
        configure(lab, database_port=port, database_connection_timeout_ms=300)
        with pytest.raises(TransientSourceError, match="no answer within|DPY-6005"):
            connect(lab.config)


def test_an_interrupt_that_no_one_sent(lab: Lab) -> None:
    """ORA-01013 answers a break. The driver, which has sent none, waits for more: the limit of a logon ends that."""
    configure(lab, database_connection_timeout_ms=300)
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin:
        admin.cursor().execute("call dbms_sandbox.fail_call(1013, at => 'connect', username => 'C##MINERCDC', times => 0)")
        try:
            with pytest.raises(TransientSourceError, match="no answer within"):
                connect(lab.config, "root")
        finally:
            admin.cursor().execute("call dbms_sandbox.clear_faults()")


# ---- what the sandbox cannot bring about ----


class Muttering:
    """A connection whose calls fail with a code of the driver's once the test says so."""

    def __init__(self) -> None:
        self.code = 0
        self._connection: Any = None

    def around(self, connection: Any) -> Muttering:
        self._connection = connection
        return self

    def say(self, code: int) -> None:
        self.code = code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def cursor(self) -> MutteringCursor:
        return MutteringCursor(self, self._connection.cursor())


class MutteringCursor:
    def __init__(self, owner: Muttering, cursor: Any) -> None:
        self._owner, self._cursor = owner, cursor

    def __enter__(self) -> MutteringCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def execute(self, *arguments: Any) -> Any:
        self._speak()
        return self._cursor.execute(*arguments)

    def fetchone(self) -> Any:
        self._speak()
        return self._cursor.fetchone()

    def fetchmany(self) -> Any:
        self._speak()
        return self._cursor.fetchmany(2)

    def _speak(self) -> None:
        if self._owner.code:
            raise said(self._owner.code)


@dataclass
class Detail:
    """What the driver's exceptions carry."""

    full_code: str
    code: int = 0
    isrecoverable: bool = False

    def __str__(self) -> str:
        return f"{self.full_code}: said for a test"


def said(code: int) -> oracledb.Error:
    return oracledb.DatabaseError(Detail(f"DPY-{code:04}"))


@pytest.mark.parametrize("code", DPY)
def test_each_code_at_a_logon_is_what_the_table_says(lab: Lab, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise said(code)

    monkeypatch.setattr(oracledb, "connect", refused)
    raised(code, lab, "connect", lambda: None)


@pytest.mark.parametrize("place", ["start", "third fetch"])
def test_each_code_in_a_session_is_what_the_table_says(lab: Lab, place: str) -> None:
    for code in DPY:
        muttering = Muttering()
        raised(code, lab, place, partial(muttering.say, code), wrap=muttering.around)


def test_a_code_that_is_not_known_is_retried_a_few_times(lab: Lab) -> None:
    muttering = Muttering()
    with pytest.raises(UnknownSourceError):
        mine(lab, "start", lambda: muttering.say(2999), muttering.around)
