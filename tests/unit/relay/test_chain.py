"""A chained relay whose upstream relay goes away between two requests of one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.relay.filling import Filling, T, change, insert

from minercdc.errors import FellOffError
from minercdc.relay.buffer.chain import ChainedFeed
from minercdc.relay.buffer.windows import ScnNotFoundError
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.client.connection import Connection, Received, SchemaInfo, SourceInfo
from minercdc.relay.server.serving import answer
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Op

WIDER = TableSchema(T.id, (*T.columns, Column("MORE", "VARCHAR2", 5)), T.key, version=2)


class Upstream:
    """A connection to a relay of this process; the calls in `failing` fail once."""

    url = "http://upstream"

    def __init__(self, relay: Filling) -> None:
        self.relay = relay
        self.failing: set[str] = set()

    def _meet(self, call: str) -> None:
        if call in self.failing:
            self.failing.remove(call)
            raise ConnectionRefusedError(call)

    def sources(self) -> list[SourceInfo]:
        return [SourceInfo(one.id, one.name) for one in self.relay.registry.sources()]

    def schemas(self, _: Sequence[int]) -> list[SchemaInfo]:
        self._meet("schemas")
        registry = self.relay.registry
        return [
            SchemaInfo(source.id, one.number, one.text, one.schema, one.id)
            for source in registry.sources()
            for one in registry.versions(source)
        ]

    def tables(self) -> dict[int, str]:
        return {one.id: one.table for one in self.relay.registry.sources()}

    def buffer_info(self) -> dict[str, Any]:
        self._meet("buffer_info")
        return {"prevScn": self.relay.buffer.state.prev_scn}

    def stream(self, place: Checkpoint, size: int, *, wait_ms: int) -> Received:
        buffer = self.relay.buffer
        try:
            return Received(b"".join(answer(buffer, place, size).chunks(buffer)))
        except ScnNotFoundError as error:
            raise FellOffError(str(error)) from None

    def close(self) -> None:
        pass


class Turns:
    """A stop flag that acts before each turn of a feed, and is set after the last one."""

    def __init__(self, acts: Iterator[None]) -> None:
        self._acts = acts

    def is_set(self) -> bool:
        return next(self._acts, self) is self

    def wait(self, _: float | None = None) -> bool:
        return False


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    """It has window 10."""
    (tmp_path / "first").mkdir()
    relay = Filling(tmp_path / "first")
    relay.buffer.start_after(5)
    relay.put(insert(1, 10))
    relay.commit(complete=10)
    return Upstream(relay)


@pytest.fixture
def second(tmp_path: Path) -> Filling:
    (tmp_path / "second").mkdir()
    return Filling(tmp_path / "second")


def follow(upstream: Upstream, second: Filling, after_first: Callable[[], None]) -> None:
    """Four turns of a feed.

    :param after_first: called after the first of them.
    """

    def acts() -> Iterator[None]:
        yield
        after_first()
        yield from (None, None, None)

    ChainedFeed(cast(Connection, upstream), second.store, second.registry, lambda: None).run(Turns(acts()))


def test_no_event_comes_twice_when_the_upstream_goes_away_in_the_middle_of_a_window(
    upstream: Upstream, second: Filling
) -> None:
    def widen() -> None:
        wider = change(Op.CREATE, None, ("3", "y", "z"), 20)
        wider.schema = WIDER
        upstream.relay.put(insert(2, 20), wider)
        upstream.relay.commit(complete=20)
        upstream.failing.add("schemas")

    follow(upstream, second, widen)
    assert second.events() == upstream.relay.events()
    assert second.shown() == [(10, 1), (10, "end"), (20, 2), (20, 3), (20, "end")]


def test_the_feed_waits_when_the_upstream_goes_away_after_windows_were_lost(upstream: Upstream, second: Filling) -> None:
    def lose() -> None:
        upstream.relay.buffer.clear(100)
        upstream.relay.put(insert(7, 120))
        upstream.relay.commit(complete=120)
        upstream.failing.add("buffer_info")

    follow(upstream, second, lose)
    assert (second.buffer.state.prev_scn, second.shown()) == (100, [(120, 7), (120, "end")])
