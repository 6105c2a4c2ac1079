"""ExtractNewRecordState: rows in place of envelopes, with every option."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, TX, encoder, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, parsed, records

from minercdc.errors import ConfigError, DecodeError
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, Op, SchemaChange, Scn, TransactionInfo, VanishedRow

ROW = {"ORDER_ID": 70021, "STATUS": "NEW", "TOTAL": "Bdw=", "CREATED": 1789986600000}
INSERT, UPDATE, DELETE = event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None)


def unwrapped(*events: Any, **options: str) -> list[tuple[Any, Any]]:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return [(parsed(r.key), parsed(r.value)) for r in records(chain((UNWRAP, named)), *events)]


def test_the_row_after_stands_in_place_of_the_envelope() -> None:
    assert unwrapped(INSERT, UPDATE) == [({"ORDER_ID": 70021}, ROW), ({"ORDER_ID": 70021}, {**ROW, "STATUS": "PAID"})]


def test_the_text_of_the_row_is_the_encoders_own() -> None:
    (plain,) = records(chain((UNWRAP, {})), INSERT)
    assert plain.value == b'{"ORDER_ID":70021,"STATUS":"NEW","TOTAL":"Bdw=","CREATED":1789986600000}'


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, {}),
        ({"add.fields": "op"}, {"__op": "d"}),
        ({"add.fields": "op,source.scn"}, {"__op": "d"}),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "step",
    [
        ("ReplaceField$Value", {"exclude": "source"}),
        ("ReplaceField$Value", {"exclude": "source,transaction"}),
        ("ReplaceField$Value", {"include": "before,after,op"}),
        ("ReplaceField$Value", {"renames": "source:src"}),
    ],
    ids=str,
)
def test_an_envelope_without_all_of_its_members_has_its_row(step: Any, options: Any, added: Any) -> None:
    """The text is not searched for members that a step before took out."""
    unwrap = (UNWRAP, {"delete.tombstone.handling.mode": "rewrite", **options})
    found = records(chain((f"{KAFKA}{step[0]}", step[1]), unwrap), INSERT, DELETE)
    rows = [parsed(record.value) for record in found]
    kept = {name: rows[0].pop(name) for name in added}
    assert rows[0] == {**ROW, "__deleted": "false"}
    assert kept == dict.fromkeys(added, "c")
    assert rows[1] == {**ROW, "STATUS": "PAID", "__deleted": "true", **added}


def test_a_row_is_there_though_the_one_before_is_not() -> None:
    (insert, delete) = records(chain((f"{KAFKA}ReplaceField$Value", {"exclude": "before"}), (UNWRAP, {})), INSERT, DELETE)
    assert (parsed(insert.value), delete.value) == (ROW, None)


def test_members_of_a_struct_that_a_step_added_are_not_taken_for_the_envelopes() -> None:
    copied = (
        (f"{KAFKA}HeaderFrom$Value", {"fields": "source", "headers": "s", "operation": "copy"}),
        (f"{DEBEZIUM}HeaderToValue", {"headers": "s", "fields": "copied", "operation": "move"}),
    )
    (plain,) = records(chain((UNWRAP, {"add.fields": "ts_ms"})), INSERT)
    (record,) = records(chain(*copied, (UNWRAP, {"add.fields": "ts_ms"})), INSERT)
    assert record.value == plain.value


def test_the_schema_is_the_rows_own() -> None:
    (record,) = records(chain((UNWRAP, {})), INSERT, schemas=True)
    document = parsed(record.value)
    assert document["payload"] == ROW
    assert (document["schema"]["name"], document["schema"]["optional"]) == ("shop.SALES.ORDERS.Value", False)
    assert "field" not in document["schema"]
    assert [field["field"] for field in document["schema"]["fields"]] == list(ROW)
    assert parsed(record.key)["schema"]["name"] == "shop.SALES.ORDERS.Key"


@pytest.mark.parametrize(
    ("mode", "deletes"),
    [
        ("drop", []),
        ("tombstone", [None]),
        ("delete-to-tombstone", [None]),
        ("rewrite", [{**ROW, "STATUS": "PAID", "__deleted": "true"}]),
        ("rewrite-with-tombstone", [{**ROW, "STATUS": "PAID", "__deleted": "true"}, None]),
    ],
)
def test_what_becomes_of_a_delete(mode: str, deletes: list[Any]) -> None:
    found = unwrapped(INSERT, DELETE, delete_tombstone_handling_mode=mode)
    rewritten = {"__deleted": "false"} if mode.startswith("rewrite") else {}
    assert [value for _, value in found] == [{**ROW, **rewritten}, *deletes]
    assert all(key == {"ORDER_ID": 70021} for key, _ in found)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"drop_tombstones": "true"}, []),
        ({"drop_tombstones": "false"}, [None]),
        ({"delete_handling_mode": "none"}, [None]),
        ({"delete_handling_mode": "none", "drop_tombstones": "false"}, [None, None]),
        ({"delete_handling_mode": "rewrite"}, [{**ROW, "STATUS": "PAID", "__deleted": "true"}]),
    ],
)
def test_the_old_options_are_taken_with_a_notice(
    options: dict[str, str], expected: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert [value for _, value in unwrapped(DELETE, **options)] == expected
    assert "use delete.tombstone.handling.mode" in caplog.text


def test_old_and_new_options_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match=r"delete.tombstone.handling.mode does not go with drop.tombstones"):
        unwrapped(drop_tombstones="false", delete_tombstone_handling_mode="drop")


def test_members_of_the_envelope_are_added() -> None:
    wanted = "op, table,source.ts_ms,ts_ms:AT,id,nothing"
    found = unwrapped(INSERT, DELETE, add_fields=wanted, delete_tombstone_handling_mode="rewrite")
    added = {"__table": "ORDERS", "__source_ts_ms": 1789990211000, "__AT": 1789990213402, "__id": None}
    assert [value for _, value in found] == [
        {**ROW, "__deleted": "false", "__op": "c", **added},
        {**ROW, "STATUS": "PAID", "__deleted": "true", "__op": "d", **added},
    ]


def test_each_member_of_the_source_can_be_added_whatever_texts_it_holds() -> None:
    nasty = 'a","scn":"1","op":"x\\'
    tx = TransactionInfo(TX.id, TX.start_scn, TX.commit_scn, 1, 2, 1, nasty)
    row = event(Op.UPDATE, NEW, PAID, tx=tx, redo_sql=nasty)
    (record,) = encoder().encode(row)
    envelope = parsed(record.value)
    names = [*(f"source.{name}" for name in envelope["source"]), "op", "ts_ms", "ts_us", "ts_ns", "transaction.id"]
    ((_, value),) = unwrapped(row, add_fields=",".join(names), add_fields_prefix="_")
    assert {name: value[f"_source_{name}"] for name in envelope["source"]} == envelope["source"]
    assert {name: value[f"_{name}"] for name in ("op", "ts_ms", "ts_us", "ts_ns")} == {
        name: envelope[name] for name in ("op", "ts_ms", "ts_us", "ts_ns")
    }
    assert value["_transaction_id"] is None


def test_the_schema_has_what_is_added() -> None:
    properties = chain((UNWRAP, {"add.fields": "op,scn", "delete.tombstone.handling.mode": "rewrite"}))
    (record,) = records(properties, INSERT, schemas=True)
    schema = parsed(record.value)["schema"]
    assert (schema["name"], schema["optional"]) == ("shop.SALES.ORDERS.Value", False)
    assert schema["fields"][-3:] == [
        {"type": "string", "optional": True, "field": "__deleted"},
        {"type": "string", "optional": True, "field": "__op"},
        {"type": "string", "optional": True, "field": "__scn"},
    ]
    assert parsed(record.value)["payload"]["__scn"] == "8842017"


def test_columns_of_both_rows_are_added() -> None:
    wanted = "before.STATUS,after.STATUS:NOW,op,before.STATUS:OLD"
    found = unwrapped(INSERT, UPDATE, DELETE, add_fields=wanted, delete_tombstone_handling_mode="rewrite")
    assert [[value[n] for n in ("__before_STATUS", "__NOW", "__op", "__OLD")] for _, value in found] == [
        [None, "NEW", "c", None],
        ["NEW", "PAID", "u", "NEW"],
        ["PAID", None, "d", "PAID"],
    ]


def test_an_added_column_keeps_its_type() -> None:
    properties = chain((UNWRAP, {"add.fields": "before.TOTAL"}))
    _, record = records(properties, INSERT, UPDATE, schemas=True)
    document = parsed(record.value)
    column, added = (next(f for f in document["schema"]["fields"] if f["field"] == n) for n in ("TOTAL", "__before_TOTAL"))
    assert added == {**column, "field": "__before_TOTAL", "optional": True}
    assert document["payload"]["__before_TOTAL"] == "Bdw="


def test_columns_of_the_row_before_become_headers() -> None:
    properties = chain((UNWRAP, {"add.headers": "before.STATUS:OLD,op", "delete.tombstone.handling.mode": "rewrite"}))
    assert [record.headers for record in records(properties, INSERT, UPDATE, DELETE)] == [
        (("__OLD", None), ("__op", b"c")),
        (("__OLD", b"NEW"), ("__op", b"u")),
        (("__OLD", b"PAID"), ("__op", b"d")),
    ]


def test_prefixes_may_be_others() -> None:
    assert unwrapped(INSERT, add_fields="op", add_fields_prefix="cdc.")[0][1]["cdc.op"] == "c"


def test_headers_are_added_as_texts() -> None:
    properties = chain(
        (UNWRAP, {"add.headers": "op,source.scn,redo_sql", "delete.tombstone.handling.mode": "rewrite-with-tombstone"})
    )
    found = [record.headers for record in records(properties, UPDATE, DELETE)]
    assert found == [
        (("__op", b"u"), ("__source_scn", b"8842017"), ("__redo_sql", None)),
        (("__op", b"d"), ("__source_scn", b"8842017"), ("__redo_sql", None)),
        (("__op", b"d"),),
    ]


def test_a_member_that_is_null_is_a_header_without_a_value() -> None:
    """As Debezium: a reader finds each header in each record, also where there is no transaction block."""
    properties = chain(
        (UNWRAP, {"add.headers": "transaction.id,lcr_position,no_such", "add.fields": "lcr_position,before.STATUS"})
    )
    (record,) = records(properties, INSERT)
    assert dict(record.headers)["__lcr_position"] is None
    assert "__no_such" not in dict(record.headers)
    value = parsed(record.value)
    assert (value["__lcr_position"], value["__before_STATUS"]) == (None, None)


def test_a_field_of_the_row_may_choose_the_topic() -> None:
    found = records(
        chain((UNWRAP, {"route.by.field": "STATUS"})), INSERT, event(Op.CREATE, None, ("1", None, None, None)), DELETE
    )
    assert [record.topic for record in found] == ["NEW", "shop.SALES.ORDERS", "PAID"]


def test_a_field_that_is_not_there_cannot_choose_the_topic() -> None:
    with pytest.raises(
        DecodeError, match=r"transforms.t0: route.by.field: the row has no field status; there is STATUS.*key \{.*70021"
    ):
        records(chain((UNWRAP, {"route.by.field": "status"})), INSERT)


@pytest.mark.parametrize(
    ("mode", "deletes"),
    [
        ("drop", []),
        ("tombstone", [None]),
        ("delete-to-tombstone", [None]),
        ("rewrite", [None]),
        ("rewrite-with-tombstone", [None, None]),
    ],
)
def test_a_vanished_row_of_which_the_schema_needs_more_than_its_key_is_a_tombstone(mode: str, deletes: list[Any]) -> None:
    table = replace(ORDERS, columns=tuple(replace(column, nullable=False) for column in ORDERS.columns))
    gone = VanishedRow(table, b'{"schema":null,"payload":{"ORDER_ID":70021}}', Scn(9), 0)
    found = records(chain((UNWRAP, {"delete.tombstone.handling.mode": mode})), gone, schemas=True)
    assert [(parsed(one.key)["payload"], one.value) for one in found] == [({"ORDER_ID": 70021}, value) for value in deletes]


def test_truncate_is_left_out() -> None:
    change = SchemaChange(ORDERS.id, ORDERS, ORDERS, "TRUNCATE TABLE ORDERS", Scn(1), 0, truncate=True)
    made = records(chain((UNWRAP, {})), change, skipped_operations="none", include_schema_changes="false")
    assert made == []


def test_records_that_are_no_envelopes_go_by() -> None:
    change = SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)
    assert records(chain((UNWRAP, {})), change) == records(chain((f"{DEBEZIUM}ExtractChangedRecordState", {})), change) != []


def test_texts_that_look_like_members_stay_texts() -> None:
    nasty = '},"after":{"ORDER_ID":1},"source":{"version":"'
    made = unwrapped(event(Op.UPDATE, ("70021", nasty, None, None), ("70021", nasty + "x", None, None)))
    assert made[0][1]["STATUS"] == nasty + "x"


def test_columns_may_be_named_like_members_of_the_envelope() -> None:
    table = TableSchema(
        ORDERS.id,
        (
            Column("id", "NUMBER", 9, 0, nullable=False),
            Column("x", "NUMBER"),
            Column("after", "NUMBER"),
            Column("source", "NUMBER"),
        ),
        key=(0,),
        stored=("id", "x", "after", "source"),
    )
    two = {"scale": 0, "value": "Ag=="}
    made = unwrapped(event(Op.UPDATE, ("1", "1", "1", "1"), ("1", "2", "2", "2"), table))
    assert made == [({"id": 1}, {"id": 1, "x": two, "after": two, "source": two})]
    made = unwrapped(event(Op.UPDATE, ("1", "1", "1", "1"), ("1", "2", "2", "2"), table), add_fields="before.after")
    assert made[0][1]["__before_after"] == {"scale": 0, "value": "AQ=="}


def test_a_value_that_redo_lacks_keeps_its_placeholder() -> None:
    made = unwrapped(event(Op.UPDATE, ("1", UNAVAILABLE, "1", None), ("1", UNAVAILABLE, "2", None)))
    assert made[0][1]["STATUS"] == "__debezium_unavailable_value"


def test_unchanged_fields_can_be_dropped_by_a_header() -> None:
    changed = (f"{DEBEZIUM}ExtractChangedRecordState", {"header.unchanged.name": "same", "header.changed.name": "new"})
    options = {"drop.fields.header.name": "same", "drop.fields.keep.schema.compatible": "false"}
    (record,) = records(chain(changed, (UNWRAP, options)), UPDATE)
    assert dict(record.headers) == {"new": b'["STATUS"]', "same": b'["ORDER_ID","TOTAL","CREATED"]'}
    assert parsed(record.value) == {"STATUS": "PAID"}


def test_of_dropped_fields_the_required_ones_stay_unless_the_schema_may_change() -> None:
    """A field that did not change is left out: a null would say that it became null."""
    changed = (f"{DEBEZIUM}ExtractChangedRecordState", {"header.unchanged.name": "same"})
    options = {"drop.fields.header.name": "same", "drop.fields.from.key": "true"}
    (record,) = records(chain(changed, (UNWRAP, options)), UPDATE, schemas=True)
    value = parsed(record.value)
    assert value["payload"] == {"ORDER_ID": 70021, "STATUS": "PAID"}
    assert [field["field"] for field in value["schema"]["fields"]] == ["ORDER_ID", "STATUS"]
    assert parsed(record.key)["payload"] == {"ORDER_ID": 70021}


def test_nulls_become_defaults_by_option_where_deletes_are_rewritten() -> None:
    """As Debezium 3.6.1, with `add.fields` and without."""
    table = TableSchema(
        ORDERS.id,
        (ORDERS.columns[0], Column("CHANNEL", "VARCHAR2", 12, default="'WEB'")),
        key=(0,),
        stored=("ORDER_ID", "CHANNEL"),
    )
    row = event(Op.CREATE, None, ("1", None), table)
    assert unwrapped(row)[0][1]["CHANNEL"] is None
    replaced = {"replace_null_with_default": "true"}
    assert unwrapped(row, **replaced)[0][1]["CHANNEL"] is None
    assert unwrapped(row, **replaced, add_fields="op")[0][1] == {"ORDER_ID": 1, "CHANNEL": None, "__op": "c"}
    rewritten = unwrapped(row, **replaced, delete_tombstone_handling_mode="rewrite")[0][1]
    assert rewritten["CHANNEL"] == "WEB"
