"""Counting the characters of a CLOB that was written piece by piece: LogMiner's offsets of 19c and 23ai are code points."""

from __future__ import annotations

import apsw
import pytest

from minercdc_sandbox.interfaces import LobKind
from minercdc_sandbox.lobs.locator import LobValue
from minercdc_sandbox.lobs.values import LobStore


def test_appends_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = LobStore(apsw.Connection(":memory:"))
    read: list[int] = []
    body = LobStore._body

    def watched(self: LobStore, node: int) -> bytes:
        read.append(node)
        return body(self, node)

    piece, known = "ab\U0001f600" * 500, dict[int, int]()
    value = LobValue(LobKind.CLOB)
    reads = []
    for number in range(1, 201):
        value = store.write(value, value.length, piece)
        monkeypatch.setattr(LobStore, "_body", watched)
        read.clear()
        assert store.low_surrogates(value, value.length, known) == 500 * number
        assert store.low_surrogates(value, value.length - 2000, known) == 500 * (number - 1)
        reads.append(len(read))
        monkeypatch.setattr(LobStore, "_body", body)
    assert max(reads) < 12
    assert store.low_surrogates(value, 3, {}) == 0
    assert store.low_surrogates(value, 4, {}) == 1
