"""`minercdc offsets`: offsets from elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from minercdc.cli.output import ConfigFile, Verbose, errors, log_to
from minercdc.cli.stopping import UNFINISHED, Stop

offsets = typer.Typer(no_args_is_help=True, help="Go on where another connector ended.")


@offsets.callback()
def _group() -> None:
    """Go on where another connector ended."""


@offsets.command(name="import")
def import_offset(
    config: ConfigFile,
    from_debezium: Annotated[
        str, typer.Option(metavar="FILE_OR_TOPIC", help="Debezium's offset file, or Kafka Connect's offset topic.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Store it; otherwise it is only shown.")] = False,
    verbose: Verbose = False,
) -> None:
    """Go on where a stopped Debezium connector ended; says what it would do, and does it with --yes."""
    Stop(patience=0, status=UNFINISHED)
    from minercdc.config.load import load_config
    from minercdc.migration.importing import look

    loaded = load_config(config)
    log_to(errors, verbose)
    found = look(loaded, from_debezium)
    out = Console(highlight=False, markup=False, soft_wrap=True)
    for line in found.lines():
        out.print(line)
    if not yes:
        out.print("Nothing is stored yet. Stop Debezium, and repeat this with --yes.")
        return
    found.store()
    out.print(f"stored; start it with: minercdc run {config}")
