"""A table whose records cannot have their schema: the error names table, column, topic and property, and other tables go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.formats.golden import Registry
from tests.unit.messages.test_envelope import NEEDED, NEW, ORDERS, event

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import DecodeError, RecordSchemaError, SharedTopicError, SinkError
from minercdc.messages import configured as selection
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.formats.converting import RecordConverter, Side, Write
from minercdc.messages.formats.naming import Naming
from minercdc.messages.notification import NotificationEncoder
from minercdc.messages.registries.confluent import SchemaText
from minercdc.messages.registries.registered import ConfluentSchemas
from minercdc.messages.registries.subjects import TOPIC, subject_names
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import RecordEncoder
from minercdc.stream.events import ChangeEvent, Event, Notification, Op, SchemaChange, Scn

ODD = TableSchema(TableId("PDB", "S", "ODD"), tuple(Column(n, "NUMBER", 9, 0) for n in ("ID", "A$B", "A#B")), key=(0,))
INSERT = event(Op.CREATE, None, NEW)


def configured(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties({**NEEDED, **properties})


def encoder(properties: dict[str, str]) -> EnvelopeEncoder:
    config = configured(properties)
    made = selection.envelope_encoder(
        config,
        TopicNames(config),
        OtherEvents(
            schema_changes=True,
            notifications=NotificationEncoder("notes", "shop", key_schemas=True, value_schemas=True),
        ),
    )
    assert isinstance(made, EnvelopeEncoder)
    return made


def row(table: TableSchema) -> ChangeEvent:
    return event(Op.CREATE, None, tuple(str(i) for i in range(len(table.columns))), table)


def test_columns_that_become_the_same_are_an_error_of_their_table() -> None:
    printing = encoder({"field.name.adjustment.mode": "avro"})
    for _ in range(2):
        assert printing.encode(INSERT)
        with pytest.raises(
            RecordSchemaError, match=r"columns A\$B and A#B both become A_B by field.name.adjustment.mode=avro"
        ) as refused:
            printing.encode(row(ODD))
        assert refused.value.where == "table S.ODD, topic shop.S.ODD"
    assert encoder({"field.name.adjustment.mode": "avro_unicode"}).encode(row(ODD))
    left_out = {"field.name.adjustment.mode": "avro", "column.exclude.list": "S[.]ODD[.]A[#]B"}
    assert encoder(left_out).encode(row(ODD))


def test_columns_of_the_key_are_compared_too_where_values_have_them_not() -> None:
    properties = {"field.name.adjustment.mode": "avro", "column.exclude.list": "S[.]ODD[.]A.*"}
    assert encoder(properties).encode(row(ODD))
    with pytest.raises(RecordSchemaError, match=r"A\$B and A#B both become A_B"):
        encoder({**properties, "message.key.columns": "S.ODD:A$B,A#B"}).encode(row(ODD))


def test_a_column_of_the_record_key_that_was_dropped_is_an_error_of_its_table() -> None:
    printing = encoder({"message.key.columns": "S.ODD:A$B"})
    assert printing.encode(row(ODD))
    assert printing.encode(INSERT)
    dropped = replace(ODD, columns=(ODD.columns[0], ODD.columns[2]), version=2)
    with pytest.raises(RecordSchemaError, match=r"message.key.columns: table S.ODD has no column A\$B .table S.ODD, topic"):
        printing.encode(row(dropped))
    assert printing.encode(INSERT)


def test_a_table_that_would_share_a_topic_is_the_one_that_comes_later() -> None:
    first, second = (replace(ODD, id=TableId("PDB", "S", name)) for name in ("EMP$1", "EMP#1"))
    printing = encoder({})
    for _ in range(2):
        assert printing.encode(row(first))
        with pytest.raises(SharedTopicError, match=r"S.EMP#1 would share the topic shop.S.EMP_1 .table S.EMP#1"):
            printing.encode(row(second))


@pytest.mark.parametrize("to", [None, "FOO"])
def test_a_table_that_is_dropped_or_renamed_leaves_its_topic_to_another_one(to: str | None) -> None:
    first, second = (replace(ODD, id=TableId("PDB", "S", name)) for name in ("EMP$1", "EMP#1"))
    printing = encoder({})
    assert printing.encode(row(first))
    altered = SchemaChange(first.id, first, replace(first, version=2), "ALTER", Scn(1), 0)
    printing.encode(altered)
    with pytest.raises(SharedTopicError):
        printing.encode(row(second))
    after = None if to is None else replace(first, id=TableId("PDB", "S", to))
    printing.encode(SchemaChange(first.id, first, after, "DDL", Scn(2), 0))
    (record,) = printing.encode(row(second))
    assert record.topic == "shop.S.EMP_1"
    with pytest.raises(SharedTopicError, match=r"S.EMP#1 and S.EMP\$1 would share"):
        printing.encode(row(replace(first, version=3)))


class Refusing(Registry):
    """A registry that takes no schemas of one topic's records."""

    def __init__(self, refused: str) -> None:
        super().__init__()
        self.refused = refused

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        if self.refused and subject.startswith(self.refused):
            raise RecordSchemaError(f"subject {subject} is refused")
        return super().register(subject, schema, normalize=normalize)


