"""Topics in Avro, and with adjusted field names: the lake's tables are those of topics in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import lake

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import LakeError
from minercdc.lake import read_changes, start
from minercdc.lake.read.avro import AvroTopics
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.state import StateTable
from minercdc.local.schema_registry import LocalRegistry
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.contracts import Record
from minercdc.stream.events import UNAVAILABLE, Op

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AVRO = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
ODD = TableSchema(
    TableId("PDB", "LAB", "ODD$ITEM"),
    (
        Column("ID#", "NUMBER", 9, 0, nullable=False),
        Column("my name", "VARCHAR2", 80),
        Column("PRICE", "NUMBER", 12, 2),
        Column("ANY", "NUMBER"),
        Column("F", "BINARY_FLOAT"),
        Column("R", "RAW", 16),
        Column("NOTE", "CLOB"),
    ),
    key=(0,),
)
ROW = ("1", "O'Neil", "-12345.67", "-0.00000000000000000000123", "1.1", "00ff10", "a note")
WANTED: dict[str, Any] = {
    "ID#": 1,
    "my name": "O'Neil",
    "PRICE": Decimal("-12345.67"),
    "ANY": "-0.00000000000000000000123",
    "F": pytest.approx(1.1, rel=1e-6),
    "R": bytearray(b"\0\xff\x10"),
    "NOTE": "a note",
}
Configure = Callable[..., ConnectorConfig]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with LocalRegistry(tmp_path_factory.mktemp("registry") / "registry.log") as running:
        yield running.url


@pytest.fixture
def configure(properties: dict[str, str]) -> Configure:
    def made(**more: str) -> ConnectorConfig:
        return parse_properties({**properties, **{name.replace("_", "."): value for name, value in more.items()}})

    return made


def in_avro(configure: Configure, url: str) -> ConnectorConfig:
    sides = {f"{side}_converter": AVRO for side in ("key", "value")}
    registries = {f"{side}_converter_schema_registry_url": url for side in ("key", "value")}
    return configure(**sides, **registries, schema_name_adjustment_mode="avro", field_name_adjustment_mode="avro_unicode")


def in_apicurios(configure: Configure, url: str) -> ConnectorConfig:
    sides = {f"{side}_converter": APICURIO for side in ("key", "value")}
    own = {"url": f"{url.partition('/apis')[0]}/apis/registry/v3", "auto-register": "true"}
    sides |= {f"{side}_converter_apicurio_registry_{name}": v for side in ("key", "value") for name, v in own.items()}
    return configure(**sides, schema_name_adjustment_mode="avro", field_name_adjustment_mode="avro_unicode")


FORMATS = pytest.mark.parametrize("in_format", [in_avro, in_apicurios], ids=["confluent", "apicurio"])


def merged(spark: SparkSession, config: ConnectorConfig) -> None:
    running = start(spark, config)
    try:
        running.process_all_available()
    finally:
        running.stop()


def written(config: ConnectorConfig) -> Connector:
    """A connector whose table has one row: without its large value, an UPDATE keeps what the lake has."""
    connector = Connector(config)
    connector.structure(ODD)
    connector.change(Op.CREATE, None, ROW)
    connector.commit()
    return connector


@FORMATS
def test_tables_of_topics_in_avro_are_those_of_json(
    spark: SparkSession, configure: Configure, registry: str, in_format: Any
) -> None:
    config = in_format(configure, registry)
    connector = written(config)
    running = start(spark, config)
    try:
        running.process_all_available()
        assert lake(spark, config, ODD) == [WANTED]
        wider = replace(ODD, columns=(*ODD.columns, Column("MORE", "NUMBER", 5, 0)), version=ODD.version + 1)
        connector.alter(ODD, 'ALTER TABLE "LAB"."ODD$ITEM" ADD (MORE NUMBER(5))', wider)
        connector.change(Op.UPDATE, (*ROW[:6], UNAVAILABLE, None), (*ROW[:5], None, UNAVAILABLE, "7"), wider)
        connector.commit()
        running.process_all_available()  # a schema that the running stream does not know
        assert lake(spark, config, ODD) == [{**WANTED, "R": None, "MORE": 7}]
        connector.change(Op.DELETE, (*ROW[:5], None, UNAVAILABLE, "7"), None, wider)
        connector.commit()
        running.process_all_available()
        assert lake(spark, config, ODD) == []
    finally:
        running.stop()
        connector.sink.close()


def test_a_record_that_does_not_fit_its_schema_quarantines_its_table_only(
    spark: SparkSession, configure: Configure, registry: str
) -> None:
    config = in_avro(configure, registry)
    connector = written(config)
    other = replace(ODD, id=TableId("PDB", "LAB", "OTHER"))
    connector.structure(other)
    connector.change(Op.CREATE, None, ROW, other)
    topic = TopicNames(config).of_table(ODD.id)
    client = KafkaClient(config.kafka, config.topics, {})
    ((partition, end),) = client.ends(topic)
    (*_, last) = client.read_range(topic, partition, 0, end)
    connector.write(Record(topic, last.key(), last.value()[:20]))
    connector.commit()
    merged(spark, config)
    connector.sink.close()
    assert lake(spark, config, other) == [WANTED]
    (failed,) = StateTable(spark, format_of(config).state(spark)).read().failed.items()
    assert failed[0] == "LAB.ODD$ITEM"
    assert "holds 1 records that are not change events of minercdc" in failed[1]


@FORMATS
def test_typed_changes_are_read_from_avro(
    spark: SparkSession, configure: Configure, registry: str, tmp_path: Path, in_format: Any
) -> None:
    config = in_format(configure, registry)
    written(config).sink.close()
    rows = read_changes(spark, config, table="LAB.ODD$ITEM")
    query = (
        rows.writeStream.format("memory")
        .queryName(f"avro_changes_{in_format.__name__}")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(90)
    (row,) = spark.table(f"avro_changes_{in_format.__name__}").collect()
    assert (row.op, row.key.asDict(), row.after.asDict()) == ("c", {"ID#": 1}, WANTED)


@pytest.mark.parametrize("mode", ["avro", "avro_unicode"])
def test_adjusted_field_names_in_json_are_found(spark: SparkSession, configure: Configure, mode: str) -> None:
    config = configure(field_name_adjustment_mode=mode)
    written(config).sink.close()
    merged(spark, config)
    assert lake(spark, config, ODD) == [WANTED]


def test_protobuf_is_refused_by_name(spark: SparkSession, configure: Configure) -> None:
    given = {"value_converter_schema_registry_url": "http://h:1", "value_converter_optional_for_nullables": "true"}
    config = configure(value_converter="io.confluent.connect.protobuf.ProtobufConverter", **given)
    with pytest.raises(LakeError, match="does not read the topics of this connector: keys or values are in Protobuf"):
        AvroTopics(spark, config)
