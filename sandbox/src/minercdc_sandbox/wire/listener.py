"""The listening socket: a thread per connection, and one thread that watches for cancels."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import ssl
import threading

from minercdc_sandbox.interfaces import Database
from minercdc_sandbox.wire.connection import Connection
from minercdc_sandbox.wire.negotiation import PROFILES, refuse
from minercdc_sandbox.wire.packets import PacketStream
from minercdc_sandbox.wire.tls import plain_side

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 500
_NO_HANDLER = 12516  # TNS: listener could not find available handler
_WATCH_SECONDS = 0.02
_STOP_SECONDS = 5.0


class Listener:
    """Serves a database on a port from `start` to `stop`, with a thread per connection, 500 at most: others are refused with
    12516. The constructor binds the port; the database is not its own.

    :param port: 0 for a free one, which `address` then has.
    :param profile: a key of `PROFILES`: the release whose protocol it speaks.
    :param tls: makes it a TCPS port; None for TCP.
    :ivar address: host and port as bound.
    :raises OSError: the host and port cannot be bound.
    """

    def __init__(
        self, database: Database, host: str, port: int, profile: str = "23ai", tls: ssl.SSLContext | None = None
    ) -> None:
        self._database = database
        self._profile = PROFILES[profile]
        self._tls = tls
        self._socket = socket.create_server((host, port), backlog=128)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self._open: dict[Connection, threading.Thread] = {}
        self._threads = [
            threading.Thread(target=self._accept, name="sandbox-accept"),
            threading.Thread(target=self._watch, name="sandbox-watch"),
        ]

    def start(self) -> None:
        """Start the threads that accept and watch connections; once only."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End every connection (open transactions roll back) and join all threads, each for five seconds at most; one that does
        not end is logged. Safe to call twice, and without `start`."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_STOP_SECONDS)
        with self._guard:
            connections = dict(self._open)
        for connection in connections:
            connection.abort()
        for connection, thread in connections.items():
            thread.join(_STOP_SECONDS)
            if thread.is_alive():
                log.warning("%s did not end", connection)

    @property
    def connections(self) -> int:
        """How many connections are open now, those that have not logged on included."""
        return len(self._open)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                sock, (host, port, *_) = self._socket.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._stopping.wait(0.1)
                    continue
                if self._stopping.is_set() or error.errno in (errno.EBADF, errno.EINVAL):
                    return
                continue  # the client left before it was accepted
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = f"{host}:{port}"
            self._serve(sock if self._tls is None else plain_side(sock, self._tls, peer), peer)

    def _serve(self, sock: socket.socket, peer: str) -> None:
        connection = Connection(sock, peer, self._database, self._profile)
        thread = threading.Thread(target=self._run, args=(connection,), name=f"sandbox-{peer}")
        with self._guard:
            full = len(self._open) >= MAX_CONNECTIONS
            if not full:
                self._open[connection] = thread
        if full:
            with sock, contextlib.suppress(OSError):
                refuse(PacketStream(sock), _NO_HANDLER)
            return
        thread.start()

    def _run(self, connection: Connection) -> None:
        try:
            connection.serve()
        finally:
            with self._guard:
                self._open.pop(connection, None)

    def _watch(self) -> None:
        """Until the listener stops, every 20 ms interrupt the calls of clients that cancelled or vanished while they run: only
        another thread can look at their sockets."""
        while not self._stopping.wait(_WATCH_SECONDS):
            for connection in tuple(self._open):
                if connection.talk is not None:
                    connection.talk.interrupt_if_requested()
