"""How a view is defined: columns as one text, rows as mappings of plain values.

    view("V$X", "NAME V128, CREATED D, DBID N", rows)    N NUMBER, V<n> VARCHAR2, R<n> RAW, D DATE, L LONG

    view("V$Y", "STATUS V8=VALID, CON_ID N=0", rows)     with the value of rows that lack the column

A column that a row lacks is NULL without such a value. Integers become NUMBERs; dates are DATE bytes from `date`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from minercdc_sandbox.interfaces import Cell, ColumnDescription, OraType, Session, View
from minercdc_sandbox.sql import number, temporal
from minercdc_sandbox.view_session import ViewSession, as_view_session

Value: TypeAlias = int | str | bytes | None
Row: TypeAlias = Mapping[str, Value]
_KINDS = {"N": OraType.NUMBER, "V": OraType.VARCHAR2, "R": OraType.RAW, "D": OraType.DATE, "L": OraType.LONG}
_SIZES = {OraType.NUMBER: 22, OraType.DATE: 7, OraType.LONG: 0}


def columns_of(text: str) -> tuple[ColumnDescription, ...]:
    """Column descriptions of a text of columns, as the module shows it."""
    return tuple(column for column, _ in _parsed(text))


def _parsed(text: str) -> Iterator[tuple[ColumnDescription, Cell]]:
    for item in text.split(","):
        described, _, value = item.partition("=")
        name, kind = described.split()
        type_ = _KINDS[kind[0]]
        size = int(kind[1:]) if kind[1:] else _SIZES[type_]
        cell: Cell = number.integer(int(value)) if value and type_ is OraType.NUMBER else value or None
        yield ColumnDescription(name, type_, 0, -127 if type_ is OraType.NUMBER else 0, size), cell


def view(name: str, text: str, rows: Callable[[ViewSession], Iterable[Row]]) -> View:
    """A view whose rows are mappings by column, made again by `rows` for each scan; `text` is as in the module. A scan raises
    KeyError for a row with a column that the view lacks."""
    columns, usual = zip(*_parsed(text), strict=True)
    places = {column.name: at for at, column in enumerate(columns)}

    def cells(session: Session) -> Iterator[tuple[Cell, ...]]:
        for row in rows(as_view_session(session)):
            out = list(usual)
            for key, value in row.items():
                out[places[key]] = number.integer(value) if isinstance(value, int) else value
            yield tuple(out)

    return View(name, columns, cells)


@lru_cache(maxsize=1 << 12)
def date(seconds: float | None) -> bytes | None:
    """DATE of host seconds since the epoch (the host keeps UTC); None for None."""
    if seconds is None:
        return None
    return temporal.encode(temporal.from_ns(int(seconds) * 1_000_000_000), fraction=False)


def yes_no(flag: bool) -> str:
    """YES or NO, as the views show flags."""
    return "YES" if flag else "NO"
