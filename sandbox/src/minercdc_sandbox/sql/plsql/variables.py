"""Variables of a block: each scalar has one place in the block's row of cells, a record one for each field.

binds of the client | variables, fields, places the compiler needs for itself
0 .. clients-1      | clients ..
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import BindType, ColumnDescription, OraType, Result
from minercdc_sandbox.tables import Column


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A type whose values are single cells.

    :ivar column: the type, as of a column.
    :ivar not_null: NULL does not fit.
    :ivar small: values are in the range of PLS_INTEGER.
    """

    column: Column
    not_null: bool = False
    small: bool = False

    def bind(self) -> BindType:
        """The type that a value of it is bound as, in at most 32767 bytes."""
        return BindType(self.column.type, min(self.column.size, 32767), self.column.national)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """%ROWTYPE and TYPE .. IS RECORD: names and types of the fields, all scalars, in order."""

    fields: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """TYPE .. IS TABLE OF, VARRAY; the cell of a variable is a dict of elements by key, or None when it is atomically null.

    :ivar indexed: INDEX BY an integer type or, with `text`, VARCHAR2.
    :ivar limit: of a VARRAY; None for any number of elements.
    """

    element: Scalar | Record
    indexed: bool
    text: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RefCursor:
    """SYS_REFCURSOR and TYPE .. IS REF CURSOR, and the type of explicit cursors' places; the cell is an `OpenCursor` or None."""


Type: TypeAlias = Scalar | Record | Collection | RefCursor


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable or parameter; `slot` is the first of its places in the row of cells. A `constant` cannot be assigned by the
    block's text."""

    name: str
    type: Type
    slot: int
    constant: bool = False

    @property
    def width(self) -> int:
        """How many places it has, one after another: one for each field of a record, else 1."""
        return len(self.type.fields) if isinstance(self.type, Record) else 1


@dataclass(slots=True)
class OpenCursor:
    """A cursor that OPEN, a loop or the client opened: the query and what its attributes show. Who removes it from the frame
    closes `result.rows`.

    :ivar fetched: %ROWCOUNT.
    :ivar found: %FOUND; None before the first fetch.
    :ivar marked: each row ends with its ROWID, see `current_rows`.
    :ivar row_id: of a marked cursor, ROWID of the row fetched last; None before the first one and when the last fetch found none.
    """

    result: Result
    fetched: int = 0
    found: bool | None = None
    marked: bool = False
    row_id: str | None = None

    def fetch(self, count: int) -> list[tuple[Any, ...]]:
        """At most `count` next rows, without the ROWID of a marked cursor; [] after the last. Sets `row_id` only. Raises as
        `Rows.fetch`."""
        assert self.result.rows is not None
        rows = self.result.rows.fetch(count)
        if not self.marked:
            return rows
        self.row_id = str(rows[-1][-1]) if rows else None
        return [row[:-1] for row in rows]

    def columns(self) -> tuple[ColumnDescription, ...]:
        """The columns of the rows that `fetch` returns, without the ROWID of a marked cursor."""
        columns = self.result.columns or ()
        return columns[:-1] if self.marked else columns


class Slots:
    """The types of the places of the row of cells, to which compiling adds places.

    :ivar types: as binds, by place; CURSOR also for a collection.
    :ivar scalars: by place; None for binds of the client, cursors and collections.
    :ivar clients: how many binds the client has given; they have the first places.
    """

    def __init__(self, clients: list[BindType]) -> None:
        self.types = list(clients)
        self.scalars: list[Scalar | None] = [None] * len(clients)
        self.clients = len(clients)

    def take(self, type_: Type) -> int:
        """Add places for a value of a type, for a record one for each field; returns the first one."""
        at = len(self.types)
        for one in [scalar for _, scalar in type_.fields] if isinstance(type_, Record) else [type_]:
            scalar = one if isinstance(one, Scalar) else None
            self.types.append(BindType(OraType.CURSOR) if scalar is None else scalar.bind())
            self.scalars.append(scalar)
        return at


TEXT = Scalar(Column("TEXT", OraType.VARCHAR2, size=32767, char_length=32767))
NUMBER = Scalar(Column("NUMBER", OraType.NUMBER, 0, -127, 22))
BOOLEAN = Scalar(Column("BOOLEAN", OraType.BOOLEAN, size=1))
INTEGER = Scalar(Column("INTEGER", OraType.NUMBER, 0, 0, 22), small=True)
