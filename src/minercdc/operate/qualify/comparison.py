"""Compares the events of a case with the rows that its tables had after each step. Pure: nothing is read here.

events      each expected one came, once, in order within its row
before      of an event: what the events before it left of the row
state       after each step: what the events amount to equals the rows of the tables
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Image: TypeAlias = Mapping[str, Any]
IsUnknown: TypeAlias = Callable[[str, object], bool]
"""(Column, value) -> whether the value stands for one that the event does not have."""

_SHOWN = 80  # characters of a value
_LISTED = 5  # of events or rows of one difference


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, as a snapshot would deliver it.

    :param key: the record's key; None for none.
    """

    key: Image | None
    image: Image


@dataclass(frozen=True, slots=True)
class CapturedEvent:
    """An event that was delivered.

    :param op: Debezium's letter.
    :param key: the record's key; None for none.
    """

    op: str
    key: Image | None
    before: Image | None
    after: Image | None

    @property
    def row_id(self) -> str:
        """The ID of the row that it is about; '' for a TRUNCATE."""
        image = self.after if self.after is not None else self.before
        return "" if image is None else str(image.get("ID"))

    @property
    def name(self) -> str:
        """As a `case.Step` names it: `c 1`, `t`."""
        return f"{self.op} {self.row_id}".strip()


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step that was run.

    :param events: that its end delivers.
    :param rows: of the tables after it, by ID; None where it ended no transaction.
    :param clears: rows went without events.
    """

    events: Sequence[str]
    rows: Mapping[str, TableRow] | None
    clears: bool = False


@dataclass(slots=True)
class Seen:
    """What a case did to its tables.

    :param rows: before the capture began, by ID.
    :param large: columns whose values redo holds only where a statement sets them.
    """

    rows: Mapping[str, TableRow] = field(default_factory=dict)
    steps: list[SeenStep] = field(default_factory=list)
    large: frozenset[str] = frozenset()


def differences(seen: Seen, events: Sequence[CapturedEvent], unknown: Collection[str], *, with_snapshot: bool) -> list[str]:
    """How the events of a case differ from what its tables say, a sentence for each; [] for not at all.

    :param unknown: what stands in place of a value that an event does not have; that is right in large columns only.
    :param with_snapshot: the events begin with those of a snapshot; else they follow it.
    """

    def is_unknown(name: str, value: object) -> bool:
        return name in seen.large and isinstance(value, str) and value in unknown

    changes = [event for event in events if event.op != "r"]
    found: list[str] = []
    if with_snapshot:
        found += _of_snapshot(seen.rows, [event for event in events if event.op == "r"])
    state = {row_id: dict(row.image) for row_id, row in seen.rows.items()}
    at = 0
    for number, step in enumerate(seen.steps, 1):
        came = changes[at : at + len(step.events)]
        at += len(step.events)
        if wrong := _of_order(step.events, came):
            return [*found, f"step {number}: {wrong}"]
        where = f"step {number}: "
        for event in came:
            found += [where + one for one in _applied(state, event, is_unknown)]
        if step.rows is not None:
            if step.clears:
                state = {row_id: image for row_id, image in state.items() if row_id in step.rows}
            found += [where + one for one in _of_state(state, step.rows, came)]
    if more := changes[at:]:
        found.append(f"{len(more)} more events came: {_listed(event.name for event in more)}")
    return found


def _of_snapshot(rows: Mapping[str, TableRow], reads: Sequence[CapturedEvent]) -> Iterator[str]:
    ids = [event.row_id for event in reads]
    if sorted(ids) != sorted(rows):
        yield f"the snapshot delivered rows {_listed(ids)}, and the table had {_listed(rows)}"
        return
    for event in reads:
        yield from _unequal(f"snapshot: row {event.row_id}", event.after or {}, rows[event.row_id].image)


def _of_order(expected: Sequence[str], came: Sequence[CapturedEvent]) -> str:
    """What is wrong with the kinds of the events, '' for nothing."""
    wanted, got = _by_row(expected), _by_row(event.name for event in came)
    if wanted == got:
        return ""
    rows = [row for row in (*wanted, *got) if wanted.get(row) != got.get(row)]
    lacking = [f"{op} {row}".strip() for row in dict.fromkeys(rows) for op in wanted.get(row, ())]
    instead = [f"{op} {row}".strip() for row in dict.fromkeys(rows) for op in got.get(row, ())]
    return f"expected {_listed(lacking)}; came {_listed(instead)}"


def _by_row(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        op, _, row = name.partition(" ")
        found[row].append(op)
    return found


def _applied(state: dict[str, dict[str, Any]], event: CapturedEvent, is_unknown: IsUnknown) -> Iterator[str]:
    """Bring the state one event further; yields what contradicts it."""
    if event.op == "t":
        state.clear()
        return
    row_id = event.row_id
    known = state.pop(row_id, None)
    if (event.op == "c") == (known is not None):
        yield f"{event.name}: the row was {'there already' if known is not None else 'not there'}"
    for name, value in (event.before or {}).items():
        if known is not None and name in known and not is_unknown(name, value) and known[name] != value:
            yield f"{event.name}: before {name}: {_short(value)}, and it was {_short(known[name])}"
    if event.after is not None:
        older = known or {}
        state[row_id] = {
            name: older.get(name, value) if is_unknown(name, value) else value for name, value in event.after.items()
        }


def _of_state(state: Mapping[str, Image], rows: Mapping[str, TableRow], came: Sequence[CapturedEvent]) -> Iterator[str]:
    if missing := rows.keys() - state.keys():
        yield f"rows {_listed(missing)} are in the table, and no event made them"
    if gone := state.keys() - rows.keys():
        yield f"rows {_listed(gone)} are not in the table, and no event deleted them"
    changed = {event.row_id: event for event in came}
    for row_id in sorted(state.keys() & rows.keys()):
        row, event = rows[row_id], changed.get(row_id)
        yield from _unequal(f"row {row_id}", state[row_id], row.image, whole=event is not None)
        if event is not None and event.op != "d" and event.key != row.key:
            yield f"row {row_id}: key {_short(event.key)}, and it is {_short(row.key)}"


def _unequal(where: str, image: Image, row: Image, *, whole: bool = True) -> Iterator[str]:
    """The columns in which an image differs from a row.

    :param whole: it has to have the same columns; else those that both have are compared.
    """
    if whole and image.keys() != row.keys():
        yield f"{where}: columns {_listed(image)}, and the table has {_listed(row)}"
    for name, value in row.items():
        if name in image and image[name] != value:
            yield f"{where}: {name}: {_short(image[name])}, and the table has {_short(value)}"


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    shown = ", ".join(found[:_LISTED]) or "none"
    return shown if len(found) <= _LISTED else f"{shown} .. ({len(found)})"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.. ({len(text)} characters)"
