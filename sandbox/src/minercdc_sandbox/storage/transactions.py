"""Open transactions: XIDs from undo segments and slots, undo entries newest last, savepoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from minercdc_sandbox.interfaces import OraError

if TYPE_CHECKING:
    from minercdc_sandbox.redo.batches import RedoBatch
    from minercdc_sandbox.tables import Table

_SEGMENTS = 10
_SLOTS = 34

TENTATIVE = 1 << 61
"""Values of s and x from here on are stamps of transactions; below are SCNs."""


class UndoKind(Enum):
    """The action that an undo entry takes back: a change of rows, a row lock of FOR UPDATE, a table lock."""

    INSERT = auto()
    UPDATE = auto()
    DELETE = auto()
    ROW_LOCK = auto()
    TABLE_LOCK = auto()


@dataclass(slots=True)
class Undo:
    """How to take one change back; `Storage.undo_to` does.

    :param first: version id of the row; of the first row of an array insert; of a row lock the row number, of a table lock the
        mode held before.
    :param count: rows of an array insert.
    :param before, after: the row of an UPDATE, `before` also of a DELETE; else None. `changed`: positions of assigned columns.
    :param in_place: the row version was the transaction's own already, so it was overwritten, or removed by a DELETE.
    """

    op: UndoKind
    table: Table
    first: int
    count: int = 1
    before: tuple[bytes | str | None, ...] | None = None
    after: tuple[bytes | str | None, ...] | None = None
    changed: tuple[int, ...] = ()
    in_place: bool = False


@dataclass(slots=True, eq=False)
class Transaction:
    """One open transaction of a client, from `Transactions.begin` to its commit or rollback.

    :param xid: (usn, slot, sequence).
    :param stamp: marks its uncommitted row versions; above all SCNs.
    :param start_scn, start_time: SCN and host seconds when it became active, before that when it began.
    :param thread: redo thread that its redo is written to.
    :param name: of SET TRANSACTION NAME; None without one.
    :param undo: entries in the order of the changes.
    :param strand: redo not yet in the log; `strand_records` and `strand_bytes`: how much that is.
    :param snapshot: SCN that all statements see, of serializable and read-only transactions; None of others: each statement has
        its own.
    :param active: it has an undo segment and its START is in the strand or the log: it changed or locked a row, or
        `Storage.start` was called. LOCK TABLE alone does not make it so.
    :param ended: its COMMIT or ROLLBACK is written, or about to be.
    :param in_doubt: prepared for a two-phase commit, and its session has lost it: COMMIT FORCE or ROLLBACK FORCE ends it.
    :param logged_from: sequence of the log where its redo begins; None while all of it is in the strand.
    :param segments: data object ids of the tables it changed.
    :param savepoints: name, length of the undo then, number of signals then.
    :param signals: of DBMS_ALERT: length of the undo then, name and message (None for NULL).
    """

    xid: tuple[int, int, int]
    stamp: int
    start_scn: int
    start_time: float
    container: int
    sid: int
    serial: int
    user: str
    thread: int = 1
    name: str | None = None
    undo: list[Undo] = field(default_factory=list)
    savepoints: list[tuple[str, int, int]] = field(default_factory=list)
    strand: list[RedoBatch] = field(default_factory=list)
    strand_records: int = 0
    strand_bytes: int = 0
    snapshot: int | None = None
    read_only: bool = False
    active: bool = False
    ended: bool = False
    in_doubt: bool = False
    logged_from: int | None = None
    segments: set[int] = field(default_factory=set)
    signals: list[tuple[int, str, str | None]] = field(default_factory=list)

    @property
    def local_id(self) -> str:
        """LOCAL_TRAN_ID of DBA_2PC_PENDING."""
        return ".".join(map(str, self.xid))

    @property
    def xid_bytes(self) -> bytes:
        """XID as the RAW(8) of V$TRANSACTION and V$LOGMNR_CONTENTS (little-endian host)."""
        usn, slot, sequence = self.xid
        return usn.to_bytes(2, "little") + slot.to_bytes(2, "little") + sequence.to_bytes(4, "little")


class Transactions:
    """The open transactions of all containers. A slot is reused with a higher sequence, never while its transaction is open.
    Containers have undo of their own, so two of them can have the same XID. Changed under the storage lock.

    :ivar begun: how many transactions have begun; stamps are made of it.
    :ivar turns: how many slots were tried, by container; XIDs are made of it.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.turns: dict[int, int] = {}
        self._open: dict[tuple[int, int, int], Transaction] = {}
        self._by_stamp: dict[int, Transaction] = {}

    def begin(
        self, *, scn: int, time: float, container: int, sid: int, serial: int, user: str, thread: int = 1
    ) -> Transaction:
        """A new transaction, not active yet, in the container's next free slot; `scn` and `time` (host seconds) are those of its
        beginning. Raises ORA-01554 when there is none."""
        self.begun += 1
        for _ in range(_SEGMENTS * _SLOTS):
            turn = self.turns.get(container, 0)
            self.turns[container] = turn + 1
            place = (turn % _SEGMENTS + 1, turn // _SEGMENTS % _SLOTS)
            if (container, *place) not in self._open:
                break
        else:
            raise OraError(
                1554, "transaction concurrency limit reached reason:no undo segment with available slot found params:0,0"
            )
        sequence = 301 + 17 * place[0] + turn // (_SEGMENTS * _SLOTS)
        transaction = Transaction(
            (*place, sequence), TENTATIVE + self.begun, scn, time, container, sid, serial, user, thread
        )
        self._open[container, *place] = transaction
        self._by_stamp[transaction.stamp] = transaction
        return transaction

    def end(self, transaction: Transaction) -> None:
        """Mark as ended and forget a transaction that was committed or rolled back."""
        transaction.ended = True
        del self._open[transaction.container, *transaction.xid[:2]]
        del self._by_stamp[transaction.stamp]

    def with_stamp(self, stamp: int) -> Transaction | None:
        """The open transaction with this stamp; None when it has ended."""
        return self._by_stamp.get(stamp)

    def open(self) -> list[Transaction]:
        """For V$TRANSACTION: a new list of the open transactions that are active, by the order they began in; not those in doubt."""
        return [t for t in self.all_open() if t.active and not t.in_doubt]

    def in_doubt(self, container: int) -> list[Transaction]:
        """For DBA_2PC_PENDING: a new list of the transactions of a container that are in doubt."""
        return [t for t in self.all_open() if t.in_doubt and t.container == container]

    def all_open(self) -> list[Transaction]:
        """A new list of all open transactions, also those that are not active, by the order they began in."""
        return sorted(self._open.copy().values(), key=lambda t: t.stamp)
