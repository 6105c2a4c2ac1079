"""Rows of tables, as captures and snapshots give them.

A `Row` is a tuple aligned with `TableSchema.columns`. A value is Oracle's own text for it under fixed session settings
(NLS formats `YYYY-MM-DD HH24:MI:SS`, `.FF9`, ` TZH:TZM`, decimal point); it is turned into a typed value once, by the
encoder of the output format. So nothing is decoded that is filtered or rolled back, and a spilled row is plain text. The
texts below are canonical: rows of snapshots have them, and keys of all rows, so that equal keys are equal texts. Other
numbers, times and RAWs in redo keep its spelling (`.5`), which the encoder takes as well.

    NUMBER, FLOAT     '-42.5' '0.5' '12'   plain digits without superfluous zeros
    character types   the text itself; CHAR and NCHAR with their blanks
    DATE              '2026-02-28 13:45:59'  (BC: '-4712-01-01 00:00:00')
    TIMESTAMP         '2026-02-28 13:45:59.123456789' (nine digits)
    RAW               'deadbeef' lower-case hex
    NULL              None
    not in the redo   UNAVAILABLE
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias, cast

from minercdc.schema.table import TableSchema


class Unavailable(Enum):
    """The type of the one marker `UNAVAILABLE`."""

    UNAVAILABLE = "unavailable"


UNAVAILABLE: Final = Unavailable.UNAVAILABLE
Value: TypeAlias = str | None | Unavailable
Row: TypeAlias = tuple[Value, ...]
FetchedRow: TypeAlias = tuple[Any, ...]
"""What a query of a snapshot gives: the ROWID, a value for each column, then for each LOB whether it is null (1 or 0)."""


class ColumnarRows(Protocol):
    """Fetched rows as columns; see `native/fetched.pxi`."""

    def row_id(self, place: int, /) -> str | None:
        """ROWID of the row at a place, from 0, negative ones from the end; None where the query has none."""

    def column(self, place: int, /) -> list[Any]:
        """The values at a place of all rows, as the driver gives them. Raises ValueDecodeError for one that does not fit."""

    @property
    def size(self) -> int:
        """Bytes of the values."""


class RowConversion(Protocol):
    """Makes Rows of what a query of a snapshot gave; see `oracle.fetching.rows.RowConverter`."""

    @property
    def places(self) -> Sequence[tuple[int, int]]:
        """For each column where a fetched row has its value, and where it says whether a LOB is null; -1 where it has none."""

    def __call__(self, batch: Sequence[FetchedRow], /) -> Iterator[tuple[str, Row]]:
        """(ROWID, Row) of each fetched row, of which there is at least one. Raises ValueDecodeError for a value that does not fit its type."""

    def values(self, batch: Sequence[FetchedRow], column: int, /) -> Sequence[Value]:
        """The values of one column, by its position in the table, of rows that are at least one. Raises as the call."""


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """Rows of one table as a query of a snapshot gave them.

    :param rows: a list, or columns that make a row when it is looked at (`native.rows.ArrowRows`), which raises ValueDecodeError
        for a text that is none.
    """

    schema: TableSchema
    rows: Sequence[FetchedRow]
    convert: RowConversion

    def __len__(self) -> int:
        return len(self.rows)

    def row_id(self, place: int) -> str | None:
        """ROWID of a row, by its number from 0, negative ones from the end; None when the rows have none."""
        rows = self.rows
        found: str | None = rows[place][0] if isinstance(rows, list) else cast(ColumnarRows, rows).row_id(place)
        return found

    def row_ids(self) -> list[str | None]:
        """ROWIDs of all rows; None for those without. Raises ValueDecodeError for one that does not fit."""
        rows = self.rows
        return [row[0] for row in rows] if isinstance(rows, list) else cast(ColumnarRows, rows).column(0)

    def size(self, sample: int) -> int:
        """About how many bytes of memory the rows take.

        :param sample: how many of them are looked at.
        """
        rows = self.rows
        if not isinstance(rows, list):
            return cast(ColumnarRows, rows).size
        seen = rows[:sample]
        width = sum(len(value) for row in seen for value in row if isinstance(value, str | bytes)) / max(len(seen), 1)
        return int((width + 50 * len(self.schema.columns)) * len(rows))

    def only(self, rows: Sequence[FetchedRow]) -> FetchedRows:
        """A copy with some of the rows, which are not copied.

        :param rows: taken from `self.rows`.
        """
        return FetchedRows(self.schema, rows, self.convert)
