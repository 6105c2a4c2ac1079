"""The delete of a row of which only the key of its records is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.test_envelope import ORDERS, encoder, event

from minercdc.errors import SchemaMismatchError
from minercdc.messages.envelope.vanished import members
from minercdc.schema.table import Column
from minercdc.stream.events import Op, Scn, VanishedRow

WIDE = replace(ORDERS, columns=(*ORDERS.columns, Column('O"P', "VARCHAR2", 9, nullable=False)), key=(0, 2, 4))
ROW = ("12345678901234567", None, "99999999.25", "2026-02-28 13:45:59", 'a"}b,')


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"key_converter_schemas_enable": "true", "value_converter_schemas_enable": "true"},
        {"decimal_handling_mode": "double"},
    ],
)
def test_its_key_is_that_of_the_row_and_the_rest_is_null(properties: dict[str, Any]) -> None:
    encode = encoder(**properties).encode
    (written,) = encode(event(Op.CREATE, None, ROW, WIDE))
    assert written.key is not None
    gone, tombstone = encode(VanishedRow(WIDE, written.key, Scn(99), 1_000_000))
    assert (gone.key, gone.topic, gone.partition) == (written.key, written.topic, None)
    assert (tombstone.key, tombstone.value) == (written.key, None)
    there, value = (json.loads(record.value or b"") for record in (written, gone))
    if "value_converter_schemas_enable" in properties:
        assert value["schema"] == there["schema"]
        there, value = there["payload"], value["payload"]
    after = there["after"]
    assert value["before"] == {name: after[name] if name in ("ORDER_ID", "TOTAL", 'O"P') else None for name in after}
    assert (value["op"], value["after"], value["source"]["scn"]) == ("d", None, "99")
    assert value.keys() == there.keys()


def test_none_comes_where_deletes_are_left_out() -> None:
    assert encoder(skipped_operations="d").encode(VanishedRow(WIDE, b"{}", Scn(99), 1_000_000)) == ()


def test_a_number_does_not_pass_through_a_float() -> None:
    assert members(b'{"N":12345678901234567890.125,"T":"a,}"}', wrapped=False) == {
        "N": "12345678901234567890.125",
        "T": '"a,}"',
    }


@pytest.mark.parametrize("key", [b"17", b"{", b'{"a"', b"{}x", b"\xff\x00", b'{"a":"\\\xff"}'])
def test_what_is_no_key_of_ours_is_refused(key: bytes) -> None:
    with pytest.raises(SchemaMismatchError):
        members(key, wrapped=key.endswith(b"x"))


@pytest.mark.parametrize("by_number", [False, True])
def test_a_delete_that_does_not_fit_the_schema_of_rows_has_no_before(by_number: bool) -> None:
    table = replace(WIDE, key=(0,))
    made = encoder(
        by_number=(by_number, by_number), key_converter_schemas_enable="true", value_converter_schemas_enable="true"
    )
    (written,) = made.encode(event(Op.CREATE, None, ROW, table))
    payload = b'"payload":{"ORDER_ID":12345678901234567}}'
    key = b'{"schema":null,' + payload if by_number else (written.key or b"")
    delete, tombstone = made.encode(VanishedRow(table, key, Scn(99), 0))
    assert (delete.key, tombstone.key, tombstone.value) == (written.key, written.key, None)
    assert b'{"before":null,"after":null,"source":{' in (delete.value or b"")
    assert b'"op":"d"' in (delete.value or b"")


def test_a_key_with_a_binary_float_is_of_the_present_key() -> None:
    table = replace(ORDERS, columns=(Column("X", "BINARY_DOUBLE"), *ORDERS.columns[1:]), key=(0,))
    key = b'{"schema":null,"payload":{"X":1.5}}'
    made = encoder(by_number=(True, True), key_converter_schemas_enable="true", value_converter_schemas_enable="true")
    assert made.encode(VanishedRow(table, key, Scn(99), 0))


@pytest.mark.parametrize("payload", [b'{"ORDER_ID":5,"LINE":2}', b'{"ID":5}', b'{"ORDER_ID":"5"}'])
def test_a_key_of_another_definition_deletes_no_live_row(payload: bytes, caplog: pytest.LogCaptureFixture) -> None:
    key = b'{"schema":null,"payload":' + payload + b"}"
    assert (
        encoder(by_number=(True, True), key_converter_schemas_enable="true", value_converter_schemas_enable="true").encode(
            VanishedRow(ORDERS, key, Scn(99), 0)
        )
        == ()
    )
    assert payload.decode() in caplog.text
