"""CREATE, ALTER and DROP SEQUENCE. Unlike Oracle, drawing numbers writes no redo (updates of SYS.SEQ$)."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import Sequence
from minercdc_sandbox.sql.ddl.exclusive import committed
from minercdc_sandbox.sql.ddl.names import new_name
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.sequences import sequence_options
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import move_grants, require


def create_sequence(session: SqlSession, parser: Parser) -> None:
    """CREATE SEQUENCE, read from after these words. Raises as `new_name`, `sequence_options` and `SequenceOptions.apply`. Commits
    the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    options = sequence_options(parser)
    parser.end()
    with committed(session):
        place = new_name(session, owner, name, "SEQUENCE")
        catalog, now = session.catalog, session.storage.clock.now()
        sequence = Sequence(session.container, place, name, catalog.new_object_id(), now, last_ddl=now)
        options.apply(sequence, new=True)
        catalog.containers[session.container].sequences[place, name] = sequence
        session.storage.log_ddl(session.client, parser.sql, None, place, name)


def _found(session: SqlSession, owner: str | None, name: str, privilege: str) -> Sequence:
    sequence = session.catalog.sequence(session.container, owner or session.schema, name)
    if sequence is None:
        raise OraError(2289, "sequence does not exist")
    if sequence.owner != session.user:
        require(session.catalog, session.container, session.user, privilege)
    return sequence


def alter_sequence(session: SqlSession, parser: Parser) -> None:
    """ALTER SEQUENCE, read from after these words. Raises ORA-02283 for START WITH without RESTART, ORA-02289, ORA-32793,
    ORA-01031, and as `sequence_options` and `SequenceOptions.apply`. Commits the open transaction first, as `committed`, and logs
    itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    at = parser.token.start
    options = sequence_options(parser)
    parser.end()
    if options.start is not None and not options.restart:
        raise OraError(2283, "cannot alter starting sequence number", at)
    with committed(session):
        sequence = _found(session, owner, name, "ALTER ANY SEQUENCE")
        if sequence.identity:
            raise OraError(32793, "cannot alter a system-generated sequence")
        changed = replace(sequence)
        options.apply(changed, new=False)
        changed.last_ddl = session.storage.clock.now()
        session.catalog.containers[session.container].sequences[sequence.owner, name] = changed
        session.storage.log_ddl(session.client, parser.sql, None, sequence.owner, name)


def drop_sequence(session: SqlSession, parser: Parser) -> None:
    """DROP SEQUENCE, read from after these words. Raises ORA-02289, ORA-01031, and ORA-32794 for the sequence of an identity
    column. Commits the open transaction first, as `committed`, and logs itself as DDL. Syntax errors are those of `Parser`."""
    owner, name = parser.qualified()
    parser.end()
    with committed(session):
        sequence = _found(session, owner, name, "DROP ANY SEQUENCE")
        if sequence.identity:
            raise OraError(32794, "cannot drop a system-generated sequence")
        del session.catalog.containers[session.container].sequences[sequence.owner, name]
        move_grants(session.catalog, session.container, sequence.owner, name, None)
        session.storage.log_ddl(session.client, parser.sql, None, sequence.owner, name)
