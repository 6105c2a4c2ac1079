"""The command line: parses, calls, prints; no logic.

    minercdc run CONFIG        capture into Kafka, segments or JSON lines; with --standby once another instance is dead
    minercdc relay CONFIG      capture into a buffer that many clients read over HTTP
    minercdc relay schemas CONFIG  generate the Avro schemas of its tables
    minercdc signal CONFIG ..  send a running connector a signal
    minercdc status CONFIG     what a running connector is doing
    minercdc tail CONFIG       messages as they come
    minercdc verify CONFIG     compare the topics with Oracle
    minercdc check CONFIG      what database, Kafka, registry and disk lack, with what fixes it
    minercdc plan CONFIG       what a start would do
    minercdc bundle CONFIG     an archive for a bug report
    minercdc config            the properties, as Markdown
    minercdc config CONFIG     what is in force, and where it comes from
    minercdc offsets COMMAND CONFIG  show, export, import, move or remove the stored offset; go on where Debezium ended
    minercdc record CONFIG     a mining session into a file
    minercdc replay FILE       decode it again, without its database
    minercdc txlog COMMAND CONFIG  make, check, remove what the adapter txlog needs
    minercdc types             Oracle's types in topic and lake, as Markdown
    minercdc errors            what every code means, as Markdown
    minercdc lake CONFIG       keep Delta tables equal to the source
    minercdc lake COMMAND CONFIG  look after these tables
    minercdc sandbox           an Oracle-compatible server
    minercdc kafka             a Kafka broker
    minercdc registry          a schema registry
    minercdc demo              all of it on this machine

Exit status: 0 done, 1 failed, 2 the configuration or command line is wrong, 3 the database lacks something, 4 another instance
of the connector took over, 130 stopped before the end.
"""

from __future__ import annotations

import codecs
import logging
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.comparison import comparing, end_with
from minercdc.cli.json_log import log_as_json
from minercdc.cli.lake import lake
from minercdc.cli.offsets import offsets
from minercdc.cli.output import ConfigFile, OneTable, Verbose, errors, jar_progress, log_lines, log_to
from minercdc.cli.pasting import name_config, pasteable
from minercdc.cli.recording import record, replay
from minercdc.cli.relay import relay
from minercdc.cli.send import signals
from minercdc.cli.status import status
from minercdc.cli.stopping import UNFINISHED, Stop, terminate_at_eof
from minercdc.cli.tail import tail
from minercdc.cli.txlog import txlog
from minercdc.errors import ConfigError, FencedError, MinerCdcError, PrerequisiteError

if TYPE_CHECKING:
    from minercdc.local.kafka_broker import KafkaBroker
    from minercdc.local.schema_registry import LocalRegistry
    from minercdc.oracle.finding import Finding
    from minercdc.pipeline.connector import Connector

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Change data capture from Oracle.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(signals, name="signal")
app.command()(status)
app.command()(tail)
app.command()(record)
app.command()(replay)
app.add_typer(lake, name="lake")
app.add_typer(offsets, name="offsets")
app.command(name="relay")(relay)
app.add_typer(txlog, name="txlog")

_STOP_SECONDS = 4.0  # what an orderly end of `run` may take; orchestrators kill after 10 or more


def main() -> None:
    """Entry point: every failure that is not a defect ends in one message on standard error and an exit status (SystemExit).

    What standard output and error cannot encode is replaced, by `?`. Where the locale's encoding is ASCII, the process begins again in
    UTF-8: arguments and names of files are taken for that.
    """
    _begin_in_utf8()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        _refuse_undecoded(sys.argv)
        app()
    except ConfigError as error:
        _fail(str(error), 2)
    except PrerequisiteError as error:
        _fail(str(error), 3)
    except FencedError as error:
        _fail(str(error), 4)
    except MinerCdcError as error:
        _fail(str(error), 1)
    except OSError as error:  # a directory that cannot be written, a full disk
        _fail(f"{error.strerror or error}: {error.filename or 'no file named'}", 1)


def _begin_in_utf8() -> None:
    """Replace the process by one in UTF-8 mode, where names of files are ASCII: `LC_ALL=C` with `PYTHONUTF8=0`."""
    if codecs.lookup(sys.getfilesystemencoding()).name == "ascii" and os.environ.get("PYTHONUTF8") != "1":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONUTF8": "1"})


