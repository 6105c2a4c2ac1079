"""The events of a pipeline, from captures, snapshots and signals to the encoder; `rows.py` says what a `Row` holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType, Protocol, TypeAlias

from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.offset import Position, SignalState, SnapshotState, SuspendedTable
from minercdc.stream.rows import UNAVAILABLE as UNAVAILABLE
from minercdc.stream.rows import ColumnarRows as ColumnarRows
from minercdc.stream.rows import FetchedRow as FetchedRow
from minercdc.stream.rows import FetchedRows as FetchedRows
from minercdc.stream.rows import Row as Row
from minercdc.stream.rows import RowConversion as RowConversion
from minercdc.stream.rows import Unavailable as Unavailable
from minercdc.stream.rows import Value as Value

Scn = NewType("Scn", int)


class Op(StrEnum):
    """Kind of a row change; the letters are Debezium's `op`."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    TRUNCATE = "t"


class SnapshotMark(StrEnum):
    """Where a snapshot row stands in its snapshot, or INCREMENTAL outside the initial one; Debezium's `source.snapshot`."""

    FIRST = "first"
    FIRST_IN_DATA_COLLECTION = "first_in_data_collection"
    TRUE = "true"
    LAST_IN_DATA_COLLECTION = "last_in_data_collection"
    LAST = "last"
    INCREMENTAL = "incremental"


# Not frozen: a frozen dataclass costs several times as much to build, and one is built per row.
@dataclass(slots=True)
class TransactionInfo:
    """Facts of a committed transaction.

    :param id: XID, 16 lower-case hex digits; `PDB:XID` with several pluggable databases; of `txlog` the number that it gives a
        transaction, in as many digits.
    :param start_scn: SCN of its START, 0 when not known.
    :param start_us, commit_us: times of its START and COMMIT, microseconds since the epoch in UTC; `start_us` 0 when not known. Of
        an adapter that does not have the time of the COMMIT, `commit_us` is the nearest time that it has.
    :param redo_thread: 0 when not known.
    :param user, client_id: of its session, None when not known.
    """

    id: str
    start_scn: Scn
    commit_scn: Scn
    start_us: int
    commit_us: int
    redo_thread: int
    user: str | None
    client_id: str | None = None


@dataclass(slots=True)
class ChangeEvent:
    """One row change.

    :param before, after: the row's images; `before` of CREATE and READ, of every UPDATE of `txlog`, and `after` of DELETE are None.
    :param time_us: when the row was changed, or when a snapshot read it; microseconds since the epoch in UTC.
    :param scn: of the change, of the COMMIT where the adapter has no other; of a row that was read, the SCN it was read at
        (between marks, one before that).
    :param tx: None for rows that were read, by a snapshot or by `flashback` without its transactions.
    :param seq: 1, 2, 3 .. within the transaction, the same at every replay; 0 without one.
    :param row_id, rs_id, ssn: the row's ROWID, and its place in redo; None and 0 when there is none.
    :param redo_sql: SQL_REDO; None when it is not kept, or the row is not from LogMiner.
    :param snapshot: None for a change with a transaction.
    :param reselected_scn: SCN as of which large values that redo does not hold were read from the row; None when none were.
    :param has_unknown_large: the change set a large value that redo does not hold.
    """

    op: Op
    schema: TableSchema
    before: Row | None
    after: Row | None
    scn: Scn
    time_us: int
    tx: TransactionInfo | None
    seq: int
    row_id: str | None = None
    rs_id: str | None = None
    ssn: int = 0
    redo_sql: str | None = None
    snapshot: SnapshotMark | None = None
    reselected_scn: Scn | None = None
    has_unknown_large: bool = False


class ScannedRows(Protocol):
    """Row changes that follow each other, as text of which is known that it can be decoded, and where its values are: of one
    transaction, or of several that were committed one after the other, each with at least one change. Changes and transactions
    are numbered from 0 here."""

    def __len__(self) -> int: ...

    @property
    def tables(self) -> frozenset[TableId]:
        """The tables that were changed."""

    @property
    def commit_scns(self) -> tuple[int, int]:
        """Least and greatest commit SCN of the transactions."""

    def place(self, i: int) -> tuple[TransactionInfo, int]:
        """Transaction and `ChangeEvent.seq` of change number `i`."""

    def event(self, i: int) -> ChangeEvent:
        """Change number `i`, decoded. Each call makes another one."""

    def ended(self, rows: int) -> int:
        """How many transactions, the last one apart, have all their changes among the first `rows`."""

    def end(self, n: int) -> int:
        """How many changes there are up to and with the last of transaction number `n`."""

    def progress(self, n: int) -> Progress:
        """What follows the last change of transaction number `n`."""


