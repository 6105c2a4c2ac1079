"""Pluggable databases: CREATE and DROP from the root, ALTER .. OPEN and CLOSE."""

from __future__ import annotations

from minercdc_sandbox.catalog import ROOT, SEED, Container, Grant, User
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.commands.database import alter_database, need
from minercdc_sandbox.sql.commands.users import password
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser


def _in_root(session: SqlSession) -> None:
    need(session, "CREATE PLUGGABLE DATABASE")
    if session.container != ROOT:
        raise OraError(65040, "operation not allowed from within a pluggable database")


def create_pluggable_database(session: SqlSession, parser: Parser) -> None:
    """`CREATE PLUGGABLE DATABASE name ADMIN USER name IDENTIFIED BY password [storage clauses]`: a new PDB, which is MOUNTED; its
    administrator has DBA. Raises ORA-01031, ORA-65040 outside the root, ORA-65012, ORA-00988, ORA-00907, ORA-03001 for one that
    is not made from the seed. Commits the open transaction first, as `committed`. Syntax errors are those of `Parser`."""
    _in_root(session)
    name = parser.name(65000, "missing or invalid pluggable database name")
    if not parser.word("ADMIN", "USER"):
        raise OraError(3001, "unimplemented feature: CREATE PLUGGABLE DATABASE but from the seed", parser.token.start)
    administrator = parser.name(1935, "missing user or role name")
    secret = password(parser)
    while parser.any_word("FILE_NAME_CONVERT", "ROLES", "STORAGE", "DEFAULT", "PATH_PREFIX"):
        parser.pass_to(")")
    parser.end()
    with committed(session):
        user = User(administrator, secret, session.catalog.new_user_id(), session.storage.clock.now())
        user.grants |= {Grant("CREATE SESSION"), Grant("DBA")}
        session.catalog.add_container(name, user)


def drop_pluggable_database(session: SqlSession, parser: Parser) -> None:
    """`DROP PLUGGABLE DATABASE name [KEEP | INCLUDING DATAFILES]`: remove it with all its objects and its recycle bin; no other
    one gets its CON_ID, which its redo has. Raises ORA-01031, ORA-65040 outside the root, ORA-65011, ORA-65017 for the root and
    the seed, ORA-65025 while it is open. Kills sessions of common users that are in it: what Oracle does with them is not known.
    Commits the open transaction first, as `committed`. Syntax errors are those of `Parser`."""
    _in_root(session)
    container = _named(session, parser)
    if not parser.word("KEEP", "DATAFILES"):
        parser.word("INCLUDING", "DATAFILES")
    parser.end()
    if container.open_mode != "MOUNTED":
        raise OraError(65025, f"Pluggable database {container.name} is not closed on all instances.")
    with committed(session):
        _kill_sessions(session, container)
        for table in [*container.tables.values(), *container.dropped.values()]:
            session.storage.drop_segment(table)
            session.catalog.purge(table)
        del session.catalog.containers[container.con_id]
        left = Container(container.con_id, container.name, container.dbid, container.guid, container.open_mode)
        session.catalog.dropped_pdbs = {**session.catalog.dropped_pdbs, left.con_id: left}
        session.catalog.version += 1


def alter_pluggable_database(session: SqlSession, parser: Parser) -> None:
    """OPEN and CLOSE of named PDBs, ALL [EXCEPT ..] or, without a name, the session's own; ADD, DROP, ENABLE and DISABLE as
    `alter_database`. ALL leaves out those that are so already. CLOSE kills the sessions of the PDB but this one. Raises
    ORA-01031, ORA-65011, ORA-65017, ORA-65019, ORA-65020, ORA-65046 in the root without a name, ORA-65118, ORA-03001 for others.
    Syntax errors are those of `Parser`."""
    if parser.token.text in ("ADD", "DROP", "ENABLE", "DISABLE"):
        alter_database(session, parser)
        return
    need(session, "ALTER PLUGGABLE DATABASE")
    every = parser.word("ALL")
    containers = _every(session, parser) if every else _named_ones(session, parser)
    opening = parser.any_word("OPEN", "CLOSE")
    if opening is None:
        raise OraError(3001, "unimplemented feature: this ALTER PLUGGABLE DATABASE", parser.token.start)
    at = parser.token.start
    if opening == "OPEN":
        read_only = parser.word("READ", "ONLY")
        if not read_only:
            parser.word("READ", "WRITE")
        if read_only or parser.is_any_word("RESTRICTED", "UPGRADE", "RESETLOGS"):
            raise OraError(3001, f"unimplemented feature: OPEN {'READ ONLY' if read_only else parser.token.text}", at)
        forced = parser.word("FORCE")
    else:
        forced = parser.word("IMMEDIATE") or parser.word("ABORT")
    if parser.word("INSTANCES"):
        raise OraError(3001, "unimplemented feature: ALTER PLUGGABLE DATABASE .. INSTANCES", at)
    parser.end()
    for container in containers:
        if (container.open_mode == "MOUNTED") is (opening == "OPEN"):
            _open(session, container) if opening == "OPEN" else _close(session, container)
        elif not every and not (forced and opening == "OPEN"):
            number, state = (65019, "open") if opening == "OPEN" else (65020, "closed")
            raise OraError(number, f"pluggable database {container.name} already {state}")


def _every(session: SqlSession, parser: Parser) -> list[Container]:
    left_out = parser.listed(lambda: _named(session, parser)) if parser.word("EXCEPT") else []
    return [c for c in session.catalog.containers.values() if c.con_id > SEED and c not in left_out]


def _named_ones(session: SqlSession, parser: Parser) -> list[Container]:
    if not parser.is_any_word("OPEN", "CLOSE"):
        return parser.listed(lambda: _named(session, parser))
    if session.container == ROOT:
        raise OraError(65046, "operation not allowed from outside a pluggable database", parser.token.start)
    return [session.catalog.containers[session.container]]


def _named(session: SqlSession, parser: Parser) -> Container:
    container = session.catalog.container_named(parser.name(65000, "missing or invalid pluggable database name"))
    if container.con_id <= SEED:
        raise OraError(65017, "seed pluggable database may not be dropped or altered")
    if session.container not in (ROOT, container.con_id):
        raise OraError(65118, "operation affecting a pluggable database cannot be performed from another pluggable database")
    return container


def _open(session: SqlSession, container: Container) -> None:
    with session.storage.lock:
        container.open_mode = "READ WRITE"
        session.catalog.version += 1
        session.storage.jobs_changed.set()


def _kill_sessions(session: SqlSession, container: Container) -> None:
    for other in list(session.database.sessions.values()):
        if other.client.container == container.con_id and other is not session:
            other.kill()


def _close(session: SqlSession, container: Container) -> None:
    _kill_sessions(session, container)
    with session.storage.lock:
        container.open_mode = "MOUNTED"
        session.catalog.version += 1
