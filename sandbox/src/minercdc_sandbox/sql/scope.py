"""Names in a query: the relations of each level, their columns, and the resolution of names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.types import ROWID, SqlType, column_type
from minercdc_sandbox.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Typed:
    """A translated expression: SQLite text, its Oracle type, whether it may be NULL.

    :param literal: the text of a string literal; None for any other expression.
    :param vid: of the ROWID of a table: (`Table.row_ids`, SQL of the version id); None for any other expression.
    """

    sql: str
    type: SqlType
    nullable: bool = True
    literal: str | None = None
    vid: tuple[str, str] | None = None


@dataclass(slots=True)
class Visible:
    """A column of a relation in a query.

    :param typed: how it is read.
    :param hidden: merged by USING, so found with its relation's name only.
    :param invisible: an INVISIBLE column, which `*` leaves out.
    """

    name: str
    typed: Typed
    hidden: bool = False
    invisible: bool = False


@dataclass(slots=True)
class Source:
    """A relation in FROM, as names find it.

    :param names: qualifiers that find it: its alias, or its name with and without owner.
    :param columns: complete before the first `find`.
    :param vid: as of the `Typed` of its ROWID; None for a relation without ROWID.
    :param table: the stored table that it is; None for a view or subquery.
    :param pseudo: its pseudo-columns but ROWID.
    """

    names: tuple[tuple[str, ...], ...]
    columns: list[Visible]
    vid: tuple[str, str] | None = None
    table: Table | None = None
    pseudo: dict[str, Typed] = field(default_factory=dict)
    _by_name: dict[str, Visible] = field(default_factory=dict)

    def find(self, name: str) -> Visible | None:
        """The first column of that name, a hidden one too; None without one."""
        if not self._by_name:
            for column in self.columns:
                self._by_name.setdefault(column.name, column)
        return self._by_name.get(name)


@dataclass(slots=True)
class Scope:
    """The relations of one SELECT, in which its names are looked up, then in those of the query around it.

    :param parent: the scope of the query around it; None for none.
    :param pseudo: pseudo-columns it has: ROWNUM, LEVEL, CONNECT_BY_ISLEAF, CONNECT_BY_ISCYCLE.
    :param prior: the scope of names after PRIOR, in a hierarchical query, else None.
    :param root: translates the operand of CONNECT_BY_ROOT; None where that may not stand.
    :param calls: functions of this SELECT only: SYS_CONNECT_BY_PATH.
    """

    sources: list[Source] = field(default_factory=list)
    parent: Scope | None = None
    pseudo: dict[str, Typed] = field(default_factory=dict)
    prior: Scope | None = None
    root: Callable[[ast.Expr], Typed] | None = None
    calls: dict[str, Callable[[ast.Call], Typed]] = field(default_factory=dict)

    def resolve(self, name: ast.Name) -> tuple[Typed, Scope] | None:
        """The column, ROWID or pseudo-column of a relation and its scope, this or an outer one; None if none has it.
        `Scope.pseudo` is not looked at. Raises ORA-00918 for two in one scope."""
        *qualifier, column = name.parts
        found: list[Typed] = []
        for source in self.sources:
            if qualifier and tuple(qualifier) not in source.names:
                continue
            visible = source.find(column)
            if visible is not None and not (visible.hidden and not qualifier):
                found.append(visible.typed)
            elif column == "ROWID" and source.vid is not None:
                found.append(rowid_of(source))
            elif column in source.pseudo:
                found.append(source.pseudo[column])
        if len(found) > 1:
            raise OraError(918, f"{name.parts[-1]}: column ambiguously specified", name.at)
        if found:
            return found[0], self
        return self.parent.resolve(name) if self.parent is not None else None

    def named(self, qualifier: tuple[str, ...]) -> list[Source]:
        """The relations that a qualifier finds, of this scope only."""
        return [source for source in self.sources if qualifier in source.names]


def column_value(table: Table, column: Column, sql: str, vid: str | None) -> Typed:
    """A stored column of a table as an expression. A CLOB or BLOB is located in its row, so that it can be written through the
    locator.

    :param sql: of the stored cell; `vid`: of the row's version id, None for a row without one.
    """
    kind = column_type(column)
    if vid is not None and column.type in (OraType.CLOB, OraType.BLOB):
        sql = f"o_lob_at({sql},{table.data_object_id},{vid},{column.slot})"
    return Typed(sql, kind, column.nullable)


def rowid_of(source: Source) -> Typed:
    """The ROWID of a relation that has one (`vid`), as an expression."""
    assert source.vid is not None
    segments, vid = source.vid
    return Typed(f"o_row_text({segments},{vid})", ROWID, False, vid=source.vid)
