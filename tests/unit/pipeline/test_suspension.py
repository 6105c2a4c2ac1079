"""Suspended and read again, killed at every commit: the table's topic is the table, and every row of the other one came once.

Engine, publisher, stage and resumption are the real ones; database, redo and topic are in memory. Of the table T some rows cannot be
decoded, or not encoded, as long as their transaction began before the repair. Table U is written in the same transactions.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.examples import examples
from tests.unit.signals.model import SIGNALS, TABLE, At, Commit, ModelReader, ModelTables, T, World, row_of

from minercdc.errors import DecodeError, MissingKeyError, TransientSourceError
from minercdc.pipeline.engine import run_once
from minercdc.pipeline.pipeline import Begun, Bounds, Pipeline, PipelineFactory
from minercdc.pipeline.suspension import Suspensions
from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.signals.actions import Actions, Source
from minercdc.signals.channels import Received
from minercdc.signals.stage import Polling, SignalStage, SignalTable, TableReads
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.resuming import Resumptions
from minercdc.stream.contracts import Record, SignalActions, StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    Notification,
    Op,
    SchemaChange,
    Scn,
    TransactionInfo,
    UndecodableRow,
    VanishedRow,
)
from minercdc.stream.offset import JsonValue, Offset, Position
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes
from minercdc.stream.signal import Signal

U = TableSchema(TableId("PDB", "S", "U"), (Column("ID", "NUMBER"),), (0,))
KEYS = 10
SEEDS = examples(25)
RESUME: dict[str, JsonValue] = {"data-collections": ["PDB.S.T"]}


class BrokenWorld(World):
    """A database whose table T is not logged well until `repaired_scn`.

    :ivar starts: per commit SCN, where its transaction began.
    :ivar bad: (commit SCN, key) of rows that cannot be decoded; `unprintable` of those that cannot be encoded.
    """

    def __init__(self, seed: int, *, threads: bool) -> None:
        chance = random.Random(seed)
        commits = [Commit(10, dict.fromkeys(range(KEYS), True))]
        scn = 20
        for _ in range(40):
            scn += chance.randrange(1, 4)
            keys = chance.sample(range(KEYS), chance.randrange(4))
            there = {key for key, is_there in _rows(commits).items() if is_there}
            commits.append(Commit(scn, {key: key not in there or chance.random() < 0.6 for key in keys}))
        super().__init__(commits, chance, threads=threads)
        self.repaired_scn = commits[chance.randrange(12, 25)].scn
        self.starts = {commit.scn: max(commit.scn - chance.choice((1, 1, 1, 12)), 1) for commit in commits}
        broken = [c for c in commits[6:] if self.starts[c.scn] <= self.repaired_scn and chance.random() < 0.5]
        rows = [(commit.scn, key) for commit in broken for key in commit.rows]
        self.bad = {row for row in rows if chance.random() < 0.6}
        self.unprintable = set(rows) - self.bad
        self.suspensions = Suspensions()

    def events(self, commit: Commit) -> Iterator[Event]:
        """Rows of T and U by turns; numbered as the decoder does."""
        scn = Scn(commit.scn)
        info = TransactionInfo(f"{scn:016x}", Scn(self.starts[scn]), scn, 0, 0, 1, None)
        before, unread, seq = self.rows_at(scn - 1), self.suspensions.unread(info), 0
        for key, there in [*commit.rows.items(), (-1, True)]:
            seq += 1
            yield ChangeEvent(Op.CREATE, U, None, (f"{scn}.{key}",), scn, 0, info, seq)
            if key < 0:
                continue
            if str(T) in unread:
                seq += 1
                yield UndecodableRow(T, "x", "the table is suspended", None, scn, 0, info, seq, counted=True)
                continue
            if (scn, key) in self.bad:
                error = MissingKeyError("no key")
                yield UndecodableRow(T, "x", error.message, None, scn, 0, info, seq, code=error.code)
                continue
            seq += 1
            old = row_of(TABLE, key, before[key]) if key in before else None
            new = row_of(TABLE, key, scn) if there else None
            op = Op.DELETE if new is None else Op.UPDATE if old is not None else Op.CREATE
            yield ChangeEvent(op, TABLE, old, new, scn, 0, info, seq)

    # ---- resuming_contracts.Database ----

    def obstacle(self, table: TableId, code: str) -> str:
        return "" if self.now > self.repaired_scn else "it is broken still"

    def moment(self, table: TableId) -> tuple[int, int]:
        return self.now, self.written()

    def oldest_open_scn(self, table: TableId) -> int:
        return min([start for scn, start in self.starts.items() if start <= self.now < scn], default=self.now)


def _rows(commits: Sequence[Commit]) -> dict[int, bool]:
    rows: dict[int, bool] = {}
    for commit in commits:
        rows.update(commit.rows)
    return rows


@dataclass
class Topics:
    """What Kafka holds, and when it is killed.

    :ivar kill_at: number of the commit that fails; `durable` whether it is done all the same.
    """

    records: list[Record] = field(default_factory=list)
    offset: bytes | None = None
    commits: int = 0
    kill_at: int = -1
    durable: bool = False
    open: list[Record] = field(default_factory=list)

    def write(self, record: Record) -> None:
        self.open.append(record)

    def commit(self, offset: Offset) -> None:
        self.commits += 1
        killed = self.commits == self.kill_at
        if not killed or self.durable:
            self.records += self.open
            self.offset = offset_to_bytes(offset)
        self.open = []
        if killed:
            raise TransientSourceError("killed")

    def check_owner(self) -> None: ...

    def load_offset(self) -> Offset | None:
        return None if self.offset is None else offset_from_bytes(self.offset, "memory")

    def close(self) -> None:
        self.open = []

    def fold(self) -> dict[int, int]:
        rows: dict[int, int] = {}
        for record in self.records:
            if record.topic == "T":
                assert record.key is not None
                if record.value is None:
                    rows.pop(int(record.key), None)
                else:
                    rows[int(record.key)] = int(record.value)
        return rows


class Fold:
    """`TopicMemory` of topic T. To be read only when nothing is on its way."""

    def __init__(self, topics: Topics, chance: random.Random) -> None:
        self._topics, self._chance = topics, chance
        self._mark = 0

    def ends(self, table: TableSchema) -> tuple[tuple[int, int], ...]:
        assert not self._topics.open, "records are on their way whose place is not known"
        return ((0, len(self._topics.records)),)

    def begin(self, table: TableSchema, marks: tuple[tuple[int, int], ...]) -> None:
        self._mark = marks[0][1]

    def ready(self) -> bool:
        return self._chance.random() < 0.5

    def gone(self, most: int) -> Sequence[bytes]:
        assert not self._topics.open, "records are on their way that have keys"
        touched = {r.key for r in self._topics.records[self._mark :] if r.topic == "T"}
        keys = [str(key).encode() for key in self._topics.fold()]
        return [key for key in keys if key not in touched][:2]

    def limits(self) -> str:
        return ""

    def close(self) -> None: ...


class Encoder:
    def __init__(self, world: BrokenWorld) -> None:
        self._world = world

    def encode(self, event: Event) -> Sequence[Record]:
        if isinstance(event, VanishedRow):
            return (Record("T", event.key, None),)
        if isinstance(event, UndecodableRow):
            return (Record("dead", None, f"{event.scn} {event.seq} {event.counted}".encode()),)
        if isinstance(event, Notification):
            return (Record("notices", event.id.encode(), f"{event.aggregate_type} {event.type}".encode()),)
        if not isinstance(event, ChangeEvent):
            return ()
        row = event.after or event.before
        assert row is not None
        key = str(row[0])
        if event.schema is U:
            return (Record("U", None, key.encode()),)
        if event.tx and (event.tx.commit_scn, int(key)) in self._world.unprintable:
            raise MissingKeyError("the value does not fit")
        return (Record("T", key.encode(), None if event.after is None else str(row[1]).encode()),)


class NoHistory:
    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        return None

    def mark(self) -> int | None:
        return None

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        return iter(())

    def forget(self) -> None: ...


class WorldCapture:
    def __init__(self, world: BrokenWorld) -> None:
        self._world = world

    def load_position(self, saved: Mapping[str, JsonValue]) -> At:
        return self._world.at(int(str(saved["done"])))

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        assert isinstance(start, At)
        return self._world.stream(start)

    def confirm(self, position: Position) -> None: ...
    def close(self) -> None: ...


class Asking:
    """A channel that sends the signal when the table is suspended and repaired, as often as it is refused."""

    name = "asking"

    def __init__(self, world: BrokenWorld) -> None:
        self._world = world
        self._numbers = itertools.count(1)

    def poll(self, taken: str) -> tuple[Sequence[Received], str]:
        if self._world.chance.random() < 0.2 and self._world.suspensions.tables():
            return [Signal(f"resume-{next(self._numbers)}", "resume-table", RESUME, self.name)], taken
        return (), taken

    def stored(self, taken: str) -> None: ...
    def close(self) -> None: ...


def pipeline_of(world: BrokenWorld, topics: Topics, *, automatic: bool) -> Pipeline:
    world.suspensions = Suspensions()
    learn: Callable[[TableId], None] = lambda _: None  # noqa: E731

    def signals() -> SignalActions:
        known, ticks = KnownTables(world.tables.find, learn, TableNames("PDB")), itertools.count(0, 100)
        resumptions = Resumptions(
            world.suspensions,
            world,
            known,
            Fold(topics, world.chance),
            clock=lambda: float(next(ticks)),
        )
        if not automatic:
            resumptions._begin_repaired = lambda *_: iter(())  # type: ignore[method-assign]

        def no_change(document: Mapping[str, Any]) -> tuple[TableId, TableSchema | None]:
            raise KeyError("table")

        source = Source(lambda: [T], None, no_change)
        return SignalStage(
            SignalTable(SIGNALS, listens=True, published=False),
            Actions(source, world.tables, lambda table: table == T, TableNames("PDB"), resumptions.suspended),
            TableReads(
                IncrementalSnapshots(ModelReader(world, 3), known),
                BlockingSnapshots(ModelTables(world), known, lambda: 0),
                resumptions,
            ),
            Polling(() if automatic else [Asking(world)], interval=0),
            now_us=lambda: 0,
        )

    def fail(error: DecodeError) -> bool:
        raise AssertionError("suspending is what is wanted") from error

    return Pipeline(
        "model",
        topics,
        Encoder(world),
        NoHistory(),
        lambda offset: Begun(offset, WorldCapture(world), signals=signals),
        Bounds(records=3, bytes=1 << 20, seconds=1e9),
        fail,
        suspensions=world.suspensions,
        suspends=lambda table: table == T,
    )


def run_to_end(
    seed: int, *, threads: bool, automatic: bool, kill_at: int = -1, durable: bool = False
) -> tuple[BrokenWorld, Topics]:
    """Runs until nothing is left to do."""
    world, topics = BrokenWorld(seed, threads=threads), Topics(kill_at=kill_at, durable=durable)
    topics.offset = offset_to_bytes(Offset("model", position={"done": 0}))
    seconds = itertools.count()
    for _ in range(12):
        factory = PipelineFactory(
            lambda: pipeline_of(world, topics, automatic=automatic), 0, 1.0, lambda: next(seconds) / 4, counters=Counters()
        )
        try:
            run_once(factory, threading.Event())
        except TransientSourceError:
            continue
        offset = topics.load_offset()
        assert offset is not None
        idle = not offset.suspended and all(one.phase == "done" for one in offset.signals.resuming)
        if idle and not offset.signals.resumes:
            return world, topics
    raise AssertionError(f"seed {seed}: not complete after many runs: {offset}")


def judge(world: BrokenWorld, topics: Topics) -> None:
    assert topics.fold() == world.rows_at(world.last_scn()), "the topic is not the table"
    others = [(record.value or b"").decode() for record in topics.records if record.topic == "U"]
    assert others == [f"{c.scn}.{key}" for c in world.emitted_order for key in (*c.rows, -1)], (
        "the other table lost or repeated rows"
    )
    letters = [
        record.value for record in topics.records if record.topic == "dead" and (record.value or b"").endswith(b"True")
    ]
    assert len(set(letters)) == len(letters), "a dead letter came twice"
    notices = [record.value for record in topics.records if record.topic == "notices"]
    assert notices.count(b"Table SUSPENDED") <= 1, "rows of before the repair suspended the table once more"


@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "two threads"])
@pytest.mark.parametrize("automatic", [False, True], ids=["by signal", "by itself"])
def test_a_suspended_table_is_whole_again_wherever_the_connector_is_killed(threads: bool, automatic: bool) -> None:
    suspended = again = vanished = 0
    for seed in range(SEEDS):
        world, topics = run_to_end(seed, threads=threads, automatic=automatic)
        judge(world, topics)
        notices = [record.value for record in topics.records if record.topic == "notices"]
        suspended += notices.count(b"Table SUSPENDED")
        again += notices.count(b"Incremental Snapshot STARTED") > notices.count(b"Table SUSPENDED")
        vanished += sum(record.topic == "T" and record.value is None for record in topics.records)
        for kill_at in random.Random(seed).sample(range(1, topics.commits), min(6, topics.commits - 1)):
            for durable in (False, True):
                judge(*run_to_end(seed, threads=threads, automatic=automatic, kill_at=kill_at, durable=durable))
    assert suspended > SEEDS // 3
    assert again, "no history has a row from before the repair after it"
    assert vanished > SEEDS // 3
