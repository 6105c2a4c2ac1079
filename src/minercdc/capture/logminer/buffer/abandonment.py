"""Drops open transactions that may never end: those that are too old or too large, and those that the database no longer
knows.

A transaction that is given up is lost, which is why nothing is given up unless the configuration says so, and each is
reported by a warning with its XID and the number of its changes.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from minercdc.capture.logminer.buffer.assembler import Assembly
from minercdc.capture.logminer.buffer.transactions import Transaction, TransactionKey
from minercdc.capture.logminer.session.row import PARTIAL_XID
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.errors import LostTransactionError

_log = logging.getLogger(__name__)

UnknownMode = Literal["fail", "warn", "skip"]

# How often, and from which age on, the open transactions are read from the database.
_DOUBT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Limits:
    """What an open transaction may grow to: age since its START, and changes. `age` None or `changes` 0: no limit of that
    kind."""

    age: timedelta | None = None
    changes: int = 0

    def enforce(self, assembly: Assembly, host_time: datetime) -> None:
        """Give up open transactions that are older, or have more changes, than a limit says, each with a warning; to be
        called after a pass. Without limits it has no effect.

        :param host_time: of the database's host now, without zone.
        """
        if self.age is None and not self.changes:
            return
        for transaction in assembly.open():
            age = host_time - transaction.start.time
            if self.age is not None and age > self.age:
                reason = f"it is open for {age}, beyond log.mining.transaction.retention.ms"
            elif self.changes and transaction.changes > self.changes:
                reason = "it is larger than log.mining.buffer.transaction.events.threshold"
            else:
                continue
            _log.warning("%s is dropped: %s. Its changes are lost.", _describe(transaction), reason)
            assembly.give_up(transaction)


def limits_of(config: LogMiningConfig) -> Limits:
    """The limits by `log.mining.transaction.retention.ms` and `log.mining.buffer.transaction.events.threshold`; 0 in either
    sets none."""
    retention = config.log_mining_transaction_retention_ms
    age = timedelta(milliseconds=retention) if retention else None
    return Limits(age, config.log_mining_buffer_transaction_events_threshold)


class UnknownTransactions:
    """Looks for open transactions that the database does not know any more: their COMMIT or ROLLBACK was not seen. Around a
    pass `due` comes first, then XIDs are read from the database, then, after the pass, `judge`.

    :param mode: `fail` raises, `warn` warns once for each and keeps waiting, `skip` warns and gives them up.
    """

    def __init__(self, mode: UnknownMode) -> None:
        self._mode = mode
        self._checked_at: datetime | None = None
        self._suspects: list[Transaction] = []
        self._reported: set[TransactionKey] = set()

    def due(self, assembly: Assembly, host_time: datetime) -> bool:
        """To be called before a pass: remembers the transactions that are open for over ten minutes, and returns whether to
        `judge` them after it. False when there are none, and for ten minutes after a True.

        :param host_time: of the database's host now, without zone.
        """
        if self._checked_at is not None and abs(host_time - self._checked_at) < _DOUBT:
            return False
        self._suspects = [t for t in assembly.open() if host_time - t.start.time > _DOUBT]
        if self._suspects:
            self._checked_at = host_time
        return bool(self._suspects)

    def judge(self, assembly: Assembly, known: set[bytes]) -> None:
        """To be called after the pass: a transaction that `due` remembered will not end if it is still open, and not in
        `known`; `mode` decides what is done with it, unless its ROLLBACK may have been read. What `due` remembered is forgotten.

        :param known: XIDs that were open in the database before the pass. An XID of which redo shows a part is compared by that.
        :raises LostTransactionError: there is one, and the mode is `fail`.
        """
        still_open = {transaction.key for transaction in assembly.open()}
        prefixes = {xid[:4] for xid in known}
        for transaction in self._suspects:
            xid = transaction.key[1]
            if transaction.key not in still_open or xid in known or transaction.key in self._reported:
                continue
            if xid[4:] == PARTIAL_XID and xid[:4] in prefixes:
                continue
            if assembly.drop_rolled_back(transaction):
                continue
            self._reported.add(transaction.key)
            message = f"{_describe(transaction)} is no longer known to the database, and the redo contains neither its COMMIT nor its ROLLBACK"
            if self._mode == "fail":
                raise LostTransactionError(
                    message,
                    hint="Find out whether it was committed; minercdc.log.mining.unknown.transaction.mode=skip drops it.",
                )
            _log.warning("%s. %s", message, "It is dropped." if self._mode == "skip" else "It stays open here.")
            if self._mode == "skip":
                assembly.give_up(transaction)
        self._suspects = []


def _describe(transaction: Transaction) -> str:
    start = transaction.start
    return (
        f"transaction {transaction.key[1].hex()} of thread {transaction.thread}, user {start.user or 'unknown'}, "
        f"begun {start.time} at SCN {start.scn}, {transaction.changes} changes,"
    )
