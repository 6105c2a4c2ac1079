"""Rows per CPU second of both connectors, in turns. Each run is warm: what is counted begins when half of the rows have arrived. All
rows are in the redo, or in the table, before a run begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console

from bench.peer.connectors import Arrivals, Ours, Target, Theirs
from bench.peer.works import Work, keys, transactions
from bench.processes import Sandbox
from bench.tables import SEED, SIGNALS, BenchTable
from minercdc.local.kafka_broker import KafkaBroker

_PATIENCE = 900.0
_WARM = 150_000
_SIGNAL = '{"type": "incremental", "data-collections": ["ORCLPDB1.BENCH.%s"]}'


@dataclass(slots=True)
class Rates:
    """Rows per CPU second, round by round.

    :ivar memory: the most of minercdc's, in MiB.
    """

    debezium: list[float] = field(default_factory=list)
    minercdc: list[float] = field(default_factory=list)
    memory: float = 0.0

    def ratios(self) -> list[float]:
        return [ours / theirs for ours, theirs in zip(self.minercdc, self.debezium, strict=True)]


class Measured(NamedTuple):
    """Rows per CPU second, and the most bytes of memory meanwhile."""

    rate: float
    memory: int


def measured(peer: Ours | Theirs, arrived: Callable[[], int], seen: int, rows: int, begun: float | None = None) -> Measured:
    """Of `rows` changes that come after `seen` ones; the rate of the second half of them.

    :param begun: CPU seconds of the process when the run began: the rate of all of them. None for the second half.
    """
    before, memory = 0, 0
    if begun is None:
        before, memory = await_rows(peer, arrived, seen, rows // 2)
        begun = peer.cpu()
    done, later = await_rows(peer, arrived, seen, rows)
    return Measured((done - before) / (peer.cpu() - begun), max(memory, later))


def await_rows(peer: Ours | Theirs, arrived: Callable[[], int], seen: int, rows: int) -> tuple[int, int]:
    """Wait until `rows` changes have come after `seen` ones; how many have, and the most bytes of memory meanwhile."""
    deadline = time.monotonic() + _PATIENCE
    memory = 0
    while True:
        done, memory = arrived() - seen, max(memory, peer.memory())
        if done >= rows:
            return done, memory
        peer.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {rows} changes arrived")


def create_topics(broker: str, topics: Sequence[str]) -> None:
    """Topics of one partition. All that a connector writes to: Java's producer waits a minute for each one that is not there."""
    admin = AdminClient({"bootstrap.servers": broker})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        future.result(60)


def turn(
    kind: type[Ours] | type[Theirs], directory: Path, name: str, work: Work, target: Target, sandbox: Sandbox, broker: str
) -> Measured:
    """One run of one connector: streaming work begins after a first row of each table, so that a position is stored."""
    topics = [f"{name}.BENCH.{table.name}" for table in work.tables]
    create_topics(broker, [*topics, name, f"{name}.BENCH.{SIGNALS}"])
    with closing(kind(directory, name, work, target, sandbox, broker)) as peer:
        if work.incremental:
            peer.start()
            return _read_again(peer, name, work, sandbox, broker)
        if work.snapshot:
            peer.start()
            with closing(peer.arrivals(broker, topics, target, name)) as arrived:
                rate = measured(peer, arrived, 0, work.rows)
            peer.stop()
            return rate
        peer.start()
        with closing(peer.arrivals(broker, topics, target, name)) as arrived:
            until_streaming(peer, arrived, sandbox, work.tables)
            if work.whole:
                await_rows(peer, arrived, arrived(), transactions(work.tables, (1000,), sandbox, _WARM))
            peer.stop()
            changes = work.fill(sandbox, work.rows)
            seen, begun = arrived(), peer.cpu_before_start() if work.whole else None
            peer.start()
            rate = measured(peer, arrived, seen, changes, begun)
        peer.stop()
        return rate


def _read_again(peer: Ours | Theirs, name: str, work: Work, sandbox: Sandbox, broker: str) -> Measured:
    """Rows per CPU second of an incremental snapshot of the first table; the streaming of the second one's changes is counted, too."""
    table, beside = work.tables
    with closing(Arrivals(broker, [f"{name}.BENCH.{one.name}" for one in work.tables])) as both:
        until_streaming(peer, both, sandbox, work.tables)
    with closing(Arrivals(broker, [f"{name}.BENCH.{table.name}"])) as arrived, closing(sandbox.connect()) as application:
        last = until_quiet(arrived)
        with application.cursor() as cursor:
            cursor.execute(f"INSERT INTO {SIGNALS} VALUES (:1, 'execute-snapshot', :2)", [name, _SIGNAL % table.name])
        application.commit()
        ended = Event()
        writer = Thread(target=_write, args=(sandbox, beside, ended))
        writer.start()
        try:
            return measured(peer, arrived, last, work.rows)
        finally:
            ended.set()
            writer.join()
            peer.stop()


def _write(sandbox: Sandbox, table: BenchTable, ended: Event) -> None:
    """A transaction of 100 rows four times a second."""
    while not ended.wait(0.25):
        transactions([table], [100], sandbox, 100)


def until_quiet(arrived: Callable[[], int]) -> int:
    """Wait until something has arrived and nothing more comes; how much it was."""
    last, quiet = arrived(), time.monotonic()
    while not last or time.monotonic() - quiet < 3:
        if (now := arrived()) != last:
            last, quiet = now, time.monotonic()
    return last


def until_streaming(peer: Ours | Theirs, arrived: Callable[[], int], sandbox: Sandbox, tables: Sequence[BenchTable]) -> None:
    """Insert a row in each table now and then, until rows arrive: the connector streams then. Wait until no more come."""
    deadline = time.monotonic() + _PATIENCE
    with closing(sandbox.connect()) as application, application.cursor() as cursor:
        while arrived() < len(tables):
            for table in tables:
                cursor.execute(table.insert, table.row(next(keys)))
            application.commit()
            for _ in range(20):
                arrived()
            peer.check()
            if time.monotonic() > deadline:
                raise TimeoutError("the connector does not stream")
    until_quiet(arrived)


def _switch_logs(sandbox: Sandbox) -> None:
    """Begin new logs: what has been loaded is not read again at each pass over the current one."""
    with closing(sandbox.connect("system", "oracle", "ORCLCDB")) as admin, admin.cursor() as cursor:
        for _ in range(3):
            cursor.execute("ALTER SYSTEM SWITCH LOGFILE")


def rounds(work: Work, target: Target, number: int, console: Console) -> Rates:
    """Both in turns, on one sandbox."""
    rates = Rates()
    with TemporaryDirectory(prefix="peer-") as place:
        directory = Path(place)
        broker = KafkaBroker(directory / "kafka")
        try:
            servers = broker.start().bootstrap_servers
            with Sandbox(directory, SEED) as sandbox:
                if work.snapshot or work.incremental:
                    work.fill(sandbox, work.rows)
                    _switch_logs(sandbox)
                for one in range(number):
                    for name, kind, found in (("d", Theirs, rates.debezium), ("m", Ours, rates.minercdc)):
                        one_run = turn(kind, directory, f"{name}{one}", work, target, sandbox, servers)
                        found.append(one_run.rate)
                        mib = one_run.memory / 2**20
                        if kind is Ours:
                            rates.memory = max(rates.memory, mib)
                        console.print(f"  {kind.__name__}: {found[-1]:,.0f} rows / cpu s, {mib:.0f} MiB", highlight=False)
        finally:
            broker.stop()
    return rates
