"""The fast way from SQL_REDO to rows: a statement is split at its apostrophes, and what lies between the literals, its
*glue*, is understood once.

    update "S"."T" set "A" = TO_DATE('  ..  ', '  ..  '), "B" = NULL where "K" = '  ..  ' and "C" IS NULL and "D" = '  ..
    `------------- glue ------------'     `glue'      `----------- glue ---------'       `-------- glue ---------'
    `------------------- assignments ------------------------' `-------------------- picture ----------------------- ..

Assignments are read glue by glue, because hardly two updates of a wide table assign the same columns. What holds a whole row,
a WHERE or the values of an INSERT, is a *picture*: its glues joined are a key, whose value says which piece goes into which
column; it costs one join, one dict look-up and one `itemgetter`.

A statement of any other form (joined literals, a name with an apostrophe, texts with single apostrophes) is left to the
general parser (`RedoDecoder.decode_generally`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

from minercdc.capture.logminer.sql_redo.pieces import split
from minercdc.errors import DecodeError
from minercdc.stream.events import UNAVAILABLE, Op, Row, Value
from minercdc.values.family import Convert, Reading
from minercdc.values.literal import EMPTY_LOBS, UNSUPPORTED

K = TypeVar("K")
V = TypeVar("V")

# Not looked up in the enum for every row: that takes longer than the comparison.
_CREATE, _UPDATE, _DELETE = Op.CREATE, Op.UPDATE, Op.DELETE
_UPDATE_SET = re.compile(r'update "[^"\']+"\."[^"\']+" (?:a )?set ')
_DELETE_FROM = re.compile(r'delete from "[^"\']+"\."[^"\']+"(?: a)?')
_INSERT_INTO = re.compile(r'insert into "[^"\']+"\."[^"\']+"\(("[^"\']+"(?:,"[^"\']+")*)\) values \(')
_NAME = re.compile(r'(?:a\.)?"([^"\']+)"')
# Values of JSON columns come after a hint.
_HINT: Final = r"(?:/\* JSON \*/ )?"
_CALL = re.compile(rf"{_HINT}(?:([A-Z_]+)\()?")
_CONSTANT = re.compile(rf"{_HINT}(?:NULL|([A-Z_]+)\(\)|({UNSUPPORTED}))")
# Between a literal within a call and the format after it.
_BEFORE_FORMAT: Final = ", "
_ENDS: Final = ("", ";")
# Known glues and pictures of a table: bounded, since texts with single apostrophes would make ever new ones.
_MOST_GLUES: Final = 65_536
_MOST_PICTURES: Final = 8192
# What every picture can pick besides pieces: the indexes after them, counted from the end.
_CHOICES: Final[tuple[Value, ...]] = (UNAVAILABLE, None, "")
_INDEX: Final[dict[Value, int]] = {value: i - len(_CHOICES) for i, value in enumerate(_CHOICES)}

# What one statement did to a row: before and after. An UPDATE that assigns none of the known columns has neither.
# A bare tuple: building one is a fifth of a dataclass, and there is one per row.
RowChange: TypeAlias = tuple[Op, Row | None, Row | None]


class _Unknown(Exception):
    """The statement is of a form that is not read here; never escapes from GlueReader."""


@dataclass(slots=True)
class _Glue:
    """What a glue says.

    :param constants: columns whose values stand in the glue itself, as NULL does.
    :param column: of the literal that follows; None when that is not wanted.
    :param convert: from its text to Row text, None where that is the same.
    :param call: the literal is a function's argument, so a parenthesis follows it.
    :param picture: where the assignments end within this glue, the rest of it; None where they do not.
    :param end: nothing follows.
    :param place: in an INSERT, which of its values the literal is; -1 before the first one, and in other statements.
    """

    constants: list[tuple[int, Value]] = field(default_factory=list)
    column: int | None = None
    convert: Convert | None = None
    call: bool = False
    picture: str | None = None
    end: bool = False
    place: int = -1


@dataclass(frozen=True, slots=True)
class _Picture:
    """How the pieces of a WHERE or of an INSERT become a row: convert some in place, then pick."""

    conversions: tuple[tuple[int, Convert], ...]
    pick: Callable[[list[Any]], Row]

    def row(self, pieces: list[Any]) -> Row:
        """The Row whose values are in `pieces`, a statement of this form split at its apostrophes; the list is changed."""
        for i, convert in self.conversions:
            pieces[i] = convert(pieces[i])
        pieces += _CHOICES
        return self.pick(pieces)


@dataclass(slots=True)
class _Layout:
    """The column list of one form of INSERT.

    :param columns: for each listed column its position in the Row; None when it is not captured.
    :param glues: those parsed so far, by the index of the value before the glue (-1 for none), whether that value is a function's
        argument, and the glue's text.
    """

    columns: tuple[int | None, ...]
    glues: dict[tuple[int, bool, str], _Glue] = field(default_factory=dict)


class GlueReader:
    """Reads statements of one table version, faster than the general parser of `text`, to which it leaves what it cannot
    read. It learns the forms of statements as they come.

    :param position: where a column is; None when it is not captured.
    :param readings: of the columns, in their order.
    :param absent: values of the columns that an INSERT does not name: each UNAVAILABLE, None or ''.
    """

    def __init__(self, position: Callable[[str], int | None], readings: Sequence[Reading], absent: Sequence[Value]) -> None:
        self._position = position
        self._readings = readings
        self._absent = absent
        self._begins: dict[str, _Glue] = {}
        # By whether the literal before it stands within a call.
        self._assignments: tuple[dict[str, _Glue], dict[str, _Glue]] = ({}, {})
        self._conditions: tuple[dict[str, _Glue], dict[str, _Glue]] = ({}, {})
        self._layouts: dict[str, _Layout] = {}
        self._pictures: dict[str, _Picture] = {}

    def read(self, sql: str) -> RowChange | None:
        """The change of a row, as of `RedoDecoder.decode`; None when the general parser has to look at the statement. Raises
        nothing."""
        pieces = split(sql)
        if not len(pieces) & 1:  # a text without end
            return None
        try:
            if sql.startswith("insert"):
                key = "'".join(pieces[::2])
                return _CREATE, None, (self._pictures.get(key) or self._learn_values(key, pieces)).row(pieces)
            return self._changed(pieces)
        except (_Unknown, IndexError, DecodeError):
            return None  # the general parser says what is wrong, if anything is

    def read_condition(self, text: str) -> Row | None:
        """What ` where ..` holds of a row, UNAVAILABLE for other columns; None when the general parser has to look at it."""
        pieces = split(text)
        key = "'".join(pieces[::2])
        try:
            picture = self._pictures.get(key) or self._learn_where(key, pieces[0], pieces, 0)
            return picture.row(pieces) if len(pieces) & 1 else None
        except (_Unknown, IndexError, DecodeError):
            return None

    def _changed(self, pieces: list[str]) -> RowChange:
        known = self._assignments
        new: list[tuple[int, Value]] = []
        i = 0
        glue = self._begins.get(pieces[0]) or self._learn_begin(pieces[0])
        while True:
            if glue.constants:
                new += glue.constants
            if glue.picture is not None:
                break
            column = glue.column
            if column is not None:
                convert, text = glue.convert, pieces[i + 1]
                new.append((column, text if convert is None else convert(text)))
            i += 2
            text = pieces[i]
            glue = known[glue.call].get(text) or self._learn_assignment(text, glue.call)
        key = "'".join((glue.picture, *pieces[i + 2 :: 2]))
        picture = self._pictures.get(key) or self._learn_where(key, glue.picture, pieces, i)
        before = picture.row(pieces[i:])
        if pieces[0].startswith("delete"):
            return _DELETE, before, None
        if not new:
            return _UPDATE, None, None
        after = list(before)
        for column, value in new:
            after[column] = value
        return _UPDATE, before, tuple(after)

    # ---- learning ----

    def _learn_begin(self, text: str) -> _Glue:
        glue = _Glue()
        if match := _UPDATE_SET.match(text):
            self._read_assignments(text[match.end() :], glue)
        elif match := _DELETE_FROM.match(text):
            glue.picture = text[match.end() :]
        else:
            raise _Unknown
        return _keep(self._begins, text, glue)

    def _learn_assignment(self, text: str, call: bool) -> _Glue:
        glue, rest = _after_literal(text, call)
        if rest.startswith(", "):
            self._read_assignments(rest[2:], glue)
        elif not glue.call:
            glue.picture = rest
        return _keep(self._assignments[call], text, glue)

    def _read_assignments(self, rest: str, glue: _Glue) -> None:
        """Note in `glue` what `"A" = NULL, "B" = NULL, "C" = FUNCTION(` says, or the text up to WHERE or the end."""
        while True:
            column, rest = self._column(rest, " = ")
            constant = self._constant(column, rest, glue)
            if constant is None:
                self._literal(column, rest, glue)
                break
            rest = rest[len(constant) :]
            if not rest.startswith(", "):
                glue.picture = rest
                break
            rest = rest[2:]

    def _learn_where(self, key: str, head: str, pieces: Sequence[str], at: int) -> _Picture:
        """Learn the picture of a WHERE, under `key`.

        :param head: the part of the glue at `at` that belongs to the picture.
        """
        glue = _Glue()
        self._read_conditions(head, " where ", glue)
        sources = dict.fromkeys(range(len(self._readings)), _INDEX[UNAVAILABLE])
        conversions: list[tuple[int, Convert]] = []
        i = 0
        while not _place(glue, i, sources, conversions):
            i += 2
            text = pieces[at + i]
            glue = self._conditions[glue.call].get(text) or self._learn_condition(text, glue.call)
        return self._keep_picture(key, sources, conversions, complete=at + i == len(pieces) - 1)

    def _learn_condition(self, text: str, call: bool) -> _Glue:
        glue, rest = _after_literal(text, call)
        if not glue.call:
            self._read_conditions(rest, " and ", glue)
        return _keep(self._conditions[call], text, glue)

    def _read_conditions(self, rest: str, before: str, glue: _Glue) -> None:
        """Note in `glue` what `and "A" IS NULL and "B" IS NULL and "C" = FUNCTION(` says, or the text up to the end."""
        while True:
            if rest.rstrip() in _ENDS:
                glue.end = True
                break
            if not rest.startswith(before):
                raise _Unknown
            rest, before = rest[len(before) :], " and "
            if rest == "ROWID = ":
                break
            column, rest = self._column(rest, "")
            if rest.startswith(" IS NULL"):
                rest = rest[len(" IS NULL") :]
                if column is not None:
                    glue.constants.append((column, None))
                continue
            if not rest.startswith(" = "):
                raise _Unknown
            rest = rest[3:]
            constant = self._constant(column, rest, glue)
            if constant is None:
                self._literal(column, rest, glue)
                break
            rest = rest[len(constant) :]

    def _learn_values(self, key: str, pieces: Sequence[str]) -> _Picture:
        layout = self._layouts.get(pieces[0]) or self._learn_layout(pieces[0])
        sources = {i: _INDEX[value] for i, value in enumerate(self._absent)}
        conversions: list[tuple[int, Convert]] = []
        i, glue = 0, self._learn_value(layout, -1, False, pieces[0])
        while not _place(glue, i, sources, conversions):
            i += 2
            where = glue.place, glue.call, pieces[i]
            glue = layout.glues.get(where) or self._learn_value(layout, *where)
        return self._keep_picture(key, sources, conversions, complete=i == len(pieces) - 1)

    def _learn_layout(self, text: str) -> _Layout:
        match = _INSERT_INTO.match(text)
        if match is None:
            raise _Unknown
        layout = _Layout(tuple(self._position(name) for name in match[1][1:-1].split('","')))
        return _keep(self._layouts, text, layout)

    def _learn_value(self, layout: _Layout, place: int, call: bool, text: str) -> _Glue:
        """Learn the text between two literals, such as `),NULL,NULL,FUNCTION(`, or after the last one.

        :param place: of the literal before it; -1 before the first.
        :param call: it stands within a call.
        """
        glue, rest = _after_literal(text, call)
        glue.place = place
        if not glue.call:
            self._read_values(layout, "," + text[text.index(" values (") + 9 :] if place < 0 else rest, glue)
        return _keep(layout.glues, (place, call, text), glue)

    def _read_values(self, layout: _Layout, rest: str, glue: _Glue) -> None:
        while rest.startswith(","):
            glue.place, rest = glue.place + 1, rest[1:]
            if glue.place == len(layout.columns):
                raise _Unknown
            column = layout.columns[glue.place]
            constant = self._constant(column, rest, glue)
            if constant is None:
                self._literal(column, rest, glue)
                break
            rest = rest[len(constant) :]
        else:
            if not rest.startswith(")") or rest[1:].rstrip() not in _ENDS or glue.place != len(layout.columns) - 1:
                raise _Unknown
            glue.end = True

    def _column(self, rest: str, after: str) -> tuple[int | None, str]:
        """Position of the column whose name comes next, None when it is not captured; and the text that follows the name
        and `after`."""
        match = _NAME.match(rest)
        if match is None or not rest.startswith(after, match.end()):
            raise _Unknown
        return self._position(match[1]), rest[match.end() + len(after) :]

    def _constant(self, column: int | None, rest: str, glue: _Glue) -> str | None:
        """The text of the value that stands here without apostrophes, noted in the glue; None if there is none."""
        match = _CONSTANT.match(rest)
        if match is None:
            return None
        if match[1] and match[1] not in EMPTY_LOBS:
            raise _Unknown
        if column is not None:
            reading = self._readings[column]
            if match[1] and match[1] not in reading.literals:
                raise _Unknown
            is_open = match[2] or (match[1] and reading.follows)
            glue.constants.append((column, UNAVAILABLE if is_open else "" if match[1] else None))
        return match[0]

    def _literal(self, column: int | None, rest: str, glue: _Glue) -> None:
        """Note in `glue` how the literal is read that follows `rest`, the text up to its apostrophe."""
        call = _CALL.fullmatch(rest)
        if call is None:
            raise _Unknown
        function = call[1] or ""
        glue.column, glue.call = column, bool(function)
        if column is not None:
            literals = self._readings[column].literals
            if function not in literals:
                raise _Unknown
            glue.convert = literals[function]

    def _keep_picture(
        self, key: str, sources: dict[int, int], conversions: list[tuple[int, Convert]], *, complete: bool
    ) -> _Picture:
        if not complete:
            raise _Unknown
        picture = _Picture(tuple(conversions), _picker(list(sources.values())))
        if len(self._pictures) >= _MOST_PICTURES:
            self._pictures.clear()
        self._pictures[key] = picture
        return picture


def _place(glue: _Glue, i: int, sources: dict[int, int], conversions: list[tuple[int, Convert]]) -> bool:
    """Note in `sources` and `conversions` what the glue, which is piece number `i`, and the text after it say; True at the
    end."""
    for column, value in glue.constants:
        sources[column] = _INDEX[value]
    if glue.column is not None and not glue.end:
        sources[glue.column] = i + 1
        if glue.convert is not None:
            conversions.append((i + 1, glue.convert))
    return glue.end


def _picker(sources: list[int]) -> Callable[[list[Any]], Row]:
    if len(sources) == 1:
        single = itemgetter(sources[0])
        return lambda pieces: (single(pieces),)
    return itemgetter(*sources) if sources else lambda pieces: ()


def _after_literal(text: str, call: bool) -> tuple[_Glue, str]:
    """A new glue for the text after a literal, and what of that is to be read: '' before the format that a call may
    have."""
    if call and text == _BEFORE_FORMAT:
        return _Glue(call=True), ""
    if call and not text.startswith(")"):
        raise _Unknown
    return _Glue(), text[1:] if call else text


def _keep(known: dict[K, V], key: K, learned: V) -> V:
    if len(known) >= _MOST_GLUES:
        known.clear()
    known[key] = learned
    return learned
