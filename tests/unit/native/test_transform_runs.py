"""Transformed runs: what compiled code transforms as a whole is what Python transforms record by record."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from tests.examples import one_of_each
from tests.native_pair import IS_NATIVE, NO_BOUND
from tests.unit.messages.test_envelope import encoder
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured
from tests.unit.native.test_avro_runs import PLAIN, TABLE, run_of, runs_of
from tests.unit.native.test_pair import HANDLINGS, SPELLINGS, TEXTS, columns_of, literals
from tests.unit.native.test_read_pair import ROW_ID
from tests.unit.native.test_read_pair import run_of as reads

from minercdc.config.transforms.chain import Transformation
from minercdc.messages.envelope.context_headers import ContextHeaders
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.formats.json_format import JsonFormat
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.contracts import Record, RunEncoder
from minercdc.stream.events import ChangeRun, ReadRun
from minercdc.values.codec import ValueHandling

pytestmark = pytest.mark.skipif(not IS_NATIVE, reason="the extension is not in use")

STATEMENTS = [
    *PLAIN,
    *(
        f"""insert into "S"."T"("ID","V","F") values ('{i}','{text}','7.25E+003')"""
        for i, text in enumerate(TEXTS)
        if text != "\ud800"
    ),
    *PLAIN,
]
TOMBSTONE: dict[str, tuple[str, dict[str, str]]] = {"gone": (f"{KAFKA}predicates.RecordIsTombstone", {})}
NO_TOMBSTONES = (f"{KAFKA}Filter", {"predicate": "gone"})
ROUTER = (f"{KAFKA}RegexRouter", {"regex": r"shop\.(.*)", "replacement": "all.$1"})
LOGICAL = (f"{DEBEZIUM}ByLogicalTableRouter", {"topic.regex": "(.*)", "topic.replacement": "all"})
HEADER = (f"{KAFKA}InsertHeader", {"header": "h", "value.literal": '"v'})
NUMBER_HEADER = (f"{KAFKA}InsertHeader", {"header": "n", "value.literal": "7"})


def unwrap(**options: str) -> tuple[str, dict[str, str]]:
    return UNWRAP, {name.replace("_", "."): text for name, text in options.items()}


def kafka(name: str, **options: str) -> tuple[str, dict[str, str]]:
    return f"{KAFKA}{name}", {option.replace("_", "."): text for option, text in options.items()}


WHOLE: Mapping[str, Sequence[tuple[str, dict[str, str]]]] = {
    "RegexRouter": [ROUTER],
    "ByLogicalTableRouter": [LOGICAL],
    "without uniqueness": [(LOGICAL[0], {**LOGICAL[1], "key.enforce.uniqueness": "false"})],
    "InsertHeader": [HEADER, NUMBER_HEADER],
    "DropHeaders": [HEADER, NUMBER_HEADER, kafka("DropHeaders", headers="h")],
    "unwrap": [unwrap()],
    "drop": [unwrap(delete_tombstone_handling_mode="drop")],
    "rewrite": [unwrap(delete_tombstone_handling_mode="rewrite")],
    "rewrite with tombstones": [unwrap(delete_tombstone_handling_mode="rewrite-with-tombstone", add_headers="op")],
    "delete to tombstone": [unwrap(delete_tombstone_handling_mode="delete-to-tombstone")],
    "drop.tombstones": [unwrap(drop_tombstones="false", delete_handling_mode="none", add_headers="op,scn,user_name")],
    "delete.handling.mode": [unwrap(drop_tombstones="true", delete_handling_mode="rewrite")],
    "added fields": [unwrap(add_fields="op,ts_ms,source.ts_us,scn:SCN,transaction.id,total_order,table,snapshot,lcr_position")],
    "added rows": [unwrap(add_fields="before.V,after.ID:x,before,source", add_fields_prefix="", add_headers="before.ID,after.V")],
    "unknown members": [unwrap(add_fields="op,nothing", add_headers="nothing,source.none")],
    "routed rows": [unwrap(add_headers="op"), ROUTER, HEADER],
    "ReplaceField": [unwrap(), kafka("ReplaceField$Value", renames="ID:id", exclude="F"), kafka("ReplaceField$Key", renames="ID:k")],
    "include": [unwrap(add_fields="op"), kafka("ReplaceField$Value", include="V,__op")],
    "envelope's fields": [kafka("ReplaceField$Value", exclude="source,transaction")],
    "MaskField": [unwrap(), kafka("MaskField$Value", fields="V,none"), kafka("MaskField$Value", fields="ID", replacement="7")],
    "InsertField": [unwrap(), kafka("InsertField$Value", **{"topic.field": "topic", "static.field": "s!", "static.value": "é"})],
    "InsertField of keys": [kafka("InsertField$Key", **{"static.field": "s", "static.value": "x"})],
    "Cast": [unwrap(), kafka("Cast$Value", spec="ID:string,V:string")],
    "Cast, wider": [unwrap(), kafka("Cast$Value", spec="ID:int64"), kafka("Cast$Key", spec="ID:string")],
    "HoistField": [unwrap(), kafka("HoistField$Value", field="row"), kafka("HoistField$Key", field="key")],
    "SetSchemaMetadata": [unwrap(), kafka("SetSchemaMetadata$Value", **{"schema.name": "Row"})],
    "Flatten": [kafka("Flatten$Value", delimiter="_")],
    "Flatten of rows": [unwrap(add_fields="source"), kafka("Flatten$Value")],
    "ValueToKey": [unwrap(), NO_TOMBSTONES, kafka("ValueToKey", fields="V,ID")],
    "HeaderFrom": [unwrap(), kafka("HeaderFrom$Value", fields="V,ID", headers="v,i", operation="move")],
    "HeaderFrom of keys": [kafka("HeaderFrom$Key", fields="ID", headers="i", operation="copy")],
    "HeaderToValue": [HEADER, (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "after.h", "operation": "move"})],
    "HeaderToValue of rows": [
        unwrap(), HEADER, (f"{DEBEZIUM}HeaderToValue", {"headers": "h", "fields": "h", "operation": "copy"}),
    ],
    "many": [unwrap(add_fields="op"), kafka("ReplaceField$Value", renames="ID:id"), kafka("Cast$Value", spec="id:string"),
             kafka("MaskField$Value", fields="V"), kafka("InsertField$Value", **{"topic.field": "t"}),
             kafka("HoistField$Value", field="row"), kafka("Flatten$Value"), ROUTER, LOGICAL, HEADER],
}  # fmt: skip
BY_PYTHON: Mapping[str, Sequence[tuple[str, dict[str, str]]]] = {
    "route.by.field": [unwrap(route_by_field="V")],
    "ExtractChangedRecordState": [(f"{DEBEZIUM}ExtractChangedRecordState", {"header.changed.name": "changed"})],
    "Cast to a number": [unwrap(), kafka("Cast$Value", spec="ID:int8")],
    "ExtractField": [unwrap(), kafka("ExtractField$Value", field="V")],
}


def transformer(steps: Sequence[tuple[str, dict[str, str]]]) -> RecordTransformer:
    return RecordTransformer(chain_of(transformations(frozenset(chain(*steps, **TOMBSTONE).items()))))


@cache
def transformations(properties: frozenset[tuple[str, str]]) -> Sequence[Transformation]:
    return configured(dict(properties)).transforms


def converter(*, schemas: bool) -> RecordConverter:
    return RecordConverter(Side(JsonFormat(schemas=schemas)), Side(JsonFormat(schemas=schemas)))


def printing(handling: ValueHandling | None = None, *, context: bool = False, **properties: str) -> RunEncoder:
    encode = encoder(lambda: 0, handling or ValueHandling(), by_number=(True, True), **properties).encode_run
    return ContextHeaders("p", "run").run_encoder(encode) if context else encode


def both(
    steps: Sequence[tuple[str, dict[str, str]]],
    run: ChangeRun | ReadRun,
    handling: ValueHandling | None = None,
    *,
    context: bool = False,
    schemas: bool = False,
    **properties: str,
) -> tuple[list[Sequence[Record]], list[Record]]:
    """A run transformed as a whole, and its records one by one."""
    made, alone = printing(handling, context=context, **properties), transformer(steps)
    encode = converter(schemas=schemas).run_encoder(transformer(steps).run_encoder(made))
    records_of(encode, run)  # the plans are known then
    one_by_one = converter(schemas=schemas)
    transformed = map(alone.record, (record for records in records_of(made, run) for record in records))
    return records_of(encode, run), [one_by_one.record(record) for record in transformed if record is not None]


def records_of(encode: RunEncoder, run: ChangeRun | ReadRun) -> list[Sequence[Record]]:
    """The records of all rows that are printed natively."""
    found, at = list[Sequence[Record]](), 0
    while at < (len(run.rows) if isinstance(run, ChangeRun) else len(run)):
        encoded = encode(run, at, NO_BOUND, NO_BOUND)
        found.append(encoded.records)
        at += encoded.rows + 1  # one that Python prints is between
    return found


@pytest.mark.parametrize("context", [False, True], ids=["", "with context headers"])
@pytest.mark.parametrize("steps", WHOLE.values(), ids=WHOLE)
def test_a_run_is_transformed_as_record_by_record(steps: Any, context: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(STATEMENTS)
    found, expected = both(steps, run, context=context, schemas=context)
    assert not any(isinstance(records, list) for records in found), "compiled code has made them"
    assert [record for records in found for record in records] == expected
    assert len(expected) > 12
    assert by_python(steps, run, monkeypatch) == 0, "all of them are planned"


def by_python(steps: Sequence[tuple[str, dict[str, str]]], run: ChangeRun, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many records Python transforms once the plans are known."""
    made, count = transformer(steps), 0
    encode = made.run_encoder(printing())
    records_of(encode, run)
    record = made.record

    def counting(one: Record) -> Record | None:
        nonlocal count
        count += 1
        return record(one)

    monkeypatch.setattr(made, "record", counting)
    records_of(encode, run)
    return count


