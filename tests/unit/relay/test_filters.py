"""Filters by key."""

from __future__ import annotations

import json

import pytest

from minercdc.errors import RelayError
from minercdc.relay.events.filters import java_hash, key_filters


def mod(buckets: int, *ranges: tuple[int, int]) -> str:
    parts = [{"numBuckets": buckets, "bktRange": {"start": start, "end": end}} for start, end in ranges]
    return json.dumps({"101": {"partitionType": "MOD", "filters": parts}})


def test_mod_of_numbers_and_of_texts() -> None:
    passes = key_filters(mod(10, (0, 2), (9, 10)))[101]
    assert [key for key in range(-12, 13) if passes(key)] == [-11, -10, -9, -1, 0, 1, 9, 10, 11]
    assert [text for text in (b"10", b"12", b"-11") if passes(text)] == [b"10", b"-11"]


def test_mod_of_other_texts_is_of_javas_hash() -> None:
    # By hand: 'a' 97, 'b' 98: 97*31+98 = 3105.
    assert java_hash("ab") == 3105
    assert java_hash("") == 0
    assert java_hash("The quick brown fox jumps over the lazy dog") == -609428141
    assert java_hash("\U0001f600") == 0xD83D * 31 + 0xDE00
    assert key_filters(mod(10, (5, 6)))[101](b"ab")
    assert not key_filters(mod(10, (4, 5)))[101](b"ab")


def test_range_needs_numbers_and_excludes_its_end() -> None:
    text = json.dumps({"101": {"partitionType": "RANGE", "filters": [{"keyRange": {"start": 3, "end": 5}}]}})
    passes = key_filters(text)[101]
    assert [key for key in (2, 3, 4, 5, b"4", b"x") if passes(key)] == [3, 4, b"4"]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"x": {}}', '{"1": {"partitionType": "HASH"}}', '{"1": {"partitionType": "MOD"}}', mod(0, (0, 1))],
)
def test_filters_that_cannot_be_used(text: str) -> None:
    with pytest.raises(RelayError, match="cannot be used"):
        key_filters(text)
