"""Constraints, their indexes and supplemental log groups of a table."""

from __future__ import annotations

from typing import Final, cast

from minercdc_sandbox import tables as dictionary
from minercdc_sandbox.interfaces import Cell, OraError, OraType
from minercdc_sandbox.sql.declare import NO_KEY
from minercdc_sandbox.sql.dml.checks import columns_of_check, plan_checks
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec, column_list
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.runtime import begin_run
from minercdc_sandbox.storage.store import segment, visible
from minercdc_sandbox.tables import KEYS, Constraint, ConstraintKind, Index, SupplementalLogGroup, Table


def add_constraint(session: SqlSession, table: Table, spec: ConstraintSpec) -> Index | None:
    """Add the constraint to the definition, with a key's index, and make a primary key's columns NOT NULL; rows are not looked
    at. Returns an index that is new, for the caller to create in SQLite, else None. Raises ORA-00904, ORA-02264; of a key
    ORA-00957, ORA-02260, ORA-02261, ORA-02327, ORA-02329, ORA-14196; of a foreign key ORA-02256, ORA-02267, ORA-02268, ORA-02270,
    ORA-02275, and as `target_table`; ORA-03001 for a deferrable NOT NULL or CHECK, and on a virtual column, and the errors of a condition."""
    if spec.kind == ConstraintKind.CHECK and spec.condition is not None:
        _add_check(session, table, spec)
        return None
    if any(column.name in spec.columns for _, column in table.virtual):
        raise OraError(3001, "unimplemented feature: constraint on a virtual column", spec.at)
    positions = [table.position(column) for column in spec.columns]
    if spec.kind == ConstraintKind.PRIMARY and table.key is not None:
        raise OraError(2260, "table can have only one primary key", spec.at)
    if spec.kind in KEYS:
        _may_be_key(table, spec, positions)
    check_name(session, table, spec.name, spec.at)
    found = Constraint(spec.name or session.catalog.generated_name(), spec.kind, spec.columns, generated=spec.name is None)
    found.enabled, found.validated, found.rely = spec.enabled, spec.validated, spec.rely
    found.deferrable, found.deferred, found.changed = spec.deferrable, spec.deferred, session.storage.clock.now()
    created = None
    if spec.kind == ConstraintKind.CHECK:
        if spec.deferrable:
            raise OraError(3001, "unimplemented feature: deferrable NOT NULL", spec.at)
        found.condition = f'"{spec.columns[0]}" IS NOT NULL'
    elif spec.kind == ConstraintKind.FOREIGN:
        _refer(session, table, spec, found)
    elif spec.enabled:
        created = _index_of(session, table, spec, found)
    if spec.kind == ConstraintKind.PRIMARY and spec.enabled:
        for position in positions:
            table.columns[position].nullable = False
    table.constraints.append(found)
    return created


def _may_be_key(table: Table, spec: ConstraintSpec, positions: list[int]) -> None:
    if len(set(spec.columns)) < len(spec.columns):
        raise OraError(957, "duplicate column name", spec.at)
    if any(c.kind in KEYS and c.columns == spec.columns for c in table.constraints):
        raise OraError(2261, "such unique or primary key already exists in the table", spec.at)
    kinds = {table.columns[position].type for position in positions}
    if OraType.TIMESTAMP_TZ in kinds:
        text = "TIMESTAMP WITH TIME ZONE cannot be unique or a primary key"
        raise OraError(2329, f"column of datatype {text}", spec.at)
    if kinds & set(NO_KEY):
        number = 2327 if spec.kind == ConstraintKind.PRIMARY else 2329
        raise OraError(number, "column of this datatype cannot be unique or a primary key", spec.at)


def _index_of(session: SqlSession, table: Table, spec: ConstraintSpec, found: Constraint) -> Index | None:
    """The index that enforces a key, whose name `found` gets: one that is there (None is returned), or a new one named like the
    constraint, added to the table's definition. Raises ORA-14196 for a USING INDEX that is none for it."""
    same = [i for i in table.indexes if i.columns == spec.columns and (i.unique or spec.deferrable)]
    if spec.index is not None and not any(i.name == spec.index for i in same):
        raise OraError(14196, "Specified index cannot be used to enforce the constraint.", spec.at)
    if same:
        found.index = spec.index or same[0].name
        return None
    catalog = session.catalog
    unique = not spec.deferrable
    index = Index(
        table.owner, found.name, spec.columns, unique, catalog.new_object_id(), session.storage.clock.now(), implied=True
    )
    table.indexes.append(index)
    found.index = index.name
    return index