@pytest.mark.parametrize("steps", BY_PYTHON.values(), ids=BY_PYTHON)
def test_what_is_more_than_pieces_is_transformed_by_python(steps: Any) -> None:
    run = run_of(PLAIN * 2)
    found, expected = both(steps, run)
    assert [record for records in found for record in records] == expected
    assert expected


ALL_ROWS = [unwrap(delete_tombstone_handling_mode="rewrite-with-tombstone", add_fields="op,before.ID", add_headers="scn")]
CHAINS = {
    "rows": ALL_ROWS,
    "values": [*ALL_ROWS, kafka("MaskField$Value", fields="ID"), kafka("Flatten$Value"), LOGICAL],
    "envelopes": [kafka("Flatten$Value")],
}


@pytest.mark.parametrize(("type_name", "name_of_chain"), one_of_each(list(SPELLINGS), list(CHAINS)))
def test_rows_of_each_type_are_transformed_alike(type_name: str, name_of_chain: str) -> None:
    """Columns that have the names of the envelope's members, too."""
    steps = CHAINS[name_of_chain]
    handling = HANDLINGS[len(type_name) % len(HANDLINGS)]
    for column, name in zip(columns_of(type_name), itertools.cycle(("C", "after", "source", "before", "op")), strict=False):
        table = TableSchema(TABLE.id, (Column("ID", "NUMBER", 10, 0), replace(column, name=name)), (0,))
        statements = []
        for literal in literals(type_name):
            where = f""""ID" = '1' and "{name}" """
            statements.append(f"""insert into "S"."T"("ID","{name}") values ('1',{literal})""")
            statements.append(f"""update "S"."T" set "{name}" = {literal} where {where}IS NULL""")
            statements.append(f"""delete from "S"."T" where {where}= {literal}""")
        for run in runs_of(statements, table):
            found, expected = both(steps, run, handling)
            assert [record for records in found for record in records] == expected


