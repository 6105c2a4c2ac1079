"""Constraints, their indexes and supplemental log groups of a table; the rows there are must keep a new one."""

from __future__ import annotations

from typing import cast

from minercdc.sandbox import catalog as dictionary
from minercdc.sandbox.catalog import Constraint, Index, SupplementalLogGroup, Table
from minercdc.sandbox.interfaces import Cell, OraError, OraType
from minercdc.sandbox.sql.declare import NO_KEY
from minercdc.sandbox.sql.dml.checks import columns_of_check, plan_checks
from minercdc.sandbox.sql.execution import SqlSession
from minercdc.sandbox.sql.parse.definitions import column_list
from minercdc.sandbox.sql.parse.statements import Parser
from minercdc.sandbox.storage.store import segment, visible


def add_constraint(
    session: SqlSession, table: Table, name: str | None, kind: str, columns: tuple[str, ...], at: int
) -> Index | None:
    """Note the constraint and its index; the physical index comes with the segment."""
    positions = [table.position(column) for column in columns]
    if kind == "P" and table.key is not None:
        raise OraError(2260, "table can have only one primary key", at)
    if kind in "PU" and any(table.columns[position].type is OraType.TIMESTAMP_TZ for position in positions):
        text = "TIMESTAMP WITH TIME ZONE cannot be unique or a primary key"
        raise OraError(2329, f"column of datatype {text}", at)
    if kind in "PU" and any(table.columns[position].type in NO_KEY for position in positions):
        raise OraError(2327 if kind == "P" else 2329, "column of this datatype cannot be unique or a primary key", at)
    _check_name(session, table, name, at)
    generated = name is None
    full = name or session.catalog.generated_name()
    condition = f'"{columns[0]}" IS NOT NULL' if kind == "C" else None
    if kind == "P":
        for position in positions:
            table.columns[position].nullable = False
    if kind == "C":
        table.constraints.append(Constraint(full, kind, columns, None, generated, condition))
        return None
    index = next((i for i in table.indexes if i.unique and i.columns == columns), None)
    created = None
    if index is None:
        index = Index(table.owner, full, columns, True, session.catalog.new_object_id(), session.storage.clock.now())
        table.indexes.append(index)
        created = index
    table.constraints.append(Constraint(full, kind, columns, index.name, generated))
    return created


def _check_name(session: SqlSession, table: Table, name: str | None, at: int) -> None:
    tables = [t for t in session.catalog.tables(table.container) if t.owner == table.owner]
    taken = {c.name for t in (*tables, table) for c in (*t.constraints, *t.checks)}
    if name in taken:
        raise OraError(2264, "name already used by an existing constraint", at)


def add_check(session: SqlSession, table: Table, name: str | None, condition: str, at: int) -> None:
    """A CHECK. Raises what is wrong with its condition."""
    _check_name(session, table, name, at)
    columns = columns_of_check(table, condition)
    full = name or session.catalog.generated_name()
    table.checks.append(Constraint(full, "C", columns, None, name is None, condition))
    plan_checks(session.environment, table)


def check_rows(session: SqlSession, table: Table, name: str) -> None:
    """The rows there are must pass a new check. Raises ORA-02293."""
    plan = plan_checks(session.environment, table)
    if plan is None:
        return
    slots = ",".join(f"c{column.slot}" for column in table.columns)
    run = session.run()
    rows = session.storage.db.execute(
        f"select {slots} from {segment(table)} where {visible('?1', '?2')}", (run.snapshot, run.own)
    )
    for row in rows.fetchall():
        try:
            plan.enforce(session, cast("tuple[Cell, ...]", row))
        except OraError:
            raise OraError(2293, f"cannot validate ({table.owner}.{name}) - check constraint violated") from None


def add_group(session: SqlSession, table: Table, group: SupplementalLogGroup) -> None:
    if group.kind == dictionary.USER_GROUP:
        table.positions(group.columns)
        if any(other.name == group.name for other in table.log_groups):
            raise OraError(957, "duplicate log group name")
        table.log_groups.append(group)
        return
    if any(other.kind == group.kind for other in table.log_groups):
        raise OraError(32588, f"supplemental logging attribute {group.kind.lower()} exists")
    group.name = session.catalog.generated_name()
    group.always = group.kind in (dictionary.ALL_LOGGING, dictionary.KEY_LOGGING)
    table.log_groups.append(group)


def check_existing(session: SqlSession, table: Table, kind: str, columns: tuple[str, ...], name: str) -> None:
    """Rows that are there must keep the new constraint."""
    slots = [f"c{table.columns[at].slot}" for at in table.positions(columns)]
    null = " or ".join(f"{slot} is null" for slot in slots)
    if kind == "C" and row_count(session, table, null):
        raise OraError(2296, f"cannot enable ({table.owner}.{name}) - null values found")
    if kind == "C":
        return
    seen = visible(str(session.storage.clock.current), "-1")
    any_key = " or ".join(f"{slot} is not null" for slot in slots)
    sql = f"select 1 from {segment(table)} where {seen} and ({any_key}) group by {','.join(slots)} having count(*)>1 limit 1"
    if session.storage.db.execute(sql).fetchone() is not None:
        number, text = (2437, "primary key violated") if kind == "P" else (2299, "duplicate keys found")
        raise OraError(number, f"cannot validate ({table.owner}.{name}) - {text}")
    if kind == "P" and row_count(session, table, null):
        raise OraError(1449, "column contains NULL values; cannot alter to NOT NULL")


def row_count(session: SqlSession, table: Table, where: str = "1") -> int:
    seen = visible(str(session.storage.clock.current), "-1")
    sql = f"select count(*) from {segment(table)} where {seen} and {where}"
    return sum(int(row[0]) for row in session.storage.db.execute(sql))


def drop_constraint(session: SqlSession, parser: Parser, table: Table) -> None:
    if parser.word("PRIMARY", "KEY"):
        constraint = table.key
    elif parser.word("UNIQUE"):
        columns = column_list(parser)
        constraint = next((c for c in table.constraints if c.kind == "U" and c.columns == columns), None)
    else:
        name = parser.name()
        constraint = next((c for c in (*table.constraints, *table.checks) if c.name == name), None)
    parser.word("CASCADE")
    parser.word("DROP", "INDEX")
    parser.end()
    if constraint is None:
        raise OraError(2443, "Cannot drop constraint - nonexistent constraint")
    if constraint in table.checks:
        table.checks.remove(constraint)
        return
    table.constraints.remove(constraint)
    if constraint.kind == "C":
        table.columns[table.position(constraint.columns[0])].nullable = True
    if constraint.kind == "P":
        still = {c.columns[0] for c in table.constraints if c.kind == "C"}
        for at in table.positions(constraint.columns):
            table.columns[at].nullable = table.columns[at].name not in still
    index = next((i for i in table.indexes if i.name == constraint.index == constraint.name), None)
    if index is not None:
        table.indexes.remove(index)
        session.storage.segments.drop_index(table, index)
