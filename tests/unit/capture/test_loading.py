"""A stored position is loaded by its own adapter, and refused by every other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark
from minercdc.capture.olr.message import Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.position_json import loaded
from minercdc.capture.txlog.position import TxlogPosition
from minercdc.errors import ConfigError
from minercdc.stream.offset import Position

POSITIONS: list[tuple[str, Position, Callable[[Mapping[str, Any]], Position]]] = [
    (
        "LogMiner",
        LogMinerPosition({1: ThreadMark(RedoAddress("0x000001.00000002.0010"), 5)}, 1, 2, 3),
        LogMinerPosition.from_json,
    ),
    ("flashback", FlashbackPosition(5, 9, (7, "ab"), {"S.T": 4}), FlashbackPosition.from_json),
    ("olr", OlrPosition(5, frozenset({"ab"}), 3, Place(4, 1)), OlrPosition.from_json),
    ("fors_olr", ForsPosition(5, frozenset({"ab"}), 3, "cd"), ForsPosition.from_json),
    ("txlog", TxlogPosition(5, 6, 7), TxlogPosition.from_json),
]
NAMES = [name for name, _, _ in POSITIONS]


@pytest.mark.parametrize(("name", "position", "from_json"), POSITIONS, ids=NAMES)
def test_a_position_comes_back(name: str, position: Position, from_json: Callable[..., Position]) -> None:
    assert loaded(from_json, position.to_json(), name) == position


@pytest.mark.parametrize(("name", "_", "from_json"), POSITIONS, ids=NAMES)
def test_the_position_of_another_adapter_is_refused_by_name(
    name: str, _: object, from_json: Callable[..., Position]
) -> None:
    for other, position, _ in POSITIONS:
        if other != name:
            with pytest.raises(ConfigError, match=f"not a position of {name}: .") as refused:
                loaded(from_json, position.to_json(), name)
            assert "database.connection.adapter" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("LogMiner", {"threads": [], "start_scn": "1", "snapshot_scn": "1", "resetlogs": "1"}),
        ("LogMiner", {"threads": {}, "start_scn": "x", "snapshot_scn": "1", "resetlogs": "1"}),
        ("flashback", {"flashback_next": "5", "flashback_done": ["7"]}),
        ("flashback", {"flashback_next": "5", "flashback_demoted": "S.T"}),
        ("olr", {"olr_scn": "5", "olr_begun": "3", "olr_seen": ["4"]}),
        ("olr", {"olr_scn": "5", "olr_begun": "3", "olr_xids": 7}),
        ("fors_olr", {"fors_scn": None, "fors_begun": "3"}),
        ("txlog", {"txlog_since": [5]}),
    ],
)
def test_a_damaged_position_is_a_problem_of_the_configuration(name: str, saved: dict[str, Any]) -> None:
    (from_json,) = (found for adapter, _, found in POSITIONS if adapter == name)
    with pytest.raises(ConfigError, match=f"not a position of {name}: ."):
        loaded(from_json, saved, name)