def _refuse_undecoded(arguments: Sequence[str]) -> None:
    """Raise ConfigError for arguments that are no text in the locale's encoding."""
    problems = []
    for number, argument in enumerate(arguments):
        try:
            argument.encode()
        except UnicodeEncodeError:
            encoding, shown = sys.getfilesystemencoding(), os.fsencode(argument).decode("ascii", "backslashreplace")
            problems.append(f"argument {number}: {shown} is not valid text in {encoding}, the encoding of the locale")
    if problems:
        raise ConfigError(
            problems, hint="Type it in that encoding, or set LC_ALL to a locale with the encoding of your terminal."
        )


def _fail(message: str, status: int) -> None:
    errors.print(pasteable(message), style="red", markup=False, highlight=False, soft_wrap=True)
    sys.stdout.flush()
    raise SystemExit(status)


def _print_version(wanted: bool) -> None:
    if wanted:
        from minercdc.native import PATH

        sys.stdout.write(f"minercdc {metadata.version('minercdc')} ({PATH})\n")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version, and `native` or `python` for the path in use.",
        ),
    ] = False,
) -> None:
    """Change data capture from Oracle."""


@app.command()
def run(
    config: ConfigFile,
    verbose: Verbose = False,
    log_interval: Annotated[float, typer.Option(help="Seconds between progress lines when there is no terminal.")] = 5.0,
    until_eof: Annotated[
        bool,
        typer.Option("--until-eof", help="Stop when standard input ends, for example because the parent process has ended."),
    ] = False,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="Wait until the instance that owns the connector dies or hangs, then take over; needs Kafka transactions.",
        ),
    ] = False,
) -> None:
    """Capture changes into Kafka, or into the sink of the configuration, until stopped."""
    stop = Stop(_STOP_SECONDS)
    if until_eof:
        terminate_at_eof()
    from minercdc.cli.display import display
    from minercdc.cli.next_steps import connector_steps
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable
    from minercdc.pipeline.connector import Connector

    console = Console(stderr=True)
    log_to(console, verbose)
    loaded = load_config(config, not_loadable)
    if loaded.run.minercdc_log_format == "json":
        log_as_json(loaded.identity.name)
        console = Console(stderr=True, force_terminal=False)
    connector = Connector(loaded)
    if not console.is_terminal:  # where SIGHUP means that the terminal is gone
        stop.take_hangups(lambda: _reload(connector, config))
    with display(connector.counters, console, log_interval):
        connector.run(stop, standby=standby, served=lambda address: log_lines(connector_steps(loaded, str(config), address)))
    if stop.is_set():
        logging.getLogger(__name__).info("stopped")


def _reload(connector: Connector, config: Path) -> None:
    """Read the filters again. What is wrong with the file is logged, and the filters stay as they are."""
    from minercdc.config.load import load_config

    try:
        connector.reload_filters(load_config(config))
    except (MinerCdcError, OSError) as error:
        logging.getLogger(__name__).error("the filters stay as they are: %s", error)


@app.command()
def check(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="CONFIG", help="The connector's configuration.", show_default=False, callback=name_config),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print all rules and grants as Markdown without examining anything.")
    ] = False,
) -> None:
    """Print what database, Kafka, registry and disk lack, with what it is for and what fixes it; exit status 3 when capture cannot start."""
    from minercdc.operate.check.page import checks_page, lines_of

    if rules:
        sys.stdout.write(checks_page())
        return
    if config is None:
        raise typer.BadParameter("give the configuration file, or --rules")
    Stop(patience=0, status=UNFINISHED)  # the clients' calls do not let Python's handlers run while a server does not answer
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable
    from minercdc.operate.check.examination import examine

    out = Console(highlight=False, markup=False, soft_wrap=True)
    findings: list[Finding] = []
    for finding in examine(load_config(config, not_loadable)):
        findings.append(finding)
        for line in lines_of(finding):
            out.print(pasteable(line))
    if any(finding.blocking for finding in findings):
        raise SystemExit(3)
    if any(finding.suspends for finding in findings):
        out.print("ready, but tables will be suspended for what is missing")
    else:
        out.print("ready" if not findings else "ready, with advice")


