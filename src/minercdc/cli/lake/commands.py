"""`minercdc lake`: keeps Delta tables equal to the source, and looks after them.

minercdc lake CONFIG            keep Delta tables equal to the source until stopped
minercdc lake verify CONFIG     compare them with Oracle
minercdc lake snapshot CONFIG   read tables from Oracle into the lake, without Kafka
minercdc lake status CONFIG     how far each table is, and what it holds
minercdc lake show CONFIG TABLE rows of a table
minercdc lake optimize CONFIG   join small files, and remove what is older than the retention
minercdc lake rebuild CONFIG    make a table again
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from minercdc.cli.groups.order import command_first, nearest
from minercdc.cli.lake.panel import lake_panel
from minercdc.cli.output import (
    OF_SEVERAL,
    AsJson,
    ConfigFile,
    OneTable,
    Verbose,
    errors,
    jar_progress,
    log_lines,
    log_to,
    output,
    print_json,
    progress,
)
from minercdc.cli.pasting import pasteable
from minercdc.cli.plain_help import Group
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.cli.verify import comparing, end_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from minercdc.config.load import ConnectorConfig
    from minercdc.lake.source.snapshot import Loaded
    from minercdc.stream.counters.lake import LakeFigures

_STOP_SECONDS = 8.0  # Spark ends its jobs and its JVM
_TRIES = 3  # of a table whose undo is gone, or that is altered meanwhile
_STREAM = "stream"  # the command of `minercdc lake CONFIG`


class _ConfigOrCommand(Group):
    """A group whose only argument may be CONFIG: then it is `stream` that runs."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = command_first(args, self.commands)
        first = next((arg for arg in args if not arg.startswith("-")), None)
        if first is not None and first not in self.commands:
            if meant := nearest(first, self.commands):
                ctx.fail(f"No such command or file '{first}'. Did you mean '{meant}'?")
            args = [_STREAM, *args]
        return super().parse_args(ctx, args)


