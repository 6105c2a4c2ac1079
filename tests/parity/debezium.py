"""Debezium's Oracle connector, unmodified, in its own embedded engine: driven from Python through py4j.

The packaged Java has no compiler, so nothing of it is ours: the engine, the connector and Oracle's driver come as jars, and
Python gives the engine its consumer (py4j's callback server).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway

from minercdc.local.jars import fetch
from minercdc.local.java import find_java

VERSION = "3.6.1.Final"
_DEBEZIUM = (
    *(
        "api",
        "config",
        "connect-plugins",
        "connector-common",
        "connector-oracle",
        "ddl-parser",
        "embedded",
        "openlineage-api",
    ),
    *("storage-file", "storage-kafka", "util"),
)
ARTIFACTS = (
    *(f"io.debezium:debezium-{name}:{VERSION}" for name in _DEBEZIUM),
    *(f"org.apache.kafka:connect-{name}:4.3.0" for name in ("api", "file", "json", "runtime", "transforms")),
    "org.apache.kafka:kafka-clients:4.3.0",
    "com.oracle.database.jdbc:ojdbc11:23.26.1.0.0",
    "com.oracle.database.nls:orai18n:23.26.1.0.0",
    "org.antlr:antlr4-runtime:4.10.1",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    *(f"com.fasterxml.jackson.core:jackson-{name}:2.21.2" for name in ("core", "databind")),
    *(f"com.fasterxml.jackson.datatype:jackson-datatype-{name}:2.21.2" for name in ("jdk8", "jsr310")),
    "com.fasterxml.jackson.module:jackson-module-blackbird:2.21.2",
    "jakarta.ws.rs:jakarta.ws.rs-api:3.1.0",
    "org.apache.maven:maven-artifact:3.9.15",
    "io.github.classgraph:classgraph:4.8.179",
    "com.datadoghq:sketches-java:0.8.2",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-simple:1.7.36",
    "com.google.protobuf:protobuf-java:3.25.5",
)


class Emitted(NamedTuple):
    """A record as JSON text; `value` None is a tombstone."""

    topic: str
    key: str | None
    value: str | None
    headers: Mapping[str, str]


class _Consumer:
    def __init__(self, take: Callable[[Emitted], None]) -> None:
        self._take = take

    def accept(self, record: Any) -> None:
        headers = {header.getKey(): header.getValue() for header in record.headers()}
        self._take(Emitted(record.destination(), record.key(), record.value(), headers))

    class Java:
        implements = ("java.util.function.Consumer",)


class _Completion:
    def __init__(self) -> None:
        self.failure: str | None = None
        self.ended = threading.Event()

    def handle(self, success: bool, message: str, error: Any) -> None:
        reasons = []
        while error is not None:
            reasons.append(error.toString())
            error = error.getCause()
        self.failure = None if success else "\n".join([message, *reasons])
        self.ended.set()

    class Java:
        implements = ("io.debezium.engine.DebeziumEngine$CompletionCallback",)


class Debezium:
    """One Java process; `run` and `stop` make runs of the connector, which share offsets and schema history.

    :param directory: for its offsets, schema history and log.
    :param java_options: of its Java process, such as the size of its heap.
    :param more_jars: besides Debezium's own.
    :ivar records: everything emitted in all runs that Python consumes.
    :ivar jvm: its classes, through py4j.
    :raises LocalServiceError: there is no Java, or the jars cannot be fetched.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        directory: Path,
        java_options: Sequence[str] = (),
        more_jars: Sequence[Path] = (),
    ) -> None:
        jars = [*fetch("debezium", ARTIFACTS), *more_jars]
        gateway_jar = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        self._log = (directory / "debezium.log").open("wb")
        port, self._process = launch_gateway(
            jarpath=str(gateway_jar),
            classpath=":".join(map(str, jars)),
            java_path=str(find_java()),
            javaopts=list(java_options),
            die_on_exit=True,
            return_proc=True,
            redirect_stdout=self._log,
            redirect_stderr=self._log,
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auto_convert=True),
            # As daemons, or a test that fails before `close` would keep the process of the tests from ending.
            callback_server_parameters=CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True),
        )
        self.jvm: Any = self._gateway.jvm
        server, callbacks = self._gateway.java_gateway_server, self._gateway.get_callback_server()
        server.resetCallbackClient(server.getCallbackClient().getAddress(), callbacks.get_listening_port())
        self._settings = {
            "name": "parity",
            "connector.class": "io.debezium.connector.oracle.OracleConnector",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(directory / "offsets.dat"),
            "offset.flush.interval.ms": "100",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(directory / "history.dat"),
            **settings,
        }
        self.records: list[Emitted] = []
        self._engine: Any = None
        self._completion = _Completion()

    @property
    def pid(self) -> int:
        """Of its Java process."""
        return int(self._process.pid)

    def classes(self, name: str) -> Any:
        """A class by its full name."""
        return self.jvm.java.lang.Class.forName(name)

    def array(self, kind: Any, size: int) -> Any:
        """An array of a class."""
        return self._gateway.new_array(kind, size)

    def run(self, consumer: Any = None) -> None:
        """Begin a run.

        :param consumer: a java.util.function.Consumer of its records; None: Python is, and keeps them.
        """
        java = self.jvm
        properties = java.java.util.Properties()
        for name, value in self._settings.items():
            properties.setProperty(name, value)
        self._completion = _Completion()
        form = java.java.lang.Class.forName("io.debezium.engine.format.Json")
        if consumer is None:
            form = java.io.debezium.engine.format.KeyValueHeaderChangeEventFormat.of(form, form, form)
        builder = java.io.debezium.engine.DebeziumEngine.create(form)
        taker = _Consumer(self.records.append) if consumer is None else consumer
        self._engine = builder.using(properties).using(self._completion).notifying(taker).build()
        java.java.lang.Thread(self._engine).start()

    def await_records(self, enough: Callable[[list[Emitted]], bool], seconds: float = 90) -> None:
        """Until there are enough. Fails when the engine ends before."""
        deadline = time.monotonic() + seconds
        while not enough(self.records):
            assert not self._completion.ended.is_set(), f"Debezium ended: {self._completion.failure}"
            assert time.monotonic() < deadline, f"Debezium emitted {len(self.records)} records, the last {self.records[-1:]}"
            time.sleep(0.02)

    def check(self) -> None:
        """Fails when the engine has ended."""
        assert not self._completion.ended.is_set(), f"Debezium ended: {self._completion.failure}"

    def stop(self) -> None:
        """End the run in order."""
        self._engine.close()
        assert self._completion.ended.wait(30), "Debezium did not stop"
        assert self._completion.failure is None, self._completion.failure

    def close(self) -> None:
        """End the Java process."""
        self._gateway.shutdown_callback_server()
        self._gateway.shutdown()
        self._process.stdin.close()
        self._process.wait(30)
        self._log.close()
