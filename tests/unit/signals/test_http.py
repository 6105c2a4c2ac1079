"""The HTTP port: what it takes, what it refuses, what it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from minercdc.errors import LocalServiceError
from minercdc.metrics import Counters
from minercdc.signals.channels import SignalJournal
from minercdc.signals.http import LONGEST_BODY, post, serve
from minercdc.signals.signal import Signal
from minercdc.signals.watch import Watch

PAUSE = {"id": "p-1", "type": "pause-snapshot", "data": {}}
JSON = {"Content-Type": "application/json"}


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
        content = json.loads(answer.read())
        connection.close()
        return answer.status, content

    def taken(self) -> list[Signal]:
        return [item for item in self.journal.poll("")[0] if isinstance(item, Signal)]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    journal = SignalJournal(tmp_path / "state", "c", "http")
    with serve("127.0.0.1", 0, Watch(Counters()), journal) as address:
        yield Port(address, journal)


def test_a_signal_is_taken_with_its_id(port: Port) -> None:
    assert port.ask("POST", "/signals", json.dumps(PAUSE), JSON) == (202, {"id": "p-1"})
    (signal,) = port.taken()
    assert (signal.id, signal.type, signal.channel) == ("p-1", "pause-snapshot", "http")


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
        (json.dumps(PAUSE), {}, 415),
        (json.dumps(PAUSE), {"Content-Type": "text/plain"}, 415),
        (json.dumps(PAUSE), {**JSON, "Host": "evil.example:8080"}, 421),
        ("x" * (LONGEST_BODY + 1), JSON, 413),
    ],
    ids=["no JSON", "no such type", "incomplete", "no type of content", "plain text", "another host", "too long"],
)
def test_what_cannot_be_acted_on_is_refused_and_not_taken(
    port: Port, body: str, headers: dict[str, str], status: int
) -> None:
    assert port.ask("POST", "/signals", body, headers)[0] == status
    assert port.taken() == []


def test_localhost_is_this_host(port: Port) -> None:
    assert port.ask("GET", "/snapshots", headers={"Host": f"localhost:{port.port}"})[0] == 200


def test_there_are_three_pages(port: Port) -> None:
    for path in ("/snapshots", "/notifications", "/health"):
        assert port.ask("GET", path)[0] in (200, 503)
    status, content = port.ask("GET", "/")
    assert status == 404
    assert "/health" in content["error"]


def test_a_signal_that_cannot_be_kept_is_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    journal = SignalJournal(tmp_path / "file" / "below", "c", "http")
    with serve("127.0.0.1", 0, Watch(Counters()), journal) as address:
        status, content = Port(address, journal).ask("POST", "/signals", json.dumps(PAUSE), JSON)
    assert status == 507
    assert "below" in content["error"]


def test_signals_are_refused_where_the_channel_is_off(tmp_path: Path) -> None:
    with serve("127.0.0.1", 0, Watch(Counters()), None) as address:
        status, content = Port(address, SignalJournal(tmp_path, "c", "http")).ask(
            "POST", "/signals", json.dumps(PAUSE), JSON
        )
    assert status == 403
    assert "signal.enabled.channels" in content["error"]


def test_sending_tells_what_the_connector_says(port: Port) -> None:
    post(port.host, port.port, {"id": "a", "type": "pause-snapshot", "data": {}})
    assert [signal.id for signal in port.taken()] == ["a"]
    with pytest.raises(LocalServiceError, match="explode"):
        post(port.host, port.port, {"type": "explode"})


def test_a_port_in_use_is_named(port: Port) -> None:
    with pytest.raises(LocalServiceError, match=str(port.port)), serve(port.host, port.port, Watch(Counters()), None):
        pass
