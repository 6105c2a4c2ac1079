"""The stored offset as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from minercdc.errors import SchemaHistoryError
from minercdc.stream.json_document import WRONG, checked, member, reason, within
from minercdc.stream.offset import (
    ChunkProgress,
    JsonValue,
    Offset,
    PartialTransaction,
    SignalState,
    SnapshotState,
    SuspendedTable,
    TableProgress,
)
from minercdc.stream.signals_json import signals_from_json, signals_to_json

FORMAT_VERSION = 4
"""Raised by a member that an earlier release must not pass over. All earlier versions are read for ever, and an offset is written in the
earliest that has all its members: 2 has `kept` in a position, open transactions that are not mined again from their start; 3 `pdbs`,
several pluggable databases; 4 `ahead` in a redo thread, what is delivered after what waits."""

RUN_NEWER = "Run that release, or a newer one."
_MEMBERS = {"v", "adapter", "position", "partial", "history", "snapshot", "signals", "suspended", "complete_scn", "excluded"}


def offset_to_bytes(offset: Offset) -> bytes:
    """The offset as JSON, with the format version; SCNs are text."""
    positions = [*filter(None, (offset.position, offset.snapshot.start if offset.snapshot else None))]
    document: dict[str, JsonValue] = {"v": max(map(_version, positions), default=1), "adapter": offset.adapter}
    document["position"] = dict(offset.position) if offset.position is not None else None
    if partial := offset.partial:
        more: dict[str, JsonValue] = {"events": dict(partial.events)} if partial.events else {}
        if partial.inserts:
            more["inserts"] = True
        document["partial"] = {"tx_id": partial.tx_id, "commit_scn": str(partial.commit_scn), "seq": partial.seq, **more}
    if offset.history is not None:
        document["history"] = offset.history
    if snapshot := offset.snapshot:
        document["snapshot"] = _snapshot_to_json(snapshot)
    if offset.signals != SignalState():
        document["signals"] = signals_to_json(offset.signals)
    if offset.suspended:
        document["suspended"] = [{**asdict(table), "since_scn": str(table.since_scn)} for table in offset.suspended]
    if offset.complete_scn:
        document["complete_scn"] = str(offset.complete_scn)
    if offset.excluded:
        document["excluded"] = {table: str(scn) for table, scn in offset.excluded.items()}
    return json.dumps(document, separators=(",", ":")).encode()


def _version(position: Mapping[str, Any]) -> int:
    """The earliest format version that has all members of a position."""
    if any("ahead" in mark for mark in position.get("threads", {}).values()):
        return 4
    return 3 if "pdbs" in position else 2 if "kept" in position else 1


def _snapshot_to_json(state: SnapshotState) -> dict[str, JsonValue]:
    return {
        "scn": str(state.scn),
        "completed": state.completed,
        "start": dict(state.start),
        "tables": [
            {
                "table": table.table,
                "rows": table.rows,
                "expected_rows": table.expected_rows,
                "deferred": table.deferred,
                "chunks": [[chunk.first, chunk.until, chunk.last_row_id, chunk.completed] for chunk in table.chunks],
            }
            for table in state.tables
        ],
    }


def offset_from_bytes(stored: bytes, where: str) -> Offset:
    """The stored offset, of this format version or an earlier one. Raises SchemaHistoryError, naming `where` it is stored, when it
    is of another version, has a member that is not known, or cannot be read."""
    try:
        document: dict[str, Any] = json.loads(stored)
        if member(document, "v", int) > FORMAT_VERSION:
            raise _newer(f"format version {document['v']}, and this one reads up to {FORMAT_VERSION}", where)
        if unknown := sorted(set(document) - _MEMBERS):
            raise _newer(f"the member {unknown[0]}, which this one does not know", where)
        if document["v"] < 1:
            raise ValueError(f"there is no format version {document['v']}")
        return _offset(document)
    except WRONG as error:
        raise SchemaHistoryError(
            f"the offset stored in {where} cannot be read: {reason(error)}",
            hint="it was written by another version; run that one, or give this connector a new name and snapshot again",
        ) from None


def _newer(what: str, where: str) -> SchemaHistoryError:
    return SchemaHistoryError(
        f"the offset stored in {where} was written by a newer release of minercdc: it has {what}",
        hint=RUN_NEWER,
    )


def _offset(document: dict[str, Any]) -> Offset:
    parts: dict[str, Any] = {}
    for name, read in _PARTS.items():
        if (value := document.get(name)) is not None:
            with within(name):
                parts[name] = read(value)
    return Offset(
        adapter=member(document, "adapter", str),
        position=member(document, "position", dict, type(None)),
        history=checked(document.get("history"), "history", int, type(None)),
        **parts,
    )


def _suspended_from_json(items: list[dict[str, Any]]) -> tuple[SuspendedTable, ...]:
    return tuple(SuspendedTable(**{**table, "since_scn": int(table["since_scn"])}) for table in items)


def _partial_from_json(document: dict[str, Any]) -> PartialTransaction:
    return PartialTransaction(
        document["tx_id"],
        int(document["commit_scn"]),
        document["seq"],
        events=document.get("events", {}),
        inserts=document.get("inserts", False),
    )


def _snapshot_from_json(document: dict[str, Any]) -> SnapshotState:
    return SnapshotState(
        scn=int(document["scn"]),
        completed=document["completed"],
        start=document["start"],
        tables=tuple(_table_from_json(table) for table in document["tables"]),
    )


def _table_from_json(document: dict[str, Any]) -> TableProgress:
    return TableProgress(
        document["table"],
        document["rows"],
        tuple(ChunkProgress(*chunk) for chunk in document["chunks"]),
        document["expected_rows"],
        document["deferred"],
    )


_PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "partial": _partial_from_json,
    "snapshot": _snapshot_from_json,
    "signals": signals_from_json,
    "suspended": _suspended_from_json,
    "complete_scn": int,
    "excluded": lambda tables: {str(table): int(scn) for table, scn in tables.items()},
}
"""Members that may be missing, and how each is read."""