@app.command()
def verify(config: ConfigFile, table: OneTable = None, verbose: Verbose = False) -> None:
    """Compare the topics with Oracle's tables at the newest SCN that is complete in Kafka; exit status 1 when they differ."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.verify import verify as compare

    loaded = load_config(config)
    log_to(errors, verbose)
    with comparing() as done:
        report = compare(loaded, table=table, done=done)
    end_with(report)


@app.command()
def config(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="Print the properties in force with this file.", show_default=False),
    ] = None,
) -> None:
    """Print every property in force with a file: value, origin, effect; without one, all properties as Markdown."""
    if file is None:
        from minercdc.config.document import configuration_page

        sys.stdout.write(configuration_page())
        return
    from minercdc.config.in_force import report
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable

    sys.stdout.write(report(load_config(file, not_loadable), file))


@app.command()
def plan(config: ConfigFile) -> None:
    """Print what a start would do: tables, topics, types, rows, estimated time, redo rate and grants; nothing is written."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.check.config_imports import not_loadable
    from minercdc.operate.check.start_plan import plan as lines

    loaded = load_config(config, not_loadable)
    log_to(errors, verbose=False)
    for line in lines(loaded):
        print(pasteable(line), flush=True)


@app.command()
def bundle(
    config: ConfigFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The archive.")] = Path("minercdc-bundle.tar.gz"),
) -> None:
    """Write an archive for a bug report: configuration, versions, state and figures, without secrets, rows and keys."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.operate.bundle import write_bundle

    loaded = load_config(config)
    log_to(errors, verbose=False)
    names = write_bundle(loaded, config, output)
    sys.stdout.write(f"{output}: {', '.join(names)}\n")


@app.command()
def types() -> None:
    """Print what each Oracle type becomes in the topic and in Spark, as Markdown."""
    from minercdc.cli.pages.types import types_page

    sys.stdout.write(types_page())


@app.command(name="errors")
def error_codes() -> None:
    """Print what each error code means and what to do about it, as Markdown."""
    from minercdc.cli.pages.errors import errors_page

    sys.stdout.write(errors_page())


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    options_metavar="[OPTIONS]",
)
def sandbox(context: typer.Context) -> None:
    """Run the Oracle-compatible server in the foreground; prints `ready HOST:PORT` when clients may connect."""
    installed = metadata.entry_points(group="minercdc.commands", name="sandbox")
    if not installed:
        raise ConfigError(["the sandbox is not installed"], hint="pip install 'minercdc[sandbox]'")
    (command,) = installed
    command.load()(context.args, "minercdc sandbox")
    sys.stderr.write("stopped\n")


@app.command()
def kafka(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 9092,
    data: Annotated[Path, typer.Option(help="Where the topics are kept.")] = Path(".minercdc-kafka"),
    advertised: Annotated[
        str, typer.Option(help="HOST:PORT that the broker advertises to clients; default the address it listens on.")
    ] = "",
    external: Annotated[
        str, typer.Option(help="HOST:PORT of a second listener for clients in another network, such as a container's host.")
    ] = "",
) -> None:
    """Run a single-node Kafka broker in the foreground; prints `ready HOST:PORT` when clients may connect."""
    from minercdc.cli.next_steps import broker_steps
    from minercdc.local.kafka_broker import KafkaBroker

    stop = Stop()
    with jar_progress("Kafka's jars") as advance:
        where = KafkaBroker(data, host=host, port=port, advertised=advertised, external=external, advance=advance)
        broker = where.start()
    _serve(broker, stop, [f"ready {broker.bootstrap_servers}", *broker_steps(broker.bootstrap_servers, external, data)])


@app.command()
def registry(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 8081,
    log_file: Annotated[Path, typer.Option(help="File for its log.")] = Path(".minercdc-registry.log"),
) -> None:
    """Run a schema registry without schemas in the foreground; prints `ready HOST:PORT` when clients may connect."""
    from minercdc.local.schema_registry import LocalRegistry

    stop = Stop()
    with jar_progress("the registry's archive") as advance:
        running = LocalRegistry(log_file, host=host, port=port, advance=advance).start()
    _serve(running, stop, [f"ready {running.host}:{running.port}", f"connect: schema.registry.url={running.url}"])


def _serve(server: KafkaBroker | LocalRegistry, stop: Stop, lines: Sequence[str]) -> None:
    """Print what clients need of a server that was started; run it until stopped."""
    try:
        print(*lines, sep="\n", flush=True)
        while not stop.wait(0.2):
            server.check()
    finally:
        server.stop()
    sys.stderr.write("stopped\n")


@app.command()
def demo(
    directory: Annotated[Path | None, typer.Option(help="Keep everything here instead of in a temporary directory.")] = None,
) -> None:
    """Run everything on this machine and prove the lake equal to the source."""
    from minercdc.local.demo.play import play

    raise SystemExit(play(directory))
