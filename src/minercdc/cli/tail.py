"""`minercdc tail CONFIG [TABLE]`: messages as they come."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from minercdc.cli.output import ConfigFile, Verbose, errors, log_to
from minercdc.cli.stopping import Stop


def tail(
    config: ConfigFile,
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="SCHEMA.TABLE, TABLE or a topic; default: all captured tables.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Begin with messages of this time (ISO 8601; UTC unless it has an offset).")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this number of messages.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each message as JSON on one line.")] = False,
    verbose: Verbose = False,
) -> None:
    """Print the latest messages of the table topics, and new ones as they come, until stopped."""
    stop = Stop(2.0)
    from minercdc.config.load import load_config
    from minercdc.operate.tail import tail as messages

    begin = None if since is None else _moment(since)
    loaded = load_config(config)
    log_to(errors, verbose)
    try:
        for message in messages(loaded, table, begin, count, stop):
            sys.stdout.write((message.to_json() if as_json else message.line()) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:  # of `| head`
        sys.stderr.close()


def _moment(text: str) -> datetime:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text} is not an ISO 8601 time, such as 2026-11-23T05:00:00Z") from None
    return given if given.tzinfo else given.replace(tzinfo=UTC)
