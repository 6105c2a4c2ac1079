"""A database with one table, its stream of redo and its chunk reader, all in memory: the stage is run on them.

A row is (key, SCN of the commit that wrote it), so every image shows how old it is. DDL puts a column between the two, so that
a row of one shape is none of the other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.fetched import fetched
from tests.runs import in_runs

from minercdc.errors import SnapshotTooOldError
from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.schema.tables import Tables
from minercdc.signals.actions import Actions, Source
from minercdc.signals.channels import SignalChannel
from minercdc.signals.stage import Polling, SignalStage, SignalTable, TableReads
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import IncrementalSnapshots
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.snapshot.incremental.outcome import Began, Outcome
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.contracts import OpenTransaction, StopFlag
from minercdc.stream.events import (
    ChangeEvent,
    ChangeRun,
    Event,
    FetchedRows,
    Op,
    Progress,
    Row,
    SchemaChange,
    Scn,
    TransactionInfo,
)
from minercdc.stream.offset import JsonValue, SignalState, TableRead

T = TableId("PDB", "S", "T")
SIGNALS = TableId("PDB", "C##U", "SIGNALS")
TABLE = TableSchema(T, (Column("ID", "NUMBER"), Column("AT", "NUMBER")), (0,))
ALTERED = replace(TABLE, columns=(TABLE.columns[0], Column("MORE", "NUMBER"), TABLE.columns[1]), version=2)
SIGNAL_TABLE = TableSchema(SIGNALS, (Column("ID", "VARCHAR2"), Column("TYPE", "VARCHAR2"), Column("DATA", "VARCHAR2")), (0,))


@dataclass(frozen=True, slots=True)
class At:
    """A position: how many commits of the stream are done, and the highest SCN among them."""

    done: int
    delivered_scn: int = 0

    def to_json(self) -> dict[str, JsonValue]:
        return {"done": self.done}

    def precedes(self, other: At) -> bool:
        return self.done < other.done


@dataclass(slots=True)
class Commit:
    """A transaction: keys with True (there is a row from now on) or False (there is none); or a row of the signal table; or the
    DDL; or a TRUNCATE."""

    scn: int
    rows: Mapping[int, bool] = field(default_factory=dict)
    signal: tuple[str, str, str] | None = None
    ddl: bool = False
    truncate: bool = False


def _clash(commit: Commit, other: Commit) -> bool:
    """Whether another commit changed the same rows before, or one of them the table."""
    of_table = commit.ddl or other.ddl or commit.truncate or other.truncate
    return other.scn < commit.scn and (of_table or not commit.rows.keys().isdisjoint(other.rows))


def row_id_of(key: int) -> str:
    """The ROWID of a row, in the order of the keys."""
    return f"R{key:03}"


def row_of(schema: TableSchema, key: int, at: int) -> Row:
    """A row in some shape of the table."""
    return tuple({"ID": str(key), "MORE": "0", "AT": str(at)}[column.name] for column in schema.columns)


class World:
    """The database: commits in the order of their SCNs, and in the order the stream emits them.

    :param keyless: the table has no key; the stream has the ROWIDs of most of its rows.
    :ivar now: the SCN the database has come to; the stream is behind it.
    :ivar tables: the shapes where the stream is.
    """

    def __init__(self, commits: Sequence[Commit], chance: random.Random, *, threads: bool, keyless: bool = False) -> None:
        self.commits = list(commits)
        self.keyless = keyless
        self.chance = chance
        self.in_runs = sum(commit.scn for commit in commits) % 2 == 1  # changes come in runs, of up to three transactions
        self.now = 0
        self.tables = Tables([self.shape_at(0)])
        self.emitted_order = list(commits)
        if threads:  # commits of two threads, each in its own order, mixed; the changes of one row keep theirs
            halves: list[list[Commit]] = [[], []]
            for commit in commits:
                halves[chance.randrange(2)].append(commit)
            self.emitted_order = []
            while any(halves):
                heads = [
                    half for half in halves if half and not any(_clash(half[0], other) for other in (*halves[0], *halves[1]))
                ]
                self.emitted_order.append(chance.choice(heads).pop(0))

    def last_scn(self) -> int:
        return max(commit.scn for commit in self.commits)

    def shape_at(self, scn: int) -> TableSchema:
        return self._shape(any(commit.ddl and commit.scn <= scn for commit in self.commits))

    def _shape(self, altered: bool) -> TableSchema:
        shape = ALTERED if altered else TABLE
        return replace(shape, key=()) if self.keyless else shape

    def is_too_old(self, scn: int) -> bool:
        """Whether rows as of an SCN cannot be read any more: the table was truncated since (ORA-01466)."""
        return any(commit.truncate and scn < commit.scn <= self.now for commit in self.commits)

    def begin(self, start: At) -> None:
        """The stream goes on from here."""
        self.tables.put(self._shape(any(commit.ddl for commit in self.emitted_order[: start.done])))

    def rows_at(self, scn: int) -> dict[int, int]:
        """Key -> SCN of the commit that wrote the row."""
        rows: dict[int, int] = {}
        for commit in self.commits:
            if commit.scn <= scn:
                if commit.truncate:
                    rows.clear()
                for key, there in commit.rows.items():
                    rows[key] = commit.scn
                    if not there:
                        del rows[key]
        return rows

    def events(self, commit: Commit) -> Iterator[Event]:
        before = self.rows_at(commit.scn - 1)
        info = TransactionInfo(f"{commit.scn:016x}", Scn(0), Scn(commit.scn), 0, 0, 1, None)
        seq = 0
        if commit.signal:
            seq += 1
            yield ChangeEvent(Op.CREATE, SIGNAL_TABLE, None, commit.signal, Scn(commit.scn), 0, info, seq)
        if commit.ddl:
            altered = self._shape(True)
            self.tables.put(altered)
            yield SchemaChange(T, self._shape(False), altered, "alter table", Scn(commit.scn), 0)
        schema = self.shape_at(commit.scn)
        if commit.truncate:
            yield SchemaChange(T, schema, schema, "truncate table T", Scn(commit.scn), 0, truncate=True)
        for key, there in commit.rows.items():
            old = row_of(schema, key, before[key]) if key in before else None
            new = row_of(schema, key, commit.scn) if there else None
            op = Op.DELETE if new is None else Op.UPDATE if old is not None else Op.CREATE
            seq += 1
            named = self.keyless and (commit.scn + key) % 4 != 0  # redo has no ROWID of some rows
            row_id = row_id_of(key) if named else None
            yield ChangeEvent(op, schema, old, new, Scn(commit.scn), 0, info, seq, row_id)

    def stream(self, start: At) -> Iterator[Event]:
        """From a position on, to the end, with idle ticks."""
        events = self._single(start)
        return in_runs(events, most=3) if self.in_runs else events

    def _single(self, start: At) -> Iterator[Event]:
        self.begin(start)
        if self.chance.random() < 0.5:
            scn = min((later.scn for later in self.emitted_order[start.done :]), default=self.last_scn())
            yield Progress(self.at(start.done), Scn(scn - 1), 0)
        for done in range(start.done, len(self.emitted_order)):
            commit = self.emitted_order[done]
            following = [later.scn for later in self.commits if later.scn > commit.scn]
            self.now = max(
                [self.now, commit.scn, *following[: self.chance.randrange(3)]]
            )  # the stream is behind the database
            yield from self.events(commit)
            scn = min((later.scn for later in self.emitted_order[done + 1 :]), default=self.last_scn() + 1) - 1
            scn = min(scn, commit.scn - 1) if self.chance.random() < 0.5 else scn
            info = TransactionInfo(f"{commit.scn:016x}", Scn(0), Scn(commit.scn), 0, 0, 1, None)
            here = self.at(done + 1)
            yield Progress(here, Scn(scn), 0, None if commit.ddl or commit.truncate else info)
            if self.chance.random() < 0.3:
                yield Progress(here, Scn(scn), 0)
        for _ in range(40):  # nothing is written any more: the last SCN is never known to be complete
            yield Progress(self.at(len(self.emitted_order)), Scn(self.last_scn() - 1), 0)

    def at(self, done: int) -> At:
        return At(done, max((commit.scn for commit in self.emitted_order[:done]), default=0))

    def written(self) -> int:
        """What is in the logs for certain; the newest commit emitted may be later."""
        return self.now - 1 - self.chance.randrange(2)


class ModelReader:
    """Reads chunks of the world's table as `ChunkReader` does, some at a time ahead of the stream."""

    def __init__(self, world: World, size: int) -> None:
        self._world = world
        self._size = size
        self._state: TableRead | None = None
        self._ready: list[Outcome] = []
        self._scn = 0
        self._emitted_scn = 0

    def start(self, table: TableId, state: TableRead, surrogate: str, least_scn: int) -> None:
        self._state, self._ready, self._emitted_scn, self._scn = state, [], least_scn, 0

    def emitted(self) -> int:
        return self._emitted_scn

    def first(self) -> Outcome | None:
        if self._state is not None and self._world.chance.random() < 0.7:
            self._read()
        return self._ready[0] if self._ready else None

    def take(self) -> None:
        self._ready.pop(0)

    def floor(self) -> int:
        return next((outcome.floor for outcome in self._ready if isinstance(outcome, Chunk)), self._scn)

    def stop(self) -> None:
        self._state, self._ready = None, []

    def _read(self) -> None:
        assert self._state is not None
        written = self._world.written()
        if self._world.chance.random() < 0.1:
            written //= 2  # a redo thread is opened, which has written nothing for a while
        self._scn = max(self._scn, written, self.emitted())
        scn = max(self._scn, self._world.now) if self._world.chance.random() < 0.2 else self._scn  # after ORA-01466
        if self._world.is_too_old(scn):
            scn = max(self._scn, self._world.now)
        schema = self._world.shape_at(scn)
        if schema != self._world.tables.find(T):  # ORA-00904, ORA-01466: not before the stream has come to the DDL
            return
        rows = self._world.rows_at(scn)
        if not self._state.maximum:
            maximum = (str(max(rows)),) if rows else ()
            self._ready.append(Began(("ID",), maximum, schema.version))
            self._state = replace(self._state, order=("ID",), maximum=maximum) if rows else None
            return
        last = int(self._state.last[0]) if self._state.last else -1
        keys = [key for key in sorted(rows) if last < key <= int(self._state.maximum[0])][: self._size]
        found: list[tuple[str, Row]] = [(row_id_of(key), row_of(schema, key, rows[key])) for key in keys]
        final = len(found) < self._size
        place = (str(keys[-1]),) if keys else self._state.last
        self._ready.append(Chunk(fetched(schema, found), place, self._scn, scn - 1, 0, final))
        self._state = None if final else replace(self._state, last=place)


