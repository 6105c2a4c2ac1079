"""python -m bench.peer: Debezium and minercdc in turns on the same sandbox and redo; rows per CPU second of the connector's process.

Debezium is unmodified, in its own embedded engine, on a Java of its own; all threads of both processes count. Each run is warm: what is
counted begins when half of the rows have arrived. All rows are in the redo, or in the table, before a run begins.

kafka      both write to the same broker: minercdc in transactions, Debezium by Kafka's own producer
nowhere    Debezium's records are dropped; minercdc prints them as JSON lines to a file
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Literal, NamedTuple, TypeAlias

import psutil
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION, Debezium

from bench.processes import Connector, Sandbox
from bench.report import machine
from bench.tables import BATCH, MIDDLE, NARROW, SEED, SIGNALS, WIDE, BenchTable
from minercdc.local.kafka_broker import KafkaBroker

_PATIENCE = 900.0
_MOST = 1 << 30  # records of a run
_CHUNK = "incremental.snapshot.chunk.size: 10240"  # at 1024, the default, both wait for marks more than they read
_SIGNALS = f"signal.data.collection: ORCLPDB1.BENCH.{SIGNALS}"
_SIGNAL = '{"type": "incremental", "data-collections": ["ORCLPDB1.BENCH.%s"]}'
Target: TypeAlias = Literal["kafka", "nowhere"]
Fill: TypeAlias = Callable[[Sandbox, int], int]


@dataclass(frozen=True, slots=True)
class Work:
    """What is measured.

    :param tables: that are captured.
    :param fill: makes about so many rows; returns how many changes these are.
    :param snapshot: the rows are there before the connector's first start, and read by its snapshot.
    :param incremental: the first table's rows are there before that, too, and are read by an incremental snapshot, while changes of the
        second one are streamed.
    :param heap: of Debezium's Java.
    """

    name: str
    tables: tuple[BenchTable, ...]
    fill: Fill
    rows: int
    snapshot: bool = False
    incremental: bool = False
    heap: str = "1g"


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


class Arrivals:
    """Counts what a `read_committed` consumer sees of topics; tombstones do not count."""

    def __init__(self, broker: str, topics: Sequence[str]) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": broker, "group.id": "peer", "auto.offset.reset": "earliest"}
        settings |= {"isolation.level": "read_committed", "enable.auto.commit": False}
        self._consumer = Consumer(settings | {"topic.metadata.refresh.interval.ms": 200})
        self._consumer.subscribe(list(topics))
        self._seen = 0

    def __call__(self) -> int:
        messages = self._consumer.consume(10_000, 0.02)
        self._seen += sum(message.value() is not None for message in messages if not message.error())
        return self._seen

    def close(self) -> None:
        self._consumer.close()


class Lines:
    """Counts the JSON lines of changes in a file that grows."""

    def __init__(self, file: Path, prefix: str) -> None:
        self._file, self._mark, self._place, self._seen, self._rest = file, f'"{prefix}.BENCH.'.encode(), 0, 0, b""

    def __call__(self) -> int:
        time.sleep(0.02)
        with self._file.open("rb") as lines:
            lines.seek(self._place)
            *whole, self._rest = (self._rest + lines.read()).split(b"\n")
            self._place = lines.tell()
        self._seen += sum(self._mark in line[:120] for line in whole)
        return self._seen

    def close(self) -> None:
        return


class Ours:
    """`minercdc run`."""

    def __init__(self, directory: Path, name: str, work: Work, target: Target, sandbox: Sandbox, broker: str) -> None:
        tables = "|".join(f"BENCH.{table.name}" for table in work.tables)
        more = [
            f"snapshot.mode: {'initial' if work.snapshot else 'no_data'}",
            "tombstones.on.delete: false",
            _SIGNALS,
            _CHUNK,
        ]
        self._lines = directory / f"{name}.jsonl"
        if target == "nowhere":
            more += ["debezium.sink.type: json", f"minercdc.sink.path: {self._lines}"]
        self._start = partial(Connector, directory, name, tables, sandbox, broker, more)
        self._process: Connector | None = None

    def start(self) -> None:
        self._process = self._start()

    def arrivals(self, broker: str, topics: Sequence[str], target: Target, name: str) -> Arrivals | Lines:
        if target == "kafka":
            return Arrivals(broker, topics)
        self._lines.touch()
        return Lines(self._lines, name)

    def cpu(self) -> float:
        return self._running.cpu()

    def memory(self) -> int:
        return self._running.memory()

    def check(self) -> None:
        self._running.check()

    def stop(self) -> None:
        self._running.stop()

    def close(self) -> None:
        if self._process is not None:
            self._process.stop()

    @property
    def _running(self) -> Connector:
        assert self._process is not None
        return self._process


class Theirs:
    """Debezium's embedded engine. Its consumer is made of method handles, so that nothing but Java runs for a record."""

    def __init__(self, directory: Path, name: str, work: Work, target: Target, sandbox: Sandbox, broker: str) -> None:
        own = directory / name
        own.mkdir()
        self._target, self._broker = target, broker
        settings = {
            "database.connection.adapter": "logminer",
            "topic.prefix": name,
            "database.hostname": sandbox.host,
            "database.port": str(sandbox.port),
            "database.user": "c##minercdc",
            "database.password": "minercdc",
            "database.dbname": "ORCLCDB",
            "database.pdb.name": "ORCLPDB1",
            "table.include.list": ",".join(f"BENCH.{table.name}" for table in work.tables),
            "log.mining.strategy": "hybrid",
            "snapshot.mode": "initial" if work.snapshot else "no_data",
            "tombstones.on.delete": "false",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "schema.history.internal.store.only.captured.tables.ddl": "true",
            **dict(line.split(": ") for line in (_SIGNALS, _CHUNK)),
        }
        self._engine = Debezium(settings, own, [f"-Xmx{work.heap}"])
        self._facts = psutil.Process(self._engine.pid)
        # py4j makes a Python number of a LongAdder; a latch it leaves alone.
        self._left = self._engine.jvm.java.util.concurrent.CountDownLatch(_MOST)

    def start(self) -> None:
        jvm = self._engine.jvm
        handle = self._counting() if self._target == "nowhere" else self._sending()
        consumer = self._engine.classes("java.util.function.Consumer")
        generic = jvm.java.lang.invoke.MethodType.genericMethodType(1)
        taking = handle.asType(generic.changeReturnType(jvm.java.lang.Void.TYPE))
        self._engine.run(jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(consumer, taking))

    def _counting(self) -> Any:
        """(ChangeEvent) -> void: count it."""
        jvm = self._engine.jvm
        lookup, types = jvm.java.lang.invoke.MethodHandles.publicLookup(), jvm.java.lang.invoke.MethodType
        count = lookup.bind(self._left, "countDown", types.methodType(jvm.java.lang.Void.TYPE))
        event = self._array("java.lang.Class", self._engine.classes("io.debezium.engine.ChangeEvent"))
        return jvm.java.lang.invoke.MethodHandles.dropArguments(count, 0, event)

    def _sending(self) -> Any:
        """(ChangeEvent) -> Future: send its destination, key and value by Kafka's producer."""
        jvm = self._engine.jvm
        handles, types = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType
        lookup = handles.publicLookup()
        text, thing = self._engine.classes("java.lang.String"), self._engine.classes("java.lang.Object")
        event = self._engine.classes("io.debezium.engine.ChangeEvent")
        record = self._engine.classes("org.apache.kafka.clients.producer.ProducerRecord")
        future = self._engine.classes("java.util.concurrent.Future")
        three = types.methodType(jvm.java.lang.Void.TYPE, self._array("java.lang.Class", text, thing, thing))
        made = lookup.findConstructor(record, three)
        read = [lookup.findVirtual(event, name, types.methodType(kind)) for name, kind in
                (("destination", text), ("key", thing), ("value", thing))]  # fmt: skip
        made = handles.filterArguments(made, 0, self._array("java.lang.invoke.MethodHandle", *read))
        order = self._gateway_array(jvm.int, (0, 0, 0))
        made = handles.permuteArguments(made, types.methodType(record, event), order)
        send = lookup.bind(self._producer(), "send", types.methodType(future, record))
        return handles.filterReturnValue(made, send)

    def _producer(self) -> Any:
        jvm = self._engine.jvm
        properties = jvm.java.util.Properties()
        properties.setProperty("bootstrap.servers", self._broker)
        for side in ("key", "value"):
            properties.setProperty(f"{side}.serializer", "org.apache.kafka.common.serialization.StringSerializer")
        return jvm.org.apache.kafka.clients.producer.KafkaProducer(properties)

    def _array(self, kind: str, *members: Any) -> Any:
        of: Any = self._engine.jvm
        for part in kind.split("."):
            of = getattr(of, part)
        return self._gateway_array(of, members)

    def _gateway_array(self, kind: Any, members: Sequence[Any]) -> Any:
        array = self._engine.array(kind, len(members))
        for place, member in enumerate(members):
            array[place] = member
        return array

    def arrivals(self, broker: str, topics: Sequence[str], target: Target, name: str) -> Any:
        del name
        return Arrivals(broker, topics) if target == "kafka" else _Counter(lambda: _MOST - int(self._left.getCount()))

    def cpu(self) -> float:
        times = self._facts.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> int:
        return int(self._facts.memory_info().rss)

    def check(self) -> None:
        self._engine.check()

    def stop(self) -> None:
        self._engine.stop()

    def close(self) -> None:
        self._engine.close()


