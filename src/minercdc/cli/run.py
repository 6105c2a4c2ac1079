"""`minercdc run CONFIG`: captures changes until it is stopped."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from minercdc.cli.json_log import log_as_json
from minercdc.cli.output import ConfigFile, Verbose, log_lines, log_to
from minercdc.cli.stopping import Stop, terminate_at_eof
from minercdc.errors import MinerCdcError

if TYPE_CHECKING:
    from minercdc.pipeline.connector import Connector

_STOP_SECONDS = 4.0  # what an orderly end may take; orchestrators kill after 10 or more


def run(
    config: ConfigFile,
    verbose: Verbose = False,
    log_interval: Annotated[
        float,
        typer.Option(
            help="Seconds between progress lines when there is no terminal; one comes at each change of the phase, too."
        ),
    ] = 60.0,
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
