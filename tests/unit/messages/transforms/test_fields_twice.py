"""A step that makes a field twice is an error of its table, as of Connect's SchemaBuilder, and of no other table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, encoder, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured, records

from minercdc.errors import ConfigError, RecordSchemaError, ValueDecodeError
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.chain import Chain, Step
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.messages.transforms.record import BySchema, ConnectRecord, typed
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import ChangeEvent, Op

INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)
HEADER = (f"{KAFKA}InsertHeader", {"header": "origin", "value.literal": "eu"})
EVENTS = TableSchema(
    TableId("SHOPPDB", "SALES", "EVENTS"),
    tuple(Column(name, "VARCHAR2", length=99) for name in ("id", "aggregatetype", "payload", "kind")),
    key=(0,),
)


@pytest.mark.parametrize(
    ("steps", "field"),
    [
        ([(UNWRAP, {"add.fields": "op:STATUS", "add.fields.prefix": ""})], "STATUS"),
        ([(UNWRAP, {}), (f"{KAFKA}InsertField$Value", {"topic.field": "TOTAL"})], "TOTAL"),
        ([(f"{KAFKA}InsertField$Value", {"static.field": "op!", "static.value": "x"})], "op"),
        ([(f"{KAFKA}InsertField$Key", {"static.field": "K", "static.value": "x", "topic.field": "K"})], "K"),
        ([(UNWRAP, {}), (f"{KAFKA}ReplaceField$Value", {"renames": "TOTAL:STATUS"})], "STATUS"),
        ([(UNWRAP, {}), (f"{KAFKA}ReplaceField$Value", {"renames": "TOTAL:A,STATUS:A"})], "A"),
        ([HEADER, (f"{DEBEZIUM}HeaderToValue", {"headers": "origin", "fields": "op", "operation": "move"})], "op"),
        ([HEADER, (f"{DEBEZIUM}HeaderToValue", {"headers": "origin", "fields": "source.scn", "operation": "copy"})], "scn"),
        (
            [
                (
                    f"{DEBEZIUM}ByLogicalTableRouter",
                    {"topic.regex": "(.*)ORDERS", "topic.replacement": "$1ALL", "key.field.name": "ORDER_ID"},
                )
            ],
            "ORDER_ID",
        ),
        ([(f"{KAFKA}ValueToKey", {"fields": "op,op"})], "op"),
        ([(f"{KAFKA}HoistField$Key", {"field": "A"}), (f"{KAFKA}InsertField$Key", {"topic.field": "A"})], "A"),
    ],
)
def test_the_error_names_step_field_table_and_topic(steps: list[tuple[str, dict[str, str]]], field: str) -> None:
    for one in (INSERT, UPDATE):
        with pytest.raises(RecordSchemaError) as raised:
            records(chain(*steps), one, schemas=True)
        assert raised.value.message.startswith(f"transforms.t{len(steps) - 1}: field {field} would exist twice")
        assert raised.value.message.endswith("(table SALES.ORDERS, topic shop.SALES.ORDERS)")
        assert "ReplaceField" in raised.value.hint


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"add.fields": "op,op"}, "op and op would both be named __op; write op:OTHER_NAME"),
        (
            {"add.fields": "op:x,scn:x", "add.fields.prefix": ""},
            "op:x and scn:x would both be named x; write scn:OTHER_NAME",
        ),
        ({"add.fields": "source.scn,op:source_scn"}, "source.scn and op:source_scn would both be named __source_scn"),
        (
            {"add.fields": "op:deleted", "delete.tombstone.handling.mode": "rewrite-with-tombstone"},
            "the marker of rewritten deletes and op:deleted would both be named __deleted",
        ),
        (
            {"add.fields": "op:deleted", "delete.handling.mode": "rewrite"},
            "the marker of rewritten deletes and op:deleted would both be named __deleted",
        ),
    ],
)
def test_names_that_every_table_would_have_twice_are_refused_at_once(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        configured(chain((UNWRAP, options)))
    (found,) = raised.value.problems
    assert found.startswith(f"transforms.t0.add.fields: {problem}")


@pytest.mark.parametrize("fields", ["op,source.op", "scn,source.scn", "op:deleted", "op,op:x"])
def test_other_names_of_added_fields_are_taken(fields: str) -> None:
    configured(chain((UNWRAP, {"add.fields": fields, "add.headers": "op,op"})))


@pytest.mark.parametrize(("alias", "twice"), [("payload", "payload"), ("kind", ""), ("other,id:envelope:other", "other")])
def test_placements_of_an_outbox(alias: str, twice: str) -> None:
    step = (f"{DEBEZIUM}outbox.EventRouter", {"table.fields.additional.placement": f"kind:envelope:{alias}"})
    row = ChangeEvent(Op.CREATE, EVENTS, None, ("1", "order", "{}", "k"), INSERT.scn, 0, INSERT.tx, 1)
    if not twice:
        assert len(records(chain(step), row)) == 1
        return
    with pytest.raises(RecordSchemaError, match=f"transforms.t0: field {twice} would exist twice .*SALES.EVENTS"):
        records(chain(step), row)


def test_names_are_compared_once_another_step_has_left_a_field_out() -> None:
    steps: tuple[tuple[str, dict[str, str]], ...] = (
        (UNWRAP, {}),
        (f"{KAFKA}ReplaceField$Value", {"exclude": "STATUS", "renames": "TOTAL:STATUS"}),
        (f"{KAFKA}InsertField$Value", {"topic.field": "TOTAL"}),
    )
    (record,) = records(chain(*steps), INSERT)
    assert record.value is not None
    assert record.value.count(b'"STATUS":') == record.value.count(b'"TOTAL":') == 1


def test_other_tables_and_records_that_the_step_leaves_alone_go_on() -> None:
    """Two columns of one table have the added name; the same chain publishes the other table, and tombstones."""
    properties = chain((UNWRAP, {"add.fields": "op:KIND", "add.fields.prefix": ""}))
    other = replace(ORDERS, id=TableId("SHOPPDB", "SALES", "KINDS"), columns=(*ORDERS.columns, Column("KIND", "DATE")))
    transformed = RecordTransformer(chain_of(configured(properties).transforms)).encoder(encoder(by_number=(True, True)))
    row = ChangeEvent(Op.CREATE, other, None, (*NEW, None), INSERT.scn, 0, INSERT.tx, 1)
    for _ in range(2):
        assert len(transformed.encode(INSERT)) == 1
        with pytest.raises(RecordSchemaError, match="field KIND would exist twice .table SALES.KINDS"):
            transformed.encode(row)
    assert len(transformed.encode(DELETE)) == 1


def test_a_shape_is_judged_once() -> None:
    calls: list[object] = []

    def refuse(schema: object) -> None:
        calls.append(schema)
        raise RecordSchemaError("no", hint="change it")

    made: BySchema[None] = BySchema(refuse)
    schema: dict[str, object] = {"type": "string"}
    for _ in range(3):
        with pytest.raises(RecordSchemaError, match=r"no\n  hint: change it"):
            made(schema)
    assert len(calls) == 1


def test_an_error_of_a_library_is_one_of_the_record() -> None:
    """Half a surrogate pair in a header, which Python cannot write; and errors of Python that a step did not expect."""
    half = typed({"type": "string"}, "\ud800")

    def failing(error: BaseException) -> Chain:
        def step(record: ConnectRecord) -> ConnectRecord:
            raise error

        return Chain([Step("t0", step)])

    printing = encoder(by_number=(True, True))
    with_half = Chain([Step("t0", lambda record: replace(record, headers=(("h", half),)))])
    with pytest.raises(ValueDecodeError, match="half a surrogate pair.*SALES.ORDERS"):
        RecordTransformer(with_half).encoder(printing).encode(INSERT)
    for error in (RecursionError("deep"), UnicodeError("u"), RuntimeError("cel")):
        with pytest.raises(ValueDecodeError, match="transforms.t0: the record does not fit: .*SALES.ORDERS"):
            RecordTransformer(failing(error)).encoder(printing).encode(INSERT)
    for other in (MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(other)):
            RecordTransformer(failing(other)).encoder(printing).encode(INSERT)