class _Counter:
    def __init__(self, value: Callable[[], int]) -> None:
        self._value = value

    def __call__(self) -> int:
        time.sleep(0.02)
        return self._value()

    def close(self) -> None:
        return


class Measured(NamedTuple):
    """Rows per CPU second, and the most bytes of memory meanwhile."""

    rate: float
    memory: int


def measured(peer: Ours | Theirs, arrived: Callable[[], int], seen: int, rows: int) -> Measured:
    """Of `rows` changes that come after `seen` ones; the rate of the second half of them."""
    deadline = time.monotonic() + _PATIENCE
    half: tuple[int, float] | None = None
    memory = 0
    while True:
        done, memory = arrived() - seen, max(memory, peer.memory())
        if half is None and done >= rows // 2:
            half = done, peer.cpu()
        if half is not None and done >= rows:
            return Measured((done - half[0]) / (peer.cpu() - half[1]), memory)
        peer.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {rows} changes arrived")


def turn(
    kind: type[Ours] | type[Theirs], directory: Path, name: str, work: Work, target: Target, sandbox: Sandbox, broker: str
) -> Measured:
    """One run of one connector: streaming work begins after a first row of each table, so that a position is stored."""
    topics = [f"{name}.BENCH.{table.name}" for table in work.tables]
    admin = AdminClient({"bootstrap.servers": broker})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        future.result(60)
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
            _until_streaming(peer, arrived, sandbox, work.tables)
            peer.stop()
            changes = work.fill(sandbox, work.rows)
            seen = arrived()
            peer.start()
            rate = measured(peer, arrived, seen, changes)
        peer.stop()
        return rate


