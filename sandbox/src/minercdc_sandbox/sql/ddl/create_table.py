"""CREATE TABLE, also AS a query."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import Cell, ColumnDescription, OraError, OraType
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.ddl.constraints import OF_INDEX_ORGANIZED, add_constraint, add_group
from minercdc_sandbox.sql.ddl.copied_columns import copied_not_nulls
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.ddl.generated import add_identity, add_virtual, archive_state
from minercdc_sandbox.sql.ddl.names import named_once
from minercdc_sandbox.sql.ddl.partitions import add_partitions
from minercdc_sandbox.sql.ddl.referenced_types import take_referenced_types
from minercdc_sandbox.sql.declare import check_declared
from minercdc_sandbox.sql.dml.checks import plan_checks
from minercdc_sandbox.sql.dml.partitions import home
from minercdc_sandbox.sql.dml.target import column_path, conversion
from minercdc_sandbox.sql.execution import Plan, SqlSession
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec, column_list, using_index
from minercdc_sandbox.sql.parse.definitions import (
    Definition,
    definition_item,
    index_organized,
    large_storage,
    physical_options,
)
from minercdc_sandbox.sql.parse.partitions import partition_by
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.sql.types import LARGE, column_type
from minercdc_sandbox.tables import KEYS, Column, Constraint, ConstraintKind, LengthSemantics, Table


def create_table(session: SqlSession, parser: Parser, *, temporary: str | None = None) -> None:
    """CREATE TABLE, read from after these words: commit, make the table, log the DDL and, of AS, insert the rows in a transaction
    of their own. Raises ORA-00904 without columns, ORA-00955, ORA-00997, ORA-01027, ORA-01031, ORA-01773, ORA-01792, ORA-01918,
    ORA-02440, ORA-14459, ORA-54026, ORA-54039, syntax errors as `Parser`, and as `committed`, `check_declared` and the functions
    that read and check the parts.

    :param temporary: of CREATE GLOBAL TEMPORARY TABLE how long rows live without ON COMMIT: `TRANSACTION`; None of another table.
    """
    owner, name = parser.qualified()
    definition = Definition()
    if parser.op("("):
        parser.listed(lambda: definition_item(parser, definition))
        parser.expect_op(")")
    if temporary is not None and parser.word("ON", "COMMIT"):
        temporary = "SESSION" if parser.word("PRESERVE") else "TRANSACTION" if parser.word("DELETE") else None
        if temporary is None or not parser.word("ROWS"):
            raise OraError(905, "missing keyword", parser.token.start)
    row_dependencies, archival = _row_options(parser, definition)
    indexed = index_organized(parser)
    partitions = partition_by(parser)
    row_movement = _after_partitions(parser, definition)
    if indexed:
        keys = [spec for spec in definition.constraints if spec.kind == ConstraintKind.PRIMARY]
        if not keys:
            raise OraError(25175, "no PRIMARY KEY constraint found")
        if not keys[0].enabled or keys[0].deferrable:
            raise OraError(*OF_INDEX_ORGANIZED)
    query = _query(parser, definition)
    with committed(session):
        plan = _take_columns(session, definition, query) if query is not None else None
        take_referenced_types(session, definition, owner or session.schema, name)
        own = ("CREATE TABLE", "RESOURCE") if (owner or session.schema) == session.user else ()
        require(session.catalog, session.container, session.user, "CREATE ANY TABLE", *own)
        if archival:
            definition.columns.insert(0, archive_state())  # SEGMENT_COLUMN_ID is 1 (VLDB and Partitioning Guide)
        table = _new_table(session, owner or session.schema, name, definition)
        table.temporary, table.row_dependencies, table.row_movement = temporary, row_dependencies, row_movement
        table.index_organized = indexed
        if partitions is not None:
            if temporary is not None:
                raise OraError(14459, "missing GLOBAL keyword", partitions.at)
            add_partitions(session, table, partitions)
        for column, options in definition.identities.items():  # last of what can fail, as each makes a sequence
            add_identity(session, table, column, options)
        rows = _checked_rows(session, table, session.statements.rows_of(plan, ())) if plan is not None else []
        session.storage.segments.create(table)
        session.catalog.add_table(table)
        scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, name)
        table.ddl_scn = scn
        if rows:
            filled = session.environment.private(table) if temporary is not None else table
            session.storage.changes.insert(session.client, filled, rows)
            session.commit()


def _query(parser: Parser, definition: Definition) -> ast.Query | None:
    """Read the query of CREATE TABLE .. AS, and the end of the statement; None without one. Raises ORA-01773 for declared types,
    ORA-01027 for binds, ORA-00933 for more words, and as `Parser.query`."""
    query: ast.Query | None = None
    if parser.word("AS"):
        if any(column.name not in definition.untyped for column in definition.columns):
            raise OraError(1773, "may not specify column datatypes in this CREATE TABLE")
        query = parser.query()
        if parser.binds:
            raise OraError(1027, "bind variables not allowed for data definition operations")
    parser.end()
    return query


def _take_columns(session: SqlSession, definition: Definition, query: ast.Query) -> Plan:
    """Plan the query of CREATE TABLE .. AS, and let the definition have its columns, by the names that it lists if it does;
    returns the plan. Raises ORA-00997 for a LONG, ORA-01730, ORA-02440 for a foreign key, and as `plan_inner` and `named_once`."""
    plan = session.statements.plan_inner(query)
    names = [column.name for column in definition.columns]
    named_once(query, names, names or [column.name for column in plan.columns])
    if names and len(names) != len(plan.columns):
        raise OraError(1730, "invalid number of column names specified")
    if any(column.type in (OraType.LONG, OraType.LONG_RAW) for column in plan.columns):
        raise OraError(997, "illegal use of LONG datatype")
    if any(spec.kind == ConstraintKind.FOREIGN for spec in definition.constraints):
        raise OraError(2440, "Create as select with referential constraints not allowed")
    listed = definition.columns
    definition.columns = [column_like(column) for column in plan.columns]
    copied = copied_not_nulls(session, query) or []
    for column, required in zip(definition.columns, copied, strict=False):
        column.nullable = not required
    for column, given in zip(definition.columns, listed, strict=False):
        column.name, column.default, column.on_null = given.name, given.default, given.on_null
        column.nullable = column.nullable and given.nullable
    said = {spec.columns for spec in definition.constraints if spec.kind == ConstraintKind.CHECK and spec.condition is None}
    for column, required in zip(definition.columns, copied, strict=False):
        if required and (column.name,) not in said:
            definition.constraints.append(ConstraintSpec(None, ConstraintKind.CHECK, (column.name,), 0))
    definition.untyped.clear()
    return plan


def _row_options(parser: Parser, definition: Definition) -> tuple[bool, bool]:
    """Read the clauses before the partitions: storage, and whether there is ROWDEPENDENCIES, and ROW ARCHIVAL. Raises as
    `large_storage` and `physical_options`. Syntax errors are those of `Parser`."""
    physical_options(parser)
    row_dependencies, archival = False, False
    while True:
        kind = None
        if not large_storage(parser, definition.columns):
            kind = parser.any_word("ROWDEPENDENCIES", "NOROWDEPENDENCIES", "ROW")
            if not kind:
                return row_dependencies, archival
        row_dependencies = row_dependencies or kind == "ROWDEPENDENCIES"
        if kind == "ROW":
            parser.expect_word("ARCHIVAL")
            archival = True
        physical_options(parser)


def _checked_rows(session: SqlSession, table: Table, found: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The rows of CREATE TABLE .. AS, with LOBs of the table's own. "If any rows violate the constraint, then the database does
    not create the table and returns an error" (SQL Language Reference, CREATE TABLE, AS subquery): that of an INSERT of these
    rows. Makes the partitions of INTERVAL. Raises ORA-00001, ORA-01400, ORA-02290, ORA-14400, as `plan_checks` and `storer`."""
    rows = _own_contents(session, table, found)
    checks = plan_checks(session.environment, table)
    required = [(at, column_path(table, column)) for at, column in enumerate(table.columns) if not column.nullable]
    for row in rows:
        for at, path in required:
            if row[at] is None:
                raise OraError(1400, f"cannot insert NULL into ({path})")
        if checks is not None:
            checks.enforce(session, row)
    for constraint in table.constraints:
        if constraint.kind in KEYS and constraint.enabled:
            _check_key(table, constraint, rows)
    try:
        for row in rows if table.partitioning is not None else ():
            home(session, table, row)
    except OraError:
        session.catalog.purge(table)  # partitions that INTERVAL has made
        raise
    return rows