@dataclass(slots=True)
class ChangeRun:
    """Row changes in place of as many ChangeEvents, and of the Progress that stands between their transactions: an encoder that
    knows them can print them without a Python object for each row. What follows the last transaction is not part of the run.
    Whoever looks at rows takes `events`.
    """

    rows: ScannedRows

    def events(self, begin: int = 0) -> Iterator[ChangeEvent | Progress]:
        """What the run stands for, from change number `begin` on. When that change is the first of its transaction, the
        Progress of the transaction before it comes first. Each call decodes again."""
        ended = self.rows.ended(begin - 1) if begin else 0
        for i in range(begin, len(self.rows)):
            if self.rows.ended(i) > ended:
                yield self.rows.progress(ended)
                ended += 1
            yield self.rows.event(i)


@dataclass(slots=True)
class ReadRun:
    """Rows of one table that a snapshot read, in place of as many READ events: an encoder that knows them can print them from
    what was fetched. Whoever looks at rows takes `events`.

    :param fetched: at least one row.
    :param scn, time_us: as of `ChangeEvent`, of each of the rows; `snapshot` likewise.
    """

    fetched: FetchedRows
    scn: Scn
    time_us: int
    snapshot: SnapshotMark

    def __len__(self) -> int:
        return len(self.fetched)

    @property
    def row_id(self) -> str | None:
        """ROWID of the last row; None when the rows have none."""
        return self.fetched.row_id(-1)

    def events(self, begin: int, end: int) -> list[ChangeEvent]:
        """The rows from number `begin` up to, and without, number `end`; at least one. Each call converts them again. Raises
        ValueDecodeError for a value that does not fit its type."""
        fetched, scn, time_us = self.fetched, self.scn, self.time_us
        return [
            ChangeEvent(Op.READ, fetched.schema, None, row, scn, time_us, None, 0, row_id, snapshot=self.snapshot)
            for row_id, row in fetched.convert(fetched.rows[begin:end])
        ]


@dataclass(slots=True)
class UndecodableRow:
    """A row or TRUNCATE that is left out, with what a repair by hand needs: it has no record, or its table is suspended.

    :param table: None when not even that is known.
    :param op: of the row: LogMiner's word (INSERT, UPDATE, DELETE, ...), also for a row that was decoded; READ for one of a snapshot.
    :param reason: code and message of the error; for a row of a table that is suspended already, that it is.
    :param redo_sql: SQL_REDO; of `olr` and `fors_olr` the row's images as JSON; None when there is neither.
    :param scn, time_us, tx, row_id, rs_id, ssn: as of `ChangeEvent`.
    :param seq: number of the transaction's last change before it, 0 when it has none; its own number when it is `counted`.
    :param code: of the error; '' for a row of a table that is suspended already.
    :param hint: of the error; '' when it has none, or there is no error.
    :param counted: it was not decoded, because its table is suspended; such rows have numbers like changes.
    :param images: of a row that was decoded: its table version, the row before and the row after; else None.
    """

    table: TableId | None
    op: str
    reason: str
    redo_sql: str | None
    scn: Scn
    time_us: int
    tx: TransactionInfo | None
    seq: int
    row_id: str | None = None
    rs_id: str | None = None
    ssn: int = 0
    code: str = ""
    hint: str = ""
    counted: bool = False
    images: tuple[TableSchema, Row | None, Row | None] | None = None

    @classmethod
    def of_truncate(cls, change: SchemaChange, reason: str) -> UndecodableRow:
        """What is kept of a TRUNCATE that is left out. The row's code and hint are ''."""
        return cls(change.table, Op.TRUNCATE.name, reason, change.ddl, change.scn, change.time_us, None, 0)


