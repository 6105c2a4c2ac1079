"""Rows that are written as Avro at once have the bytes that the converter makes of the JSON document, and that fastavro writes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.formats.golden import TYPES, Registry, formats_of
from tests.unit.messages.formats.test_avro import ALL, ROWS, by_fastavro, parts
from tests.unit.messages.test_envelope import LOG, NEW, ORDERS, PAID, TX, event

from minercdc.config.load import parse_properties
from minercdc.errors import MinerCdcError, RecordSchemaError
from minercdc.messages import configured as selection
from minercdc.messages.avro.records import AvroFormat
from minercdc.messages.envelope.avro_rows import AvroRows
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.formats.converting import RecordConverter, Side
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Scn, SnapshotMark

AVRO = {f"{side}.converter": "io.confluent.connect.avro.AvroConverter" for side in ("key", "value")}
AVRO |= {f"{side}.converter.schema.registry.url": "http://registry" for side in ("key", "value")}
NANOS = 1_789_990_213_402_118_903


class Pair:
    """Encoder and converter of a configuration, with rows written at once and without; the engine's time is that of the connector's."""

    def __init__(self, **properties: str) -> None:
        facts = {"topic.prefix": "shop", "database.hostname": "h", "database.user": "u", "database.password": "p"}
        facts |= {"database.dbname": "d", "minercdc.kafka.bootstrap.servers": "k", "lob.enabled": "true", **AVRO}
        config = parse_properties({**facts, **{name.replace("__", "."): value for name, value in properties.items()}})
        of_key = AvroFormat if config.converters.key_converter.endswith("AvroConverter") else None
        self._converters = [
            RecordConverter(
                *(
                    Side(formats_of(registry, side)["avro" if side == "value" or of_key else "text"])
                    for side in ("key", "value")
                )
            )
            for registry in (Registry(), Registry())
        ]
        topics = TopicNames(config)
        self._encoders: list[EnvelopeEncoder] = [
            selection.envelope_encoder(
                config, topics, OtherEvents(schema_changes=True), avro_heads=heads, clock_ns=lambda: NANOS
            )
            for heads in (self._converters[0].avro_heads, (None, None))
        ]

    def records(self, change: ChangeEvent) -> list[tuple[Any, ...]]:
        """What is written at once, which is what is written by way of JSON; an error as its text."""
        found = [list(self._written(i, change)) for i in range(2)]
        assert found[0] == found[1]
        return found[0]

    def _written(self, i: int, change: ChangeEvent) -> Iterator[tuple[Any, ...]]:
        try:
            for record in self._encoders[i].encode(change):
                made = self._converters[i].record(record)
                yield made.topic, made.key, made.value, made.headers, made.partition
        except (MinerCdcError, ValueError, TypeError) as error:
            yield type(error), str(error)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each change was written at once, filled as they are."""
    seen: list[bool] = []
    written = AvroRows.written

    def noted(*given: Any) -> Any:
        result = written(*given)
        seen.append(result is not None)
        return result

    monkeypatch.setattr(AvroRows, "written", noted)
    return seen


MODES = [
    dict(zip(("decimal__handling__mode", "time__precision__mode", "binary__handling__mode"), modes, strict=True))
    for modes in (("precise", "adaptive", "bytes"), ("string", "isostring", "hex"), ("double", "connect", "base64"))
]


@pytest.mark.parametrize("modes", MODES, ids=lambda modes: modes["time__precision__mode"])
@pytest.mark.parametrize("one", [one for one in TYPES if one.column.scale != -2], ids=lambda one: one.shown)
def test_each_type_in_each_mode(at_once: list[bool], one: Any, modes: dict[str, str]) -> None:
    first = Column("ID", "NUMBER", 9, 0, nullable=False)
    table = TableSchema(ORDERS.id, (first, one.column, replace(one.column, name="W", nullable=False)), key=(0, 2))
    pair = Pair(**modes)
    for row in (("1", one.text, one.text), ("2", None, one.text)):
        pair.records(event(Op.CREATE, None, row, table))
        pair.records(event(Op.UPDATE, row, ("1", None, one.text), table))
        pair.records(event(Op.DELETE, row, None, table))
    assert at_once.count(True) == 5  # one update changes the key
    pair.records(event(Op.UPDATE, ("1", UNAVAILABLE, one.text), ("1", None, one.text), table))
    pair.records(event(Op.CREATE, None, ("1", one.text, UNAVAILABLE), table))
    pair.records(event(Op.CREATE, None, ("1", one.text, None), table))
    pair.records(event(Op.CREATE, None, ("x", "y", "z"), table))