def _check_key(table: Table, constraint: Constraint, rows: Sequence[tuple[Cell, ...]]) -> None:
    """Raises ORA-00001 when two rows have the same key; keys of NULLs only do not count."""
    places, seen = table.positions(constraint.columns), set[tuple[Cell, ...]]()
    for row in rows:
        key = tuple(row[at] for at in places)
        if key in seen and any(key):
            raise OraError(1, f"unique constraint ({table.owner}.{constraint.name}) violated")
        seen.add(key)


def _after_partitions(parser: Parser, definition: Definition) -> bool:
    """Read the clauses that may follow partitions: storage, ENABLE | DISABLE of declared constraints, which get that state, and
    ENABLE | DISABLE ROW MOVEMENT; whether the last of these is ENABLE. Raises ORA-00905, and as `physical_options` and
    `_declared`."""
    physical_options(parser)
    movement = False
    while parser.is_any_word("ENABLE", "DISABLE"):
        enabled = parser.take().text == "ENABLE"
        if parser.word("ROW"):
            parser.expect_word("MOVEMENT")
            movement = enabled
        else:
            validated = parser.any_word("VALIDATE", "NOVALIDATE")
            spec = _declared(parser, definition, enabled=enabled)
            spec.enabled, spec.validated = enabled, (validated or ("VALIDATE" if enabled else "NOVALIDATE")) == "VALIDATE"
            if parser.word("USING", "INDEX"):
                using_index(parser, spec)
            parser.word("CASCADE")
        physical_options(parser)
    return movement


