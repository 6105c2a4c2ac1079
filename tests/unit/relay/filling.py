"""A sink with its buffer and files, and events of made-up transactions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from minercdc.relay.buffer.mapped_file import open_mapped
from minercdc.relay.buffer.progress_file import MaxScnFile, OffsetFile
from minercdc.relay.buffer.sink import Completeness, RelaySink
from minercdc.relay.buffer.storage import Memory
from minercdc.relay.buffer.store import RelayStore
from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.events.encoding import RelayEncoder
from minercdc.relay.events.event import RelayEvent, events_in
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.server.serving import answer
from minercdc.relay.server.statistics import Statistics
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.sinks.durable_files import OwnerLock
from minercdc.stream.events import ChangeEvent, Op, Row, Scn, TransactionInfo
from minercdc.stream.offset import Offset

T = TableSchema(TableId("DB", "S", "T"), (Column("ID", "NUMBER", 9, 0, False), Column("V", "VARCHAR2", 40)), (0,))


def transaction(scn: int, xid: int = 1) -> TransactionInfo:
    return TransactionInfo(f"{xid:016x}", Scn(0), Scn(scn), 0, scn * 1000, 1, None)


def change(op: Op, before: Row | None, after: Row | None, scn: int, xid: int = 1, table: TableSchema = T) -> ChangeEvent:
    tx = transaction(scn, xid) if scn else None
    return ChangeEvent(op, table, before, after, Scn(scn), scn * 1000, tx, 1, "AAA")


def insert(key: int, scn: int, xid: int = 1) -> ChangeEvent:
    return change(Op.CREATE, None, (str(key), "x"), scn, xid)


@dataclass
class Filling:
    """A relay without port and source; `restart` is what a kill and a start do."""

    directory: Path
    mapped: bool = False
    size: int = 65_536
    now: float = 0.0
    complete: Completeness = field(default_factory=Completeness)

    def __post_init__(self) -> None:
        self._lock: OwnerLock | None = None
        self.start()

    def start(self) -> None:
        if self._lock is not None:
            self._lock.release()
        self._lock = OwnerLock(self.directory / "lock", "it")
        self.offsets = OffsetFile(self.directory / "offset.json")
        self.max_scn = MaxScnFile(self.directory / "max.scn")
        stored = self.offsets.load()
        self.buffer = open_mapped(self.directory / "buffer", self.size)[0] if self.mapped else EventBuffer(Memory(self.size))
        if stored is not None and stored.scn > self.buffer.state.max_scn:
            self.buffer.clear(stored.scn)
        self.complete = Completeness()
        self.registry = SchemaRegistry(self.directory / "schemas", namespace="a")
        self.encoder = RelayEncoder(self.registry, lambda *_: True, lambda table: table.key)
        self.store = RelayStore(self.buffer, self.offsets, self.max_scn, self._lock, Statistics())
        self.sink = RelaySink(self.store, self.complete, monotonic=lambda: self.now)

    def put(self, *events: ChangeEvent) -> None:
        for event in events:
            for record in self.encoder.encode(event):
                self.sink.write(record)

    def commit(self, complete: int = 0, position: int = 0) -> None:
        self.complete.scn = max(self.complete.scn, complete)
        self.sink.commit(Offset("logminer", {"at": position}))

    @property
    def position(self) -> int | None:
        offset = self.sink.load_offset()
        return None if offset is None or offset.position is None else int(str(offset.position["at"]))

    def events(self, place: Checkpoint | None = None) -> list[RelayEvent]:
        return list(events_in(b"".join(answer(self.buffer, place or Checkpoint(), 1 << 30).chunks(self.buffer))))

    def shown(self) -> list[tuple[int, int | bytes | str]]:
        """(SCN, key) of each event, with `end` for the end of a window."""
        return [(one.sequence, "end" if one.is_end_of_window else one.key) for one in self.events()]
