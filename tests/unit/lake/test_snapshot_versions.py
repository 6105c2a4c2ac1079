"""The version of a change whose transaction was open at a snapshot that found another structure: DDL that was done by then had waited for it."""

from __future__ import annotations

import json

import pytest
from tests.unit.lake.test_pending import arrival

from minercdc.config.load import parse_properties
from minercdc.lake.merge.pending import pending
from minercdc.lake.read.row_decoder import ChangeRows
from minercdc.lake.table.format import Applied
from minercdc.lake.table.history import Field, TableHistory, TableVersion
from minercdc.schema.table import Column, TableId, TableSchema

TABLE = TableId("D", "S", "T")
CONFIG = parse_properties(
    {
        "name": "n",
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "database.password": "p",
        "database.dbname": "D",
        "minercdc.kafka.bootstrap.servers": "k",
    }
)


def version(since: int, name: str, ddl: str = "", number: str = "") -> TableVersion:
    column = Column(name, "NUMBER", 9, 0, nullable=False)
    return TableVersion(since, TableSchema(TABLE, (column,), key=(0,)), (Field(number or f"{name}@{since}", column),), ddl)


def history() -> TableHistory:
    """Made with OLD, then again with NEW, which a snapshot at 50 found; renamed to LAST by DDL, and read by another snapshot."""
    ddl = "ALTER TABLE T RENAME COLUMN NEW TO LAST"
    versions = [version(10, "OLD"), version(50, "NEW"), version(70, "LAST", ddl, "NEW@50")]
    return TableHistory(TABLE, "p.S.T", versions, reads=[10, 50], snapshots=[80])


@pytest.mark.parametrize(
    ("scn", "commit_scn", "expected"),
    [
        (5, 9, 0),
        (40, 45, 0),  # committed before the snapshot
        (40, 50, 1),
        (40, 60, 1),
        (40, 90, 1),  # DDL, which may not wait for it, counts by the change itself
        (60, 90, 1),
        (70, 70, 2),
    ],
)
def test_a_change_is_of_the_structure_that_a_snapshot_before_its_commit_found(
    scn: int, commit_scn: int, expected: int
) -> None:
    found = history()
    assert found.index_of(scn, commit_scn) == expected
    holds = [
        eval(found.condition(i).replace("OR", "or"), {"scn": scn, "commit_scn": commit_scn})
        for i in range(1, len(found.versions))
    ]
    assert max((i for i, one in enumerate(holds, 1) if one), default=0) == expected


def test_the_structure_that_is_found_without_a_snapshot_counts_from_its_scn() -> None:
    found = TableHistory(TABLE, "p.S.T", [version(10, "OLD"), version(50, "NEW")])
    assert found.index_of(40, 60) == 0
    assert found.condition(1) == "scn >= 50"


@pytest.mark.parametrize(("goal", "scns"), [(49, (40, 45)), (60, (40, 50)), (90, (40, 50))])
def test_pending_changes_are_of_all_versions_that_they_may_be_of(goal: int, scns: tuple[int, int]) -> None:
    one = arrival(1, 40, 45)
    assert pending(history(), [one], Applied(20, 0), Applied(goal, 1), truncate=True).scns[1] == scns[1]


def test_a_row_has_the_values_of_its_version() -> None:
    source = {"scn": "40", "commit_scn": "60", "ts_ms": 1}
    value = json.dumps({"before": None, "after": {"NEW": 8}, "source": source, "op": "c"}).encode()
    row = ChangeRows(history(), CONFIG).row(b'{"NEW": 8}', value)
    assert (row["after"], row["key"]) == ({"LAST": 8}, {"LAST": 8})
