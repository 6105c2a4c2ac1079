"""Removes the change that an undo row cancels, if there is one.

An undo row holds the real ROW_ID and, of an UPDATE, the columns that get their old value. Undo is written newest first, so what a
row undoes is the last thing that is left of its row (`undo_history`). A change may be several rows (`undo_update`), and what is set
back may be of a change that has no row here (`undo_doubts`).
"""

from __future__ import annotations

from minercdc.capture.logminer.buffer.undo_by_values import has_row_id, parsed_row, place_by_values
from minercdc.capture.logminer.buffer.undo_doubts import Doubts
from minercdc.capture.logminer.buffer.undo_history import Undoable, Unseen, backwards
from minercdc.capture.logminer.buffer.undo_update import UndoneUpdate
from minercdc.capture.logminer.session.row import LogMinerRow, OpCode


def undo_change(rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> bool:
    """Take out the rows of the change that the undo row `undo` cancels, or put it in doubt. False when it is not there."""
    if not has_row_id(undo) and (undo.code == OpCode.INSERT or unseen.columns == frozenset()):
        place = place_by_values(rows.row_before, undo)
        if place is not None:
            rows.take_out(place)
        return place is not None
    if unseen.strings:
        done = Doubts(rows, undo, unseen).settle()
        if done is not None:
            return done
    large = unseen.columns
    if undo.code == OpCode.UNSUPPORTED:
        places = _of_unsupported(rows, undo, large)
    elif undo.code == OpCode.DELETE:
        places = _of_insert(rows, undo)
    elif undo.code == OpCode.UPDATE:
        places = _of_update(rows, undo, unseen)
    else:
        places = _of_latest(rows, undo, OpCode.DELETE if undo.code == OpCode.INSERT else undo.code)
    for taken, place in enumerate(sorted(places)):
        rows.take_out(place - taken)
    return bool(places)


def _of_latest(rows: Undoable, undo: LogMinerRow, code: int) -> list[int]:
    """The place of the row's latest change, if that is of `code`; else []."""
    for seen in backwards(rows, undo):
        if seen.of == undo.row_id and seen.row.code != OpCode.INTERNAL:
            return [*seen.places] if seen.row.code in (code, OpCode.UNSUPPORTED) else []
    return []


def _of_unsupported(rows: Undoable, undo: LogMinerRow, large: frozenset[str] | None) -> list[int]:
    """The place of what an undo row cancels that LogMiner does not show: the latest change of its row, or one after that which is not
    shown and does not say whose it is; [] for none. A change that is shown may be of several statements where not all changes are
    seen: which of them was undone is not known, so that `undo` is kept as a change that is not shown."""
    for seen in backwards(rows, undo):
        is_shown = seen.row.code != OpCode.UNSUPPORTED
        if not is_shown and seen.of in (None, undo.row_id):
            return [*seen.places]
        if seen.of == undo.row_id and seen.row.code != OpCode.INTERNAL:
            if large == frozenset():
                return [*seen.places]
            if (last := rows.row_before(0)) is not None:
                rows.put_in_place(0, (last, undo._replace(rollback=0)))
            return []
    return []


def _of_insert(rows: Undoable, undo: LogMinerRow) -> list[int]:
    """The places of the latest INSERT of the row, or of one of which is not known whose it is, and of what follows it on this row;
    [] when there is no such INSERT."""
    following: list[int] = []
    for seen in backwards(rows, undo):
        if seen.of not in (None, undo.row_id):
            continue
        if seen.of is not None and seen.row.code == OpCode.DELETE:
            return []
        following += seen.places
        if seen.row.code == OpCode.INSERT or (seen.of is not None and seen.row.code == OpCode.UNSUPPORTED):
            return following
    return []


def _of_update(rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> list[int]:
    """The places of the rows of the UPDATE that is undone, and of later ones of its row, which are undone first: where they set nothing
    but large values, their undo rows may have looked like those of changes that are not seen. [] when they are not there."""
    if unseen.columns and (places := _of_update_before_large(rows, undo, unseen.columns)):
        return places
    later: list[int] = []
    statement = UndoneUpdate(undo, unseen)
    for seen in backwards(rows, undo):
        goes_on = statement.take(seen)
        while not goes_on and statement.is_later:
            later += statement.places
            statement, taken = UndoneUpdate(undo, unseen), seen.places[0] in later
            goes_on = taken or statement.take(seen)
        if not goes_on:
            break
    return [*later, *statement.places]


def _of_update_before_large(rows: Undoable, undo: LogMinerRow, large: frozenset[str]) -> list[int]:
    """The places of the UPDATE that is undone and of later ones of nothing but large values, [] where that is not how it lies. The undo row
    of those may have looked like that of a change which is not seen, as where NULL was set to NULL; but what is later is undone first."""
    parsed = parsed_row(undo)
    if parsed is None or not has_row_id(undo) or parsed.new.keys() <= large:
        return []
    later: list[int] = []
    for seen in backwards(rows, undo):
        if seen.of not in (None, undo.row_id):
            continue
        update = parsed_row(seen.row) if seen.row.code == OpCode.UPDATE and has_row_id(seen.row) else None
        if update is None or seen.of is None:
            return []
        if not (update.new.keys() <= large and update.new.keys().isdisjoint(parsed.new)):
            changed = {name for name, value in update.new.items() if update.old.get(name) != value}
            fits = changed <= parsed.new.keys() <= update.new.keys()
            return [*later, *seen.places] if later and fits else []
        later += seen.places
    return []