lake = typer.Typer(
    cls=_ConfigOrCommand,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    subcommand_metavar="CONFIG | COMMAND [ARGS]...",
    help="Keep Delta tables equal to the source until stopped (minercdc lake CONFIG), or run one of the commands.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def _spark(config: ConnectorConfig, stop: Stop) -> Iterator[SparkSession]:
    """A session of this process, which ends with the block. Sets `stop.leaving`, so that the JVM does not outlast the
    process."""
    from minercdc.lake.spark.session import session
    from minercdc.local.spark import end_java, kill_java
    from minercdc.sinks.opening import need_kafka

    if config.sink.debezium_sink_type != "segments":
        need_kafka(config, "`minercdc lake`", "debezium.sink.type=segments also works.")

    # In the main thread PySpark would install a handler of its own, which raises KeyboardInterrupt wherever it is.
    stop.leaving = kill_java
    with jar_progress("Spark's jars") as advance, ThreadPoolExecutor(1) as starter:
        spark = starter.submit(session, config, advance=advance).result()
    try:
        yield spark
    finally:
        spark.stop()
        end_java()


@contextmanager
def _metrics(config: ConnectorConfig, figures: LakeFigures) -> Iterator[None]:
    """Serves the figures while the block lasts, where a port is configured. A line in the log says where they are."""
    if config.lake.minercdc_lake_http_port is None:
        yield
        return
    from minercdc.cli.next_steps import reachable
    from minercdc.observe.prometheus.lake import serve_lake

    host = config.lake.minercdc_lake_http_host
    server, thread = serve_lake(figures, config.identity.name, host, config.lake.minercdc_lake_http_port)
    log_lines([f"metrics: curl http://{reachable(host, server.server_port)}/metrics"])
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@lake.command(name=_STREAM, hidden=True)
def stream(config: ConfigFile, verbose: Verbose = False) -> None:
    """Keep Delta tables equal to the source until stopped."""
    stop = Stop(patience=0)
    from minercdc.cli.next_steps import catalog_steps, lake_steps
    from minercdc.config.load import load_config
    from minercdc.lake import start
    from minercdc.lake.table.paths import LakePaths

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark:
        stop.patience = _STOP_SECONDS
        running = start(spark, loaded)
        several, lake = loaded.database.has_several_pdbs, loaded.lake
        if lake.minercdc_lake_format == "delta":
            log_lines(lake_steps(LakePaths(loaded).root, str(config), several=several))
        else:
            template = lake.minercdc_lake_catalog_table_name
            log_lines(catalog_steps(lake.minercdc_lake_catalog_name, str(config), several=several, template=template))
        with _metrics(loaded, running.figures), lake_panel(running.figures, errors):
            running.await_end(stop)
    logging.getLogger(__name__).info("stopped")


@lake.command()
def verify(config: ConfigFile, table: OneTable = None, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Compare the lake's tables with Oracle's at the newest SCN that is complete in the lake; exit status 1 when they differ."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.lake.maintain.verify import verify as compare

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark, comparing() as done:
        report = compare(spark, loaded, table=table, done=done)
    end_with(report, as_json=as_json)


@lake.command()
def snapshot(
    config: ConfigFile,
    table: OneTable = None,
    scn: Annotated[int | None, typer.Option(min=1, help="Read as of this SCN; default: the present SCN.")] = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Read tables from Oracle AS OF one SCN into the lake, without Kafka; the connector streams what is committed after it."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.cli.next_steps import handover_steps
    from minercdc.config.load import load_config
    from minercdc.lake.source.snapshot import snapshot as load
    from minercdc.operate.offsets.handover import hand_over

    loaded = load_config(config)
    log_to(errors, verbose)
    stream = hand_over(loaded, scn)
    at, tries = scn or stream.scn, 1 if scn else _TRIES
    with _spark(loaded, stop) as spark, progress("reading") as bar:
        done = load(spark, loaded, scn=at, table=table, coverage=stream, tries=tries, progress=_SnapshotProgress(bar))
    log_lines(handover_steps(stream.scn, str(config)))
    rows = sum(one.rows for one in done.tables)
    if as_json:
        tables = [{"table": one.name, "rows": one.rows, "error": one.failure or None} for one in done.tables]
        print_json({"scn": str(done.scn), "tables": tables})
    else:
        sys.stdout.write(f"read: {len(done.tables) - len(done.failed)} tables, {rows} rows at SCN {done.scn}\n")
    sys.stdout.flush()
    if done.failed:
        raise SystemExit(1)


@lake.command()
def status(
    config: ConfigFile,
    table: OneTable = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Show how far each table is, what waits, and what it holds on disk; exit status 1 when a table is quarantined."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.cli.lake.status import as_document, show
    from minercdc.config.load import load_config
    from minercdc.lake.maintain.status import status as look

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark:
        found = look(spark, loaded, table)
    if as_json:
        print_json(as_document(found, datetime.now(UTC)))
    else:
        show(found, datetime.now(UTC), output())
    sys.stdout.flush()
    if any(one.failure for one in found.tables):
        raise SystemExit(1)


@lake.command(name="show")
def show_rows(
    config: ConfigFile,
    table: Annotated[str, typer.Argument(metavar="SCHEMA.TABLE", help=f"The table{OF_SEVERAL}.")],
    scn: Annotated[int | None, typer.Option(min=1, help="Read as of this SCN; default: the newest complete one.")] = None,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Print this number of rows at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print each row as JSON on one line.")] = False,
    verbose: Verbose = False,
) -> None:
    """Print rows of a table as they are in the lake, as of one SCN."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.cli.lake.rows import json_lines, rows_of, show
    from minercdc.config.load import load_config
    from minercdc.lake import tables

    loaded = load_config(config)
    log_to(errors, verbose)
    with _spark(loaded, stop) as spark:
        found = tables(spark, loaded, scn)
        of_table = rows_of(found, table)
        if as_json:
            for line in json_lines(of_table, rows):
                sys.stdout.write(f"{line}\n")
        else:
            count = show(of_table, rows, output())
            errors.print(f"{table}: {min(rows, count)} of {count} rows, as of SCN {found.scn}", highlight=False)
    sys.stdout.flush()


@lake.command()
def optimize(config: ConfigFile, table: OneTable = None, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Join the tables' small files, and remove what is older than minercdc.lake.retention.ms; the lake may run meanwhile."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.cli.lake.status import size
    from minercdc.config.load import load_config
    from minercdc.lake.maintain.maintenance import Maintained, Maintenance

    loaded = load_config(config)
    log_to(errors, verbose)

    def done(one: Maintained) -> None:
        if as_json:
            return
        files, sizes = (f"{one.files[i]} files, {size(one.bytes[i])}" for i in (0, 1))
        sys.stdout.write(pasteable(f"{one.name}: {one.failure or f'{files} -> {sizes}'}\n"))

    with _spark(loaded, stop) as spark:
        maintenance = Maintenance(spark, loaded)
        maintenance.refuse_absent()
        found = maintenance.run(table, done)
    if as_json:
        print_json(
            [
                {"table": one.name, "files": list(one.files), "bytes": list(one.bytes), "error": one.failure or None}
                for one in found
            ]
        )
    else:
        sys.stdout.write(f"optimized: {sum(not one.failure for one in found)} tables\n")
    sys.stdout.flush()
    if any(one.failure for one in found):
        raise SystemExit(1)


@lake.command()
def rebuild(
    config: ConfigFile,
    table: Annotated[str, typer.Option("--table", metavar="SCHEMA.TABLE", help=f"The table to rebuild{OF_SEVERAL}.")],
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Make a table again, from the change log where that has all of it, else from Oracle; its quarantine ends with that."""
    stop = Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.lake.maintain.rebuild import rebuild_given

    loaded = load_config(config)
    log_to(errors, verbose)
    made: list[dict[str, object]] = []
    with _spark(loaded, stop) as spark, progress("reading") as bar:
        for done in rebuild_given(spark, loaded, table, progress=_SnapshotProgress(bar)):
            made.append({"table": done.name, "rows": done.rows, "scn": str(done.scn), "source": done.source})
            if as_json:
                continue
            sys.stdout.write(f"rebuilt: {done.name}, {done.rows} rows at SCN {done.scn} from {done.source}\n")
            sys.stdout.flush()
    if as_json:
        print_json(made)


class _SnapshotProgress:
    """Shows a snapshot that reads into the lake: ranges that are read as a bar, tables as lines with their rate."""

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
        self._bar.console.print(pasteable(line), markup=False, highlight=False, soft_wrap=True)
