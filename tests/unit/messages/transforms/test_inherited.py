"""What a step leaves of the schemas that it takes over, and of the values that become headers: as Kafka Connect's own classes, with which
tests/parity/test_transforms.py compares them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.messages.formats.test_avro import ALL, ROWS
from tests.unit.messages.test_envelope import NEW, ORDERS, event
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured, parsed, records
from tests.unit.messages.transforms.test_fields import DELETE, FLAT, INSERT, flat

from minercdc.errors import ConfigError
from minercdc.schema.table import Column
from minercdc.stream.events import Op

WIDER = replace(
    ORDERS,
    columns=(*ORDERS.columns, Column("N", "NUMBER", 4, 0, default="7"), Column("CHANNEL", "VARCHAR2", 12, default="'WEB'")),
    stored=(*ORDERS.stored, "N", "CHANNEL"),
    version=2,
)
AFTER = (f"{KAFKA}ExtractField$Value", {"field": "after"})  # an optional struct
ROW = event(Op.CREATE, None, (*NEW, "5", "TEL"), WIDER)


def schema_of_value(*steps: tuple[str, dict[str, str]]) -> Any:
    (record,) = records(
        chain(*((kind if "." in kind else KAFKA + kind, options) for kind, options in steps)), ROW, schemas=True
    )
    return parsed(record.value)["schema"]


@pytest.mark.parametrize(
    ("kind", "options", "of_optional"),
    [
        ("ReplaceField$Value", {"exclude": "TOTAL"}, False),
        ("InsertField$Value", {"static.field": "s", "static.value": "x"}, False),
        ("HoistField$Value", {"field": "row"}, False),
        ("Flatten$Value", {}, False),
        ("HeaderFrom$Value", {"fields": "STATUS", "headers": "s", "operation": "move"}, False),
        ("MaskField$Value", {"fields": "STATUS"}, True),
        ("SetSchemaMetadata$Value", {"schema.name": "a.B"}, True),
        ("Cast$Value", {"spec": "N:string"}, True),
        ("TimestampConverter$Value", {"field": "CREATED", "target.type": "Timestamp"}, True),
        ("TimestampConverter$Value", {"field": "NOT_HERE", "target.type": "Timestamp"}, True),
    ],
)
def test_a_struct_is_optional_where_connect_leaves_it_so(kind: str, options: dict[str, str], of_optional: bool) -> None:
    assert schema_of_value(FLAT, (kind, options))["optional"] is False
    assert schema_of_value(AFTER, (kind, options))["optional"] is of_optional


def test_a_value_with_a_header_in_it_is_not_optional_but_rows_in_an_envelope_are() -> None:
    header = ("InsertHeader", {"header": "h", "value.literal": "x"})
    to_row = (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "copy"})
    assert schema_of_value(AFTER, header, to_row)["optional"] is False
    to_after = (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "after.h", "operation": "copy"})
    (after,) = (field for field in schema_of_value(header, to_after)["fields"] if field["field"] == "after")
    assert after["optional"] is True


def test_a_hoisted_schema_stays_what_it_is() -> None:
    (inner,) = schema_of_value(AFTER, ("HoistField$Value", {"field": "row"}))["fields"]
    assert (inner["field"], inner["optional"], inner["name"]) == ("row", True, "shop.SALES.ORDERS.Value")


def test_fields_of_an_optional_struct_are_optional_when_it_is_flattened() -> None:
    assert all(field["optional"] for field in schema_of_value(AFTER, ("Flatten$Value", {}))["fields"])
    by_name = {field["field"]: field for field in schema_of_value(FLAT, ("Flatten$Value", {}))["fields"]}
    assert not by_name["ORDER_ID"]["optional"]
    assert by_name["CHANNEL"]["default"] == "WEB"


def test_a_default_is_cast_with_its_field() -> None:
    fields = {
        field["field"]: field
        for field in schema_of_value(FLAT, ("Cast$Value", {"spec": "N:string,CREATED:string"}))["fields"]
    }
    assert fields["N"] == {"type": "string", "optional": True, "default": "7", "field": "N"}
    assert fields["CREATED"] == {"type": "string", "optional": True, "field": "CREATED"}
    made = schema_of_value(FLAT, ("ExtractField$Value", {"field": "N"}), ("Cast$Value", {"spec": "string"}))
    assert made == {"type": "string", "optional": True, "default": "7"}


def test_a_whole_that_is_cast_keeps_its_name_but_no_type_of_connects() -> None:
    at = schema_of_value(FLAT, ("ExtractField$Value", {"field": "CREATED"}), ("Cast$Value", {"spec": "string"}))
    assert at == {"type": "string", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1}
    total = schema_of_value(FLAT, ("ExtractField$Value", {"field": "TOTAL"}), ("Cast$Value", {"spec": "string"}))
    assert total == {"type": "string", "optional": True}


def test_a_time_of_another_table_is_no_error() -> None:
    step = ("TimestampConverter$Value", {"field": "NOT_HERE", "target.type": "unix"})
    assert flat(*step) == flat("ReplaceField$Value", {})


@pytest.mark.parametrize(
    ("literal", "kind", "printed"),
    [
        ("42", "int8", b"42"),
        ("+7", "int8", b"7"),
        ("128", "int16", b"128"),
        ("-40000", "int32", b"-40000"),
        ("3000000000", "int64", b"3000000000"),
        ("1.0", "int8", b"1"),
        ("1.5", "float", b"1.5"),
        ("true", "boolean", b"true"),
        ("eu", "string", b"eu"),
        ("", "string", b""),
        (" eu ", "string", b"eu"),
        (".5", "string", b".5"),
        ("12abc", "string", b"12abc"),
        ("2026-13-01", "string", b"2026-13-01"),
        ("2026-09-21", "int32", b"2026-09-21"),
        ("2026-09-21T10:30:00.123Z", "int64", b"2026-09-21T10:30:00.123Z"),
        ("92233720368547758070", "bytes", b"92233720368547758070"),
        ("1e41", "double", b"1.0E41"),
    ],
)
def test_a_header_has_the_type_that_connect_infers_from_its_literal(literal: str, kind: str, printed: bytes) -> None:
    steps = (
        (f"{KAFKA}InsertHeader", {"header": "h", "value.literal": literal}),
        (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "copy"}),
    )
    (record,) = records(chain(*steps), INSERT, schemas=True)
    field = parsed(record.value)["schema"]["fields"][-1]
    assert (field["field"], field["type"], record.headers) == ("h", kind, (("h", printed),))


def test_fields_become_headers_and_stay_or_go() -> None:
    given = {"fields": "STATUS,TOTAL,CHANNEL", "headers": "state,total,channel", "operation": "move"}
    steps = (FLAT, (f"{KAFKA}HeaderFrom$Value", given))
    (record,) = records(chain(*steps), event(Op.CREATE, None, (*NEW, "5", None), WIDER), schemas=True)
    assert record.headers == (("state", b"NEW"), ("total", b"15.00"), ("channel", None))
    document = parsed(record.value)
    assert document["payload"] == {"ORDER_ID": 70021, "CREATED": 1789986600000, "N": 5}
    assert [field["field"] for field in document["schema"]["fields"]] == ["ORDER_ID", "CREATED", "N"]
    copied = records(chain((f"{KAFKA}HeaderFrom$Key", {"fields": "ORDER_ID", "headers": "id", "operation": "copy"})), DELETE)
    assert [(parsed(one.key), one.headers) for one in copied] == [({"ORDER_ID": 70021}, (("id", b"70021"),))] * 2
    with pytest.raises(ConfigError, match="both lists must have the same length"):
        configured(chain((f"{KAFKA}HeaderFrom$Value", {"fields": "a,b", "headers": "a", "operation": "copy"})))


def test_a_null_is_its_default_where_a_schema_gets_another_name() -> None:
    step = (f"{KAFKA}SetSchemaMetadata$Value", {"schema.name": "a.B", "replace.null.with.default": "true"})
    (record,) = records(chain(FLAT, step), event(Op.CREATE, None, (*NEW, "5", None), WIDER))
    assert parsed(record.value)["CHANNEL"] == "WEB"


def test_the_literal_null_is_a_header_without_a_value() -> None:
    (record,) = records(chain((f"{KAFKA}InsertHeader", {"header": "h", "value.literal": "null"})), INSERT)
    assert record.headers == (("h", None),)


def test_headers_are_printed_as_connects_simple_header_converter_does() -> None:
    added = "op,source.txSeq,after.AMOUNT,after.ANY_NUMBER,after.BF,after.BD,after.RAW_BYTES,after.TEXT,redo_sql"
    (record,) = records(chain((UNWRAP, {"add.headers": added})), event(Op.CREATE, None, ROWS[0], ALL))
    found = [content for _, content in record.headers]
    assert parsed(found.pop(3)) == parsed(record.value)["ANY_NUMBER"]
    assert found == [b"c", b"2", b"-12.34", b"1.5", b"-0.1", b"AP8Q", "grün".encode(), None]
