"""Plans of statements, remembered by their text, the types of their binds and the settings that they depend on."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Protocol

from minercdc_sandbox.interfaces import BindType, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.change import ScanPlan, plan_delete, plan_scan, plan_update
from minercdc_sandbox.sql.dml.insert import plan_insert
from minercdc_sandbox.sql.dml.locking import tables_to_lock
from minercdc_sandbox.sql.dml.many import plan_many
from minercdc_sandbox.sql.dml.merge import plan_merge
from minercdc_sandbox.sql.execution import Plan, SqlSession, StatementCall
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions

_REMEMBERED = 400


class ChangePlan(Protocol):
    """The plan of a DML statement, which may run any number of times while the dictionary does not change."""

    def run(self, session: SqlSession, call: StatementCall) -> Result:
        """Run the statement for each row of binds. An error undoes what was done for that row of binds only; it is raised as
        OraError, or noted in the result with `call.batch_errors`. Call with the storage locked, which waiting for a lock of
        another transaction releases."""


_PLANNERS: dict[type, Callable[[Environment, Any, Sequence[BindType]], ChangePlan]] = {
    ast.Insert: plan_insert,
    ast.InsertMany: plan_many,
    ast.Merge: plan_merge,
    ast.Update: plan_update,
    ast.Delete: plan_delete,
}


class Planner:
    """Makes and remembers the plans of one session, at most 400, then it forgets all; each is made again after a DDL. A plan on
    stored rows is made and started under one hold of the storage lock. Its methods raise the errors of names, types, privileges
    and clauses.

    :param environment: returns the session's present environment.
    :param of_views: plans of queries on views alone, which the database's sessions share: tables may be a session's own copies,
        views are not.
    """

    def __init__(self, environment: Callable[[], Environment], of_views: MutableMapping[object, Plan]) -> None:
        self._environment = environment
        self._plans: dict[object, Any] = {}
        self._of_views = of_views

    def forget(self) -> None:
        """Forget all plans, as when the session's own copies of temporary tables were dropped."""
        self._plans.clear()

    def query(self, sql: str, tree: ast.Query, bind_types: tuple[BindType, ...]) -> Plan:
        """The plan of a query, remembered; `tree` must be that of `sql`. Raises as `Queries.query`."""
        env = self._environment()
        key = _key(env, sql, bind_types)
        plan: Plan | None = self._of_views.get(key) or self._plans.get(key)
        if plan is None:
            plan = Queries(env, Expressions(env, bind_types)).plan(tree)
            _remember(self._plans if plan.stored else self._of_views, key, plan)
        return plan

    def apart(self, tree: ast.Query, bind_types: Sequence[BindType] = ()) -> Plan:
        """A new plan of a query; it is not remembered. Raises as `Queries.query`."""
        env = self._environment()
        return Queries(env, Expressions(env, bind_types)).plan(tree)

    def locking(self, sql: str, tree: ast.Query, bind_types: tuple[BindType, ...]) -> list[ScanPlan]:
        """The scans of a query FOR UPDATE, one for each table that it locks; remembered. `tree` must be that of `sql`. Raises as
        `tables_to_lock` and `plan_scan`."""

        def make(env: Environment) -> list[ScanPlan]:
            return [plan_scan(env, ref, (), where, bind_types) for ref, where in tables_to_lock(env, tree)]

        scans: list[ScanPlan] = self._planned("for update " + sql, bind_types, make)
        return scans

    def change(self, sql: str, tree: ast.Change, bind_types: tuple[BindType, ...]) -> ChangePlan:
        """The plan of a DML statement, remembered; `tree` must be that of `sql`. Raises as `plan_insert`, `plan_scan`,
        `plan_merge` and the other planners of DML."""
        plan: ChangePlan = self._planned(sql, bind_types, lambda env: _PLANNERS[type(tree)](env, tree, bind_types))
        return plan

    def _planned(self, sql: str, bind_types: tuple[BindType, ...], make: Callable[[Environment], Any]) -> Any:
        env = self._environment()
        key = _key(env, sql, bind_types)
        plan = self._plans.get(key)
        if plan is None:
            plan = make(env)
            _remember(self._plans, key, plan)
        return plan


def _key(env: Environment, sql: str, bind_types: tuple[BindType, ...]) -> object:
    """All that a plan depends on, but the session's own copies of temporary tables."""
    nls: Nls = env.nls
    seen = (env.catalog.version, env.flashback, env.archived)
    return sql, bind_types, env.container, env.schema, env.user, nls, seen, env.variables


def _remember(plans: MutableMapping[object, Any], key: object, plan: object) -> None:
    if len(plans) >= _REMEMBERED:
        plans.clear()
    plans[key] = plan