class ModelTables:
    """What a blocking snapshot asks, of the world's table."""

    def __init__(self, world: World, *, too_old: int = 0) -> None:
        self._world = world
        self._too_old = too_old

    def written_scn(self) -> int:
        return self._world.written()

    def rows(self, schema: TableSchema, scn: int, last_row_id: str, select: str) -> Iterator[FetchedRows]:
        if schema != self._world.shape_at(scn) or self._world.is_too_old(scn):
            raise SnapshotTooOldError("ORA-01466")
        for key, at in sorted(self._world.rows_at(scn).items()):
            if row_id_of(key) > last_row_id:
                yield fetched(schema, [(row_id_of(key), row_of(schema, key, at))])
            if self._too_old:
                self._too_old -= 1
                raise SnapshotTooOldError("ORA-01466")

    def close(self) -> None:
        pass


class Buffered:
    """Open transactions of a capture."""

    def __init__(self, transactions: list[OpenTransaction]) -> None:
        self._transactions = transactions

    def open_transactions(self) -> list[OpenTransaction]:
        return list(self._transactions)

    def drop_transaction(self, xid: str) -> bool:
        found = [one for one in self._transactions if one.xid == xid]
        self._transactions = [one for one in self._transactions if one.xid != xid]
        return bool(found)


def stage_of(
    world: World,
    size: int,
    channels: Sequence[SignalChannel] = (),
    *,
    open_transactions: Sequence[OpenTransaction] = (),
    too_old: int = 0,
    without_record: Callable[[ChangeEvent], bool] = lambda _: False,
) -> SignalStage:
    tables = world.tables

    def no_changes(document: Mapping[str, object]) -> tuple[TableId, TableSchema | None]:
        raise KeyError("table")

    def learn(table: TableId) -> SchemaChange | None:
        return None

    known = KnownTables(tables.find, learn, TableNames("PDB"))
    return SignalStage(
        SignalTable(SIGNALS, listens=True, published=False),
        Actions(
            Source(lambda: [T], Buffered(list(open_transactions)), no_changes),
            tables,
            lambda table: table == T,
            TableNames("PDB"),
        ),
        TableReads(
            IncrementalSnapshots(ModelReader(world, size), known),
            BlockingSnapshots(ModelTables(world, too_old=too_old), known, lambda: 0),
        ),
        Polling(channels, interval=0),
        now_us=lambda: 0,
        without_record=without_record,
    )


