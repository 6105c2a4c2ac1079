"""The stored state from which a killed connector continues without loss or repetition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

JsonValue: TypeAlias = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


class Position(Protocol):
    """An adapter's own resume point; opaque outside its adapter."""

    def to_json(self) -> dict[str, JsonValue]:
        """The position as JSON; SCNs are text, since they exceed 2**53."""

    def precedes(self, other: Self) -> bool:
        """Whether going from `other` to this position would go back; with threads of redo, in at least one of them.

        :param other: a position of the same adapter.
        """

    @property
    def delivered_scn(self) -> int:
        """Highest SCN of what was delivered up to here, commits or the initial snapshot, as far as the adapter knows it."""


@dataclass(frozen=True, slots=True)
class PartialTransaction:
    """A source transaction of which the events up to `seq` are delivered: one that was too large, or took too long, for one Kafka
    transaction; or in which Debezium's connector, whose offset was imported, had stopped.

    :param tx_id, seq: as `TransactionInfo.id` and `ChangeEvent.seq`.
    :param events: how many events have records, by table, as `DATABASE.SCHEMA.TABLE`; {} without transaction metadata.
    :param inserts: of the event `seq`, an update that changes the key, the delete is delivered and the insert is not.
    """

    tx_id: str
    commit_scn: int
    seq: int
    events: Mapping[str, int] = field(default_factory=dict)
    inserts: bool = False


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    """How far the initial snapshot is in one range of a table's ROWIDs.

    :param first: lowest ROWID of the range, None for no bound.
    :param until: the ROWID that the range ends before, None for no bound.
    :param last_row_id: ROWID of the last delivered row, None when none is.
    :param completed: all its rows are delivered.
    """

    first: str | None = None
    until: str | None = None
    last_row_id: str | None = None
    completed: bool = False


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far the initial snapshot is in one table.

    :param table: its name: `SCHEMA.TABLE`, with several databases `DATABASE.SCHEMA.TABLE` (`TableNames.of`).
    :param rows: emitted so far.
    :param chunks: ranges that together cover the table.
    :param expected_rows: by the optimizer's statistics, else counted at the snapshot SCN, None when neither is possible.
    :param deferred: it cannot be read as of that SCN any more; a snapshot during the stream follows.
    """

    table: str
    rows: int = 0
    chunks: tuple[ChunkProgress, ...] = (ChunkProgress(),)
    expected_rows: int | None = None
    deferred: bool = False

    @property
    def completed(self) -> bool:
        """Whether the initial snapshot reads no more of it: every range is read, or it is `deferred`."""
        return self.deferred or all(chunk.completed for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """State of an initial snapshot.

    :param scn: the SCN all tables are read at.
    :param start: JSON of the position that streaming starts from once the snapshot is complete.
    :param tables: in reading order; all of the snapshot, those that are complete, too.
    :param completed: no table has rows left to be read for it.
    """

    scn: int
    start: Mapping[str, JsonValue]
    tables: tuple[TableProgress, ...] = ()
    completed: bool = False


@dataclass(frozen=True, slots=True)
class TableRead:
    """How far an ad hoc snapshot is in one table.

    :param table: its name, by `TableNames.of`.
    :param condition: what the signal requests: a predicate (incremental) or a whole SELECT (blocking); '' for all rows.
    :param order: incremental: the columns it is read in order of: those of the key; without a key `ROWID`; with a surrogate key
        that column, and `ROWID` where its values may repeat. () until reading begins. Blocking: always ().
    :param last: of the last row that is delivered, or left out for a newer image: incremental, the values of `order`, as a `Row` has
        them; blocking, its ROWID alone. () for no row yet.
    :param maximum: incremental: the values of `order` in the last row that the table had when reading began; the stream delivers rows
        after it. Blocking: always ().
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
    """A snapshot that a signal requested.

    :param id: of the signal; with `initial` one that begins with `initial-`.
    :param collections: all its tables, as `DATABASE.SCHEMA.TABLE`.
    :param tables: those that are not read to their end yet; the first one is under way.
    :param surrogate_key: column to read in order of instead of the key, '' for none.
    :param scn: blocking: where its tables are read at; 0 while that is not fixed.
    :param reached: blocking: the stream has come to `scn`, and delivered no newer change of its tables.
    :param rows: blocking: delivered of the tables that are done.
    :param initial: it reads what the initial snapshot could not: a table that it cannot read either is suspended.
    """

    id: str
    blocking: bool
    collections: tuple[str, ...]
    tables: tuple[TableRead, ...]
    surrogate_key: str = ""
    scn: int = 0
    reached: bool = False
    rows: int = 0
    initial: bool = False


