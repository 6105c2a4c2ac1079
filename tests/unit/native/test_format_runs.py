"""Runs in CloudEvents and Protobuf: what compiled code writes is what Python writes record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.native_pair import IS_NATIVE, NO_BOUND
from tests.unit.messages.test_envelope import encoder
from tests.unit.native.test_avro_runs import PLAIN, TABLE, converter, run_of, runs_of, schemas
from tests.unit.native.test_pair import HANDLINGS, SPELLINGS, columns_of, literals
from tests.unit.native.test_read_pair import ROW_ID
from tests.unit.native.test_read_pair import run_of as reads
from tests.unit.native.test_transform_runs import STATEMENTS, records_of, transformer, unwrap

from minercdc import native
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.envelope.context_headers import ContextHeaders
from minercdc.messages.formats.cloud_events import CloudEventsFormat, CloudEventsOptions
from minercdc.messages.formats.converting import Format, RecordConverter, Side
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.protobuf.records import ProtobufFormat
from minercdc.messages.protobuf.schema import ProtobufOptions
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.contracts import Record, RunEncoder
from minercdc.stream.events import ChangeRun, ReadRun

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

EVENTS = {
    "structured": CloudEventsOptions(),
    "with schemas": CloudEventsOptions(schemas=True),
    "without extensions": CloudEventsOptions(extensions=False),
    "binary": CloudEventsOptions(binary=True),
    "binary with schemas": CloudEventsOptions(binary=True, schemas=True),
    "binary without extensions": CloudEventsOptions(binary=True, extensions=False),
}
MESSAGES = {
    "Protobuf": ProtobufOptions(),
    "Protobuf, optional": ProtobufOptions(optional=True),
    "Protobuf, wrappers": ProtobufOptions(wrappers=True),
}


def events(_side: Any, options: CloudEventsOptions) -> Format:
    return CloudEventsFormat(options)


def messages(side: Any, options: ProtobufOptions) -> Format:
    return ProtobufFormat(schemas(side), options, skip_known=True)


FORMATS: dict[str, Callable[[Any], Format]] = {
    **{name: partial(events, options=options) for name, options in EVENTS.items()},
    **{name: partial(messages, options=options) for name, options in MESSAGES.items()},
}


def converting(made: Callable[[Any], Format]) -> RecordConverter:
    return RecordConverter(Side(JsonFormat(schemas=True)), Side(made("value")))


def both(
    made: Callable[[Any], Format], run: ChangeRun | ReadRun, printing: RunEncoder, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Sequence[Record]], list[Record]]:
    """A run that is written by the extension, and its records in Python, one by one."""
    encode = converting(made).run_encoder(printing)
    records_of(encode, run)  # the schemas are known then
    given = [record for records in records_of(printing, run) for record in records]
    with monkeypatch.context() as python:
        python.setattr(native, "rows", None)
        one_by_one = converting(made)
        expected = [one_by_one.record(record) for record in given]
    return records_of(encode, run), expected


@pytest.mark.parametrize("properties", [{}, {"minercdc_source_sequence": "true"}], ids=["", "with a token"])
@pytest.mark.parametrize("context", [False, True], ids=["", "with context headers"])
@pytest.mark.parametrize("made", FORMATS.values(), ids=FORMATS)
def test_a_run_is_written_as_record_by_record(
    made: Callable[[Any], Format], context: bool, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printing: RunEncoder = encoder(by_number=(True, True), **properties).encode_run
    if context:
        printing = ContextHeaders("p", "run").run_encoder(printing)
    found, expected = both(made, run_of(STATEMENTS), printing, monkeypatch)
    assert not any(isinstance(records, list) for records in found), "compiled code has made them"
    assert [record for records in found for record in records] == expected
    assert len(expected) > 12


@pytest.mark.parametrize("made", [FORMATS["structured"], FORMATS["binary"], FORMATS["Protobuf, optional"]])
@pytest.mark.parametrize("type_name", SPELLINGS)
def test_rows_of_each_type_are_written_alike(
    type_name: str, made: Callable[[Any], Format], monkeypatch: pytest.MonkeyPatch
) -> None:
    handling = HANDLINGS[len(type_name) % len(HANDLINGS)]
    printing = encoder(lambda: 0, handling, by_number=(True, True)).encode_run
    for column in columns_of(type_name):
        table = TableSchema(TABLE.id, (Column("ID", "NUMBER", 10, 0), replace(column, name="source")), (0,))
        statements = []
        for literal in literals(type_name):
            statements.append(f"""insert into "S"."T"("ID","source") values ('1',{literal})""")
            statements.append(f"""update "S"."T" set "source" = {literal} where "ID" = '1' and "source" IS NULL""")
        for run in runs_of(statements, table):
            found, expected = both(made, run, printing, monkeypatch)
            assert [record for records in found for record in records] == expected


@pytest.mark.parametrize("row_id", [ROW_ID, None], ids=str)
@pytest.mark.parametrize("made", FORMATS.values(), ids=FORMATS)
def test_rows_of_a_snapshot_are_written_alike(
    made: Callable[[Any], Format], row_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    printing = encoder(by_number=(True, True)).encode_run
    found, expected = both(made, reads(TABLE, [(row_id, "1", "x", 1.5), (row_id, "2", None, None)]), printing, monkeypatch)
    assert [record for records in found for record in records] == expected
    assert row_id is None or not isinstance(found[0], list)


@pytest.mark.parametrize("name", ["Protobuf", "Avro"])
def test_transformed_runs_are_written_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = FORMATS.get(name) or (lambda side: AvroFormat(schemas(side)))
    steps = [unwrap(add_fields="op", delete_tombstone_handling_mode="rewrite")]
    printing = transformer(steps).run_encoder(encoder(by_number=(True, True)).encode_run)
    found, expected = both(made, run_of(STATEMENTS), printing, monkeypatch)
    assert not any(isinstance(records, list) for records in found)
    assert [record for records in found for record in records] == expected


def test_data_in_avro_is_written_by_python() -> None:
    encode = converter(values=lambda registered: CloudEventsFormat(CloudEventsOptions(), AvroFormat(registered)))
    run, printing = run_of(PLAIN), encoder(by_number=(True, True)).encode_run
    encoded = encode.run_encoder(printing)(run, 0, NO_BOUND, NO_BOUND)
    assert isinstance(encoded.records, list)