def _refer(session: SqlSession, table: Table, spec: ConstraintSpec, found: Constraint) -> None:
    """Set what a foreign key refers to, and its rule. Raises ORA-02268, ORA-02270 without such a key, ORA-02256, ORA-02267 for
    other columns, ORA-02275 for a second reference, and as `target_table`."""
    assert spec.reference is not None
    owner, name, columns = spec.reference
    itself = (owner or table.owner, name) == (table.owner, table.name)
    parent = table if itself else target_table(session.environment, owner, name, spec.at, "REFERENCES")
    key = parent.key
    if not columns:
        if key is None:
            raise OraError(2268, "referenced table does not have a primary key", spec.at)
        columns = key.columns
    if len(columns) != len(spec.columns):
        raise OraError(2256, "number of referencing columns must match referenced columns", spec.at)
    keys = [set(c.columns) for c in parent.constraints if c.kind in KEYS and c.enabled]
    places = parent.positions(columns)
    if set(columns) not in keys:
        raise OraError(2270, "no matching unique or primary key for this column-list", spec.at)
    for mine, theirs in zip(table.positions(spec.columns), places, strict=True):
        if table.columns[mine].type is not parent.columns[theirs].type:
            raise OraError(2267, "column type incompatible with referenced column type", spec.at)
    found.reference, found.delete_rule = (parent.owner, parent.name, columns), spec.delete_rule
    if any(
        c.kind == ConstraintKind.FOREIGN and (c.columns, c.reference) == (found.columns, found.reference)
        for c in table.constraints
    ):
        raise OraError(2275, "such a referential constraint already exists in the table", spec.at)


def check_name(session: SqlSession, table: Table, name: str | None, at: int) -> None:
    """Raises ORA-02264 when a constraint in the table's schema has the name; None is free."""
    tables = [t for t in session.catalog.tables(table.container) if t.owner == table.owner]
    taken = {c.name for t in (*tables, table) for c in (*t.constraints, *t.checks)}
    if name in taken:
        raise OraError(2264, "name already used by an existing constraint", at)


def _add_check(session: SqlSession, table: Table, spec: ConstraintSpec) -> None:
    """Add a CHECK to the definition; rows are not looked at. Raises as `columns_of_check` and `plan_checks`, ORA-02264, and
    ORA-03001 for a deferrable one."""
    if spec.deferrable:
        raise OraError(3001, "unimplemented feature: deferrable CHECK", spec.at)
    check_name(session, table, spec.name, spec.at)
    assert spec.condition is not None
    columns = columns_of_check(table, spec.condition)
    full = spec.name or session.catalog.generated_name()
    found = Constraint(full, ConstraintKind.CHECK, columns, None, spec.name is None, spec.condition)
    found.enabled, found.validated, found.rely = spec.enabled, spec.validated, spec.rely
    found.changed = session.storage.clock.now()
    table.checks.append(found)
    plan_checks(session.environment, table)


def validate(session: SqlSession, table: Table, constraint: Constraint) -> None:
    """Check the table's rows against an enabled constraint, unless it is NOVALIDATE. Raises ORA-02298, and as `check_rows` and
    `check_existing`."""
    if not constraint.enabled or not constraint.validated:
        return
    if constraint in table.checks:
        check_rows(session, table, constraint.name)
    elif constraint.kind == ConstraintKind.FOREIGN:
        _check_parents(session, table, constraint)
    else:
        check_existing(session, table, constraint.kind, constraint.columns, constraint.name)


def _check_parents(session: SqlSession, table: Table, constraint: Constraint) -> None:
    """Check the table's committed rows against a foreign key. Raises ORA-02298 for one whose parent is not there."""
    assert constraint.reference is not None
    owner, name, columns = constraint.reference
    parent = session.catalog.table(table.container, owner, name)
    assert parent is not None
    seen = visible(str(session.storage.clock.current), "-1")
    mine = [f"c{table.columns[at].slot}" for at in table.positions(constraint.columns)]
    theirs = [f"c{parent.columns[at].slot}" for at in parent.positions(columns)]
    known = " and ".join(f"{slot} is not null" for slot in mine)
    sql = (
        f"select 1 from {segment(table)} where {seen} and {known} and ({','.join(mine)}) not in "
        f"(select {','.join(theirs)} from {segment(parent)} where {seen} and {' and '.join(f'{t} is not null' for t in theirs)})"
        " limit 1"
    )
    if session.storage.db.execute(sql).fetchone() is not None:
        raise OraError(2298, f"cannot validate ({table.owner}.{constraint.name}) - parent keys not found")