def _read_again(peer: Ours | Theirs, name: str, work: Work, sandbox: Sandbox, broker: str) -> Measured:
    """Rows per CPU second of an incremental snapshot of the first table; the streaming of the second one's changes is counted, too."""
    table, beside = work.tables
    with closing(Arrivals(broker, [f"{name}.BENCH.{one.name}" for one in work.tables])) as both:
        _until_streaming(peer, both, sandbox, work.tables)
    with closing(Arrivals(broker, [f"{name}.BENCH.{table.name}"])) as arrived, closing(sandbox.connect()) as application:
        last = _until_quiet(arrived)
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
        _transactions([table], [100], sandbox, 100)


_keys = count(1)  # of all rows: no two are the same


def _until_quiet(arrived: Callable[[], int]) -> int:
    """Wait until something has arrived and nothing more comes; how much it was."""
    last, quiet = arrived(), time.monotonic()
    while not last or time.monotonic() - quiet < 3:
        if (now := arrived()) != last:
            last, quiet = now, time.monotonic()
    return last


def _until_streaming(
    peer: Ours | Theirs, arrived: Callable[[], int], sandbox: Sandbox, tables: Sequence[BenchTable]
) -> None:
    """Insert a row in each table now and then, until rows arrive: the connector streams then. Wait until no more come."""
    deadline = time.monotonic() + _PATIENCE
    with closing(sandbox.connect()) as application, application.cursor() as cursor:
        while arrived() < len(tables):
            for table in tables:
                cursor.execute(table.insert, table.row(next(_keys)))
            application.commit()
            for _ in range(20):
                arrived()
            peer.check()
            if time.monotonic() > deadline:
                raise TimeoutError("the connector does not stream")
    _until_quiet(arrived)


