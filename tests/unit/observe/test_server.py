"""The HTTP port: what it takes, what it refuses, what it shows."""

from __future__ import annotations

import json
import logging
import re
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from minercdc.errors import LocalServiceError
from minercdc.observe.http.client import post_signal
from minercdc.observe.http.server import LONGEST_BODY, Site, serve
from minercdc.observe.http.token import kept_token, token_file
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.prometheus import exposition_of
from minercdc.signals.channels import SignalJournal
from minercdc.stream.counters.connector import Counters, SuspendedShow
from minercdc.stream.offset import Resumption, SignalState
from minercdc.stream.signal import Signal

PAUSE = {"id": "p-1", "type": "pause-snapshot", "data": {}}
TOKEN = "a token of ours"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json", **BEARER}
COUNTERS = Counters()


def serving(journal: SignalJournal | None, host: str = "127.0.0.1", port: int = 0) -> AbstractContextManager[str]:
    return serve(host, port, Watch(COUNTERS), journal, TOKEN, exposition_of(COUNTERS, "c"))


class Port:
    """A port under test."""

    def __init__(self, address: str, journal: SignalJournal) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port = int(port)
        self.journal = journal

    def ask(self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        connection = HTTPConnection(self.host, self.port, timeout=10)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        content: Any = json.loads(text) if answer.getheader("Content-Type") == "application/json" else text.decode()
        connection.close()
        return answer.status, content

    def taken(self) -> list[Signal]:
        return [item for item in self.journal.poll("")[0] if isinstance(item, Signal)]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    journal = SignalJournal(tmp_path / "state", "c", "http")
    with serving(journal) as address:
        yield Port(address, journal)


def test_a_signal_is_taken_with_its_id(port: Port) -> None:
    assert port.ask("POST", "/signals", json.dumps(PAUSE), JSON) == (202, {"id": "p-1"})
    (signal,) = port.taken()
    assert (signal.id, signal.type, signal.channel) == ("p-1", "pause-snapshot", "http")


def test_a_refusal_says_where_the_token_is(port: Port) -> None:
    status, content = port.ask("POST", "/signals", json.dumps(PAUSE), {"Content-Type": "application/json"})
    assert status == 401
    assert "minercdc.http.token or, where that is not given, in the file http-token-<name>" in content["error"]
    assert TOKEN not in content["error"]


@pytest.mark.parametrize(("takes", "line"), [(True, "signals and status at http"), (False, "status at http")])
def test_the_log_says_what_the_port_is_for(tmp_path: Path, caplog: pytest.LogCaptureFixture, takes: bool, line: str) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(SignalJournal(tmp_path / "state", "c", "http") if takes else None):
        assert any(message.startswith(line) for message in caplog.messages), caplog.messages


def test_a_signal_without_id_gets_one(port: Port) -> None:
    status, content = port.ask("POST", "/signals", json.dumps({"type": "pause-snapshot"}), JSON)
    assert status == 202
    assert [signal.id for signal in port.taken()] == [content["id"]]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("{", JSON, 400),
        (json.dumps({"type": "explode"}), JSON, 400),
        (json.dumps({"type": "execute-snapshot", "data": {}}), JSON, 400),
        (json.dumps(PAUSE), BEARER, 415),
        (json.dumps(PAUSE), {"Content-Type": "text/plain", **BEARER}, 415),
        (json.dumps(PAUSE), {"Content-Type": "application/json"}, 401),
        (json.dumps(PAUSE), {**JSON, "Authorization": "Bearer guessed"}, 401),
        (json.dumps(PAUSE), {**JSON, "Authorization": f"Basic {TOKEN}"}, 401),
        (json.dumps(PAUSE), {**JSON, "Origin": "http://evil.example"}, 403),
        (json.dumps({**PAUSE, "id": "a\nb"}), JSON, 400),
        (json.dumps(PAUSE), {**JSON, "Content-Length": "\xb2"}, 411),
        (json.dumps(PAUSE), {**JSON, "Content-Length": "9" * 5000}, 411),
        (json.dumps(PAUSE), {**JSON, "Host": "evil.example:8080"}, 421),
        ("x" * (LONGEST_BODY + 1), JSON, 413),
    ],
    ids=[
        "no JSON",
        "no such type",
        "incomplete",
        "no type of content",
        "plain text",
        "no token",
        "wrong token",
        "no bearer",
        "another origin",
        "control character",
        "no length",
        "length of 5000 digits",
        "another host",
        "too long",
    ],
)
def test_what_cannot_be_acted_on_is_refused_and_not_taken(
    port: Port, body: str, headers: dict[str, str], status: int
) -> None:
    assert port.ask("POST", "/signals", body, headers)[0] == status
    assert port.taken() == []