@dataclass(frozen=True, slots=True)
class SuspendedTable:
    """A table whose rows are left out, from the first one on that could not be decoded or encoded.

    :param table: its name, by `TableNames.of`.
    :param since_scn: commit SCN of that row's transaction; of a snapshot's row, the SCN it was read at.
    :param tx_id: XID of that transaction, '' when there is none.
    :param code: of the error; `reason` is its message, `fix` what to do, SQL as far as that helps.
    :param automatic: it is read again as soon as the dictionary shows that the cause is gone.
    :param again: nothing is broken any more: the row was written before the repair, so the table is read once more.
    :param delivered: its changed rows are delivered, read without their transactions; deletes are missing.
    """

    table: str
    since_scn: int
    code: str
    reason: str
    fix: str = ""
    tx_id: str = ""
    automatic: bool = False
    again: bool = False
    delivered: bool = False

    @property
    def gives_up_topic(self) -> bool:
        """Whether another table of the same topic may have it: no row of this one is written there before it is resumed."""
        return not (self.again or self.delivered)


@dataclass(frozen=True, slots=True)
class Resumption:
    """A table that was suspended and is read again.

    :param table: its name, by `TableNames.of`.
    :param signal: id of the signal that requested it, and of the incremental snapshot that reads it.
    :param fixed_scn: the cause was gone at this SCN: redo of transactions that began later can be decoded.
    :param covered_scn: what was committed at or before it is in the rows that are read, and is left out of the stream.
    :param marks: (partition, offset) of the table's topic when it began: what lies before was written before.
    :param phase: `reading`, `deleting` (of keys that vanished meanwhile), `done` (older transactions may still be open).
    :param failure: why it could not be read, '' while it can.
    :param deleted: keys that vanished, as far as they are delivered.
    :param answered: the signal has its answer.
    :param settled_scn: when the stream has come here, no older transaction can come any more; 0 while some are open.
    """

    table: str
    signal: str
    fixed_scn: int
    covered_scn: int
    marks: tuple[tuple[int, int], ...] = ()
    phase: str = "reading"
    failure: str = ""
    deleted: int = 0
    answered: bool = False
    settled_scn: int = 0


@dataclass(frozen=True, slots=True)
class SignalState:
    """Requests of signals that are not done yet, and which signals were taken.

    :param snapshots: those that are not complete, in the order they were requested; of each kind the first is under way, or next.
    :param paused: incremental snapshots wait for `resume-snapshot`.
    :param drops: `drop-transaction` under way: (id of the signal, XID).
    :param taken: channel -> how far it is read, in a form of its own; without `source`, which comes with the stream.
    :param resumes: `resume-table` that is not begun: (id of the signal, name of the table by `TableNames.of`).
    :param resuming: suspended tables that are read again.
    :param streaming_paused: the stream waits for `resume-streaming`.
    """

    snapshots: tuple[AdHocSnapshot, ...] = ()
    paused: bool = False
    drops: tuple[tuple[str, str], ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    resumes: tuple[tuple[str, str], ...] = ()
    resuming: tuple[Resumption, ...] = ()
    streaming_paused: bool = False


@dataclass(frozen=True, slots=True)
class Offset:
    """The stored progress of a connector.

    :param adapter: `database.connection.adapter` of the position.
    :param position: as JSON; None while the initial snapshot is under way.
    :param partial: None unless a source transaction is delivered in part.
    :param snapshot: state of the initial snapshot; None when there is no more to do for it.
    :param history: how much of the schema history belongs to the offset: bytes of a file, or records of a topic that is written
        without Kafka transactions; None when the history is in the Kafka transactions of the offsets.
    :param signals: what signals have left to do.
    :param suspended: tables whose rows are left out.
    :param complete_scn: the records of every commit below it are delivered, and of those at it, unless one more commit turns out
        to have the same SCN; 0 when not known, as during the initial snapshot.
    :param excluded: name, by `TableNames.of`, of each table of the schema history that the configuration did not capture at the last
        start -> SCN up to which it was captured, 0 where that is not known.
    """

    adapter: str
    position: Mapping[str, JsonValue] | None = None
    partial: PartialTransaction | None = None
    snapshot: SnapshotState | None = None
    history: int | None = None
    signals: SignalState = SignalState()
    suspended: tuple[SuspendedTable, ...] = ()
    complete_scn: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
