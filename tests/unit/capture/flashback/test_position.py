"""Positions of windows."""

from __future__ import annotations

import json

import pytest

from minercdc.capture.flashback.position import FlashbackPosition

FIRST = FlashbackPosition(2**60)
WITHIN = FlashbackPosition(2**60, 2**60 + 9, (2**60 + 3, "0a"), {"S.T": 0, "S.U": 2**60 - 1})


@pytest.mark.parametrize("position", [FIRST, WITHIN])
def test_it_comes_back_from_json(position: FlashbackPosition) -> None:
    assert FlashbackPosition.from_json(json.loads(json.dumps(position.to_json()))) == position


def test_what_is_delivered_rises_along_the_windows() -> None:
    later = FlashbackPosition(2**60 + 9)
    assert WITHIN.precedes(later)
    assert FIRST.precedes(WITHIN)
    assert not later.precedes(WITHIN)
    assert not FIRST.precedes(FIRST)
    assert [one.delivered_scn for one in (FIRST, WITHIN, later)] == [2**60 - 1, 2**60 + 3, 2**60 + 8]
