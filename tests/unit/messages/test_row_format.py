"""Rows of which redo does not hold everything, for every type and every way of rendering it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from minercdc.errors import ValueDecodeError
from minercdc.messages.envelope.row_format import PrintedColumn, PrintRecord, compile_record
from minercdc.schema.table import Column
from minercdc.stream.events import UNAVAILABLE, Op, Row
from minercdc.values.codec import _FAMILY_OF, ValueHandling, codec_for

CHOICES = {
    "decimal": ("precise", "string", "double"),
    "time_precision": ("adaptive", "connect", "isostring", "microseconds", "nanoseconds"),
    "interval": ("numeric", "string"),
    "binary": ("bytes", "base64", "base64-url-safe", "hex"),
}
# A family reads one of the choices each, so every choice once is enough: the product of all takes ten seconds.
HANDLINGS = [
    ValueHandling(**{name: values[number % len(values)] for name, values in CHOICES.items()})  # type: ignore[arg-type]
    for number in range(max(map(len, CHOICES.values())))
]
END = '","ts_ms":1}'
BARE = ("", "")
SIZES = [(None, None), (9, 0), (38, 0), (12, 2), (5, -2), (2, 9)]


def _rows(print_record: PrintRecord, before: Row | None, after: Row | None) -> Any:
    key, value = print_record(before, after, '{"ssn":0}', Op.UPDATE, END)
    assert key is None
    return _rows_of(json.loads(value))


def _rows_of(envelope: dict[str, Any]) -> dict[str, Any]:
    """The rows of an envelope; checks the rest of it."""
    rows = {"before": envelope.pop("before"), "after": envelope.pop("after")}
    assert envelope == {"source": {"ssn": 0}, "transaction": None, "op": "u", "ts_ms": 1}
    return rows


@pytest.mark.parametrize("type_name", sorted(_FAMILY_OF))
def test_a_value_that_redo_does_not_hold_is_printed_as_such(type_name: str) -> None:
    for handling, (length, scale) in itertools.product(HANDLINGS, SIZES):
        codec = codec_for(Column("C", type_name, length, scale), handling)
        columns = [PrintedColumn("A", 0, codec_for(Column("A", "CHAR", 1), handling)), PrintedColumn("C", 1, codec, '"?"')]
        print_record = compile_record(columns, (), BARE, BARE)
        known, unknown = ("a", None), ("a", UNAVAILABLE)
        shown = {known: {"A": "a", "C": None}, unknown: {"A": "a", "C": "?"}, None: None}
        for before, after in ((None, unknown), (unknown, None), (unknown, known), (known, unknown), (None, None)):
            assert _rows(print_record, before, after) == {"before": shown[before], "after": shown[after]}


def test_a_value_that_is_the_same_before_and_after_is_printed_once() -> None:
    printed: list[str] = []

    def to_json(text: str) -> str:
        printed.append(text)
        return "1"

    codec = replace(codec_for(Column("C", "VARCHAR2", 10), ValueHandling()), to_json=to_json)
    print_record = compile_record([PrintedColumn("C", 1, codec)], (), BARE, BARE)
    text = "x" * 5
    assert _rows(print_record, ("a", text), ("b", text)) == {"before": {"C": 1}, "after": {"C": 1}}
    assert printed == [text]


def test_what_is_wrong_with_a_value_is_said_as_its_codec_says_it() -> None:
    columns = [PrintedColumn("N", 0, codec_for(Column("N", "NUMBER", 5, 0), ValueHandling()))]
    with pytest.raises(ValueDecodeError, match="'12x' is not a NUMBER"):
        compile_record(columns, (), BARE, BARE)(("12x",), ("12",), "{}", Op.UPDATE, END)


def test_names_and_texts_around_are_what_they_are() -> None:
    codec = codec_for(Column("C", "VARCHAR2", 10), ValueHandling())
    columns = [PrintedColumn(name, i, codec) for i, name in enumerate(("{a}", 'it\'s "b"', "\\N{DASH}\n", "%s"))]
    row = ("1", "2", "3", "4")
    document = dict(zip((column.name for column in columns), row, strict=True))
    keyed = {column.name: row[column.position] for column in columns[1:3]}
    print_record = compile_record(columns, columns[1:3], ("[", "]"), ('{"payload":', "}"))
    for before, after in ((row, None), (None, row), (row, row)):
        key, value = print_record(before, after, '{"ssn":0}', Op.UPDATE, END)
        envelope = json.loads(value)
        assert list(envelope) == ["payload"]
        assert _rows_of(envelope["payload"]) == {
            "before": document if before else None,
            "after": document if after else None,
        }
        assert key is not None
        assert json.loads(key) == [keyed]


def test_the_key_is_that_of_the_row_after_or_of_a_deleted_row() -> None:
    codec = codec_for(Column("C", "NUMBER", 5, 0), ValueHandling())
    shown, hidden = PrintedColumn("C", 0, codec), PrintedColumn("ID", 2, codec)
    print_record = compile_record([shown], [hidden, shown], BARE, BARE)
    old, new = ("1", UNAVAILABLE, "2"), ("3", UNAVAILABLE, "4")
    for before, after, key in (
        (None, new, b'{"ID":4,"C":3}'), (old, None, b'{"ID":2,"C":1}'), (old, new, b'{"ID":4,"C":3}'), (old, old, b'{"ID":2,"C":1}'),
        ((UNAVAILABLE, None, None), new, b'{"ID":4,"C":3}'),
    ):  # fmt: skip
        printed, value = print_record(before, after, '{"ssn":0}', Op.UPDATE, END)
        assert printed == key
        envelope = _rows_of(json.loads(value))
        assert set(envelope["after"] or envelope["before"]) == {"C"}
    for row in ((UNAVAILABLE, None, "2"), ("1", None, UNAVAILABLE)):
        with pytest.raises(ValueDecodeError, match="redo does not hold column (ID|C) of the key"):
            print_record(None, row, "{}", Op.CREATE, END)
