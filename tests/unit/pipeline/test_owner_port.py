"""The owner's port: who answers, and when a refused connection means that the owner is dead."""

from __future__ import annotations

from minercdc.local.ports import free_port
from minercdc.observe.http.server import serve
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.prometheus import exposition_of
from minercdc.pipeline.standby.owner_port import OwnerPort
from minercdc.pipeline.standby.turn import Port
from minercdc.sinks.kafka.ownership import Claim
from minercdc.stream.counters.connector import Counters


def looks() -> tuple[OwnerPort, list[float]]:
    now = [0.0]
    return OwnerPort(lambda: now[0]), now


def serving(instance: str, port: int):  # type: ignore[no-untyped-def]
    counters = Counters()
    watch = Watch(counters)
    watch.instance = instance
    return serve("127.0.0.1", port, watch, None, "t", exposition_of(counters, "c"))


def test_the_death_of_an_owner_that_was_met() -> None:
    port, (look, now) = free_port(), looks()
    claim = Claim("owner", host="127.0.0.1", port=port)
    assert look.look(claim) is Port.UNKNOWN, "nothing listens, but it was never met there"
    now[0] += 10
    with serving("owner", port):
        assert look.look(claim) is Port.OPEN
    assert look.look(claim) is Port.OPEN, "not looked at again so soon"
    now[0] += 1
    assert look.look(claim) is Port.OPEN, "refused once"
    now[0] += 1
    assert look.look(claim) is Port.CLOSED
    now[0] += 10
    with serving("owner", port):
        assert look.look(claim) is Port.CLOSED, "the dead do not come back"
        assert look.look(Claim("other", host="127.0.0.1", port=port)) is Port.UNKNOWN, "another instance answers there"


def test_another_process_at_the_same_address() -> None:
    port, (look, now) = free_port(), looks()
    claim = Claim("owner", host="127.0.0.1", port=port)
    with serving("owner", port):
        assert look.look(claim) is Port.OPEN
    now[0] += 1
    with serving("its successor", port):
        assert look.look(claim) is Port.CLOSED


def test_no_port() -> None:
    look, _ = looks()
    assert look.look(None) is Port.UNKNOWN
    assert look.look(Claim("owner")) is Port.UNKNOWN