def test_every_kind_of_event(at_once: list[bool]) -> None:
    pair, keyless = Pair(), Pair(minercdc__keyless__table__key="rowid", minercdc__source__sequence="true")
    read = event(Op.READ, None, NEW)
    read.tx, read.snapshot, read.rs_id = None, SnapshotMark.FIRST, ""
    changes = [event(Op.CREATE, None, NEW), event(Op.UPDATE, NEW, PAID), event(Op.DELETE, PAID, None), read]
    other = replace(TX, id="0a001f00b3020001", user=None, start_scn=Scn(0))
    changes += [event(Op.CREATE, None, NEW, tx=other), event(Op.CREATE, None, NEW, redo_sql="insert it's é", ssn=7)]
    changes += [event(Op.CREATE, None, NEW, row_id="", ssn=70_000), event(Op.UPDATE, PAID, ("70022", *PAID[1:]))]
    changes += [event(Op.CREATE, None, ("é" * 5, "00FF10FF", "7"), LOG), event(Op.DELETE, (None, None, None), None, LOG)]
    for change in changes:
        pair.records(change)
        keyless.records(change)
    assert at_once == [True] * 2 * 7 + [True] * 2 * 2


@pytest.mark.parametrize(
    "properties",
    [
        {"column__mask__with__3__chars": ".*[.]STATUS", "message__key__columns": "SALES.ORDERS:STATUS"},
        {"column__truncate__to__2__chars": ".*[.]STATUS"},
        {"column__mask__hash__v2__SHA-256__with__salt__abc": ".*[.]STATUS"},
        {"column__exclude__list": ".*[.](STATUS|ORDER_ID)"},
        {"message__key__columns": "SALES.ORDERS:STATUS,CREATED"},
        {"column__propagate__source__type": ".*"},
        {"key__converter": "org.apache.kafka.connect.storage.StringConverter"},
        {"tombstones__on__delete": "false"},
        {"log__mining__buffer__track__rs_id": "false", "log__mining__buffer__track__username": "false"},
        {"minercdc__source__sequence": "true"},
        {"schema__name__adjustment__mode": "avro", "field__name__adjustment__mode": "avro"},
    ],
    ids=lambda properties: next(iter(properties)),
)
def test_what_is_changed_by_configuration(at_once: list[bool], properties: dict[str, str]) -> None:
    pair = Pair(**properties)
    for before, after in itertools.permutations((None, NEW, PAID, ("70021", None, None, None)), 2):
        op = Op.CREATE if before is None else Op.DELETE if after is None else Op.UPDATE
        pair.records(event(op, before, after))
    assert at_once.count(True) >= 6


def test_fastavro_writes_the_same_row() -> None:
    pair = Pair()
    defaulted = replace(ALL, columns=tuple(replace(c, default="'x'") if c.name == "TEXT" else c for c in ALL.columns))
    for table, row in itertools.product((ALL, replace(defaulted, version=2)), ROWS):
        change = event(Op.CREATE, None, row, table)
        ((_, _, value, _, _),) = pair.records(change)
        (document,) = pair._encoders[1].encode(change)
        schema, payload = parts(document.value)
        assert value[5:] == by_fastavro(schema, json.loads(payload))


@given(
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.text(st.characters(codec="utf-8"), max_size=1500),
    st.integers(-(10**11), 10**11),
    st.binary(max_size=1100),
)
def test_values_of_any_size(whole: int, text: str, cents: int, content: bytes) -> None:
    columns = (Column("ID", "NUMBER", 18, 0, nullable=False), Column("T", "VARCHAR2", 2000))
    table = TableSchema(ORDERS.id, (*columns, Column("A", "NUMBER", 12, 2), Column("R", "RAW", 2000)), key=(0, 1))
    row = (str(whole), text or None, f"{cents / 100:.2f}", content.hex())
    _PAIR.records(event(Op.CREATE, None, row, table))


_PAIR = Pair()


def test_the_registry_refuses_as_it_does_otherwise() -> None:
    table = replace(ORDERS, columns=(*ORDERS.columns, Column("N", "NUMBER", 38, -2)))
    (refused,) = Pair().records(event(Op.CREATE, None, (*NEW, "100"), table))
    assert refused[0] is RecordSchemaError


def test_a_masked_null_of_the_key_is_masked_in_the_value_only() -> None:
    json_only = {f"{side}.converter": "org.apache.kafka.connect.json.JsonConverter" for side in ("key", "value")}
    json_only |= {f"{name}.schemas.enable": "false" for name in json_only}
    masked = {"column.mask.with.3.chars": ".*[.]STATUS", "message.key.columns": "SALES.ORDERS:STATUS"}
    facts = {"topic.prefix": "shop", "database.hostname": "h", "database.user": "u", "database.password": "p"}
    config = parse_properties(
        {**facts, "database.dbname": "d", "minercdc.kafka.bootstrap.servers": "k", **json_only, **masked}
    )
    made = selection.envelope_encoder(config, TopicNames(config), OtherEvents(schema_changes=True))
    (record,) = made.encode(event(Op.CREATE, None, ("1", None, None, None)))
    assert record.key == b'{"STATUS":null}'
    assert json.loads(record.value or b"")["after"]["STATUS"] == "***"


def test_the_clock_is_looked_at_once_for_a_row_that_is_written_as_json_after_all() -> None:
    pair = Pair()
    looked: list[int] = []
    made = pair._encoders[0]
    made._clock_ns = lambda: looked.append(1) or NANOS + 10**9 * len(looked)  # type: ignore[func-returns-value]
    made.encode(event(Op.UPDATE, (NEW[0], UNAVAILABLE, *NEW[2:]), NEW))
    assert len(looked) == 1
