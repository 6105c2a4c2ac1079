"""A TCP relay that fails on demand: refuses, drops or freezes connections."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from typing import Self

_NAP = 0.02


class Proxy:
    """Relays a loopback port to `target` in a thread of its own, until `with` ends.

    refuse   closes the listening port and every connection, as a host that is down
    drop     resets every connection once; new ones are relayed
    freeze   relays nothing, but keeps connections open and takes new ones, as a network that swallows packets
    answer   hands the client bytes of the test's in place of what the server says next
    accept   relays again
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._frozen = False
        self._answer: bytes | None = None
        self._ended = False
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self.port = 0
        self._listen()
        self._thread = threading.Thread(target=self._relay, name="proxy", daemon=True)

    def _listen(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._selector.register(self._listener, selectors.EVENT_READ)

    def refuse(self) -> None:
        with self._lock:
            if self._listener is not None:
                self._selector.unregister(self._listener)
                self._listener.close()
                self._listener = None
            self._reset_all()

    def drop(self) -> None:
        with self._lock:
            self._reset_all()

    def freeze(self) -> None:
        with self._lock:
            self._frozen = True

    def answer(self, data: bytes) -> None:
        with self._lock:
            self._answer = data

    def accept(self) -> None:
        with self._lock:
            if self._frozen:
                self._frozen = False
                self._reset_all()  # what it swallowed is gone
            if self._listener is None:
                self._listen()

    def _reset_all(self) -> None:
        for end in list(self._pairs):
            self._close(end)

    def _close(self, end: socket.socket) -> None:
        other = self._pairs.pop(end, None)
        if other is None:
            return
        self._pairs.pop(other, None)
        for side in (end, other):
            self._selector.unregister(side)
            side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            side.close()

    def _relay(self) -> None:
        while not self._ended:
            with self._lock:
                for key, _ in self._selector.select(0):
                    self._serve(key.fileobj)  # type: ignore[arg-type]
            self._nap()

    def _nap(self) -> None:
        if self._frozen:
            threading.Event().wait(_NAP)
        else:
            with contextlib.suppress(OSError):
                self._selector.select(_NAP)

    def _serve(self, ready: socket.socket) -> None:
        if ready is self._listener:
            client, _ = ready.accept()
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                return
            self._pairs |= {client: server, server: client}
            for side in (client, server):
                self._selector.register(side, selectors.EVENT_READ)
        elif not self._frozen and ready in self._pairs:
            try:
                data = ready.recv(65536)
                to_client = self._pairs[ready].getsockname()[1] == self.port
                if data and to_client and self._answer is not None:
                    data, self._answer = self._answer, None
                if data:
                    self._pairs[ready].sendall(data)
            except OSError:
                data = b""
            if not data:
                self._close(ready)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join()
        self.refuse()
        self._selector.close()
