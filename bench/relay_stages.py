"""The relay: how many events a second each of 100 clients gets, and what encoding an event takes.

The relay with its port is one process, the clients are threads of two others, all on this machine. What fills the buffer waits for the
slowest client, so that the rate is what all of them can follow.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from bench.processes import Sandbox
from bench.report import Measure
from minercdc.relay.buffer.storage import Memory
from minercdc.relay.buffer.windows import EventBuffer, Window
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.client.connection import Connection
from minercdc.relay.events.encoding import RelayEncoder
from minercdc.relay.events.event import sequence_of
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.server.http import serve
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.requests import Requests
from minercdc.relay.server.statistics import Statistics
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import ChangeEvent, Op, Scn, TransactionInfo

CLIENTS, PROCESSES = 100, 2
BUFFER = 256 * 1024 * 1024
LINGER_MS = 200
ANSWER = 4 * 1024 * 1024
EVENTS, IN_WINDOW = 300_000, 10
END = 61

ORDERS = TableSchema(
    TableId("DB", "SHOP", "ORDERS"),
    (
        Column("ID", "NUMBER", 12, 0, False),
        Column("CUSTOMER", "NUMBER", 12, 0),
        Column("STATE", "VARCHAR2", 20),
        Column("AMOUNT", "NUMBER", 12, 2),
        Column("PLACED", "DATE"),
        Column("NOTE", "VARCHAR2", 100),
    ),
    (0,),
)


def change(number: int, scn: int) -> ChangeEvent:
    row = (str(number), str(number % 977), "OPEN", f"{number % 1000}.25", "2026-02-28 13:45:59", f"order number {number}")
    tx = TransactionInfo("0" * 16, Scn(0), Scn(scn), 0, scn, 1, None)
    return ChangeEvent(Op.CREATE, ORDERS, None, row, Scn(scn), scn, tx, 1)


def relay(directory: Path) -> list[Measure]:
    """All stages. Needs no database."""
    registry = SchemaRegistry(directory / "schemas", namespace="bench")
    encoder = RelayEncoder(registry, lambda *_: True, lambda table: table.key)
    changes = [change(number, 1 + number // IN_WINDOW) for number in range(50_000)]
    begun, cpu = time.perf_counter(), time.process_time()
    encoded = [record.value for one in changes for record in encoder.encode(one)]
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    size = sum(len(one or b"") for one in encoded) / len(encoded)
    measures = [
        Measure(f"relay: encoded, {size:.0f} bytes each", "relay", len(changes), seconds, cpu),
    ]
    for clients in (1, 10, CLIENTS):
        measures.append(_fan_out(directory, clients))
    return measures


def _fan_out(directory: Path, clients: int) -> Measure:
    context = multiprocessing.get_context("spawn")
    reached, ready = context.Array("Q", clients), context.Event()
    port, facts = context.Value("i", 0), context.Array("d", 3)
    events = EVENTS if clients > 10 else 4 * EVENTS
    server = context.Process(target=_serve, args=(directory, reached, port, ready, facts, events))
    server.start()
    try:
        assert ready.wait(60)
        share = [range(clients)[n::PROCESSES] for n in range(PROCESSES)]
        last = events // IN_WINDOW
        readers = [context.Process(target=_read, args=(port.value, numbers, reached, last)) for numbers in share]
        for one in readers:
            one.start()
        for one in readers:
            one.join(600)
            assert one.exitcode == 0, f"a client's process ended with {one.exitcode}"
        server.join(60)
    finally:
        server.kill()
    seconds, size, cpu = (float(fact) for fact in facts[:])
    sent = f"{events * clients * size / seconds / 1e6:.0f} MB/s sent"
    return Measure(f"relay: encoded, each reaches {clients} clients", "relay", events, seconds, cpu, sent)


def _serve(directory: Path, reached: Any, port: Any, ready: Any, facts: Any, events: int) -> None:
    """The relay's process. What fills the buffer encodes its events as it goes."""
    buffer, statistics = EventBuffer(Memory(BUFFER)), Statistics()
    registry = SchemaRegistry(directory / "schemas", namespace="bench")
    encoder = RelayEncoder(registry, lambda *_: True, lambda table: table.key)
    requests = Requests(buffer, registry, statistics, "bench")
    with serve("127.0.0.1", 0, requests, Connections(), lambda: b"", most_clients=500, timeout=60) as address:
        port.value = int(address.rpartition(":")[2])
        ready.set()
        while min(reached[:]) == 0:  # each client has its connection
            time.sleep(0.01)
        begun, before, size = time.perf_counter(), _cpu(), 0
        lead = BUFFER // 2
        for first in range(1, events // IN_WINDOW + 1, 100):
            windows = [_window(encoder, scn) for scn in range(first, first + 100)]
            while size and (windows[-1].scn - min(reached[:])) * (size / first) > lead:
                time.sleep(0.002)
            size += sum(len(event) for window in windows for event in window.events) + END * len(windows)
            buffer.publish(windows)
        while min(reached[:]) <= events // IN_WINDOW:
            time.sleep(0.002)
        facts[0], facts[1], facts[2] = time.perf_counter() - begun, size / events, _cpu() - before


def _cpu() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)


def _window(encoder: RelayEncoder, scn: int) -> Window:
    numbers = range((scn - 1) * IN_WINDOW, scn * IN_WINDOW)
    events = [record.value for number in numbers for record in encoder.encode(change(number, scn))]
    return Window(scn, [event for event in events if event is not None], scn)


def _read(port: int, numbers: Sequence[int], reached: Any, last: int) -> None:
    threads = [threading.Thread(target=_client, args=(port, number, reached, last)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _client(port: int, number: int, reached: Any, last: int) -> None:
    """A client that takes the bytes and looks at the end of the last window only. It has reached one more than it has read."""
    connection, place = Connection(f"http://127.0.0.1:{port}"), 0
    reached[number] = 1
    while place < last:
        received = connection.stream(Checkpoint(place) if place else Checkpoint(), ANSWER, wait_ms=1000, linger_ms=LINGER_MS)
        if received.data:
            place = sequence_of(received.data[-END:])
            reached[number] = place + 1
    connection.close()


def _stage(_: Sandbox, directory: Path) -> list[Measure]:
    return relay(directory)


RELAY_STAGES: dict[str, Callable[[Sandbox, Path], list[Measure]]] = {"relay": _stage}
