"""Structures at an SCN, out of a schema history; and whether a connector runs."""

from __future__ import annotations

from pathlib import Path

from minercdc.events import SchemaChange, Scn
from minercdc.offset import Offset
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.state_directory import is_running, running
from minercdc.stored_offset import StoredOffset


def shape(name: str, *columns: str, version: int = 1) -> TableSchema:
    return TableSchema(TableId("DB", "S", name), tuple(Column(one, "NUMBER") for one in columns), version=version)


def change(scn: int, before: TableSchema | None, after: TableSchema | None) -> SchemaChange:
    known = after or before
    assert known is not None
    return SchemaChange(known.id, before, after, "", Scn(scn), 0)


def test_the_structures_of_an_scn_are_those_of_changes_up_to_it() -> None:
    first, second, renamed, other = (
        shape("A", "X"),
        shape("A", "X", "Y", version=2),
        shape("B", "X", "Y"),
        shape("C", "Z"),
    )
    stored = StoredOffset(
        Offset("logminer"),
        "here",
        (
            change(10, None, first),
            change(10, None, other),
            change(20, first, second),
            change(30, second, renamed),
            change(40, other, None),
        ),
    )

    def at(scn: int | None) -> list[TableSchema]:
        return [table.schema for _, table in sorted(stored.tables(scn).items())]

    assert at(9) == []
    assert at(10) == at(19) == [first, other]
    assert at(20) == [second, other]
    assert at(30) == [renamed, other]
    assert at(None) == at(40) == [renamed]


def test_a_connector_runs_until_its_last_process_ends(tmp_path: Path) -> None:
    assert not is_running(tmp_path, "orders/eu")
    with running(tmp_path, "orders/eu"):
        with running(tmp_path, "orders/eu"):
            assert is_running(tmp_path, "orders/eu")
        assert is_running(tmp_path, "orders/eu")
        assert not is_running(tmp_path, "orders")
    assert not is_running(tmp_path, "orders/eu")
