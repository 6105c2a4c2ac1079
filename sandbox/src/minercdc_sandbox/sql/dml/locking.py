"""SELECT FOR UPDATE: lock the rows that the query's WHERE finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.change import ScanPlan, targets_of
from minercdc_sandbox.sql.dml.target import BindRow
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.query.names import find_relation
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.storage import rowid
from minercdc_sandbox.storage.changes import StatementRestart
from minercdc_sandbox.storage.store import VERSION_BITS
from minercdc_sandbox.tables import Table


def lock_rows(session: SqlSession, plan: ScanPlan, binds: BindRow, wait: ast.LockWait) -> None:
    """FOR UPDATE: lock the table for DML, claim and lock the rows of a scan, which is run again when one has changed meanwhile.
    Raises as `lock_for_dml` and `claim`, whose `seconds` are those of `wait`, and as `targets_of`."""
    session.storage.changes.lock_for_dml(session.client, plan.table, wait.seconds)
    while True:
        try:
            targets = targets_of(session, plan, binds)
            session.storage.changes.claim(session.client, plan.table, targets, wait.seconds)
            session.storage.changes.lock_rows(session.client, plan.table, targets)
            return
        except StatementRestart:
            continue


def lock_free_rows(session: SqlSession, plan: ScanPlan, binds: BindRow) -> list[str]:
    """FOR UPDATE SKIP LOCKED: lock the table for DML and the rows of a scan that no other transaction holds; returns their ROWIDs
    in the scan's order. Raises as `lock_for_dml` and `targets_of`, and ORA-08177 in a serializable transaction for a row that
    changed since it began."""
    storage, client = session.storage, session.client
    transaction = storage.changes.lock_for_dml(client, plan.table)
    targets = [t for t in targets_of(session, plan, binds) if storage.changes.blocker(plan.table, t, transaction) is None]
    storage.changes.claim(client, plan.table, targets)
    storage.changes.lock_rows(client, plan.table, targets)
    return [rowid.of_row(plan.table, target.vid >> VERSION_BITS) for target in targets]


def tables_to_lock(env: Environment, query: ast.Query) -> list[tuple[ast.TableRef, ast.Expr | None]]:
    """The tables whose rows FOR UPDATE locks, each with the condition that finds them, None for all rows: of a join all of them,
    or those that OF names a column of (SQL Language Reference, SELECT, for_update_clause).

    Raises ORA-02014 for DISTINCT, GROUP BY, WITH, FETCH FIRST and set operations, ORA-03001 for a subquery, AS OF and SKIP LOCKED
    of a join, ORA-00904 for an unknown column, and as `find_relation`.
    """
    select, wait = query.body, query.for_update
    assert wait is not None
    if not isinstance(select, ast.Select) or select.group_by or select.distinct or query.with_ or query.fetch is not None:
        raise OraError(2014, "cannot select FOR UPDATE from view with DISTINCT, GROUP BY, etc.", query.at)
    refs = [ref for relation in select.relations for ref in _tables(relation)]
    chosen = refs
    if wait.of:
        named = [_table_of(env, refs, column) for column in wait.of]
        chosen = [ref for ref in refs if any(ref is one for one in named)]
    if len(refs) == 1 and isinstance(select.relations[0], ast.TableRef):
        return [(refs[0], select.where)]
    if wait.skip_locked:
        raise OraError(3001, "unimplemented feature: FOR UPDATE SKIP LOCKED of a join", query.at)
    return [(ref, _joined_rows(select, ref)) for ref in chosen]


def _tables(relation: ast.Relation) -> Iterator[ast.TableRef]:
    if isinstance(relation, ast.Join):
        yield from _tables(relation.left)
        yield from _tables(relation.right)
    elif isinstance(relation, ast.TableRef) and relation.as_of is None:
        yield relation
    else:
        raise OraError(3001, "unimplemented feature: FOR UPDATE of a subquery", relation.at)


def _table_of(env: Environment, refs: Sequence[ast.TableRef], column: ast.Name) -> ast.TableRef:
    *path, name = column.parts
    for ref in refs:
        if path and path[-1] != (ref.alias or ref.name):
            continue
        found = find_relation(env, ref.owner, ref.name, ref.at)
        if isinstance(found, Table) and any(one.name == name for one in found.all_columns()):
            return ref
    raise OraError(904, f'"{name}": invalid identifier', column.at)


def _joined_rows(select: ast.Select, ref: ast.TableRef) -> ast.Expr:
    """The condition `ROWID IN (the join's ROWIDs of that table)`."""
    at = select.at
    item = ast.Item(ast.Name((ref.alias or ref.name, "ROWID"), at), None, "ROWID")
    rows = ast.Query(ast.Select([item], select.relations, select.where, at=at), at=at)
    return ast.In(ast.Name(("ROWID",), at), rows, False, at)


_LIST = 500
"""SQLite limits the depth of a chain of OR to 1000."""


def only_rows(query: ast.Query, row_ids: Sequence[str]) -> ast.Query:
    """The query of one table without FOR UPDATE, of the rows with these ROWIDs only; of none for an empty list."""
    select = query.body
    assert isinstance(select, ast.Select)
    name = ast.Name(("ROWID",), select.at, False)
    literals: list[ast.Expr] = [ast.Literal(ast.LiteralKind.STRING, text, select.at) for text in row_ids]
    lists: list[ast.Expr] = [ast.In(name, literals[n : n + _LIST], False, select.at) for n in range(0, len(literals), _LIST)]
    none = ast.Compare(
        "<>",
        ast.Literal(ast.LiteralKind.NUMBER, "0", select.at),
        ast.Literal(ast.LiteralKind.NUMBER, "0", select.at),
        select.at,
    )
    condition: ast.Expr = ast.Logic("OR", lists, select.at) if lists else none
    where = condition if select.where is None else ast.Logic("AND", [condition, select.where], select.at)
    return replace(query, body=replace(select, where=where), for_update=None)