def _transactions(tables: Sequence[BenchTable], sizes: Sequence[int], sandbox: Sandbox, rows: int) -> int:
    """Inserts in transactions of these sizes in turns, one table after another."""
    done = 0
    with closing(sandbox.connect()) as application, application.cursor() as cursor:
        for number in count():
            table, size = tables[number // len(sizes) % len(tables)], sizes[number % len(sizes)]
            batch = [table.row(next(_keys)) for _ in range(size)]
            for start in range(0, size, BATCH):
                cursor.executemany(table.insert, batch[start : start + BATCH])
            application.commit()
            done += size
            if done >= rows:
                return done
    raise AssertionError


def _loaded(sandbox: Sandbox, rows: int) -> int:
    return _transactions([MIDDLE], [10_000], sandbox, rows)


_HUGE = 2_000_000
WORKS = {
    "mixed": Work(
        "stream, 6 and 25 columns, transactions of 1000 rows and of 1 row in turns",
        (NARROW, WIDE),
        partial(_transactions, (NARROW, WIDE), (1000, 1)),
        300_000,
    ),
    "single": Work("stream, 6 columns, transactions of 1 row", (NARROW,), partial(_transactions, (NARROW,), (1,)), 40_000),
    "snapshot": Work("snapshot, 10 columns", (MIDDLE,), _loaded, 400_000, snapshot=True),
    "huge": Work(
        f"one transaction of {_HUGE:,} rows, 6 columns",
        (NARROW,),
        partial(_transactions, (NARROW,), (_HUGE,)),
        _HUGE,
        heap="4g",
    ),
    "incremental": Work(
        "incremental snapshot, 10 columns, while 400 rows/s are streamed",
        (MIDDLE, NARROW),
        _loaded,
        100_000,
        incremental=True,
    ),
}


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


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="bench.peer", description=__doc__)
    parser.add_argument("work", nargs="*", help=f"of {', '.join(WORKS)}; default all but huge and incremental")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", choices=("kafka", "nowhere", "both"), default="both")
    given = parser.parse_args()
    names = given.work or [name for name in WORKS if name not in ("huge", "incremental")]
    if unknown := sorted(set(names) - set(WORKS)):
        parser.error(f"no such work: {', '.join(unknown)}")
    targets: Sequence[Target] = ("kafka", "nowhere") if given.target == "both" else (given.target,)
    console = Console(width=140)
    table = Table(
        "path", "records go", *(f"{who}, rows / cpu s" for who in (f"Debezium {VERSION}", "minercdc")), "ratio", "MiB"
    )
    for name in names:
        # Of an incremental snapshot only its own topic shows how far it is.
        for target in ("kafka",) if WORKS[name].incremental else targets:
            console.print(f"{name}, {target} ..", highlight=False)
            rates = rounds(WORKS[name], target, given.rounds, console)
            shown = (_shown(rates.debezium), _shown(rates.minercdc), _shown(rates.ratios(), 2))
            table.add_row(WORKS[name].name, target, *shown, f"{rates.memory:.0f}")
    for fact in machine():
        console.print(fact, highlight=False)
    console.print(
        f"Debezium: embedded engine, heap {' and '.join(sorted({WORKS[name].heap for name in names}))}; medians of {given.rounds} rounds, lowest to highest",
        highlight=False,
    )
    console.print(table)


def _shown(values: Sequence[float], digits: int = 0) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


if __name__ == "__main__":
    main()
