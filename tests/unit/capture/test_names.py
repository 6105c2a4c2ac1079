"""How adapters name a table of which `pipeline.suspension` says that it is suspended. Two tables may share `A.B.C`: `"A"."B.C"` and
`"A.B"."C"`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.capture.olr.context import shapes_of

from minercdc.capture.flashback import demotion
from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.capture.flashback.table_windows import Failure, Judged, Phases
from minercdc.capture.flashback.undo import Stability
from minercdc.capture.fors_olr import shapes as fors
from minercdc.capture.logminer.session.containers import containers_of
from minercdc.schema.table import TableId, TableNames
from minercdc.schema.tables import Tables
from minercdc.stream.events import Notification, SuspensionChange

NAMES = TableNames("PDB")
TWO = [TableId("PDB", "A", "B.C"), TableId("PDB", "A.B", "C")]
CONTEXT: Any = SimpleNamespace(
    tables=Tables(),
    read_table=None,
    unlogged=None,
    object_ids=None,
    mined=None,
    database="PDB",
    pdbs=(),
    containers=(),
    connect_pdb=None,
    time_zone=str,
    config=SimpleNamespace(capture=SimpleNamespace(lob_enabled=False)),
)


@pytest.mark.parametrize("table", TWO, ids=NAMES.of)
def test_adapters_name_tables_as_suspensions_do(table: TableId) -> None:
    only = containers_of(CONTEXT, lambda _: None).only  # type: ignore[arg-type,return-value]
    assert only is not None
    olr = shapes_of()
    for name_of in (only.shapes.name_of, olr.name_of, fors.Shapes(CONTEXT).name_of, demotion.name_of):
        assert name_of(table) == NAMES.of(table)


@pytest.mark.parametrize("change", [demotion.demoted, demotion.read_incrementally, demotion.promoted])
@pytest.mark.parametrize("table", TWO, ids=NAMES.of)
def test_a_table_that_leaves_or_joins_the_windows_is_suspended_by_its_own_name(table: TableId, change: Any) -> None:
    said, notice = change(table, 5, "why", 0) if change is not demotion.promoted else change(table, 5, 0)
    assert isinstance(said, SuspensionChange)
    assert said.suspended is not None
    assert NAMES.table(said.table) == NAMES.table(said.suspended.table) == table
    assert isinstance(notice, Notification)
    assert notice.additional_data["data_collections"] == NAMES.full(NAMES.of(table))


def test_a_table_that_is_not_in_the_windows_takes_no_other_one_with_it() -> None:
    phases = Phases(Tables(), lambda _: True, Stability())
    left = phases.left_out(Judged([], failed={TWO[1]: Failure("DDL")}), FlashbackPosition(5))
    position = FlashbackPosition(9, demoted=left)
    assert {table: demotion.name_of(table) in position.demoted for table in TWO} == {TWO[0]: False, TWO[1]: True}
