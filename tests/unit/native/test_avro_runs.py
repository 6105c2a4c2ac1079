"""Runs in Avro: what compiled code rewrites as a whole is what Python rewrites record by record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.native_pair import IS_NATIVE, NO_BOUND
from tests.unit.messages.formats.golden import Registry
from tests.unit.messages.test_envelope import encoder
from tests.unit.native.test_pair import INFO, TEXTS, code_of, row_of

from minercdc.capture.logminer.buffer.transactions import transaction_buffer
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.registries.registered import ConfluentSchemas
from minercdc.messages.registries.subjects import TOPIC, subject_names
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import EncodedRun, Record
from minercdc.stream.events import ChangeRun

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

TABLE = TableSchema(
    TableId("D", "S", "T"),
    (Column("ID", "NUMBER", 10, 0, nullable=False), Column("V", "VARCHAR2", 200), Column("F", "BINARY_FLOAT")),
    (0,),
)
PLAIN = [
    """insert into "S"."T"("ID","V","F") values ('1','x','1.5')""",
    """update "S"."T" set "V" = NULL where "ID" = '1' and "V" = 'x' and "F" = '1.5'""",
    """delete from "S"."T" where "ID" = '1' and "V" IS NULL and "F" = '1.5'""",
]
REALS = ("1.5", "Nan", "-Inf", "-0", "7.25E+003")
ODD = [
    f"""insert into "S"."T"("ID","V","F") values ('{i}','{text}','{REALS[i % len(REALS)]}')"""
    for i, text in enumerate(TEXTS)
    if "\ud800" not in text
]


def schemas(side: Any) -> ConfluentSchemas:
    return ConfluentSchemas(Registry(), subject_names(TOPIC, side), auto_register=True, use_latest=False, normalize=False)


def converter(*, values: Any = AvroFormat, keys: bool = True) -> RecordConverter:
    return RecordConverter(Side(AvroFormat(schemas("key"))) if keys else None, Side(values(schemas("value"))))


def run_of(statements: Sequence[str]) -> ChangeRun:
    return max(runs_of(statements, TABLE), key=lambda run: len(run.rows))  # rows that cannot be scanned are between others


def runs_of(statements: Sequence[str], table: TableSchema) -> list[ChangeRun]:
    """The runs of one transaction; rows that cannot be scanned are left out."""
    shapes = ShapeTracker(Tables([table]), TableFilter(), "D", lambda _: None, lambda _: "")
    decoder = TransactionDecoder(shapes, HostClock(), DecodingOptions(on_failure="skip", runs=True))
    buffer = transaction_buffer(1 << 30, Path("unused"), native_rows=True)
    for i, sql in enumerate(statements):
        buffer.append(row_of(sql, code_of(sql), table), RedoAddress("0x1", i + 1))
    return [event for event in decoder.events(buffer.open()[0], INFO) if isinstance(event, ChangeRun)]


def both(
    statements: Sequence[str], *, keys: bool = True, values: Any = AvroFormat, **properties: str
) -> tuple[EncodedRun, list[Record]]:
    """A run that is rewritten as a whole where it can be, and its records one by one."""
    run, made = run_of(statements), encoder(by_number=(keys, True), **properties)
    encode = converter(keys=keys, values=values).run_encoder(made.encode_run)
    encode(run, 0, NO_BOUND, NO_BOUND)  # schemas are known then
    one_by_one = converter(keys=keys, values=values)
    expected = [one_by_one.record(record) for record in made.encode_run(run, 0, NO_BOUND, NO_BOUND).records]
    return encode(run, 0, NO_BOUND, NO_BOUND), expected


@pytest.mark.parametrize("keys", [True, False], ids=["keys in Avro", "keys in JSON"])
def test_a_run_is_rewritten_in_its_place(keys: bool) -> None:
    encoded, expected = both(PLAIN * 3, keys=keys)
    assert not isinstance(encoded.records, list), "compiled code has rewritten them"
    assert list(encoded.records) == expected
    assert len(expected) == 12, "with tombstones"


def test_the_token_of_an_order_is_rewritten_too() -> None:
    encoded, expected = both(PLAIN, minercdc_source_sequence="true")
    assert not isinstance(encoded.records, list)
    assert list(encoded.records) == expected
    assert b'["0000000000000001000","0a001f00b3020000","000000000003"]' in (expected[2].value or b"")


def test_values_that_are_left_to_python_are_there_too() -> None:
    encoded, expected = both([*PLAIN, *ODD])
    assert list(encoded.records) == expected


def test_a_side_in_another_format_is_rewritten_by_python() -> None:
    def events(registered: ConfluentSchemas) -> CloudEventsFormat:
        return CloudEventsFormat(CloudEventsOptions(avro_envelope=True), AvroFormat(registered))

    encoded, expected = both(PLAIN, values=events)
    assert isinstance(encoded.records, list)
    assert list(encoded.records) == expected
