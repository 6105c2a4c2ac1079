"""CONNECT BY as a recursive query (SQL Language Reference, Hierarchical Queries).

    src    the rows of FROM, numbered
    tree   rn, lvl, path of row numbers, the row's columns c.., its parent's p.., then x.., what CONNECT_BY_ROOT and
           SYS_CONNECT_BY_PATH carry downwards, and k.., the keys of ORDER SIBLINGS BY

SQLite takes the row with the greatest level from its queue first, so children come before their parent's siblings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.query.rownum import split_rownum
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc_sandbox.sql.translate.environment import quote
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import NUMBER, Family, varchar


def moved(sources: list[Source], alias: str, letter: str = "c") -> tuple[list[str], list[Source]]:
    """Several relations as one named `alias`: SQL of its columns, and new relations with the same names, whose columns are
    `alias.<letter><n>`.

    A version id is a column, too; pseudo-columns are left out.
    """
    items: list[str] = []
    found: list[Source] = []
    for source in sources:
        columns = []
        for column in source.columns:
            typed = Typed(f"{alias}.{letter}{len(items)}", column.typed.type, column.typed.nullable)
            columns.append(Visible(column.name, typed, column.hidden, column.invisible))
            items.append(column.typed.sql)
        vid = None
        if source.vid is not None:
            vid = (source.vid[0], f"{alias}.{letter}{len(items)}")
            items.append(source.vid[1])
        found.append(Source(source.names, columns, vid, source.table))
    return items, found


@dataclass(slots=True)
class Tree:
    """The relation of a hierarchical SELECT, made by `plant`. Translating the SELECT's expressions in the scope of `outer` adds
    to it, so `sql` must be called after them.

    :ivar x: translates the expressions.
    :ivar clause: START WITH and CONNECT BY.
    :ivar alias: of the relation in SQL.
    :ivar source: SQL of FROM.
    :ivar items: SQL of the columns of FROM.
    :ivar row, child: scopes of a row of the tree, and of the row that CONNECT BY tests as its child.
    :ivar carried: values that a row passes to its children: SQL at the root and at a child.
    :ivar leaf, cycle: whether CONNECT_BY_ISLEAF and CONNECT_BY_ISCYCLE are columns.
    """

    x: Expressions
    clause: ast.Hierarchy
    source: str
    items: list[str]
    row: Scope
    child: Scope
    alias: str
    carried: list[tuple[str, str]] = field(default_factory=list)
    leaf: bool = False
    cycle: bool = False
    _start: str = ""
    _connect: str = ""
    _limit: str | None = None
    _keys: list[tuple[Typed, ast.OrderItem]] = field(default_factory=list)

    @property
    def _follows(self) -> bool:
        """Whether CONNECT BY has a PRIOR: only then can it loop (ORA-01436); without it CONNECT BY LEVEL <= n makes rows."""
        return any(isinstance(node, ast.Parent) and not node.root for node in ast.descendants(self.clause.connect))

    def translate(self) -> None:
        """Translate START WITH, CONNECT BY and ORDER SIBLINGS BY; once, before the other methods. Raises as `split_rownum`,
        `Conditions.condition` and `Expressions.value`."""
        child, clause = self.child, self.clause
        if clause.start is not None:
            child.pseudo["LEVEL"] = Typed("o_int(1)", NUMBER, False)
            self._start = f" where {self.x.condition(clause.start, child)}"
        child.pseudo["LEVEL"] = Typed(f"o_int({self.alias}.lvl+1)", NUMBER, False)
        child.prior = self.row
        connect, self._limit = split_rownum(self.x, clause.connect)
        self._connect = self.x.condition(connect, child) if connect is not None else "1"
        self._keys = [(self.x.value(item.expr, child), item) for item in clause.siblings]

    def outer(self) -> Scope:
        """A scope of the expressions that see the rows of the tree, with LEVEL, the flags, PRIOR, CONNECT_BY_ROOT and
        SYS_CONNECT_BY_PATH."""
        _, parents = moved(self.row.sources, self.alias, "p")
        scope = Scope(self.row.sources, self.row.parent, prior=Scope(parents, self.row.parent), root=self._root)
        scope.pseudo["LEVEL"] = Typed(f"o_int({self.alias}.lvl)", NUMBER, False)
        scope.pseudo["CONNECT_BY_ISLEAF"] = Typed(f"o_int({self.alias}.leaf)", NUMBER, False)
        scope.pseudo["CONNECT_BY_ISCYCLE"] = Typed(f"o_int({self.alias}.cycle)", NUMBER, False)
        scope.calls["SYS_CONNECT_BY_PATH"] = self._path
        return scope

    def _carry(self, first: str, step: Callable[[str], str]) -> str:
        name = f"x{len(self.carried)}"
        self.carried.append((first, step(f"{self.alias}.{name}")))
        return f"{self.alias}.{name}"

    def _root(self, operand: ast.Expr) -> Typed:
        value = self.x.value(operand, self.child)
        return Typed(self._carry(value.sql, lambda above: above), value.type)

    def _path(self, call: ast.Call) -> Typed:
        if len(call.args) != 2:
            raise OraError(909, "invalid number of arguments", call.at)
        mark = call.args[1]
        kinds = (ast.LiteralKind.STRING, ast.LiteralKind.NATIONAL)
        if not isinstance(mark, ast.Literal) or mark.kind not in kinds or not mark.text:
            raise OraError(30003, "illegal parameter in SYS_CONNECT_BY_PATH function", call.at)
        value = self.x.to(self.x.value(call.args[0], self.child), Family.VARCHAR, call.at)
        step = f"o_path_step({value},{quote(mark.text)})"
        return Typed(self._carry(step, lambda above: f"{above}||{step}"), varchar())

    def sql(self) -> str:
        """SQL of the relation of the tree's rows, under its alias. When it runs, a loop raises ORA-01436 without NOCYCLE."""
        a, src, tree = self.alias, f"{self.alias}_src", f"{self.alias}_tree"
        child = f"{a}_child"
        width = range(len(self.items))
        keys = [key.sql for key, _ in self._keys]
        columns = [
            *("rn", "lvl", "path", *(f"c{n}" for n in width), *(f"p{n}" for n in width)),
            *(f"x{n}" for n in range(len(self.carried))),
            *(f"k{n}" for n in range(len(keys))),
        ]
        rows = ",".join(f"{item} as c{n}" for n, item in enumerate(self.items))
        own = [f"{child}.c{n}" for n in width]
        follows = self._follows
        start = [f"{child}.rn", "1", f"','||{child}.rn||','" if follows else "''", *own, *["null"] * len(own)]
        start += [first for first, _ in self.carried] + keys
        named = [f"{item} as {name}" for item, name in zip(start, columns, strict=True)]
        path = f"o_path({a}.path,{child}.rn)" if follows else "''"
        if follows and self.clause.nocycle:
            path = f"{a}.path||{child}.rn||','"
        step = [f"{child}.rn", f"{a}.lvl+1", path, *own, *(f"{a}.c{n}" for n in width)]
        step += [text for _, text in self.carried] + keys
        seen = f"instr({a}.path,','||{child}.rn||',')>0"
        unseen = f" and not {seen}" if follows and self.clause.nocycle else ""
        flags = f",not exists(select 1 from {src} {child} where {self._connect}{unseen}) as leaf" if self.leaf else ""
        if self.cycle:
            flags += f",exists(select 1 from {src} {child} where {self._connect} and {seen}) as cycle"
        return (
            f"(with recursive {src} as materialized (select row_number() over () as rn,{rows or '1 as c0'} from {self.source}),"
            f"{tree}({','.join(columns)}) as (select {','.join(named)} from {src} {child}{self._start} "
            f"union all select {','.join(step)} from {tree} {a} join {src} {child} on {self._connect}{unseen} "
            f"order by {self._order()}) select {a}.*{flags} from {tree} {a}) {a}"
        )

    def _order(self) -> str:
        """SQL of the order in which rows are taken up, and how many. Roots have passed no CONNECT BY: there is one at least."""
        terms = [
            f"k{n}{' desc' if item.descending else ''} nulls {'first' if item.nulls_first else 'last'}"
            for n, (_, item) in enumerate(self._keys)
        ]
        # ROWNUM counts the rows of the tree.
        most = f" limit max(1,{self._limit})" if self._limit is not None else ""
        return ",".join(["lvl desc", *terms, "rn"]) + most


def plant(x: Expressions, clause: ast.Hierarchy, source: str, scope: Scope, alias: str) -> Tree:
    """A tree over `source`, SQL of FROM with the relations of `scope`, its clause translated. Raises as `Tree.translate`."""
    items, rows = moved(scope.sources, alias)
    _, children = moved(scope.sources, f"{alias}_child")
    tree = Tree(x, clause, source, items, Scope(rows, scope.parent), Scope(children, scope.parent), alias)
    tree.translate()
    return tree
