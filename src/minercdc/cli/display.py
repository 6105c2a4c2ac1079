"""What a running connector shows: a live panel on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from minercdc.metrics import Counters

log = logging.getLogger("minercdc")


def lag_seconds(counters: Counters, now: float) -> float | None:
    """Seconds between the source's present and what has been delivered; None before the first progress."""
    return max(now - counters.progress_us / 1e6, 0.0) if counters.progress_us else None


class Rate:
    """Events per second since the last look."""

    def __init__(self) -> None:
        self._count = 0
        self._at = time.monotonic()
        self.per_second = 0.0

    def look(self, count: int) -> float:
        now = time.monotonic()
        if now - self._at >= 0.5:
            self.per_second = max(count - self._count, 0) / (now - self._at)
            self._count, self._at = count, now
        return self.per_second


def summary(counters: Counters, rate: Rate) -> str:
    """One line for the log."""
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
    lag = lag_seconds(counters, time.time())
    text = f"{counters.phase}: {events:,} events, {counters.transactions:,} transactions, {rate.look(events):,.0f} events/s"
    if lag is not None:
        text += f", lag {lag:.1f} s, SCN {counters.complete_scn}"
    if counters.restarts:
        text += f", {counters.restarts} restarts"
    return text


class _Ticking:
    """A thread that does something every so often until the context ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="display", daemon=True)

    def tick(self) -> None:
        raise NotImplementedError

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self.tick()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()


class LogDisplay(_Ticking):
    """A log line every few seconds."""

    def __init__(self, counters: Counters, seconds: float) -> None:
        super().__init__(seconds)
        self._counters = counters
        self._rate = Rate()

    def tick(self) -> None:
        log.info("%s", summary(self._counters, self._rate))


class TerminalDisplay(_Ticking):
    """A panel that is drawn over and over; log lines pass above it."""

    def __init__(self, counters: Counters, console: Console) -> None:
        super().__init__(0.25)
        self._counters = counters
        self._rate = Rate()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(30),
            TextColumn("{task.completed:>12,.0f} rows"),
            TimeRemainingColumn(),
        )
        self._tasks: dict[str, TaskID] = {}
        self._live = Live(console=console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self.tick()
        self._live.__exit__(kind, error, trace)

    def tick(self) -> None:
        self._live.update(self._draw())

    def _draw(self) -> RenderableType:
        counters = self._counters
        line = Table.grid(padding=(0, 1))
        line.add_row(f"[bold]{counters.phase}[/bold]", summary(counters, self._rate).partition(": ")[2])
        if counters.trouble and counters.phase == "reconnecting":
            line.add_row("", f"[yellow]{counters.trouble}[/yellow]")
        if counters.phase != "snapshot":
            return line
        for scan in counters.scans:
            if scan.table not in self._tasks:
                self._tasks[scan.table] = self._bars.add_task(scan.table, total=scan.expected_rows)
            self._bars.update(self._tasks[scan.table], completed=scan.rows, total=scan.expected_rows)
        return Group(line, self._bars)


def display(counters: Counters, console: Console, log_interval: float) -> LogDisplay | TerminalDisplay:
    """What fits where the output goes."""
    return TerminalDisplay(counters, console) if console.is_terminal else LogDisplay(counters, log_interval)
