"""SELECT FOR UPDATE: lock what the query's WHERE finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.dml.change import ScanPlan, targets_of
from minercdc.sandbox.sql.dml.target import BindRow
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.storage import rowid
from minercdc.sandbox.storage.engine import StatementRestart
from minercdc.sandbox.storage.store import VERSION_BITS


def lock_rows(session: SqlSession, plan: ScanPlan, binds: BindRow, wait: ast.LockWait) -> None:
    """FOR UPDATE: claim and lock what the query's WHERE finds."""
    session.storage.lock_for_dml(session.client, plan.table, wait.seconds)
    while True:
        try:
            targets = targets_of(session, plan, binds)
            session.storage.claim(session.client, plan.table, targets, wait.seconds)
            session.storage.lock_rows(session.client, plan.table, targets)
            return
        except StatementRestart:
            continue


def lock_free_rows(session: SqlSession, plan: ScanPlan, binds: BindRow) -> list[str]:
    """FOR UPDATE SKIP LOCKED: lock what nobody else holds; returns the ROWIDs."""
    storage, client = session.storage, session.client
    transaction = storage.lock_for_dml(client, plan.table)
    targets = [t for t in targets_of(session, plan, binds) if storage.blocker(plan.table, t, transaction) is None]
    storage.claim(client, plan.table, targets)
    storage.lock_rows(client, plan.table, targets)
    prefix = rowid.object_prefix(plan.table.data_object_id)
    return [rowid.row_text(prefix, target.vid >> VERSION_BITS) for target in targets]


_LIST = 500
"""SQLite limits the depth of a chain of OR to 1000."""


def only_rows(query: ast.Query, row_ids: Sequence[str]) -> ast.Query:
    """The query of one table, of these rows only."""
    select = query.body
    assert isinstance(select, ast.Select)
    name = ast.Name(("ROWID",), select.at, False)
    literals: list[ast.Expr] = [ast.Literal("S", text, select.at) for text in row_ids]
    lists: list[ast.Expr] = [
        ast.InList(name, literals[n : n + _LIST], False, select.at) for n in range(0, len(literals), _LIST)
    ]
    none = ast.Compare("<>", ast.Literal("N", "0", select.at), ast.Literal("N", "0", select.at), select.at)
    condition: ast.Expr = ast.Logic("OR", lists, select.at) if lists else none
    where = condition if select.where is None else ast.Logic("AND", [condition, select.where], select.at)
    return replace(query, body=replace(select, where=where), for_update=None)
