"""The objects that SQLite calls back for rows: the database's views, rows packed into one value, and sequences.

V$LOG, ALL_TABLES, ..      virtual tables of their names, whose rows come from Python
o_pack(..), o_unpack(..)   an aggregate and a table-valued function: rows as one value and back
o_sequence(..)             NEXTVAL and CURRVAL
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from typing import Any, cast

import apsw

from minercdc_sandbox.interfaces import Cell, View
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.runtime import active_run

_CACHED_ROWS = 20_000
_WIDEST = 1001
"""Columns of a packed row: of the widest table, and its version id."""


class _Table:
    """A virtual table as apsw calls it, its two levels, module and table, at once: columns c0, c1, .. and `hidden` ones; any
    query scans all rows."""

    def __init__(self, columns: int, hidden: str = "") -> None:
        self._declaration = f"create table v({','.join(f'c{n}' for n in range(columns))}{hidden})"

    def Connect(self, *_: Any) -> tuple[str, _Table]:
        return self._declaration, self

    Create = Connect

    def BestIndex(self, constraints: Any, _: Any) -> Any:
        return None

    def Disconnect(self) -> None: ...

    Destroy = Disconnect


class _ViewTable(_Table):
    def __init__(self, view: View) -> None:
        super().__init__(len(view.columns))
        self.view = view

    def Open(self) -> _ViewCursor:
        return _ViewCursor(self.view)


class _ViewCursor:
    def __init__(self, view: View) -> None:
        self._view = view
        self._rows: Iterator[tuple[Cell, ...]] = iter(())
        self.row: tuple[Cell, ...] | None = None
        self._number = 0

    def Filter(self, *_: Any) -> None:
        run = active_run()
        run.scanned = self
        kept = run.view_rows.get(self._view.name)
        self._rows = iter(kept) if kept is not None else self._keep(run)
        self._number = 0
        self.Next()

    def _keep(self, run: Run) -> Iterator[tuple[Cell, ...]]:
        """The view's rows, read as they are taken; a view of at most 20,000 rows that restricts none is remembered in the run
        once it is read to its end, because a join reads it again and again."""
        kept: list[tuple[Cell, ...]] | None = [] if self._view.restricted is None else None
        for row in run.view(self._view):
            if kept is not None:
                kept.append(row)
                if len(kept) > _CACHED_ROWS:
                    kept = None
            yield row
        if kept is not None:
            run.view_rows[self._view.name] = kept

    def Next(self) -> None:
        self.row = next(self._rows, None)
        self._number += 1

    def Eof(self) -> bool:
        return self.row is None

    def Column(self, at: int) -> Cell | int:
        assert self.row is not None
        return self._number if at < 0 else self.row[at]

    def Rowid(self) -> int:
        return self._number

    def Close(self) -> None:
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()


def view_tables(views: Mapping[str, View]) -> Mapping[str, object]:
    """Modules of SQLite for views, by name. Connections may share them: only cursors have a state."""
    return {name: _ViewTable(view) for name, view in views.items()}


def register_views(connection: apsw.Connection, modules: Mapping[str, object]) -> None:
    """Create each module of `view_tables` as an eponymous virtual table, and the functions of `register_row_sets`, on a
    connection."""
    register_row_sets(connection)
    for name, module in modules.items():
        connection.create_module(name, cast(Any, module), eponymous=True, eponymous_only=True)


class _RowSet(_Table):
    """The table-valued function o_unpack(packed): rows that o_pack made one value of; none for NULL."""

    def __init__(self) -> None:
        super().__init__(_WIDEST, ",packed hidden")

    def BestIndex(self, constraints: Any, _: Any) -> Any:
        used = [0 if column == _WIDEST and op == apsw.SQLITE_INDEX_CONSTRAINT_EQ else None for column, op in constraints]
        if 0 not in used:
            return None
        first = used.index(0)
        return [(0, True) if n == first else None for n in range(len(used))], 1, None, False, 1.0

    def Open(self) -> _RowSetCursor:
        return _RowSetCursor()


class _RowSetCursor:
    def __init__(self) -> None:
        self._rows: list[tuple[Cell, ...]] = []
        self._at = 0

    def Filter(self, _number: int, _name: str | None, arguments: tuple[Any, ...] | None) -> None:
        packed = arguments[0] if arguments else None
        self._rows = marshal.loads(packed) if packed is not None else []
        self._at = 0

    def Next(self) -> None:
        self._at += 1

    def Eof(self) -> bool:
        return self._at >= len(self._rows)

    def Column(self, at: int) -> Cell | int:
        return self._at if at < 0 else None if at == _WIDEST else self._rows[self._at][at]

    def Rowid(self) -> int:
        return self._at

    def Close(self) -> None: ...


class _Packed:
    """The aggregate o_pack(c0, c1, ..): the rows, in the order SQLite gives them, as one value for o_unpack."""

    def __init__(self) -> None:
        self._rows: list[tuple[Cell, ...]] = []

    def step(self, *row: Cell) -> None:
        self._rows.append(row)

    def final(self) -> bytes:
        return marshal.dumps(self._rows)


def _draw(object_id: int, first: int, following: int) -> bytes:
    """o_sequence: NEXTVAL or CURRVAL as a NUMBER cell. Raises as `DrawnSequences.value`.

    :param first: 1 for the first mention of the sequence in a statement that has NEXTVAL: it draws a number for each row; 0: the number
        that was drawn last.
    :param following: 1 in NEXTVAL, 0 in CURRVAL; not used: it makes the two calls differ.
    """
    run = active_run()
    return number.integer(run.session.sequences.value(object_id, first=bool(first)))


def register_row_sets(connection: apsw.Connection) -> None:
    """Create the functions o_pack, o_unpack and o_sequence on a connection; o_sequence draws for `active_run`."""
    connection.create_module("o_unpack", cast(Any, _RowSet()), eponymous=True, eponymous_only=True)
    connection.create_aggregate_function("o_pack", cast(Any, _Packed), -1)
    connection.create_scalar_function("o_sequence", cast(Any, _draw), 3)
