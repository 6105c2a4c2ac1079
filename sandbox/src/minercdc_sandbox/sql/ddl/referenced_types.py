"""Types of columns that are declared without one: a foreign key gives them (SQL Language Reference, CREATE TABLE, datatype)."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec
from minercdc_sandbox.sql.parse.definitions import Definition
from minercdc_sandbox.tables import Column, ConstraintKind, Table

_TYPE = ("type", "precision", "scale", "size", "char_length", "semantics", "float_", "national", "storage")


def take_referenced_types(
    session: SqlSession, definition: Definition, owner: str, name: str, table: Table | None = None
) -> None:
    """Give each column without a type that of the column which its foreign key refers to. Raises ORA-02263 for a column that no
    foreign key has, ORA-02268 for a table without a primary key, ORA-02256, ORA-00904, and as `target_table`.

    :param owner, name: of the table that is defined, which a key may refer to.
    :param table: that table, when it is there.
    """
    for column_name, at in definition.untyped.items():
        keys = (s for s in definition.constraints if s.kind == ConstraintKind.FOREIGN and column_name in s.columns)
        spec = next(keys, None)
        if spec is None:
            raise OraError(2263, "need to specify the datatype for this column", at)
        assert spec.reference is not None
        is_own = (spec.reference[0] or owner, spec.reference[1]) == (owner, name)
        found, key = _own(definition, table) if is_own else _of_parent(session, spec)
        like = _like(spec, column_name, found, key)
        column = next(c for c in definition.columns if c.name == column_name)
        for part in _TYPE:
            setattr(column, part, getattr(like, part))


def _own(definition: Definition, table: Table | None) -> tuple[list[Column], tuple[str, ...]]:
    """The columns of the table itself that have a type, and its primary key's."""
    typed = [column for column in definition.columns if column.name not in definition.untyped]
    there = table.columns if table is not None else []
    key = next((s.columns for s in definition.constraints if s.kind == ConstraintKind.PRIMARY), ())
    return [*there, *typed], table.key.columns if table is not None and table.key is not None else key


def _of_parent(session: SqlSession, spec: ConstraintSpec) -> tuple[list[Column], tuple[str, ...]]:
    assert spec.reference is not None
    owner, name, _ = spec.reference
    parent = target_table(session.environment, owner, name, spec.at, "REFERENCES")
    return parent.columns, parent.key.columns if parent.key is not None else ()


def _like(spec: ConstraintSpec, name: str, found: list[Column], key: tuple[str, ...]) -> Column:
    """Of these columns, the one that a column of a foreign key refers to; `key`: where the constraint names none."""
    assert spec.reference is not None
    columns = spec.reference[2] or key
    if not columns:
        raise OraError(2268, "referenced table does not have a primary key", spec.at)
    if len(columns) != len(spec.columns):
        raise OraError(2256, "number of referencing columns must match referenced columns", spec.at)
    wanted = columns[spec.columns.index(name)]
    like = next((column for column in found if column.name == wanted), None)
    if like is None:
        raise OraError(904, f'"{wanted}": invalid identifier', spec.at)
    return like
