"""Keeps DDL away while structures and SCN are read, for as short a time as possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import oracledb

from minercdc.oracle.codes import oracle_errors
from minercdc.schema.table import TableId


@contextmanager
def short_lock(
    connection: oracledb.Connection, tables: Iterable[TableId], mode: Literal["shared", "none"], timeout_ms: int
) -> Iterator[None]:
    """Hold each table in ROW SHARE mode, which lets rows be changed and keeps DDL waiting.

    Locks are let go by a rollback, so the connection must have nothing to commit. A table that stays busy for the
    time-out is ORA-30006 or ORA-00054: TransientSourceError.
    """
    if mode == "none":
        yield
        return
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
