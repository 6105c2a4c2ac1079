"""Statements of a session, each an object of its kind that checks and runs itself.

text -> parse -> Query | Change -> plan, remembered by the planner -> Result
                 Block | Command, compiled or parsed at each run -> Result
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import apsw

from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, OraType, Result
from minercdc_sandbox.open_queries import OpenQueries
from minercdc_sandbox.planning import Planner
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.commands.registry import run_command
from minercdc_sandbox.sql.execution import Plan, SqlSession, StatementCall, check_writable
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql import block
from minercdc_sandbox.sql.runtime import begin_run, translated
from minercdc_sandbox.sql.translate.environment import NO_VARIABLES, VariableNames
from minercdc_sandbox.standby import may_run

Columns: TypeAlias = "tuple[ColumnDescription, ...] | None"
KINDS = {
    "SELECT": "joins of every kind, subqueries, WITH (recursive too), set operations, CONNECT BY, PIVOT, analytic functions, AS OF, "
    "VERSIONS BETWEEN, FETCH FIRST, FOR UPDATE [NOWAIT, WAIT n, SKIP LOCKED]",
    "INSERT": "VALUES, subquery, RETURNING INTO, LOG ERRORS; arrays with row counts and batch errors",
    "INSERT ALL, INSERT FIRST": "with and without WHEN",
    "UPDATE": "also `SET (..) = (subquery)`, RETURNING INTO, LOG ERRORS; views, subqueries, key-preserved tables of joins",
    "DELETE": "RETURNING INTO, LOG ERRORS; views, subqueries, the key-preserved table of a join",
    "MERGE": "with DELETE WHERE",
    "BEGIN, DECLARE, CALL": "anonymous blocks, stored procedures, functions and packages, WHERE CURRENT OF a cursor FOR UPDATE of one table",
}
"""Statements of these kinds have syntax trees; all other statements are commands (sql/commands/registry.py)."""

_REMEMBERED = 1000  # of all sessions
_WRONG_NAMES = frozenset((904, 913, 918, 942, 947, 957, 980, 1031, 1733, 1776, 2289))


class Statement:
    """A parsed statement of one kind, remembered by its text; it keeps nothing of its runs.

    :cvar hardens: its redo is on disk before the call ends, as it may have committed.
    """

    hardens = True

    def describe(self, runner: StatementRunner) -> Columns:
        """Columns of a query, before the types of its binds are known; None for others. Raises the errors of a query, and of DML
        those of names, of privileges and of the number of its values. Runs nothing."""
        return None

    def check(self, runner: StatementRunner, bind_types: tuple[BindType, ...]) -> Columns:
        """Plan a query or DML without running it; returns the columns of a query, None for others. Raises as `Planner`."""
        return None

    def run(self, runner: StatementRunner, call: StatementCall) -> Result:
        """Run it: a query for the first row of binds, DML and a block for each row, a command once. Raises OraError; apsw.Error
        is left to the caller to translate."""
        raise NotImplementedError


@dataclass(slots=True)
class Query(Statement):
    """A query, also one FOR UPDATE; `binds` is how many it has."""

    sql: str
    tree: ast.Query
    binds: int
    hardens = False

    def describe(self, runner: StatementRunner) -> Columns:
        return self.check(runner, _any_types(self.binds))

    def check(self, runner: StatementRunner, bind_types: tuple[BindType, ...]) -> Columns:
        return runner.planner.query(self.sql, self.tree, bind_types).columns

    def run(self, runner: StatementRunner, call: StatementCall) -> Result:
        return runner.queries.run(self.sql, self.tree, call.bind_types, call.bind_rows[0] if call.bind_rows else ())


@dataclass(slots=True)
class Change(Statement):
    """INSERT, INSERT ALL, UPDATE, DELETE or MERGE; `binds` is how many it has."""

    sql: str
    tree: ast.Change
    binds: int
    hardens = False

    def describe(self, runner: StatementRunner) -> Columns:
        try:
            self.check(runner, _any_types(self.binds))
        except OraError as error:
            if error.number in _WRONG_NAMES:
                raise
        return None

    def check(self, runner: StatementRunner, bind_types: tuple[BindType, ...]) -> Columns:
        runner.planner.change(self.sql, self.tree, bind_types)
        return None

    def run(self, runner: StatementRunner, call: StatementCall) -> Result:
        session = runner.session
        session.programs.check_change()
        check_writable(session)
        with session.storage.lock:
            session.transactions.before_change()
            return runner.planner.change(self.sql, self.tree, call.bind_types).run(session, call)


@dataclass(slots=True)
class Block(Statement):
    """An anonymous block or CALL, which is compiled when it runs; an array of binds runs it once for each row, and the result is
    that of the last run."""

    sql: str

    def run(self, runner: StatementRunner, call: StatementCall) -> Result:
        result = Result()
        for binds in call.bind_rows or ((),):
            with runner.naming(NO_VARIABLES):
                result = block.run(runner.session, self.sql, call.bind_types, binds)
        return result


@dataclass(slots=True)
class Command(Statement):
    """Any other statement: DDL, transaction control, ALTER SESSION, .. It takes no binds, and its errors come from `run`, also
    those of syntax but for `tokenize`'s."""

    sql: str

    def run(self, runner: StatementRunner, call: StatementCall) -> Result:
        words = " ".join(self.sql.split()[:2]).upper()
        runner.session.programs.check_command(words)
        if not may_run(words):
            check_writable(runner.session)
        return Result(row_count=run_command(runner.session, self.sql))


