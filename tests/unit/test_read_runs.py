"""Rows of a snapshot that are read together: what comes of each is what comes of single ones, whatever their encoder can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.fetched import PlainTexts
from tests.runs import encode_run_of
from tests.scripted import LAZY, Clock, MemorySink, NoHistory, RowEncoder, ScriptedCapture, Store

from minercdc.errors import DecodeError, ValueDecodeError
from minercdc.pipeline.pipeline import Begun, Pipeline, PipelineFactory
from minercdc.pipeline.publisher import publish
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    FetchedRow,
    FetchedRows,
    Op,
    Progress,
    ReadRun,
    Row,
    Scn,
    SnapshotMark,
)

TABLE = TableSchema(TableId("D", "S", "T"), (Column("N", "NUMBER"),), ())
ONE, SEVERAL = TableNames("D"), TableNames()


class Converter(PlainTexts):
    """Does not convert `x`."""

    def __call__(self, batch: Sequence[FetchedRow]) -> Iterator[tuple[str, Row]]:
        if any(row[1] == "x" for row in batch):
            raise ValueDecodeError("x is no number")
        return super().__call__(batch)


def run_of(values: Sequence[str]) -> ReadRun:
    rows: list[FetchedRow] = [(f"R{n}", value) for n, value in enumerate(values)]
    return ReadRun(FetchedRows(TABLE, rows, Converter(TABLE)), Scn(5), 0, SnapshotMark.TRUE)


def published(values: Sequence[str], *, native: bool, suspends: bool, skips: bool = True) -> tuple[list[bytes], Any]:
    store = Store()
    counters = publish_to(store, values, native=native, suspends=suspends, skips=skips)
    return [one for one in store.values if not one.startswith(b"suspended")], (counters.events[Op.READ], counters.skipped)


def publish_to(
    store: Store, values: Sequence[str], *, native: bool, suspends: bool, skips: bool, names: TableNames = ONE
) -> Counters:
    pipeline = Pipeline(
        adapter="test",
        sink=MemorySink(store),
        encoder=RowEncoder(),
        encode_run=encode_run_of(RowEncoder()) if native else None,
        history=NoHistory(),
        begin=lambda offset: Begun(offset, ScriptedCapture([])),
        bounds=LAZY,
        skip_undecodable=lambda error: skips,
        suspends=lambda table: suspends,
        suspensions=Suspensions(names.of),
    )
    factory = PipelineFactory(lambda: pipeline, 0, 0.001, Clock())
    events: list[Event] = [run_of(values), Progress(None, Scn(0), 0)]
    publish(iter(events), pipeline, ScriptedCapture([]), None, factory)
    return factory.counters


@pytest.mark.parametrize("native", [False, True])
def test_rows_that_have_no_record_are_left_out(native: bool) -> None:
    values = [str(n) for n in range(100)]
    values[40] = "x"
    shown = [b"-13" if n in (13, 40) else str(n).encode() for n in range(100)]
    assert published(values, native=native, suspends=False) == (shown, (98, 2))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("bad", ["13", "x"])
@pytest.mark.parametrize("place", [0, 20, 99])
def test_what_comes_after_the_suspension_of_the_table_is_left_out(native: bool, bad: str, place: int) -> None:
    values = [str(n + 1000) for n in range(100)]
    values[place] = bad
    shown = [str(n + 1000).encode() if n < place else b"-13" for n in range(100)]
    assert published(values, native=native, suspends=True) == (shown, (place, 100 - place))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("bad", ["13", "x"])
def test_the_stream_ends_where_the_configuration_says_so(native: bool, bad: str) -> None:
    with pytest.raises(DecodeError):
        published(["1", bad, "2"], native=native, suspends=False, skips=False)


def test_a_run_is_its_events() -> None:
    events = run_of(["1", "2", "3"]).events(1, 3)
    assert [(type(e), e.op, e.after, e.row_id, e.snapshot) for e in events] == [
        (ChangeEvent, Op.READ, ("2",), "R1", SnapshotMark.TRUE),
        (ChangeEvent, Op.READ, ("3",), "R2", SnapshotMark.TRUE),
    ]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("names", "table"), [(ONE, "S.T"), (SEVERAL, "D.S.T")])
def test_figures_name_a_table_as_stored_state_does(native: bool, names: TableNames, table: str) -> None:
    counters = publish_to(Store(), ["1", "13", "2"], native=native, suspends=False, skips=True, names=names)
    assert dict(counters.tables) == {table: 2}
    assert dict(counters.left_out) == {table: 1}
