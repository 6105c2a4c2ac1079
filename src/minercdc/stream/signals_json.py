"""The work that signals requested, as the part `signals` of the stored offset, and back.

The part has a version of its own. A member that we do not know was written by a newer program: it is refused rather than lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from minercdc.stream.offset import AdHocSnapshot, JsonValue, Resumption, SignalState, TableRead

VERSION = 1
_SCNS = ("fixed_scn", "covered_scn", "settled_scn")


def signals_to_json(state: SignalState) -> dict[str, JsonValue]:
    """The state as JSON, with its version; SCNs are text."""
    return {
        "v": VERSION,
        "snapshots": [_snapshot_to_json(snapshot) for snapshot in state.snapshots],
        "paused": state.paused,
        "drops": [list[JsonValue](drop) for drop in state.drops],
        "taken": dict(state.taken),
        "resumes": [list[JsonValue](resume) for resume in state.resumes],
        "resuming": [_resumption_to_json(resumption) for resumption in state.resuming],
        **({"streaming_paused": True} if state.streaming_paused else {}),
    }


def _resumption_to_json(resumption: Resumption) -> JsonValue:
    scns = {name: str(getattr(resumption, name)) for name in _SCNS}
    return {**asdict(resumption), **scns, "marks": [list[JsonValue](mark) for mark in resumption.marks]}


def _resumption_from_json(item: Mapping[str, Any]) -> Resumption:
    _known(item, {field.name for field in fields(Resumption)}, "signals.resuming")
    scns = {name: int(item[name]) for name in _SCNS}
    return Resumption(**{**item, **scns, "marks": tuple((partition, offset) for partition, offset in item["marks"])})


def _snapshot_to_json(snapshot: AdHocSnapshot) -> JsonValue:
    return {
        "id": snapshot.id,
        "blocking": snapshot.blocking,
        "collections": list[JsonValue](snapshot.collections),
        "tables": [_table_to_json(table) for table in snapshot.tables],
        "surrogate_key": snapshot.surrogate_key,
        "scn": str(snapshot.scn),
        "reached": snapshot.reached,
        "rows": snapshot.rows,
        "initial": snapshot.initial,
    }


def _table_to_json(table: TableRead) -> JsonValue:
    return {
        "table": table.table,
        "condition": table.condition,
        "order": list[JsonValue](table.order),
        "last": list[JsonValue](table.last),
        "maximum": list[JsonValue](table.maximum),
        "rows": table.rows,
        "chunks": table.chunks,
    }


def signals_from_json(document: Mapping[str, Any]) -> SignalState:
    """The state. Raises ValueError, KeyError, TypeError or AttributeError when it is of another version or form, or has unknown
    members."""
    if document.get("v") != VERSION:
        raise ValueError(f"signals: format version {document.get('v')} is not {VERSION}")
    _known(document, {"v", *(item.name for item in fields(SignalState))}, "signals")
    return SignalState(
        snapshots=tuple(_snapshot_from_json(item) for item in document["snapshots"]),
        paused=document["paused"],
        drops=tuple((signal, xid) for signal, xid in document["drops"]),
        taken=document["taken"],
        resumes=tuple((signal, table) for signal, table in document.get("resumes", ())),
        resuming=tuple(_resumption_from_json(item) for item in document.get("resuming", ())),
        streaming_paused=document.get("streaming_paused", False),
    )


def _snapshot_from_json(item: Mapping[str, Any]) -> AdHocSnapshot:
    _known(item, {field.name for field in fields(AdHocSnapshot)}, "signals.snapshots")
    return AdHocSnapshot(
        id=item["id"],
        blocking=item["blocking"],
        collections=tuple(item["collections"]),
        tables=tuple(_table_from_json(table) for table in item["tables"]),
        surrogate_key=item["surrogate_key"],
        scn=int(item["scn"]),
        reached=item["reached"],
        rows=item.get("rows", 0),
        initial=item.get("initial", False),
    )


def _table_from_json(item: Mapping[str, Any]) -> TableRead:
    _known(item, {field.name for field in fields(TableRead)}, "signals.snapshots.tables")
    parts = {name: tuple(item[name]) for name in ("order", "last", "maximum")}
    return TableRead(
        table=item["table"], condition=item["condition"], rows=item["rows"], chunks=item.get("chunks", 0), **parts
    )


def _known(item: Mapping[str, Any], names: set[str], where: str) -> None:
    if unknown := sorted(set(item) - names):
        raise ValueError(f"{where} has {', '.join(unknown)}, which this version does not know")
