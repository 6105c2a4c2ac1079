"""Array DML: each row of binds is a statement of its own, whose error undoes it alone (JDBC and OCI batch errors)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from minercdc_sandbox.interfaces import BatchError, OraError, Result
from minercdc_sandbox.sql.dml.returning import ReturningPlan, note
from minercdc_sandbox.sql.dml.target import BindRow
from minercdc_sandbox.sql.execution import SqlSession, StatementCall
from minercdc_sandbox.storage.changes import StatementRestart
from minercdc_sandbox.tables import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fired:
    """A change of a table by one statement. `event`: INSERT, UPDATE or DELETE; `assigned`: positions of the assigned columns."""

    table: Table
    event: str
    assigned: Sequence[int] = ()


def refuse_fired(session: SqlSession, table: Table, words: str, *events: str) -> None:
    """Raises ORA-03001 when the table has an enabled trigger for statements of one of these events, which the statement that `words`
    names would have to fire."""
    if any(session.programs.fires(table, event, of_rows=False) for event in events):
        raise OraError(3001, f"unimplemented feature: triggers for statements with {words} ({table.owner}.{table.name})")


def iterate(
    session: SqlSession,
    call: StatementCall,
    once: Callable[[Result, BindRow], tuple[int, list[BindRow]]],
    returning: ReturningPlan | None = None,
    fired: Fired | None = None,
) -> Result:
    """Run DML for each row of binds, each undone alone when it fails. An error is noted with batch errors on, else raised with
    the counts of the rows before, which stay. Raises ORA-03001 for several rows of binds where a trigger fires for the statement:
    how often it does then is not known.

    :param once: runs it for one row of binds; returns how many rows it changed, and the rows of values of RETURNING.
    :param returning: whose values go into the result; None without RETURNING.
    :param fired: the change, around which triggers for the statement run; None for DML that `refuse_fired` looked at.
    """
    result = Result()
    programs = session.programs
    around = fired if fired is not None and programs.fires(fired.table, fired.event, of_rows=False) else None
    if around is not None and len(call.bind_rows) > 1:
        raise OraError(3001, f"unimplemented feature: triggers for statements with array DML ({around.table.name})")
    for number, binds in enumerate(call.bind_rows):
        count = 0
        returned: list[BindRow] = []
        mark = session.transactions.mark()
        try:
            if around is not None:
                programs.around(around.table, "BEFORE", around.event, around.assigned)
            count, returned = once(result, binds)
            if around is not None:
                programs.around(around.table, "AFTER", around.event, around.assigned)
        except OraError as error:
            session.storage.undo_to(session.client, mark)
            if not call.batch_errors:
                error.rows_done = result.row_count
                error.row_counts = result.row_counts if call.row_counts else None
                raise
            result.batch_errors.append(BatchError(number, error))
        if returning is not None:
            note(result, returning, returned)
        result.row_count += count
        if call.row_counts:
            result.row_counts.append(count)
    return result


def restarting(session: SqlSession, table: Table, change: Callable[[], T]) -> T:
    """Lock the table for DML, run `change` and return what it returns; run it again with a new snapshot after each
    StatementRestart. An error undoes the change. Raises as `Programs.check_table` and `RowChanges.lock_for_dml`, and what
    `change` raises."""
    storage, client = session.storage, session.client
    session.programs.check_table(table, changed=True)
    storage.changes.lock_for_dml(client, table)
    mark = session.transactions.mark()
    while True:
        try:
            return change()
        except StatementRestart:
            storage.undo_to(client, mark)
        except OraError:
            storage.undo_to(client, mark)
            raise
