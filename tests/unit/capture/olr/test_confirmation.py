"""What the server may forget, by both meanings of `c_scn`; and positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minercdc.capture.olr import confirmation
from minercdc.capture.olr.confirmation import Confirmations
from minercdc.capture.olr.message import Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.errors import SourceError


class Stream:
    """Transactions that come one after the other."""

    def __init__(self, meaning: str = "auto") -> None:
        self.confirmations = Confirmations(meaning, None)  # type: ignore[arg-type]
        self.position = OlrPosition(100, begun=90)

    def transaction(self, c_scn: int, begin: int, commit: int, *, index: int = 2) -> OlrPosition:
        for i in range(index + 1):
            self.confirmations.note(Place(c_scn, i))
        self.confirmations.judge(c_scn, begin, commit)
        self.confirmations.end(Place(c_scn, index))
        self.position = OlrPosition(commit, frozenset({f"{commit:016x}"}), 90, self.confirmations.seen)
        self.confirmations.issue(self.position)
        return self.position


def test_nothing_is_confirmed_before_it_is_stored() -> None:
    stream = Stream()
    first = stream.transaction(104, 101, 105)
    stream.transaction(112, 111, 113)
    assert stream.confirmations.due(10**6) is None
    stream.confirmations.stored(first)
    assert stream.confirmations.due(0) == Place(104, 2)


def test_what_follows_the_confirmed_waits_until_it_is_stored_too() -> None:
    stream = Stream()
    stream.confirmations.stored(stream.transaction(104, 101, 105))
    second = stream.transaction(112, 111, 113)
    assert stream.confirmations.due(0) == Place(104, 2)
    stream.transaction(120, 119, 121)
    assert stream.confirmations.due(0) is None
    stream.confirmations.stored(second)
    assert stream.confirmations.due(0) == Place(112, 2)


def test_the_last_block_waits_until_no_more_of_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(confirmation, "monotonic", lambda: now)
    stream = Stream()
    last = stream.transaction(104, 101, 105)
    stream.confirmations.stored(last)
    assert stream.confirmations.due(0) is None
    now = 6.0
    assert stream.confirmations.due(0) == Place(104, 2)
    assert stream.confirmations.due(0) is None  # once


def test_checkpoints_of_the_last_block_do_not_hold_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(confirmation, "monotonic", lambda: now)
    stream = Stream()
    last = stream.transaction(104, 101, 105)
    for index in range(3, 10):
        now += 1
        stream.confirmations.note(Place(104, index), checkpoint=True)
    stream.confirmations.stored(last)
    assert stream.confirmations.due(0) == Place(104, 2)


def test_the_commits_own_scn_is_never_the_begins() -> None:
    stream = Stream()
    stream.confirmations.judge(105, None, 105)
    stream.confirmations.stored(stream.transaction(105, 105, 105))
    stream.transaction(112, 112, 113)
    assert stream.confirmations.due(0) == Place(105, 2)


def test_by_the_begin_nothing_above_the_oldest_open_transaction_is_confirmed() -> None:
    stream = Stream()
    stream.transaction(120, 120, 125)
    old = stream.transaction(101, 101, 130)  # c_scn goes back
    stream.confirmations.stored(old)
    assert stream.confirmations.due(110) is None  # the head of the queue may not go
    assert stream.confirmations.due(121) == Place(120, 2)


def test_by_the_begin_nothing_is_confirmed_above_what_is_not_stored() -> None:
    stream = Stream()
    stream.confirmations.stored(stream.transaction(120, 120, 125))
    old = stream.transaction(101, 101, 130)  # a confirmation of 120 is one of it, too
    assert stream.confirmations.due(140) is None
    stream.confirmations.stored(old)
    assert stream.confirmations.due(140) == Place(120, 2)


def test_a_single_block_does_not_show_the_meaning() -> None:
    stream = Stream()
    stream.confirmations.stored(stream.transaction(104, 104, 105))
    stream.confirmations.stored(stream.transaction(112, 112, 113))
    assert stream.confirmations.due(50) is None


@pytest.mark.parametrize("meaning", ["auto", "commit"])
def test_a_commit_scn_that_goes_back_is_refused(meaning: str) -> None:
    stream = Stream(meaning)
    stream.transaction(120, 101, 125)
    with pytest.raises(SourceError, match="c_scn went back from 120 to 101"):
        stream.transaction(101, 101, 130)


def test_positions() -> None:
    begin = OlrPosition(101, begun=90)
    one = OlrPosition(105, frozenset({"aa"}), 90, Place(104, 2))
    two = OlrPosition(105, frozenset({"aa", "bb"}), 95, Place(104, 5))
    assert begin.delivered_scn == 100
    assert one.delivered_scn == 105
    assert [a.precedes(b) for a, b in ((begin, one), (one, two), (two, one), (one, one))] == [True, True, False, False]
    assert one.includes(104, "zz")
    assert one.includes(105, "aa")
    assert not one.includes(105, "bb")
    for position in (begin, one, two):
        assert OlrPosition.from_json(position.to_json()) == position


@given(st.integers(0, 2**64), st.frozensets(st.text("0123456789abcdef", min_size=16, max_size=16)), st.integers(0, 2**64))
def test_any_position_comes_back(scn: int, xids: frozenset[str], begun: int) -> None:
    position = OlrPosition(scn, xids, begun)
    assert OlrPosition.from_json(position.to_json()) == position
