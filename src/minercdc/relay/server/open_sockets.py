"""The connections that clients have open."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Connections:
    """The connections that clients of a relay have open, one for each thread that serves a client; may be used by any
    thread."""

    def __init__(self) -> None:
        self._open: dict[int, socket.socket] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: socket.socket) -> None:
        """Note that this thread serves `connection` from here on."""
        with self._lock:
            self._open[threading.get_ident()] = connection

    def closed(self) -> None:
        """Forget this thread's connection, which has ended."""
        with self._lock:
            self._open.pop(threading.get_ident(), None)

    def close_others(self) -> int:
        """End all connections but this thread's; returns how many there were. Their threads notice, and end."""
        with self._lock:
            others = [connection for thread, connection in self._open.items() if thread != threading.get_ident()]
        for connection in others:
            with suppress(OSError):  # it ends by itself
                connection.shutdown(socket.SHUT_RDWR)
        return len(others)
