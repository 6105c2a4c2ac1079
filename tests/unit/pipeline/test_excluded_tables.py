"""Which tables were excluded for a time, by the offset."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minercdc.config.load import parse_properties
from minercdc.messages.record_encoder import RecordStages
from minercdc.pipeline.excluded_tables import Again, follow_excluded
from minercdc.pipeline.pipeline_builder import PipelineBuilder
from minercdc.pipeline.process import Instance, ProcessState
from minercdc.schema.table import TableId, TableNames, TableSchema
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.mode import decision_of
from minercdc.stream.offset import Offset, SuspendedTable
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

T, U, DOTTED = TableId("DB", "S", "T"), TableId("DB", "S", "U"), TableId("DB", "A.B", "C")
OFFSET = Offset("logminer", position={}, complete_scn=70)
NAMES = TableNames("DB").of


def follow(offset: Offset, *captured: TableId, known: tuple[TableId, ...] = (T, U)) -> tuple[Offset, list[Again]]:
    return follow_excluded(offset, known, captured.__contains__, NAMES)


def test_a_table_that_is_excluded_is_noted_until_it_is_captured_again() -> None:
    excluded, again = follow(OFFSET, T)
    assert (excluded.excluded, again) == ({"S.U": 70}, [])
    later = replace(excluded, complete_scn=90)
    assert follow(later, T) == (later, []), "with the SCN up to which it was captured"
    assert follow(later, T, U) == (replace(later, excluded={}), [Again(U, "S.U", 70)])
    assert follow(replace(later, excluded={}), T, U)[1] == []


@pytest.mark.parametrize(
    "offset",
    [
        replace(OFFSET, excluded={"S.GONE": 5}),  # dropped meanwhile, or renamed
        replace(OFFSET, excluded={"S.U": 5}, suspended=(SuspendedTable("S.U", 3, "MC-4001", "why"),)),
    ],
)
def test_what_is_gone_or_suspended_anyhow_is_not_captured_again(offset: Offset) -> None:
    assert follow(offset, T, U) == (replace(offset, excluded={}), [])


def test_nothing_is_noted_before_the_initial_snapshot_is_complete() -> None:
    begun = Offset("logminer")
    assert follow(begun, T) == (begun, [])


def test_the_offset_keeps_them() -> None:
    offset = replace(OFFSET, excluded={NAMES(DOTTED): 70})
    assert offset_from_bytes(offset_to_bytes(offset), "here") == offset


def test_an_entry_has_the_table_read_again_by_itself_and_a_warning_names_the_command() -> None:
    entry = Again(U, "S.U", 70).suspended()
    assert (entry.table, entry.since_scn, entry.automatic) == ("S.U", 70, True)
    assert "execute-snapshot --collection DB.S.U " in Again(U, "S.U", 70).warning()


@pytest.mark.parametrize("mode", ["initial", "always"])
@pytest.mark.parametrize("wanted", ["none", "incremental"])
def test_nothing_is_read_again_where_the_start_takes_a_snapshot(
    caplog: pytest.LogCaptureFixture, mode: str, wanted: str
) -> None:
    given = {
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "database.password": "x",
        "database.dbname": "DB",
        "minercdc.kafka.bootstrap.servers": "nowhere:1",
        "snapshot.mode": mode,
        "minercdc.snapshot.added.tables": wanted,
    }
    config = parse_properties(given)
    process = ProcessState(decision_of(config.snapshot), Instance.of(config), RecordStages())
    tables = Tables([TableSchema(T, (), ()), TableSchema(U, (), ())])
    for _ in range(2):  # it fails, and begins again from what is stored
        offset = PipelineBuilder(config, process)._with_excluded(replace(OFFSET, excluded={"S.U": 70}), tables)
        assert offset is not None
        assert offset.excluded == {}
        assert [entry.table for entry in offset.suspended] == (
            ["S.U"] if (mode, wanted) == ("initial", "incremental") else []
        )
        assert bool(caplog.records) == ((mode, wanted) == ("initial", "none"))
        process.checked, process.first_offset = True, offset
