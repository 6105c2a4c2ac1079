"""An HTTP port for signals and status: what JMX is to Debezium.

    POST /signals          {"id", "type", "data"} -> 202 {"id"} once it is durable; 400 when it could not be acted on anyway
    GET  /snapshots        what is under way
    GET  /notifications    the latest
    GET  /health           200, or 503 while the connector cannot work; DEGRADED, with the reasons, while tables are suspended
    GET  /ready            200 while the connector captures, or is a standby that could take over; else 503
    GET  /live             200, or 503 when the stream hangs
    GET  /metrics          Prometheus' text format
    GET  /                 a page for people; GET /api/... has what it shows
    PUT  /log-level        {"level": "DEBUG"} -> 200 {"level", "before"}

A POST or PUT needs the bearer token, and so does everything but /health, /ready, /live and /metrics on an address that others reach; the page comes
without data there, until it is given the token. A request must name this host, not one that a web page resolved to it. A request that
a page of another origin makes is refused.
"""

from __future__ import annotations

import hmac
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import Message
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from uuid import uuid4

from prometheus_client import CONTENT_TYPE_LATEST

from minercdc.errors import LocalServiceError, StateDirectoryError
from minercdc.offset import JsonValue
from minercdc.signals.channels import SignalJournal
from minercdc.signals.signal import SignalRefused, action_of, printable, signal_of_json
from minercdc.signals.watch import Watch

_log = logging.getLogger(__name__)

LONGEST_BODY: Final = 64 * 1024
_MOST_DIGITS: Final = 15
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_OPEN_PAGES = ("/health", "/ready", "/live", "/metrics", "/")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_PATIENCE_SECONDS = 10.0  # with a client that sends nothing


@dataclass(frozen=True, slots=True)
class Site:
    """What there is for people.

    :param page: makes the page: with its data, or without them for one who may not see them yet.
    :param headers: that it is sent with.
    :param parts: its data as JSON, by path.
    """

    page: Callable[[bool], bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Callable[[], JsonValue]] = field(default_factory=dict)


@contextmanager
def serve(
    host: str,
    port: int,
    watch: Watch,
    journal: SignalJournal | None,
    token: str,
    metrics: Callable[[], bytes],
    site: Site | None = None,
) -> Iterator[str]:
    """Answer requests, in threads, while the context lasts; its value is the address `http://HOST:PORT`.

    :param port: 0 for a free one.
    :param watch: has what /snapshots, /notifications and /health show.
    :param journal: where signals go; None when channel `http` is not enabled: a POST is refused then.
    :param token: what a request has to bear, where it needs a token.
    :param metrics: makes the answer of /metrics.
    :param site: None for no page.
    :raises LocalServiceError: the port cannot be listened on.
    """
    pages: Mapping[str, Callable[[], JsonValue]] = {
        "/snapshots": watch.snapshots,
        "/notifications": watch.notifications,
        "/health": watch.health,
        "/ready": watch.ready,
        "/live": watch.live,
        **(site.parts if site else {}),
    }
    access = _Access(token, _hosts(host))
    given: dict[str, object] = {"pages": pages, "journal": journal, "access": access, "site": site}
    given |= {"metrics": staticmethod(metrics), "is_standby": staticmethod(lambda: watch.standby is not None)}
    handler = type("Requests", (_Requests,), given)
    try:
        server = _Server((host, port), handler)
    except OSError as error:
        raise LocalServiceError(
            f"port {port} of {host} cannot be listened on: {error}", hint="Change minercdc.http.port, or end what uses it."
        ) from None
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
    """Names that requests may use for a loopback address; none are checked where others may connect anyway."""
    return frozenset({host, *_LOOPBACK}) if host in _LOOPBACK else frozenset()


@dataclass(frozen=True, slots=True)
class _Access:
    """Who may do what.

    :param hosts: names that a request may call this host by; any when empty: the port can be reached from elsewhere.
    """

    token: str
    hosts: frozenset[str]

    def refusal(self, method: str, path: str, headers: Message) -> tuple[HTTPStatus, str] | None:
        """Why a request is refused; None when it may go on."""
        given = headers.get("Host", "")
        name = given.rpartition(":")[0] or given
        if self.hosts and name.lower() not in self.hosts:
            return HTTPStatus.MISDIRECTED_REQUEST, f"{printable(name)} is not here"
        origin = headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != given:
            return HTTPStatus.FORBIDDEN, "a web page of another origin may not ask"
        if method == "GET" and (path in _OPEN_PAGES or self.hosts):
            return None
        return self.missing_token(headers)

    def missing_token(self, headers: Message) -> tuple[HTTPStatus, str] | None:
        """Why a request that needs the token is refused; None when it has it."""
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode()):
            return None
        return HTTPStatus.UNAUTHORIZED, "a header `Authorization: Bearer TOKEN` with minercdc.http.token is needed"


def post(host: str, port: int, signal: Mapping[str, JsonValue], token: str) -> None:
    """Send a signal to a connector's port; it is durable when this returns.

    :raises LocalServiceError: no connector answers there, or it refuses the signal.
    """
    status, text = _ask(host, port, "POST", "/signals", token, json.dumps(signal))
    if status != HTTPStatus.ACCEPTED:
        raise LocalServiceError(f"the connector at {host}:{port} refuses the signal: {text}")


