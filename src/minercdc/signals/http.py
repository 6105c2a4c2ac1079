"""A port for signals and for looking: what JMX is to Debezium.

    POST /signals          {"id", "type", "data"} -> 202 {"id"} once it is durable; 400 when it could not be acted on anyway
    GET  /snapshots        what is under way
    GET  /notifications    the latest
    GET  /health           200, or 503 while the connector cannot work

There is no authentication, which is why it listens on the loopback interface. A POST must say that it is JSON: no web page
can have a browser send that without asking first. And a request must name this host, not one that a page had resolved to it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from uuid import uuid4

from minercdc.errors import LocalServiceError, StateDirectoryError
from minercdc.offset import JsonValue
from minercdc.signals.channels import SignalJournal
from minercdc.signals.signal import SignalRefused, action_of, signal_of_json
from minercdc.signals.watch import Watch

_log = logging.getLogger(__name__)

LONGEST_BODY: Final = 64 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_PATIENCE_SECONDS = 10.0  # with a client that sends nothing


@contextmanager
def serve(host: str, port: int, watch: Watch, journal: SignalJournal | None) -> Iterator[str]:
    """Answer while the context lasts; its value is the address.

    :param journal: where signals go; None when channel `http` is not enabled.
    :raises LocalServiceError: the port cannot be listened on.
    """
    pages: Mapping[str, Callable[[], JsonValue]] = {
        "/snapshots": watch.snapshots,
        "/notifications": watch.notifications,
        "/health": watch.health,
    }
    handler = type("Requests", (_Requests,), {"pages": pages, "journal": journal, "hosts": _hosts(host)})
    try:
        server = ThreadingHTTPServer((host, port), handler)
    except OSError as error:
        raise LocalServiceError(
            f"port {port} of {host} cannot be listened on: {error}", hint="Change minercdc.http.port, or end what uses it."
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="http", daemon=True)
    thread.start()
    address = f"http://{host}:{server.server_port}"
    _log.info("signals and status at %s", address)
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _hosts(host: str) -> frozenset[str]:
    """Names that requests may call a loopback address by; none are looked at where others may ask anyway."""
    return frozenset({host, *_LOOPBACK}) if host in _LOOPBACK else frozenset()


def post(host: str, port: int, signal: Mapping[str, JsonValue]) -> None:
    """Send a signal to a connector's port.

    :raises LocalServiceError: nobody listens there, or the signal is refused.
    """
    connection = HTTPConnection(host, port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("POST", "/signals", json.dumps(signal), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    except OSError as error:
        raise LocalServiceError(f"no connector answers at {host}:{port}: {error}", hint="Is it running?") from None
    finally:
        connection.close()
    if answer.status != HTTPStatus.ACCEPTED:
        raise LocalServiceError(f"the connector at {host}:{port} refuses the signal: {text}")


class _Requests(BaseHTTPRequestHandler):
    """One request. Subclassed by `serve` with what it needs."""

    pages: Mapping[str, Callable[[], JsonValue]]
    journal: SignalJournal | None
    hosts: frozenset[str]
    timeout = _PATIENCE_SECONDS
    server_version = "minercdc"

    def do_GET(self) -> None:
        if self._is_misled():
            return
        page = self.pages.get(self.path)
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"there are {', '.join(sorted(self.pages))}"})
            return
        content = page()
        down = isinstance(content, dict) and content.get("status") == "DOWN"
        self._answer(HTTPStatus.SERVICE_UNAVAILABLE if down else HTTPStatus.OK, content)

    def do_POST(self) -> None:
        if self._is_misled():
            return
        if self.path != "/signals":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "signals go to /signals"})
        elif self.journal is None:
            self._answer(HTTPStatus.FORBIDDEN, {"error": "signal.enabled.channels does not have http"})
        elif self.headers.get_content_type() != "application/json":
            self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": "Content-Type: application/json is expected"})
        else:
            self._signal(self.journal)

    def _is_misled(self) -> bool:
        """Whether the request is for another host, which it is told."""
        name = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if not self.hosts or name in self.hosts:
            return False
        self._answer(HTTPStatus.MISDIRECTED_REQUEST, {"error": f"{name} is not here"})
        return True

    def _signal(self, journal: SignalJournal) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self._answer(HTTPStatus.LENGTH_REQUIRED, {"error": "Content-Length is missing"})
            return
        if int(length) > LONGEST_BODY:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"a signal has at most {LONGEST_BODY} bytes"})
            return
        try:
            signal = signal_of_json(self.rfile.read(int(length)), "http")
            action_of(signal)
        except SignalRefused as refused:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": refused.reason})
            return
        signal = signal if signal.id else replace(signal, id=str(uuid4()))
        try:
            journal.put(signal)
        except StateDirectoryError as error:
            self._answer(HTTPStatus.INSUFFICIENT_STORAGE, {"error": error.message})
            return
        self._answer(HTTPStatus.ACCEPTED, {"id": signal.id})

    def _answer(self, status: HTTPStatus, content: JsonValue) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)
