"""Debezium's embedded engine and `minercdc run`, each in a process of its own, and what counts their records.

kafka      both write to the same broker: minercdc in transactions, Debezium by Kafka's own producer
nowhere    Debezium's records are dropped; minercdc prints them as JSON lines to a file
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import psutil
from confluent_kafka import Consumer
from tests.parity.debezium import Debezium

from bench.peer.works import Work
from bench.processes import Connector, Sandbox
from bench.tables import SIGNALS

_MOST = 1 << 30  # records of a run
_CHUNK = "incremental.snapshot.chunk.size: 10240"  # at 1024, the default, both wait for marks more than they read
_SIGNALS = f"signal.data.collection: ORCLPDB1.BENCH.{SIGNALS}"
Target: TypeAlias = Literal["kafka", "nowhere"]


class Arrivals:
    """Counts what a `read_committed` consumer sees of topics; tombstones do not count."""

    def __init__(self, broker: str, topics: Sequence[str]) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": broker,
            "group.id": f"peer-{topics[0]}",
            "auto.offset.reset": "earliest",
        }
        settings |= {"isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {
            "topic.metadata.refresh.interval.ms": 200,
            "max.poll.interval.ms": 86_400_000,
        }  # a pipeline has long pauses
        self._consumer = Consumer(settings)
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
    """`minercdc run`.

    :param settings: properties besides those of all benches.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        work: Work,
        target: Target,
        sandbox: Sandbox,
        broker: str,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        tables = "|".join(f"BENCH.{table.name}" for table in work.tables)
        more = [
            f"snapshot.mode: {'initial' if work.snapshot else 'no_data'}",
            "tombstones.on.delete: false",
            _SIGNALS,
            _CHUNK,
            *(f"{name}: {value}" for name, value in {**work.settings, **(settings or {})}.items()),
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

    def cpu_before_start(self) -> float:
        """CPU seconds that its next run has when it begins."""
        return 0.0

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
    """Debezium's embedded engine. Its consumer is made of method handles, so that nothing but Java runs for a record.

    :param settings: properties besides those of all benches.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        work: Work,
        target: Target,
        sandbox: Sandbox,
        broker: str,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        own = directory / name
        own.mkdir()
        self._target, self._broker = target, broker
        given = {
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
            **work.settings,
            **(settings or {}),
        }
        self._engine = Debezium(given, own, [f"-Xmx{work.heap}"])
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

    def cpu_before_start(self) -> float:
        """CPU seconds that its next run has when it begins: the process goes on."""
        return self.cpu()

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
