"""Records of an event: keys, envelopes, tombstones, headers, schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import SchemaMismatchError, ValueDecodeError
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER, EnvelopeEncoder, OtherEvents
from minercdc.messages.envelope.source_block import SourceBlock
from minercdc.messages.envelope.table_format import ColumnFormats, RecordKeys, TableFormats
from minercdc.messages.formats.connect import payload_of
from minercdc.messages.moved_keys import MovedKeys
from minercdc.messages.table_changes import published, remembered, table_of
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import (
    UNAVAILABLE,
    ChangeEvent,
    Op,
    Row,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionInfo,
)
from minercdc.values.codec import ValueHandling

ORDERS = TableSchema(
    TableId("SHOPPDB", "SALES", "ORDERS"),
    (
        Column("ORDER_ID", "NUMBER", 18, 0, nullable=False),
        Column("STATUS", "VARCHAR2", 10),
        Column("TOTAL", "NUMBER", 10, 2),
        Column("CREATED", "DATE"),
    ),
    key=(0,),
    stored=("ORDER_ID", "STATUS", "TOTAL", "CREATED"),
)
LOG = TableSchema(
    TableId("SHOPPDB", "SALES", "LOG"), (Column("V", "VARCHAR2", 10), Column("R", "RAW", 4), Column("N", "NUMBER", 5, 0))
)
TX = TransactionInfo(
    "0a001f00b3020000", Scn(8842015), Scn(8842031), 1_789_990_211_000_000, 1_789_990_212_000_000, 1, "SALES_APP"
)


NEEDED = {
    "topic.prefix": "shop",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "minercdc.kafka.bootstrap.servers": "k",
}


def encoder(
    clock_ns: Callable[[], int] = lambda: 1_789_990_213_402_118_903,
    handling: ValueHandling | None = None,
    moved: MovedKeys | None = None,
    /,
    *,
    by_number: tuple[bool, bool] = (False, False),
    **properties: str,
) -> EnvelopeEncoder:
    config = parse_properties({**NEEDED, **{name.replace("_", "."): value for name, value in properties.items()}})
    formats = TableFormats(
        TopicNames(config),
        SourceBlock("shop", ordered=config.messages.minercdc_source_sequence),
        config.values,
        handling or ValueHandling(),
        RecordKeys(lambda table: table.key, config.filters.minercdc_keyless_table_key == "rowid"),
        ColumnFormats(lambda table, column: column.name != "HIDDEN"),
        by_number=by_number,
    )
    others = OtherEvents(
        schema_changes=config.topics.include_schema_changes, dead_letters=config.run.minercdc_dead_letter_topic
    )
    skip_unchanged = config.messages.skip_messages_without_change
    return EnvelopeEncoder(formats, others, clock_ns=clock_ns, moved=moved, skip_unchanged=skip_unchanged)


def event(op: Op, before: Row | None, after: Row | None, table: TableSchema = ORDERS, **more: Any) -> ChangeEvent:
    facts: dict[str, Any] = {"tx": TX, "row_id": "AAAR3sAAEAAAACXAAA", "rs_id": "0x0003a1.000012c4.0010", **more}
    return ChangeEvent(op, table, before, after, Scn(8842017), 1_789_990_211_000_000, seq=2, **facts)


NEW: Row = ("70021", "NEW", "15", "2026-09-21 10:30:00")
PAID: Row = ("70021", "PAID", "15", "2026-09-21 10:30:00")


def value_of(record: Record) -> Any:
    assert record.value is not None
    return json.loads(record.value)


def test_an_update_is_debeziums_envelope_field_by_field() -> None:
    (record,) = encoder().encode(event(Op.UPDATE, NEW, PAID))
    assert record.topic == "shop.SALES.ORDERS"
    assert record.key == b'{"ORDER_ID":70021}'
    envelope = value_of(record)
    version = envelope["source"].pop("version")
    assert version
    assert envelope == {
        "before": {"ORDER_ID": 70021, "STATUS": "NEW", "TOTAL": "Bdw=", "CREATED": 1789986600000},
        "after": {"ORDER_ID": 70021, "STATUS": "PAID", "TOTAL": "Bdw=", "CREATED": 1789986600000},
        "source": {
            "connector": "oracle",
            "name": "shop",
            "ts_ms": 1789990211000,
            "snapshot": "false",
            "db": "SHOPPDB",
            "sequence": None,
            "ts_us": 1789990211000000,
            "ts_ns": 1789990211000000000,
            "schema": "SALES",
            "table": "ORDERS",
            "txId": "0a001f00b3020000",
            "scn": "8842017",
            "commit_scn": "8842031",
            "lcr_position": None,
            "rs_id": "0x0003a1.000012c4.0010",
            "ssn": 0,
            "redo_thread": 1,
            "user_name": "SALES_APP",
            "redo_sql": None,
            "row_id": "AAAR3sAAEAAAACXAAA",
            "commit_ts_ms": 1789990212000,
            "start_scn": "8842015",
            "start_ts_ms": 1789990211000,
            "txSeq": 2,
        },
        "transaction": None,
        "op": "u",
        "ts_ms": 1789990213402,
        "ts_us": 1789990213402118,
        "ts_ns": 1789990213402118903,
    }


def test_rows_within_a_millisecond_share_the_engines_time() -> None:
    begun = 1_789_990_213_402_118_903
    times = (begun, begun + 999_999, begun + 1_000_000, begun + 999_999_999, begun - 1)
    printing = encoder(iter(times).__next__)
    values = [value_of(printing.encode(event(Op.CREATE, None, NEW))[0]) for _ in times]
    assert [value["ts_ns"] for value in values] == [begun, begun, *times[2:]]
    assert all(value["ts_us"] == value["ts_ns"] // 1000 for value in values)
    assert all(value["ts_ms"] == value["ts_ns"] // 1_000_000 for value in values)


def test_a_delete_has_a_tombstone_unless_switched_off() -> None:
    delete, tombstone = encoder().encode(event(Op.DELETE, NEW, None))
    assert value_of(delete)["op"] == "d"
    assert value_of(delete)["after"] is None
    assert (tombstone.key, tombstone.value) == (delete.key, None)
    assert len(encoder(tombstones_on_delete="false").encode(event(Op.DELETE, NEW, None))) == 1


@pytest.mark.parametrize("schemas", ["false", "true"])
def test_a_key_change_is_a_delete_a_tombstone_and_a_create_that_name_each_other(schemas: str) -> None:
    """The headers have no schema, as Connect writes them, whether keys have one or not."""
    moved: Row = ("70022", *NEW[1:])
    delete, tombstone, create = encoder(key_converter_schemas_enable=schemas).encode(event(Op.UPDATE, NEW, moved))
    assert [r.key if schemas == "false" else payload_of(r.key or b"") for r in (delete, tombstone, create)] == [
        b'{"ORDER_ID":70021}',
        b'{"ORDER_ID":70021}',
        b'{"ORDER_ID":70022}',
    ]
    assert [value_of(delete)["op"], tombstone.value, value_of(create)["op"]] == ["d", None, "c"]
    assert value_of(create)["before"] is None
    assert delete.headers == tombstone.headers == (("__debezium.newkey", b'{"ORDER_ID":70022}'),)
    assert create.headers == (("__debezium.oldkey", b'{"ORDER_ID":70021}'),)


def test_snapshot_rows_carry_their_rowid_which_the_lake_knows_them_by() -> None:
    (record,) = encoder().encode(
        event(Op.READ, None, ("a", None, None), LOG, tx=None, row_id="AAAB12", snapshot=SnapshotMark.TRUE)
    )
    assert value_of(record)["source"]["row_id"] == "AAAB12"


def test_snapshot_rows_carry_their_mark_and_no_transaction() -> None:
    (record,) = encoder().encode(event(Op.READ, None, NEW, tx=None, rs_id=None, snapshot=SnapshotMark.FIRST))
    source = value_of(record)["source"]
    assert (value_of(record)["op"], source["snapshot"], source["txId"], source["txSeq"]) == ("r", "first", None, None)


PLACEHOLDER = "__debezium_unavailable_value"
ENCODED = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="


@pytest.mark.parametrize(
    ("binary", "printed"),
    [("bytes", ENCODED), ("base64", ENCODED), ("base64-url-safe", ENCODED), ("hex", PLACEHOLDER.encode().hex())],
)
@pytest.mark.parametrize("decimal", ["precise", "string", "double"])
def test_what_redo_does_not_hold_has_a_placeholder_where_the_type_has_room_for_one(
    binary: Any, printed: str, decimal: Any
) -> None:
    """That of bytes is encoded as they are; numbers and times have none, also where they are printed as text."""
    kinds = ["NUMBER", "FLOAT", "DATE", "TIMESTAMP WITH TIME ZONE", "INTERVAL DAY TO SECOND", "BINARY_DOUBLE"]
    texts, images = ["VARCHAR2", "CLOB", "NCLOB", "XMLTYPE", "JSON"], ["BLOB", "RAW"]
    columns = [Column(kind, kind) for kind in (*kinds, *texts, *images)]
    table = TableSchema(LOG.id, (*columns, Column("N", "NUMBER", 10, 2)), ())
    handling = ValueHandling(decimal, "isostring", "string", binary)
    row: Row = (UNAVAILABLE,) * len(table.columns)
    (record,) = encoder(lambda: 0, handling).encode(event(Op.UPDATE, row, row, table))
    expected = dict.fromkeys([*kinds, "N"], None) | dict.fromkeys(texts, PLACEHOLDER) | dict.fromkeys(images, printed)
    assert value_of(record)["before"] == value_of(record)["after"] == expected
    ((name, names),) = record.headers
    assert (name, json.loads(names or b"")) == (UNAVAILABLE_HEADER, [*kinds, "N"]), "those that are null for want of one"


def test_a_header_names_what_redo_does_not_hold_of_the_row_after_or_of_a_delete() -> None:
    table = TableSchema(LOG.id, (Column("ID", "NUMBER", 9, 0), Column("N", "NUMBER"), Column("V", "VARCHAR2", 9)), (0,))

    def named(op: Op, before: Row | None, after: Row | None) -> list[list[str]]:
        records = encoder(lambda: 0).encode(event(op, before, after, table))
        return [
            [n for name, value in record.headers if name == UNAVAILABLE_HEADER for n in json.loads(value or b"")]
            for record in records
        ]

    whole, partly, text = ("1", "7", "a"), ("1", UNAVAILABLE, "a"), ("1", "7", UNAVAILABLE)
    assert named(Op.UPDATE, partly, whole) == [[]]
    assert named(Op.UPDATE, partly, partly) == [["N"]]
    assert named(Op.UPDATE, text, text) == [[]], "it has a placeholder"
    assert named(Op.DELETE, partly, None) == [["N"], []], "a tombstone has none"
    assert named(Op.UPDATE, partly, ("2", UNAVAILABLE, "a")) == [["N"], [], ["N"]], "a change of the key"


def test_a_row_whose_key_redo_does_not_hold_is_refused_with_the_sql_that_helps() -> None:
    unknown: Row = (UNAVAILABLE, "PAID", UNAVAILABLE, UNAVAILABLE)
    with pytest.raises(SchemaMismatchError, match="ADD SUPPLEMENTAL LOG DATA"):
        encoder().encode(event(Op.UPDATE, unknown, unknown))


def test_a_table_without_key_has_a_null_key_in_one_partition_or_its_rowid() -> None:
    (record,) = encoder().encode(event(Op.DELETE, ("a", None, None), None, LOG))
    assert (record.key, record.partition) == (None, 0)
    delete, tombstone = encoder(minercdc_keyless_table_key="rowid").encode(event(Op.DELETE, ("a", None, None), None, LOG))
    assert delete.key == tombstone.key == b'{"ROWID":"AAAR3sAAEAAAACXAAA"}'


def test_schemas_wrap_key_and_value() -> None:
    both: Any = {"key_converter_schemas_enable": "true", "value_converter_schemas_enable": "true"}
    (record,) = encoder(**both).encode(event(Op.CREATE, None, NEW))
    key, value = json.loads(record.key or b""), value_of(record)
    assert key == {
        "schema": {
            "type": "struct",
            "optional": False,
            "name": "shop.SALES.ORDERS.Key",
            "fields": [{"type": "int64", "optional": False, "field": "ORDER_ID"}],
        },
        "payload": {"ORDER_ID": 70021},
    }
    schema = value["schema"]
    assert (schema["name"], schema["version"]) == ("shop.SALES.ORDERS.Envelope", 2)
    assert [field["field"] for field in schema["fields"]] == list(value["payload"])
    source = next(field for field in schema["fields"] if field["field"] == "source")
    assert [field["field"] for field in source["fields"]] == list(value["payload"]["source"])
    total = schema["fields"][0]["fields"][2]
    assert total == {
        "type": "bytes",
        "optional": True,
        "field": "TOTAL",
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    }


def test_skipped_operations_and_unpublished_columns_stay_out() -> None:
    assert encoder(skipped_operations="c,u").encode(event(Op.CREATE, None, NEW)) == ()
    hidden = TableSchema(ORDERS.id, (*ORDERS.columns[:1], Column("HIDDEN", "VARCHAR2", 5)), (0,))
    (record,) = encoder().encode(event(Op.CREATE, None, ("1", "x"), hidden))
    assert value_of(record)["after"] == {"ORDER_ID": 1}


@pytest.mark.parametrize(
    "change",
    [
        (Op.CREATE, None, NEW),
        (Op.UPDATE, NEW, PAID),
        (Op.UPDATE, NEW, NEW),
        (Op.UPDATE, NEW, (*NEW[:3], "2026-09-22 10:30:00")),
        (Op.UPDATE, NEW, ("70022", *NEW[1:])),
        (Op.UPDATE, NEW, (NEW[0], NEW[1], "no number", NEW[3])),
        (Op.UPDATE, None, NEW),
        (Op.DELETE, NEW, None),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "skips",
    [{}, {"skipped_operations": "u"}, {"skipped_operations": "c,d"}, {"skip_messages_without_change": "true"}],
    ids=str,
)
def test_it_is_known_beforehand_which_changes_have_no_record(skips: dict[str, Any], change: Any) -> None:
    columns = (*ORDERS.columns[:3], replace(ORDERS.columns[3], name="HIDDEN"))
    made, one = encoder(**skips), event(change[0], change[1], change[2], replace(ORDERS, columns=columns))
    leaves_out = made.leaves_out(one)
    try:
        records = made.encode(one)
    except ValueDecodeError:
        assert not leaves_out
    else:
        assert leaves_out == (not records)


def test_what_was_read_again_says_as_of_when() -> None:
    moved = event(Op.UPDATE, NEW, ("8", *NEW[1:]))
    moved.reselected_scn = Scn(2**60)
    *old, create = encoder().encode(moved)
    assert create.headers[1:] == (("__minercdc.reselect.scn", str(2**60).encode()),)
    assert [len(record.headers) for record in old] == [1, 1]
    same = event(Op.UPDATE, NEW, NEW)
    same.reselected_scn = Scn(5)
    (record,) = encoder().encode(same)
    assert record.headers == (("__minercdc.reselect.scn", b"5"),)


def test_a_truncate_is_published_only_when_it_is_not_skipped() -> None:
    truncate = SchemaChange(ORDERS.id, ORDERS, ORDERS, "truncate table orders", Scn(5), 0, truncate=True)
    assert not encoder().encode(truncate)
    (record,) = encoder(skipped_operations="none").encode(truncate)
    assert (record.topic, record.key, value_of(record)["op"]) == ("shop.SALES.ORDERS", None, "t")


def test_a_truncate_of_a_suspended_table_is_a_dead_letter_only() -> None:
    truncate = SchemaChange(ORDERS.id, ORDERS, ORDERS, "truncate table orders", Scn(5), 0, truncate=True, left_out=True)
    assert not encoder(skipped_operations="none").encode(truncate)
    (letter,) = encoder(skipped_operations="none", minercdc_dead_letter_topic="dead").encode(truncate)
    assert letter.topic == "dead"
    shown = value_of(letter)
    assert (shown["operation"], shown["redo_sql"], shown["table"]) == ("TRUNCATE", "truncate table orders", "ORDERS")
    assert not encoder(minercdc_dead_letter_topic="dead").encode(truncate), "skipped operations are no letters, either"


def test_a_new_table_version_is_printed_in_its_own_shape() -> None:
    printed = encoder()
    printed.encode(event(Op.CREATE, None, NEW))
    wider = TableSchema(ORDERS.id, (*ORDERS.columns, Column("CHANNEL", "VARCHAR2", 12)), (0,), version=2)
    (record,) = printed.encode(event(Op.CREATE, None, (*NEW, "WEB"), wider))
    assert value_of(record)["after"]["CHANNEL"] == "WEB"


def test_names_and_values_of_any_characters_are_printed_as_json() -> None:
    odd = TableSchema(TableId("D", "S", "T"), (Column("a\"b\\'{}%s", "VARCHAR2", 99), Column("ключ", "CHAR", 3)), (1,))
    row: Row = ("\x00\"\\\n\u2028😀'", "x  ")
    (record,) = encoder().encode(event(Op.CREATE, None, row, odd))
    assert value_of(record)["after"] == {"a\"b\\'{}%s": row[0], "ключ": "x  "}
    assert json.loads(record.key or b"") == {"ключ": "x  "}


@pytest.mark.parametrize(
    ("before", "after", "kind"), [(None, ORDERS, "CREATE"), (ORDERS, ORDERS, "ALTER"), (ORDERS, None, "DROP")]
)
def test_a_schema_change_holds_the_structure_and_the_history_gives_it_back(
    before: TableSchema | None, after: TableSchema | None, kind: str
) -> None:
    change = SchemaChange(ORDERS.id, before, after, "ddl", Scn(2**60), 0)
    (record,) = encoder().encode(change)
    assert record.key == b'{"databaseName":"SHOPPDB"}'
    value = value_of(record)
    assert (value["schemaName"], value["ddl"], value["source"]["scn"]) == ("SALES", "ddl", str(2**60))
    (item,) = value["tableChanges"]
    assert (item["type"], item["id"]) == (kind, '"SHOPPDB"."SALES"."ORDERS"')
    (kept,) = json.loads(json.dumps(remembered(change)))
    assert table_of(kept) == ORDERS
    assert published(change) == value["tableChanges"]
    if kind == "DROP":
        assert item["table"] is None
        return
    assert item["table"]["primaryKeyColumnNames"] == ["ORDER_ID"]
    assert item["table"]["columns"][2] == {
        "name": "TOTAL",
        "jdbcType": 2,
        "nativeType": None,
        "typeName": "NUMBER",
        "typeExpression": "NUMBER",
        "charsetName": None,
        "length": 10,
        "scale": 2,
        "position": 3,
        "optional": True,
        "autoIncremented": False,
        "generated": False,
        "comment": None,
        "defaultValueExpression": None,
        "enumValues": None,
    }


def test_a_rename_names_both_tables() -> None:
    old = replace(ORDERS, id=ORDERS.id._replace(table="OLD"))
    (record,) = encoder().encode(SchemaChange(ORDERS.id, old, ORDERS, "rename old to orders", Scn(1), 0))
    value = value_of(record)
    assert value["source"]["table"] == "OLD,ORDERS"
    assert [(item["type"], item["id"]) for item in value["tableChanges"]] == [("ALTER", '"SHOPPDB"."SALES"."ORDERS"')]


def test_a_change_at_the_epoch_is_json_too() -> None:
    change = event(Op.CREATE, None, NEW)
    change.time_us = 0
    (record,) = encoder().encode(change)
    source = value_of(record)["source"]
    assert (source["ts_ms"], source["ts_us"], source["ts_ns"]) == (0, 0, 0)


@pytest.mark.parametrize("change", [(NEW, PAID), (NEW, ("7", *NEW[1:]))], ids=["a row", "two records of a key change"])
def test_the_clock_is_looked_at_once_for_a_change(change: tuple[Row, Row]) -> None:
    times = iter(range(0, 10**12, 10**9))
    made = encoder(lambda: next(times))
    found = [value_of(record)["ts_ns"] for record in made.encode(event(Op.UPDATE, *change)) if record.value]
    assert set(found) == {0}
    assert next(times) == 10**9
