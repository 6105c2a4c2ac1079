"""CHECK constraints: conditions on one row, which must not be false; a condition that is NULL passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql.dml.target import ChangeTarget
from minercdc_sandbox.sql.execution import Parameter, Run, SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.runtime import begin_run, evaluate_row
from minercdc_sandbox.sql.scope import Scope, Source
from minercdc_sandbox.sql.tokens import TokenKind, tokenize
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.translate.tables import stored_columns
from minercdc_sandbox.tables import Constraint, Table

_CHANGING = frozenset(
    ["SYSDATE", "SYSTIMESTAMP", "CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "USER", "UID", "ROWNUM", "ROWID"]
)


@dataclass(slots=True)
class CheckPlan:
    """All enabled checks of a table as one query, which gives the number, from 0, of the first that fails, else NULL.

    :param names: of the constraints; the number after them is the WITH CHECK OPTION of a view.
    """

    table: Table
    names: list[str]
    sql: str
    parameters: list[Parameter]

    def enforce(self, session: SqlSession, row: Sequence[Cell]) -> None:
        """Check a row, given with all stored columns. Raises ORA-02290, ORA-01402, and as `evaluate_row`."""
        [found] = evaluate_row(self.sql, self.parameters, begin_run(session, row=tuple(row)))
        if isinstance(found, int) and found == len(self.names):
            raise OraError(1402, "view WITH CHECK OPTION where-clause violation")
        if isinstance(found, int):
            raise OraError(2290, f"check constraint ({self.table.owner}.{self.names[found]}) violated")


def row_field(at: int) -> Callable[[Run], object]:
    """A parameter whose value is the field `at` of the run's row."""
    return lambda run: run.row[at]


def plan_checks(env: Environment, table: Table, view: ChangeTarget | None = None) -> CheckPlan | None:
    """The enabled checks of a table; None when there are none. Raises as `Conditions.condition`.

    :param view: the statement's target; of a view WITH CHECK OPTION the plan checks its WHERE too.
    """
    enabled = [check for check in table.checks if check.enabled]
    kept = view.where if view is not None and view.view is not None and view.view.check else []
    if not enabled and not kept:
        return None
    x = Expressions(env)
    names = ((table.name,), (table.owner, table.name))
    scope = Scope([Source(names, stored_columns(x, table, names, "r", by_position=True, in_table=False), None, table)])
    tests = [
        f"when not ({x.condition(Parser(check.condition or '').expr(), scope)}) then {n}" for n, check in enumerate(enabled)
    ]
    tests += [f"when ({x.condition(term, scope)}) is not true then {len(enabled)}" for term in kept]
    fields = ",".join(f"{x.parameter(('row', at), row_field(at))} as c{at}" for at in range(len(table.columns)))
    sql = f"select case {' '.join(tests)} end from (select {fields}) r"
    return CheckPlan(table, [check.name for check in enabled], sql, x.parameters)


def columns_of_check(table: Table, condition: str) -> tuple[str, ...]:
    """The stored columns that a condition names, in the table's order. Raises ORA-02251 for a subquery, ORA-02436 for SYSDATE and
    the like, ORA-01027 for a bind."""
    known = {column.name for column in table.columns}
    tokens = tokenize(condition)
    for token in tokens:
        if token.kind is TokenKind.WORD and token.text == "SELECT":
            raise OraError(2251, "subquery not allowed here", token.start)
        if token.kind is TokenKind.WORD and token.text in _CHANGING:
            raise OraError(2436, "date or system variable wrongly specified in CHECK constraint", token.start)
        if token.kind is TokenKind.BIND:
            raise OraError(1027, "bind variables not allowed for data definition operations", token.start)
    named = {token.text for token in tokens if token.is_name and token.text in known}
    return tuple(column.name for column in table.columns if column.name in named)


def rename_in_check(check: Constraint, old: str, new: str) -> None:
    """Rename a column in a check's condition and columns; nothing for a check that does not name it."""
    if old not in check.columns or check.condition is None:
        return
    text = check.condition
    for token in reversed(tokenize(text)):
        if token.is_name and token.text == old:
            text = f'{text[: token.start]}"{new}"{text[token.end :]}'
    check.condition = text
    check.columns = tuple(new if name == old else name for name in check.columns)
