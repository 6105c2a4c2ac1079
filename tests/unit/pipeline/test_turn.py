"""Whose turn it is, by what a standby sees."""

from __future__ import annotations

from dataclasses import replace

from minercdc.pipeline.standby.turn import MEMBER_SECONDS, STRANGER_SECONDS, Port, Seen, Turn
from minercdc.sinks.kafka.membership import member_of
from minercdc.sinks.kafka.ownership import Claim, claim_from_bytes

OWNER = Claim("owner", member=True, host="10.0.0.1", port=8089)
BOTH = frozenset({member_of("owner"), member_of("me")})
ALONE = frozenset({member_of("me")})
SEEN = Seen(now=100.0, claim=OWNER, moved=100.0, holds=False, members=BOTH, port=Port.UNKNOWN)


def turn() -> Turn:
    return Turn("me", 0.0)


def test_an_owner_in_the_group_is_alive_whoever_holds_the_partition() -> None:
    mine = turn()
    assert mine.reason(SEEN) == ""
    assert mine.reason(replace(SEEN, now=1e6, holds=True)) == ""


def test_an_owner_that_was_in_the_group_and_is_not_any_more_is_dead() -> None:
    mine = turn()
    mine.reason(SEEN)
    assert mine.reason(replace(SEEN, members=ALONE)) == "", "another standby holds the partition"
    assert "out of the consumer group" in mine.reason(replace(SEEN, members=ALONE, holds=True))


def test_nothing_is_concluded_while_the_members_are_not_known() -> None:
    mine = turn()
    mine.reason(SEEN)
    assert mine.reason(replace(SEEN, now=1e6, members=None, holds=True, port=Port.CLOSED)) == ""


def test_an_owner_that_never_was_in_the_group_is_alive_while_it_stores_something() -> None:
    for claim, seconds in ((OWNER, MEMBER_SECONDS), (Claim("owner"), STRANGER_SECONDS)):
        mine = turn()
        alone = replace(SEEN, claim=claim, members=ALONE, holds=True)
        assert mine.reason(alone) == ""
        assert mine.reason(replace(alone, now=100 + seconds - 1)) == ""
        assert mine.reason(replace(alone, now=1000.0, moved=1000 - seconds + 1)) == ""
        assert "has stored nothing" in mine.reason(replace(alone, now=1000.0, moved=1000 - seconds))


def test_a_new_owner_gets_time_to_join() -> None:
    mine = turn()
    mine.reason(SEEN)
    new = replace(SEEN, claim=Claim("new", member=True), members=ALONE, holds=True, moved=0.0)
    assert mine.reason(new) == ""
    assert mine.reason(replace(new, now=100 + MEMBER_SECONDS - 1)) == ""
    assert mine.reason(replace(new, now=100 + MEMBER_SECONDS)) != ""


def test_a_closed_port_is_the_turn_of_one() -> None:
    closed = replace(SEEN, port=Port.CLOSED, members=BOTH | {member_of("other")})
    assert "10.0.0.1:8089" in turn().reason(closed)
    assert Turn("other", 0.0).reason(closed) == ""
    assert Turn("stranger", 0.0).reason(closed) == "", "it is not in the group yet"


def test_a_name_that_was_never_claimed_is_free() -> None:
    free = replace(SEEN, claim=None, members=ALONE)
    assert turn().reason(free) == ""
    assert "no instance" in turn().reason(replace(free, holds=True))


def test_claims_are_read_whoever_wrote_them() -> None:
    assert claim_from_bytes(OWNER.to_bytes()) == OWNER
    assert claim_from_bytes(b"0123456789abcdef0123456789abcdef") == Claim("0123456789abcdef0123456789abcdef"), "version 0.1"
    assert claim_from_bytes(b'{"instance": "x", "more": 1}') == Claim("x"), "a later version"
    assert claim_from_bytes(b"[]") == Claim("[]")
    assert claim_from_bytes(None) is None
