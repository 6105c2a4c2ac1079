"""How the row is found whose large values are read again."""

from __future__ import annotations

import pytest

from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.reselect import _place_of
from minercdc.stream.events import UNAVAILABLE, Row

COLUMNS = (Column("ID", "NUMBER"), Column("AT", "DATE"), Column("U", "UROWID"), Column("C", "CLOB"))
BY_ROWID = [("ROWID", "ROWID", "AAA")]


@pytest.mark.parametrize(
    ("key", "row", "place"),
    [
        (
            (0, 1),
            ("1", "2024-01-01 00:00:00", "u", None),
            [('"ID"', "NUMBER", "1"), ('"AT"', "DATE", "2024-01-01 00:00:00")],
        ),
        ((0, 1), ("1", UNAVAILABLE, "u", None), BY_ROWID),
        ((0, 2), ("1", None, "u", None), BY_ROWID),
        ((), ("1", None, "u", None), BY_ROWID),
    ],
)
def test_by_its_key_else_by_its_rowid(key: tuple[int, ...], row: Row, place: list[tuple[str, str, str]]) -> None:
    table = TableSchema(TableId("D", "S", "T"), COLUMNS, key)
    assert _place_of(table, row, "AAA") == place
    assert _place_of(table, row, None) == (None if place is BY_ROWID else place)
