"""`minercdc signal CONFIG TYPE ..`: sends a running connector a signal, and prints the id that its answers will carry."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from minercdc.cli.groups.order import ConfigFirst
from minercdc.cli.output import waiting
from minercdc.cli.pasting import name_config, pasteable
from minercdc.cli.stopping import UNFINISHED, Stop
from minercdc.errors import ConfigError
from minercdc.stream.offset import JsonValue

signals = typer.Typer(cls=ConfigFirst, no_args_is_help=True, help="Send a signal to a running connector.")

Channel = Annotated[
    str,
    typer.Option(help="source, kafka, file or http; default: the first usable channel of signal.enabled.channels."),
]
Identity = Annotated[str, typer.Option("--id", help="Id of the signal; default: a new id.")]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait", help="Wait for the answer and print it; exit status 1 unless it is COMPLETED and every table was read."
    ),
]
Timeout = Annotated[float, typer.Option(help="Seconds that --wait waits for the next notification.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print the id, and with --wait each answer, as JSON on one line.")]
Collections = Annotated[
    list[str] | None, typer.Option("--collection", help="Pattern of DATABASE.SCHEMA.TABLE; may be given several times.")
]


@signals.callback()
def addressed(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The connector's configuration.", callback=name_config)],
) -> None:
    """Send a running connector a signal."""
    Stop(patience=0, status=UNFINISHED)
    context.obj = config


@dataclass(frozen=True, slots=True)
class _How:
    """The options that every signal has.

    :param channel: '' for the first one that can be used.
    :param identity: '' for a new id.
    :param timeout: seconds that `wait` waits for each next notification, not for all.
    :param as_json: id and answers are printed as JSON.
    """

    channel: str
    identity: str
    wait: bool
    timeout: float
    as_json: bool


def _send(context: typer.Context, how: _How, kind: str, data: dict[str, JsonValue]) -> None:
    from minercdc.config.load import load_config
    from minercdc.operate.signals.answers import answers, is_failure, notifications_of
    from minercdc.operate.signals.send import check_signal, send_signal, usable_channel

    config = load_config(context.obj)
    identity = how.identity or str(uuid4())
    wanted: dict[str, JsonValue] = {"id": identity, "type": kind, "data": data}
    check_signal(wanted)
    # A row of the signal table comes with the stream, which waits for this very signal.
    useless = "source" if kind == "resume-streaming" else ""
    if useless and how.channel == useless:
        raise ConfigError(["--channel source: its signals arrive with the stream, which is paused; use kafka, file or http"])
    if kind == "pause-streaming" and not config.signals.answers_while_paused:
        raise ConfigError(
            [
                "signal.enabled.channels: nothing could resume the stream, because signals of channel source arrive with it;"
                " add kafka, file or http, then restart the connector"
            ]
        )
    channel = how.channel or usable_channel(config, useless)
    source = notifications_of(config) if how.wait else None
    send_signal(config, channel, wanted)
    _print(json.dumps({"id": identity}) if how.as_json else identity)
    if source is None:
        return
    final, all_read = "", True
    with waiting(f"the answer, at most {how.timeout:g} s for each part") as show:
        for answer in answers(source, identity, how.timeout):
            final, all_read = answer["type"], all_read and not is_failure(answer)
            _print(json.dumps(answer, ensure_ascii=False) if how.as_json else shown_answer(answer))
            show(f"the last one: {answer['aggregate_type']} {final}")
    if final != "COMPLETED" or not all_read:
        raise SystemExit(1)


def shown_answer(answer: Mapping[str, Any]) -> str:
    """A notification on one line: its kind, and its details as JSON, whose commands can be pasted."""
    details = {key: pasteable(str(value)) for key, value in answer["additional_data"].items() if key != "connector_name"}
    return f"{answer['aggregate_type']} {answer['type']} {json.dumps(details, ensure_ascii=False)}"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _needed(collection: list[str] | None) -> list[JsonValue]:
    if not collection:
        raise ConfigError(["--collection is needed: a pattern of DATABASE.SCHEMA.TABLE, such as ORCLPDB1.SHOP.ORDERS"])
    return list(collection)


@signals.command("execute-snapshot")
def execute_snapshot(
    context: typer.Context,
    collection: Collections = None,
    kind: Annotated[str, typer.Option("--type", help="incremental or blocking.")] = "incremental",
    condition: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=FILTER: a predicate (incremental) or a SELECT (blocking) for tables of that pattern."),
    ] = None,
    surrogate_key: Annotated[str, typer.Option(help="Column that orders the rows instead of the key.")] = "",
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Read tables again while the connector runs."""
    data: dict[str, JsonValue] = {"type": kind, "data-collections": _needed(collection)}
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
    _send(context, _How(channel, identity, wait, timeout, as_json), "execute-snapshot", data)


