"""`minercdc lake`: keeps Delta tables equal to the source, and looks after them.

minercdc lake CONFIG            keep Delta tables equal to the source until stopped
minercdc lake verify CONFIG     compare them with Oracle
minercdc lake snapshot CONFIG   read tables from Oracle into the lake, without Kafka
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperGroup

from minercdc.cli.output import ConfigFile, Verbose, errors, jar_progress, log_lines, log_to
from minercdc.cli.stopping import UNFINISHED, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from minercdc.config.load import ConnectorConfig
    from minercdc.lake.snapshot import Loaded

_STOP_SECONDS = 8.0  # Spark ends its jobs and its JVM
_TRIES = 3  # of a table whose undo is gone, or that is altered meanwhile
_STREAM = "stream"  # the command of `minercdc lake CONFIG`


class _ConfigOrCommand(TyperGroup):
    """A group whose first argument may be CONFIG: then it is `stream` that runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = next((i for i, arg in enumerate(args) if not arg.startswith("-")), None)
        if first is not None and args[first] not in self.commands:
            args = [_STREAM, *args]
        return super().parse_args(ctx, args)


lake = typer.Typer(
    cls=_ConfigOrCommand,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    subcommand_metavar="CONFIG | COMMAND [ARGS]...",
    help="Keep Delta tables equal to the source until stopped: minercdc lake CONFIG. Or one of the commands.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

OneTable = Annotated[str | None, typer.Option("--table", metavar="SCHEMA.TABLE", help="This table only.")]


@contextmanager
def _spark(config: ConnectorConfig, stop: Stop) -> Iterator[SparkSession]:
    """A session of this process, which ends with the block."""
    from minercdc.lake.spark_session import session
    from minercdc.local.spark import end_java

    # In the main thread PySpark would install a handler of its own, which raises KeyboardInterrupt wherever it is.
    stop.leaving = end_java
    with jar_progress("Spark's jars") as advance, ThreadPoolExecutor(1) as starter:
        spark = starter.submit(session, config, advance=advance).result()
    try:
        yield spark
    finally:
        spark.stop()


@lake.command(name=_STREAM, hidden=True)
def stream(config: ConfigFile, verbose: Verbose = False) -> None:
    """Keep Delta tables equal to the source until stopped."""
    stop = Stop(patience=0)
    from minercdc.cli.next_steps import lake_steps
    from minercdc.config.load import load_config
    from minercdc.lake import start
    from minercdc.lake.paths import LakePaths

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark:
        stop.patience = _STOP_SECONDS
        running = start(spark, loaded)
        log_lines(lake_steps(LakePaths(loaded).root, str(config) if loaded.lake_spark else ""))
        running.await_end(stop)
    logging.getLogger(__name__).info("stopped")


@lake.command()
def verify(config: ConfigFile, table: OneTable = None, verbose: Verbose = False) -> None:
    """Compare the lake's tables with Oracle's at the newest SCN that is complete in the lake; exit status 1 when they differ."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.lake.verify import TableReport
    from minercdc.lake.verify import verify as compare

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark, _progress("comparing") as progress:
        task = progress.add_task("tables", total=None)

        def done(report: TableReport, total: int) -> None:
            progress.update(task, total=total, advance=1)
            for line in report.lines():
                progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

        report = compare(spark, loaded, table=table, done=done)
    errors.print(f"compared at SCN {report.scn}", highlight=False)
    sys.stdout.write(f"{report.summary()}\n")
    sys.stdout.flush()
    if not report.equal:
        raise SystemExit(1)


@lake.command()
def snapshot(
    config: ConfigFile,
    table: OneTable = None,
    scn: Annotated[int | None, typer.Option(min=1, help="Read as of this SCN; default the present one.")] = None,
    verbose: Verbose = False,
) -> None:
    """Read tables from Oracle AS OF one SCN into the lake, without Kafka; the connector streams what is committed after it."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.cli.next_steps import handover_steps
    from minercdc.config.load import load_config
    from minercdc.handover import hand_over
    from minercdc.lake.snapshot import snapshot as load

    loaded = load_config(config)
    log_to(errors, verbose)
    stream = hand_over(loaded, scn)
    at, tries = scn or stream.scn, 1 if scn else _TRIES
    with _spark(loaded, stop) as spark, _progress("reading") as bar:
        done = load(spark, loaded, scn=at, table=table, coverage=stream, tries=tries, progress=_SnapshotProgress(bar))
    log_lines(handover_steps(stream.scn, str(config)))
    rows = sum(one.rows for one in done.tables)
    sys.stdout.write(f"read: {len(done.tables) - len(done.failed)} tables, {rows} rows at SCN {done.scn}\n")
    sys.stdout.flush()
    if done.failed:
        raise SystemExit(1)


class _SnapshotProgress:
    """Ranges that are read as a bar, tables as lines with their rate."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("ranges", total=None)
        self._ranges = 0

    def begun(self, scn: int, tables: int, ranges: int) -> None:
        self._bar.console.print(f"reading {tables} tables as of SCN {scn}", highlight=False)
        self._ranges += ranges
        self._bar.update(self._task, total=self._ranges)

    def read(self, ranges: int) -> None:
        self._bar.update(self._task, advance=ranges)

    def done(self, table: Loaded) -> None:
        rate = table.rows / table.seconds if table.seconds else 0.0
        line = f"{table.name}: {table.failure}" if table.failure else f"{table.name}: {table.rows} rows, {rate:.0f} rows/s"
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _progress(what: str) -> Iterator[Progress]:
    """A bar on a terminal; what is printed on its console appears above it."""
    columns = (TextColumn(f"{what} {{task.description}}"), BarColumn(30), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        yield bar
