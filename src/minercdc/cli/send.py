"""`minercdc signal CONFIG TYPE ..`: asks a running connector for something, and prints the id that its answers will carry."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from minercdc.errors import ConfigError
from minercdc.offset import JsonValue

signals = typer.Typer(no_args_is_help=True, help="Ask a running connector for something.")

Channel = Annotated[str, typer.Option(help="source, kafka, file or http; default the first of signal.enabled.channels.")]
Identity = Annotated[str, typer.Option("--id", help="Id of the signal; default a new one.")]
Collections = Annotated[
    list[str] | None, typer.Option("--collection", help="Pattern of DATABASE.SCHEMA.TABLE; may be given several times.")
]


@signals.callback()
def addressed(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The connector's configuration.")],
) -> None:
    """Which connector."""
    context.obj = config


def _send(context: typer.Context, channel: str, identity: str, kind: str, data: dict[str, JsonValue]) -> None:
    from minercdc.config.load import load_config
    from minercdc.signalling import send_signal

    config = load_config(context.obj)
    enabled = [name for name in config.signals.signal_enabled_channels if name != "in-process"]
    if not channel and not enabled:
        raise ConfigError(["signal.enabled.channels: has no channel that can be used from here"])
    identity = identity or str(uuid4())
    send_signal(config, channel or enabled[0], {"id": identity, "type": kind, "data": data})
    sys.stdout.write(identity + "\n")


@signals.command("execute-snapshot")
def execute_snapshot(
    context: typer.Context,
    collection: Collections = None,
    kind: Annotated[str, typer.Option("--type", help="incremental or blocking.")] = "incremental",
    condition: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=FILTER: a predicate (incremental) or a SELECT (blocking) for tables of that pattern."),
    ] = None,
    surrogate_key: Annotated[str, typer.Option(help="Column to read in order of instead of the key.")] = "",
    channel: Channel = "",
    identity: Identity = "",
) -> None:
    """Read tables again while the connector runs."""
    data: dict[str, JsonValue] = {"type": kind, "data-collections": list[JsonValue](collection or [])}
    conditions: list[JsonValue] = []
    for text in condition or ():
        pattern, found, filter_ = text.partition("=")
        if not found:
            raise ConfigError([f"--condition: '{text}' is not of the form PATTERN=FILTER"])
        conditions.append({"data-collection": pattern, "filter": filter_})
    if conditions:
        data["additional-conditions"] = conditions
    if surrogate_key:
        data["surrogate-key"] = surrogate_key
    _send(context, channel, identity, "execute-snapshot", data)


@signals.command("stop-snapshot")
def stop_snapshot(
    context: typer.Context, collection: Collections = None, channel: Channel = "", identity: Identity = ""
) -> None:
    """End incremental snapshots of some or, without --collection, all tables."""
    _send(
        context,
        channel,
        identity,
        "stop-snapshot",
        {"type": "incremental", "data-collections": list[JsonValue](collection or [])},
    )


@signals.command("pause-snapshot")
def pause_snapshot(context: typer.Context, channel: Channel = "", identity: Identity = "") -> None:
    """Let incremental snapshots wait."""
    _send(context, channel, identity, "pause-snapshot", {})


@signals.command("resume-snapshot")
def resume_snapshot(context: typer.Context, channel: Channel = "", identity: Identity = "") -> None:
    """Let them go on."""
    _send(context, channel, identity, "resume-snapshot", {})


@signals.command("log")
def log_message(
    context: typer.Context,
    message: Annotated[str, typer.Argument(help="Text; {} stands for the offset.")],
    channel: Channel = "",
    identity: Identity = "",
) -> None:
    """Write a line into the connector's log."""
    _send(context, channel, identity, "log", {"message": message})


@signals.command("drop-transaction")
def drop_transaction(
    context: typer.Context,
    xid: Annotated[str, typer.Argument(help="XID, 16 hexadecimal digits.")],
    channel: Channel = "",
    identity: Identity = "",
) -> None:
    """Give an open transaction up: its changes are lost."""
    _send(context, channel, identity, "drop-transaction", {"transaction-id": xid})


@signals.command("list-transactions")
def list_transactions(context: typer.Context, channel: Channel = "", identity: Identity = "") -> None:
    """Have the open transactions told by a notification."""
    _send(context, channel, identity, "list-transactions", {})


@signals.command("schema-changes")
def schema_changes(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON file: an array of tableChanges documents.")],
    channel: Channel = "",
    identity: Identity = "",
) -> None:
    """Tell the connector the shape of tables by hand."""
    try:
        changes = json.loads(file.read_text())
    except ValueError as error:
        raise ConfigError([f"is not JSON: {error}"], where=str(file)) from None
    _send(context, channel, identity, "schema-changes", {"changes": changes})
