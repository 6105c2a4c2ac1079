"""Figures of a running lake: over HTTP, and on a terminal."""

from __future__ import annotations

import re
import time
import urllib.request
from io import StringIO

import pytest
from rich.console import Console

from minercdc.cli.lake.panel import LakePanel, lake_panel
from minercdc.errors import ConfigError
from minercdc.observe.prometheus.lake import serve_lake
from minercdc.stream.counters.lake import LakeFigures


def lake() -> LakeFigures:
    figures = LakeFigures(complete_scn=700, records=90)
    figures.triggers.add(1.5)
    slow, bad = figures.table("S.SLOW"), figures.table("S.BAD")
    slow.scn, slow.waiting, slow.merged, slow.oldest_us = 600, 12, 40, 1_000_000_000
    slow.merges.add(2.5)
    bad.failure, bad.failures = "no [key]", 1
    return figures


def test_prometheus_reads_them() -> None:
    server, thread = serve_lake(lake(), "shop", "127.0.0.1", 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            text = answer.read().decode()
        with pytest.raises(ConfigError, match="cannot be listened on"):
            serve_lake(lake(), "shop", "127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    values = dict(re.findall(r"^(minercdc\S+) (\S+)$", text, re.M))
    assert values['minercdc_lake_complete_scn{connector="shop"}'] == "700.0"
    assert values['minercdc_lake_table_waiting_records{connector="shop",table="S.SLOW"}'] == "12.0"
    assert values['minercdc_lake_table_merge_seconds_total{connector="shop",table="S.SLOW"}'] == "2.5"
    assert values['minercdc_lake_table_quarantined{connector="shop",table="S.BAD"}'] == "1.0"
    lag = float(values['minercdc_lake_table_lag_seconds{connector="shop",table="S.SLOW"}'])
    assert abs(lag - (time.time() - 1000)) < 60
    assert abs(float(values['minercdc_lake_lag_seconds{connector="shop"}']) - lag) < 1
    assert values['minercdc_lake_table_lag_seconds{connector="shop",table="S.BAD"}'] == "0.0"


def test_the_panel_has_tables_in_trouble_first_and_those_that_lag_most_next() -> None:
    figures = lake()
    for number in range(20):
        figures.table(f"S.T{number}")
    console = Console(force_terminal=True, width=160, color_system=None, record=True, file=StringIO())
    console.print(LakePanel(figures).draw(1010.0))
    line, _, first, second, *_, last = [one for one in console.export_text().splitlines() if one.strip()]
    assert "complete up to SCN 700, 90 records read, 40 merged" in line
    assert "lag 10 s" in line
    assert "S.BAD" in first
    assert "quarantined: no [key]" in first
    assert second.split()[:5] == ["S.SLOW", "600", "12", "10", "s"]
    assert last.split() == ["and", "10", "more", "tables"]


@pytest.mark.parametrize("terminal", [False, True])
def test_it_is_drawn_on_a_terminal_only(terminal: bool) -> None:
    console = Console(force_terminal=terminal, width=100, record=True, file=StringIO())
    with lake_panel(lake(), console):
        pass
    assert ("S.SLOW" in console.export_text()) is terminal
