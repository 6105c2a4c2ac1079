"""Parses the text of SQL_REDO as LogMiner prints it. Pure functions; blanks may stand between any two tokens.

    insert into "S"."T"("C",..) values (literal,..)
    update "S"."T" [a] set [a.]"C" = literal, .. [where condition and ..]
    delete from "S"."T" [a] [where condition and ..]
    condition := [a.]"C" = literal | [a.]"C" IS NULL | ROWID = 'AAA..'          each ends with [;]; literals: values.literal

LogMiner fails to double the apostrophes in strings of columns that are declared longer than 4000 bytes (DBZ-8034). Where such a
value ends, only the rest of the statement says: each apostrophe that can be the value's last is tried, the one of a
value with doubled apostrophes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from minercdc.errors import RedoSyntaxError
from minercdc.stream.events import Op
from minercdc.values.literal import NULL, Literal, read_literal

_INSERT = re.compile(r'\s*insert\s+into\s*"([^"]+)"\s*\.\s*"([^"]+)"\s*\(')
_UPDATE = re.compile(r'\s*update\s*"([^"]+)"\s*\.\s*"([^"]+)"\s*(?:a\s+)?set\b')
_DELETE = re.compile(r'\s*delete\s+from\s*"([^"]+)"\s*\.\s*"([^"]+)"(?:\s*a\b)?')
_NAME = re.compile(r'\s*(?:a\s*\.\s*)?"([^"]+)"')
_COMMA = re.compile(r"\s*,")
_VALUES = re.compile(r"\s*\)\s*values\s*\(")
_CLOSE = re.compile(r"\s*\)")
_EQUALS = re.compile(r"\s*=")
_IS_NULL = re.compile(r"\s*IS\s+NULL\b")
_WHERE = re.compile(r"\s*where\b")
_AND = re.compile(r"\s*and\b")
_ROWID = re.compile(r"\s*ROWID\s*=")
_END = re.compile(r"\s*;?\s*\Z")
# What has to follow a value whose apostrophes are not doubled.
_AFTER_VALUE: Final = re.compile(r"\s*,\s*(?:'|NULL\b|Unsupported\b|/\*|[A-Z_]+\s*\()|\s*\)\s*;?\s*\Z")
_AFTER_SET: Final = re.compile(r'\s*,\s*(?:a\s*\.\s*)?"[^"]+"\s*=|\s*where\b|\s*;?\s*\Z')
_AFTER_CONDITION: Final = re.compile(r'\s*and\b\s*(?:ROWID\b|(?:a\s*\.\s*)?"[^"]+"\s*(?:=|IS\b))|\s*;?\s*\Z')
_QUOTES = re.compile(r"'+")


@dataclass(slots=True)
class RedoDml:
    """A parsed statement.

    :param new: what INSERT and SET give, by column.
    :param old: what WHERE says, by column; the ROWID condition is left out.
    """

    op: Op
    owner: str
    table: str
    new: dict[str, Literal] = field(default_factory=dict)
    old: dict[str, Literal] = field(default_factory=dict)


def parse_redo(sql: str, *, unescaped: Collection[str] = ()) -> RedoDml:
    """Parse one statement. Raises RedoSyntaxError.

    :param unescaped: columns whose values may hold apostrophes that are not doubled.
    """
    if match := _INSERT.match(sql):
        names, at = _read_names(sql, match.end())
        new, old = _read(sql, _State("values", 0, at), names, unescaped)
        return RedoDml(Op.CREATE, match[1], match[2], new, old)
    if match := _UPDATE.match(sql):
        return RedoDml(Op.UPDATE, match[1], match[2], *_read(sql, _State("set", 0, match.end()), [], unescaped))
    if match := _DELETE.match(sql):
        begin = _State("begin", 0, match.end())
        return RedoDml(Op.DELETE, match[1], match[2], *_read(sql, begin, [], unescaped))
    raise RedoSyntaxError(f"no INSERT, UPDATE or DELETE: {sql[:40]!r}")


def parse_condition(sql: str, at: int) -> dict[str, Literal]:
    """What the condition that goes from index `at` to the end of `sql` says by column; ROWID is left out. {} for no
    condition. Raises RedoSyntaxError."""
    return _read(sql, _State("begin", 0, at), [], ())[1]


class _State(NamedTuple):
    """How far a statement has been read.

    :param phase: what comes next: `values` (of an INSERT), `set` (an assignment), `begin` (WHERE or the end), `condition`, `end`.
    :param place: index of the value of an INSERT that comes next; 0 in other phases.
    :param at: index in the statement of what comes next.
    """

    phase: str
    place: int
    at: int


class _Read(NamedTuple):
    """A value that was read, in a list linked to those before it: in which phase, and of which column."""

    phase: str
    name: str
    value: Literal
    before: _Read | None


def _read(
    sql: str, begin: _State, names: list[str], unescaped: Collection[str]
) -> tuple[dict[str, Literal], dict[str, Literal]]:
    """What the rest of a statement assigns, and what it requires, each by column. Of several ways to read it the first
    that comes to its end.

    :param names: columns of an INSERT; [] of other statements.
    """
    waiting: list[tuple[_State, _Read | None]] = [(begin, None)]
    seen: set[_State] = set()
    failure: RedoSyntaxError | None = None
    while waiting:
        state, read = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        if state.phase == "end":
            return _by_column(read)
        try:
            steps = list(_steps(sql, state, names, unescaped))
        except RedoSyntaxError as error:
            failure = failure or error
            continue
        for after, name, value in reversed(steps):
            waiting.append((after, read if name is None else _Read(state.phase, name, value, read)))
    raise failure or RedoSyntaxError(f"the statement has no end after character {begin.at + 1}")


def _by_column(read: _Read | None) -> tuple[dict[str, Literal], dict[str, Literal]]:
    reads = []
    while read is not None:
        reads.append(read)
        read = read.before
    new: dict[str, Literal] = {}
    old: dict[str, Literal] = {}
    for one in reversed(reads):
        (old if one.phase == "condition" else new)[one.name] = one.value
    return new, old


def _steps(
    sql: str, state: _State, names: list[str], unescaped: Collection[str]
) -> Iterator[tuple[_State, str | None, Literal]]:
    """The states that may follow, the likeliest first, each with the column and value read on the way; the column is
    None for the ROWID, and where nothing is read."""
    phase, place, at = state
    if phase == "begin":
        found = _WHERE.match(sql, at)
        yield (_State("condition", 0, found.end()) if found else _at_end(sql, at)), None, NULL
    elif phase == "values":
        name = names[place]
        values = _values(sql, at, name in unescaped, _AFTER_VALUE)
        yield from _fitting(name, values, lambda end: _after_value(sql, end, place, len(names)))
    elif phase == "set":
        name, at = _read_name(sql, at)
        values = _values(sql, _expect(_EQUALS, sql, at, "'='"), name in unescaped, _AFTER_SET)
        yield from _fitting(name, values, lambda end: _after_assignment(sql, end))
    else:
        known = _NAME.match(sql, at)
        if known and known[1] in unescaped and (equals := _EQUALS.match(sql, known.end())):
            values = _values(sql, equals.end(), True, _AFTER_CONDITION)
            yield from _fitting(known[1], values, lambda end: _after_condition(sql, end))
        else:
            condition, value, end = _read_condition(sql, at)
            yield _after_condition(sql, end), condition, value


def _fitting(
    name: str, values: Iterator[tuple[Literal, int]], following: Callable[[int], _State]
) -> Iterator[tuple[_State, str, Literal]]:
    """Those of the values after which the statement can go on, each with its column and the state after it.

    :param following: the state from an index on; it raises RedoSyntaxError when the text there does not fit.
    """
    failure: RedoSyntaxError | None = None
    fits = False
    for value, end in values:
        try:
            after = following(end)
        except RedoSyntaxError as error:
            failure = failure or error
            continue
        fits = True
        yield after, name, value
    if failure is not None and not fits:
        raise failure


def _after_assignment(sql: str, at: int) -> _State:
    found = _COMMA.match(sql, at)
    return _State("set", 0, found.end()) if found else _State("begin", 0, at)


def _after_value(sql: str, at: int, place: int, count: int) -> _State:
    if place + 1 < count:
        return _State("values", place + 1, _expect(_COMMA, sql, at, "','"))
    return _at_end(sql, _expect(_CLOSE, sql, at, "')'"))


def _after_condition(sql: str, at: int) -> _State:
    found = _AND.match(sql, at)
    return _State("condition", 0, found.end()) if found else _at_end(sql, at)


def _at_end(sql: str, at: int) -> _State:
    if not _END.match(sql, at):
        raise RedoSyntaxError(f"text after the statement's end at character {at + 1}")
    return _State("end", 0, len(sql))


def _values(sql: str, at: int, unescaped: bool, following: re.Pattern[str]) -> Iterator[tuple[Literal, int]]:
    """The ways to read the value at `at`, each with where it ends. Empty, or RedoSyntaxError, when there is none."""
    try:
        value, end = read_literal(sql, at)
    except RedoSyntaxError:
        if not unescaped:
            raise
        end = -1
    else:
        if not unescaped or following.match(sql, end):
            yield value, end
    start = _after_blanks(sql, at)
    if not unescaped or not sql.startswith("'", start):
        return
    start += 1
    quote = sql.find("'", start)
    while quote >= 0:
        if quote + 1 != end and following.match(sql, quote + 1):
            text = sql[start:quote]
            doubled = all(len(run) % 2 == 0 for run in _QUOTES.findall(text))
            yield Literal("", text.replace("''", "'") if doubled else text), quote + 1
        quote = sql.find("'", quote + 1)


def _after_blanks(sql: str, at: int) -> int:
    while at < len(sql) and sql[at].isspace():
        at += 1
    return at


def _read_names(sql: str, at: int) -> tuple[list[str], int]:
    """The columns of an INSERT, and the index where its values begin."""
    names = []
    while True:
        name, at = _read_name(sql, at)
        names.append(name)
        found = _COMMA.match(sql, at)
        if not found:
            return names, _expect(_VALUES, sql, at, "') values ('")
        at = found.end()


def _read_condition(sql: str, at: int) -> tuple[str | None, Literal, int]:
    """(column, value, where it ends) of one condition; the column is None for the ROWID."""
    if found := _ROWID.match(sql, at):
        value, at = read_literal(sql, found.end())
        return None, value, at
    name, at = _read_name(sql, at)
    if found := _IS_NULL.match(sql, at):
        return name, NULL, found.end()
    value, at = read_literal(sql, _expect(_EQUALS, sql, at, "'='"))
    return name, value, at


def _read_name(sql: str, at: int) -> tuple[str, int]:
    match = _NAME.match(sql, at)
    if not match:
        raise RedoSyntaxError(f"a column name was expected at character {at + 1}")
    return match[1], match.end()


def _expect(pattern: re.Pattern[str], sql: str, at: int, text: str) -> int:
    match = pattern.match(sql, at)
    if not match:
        raise RedoSyntaxError(f"{text} was expected at character {at + 1}")
    return match.end()
