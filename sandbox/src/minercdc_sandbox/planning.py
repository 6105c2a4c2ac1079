"""Statements parsed and planned for one session, and remembered: by their text, and by all that a plan depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minercdc_sandbox.interfaces import BindType, OraError, OraType
from minercdc_sandbox.sql import ast, statements
from minercdc_sandbox.sql.dml.change import ScanPlan, plan_scan
from minercdc_sandbox.sql.dml.error_log import plan_error_log
from minercdc_sandbox.sql.dml.insert import plan_insert
from minercdc_sandbox.sql.dml.locking import tables_to_lock
from minercdc_sandbox.sql.dml.many import plan_many
from minercdc_sandbox.sql.dml.merge import plan_merge
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.query.plan import Plan
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.statements import Parsed
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions

CHANGES = frozenset({"insert", "insert many", "merge", "update", "delete"})
_CACHE = 400
_WRONG_NAMES = frozenset((904, 913, 918, 942, 947, 957, 980, 1031, 1733, 1776, 2289))


class Planner:
    """Parses and plans.

    :param environment: the session's, at the time of asking.
    """

    def __init__(self, environment: Callable[[], Environment]) -> None:
        self._environment = environment
        self._plans: dict[object, Any] = {}
        self._texts: dict[str, Parsed] = {}

    def forget(self) -> None:
        """Tables of the session's own have gone."""
        self._plans.clear()

    def parsed(self, sql: str) -> Parsed:
        found = self._texts.get(sql)
        if found is None:
            found = statements.parse(sql)
            if len(self._texts) >= _CACHE:
                self._texts.clear()
            self._texts[sql] = found
        return found

    def query(self, sql: str, tree: ast.Query, bind_types: tuple[BindType, ...]) -> Plan:
        def make(env: Environment) -> Plan:
            return Queries(env, Expressions(env, bind_types)).plan(tree)

        plan: Plan = self._planned(sql, bind_types, make)
        return plan

    def apart(self, tree: ast.Query, bind_types: Sequence[BindType] = ()) -> Plan:
        """A query that no text stands for, which is not remembered."""
        env = self._environment()
        return Queries(env, Expressions(env, bind_types)).plan(tree)

    def locking(self, sql: str, tree: ast.Query, bind_types: tuple[BindType, ...]) -> list[ScanPlan]:
        """The scans of FOR UPDATE."""

        def make(env: Environment) -> list[ScanPlan]:
            return [plan_scan(env, ref, (), where, bind_types) for ref, where in tables_to_lock(env, tree)]

        scans: list[ScanPlan] = self._planned("for update " + sql, bind_types, make)
        return scans

    def change(self, sql: str, parsed: Parsed, bind_types: tuple[BindType, ...]) -> Any:
        """Of a DML statement."""
        tree, kind = parsed.tree, parsed.kind

        def make(env: Environment) -> Any:
            if kind == "insert":
                return plan_insert(env, tree, bind_types)
            if kind == "insert many":
                return plan_many(env, tree, bind_types)
            if kind == "merge":
                return plan_merge(env, tree, bind_types)
            assignments = tree.assignments if kind == "update" else ()
            plan = plan_scan(env, tree.target, assignments, tree.where, bind_types, tree.returning, kind.upper())
            if tree.errors is not None:
                plan.errors = plan_error_log(env, tree.errors, plan.table, bind_types)
            return plan

        return self._planned(sql, bind_types, make)

    def check_names(self, sql: str, parsed: Parsed) -> None:
        """A parse finds wrong names in DML; what depends on the types of binds is known when it runs."""
        try:
            self.change(sql, parsed, any_types(parsed))
        except OraError as error:
            if error.number in _WRONG_NAMES:
                raise

    def _planned(self, sql: str, bind_types: tuple[BindType, ...], make: Callable[[Environment], Any]) -> Any:
        env = self._environment()
        nls: Nls = env.nls
        seen = (env.catalog.version, env.flashback, env.archived)
        key = (sql, bind_types, env.container, env.schema, nls, seen, env.variables)
        plan = self._plans.get(key)
        if plan is None:
            plan = make(env)
            if len(self._plans) >= _CACHE:
                self._plans.clear()
            self._plans[key] = plan
        return plan


def any_types(parsed: Parsed) -> tuple[BindType, ...]:
    """Of binds that are not known yet."""
    return tuple(BindType(OraType.VARCHAR2, 4000) for _ in parsed.binds)
