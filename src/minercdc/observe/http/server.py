"""The server of the port: pages, metrics, the log level, and the receiver of signals.

    POST /signals          {"id", "type", "data"} -> 202 {"id"} once it is durable; 400 when it could not be acted on anyway
    GET  /snapshots        what is under way
    GET  /notifications    the latest
    GET  /health           200, or 503 while the connector cannot work; DEGRADED, with the reasons, while tables are suspended
    GET  /ready            200 while the connector captures, or is a standby that could take over; else 503
    GET  /live             200, or 503 when the stream hangs
    GET  /metrics          Prometheus' text format
    GET  /                 a page for people; GET /api/... has what it shows
    PUT  /log-level        {"level": "DEBUG"} -> 200 {"level", "before"}

A POST or PUT needs the bearer token, and so does everything but /health, /ready, /live and /metrics on an address that others reach;
the page comes without data there, until it is given the token. On a loopback address a request must name this host, not one that a
web page resolved to it. A request that a page of another origin makes is refused.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST

from minercdc.errors import LocalServiceError
from minercdc.observe.http.access import Access, hosts_of
from minercdc.observe.http.signals import Journal, SignalReceiver
from minercdc.observe.latest_notifications import Watch
from minercdc.stream.offset import JsonValue

_log = logging.getLogger(__name__)

LONGEST_BODY: Final = 64 * 1024
_MOST_DIGITS: Final = 15
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_PATIENCE_SECONDS = 10.0  # with a client that sends nothing


@dataclass(frozen=True, slots=True)
class Site:
    """What there is for people.

    :param page: makes the page; True: with its data, False: without them, for one who may not see them yet.
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
    journal: Journal | None,
    token: str,
    metrics: Callable[[], bytes],
    site: Site | None = None,
) -> Iterator[str]:
    """Answer requests, in threads, while the context lasts; its value is the address `http://HOST:PORT`.

    :param port: 0 for a free one.
    :param watch: has what /snapshots, /notifications, /health, /ready and /live show.
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
    access = Access(token, hosts_of(host))
    signals = SignalReceiver(journal, lambda: watch.standby is not None)
    given: dict[str, object] = {"pages": pages, "signals": signals, "access": access, "site": site}
    given["metrics"] = staticmethod(metrics)
    handler = type("Requests", (_Requests,), given)
    try:
        server = _Server((host, port), handler)
    except OSError as error:
        raise LocalServiceError(
            f"port {port} of {host} cannot be listened on: {error}",
            hint="Change minercdc.http.port, or stop the program that uses it.",
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="http", daemon=True)
    thread.start()
    address = f"http://{host}:{server.server_port}"
    _log.debug("status at %s" if journal is None else "signals and status at %s", address)
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log errors, but not that a client went away in the middle of a request."""
        error = sys.exception()
        _log.log(logging.DEBUG if isinstance(error, OSError) else logging.ERROR, "a request failed: %r", error)


class _Requests(BaseHTTPRequestHandler):
    """One request. Subclassed by `serve` with what it needs."""

    pages: Mapping[str, Callable[[], JsonValue]]
    signals: SignalReceiver
    access: Access
    metrics: Callable[[], bytes]
    site: Site | None
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
            return
        refusal = self.signals.refusal(self.headers)
        if refusal is not None:
            self._answer(refusal.status, refusal.content)
            return
        body = self._body()
        if body is not None:
            answer = self.signals.receive(body)
            self._answer(answer.status, answer.content)

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
