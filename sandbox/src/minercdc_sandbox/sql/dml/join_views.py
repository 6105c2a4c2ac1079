"""UPDATE and DELETE through a join: of a view, or of a subquery that stands for one.

    update (select e.sal, d.loc from emp e join dept d on e.deptno = d.deptno) set sal = 0 where loc = 'OSLO'

Only rows of a key-preserved table can be changed: one whose rows come at most once, because each other table is found by the
whole of one of its keys (Database Administrator's Guide, "Updating a Join View"). Else ORA-01779, ORA-01776 or ORA-01752.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from minercdc_sandbox.interfaces import BindType, OraError
from minercdc_sandbox.objects import StoredView
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.dml.target import ChangeTarget, change_target
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.query.names import find_relation
from minercdc_sandbox.sql.query.select import Queries
from minercdc_sandbox.sql.query.trees import aggregated, conjuncts, uses_rownum
from minercdc_sandbox.sql.scope import Scope, Source, Visible
from minercdc_sandbox.sql.translate.environment import Environment
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.tables import KEYS, Table


@dataclass(frozen=True, slots=True)
class JoinView:
    """The query of a join that DML goes through: a view's, or with `view` None a subquery. `env` is that of the owner of the view."""

    select: ast.Select
    env: Environment
    view: StoredView | None = None


