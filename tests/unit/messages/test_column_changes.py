"""Values that are masked, hashed or cut; schemas that name the source's types; old decimals; updates without change."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.formats.test_avro import parts
from tests.unit.messages.test_envelope import LOG, NEEDED, NEW, ORDERS, PAID, event

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.config.messages.content import ColumnRule
from minercdc.errors import ConfigError, DecodeError
from minercdc.messages.avro.schema import avro_schema
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.column_changes import java_serialized
from minercdc.messages.envelope.encoder import UNAVAILABLE_HEADER, EnvelopeEncoder, OtherEvents
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.contracts import Record
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Scn, VanishedRow

INSERT = event(Op.CREATE, None, NEW)


def configured(properties: dict[str, str]) -> ConnectorConfig:
    return parse_properties({**NEEDED, **properties})


def encoder(properties: dict[str, str]) -> EnvelopeEncoder:
    config = configured(properties)
    topics = TopicNames(config)
    return envelope_encoder(config, topics, OtherEvents(schema_changes=True))


def encoded(properties: dict[str, str], *events: ChangeEvent) -> list[Record]:
    made = encoder(properties)
    return [record for one in events for record in made.encode(one)]


def after(properties: dict[str, str], row: Any = NEW, table: TableSchema = ORDERS) -> Any:
    (record,) = encoded(properties, event(Op.CREATE, None, row, table))
    assert record.value is not None
    return json.loads(record.value)["after"]


STATUS = r"SALES\.ORDERS\.STATUS"


def test_a_mask_has_its_length_for_every_value() -> None:
    rule = {"column.mask.with.5.chars": f"{STATUS},OTHER.*"}
    assert after(rule)["STATUS"] == "*****"
    assert after(rule, ("1", "a much longer one", None, None))["STATUS"] == "*****"
    assert after(rule, ("1", None, None, None))["STATUS"] == "*****"
    assert after(rule, ("1", UNAVAILABLE, None, None))["STATUS"] == "*****"
    assert after({"column.mask.with.0.chars": STATUS})["STATUS"] == ""


def test_texts_are_cut_and_other_types_stay() -> None:
    rule = {"column.truncate.to.2.chars": r"SALES\.ORDERS\..*"}
    assert after(rule) == {"ORDER_ID": 70021, "STATUS": "NE", "TOTAL": "Bdw=", "CREATED": 1789986600000}
    assert after(rule, ("1", UNAVAILABLE, None, None))["STATUS"] == "__debezium_unavailable_value"
    nothing = {"column.truncate.to.0.chars": STATUS}
    assert [after(nothing, ("1", text, None, None))["STATUS"] for text in ("NEW", None)] == ["", None]


@pytest.mark.parametrize("name", ["SHA-256", "MD5", "SHA-512/256", "SHA3-256"])
def test_a_hash_of_the_text_is_portable(name: str) -> None:
    table = TableSchema(
        ORDERS.id, (ORDERS.columns[0], Column("STATUS", "VARCHAR2", 200)), key=(0,), stored=("ORDER_ID", "STATUS")
    )
    made = after({f"column.mask.hash.v2.{name}.with.salt.pepper.and.salt": STATUS}, ("1", "grün"), table)
    digest = hashlib.new(name.lower().replace("/", "_").replace("sha-", "sha").replace("sha3-", "sha3_"))
    digest.update("pepper.and.saltgrün".encode())
    assert made["STATUS"] == digest.hexdigest()


def test_a_hash_is_cut_to_the_columns_length() -> None:
    assert len(after({"column.mask.hash.v2.SHA-256.with.salt.s": STATUS})["STATUS"]) == 10


@pytest.mark.parametrize("kind", ["hash.SHA-256", "hash.v2.SHA-256"])
def test_a_header_names_hashed_columns_that_redo_does_not_hold(kind: str) -> None:
    """The hash of the placeholder looks like that of a value, as in Debezium."""
    rule = {f"column.mask.{kind}.with.salt.s": STATUS}
    row = ("70021", UNAVAILABLE, "15", None)
    (record,) = encoded(rule, event(Op.UPDATE, NEW, row))
    assert dict(record.headers) == {UNAVAILABLE_HEADER: b'["STATUS"]'}
    (record,) = encoded({"column.truncate.to.0.chars": STATUS}, event(Op.UPDATE, NEW, row))
    assert not record.headers, "it has the placeholder"


def test_the_first_kind_of_hash_is_of_javas_serialized_text() -> None:
    expected = hashlib.sha256(b"s" + bytes.fromhex("aced0005740003") + b"NEW").hexdigest()[:10]
    assert after({"column.mask.hash.SHA-256.with.salt.s": STATUS})["STATUS"] == expected


def test_javas_form_of_a_text() -> None:
    assert java_serialized("a\0é😀").hex() == "aced000574" + "000b" + "61" + "c080" + "c3a9" + "eda0bdedb880"
    assert java_serialized("x" * 70000)[:13].hex() == "aced00057c" + "0000000000011170"


def test_equal_texts_have_equal_hashes_in_both_rows() -> None:
    (record,) = encoded({"column.mask.hash.v2.MD5.with.salt.s": STATUS}, event(Op.UPDATE, NEW, NEW))
    value = json.loads(record.value or b"")
    assert value["before"]["STATUS"] == value["after"]["STATUS"] != "NEW"


def test_the_key_is_not_masked() -> None:
    table = TableSchema(ORDERS.id, (Column("STATUS", "VARCHAR2", 10, nullable=False),), key=(0,), stored=("STATUS",))
    for properties in (
        {"column.mask.with.3.chars": STATUS},
        {"column.mask.with.3.chars": STATUS, "column.exclude.list": "X"},
    ):
        changes = (
            event(Op.CREATE, None, ("NEW",), table),
            event(Op.DELETE, ("NEW",), None, table),
            event(Op.UPDATE, ("NEW",), ("NEW",), table),
        )
        for record in encoded({**properties, "tombstones.on.delete": "false"}, *changes):
            assert record.key == b'{"STATUS":"NEW"}'
            value = json.loads(record.value or b"")
            assert {image["STATUS"] for image in (value["before"], value["after"]) if image} == {"***"}


@pytest.mark.parametrize(
    ("rule", "shown"), [("mask.with.3.chars", "***"), ("truncate.to.2.chars", "NE")], ids=["masked", "cut"]
)
def test_the_delete_of_a_vanished_row_shows_no_more_of_its_key_than_other_records(rule: str, shown: str) -> None:
    table = replace(ORDERS, key=(0, 1))
    made = encoder({f"column.{rule}": STATUS})
    (there,) = made.encode(event(Op.CREATE, None, NEW, table))
    assert there.key == b'{"ORDER_ID":70021,"STATUS":"NEW"}'
    delete, _ = made.encode(VanishedRow(table, there.key, Scn(99), 0))
    assert delete.key == there.key
    before = json.loads(delete.value or b"")["before"]
    assert before == {**dict.fromkeys(before), "ORDER_ID": 70021, "STATUS": shown}


def test_a_key_beside_a_value_that_redo_lacks_is_not_masked() -> None:
    table = TableSchema(
        ORDERS.id,
        (Column("STATUS", "VARCHAR2", 10, nullable=False), Column("V", "VARCHAR2", 10)),
        key=(0,),
        stored=("STATUS", "V"),
    )
    update = event(Op.UPDATE, ("NEW", UNAVAILABLE), ("NEW", UNAVAILABLE), table)
    (record,) = encoded({"column.mask.with.3.chars": STATUS}, update)
    assert record.key == b'{"STATUS":"NEW"}'
    assert json.loads(record.value or b"")["after"] == {"STATUS": "***", "V": "__debezium_unavailable_value"}


def test_a_null_of_the_key_is_masked_in_the_value_only() -> None:
    masked = {"column.mask.with.3.chars": STATUS, "message.key.columns": "SALES.ORDERS:STATUS"}
    (record,) = encoded(masked, event(Op.CREATE, None, ("1", None, None, None)))
    assert record.key == b'{"STATUS":null}'
    assert json.loads(record.value or b"")["after"]["STATUS"] == "***"


def test_a_number_that_is_to_be_masked_is_never_shown() -> None:
    made = encoder({"column.mask.with.3.chars": r"SALES\.ORDERS\.TOTAL"})
    with pytest.raises(DecodeError, match=r"column SALES.ORDERS.TOTAL of type NUMBER is not text(.|\n)*column.exclude.list"):
        made.encode(INSERT)
    assert made.encode(event(Op.CREATE, None, ("a", None, None), LOG)), "other tables go on"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("column.mask.with.x.chars", "column.mask.with.x.chars: is not one of"),
        ("column.mask.hash.SHA-256", "column.mask.hash.SHA-256: is not one of"),
        ("column.mask.hash.Blowfish.with.salt.secret", "column.mask.hash.Blowfish: unknown hash Blowfish"),
        ("column.truncate.to.-1.chars", "column.truncate.to.-1.chars: is not one of"),
        ("column.truncate.to.3.char", "column.truncate.to.3.char: is not one of"),
    ],
)
def test_rules_that_are_none_are_refused_without_their_salt(name: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured({name: STATUS})
    assert problem in caught.value.message
    assert "secret" not in caught.value.message


def test_a_salt_is_not_shown() -> None:
    (rule,) = configured({"column.mask.hash.v2.MD5.with.salt.pepper": STATUS}).column_rules
    assert rule == ColumnRule("hash_v2", (STATUS,), algorithm="md5", salt="pepper")
    assert "pepper" not in repr(rule)


TYPED = {"value.converter.schemas.enable": "true"}


def fields(properties: dict[str, str]) -> dict[str, Any]:
    (record,) = encoded({**TYPED, **properties}, INSERT)
    schema = json.loads(record.value or b"")["schema"]
    return {field["field"]: field for field in schema["fields"][1]["fields"]}


def test_schemas_name_the_types_of_chosen_columns() -> None:
    found = fields({"column.propagate.source.type": rf"{STATUS},.*\.TOTAL"})
    assert found["STATUS"]["parameters"] == {
        "__debezium.source.column.type": "VARCHAR2",
        "__debezium.source.column.length": "10",
        "__debezium.source.column.name": "STATUS",
    }
    assert found["TOTAL"]["parameters"] == {
        "scale": "2",
        "connect.decimal.precision": "10",
        "__debezium.source.column.type": "NUMBER",
        "__debezium.source.column.length": "10",
        "__debezium.source.column.scale": "2",
        "__debezium.source.column.name": "TOTAL",
    }
    assert "parameters" not in found["ORDER_ID"]


def test_schemas_name_the_types_of_chosen_types() -> None:
    found = fields({"datatype.propagate.source.type": r".*\.NUMBER"})
    assert [name for name, field in found.items() if "__debezium.source.column.type" in field.get("parameters", ())] == [
        "ORDER_ID",
        "TOTAL",
    ]


def test_avro_has_the_types_as_connects_parameters() -> None:
    (record,) = encoded({**TYPED, "column.propagate.source.type": STATUS}, INSERT)
    avro = avro_schema(parts(record.value)[0])
    assert isinstance(avro, dict)
    status = avro["fields"][0]["type"][1]["fields"][1]["type"][1]
    assert (status["type"], status["connect.parameters"]["__debezium.source.column.type"]) == ("string", "VARCHAR2")


@pytest.mark.parametrize(("mode", "total"), [("string", "15.00"), ("double", 15.0)])
def test_old_decimals_keep_whole_numbers(mode: str, total: Any) -> None:
    plain = after({"decimal.handling.mode": mode})
    old = after({"decimal.handling.mode": mode, "legacy.decimal.handling.strategy": "true"})
    assert (plain["ORDER_ID"], old["ORDER_ID"]) == ("70021" if mode == "string" else 70021.0, 70021)
    assert type(old["ORDER_ID"]) is int
    assert plain["TOTAL"] == old["TOTAL"] == total


SKIP = {"skip.messages.without.change": "true"}


def test_an_update_that_changes_nothing_is_left_out() -> None:
    same, other = event(Op.UPDATE, NEW, NEW), event(Op.UPDATE, NEW, PAID)
    spelled = event(Op.UPDATE, NEW, (*NEW[:2], "15.0", NEW[3]))
    assert [len(encoded(SKIP, one)) for one in (same, spelled, other, INSERT)] == [0, 0, 1, 1]
    assert len(encoded({}, same)) == 1


def test_columns_that_are_not_published_do_not_count_but_keys_do() -> None:
    hidden = {**SKIP, "column.exclude.list": STATUS}
    assert encoded(hidden, event(Op.UPDATE, NEW, PAID)) == []
    moved = {**SKIP, "column.exclude.list": r".*\.ORDER_ID"}
    assert len(encoded(moved, event(Op.UPDATE, NEW, ("1", *NEW[1:])))) == 3


def test_a_value_that_redo_lacks_on_one_side_is_a_change() -> None:
    assert len(encoded(SKIP, event(Op.UPDATE, ("1", UNAVAILABLE, "1", None), ("1", "x", "1", None)))) == 1
    assert encoded(SKIP, event(Op.UPDATE, ("1", UNAVAILABLE, "1", None), ("1", UNAVAILABLE, "1", None))) == []


WITH_LARGE = TableSchema(
    ORDERS.id, (Column("ID", "NUMBER", 9, 0, nullable=False), Column("NOTE", "CLOB"), Column("N", "NUMBER", 9)), (0,)
)
LOBS = {**SKIP, "lob.enabled": "true"}
MASKED = {"column.mask.with.5.chars": r".*\.NOTE"}


@pytest.mark.parametrize(
    ("properties", "before", "after", "unknown", "published"),
    [
        (SKIP, UNAVAILABLE, UNAVAILABLE, False, True),  # redo has the statement, and the message no value
        (LOBS, UNAVAILABLE, UNAVAILABLE, False, False),  # no statement set it
        (LOBS, UNAVAILABLE, UNAVAILABLE, True, True),  # DBMS_LOB wrote a piece
        (LOBS, UNAVAILABLE, "read from the row", False, True),
        (LOBS, UNAVAILABLE, "__debezium_unavailable_value", False, True),
        (LOBS, "a", "a", False, False),
        ({**SKIP, **MASKED}, UNAVAILABLE, UNAVAILABLE, False, False),
        ({**LOBS, **MASKED}, UNAVAILABLE, "x", True, False),
        ({**SKIP, "column.exclude.list": r".*\.NOTE"}, UNAVAILABLE, UNAVAILABLE, True, False),
    ],
)
def test_an_update_whose_large_value_may_have_changed_is_published(
    properties: dict[str, str], before: Any, after: Any, unknown: bool, published: bool
) -> None:
    update = event(Op.UPDATE, ("1", before, "2"), ("1", after, "2"), WITH_LARGE)
    update.has_unknown_large = unknown
    assert len(encoded(properties, update)) == published


def test_a_number_that_redo_lacks_before_and_that_is_null_after_may_have_changed() -> None:
    assert len(encoded(LOBS, event(Op.UPDATE, ("1", "x", UNAVAILABLE), ("1", "x", None), WITH_LARGE))) == 1


def test_schemas_say_what_became_of_the_values() -> None:
    assert fields({"column.mask.with.5.chars": STATUS})["STATUS"]["parameters"] == {"masked": "true"}
    assert fields({"column.mask.hash.SHA-256.with.salt.s": STATUS})["STATUS"]["parameters"] == {"masked": "true"}
    assert fields({"column.truncate.to.3.chars": STATUS})["STATUS"]["parameters"] == {"truncateLength": "3"}
