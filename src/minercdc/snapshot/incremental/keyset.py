"""Makes the SQL that reads a table a chunk at a time in order of its key: `WHERE key > last AND key <= maximum ORDER BY key FETCH
FIRST n`.

A key value travels as its Row text and goes back into SQL by the rule of its type, so that it is exactly the one that was
read. Text is ordered binary, whatever the session's language; see `SESSION`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import oracledb

from minercdc import native
from minercdc.errors import UnsupportedRowError
from minercdc.oracle.fetching.binds import BINDS, ROWID
from minercdc.oracle.fetching.columns import arrow_columns, selected
from minercdc.oracle.fetching.rows import RowConverter, selected_columns
from minercdc.schema.table import TableSchema
from minercdc.stream.events import FetchedRow, FetchedRows
from minercdc.values.codec import reading_for

SESSION: Final = "ALTER SESSION SET NLS_SORT = 'BINARY' NLS_COMP = 'BINARY'"


def order_of(schema: TableSchema, surrogate: str = "") -> tuple[str, ...]:
    """Names of the columns to read the table in order of: those of its key; or the surrogate and, unless that is the key, the
    ROWID, since values of the surrogate may repeat; or the ROWID alone, for a table without key too.

    :param surrogate: name of a column, without quotes that of its upper case too; or ROWID; '' for the key.
    :raises UnsupportedRowError: there is no such column, it may be null, or its type has no order we can repeat.
    """
    if surrogate.upper() == ROWID:
        return (ROWID,)
    positions = schema.positions()
    order: tuple[str, ...]
    if surrogate:
        name = surrogate.strip('"') if surrogate.startswith('"') else next(
            (name for name in (surrogate, surrogate.upper()) if name in positions), surrogate
        )  # fmt: skip
        if name not in positions:
            raise UnsupportedRowError(f"surrogate-key: {schema.id} has no column {surrogate}")
        column = schema.columns[positions[name]]
        if column.nullable:
            raise UnsupportedRowError(f"surrogate-key: {schema.id}.{name} may be null: rows would be missed")
        order = (name,) if schema.key == (positions[name],) else (name, ROWID)
    elif schema.key:
        order = tuple(schema.columns[i].name for i in schema.key)
    else:
        return (ROWID,)
    for name in order:
        if name != ROWID and schema.columns[positions[name]].type_name not in BINDS:
            raise UnsupportedRowError(
                f"{schema.id} cannot be read in order of {name}: {schema.columns[positions[name]].type_name} "
                "has no order that can be repeated (surrogate-key ROWID reads it)"
            )
    return order


class Keyset:
    """Makes the statements that read one version of a table, and reads keys from their rows. It keeps no connection; the
    session has executed SESSION.

    :param order: from `order_of`.
    :param condition: predicate that rows have to fulfil, '' for none.
    :param lobs: read large values; else they are UNAVAILABLE.
    :raises ValueDecodeError: a column's type is not supported.
    :ivar rows: converts what is fetched.
    :ivar arrow: how its rows can come as columns; None when they cannot, or the native path is not in use.
    """

    def __init__(self, schema: TableSchema, order: Sequence[str], condition: str = "", *, lobs: bool = False) -> None:
        positions = schema.positions()
        self.schema = schema
        self._order = tuple(order)
        self._places = [None if name == ROWID else positions[name] for name in order]
        self._columns = [None if place is None else schema.columns[place] for place in self._places]
        self._binds = [BINDS[ROWID if column is None else column.type_name] for column in self._columns]
        self._quoted = [ROWID if column is None else f'"{column.name}"' for column in self._columns]
        self._condition = condition
        self._lobs = lobs
        self.rows = RowConverter(schema, lobs=lobs)
        self.arrow = None if native.rows is None else arrow_columns(schema, lobs)

    def statement(
        self, scn: int | None, limit: int, last: Sequence[str], maximum: Sequence[str], *, as_columns: bool = False
    ) -> str:
        """SELECT of the next `limit` rows after key `last`, up to and with key `maximum`, in order; an empty one is no bound.
        For the binds see `binds`.

        :param scn: as of when; None for now.
        :param as_columns: select the expressions of `arrow`, which must not be None.
        """
        expressions = selected_columns(self.schema, ROWID, self._lobs)
        if as_columns:
            assert self.arrow is not None
            expressions = selected(self.arrow)
        where = [*self._after(last, ":l"), *self._up_to(maximum, ":m")]
        if self._condition:
            where.append(self._in_parentheses())
        return (
            f"SELECT {expressions} FROM {self._table(scn)}"
            f"{' WHERE ' + ' AND '.join(where) if where else ''}"
            f" ORDER BY {', '.join(self._quoted)} FETCH FIRST {limit} ROWS ONLY"
        )

    def maximum_statement(self, scn: int | None) -> str:
        """SELECT, without binds, of the ordering columns of the table's last row that fulfils the condition; no row when none
        does.

        :param scn: as of when; None for now.
        """
        where = f" WHERE {self._in_parentheses()}" if self._condition else ""
        return (
            f"SELECT {', '.join(self._selected())} FROM {self._table(scn)}{where}"
            f" ORDER BY {', '.join(f'{name} DESC' for name in self._quoted)} FETCH FIRST 1 ROW ONLY"
        )

    def _in_parentheses(self) -> str:
        return f"({self._condition}\n)"  # a newline ends a comment of the condition

    def _table(self, scn: int | None) -> str:
        name = f'"{self.schema.id.schema}"."{self.schema.id.table}"'
        return name if scn is None else f"{name} AS OF SCN {scn}"

    def _selected(self) -> list[str]:
        return [
            ROWID if column is None else reading_for(column).select(f'"{column.name}"') for column in self._columns
        ]  # fmt: skip

    def binds(self, cursor: oracledb.Cursor, last: Sequence[str], maximum: Sequence[str]) -> dict[str, oracledb.Var]:
        """Bind variables for `statement` with the same `last` and `maximum`, of the columns' own types."""
        found = {}
        for prefix, texts in (("l", last), ("m", maximum)):
            for i, (text, bind) in enumerate(zip(texts, self._binds, strict=bool(texts))):
                variable = cursor.var(bind.kind)
                variable.setvalue(0, bind.convert(text))
                found[f"{prefix}{i}"] = variable
        return found

    def last_of(self, rows: Sequence[FetchedRow]) -> tuple[str, ...]:
        """Row text of the ordering columns of the last row; there is at least one. Raises ValueDecodeError for a value that does
        not fit its type."""
        last = FetchedRows(self.schema, rows[len(rows) - 1 :], self.rows)
        return tuple(
            str(last.row_id(0) if place is None else self.rows.values(last.rows, place)[0]) for place in self._places
        )

    def maximum_of(self, fetched: Sequence[object]) -> tuple[str, ...]:
        """Row text of the ordering columns of the one row that `maximum_statement` fetched. Raises ValueDecodeError as
        `last_of`."""
        return tuple(
            str(value) if column is None else reading_for(column).from_driver(value)
            for value, column in zip(fetched, self._columns, strict=True)
        )

    def _placed(self, prefix: str) -> list[tuple[str, str]]:
        return [
            (name, bind.sql.format(f"{prefix}{i}"))
            for i, (name, bind) in enumerate(zip(self._quoted, self._binds, strict=True))
        ]

    def _after(self, last: Sequence[str], prefix: str) -> list[str]:
        if not last:
            return []
        first, bind = self._placed(prefix)[0]
        bound = [f"{first} >= {bind}"] if len(self._order) > 1 else []  # an index can begin with it
        return [*bound, _compared(self._placed(prefix), ">", ">")]

    def _up_to(self, maximum: Sequence[str], prefix: str) -> list[str]:
        if not maximum:
            return []
        first, bind = self._placed(prefix)[0]
        bound = [f"{first} <= {bind}"] if len(self._order) > 1 else []
        return [*bound, _compared(self._placed(prefix), "<", "<=")]


def _compared(placed: Sequence[tuple[str, str]], sign: str, last_sign: str) -> str:
    """A condition in SQL for (a, b) > (x, y), a comparison that Oracle's SQL does not have: `a > x OR (a = x AND b > y)`.

    :param placed: (column, bind) of each ordering column.
    :param sign: `>` or `<`; `last_sign`, for the last column, may be `<=` too.
    """
    (name, bind), *rest = placed
    if not rest:
        return f"{name} {last_sign} {bind}"
    return f"({name} {sign} {bind} OR ({name} = {bind} AND {_compared(rest, sign, last_sign)}))"


def key_columns(schema: TableSchema, order: Sequence[str]) -> bool:
    """Whether the table has all columns named in `order`; ROWID counts as one that it has."""
    return all(name == ROWID or name in schema.positions() for name in order)
