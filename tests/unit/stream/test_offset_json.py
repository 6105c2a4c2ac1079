"""Suspended tables in the stored offset."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minercdc.errors import SchemaHistoryError
from minercdc.stream.offset import Offset, Resumption, SignalState, SuspendedTable
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adapter": None}, "the member adapter is null, and has to be a string"),
        ({"position": []}, "the member position is an array, and has to be an object or null"),
        ({"position": ...}, "the member position is missing"),
        ({"v": "1"}, "the member v is a string, and has to be a whole number"),
        ({"history": "x"}, "the member history is a string, and has to be a whole number or null"),
        ({"partial": {"tx_id": "1"}}, "within the member partial, the member commit_scn is missing"),
        ({"signals": {"v": 1}}, "within the member signals, the member snapshots is missing"),
        ({"suspended": 7}, "within the member suspended, a value is of another type than it has to be"),
        ({"suspended": [{"since_scn": "x"}]}, "within the member suspended, invalid literal"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], message: str) -> None:
    stored = {"v": 1, "adapter": "a", "position": {}} | change
    given = {name: value for name, value in stored.items() if value is not ...}
    with pytest.raises(SchemaHistoryError) as caught:
        offset_from_bytes(json.dumps(given).encode(), "here")
    assert f"the offset stored in here cannot be read: {message}" in str(caught.value)
