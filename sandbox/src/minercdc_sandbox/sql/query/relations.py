"""Relations in FROM: tables, of whose versions the snapshot chooses, views and subqueries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import StoredView
from minercdc_sandbox.sql import ast, number, temporal
from minercdc_sandbox.sql.execution import Parameter, Run
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.query.names import find_relation
from minercdc_sandbox.sql.query.partitions import in_partition
from minercdc_sandbox.sql.query.versions import row_scn, version_columns, version_rows
from minercdc_sandbox.sql.runtime import evaluate
from minercdc_sandbox.sql.scope import Scope, Source, Typed, Visible
from minercdc_sandbox.sql.translate.environment import Environment, active
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.translate.tables import stored_columns
from minercdc_sandbox.sql.types import Family, type_of_wire, varchar
from minercdc_sandbox.storage.store import history, segment, visible
from minercdc_sandbox.tables import Table

_NO_OWN = "-1"


@dataclass(slots=True)
class Relations:
    """Translates relations of FROM, for one statement; the first layer of `select.Queries`.

    :ivar env: whose names and privileges count; that of the owner within a view.
    :ivar x: translates expressions.
    :ivar tables: the tables that are read, each with the parameter of its AS OF, None without one.
    :ivar subquery: translates a query in FROM; the translator of queries sets it.
    """

    env: Environment
    x: Expressions
    tables: list[tuple[Table, Parameter | None]] = field(default_factory=list)
    subquery: Callable[[ast.Query, Scope | None], tuple[str, list[Visible]]] = field(init=False)
    _viewed: list[tuple[str, str]] = field(default_factory=list)  # names and aliases of views of the database
    _conditions: dict[str, ast.Expr] = field(default_factory=dict)
    _with: list[dict[str, tuple[str, list[Visible]]]] = field(
        default_factory=list
    )  # SQL and columns of CTEs, innermost last
    _past: tuple[Parameter, object] | None = None  # AS OF of the view in translation, for all of its tables
    _aliases: Iterator[int] = field(default_factory=lambda: iter(range(1, 1 << 30)))

    def relation(self, relation: ast.Relation, scope: Scope) -> str:
        """SQL of a relation, whose columns are added to the scope. Raises ORA-03001 for one that only `Joins` and `Pivots` know,
        AS OF of a subquery and VERSIONS BETWEEN of a view, ORA-14501, ORA-08188, ORA-04063, and as `find_relation`."""
        if isinstance(relation, ast.Derived):
            return self._derived(relation, scope)
        if isinstance(relation, ast.TableRef):
            return self._named(relation, scope, self.alias())
        raise OraError(3001, "unimplemented feature: this relation", relation.at)

    def alias(self) -> str:
        """A new name for a relation, unique in the statement."""
        return f"t{next(self._aliases)}"

    def _derived(self, relation: ast.Derived, scope: Scope) -> str:
        if relation.as_of is not None:
            raise OraError(3001, "unimplemented feature: AS OF on a subquery", relation.at)
        alias = self.alias()
        with self.x.without_sequences(True):
            sql, columns = self.subquery(relation.query, scope if relation.lateral and scope.sources else scope.parent)
        if relation.lateral and scope.sources:
            # SQLite has no lateral subqueries, but arguments of a table-valued function may name the relations before it.
            packed = ",".join(f"c{n}" for n in range(len(columns)))
            sql = f"o_unpack((select o_pack({packed}) from ({sql})))"
        else:
            sql = f"({sql})"
        scope.sources.append(Source(named_by(relation.alias), renamed(columns, alias)))
        return f"{sql} {alias}"

    def _named(self, ref: ast.TableRef, scope: Scope, alias: str) -> str:
        names = named_by(ref.alias or ref.name)
        if ref.owner is None:
            for level in reversed(self._with):
                if ref.name in level:
                    sql, columns = level[ref.name]
                    scope.sources.append(Source(names, renamed(columns, alias)))
                    return f"{sql} {alias}"
        found = find_relation(self.env, ref.owner, ref.name, ref.at, "FLASHBACK" if ref.as_of or ref.versions else "SELECT")
        if not ref.alias and isinstance(found, Table | StoredView):
            names = ((ref.name,), (found.owner, ref.name))
        if ref.partition is not None and not isinstance(found, Table):
            raise OraError(14501, "object is not partitioned", ref.partition.at)
        if isinstance(found, Table):
            return self._stored(found, ref, names, scope, alias)
        if isinstance(found, StoredView):
            return self._stored_view(found, ref, names, scope, alias)
        if ref.as_of is not None or ref.versions is not None:
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

    def _stored_view(
        self, view: StoredView, ref: ast.TableRef, names: tuple[tuple[str, ...], ...], scope: Scope, alias: str
    ) -> str:
        """SQL of the query of the view, with its owner's names and privileges. A view that FORCE made broken is not so
        afterwards. Raises ORA-04063 when its query has an error, ORA-03001 for VERSIONS BETWEEN."""
        if ref.versions is not None:
            raise OraError(3001, "unimplemented feature: VERSIONS BETWEEN of a view", ref.at)
        before, outer, past = self.env, self._with, self._past
        if ref.as_of is not None:
            self._past = self._as_of(ref.as_of)
        self.env, self._with = replace(before, schema=view.owner, user=view.owner), []
        self.x.env = self.env
        try:
            sql, columns = self.subquery(Parser(view.text).query(), None)
        except OraError as error:
            raise OraError(4063, f'view "{view.owner}.{view.name}" has errors', ref.at) from error
        finally:
            self.env, self._with, self.x.env, self._past = before, outer, before, past
        if view.broken:  # it had errors when FORCE made it, and has none now
            view.columns, view.broken = view.columns or tuple(column.name for column in columns), False
        if len(columns) != len(view.columns):
            raise OraError(4063, f'view "{view.owner}.{view.name}" has errors', ref.at)
        named = [replace(column, name=name) for column, name in zip(columns, view.columns, strict=True)]
        scope.sources.append(Source(names, renamed(named, alias)))
        return f"({sql}) {alias}"

    def _stored(self, table: Table, ref: ast.TableRef, names: tuple[tuple[str, ...], ...], scope: Scope, alias: str) -> str:
        columns = stored_columns(self.x, table, names, alias)
        source = Source(names, columns, (table.row_ids(), f"{alias}.vid"), table)
        scope.sources.append(source)
        if ref.versions is not None:
            kind, *ends = ref.versions
            low, high = [self._version_bound(kind, end, table, lowest=at == 0) for at, end in enumerate(ends)]
            source.pseudo = version_columns(table, alias)
            return f"{version_rows(table, low, high, self._part(table, ref, 'v.vid'))} {alias}"
        past = self._past if ref.as_of is None else self._as_of(ref.as_of)
        self.tables.append((table, None if past is None else past[0]))
        snapshot = self.x.snapshot if past is None else self.x.parameter(("as of", past[1]), past[0])
        source.pseudo = {"ORA_ROWSCN": row_scn(table, alias, snapshot)}
        seen = visible(snapshot, self.x.own if past is None else _NO_OWN)
        slots = "".join(f",c{c.slot}" for c in table.columns)
        seen += self._part(table, ref, "vid") + active(self.env, table)
        rows = f"select vid{slots} from {segment(table)} where {seen}"
        if table.has_history and (past is not None or self.env.flashback):
            rows += f" union all select vid{slots} from {history(table)} where {seen}"
        return f"({rows}) {alias}"

    def _part(self, table: Table, ref: ast.TableRef, vid: str) -> str:
        """SQL of the condition that PARTITION adds, from AND on; '' without one. Raises as `in_partition`."""
        return "" if ref.partition is None else " and " + in_partition(self.x, table, ref.partition, vid)

    def _version_bound(self, kind: str, end: ast.Expr | None, table: Table, *, lowest: bool) -> str:
        """One end of VERSIONS BETWEEN as a parameter; `end` None is MINVALUE or MAXVALUE. The `lowest` is noted in `tables`:
        reaching back before the table's newest definition is ORA-01466 at run time, before the undo ORA-30052. Raises as
        `_as_of`."""
        if end is not None:
            parameter, key = self._as_of((kind, end))
        elif lowest:
            parameter, key = (lambda run: max(table.ddl_scn, run.session.storage.horizon)), ("MINVALUE", table.object_id)
        else:
            return self.x.snapshot
        if lowest:
            self.tables.append((table, _within_undo(parameter)))
        return self.x.parameter(("as of", key), parameter)

    def _as_of(self, as_of: tuple[str, ast.Expr]) -> tuple[Parameter, object]:
        """The parameter that gives the SCN of a flashback query, evaluated apart when the statement starts, and a key: the same
        for equal expressions without binds and other values of a run, else of this call only. Raises as `Expressions.value` and
        `Conversions.to`. The parameter raises ORA-08186 for NULL, ORA-08181, ORA-08180, and as `evaluate`."""
        kind, expr = as_of
        inner = Expressions(self.env, self.x.bind_types)
        family = Family.NUMBER if kind == "SCN" else Family.TIMESTAMP
        sql = inner.to(inner.value(expr, None), family, expr.at)
        parameters = inner.parameters

        def scn(run: Run) -> int:
            cell = evaluate(sql, parameters, run)
            if not isinstance(cell, bytes):
                raise OraError(8186, "invalid timestamp specified" if kind != "SCN" else "null SCN specified")
            if kind == "SCN":
                return run.session.storage.clock.checked(number.to_int(cell))
            return run.session.storage.clock.scn_at(temporal.to_ns(temporal.decode(cell)) / 1e9)

        return scn, (kind, sql, tuple(id(p) for p in parameters))


def named_by(alias: str | None) -> tuple[tuple[str, ...], ...]:
    """The names by which a relation with this alias is found: none without an alias."""
    return ((alias,),) if alias else ()


def renamed(columns: list[Visible], alias: str) -> list[Visible]:
    """Result columns c0, c1, .. of a subquery as the columns of a relation named `alias` in FROM."""
    return [Visible(c.name, Typed(f"{alias}.c{n}", c.typed.type, c.typed.nullable)) for n, c in enumerate(columns)]


def _within_undo(low: Parameter) -> Parameter:
    """The parameter `low` of the lower bound of VERSIONS BETWEEN, but it raises ORA-30052 where undo does not reach so far back."""

    def checked(run: Run) -> int:
        scn = int(low(run))
        if scn < run.session.storage.horizon:
            raise OraError(30052, "invalid lower limit snapshot expression")
        return scn

    return checked
