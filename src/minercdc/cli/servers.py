"""`minercdc sandbox`, `kafka`, `registry` and `demo`: what a pipeline needs, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minercdc.cli.output import jar_progress
from minercdc.cli.stopping import Stop
from minercdc.errors import ConfigError

if TYPE_CHECKING:
    from minercdc.local.kafka_broker import KafkaBroker
    from minercdc.local.schema_registry import LocalRegistry


def sandbox(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: a free one.")] = 1521,
    seed: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="SQL script to run first; may be given several times.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the database is kept; default: it ends with the process.")
    ] = None,
    profile: Annotated[str, typer.Option(help="Release to imitate: 19c or 23ai.")] = "23ai",
    max_string_size: Annotated[
        str, typer.Option(help="Of a new database: standard, or extended for VARCHAR2 and RAW up to 32767 bytes.")
    ] = "standard",
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate in PEM; makes the port a TCPS port.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key, unless it is in the same file.")] = None,
) -> None:
    """Run the Oracle-compatible server in the foreground; prints `ready HOST:PORT` when clients may connect."""
    installed = metadata.entry_points(group="minercdc.commands", name="sandbox")
    if not installed:
        raise ConfigError(
            ["the sandbox is not installed"],
            hint="In a clone, `pip install ./sandbox`; of a release, `pip install 'minercdc[sandbox]'`.",
        )
    (command,) = installed
    given = {"--data": data, "--tls-cert": tls_cert, "--tls-key": tls_key}
    seeds = [word for one in seed or () for word in ("--seed", str(one))]
    others = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    fixed = ["--host", host, "--port", str(port), "--profile", profile, "--max-string-size", max_string_size]
    command.load()([*fixed, *seeds, *others], "minercdc sandbox")
    sys.stderr.write("stopped\n")


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


def demo(
    directory: Annotated[Path | None, typer.Option(help="Keep everything here instead of in a temporary directory.")] = None,
    form: Annotated[Literal["delta", "iceberg"], typer.Option("--format", help="Format of the lake's tables.")] = "delta",
) -> None:
    """Run everything on this machine and prove the lake equal to the source."""
    from minercdc.local.demo.play import play

    raise SystemExit(play(directory, form))