@signals.command("stop-snapshot")
def stop_snapshot(
    context: typer.Context,
    collection: Collections = None,
    kind: Annotated[str, typer.Option("--type", help="incremental or blocking; default: both.")] = "",
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """End snapshots of some or, without --collection, all tables."""
    data: dict[str, JsonValue] = {"data-collections": list[JsonValue](collection or [])}
    if kind:
        data["type"] = kind
    _send(context, _How(channel, identity, wait, timeout, as_json), "stop-snapshot", data)


def _without_data(kind: str, meaning: str) -> None:
    """Add a command that sends a signal which needs no data."""

    @signals.command(kind, help=meaning)
    def send(
        context: typer.Context,
        channel: Channel = "",
        identity: Identity = "",
        wait: Wait = False,
        timeout: Timeout = 60.0,
        as_json: JsonLines = False,
    ) -> None:
        _send(context, _How(channel, identity, wait, timeout, as_json), kind, {})


_without_data("pause-snapshot", "Pause incremental snapshots.")
_without_data("resume-snapshot", "Resume paused incremental snapshots.")
_without_data("pause-streaming", "Pause the stream until resume-streaming, also across restarts.")
_without_data("resume-streaming", "Resume a paused stream.")


@signals.command("resume-table")
def resume_table(
    context: typer.Context,
    collection: Collections = None,
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Read suspended tables again, deletes included, and go on with their changes."""
    _send(
        context,
        _How(channel, identity, wait, timeout, as_json),
        "resume-table",
        {"data-collections": _needed(collection)},
    )


@signals.command("log")
def log_message(
    context: typer.Context,
    message: Annotated[str, typer.Argument(help="Text; {} stands for the offset.")],
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Write a line into the connector's log."""
    _send(context, _How(channel, identity, wait, timeout, as_json), "log", {"message": message})


@signals.command("drop-transaction")
def drop_transaction(
    context: typer.Context,
    xid: Annotated[str, typer.Argument(help="XID, 16 hexadecimal digits.")],
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Give an open transaction up: its changes are lost. Needs database.connection.adapter=logminer."""
    _send(context, _How(channel, identity, wait, timeout, as_json), "drop-transaction", {"transaction-id": xid})


@signals.command("list-transactions")
def list_transactions(
    context: typer.Context,
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Report the open transactions in a notification. Needs database.connection.adapter=logminer."""
    _send(context, _How(channel, identity, wait, timeout, as_json), "list-transactions", {})


@signals.command("schema-changes")
def schema_changes(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON file: an array of tableChanges documents.")],
    channel: Channel = "",
    identity: Identity = "",
    wait: Wait = False,
    timeout: Timeout = 60.0,
    as_json: JsonLines = False,
) -> None:
    """Give the connector the shape of tables by hand."""
    try:
        changes = json.loads(file.read_text())
    except ValueError as error:
        raise ConfigError([f"is not JSON: {error}"], where=str(file)) from None
    _send(context, _How(channel, identity, wait, timeout, as_json), "schema-changes", {"changes": changes})
