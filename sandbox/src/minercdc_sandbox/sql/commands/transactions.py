"""Transaction control and LOCK TABLE."""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.dml.constraints import verify_deferred
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.privileges import require
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.storage import locks
from minercdc_sandbox.storage.transactions import Undo, UndoKind


def commit(session: SqlSession, parser: Parser) -> None:
    """COMMIT [WORK]; COMMIT FORCE 'id', see `_force`. Raises ORA-02091 when a deferred constraint is violated, and as
    `Session.commit`. Syntax errors are those of `Parser`."""
    parser.word("WORK")
    if parser.word("FORCE"):
        _force(session, parser, session.storage.commit)
        return
    parser.word("WRITE", "WAIT")
    parser.end()
    session.commit()


def _force(session: SqlSession, parser: Parser, end: Callable[[locks.Client], object]) -> None:
    """Read the LOCAL_TRAN_ID, and end that transaction in doubt; the session's own goes on. Raises ORA-02058 for none that is in
    doubt, and ORA-01031 without FORCE ANY TRANSACTION, if another user's. Syntax errors are those of `Parser`."""
    local_id = parser.take().text
    parser.end()
    with session.storage.lock:
        found = [t for t in session.database.transactions.in_doubt(session.container) if t.local_id == local_id]
        if not found:
            raise OraError(2058, f"no prepared transaction found with ID {local_id}")
        [transaction] = found
        if transaction.user != session.user:
            require(session.catalog, session.container, session.user, "FORCE ANY TRANSACTION")
        who = transaction.sid, transaction.serial, transaction.user, transaction.container
        end(locks.Client(*who, thread=transaction.thread, transaction=transaction))


def rollback(session: SqlSession, parser: Parser) -> None:
    """ROLLBACK [WORK], also TO SAVEPOINT; ROLLBACK FORCE 'id', see `_force`. Raises ORA-01086 for a savepoint that the transaction does not have, and as
    `Session.rollback`. Syntax errors are those of `Parser`."""
    parser.word("WORK")
    if parser.word("TO"):
        parser.word("SAVEPOINT")
        name = parser.name()
        parser.end()
        session.transactions.rollback_to(name)
        return
    if parser.word("FORCE"):
        _force(session, parser, session.storage.rollback)
        return
    parser.end()
    session.rollback()


def savepoint(session: SqlSession, parser: Parser) -> None:
    """SAVEPOINT; one of the same name is replaced. Raises as `Storage.begin`. Syntax errors are those of `Parser`."""
    name = parser.name()
    parser.end()
    session.transactions.savepoint(name)


def set_transaction(session: SqlSession, parser: Parser) -> None:
    """SET TRANSACTION, which begins one, but for READ WRITE and READ COMMITTED, which do nothing. Raises ORA-01453 after a change
    or lock in the transaction, ORA-03001 for other kinds, and as `Storage.begin`. Syntax errors are those of `Parser`."""
    if session.client.transaction is not None and session.client.transaction.undo:
        raise OraError(1453, "SET TRANSACTION must be first statement of transaction")
    if parser.word("NAME"):
        name = parser.take()
        parser.end()
        with session.storage.lock:
            session.storage.begin(session.client).name = name.text
        return
    if parser.word("READ", "WRITE") or parser.word("ISOLATION", "LEVEL", "READ", "COMMITTED"):
        parser.end()
        return
    read_only = parser.word("READ", "ONLY")
    if not read_only and not parser.word("ISOLATION", "LEVEL", "SERIALIZABLE"):
        raise OraError(3001, "unimplemented feature: SET TRANSACTION of this kind", parser.token.start)
    parser.end()
    with session.storage.lock:
        transaction = session.storage.begin(session.client)
        transaction.snapshot, transaction.read_only = session.storage.clock.current, read_only


def set_constraints(session: SqlSession, parser: Parser) -> None:
    """`SET CONSTRAINTS ALL | name, .. DEFERRED | IMMEDIATE`, until the transaction ends; IMMEDIATE checks what was deferred of
    these. One that fails changes nothing: the keys are checked at COMMIT. Raises ORA-02447, ORA-02448, ORA-00905, and as
    `verify_deferred`. Syntax errors are those of `Parser`."""
    everything = parser.word("ALL")
    names = [] if everything else parser.listed(parser.qualified)
    mode = parser.any_word("DEFERRED", "IMMEDIATE")
    if mode is None:
        raise OraError(905, "missing keyword", parser.token.start)
    parser.end()
    modes = session.transactions.constraint_modes
    keys = [_deferrable(session, owner or session.schema, name) for owner, name in names]
    changed: dict[tuple[str, str] | None, bool] = dict.fromkeys([None] if everything else keys, mode == "DEFERRED")
    with session.storage.lock:
        session.transactions.constraint_modes = changed if everything else modes | changed
        try:
            verify_deferred(session, committing=False)
        except OraError:
            session.transactions.constraint_modes = modes
            raise


def _deferrable(session: SqlSession, owner: str, name: str) -> tuple[str, str]:
    """Owner and name of a constraint that can be deferred. Raises ORA-02448 when there is none, ORA-02447."""
    tables = [table for table in session.catalog.tables(session.container) if table.owner == owner]
    found = next((c for table in tables for c in table.constraints if c.name == name), None)
    if found is None:
        raise OraError(2448, "constraint does not exist")
    if not found.deferrable:
        raise OraError(2447, "cannot defer a constraint that is not deferrable")
    return owner, name


def set_role(session: SqlSession, parser: Parser) -> None:
    """SET ROLE, read to its end without a check; it has no effect: all roles are enabled."""
    while parser.take().kind is not TokenKind.END:
        pass


def lock_table(session: SqlSession, parser: Parser) -> None:
    """LOCK TABLE: lock the tables in a transaction, begun if there is none, one after another; those before one that fails stay
    locked. Raises ORA-00942, ORA-01031, ORA-01737, ORA-03001 for partitions, ORA-02017 for WAIT without whole seconds, other
    syntax errors as `Parser`, and as `Locks.lock_table` and `Storage.begin`."""
    names = parser.listed(lambda: (parser.token.start, parser.qualified()))
    if parser.token.text in ("PARTITION", "SUBPARTITION"):
        raise OraError(3001, f"unimplemented feature: LOCK TABLE .. {parser.token.text}", parser.token.start)
    parser.expect_word("IN")
    modes = {
        ("ROW", "SHARE"): locks.ROW_SHARE,
        ("SHARE", "UPDATE"): locks.ROW_SHARE,
        ("ROW", "EXCLUSIVE"): locks.ROW_EXCLUSIVE,
        ("SHARE", "ROW", "EXCLUSIVE"): locks.SHARE_ROW_EXCLUSIVE,
        ("SHARE",): locks.SHARE,
        ("EXCLUSIVE",): locks.EXCLUSIVE,
    }
    mode = next((mode for words, mode in modes.items() if parser.word(*words)), None)
    if mode is None:
        raise OraError(1737, "valid modes: [ROW] SHARE, [[SHARE] ROW] EXCLUSIVE, SHARE UPDATE", parser.token.start)
    parser.expect_word("MODE")
    wait = parser.lock_wait()
    parser.end()
    with session.storage.lock:
        for at, (owner, name) in names:
            table = target_table(session.environment, owner, name, at, "LOCK")
            transaction = session.storage.begin(session.client)
            before = session.storage.locks.lock_table(session.client, table, mode, wait.seconds)
            transaction.undo.append(Undo(UndoKind.TABLE_LOCK, table, before))
