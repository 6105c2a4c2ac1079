"""The proof: every Oracle table against its lake table, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import oracledb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs between Oracle and lake; the side that lacks it is None.

    For keys that the lake has twice, `lake` is a row of one text that says how many.
    """

    table: str
    oracle: Row | None
    lake: Row | None

    def __str__(self) -> str:
        return f"{self.table}\n    Oracle: {self.oracle}\n    lake:   {self.lake}"


@dataclass(frozen=True, slots=True)
class OracleTable:
    """The content of a table: key columns first (ROWID without a primary key), and rows in the form that `canonical` gives.

    :param name: `OWNER.TABLE`.
    """

    name: str
    columns: tuple[str, ...]
    key_size: int
    rows: list[Row]


def canonical(value: object) -> object:
    """A value in a form that is equal for the drivers of both sides; raises TypeError unless it is None, text, a number,
    bytes or a datetime."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return value if isinstance(value, float) else Decimal(value)  # equal and hashed by value, to the last digit
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    raise TypeError(f"no canonical form for {type(value).__name__}")


def read_oracle(connection: oracledb.Connection, owner: str) -> Iterator[OracleTable]:
    """All tables of a schema with their rows, in order of name, by plain SELECTs: not the way the connector reads them.

    Needs `oracledb.defaults.fetch_decimals`. Raises oracledb.Error, and TypeError as `canonical`."""
    with connection.cursor() as cursor:
        names = [
            row[0]
            for row in cursor.execute("SELECT table_name FROM all_tables WHERE owner = :1 ORDER BY table_name", [owner])
        ]
        for name in names:
            yield _read_table(cursor, owner, name)


def _read_table(cursor: oracledb.Cursor, owner: str, name: str) -> OracleTable:
    key = [
        row[0]
        for row in cursor.execute(
            "SELECT k.column_name FROM all_cons_columns k JOIN all_constraints c ON c.owner = k.owner AND c.constraint_name = k.constraint_name "
            "WHERE c.owner = :1 AND c.table_name = :2 AND c.constraint_type = 'P' ORDER BY k.position",
            [owner, name],
        )
    ] or ["ROWID"]
    columns = [
        (row[0], row[1], row[2])
        for row in cursor.execute(
            "SELECT column_name, data_type, data_precision FROM all_tab_columns WHERE owner = :1 AND table_name = :2 ORDER BY column_id",
            [owner, name],
        )
    ]
    rest = [column for column, _, _ in columns if column not in key]
    types = {column: kind for column, kind, _ in columns}
    expressions = [_expression(column, types.get(column, "ROWID")) for column in (*key, *rest)]
    cursor.execute(f'SELECT {", ".join(expressions)} FROM "{owner}"."{name}"')
    free = {column for column, kind, precision in columns if kind == "NUMBER" and precision is None}
    rows = [tuple(_driver_value(v, column in free) for v, column in zip(row, (*key, *rest), strict=True)) for row in cursor]
    return OracleTable(f"{owner}.{name}", (*key, *rest), len(key), rows)


def _expression(column: str, kind: str) -> str:
    if column == "ROWID":
        return "ROWID"
    quoted = f'"{column}"'
    if kind.startswith("TIMESTAMP(9)"):  # a client's datetime holds microseconds only
        return f"TO_CHAR({quoted}, 'YYYY-MM-DD HH24:MI:SS.FF9')"
    return quoted


def _driver_value(value: object, free_number: bool) -> object:
    """The value in canonical form; text of a NUMBER without precision as the number."""
    return canonical(Decimal(str(value))) if free_number and value is not None else canonical(value)


def rows_of_lake(frame: DataFrame, table: OracleTable, free_numbers: Sequence[str]) -> list[Row]:
    """Rows of a lake table, with the columns of `table`, in canonical form; the ROWID is in `__cdc`.

    In no certain order. Raises what Spark raises, and TypeError as `canonical`.

    :param free_numbers: columns of NUMBER without precision, which are text in the lake.
    """
    quoted = ["__cdc.row_id" if c == "ROWID" else "`" + c.replace("`", "``") + "`" for c in table.columns]
    found = frame.select(*quoted).collect()
    free = [column in free_numbers for column in table.columns]
    return [tuple(_driver_value(v, f) for v, f in zip(row, free, strict=True)) for row in found]


def free_numbers(connection: oracledb.Connection, owner: str) -> Mapping[str, list[str]]:
    """`OWNER.TABLE` -> its columns of type NUMBER without precision and scale; a table without such columns is left out.
    Raises oracledb.Error."""
    found: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM all_tab_columns WHERE owner = :1 AND data_type = 'NUMBER' AND data_precision IS NULL AND data_scale IS NULL",
            [owner],
        )
        for table, column in cursor:
            found.setdefault(f"{owner}.{table}", []).append(column)
    return found


def differences(table: OracleTable, lake: Sequence[Row]) -> list[Difference]:
    """Rows that differ or are on one side only, matched by key; [] when all is equal. All keys that the lake has twice are one entry."""
    oracle = {row[: table.key_size]: row for row in table.rows}
    there = {row[: table.key_size]: row for row in lake}
    found = [Difference(table.name, row, there.get(key)) for key, row in oracle.items() if there.get(key) != row]
    found += [Difference(table.name, None, row) for key, row in there.items() if key not in oracle]
    if len(lake) != len(there):
        found.append(Difference(table.name, None, (f"{len(lake) - len(there)} keys are in the lake twice",)))
    return found
