"""Hands rows of V$LOGMNR_CONTENTS by their OPERATION_CODE to a way of assembling transactions.

INSERT, UPDATE, DELETE, large values ..   kept when the table is captured; with ROLLBACK=1 it undoes an earlier row
INTERNAL                                  ends a statement with LOBs outside the row, and says whose row it was
START, COMMIT, ROLLBACK                   a transaction begins and ends
DDL                                       shapes of tables change
MISSING_SCN                               LogMiner has found a gap
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.row import OTHER_ROW_CODES, LogMinerRow, OpCode
from minercdc.stream.events import Event

_log = logging.getLogger(__name__)


class RowHandler(Protocol):
    """A way of assembling transactions, as `dispatch` uses it. The argument `address` is the row's place in redo, None for a
    row without one. With COMMITTED_DATA_ONLY, which shows nothing undone, `undo` raises MiningSessionError, and `roll_back` for
    a transaction with changes."""

    def append(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Take a change of a captured table, a row without ROLLBACK."""

    def undo(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Take a row with ROLLBACK=1: it undoes an earlier change of a captured table within its transaction."""

    def end_statement(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Take the row that ends a statement with LOBs outside the row: it has the ROW_ID of the row that was changed."""

    def start(self, row: LogMinerRow, address: RedoAddress | None) -> None:
        """Take the START of a transaction, which says when it began and who began it. It may be missing, or come again."""

    def commit(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Take the COMMIT of a transaction: yields the events that are due now, none when they have to wait."""

    def roll_back(self, row: LogMinerRow) -> None:
        """Take the ROLLBACK of a whole transaction: its changes are dropped."""

    def ddl(self, row: LogMinerRow, address: RedoAddress | None) -> Iterator[Event]:
        """Take a DDL statement: yields the events that are due now, none when they have to wait."""


def dispatch(
    rows: Iterable[tuple[LogMinerRow, RedoAddress | None]], handler: RowHandler, delivery: Delivery
) -> Iterator[Event]:
    """Hand each row to the handler's method for its code, and yield the events that become ready. All rows of tables are
    counted, those of tables that are not captured then dropped; a gap of SCNs that LogMiner reports is logged as a warning.
    Raises what the handler and `Delivery.learn` raise."""
    append, knows, captured, count = handler.append, delivery.knows, delivery.captured, delivery.count
    name_of = delivery.name_of
    for row, address in rows:
        code = row.code
        if code == OpCode.INTERNAL:
            handler.end_statement(row, address)
        elif code <= OpCode.UPDATE or code in OTHER_ROW_CODES:
            name = name_of(row)
            if not knows(name):
                yield from delivery.learn(row)
            count(name, row.sql)
            if captured[name]:
                if row.rollback:
                    handler.undo(row, address)
                else:
                    append(row, address)
        elif code == OpCode.START:
            handler.start(row, address)
        elif code == OpCode.COMMIT:
            yield from handler.commit(row, address)
        elif code == OpCode.ROLLBACK:
            handler.roll_back(row)
        elif code == OpCode.DDL:
            yield from handler.ddl(row, address)
        elif code == OpCode.MISSING_SCN:
            _log.warning("LogMiner reports a gap of SCNs at %s: %s", row.scn, row.info)
