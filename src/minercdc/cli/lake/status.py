"""The lake's status as a table on the terminal, and as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from minercdc.cli.pasting import pasteable

if TYPE_CHECKING:
    from minercdc.lake.maintain.status import LakeStatus, TableStatus

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: float) -> str:
    """A number of bytes as people read it: `17 B`, `1.5 MiB`."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def show(found: LakeStatus, now: datetime, console: Console) -> None:
    """Print the status: the lake in two lines, its tables as a table, and below it why tables are quarantined."""
    delivered = found.delivered_scn or "none yet"
    lines = [
        f"complete up to SCN {found.complete_scn or 'none yet'}; Kafka has everything up to SCN {delivered}",
        f"readable from SCN {found.readable_from}; change log: {found.records} records, {found.files} files, {size(found.bytes)}",
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
    table = Table()
    table.add_column("table", overflow="fold")
    table.add_column("mode")
    for name in ("SCN", "lag", "waiting", "rows", "files", "size"):
        table.add_column(name, justify="right")
    table.add_column("state")
    for one in found.tables:
        numbers = (one.scn, f"{one.lag_s(now):.0f} s", one.waiting, one.rows, one.files, size(one.bytes))
        table.add_row(one.name, one.mode, *map(str, numbers), _state(one))
    console.print(table)
    for one in found.tables:
        if one.failure:
            console.print(pasteable(f"{one.name}: {one.failure}"), markup=False, highlight=False, soft_wrap=True)


def _state(table: TableStatus) -> str:
    if table.failure:
        return "quarantined"
    if table.merged_at is None:
        return "not merged yet"
    return "merging" if table.waiting else "up to date"


def as_document(found: LakeStatus, now: datetime) -> dict[str, object]:
    """The status as a JSON object: SCNs as text, times in ISO 8601, sizes in bytes, lags in seconds."""
    return {
        "complete_scn": str(found.complete_scn),
        "delivered_scn": str(found.delivered_scn),
        "readable_from_scn": str(found.readable_from),
        "change_log": {"records": found.records, "files": found.files, "bytes": found.bytes},
        "tables": [
            {
                "table": one.name,
                "mode": one.mode,
                "state": _state(one),
                "scn": str(one.scn),
                "merged_at": one.merged_at.isoformat() if one.merged_at else None,
                "lag_seconds": round(one.lag_s(now), 3),
                "waiting": one.waiting,
                "rows": one.rows,
                "files": one.files,
                "bytes": one.bytes,
                "error": one.failure or None,
            }
            for one in found.tables
        ],
    }
