"""A listening socket that talks with one client at a time, as the servers of replicators do."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress


class OneClient:
    """Serves in a thread of its own once `start` is called.

    :param converse: talks with a client until it, or `ends`, ends the conversation; OSError ends it, too.
    :ivar host, port: where it listens.
    """

    def __init__(self, converse: Callable[[socket.socket], None], backlog: int) -> None:
        self._converse = converse
        self._stop = False
        self._action: Callable[[], None] | None = None
        self._done = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.host, self.port = self._listener.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def stopped(self) -> bool:
        return self._stop

    @property
    def ends(self) -> bool:
        """Whether a conversation is to end."""
        return self._stop or self._action is not None

    def notify(self) -> None:
        """End a wait of `readable`; nothing once it is closed."""
        with suppress(OSError):
            self._wake.send(b"x")

    def between_connections(self, action: Callable[[], None]) -> None:
        """End the connection, and do something before the next one."""
        self._action, self._done = action, threading.Event()
        self.notify()
        assert self._done.wait(30)

    def readable(self, one: socket.socket, seconds: float = 0.2) -> bool:
        """Wait so long, or until `notify`."""
        found, _, _ = select.select([one, self._woken], [], [], seconds)
        if self._woken in found:
            self._woken.recv(4096)
        return one in found

    def close(self) -> None:
        self._stop = True
        self.notify()
        self._thread.join(30)
        for one in (self._listener, self._wake, self._woken):
            one.close()

    def _serve(self) -> None:
        while not self._stop:
            if self._action is not None:
                self._action()
                self._action = None
                self._done.set()
            if self.readable(self._listener):
                connection, _ = self._listener.accept()
                with connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    try:
                        self._converse(connection)
                    except OSError:
                        continue
