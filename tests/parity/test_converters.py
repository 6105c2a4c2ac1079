"""Our converters' bytes are those of Debezium's CloudEventsConverter and of Apicurio's converters, with the same registry.

Both register the schemas of the same topics: equal ids mean that the registry took their schemas for the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import fastavro
import httpx2
import pytest
from tests.parity.java_converters import JavaConverters
from tests.unit.config.test_load import GOOD
from tests.unit.messages.formats.test_avro import ALL, ROWS, encoded
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, encoder, event

from minercdc.config.load import parse_properties
from minercdc.local.schema_registry import LocalRegistry
from minercdc.messages.formats.configured import record_converter
from minercdc.stream.contracts import Record
from minercdc.stream.events import Op
from minercdc.values.codec import ValueHandling

CLOUD_EVENTS = "io.debezium.converters.CloudEventsConverter"
AVRO = "io.apicurio.registry.utils.converter.AvroConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
EXT_JSON = "io.apicurio.registry.utils.converter.ExtJsonConverter"
CONFLUENT = {"apicurio.registry.as-confluent": "true"}
BY_CONTENT = CONFLUENT | {"apicurio.registry.use-id": "contentId"}
CONFLUENT_AVRO = "io.confluent.connect.avro.AvroConverter"
HEADERS = {"apicurio.registry.headers.enabled": "true"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a registry, without the path of an API."""
    with LocalRegistry(tmp_path_factory.mktemp("registry") / "registry.log") as running:
        yield f"http://{running.host}:{running.port}"


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConverters]:
    with JavaConverters(tmp_path_factory.mktemp("java")) as running:
        yield running


def records() -> list[Record]:
    """Records with schemas: of all types, and of each kind of change."""
    moved = ("70022", *PAID[1:])
    changes = [event(Op.CREATE, None, row, ALL) for row in ROWS[:2]] + [  # Connect reads no NaN back
        event(Op.UPDATE, NEW, PAID, ORDERS),
        event(Op.UPDATE, PAID, moved, ORDERS),
        event(Op.DELETE, PAID, None, ORDERS),
    ]
    return encoded(*changes)


def ours(settings: dict[str, str]) -> Any:
    converter = record_converter(parse_properties({**GOOD, **settings}).converters, 10)
    assert converter is not None
    return converter


def access(registry: str, prefix: str = "", version: int = 2) -> dict[str, str]:
    url, register = f"{prefix}apicurio.registry.url", f"{prefix}apicurio.registry.auto-register"
    return {url: f"{registry}/apis/registry/v{version}", register: "true"}


def without_address(event_: Any) -> Any:
    """A CloudEvent; Debezium reads four of eight bytes as the id of the schema."""
    return {name: value for name, value in event_.items() if name != "dataschema"}


def with_their_id(event_: bytes, theirs: bytes) -> bytes:
    """Our CloudEvent in JSON with Debezium's id, with which ours begins: theirs is not unique."""
    our_id, their_id = json.loads(event_)["id"], json.loads(theirs)["id"]
    assert our_id.startswith(f"{their_id};table:")
    return event_.replace(our_id.encode(), their_id.encode(), 1)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("json", {"json.schemas.enable": "false"}),
        ("schemas", {"json.schemas.enable": "true"}),
        ("bare", {"json.schemas.enable": "false", "extension.attributes.enable": "false"}),
        ("avro-data", {"data.serializer.type": "avro"}),
        ("avro-data-confluent", {"data.serializer.type": "avro", **{f"avro.{k}": v for k, v in CONFLUENT.items()}}),
    ],
)
def test_cloud_events_are_debeziums(name: str, settings: dict[str, str], java: JavaConverters, registry: str) -> None:
    given = settings | (access(registry, "avro.") if "avro" in name else {})
    theirs = java.converter(CLOUD_EVENTS, given)
    converter = ours({"value.converter": CLOUD_EVENTS} | {f"value.converter.{key}": value for key, value in given.items()})
    for record in records():
        if record.value is not None:
            topic = f"{name}.{record.topic}"
            expected = java.written(theirs, topic, record.value)
            assert expected is not None
            found = with_their_id(converter.record(replace(record, topic=topic)).value, expected)
            if name == "schemas":  # the members of schemas have no order
                assert json.loads(found) == json.loads(expected)
            elif name == "avro-data":
                assert without_address(json.loads(found)) == without_address(json.loads(expected))
            else:
                assert found == expected


