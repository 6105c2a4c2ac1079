"""Settles what is in doubt: whether a string was set back by the undo of a change that is seen, or of one that is not.

Of strings only those are not seen that lie outside the row, so a short value was given by a row that is seen. Set back to one, a row
is of the latest change that is left and gave another value; set back to a long one, it may be of that change, or of a statement after
it. Then the change is in doubt, until an undo row decides: one that sets back to the value that it gave, which keeps it, or to another
short one, or one of an older change. Where none comes the change stays, with `Unsupported Type` in place of the value: whether that
was undone or a longer one followed, it is not what the row has.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final, NamedTuple

from minercdc.capture.logminer.buffer.undo_by_values import has_row_id, parsed_row
from minercdc.capture.logminer.buffer.undo_history import Seen, Undoable, Unseen, backwards
from minercdc.capture.logminer.session.row import LARGE_CODES, LogMinerRow, OpCode
from minercdc.capture.logminer.sql_redo.text import RedoDml, parse_condition
from minercdc.errors import RedoSyntaxError
from minercdc.values.literal import UNSUPPORTED, Literal

_SHORTEST: Final = 3900  # bytes of a string from which on it may lie outside the row


class _Change(NamedTuple):
    """An UPDATE of the row, all of it in one row of redo.

    :param given: the large columns whose values it changed, as it gave them.
    """

    seen: Seen
    statement: LogMinerRow
    given: dict[str, Literal]


class Doubts:
    """Settles the changes of the row of `undo` that are in doubt, by what `undo` says of them, or puts one more in doubt."""

    def __init__(self, rows: Undoable, undo: LogMinerRow, unseen: Unseen) -> None:
        self._rows, self._undo, self._strings = rows, undo, unseen.strings
        parsed = self._parsed(undo) if undo.code == OpCode.UPDATE else None
        self._large = unseen.columns or frozenset()
        self._set_back = parsed.new if parsed is not None else {}
        self._values = self._set_back if self._set_back.keys() <= self._large else {}

    def settle(self) -> bool | None:
        """What `undo_change` returns; None where it is to go on, as of an undo row that cannot be of a statement that is not seen."""
        if not self._values:
            self._take_out([*takewhile(self._is_undone, self._history(certain=True))])
            return None
        while (newest := next(self._history(), None)) is not None:
            if self._is_contradicted(newest):
                self._take_out([newest])
                continue
            changes = self._changes()
            if not changes:
                break
            latest = changes[0]
            if self._is_kept(latest):
                if self._changed_nothing(latest):  # without it the row is the same, undone or not
                    self._take_out(self._down_to(latest))
                    return True
                for change in reversed(changes):
                    self._keep(change)
                return False
            if not any(self._is_short(name) for name in latest.given):
                return self._doubt(changes)
            self._take_out(self._down_to(latest))
            if latest.seen.doubted is not None:
                continue  # an undo row before this one was its
            return True
        return None

    def _is_undone(self, seen: Seen) -> bool:
        """Whether a change is undone because an older one is: `undo` cannot be of it. It had set a string to the value that it had before,
        so that its own undo row did not say so; or it was in doubt."""
        if seen.doubted is not None:
            return True
        if not self._set_back or seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return False
        parsed = self._parsed(seen.row)
        return parsed is not None and parsed.new.keys() <= self._large and not parsed.new.keys() <= self._set_back.keys()

    def _is_contradicted(self, seen: Seen) -> bool:
        """Whether a change is undone because a string is set back to a short value that it did not give, though `undo` is not of it, which
        sets more back: its own undo row did not say so, as in `_is_undone`."""
        if seen.doubted is not None or seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return False
        parsed = self._parsed(seen.row)
        if parsed is None or not parsed.new.keys() <= self._large or parsed.new.keys() <= self._values.keys():
            return False
        return any(
            self._is_short(name) and self._values[name] != parsed.new[name]
            for name in parsed.new.keys() & self._values.keys()
        )

    def _history(self, *, certain: bool = False) -> Iterator[Seen]:
        """What is known to be of the row, newest first.

        :param certain: only down to an UPDATE that may be of the row, and so may be what is undone.
        """
        for seen in backwards(self._rows, self._undo):
            if certain and seen.of is None and seen.row.code == OpCode.UPDATE:
                return
            if seen.of == self._undo.row_id:
                yield seen

    def _down_to(self, change: _Change) -> list[Seen]:
        """What is known to be of the row, from the newest to this change."""
        return [*takewhile(lambda seen: seen.places <= change.seen.places, self._history())]

    def _change(self, seen: Seen) -> _Change | None:
        """A change that may be what is undone, of a string at least; None for any other."""
        if seen.row.code != OpCode.UPDATE or not has_row_id(seen.row):
            return None
        statement = seen.doubted or seen.row
        parsed = self._parsed(statement)
        if parsed is None:
            return None
        given = {name: value for name, value in parsed.new.items() if parsed.old.get(name) != value}
        fits = given.keys() <= self._values.keys() and given.keys() & self._strings.keys()
        return _Change(seen, statement, given) if fits else None

    def _changes(self) -> list[_Change]:
        """Those at the end of the row's history, newest first. Between them may be some in doubt that set other columns."""
        found = []
        for seen in self._history():
            change = self._change(seen)
            if change is not None:
                found.append(change)
            elif seen.doubted is None:
                break
        return found

    def _is_kept(self, change: _Change) -> bool:
        return all(self._values[name] == value for name, value in change.given.items())

    def _changed_nothing(self, change: _Change) -> bool:
        """Whether the changes before this one had given the same values."""
        left = dict(change.given)
        for seen in self._history():
            if seen.places <= change.seen.places or seen.row.code in (OpCode.INTERNAL, *LARGE_CODES):
                continue
            parsed = self._parsed(seen.doubted or seen.row)
            if parsed is None or any(left[name] != parsed.new[name] for name in left.keys() & parsed.new.keys()):
                return False
            left = {name: value for name, value in left.items() if name not in parsed.new}
            if not left:
                return True
        return False

    def _is_short(self, name: str) -> bool:
        """Whether a string was set back to one that lies in the row."""
        kind, text = self._strings.get(name), self._values[name].text or ""
        if kind == "RAW":
            return len(text) // 2 < _SHORTEST
        size = 2 if kind == "NVARCHAR2" else 1
        return kind is not None and sum(size if char.isascii() else 4 for char in text) < _SHORTEST

    def _doubt(self, changes: list[_Change]) -> bool:
        """Put the latest of these in doubt that is not; where `undo` sets back to what it gave, those after it are undone."""
        change = next((one for one in changes if one.seen.doubted is None), None)
        if change is None:
            return False
        if self._is_kept(change):
            self._take_out(self._down_to(change)[:-1])
            return True
        hidden = change.statement._replace(code=int(OpCode.INTERNAL), rollback=1)
        shown = change.statement._replace(sql=self._without_values(change))
        self._rows.put_in_place(change.seen.places[0], (shown, hidden))
        return True

    def _keep(self, change: _Change) -> None:
        if change.seen.doubted is not None:
            newer, older = change.seen.places
            self._rows.take_out(newer)
            self._rows.put_in_place(older - 1, (change.statement._replace(code=int(OpCode.UPDATE), rollback=0),))

    def _without_values(self, change: _Change) -> str | None:
        """The statement, with no value for what it changes."""
        sql = (change.statement.sql or "").rstrip("; ")
        parsed = self._parsed(change.statement)
        condition = _condition(sql, parsed) if parsed is not None else None
        if parsed is None or condition is None:
            return change.statement.sql
        sets = ", ".join(f'"{name}" = {UNSUPPORTED}' for name in change.given)
        return f'update "{parsed.owner}"."{parsed.table}" set {sets}{condition}'

    def _take_out(self, some: list[Seen]) -> None:
        for place in sorted((place for seen in some for place in seen.places), reverse=True):
            self._rows.take_out(place)

    def _parsed(self, row: LogMinerRow) -> RedoDml | None:
        return parsed_row(row) or parsed_row(row, self._strings)


def _condition(sql: str, parsed: RedoDml) -> str | None:
    """The WHERE of a statement, '' for none, None when it is not found: the last one that says what was read of it."""
    at = len(sql)
    while (at := sql.rfind(" where ", 0, at)) >= 0:
        try:
            if parse_condition(sql, at) == parsed.old:
                return sql[at:]
        except RedoSyntaxError:
            continue
    return None if parsed.old else ""
