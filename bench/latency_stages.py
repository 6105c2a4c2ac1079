"""How long a change takes from its COMMIT to a `read_committed` reader.

latency   20 s each at 1, 200, 1000 and 4000 changes a second, in transactions as many as 50 ms make; only when named
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka import Consumer

from bench.processes import Connector, Sandbox
from bench.report import Measure
from bench.tables import STREAMED

_SECONDS = 20.0
RATES = (1, 200, 1000, 4000)
_PATIENCE = 60.0
_FIRST_KEY = 1_000_000  # rows of others have lower ones


def latency(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """One connector, one rate after the other; the reader counts, so changes of a partition come in the order of their commits."""
    with Connector(directory, "latency", "BENCH.STREAMED", sandbox, broker, ("snapshot.mode: no_data",)) as connector:
        connector.await_text("streaming from", _PATIENCE)
        first = 0
        for rate in RATES:
            cpu = connector.cpu()
            waits = waits_at(rate, sandbox, broker, "latency.BENCH.STREAMED", connector.check, first)
            first += len(waits)
            shown = " and ".join(f"{1000 * one:.0f}" for one in (statistics.median(waits), percentile(waits, 0.99)))
            stage = f"COMMIT to reader at {rate} changes/s: p50 and p99 {shown} ms"
            yield Measure(stage, "connector", len(waits), _SECONDS, connector.cpu() - cpu)


def waits_at(rate: int, sandbox: Sandbox, broker: str, topic: str, check: Callable[[], None], first: int) -> list[float]:
    """Seconds from the COMMIT of each change until a `read_committed` reader had it.

    :param rate: changes a second, for 20 seconds.
    :param check: raises an error when the connector has ended.
    :param first: how many changes the topic has.
    """
    committed: list[float] = []
    writer = threading.Thread(target=_write, args=(sandbox, committed, first, rate))
    settings = {"bootstrap.servers": broker, "group.id": f"latency-{rate}", "isolation.level": "read_committed"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "fetch.wait.max.ms": 10})
    consumer.subscribe([topic])
    arrived: list[float] = []
    writer.start()
    deadline = time.monotonic() + _SECONDS + _PATIENCE
    while writer.is_alive() or len(arrived) < first + len(committed):
        messages = consumer.consume(10_000, 0.005)
        now = time.monotonic()
        arrived += [now for message in messages if not message.error() and message.value() is not None]
        check()
        if now > deadline:
            raise TimeoutError(f"{len(arrived)} of {first + len(committed)} changes arrived")
    consumer.close()
    return [came - went for went, came in zip(committed, arrived[first:], strict=True)]


def _write(sandbox: Sandbox, committed: list[float], first: int, rate: int) -> None:
    """Changes at a rate; `committed` gets the time of each one's COMMIT."""
    pause, number, begun = max(0.05, 1 / rate), first, time.monotonic()
    with sandbox.connect() as application, application.cursor() as cursor:
        while (now := time.monotonic()) < begun + _SECONDS:
            due = first + int((now - begun) * rate) + 1 - number
            if due > 0:
                cursor.executemany(STREAMED.insert, [STREAMED.row(_FIRST_KEY + number + n) for n in range(due)])
                application.commit()
                committed += [time.monotonic()] * due
                number += due
            time.sleep(pause)


def percentile(values: list[float], part: float) -> float:
    """The value below which that part of the values is."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


LATENCY_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {"latency": latency}
