"""Recorded conversations, spoiled and sent again: what the server makes of bytes that are nearly right.

A recording is what a client sent, packet by packet. With the server's random numbers fixed its proof of the password stays
valid, so a spoiled conversation gets as far beyond the logon as its first wrong byte lets it.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Sequence

PATIENCE = 20.0
"""Seconds a server may take for one conversation before it counts as hanging."""
_SPECIAL = bytes((0, 1, 2, 0x7F, 0x80, 0xFC, 0xFD, 0xFE, 0xFF))
_CLAIMS = (b"\x08" + b"\xff" * 8, b"\xfe\x04\xff\xff\xff\xff", b"\x04\x7f\xff\xff\xff", b"\xfe" * 40, b"\x02\xff\xff")
_CONNECT = 1


class RecordingProxy:
    """Between one client and the server; keeps the packets the client sent."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._target = target
        self.sent = bytearray()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def packets(self) -> list[bytes]:
        """What was sent, once the client has left."""
        self._thread.join(PATIENCE)
        self._listener.close()
        found, at = [], 0
        while at + 8 <= len(self.sent):
            # Lengths have 16 bits in the connect packet and the data that may follow it, 32 after them.
            narrow = self.sent[at + 4] == _CONNECT or struct.unpack_from(">H", self.sent, at)[0] > 0
            size = struct.unpack_from(">H" if narrow else ">I", self.sent, at)[0]
            found.append(bytes(self.sent[at : at + size]))
            at += size
        return found

    def _run(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(self._target) as server:
            back = threading.Thread(target=self._copy, args=(server, client))
            back.start()
            with contextlib.suppress(OSError):  # the server closes first when the client logs off
                while data := client.recv(65536):
                    self.sent += data
                    server.sendall(data)
                server.shutdown(socket.SHUT_WR)
            back.join(PATIENCE)

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client left first
            while data := source.recv(65536):
                sink.sendall(data)


# ---- mutations: of one packet's body -------------------------------------------------------------------------------------------

Mutation = Callable[[random.Random, bytearray], None]


def _place(chance: random.Random, body: bytearray) -> int:
    return chance.randrange(len(body)) if body else 0


def _flip(chance: random.Random, body: bytearray) -> None:
    for _ in range(chance.choice((1, 1, 1, 3, 12)) if body else 0):
        body[_place(chance, body)] ^= 1 << chance.randrange(8)


def _special(chance: random.Random, body: bytearray) -> None:
    if body:
        body[_place(chance, body)] = chance.choice(_SPECIAL)


def _claim(chance: random.Random, body: bytearray) -> None:
    """A field that says it is huge."""
    at = _place(chance, body)
    body[at : at + chance.choice((0, 1, 4))] = chance.choice(_CLAIMS)


def _cut(chance: random.Random, body: bytearray) -> None:
    at = _place(chance, body)
    del body[at : at + chance.choice((1, 2, 8, 1 << 16))]


def _repeat(chance: random.Random, body: bytearray) -> None:
    at = _place(chance, body)
    piece = body[at : at + chance.choice((1, 4, 60))]
    body[at:at] = piece * chance.choice((1, 2, 300))


def _noise(chance: random.Random, body: bytearray) -> None:
    at = _place(chance, body)
    size = chance.choice((1, 8, 200))
    body[at : at + size] = chance.randbytes(size)


MUTATIONS: tuple[Mutation, ...] = (_flip, _flip, _special, _special, _claim, _cut, _repeat, _noise)


def spoil(chance: random.Random, packets: Sequence[bytes]) -> bytes:
    """A conversation with one to three of its packets spoiled, dropped, repeated or moved; lengths mostly put right."""
    spoiled = [bytearray(packet) for packet in packets]
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(spoiled))
        kind = chance.randrange(20)
        if kind == 0 and len(spoiled) > 1:
            del spoiled[at]
        elif kind == 1:
            spoiled.insert(chance.randrange(len(spoiled)), spoiled[at][:])
        elif kind == 2:
            chance.choice(MUTATIONS)(chance, spoiled[at])  # headers too
        else:
            _spoil_body(chance, spoiled, at)
    return b"".join(spoiled)


def _spoil_body(chance: random.Random, packets: list[bytearray], at: int) -> None:
    header, body = packets[at][:8], packets[at][8:]
    chance.choice(MUTATIONS)(chance, body)
    size = len(body) + 8
    if header[4] == _CONNECT or header[:2] != b"\0\0":
        header[:2] = struct.pack(">H", min(size, 0xFFFF))
    else:
        header[:4] = struct.pack(">I", size)
    packets[at] = header + body


def send(address: tuple[str, int], conversation: bytes) -> int:
    """Send everything, then read until the server closes; bytes it answered. Raises TimeoutError when it hangs."""
    answered = 0
    with socket.create_connection(address, timeout=PATIENCE) as sock:
        try:
            sock.sendall(conversation)
            sock.shutdown(socket.SHUT_WR)
            while data := sock.recv(65536):
                answered += len(data)
        except TimeoutError:
            raise
        except OSError:
            pass  # the server had enough
    return answered