@pytest.mark.parametrize("row_id", [ROW_ID, None], ids=str)
@pytest.mark.parametrize("steps", CHAINS.values(), ids=CHAINS)
def test_rows_of_a_snapshot_are_transformed_alike(steps: Any, row_id: str | None) -> None:
    found, expected = both(steps, reads(TABLE, [(row_id, "1", "x", 1.5), (row_id, "2", None, None)]))
    assert [record for records in found for record in records] == expected
    assert not isinstance(found[0], list)


def test_records_with_headers_of_their_own_are_transformed_by_python() -> None:
    whole = """insert into "S"."T"("ID","V","F") values ('1','x','1.5')"""
    (run,) = runs_of([whole, """update "S"."T" set "V" = 'y' where "ID" = '1'""", whole], TABLE)
    found, expected = both([unwrap(), HEADER], run)
    assert [record for records in found for record in records] == expected
    assert {len(record.headers) for record in expected} == {1, 2}


def test_a_step_that_only_python_does_leaves_other_topics_alone() -> None:
    named = {"orders": (f"{KAFKA}predicates.TopicNameMatches", {"pattern": "orders"})}
    filtering = (f"{DEBEZIUM}Filter", {"language": "cel", "condition": "value.op == 'd'", "predicate": "orders"})
    made = RecordTransformer(chain_of(configured(chain(unwrap(), filtering, **named)).transforms))
    found = records_of(made.run_encoder(printing()), run_of(PLAIN))
    assert not any(isinstance(records, list) for records in found)
    assert [record.value for records in found for record in records][-1] is None


def test_versions_of_a_table_have_plans_of_their_own() -> None:
    made = transformer(WHOLE["ReplaceField"])
    encode = made.run_encoder(printing())
    wider = replace(TABLE, version=TABLE.version + 1, columns=(*TABLE.columns, Column("W", "VARCHAR2", 9)))
    runs = [run_of(PLAIN), *runs_of(["""insert into "S"."T"("ID","V","W") values ('1','x','w')"""], wider)]
    expected = [record.value for run in runs for records in records_of(encode, run) for record in records]
    again = [record.value for run in runs for records in records_of(encode, run) for record in records]
    assert again == expected
    assert len(set(expected)) == 4


def test_a_topic_that_no_record_may_be_routed_to_ends_a_run_before_it() -> None:
    steps = configured(chain(ROUTER)).transforms
    refused = RecordTransformer(chain_of(steps), reserved={"all.S.T": "some.topic"})
    encode = refused.run_encoder(printing())
    for _ in range(2):
        assert encode(run_of(PLAIN), 0, NO_BOUND, NO_BOUND).rows == 0


def test_a_record_that_does_not_fit_ends_a_run_before_it() -> None:
    steps = [unwrap(), kafka("ValueToKey", fields="ID")]
    encode = transformer(steps).run_encoder(printing())
    for _ in range(2):
        assert encode(run_of(PLAIN), 0, NO_BOUND, NO_BOUND).rows == 2, "the delete has no value to make a key of"
