"""DDL commits first, takes its table alone or fails with ORA-00054, and leaves the definition as it was when it fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.storage.locks import BUSY, EXCLUSIVE
from minercdc_sandbox.tables import Table


@contextmanager
def committed(session: SqlSession) -> Iterator[None]:
    """Around a DDL: the session's transaction is committed first, and the storage is locked until the context ends. Raises as
    `TransactionControl.commit`."""
    with session.storage.lock:
        session.commit()
        yield


def take_alone(session: SqlSession, table: Table) -> None:
    """Wait at most DDL_LOCK_TIMEOUT seconds (0 unless set) until no transaction holds a lock on the table. Call with the storage
    locked, which waiting releases; the table stays free while the lock is held.

    Raises ORA-00054 after that, ORA-00060 and ORA-01013 as `Locks.wait`, ORA-00942 when the table was dropped meanwhile.
    """
    found = session.storage.locks
    deadline = time.monotonic() + int(session.settings.parameters.get("DDL_LOCK_TIMEOUT", "0"))
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
def whole_or_not(table: Table) -> Iterator[None]:
    """Around ALTER TABLE: an OraError sets columns, virtual ones too, constraints, checks, indexes, log groups and partitions of
    this table back, and is raised. Columns and indexes that were made in SQLite stay."""
    columns = [replace(column) for column in table.columns]
    constraints = [replace(constraint) for constraint in table.constraints]
    indexes = [replace(index) for index in table.indexes]
    groups = [replace(group) for group in table.log_groups]
    kept, partitioning = [replace(check) for check in table.checks], deepcopy(table.partitioning)
    virtual = [(place, replace(column)) for place, column in table.virtual]
    try:
        yield
    except OraError:
        table.columns, table.constraints, table.indexes, table.log_groups = columns, constraints, indexes, groups
        table.checks, table.partitioning, table.virtual = kept, partitioning, virtual
        raise
