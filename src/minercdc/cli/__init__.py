"""The command line: parses, calls, prints; no logic.

    minercdc run CONFIG        capture into Kafka
    minercdc signal CONFIG ..  ask a running connector for something
    minercdc check CONFIG      what the database lacks, with the SQL that fixes it
    minercdc config            the properties, as Markdown
    minercdc types             Oracle's types in topic and lake, as Markdown
    minercdc errors            what every code means, as Markdown
    minercdc lake CONFIG       keep Delta tables equal to the source
    minercdc sandbox           an Oracle-compatible server
    minercdc kafka             a Kafka broker
    minercdc demo              all of it on this machine

Exit status: 0 done, 1 failed, 2 the configuration or command line is wrong, 3 the database lacks something.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from minercdc.cli.send import signals
from minercdc.errors import ConfigError, MinerCdcError, PrerequisiteError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="Change data capture from Oracle."
)

app.add_typer(signals, name="signal")

ConfigFile = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="YAML, JSON or .properties with Debezium's property names.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log details.")]

errors = Console(stderr=True)
_STOP_SECONDS = 4.0  # what an orderly end of `run` may take; orchestrators kill after 10 or more


def main() -> None:
    """Entry point: every failure ends in one message and an exit status."""
    try:
        app()
    except ConfigError as error:
        _fail(str(error), 2)
    except PrerequisiteError as error:
        _fail(str(error), 3)
    except MinerCdcError as error:
        _fail(str(error), 1)
    except OSError as error:  # a directory that cannot be written, a full disk
        _fail(f"{error.strerror or error}: {error.filename or 'no file named'}", 1)


def _fail(message: str, status: int) -> None:
    errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.stdout.flush()
    raise SystemExit(status)


def _log_to(console: Console, verbose: bool) -> None:
    level = logging.DEBUG if verbose else logging.INFO
    if console.is_terminal:
        handler: logging.Handler = RichHandler(console=console, show_path=False, markup=False)
        logging.basicConfig(level=level, format="%(message)s", handlers=[handler])
    else:
        logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(message)s", stream=sys.stderr)
    for noisy in ("py4j", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _stop_on_signals(patience: float | None = None) -> threading.Event:
    """An event that SIGINT and SIGTERM set; the second one ends the process at once.

    :param patience: seconds after which the process ends even when a call to a server that does not answer is still waiting.
    """
    stop = threading.Event()
    # Python runs handlers between two steps of the main thread, which may be deep in a client library for a minute; the
    # byte that tells of a signal is written at once, and a thread of its own reads it.
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.detach())

    def listen() -> None:
        while number := ours.recv(1)[0]:
            if number not in (signal.SIGINT, signal.SIGTERM):
                continue
            if stop.is_set():
                os._exit(128 + number)
            stop.set()
            if patience is not None:
                timer = threading.Timer(patience, _leave)
                timer.daemon = True
                timer.start()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: None)  # without a handler there is no byte
    return stop


def _leave() -> None:
    """End without waiting: as safe as a crash, since the offset is committed with the records or not at all."""
    logging.getLogger(__name__).warning("a server does not answer; leaving without waiting for it, nothing is lost")
    errors.show_cursor()
    os._exit(0)


@app.command()
def run(
    config: ConfigFile,
    verbose: Verbose = False,
    log_interval: Annotated[float, typer.Option(help="Seconds between progress lines when there is no terminal.")] = 5.0,
) -> None:
    """Capture changes into Kafka until stopped."""
    stop = _stop_on_signals(_STOP_SECONDS)
    from minercdc.cli.display import display
    from minercdc.config.load import load_config
    from minercdc.connector import Connector

    console = Console(stderr=True)
    _log_to(console, verbose)
    connector = Connector(load_config(config))
    with display(connector.counters, console, log_interval):
        connector.run(stop)


@app.command()
def check(config: ConfigFile) -> None:
    """Tell what the database lacks, each with the SQL that fixes it."""
    from minercdc.config.load import load_config
    from minercdc.wiring import check_prerequisites

    findings = check_prerequisites(load_config(config))
    out = Console(highlight=False, markup=False, soft_wrap=True)
    for finding in findings:
        out.print(f"{'missing' if finding.blocking else 'advice '}  {finding.problem}")
        out.print(f"         {finding.fix}")
    if any(finding.blocking for finding in findings):
        raise SystemExit(3)
    out.print("ready" if not findings else "ready, with advice")


@app.command()
def config() -> None:
    """Print every property with its default and meaning, as Markdown."""
    from minercdc.config.document import configuration_page

    sys.stdout.write(configuration_page())


@app.command()
def types() -> None:
    """Print what each Oracle type becomes in the topic and in Spark, as Markdown."""
    from minercdc.cli.types_page import types_page

    sys.stdout.write(types_page())


@app.command(name="errors")
def error_codes() -> None:
    """Print what each error code means and what to do about it, as Markdown."""
    from minercdc.cli.errors_page import errors_page

    sys.stdout.write(errors_page())


@app.command()
def lake(config: ConfigFile, verbose: Verbose = False) -> None:
    """Keep Delta tables equal to the source until stopped."""
    from minercdc.config.load import load_config
    from minercdc.lake import start
    from minercdc.lake.app import await_end
    from minercdc.local.spark import local_spark

    loaded = load_config(config)
    _log_to(errors, verbose)
    stop = _stop_on_signals()
    with _jar_progress("Spark's jars") as advance:
        spark = local_spark(f"minercdc-{loaded.identity.name}", advance=advance)
    try:
        await_end(start(spark, loaded), stop)
    finally:
        spark.stop()


@app.command()
def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: a free one.")] = 1521,
    seed: Annotated[list[Path] | None, typer.Option(help="SQL script to run first; may be given several times.")] = None,
    profile: Annotated[str, typer.Option(help="Release to imitate: 19c or 23ai.")] = "23ai",
    data: Annotated[Path | None, typer.Option(help="Keep the database here; without it, it ends with the process.")] = None,
    max_string_size: Annotated[str, typer.Option(help="Of a new database: standard or extended.")] = "standard",
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate in PEM; makes the port a TCPS port.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, unless it is in the certificate's file.")] = None,
) -> None:
    """Run the Oracle-compatible server in the foreground; prints `ready HOST:PORT` when clients may connect."""
    try:
        from minercdc.sandbox.server import serve
    except ImportError as error:
        raise ConfigError([f"the sandbox needs the package {error.name}"], hint="pip install 'minercdc[sandbox]'") from None
    serve(
        *(host, port, seed or [], data, profile),
        max_string_size=max_string_size,
        certificate=tls_cert,
        key=tls_key,
    )


@app.command()
def kafka(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: a free one.")] = 9092,
    data: Annotated[Path, typer.Option(help="Where the topics are kept.")] = Path(".minercdc/kafka"),
) -> None:
    """Run a single-node Kafka broker in the foreground; prints `ready HOST:PORT` when clients may connect."""
    from minercdc.local.kafka_broker import KafkaBroker

    stop = _stop_on_signals()
    with _jar_progress("Kafka's jars") as advance:
        broker = KafkaBroker(data, host=host, port=port, advance=advance).start()
    try:
        print(f"ready {broker.bootstrap_servers}", flush=True)
        while not stop.wait(0.2):
            broker.check()
    finally:
        broker.stop()


@app.command()
def demo(
    directory: Annotated[Path | None, typer.Option(help="Keep everything here instead of in a temporary directory.")] = None,
) -> None:
    """Run everything on this machine and prove the lake equal to the source."""
    from minercdc.demo.play import play

    raise SystemExit(play(directory))


@contextmanager
def _jar_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives a callable that draws a bar for a download; nothing is drawn when all is cached."""
    with Progress(
        TextColumn("fetching {task.description}"),
        BarColumn(30),
        MofNCompleteColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def advance(done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        yield advance
