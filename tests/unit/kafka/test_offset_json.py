"""Suspended tables in the stored offset."""

from __future__ import annotations

import json

import pytest

from minercdc.errors import SchemaHistoryError
from minercdc.kafka.offset_json import offset_from_bytes, offset_to_bytes
from minercdc.offset import Offset, Resumption, SignalState, SuspendedTable

SUSPENDED = SuspendedTable("S.T", 2**60, "MC-4302", "no key", "ALTER TABLE", "0a", automatic=True)
RESUMPTION = Resumption("S.U", "r", 2**60, 2**59, ((0, 12), (1, 0)), "deleting", "", 3, True, 2**61)


def test_they_come_back_as_they_were_and_scns_are_texts() -> None:
    offset = Offset("a", {}, signals=SignalState(resumes=(("r", "S.V"),), resuming=(RESUMPTION,)), suspended=(SUSPENDED,))
    stored = offset_to_bytes(offset)
    assert offset_from_bytes(stored, "here") == offset
    assert str(2**60) in json.loads(stored)["suspended"][0].values()


def test_an_offset_of_before_there_were_any_is_read() -> None:
    stored = {
        "v": 1,
        "adapter": "a",
        "position": {},
        "signals": {"v": 1, "snapshots": [], "paused": True, "drops": [], "taken": {}},
    }
    read = offset_from_bytes(json.dumps(stored).encode(), "here")
    assert read == Offset("a", {}, signals=SignalState(paused=True))


@pytest.mark.parametrize("part", [{"signals": [1]}, {"partial": [1]}, {"snapshot": [1]}, {"suspended": [1]}])
def test_an_offset_of_another_form_is_refused(part: dict[str, list[int]]) -> None:
    stored = {"v": 1, "adapter": "a", "position": {}} | part
    with pytest.raises(SchemaHistoryError, match="stored in here cannot be read"):
        offset_from_bytes(json.dumps(stored).encode(), "here")
