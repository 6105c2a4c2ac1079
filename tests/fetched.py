"""Rows as if a snapshot had fetched them, which are their own texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from minercdc.schema.table import TableSchema
from minercdc.stream.events import FetchedRow, FetchedRows, Row, Value


class PlainTexts:
    """Takes what is fetched as it is."""

    def __init__(self, schema: TableSchema) -> None:
        self.places = tuple((1 + i, -1) for i in range(len(schema.columns)))

    def __call__(self, batch: Sequence[FetchedRow]) -> Iterator[tuple[str, Row]]:
        return ((row[0], row[1:]) for row in batch)

    def values(self, batch: Sequence[FetchedRow], column: int) -> Sequence[Value]:
        return [row[1 + column] for row in batch]


def fetched(schema: TableSchema, rows: Iterable[tuple[str, Row]]) -> FetchedRows:
    """(ROWID, Row) pairs as they are fetched."""
    return FetchedRows(schema, [(row_id, *row) for row_id, row in rows], PlainTexts(schema))
