"""Which tables were as they are at an SCN of the past, by the schema history."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minercdc.lake.source.snapshot import was_so
from minercdc.lake.table.history import TableHistory, TableVersion
from minercdc.schema.table import Column, TableId, TableSchema

ID, NAME = Column("ID", "NUMBER", 9, 0), Column("NAME", "VARCHAR2", 20)
NOW = TableSchema(TableId("DB", "S", "T"), (ID, NAME), object_id=7)
KNOWN = TableHistory(NOW.id, "p.S.T", [TableVersion(10, NOW, ()), TableVersion(30, NOW, (), "ALTER ..")], dropped=[40])


@pytest.mark.parametrize(
    ("schema", "scn", "expected"),
    [
        (NOW, 20, True),
        (NOW, 10, False),  # read for that SCN, perhaps later
        (NOW, 9, False),
        (NOW, 45, False),  # it was dropped, and another one is not known yet
        (replace(NOW, object_id=8), 20, False),  # another table had the name
        (replace(NOW, object_id=0), 20, True),
        (replace(NOW, columns=(ID, replace(NAME, nullable=False))), 20, True),
        (replace(NOW, columns=(ID, replace(NAME, name="CALLED"))), 20, False),
        (replace(NOW, columns=(ID, replace(NAME, type_name="CLOB"))), 20, False),
        (replace(NOW, columns=(ID,)), 20, False),
    ],
)
def test_a_table_was_as_it_is_where_the_history_has_it_so(schema: TableSchema, scn: int, expected: bool) -> None:
    assert was_so(schema, KNOWN, scn) is expected
    assert not was_so(schema, None, scn)
