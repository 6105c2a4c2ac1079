"""What is not compatible between two schemas, and the columns that a registry means by places in a schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minercdc.messages.registries.compatibility import avro_faults, columns_at_fault, protobuf_faults, reasons


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


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def row(*fields: dict[str, Any], name: str = "Value") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "shop.S.T", "fields": fields})


ID, NAME = field("ID", "long"), field("NAME", ["null", "string"], default=None)


@pytest.mark.parametrize(
    ("level", "old", "new", "faults"),
    [
        ("BACKWARD", row(ID), row(ID, NAME), []),
        ("BACKWARD", row(ID), row(ID, field("N", "int")), ["N is new and has no default"]),
        ("BACKWARD", row(ID, field("N", "int")), row(ID), []),
        ("FORWARD", row(ID), row(ID, field("N", "int")), []),
        ("FORWARD", row(ID, field("N", "int")), row(ID), ["N was removed and had no default"]),
        (
            "FULL",
            row(ID, field("O", "int")),
            row(ID, field("N", "int")),
            ["N is new and has no default", "O was removed and had no default"],
        ),
        ("", row(ID, field("O", "int")), row(ID), ["O was removed and had no default"]),
        ("BACKWARD", row(field("A", "int")), row(field("A", "string")), ["A was int and is string"]),
        ("BACKWARD", row(field("A", "int")), row(field("A", "long")), []),
        ("FORWARD_TRANSITIVE", row(field("A", "int")), row(field("A", "long")), ["A was int and is long"]),
        ("FULL", row(field("A", "int")), row(field("A", "string")), ["A was int and is string"]),
        ("BACKWARD", row(NAME), row(field("NAME", "string")), ["NAME was null or string and is string"]),
        ("FORWARD", row(NAME), row(field("NAME", "string")), []),
        (
            "BACKWARD",
            row(field("A", ["null", "int"])),
            row(field("A", ["null", "string"])),
            ["A was null or int and is null or string"],
        ),
        (
            "BACKWARD",
            row(field("A", {"type": "array", "items": "int"})),
            row(field("A", {"type": "array", "items": "string"})),
            ["A was array of int and is array of string"],
        ),
        (
            "BACKWARD",
            row(field("A", {"type": "array", "items": json.loads(row(ID, name="Item"))})),
            row(field("A", {"type": "array", "items": json.loads(row(ID, field("N", "int"), name="Item"))})),
            ["A.N is new and has no default"],
        ),
        ("BACKWARD", row(ID), row(ID, name="Other"), ["the record was Value and is Other"]),
        (
            "BACKWARD",
            row(field("A", {"type": "bytes", "logicalType": "decimal", "scale": 2, "precision": 9})),
            row(field("A", "double")),
            ["A was decimal and is double"],
        ),
        ("BACKWARD", OLD, NEW, ["before.AMOUNT was null or int and is null or string"]),
        ("BACKWARD", OLD, OLD, []),
        ("BACKWARD", 'syntax = "proto3";', NEW, []),
        ("BACKWARD", "[1]", "{}", []),
    ],
)
def test_the_fields_that_break_a_level(level: str, old: str, new: str, faults: list[str]) -> None:
    assert avro_faults(old, new, level) == faults


def message(*fields: str) -> str:
    return 'syntax = "proto3"; package shop; message Value { ' + " ".join(f"{one};" for one in fields) + " }"


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        (message("int64 ID = 1", "string NAME = 2"), message("int64 ID = 1", "string TITLE = 2", "int32 N = 3"), []),
        (message("int64 ID = 1", "string NAME = 2"), message("int64 ID = 1"), []),
        (message("int32 ID = 1"), message("int64 ID = 1"), []),
        (
            message("int64 ID = 1", "int32 GONE = 2", "string NAME = 3"),
            message("int64 ID = 1", "string NAME = 2"),
            ["number 2 of Value was GONE int32 and is NAME string"],
        ),
        (message("int64 A = 1"), message("repeated int64 A = 1"), ["number 1 of Value was A int64 and is A repeated int64"]),
        (
            message("string A = 1"),
            message("repeated string A = 1"),
            ["number 1 of Value was A string and is A repeated string"],
        ),
        (message("int64 A = 1"), message("int64 A = 1").replace("Value", "Row"), ["message Value was removed"]),
        ("{}", "{", []),
    ],
)
def test_the_numbers_that_are_of_other_fields_in_protobuf(old: str, new: str, faults: list[str]) -> None:
    assert protobuf_faults(old, new) == faults


def test_a_message_names_twenty_fields() -> None:
    assert reasons("FULL", [f"C{i} is gone" for i in range(25)], "no").count(" is gone") == 20
    assert reasons("FULL", [f"C{i} is gone" for i in range(25)], "no").endswith(
        "C19 is gone; and 5 more; the registry says: no"
    )
    assert reasons("", [], "no") == "; the registry says: no"
