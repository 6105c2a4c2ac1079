"""What `flashback` finds when the versions of a table cannot be read."""

from __future__ import annotations

from typing import Any, cast

import oracledb
import pytest

from minercdc.capture.flashback.prerequisites import FlashbackPrerequisites
from minercdc.errors import MinerCdcError, PrerequisiteError, SnapshotTooOldError, SourceError, TransientSourceError
from minercdc.oracle.finding import Finding
from minercdc.schema.table import Column, TableId, TableSchema

ORDERS = TableSchema(TableId("PDB", "SHOP", "ORDERS"), (Column("ID", "NUMBER", 9, 0, False),), (0,))


class Connection:
    """A connection, and its only cursor: the present SCN is 5, and a query of versions fails with `error`."""

    username = "cdc"

    def __init__(self, error: MinerCdcError | None) -> None:
        self._error = error

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def execute(self, sql: str, _: object = None) -> None:
        if "VERSIONS BETWEEN" in sql and self._error is not None:
            raise self._error

    def fetchone(self) -> tuple[int]:
        return (5,)

    def fetchall(self) -> list[Any]:
        return []


def findings(error: MinerCdcError | None) -> list[Finding]:
    connection = cast(oracledb.Connection, Connection(error))
    return list(FlashbackPrerequisites().database(connection, [ORDERS]))


@pytest.mark.parametrize("error", [None, SnapshotTooOldError("ORA-01466")])
def test_a_table_that_can_be_read_or_had_ddl_a_moment_ago_passes(error: MinerCdcError | None) -> None:
    assert findings(error) == []


def test_a_missing_grant_blocks() -> None:
    (found,) = findings(PrerequisiteError("ORA-01031"))
    assert found.blocking
    assert found.fix == 'GRANT SELECT, FLASHBACK ON "SHOP"."ORDERS" TO CDC'


def test_a_table_without_versions_blocks() -> None:
    (found,) = findings(SourceError("ORA-30051"))
    assert found.blocking
    assert found.fix == "Leave the table out: table.exclude.list=SHOP.ORDERS"


def test_a_lost_connection_is_no_fault_of_the_table() -> None:
    with pytest.raises(TransientSourceError):
        findings(TransientSourceError("ORA-03113"))