_CHANGES: dict[str, Callable[[Parser], ast.Change]] = {
    "INSERT": Parser.insert,
    "MERGE": Parser.merge,
    "UPDATE": Parser.update,
    "DELETE": Parser.delete,
}


@lru_cache(_REMEMBERED)
def parse(sql: str) -> Statement:
    """The statement by its first word; sessions that run the same text share it, and none changes it.

    Raises as `tokenize`, ORA-00900 for an empty text, and the syntax errors of queries and DML;
    blocks and commands are parsed when they run."""
    parser = Parser(sql)
    word = parser.token.text
    if parser.token.kind == "E":
        raise OraError(900, "invalid SQL statement")
    if word in ("SELECT", "WITH", "("):
        query = parser.query()
        parser.end()
        return Query(sql, query, len(parser.binds))
    if word in _CHANGES:
        change = _CHANGES[word](parser)
        parser.end()
        return Change(sql, change, len(parser.binds))
    labelled = word == "<" and parser.peek().text == "<"
    return Block(sql) if labelled or word in ("BEGIN", "DECLARE", "CALL") else Command(sql)


def _any_types(binds: int) -> tuple[BindType, ...]:
    """Types that stand for those of as many binds until these are known: VARCHAR2(4000)."""
    return (BindType(OraType.VARCHAR2, 4000),) * binds


class StatementRunner:
    """Parses, checks and runs the statements of one session, those of clients and those inside PL/SQL; owns the session's planner
    and open queries.

    :ivar names: variables that the statement being planned may name.
    """

    def __init__(self, session: SqlSession) -> None:
        self.session = session
        self.planner = Planner(lambda: session.environment, session.database.view_plans)
        self.queries = OpenQueries(session, self.planner)
        self.names = VariableNames()

    @contextmanager
    def naming(self, names: VariableNames) -> Iterator[None]:
        """Until the context ends, statements may name these variables of PL/SQL, and no others."""
        outer, self.names = self.names, names
        try:
            yield
        finally:
            self.names = outer

    def check(self, sql: str, bind_types: Sequence[BindType] = (), names: VariableNames = NO_VARIABLES) -> Columns:
        """Plan a query or DML statement of a block without running it; its columns, None for any other statement and DML. Raises
        the errors of syntax, names, types and privileges. See `execution.InnerStatements`."""
        with self.naming(names):
            return parse(sql).check(self, tuple(bind_types))

    def run_inner(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Any, ...]] = ((),),
        names: VariableNames = NO_VARIABLES,
    ) -> Result:
        """Run a statement of a block or program; see `execution.InnerStatements`. Raises what the statement raises, ORA-00028 for
        a killed session; errors of SQLite become Oracle's."""
        self.session.check_alive()
        with self.naming(names):
            try:
                return parse(sql).run(self, StatementCall(tuple(bind_types), bind_rows))
            except apsw.Error as error:
                raise translated(error, begin_run(self.session)) from error

    def plan_inner(self, query: ast.Query) -> Plan:
        """A new plan, which is not remembered, of a query without binds inside another statement. Raises as `Planner.query`."""
        return self.planner.apart(query)

    def rows_of(self, plan: Plan, binds: tuple[Cell, ...]) -> list[tuple[Cell, ...]]:
        """Run a query inside another statement and close it; all its rows. Raises as `OpenQueries.open` and `Rows.fetch`."""
        rows = self.queries.open(plan, binds)
        found = rows.fetch(1 << 62)
        rows.close()
        return found
