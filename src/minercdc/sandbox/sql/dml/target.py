"""The table a DML statement changes, and how values are stored into it."""

from __future__ import annotations

from datetime import date
from typing import TypeAlias

from minercdc.sandbox.catalog import Column, Table
from minercdc.sandbox.interfaces import Cell, OraError
from minercdc.sandbox.sql import ast
from minercdc.sandbox.sql.convert import Conversion
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.sql.query.relations import find_relation
from minercdc.sandbox.sql.translate.environment import Environment

BindRow: TypeAlias = "tuple[Cell, ...]"


def conversion(env: Environment) -> Conversion:
    return Conversion(env.nls, date.today())


def target_table(env: Environment, owner: str | None, name: str, at: int) -> Table:
    """Raises ORA-00942, and ORA-02030/01732 for what cannot be changed."""
    found = find_relation(env, owner, name, at)
    if isinstance(found, Table):
        return found
    raise OraError(1732 if found is None else 2030, "data manipulation operation not legal on this view", at)


def column_path(table: Table, column: Column) -> str:
    return f'"{table.owner}"."{table.name}"."{column.name}"'


def default_of(column: Column) -> ast.Expr:
    return Parser(column.default or "NULL").expr()


def table_names(table: Table) -> tuple[tuple[str, ...], ...]:
    return (table.name,), (table.owner, table.name)
