"""Relations in FROM: tables with their versions filtered by snapshot, views, subqueries, joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from minercdc.sandbox.catalog import Table
from minercdc.sandbox.interfaces import OraError, View
from minercdc.sandbox.sql import ast, number, temporal
from minercdc.sandbox.sql.runtime import Parameter, Run
from minercdc.sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc.sandbox.sql.translate.environment import Environment
from minercdc.sandbox.sql.translate.expressions import Expressions
from minercdc.sandbox.sql.types import Family, column_type, type_of_wire, varchar
from minercdc.sandbox.storage.store import segment, visible

_NO_OWN = "-1"


@dataclass(slots=True)
class Relations:
    """Translates what stands in FROM, and notes the tables and views it reads."""

    env: Environment
    x: Expressions
    tables: list[tuple[Table, Parameter | None]] = field(default_factory=list)
    _viewed: list[tuple[str, str]] = field(default_factory=list)
    _conditions: dict[str, ast.Expr] = field(default_factory=dict)
    _with: list[dict[str, tuple[str, list[Visible]]]] = field(default_factory=list)
    _aliases: Iterator[int] = field(default_factory=lambda: iter(range(1, 1 << 30)))

    def query(self, query: ast.Query, parent: Scope | None) -> tuple[str, list[Visible]]:
        """A query in FROM, which the next level translates."""
        raise NotImplementedError

    def _relation(self, relation: ast.Relation, scope: Scope) -> str:
        if isinstance(relation, ast.Join):
            return self._join(relation, scope)
        alias = f"t{next(self._aliases)}"
        if isinstance(relation, ast.Derived):
            if relation.as_of is not None:
                raise OraError(3001, "unimplemented feature: AS OF on a subquery", relation.at)
            sql, columns = self.query(relation.query, scope.parent)
            names: tuple[tuple[str, ...], ...] = ((relation.alias,),) if relation.alias else ()
            scope.sources.append(Source(names, renamed(columns, alias)))
            return f"({sql}) {alias}"
        return self._named_relation(relation, scope, alias)

    def _named_relation(self, ref: ast.TableRef, scope: Scope, alias: str) -> str:
        names: tuple[tuple[str, ...], ...] = ((ref.alias,),) if ref.alias else ((ref.name,),)
        if ref.owner is None:
            for level in reversed(self._with):
                if ref.name in level:
                    sql, columns = level[ref.name]
                    scope.sources.append(Source(names, renamed(columns, alias)))
                    return f"({sql}) {alias}"
        found = find_relation(self.env, ref.owner, ref.name, ref.at)
        if isinstance(found, Table):
            if not ref.alias:
                names = ((ref.name,), (found.owner, ref.name))
            return self._stored(found, ref, names, scope, alias)
        if ref.as_of is not None:
            raise OraError(8188, "AS OF of this object is not possible", ref.at)
        if found is None:
            scope.sources.append(Source(names, [Visible("DUMMY", Typed(f"{alias}.c0", varchar(1)))]))
            return f"(select 'X' as c0) {alias}"
        columns = [
            Visible(c.name, Typed(f"{alias}.c{n}", type_of_wire(c.type, c.precision, c.scale, c.size, c.national)))
            for n, c in enumerate(found.columns)
        ]
        scope.sources.append(Source(names, columns))
        self._viewed.append((found.name, alias))
        return f'"{found.name}" {alias}'

    def _stored(self, table: Table, ref: ast.TableRef, names: tuple[tuple[str, ...], ...], scope: Scope, alias: str) -> str:
        columns = [Visible(c.name, Typed(f"{alias}.c{c.slot}", column_type(c), c.nullable)) for c in table.columns]
        scope.sources.append(Source(names, columns, (table.data_object_id, f"{alias}.vid"), table))
        if ref.as_of is None:
            self.tables.append((table, None))
            seen = visible(self.x.snapshot, self.x.own)
        else:
            parameter, key = self._as_of(ref.as_of)
            self.tables.append((table, parameter))
            seen = visible(self.x.parameter(("as of", key), parameter), _NO_OWN)
        slots = "".join(f",c{c.slot}" for c in table.columns)
        return f"(select vid{slots} from {segment(table)} where {seen}) {alias}"

    def _as_of(self, as_of: tuple[str, ast.Expr]) -> tuple[Parameter, object]:
        """The SCN of a flashback query, evaluated apart when the statement starts."""
        kind, expr = as_of
        inner = Expressions(self.env, self.x.bind_types)
        family = Family.NUMBER if kind == "SCN" else Family.TIMESTAMP
        sql = inner.to(inner.value(expr, None), family, expr.at)
        parameters = inner.parameters

        def scn(run: Run) -> int:
            cell = run.session.evaluate(sql, parameters, run)
            if not isinstance(cell, bytes):
                raise OraError(8186, "invalid timestamp specified" if kind != "SCN" else "null SCN specified")
            if kind == "SCN":
                return run.session.checked_scn(number.to_int(cell))
            return run.session.scn_at(temporal.to_ns(temporal.decode(cell)) / 1e9)

        return scn, (kind, sql, tuple(id(p) for p in parameters))

    def _join(self, join: ast.Join, scope: Scope) -> str:
        before = len(scope.sources)
        left = self._relation(join.left, scope)
        middle = len(scope.sources)
        right = self._relation(join.right, scope)
        if isinstance(join.right, ast.Join):
            right = f"({right})"
        joined = Scope(scope.sources[before:], scope.parent)
        if join.kind == "CROSS":
            return f"{left} cross join {right}"
        if join.using:
            condition = self._using(join, scope.sources[before:middle], scope.sources[middle:])
        else:
            assert join.on is not None
            condition = self.x.condition(join.on, joined)
        if join.kind in ("LEFT", "FULL"):
            _make_nullable(scope.sources[middle:])
        if join.kind in ("RIGHT", "FULL"):
            _make_nullable(scope.sources[before:middle])
        return f"{left} {join.kind.lower()} join {right} on {condition}"

    def _using(self, join: ast.Join, left: list[Source], right: list[Source]) -> str:
        if join.kind in ("RIGHT", "FULL"):
            raise OraError(3001, f"unimplemented feature: {join.kind} JOIN .. USING", join.at)
        tests = []
        for name in join.using:
            sides = [Scope(sources).resolve(ast.Name((name,), join.at)) for sources in (left, right)]
            if sides[0] is None or sides[1] is None:
                raise OraError(904, f'"{name}": invalid identifier', join.at)
            tests.append(self.x.compare("=", sides[0][0], sides[1][0], join.at))
            for source in right:
                for column in source.columns:
                    column.hidden = column.hidden or column.name == name
        return " and ".join(tests)


def _make_nullable(sources: list[Source]) -> None:
    """The side of an outer join that may be missing: it changes where NULLs sort."""
    for source in sources:
        for column in source.columns:
            column.typed = replace(column.typed, nullable=True)


def find_relation(env: Environment, owner: str | None, name: str, at: int) -> Table | View | None:
    """The table or view a name means; None is DUAL. Raises ORA-00942."""
    table = env.catalog.table(env.container, owner or env.schema, name)
    if table is not None:
        return table
    if owner in (None, "SYS", "PUBLIC"):
        if name == "DUAL":
            return None
        for spelled in (name, name.replace("V_$", "V$", 1)):
            if spelled in env.views:
                return env.views[spelled]
    raise OraError(942, f'table or view "{owner or env.schema}"."{name}" does not exist', at)


def renamed(columns: list[Visible], alias: str) -> list[Visible]:
    return [Visible(c.name, Typed(f"{alias}.c{n}", c.typed.type, c.typed.nullable)) for n, c in enumerate(columns)]
