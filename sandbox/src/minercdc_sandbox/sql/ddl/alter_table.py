"""ALTER TABLE. A failed one leaves the definition as it was; see `exclusive.whole_or_not`."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.alter_partitions import alter_partitions, is_of_partitions, move_table
from minercdc_sandbox.sql.ddl.columns import add_column, drop_column, drop_unused, modify_column, rename_column
from minercdc_sandbox.sql.ddl.constraints import (
    add_constraint,
    add_group,
    check_name,
    drop_constraint,
    end_clause,
    named_constraint,
    set_state,
    validate,
)
from minercdc_sandbox.sql.ddl.create_table import check_columns, check_defaults
from minercdc_sandbox.sql.ddl.exclusive import committed, take_alone, whole_or_not
from minercdc_sandbox.sql.ddl.generated import add_identity, add_virtual, archive_state, number_rows
from minercdc_sandbox.sql.ddl.programs import enable_triggers
from minercdc_sandbox.sql.ddl.referenced_types import take_referenced_types
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec, column_list, state
from minercdc_sandbox.sql.parse.definitions import Definition, definition_item, large_storage, physical_options, supplemental
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import move_grants
from minercdc_sandbox.tables import ConstraintKind, Table

_ARCHIVAL_ERRORS = {
    True: (38396, "table is already enabled for the ILM feature"),
    False: (38397, "table is not enabled for the ILM feature"),
}


def alter_table(session: SqlSession, parser: Parser) -> None:
    """ALTER TABLE, read from after these words: commit, change the table and log the DDL. Raises as `committed`, `target_table`,
    `take_alone` and `_alter`; the table is then as before, but what was open is committed. Syntax errors are those of `Parser`."""
    at = parser.token.start
    owner, name = parser.qualified()
    with committed(session):
        table = target_table(session.environment, owner, name, at)
        take_alone(session, table)
        before = _places(table)
        with whole_or_not(table):
            definition = _alter(session, parser, table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=definition)
        if _places(table) != before:
            table.ddl_scn = scn


def _places(table: Table) -> object:
    """Where rows lie, and how many constraints there are, as a value to compare: when that changes, flashback queries cannot see
    the time before (Database Development Guide, "Using Oracle Flashback Technology": a new constraint invalidates undo)."""
    by = table.partitioning
    partitions = None if by is None else [partition.number for partition in by.segments()]
    return table.data_object_id, partitions, len(table.constraints), len(table.checks)


# Clauses of Oracle's grammar that would else be read as others.
_UNIMPLEMENTED = (
    ("ADD", "PERIOD", "FOR"),
    ("ADD", "CLUSTERING", "BY"),
    ("DROP", "CLUSTERING"),
    ("DROP", "PERIOD", "FOR"),
    ("DROP", "(", "PERIOD", "FOR"),
    ("DROP", "COLUMNS", "CONTINUE"),
    ("MODIFY", "CLUSTERING"),
    ("MODIFY", "DEFAULT", "ATTRIBUTES"),
    ("MODIFY", "LOB", "("),
    ("MODIFY", "NESTED", "TABLE"),
    ("MODIFY", "NONPARTITIONED"),
    ("MODIFY", "OPAQUE", "TYPE"),
    ("MODIFY", "PARTITION", "BY"),
)


def _alter(session: SqlSession, parser: Parser, table: Table) -> bool:
    """Read the change and apply it; returns whether the stored columns changed, so that the table needs a new version. Raises
    ORA-03001 for another change, and as the function that makes it. Syntax errors are those of `Parser`."""
    if any(all(parser.peek(n).text == word for n, word in enumerate(words)) for words in _UNIMPLEMENTED):
        raise OraError(3001, "unimplemented feature: this ALTER TABLE", parser.token.start)
    if is_of_partitions(parser):
        alter_partitions(session, parser, table)
        return False
    if parser.is_word("MOVE"):
        move_table(session, parser, table)
        return False
    if physical_options(parser):
        end_clause(parser)
        return False
    if parser.word("ADD"):
        return _alter_add(session, parser, table)
    if parser.word("DROP"):
        return _alter_drop(session, parser, table)
    if parser.is_word("MODIFY") and parser.peek().text in ("CONSTRAINT", "PRIMARY", "UNIQUE"):
        parser.take()
        _alter_state(session, parser, table, ConstraintSpec(None, ConstraintKind.CHECK, (), 0))
        return False
    if parser.token.text in ("ENABLE", "DISABLE"):
        return _enable(session, parser, table)
    if parser.word("ROW", "ARCHIVAL") or parser.word("NO", "ROW", "ARCHIVAL"):
        return _row_archival(session, parser, table)
    if parser.word("READ", "ONLY") or parser.word("READ", "WRITE"):
        table.read_only = parser.tokens[parser.at - 1].text == "ONLY"
        end_clause(parser)
        return False
    if parser.word("SET", "UNUSED"):
        _drop_columns(session, parser, table, unused=True)
        return True
    if parser.word("MODIFY"):
        _alter_modify(session, parser, table)
        return True
    return _alter_names(session, parser, table)


def _alter_names(session: SqlSession, parser: Parser, table: Table) -> bool:
    """Read and apply RENAME of a constraint, a column or the table; returns as `_alter`. Raises ORA-03001 for anything else, and
    as `rename_column` and `rename_table`. Syntax errors are those of `Parser`."""
    if parser.word("RENAME", "CONSTRAINT"):
        _rename_constraint(session, parser, table)
        return False
    if parser.word("RENAME", "COLUMN"):
        _rename_column(session, parser, table)
        return True
    if parser.word("RENAME", "TO"):
        name = parser.name()
        end_clause(parser)
        rename_table(session, table, name)
        return False
    raise OraError(3001, "unimplemented feature: this ALTER TABLE", parser.token.start)


def _row_archival(session: SqlSession, parser: Parser, table: Table) -> bool:
    """Apply [NO] ROW ARCHIVAL, whose words were read: with NO the archive state of all rows is lost. Returns True: the stored
    columns changed. Raises ORA-38396 when the table has it already, ORA-38397 for NO when it has none. Syntax errors are those of
    `Parser`."""
    adding = parser.tokens[parser.at - 3].text != "NO"
    end_clause(parser)
    if adding == (table.archival is not None):
        raise OraError(*_ARCHIVAL_ERRORS[adding])
    if adding:
        add_column(session, table, archive_state())
    elif table.archival is not None:
        drop_column(session, table, table.archival.name)
    return True


def _enable(session: SqlSession, parser: Parser, table: Table) -> bool:
    """Read and apply ENABLE | DISABLE ROW MOVEMENT, ALL TRIGGERS, or [VALIDATE | NOVALIDATE] constraint [CASCADE]; returns False,
    as `_alter`. Raises ORA-03001 for anything else, and as `_alter_state`. Syntax errors are those of `Parser`."""
    enable = parser.take().text == "ENABLE"
    if parser.word("ROW", "MOVEMENT"):
        end_clause(parser)
        table.row_movement = enable
        return False
    if parser.word("ALL", "TRIGGERS"):
        end_clause(parser)
        enable_triggers(session, table, enabled=enable)
        return False
    spec = ConstraintSpec(None, ConstraintKind.CHECK, (), 0, enabled=enable, validated=enable)
    if parser.any_word("VALIDATE", "NOVALIDATE"):
        spec.validated = parser.tokens[parser.at - 1].text == "VALIDATE"
    if parser.token.text not in ("CONSTRAINT", "PRIMARY", "UNIQUE"):
        raise OraError(3001, f"unimplemented feature: ALTER TABLE ENABLE {parser.token.text}", parser.token.start)
    _alter_state(session, parser, table, spec)
    return False


def _alter_state(session: SqlSession, parser: Parser, table: Table, spec: ConstraintSpec) -> None:
    constraint = named_constraint(parser, table)
    spec.rely = constraint.rely
    state(parser, spec)
    cascade = parser.word("CASCADE")
    end_clause(parser)
    if spec.deferred and not constraint.deferrable:
        raise OraError(2447, "cannot defer a constraint that is not deferrable")
    constraint.deferred = spec.deferred
    set_state(session, table, constraint, spec, cascade=cascade)


def _drop_columns(session: SqlSession, parser: Parser, table: Table, *, unused: bool = False) -> None:
    """Read and apply `COLUMN name | (name, ..) [CASCADE CONSTRAINTS]` of DROP and SET UNUSED. Raises as `column_list` and
    `drop_column`. Syntax errors are those of `Parser`."""
    names = [parser.name(904, "invalid identifier")] if parser.word("COLUMN") else list(column_list(parser))
    cascade = parser.word("CASCADE", "CONSTRAINTS")
    end_clause(parser)
    for name in names:
        drop_column(session, table, name, cascade=cascade, unused=unused)


def _rename_column(session: SqlSession, parser: Parser, table: Table) -> None:
    old = parser.name(904, "invalid identifier")
    parser.expect_word("TO")
    new = parser.name(904, "invalid identifier")
    end_clause(parser)
    rename_column(session, table, old, new)


def _rename_constraint(session: SqlSession, parser: Parser, table: Table) -> None:
    old = parser.name()
    parser.expect_word("TO")
    new = parser.name()
    end_clause(parser)
    found = next((c for c in (*table.constraints, *table.checks) if c.name == old), None)
    if found is None:
        raise OraError(23292, "The constraint does not exist")
    check_name(session, table, new, 0)
    found.name, found.generated = new, False


def keep_name(session: SqlSession, table: Table) -> None:
    """Keep the name of a table that gets another one: a dictionary in the redo goes on with it for rows up to now."""
    names, held = session.catalog.names, (session.storage.clock.current, table.name)
    session.catalog.names = {**names, **{found: (*names.get(found, ()), held) for found in table.object_ids()}}


def rename_table(session: SqlSession, table: Table, name: str) -> None:
    """Give a table another name in its schema, in the foreign keys that refer to it and the grants on it too; logs nothing.
    Raises ORA-00955."""
    place = session.catalog.containers[table.container].tables
    if session.catalog.object_named(table.container, table.owner, name) is not None:
        raise OraError(955, "name is already used by an existing object")
    del place[table.owner, table.name]
    for child in session.catalog.tables(table.container):
        for constraint in child.constraints:
            if constraint.reference is not None and constraint.reference[:2] == (table.owner, table.name):
                constraint.reference = (table.owner, name, constraint.reference[2])
    move_grants(session.catalog, table.container, table.owner, table.name, name)
    keep_name(session, table)
    table.name = name
    session.catalog.add_table(table)


def _alter_add(session: SqlSession, parser: Parser, table: Table) -> bool:
    definition = Definition()
    if parser.op("("):
        parser.listed(lambda: definition_item(parser, definition))
        parser.expect_op(")")
    else:
        definition_item(parser, definition)
        while parser.op(","):
            parser.word("ADD")
            definition_item(parser, definition)
    while large_storage(parser, definition.columns):
        pass
    end_clause(parser)
    take_referenced_types(session, definition, table.owner, table.name, table)
    check_columns(session, [*table.columns, *definition.columns])
    check_defaults(session, definition.columns)
    for column in definition.columns:
        column.shown_after = table.last_shown()
        if column.virtual is not None:
            add_virtual(session, table, column, len(table.all_columns()))
        else:
            add_column(session, table, column)
    for name, options in definition.identities.items():
        if sum(column.identity is not None for column in table.columns) > 1:
            raise OraError(30669, "table can have only one identity column")
        add_identity(session, table, name, options)
        number_rows(session, table, name)
    add_constraints(session, table, definition.constraints)
    for group in definition.groups:
        add_group(session, table, group)
    return any(column.virtual is None for column in definition.columns)


def add_constraints(session: SqlSession, table: Table, specs: list[ConstraintSpec]) -> None:
    """Add constraints to a table that may have rows, and check the rows against them. Raises as `add_constraint` and `validate`;
    what was added before stays in the definition."""
    for spec in specs:
        index = add_constraint(session, table, spec)
        validate(session, table, table.checks[-1] if spec.condition is not None else table.constraints[-1])
        if index is not None:
            session.storage.segments.create_index(table, index)


def _alter_drop(session: SqlSession, parser: Parser, table: Table) -> bool:
    if parser.word("SUPPLEMENTAL", "LOG"):
        for group in supplemental(parser):
            same = [g for g in table.log_groups if g.kind == group.kind and (not group.name or g.name == group.name)]
            if not same:
                raise OraError(32587, "Cannot drop nonexistent supplemental logging")
            table.log_groups.remove(same[0])
        end_clause(parser)
        return False
    if parser.is_word("CONSTRAINT") or parser.is_word("PRIMARY", "KEY") or parser.is_word("UNIQUE"):
        drop_constraint(session, parser, table)
        return False
    if parser.word("UNUSED", "COLUMNS"):
        end_clause(parser)
        drop_unused(table)
        return True
    _drop_columns(session, parser, table)
    return True


def _alter_modify(session: SqlSession, parser: Parser, table: Table) -> None:
    if parser.op("("):
        parser.listed(lambda: modify_column(session, parser, table))
        parser.expect_op(")")
    else:
        modify_column(session, parser, table)
    end_clause(parser)
