"""The columns that a registry means by places in a schema."""

from __future__ import annotations

import json

import pytest

from minercdc.formats.incompatible import columns_at_fault


def envelope(*columns: tuple[str, str]) -> str:
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns]
    value = {"type": "record", "name": "Value", "fields": fields}
    images = [
        {"name": "before", "type": ["null", value], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
    ]
    return json.dumps({"type": "record", "name": "Envelope", "namespace": "shop.SALES.ORDERS", "fields": images})


OLD = envelope(("ID", "long"), ("AMOUNT", "int"))
NEW = envelope(("ID", "long"), ("AMOUNT", "string"))


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        ("The type (path '/fields/0/type/1/fields/1/type/1') of a field in the new schema does not match", "before.AMOUNT"),
        ("TYPE_MISMATCH (/fields/1/type/1/fields/1/type/1); again /fields/1/type/1/fields/1/type/1", "after.AMOUNT"),
        ("/fields/0/type/1/fields/0/type and /fields/0/type/1/fields/1/type", "before.ID, before.AMOUNT"),
        ("/fields/0/type/1/fields/7/type", ""),
        ("no place", ""),
    ],
)
def test_a_place_is_a_column(said: str, columns: str) -> None:
    assert columns_at_fault(said, NEW, OLD) == columns


def test_a_place_that_is_another_column_in_the_old_schema_is_not_named() -> None:
    moved = envelope(("ID", "long"), ("ADDED", "int"), ("AMOUNT", "string"))
    assert columns_at_fault("/fields/0/type/1/fields/1/type/1", moved, OLD) == ""


def test_protobuf_has_no_places() -> None:
    assert columns_at_fault("/fields/0", 'syntax = "proto3";', 'syntax = "proto3";') == ""
