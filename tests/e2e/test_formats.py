"""Formats with a real schema registry, read by other people's clients; and every file in connectors/formats/, run as it is."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import httpx2
import pytest
from confluent_kafka import Message
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, Lab
from tests.e2e.test_avro import WIDE, as_json, avro_records, converters, deliver, without_times
from tests.e2e.test_signals import signalling
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.kafka.consume import await_committed, read_committed
from tests.unit.messages.formats.protoc import message_class

from minercdc.errors import RecordSchemaError, SinkError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.schema_registry import LocalRegistry
from minercdc.messages.registries.access import RegistryAccess
from minercdc.messages.registries.apicurio import ApicurioRegistry, ApicurioSchemas, artifact_names
from minercdc.messages.registries.confluent import SchemaText

with warnings.catch_warnings():  # it names a library's newer sibling
    warnings.simplefilter("ignore")
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "connectors" / "formats").iterdir())
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("registry") / "registry.log") as running:
        yield running


def of_protobuf(message: Any) -> Any:
    """A message as JSON has it; fields with the label `optional` that are not there are null."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            value = getattr(message, field.name)
            found[field.name] = of_protobuf(value) if field.message_type is not None else value
    return found


def protobuf_records(url: str, brokers: str, topic: str, names: dict[MessageField, str]) -> list[Any]:
    """Keys and values, or None for what is no Protobuf, as an application with Confluent's client reads them."""
    with SchemaRegistryClient({"url": url, "timeout": 30}) as client:

        def parsed(content: bytes | None, field: MessageField) -> Any:
            if content is None or field not in names:
                return None
            text = client.get_schema(int.from_bytes(content[1:5], "big")).schema_str
            # Without the client: Apicurio does not encode the form of a schema that it requests as Confluent's registry does.
            read = ProtobufDeserializer(message_class(text, names[field]), {"use.deprecated.format": False})
            return of_protobuf(read(content, SerializationContext(topic, field)))

        return [
            (parsed(m.key(), MessageField.KEY), parsed(m.value(), MessageField.VALUE))
            for m in read_committed(brokers, topic)
        ]


def test_protobuf_records_equal_those_of_a_json_connector(lab: Lab, registry: LocalRegistry) -> None:
    lab.execute(
        WIDE,
        LOGGED.format("W"),
        "INSERT INTO W VALUES (1, -7, 12.34, 123456789012345678901234567890.5, 1.5, '00FF10', DATE '2026-09-21',"
        " TIMESTAMP '2026-09-21 10:30:00.123456', 'grün')",
        "INSERT INTO W (ID, TINY, V) VALUES (2, 0, ' ')",
    )
    common: dict[str, Any] = {"table_include_list": f"{lab.schema}.W", "decimal_handling_mode": "string"}
    given = converters(registry.url) | {f"{side}_converter": PROTOBUF for side in ("key", "value")}
    given |= {"value_converter_optional_for_nullables": "true"}
    protobuf = lab.config("protobuf.yaml", **common, **given)
    written_to, expected_in = lab.topic("W"), f"j{lab.name}.{lab.schema}.W"
    plain = lab.config("json.yaml", **common, name=f"j{lab.name}", topic_prefix=f"j{lab.name}")
    deliver(lab, protobuf, written_to, 2)
    deliver(lab, plain, expected_in, 2)
    lab.execute("UPDATE W SET TINY = 5, V = NULL WHERE ID = 1", "INSERT INTO W (ID, V) VALUES (3, 'x')")
    lab.execute("UPDATE W SET ID = 4 WHERE ID = 3", "DELETE FROM W WHERE ID = 2")
    deliver(lab, protobuf, written_to, 9)  # with tombstones
    deliver(lab, plain, expected_in, 9)
    names = {MessageField.KEY: f"{written_to}.Key", MessageField.VALUE: f"{written_to}.Envelope"}
    written = [
        without_times((as_json(key), as_json(value)))
        for key, value in protobuf_records(registry.url, lab.brokers, written_to, names)
    ]
    expected = [
        without_times((json.loads(m.key() or b"null"), json.loads(m.value() or b"null")))
        for m in read_committed(lab.brokers, expected_in)
    ]
    assert len(expected) == 9
    for one, other in zip(written, expected, strict=True):
        assert one == other
    compared_and_shown(lab, protobuf, "W")
    refused = lab.minercdc("verify", str(lab.config("lossy.yaml", **common, **{**given, LABEL: "false"})))
    assert (refused.status, "values are in Protobuf without nulls" in refused.errors) == (1, True)


