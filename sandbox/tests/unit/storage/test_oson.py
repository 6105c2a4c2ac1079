"""OSON images: JSON text there and back."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import oson

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=300)
    | st.integers(-(10**30), 10**30).map(Decimal)
    | st.decimals(-(10**9), 10**9, places=4, allow_nan=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=20), inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=150)
@given(VALUES)
def test_there_and_back(value: object) -> None:
    assert oson.decode(oson.encode(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "null",
        '"x"',
        "0.5",
        "-0.25",
        "1.2345678901234567890123456789012345678E+60",
        "-1E-90",
        '{"a":[1,2.5,null,true,"\u00e9"],"b":{"c":{}}}',
        '"' + "y" * 70_000 + '"',
    ],
)
def test_text(text: str) -> None:
    assert oson.serialize(oson.parse_json(text)) == text


def test_many_names_and_items() -> None:
    value = {f"name {n}": [Decimal(n)] * 3 for n in range(300)}
    assert oson.decode(oson.encode([value] * 300)) == [value] * 300


def test_what_is_no_json() -> None:
    for text in ("{'a': 1}", "[NaN]", "-Infinity"):
        with pytest.raises(OraError, match="ORA-40441"):
            oson.parse_json(text)
    for damaged in (b"", b"abc", oson.MAGIC, oson.encode({"a": Decimal(1)})[:-3]):
        with pytest.raises(OraError, match="ORA-40568"):
            oson.decode(damaged)
    assert json.loads(oson.serialize(oson.encode(["a"]))) == ["a"]