@dataclass(slots=True)
class VanishedRow:
    """A row that a table's topic holds and the table does not any more. Only the key of its records is known.

    :param key: of the records, as `snapshot.incremental.resuming_contracts.TopicMemory` gives it.
    :param scn, time_us: that its delete is to have; microseconds since the epoch in UTC.
    """

    schema: TableSchema
    key: bytes
    scn: Scn
    time_us: int


@dataclass(slots=True)
class SuspensionChange:
    """A table is suspended from this event on; its suspension ends here when `suspended` is None.

    :param table: its name, by `TableNames.of`.
    :param covered_scn: where it ends and the table is read again, changes up to this SCN are left out of the stream, and deletes among
        them are not known (`Resumption.covered_scn`); 0 where it is not read.
    """

    table: str
    suspended: SuspendedTable | None
    covered_scn: int = 0


@dataclass(slots=True)
class SchemaChange:
    """One DDL statement, or the structure of a table found by a snapshot.

    :param table: by its name after the change, RENAME included; of one that was dropped, the name it had.
    :param before: None when the table is new.
    :param after: None when it was dropped.
    :param ddl: the statement, '' when there is none; of a structure that a snapshot read, the text of CREATE TABLE or ''.
    :param time_us: of the statement, or when the snapshot read the structure; microseconds since the epoch in UTC.
    :param truncate: the statement was a TRUNCATE, which changes no shape.
    :param left_out: a TRUNCATE of a table that is suspended, or read again: it is no message of the table.
    :param ids_only: nothing has changed but what is known of the table's partitions, keys or stored columns: it is for the schema history, and no message.
    :param snapshot: found by a snapshot, not read from redo.
    :param rows: the snapshot is an initial one that reads the table's rows, too, as of `scn`.
    :param tx_id, user, redo_thread: of the statement; None when not known.
    """

    table: TableId
    before: TableSchema | None
    after: TableSchema | None
    ddl: str
    scn: Scn
    time_us: int
    truncate: bool = False
    snapshot: bool = False
    rows: bool = False
    tx_id: str | None = None
    user: str | None = None
    redo_thread: int | None = None
    left_out: bool = False
    ids_only: bool = False


@dataclass(slots=True)
class Progress:
    """Everything up to `position` has been emitted. Comes after each transaction with events, within snapshots, and as an
    idle tick.

    :param position: where to go on from; None while an initial snapshot is under way.
    :param complete_scn: every commit at or below it has been emitted; 0 when not known.
    :param time_us: source time up to which every commit has been emitted, microseconds since the epoch in UTC; 0 when not known.
    :param committed: the transaction that ended here; None where none did.
    :param snapshot: state of the initial snapshot, when it is due or running; None when there is no more to do for it.
    :param signals: what signals have left to do, None when it is as before.
    :param more: rows follow at once, so this need not be made durable now.
    """

    position: Position | None
    complete_scn: Scn
    time_us: int
    committed: TransactionInfo | None = None
    snapshot: SnapshotState | None = None
    signals: SignalState | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Notification:
    """A report, as on a snapshot, signal or table. Among events it keeps its place, and is shown once it is durable.

    :param id: of the signal or run, or made of its subject (`ddl-SCN-TABLE`); a UUID where nothing names it.
    :param aggregate_type: its subject: `Initial Snapshot`, `Incremental Snapshot`, `Signal`, ...
    :param type: what happened: STARTED, IN_PROGRESS, COMPLETED, ...
    :param time_us: when; microseconds since the epoch in UTC.
    :param additional_data: details, by Debezium's keys or ours; `connector_name` is added when it is written.
    """

    id: str
    aggregate_type: str
    type: str
    time_us: int
    additional_data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TransactionMark:
    """Begin or end of a source transaction that has records.

    :param time_us: of its first change, or of its COMMIT; microseconds since the epoch in UTC.
    :param events: at its end, how many events it has, by table, as `DATABASE.SCHEMA.TABLE`; None at its begin.
    """

    tx: TransactionInfo
    time_us: int
    events: Mapping[str, int] | None = None


Event: TypeAlias = (
    ChangeEvent
    | ChangeRun
    | ReadRun
    | UndecodableRow
    | VanishedRow
    | SuspensionChange
    | SchemaChange
    | Progress
    | Notification
    | TransactionMark
)
