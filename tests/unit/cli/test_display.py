"""What `minercdc run` shows of snapshots that signals requested, and when it logs a line."""

from __future__ import annotations

import logging
from io import StringIO

import pytest
from rich.console import Console

from minercdc.cli.display import ProgressLines, Rate, TerminalPanel, summary
from minercdc.observe.latest_notifications import Watch
from minercdc.stream.counters.connector import Counters
from minercdc.stream.offset import AdHocSnapshot, SignalState, TableRead

READING = TableRead("SHOP.ORDERS", order=("ID",), last=("2048",), maximum=("30000",), rows=2040, chunks=2)


def counters(*snapshots: AdHocSnapshot, paused: bool = False) -> Counters:
    found = Counters(phase="streaming")
    Watch(found).observe(SignalState(snapshots, paused=paused))
    return found


def incremental(*tables: TableRead) -> AdHocSnapshot:
    return AdHocSnapshot("inc-1", False, ("P.SHOP.ORDERS",), tables)


def test_the_line_shows_table_rows_chunks_and_keys() -> None:
    line = summary(counters(incremental(READING, TableRead("SHOP.LINES"))), Rate())
    assert line.endswith(
        "; incremental snapshot inc-1: SHOP.ORDERS, 2,040 rows, 2 chunks, key 2048 of 30000, 1 more to come"
    )


def test_a_paused_and_a_blocking_one_say_so() -> None:
    blocking = AdHocSnapshot("b", True, (), (TableRead("SHOP.ORDERS", last=("AAAR3xAAMAAAACDAAB",), rows=7),))
    line = summary(counters(incremental(READING), blocking, paused=True), Rate())
    assert line.endswith("of 30000, paused; blocking snapshot b: SHOP.ORDERS, 7 rows")


def test_nothing_is_shown_when_nothing_was_requested() -> None:
    assert ";" not in summary(counters(), Rate())


def test_the_panel_has_a_row_for_each() -> None:
    console = Console(width=120, record=True, file=StringIO())
    console.print(TerminalPanel(counters(incremental(READING), AdHocSnapshot("[b]", True, (), ()))).draw())
    text = console.export_text()
    assert "incremental snapshot inc-1: SHOP.ORDERS, 2,040 rows" in text
    assert "blocking snapshot [b]" in text


def test_a_line_comes_at_a_change_of_the_phase_and_once_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    running, clock = Counters(), iter([0.0, 1.0, 2.0, 3.0, 61.0, 62.5, 63.0])
    lines = ProgressLines(running, 60.0, lambda: next(clock))
    said = []
    for phase in ("starting", "streaming", "streaming", "streaming", "streaming", "stopped"):
        running.phase = phase
        caplog.clear()
        lines.look()
        said.append(len(caplog.messages))
    assert said == [0, 1, 0, 0, 1, 1]
