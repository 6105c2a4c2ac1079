"""The judge of the torture test finds what it is there to find."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from confluent_kafka import Message
from tests.torture.chain import Chain


class Sent:
    """A message as a consumer gives it."""

    def __init__(self, key: str, value: dict[str, Any] | None) -> None:
        self._key, self._value = key, value

    def key(self) -> bytes:
        return self._key.encode()

    def value(self) -> bytes | None:
        return None if self._value is None else json.dumps(self._value).encode()

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0


def sent(op: str, before: int | None, after: int | None, key: str = "k") -> Message:
    images = {"before": None if before is None else {"V": before}, "after": None if after is None else {"V": after}}
    return cast(Message, Sent(key, {"op": op, **images}))


TOMBSTONE = cast(Message, Sent("k", None))
WHOLE = [sent("r", None, 1), sent("u", 1, 2), sent("u", 2, 3), sent("d", 3, None), TOMBSTONE, sent("c", None, 4)]


def test_an_unbroken_chain_leaves_the_table() -> None:
    chain = Chain().take(WHOLE)
    assert chain.breaks == []
    assert chain.differs_from({"k": {"V": 4}}) == []
    assert chain.differs_from({"k": {"V": 5}}) != []
    assert chain.differs_from({}) != []


@pytest.mark.parametrize("lost", range(4))
def test_a_lost_change_breaks_it(lost: int) -> None:
    assert Chain().take(WHOLE[:lost] + WHOLE[lost + 1 :]).breaks


@pytest.mark.parametrize("repeated", range(4))
def test_a_repeated_change_breaks_it(repeated: int) -> None:
    assert Chain().take([*WHOLE[: repeated + 1], WHOLE[repeated], *WHOLE[repeated + 1 :]]).breaks


def test_changes_in_another_order_break_it() -> None:
    assert Chain().take([WHOLE[0], WHOLE[2], WHOLE[1], *WHOLE[3:]]).breaks


def test_a_change_that_was_rolled_back_breaks_it() -> None:
    assert Chain().take([WHOLE[0], sent("u", 1, 99), *WHOLE[1:]]).breaks


def test_a_tombstone_without_its_delete_breaks_it() -> None:
    assert Chain().take([WHOLE[0], TOMBSTONE]).breaks