def converter(registry: Registry, naming: Naming = Naming()) -> RecordConverter:  # noqa: B008 - it does not change
    def side(name: Any) -> Side:
        schemas = ConfluentSchemas(
            registry, subject_names(TOPIC, name), auto_register=True, use_latest=False, normalize=False
        )
        return Side(AvroFormat(schemas, naming))

    return RecordConverter(side("key"), side("value"))


SCHEMAS = {
    "key.converter": "io.confluent.connect.avro.AvroConverter",
    "key.converter.schema.registry.url": "http://r",
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://r",
    "skipped.operations": "none",
}


def avro(made: RecordConverter) -> RecordEncoder:
    return made.encoder(encoder(SCHEMAS))


def test_a_name_that_is_none_of_avros_is_an_error_of_its_table() -> None:
    written = avro(converter(Registry()))
    for _ in range(2):
        assert written.encode(INSERT)
        with pytest.raises(RecordSchemaError) as refused:
            written.encode(row(ODD))
        assert refused.value.message.startswith("records of topic shop.S.ODD: the field name A$B is not valid in Avro")
        assert refused.value.message.endswith("(table S.ODD)")
        assert refused.value.hint == "field.name.adjustment.mode=avro replaces other characters."


def test_a_schema_that_the_registry_refuses_is_an_error_of_its_table() -> None:
    written = avro(converter(Refusing("shop.SALES")))
    fine = replace(ODD, columns=ODD.columns[:1])
    truncate = SchemaChange(ORDERS.id, ORDERS, ORDERS, "TRUNCATE TABLE ORDERS", Scn(5), 0, truncate=True)
    for one in (INSERT, truncate, INSERT):
        with pytest.raises(
            RecordSchemaError, match=r"topic shop.SALES.ORDERS: subject shop.SALES.ORDERS-\w+ is refused .table SALES.ORDERS"
        ):
            written.encode(one)
        assert written.encode(row(fine))


@pytest.mark.parametrize(
    ("topic", "event"),
    [
        ("notes", Notification("1", "Table", "SUSPENDED", 0, {})),
        ("shop-", SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)),
    ],
)
def test_a_schema_that_no_table_has_stops_the_connector(topic: str, event: Event) -> None:
    with pytest.raises(SinkError, match=f"subject {topic}.* is refused"):
        avro(converter(Refusing(topic))).encode(event)


@pytest.mark.parametrize(
    "error", [KeyError("x"), AttributeError("x"), UnicodeError("x"), RecursionError("x"), OverflowError("x")]
)
def test_an_error_of_python_is_one_of_the_record(error: Exception) -> None:
    class Failing:
        def compile(self, topic: str, schema: bytes) -> Write:
            raise error

    written = RecordConverter(None, Side(Failing())).encoder(encoder(SCHEMAS))
    with pytest.raises(DecodeError, match="a record of topic shop.SALES.ORDERS cannot be written in the format: .*x"):
        written.encode(INSERT)