def check_rows(session: SqlSession, table: Table, name: str) -> None:
    """Check the table's rows against all its enabled checks. Raises ORA-02293 with the constraint's `name` for a row that fails
    one or for which a condition raises an error, and as `plan_checks`."""
    plan = plan_checks(session.environment, table)
    if plan is None:
        return
    slots = ",".join(f"c{column.slot}" for column in table.columns)
    run = begin_run(session)
    rows = session.storage.db.execute(
        f"select {slots} from {segment(table)} where {visible('?1', '?2')}", (run.snapshot, run.own)
    )
    for row in rows.fetchall():
        try:
            plan.enforce(session, cast("tuple[Cell, ...]", row))
        except OraError:
            raise OraError(2293, f"cannot validate ({table.owner}.{name}) - check constraint violated") from None


def add_group(session: SqlSession, table: Table, group: SupplementalLogGroup) -> None:
    """Add a supplemental log group to the definition; one of keys or all columns gets a generated name. Raises ORA-00904,
    ORA-00957, ORA-32588, ORA-03001 for one of which no column is logged."""
    if group.kind == dictionary.USER_GROUP:
        table.positions(group.columns)
        if group.unlogged.issuperset(group.columns):
            raise OraError(
                3001, f"unimplemented feature: SUPPLEMENTAL LOG GROUP {group.name} with NO LOG for all its columns"
            )
        if any(other.name == group.name for other in table.log_groups):
            raise OraError(957, "duplicate log group name")
        table.log_groups.append(group)
        return
    if any(other.kind == group.kind for other in table.log_groups):
        raise OraError(32588, f"supplemental logging attribute {group.kind.lower()} exists")
    group.name = session.catalog.generated_name()
    group.always = group.kind in (dictionary.ALL_LOGGING, dictionary.KEY_LOGGING)
    table.log_groups.append(group)


def check_existing(session: SqlSession, table: Table, kind: ConstraintKind, columns: tuple[str, ...], name: str) -> None:
    """Check the table's committed rows against NOT NULL (CHECK) or a key of the columns; `name` is for the error. Raises
    ORA-02296, ORA-02437, ORA-02299, ORA-01449."""
    slots = [f"c{table.columns[at].slot}" for at in table.positions(columns)]
    null = " or ".join(f"{slot} is null" for slot in slots)
    if kind == ConstraintKind.CHECK and row_count(session, table, null):
        raise OraError(2296, f"cannot enable ({table.owner}.{name}) - null values found")
    if kind == ConstraintKind.CHECK:
        return
    seen = visible(str(session.storage.clock.current), "-1")
    any_key = " or ".join(f"{slot} is not null" for slot in slots)
    sql = f"select 1 from {segment(table)} where {seen} and ({any_key}) group by {','.join(slots)} having count(*)>1 limit 1"
    if session.storage.db.execute(sql).fetchone() is not None:
        number, text = (2437, "primary key violated") if kind == ConstraintKind.PRIMARY else (2299, "duplicate keys found")
        raise OraError(number, f"cannot validate ({table.owner}.{name}) - {text}")
    if kind == ConstraintKind.PRIMARY and row_count(session, table, null):
        raise OraError(1449, "column contains NULL values; cannot alter to NOT NULL")


def row_count(session: SqlSession, table: Table, where: str = "1") -> int:
    """How many committed rows of the table fulfil a condition in SQLite's SQL over its slots c0, c1, .."""
    seen = visible(str(session.storage.clock.current), "-1")
    sql = f"select count(*) from {segment(table)} where {seen} and {where}"
    return sum(int(row[0]) for row in session.storage.db.execute(sql))


OF_INDEX_ORGANIZED: Final = (
    25188,
    "cannot drop/disable/defer the primary key constraint for index-organized tables or sorted hash cluster",
)
"""The error that refuses what would take the primary key from an index-organized table."""


def _keep_key(table: Table, constraint: Constraint) -> None:
    """Raises ORA-25188 for the primary key of an index-organized table."""
    if table.index_organized and constraint.kind == ConstraintKind.PRIMARY:
        raise OraError(*OF_INDEX_ORGANIZED)