def test_an_event_in_avro_is_debeziums(java: JavaConverters, registry: str) -> None:
    given = {
        "serializer.type": "avro",
        "data.serializer.type": "avro",
        **access(registry, "avro."),
        "avro.apicurio.registry.as-confluent": "true",
    }
    converter = ours({"value.converter": CLOUD_EVENTS} | {f"value.converter.{key}": value for key, value in given.items()})
    for name in {record.topic for record in records()}:
        theirs = java.converter(CLOUD_EVENTS, given)  # one for each topic: it keeps the id of a schema that two have
        for record in records():
            if record.topic == name and record.value is not None:
                topic = f"avro.{name}"
                expected = java.written(theirs, topic, record.value)
                assert expected is not None
                found = converter.record(replace(record, topic=topic)).value
                assert found[:5] == expected[:5]  # the id of the schema
                our, their = (avro_event(registry, content) for content in (found, expected))
                assert our.pop("id").startswith(f"{their.pop('id')};table:")
                assert our == their


def avro_event(registry: str, content: bytes) -> dict[str, Any]:
    """A CloudEvent in Avro, after a zero byte and the id of its schema."""
    text = httpx2.get(f"{registry}/apis/registry/v2/ids/globalIds/{int.from_bytes(content[1:5], 'big')}").text
    read: Any = fastavro.schemaless_reader(BytesIO(content[5:]), fastavro.parse_schema(json.loads(text)), None)
    return dict(read)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("long", {}),
        ("confluent", CONFLUENT),
        ("content", BY_CONTENT),
        ("group", {"apicurio.registry.artifact.group-id": "G"}),
        *(
            (strategy, {"apicurio.registry.artifact-resolver-strategy": f"io.apicurio.registry.serde.{strategy}"})
            for strategy in (
                "strategy.SimpleTopicIdStrategy",
                "avro.strategy.RecordIdStrategy",
                "avro.strategy.TopicRecordIdStrategy",
                "avro.strategy.QualifiedRecordIdStrategy",
            )
        ),
    ],
)
def test_avro_is_apicurios(name: str, more: dict[str, str], version: int, java: JavaConverters, registry: str) -> None:
    converter = ours(
        {f"{side}.converter": AVRO for side in ("key", "value")}
        | {
            f"{side}.converter.{key}": value
            for side in ("key", "value")
            for key, value in (access(registry, version=version) | more).items()
        }
    )
    sides = {side: java.converter(AVRO, access(registry) | more, is_key=side == "key") for side in ("key", "value")}
    for record in records():
        topic = f"v{version}.{name}.{record.topic}"
        documents = {"key": record.key, "value": record.value}
        expected = {
            side: java.written(sides[side], topic, document) for side, document in documents.items() if document is not None
        }
        made = converter.record(replace(record, topic=topic))
        assert {side: found for side, found in (("key", made.key), ("value", made.value)) if found is not None} == expected


def test_ids_in_headers_are_apicurios(java: JavaConverters, registry: str) -> None:
    converter = ours(
        {f"{side}.converter": AVRO for side in ("key", "value")}
        | {
            f"{side}.converter.{key}": value
            for side in ("key", "value")
            for key, value in (access(registry) | HEADERS).items()
        }
    )
    sides = {side: java.converter(AVRO, access(registry) | HEADERS, is_key=side == "key") for side in ("key", "value")}
    for record in records():
        if record.key is not None and record.value is not None:
            topic = f"headers.{record.topic}"
            key, of_key = java.with_headers(sides["key"], topic, record.key)
            value, of_value = java.with_headers(sides["value"], topic, record.value)
            made = converter.record(replace(record, topic=topic, headers=()))
            assert (made.key, made.value, dict(made.headers)) == (key, value, of_key | of_value)


def test_ext_json_is_apicurios(java: JavaConverters, registry: str) -> None:
    settings = access(registry)
    converter = ours({"value.converter": EXT_JSON} | {f"value.converter.{key}": value for key, value in settings.items()})
    theirs = java.converter(EXT_JSON, settings)
    for record in records():
        if record.value is not None:
            topic = f"ext.{record.topic}"
            expected = java.written(theirs, topic, record.value)
            assert expected is not None
            found, theirs_json = json.loads(converter.record(replace(record, topic=topic)).value), json.loads(expected)
            schemas = [
                httpx2.get(f"{registry}/apis/registry/v2/ids/globalIds/{one.pop('schemaId')}").json()
                for one in (found, theirs_json)
            ]
            assert schemas[0] == schemas[1]
            assert found == theirs_json