LABEL = "value_converter_optional_for_nullables"


def compared_and_shown(lab: Lab, config: Path, table: str) -> None:
    """`verify` finds the table's topic equal to it, and `tail` shows its records."""
    compared = lab.minercdc("verify", str(config))
    assert (compared.status, "0 differences" in compared.output) == (0, True), compared.output + compared.errors
    lab.execute(f"DELETE FROM {table} WHERE ID = 1")
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        shown = lab.minercdc("tail", str(config), table, "--since", "2026-01-01T00:00:00Z", "--count", "2", "--json")
        connector.stop_in_order()
    records = [json.loads(line) for line in shown.output.splitlines()]
    rows = [(record["key"]["ID"], record["value"]["after"]["ID"]) for record in records]
    assert [tuple(map(int, row)) for row in rows] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("given", [{}, {"use_id": "contentId", "as_confluent": "true"}], ids=["defaults", "as version 3"])
def test_topics_in_apicurios_wire_format_are_read_back(lab: Lab, registry: LocalRegistry, given: dict[str, str]) -> None:
    lab.execute(WIDE, LOGGED.format("W"), "INSERT INTO W (ID, V) VALUES (1, 'x')", "INSERT INTO W (ID) VALUES (2)")
    own = {"url": f"{registry.url.partition('/apis')[0]}/apis/registry/v3", "auto_register": "true", **given}
    sides: dict[str, Any] = {f"{side}_converter": APICURIO for side in ("key", "value")}
    sides |= {f"{side}_converter_apicurio_registry_{name}": v for side in ("key", "value") for name, v in own.items()}
    config = lab.config(**hyphens(sides), table_include_list=f"{lab.schema}.W")
    deliver(lab, config, lab.topic("W"), 2)
    compared_and_shown(lab, config, "W")


def hyphens(properties: dict[str, Any]) -> dict[str, Any]:
    """Names of fields as those of properties that have hyphens."""
    made = {name.replace("auto_register", "auto-register"): value for name, value in properties.items()}
    return {n.replace("use_id", "use-id").replace("as_confluent", "as-confluent"): value for n, value in made.items()}


def test_files_that_protobuf_schemas_import_can_be_references(lab: Lab, registry: LocalRegistry) -> None:
    lab.execute("CREATE TABLE P (ID NUMBER(9) PRIMARY KEY, AMOUNT NUMBER(12,2))", LOGGED.format("P"))
    lab.execute("INSERT INTO P VALUES (1, 12.34)")
    given = {"value_converter": PROTOBUF, "value_converter_schema_registry_url": registry.url}
    given |= {"value_converter_skip_known_types": "false", "table_include_list": f"{lab.schema}.P"}
    deliver(lab, lab.config(**given), lab.topic("P"), 1)
    newest = httpx2.get(f"{registry.url}/subjects/{lab.topic('P')}-value/versions/latest").json()
    assert {reference["name"] for reference in newest["references"]} == {
        "confluent/meta.proto",
        "confluent/type/decimal.proto",
    }
    names = {MessageField.VALUE: f"{lab.topic('P')}.Envelope"}
    ((_, value),) = protobuf_records(registry.url, lab.brokers, lab.topic("P"), names)
    assert value["after"]["AMOUNT"] == {"value": (1234).to_bytes(2, "big"), "precision": 4, "scale": 2}