def named_constraint(parser: Parser, table: Table) -> Constraint:
    """Read `PRIMARY KEY`, `UNIQUE (..)` or `CONSTRAINT name`: the table's constraint of that kind. Raises ORA-02443 when there is
    none, and syntax errors as `Parser` and `column_list`."""
    found: Constraint | None
    if parser.word("PRIMARY", "KEY"):
        found = table.key
    elif parser.word("UNIQUE"):
        columns = column_list(parser)
        found = next((c for c in table.constraints if c.kind == ConstraintKind.UNIQUE and c.columns == columns), None)
    else:
        parser.expect_word("CONSTRAINT")
        name = parser.name()
        found = next((c for c in (*table.constraints, *table.checks) if c.name == name), None)
    if found is None:
        raise OraError(2443, "Cannot drop constraint - nonexistent constraint")
    return found


def end_clause(parser: Parser) -> None:
    """Check that the statement, an ALTER TABLE, ends here. Raises ORA-03001 where Oracle takes a further clause, ORA-00933 for
    anything else."""
    if parser.is_any_word("ADD", "DROP", "MODIFY", "ENABLE", "DISABLE"):
        raise OraError(3001, "unimplemented feature: several clauses in one ALTER TABLE", parser.token.start)
    parser.end()


def drop_constraint(session: SqlSession, parser: Parser, table: Table) -> None:
    """Read and apply ALTER TABLE DROP of a constraint, from its name on. Raises ORA-02443, ORA-25188, and as `release_key`. Syntax
    errors are those of `Parser`."""
    constraint = named_constraint(parser, table)
    cascade = parser.word("CASCADE")
    keep = parser.word("KEEP", "INDEX")
    parser.word("DROP", "INDEX")
    end_clause(parser)
    if constraint in table.checks:
        table.checks.remove(constraint)
        return
    _keep_key(table, constraint)
    release_key(session, table, constraint, cascade=cascade)
    table.constraints.remove(constraint)
    loosen(session, table, constraint, keep_index=keep)


def release_key(session: SqlSession, table: Table, constraint: Constraint, *, cascade: bool) -> None:
    """If the constraint is a key, drop the enabled foreign keys that refer to it. Raises ORA-02273 when there are any and not
    `cascade`."""
    for child, reference in session.catalog.children_of(table):
        assert reference.reference is not None
        if constraint.kind in KEYS and set(reference.reference[2]) == set(constraint.columns):
            if not cascade:
                raise OraError(2273, "this unique/primary key is referenced by some foreign keys")
            child.constraints.remove(reference)


def loosen(session: SqlSession, table: Table, constraint: Constraint, *, keep_index: bool = False) -> None:
    """Undo what a dropped or disabled NOT NULL or key did: its columns, of a primary key those without a NOT NULL of their own,
    may be NULL again, and an index made for it is dropped unless `keep_index`."""
    if constraint.kind == ConstraintKind.CHECK:
        table.columns[table.position(constraint.columns[0])].nullable = True
    if constraint.kind == ConstraintKind.PRIMARY:
        still = {
            c.columns[0] for c in table.constraints if c.kind == ConstraintKind.CHECK and c.enabled and c is not constraint
        }
        for at in table.positions(constraint.columns):
            table.columns[at].nullable = table.columns[at].name not in still
    index = next((i for i in table.indexes if i.name == constraint.index and i.implied), None)
    if index is not None and not keep_index:
        table.indexes.remove(index)
        session.storage.segments.drop_index(table, index)


def set_state(session: SqlSession, table: Table, constraint: Constraint, spec: ConstraintSpec, *, cascade: bool) -> None:
    """Set the state of a constraint to that of `spec`, by ENABLE, DISABLE or MODIFY CONSTRAINT; makes or drops the index of a
    key, and makes its columns NOT NULL or looser. `cascade`: as of `release_key`. Raises ORA-25188, and as `release_key` and
    `validate`."""
    was = constraint.enabled
    if not spec.enabled:
        _keep_key(table, constraint)
    constraint.validated, constraint.rely, constraint.changed = spec.validated, spec.rely, session.storage.clock.now()
    if was and not spec.enabled:
        release_key(session, table, constraint, cascade=cascade)
        constraint.enabled = False
        if constraint not in table.checks:
            loosen(session, table, constraint)
            constraint.index = None
        return
    constraint.enabled = spec.enabled
    if spec.enabled:
        validate(session, table, constraint)
    if spec.enabled and not was and constraint.kind in KEYS:
        full = ConstraintSpec(constraint.name, constraint.kind, constraint.columns, 0, deferrable=constraint.deferrable)
        index = _index_of(session, table, full, constraint)
        if index is not None:
            session.storage.segments.create_index(table, index)
    if spec.enabled and (
        constraint.kind == ConstraintKind.PRIMARY
        or (constraint.kind == ConstraintKind.CHECK and constraint not in table.checks)
    ):
        for at in table.positions(constraint.columns):
            table.columns[at].nullable = False
