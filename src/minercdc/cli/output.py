"""Code that several commands share: options, logging, and the progress bar of a download."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from minercdc.cli.pasting import PasteableMessages, name_config

ConfigFile = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="YAML, JSON or .properties with Debezium's property names.", callback=name_config),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log details.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OF_SEVERAL = "; of several pluggable databases in each, or PDB.SCHEMA.TABLE in one"
OneTable = Annotated[str | None, typer.Option("--table", metavar="SCHEMA.TABLE", help=f"This table only{OF_SEVERAL}.")]

_UNWRAPPED = 10_000  # columns

errors = Console(stderr=True)


def output() -> Console:
    """Standard output for lines and tables; into a pipe or a file they are as wide as their content."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNWRAPPED
    return console


class PlainLines(logging.Formatter):
    """Lines that begin with the time in ISO 8601, UTC."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """The time of a record; `datefmt` is without effect."""
        return iso_time(record.created)


def iso_time(seconds: float) -> str:
    """A time in ISO 8601, UTC, with milliseconds: `2026-11-20T09:15:00.123Z`.

    :param seconds: since 1970.
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class WithoutPy4j(logging.Filter):
    """Leaves out what py4j logs by the root logger: a command for a JVM that has ended, as at the end of a process. What matters comes as
    an exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown."""
        return not (record.name == "root" and "py4j" in Path(record.pathname).parts)


def log_to(console: Console, verbose: bool) -> None:
    """Send the log to `console` when it is a terminal, else as plain lines to standard error. Only warnings and errors come
    from urllib3, and critical lines from py4j. Where it goes, and `verbose`, are without effect the second time.

    :param verbose: details (DEBUG), too.
    """
    level = logging.DEBUG if verbose else logging.INFO
    if console.is_terminal:
        on_terminal = RichHandler(console=console, show_path=False, markup=False, log_time_format="%Y-%m-%dT%H:%M:%S")
        logging.basicConfig(level=level, format="%(message)s", handlers=[on_terminal])
    else:
        plain = logging.StreamHandler(sys.stderr)
        plain.setFormatter(PlainLines("%(asctime)s %(levelname)-7s %(message)s"))
        logging.basicConfig(level=level, handlers=[plain])
    for handler in logging.getLogger().handlers:
        handler.addFilter(PasteableMessages())
        handler.addFilter(WithoutPy4j())
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what matters comes as an exception


def print_json(document: object) -> None:
    """Print a document on standard output, indented."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def log_lines(lines: Sequence[str]) -> None:
    """Log each line at level INFO."""
    for line in lines:
        logging.getLogger(__name__).info("%s", line)


@contextmanager
def jar_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives an `Advance` that draws a bar on a terminal; nothing is drawn until it is called, as when all jars are cached.

    :param what: is fetched, as shown beside the bar.
    """
    with Progress(
        TextColumn("fetching {task.description}"),
        BarColumn(30),
        MofNCompleteColumn(),
        console=errors,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not errors.is_terminal,
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        yield advance


@contextmanager
def progress(doing: str) -> Iterator[Progress]:
    """A bar on a terminal; what is printed on its console appears above it."""
    columns = (TextColumn(f"{doing} {{task.description}}"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    shown = errors.is_terminal
    with Progress(*columns, console=errors, transient=True, redirect_stdout=sys.stdout.isatty(), disable=not shown) as bar:
        yield bar


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """One line on standard error while the context lasts: on a terminal with the seconds so far, elsewhere as it is at the beginning. Gives a
    function that takes what happened last, for the line on a terminal.

    :param what: is waited for.
    """
    if not errors.is_terminal:
        errors.print(f"waiting for {what}", markup=False, highlight=False, soft_wrap=True)
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task(f"waiting for {what}", total=None)
        yield lambda said: bar.update(task, description=f"waiting for {what}; {said}")
