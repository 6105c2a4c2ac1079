"""Reads which transactions are open, or in doubt, in the databases of the captured tables.

Each function queries at each call, and raises SourceError or PrerequisiteError, as `codes.classify` makes them of Oracle's errors.

V$TRANSACTION is asked in each pluggable database itself. In the root it shows a common user the transactions of the root only,
unless CONTAINER_DATA is set for that user (docs/reference/logminer-facts.md#b-1-3).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import TypeVar

import oracledb

from minercdc.errors import PrerequisiteError, TransientSourceError
from minercdc.oracle.codes import IN_DOUBT, oracle_errors
from minercdc.oracle.kept_connection import KeptConnection
from minercdc.oracle.scn import current_scn, one_row
from minercdc.oracle.xid import of_text, text_of
from minercdc.stream.events import Scn

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

Connect = Callable[[], oracledb.Connection]


def transactions_view(connection: oracledb.Connection) -> str:
    """Name of the view with all open transactions: GV$TRANSACTION with several open redo threads, since V$TRANSACTION shows
    those of the own instance only; it needs a grant of its own. Else V$TRANSACTION. Raises SourceError or PrerequisiteError
    when Oracle refuses."""
    sql = "SELECT COUNT(*) FROM V$THREAD WHERE STATUS = 'OPEN'"
    instances = one_row(connection, sql, "counting the instances")[0]
    return "GV$TRANSACTION" if instances > 1 else "V$TRANSACTION"


def oldest_open_scn(connection: oracledb.Connection) -> Scn | None:
    """START_SCN of the oldest transaction that is open in any container and instance; None when there is none.

    START_SCN is 0 for a moment when a transaction begins; that transaction has no change yet. Raises SourceError or
    PrerequisiteError when Oracle refuses.
    """
    sql = f"SELECT MIN(START_SCN) FROM {transactions_view(connection)} WHERE START_SCN > 0"
    oldest = one_row(connection, sql, "reading the open transactions")[0]
    return None if oldest is None else Scn(int(oldest))


def open_transactions(connection: oracledb.Connection) -> set[bytes]:
    """XIDs (8 bytes) of the transactions that are open in any container, as far as the session sees it, and instance, and of
    those in doubt. Raises SourceError or PrerequisiteError when Oracle refuses."""
    return in_doubt(connection) | _shown(connection)


def _shown(connection: oracledb.Connection) -> set[bytes]:
    """XIDs of the transactions in `transactions_view`. Raises as `open_transactions`."""
    with oracle_errors("reading the open transactions"), connection.cursor() as cursor:
        cursor.execute(f"SELECT XID FROM {transactions_view(connection)}")
        return {bytes(xid) for (xid,) in cursor}


def in_doubt(connection: oracledb.Connection) -> set[bytes]:
    """XIDs of the transactions in doubt of the session's container: prepared for a two-phase commit, whose coordinator has not
    said yet how they end. V$TRANSACTION does not have them once their session or instance has ended, and nothing says where
    they began. Empty where DBA_2PC_PENDING is not granted. Raises SourceError when Oracle fails."""
    sql = "SELECT LOCAL_TRAN_ID FROM DBA_2PC_PENDING WHERE STATE = 'prepared'"
    try:
        with oracle_errors("reading the transactions in doubt"), connection.cursor() as cursor:
            cursor.execute(sql)
            return {of_text(str(local_id)) for (local_id,) in cursor}
    except PrerequisiteError:
        return set()


def _unplaced(connection: oracledb.Connection) -> set[bytes]:
    """Those of `in_doubt` that V$TRANSACTION does not have. Raises as `open_transactions`."""
    doubted = in_doubt(connection)
    return doubted - _shown(connection) if doubted else doubted


def refuse_in_doubt(connection: oracledb.Connection) -> None:
    """Check that no transaction is in doubt of which V$TRANSACTION does not say where it began: a stream that begins now would not
    have its changes when it is committed.

    :raises TransientSourceError: there is one.
    :raises SourceError, PrerequisiteError: Oracle refuses.
    """
    if doubted := _unplaced(connection):
        names = ", ".join(sorted(text_of(xid) for xid in doubted))
        raise TransientSourceError(
            f"transactions are in doubt, and it is not known where they began: {names}",
            hint=IN_DOUBT,
        )


def oldest_undecided_scn(connection: oracledb.Connection) -> Scn:
    """An SCN at or before the start of every transaction that is open now or begins later; 0 when one is in doubt whose start is
    not known. Raises SourceError or PrerequisiteError when Oracle refuses."""
    now = current_scn(connection)
    if _unplaced(connection):
        return Scn(0)
    oldest = oldest_open_scn(connection)
    return now if oldest is None else min(now, oldest)


class DatabaseTransactions:
    """Asks the databases on connections that it keeps; for one thread. The owner calls `close`.

    :param connects: opens a connection to each pluggable database; (): the database that is passed to the methods is asked.
    """

    def __init__(self, connects: Sequence[Connect]) -> None:
        self._kept = [KeptConnection(connect) for connect in connects]
        self._held = False

    def oldest_undecided_scn(self, connection: oracledb.Connection) -> Scn:
        """An SCN at or before the start of every transaction that is open now or begins later; 0 where that cannot be said: a
        database is not open, or has a transaction in doubt.

        :param connection: to the database that writes the redo.
        :raises SourceError, PrerequisiteError: V$TRANSACTION cannot be read for another reason.
        """
        found = self._asked(oldest_undecided_scn) if self._kept else [oldest_undecided_scn(connection)]
        oldest = Scn(0) if found is None else min(found)
        self._held = warn_of_doubt(found is not None and not oldest, warned=self._held)
        return oldest

    def xids(self, connection: oracledb.Connection) -> set[bytes] | None:
        """XIDs of the open transactions, also of those in doubt; None where a database is not open. As `oldest_undecided_scn`."""
        if not self._kept:
            return open_transactions(connection)
        found = self._asked(open_transactions)
        return None if found is None else set[bytes]().union(*found)

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        for kept in self._kept:
            kept.close()

    def _asked(self, read: Callable[[oracledb.Connection], _T]) -> list[_T] | None:
        found: list[_T] = []
        for kept in self._kept:
            answer = self._answer(kept, read) or self._answer(kept, read)  # a kept connection may be lost: once more
            if answer is None:
                return None
            found += answer
        return found

    def _answer(self, kept: KeptConnection, read: Callable[[oracledb.Connection], _T]) -> tuple[_T] | None:
        try:
            connection = kept.get()
        except (TransientSourceError, PrerequisiteError) as error:  # closed, or dropped
            _log.info("the open transactions of a database are not known: %s", error.message)
            return None
        try:
            return (read(connection),)
        except TransientSourceError as error:
            _log.info("the open transactions of a database are not known: %s", error.message)
            kept.close()
            return None


def warn_of_doubt(doubted: bool, *, warned: bool) -> bool:
    """Log a warning when a transaction in doubt holds the position back, unless that was `warned` of; returns `doubted`."""
    if doubted and not warned:
        _log.warning("a transaction in doubt holds the position back: its redo is needed until it is decided. %s", IN_DOUBT)
    return doubted


def oldest_open_in(connection: oracledb.Connection, connects: Sequence[Connect], *, doubted: bool = False) -> Scn | None:
    """START_SCN of the oldest transaction that is open now; None when there is none. For where a stream begins.

    :param connects: as of `DatabaseTransactions`; each connection is closed here.
    :param connection: asked where `connects` is empty.
    :param doubted: transactions in doubt do not matter.
    :raises TransientSourceError: a transaction is in doubt (`refuse_in_doubt`), or a database is not there at present.
    :raises SourceError, PrerequisiteError, ConfigError: Oracle's other errors; or connecting failed.
    """
    found = []
    with ExitStack() as stack:
        for one in [stack.enter_context(closing(connect())) for connect in connects] or [connection]:
            if not doubted:
                refuse_in_doubt(one)
            found.append(oldest_open_scn(one))
    return min((scn for scn in found if scn is not None), default=None)
