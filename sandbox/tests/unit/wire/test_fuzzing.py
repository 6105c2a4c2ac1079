"""Spoiled conversations end their own connection at worst: no hang, no traceback, no growth.

A short run belongs to the suite; MINERCDC_FUZZ_SECONDS makes it as long as one likes, MINERCDC_FUZZ_SEED another one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import oracledb
import psutil
import pytest

from minercdc_sandbox.server import SandboxServer
from minercdc_sandbox.wire import auth

from .fuzzing import RecordingProxy, send, spoil

SECONDS = float(os.environ.get("MINERCDC_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("MINERCDC_FUZZ_SEED", "1"))
CONVERSATIONS = 150
"""With one database: it keeps what LOBs were as long as its redo, so it is not to live for a long run."""
GROWTH = 50 << 20


class _FixedNumbers:
    """Instead of `secrets`: the server's part of every logon is the same, so that a recorded proof fits it."""

    @staticmethod
    def token_bytes(size: int) -> bytes:
        return bytes(range(size))

    @staticmethod
    def token_hex(size: int) -> str:
        return "ab" * size

    @staticmethod
    def compare_digest(left: bytes, right: bytes) -> bool:
        return left == right


def _talk(port: int) -> None:
    """Calls of every kind."""
    dsn = f"127.0.0.1:{port}/orclpdb1"
    with oracledb.connect(user="system", password="oracle", dsn=dsn) as connection, connection.cursor() as cursor:
        connection.module, connection.client_identifier = "fuzz", "me"
        cursor.arraysize = 7
        cursor.execute("select id, v, d, t from fuzzed where id < :top order by id", top=40).fetchall()
        cursor.executemany("insert into fuzzed (id, v) values (:1, :2)", [(n, "x" * n) for n in range(100, 150)])
        made = cursor.var(int)
        cursor.execute("update fuzzed set v = :v where id = 105 returning id into :i", v="y", i=made)
        text, opened = cursor.var(str), connection.cursor()
        for number in (1, 2):
            cursor.execute("begin :a := :b || '!'; open :c for select id from fuzzed; end;", [text, str(number), opened])
        opened.fetchmany(3)
        cursor.execute("insert into fuzzed (id, c) values (200, :1)", ["long " * 7000])
        lob = cursor.execute("select c from fuzzed where id = 200").fetchone()[0]
        lob.read(5, 20)
        lob.write("changed", 3)
        temporary = connection.createlob(oracledb.DB_TYPE_BLOB, b"\1\2\3")
        temporary.trim(1)
        del temporary
        with contextlib.suppress(oracledb.DatabaseError):
            cursor.execute("select nothing from nowhere")
        cursor.parse("select 1 from dual")
        connection.ping()
        connection.rollback()


def _record(server: SandboxServer) -> list[bytes]:
    with oracledb.connect(user="system", password="oracle", dsn=server.dsn) as connection:
        cursor = connection.cursor()
        cursor.execute("create table fuzzed (id number(10) primary key, v varchar2(200), d date, t timestamp, c clob)")
        cursor.executemany(
            "insert into fuzzed (id, v, d, t) values (:1, :2, sysdate, systimestamp)", [(n, "v") for n in range(50)]
        )
        connection.commit()
    proxy = RecordingProxy((server.host, server.port))
    _talk(proxy.port)
    return proxy.packets()


def _wait_for_threads(expected: int) -> None:
    """Every connection has a thread of its own."""
    deadline = time.monotonic() + 20
    while threading.active_count() > expected:
        assert time.monotonic() < deadline, "a connection did not end"
        time.sleep(0.001)


@dataclass
class _Run:
    """Conversations with one database after the other."""

    profile: str
    chance: random.Random
    caplog: pytest.LogCaptureFixture
    conversations: int = 0
    memory: list[int] = field(default_factory=list)

    def database(self, until: float) -> None:
        """Spoiled conversations with a new database, then a whole one."""
        threads = threading.active_count()
        with SandboxServer(profile=self.profile) as server:
            serving = threading.active_count()
            packets = _record(server)
            address = (server.host, server.port)
            whole = send(address, b"".join(packets))
            assert whole > 2000, "the recording did not get past the logon"
            for number in range(CONVERSATIONS):
                if self.memory and time.monotonic() > until:
                    break
                self._conversation(address, packets)
                if number % 10 == 0:
                    _wait_for_threads(serving)
            _wait_for_threads(serving)
            assert send(address, b"".join(packets)) == pytest.approx(whole, abs=300)
        assert threading.active_count() == threads
        self.memory.append(psutil.Process().memory_info().rss)

    def _conversation(self, address: tuple[str, int], packets: Sequence[bytes]) -> None:
        seed = self.chance.getrandbits(64)
        send(address, spoil(random.Random(seed), packets))
        bugs = [record.getMessage() + str(record.exc_info) for record in self.caplog.records if record.exc_info]
        assert bugs == [], f"conversation {seed}"
        self.caplog.clear()
        self.conversations += 1


@pytest.mark.timeout(SECONDS * 1.5 + 120)
@pytest.mark.parametrize("profile", ["19c", "23ai"])
def test_spoiled_conversations(profile: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(auth, "secrets", _FixedNumbers)
    caplog.set_level(logging.ERROR)
    run = _Run(profile, random.Random(SEED), caplog)
    until = time.monotonic() + SECONDS / 2  # the two profiles share the time
    run.database(until)
    while time.monotonic() < until:
        run.database(until)
    shown = [memory >> 20 for memory in (run.memory[0], max(run.memory), run.memory[-1])]
    print(f"\n{run.conversations} conversations, {len(run.memory)} databases, RSS first, most, last: {shown} MB")
    assert run.memory[-1] - run.memory[0] < GROWTH
