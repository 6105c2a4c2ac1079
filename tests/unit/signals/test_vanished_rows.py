"""Where the topic of a table that is read again cannot show which rows left it, none is taken for one that did."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.messages.test_envelope import NEEDED
from tests.unit.signals.model import TABLE
from tests.unit.signals.test_resuming import Memory

from minercdc.capture.registry import adapter_factory
from minercdc.capture.table_selection import table_filters, table_names
from minercdc.config.load import parse_properties
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.tables import Tables
from minercdc.signals.stage_builder import CapturedTables, resumptions_of
from minercdc.stream.events import Notification
from minercdc.stream.offset import Resumption, SignalState

READ = SignalState(resuming=(Resumption("S.T", "r", 9, 9, phase="deleting"),))


@pytest.mark.parametrize(
    ("properties", "note"),
    [
        ({}, None),
        ({"event.processing.failure.handling.mode": "fail"}, None),
        ({"skipped.operations": "u,t"}, "skipped.operations leaves u out"),
        # A row that has no record any more is alive in the topic, and was not written since.
        ({"event.processing.failure.handling.mode": "warn"}, "event.processing.failure.handling.mode=warn leaves rows out"),
        ({"event.processing.failure.handling.mode": "skip"}, "event.processing.failure.handling.mode=skip leaves rows out"),
    ],
    ids=lambda given: "-".join(given.values()) if isinstance(given, dict) else "",
)
def test_deletes_are_looked_for_where_each_row_has_its_record(properties: dict[str, str], note: str | None) -> None:
    config, memory = parse_properties({**NEEDED, **properties}), Memory()
    factory = adapter_factory(config.database.database_connection_adapter)
    captured = CapturedTables(Tables([replace(TABLE, id=table_names(config).table("S.T"))]), table_filters(config))
    resumptions = resumptions_of(config, Suspensions(), captured, memory, factory.prerequisites)
    notes = [
        event.additional_data.get("note", "")
        for step, _ in resumptions.step(READ, 50, 60, 0)
        for event in step
        if isinstance(event, Notification) and event.type == "RESUMED"
    ]
    assert memory.begun == ([] if note else ["S.T"])
    assert [one[: len(note or "")] for one in notes] == ([note] if note else [])
