"""DDL on tables and indexes. Each commits first, takes its table alone or fails with ORA-00054, and is logged as its own transaction."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from minercdc.sandbox import catalog as dictionary
from minercdc.sandbox.catalog import Column, Constraint, Index, SupplementalLogGroup, Table
from minercdc.sandbox.interfaces import Cell, ColumnDescription, OraError, OraType
from minercdc.sandbox.sql import ast, checks, dml
from minercdc.sandbox.sql.definitions import (
    Definition,
    column_list,
    column_options,
    definition_item,
    physical_options,
    supplemental,
)
from minercdc.sandbox.sql.expressions import Expressions
from minercdc.sandbox.sql.parser import Parser
from minercdc.sandbox.sql.types import declare, storer
from minercdc.sandbox.storage.locks import BUSY, EXCLUSIVE
from minercdc.sandbox.storage.store import segment, visible

if TYPE_CHECKING:
    from minercdc.sandbox.session import SandboxSession

# ---- CREATE TABLE ----


def create_table(session: SandboxSession, parser: Parser) -> None:
    owner, name = parser.qualified()
    definition = Definition()
    query: ast.Query | None = None
    if parser.op("("):
        definition_item(parser, definition)
        while parser.op(","):
            definition_item(parser, definition)
        parser.expect_op(")")
    physical_options(parser)
    if parser.word("AS"):
        if definition.columns:
            raise OraError(1773, "may not specify column datatypes in this CREATE TABLE")
        query = parser.query()
    parser.end()
    with session.storage.lock:
        session.commit()
        plan = None
        if query is not None:
            plan = session.plan_inner(query)
            definition.columns = [_column_like(c) for c in plan.columns]
        table = _new_table(session, owner or session.schema, name, definition)
        session.storage.segments.create(table)
        session.catalog.add_table(table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        table.ddl_scn = scn
        if plan is not None:
            rows = session.rows_of(plan, ())
            if rows:
                session.storage.insert(session.client, table, rows)
            session.commit()


_FRACTIONS = (
    *(OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ),
    *(OraType.INTERVAL_DS, OraType.INTERVAL_YM),
)


def _column_like(described: ColumnDescription) -> Column:
    text = described.type in (OraType.VARCHAR2, OraType.CHAR)
    chars = (described.size // 2 if described.national else described.size) if text else 0
    return Column(
        described.name,
        described.type,
        described.precision,
        described.scale,
        described.size,
        chars,
        semantics="C" if described.national else "B",
        nullable=described.nullable,
        national=described.national,
    )


def _new_table(session: SandboxSession, owner: str, name: str, definition: Definition) -> Table:
    catalog = session.catalog
    if catalog.user(session.container, owner) is None:
        raise OraError(1918, f"user '{owner}' does not exist")
    if not definition.columns:
        raise OraError(904, "invalid identifier")
    if len(definition.columns) > 1000:
        raise OraError(1792, "maximum number of columns in a table or view is 1000")
    if catalog.table(session.container, owner, name) is not None:
        raise OraError(955, "name is already used by an existing object")
    for slot, column in enumerate(definition.columns):
        column.slot = slot
    now = session.storage.clock.now()
    object_id = catalog.new_object_id()
    table = Table(
        session.container, owner, name, object_id, object_id, definition.columns, now, now, session.storage.clock.advance()
    )
    table.next_slot = len(definition.columns)
    for constraint in definition.constraints:
        _add_constraint(session, table, *constraint)
    for check in definition.checks:
        _add_check(session, table, *check)
    for group in definition.groups:
        _add_group(session, table, group)
    _check_defaults(session, definition.columns)
    return table


def _check_defaults(session: SandboxSession, columns: Sequence[Column]) -> None:
    """A default is understood now or refused now."""
    for column in columns:
        if column.default is not None:
            try:
                Expressions(session.environment).value(Parser(column.default).expr(), None)
            except OraError as error:
                if error.number == 904:
                    raise OraError(984, "column not allowed here") from None
                raise


def _add_constraint(
    session: SandboxSession, table: Table, name: str | None, kind: str, columns: tuple[str, ...], at: int
) -> Index | None:
    """Note the constraint and its index; the physical index comes with the segment."""
    positions = [table.position(column) for column in columns]
    if kind == "P" and table.key is not None:
        raise OraError(2260, "table can have only one primary key", at)
    if kind in "PU" and any(table.columns[position].type is OraType.TIMESTAMP_TZ for position in positions):
        text = "TIMESTAMP WITH TIME ZONE cannot be unique or a primary key"
        raise OraError(2329, f"column of datatype {text}", at)
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


def _check_name(session: SandboxSession, table: Table, name: str | None, at: int) -> None:
    tables = [t for t in session.catalog.tables(table.container) if t.owner == table.owner]
    taken = {c.name for t in (*tables, table) for c in (*t.constraints, *t.checks)}
    if name in taken:
        raise OraError(2264, "name already used by an existing constraint", at)


def _add_check(session: SandboxSession, table: Table, name: str | None, condition: str, at: int) -> None:
    """A CHECK. Raises what is wrong with its condition."""
    _check_name(session, table, name, at)
    columns = checks.columns_of(table, condition)
    full = name or session.catalog.generated_name()
    table.checks.append(Constraint(full, "C", columns, None, name is None, condition))
    checks.plan_checks(session.environment, table)


def _check_rows(session: SandboxSession, table: Table, name: str) -> None:
    """The rows there are must pass a new check. Raises ORA-02293."""
    plan = checks.plan_checks(session.environment, table)
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


def _add_group(session: SandboxSession, table: Table, group: SupplementalLogGroup) -> None:
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


# ---- ALTER TABLE ----


def _alone(session: SandboxSession, table: Table) -> None:
    """Wait DDL_LOCK_TIMEOUT seconds (0 unless set) for transactions on the table to end.

    Raises ORA-00054 when one goes on, ORA-00942 when the table was dropped meanwhile.
    """
    found = session.storage.locks
    deadline = time.monotonic() + int(session.parameters.get("DDL_LOCK_TIMEOUT", "0"))
    while (blocker := found.table_blocker(table, None, EXCLUSIVE)) is not None:
        if time.monotonic() >= deadline:
            raise OraError(54, BUSY)
        try:
            found.wait(session.client, blocker, deadline)
        except OraError as error:
            raise OraError(54, BUSY) if error.number == 30006 else error from None
    if session.catalog.table(table.container, table.owner, table.name) is not table:
        raise OraError(942, "table or view does not exist")


@contextmanager
def _whole_or_not(table: Table) -> Iterator[None]:
    """A failed ALTER leaves the definition as it was; physical columns and indexes it made stay behind unseen."""
    columns = [replace(column) for column in table.columns]
    constraints = [replace(constraint) for constraint in table.constraints]
    indexes = [replace(index) for index in table.indexes]
    groups = [replace(group) for group in table.log_groups]
    kept = [replace(check) for check in table.checks]
    try:
        yield
    except OraError:
        table.columns, table.constraints, table.indexes, table.log_groups = columns, constraints, indexes, groups
        table.checks = kept
        raise


def alter_table(session: SandboxSession, parser: Parser) -> None:
    at = parser.token.start
    owner, name = parser.qualified()
    with session.storage.lock:
        session.commit()
        table = dml.target_table(session.environment, owner, name, at)
        _alone(session, table)
        with _whole_or_not(table):
            definition = _alter(session, parser, table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=definition)


def _alter(session: SandboxSession, parser: Parser, table: Table) -> bool:
    """Apply it; returns whether the stored columns changed."""
    if parser.word("ADD"):
        return _alter_add(session, parser, table)
    if parser.word("DROP"):
        return _alter_drop(session, parser, table)
    if parser.word("MODIFY"):
        _alter_modify(session, parser, table)
        return True
    if parser.word("RENAME", "COLUMN"):
        position = table.position(parser.name(904, "invalid identifier"))
        parser.expect_word("TO")
        name = parser.name(904, "invalid identifier")
        parser.end()
        if any(column.name == name for column in table.columns):
            raise OraError(957, "duplicate column name")
        for check in table.checks:
            checks.renamed(check, table.columns[position].name, name)
        session.catalog.rename_column(table, position, name)
        return True
    if parser.word("RENAME", "TO"):
        name = parser.name()
        parser.end()
        _rename(session, table, name)
        return False
    raise OraError(3001, "unimplemented feature: this ALTER TABLE", parser.token.start)


def _rename(session: SandboxSession, table: Table, name: str) -> None:
    place = session.catalog.containers[table.container].tables
    if (table.owner, name) in place:
        raise OraError(955, "name is already used by an existing object")
    del place[table.owner, table.name]
    table.name = name
    session.catalog.add_table(table)


def _alter_add(session: SandboxSession, parser: Parser, table: Table) -> bool:
    definition = Definition()
    if parser.op("("):
        definition_item(parser, definition)
        while parser.op(","):
            definition_item(parser, definition)
        parser.expect_op(")")
    else:
        definition_item(parser, definition)
        while parser.op(","):
            parser.word("ADD")
            definition_item(parser, definition)
    parser.end()
    _check_defaults(session, definition.columns)
    for column in definition.columns:
        _add_column(session, table, column)
    for constraint in definition.constraints:
        index = _add_constraint(session, table, *constraint)
        _check_existing(session, table, constraint[1], constraint[2], table.constraints[-1].name)
        if index is not None:
            session.storage.segments.create_index(table, index)
    for check in definition.checks:
        _add_check(session, table, *check)
        _check_rows(session, table, table.checks[-1].name)
    for group in definition.groups:
        _add_group(session, table, group)
    return bool(definition.columns)


def _add_column(session: SandboxSession, table: Table, column: Column) -> None:
    if any(other.name == column.name for other in table.columns):
        raise OraError(1430, "column being added already exists in table")
    default = None
    if column.default is not None:
        x = Expressions(session.environment)
        typed = x.value(Parser(column.default).expr(), None)
        cell = session.evaluate(typed.sql, x.parameters, session.run())
        default = storer(
            typed.type, column, f'"{table.owner}"."{table.name}"."{column.name}"', dml.conversion(session.environment)
        )(cell)
    if not column.nullable and default is None and _row_count(session, table):
        raise OraError(1758, "table must be empty to add mandatory (NOT NULL) column")
    column.slot, table.next_slot = table.next_slot, table.next_slot + 1
    session.storage.segments.add_column(table, column.slot, default)
    table.columns.append(column)


def _row_count(session: SandboxSession, table: Table, where: str = "1") -> int:
    seen = visible(str(session.storage.clock.current), "-1")
    sql = f"select count(*) from {segment(table)} where {seen} and {where}"
    return sum(int(row[0]) for row in session.storage.db.execute(sql))


def _check_existing(session: SandboxSession, table: Table, kind: str, columns: tuple[str, ...], name: str) -> None:
    """Rows that are there must keep the new constraint."""
    slots = [f"c{table.columns[at].slot}" for at in table.positions(columns)]
    null = " or ".join(f"{slot} is null" for slot in slots)
    if kind == "C" and _row_count(session, table, null):
        raise OraError(2296, f"cannot enable ({table.owner}.{name}) - null values found")
    if kind == "C":
        return
    seen = visible(str(session.storage.clock.current), "-1")
    any_key = " or ".join(f"{slot} is not null" for slot in slots)
    sql = f"select 1 from {segment(table)} where {seen} and ({any_key}) group by {','.join(slots)} having count(*)>1 limit 1"
    if session.storage.db.execute(sql).fetchone() is not None:
        number, text = (2437, "primary key violated") if kind == "P" else (2299, "duplicate keys found")
        raise OraError(number, f"cannot validate ({table.owner}.{name}) - {text}")
    if kind == "P" and _row_count(session, table, null):
        raise OraError(1449, "column contains NULL values; cannot alter to NOT NULL")


def _alter_drop(session: SandboxSession, parser: Parser, table: Table) -> bool:
    if parser.word("SUPPLEMENTAL", "LOG"):
        for group in supplemental(parser):
            same = [g for g in table.log_groups if g.kind == group.kind and (not group.name or g.name == group.name)]
            if not same:
                raise OraError(32587, "Cannot drop nonexistent supplemental logging")
            table.log_groups.remove(same[0])
        parser.end()
        return False
    if parser.word("CONSTRAINT") or parser.is_word("PRIMARY", "KEY") or parser.is_word("UNIQUE"):
        _drop_constraint(session, parser, table)
        return False
    names = [parser.name(904, "invalid identifier")] if parser.word("COLUMN") else list(column_list(parser))
    parser.word("CASCADE", "CONSTRAINTS")
    parser.end()
    for name in names:
        _drop_column(session, table, name)
    return True


def _drop_constraint(session: SandboxSession, parser: Parser, table: Table) -> None:
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


def _drop_column(session: SandboxSession, table: Table, name: str) -> None:
    """The physical column stays, unseen."""
    position = table.position(name)
    if len(table.columns) == 1:
        raise OraError(12983, "cannot drop all columns in a table")
    if any(name in check.columns and len(check.columns) > 1 for check in table.checks):
        raise OraError(12991, "column is referenced in a multi-column constraint")
    table.checks = [check for check in table.checks if name not in check.columns]
    for constraint in [c for c in table.constraints if name in c.columns]:
        if len(constraint.columns) > 1:
            raise OraError(12991, "column is referenced in a multi-column constraint")
        table.constraints.remove(constraint)
    for index in [i for i in table.indexes if name in i.columns]:
        session.storage.segments.drop_index(table, index)
        table.indexes.remove(index)
    for group in list(table.log_groups):
        group.columns = tuple(c for c in group.columns if c != name)
        if group.kind == dictionary.USER_GROUP and not group.columns:
            table.log_groups.remove(group)
    del table.columns[position]


def _alter_modify(session: SandboxSession, parser: Parser, table: Table) -> None:
    listed = parser.op("(")
    while True:
        _modify_column(session, parser, table)
        if not listed or not parser.op(","):
            break
    if listed:
        parser.expect_op(")")
    parser.end()


def _modify_column(session: SandboxSession, parser: Parser, table: Table) -> None:
    position = table.position(parser.name(904, "invalid identifier"))
    column = table.columns[position]
    if parser.token.text not in ("NOT", "NULL", "DEFAULT", "CONSTRAINT", ")", ","):
        wanted = declare(column.name, parser.type_name())
        _check_modify(session, table, column, wanted)
        column.type, column.precision, column.scale = wanted.type, wanted.precision, wanted.scale
        column.size, column.char_length, column.semantics, column.float_ = (
            *(wanted.size, wanted.char_length, wanted.semantics),
            wanted.float_,
        )
    was = column.nullable
    extra = Definition()
    column_options(parser, column, extra)
    for check in extra.checks:
        _add_check(session, table, *check)
        _check_rows(session, table, table.checks[-1].name)
    for constraint in extra.constraints:
        if constraint[1] == "C" and not was:
            raise OraError(1442, "column to be modified to NOT NULL is already NOT NULL")
        if constraint[1] == "C" and _row_count(session, table, f"c{column.slot} is null"):
            column.nullable = True
            raise OraError(2296, f"cannot enable ({table.owner}.) - null values found")
        index = _add_constraint(session, table, *constraint)
        if index is not None:
            session.storage.segments.create_index(table, index)
    if not was and column.nullable:
        table.constraints = [c for c in table.constraints if not (c.kind == "C" and c.columns == (column.name,))]


def _check_modify(session: SandboxSession, table: Table, old: Column, new: Column) -> None:
    slot = f"c{old.slot}"
    filled = _row_count(session, table, f"{slot} is not null")
    if not filled:
        return
    if old.type is not new.type or old.national is not new.national:
        raise OraError(1439, "column to be modified must be empty to change datatype")
    if new.type is OraType.NUMBER:
        whole_old = 40 if old.scale == -127 else (old.precision or 38) - old.scale
        whole_new = 40 if new.scale == -127 else (new.precision or 38) - new.scale
        places_old, places_new = (200 if c.scale == -127 else c.scale for c in (old, new))
        if whole_new < whole_old or places_new < places_old:
            raise OraError(1440, "column to be modified must be empty to decrease precision or scale")
    elif new.type is OraType.CHAR and new.char_length != old.char_length:
        raise OraError(3001, "unimplemented feature: changing the length of a CHAR column that has values")
    elif new.type in _FRACTIONS and (new.scale < old.scale or new.precision < old.precision):
        raise OraError(
            30082, "datetime/interval column to be modified must be empty to decrease fractional second precision"
        )
    elif new.type in (OraType.VARCHAR2, OraType.RAW):
        length = "length" if new.semantics == "C" or new.type is OraType.RAW else "octet_length"
        limit = new.size if new.type is OraType.RAW else new.char_length
        if new.national:
            length = "o_utf16_units"
        if _row_count(session, table, f"{length}({slot})>{limit}"):
            raise OraError(1441, "cannot decrease column length because some value is too big")


# ---- DROP, TRUNCATE, indexes, comments ----


def drop_table(session: SandboxSession, parser: Parser) -> None:
    at = parser.token.start
    owner, name = parser.qualified()
    parser.word("CASCADE", "CONSTRAINTS")
    purge = parser.word("PURGE")
    parser.end()
    with session.storage.lock:
        session.commit()
        table = dml.target_table(session.environment, owner, name, at)
        _alone(session, table)
        session.storage.segments.drop(segment(table))
        text = parser.sql.rstrip().rstrip(";")
        if purge:
            session.catalog.purge(table)
        else:
            bin_name = _recycle_name(table)
            session.catalog.recycle(table, bin_name)
            text = f'{text} AS "{bin_name}" '
        session.storage.log_ddl(session.client, text, table, table.owner, name)


def _recycle_name(table: Table) -> str:
    digest = hashlib.md5(f"{table.object_id}".encode(), usedforsecurity=False).digest()
    return f"BIN${base64.b64encode(digest).decode()}$0"


def truncate_table(session: SandboxSession, parser: Parser) -> None:
    at = parser.token.start
    owner, name = parser.qualified()
    if parser.any_word("DROP", "REUSE"):
        parser.word("ALL")
        parser.expect_word("STORAGE")
    parser.word("CASCADE")
    parser.end()
    with session.storage.lock:
        session.commit()
        table = dml.target_table(session.environment, owner, name, at)
        _alone(session, table)
        session.storage.segments.drop(segment(table))
        table.data_object_id, table.next_rid = session.catalog.new_object_id(), 0
        session.storage.segments.create(table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=False)
        table.ddl_scn = scn


def create_index(session: SandboxSession, parser: Parser) -> None:
    _create_index(session, parser, False)


def create_unique_index(session: SandboxSession, parser: Parser) -> None:
    _create_index(session, parser, True)


def _create_index(session: SandboxSession, parser: Parser, unique: bool) -> None:
    owner, name = parser.qualified()
    parser.expect_word("ON", 969, "missing ON keyword")
    at = parser.token.start
    table_owner, table_name = parser.qualified()
    parser.expect_op("(")
    columns = []
    while True:
        columns.append(parser.name(904, "invalid identifier"))
        if parser.token.text == "(":
            raise OraError(3001, "unimplemented feature: function-based index", parser.token.start)
        parser.any_word("ASC", "DESC")
        if not parser.op(","):
            break
    parser.expect_op(")")
    physical_options(parser)
    parser.end()
    with session.storage.lock:
        session.commit()
        table = dml.target_table(session.environment, table_owner, table_name, at)
        _alone(session, table)
        place = owner or session.schema
        if any(i.name == name and i.owner == place for t in session.catalog.tables(table.container) for i in t.indexes):
            raise OraError(955, "name is already used by an existing object")
        if any(i.columns == tuple(columns) for i in table.indexes):
            raise OraError(1408, "such column list already indexed")
        table.positions(tuple(columns))
        if unique:
            try:
                _check_existing(session, table, "U", tuple(columns), name)
            except OraError:
                raise OraError(1452, "cannot CREATE UNIQUE INDEX; duplicate keys found") from None
        index = Index(place, name, tuple(columns), unique, session.catalog.new_object_id(), session.storage.clock.now())
        session.storage.segments.create_index(table, index)
        table.indexes.append(index)
        session.catalog.version += 1
        session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)


def drop_index(session: SandboxSession, parser: Parser) -> None:
    owner, name = parser.qualified()
    parser.end()
    with session.storage.lock:
        session.commit()
        place = owner or session.schema
        for table in session.catalog.tables(session.container):
            for index in table.indexes:
                if index.name == name and index.owner == place:
                    if any(c.index == name for c in table.constraints):
                        raise OraError(2429, "cannot drop index used for enforcement of unique/primary key")
                    _alone(session, table)
                    table.indexes.remove(index)
                    session.storage.segments.drop_index(table, index)
                    session.catalog.version += 1
                    session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)
                    return
        raise OraError(1418, "specified index does not exist")


def comment_on(session: SandboxSession, parser: Parser) -> None:
    column_wanted = parser.word("COLUMN")
    if not column_wanted:
        parser.expect_word("TABLE", 3001, "unimplemented feature: COMMENT ON this")
    at = parser.token.start
    parts = [parser.name()]
    while parser.op("."):
        parts.append(parser.name())
    parser.expect_word("IS")
    text = parser.take()
    parser.end()
    if text.kind != "S":
        raise OraError(1780, "string literal required", text.start)
    column = parts.pop() if column_wanted else None
    with session.storage.lock:
        session.commit()
        table = dml.target_table(session.environment, parts[0] if len(parts) > 1 else None, parts[-1], at)
        if column is not None:
            table.columns[table.position(column)].comment = text.text or None
        else:
            table.comment = text.text or None
        session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name)
