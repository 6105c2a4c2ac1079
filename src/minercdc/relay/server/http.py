"""The relay's HTTP port: the standard library's server with a thread for each connection, GET only, answers in chunks.

A thread copies a slice of the buffer and writes it to its socket, which leaves the interpreter to others. So a client that does
not read keeps its own thread waiting, and two slices in memory; when it takes nothing for `minercdc.relay.client.timeout.ms`, its
connection is closed.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from minercdc.errors import LocalServiceError, MinerCdcError
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.requests import Reply, Requests, Unknown, error_headers

_log = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LONGEST_LINE = 64 * 1024
_MOST_HEADERS = 100


@contextmanager
def serve(
    host: str,
    port: int,
    requests: Requests,
    connections: Connections,
    metrics: Callable[[], bytes],
    *,
    most_clients: int,
    timeout: float,
) -> Iterator[str]:
    """Answer requests while the context lasts; its value is `HOST:PORT`. Connections that are open at its end are not closed.

    :param port: 0 for a free one.
    :param connections: gets those that are open.
    :param metrics: makes the answer of /metrics.
    :param most_clients: connections at a time; a further one is answered 503.
    :param timeout: seconds that a client may take no byte; it may be idle ten times as long.
    :raises LocalServiceError: the port cannot be listened on.
    """
    given: dict[str, Any] = {
        "requests": requests,
        "metrics": (metrics,),
        "send_timeout": timeout,
        "timeout": timeout * 10,
        "hosts": frozenset({host, *_LOOPBACK}) if host in _LOOPBACK else frozenset(),
    }
    try:
        server = _Server((host, port), type("Handler", (_Handler,), given), most_clients, connections)
    except OSError as error:
        raise LocalServiceError(
            f"port {port} of {host} cannot be listened on: {error}",
            hint="Change minercdc.relay.port, or stop the program that uses it.",
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="relay http", daemon=True)
    thread.start()
    try:
        yield f"{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], handler: type[_Handler], most: int, connections: Connections) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self._free = threading.BoundedSemaphore(most)
        self._connections = connections
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own; answer 503 when there are too many."""
        if not self._free.acquire(blocking=False):
            request.settimeout(1)
            with suppress(OSError):
                request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection to its end, counted as open meanwhile; then give its place to another one."""
        self._connections.opened(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.closed()
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error that ended a connection: as an error, but for debugging only when the client went away."""
        error = sys.exc_info()[1]
        level = logging.DEBUG if isinstance(error, OSError) else logging.ERROR
        _log.log(level, "a request of %s failed", client_address, exc_info=level == logging.ERROR)


class _Handler(StreamRequestHandler):
    """A connection: GETs one after the other. The library's parser of headers, made for mail, would take most of the time."""

    disable_nagle_algorithm = True
    requests: ClassVar[Requests]
    metrics: ClassVar[tuple[Callable[[], bytes]]]
    send_timeout: ClassVar[float]
    hosts: ClassVar[frozenset[str]]

    def handle(self) -> None:
        """Answer requests until the client closes the connection, or is idle for too long."""
        with suppress(TimeoutError, ConnectionError):
            while self._one_request():
                pass

    def _one_request(self) -> bool:
        """Answer one request; returns whether another one may follow."""
        line = self.rfile.readline(_LONGEST_LINE).strip()
        if not line:
            return False
        words = line.decode("latin-1").split(" ")
        headers = self._headers()
        if len(words) != 3 or headers is None or not words[2].startswith("HTTP/1."):
            self._plain(HTTPStatus.BAD_REQUEST, b"not a request of HTTP/1.1\n", close=True)
            return False
        if words[0] != "GET":
            self._plain(HTTPStatus.METHOD_NOT_ALLOWED, b"GET only\n", close=True)
            return False
        closes = headers.get("connection", "").lower() == "close" or words[2] == "HTTP/1.0"
        self._get(words[1], headers, closes)
        return not closes

    def _headers(self) -> dict[str, str] | None:
        """The headers by lower-case name; None when they are too many, too long, cut off as the client has closed, or
        one is not of the form `name: value`."""
        found: dict[str, str] = {}
        while len(found) < _MOST_HEADERS:
            line = self.rfile.readline(_LONGEST_LINE)
            if line in (b"\r\n", b"\n"):
                return found
            name, colon, value = line.partition(b":")
            if not colon or not line.endswith(b"\n"):
                return None
            found[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
        return None

    def _get(self, target: str, headers: dict[str, str], closes: bool) -> None:
        given = headers.get("host", "")
        name = (given.rpartition(":")[0] or given).strip("[]")
        if self.hosts and name and name.lower() not in self.hosts:
            return self._plain(HTTPStatus.MISDIRECTED_REQUEST, b"another host\n")
        path, _, query = target.partition("?")
        if path == "/health":
            return self._plain(HTTPStatus.OK, b'{"status":"UP"}\n')
        if path == "/metrics":
            return self._plain(HTTPStatus.OK, self.metrics[0]())
        try:
            client = headers.get("x-minercdc-client") or str(self.client_address[0])
            reply = self.requests.reply(path, dict(parse_qsl(query, keep_blank_values=True)), client[:100])
        except Unknown:
            return self._plain(HTTPStatus.NOT_FOUND, b"there is no such path\n")
        except ValueError as error:
            return self._plain(HTTPStatus.BAD_REQUEST, f"{error}\n".encode())
        return self._answer(reply, {"Connection": "close"} if closes else {})

    def _plain(self, status: HTTPStatus, content: bytes, *, close: bool = False) -> None:
        headers = {"Content-Length": str(len(content)), "Content-Type": "text/plain"}
        self._send(self._head(status, headers | ({"Connection": "close"} if close else {})) + content)

    def _head(self, status: HTTPStatus, headers: dict[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _answer(self, reply: Reply, headers: dict[str, str]) -> None:
        headers = headers | {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked"}
        try:
            first = next(reply.chunks, b"")
        except MinerCdcError as error:
            headers |= error_headers(error)
            self._send(self._head(HTTPStatus.OK, headers) + b"0\r\n\r\n")
            return
        begin = self._head(HTTPStatus.OK, headers | reply.headers)
        try:
            while first:
                following = next(reply.chunks, b"")
                end = b"\r\n" if following else b"\r\n0\r\n\r\n"
                self._send(begin + b"%x\r\n" % len(first), first, end)
                begin, first = b"", following
            if begin:
                self._send(begin + b"0\r\n\r\n")
        except MinerCdcError as error:  # overwritten in the middle: the error is in trailers
            lines = "".join(f"{name}: {value}\r\n" for name, value in error_headers(error).items())
            self._send(begin + b"%x\r\n" % len(first), first, f"\r\n0\r\n{lines}\r\n".encode("latin-1"))

    def _send(self, *parts: bytes) -> None:
        """Send all bytes, without joining them."""
        connection = self.connection
        connection.settimeout(self.send_timeout)
        views = [memoryview(part) for part in parts if part]
        try:
            while views:
                sent = connection.sendmsg(views)
                while views and sent >= len(views[0]):
                    sent -= len(views.pop(0))
                if views:
                    views[0] = views[0][sent:]
        finally:
            connection.settimeout(self.timeout)
