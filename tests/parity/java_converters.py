"""Converters of Kafka Connect by Debezium and Apicurio, unmodified, driven from Python through py4j: our records in, their bytes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from tests.parity.debezium import ARTIFACTS as DEBEZIUM

from minercdc.local.jars import fetch
from minercdc.local.java import find_java
from minercdc.stream.contracts import Record

APICURIO = "2.6.13.Final"  # the newest whose converter's jar is published
ARTIFACTS = (
    *DEBEZIUM,
    *(
        f"io.apicurio:apicurio-registry-{name}:{version}"
        for name, version in (
            ("utils-converter", APICURIO),
            ("common", APICURIO),
            ("schema-resolver", APICURIO),
            ("serde-common", APICURIO),
            ("client", "2.6.2.Final"),
            ("serdes-avro-serde", "2.6.2.Final"),
        )
    ),
    "io.apicurio:apicurio-common-rest-client-common:0.1.18.Final",
    "io.apicurio:apicurio-common-rest-client-jdk:0.1.18.Final",
    "org.apache.avro:avro:1.12.0",
    "commons-codec:commons-codec:1.17.1",
    "commons-io:commons-io:2.16.1",
    "org.apache.commons:commons-lang3:3.14.0",
)


def _bytes(content: Any) -> bytes | None:
    return None if content is None else bytes(content)


class JavaConverters:
    """One Java process."""

    def __init__(self, directory: Path) -> None:
        jars = fetch("converters", ARTIFACTS)
        gateway_jar = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        self._log = (directory / "java.log").open("wb")
        port, self._process = launch_gateway(
            jarpath=str(gateway_jar),
            classpath=":".join(map(str, jars)),
            java_path=str(find_java()),
            die_on_exit=True,
            return_proc=True,
            redirect_stdout=self._log,
            redirect_stderr=self._log,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        settings = {"schemas.enable": "true", "replace.null.with.default": "false"}
        self._json = self.converter("org.apache.kafka.connect.json.JsonConverter", settings)

    def converter(self, name: str, settings: Mapping[str, str], *, is_key: bool = False) -> Any:
        """A configured converter by its class."""
        made = self._new(name)
        made.configure(dict(settings), is_key)
        return made

    def written(self, converter: Any, topic: str, document: bytes) -> bytes | None:
        """What a converter writes of a record.

        :param document: JSON with its schema, as Connect's JsonConverter writes it.
        """
        read = self._json.toConnectData(topic, document)
        made = converter.fromConnectData(topic, read.schema(), read.value())
        return None if made is None else bytes(made)

    def with_headers(self, converter: Any, topic: str, document: bytes) -> tuple[bytes, dict[str, bytes]]:
        """The same by a converter that writes headers, too."""
        read = self._json.toConnectData(topic, document)
        headers = self._gateway.jvm.org.apache.kafka.common.header.internals.RecordHeaders()
        made = converter.fromConnectData(topic, headers, read.schema(), read.value())
        return bytes(made), {header.key(): bytes(header.value()) for header in headers.toArray()}

    def header(self, name: str, document: bytes, **settings: str) -> bytes:
        """What a converter of headers, by its class, writes of a value, JSON with its schema."""
        read, converter = self._json.toConnectData("t", document), self._new(f"org.apache.kafka.connect.{name}")
        converter.configure({"converter.type": "header", **settings})
        return bytes(converter.fromConnectHeader("t", "h", read.schema(), read.value()))

    def read(self, converter: Any, topic: str, content: bytes) -> bytes:
        """What a converter reads of a record's bytes, as JSON with its schema."""
        read = converter.toConnectData(topic, content)
        return bytes(self._json.fromConnectData(topic, read.schema(), read.value()))

    def transformed(self, steps: Iterable[tuple[str, Mapping[str, str]]], records: Iterable[Record]) -> Iterator[Record]:
        """Records after transformations of Kafka Connect; keys and values as JSON with schemas, headers as SimpleHeaderConverter
        writes them.

        :param steps: class and options of each.
        :param records: with keys and values in JSON with schemas.
        """
        chain = [self._step(kind, options) for kind, options in steps]
        headers = self._new("org.apache.kafka.connect.storage.SimpleHeaderConverter")
        headers.configure({})
        source = self._gateway.jvm.org.apache.kafka.connect.source.SourceRecord
        for record in records:
            key, value = (self._json.toConnectData(record.topic, text) for text in (record.key, record.value))
            made = source(None, None, record.topic, None, key.schema(), key.value(), value.schema(), value.value())
            for step in chain:
                made = None if made is None else step.apply(made)
            if made is None:
                continue
            written_key = self._json.fromConnectData(made.topic(), made.keySchema(), made.key())
            written_value = self._json.fromConnectData(made.topic(), made.valueSchema(), made.value())
            bare, each = [], made.headers().iterator()
            while each.hasNext():
                one = each.next()
                content = headers.fromConnectHeader(made.topic(), one.key(), one.schema(), one.value())
                bare.append((one.key(), _bytes(content)))
            yield Record(made.topic(), _bytes(written_key), _bytes(written_value), tuple(bare))

    def _step(self, kind: str, options: Mapping[str, str]) -> Any:
        made = self._new(kind)
        made.configure(dict(options))
        return made

    def _new(self, name: str) -> Any:
        return (
            self._gateway.jvm.java.lang.Class.forName(name)
            .getDeclaredConstructor(self._gateway.new_array(self._gateway.jvm.java.lang.Class, 0))
            .newInstance(self._gateway.new_array(self._gateway.jvm.java.lang.Object, 0))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.shutdown()
        self._process.stdin.close()
        self._process.wait(30)
        self._log.close()
