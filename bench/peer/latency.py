"""How long a change takes from its COMMIT to a `read_committed` reader: both connectors, one after the other, at several rates."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION

from bench.latency_stages import RATES, percentile, waits_at
from bench.peer.connectors import Arrivals, Ours, Theirs
from bench.peer.rates import create_topics, until_quiet, until_streaming
from bench.peer.works import Work, transactions
from bench.processes import Sandbox
from bench.tables import SEED, STREAMED
from minercdc.local.kafka_broker import KafkaBroker

_WORK = Work("latency", (STREAMED,), lambda sandbox, rows: transactions([STREAMED], [1], sandbox, rows), 1)
_RATES = RATES[1:]


def compare_latency(console: Console) -> None:
    """Print p50 and p99, and the CPU seconds that each connector took meanwhile."""
    table = Table("changes / s", *(f"{who}: p50, p99, CPU s" for who in (f"Debezium {VERSION}", "minercdc")))
    with TemporaryDirectory(prefix="peer-") as place:
        directory = Path(place)
        broker = KafkaBroker(directory / "kafka")
        try:
            servers = broker.start().bootstrap_servers
            found = [_latencies(kind, directory, servers) for kind in (Theirs, Ours)]
        finally:
            broker.stop()
    for rate, *shown in zip(_RATES, *found, strict=True):
        table.add_row(f"{rate:,}", *shown)
    console.print(table)


def _latencies(kind: type[Ours] | type[Theirs], directory: Path, broker: str) -> Sequence[str]:
    """On a sandbox of its own, with the settings that the connector has by default."""
    own = directory / kind.__name__
    own.mkdir()
    name = "m" + kind.__name__
    topic = f"{name}.BENCH.{STREAMED.name}"
    create_topics(broker, [topic, name])
    shown = []
    with Sandbox(own, SEED) as sandbox, closing(kind(own, name, _WORK, "kafka", sandbox, broker)) as peer:
        peer.start()
        with closing(Arrivals(broker, [topic])) as arrived:
            until_streaming(peer, arrived, sandbox, _WORK.tables)
            first = until_quiet(arrived)
        for rate in _RATES:
            cpu = peer.cpu()
            waits = waits_at(rate, sandbox, broker, topic, peer.check, first)
            first += len(waits)
            middle, worst = 1000 * statistics.median(waits), 1000 * percentile(waits, 0.99)
            shown.append(f"{middle:.0f} ms, {worst:.0f} ms, {peer.cpu() - cpu:.1f}")
        peer.stop()
    return shown
