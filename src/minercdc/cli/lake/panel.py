"""Live panel of a running lake on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from minercdc.cli.display import Rate, Ticker
from minercdc.stream.counters.lake import LakeFigures

_MOST_TABLES = 12


class LakePanel:
    """Draws the figures of a running lake for a terminal. One for each display: it measures the rate between two draws."""

    def __init__(self, figures: LakeFigures) -> None:
        self._figures = figures
        self._rate = Rate()

    def draw(self, now: float) -> RenderableType:
        """The panel of this moment: a line, and the tables that are in trouble, or lag most.

        :param now: seconds since 1970.
        """
        figures = self._figures
        tables = sorted(figures.tables.items(), key=lambda pair: (not pair[1].failure, -pair[1].lag(now), pair[0]))
        merged = sum(one.merged for _, one in tables)
        line = f"[bold]lake[/bold] complete up to SCN {figures.complete_scn}, {figures.records:,} records read, {merged:,} merged"
        line += f", {self._rate.look(merged):,.0f}/s, lag {figures.lag(now):.0f} s"
        shown = Table("table", "SCN", "waiting", "lag", "merged", "last merge", "", box=None, padding=(0, 1))
        for name, one in tables[:_MOST_TABLES]:
            state = Text(
                "quarantined: " + one.failure if one.failure else "", style="red", no_wrap=True, overflow="ellipsis"
            )
            cells = (Text(name), str(one.scn), f"{one.waiting:,}", f"{one.lag(now):.0f} s", f"{one.merged:,}")
            shown.add_row(*cells, f"{one.merges.last:.1f} s" if one.merges.count else "", state)
        more = [Text(f"and {len(tables) - _MOST_TABLES} more tables")] if len(tables) > _MOST_TABLES else []
        return Group(line, *([shown] if tables else []), *more)


@contextmanager
def lake_panel(figures: LakeFigures, console: Console) -> Iterator[None]:
    """Show the figures while the context lasts; nothing where the console is no terminal: the log has lines of its own."""
    if not console.is_terminal:
        yield
        return
    panel = LakePanel(figures)
    with (
        Live(panel.draw(time.time()), console=console, refresh_per_second=4) as live,
        Ticker(0.5, lambda: live.update(panel.draw(time.time()))),
    ):
        yield
        live.update(panel.draw(time.time()))
