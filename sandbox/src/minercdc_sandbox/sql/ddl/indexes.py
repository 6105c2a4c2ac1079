"""CREATE, ALTER and DROP INDEX. A LOCAL index is kept as one index of the whole table."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.ddl.constraints import check_existing
from minercdc_sandbox.sql.ddl.exclusive import committed, take_alone
from minercdc_sandbox.sql.declare import NO_KEY
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.definitions import physical_options
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.tables import ConstraintKind, Index, Table


def create_index(session: SqlSession, parser: Parser, *, unique: bool = False) -> None:
    """CREATE [UNIQUE] INDEX, read from after these words. Raises ORA-00904, ORA-00955, ORA-01408, ORA-02327 for LOBs, ORA-01452
    for keys that are not unique, ORA-03001 for another kind of index, ORA-14016 and ORA-14039 for LOCAL, and as `target_table`
    and `take_alone`. Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of
    `Parser`."""
    owner, name = parser.qualified()
    parser.expect_word("ON", 969, "missing ON keyword")
    at = parser.token.start
    table_owner, table_name = parser.qualified()
    parser.expect_op("(")
    columns = tuple(parser.listed(lambda: _index_column(parser)))
    parser.expect_op(")")
    local = _index_options(parser)
    parser.end()
    with committed(session):
        table = target_table(session.environment, table_owner, table_name, at, "INDEX")
        if local:
            _may_be_local(table, columns, unique)
        take_alone(session, table)
        place = owner or session.schema
        _check_new(session, table, place, name)
        if any(i.columns == columns for i in table.indexes):
            raise OraError(1408, "such column list already indexed")
        places = table.positions(columns)
        if any(table.columns[position].type in NO_KEY for position in places):
            raise OraError(2327, "cannot create index on expression with datatype LOB")
        if unique:
            try:
                check_existing(session, table, ConstraintKind.UNIQUE, columns, name)
            except OraError:
                raise OraError(1452, "cannot CREATE UNIQUE INDEX; duplicate keys found") from None
        index = Index(place, name, columns, unique, session.catalog.new_object_id(), session.storage.clock.now())
        session.storage.segments.create_index(table, index)
        table.indexes.append(index)
        _log(session, parser, table, built=name)


def _index_column(parser: Parser) -> str:
    name = parser.name(904, "invalid identifier")
    if parser.token.text == "(":
        raise OraError(3001, "unimplemented feature: function-based index", parser.token.start)
    parser.any_word("ASC", "DESC")
    return name


def _index_options(parser: Parser) -> bool:
    """Read storage clauses and kinds of index; whether it is LOCAL. Raises ORA-03001 for other kinds of index, ORA-00907 for
    STORAGE without its end."""
    local = False
    while physical_options(parser) or parser.token.text in ("LOCAL", "GLOBAL", "REVERSE", "INVISIBLE", "UNUSABLE"):
        at = parser.token.start
        if parser.word("LOCAL"):
            local = True
            if parser.op("("):
                parser.pass_to(")")
        elif parser.any_word("GLOBAL", "REVERSE", "INVISIBLE", "UNUSABLE"):
            raise OraError(3001, f"unimplemented feature: {parser.tokens[parser.at - 1].text} index", at)
    return local


def _may_be_local(table: Table, columns: tuple[str, ...], unique: bool) -> None:
    if table.partitioning is None:
        raise OraError(14016, "underlying table of a LOCAL partitioned index must be partitioned")
    if unique and not set(table.partitioning.key_columns) <= set(columns):
        raise OraError(14039, "partitioning columns must form a subset of key columns of a UNIQUE index")


def alter_index(session: SqlSession, parser: Parser) -> None:
    """ALTER INDEX, read from after these words: REBUILD and storage clauses, which are logged only, and RENAME TO. Raises
    ORA-01418, ORA-00955, ORA-03001 for other changes, and as `take_alone`. Commits the open transaction first, as `committed`,
    and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    at = parser.token.start
    new_name, rebuilt = None, False
    if parser.word("RENAME", "TO"):
        new_name = parser.name()
    elif parser.word("REBUILD"):
        if parser.is_word("PARTITION"):
            raise OraError(3001, "unimplemented feature: ALTER INDEX REBUILD PARTITION", at)
        rebuilt = True
        physical_options(parser)
    elif not physical_options(parser):
        raise OraError(3001, f"unimplemented feature: ALTER INDEX {parser.token.text}", at)
    parser.end()
    with committed(session):
        table, index = _named(session, owner, name)
        take_alone(session, table)
        if new_name is not None:
            _check_new(session, table, index.owner, new_name)
            for constraint in table.constraints:
                constraint.index = new_name if constraint.index == index.name else constraint.index
            index.name = new_name
        built = index.name if rebuilt else None
        _log(session, parser, table, built=built)


def _check_new(session: SqlSession, table: Table, owner: str, name: str) -> None:
    if any(i.name == name and i.owner == owner for t in session.catalog.tables(table.container) for i in t.indexes):
        raise OraError(955, "name is already used by an existing object")


def _named(session: SqlSession, owner: str | None, name: str) -> tuple[Table, Index]:
    for table in session.catalog.tables(session.container):
        for index in table.indexes:
            if (index.name, index.owner) == (name, owner or session.schema):
                return table, index
    raise OraError(1418, "specified index does not exist")


def drop_index(session: SqlSession, parser: Parser) -> None:
    """DROP INDEX, read from after these words. Raises ORA-01418, ORA-02429 for the index of a key, and as `take_alone`. Commits
    the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    parser.end()
    with committed(session):
        table, index = _named(session, owner, name)
        if any(c.index == name for c in table.constraints):
            raise OraError(2429, "cannot drop index used for enforcement of unique/primary key")
        take_alone(session, table)
        table.indexes.remove(index)
        session.storage.segments.drop_index(table, index)
        _log(session, parser, table)


def _log(session: SqlSession, parser: Parser, table: Table, built: str | None = None) -> None:
    """Log the DDL as one on the table, whose earlier states flashback queries cannot see then: index DDL raises ORA-01466 in
    them, as connectors meet it (docs/reference/logminer-facts.md#d-20). `built`: the index whose entries were written; None for
    none."""
    scn = session.storage.log_ddl(session.client, parser.sql, table, table.owner, table.name, built=built)
    session.catalog.changed(table, scn=scn, now=session.storage.clock.now(), definition=False)
    table.ddl_scn = scn