def _declared(parser: Parser, definition: Definition, *, enabled: bool) -> ConstraintSpec:
    """Read `PRIMARY KEY`, `UNIQUE (..)` or `CONSTRAINT name`, after ENABLE or DISABLE: the constraint that the statement declares
    so. Raises ORA-03001 for other words, ORA-02430 to ORA-02435 when it declares none, and as `column_list`."""
    do, at = "enable" if enabled else "disable", parser.token.start
    if parser.word("PRIMARY", "KEY"):
        found = next((s for s in definition.constraints if s.kind == ConstraintKind.PRIMARY), None)
        number, text = (2432 if enabled else 2433), f"cannot {do} primary key - primary key not defined for table"
    elif parser.word("UNIQUE"):
        columns = column_list(parser)
        unique = (s for s in definition.constraints if s.kind == ConstraintKind.UNIQUE)
        found = next((s for s in unique if s.columns == columns), None)
        number, text = (2434 if enabled else 2435), f"cannot {do} unique(..) - unique key not defined for table"
    elif parser.word("CONSTRAINT"):
        name = parser.name()
        found = next((s for s in definition.constraints if s.name == name), None)
        number, text = (2430 if enabled else 2431), f"cannot {do} constraint ({name}) - no such constraint"
    else:
        raise OraError(3001, f"unimplemented feature: CREATE TABLE .. {do.upper()} {parser.token.text}", at)
    if found is None:
        raise OraError(number, text, at)
    return found


def _own_contents(session: SqlSession, table: Table, rows: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """The rows with LOBs in the table's own segment: temporary LOBs that the query made go with the session. Raises as `storer`."""
    how = conversion(session.environment, table)
    fits = {
        at: storer(column_type(column), column, column_path(table, column), how)
        for at, column in enumerate(table.columns)
        if column_type(column).family in LARGE
    }
    return [tuple(fits[at](cell) if at in fits else cell for at, cell in enumerate(row)) for row in rows] if fits else rows


def column_like(described: ColumnDescription) -> Column:
    """A new column for the values of a query's column, with its name and without a slot."""
    text = described.type in (OraType.VARCHAR2, OraType.CHAR)
    chars = (described.size // 2 if described.national else described.size) if text else 0
    return Column(
        described.name,
        described.type,
        described.precision,
        described.scale,
        described.size,
        chars,
        semantics=LengthSemantics.CHAR if described.national else LengthSemantics.BYTE,
        nullable=described.nullable,
        national=described.national,
    )


def _new_table(session: SqlSession, owner: str, name: str, definition: Definition) -> Table:
    catalog = session.catalog
    if catalog.user(session.container, owner) is None:
        raise OraError(1918, f"user '{owner}' does not exist")
    if not definition.columns:
        raise OraError(904, "invalid identifier")
    check_columns(session, definition.columns)
    if len(definition.columns) > 1000:
        raise OraError(1792, "maximum number of columns in a table or view is 1000")
    if catalog.object_named(session.container, owner, name) is not None:
        raise OraError(955, "name is already used by an existing object")
    virtual = [(place, column) for place, column in enumerate(definition.columns) if column.virtual is not None]
    definition.columns = [column for column in definition.columns if column.virtual is None]
    if not definition.columns:
        raise OraError(54026, "Real column cannot have an expression")
    if all(column.invisible for column in (*definition.columns, *(column for _, column in virtual))):
        raise OraError(54039, "table must have at least one column that is not invisible")
    for slot, column in enumerate(definition.columns):
        column.slot = slot
    now = session.storage.clock.now()
    object_id = catalog.new_object_id()
    table = Table(
        session.container, owner, name, object_id, object_id, definition.columns, now, now, session.storage.clock.advance()
    )
    table.next_slot = len(definition.columns)
    for place, column in virtual:
        add_virtual(session, table, column, place)
    for spec in definition.constraints:
        add_constraint(session, table, spec)
    for group in definition.groups:
        add_group(session, table, group)
    check_defaults(session, definition.columns)
    return table


def check_columns(session: SqlSession, columns: Sequence[Column]) -> None:
    """Check the types of columns by the release and MAX_STRING_SIZE of the database. Raises as `check_declared`."""
    env = session.environment
    check_declared(columns, env.release, extended=env.extended_strings)


def check_defaults(session: SqlSession, columns: Sequence[Column]) -> None:
    """Translate the columns' defaults without computing them. Raises their errors; ORA-00984 for a column in one."""
    for column in columns:
        if column.default is not None:
            try:
                Expressions(session.environment).value(Parser(column.default).expr(), None)
            except OraError as error:
                if error.number == 904:
                    raise OraError(984, "column not allowed here") from None
                raise
