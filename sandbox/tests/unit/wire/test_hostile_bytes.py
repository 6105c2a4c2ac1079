"""Damaged traffic: a proxy spoils what a real client sends; only that connection ends, with one log line at most."""

from __future__ import annotations

import contextlib
import logging
import random
import resource
import socket
import struct
import threading
from collections.abc import Callable

import oracledb
import pytest

from minercdc_sandbox.interfaces import ColumnDescription, OraType, Result
from minercdc_sandbox.wire.listener import Listener

from .conftest import CannedDatabase

ROUNDS = 40
Spoil = Callable[[random.Random, bytes], bytes]


def _flip(chance: random.Random, packet: bytes) -> bytes:
    spoiled = bytearray(packet)
    for _ in range(chance.randint(1, 8)):
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
    return bytes(spoiled)


def _cut(chance: random.Random, packet: bytes) -> bytes:
    return packet[: chance.randrange(len(packet))]


def _noise(chance: random.Random, packet: bytes) -> bytes:
    return packet[:10] + chance.randbytes(len(packet) - 10)


def _huge_length(chance: random.Random, packet: bytes) -> bytes:
    return struct.pack(">I", chance.choice((0, 7, 65536, 1 << 24, 0xFFFFFFFF))) + packet[4:]


def _huge_fields(chance: random.Random, packet: bytes) -> bytes:
    """Integers that claim a lot: eight bytes of FF, or a chunk of 4 GB."""
    at = chance.randrange(10, len(packet)) if len(packet) > 10 else len(packet)
    claim = chance.choice((b"\x08" + b"\xff" * 8, b"\xfe\x04\xff\xff\xff\xff", b"\x04\x7f\xff\xff\xff", b"\xfe" * 40))
    return (packet[:at] + claim + packet[at:])[: len(packet)]


class SpoilingProxy:
    """Between one client and the server; spoils the client's n-th packet."""

    def __init__(self, target: tuple[str, int], chance: random.Random, nth: int, spoil: Spoil) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._target, self._chance, self._nth, self._spoil = target, chance, nth, spoil
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        self._listener.close()
        self._thread.join(10)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            server = socket.create_connection(self._target)
            back = threading.Thread(target=self._copy, args=(server, client))
            back.start()
            with client, server, contextlib.suppress(OSError):
                self._forward(client, server)
                server.shutdown(socket.SHUT_WR)
                back.join(5)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        for number in range(1 << 20):
            packet = client.recv(65536)
            if not packet:
                return
            if number == self._nth:
                server.sendall(self._spoil(self._chance, packet))
                return
            server.sendall(packet)

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)


def _use(port: int) -> None:
    dsn = f"127.0.0.1:{port}/freepdb1"
    with oracledb.connect(user="scott", password="tiger", dsn=dsn, tcp_connect_timeout=5) as connection:
        connection.call_timeout = 2000
        cursor = connection.cursor()
        cursor.execute("select n").fetchall()
        cursor.executemany("insert :a, :b", [(i, "x" * i) for i in range(50)])
        cursor.execute("begin :o := :i; end;", [cursor.var(str), "x"])
        connection.commit()


@pytest.mark.parametrize("spoil", [_flip, _cut, _noise, _huge_length, _huge_fields], ids=lambda f: f.__name__)
def test_spoiled_packets_end_their_own_connection_only(
    listener: Listener, database: CannedDatabase, caplog: pytest.LogCaptureFixture, spoil: Spoil
) -> None:
    chance = random.Random(spoil.__name__)
    database.canned("select n", [ColumnDescription("T", OraType.VARCHAR2, size=10)], [("x",)])
    database.answers["insert :a, :b"] = lambda *_: Result(row_count=1)
    database.answers["begin :o := :i; end;"] = lambda *_: Result(out={0: "x"}, out_only=frozenset({0}))
    caplog.set_level(logging.WARNING)
    _use(listener.address[1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    logons = len(database.sessions)
    for _ in range(ROUNDS):
        caplog.clear()
        proxy = SpoilingProxy(listener.address, chance, chance.randrange(11), spoil)
        with contextlib.suppress(oracledb.Error):
            _use(proxy.port)
        proxy.join()
        _wait_until_idle(listener)
        # A spoiled call may also be a valid one that fails: then the error went to the client.
        assert len([r for r in caplog.records if "closed" in r.getMessage()]) <= 1
        assert [r for r in caplog.records if r.exc_info] == []
    assert len(database.sessions) > logons + 3, "no packet after the logon was spoiled"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    with oracledb.connect(user="scott", password="tiger", dsn=f"127.0.0.1:{listener.address[1]}/freepdb1") as connection:
        database.canned("select n", [ColumnDescription("T", OraType.VARCHAR2, size=10)], [("well",)])
        assert connection.cursor().execute("select n").fetchall() == [("well",)]


def _wait_until_idle(listener: Listener) -> None:
    for _ in range(1000):
        if listener.connections == 0:
            return
        threading.Event().wait(0.005)
    raise AssertionError("a connection did not end")


def test_random_bytes_at_the_door(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(4)
    caplog.set_level(logging.WARNING)
    for size in (0, 1, 7, 8, 58, 300, 70000):
        caplog.clear()
        with socket.create_connection(listener.address) as sock, contextlib.suppress(OSError):
            sock.sendall(chance.randbytes(size))
            sock.shutdown(socket.SHUT_WR)
            sock.settimeout(5)
            while sock.recv(1000):
                pass
        _wait_until_idle(listener)
        assert len(caplog.records) <= 1
