"""A signal in a transaction that is split over several Kafka transactions, the first of which outlive a kill."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest
from tests.scripted import Clock, MemorySink, NoHistory, RowEncoder, Store
from tests.unit.signals.model import SIGNAL_TABLE, TABLE, At, Commit, World, stage_of

from minercdc.errors import LogGapError
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.pipeline import Begun, Bounds, Pipeline, PipelineFactory
from minercdc.stream.contracts import Record, StopFlag
from minercdc.stream.events import ChangeEvent, Event, Notification, Op, Progress, Scn, TransactionInfo
from minercdc.stream.offset import JsonValue, Offset, PartialTransaction, Position, SignalState

DONE = Scn(50)


class OneTransaction:
    """A signal, then rows 1 to 6; after it idle ticks."""

    def load_position(self, saved: Mapping[str, JsonValue]) -> At:
        done = int(str(saved["done"]))
        return At(done, DONE if done else 0)

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        assert isinstance(start, At)
        if start.done == 0:
            info = TransactionInfo("x", Scn(1), DONE, 0, 0, 1, None)
            signal = ("s", "execute-snapshot", '{"data-collections": ["S.T"]}')
            yield ChangeEvent(Op.CREATE, SIGNAL_TABLE, None, signal, Scn(1), 0, info, 1)
            for seq in range(2, 8):
                yield ChangeEvent(Op.CREATE, TABLE, None, (str(seq - 1), "50"), Scn(1), 0, info, seq)
            yield Progress(At(1, DONE), Scn(DONE - 1), 0, info)
        for _ in range(60):
            yield Progress(At(1, DONE), Scn(DONE - 1), 0)

    def confirm(self, position: Position) -> None:
        pass

    def close(self) -> None:
        pass


class Encoder(RowEncoder):
    """Notifications as their type, rows read as `r` and their key."""

    def encode(self, event: Event) -> Sequence[Record]:
        if isinstance(event, Notification):
            return (Record("reports", None, event.type.encode()),) if event.aggregate_type == "Signal" else ()
        if isinstance(event, ChangeEvent) and event.op is Op.READ and event.after:
            return (Record("t", None, f"r{event.after[0]}".encode()),)
        return super().encode(event)


def factory(store: Store) -> PipelineFactory:
    world = World([Commit(int(DONE), dict.fromkeys(range(1, 7), True))], random.Random(1), threads=False)
    world.now = int(DONE)

    def open_pipeline() -> Pipeline:
        return Pipeline(
            adapter="test",
            sink=MemorySink(store),
            encoder=Encoder(),
            history=NoHistory(),
            begin=lambda offset: Begun(offset, OneTransaction(), signals=lambda: stage_of(world, 4)),
            bounds=Bounds(records=2, bytes=10**9, seconds=1e9),
            skip_undecodable=lambda error: False,
        )

    return PipelineFactory(open_pipeline, 0, 0.001, Clock())


@pytest.mark.parametrize("killed_at", [b"3", b"5", b"ACCEPTED", b"r2", b"r6"])
def test_the_signal_is_acted_on_once_wherever_it_is_killed(killed_at: bytes) -> None:
    store = Store(offset=Offset("test", {"done": 0}), fail_at_write={killed_at: LogGapError("killed")})
    with pytest.raises(LogGapError):
        run_once(factory(store), threading.Event())
    if killed_at == b"5":
        assert store.offset is not None
        assert store.offset.partial == PartialTransaction("x", int(DONE), 5)
        assert store.offset.signals == SignalState()
    run_once(factory(store), threading.Event())
    values = [value.decode() for value in store.values]
    assert values[:6] == ["1", "2", "3", "4", "5", "6"]
    assert sorted(values[6:]) == ["ACCEPTED", "COMPLETED", *(f"r{key}" for key in range(1, 7))]