@dataclass(slots=True)
class Stored:
    """What a commit stored: the events before it, position and state."""

    events: list[Event]
    position: At
    state: SignalState


def play(stage: SignalStage, world: World, start: At, state: SignalState, stop: StopFlag) -> list[Stored]:
    """Every state that could have been stored, each with the events that came since `start`."""
    world.begin(start)
    seen: list[Event] = []
    stored: list[Stored] = []
    for event in stage.through(world.stream(start), start, state, stop):
        if isinstance(event, Progress):
            assert isinstance(event.position, At)
            assert event.signals is not None
            stored.append(Stored(list(seen), event.position, event.signals))
            stage.stored(event.signals)
        else:
            seen += event.events() if isinstance(event, ChangeRun) else [event]
    return stored


def check_order(events: Sequence[Event]) -> dict[int, int]:
    """Per key, no image is older than one before it. Returns key -> SCN of what is left."""
    newest: dict[int, int] = {}
    rows: dict[int, int] = {}
    for event in events:
        if isinstance(event, SchemaChange) and event.truncate:
            newest = {key: max(at, event.scn) for key, at in newest.items()}
            rows.clear()
        if not isinstance(event, ChangeEvent):
            continue
        if event.op is Op.DELETE:
            assert event.before is not None
            assert event.tx is not None
            key, at = int(str(event.before[0])), int(event.tx.commit_scn)
            rows.pop(key, None)
        else:
            assert event.after is not None
            key, at = int(str(event.after[0])), int(str(event.after[event.schema.positions()["AT"]]))
            rows[key] = at
        assert at >= newest.get(key, 0), f"key {key}: an image of {at} came after one of {newest[key]}"
        newest[key] = at
    return rows


def check_read_once(events: Sequence[Event]) -> None:
    """One snapshot reads each key once at most, whatever it was interrupted by."""
    reads = Counter(str(e.after[0]) for e in events if isinstance(e, ChangeEvent) and e.op is Op.READ and e.after)
    assert not reads or max(reads.values()) == 1, f"read more than once: {reads.most_common(3)}"
