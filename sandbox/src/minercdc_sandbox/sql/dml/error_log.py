"""LOG ERRORS: rows that a DML statement could not change go into a table of their own, and the statement goes on.

    insert into t select .. log errors into err$_t ('load 7') reject limit unlimited

The log is written in transactions of its own, so it outlives a rollback (Administrator's Guide, "Inserting Data with DML Error
Logging"). An error of the statement rather than of a row ends it as without LOG ERRORS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.interfaces import BindType, Cell, OraError, OraType
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.dml.target import change_target, column_path, conversion
from minercdc_sandbox.sql.execution import Parameter, SqlSession
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.runtime import begin_run, evaluate_row
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import LARGE, Family, SqlType, column_type, varchar
from minercdc_sandbox.tables import Column, Table

Values: TypeAlias = "Mapping[str, tuple[Cell, SqlType]]"
"""Values of a row that failed, by column, before their conversion."""
CONTROL = ("ORA_ERR_NUMBER$", "ORA_ERR_MESG$", "ORA_ERR_ROWID$", "ORA_ERR_OPTYP$", "ORA_ERR_TAG$")
_OF_THE_STATEMENT = frozenset((28, 54, 60, 600, 1012, 1013, 1456, 1555, 3001, 3113, 8177, 30006))
"""Errors that are nothing about a row."""
_LONGEST = 25
"""Characters of the table's name that `ERR$_` precedes."""


@dataclass(slots=True)
class ErrorLogPlan:
    """The plan of LOG ERRORS of a statement.

    :param table: the error log.
    :param limit: how many errors the statement may have; the next one is logged, too, and ends it. None for any number.
    :param tag: SQL of the tag, else None.
    """

    table: Table
    limit: int | None
    tag: str | None
    parameters: list[Parameter]


def default_name(table: str) -> str:
    """Name of the error log of a table, when none is given: `ERR$_` and at most 25 characters of the table's."""
    return f"ERR$_{table[:_LONGEST]}"


def plan_error_log(env: Environment, log: ast.ErrorLog, changed: Table, bind_types: Sequence[BindType]) -> ErrorLogPlan:
    """Plan LOG ERRORS of a statement that changes the table `changed`. Raises ORA-00942, and ORA-38900 for a table without the
    columns of an error log, and as `change_target`."""
    owner, name = (log.owner, log.name) if log.name is not None else (changed.owner, default_name(changed.name))
    table = change_target(env, ast.TableRef(owner, name, None, log.at), "INSERT").table
    known = {column.name for column in table.columns}
    for wanted in CONTROL:
        if wanted not in known:
            raise OraError(38900, f'missing mandatory column "{wanted}" of error log table "{table.name}"', log.at)
    x = Expressions(env, bind_types)
    Queries(env, x)
    tag = x.to(x.value(log.tag, None), Family.VARCHAR, log.at) if log.tag is not None else None
    return ErrorLogPlan(table, log.limit, tag, x.parameters)


@dataclass(slots=True)
class FailedRows:
    """The failed rows of one run of a statement, for one row of binds, until `write` logs them."""

    session: SqlSession
    plan: ErrorLogPlan
    binds: tuple[Cell, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def note(self, error: OraError, kind: str, row_id: str | None, values: Values) -> None:
        """Keep an error of a row for the log. Raises it when it is an error of the statement, and, with the log written, when it
        exceeds the limit.

        :param kind: I, U or D.
        :param row_id: ROWID of the row; None of a row to insert.
        :param values: that the row was to have; columns that are missing are NULL in the log.
        """
        if error.number in _OF_THE_STATEMENT:
            raise error
        text = f"ORA-{error.number:05d}: {error.text}"
        known: dict[str, tuple[Cell, SqlType]] = dict(values)
        for name, value in zip(CONTROL[1:], (text, row_id, kind, self._tag()), strict=True):
            known[name] = (value, varchar())
        known[CONTROL[0]] = (number.integer(error.number), column_type(Column("", OraType.NUMBER, 0, -127)))
        self.rows.append(tuple([self._shown(column, known.get(column.name)) for column in self.plan.table.columns]))
        if self.plan.limit is not None and len(self.rows) > self.plan.limit:
            self.write()
            raise error

    def write(self) -> None:
        """Insert the rows into the log, in a transaction of its own, commit it and forget them; nothing without rows. Raises
        ORA-00001, with no row logged, when a unique key of the log's table refuses one, and as `RowChanges.insert`."""
        if not self.rows:
            return
        storage, client = self.session.storage, self.session.client
        outer, client.transaction = client.transaction, None
        try:
            _, error = storage.changes.insert(client, self.plan.table, self.rows)
            if error is not None:
                storage.rollback(client)
                raise error
            storage.commit(client)
        finally:
            client.transaction = outer
        self.rows = []

    def _tag(self) -> Cell:
        if self.plan.tag is None:
            return None
        return evaluate_row(f"select {self.plan.tag}", self.plan.parameters, begin_run(self.session, self.binds))[0]

    def _shown(self, column: Column, given: tuple[Cell, SqlType] | None) -> Cell:
        """A value as the log's column has it; NULL for LOBs and for what does not go into it."""
        if given is None or given[0] is None or given[1].family in LARGE:
            return None
        how = conversion(self.session.environment)
        try:
            return storer(given[1], column, column_path(self.plan.table, column), how)(given[0])
        except OraError:
            return None


def row_values(table: Table, row: Sequence[Cell]) -> Values:
    """The cells of a table's row, by column name, with their types."""
    return {column.name: (cell, column_type(column)) for column, cell in zip(table.columns, row, strict=True)}


def error_log_ddl(table: Table, owner: str, name: str, *, skip_unsupported: bool) -> str:
    """Text of CREATE TABLE of an error log for a table (PL/SQL Packages Reference, DBMS_ERRLOG). Raises ORA-20069 for columns of
    types that it cannot have, unless they are skipped."""
    control = ("NUMBER", "VARCHAR2(2000)", "ROWID", "VARCHAR2(2)", "VARCHAR2(2000)")
    columns = [f'"{column}" {kind}' for column, kind in zip(CONTROL, control, strict=True)]
    refused = []
    for column in table.all_columns():
        if column.type in _LOG_TYPES:
            kind = "NVARCHAR2(2000)" if column.national else _LOG_TYPES[column.type]
            columns.append(f'"{column.name}" {kind}')
        else:
            refused.append(f'"{column.name}"')
    if refused and not skip_unsupported:
        raise OraError(20069, f"Unsupported column type(s) found: {', '.join(refused)}")
    return f'CREATE TABLE "{owner}"."{name}" ({", ".join(columns)})'


_LOG_TYPES = {
    **dict.fromkeys(
        (
            *(OraType.NUMBER, OraType.VARCHAR2, OraType.CHAR, OraType.DATE, OraType.TIMESTAMP, OraType.TIMESTAMP_TZ),
            *(OraType.TIMESTAMP_LTZ, OraType.INTERVAL_DS, OraType.INTERVAL_YM, OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE),
        ),
        "VARCHAR2(4000)",
    ),
    OraType.RAW: "RAW(2000)",
    OraType.ROWID: "UROWID",
    OraType.UROWID: "UROWID",
}
"""Types of the columns of an error log, by the type of the table's column."""
