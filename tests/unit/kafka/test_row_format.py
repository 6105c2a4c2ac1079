"""Rows of which redo did not tell everything, for every type and every way of rendering it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from minercdc.errors import ValueDecodeError
from minercdc.events import UNAVAILABLE, Op, Row
from minercdc.kafka.row_format import PrintedColumn, PrintValue, compile_key, compile_value
from minercdc.schema.table import Column
from minercdc.values.codec import _FAMILY_OF, ValueHandling, codec_for

CHOICES = {
    "decimal": ("precise", "string", "double"),
    "time_precision": ("adaptive", "connect", "isostring", "microseconds", "nanoseconds"),
    "interval": ("numeric", "string"),
    "binary": ("bytes", "base64", "base64-url-safe", "hex"),
}
HANDLINGS = [
    ValueHandling(**dict(zip(CHOICES, chosen, strict=True)))  # type: ignore[arg-type]
    for chosen in itertools.product(*CHOICES.values())
]
NS = "1795298765123456789"
SIZES = [(None, None), (9, 0), (38, 0), (12, 2), (5, -2), (2, 9)]


def _rows(print_value: PrintValue, before: Row | None, after: Row | None) -> Any:
    return _told(json.loads(print_value(before, after, '{"ssn":0}', Op.UPDATE, NS)))


def _told(envelope: dict[str, Any]) -> dict[str, Any]:
    """What an envelope tells of rows; the rest of it has to be what it always is."""
    rows = {"before": envelope.pop("before"), "after": envelope.pop("after")}
    assert envelope == {
        "source": {"ssn": 0}, "transaction": None, "op": "u",
        "ts_ms": 1795298765123, "ts_us": 1795298765123456, "ts_ns": 1795298765123456789,
    }  # fmt: skip
    return rows


@pytest.mark.parametrize("type_name", sorted(_FAMILY_OF))
def test_a_value_that_redo_did_not_tell_is_told_as_such(type_name: str) -> None:
    for handling, (length, scale) in itertools.product(HANDLINGS, SIZES):
        codec = codec_for(Column("C", type_name, length, scale), handling)
        columns = [PrintedColumn("A", 0, codec_for(Column("A", "CHAR", 1), handling)), PrintedColumn("C", 1, codec, '"?"')]
        print_value = compile_value(columns, 2, "", "")
        known, unknown = ("a", None), ("a", UNAVAILABLE)
        shown = {known: {"A": "a", "C": None}, unknown: {"A": "a", "C": "?"}, None: None}
        for before, after in ((None, unknown), (unknown, None), (unknown, known), (known, unknown), (None, None)):
            assert _rows(print_value, before, after) == {"before": shown[before], "after": shown[after]}


def test_a_value_that_is_the_same_before_and_after_is_printed_once() -> None:
    printed: list[str] = []

    def to_json(text: str) -> str:
        printed.append(text)
        return "1"

    codec = replace(codec_for(Column("C", "VARCHAR2", 10), ValueHandling()), to_json=to_json)
    print_value = compile_value([PrintedColumn("C", 1, codec)], 2, "", "")
    text = "x" * 5
    assert _rows(print_value, ("a", text), ("b", text)) == {"before": {"C": 1}, "after": {"C": 1}}
    assert printed == [text]


def test_what_is_wrong_with_a_value_is_said_as_its_codec_says_it() -> None:
    print_value = compile_value([PrintedColumn("N", 0, codec_for(Column("N", "NUMBER", 5, 0), ValueHandling()))], 1, "", "")
    with pytest.raises(ValueDecodeError, match="'12x' is not a NUMBER"):
        print_value(("12x",), ("12",), "{}", Op.UPDATE, NS)


def test_names_and_texts_around_are_what_they_are() -> None:
    codec = codec_for(Column("C", "VARCHAR2", 10), ValueHandling())
    columns = [PrintedColumn(name, i, codec) for i, name in enumerate(("{a}", 'it\'s "b"', "\\N{DASH}\n", "%s"))]
    row = ("1", "2", "3", "4")
    document = dict(zip((column.name for column in columns), row, strict=True))
    for before, after in ((row, None), (None, row), (row, row)):
        told = json.loads(compile_value(columns, 4, '{"payload":', "}")(before, after, '{"ssn":0}', Op.UPDATE, NS))
        assert list(told) == ["payload"]
        assert _told(told["payload"]) == {"before": document if before else None, "after": document if after else None}
    assert json.loads(compile_key(columns[1:3], "[", "]")(row)) == [
        {column.name: row[column.position] for column in columns[1:3]}
    ]
