"""What is stored so that a killed connector goes on without loss or repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

JsonValue: TypeAlias = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


class Position(Protocol):
    """An adapter's own resume point; opaque outside its adapter."""

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""

    def precedes(self, other: Self) -> bool:
        """True when going from `other` to this position would go backwards."""

    @property
    def delivered_scn(self) -> int:
        """Of all that was delivered up to here nothing was committed, or read by the initial snapshot, behind this SCN."""


@dataclass(frozen=True, slots=True)
class PartialTransaction:
    """A source transaction that was too large for one Kafka transaction: its events up to `seq` are delivered."""

    tx_id: str
    commit_scn: int
    seq: int


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    """How far the initial snapshot is in one range of a table's ROWIDs.

    :param first: lowest ROWID of the range, None for no bound.
    :param until: the ROWID that the range ends before, None for no bound.
    :param last_row_id: ROWID of the last delivered row, None when none is.
    """

    first: str | None = None
    until: str | None = None
    last_row_id: str | None = None
    completed: bool = False


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far the initial snapshot is in one table.

    :param chunks: ranges that together cover the table.
    :param expected_rows: how many there are at the snapshot SCN, None when not counted; for progress reports only.
    :param deferred: it cannot be read at that SCN any more; an incremental snapshot follows.
    """

    table: str
    rows: int = 0
    chunks: tuple[ChunkProgress, ...] = (ChunkProgress(),)
    expected_rows: int | None = None
    deferred: bool = False

    @property
    def completed(self) -> bool:
        return self.deferred or all(chunk.completed for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """State of an initial snapshot.

    :param scn: the SCN all tables are read at.
    :param start: JSON of the position that streaming starts from once the snapshot is complete.
    :param tables: in reading order; names are `SCHEMA.TABLE`.
    """

    scn: int
    start: Mapping[str, JsonValue]
    tables: tuple[TableProgress, ...] = ()
    completed: bool = False


@dataclass(frozen=True, slots=True)
class TableRead:
    """How far an ad hoc snapshot is in one table.

    :param table: its name, `SCHEMA.TABLE`.
    :param condition: what the signal asked for: a predicate (incremental) or a whole SELECT (blocking); '' for all rows.
    :param order: columns it is read in order of, `ROWID` among them; () until it is begun.
    :param last: Row text of `order` in the last row that is delivered, () when none is.
    :param maximum: the same of the last row there was when reading began: rows behind it come by the stream.
    :param rows: delivered so far; those that the stream had a newer image of are not.
    :param chunks: incremental: delivered so far.
    """

    table: str
    condition: str = ""
    order: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    maximum: tuple[str, ...] = ()
    rows: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class AdHocSnapshot:
    """A snapshot that a signal asked for.

    :param id: of the signal.
    :param collections: all its tables, as `DATABASE.SCHEMA.TABLE`.
    :param tables: those that are not read to their end yet; the first one is under way.
    :param surrogate_key: column to read in order of instead of the key, '' for none.
    :param scn: blocking: where its tables are read at; 0 while that is not fixed.
    :param reached: blocking: the stream has come to `scn`, and nothing newer than it was delivered.
    :param rows: blocking: delivered of the tables that are done.
    """

    id: str
    blocking: bool
    collections: tuple[str, ...]
    tables: tuple[TableRead, ...]
    surrogate_key: str = ""
    scn: int = 0
    reached: bool = False
    rows: int = 0


@dataclass(frozen=True, slots=True)
class SignalState:
    """What signals asked for and is not done yet, and which signals were taken.

    :param snapshots: those that are not complete, in the order they were asked for; one of each kind is under way.
    :param paused: incremental snapshots wait for `resume-snapshot`.
    :param drops: `drop-transaction` under way: (id of the signal, XID).
    :param taken: how far each channel is read that does not come with the stream, in the channel's own words.
    """

    snapshots: tuple[AdHocSnapshot, ...] = ()
    paused: bool = False
    drops: tuple[tuple[str, str], ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offset:
    """The stored progress of a connector.

    :param position: the adapter's position as JSON; None while the initial snapshot is under way.
    :param history: how much of a schema history outside Kafka belongs to it; None when that is in Kafka.
    """

    adapter: str
    position: Mapping[str, JsonValue] | None = None
    partial: PartialTransaction | None = None
    snapshot: SnapshotState | None = None
    history: int | None = None
    signals: SignalState = SignalState()
