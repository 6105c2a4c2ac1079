"""Makes the locks against DDL that are held only while the SCN and the structures are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

import oracledb

from minercdc.config.plugin import load_callable
from minercdc.config.sections import SnapshotConfig
from minercdc.oracle.codes import oracle_errors
from minercdc.schema.table import TableId

# Holds whatever keeps the tables from being altered, until it is left.
Lock: TypeAlias = Callable[[oracledb.Connection, list[TableId]], AbstractContextManager[None]]


def lock_of(config: SnapshotConfig) -> Lock:
    """The function that makes the lock which `snapshot.locking.mode` names: a context manager for a connection and tables;
    that of `none` locks nothing. Nothing is locked yet.

    :raises ConfigError: `snapshot.locking.mode.custom.name` names nothing that can be called.
    """
    if config.snapshot_locking_mode == "custom":
        name = config.snapshot_locking_mode_custom_name or ""
        return load_callable(name, "snapshot.locking.mode.custom.name", "connection", "tables")
    if config.snapshot_locking_mode == "none":
        return lambda _connection, _tables: nullcontext()
    return lambda connection, tables: row_share_lock(connection, tables, config.snapshot_lock_timeout_ms)


@contextmanager
def row_share_lock(connection: oracledb.Connection, tables: list[TableId], timeout_ms: int) -> Iterator[None]:
    """Within the context, hold each table in ROW SHARE mode, which lets rows be changed and keeps DDL waiting.

    A rollback releases the locks, so the connection must have nothing to commit.

    :param timeout_ms: for each table, rounded to seconds, at least one; 0 does not wait.
    :raises TransientSourceError: a table was busy for that long (ORA-30006, ORA-00054).
    :raises PrerequisiteError: a table is gone, or the user may not lock it.
    :raises SourceError: Oracle's other errors, as `codes.classify` makes them.
    """
    wait = f"WAIT {max(1, round(timeout_ms / 1000))}" if timeout_ms else "NOWAIT"
    try:
        with connection.cursor() as cursor:
            for table in tables:
                with oracle_errors(f"locking {table}"):
                    cursor.execute(f'LOCK TABLE "{table.schema}"."{table.table}" IN ROW SHARE MODE {wait}')
        yield
    finally:
        with oracle_errors("releasing the table locks"):
            connection.rollback()