def test_rows_that_vanished_from_a_suspended_table_are_deleted_in_its_avro_topic(lab: Lab, registry: LocalRegistry) -> None:
    settings = {"signal.enabled.channels": "source", "signal.poll.interval.ms": 100, "snapshot.mode": "initial"}
    config = lab.config(**signalling(lab, **settings), **converters(registry.url))

    def await_rows(connector: MinerCdc, expected: dict[int, str]) -> list[Any]:
        deadline = time.monotonic() + 60
        while True:
            rows: dict[int, str] = {}
            records = avro_records(registry.url, lab.brokers, lab.topic())
            for key, value in records:
                rows.pop(key["ID"], None)
                if value is not None and value["op"] != "d":
                    rows[key["ID"]] = value["after"]["V"]
            if rows == expected:
                return records
            assert time.monotonic() < deadline, f"{rows}\n{connector.story()}"
            time.sleep(0.02)

    with lab.run(config) as connector:
        await_rows(connector, dict.fromkeys(range(3), "initial"))
        connector.await_log("streaming: ")
        lab.execute("ALTER TABLE T DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        connector.await_log("supplemental logging is missing")
        lab.execute("UPDATE T SET V = 'unknown' WHERE ID = 1", "DELETE FROM T WHERE ID = 0")
        lab.execute("INSERT INTO T VALUES (8, 'left out')")
        lab.execute(LOGGED.format("T"))
        records = await_rows(connector, {1: "unknown", 2: "initial", 8: "left out"})
        connector.stop_in_order()
    deletes = [(key, value["before"]) for key, value in records if value is not None and value["op"] == "d"]
    assert deletes == [({"ID": 0}, {"ID": 0, "V": None})]


ORDER = '{"type":"record","name":"Order","fields":[{"name":"ID","type":"int"}]}'
OTHER = '{"type":"record","name":"Order","fields":[{"name":"ID","type":"string"}]}'


@pytest.mark.parametrize("version", [2, 3])
def test_apicurios_registry_by_its_own_api(registry: LocalRegistry, version: int) -> None:
    base = f"http://{registry.host}:{registry.port}/apis/registry"
    client = ApicurioRegistry(RegistryAccess((f"{base}/v{version}",), timeout=5))

    def schemas(**options: Any) -> ApicurioSchemas:
        common: dict[str, Any] = {
            "auto_register": True,
            "if_exists": "FIND_OR_CREATE_VERSION",
            "find_latest": False,
            "kind": "globalId",
            "as_confluent": False,
            "header_prefix": "",
        }
        return ApicurioSchemas(client, artifact_names("TopicIdStrategy", "value", "G"), **{**common, **options})

    topic = f"api{version}"
    not_registering = (schemas(auto_register=False), schemas(auto_register=False, find_latest=True))
    for absent in not_registering:
        with pytest.raises(RecordSchemaError, match=f"no artifact {topic}-value in group G(.|\n)*auto-register=true"):
            absent.identity(topic, "Order", SchemaText(ORDER), lambda _: True)
    made = schemas().identity(topic, "Order", SchemaText(ORDER), lambda _: True)
    assert made.before == b"\0" + made.number.to_bytes(8, "big")
    for registering in (schemas(), schemas(find_latest=True)):
        assert registering.identity(topic, "Order", SchemaText(ORDER), lambda _: True) == made
    for found in not_registering:
        assert found.identity(topic, "Order", SchemaText(ORDER), lambda text: json.loads(text) == json.loads(ORDER)) == made
        with pytest.raises(RecordSchemaError, match="has different fields from the table"):
            found.identity(topic, "Order", SchemaText(OTHER), lambda text: json.loads(text) == json.loads(OTHER))
    rule = {"type": "COMPATIBILITY", "ruleType": "COMPATIBILITY", "config": "BACKWARD"}
    rule.pop("ruleType" if version == 2 else "type")
    httpx2.post(f"{base}/v{version}/groups/G/artifacts/{topic}-value/rules", json=rule).raise_for_status()
    faults = (
        rf"artifact {topic}-value \(BACKWARD\): ID was int and is string; the registry says: .*STRING.*INT.*/fields/0/type"
    )
    with pytest.raises(RecordSchemaError, match=f"refuses the new schema of {faults}"):
        schemas().identity(topic, "Order", SchemaText(OTHER), lambda _: True)
    assert client.versions("G", f"{topic}-value", "globalId") == [made.number]
    assert client.versions("G", "none", "globalId") == []
    assert json.loads(client.schema("globalId", made.number)) == json.loads(ORDER)
    with pytest.raises(SinkError, match="reading the schema with contentId 987654321"):
        client.schema("contentId", 987654321)
    with pytest.raises(RecordSchemaError, match=f"schema of artifact {topic}-value; the registry says: .*already exists"):
        schemas(if_exists="FAIL").identity(topic, "Order", SchemaText(OTHER), lambda _: True)


@pytest.fixture(scope="module")
def shop() -> Iterator[SandboxProcess]:
    running = SandboxProcess([ROOT / "signals" / "shop.sql"])
    try:
        yield running
    finally:
        running.stop()


def _avro(url: str, brokers: str, topic: str, _: list[Message]) -> Any:
    return [value["after"] for _, value in avro_records(url, brokers, topic)]


def _protobuf(url: str, brokers: str, topic: str, _: list[Message]) -> Any:
    names = {MessageField.VALUE: f"{topic}.Envelope".replace("-", "_")}
    return [value["after"] for _, value in protobuf_records(url, brokers, topic, names)]


def _cloud_events(_url: str, _brokers: str, _topic: str, found: list[Message]) -> Any:
    events = [json.loads(message.value() or b"") for message in found]
    assert {event["specversion"] for event in events} == {"1.0"}
    return [event["data"]["after"] for event in events]


def _long_ids(url: str, _brokers: str, _topic: str, found: list[Message]) -> Any:
    """A zero byte and the id in eight bytes, whose schema the registry's own API has."""
    rows = []
    for message in found:
        content = message.value() or b""
        number = int.from_bytes(content[1:9], "big")
        schema = httpx2.get(f"{url.partition('/apis')[0]}/apis/registry/v3/ids/globalIds/{number}").json()
        value: Any = fastavro.schemaless_reader(BytesIO(content[9:]), fastavro.parse_schema(schema), None)
        rows.append(value["after"])
    return rows


def _events_in_avro(url: str, brokers: str, topic: str, _: list[Message]) -> Any:
    """Events in Avro, whose data is in Avro, too."""
    rows = []
    with SchemaRegistryClient({"url": url, "timeout": 30}) as client:
        read = AvroDeserializer(client)
        for _key, event in avro_records(url, brokers, topic, keys=False):
            assert event["datacontenttype"] == "application/avro"
            assert httpx2.get(event["dataschema"]).status_code == 200
            data: Any = read(event["data"], SerializationContext(f"{topic}-data", MessageField.VALUE))
            rows.append(data["after"])
    return rows


def _binary(_url: str, _brokers: str, topic: str, found: list[Message]) -> Any:
    for message in found:
        headers: Any = dict(message.headers() or ())
        assert (headers["ce_specversion"], headers["content-type"]) == (b"1.0", b"application/json")
        assert headers["ce_iodebeziumtable"].decode() == topic.rpartition(".")[2]
    return [json.loads(message.value() or b"")["after"] for message in found]


ROWS: dict[str, Callable[[str, str, str, list[Message]], Any]] = {
    "avro": _avro,
    "protobuf": _protobuf,
    "cloud-events": _cloud_events,
    "cloud-events-avro": _events_in_avro,
    "cloud-events-binary": _binary,
    "apicurio": _long_ids,
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_writes_its_format(
    example: Path,
    shop: SandboxProcess,
    broker: KafkaBroker,
    registry: LocalRegistry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"example_{example.stem.replace('-', '_')}"
    for variable, value in {
        "PASSWORD": "minercdc",
        "NAME": name,
        "TOPIC_PREFIX": name,
        "DATABASE_HOSTNAME": shop.host,
        "DATABASE_PORT": str(shop.port),
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "SCHEMA_HISTORY_INTERNAL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "SCHEMA_HISTORY_INTERNAL_KAFKA_TOPIC": f"{name}-schema-history",
        "KEY_CONVERTER_SCHEMA_REGISTRY_URL": registry.url,
        "VALUE_CONVERTER_SCHEMA_REGISTRY_URL": registry.url,
    }.items():
        monkeypatch.setenv(f"MINERCDC_{variable}", value)
    if example.stem == "apicurio":  # elsewhere it would choose Apicurio's API for CloudEvents
        own = f"{registry.url.partition('/apis')[0]}/apis/registry/v3"
        for side in ("KEY", "VALUE"):
            monkeypatch.setenv(f"MINERCDC_{side}_CONVERTER_APICURIO_REGISTRY_URL", own)
    topic = f"{name}.SHOP.ORDERS"
    with MinerCdc(["run", str(example)], tmp_path / "run.log") as connector:
        found = await_committed(broker.bootstrap_servers, topic, bool, 60)
        assert found, connector.story()
        connector.stop_in_order()
    rows = ROWS[example.stem](registry.url, broker.bootstrap_servers, topic, found)
    with shop.connect("shop", "shop") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT ORDER_ID, CUSTOMER_ID, STATUS FROM ORDERS ORDER BY ORDER_ID")
        expected = [dict(zip(("ORDER_ID", "CUSTOMER_ID", "STATUS"), row, strict=True)) for row in cursor]
    assert sorted(rows, key=lambda row: row["ORDER_ID"]) == expected
