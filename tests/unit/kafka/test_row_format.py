"""Rows of which redo did not tell everything, for every type and every way of rendering it."""

from __future__ import annotations

import itertools
import json

import pytest

from minercdc.events import UNAVAILABLE
from minercdc.kafka.row_format import PrintedColumn, compile_pair, compile_row
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
SIZES = [(None, None), (9, 0), (38, 0), (12, 2), (5, -2), (2, 9)]


@pytest.mark.parametrize("type_name", sorted(_FAMILY_OF))
def test_a_value_that_redo_did_not_tell_is_told_as_such(type_name: str) -> None:
    for handling, (length, scale) in itertools.product(HANDLINGS, SIZES):
        codec = codec_for(Column("C", type_name, length, scale), handling)
        columns = [PrintedColumn("A", 0, codec_for(Column("A", "CHAR", 1), handling)), PrintedColumn("C", 1, codec, '"?"')]
        print_row = compile_row(columns)
        print_pair = compile_pair(columns, print_row)
        known, unknown = ("a", None), ("a", UNAVAILABLE)
        assert json.loads(print_row(unknown)) == {"A": "a", "C": "?"}
        assert [json.loads(text) for text in print_pair(unknown, known)] == [{"A": "a", "C": "?"}, {"A": "a", "C": None}]
        assert [json.loads(text) for text in print_pair(known, unknown)] == [{"A": "a", "C": None}, {"A": "a", "C": "?"}]


def test_a_value_that_is_the_same_before_and_after_is_printed_once() -> None:
    codec = codec_for(Column("C", "VARCHAR2", 10), ValueHandling())
    columns = [PrintedColumn("C", 0, codec)]
    text = "x" * 5
    assert compile_pair(columns, compile_row(columns))((text,), (text,)) == ('{"C":"xxxxx"}',) * 2
