"""SQL statements on a lake table that are the same in every format."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.lake.spark.sql import in_type, literal, quoted
from minercdc.lake.table.columns import (
    CDC,
    AddColumn,
    CopyColumn,
    DropColumn,
    IdentifyColumn,
    RenameColumn,
    Step,
    TableColumn,
    WidenColumn,
    lake_comment,
)


def step_statement(table: str, step: Step) -> str:
    """The statement of one step of `columns.evolution`.

    :param table: its name in SQL.
    """
    match step:
        case AddColumn(column):
            added = f"{quoted(column.name)} {column.type} COMMENT {literal(lake_comment(column.id, column.comment))}"
            return f"ALTER TABLE {table} ADD COLUMNS ({added})"
        case DropColumn(name):
            return f"ALTER TABLE {table} DROP COLUMN {quoted(name)}"
        case RenameColumn(name, new_name):
            return f"ALTER TABLE {table} RENAME COLUMN {quoted(name)} TO {quoted(new_name)}"
        case WidenColumn(name, kind):
            return f"ALTER TABLE {table} ALTER COLUMN {quoted(name)} TYPE {kind}"
        case IdentifyColumn(name, number, comment):
            text = literal(lake_comment(number, comment))
            return f"ALTER TABLE {table} ALTER COLUMN {quoted(name)} COMMENT {text}"
        case CopyColumn(source, kind, target, wanted):
            new, old = quoted(target), quoted(source)
            return f"UPDATE {table} SET {new} = {in_type(old, kind, wanted)} WHERE {new} IS NULL AND {old} IS NOT NULL"


def fill_statement(table: str, column: TableColumn, value: str, before: int) -> str:
    """The statement of `LakeTable.fill`.

    :param table: its name in SQL.
    """
    name = quoted(column.name)
    return f"UPDATE {table} SET {name} = {value} WHERE {CDC}.commit_scn < {before} AND {name} IS NULL"


def comment_statement(table: str, comment: str) -> str:
    """The statement of `LakeTable.describe`.

    :param table: its name in SQL.
    """
    return f"COMMENT ON TABLE {table} IS {literal(comment)}"


def no_rows(columns: Sequence[TableColumn], cdc: str) -> str:
    """A query without rows, in the columns of a lake table.

    :param cdc: Spark type of `__cdc`.
    """
    empty = [*(f"CAST(NULL AS {c.type}) AS {quoted(c.name)}" for c in columns), f"CAST(NULL AS {cdc}) AS {CDC}"]
    return f"SELECT {', '.join(empty)} WHERE false"
