"""Reads a statement glue by glue: the text between two literals says what became of the columns in between, and what the
next literal is. What a glue says is learned once, however the statement goes on, so statements of ever new shapes (other
columns set, other columns null) cost no more than others.

    update "S"."T" set "A" = TO_DATE('  ..  ', '  ..  '), "B" = NULL where "K" = '  ..  ' and "C" IS NULL and "D" = '  ..
    `------------- glue ------------'     `glue'      `----------- glue ---------'       `-------- glue ---------'

A glue of any other form (joined literals, `Unsupported Type`, a name with an apostrophe) leaves the statement to the
general parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from minercdc.errors import DecodeError
from minercdc.events import UNAVAILABLE, Op, Row
from minercdc.values.family import Convert, Reading

_UPDATE = re.compile(r'update "[^"\']+"\."[^"\']+" (?:a )?set ')
_DELETE = re.compile(r'delete from "[^"\']+"\."[^"\']+"(?: a)?')
_INSERT = re.compile(r'insert into "[^"\']+"\."[^"\']+"\(("[^"\']+"(?:,"[^"\']+")*)\) values \(')
_NAME = re.compile(r'(?:a\.)?"([^"\']+)"')
_CALL = re.compile(r"(?:([A-Z_]+)\()?")
_FORMAT: Final = ", "
_ENDS: Final = ("", ";")
# Learned glues of a table: bounded against texts that no LogMiner prints.
_MOST: Final = 65_536


class _Unknown(Exception):
    """A glue of another form."""


@dataclass(slots=True)
class _Step:
    """What a glue says.

    :param new_nulls: columns set to NULL; in an INSERT, left NULL.
    :param old_nulls: columns that were null.
    :param column: of the literal that follows; one behind the last column for what is not wanted.
    :param convert: from its text to Row text, None where that is the same.
    :param call: the literal is a function's argument, so a parenthesis follows it.
    :param where: WHERE begins within this glue, or the statement ends.
    :param end: the statement ends.
    :param place: in an INSERT, which of its values the literal is, times two, and one more within a call.
    """

    new_nulls: tuple[int, ...] = ()
    old_nulls: tuple[int, ...] = ()
    column: int = -1
    convert: Convert | None = None
    call: bool = False
    where: bool = False
    end: bool = False
    place: int = 0


@dataclass(slots=True)
class _Layout:
    """The columns of an INSERT in their order, and what glues say at each of its places."""

    columns: tuple[int, ...]
    steps: dict[tuple[int, str], _Step] = field(default_factory=dict)


RowChange: TypeAlias = tuple[Op, Row | None, Row | None]


class GlueReader:
    """Pieces of a statement, split at its apostrophes, to rows.

    :param position: where a column is; None when it is not captured.
    :param readings: of the columns, in their order.
    :param absent: what a column of an INSERT is that the statement does not name.
    """

    def __init__(self, position: Callable[[str], int | None], readings: Sequence[Reading], absent: Sequence[Any]) -> None:
        self._position = position
        self._readings = readings
        self._count = len(readings)
        self._inserted = [*absent, None]
        self._unknown: list[Any] = [*[UNAVAILABLE] * self._count, None]
        self._begin: dict[str, _Step] = {}
        # What follows a literal, and what follows one within a call.
        self._set: tuple[dict[str, _Step], dict[str, _Step]] = ({}, {})
        self._where: tuple[dict[str, _Step], dict[str, _Step]] = ({}, {})
        self._layouts: dict[str, _Layout] = {}

    def read(self, pieces: Sequence[str]) -> RowChange | None:
        """The change of a row; None when the general parser has to look at the statement."""
        try:
            if pieces[0].startswith("insert"):
                return self._insert(pieces)
            return self._change(pieces)
        except (_Unknown, IndexError, DecodeError):
            return None  # the general parser says what is wrong, if anything is

    def _change(self, pieces: Sequence[str]) -> RowChange:
        count, known = self._count, self._set
        new: dict[int, Any] = {}
        old = self._unknown.copy()
        i = 0
        step = self._begin.get(pieces[0]) or self._learn_begin(pieces[0])
        is_update = pieces[0].startswith("update")
        while not step.where:
            for column in step.new_nulls:
                new[column] = None
            convert, text = step.convert, pieces[i + 1]
            new[step.column] = text if convert is None else convert(text)
            i += 2
            glue = pieces[i]
            step = known[step.call].get(glue) or self._learn_set(glue, step.call)
        for column in step.new_nulls:
            new[column] = None
        known = self._where
        while not step.end:
            for column in step.old_nulls:
                old[column] = None
            convert, text = step.convert, pieces[i + 1]
            old[step.column] = text if convert is None else convert(text)
            i += 2
            glue = pieces[i]
            step = known[step.call].get(glue) or self._learn_where(glue, step.call)
        for column in step.old_nulls:
            old[column] = None
        if i != len(pieces) - 1:
            raise _Unknown
        del old[count]
        new.pop(count, None)
        before = tuple(old)
        if not is_update:
            return Op.DELETE, before, None
        if not new:
            return Op.UPDATE, None, None
        for column, value in new.items():
            old[column] = value
        return Op.UPDATE, before, tuple(old)

    def _insert(self, pieces: Sequence[str]) -> RowChange:
        layout = self._layouts.get(pieces[0]) or self._learn_layout(pieces[0])
        row = self._inserted.copy()
        steps = layout.steps
        i, place = 0, -1
        while True:
            glue = pieces[i]
            step = steps.get((place, glue)) or self._learn_value(layout, place, glue)
            for column in step.new_nulls:
                row[column] = None
            if step.end:
                break
            convert, text = step.convert, pieces[i + 1]
            row[step.column] = text if convert is None else convert(text)
            i += 2
            place = step.place
        if i != len(pieces) - 1:
            raise _Unknown
        del row[self._count]
        return Op.CREATE, None, tuple(row)

    # ---- learning ----

    def _learn_begin(self, glue: str) -> _Step:
        step = _Step()
        if match := _UPDATE.match(glue):
            self._read_set(glue[match.end() :], step, first=True)
        elif match := _DELETE.match(glue):
            self._read_where(glue[match.end() :], step)
        else:
            raise _Unknown
        return self._keep(self._begin, glue, step)

    def _learn_set(self, glue: str, call: bool) -> _Step:
        step = _Step(column=self._count, call=call)
        if not (call and glue == _FORMAT):
            step.call = False
            self._read_set(_behind(glue, call), step, first=False)
        return self._keep(self._set[call], glue, step)

    def _learn_where(self, glue: str, call: bool) -> _Step:
        step = _Step(column=self._count, call=call, where=True)
        if not (call and glue == _FORMAT):
            step.call = False
            self._read_conditions(_behind(glue, call), step, " and ")
        return self._keep(self._where[call], glue, step)

    def _read_set(self, rest: str, step: _Step, *, first: bool) -> None:
        """`, "A" = NULL, "B" = NULL, "C" = FUNCTION(`, or up to WHERE or the end."""
        nulls: list[int] = []
        while not rest.startswith(" where ") and rest not in _ENDS:
            if not first:
                if not rest.startswith(", "):
                    raise _Unknown
                rest = rest[2:]
            first = False
            name, rest = _name(rest, " = ")
            if not rest.startswith("NULL"):
                self._literal(name, rest, step)
                step.new_nulls = tuple(nulls)
                return
            rest = rest[4:]
            nulls.append(self._column(name))
        step.new_nulls = tuple(nulls)
        self._read_where(rest, step)

    def _read_where(self, rest: str, step: _Step) -> None:
        step.where = True
        if rest in _ENDS:
            step.end = True
        elif rest.startswith(" where "):
            self._read_conditions(rest, step, " where ")
        else:
            raise _Unknown

    def _read_conditions(self, rest: str, step: _Step, before: str) -> None:
        """`and "A" IS NULL and "B" IS NULL and "C" = FUNCTION(`, or up to the end."""
        nulls: list[int] = []
        while rest not in _ENDS:
            if not rest.startswith(before):
                raise _Unknown
            rest, before = rest[len(before) :], " and "
            if rest == "ROWID = ":
                step.column = self._count
                step.old_nulls = tuple(nulls)
                return
            match = _NAME.match(rest)
            if match is None:
                raise _Unknown
            if not rest.startswith(" IS NULL", match.end()):
                name, rest = _name(rest, " = ")
                self._literal(name, rest, step)
                step.old_nulls = tuple(nulls)
                return
            nulls.append(self._column(match[1]))
            rest = rest[match.end() + 8 :]
        step.old_nulls = tuple(nulls)
        step.end = True

    def _learn_layout(self, glue: str) -> _Layout:
        match = _INSERT.match(glue)
        if match is None:
            raise _Unknown
        layout = _Layout(tuple(self._column(name) for name in match[1][1:-1].split('","')))
        self._layouts[glue] = layout
        return layout

    def _learn_value(self, layout: _Layout, at: int, glue: str) -> _Step:
        """`),NULL,NULL,FUNCTION(`, or up to the end.

        :param at: place of the literal before it, as `_Step.place`; -1 before the first.
        """
        step = _Step(column=self._count, place=at)
        first = at < 0
        call = not first and bool(at & 1)
        if call and glue == _FORMAT:
            return self._keep(layout.steps, (at, glue), step)
        rest = "," + glue[glue.index(" values (") + 9 :] if first else _behind(glue, call)
        nulls: list[int] = []
        place = -1 if first else at >> 1
        while rest.startswith(","):
            place, rest = place + 1, rest[1:]
            if place == len(layout.columns):
                raise _Unknown
            if not (rest.startswith("NULL") and rest[4:5] in (",", ")")):
                self._literal_of(layout.columns[place], rest, step)
                step.place = 2 * place + step.call
                break
            nulls.append(layout.columns[place])
            rest = rest[4:]
        else:
            if not rest.startswith(")") or rest[1:] not in _ENDS or place != len(layout.columns) - 1:
                raise _Unknown
            step.end = True
        step.new_nulls = tuple(nulls)
        return self._keep(layout.steps, (at, glue), step)

    def _literal(self, name: str, rest: str, step: _Step) -> None:
        self._literal_of(self._column(name), rest, step)

    def _literal_of(self, column: int, rest: str, step: _Step) -> None:
        call = _CALL.fullmatch(rest)
        if call is None:
            raise _Unknown
        function = call[1] or ""
        step.column, step.call = column, bool(function)
        if column < self._count:
            literals = self._readings[column].literals
            if function not in literals:
                raise _Unknown
            step.convert = literals[function]

    def _column(self, name: str) -> int:
        position = self._position(name)
        return self._count if position is None else position

    @staticmethod
    def _keep(known: dict[Any, _Step], glue: Any, step: _Step) -> _Step:
        if len(known) >= _MOST:
            known.clear()
        known[glue] = step
        return step


def _behind(glue: str, call: bool) -> str:
    """What follows a literal."""
    if not call:
        return glue
    if not glue.startswith(")"):
        raise _Unknown
    return glue[1:]


def _name(rest: str, behind: str) -> tuple[str, str]:
    """A column's name, and what follows it and `behind`."""
    match = _NAME.match(rest)
    if match is None or not rest.startswith(behind, match.end()):
        raise _Unknown
    return match[1], rest[match.end() + len(behind) :]
