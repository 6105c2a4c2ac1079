"""Notifications about the stream, and where notifications go."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from pydantic import SecretStr

from minercdc.config.source.signals import NotificationConfig
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.notifications.posting import Posting
from minercdc.observe.notifications.thresholds import StreamNotices
from minercdc.observe.notifications.webhook import Webhook
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.mining import BufferedTransaction
from minercdc.stream.counters.source import SourceFigures, SourceTransaction
from minercdc.stream.events import Notification

NOW = 1_000_000.0


class Noticed:
    """StreamNotices over counters that the test changes."""

    def __init__(self, **thresholds: int) -> None:
        self.counters = Counters(phase="streaming")
        self.sent: list[Notification] = []
        names = {f"minercdc_notification_{name}_threshold_ms": value for name, value in thresholds.items()}
        config = NotificationConfig.model_validate({}).model_copy(update=names)
        self._notices = StreamNotices(config, self.counters, self.sent.append, lambda: NOW)

    def look(self) -> list[str]:
        self.sent.clear()
        self._notices.look()
        return [one.type for one in self.sent]

    def lag(self, seconds: float) -> list[str]:
        self.counters.progress_us = int((NOW - seconds) * 1e6)
        return self.look()


def test_a_lag_is_reported_once_and_again_when_it_is_normal() -> None:
    noticed = Noticed(lag=60_000)
    assert noticed.lag(59) == []
    assert noticed.lag(61) == ["LAG_HIGH"]
    assert noticed.sent[0].additional_data["lag_seconds"] == "61"
    assert noticed.lag(70) == []
    assert noticed.lag(40) == [], "not while it goes up and down about the threshold"
    assert noticed.lag(29) == ["LAG_NORMAL"]
    assert noticed.lag(61) == ["LAG_HIGH"]
    assert Noticed(lag=0).lag(10**6) == []


def test_a_long_transaction_is_reported_with_its_session() -> None:
    noticed = Noticed(transaction=60_000)
    noticed.counters.mining.open = (BufferedTransaction("aa", "U", int((NOW - 61) * 1e6), 5, 3, 0),)
    noticed.counters.source = SourceFigures(NOW, (SourceTransaction("aa", "U", "sqlplus", "host", 7, 5, 61.0, 3),))
    assert noticed.look() == ["TRANSACTION_LONG"]
    data = noticed.sent[0].additional_data
    assert (data["xid"], data["program"], data["sid"], data["age_seconds"]) == ("aa", "sqlplus", "7", "61")
    assert noticed.look() == []
    noticed.counters.mining.open = ()
    assert noticed.look() == ["TRANSACTION_ENDED"]


def redo_kept(noticed: Noticed, reach: float, needed: float, *, deletes: bool = True) -> list[str]:
    noticed.counters.source = SourceFigures(NOW, archive_reach_seconds=reach, deletes=deletes, needed_seconds=needed)
    return noticed.look()


def test_redo_that_will_be_deleted_is_reported() -> None:
    noticed = Noticed(redo=3_600_000)
    assert redo_kept(noticed, 20.0, 19.0, deletes=False) == [], "no log was deleted yet"
    for reach, needed, kinds in (
        (3000.0, 10.0, []),  # short retention, but what is needed is new
        (90_000.0, 87_000.0, ["REDO_RUNS_OUT"]),
        (90_000.0, 87_500.0, []),
        (90_000.0, 100.0, ["REDO_IS_KEPT"]),
    ):
        assert redo_kept(noticed, reach, needed) == kinds


def test_an_outage_is_reported_with_its_reason() -> None:
    noticed = Noticed()
    assert noticed.look() == []
    noticed.counters.phase, noticed.counters.latest_trouble, noticed.counters.restarts = "reconnecting", "no answer", 1
    assert noticed.look() == ["RECONNECTING"]
    assert noticed.sent[0].additional_data == {"reason": "no answer"}
    assert noticed.look() == []
    noticed.counters.phase = "streaming"
    assert noticed.look() == [], "it tries again, and may not get far"
    noticed.counters.restarts = 2
    assert noticed.look() == []
    noticed.counters.progress_us = int(NOW * 1e6)
    assert noticed.look() == ["RECOVERED"]
    noticed.counters.restarts = 3
    assert noticed.look() == ["RECONNECTING"], "an outage between two looks"


class Receiver(BaseHTTPRequestHandler):
    taken: list[tuple[str | None, Any]]
    failures: list[int]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.failures.pop() if self.failures else 200
        if status == 200:
            self.taken.append((self.headers.get("Authorization"), json.loads(body)))
        self.send_response(status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    handler = type("Here", (Receiver,), {"taken": [], "failures": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook/secret", handler
    server.shutdown()
    server.server_close()
    thread.join()


def until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_webhook_gets_every_notification_in_order_though_it_fails_at_times(
    receiver: tuple[str, type[Receiver]], caplog: pytest.LogCaptureFixture
) -> None:
    url, taken = receiver
    caplog.set_level(logging.DEBUG)
    taken.failures += [503, 500]
    watch = Watch(Counters())
    config = NotificationConfig.model_validate({}).model_copy(update={"notification_enabled_channels": ("log",)})
    posting = Posting(config, "shop", watch, Webhook(url, SecretStr("Bearer x"), wait=0.01))
    for number in range(3):
        posting.post(Notification(str(number), "Streaming", "LAG_HIGH", 5_000_000))
    until(lambda: len(taken.taken) == 3)
    assert [(header, document["id"]) for header, document in taken.taken] == [("Bearer x", str(n)) for n in range(3)]
    assert taken.taken[0][1]["additional_data"] == {"connector_name": "shop"}
    assert [one.id for one in posting.waiting()] == ["0", "1", "2"]
    assert posting.waiting() == []
    assert len(watch.notifications()) == 3
    assert caplog.text.count("LAG_HIGH") == 3
    assert "secret" not in caplog.text


def test_a_webhook_that_takes_nothing_is_given_up_and_named_without_its_secret(
    receiver: tuple[str, type[Receiver]], caplog: pytest.LogCaptureFixture
) -> None:
    url, taken = receiver
    taken.failures += [500] * 5
    webhook = Webhook(url, wait=0.01)
    webhook.send({"id": "lost"})
    webhook.send({"id": "next"})
    until(lambda: len(taken.taken) == 1)
    assert taken.taken[0][1] == {"id": "next"}
    assert "did not take a notification in 5 tries" in caplog.text
    assert "secret" not in caplog.text
