"""A case: tables, and a history of them, with the events that it makes. Cases are declared, one file for each family, in `cases`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Who: TypeAlias = Literal["owner", "second", "admin"]
"""The session of a step: of the schema's owner, another one of the same, or one that may switch logs."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement with one large value in its bind variable `:v`.

    :param kind: the value's type: `CLOB`, `NCLOB` or `BLOB`.
    """

    sql: str
    value: str | bytes
    kind: str


Statement: TypeAlias = str | Bound
"""`{t}` and `{u}` in a text stand for the names of the case's tables."""


@dataclass(frozen=True, slots=True)
class Step:
    """Statements of one session.

    :param events: those that the end of the step delivers, each as its letter and the row's ID: `c 1`; `t` for a TRUNCATE. Their order
        counts within the events of a row.
    :param ends: how the transaction ends; `open`: a later step of the session ends it.
    :param clears: DDL takes rows away without an event for each.
    """

    statements: Sequence[Statement]
    events: Sequence[str] = ()
    ends: Literal["commit", "rollback", "open"] = "commit"
    who: Who = "owner"
    clears: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One check with a name. Every row of its tables has a number ID that no other row of the case ever has.

    :param create: makes the tables, before the capture begins; their column ID is a NUMBER.
    :param rows: makes the rows that the snapshot reads.
    :param logged: tables that get supplemental logging of all columns before the capture begins.
    """

    name: str
    create: Sequence[str]
    rows: Sequence[Statement] = ()
    steps: Sequence[Step] = ()
    logged: Sequence[str] = ("{t}",)


LOGGED = "ALTER TABLE {t} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
"""What a case says of a table that it makes within its history."""


def of_type(name: str, declared: str, values: Sequence[str | Bound], *, more: Sequence[Step] = ()) -> Case:
    """The case of a type: a row that the snapshot reads, an insert of each value and of NULL, updates from and to NULL, deletes.

    :param declared: the type, as CREATE TABLE names it.
    :param values: at least two expressions; or a Bound each, whose text is the expression.
    :param more: steps after these; IDs from 100 on are free.
    """
    last, none = len(values), len(values) + 1
    inserts = [_with("INSERT INTO {{t}} VALUES ({id}, {value})", number, value) for number, value in enumerate(values, 1)]
    steps = (
        Step([*inserts, f"INSERT INTO {{t}} (ID) VALUES ({none})"], [f"c {number}" for number in range(1, none + 1)]),
        Step(
            [
                _with("UPDATE {{t}} SET V = {value} WHERE ID = {id}", 1, values[-1]),
                f"UPDATE {{t}} SET V = NULL WHERE ID = {last}",
                _with("UPDATE {{t}} SET V = {value} WHERE ID = {id}", none, values[0]),
            ],
            ["u 1", f"u {last}", f"u {none}"],
        ),
        Step([f"DELETE FROM {{t}} WHERE ID IN (0, 1, {none})"], ["d 0", "d 1", f"d {none}"]),
    )
    return Case(
        name,
        [f"CREATE TABLE {{t}} (ID NUMBER(9) PRIMARY KEY, V {declared})"],
        [_with("INSERT INTO {{t}} VALUES ({id}, {value})", 0, values[0])],
        (*steps, *more),
    )


def _with(form: str, number: int, value: str | Bound) -> Statement:
    if isinstance(value, Bound):
        return Bound(form.format(id=number, value=value.sql), value.value, value.kind)
    return form.format(id=number, value=value.replace("{", "{{").replace("}", "}}"))


def named(statement: Statement, tables: dict[str, str]) -> tuple[str, dict[str, Any], str]:
    """The text with names of tables in place of `{t}` and `{u}`, its bind variables, and the type of the value, '' without one."""
    if isinstance(statement, Bound):
        return statement.sql.format(**tables), {"v": statement.value}, statement.kind
    return statement.format(**tables), {}, ""
