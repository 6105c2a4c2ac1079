"""What `minercdc run` shows of snapshots that signals requested."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from minercdc.cli.display import Rate, TerminalPanel, summary
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
