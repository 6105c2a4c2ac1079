"""Conditions on the rows of a view as Python functions, by which a query that only picks rows of one view needs no SQLite.

    ((t1.c16 in (x'c102',x'c104')) and (t1.c61=?1))    ->    row[16] in k0 and row[61] == k1

The text is the translated one, in which types are converted already. Only comparisons of columns with constants, [NOT] IN,
IS [NOT] NULL, AND and OR are read; for any other text there is no test. As no NOT of a condition is read, unknown counts as false.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from minercdc_sandbox.interfaces import Cell, ColumnDescription, OraType, RowTest

_TOKEN = re.compile(
    r"\s*(?:t1\.c(?P<column>\d+)\b|\?(?P<bind>\d+)|x'(?P<hex>(?:[0-9a-f]{2})*)'|'(?P<text>(?:[^']|'')*)'"
    r"|(?P<word>not in|in|is null|is not null|and|or)\b|(?P<sign><=|>=|<>|[=<>(),]))"
)
_SIGNS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TEXTS = frozenset((OraType.VARCHAR2, OraType.CHAR))
_BYTES = frozenset((OraType.NUMBER, OraType.DATE, OraType.RAW))
_EVERYTHING = RowTest(frozenset(), lambda _: True)


class _NoTest(Exception):
    """The text has something that is not read here: `row_test` then returns None."""


def row_test(condition: str | None, columns: Sequence[ColumnDescription], parameter: Callable[[int], Any]) -> RowTest | None:
    """The test of a condition on the view whose alias is t1; None for a condition that is not read here.

    :param condition: SQLite's text of WHERE; None for no condition, which is true for all rows.
    :param columns: of the view, by position.
    :param parameter: the value of the parameter with that number, from 1; it may raise.
    """
    if condition is None:
        return _EVERYTHING
    try:
        return _Reader(condition, columns, parameter).test()
    except _NoTest:
        return None


class _Reader:
    """Reads one condition from left to right and makes a Python expression of it; `test` may be called once. Raises _NoTest for
    what is not read here."""

    def __init__(self, text: str, columns: Sequence[ColumnDescription], parameter: Callable[[int], Any]) -> None:
        self._columns, self._parameter = columns, parameter
        self._tokens = list(_tokens(text))
        self._at = 0
        self._read: set[int] = set()
        self._constants: dict[str, object] = {}

    def test(self) -> RowTest:
        source = self._any()
        if self._at != len(self._tokens):
            raise _NoTest
        # The source is made of what is matched here: column numbers, operators and names of constants.
        holds: Callable[[Sequence[Cell]], bool] = eval(_code(source), self._constants)
        return RowTest(frozenset(self._read), holds)

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _takes(self, kind: str, text: str) -> bool:
        found = self._peek() == (kind, text)
        self._at += found
        return found

    def _expect(self, text: str) -> None:
        if not self._takes("sign", text):
            raise _NoTest

    def _any(self) -> str:
        terms = [self._all()]
        while self._takes("word", "or"):
            terms.append(self._all())
        return f"({' or '.join(terms)})"

    def _all(self) -> str:
        terms = [self._term()]
        while self._takes("word", "and"):
            terms.append(self._term())
        return f"({' and '.join(terms)})"

    def _term(self) -> str:
        """Read `(condition)`, or a test of a column, which may be in parentheses itself: `(t1.c18) is null`. Returns a Python
        expression."""
        begun = self._at
        if self._takes("sign", "("):
            if self._peek()[0] == "column" and self._tokens[self._at + 1 : self._at + 2] == [("sign", ")")]:
                self._at = begun
                return self._column_test()
            inner = self._any()
            self._expect(")")
            return inner
        return self._column_test()

    def _column_test(self) -> str:
        wrapped = self._takes("sign", "(")
        kind, text = self._next()
        if kind != "column":
            raise _NoTest
        if wrapped:
            self._expect(")")
        at = int(text)
        self._read.add(at)
        cell = f"row[{at}]"
        kind, text = self._next()
        if (kind, text) in (("word", "is null"), ("word", "is not null")):
            return f"{cell} {'is' if text == 'is null' else 'is not'} None"
        if (kind, text) in (("word", "in"), ("word", "not in")):
            return self._in_list(at, cell, text)
        if kind != "sign" or text not in _SIGNS:
            raise _NoTest
        value = self._constant(at)
        if value is None:
            return "False"
        return f"({cell} is not None and {cell} {_SIGNS[text]} {self._named(value)})"

    def _in_list(self, at: int, cell: str, word: str) -> str:
        self._expect("(")
        values = [self._constant(at)]
        while self._takes("sign", ","):
            values.append(self._constant(at))
        self._expect(")")
        if word == "not in":
            if None in values:
                return "False"
            return f"({cell} is not None and {cell} not in {self._named(frozenset(values))})"
        return f"{cell} in {self._named(frozenset(values) - {None})}"

    def _constant(self, at: int) -> Cell:
        """The next token's value, which must be NULL or of the own kind of the column at `at`, else _NoTest: SQLite orders texts below
        bytes, Python nothing."""
        kind, text = self._next()
        value: Any
        if kind == "bind":
            value = self._parameter(int(text))
        elif kind == "hex":
            value = bytes.fromhex(text)
        elif kind == "text":
            value = text.replace("''", "'")
        else:
            raise _NoTest
        column = self._columns[at].type
        fits = (
            value is None or (isinstance(value, str) and column in _TEXTS) or (isinstance(value, bytes) and column in _BYTES)
        )
        if not fits:
            raise _NoTest
        cell: Cell = value
        return cell

    def _named(self, value: object) -> str:
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name


@lru_cache(maxsize=256)
def _code(source: str) -> CodeType:
    return compile(f"lambda row: {source}", "<row test>", "eval")


def _tokens(text: str) -> Sequence[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _NoTest
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found
