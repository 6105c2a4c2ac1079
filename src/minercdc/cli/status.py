"""`minercdc status CONFIG`: shows the status of a running connector, read from its HTTP port."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from minercdc.cli.output import ConfigFile, output
from minercdc.cli.pasting import pasteable
from minercdc.cli.stopping import UNFINISHED, Stop

_MOST = 15
_COLOURS = {"UP": "green", "DEGRADED": "yellow", "DOWN": "red", "STANDBY": "cyan"}


def status(
    config: ConfigFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document of /api/status.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every two seconds until stopped.")] = False,
) -> None:
    """Print what a running connector is doing; exit status 1 when it does not answer, or is down."""
    stop = Stop(patience=0, status=UNFINISHED)
    console = output()
    document = _fetch(config)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    elif watch and console.is_terminal:
        with Live(view(document), console=console, auto_refresh=False) as live:
            while not stop.wait(2.0):
                document = _fetch(config)
                live.update(view(document), refresh=True)
    else:
        console.print(view(document))
    if document["status"] == "DOWN":
        raise SystemExit(1)


def _fetch(path: Path) -> dict[str, Any]:
    from minercdc.config.load import load_config
    from minercdc.errors import ConfigError
    from minercdc.observe.http.client import fetch_status
    from minercdc.observe.http.token import http_token

    config = load_config(path)
    port = config.signals.minercdc_http_port
    if not port:
        raise ConfigError(["minercdc.http.port: needed to look at a running connector; must not be 0"])
    return fetch_status(config.signals.minercdc_http_host, port, http_token(config))


def view(document: dict[str, Any]) -> RenderableType:
    """The document of /api/status as lines and tables; at most 15 rows in each table but that of the snapshot."""
    colour = _COLOURS.get(document["status"], "white")
    style = colour if document["status"] == "DOWN" else ""
    head = Text.assemble(
        (document["name"], "bold"), " ", (document["status"], colour), "  ", (pasteable(document["sentence"]), style)
    )
    parts: list[RenderableType] = [head, _lag(document["lag"])]
    if document["snapshot"]["running"]:
        parts.append(_snapshot(document["snapshot"]))
    if document["tables"]:
        parts.append(_tables(document["tables"]))
    if document["transactions"]["source"] or document["transactions"]["captured"]:
        parts.append(_transactions(document["transactions"]))
    if document["redo"]:
        parts.append(_redo(document["redo"]))
    return Group(*parts)


def _lag(lag: dict[str, Any]) -> Text:
    if lag["seconds"] is None:
        return Text("lag not known yet")
    largest = sorted(((seconds, cause) for cause, seconds in lag["causes"].items() if seconds >= 0.05), reverse=True)
    causes = ", ".join(f"{cause} {seconds:.1f} s" for seconds, cause in largest)
    return Text(f"lag {'' if lag['known'] else 'at least '}{lag['seconds']:.1f} s{': ' if causes else ''}{causes}")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        right = name not in ("table", "state", "user", "program", "XID", "captured")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _snapshot(snapshot: dict[str, Any]) -> Table:
    table = _table("table", "rows", "expected", "done")
    for one in snapshot["tables"]:
        expected = "" if one["expected_rows"] is None else f"{one['expected_rows']:,}"
        table.add_row(escape(one["table"]), f"{one['rows']:,}", expected, "yes" if one["completed"] else "")
    return table


def _tables(tables: list[dict[str, Any]]) -> Table:
    table = _table("table", "state", "changes", "per second", "last change", "left out")
    for one in sorted(tables, key=lambda one: -one["events"])[:_MOST]:
        numbers = (
            f"{one['events']:,}",
            f"{one['events_per_second']:,.1f}",
            (one["last_change"] or "").replace("T", " ").replace("+00:00", "Z"),  # so that it fits into 80 columns
            f"{one['left_out']:,}",
        )
        table.add_row(escape(one["table"]), one["state"], *numbers)
    return table


def _transactions(transactions: dict[str, Any]) -> Table:
    table = _table("XID", "user", "program", "open for", "captured rows")
    captured = {one["xid"]: one for one in transactions["captured"]}
    for one in [*transactions["source"], *(one for one in captured.values())][:_MOST]:
        rows = captured.get(one["xid"], {}).get("rows")
        if "program" not in one and any(other["xid"] == one["xid"] for other in transactions["source"]):
            continue
        names = (escape(one["user"]), escape(one.get("program", "")))
        table.add_row(one["xid"], *names, f"{one['age_seconds']:,.0f} s", "" if rows is None else f"{rows:,}")
    return table


def _redo(redo: list[dict[str, Any]]) -> Table:
    table = _table("table", "captured", "rows of redo", "bytes", "share")
    for one in redo[:_MOST]:
        name = escape(f"{one['schema']}.{one['table']}")
        table.add_row(
            name, "yes" if one["captured"] else "no", f"{one['rows']:,}", f"{one['bytes']:,}", f"{100 * one['share']:.1f} %"
        )
    return table
