"""The relay's HTTP port: the standard library's server with a thread for each connection, answers in chunks.

A thread copies a slice of the buffer and writes it to its socket, which leaves the interpreter to others. So a client that does
not read keeps its own thread waiting, and one slice in memory; when it takes nothing for `minercdc.relay.client.timeout.ms`, its connection
is closed.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from minercdc.errors import LocalServiceError, MinerCdcError
from minercdc.relay.requests import Reply, Requests, Unknown, error_headers
from minercdc.relay.statistics import Statistics

_log = logging.getLogger(__name__)

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SEND_BUFFER = 1024 * 1024


@contextmanager
def serve(
    host: str,
    port: int,
    requests: Requests,
    statistics: Statistics,
    metrics: Callable[[], bytes],
    *,
    most_clients: int,
    timeout: float,
) -> Iterator[str]:
    """Answer requests while the context lasts; its value is `HOST:PORT`.

    :param port: 0 for a free one.
    :param metrics: makes the answer of /metrics.
    :param timeout: seconds that a client may take no byte; it may be idle ten times as long.
    :raises LocalServiceError: the port cannot be listened on.
    """
    given: dict[str, Any] = {
        "requests": requests,
        "statistics": statistics,
        "metrics": (metrics,),
        "send_timeout": timeout,
        "timeout": timeout * 10,
        "hosts": frozenset({host, *_LOOPBACK}) if host in _LOOPBACK else frozenset(),
    }
    try:
        server = _Server((host, port), type("Handler", (_Handler,), given), most_clients, statistics)
    except OSError as error:
        raise LocalServiceError(
            f"port {port} of {host} cannot be listened on: {error}",
            hint="Change minercdc.relay.port, or end what uses it.",
        ) from None
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="relay http", daemon=True)
    thread.start()
    try:
        yield f"{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512
    # Not twice on one port, which HTTPServer of the library allows.
    allow_reuse_port = False

    def __init__(self, address: tuple[str, int], handler: type[_Handler], most: int, statistics: Statistics) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        self._free = threading.BoundedSemaphore(most)
        self._statistics = statistics
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without the library's look-up of the host's name, which may take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, unless there are too many."""
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
        """Serve a connection to its end."""
        self._statistics.connections += 1
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._statistics.connections -= 1
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to report."""
        error = sys.exc_info()[1]
        level = logging.DEBUG if isinstance(error, OSError) else logging.ERROR
        _log.log(level, "a request of %s failed", client_address, exc_info=level == logging.ERROR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: ClassVar[Requests]
    statistics: ClassVar[Statistics]
    metrics: ClassVar[tuple[Callable[[], bytes]]]
    send_timeout: ClassVar[float]
    hosts: ClassVar[frozenset[str]]

    def setup(self) -> None:
        """See the library."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged for a request."""

    def do_GET(self) -> None:
        """Answer one request."""
        name = self.headers.get("Host", "").rpartition(":")[0].strip("[]") or self.headers.get("Host", "")
        if self.hosts and name and name.lower() not in self.hosts:
            return self._plain(HTTPStatus.MISDIRECTED_REQUEST, b"another host\n")
        url = urlsplit(self.path)
        if url.path == "/health":
            return self._plain(HTTPStatus.OK, b'{"status":"UP"}\n')
        if url.path == "/metrics":
            return self._plain(HTTPStatus.OK, self.metrics[0]())
        try:
            parameters = dict(parse_qsl(url.query, keep_blank_values=True))
            client = self.headers.get("x-minercdc-client") or str(self.client_address[0])
            reply = self.requests.reply(url.path, parameters, client[:100])
        except Unknown:
            return self._plain(HTTPStatus.NOT_FOUND, b"there is no such path\n")
        except ValueError as error:
            return self._plain(HTTPStatus.BAD_REQUEST, f"{error}\n".encode())
        return self._answer(reply)

    def _plain(self, status: HTTPStatus, content: bytes) -> None:
        self._send(self._head(status, {"Content-Length": str(len(content)), "Content-Type": "text/plain"}) + content)

    def _head(self, status: HTTPStatus, headers: dict[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _answer(self, reply: Reply) -> None:
        headers = {"Content-Type": reply.content_type, "Transfer-Encoding": "chunked"}
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
                self._send(b"".join((begin, b"%x\r\n" % len(first), first, end)))
                begin, first = b"", following
            if begin:
                self._send(begin + b"0\r\n\r\n")
        except MinerCdcError as error:  # overwritten in the middle: the error is in trailers
            lines = "".join(f"{name}: {value}\r\n" for name, value in error_headers(error).items())
            self._send(b"".join((begin, b"%x\r\n" % len(first), first, b"\r\n0\r\n", lines.encode("latin-1"), b"\r\n")))

    def _send(self, data: bytes) -> None:
        """All bytes. Raises OSError when the client takes none for too long, or is gone."""
        connection = self.connection
        connection.settimeout(self.send_timeout)
        view = memoryview(data)
        try:
            while view:
                view = view[connection.send(view) :]
        except OSError:
            self.close_connection = True
            raise
        finally:
            connection.settimeout(self.timeout)