def test_localhost_is_this_host(port: Port) -> None:
    assert port.ask("GET", "/snapshots", headers={"Host": f"localhost:{port.port}"})[0] == 200


def test_metrics_are_prometheus_text_and_have_the_lag(port: Port) -> None:
    COUNTERS.progress_us = 0
    status, text = port.ask("GET", "/metrics")
    assert status == 200
    assert 'minercdc_lag_seconds{connector="c"} NaN' in text
    assert port.ask("GET", "/health")[1]["lag_seconds"] is None
    COUNTERS.progress_us, COUNTERS.tables["S.T"] = int((time.time() - 100) * 1e6), 7
    text = port.ask("GET", "/metrics")[1]
    found = re.search(r'(?m)^minercdc_lag_seconds\{connector="c"\} ([0-9.]+)$', text)
    assert found
    assert 99 <= float(found[1]) < 200
    assert 99 <= port.ask("GET", "/health")[1]["lag_seconds"] < 200
    assert 'minercdc_table_events_total{connector="c",table="S.T"} 7.0' in text


def test_where_others_reach_the_port_everything_but_health_and_metrics_needs_the_token() -> None:
    with serving(None, host="0.0.0.0") as address:
        port = Port(address.replace("0.0.0.0", "127.0.0.1"), SignalJournal(Path("unused"), "c", "http"))
        elsewhere = {"Host": "connector.example:8089"}
        for path, status in (("/health", 200), ("/metrics", 200), ("/snapshots", 401), ("/notifications", 401), ("/x", 401)):
            assert port.ask("GET", path, headers=elsewhere)[0] == status
        assert port.ask("GET", "/snapshots", headers={**elsewhere, **BEARER})[0] == 200
        page = {**elsewhere, "Origin": "http://connector.example:8089"}
        assert port.ask("GET", "/health", headers=page)[0] == 200


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    token = kept_token(tmp_path / "state", "a/b")
    assert len(token) > 20
    assert kept_token(tmp_path / "state", "a/b") == token
    assert stat.S_IMODE(token_file(tmp_path / "state", "a/b").stat().st_mode) == 0o600
    assert kept_token(tmp_path / "state", "other") != token


def test_there_are_three_pages(port: Port) -> None:
    for path in ("/snapshots", "/notifications", "/health"):
        assert port.ask("GET", path)[0] in (200, 503)
    status, content = port.ask("GET", "/")
    assert status == 404
    assert "/health" in content["error"]


def test_health_says_which_tables_are_suspended_and_why() -> None:
    counters = Counters(phase="streaming", suspended=(SuspendedShow("S.T", 7, "MC-4302", "no key", "ALTER TABLE"),))
    counters.left_out["S.T"] = 3
    watch = Watch(counters)
    shown = watch.health()
    assert shown["status"] == "DEGRADED"
    assert shown["suspended"] == [
        {"table": "S.T", "since_scn": "7", "code": "MC-4302", "reason": "no key", "fix": "ALTER TABLE", "rows_left_out": 3}
    ]
    counters.suspended = ()
    watch.observe(SignalState(resuming=(Resumption("S.T", "r", 1, 1),)))
    assert watch.health()["status"] == "DEGRADED", "what changed meanwhile is not all in the topic yet"
    watch.observe(SignalState(resuming=(Resumption("S.T", "r", 1, 1, phase="done"),)))
    assert watch.health()["status"] == "UP"