_CONNECTS: dict[str, Any] = {"optional": False, "field": "K", "version": 1}
_DECIMAL = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}, **_CONNECTS}


@pytest.mark.parametrize(
    ("field", "value", "simple"),
    [
        ({"type": "string", "optional": False, "field": "K"}, 'a"b\\é', ""),
        ({"type": "string", "optional": False, "field": "K"}, "a\nb\t", '{"K":"a\nb\t"}'),
        ({"type": "int64", "name": "io.debezium.time.MicroTimestamp", **_CONNECTS}, 1790000000123456, ""),
        ({"type": "bytes", **_DECIMAL}, "BNI=", '{"K":12.34}'),
        ({"type": "int32", "name": "org.apache.kafka.connect.data.Date", **_CONNECTS}, 20000, '{"K":2024-10-04}'),
        ({"type": "int32", "name": "org.apache.kafka.connect.data.Time", **_CONNECTS}, 3600123, '{"K":01:00:00.123Z}'),
    ],
)
def test_keys_in_headers_are_connects_but_where_the_page_of_parity_says_so(
    java: JavaConverters, field: dict[str, Any], value: object, simple: str
) -> None:
    """A header with a key is the key's JSON: the payload of a key that JsonConverter writes."""
    schema = {"type": "struct", "optional": False, "name": "k.Key", "fields": [field]}
    document, ours_ = (
        json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode()
        for one in ({"schema": schema, "payload": {"K": value}}, {"K": value})
    )
    assert java.header("storage.SimpleHeaderConverter", document) == (simple.encode() or ours_)
    assert java.header("json.JsonConverter", document, **{"schemas.enable": "false"}) == ours_
    text = json.dumps({"schema": {"type": "string", "optional": False}, "payload": "oracle"}).encode()
    assert java.header("storage.SimpleHeaderConverter", text) == b"oracle"
    assert java.header("json.JsonConverter", text, **{"schemas.enable": "false"}) == b'"oracle"'


NUMBERS = (0.0, 1.0, 100.5, 0.001, 0.00099, 9999999.0, 1e7, 1.5e-300, -2.25e100, 3.4e38, 1 / 3)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_texts_of_numbers_are_javas(kind: str, java: JavaConverters) -> None:
    theirs, converter = java.converter(STRING, {}), ours({"value.converter": STRING})
    schema = {"type": kind, "optional": False}
    for number in NUMBERS:
        if kind == "double" or (abs(number) < 3.4e38 and number != 1.5e-300):
            document = json.dumps({"schema": schema, "payload": number}, separators=(",", ":")).encode()
            assert converter.record(Record("t", None, document)).value == java.written(theirs, "t", document)


def test_texts_of_rows_are_javas(java: JavaConverters) -> None:
    made = encoder(
        lambda: 1_789_990_213_402_118_903,
        ValueHandling(decimal="string", binary="hex"),
        value_converter_schemas_enable="true",
        key_converter_schemas_enable="true",
    )
    theirs, converter = java.converter(STRING, {}), ours({f"{side}.converter": STRING for side in ("key", "value")})
    for row in ROWS[:2]:
        for record in made.encode(event(Op.CREATE, None, row, ALL)):
            expected = [
                java.written(theirs, "t", document) for document in (record.key, record.value) if document is not None
            ]
            found = converter.record(record)
            assert [found.key, found.value] == expected


@pytest.mark.parametrize("name", ["confluent", "apicurio"])
def test_apicurios_client_reads_our_avro(name: str, java: JavaConverters, registry: str) -> None:
    """With ids in four bytes: those of Confluent's API of this registry are its content ids."""
    written = {
        "confluent": {
            "value.converter": CONFLUENT_AVRO,
            "value.converter.schema.registry.url": f"{registry}/apis/ccompat/v7",
        },
        "apicurio": {"value.converter": AVRO}
        | {f"value.converter.{k}": v for k, v in (access(registry, version=3) | BY_CONTENT).items()},
    }
    theirs = java.converter(AVRO, access(registry) | BY_CONTENT)
    converter = ours(written[name])
    for record in records():
        if record.value is not None:
            topic = f"read-{name}.{record.topic}"
            expected = json.loads(record.value)["payload"]
            found = converter.record(replace(record, topic=topic)).value
            assert json.loads(java.read(theirs, topic, found))["payload"] == expected