def fetch_notifications(host: str, port: int, token: str) -> list[dict[str, Any]]:
    """The latest thousand notifications of a connector's process, oldest first, by its port.

    :raises LocalServiceError: no connector answers there, or it refuses.
    """
    status, text = _ask(host, port, "GET", "/notifications", token)
    if status != HTTPStatus.OK:
        raise LocalServiceError(f"the connector at {host}:{port} refuses: {text}")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def fetch_status(host: str, port: int, token: str) -> dict[str, Any]:
    """The document of /api/status of a connector's process, by its port.

    :raises LocalServiceError: no connector answers there, or it refuses.
    """
    status, text = _ask(host, port, "GET", "/api/status", token)
    if status != HTTPStatus.OK:
        raise LocalServiceError(f"the connector at {host}:{port} refuses: {text}")
    found: dict[str, Any] = json.loads(text)
    return found


def _ask(host: str, port: int, method: str, path: str, token: str, body: str | None = None) -> tuple[int, str]:
    connection = HTTPConnection(host, port, timeout=_PATIENCE_SECONDS)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except OSError as error:
        raise LocalServiceError(f"no connector answers at {host}:{port}: {error}", hint="Is it running?") from None
    finally:
        connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log errors, but not that a client went away in the middle of a request."""
        error = sys.exception()
        _log.log(logging.DEBUG if isinstance(error, OSError) else logging.ERROR, "a request failed: %r", error)


class _Requests(BaseHTTPRequestHandler):
    """One request. Subclassed by `serve` with what it needs."""

    pages: Mapping[str, Callable[[], JsonValue]]
    journal: SignalJournal | None
    access: _Access
    metrics: Callable[[], bytes]
    site: Site | None
    is_standby: Callable[[], bool]
    timeout = _PATIENCE_SECONDS
    server_version = "minercdc"

    def do_GET(self) -> None:
        if self._is_refused():
            return
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._send(HTTPStatus.OK, self.metrics(), CONTENT_TYPE_LATEST)
            return
        if path == "/" and self.site is not None:
            shown = bool(self.access.hosts) or self.access.missing_token(self.headers) is None
            self._send(HTTPStatus.OK, self.site.page(shown), "text/html; charset=utf-8", self.site.headers)
            return
        page = self.pages.get(path)
        if page is None:
            there = {*self.pages, "/metrics", *(["/"] if self.site is not None else [])}
            self._answer(HTTPStatus.NOT_FOUND, {"error": f"there are {', '.join(sorted(there))}"})
            return
        content = page()
        down = isinstance(content, dict) and content.get("status") == "DOWN"
        self._answer(HTTPStatus.SERVICE_UNAVAILABLE if down else HTTPStatus.OK, content)

    def do_POST(self) -> None:
        if self._is_refused():
            return
        if self.path != "/signals":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "signals go to /signals"})
        elif self.is_standby():
            self._answer(
                HTTPStatus.SERVICE_UNAVAILABLE,
                {"error": "this is a standby: send it to the instance that captures (/health names it)"},
            )
        elif self.journal is None:
            self._answer(HTTPStatus.FORBIDDEN, {"error": "signal.enabled.channels does not have http"})
        elif self.headers.get_content_type() != "application/json":
            self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": "Content-Type: application/json is expected"})
        else:
            self._signal(self.journal)

    def do_PUT(self) -> None:
        if self._is_refused():
            return
        if self.path != "/log-level":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is /log-level"})
            return
        body = self._body()
        if body is None:
            return
        try:
            content = json.loads(body)
            level = content["level"].upper()
        except (ValueError, KeyError, TypeError, AttributeError):
            level = ""
        if level not in _LEVELS:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": f'{{"level": ...}} with one of {", ".join(_LEVELS)} is expected'})
            return
        root = logging.getLogger()
        before = logging.getLevelName(root.level)
        root.setLevel(level)
        _log.warning("the log level is %s now, it was %s", level, before)
        self._answer(HTTPStatus.OK, {"level": level, "before": before})

    def _is_refused(self) -> bool:
        """Whether the request was answered with a refusal."""
        refusal = self.access.refusal(self.command, self.path.partition("?")[0], self.headers)
        if refusal is not None:
            self._answer(refusal[0], {"error": refusal[1]})
        return refusal is not None

    def _body(self) -> bytes | None:
        """The request's content; None when it was refused for its length."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or not length.isascii() or len(length) > _MOST_DIGITS:
            self._answer(HTTPStatus.LENGTH_REQUIRED, {"error": "Content-Length is missing, or no length"})
            return None
        if int(length) > LONGEST_BODY:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"a signal has at most {LONGEST_BODY} bytes"})
            return None
        return self.rfile.read(int(length))

    def _signal(self, journal: SignalJournal) -> None:
        body = self._body()
        if body is None:
            return
        try:
            signal = signal_of_json(body, "http")
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
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, content_type: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)
