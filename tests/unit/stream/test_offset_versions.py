"""Offsets that releases have stored are read for ever, with nothing lost; those of newer ones are refused by name.

A file of them is never changed: a new form gets one of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from minercdc.capture.flashback.position import FlashbackPosition
from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.olr.position import OlrPosition
from minercdc.capture.registry import adapter_factory
from minercdc.errors import SchemaHistoryError
from minercdc.stream.offset_json import FORMAT_VERSION, offset_from_bytes, offset_to_bytes

STORED = [
    line
    for version in range(1, FORMAT_VERSION + 1)
    for line in Path(__file__).with_name(f"offsets-v{version}.jsonl").read_text().splitlines()
]
POSITIONS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "logminer": LogMinerPosition.from_json,
    "logminer_unbuffered": LogMinerPosition.from_json,
    "flashback": FlashbackPosition.from_json,
    "olr": OlrPosition.from_json,
    "fors_olr": ForsPosition.from_json,
}


@pytest.mark.parametrize("line", STORED, ids=[f"{number}" for number in range(len(STORED))])
def test_every_version_is_read_with_nothing_lost_and_written_as_it_was(line: str) -> None:
    offset = offset_from_bytes(line.encode(), "here")
    assert offset_to_bytes(offset).decode() == line
    adapter_factory(offset.adapter)
    saved = offset.position or (offset.snapshot.start if offset.snapshot else None)
    assert saved is not None
    assert POSITIONS[offset.adapter](saved).to_json() == saved


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": FORMAT_VERSION + 1}, f"format version {FORMAT_VERSION + 1}, and this one reads up to {FORMAT_VERSION}"),
        ({"spill": {}}, "the member spill, which this one does not know"),
    ],
)
def test_an_offset_of_a_newer_release_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    newer = json.dumps({**json.loads(STORED[0]), **change}).encode()
    with pytest.raises(SchemaHistoryError, match="topic x, key y was written by a newer release of minercdc") as caught:
        offset_from_bytes(newer, "topic x, key y")
    assert message in caught.value.message
    assert caught.value.hint == "Run that release, or a newer one."


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"v": 0}', b'{"v": "x"}', b"null", b'{"v": 1}'])
def test_what_is_no_offset_is_refused(value: bytes) -> None:
    with pytest.raises(SchemaHistoryError, match="cannot be read"):
        offset_from_bytes(value, "here")