def test_a_signal_that_cannot_be_kept_is_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = SignalJournal(tmp_path / "file" / "below", "c", "http")
    with serving(journal) as address:
        status, content = Port(address, journal).ask("POST", "/signals", json.dumps(PAUSE), JSON)
    assert status == 507
    assert "below" in content["error"]


def test_signals_are_refused_where_the_channel_is_off(tmp_path: Path) -> None:
    with serving(None) as address:
        status, content = Port(address, SignalJournal(tmp_path, "c", "http")).ask(
            "POST", "/signals", json.dumps(PAUSE), JSON
        )
    assert status == 403
    assert "signal.enabled.channels" in content["error"]


def test_sending_returns_what_the_connector_says(port: Port) -> None:
    post_signal(port.host, port.port, {"id": "a", "type": "pause-snapshot", "data": {}}, TOKEN)
    assert [signal.id for signal in port.taken()] == ["a"]
    with pytest.raises(LocalServiceError, match="explode"):
        post_signal(port.host, port.port, {"type": "explode"}, TOKEN)
    with pytest.raises(LocalServiceError, match="minercdc.http.token"):
        post_signal(port.host, port.port, {"id": "b", "type": "pause-snapshot", "data": {}}, "another token")
    assert [signal.id for signal in port.taken()] == ["a"]


def test_a_port_in_use_is_named(port: Port) -> None:
    with pytest.raises(LocalServiceError, match=str(port.port)), serving(None, port=port.port):
        pass


def test_a_client_that_goes_away_leaves_no_traceback(
    port: Port, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with socket.create_connection((port.host, port.port)) as connection:
        head = f"POST /signals HTTP/1.1\r\nHost: LOCALHOST\r\nAuthorization: Bearer {TOKEN}\r\n"
        connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed by a reset
    deadline = time.monotonic() + 10
    while "a request failed: ConnectionResetError" not in caplog.text:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert capfd.readouterr().err == ""


def test_the_page_and_its_data_are_there_and_the_data_need_the_token_elsewhere() -> None:
    site = Site(lambda shown: b"data" if shown else b"no data", {"X-Of-Page": "yes"}, {"/api/status": lambda: {"a": 1}})
    for host, bare in (("127.0.0.1", "data"), ("0.0.0.0", "no data")):
        watch = Watch(COUNTERS)
        with serve(host, 0, watch, None, TOKEN, exposition_of(COUNTERS, "c"), site) as address:
            port = Port(address.replace("0.0.0.0", "127.0.0.1"), SignalJournal(Path("unused"), "c", "http"))
            assert port.ask("GET", "/") == (200, bare)
            assert port.ask("GET", "/?from=a-bookmark") == (200, bare)
            assert port.ask("GET", "/", headers=BEARER) == (200, "data")
            assert port.ask("GET", "/api/status")[0] == (200 if bare == "data" else 401)
            assert port.ask("GET", "/api/status", headers=BEARER) == (200, {"a": 1})


def test_the_log_level_is_set_with_the_token(port: Port) -> None:
    root = logging.getLogger()
    before = root.level
    try:
        assert port.ask("PUT", "/log-level", json.dumps({"level": "debug"}))[0] == 401
        assert root.level == before
        status, content = port.ask("PUT", "/log-level", json.dumps({"level": "debug"}), JSON)
        assert (status, content["level"]) == (200, "DEBUG")
        assert root.level == logging.DEBUG
        for body in ("{", "{}", '{"level": "LOUD"}', '{"level": 5}', "[]"):
            assert port.ask("PUT", "/log-level", body, JSON)[0] == 400
        assert root.level == logging.DEBUG
        assert port.ask("PUT", "/elsewhere", "{}", JSON)[0] == 404
    finally:
        root.setLevel(before)
