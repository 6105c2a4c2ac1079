"""Finds the position after what another reader of the same redo has delivered, exactly to the transaction.

That reader knows SCNs and transactions, a position has redo addresses. Both are in the redo:

    since ............ COMMIT  COMMIT  DDL  COMMIT | COMMIT  COMMIT
    delivered before    '- delivered ------------' | '- new; the first may be delivered in part
                              last_commit, last_ddl'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import oracledb

from minercdc.capture.logminer.buffer.committed import beginning
from minercdc.capture.logminer.logs.redo_logs import LogSelection
from minercdc.capture.logminer.open_at import await_written, mine_from, selection_from
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress, ThreadMark, address_of
from minercdc.capture.logminer.session.logminer_session import MiningSession
from minercdc.capture.logminer.session.row import LARGE_CODES, ZERO_XID, OpCode
from minercdc.errors import SourceError
from minercdc.oracle.scn import database_identity
from minercdc.schema.table_filter import SYSTEM_SCHEMAS
from minercdc.stream.offset import PartialTransaction

Connect = Callable[[], oracledb.Connection]
_FETCH: Final = 10_000
_SQL: Final = (
    "SELECT SCN, OPERATION_CODE, XID, THREAD#, RS_ID, INFO FROM V$LOGMNR_CONTENTS"
    f" WHERE OPERATION_CODE IN ({int(OpCode.COMMIT)}, {int(OpCode.DDL)})"
)


class Done(NamedTuple):
    """A COMMIT or a user's DDL in redo; `address.rows` is a COMMIT's number in its redo record, from 1. `xid` is hex."""

    thread: int
    address: RedoAddress
    scn: int
    xid: str
    is_ddl: bool = False


# CSF = 1: the statement goes on in the next row.
_CHANGES: Final = ", ".join(str(int(code)) for code in (OpCode.INSERT, OpCode.DELETE, OpCode.UPDATE, *sorted(LARGE_CODES)))
_ROWS: Final = f"SELECT OPERATION_CODE, SEG_OWNER, TABLE_NAME, CSF FROM V$LOGMNR_CONTENTS WHERE OPERATION_CODE IN ({_CHANGES}) AND XID = :xid"


@dataclass(frozen=True, slots=True)
class LastCommit:
    """How far a thread is delivered.

    :param xids: of the transactions with this commit SCN that are delivered, as hex; empty: those up to `rs_id` are.
    :param rs_id: redo record of the last of them, where that is known in place of `xids`; '': all are delivered.
    """

    scn: int
    xids: frozenset[str] = frozenset()
    rs_id: str = ""

    def covers(self, commit: Done) -> bool:
        """Whether this commit of the same thread is delivered."""
        if commit.scn != self.scn:
            return commit.scn < self.scn
        return commit.xid in self.xids if self.xids else not self.rs_id or commit.address.rs_id <= self.rs_id


@dataclass(frozen=True, slots=True)
class DeliveredElsewhere:
    """What another reader has delivered, as its offset says it.

    :param since: what was committed before this SCN is delivered, in every thread.
    :param commits: per thread, where it got to from there on.
    :param ddl_scn: of the last DDL that it followed, 0 for none.
    :param in_flight: XID of the transaction it delivered last, '' for none; `in_flight_seq` is the number of its last delivered
        event.
    :param counts_all: that number counts the changes of all tables, not of captured ones only.
    """

    since: int
    commits: Mapping[int, LastCommit] = field(default_factory=dict)
    ddl_scn: int = 0
    in_flight: str = ""
    in_flight_seq: int = 0
    counts_all: bool = False


@dataclass(frozen=True, slots=True)
class Marks:
    """What `marks_of` finds: per thread, the last delivered COMMIT and DDL.

    :param partial: the new transaction that `DeliveredElsewhere.in_flight` names; None when no new one has that XID.
    """

    commits: Mapping[int, Done]
    ddl: Mapping[int, RedoAddress]
    partial: PartialTransaction | None


@dataclass(frozen=True, slots=True)
class Imported:
    """Where to go on from.

    :param partial: the transaction that the other reader delivered last, in part or in whole, where the position does not
        count it as delivered; else None.
    :param moved: owner and name of the table whose row the last delivered event of `partial` updated; None when it did something
        else, when that is not known (large values), and without `partial`.
    """

    position: LogMinerPosition
    partial: PartialTransaction | None = None
    moved: tuple[str, str] | None = None


def position_after(
    connect: Connect,
    done: DeliveredElsewhere,
    container: str | None,
    captured: Callable[[str, str], bool],
    inside: Sequence[Connect] = (),
) -> Imported:
    """Where to go on from, found in the redo that Oracle has: it mines the redo from the first transaction that is needed to the
    present, by connections of its own.

    :param connect: opens a connection for mining.
    :param container: SRC_CON_NAME of the rows; None: all rows count.
    :param captured: whether a table (owner, name) is captured; its errors pass through.
    :param inside: opens a connection to `container`; () where it is None.
    :raises LogGapError: redo that this takes is gone.
    :raises SourceError: what is delivered is not a beginning of what was committed, thread by thread; or the number of the last
        event does not say where in its transaction that is.
    :raises SourceError, PrerequisiteError, ConfigError: Oracle's other errors, as `codes.classify` makes them; or connecting
        failed.
    """
    first = mine_from(connect, done.since - 1, container, inside)
    with closing(connect()) as connection:
        await_written(connection)
        marks = marks_of(_read(connection, selection_from(connection, done.since, done.since), container), done)
        selection = selection_from(connection, first, done.since)
        begins = beginning(selection.files, first)
        database = database_identity(connection)
        partial, moved = marks.partial, None
        if partial is not None:
            partial, moved = _placed(partial, _changes(connection, selection, container, partial), done, captured)
    threads = {}
    for thread, resume in begins.items():
        commit = marks.commits.get(thread)
        threads[thread] = ThreadMark(
            resume, first, commit.address if commit else None, commit.scn if commit else 0, marks.ddl.get(thread)
        )
    return Imported(LogMinerPosition(threads, first, done.since - 1, database.resetlogs, dbid=database.dbid), partial, moved)


def marks_of(found: Sequence[Done], done: DeliveredElsewhere) -> Marks:
    """The marks up to which `done` has delivered the COMMITs and DDL of redo. Raises SourceError when, in a thread, a COMMIT
    that is not delivered lies before one that is.

    :param found: each COMMIT and DDL from `done.since` on, in redo order per thread.
    """
    commits: dict[int, Done] = {}
    first_new: dict[int, Done] = {}
    partial: PartialTransaction | None = None
    for commit in sorted((one for one in found if not one.is_ddl), key=lambda one: (one.thread, one.address)):
        delivered = commit.scn < done.since or (commit.thread in done.commits and done.commits[commit.thread].covers(commit))
        if not delivered:
            first_new.setdefault(commit.thread, commit)
            if commit.xid == done.in_flight:
                partial = PartialTransaction(commit.xid, commit.scn, done.in_flight_seq)
        elif (before := first_new.get(commit.thread)) is not None:
            raise SourceError(
                f"redo thread {commit.thread} has transaction {before.xid} (SCN {before.scn}), which is not delivered, before"
                f" {commit.xid} (SCN {commit.scn}), which is",
                hint="The offset belongs to another database, or to another incarnation of this one.",
            )
        else:
            commits[commit.thread] = commit
    ddl: dict[int, RedoAddress] = {}
    for one in found:
        last = commits.get(one.thread)
        if one.is_ddl and (one.scn <= done.ddl_scn or (last is not None and one.address < last.address)):
            ddl[one.thread] = max(RedoAddress(one.address.rs_id), ddl.get(one.thread, RedoAddress("")))
    return Marks(commits, ddl, partial)


class _Change(NamedTuple):
    """A row of redo that changes a table, or holds a piece of a large value: OPERATION_CODE, SEG_OWNER and TABLE_NAME."""

    code: int
    owner: str
    table: str


def _changes(
    connection: oracledb.Connection, selection: LogSelection, container: str | None, partial: PartialTransaction
) -> list[_Change]:
    """The changes of a transaction that were not undone, in order, those of Oracle's own schemas left out. Mines the
    logs of `selection` by this connection, which the caller closes."""
    session = MiningSession(connection, _FETCH)
    session.use_logs(selection.files)
    session.start(selection.start_scn, committed=True)
    sql: str = _ROWS
    binds: dict[str, Any] = {"xid": bytes.fromhex(partial.tx_id)}
    if container is not None:
        sql += " AND SRC_CON_NAME = :container"
        binds["container"] = container
    rows = (row for batch in session.rows(sql, binds) for row in batch)
    return [_Change(int(code), owner, table) for code, owner, table, csf in rows if not csf and owner not in SYSTEM_SCHEMAS]


def _placed(
    partial: PartialTransaction, changes: Sequence[_Change], done: DeliveredElsewhere, captured: Callable[[str, str], bool]
) -> tuple[PartialTransaction, tuple[str, str] | None]:
    """The partial transaction with the number that its last delivered event has here, which counts captured tables only;
    and owner and name of the table whose row that event updated, None when the event did something else or is not known.
    With large values, the number stays as it is.

    :param changes: of the transaction, in order.
    """
    own = [change for change in changes if captured(change.owner, change.table)]
    counted = changes if done.counts_all else own
    if any(change.code in LARGE_CODES for change in counted):
        if partial.seq < len(counted):
            raise SourceError(
                f"transaction {partial.tx_id} (SCN {partial.commit_scn}) has large values and is delivered up to its event"
                f" {partial.seq}, which does not say up to which change",
                hint="Run Debezium once more, and stop it at a time without changes.",
            )
        return partial, None
    before = counted[: partial.seq]
    seq = sum(captured(change.owner, change.table) for change in before) if done.counts_all else partial.seq
    last = before[-1] if before else None
    moved = (last.owner, last.table) if last is not None and last.code == OpCode.UPDATE else None
    return replace(partial, seq=seq), moved


def _read(connection: oracledb.Connection, selection: LogSelection, container: str | None) -> list[Done]:
    session = MiningSession(connection, _FETCH)
    session.use_logs(selection.files)
    session.start(selection.start_scn)
    sql, binds = _SQL, {}
    if container is not None:
        sql, binds = f"{_SQL} AND SRC_CON_NAME = :container", {"container": container}
    rows = (row for batch in session.rows(sql, binds) for row in batch)
    return list(_numbered(rows))


def _numbered(rows: Iterator[tuple[int, int, bytes | None, int, str, str | None]]) -> Iterator[Done]:
    """The COMMITs and users' DDL among the rows, with their addresses; the n-th COMMIT of a redo record has the number n.
    Rows without address are left out."""
    last: dict[int, RedoAddress] = {}
    for scn, code, xid, thread, rs_id, info in rows:
        address = address_of(thread, rs_id)
        if address is None:
            continue
        if code == OpCode.DDL:
            if (info or "").lstrip().startswith("USER DDL"):
                yield Done(thread, address, int(scn), bytes(xid or ZERO_XID).hex(), is_ddl=True)
            continue
        before = last.get(thread)
        if before is not None and before.rs_id == address.rs_id:
            address = RedoAddress(address.rs_id, before.rows + 1)
        last[thread] = address
        yield Done(thread, address, int(scn), bytes(xid or ZERO_XID).hex())
