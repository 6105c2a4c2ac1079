"""Display of a running connector: a live panel on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from minercdc.stream.counters.connector import Counters, RequestedScan

log = logging.getLogger("minercdc")

_LOOK_SECONDS = 1.0  # at the phase, where lines are less frequent
_LONGEST_KEY = 40  # in a line
_MOST_REQUESTED = 3  # of the snapshots that wait for each other


class Rate:
    """Measures events per second over the time between two looks."""

    def __init__(self) -> None:
        self._count = 0
        self._at = time.monotonic()
        self.per_second = 0.0

    def look(self, count: int) -> float:
        """Events per second; measured again when the last measurement is half a second old.

        :param count: all events so far.
        """
        now = time.monotonic()
        if now - self._at >= 0.5:
            self.per_second = max(count - self._count, 0) / (now - self._at)
            self._count, self._at = count, now
        return self.per_second


def requested(scan: RequestedScan) -> str:
    """Progress of a snapshot that a signal requested, as text."""
    where = f": {scan.table}, {scan.rows:,} rows" if scan.table else ""
    if scan.chunks:
        where += f", {scan.chunks:,} chunks"
    if scan.last and scan.maximum:
        where += f", key {_short(scan.last)} of {_short(scan.maximum)}"
    if scan.tables_left:
        where += f", {scan.tables_left} more to come"
    return f"{scan.kind} snapshot {scan.id}{where}{', paused' if scan.paused else ''}"


def _short(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 2]}.."


def summary(counters: Counters, rate: Rate) -> str:
    """The counters in one line; unless this is a standby or the initial snapshot runs, up to three requested snapshots follow, each
    after `; `."""
    if counters.phase == "standby":
        return "standby: waiting for the owner of the connector to die or hang"
    if counters.phase == "snapshot":
        done, expected = counters.scanned()
        per_second = rate.look(done)
        tables = sum(scan.completed for scan in counters.scans)
        text = f"snapshot: {done:,} rows, {tables} of {len(counters.scans)} tables, {per_second:,.0f} rows/s"
        if expected is None:
            return text
        left = f", {(expected - done) / per_second:,.0f} s left" if per_second and expected > done else ""
        return f"{text}, {100 * done / max(expected, 1):.0f} %{left}"
    events = sum(counters.events.values())
    lag = counters.lag_seconds(time.time())
    text = f"{'paused' if counters.paused and counters.phase == 'streaming' else counters.phase}: {events:,} events, {counters.transactions:,} transactions, {rate.look(events):,.0f} events/s"
    text += f", lag {'unknown' if isnan(lag) else f'{lag:.1f} s'}, SCN {counters.complete_scn}"
    if counters.suspended:
        text += f", SUSPENDED: {', '.join(one.table for one in counters.suspended)}"
    if counters.restarts:
        text += f", {counters.restarts} restarts"
    return "; ".join([text, *map(requested, counters.requested[:_MOST_REQUESTED])])


class Ticker:
    """Calls `tick` every `seconds`, in a thread of its own, while the context lasts; its end waits for the last call."""

    def __init__(self, seconds: float, tick: Callable[[], None]) -> None:
        self._seconds = seconds
        self._tick = tick
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._tick()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()


class ProgressLines:
    """Logs the counters in one line: when the phase changes, and every so many seconds.

    :param seconds: between two lines of a phase.
    :param monotonic: seconds of a clock that never goes back.
    """

    def __init__(self, counters: Counters, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._counters, self._seconds, self._monotonic = counters, seconds, monotonic
        self._rate, self._phase, self._at = Rate(), counters.phase, monotonic()

    def look(self) -> None:
        """Log a line if one is due; to be called often."""
        now = self._monotonic()
        if self._counters.phase != self._phase or now - self._at >= self._seconds:
            self._phase, self._at = self._counters.phase, now
            log.info("%s", summary(self._counters, self._rate))


class TerminalPanel:
    """Draws the counters of a running connector for a terminal."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._rate = Rate()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(30),
            TextColumn("{task.completed:>12,.0f} rows"),
            TimeRemainingColumn(),
        )
        self._tasks: dict[str, TaskID] = {}

    def draw(self) -> RenderableType:
        """The panel of this moment: a line, requested snapshots and trouble; bars per table during the initial snapshot."""
        counters = self._counters
        line = Table.grid(padding=(0, 1))
        text, *snapshots = summary(counters, self._rate).split("; ")
        line.add_row(f"[bold]{counters.phase}[/bold]", text.partition(": ")[2])
        for snapshot in snapshots:
            line.add_row("", escape(snapshot))
        if counters.trouble and counters.phase == "reconnecting":
            line.add_row("", f"[yellow]{counters.trouble}[/yellow]")
        if counters.phase != "snapshot":
            return line
        for scan in counters.scans:
            if scan.table not in self._tasks:
                self._tasks[scan.table] = self._bars.add_task(scan.table, total=scan.expected_rows)
            self._bars.update(self._tasks[scan.table], completed=scan.rows, total=scan.expected_rows)
        return Group(line, self._bars)


@contextmanager
def display(counters: Counters, console: Console, log_interval: float) -> Iterator[None]:
    """Show the counters while the context lasts: as a panel on a terminal, below the lines of the log, else as a log line
    every `log_interval` seconds, and at each change of the phase. A thread draws."""
    if not console.is_terminal:
        often = min(log_interval, _LOOK_SECONDS)
        with Ticker(often, ProgressLines(counters, log_interval - often / 2).look):
            yield
        return
    panel = TerminalPanel(counters)
    with Live(console=console, refresh_per_second=4) as live, Ticker(0.25, lambda: live.update(panel.draw())):
        yield
        live.update(panel.draw())
