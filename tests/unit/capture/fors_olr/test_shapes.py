"""Rows by which the server shows that a table was altered, and rows by which it does not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minercdc.capture.fors_olr.operations import ColumnValue, Head, RowChange
from minercdc.capture.fors_olr.shapes import Shapes
from minercdc.errors import SchemaMismatchError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.stream.events import Op

KNOWN = TableSchema(TableId("PDB", "SHOP", "T"), (Column("ID", "NUMBER"), Column("A", "NUMBER")), object_id=100)
ALTERED = replace(KNOWN, columns=(Column("ID", "NUMBER"), Column("B", "NUMBER")))
NULL = ColumnValue(2, None, None, None, None, False, None)


def refusal(present: TableSchema | None, object_id: int, *names: str) -> str:
    """Why a row that is inserted with these columns is refused; '' when it is not.

    :param present: the table as the dictionary has it now.
    """
    config = SimpleNamespace(
        capture=SimpleNamespace(lob_enabled=False), fors=SimpleNamespace(minercdc_fors_value_encoding="text")
    )
    context: Any = SimpleNamespace(
        tables=Tables([KNOWN]),
        database="PDB",
        config=config,
        connect_pdb=None,
        time_zone=None,
        read_table=lambda _: present,
    )
    row = RowChange(Head(50, 60, "0" * 16, 0), Op.CREATE, object_id, "SHOP", "T", None, None, dict.fromkeys(names, NULL))
    try:
        assert list(Shapes(context).renewed(KNOWN.id, row, 0)) == []
    except SchemaMismatchError as error:
        return error.message
    return ""


@pytest.mark.parametrize("present", [KNOWN, ALTERED, None], ids=["same", "altered since", "dropped since"])
def test_the_object_id_of_a_partition_says_nothing(present: TableSchema | None) -> None:
    assert refusal(present, 501, "ID", "A") == ""


def test_the_object_id_of_a_table_that_was_made_again_is_refused() -> None:
    assert "the object id 300" in refusal(replace(KNOWN, object_id=300), 300, "ID", "A")
    assert "the object id 300" in refusal(replace(ALTERED, object_id=300), 300, "ID", "A")


@pytest.mark.parametrize("object_id", [100, 501])
def test_a_column_that_an_insert_lacks_shows_ddl_only_where_the_dictionary_does(object_id: int) -> None:
    assert refusal(KNOWN, object_id, "ID") == ""
    assert "lacks A" in refusal(ALTERED, object_id, "ID")
    assert "does not have: B" in refusal(ALTERED, object_id, "ID", "A", "B")
