"""A table whose records cannot have their schema is suspended; all others go on. On a scripted capture and the real encoders."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.runs import encode_run_of
from tests.scripted import At, ScriptedCapture, Store, at, parts_of
from tests.unit.messages.formats.golden import Registry
from tests.unit.messages.test_envelope import NEW, ORDERS
from tests.unit.messages.test_envelope import encoder as with_numbers
from tests.unit.messages.test_record_schemas import ODD, SCHEMAS, avro, converter, encoder
from tests.unit.messages.transforms.made import KAFKA, UNWRAP, chain, configured

from minercdc.errors import DecodeError, RecordSchemaError, SharedTopicError, ValueDecodeError
from minercdc.messages.transforms.catalog import chain_of
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.pipeline import Pipeline, PipelineFactory
from minercdc.pipeline.undecodable import is_skipped
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, Event, Op, Progress, Row, SchemaChange, Scn, TransactionInfo
from minercdc.stream.offset import Offset, Position

pytestmark = pytest.mark.usefixtures("as_runs")
INFO = TransactionInfo("x0", Scn(1), Scn(100), 0, 0, 1, None)
TRUNCATED = SchemaChange(ODD.id, ODD, ODD, "TRUNCATE TABLE S.ODD", Scn(7), 0, truncate=True)


def row(table: TableSchema, values: Row, seq: int) -> ChangeEvent:
    return ChangeEvent(Op.CREATE, table, None, values, Scn(5), 0, INFO, seq, row_id="AAAR3sAAEAAAACXAAA")


class Scripted(ScriptedCapture):
    """One transaction of given events."""

    def __init__(self, *events: Event) -> None:
        super().__init__([[]])
        self._script = events

    def _events(self, start: Position) -> Iterator[Event]:
        yield from self._script
        yield Progress(At(1), Scn(100), 0, committed=INFO)


def suspending(store: Store, capture: ScriptedCapture) -> tuple[PipelineFactory, Counters]:
    """A connector that writes Avro, which has no names as those of the columns of S.ODD."""
    factory = parts_of(store, capture)

    def opened() -> Pipeline:
        made = converter(Registry())
        printing = encoder(SCHEMAS)
        runs = made.run_encoder(encode_run_of(printing))
        return replace(factory.open_pipeline(), encoder=made.encoder(printing), encode_run=runs, suspends=lambda _: True)

    made = replace(factory, open_pipeline=opened)
    return made, made.counters


@pytest.mark.parametrize("first", [row(ODD, ("1", "2", "3"), 2), TRUNCATED], ids=["row", "truncate"])
def test_the_table_is_suspended_and_the_others_go_on(first: Event) -> None:
    fine = row(ORDERS, NEW, 1)
    store = Store(offset=at(0))
    script = (fine, first, row(ODD, ("1", "2", "3"), 3), TRUNCATED, row(ORDERS, NEW, 4))
    factory, counters = suspending(store, Scripted(*script))
    run_once(factory, threading.Event())
    assert isinstance(store.offset, Offset)
    (entry,) = store.offset.suspended
    assert (entry.table, entry.code) == ("S.ODD", "MC-4501")
    assert "the field name A$B is not valid in Avro" in entry.reason
    assert entry.fix.startswith("field.name.adjustment.mode=avro replaces other characters. Then: minercdc signal")
    assert counters.tables == {"SALES.ORDERS": 2}
    assert counters.skipped == 2


def test_a_field_that_a_step_would_make_twice_suspends_its_table() -> None:
    step = (f"{KAFKA}InsertField$Value", {"topic.field": "A$B"})
    transformer = RecordTransformer(chain_of(configured(chain((UNWRAP, {}), step)).transforms))
    store = Store(offset=at(0))
    factory = parts_of(store, Scripted(row(ORDERS, NEW, 1), row(ODD, ("1", "2", "3"), 2), row(ORDERS, NEW, 3)))

    def opened() -> Pipeline:
        printing = with_numbers(by_number=(True, True))
        runs = transformer.run_encoder(encode_run_of(printing))
        changed = transformer.encoder(printing)
        return replace(factory.open_pipeline(), encoder=changed, encode_run=runs, suspends=lambda _: True)

    made = replace(factory, open_pipeline=opened)
    run_once(made, threading.Event())
    assert isinstance(store.offset, Offset)
    (entry,) = store.offset.suspended
    assert entry.table == "S.ODD"
    assert entry.reason.startswith("MC-4501: transforms.t1: field A$B would exist twice (table S.ODD, topic shop.S.ODD)")
    assert made.counters.tables == {"SALES.ORDERS": 2}


def test_what_is_stored_with_each_offset_is_short(caplog: pytest.LogCaptureFixture) -> None:
    """A registry's answer and the schema that it should have are long; the log has all of it."""
    wide = replace(ODD, columns=(ODD.columns[0], Column("A$" * 60 + "B" * 5000, "NUMBER", 9, 0)))
    store = Store(offset=at(0))
    factory, _ = suspending(store, Scripted(row(wide, ("1", "2"), 1)))
    run_once(factory, threading.Event())
    assert isinstance(store.offset, Offset)
    (entry,) = store.offset.suspended
    assert len(entry.reason) < 1100
    assert "the log has all of it" in entry.reason
    assert "B" * 5000 in caplog.text


def test_where_tables_are_not_suspended_the_error_ends_the_stream() -> None:
    factory = parts_of(Store(offset=at(0)), Scripted(TRUNCATED))
    encoder = avro(converter(Registry()))
    made = replace(factory, open_pipeline=lambda: replace(factory.open_pipeline(), encoder=encoder))
    with pytest.raises(RecordSchemaError, match="table S.ODD"):
        run_once(made, threading.Event())


@pytest.mark.parametrize(
    ("mode", "error", "skipped"),
    [
        ("fail", ValueDecodeError("x"), False),
        ("warn", ValueDecodeError("x"), True),
        ("skip", RecordSchemaError("x"), True),
        ("skip", SharedTopicError("x"), False),
        ("warn", SharedTopicError("x"), False),
        ("suspend", SharedTopicError("x"), True),
    ],
)
def test_no_row_is_left_out_for_a_topic_that_may_be_its_own_at_the_next_start(
    mode: str, error: DecodeError, skipped: bool
) -> None:
    assert is_skipped(mode, error) is skipped