@dataclass(slots=True)
class JoinScan:
    """The translated join, and the table of it that a statement changes.

    :param x: has translated the join, and is to translate the rest of the statement, in the statement's environment.
    :param target: the table, under the view's columns.
    :param scope: the view's columns by the names of the statement.
    :param rows: SQL of FROM, in which `vid` is the target's version id; `conditions` SQL of the view's own WHERE.
    """

    x: Expressions
    target: ChangeTarget
    scope: Scope
    rows: str
    vid: str
    conditions: list[str]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column of the view under its name there: which column of which source, by number from 0, it is; `source` -1 for an expression."""

    visible: Visible
    source: int
    column: str


@dataclass(slots=True)
class _Equality:
    """The two sides of a condition `=` of the join, as (number of a source, column), None for another expression; the condition
    finds rows of the sources `finds` alone, or of any source when that is None."""

    left: tuple[int, str] | None
    right: tuple[int, str] | None
    finds: frozenset[int] | None = None


@dataclass(slots=True)
class _Joined:
    """The relations of a FROM, in the order of the scope's sources, and what is known of their rows.

    :param equal: conditions that hold, each with the sources whose rows it finds, None for any.
    :param missing: numbers of the sources that an outer join may leave without a row.
    """

    refs: list[ast.Relation] = field(default_factory=list)
    equal: list[tuple[ast.Expr, frozenset[int] | None]] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)


def join_view(env: Environment, ref: ast.TableRef, privilege: str) -> JoinView | None:
    """The join that a view or subquery selects from; None for a table, a read-only view, a query of one table, and one with
    grouping, DISTINCT, WITH, FETCH FIRST, CONNECT BY, aggregates or ROWNUM. Raises as `find_relation` without the privilege."""
    view: StoredView | None = None
    query = ref.inline
    if query is None:
        found = find_relation(env, ref.owner, ref.name, ref.at, privilege)
        if not isinstance(found, StoredView) or found.read_only:
            return None
        view, query, env = found, Parser(found.text).query(), replace(env, schema=found.owner, user=found.owner)
    select = query.body
    if not isinstance(select, ast.Select) or (len(select.relations) == 1 and not isinstance(select.relations[0], ast.Join)):
        return None
    if query.fetch is not None or query.with_ or select.distinct or select.group_by or select.having or select.hierarchy:
        return None
    if aggregated(select, []) or uses_rownum([select.where, *select.items]):
        return None
    return JoinView(select, env, view)


def plan_join(
    env: Environment,
    joined: JoinView,
    ref: ast.TableRef,
    assigned: Sequence[tuple[str, int]],
    bind_types: Sequence[BindType],
    privilege: str,
) -> JoinScan:
    """Find the table that is changed, check the privilege on it (of a view's owner: SELECT), and translate the join. Raises
    ORA-00904, ORA-01733, ORA-01752, ORA-01776, ORA-01779, ORA-03001, and as `change_target` and `from_clause`.

    :param assigned: the columns that UPDATE assigns, with their offsets in the text; none for DELETE, which takes the first
        key-preserved table.
    """
    if joined.view is not None and joined.view.check:
        raise OraError(3001, "unimplemented feature: DML through a join view WITH CHECK OPTION", ref.at)
    x = Expressions(joined.env, bind_types)
    queries = Queries(joined.env, x)
    inner = Scope()
    rows, where = queries.from_clause(joined.select, inner)
    found = _relations(joined.select, where)
    if len(found.refs) != len(inner.sources):
        raise OraError(3001, "unimplemented feature: DML through a join with USING or NATURAL", ref.at)
    preserved = _preserved(inner.sources, found)
    shown = list(_shown(queries, joined, inner))
    chosen = _assigned_source(shown, assigned, preserved) if assigned else min(preserved, default=None)
    if chosen is None:
        raise OraError(1752, "cannot delete from view without exactly one key-preserved table", ref.at)
    conditions = [x.condition(where, inner)] if where is not None else []
    base = found.refs[chosen]
    assert isinstance(base, ast.TableRef)
    below = change_target(joined.env, replace(base, at=ref.at), privilege if joined.view is None else "SELECT")
    x.env = queries.env = env
    names = ((ref.alias,),) if ref.alias else ((ref.name,),)
    columns = {one.visible.name: below.columns[one.column] if one.source == chosen else None for one in shown}
    target = ChangeTarget(below.table, columns, names, below=below)
    vid = inner.sources[chosen].vid
    assert vid is not None
    return JoinScan(x, target, Scope([Source(names, [one.visible for one in shown])]), rows, vid[1], conditions)


def _assigned_source(shown: Sequence[_Shown], assigned: Sequence[tuple[str, int]], preserved: set[int]) -> int:
    by_name = {one.visible.name: one for one in shown}
    chosen: int | None = None
    for name, at in assigned:
        one = by_name.get(name)
        if one is None:
            raise OraError(904, f'"{name}": invalid identifier', at)
        if one.source < 0:
            raise OraError(1733, "virtual column not allowed here", at)
        if one.source not in preserved:
            raise OraError(1779, "cannot modify a column which maps to a non key-preserved table", at)
        if chosen not in (None, one.source):
            raise OraError(1776, "cannot modify more than one base table through a join view", at)
        chosen = one.source
    assert chosen is not None
    return chosen


def _shown(queries: Queries, joined: JoinView, inner: Scope) -> Iterator[_Shown]:
    """Columns of the view under their names, in its order. Raises as `item_columns`."""
    names = iter(joined.view.columns) if joined.view is not None else None
    for item in joined.select.items:
        for visible, expr in queries.item_columns(item, inner):
            place = _place(expr, inner) if expr is not None else _source_of(visible, inner)
            name = next(names) if names is not None else visible.name
            source, column = place or (-1, "")
            yield _Shown(replace(visible, name=name, typed=replace(visible.typed, vid=None)), source, column)


def _source_of(visible: Visible, inner: Scope) -> tuple[int, str] | None:
    for number, source in enumerate(inner.sources):
        if any(column is visible for column in source.columns):
            return number, visible.name
    return None


def _place(expr: ast.Expr, inner: Scope) -> tuple[int, str] | None:
    """The source, by number, and column that an expression names; None for an expression that is no column of the join. Raises
    ORA-00918 for a name of several columns."""
    if not isinstance(expr, ast.Name):
        return None
    for number, source in enumerate(inner.sources):
        if Scope([source]).resolve(expr) is not None and source.find(expr.parts[-1]) is not None:
            return number, expr.parts[-1]
    return None


def _relations(select: ast.Select, where: ast.Expr | None) -> _Joined:
    found = _Joined()
    for relation in select.relations:
        _add(relation, found)
    found.equal += [(term, None) for term in conjuncts(where)]
    # (+): its tables may be missing, and its conditions find rows of these alone
    for term in conjuncts(select.where):
        outer = {name.parts[:-1] for name in ast.descendants(term) if isinstance(name, ast.Name) and name.outer}
        marked = {n for n, ref in enumerate(found.refs) if isinstance(ref, ast.TableRef) and (_name(ref),) in outer}
        if outer:
            found.missing |= marked
            found.equal.append((term, frozenset(marked)))
    return found


def _name(ref: ast.TableRef) -> str:
    return ref.alias or ref.name


def _add(relation: ast.Relation, found: _Joined) -> None:
    if not isinstance(relation, ast.Join):
        found.refs.append(relation)
        return
    first = len(found.refs)
    _add(relation.left, found)
    middle = len(found.refs)
    _add(relation.right, found)
    left, right = frozenset(range(first, middle)), frozenset(range(middle, len(found.refs)))
    found.missing |= {"LEFT": right, "RIGHT": left, "FULL": left | right}.get(relation.kind, frozenset())
    finds = {"LEFT": right, "RIGHT": left, "FULL": frozenset[int]()}.get(relation.kind)
    found.equal += [(term, finds) for term in conjuncts(relation.on)]


def _preserved(sources: Sequence[Source], found: _Joined) -> set[int]:
    """Numbers of the sources that are key-preserved tables."""
    inner = Scope(list(sources))
    equal = [
        _Equality(_place(term.left, inner), _place(term.right, inner), finds)
        for term, finds in found.equal
        if isinstance(term, ast.Compare) and term.op == "="
    ]
    every = set(range(len(sources)))
    candidates = [
        n
        for n, ref in enumerate(found.refs)
        if n not in found.missing and isinstance(ref, ast.TableRef) and sources[n].table
    ]
    return {n for n in candidates if _reached(n, sources, equal) == every}


def _reached(first: int, sources: Sequence[Source], equal: Sequence[_Equality]) -> set[int]:
    """Numbers of the sources of which each row of the source `first` has at most one row, itself included."""
    reached = {first}
    grown = True
    while grown:
        grown = False
        for number, source in enumerate(sources):
            if number not in reached and source.table is not None and _found_by_key(number, source.table, reached, equal):
                reached.add(number)
                grown = True
    return reached


def _found_by_key(number: int, table: Table, reached: set[int], equal: Sequence[_Equality]) -> bool:
    fixed = set()
    for one in equal:
        if one.finds is not None and number not in one.finds:
            continue
        for mine, other in ((one.left, one.right), (one.right, one.left)):
            if mine is not None and mine[0] == number and (other is None or other[0] in reached):
                fixed.add(mine[1])
    return any(fixed.issuperset(key) for key in _keys(table))


def _keys(table: Table) -> Iterator[tuple[str, ...]]:
    for constraint in table.constraints:
        if constraint.kind in KEYS and constraint.enabled:
            yield constraint.columns
    for index in table.indexes:
        if index.unique:
            yield index.columns
