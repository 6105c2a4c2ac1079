"""Reads from which SCN on the log of transactions has every one.

`install` writes it into SY$SOURCES once all transactions have ended that changed rows before their table had its trigger.
What was committed before may be in no log, so a stream that begins there would leave it out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing

import oracledb

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.txlog.names import SINCE, SOURCES, quoted
from minercdc.errors import LogGapError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.dictionary.tables import read_table_ids
from minercdc.schema.table import TableId

_log = logging.getLogger(__name__)

_HAS_SINCE = "SELECT COUNT(*) FROM ALL_TAB_COLUMNS WHERE OWNER = :owner AND TABLE_NAME = :name AND COLUMN_NAME = :col"


def noted_since(connection: oracledb.Connection, tables: Sequence[TableId]) -> dict[TableId, int | None]:
    """For each of `tables` that is a source, the SCN from which on all its transactions are noted; None while `install` has
    not ended. Tables of a schema are missing where SY$SOURCES has no such column, as when Databus itself made it, or is not
    there. Raises as `codes.classify`."""
    found: dict[TableId, int | None] = {}
    with oracle_errors(f"reading {SOURCES}"), connection.cursor() as cursor:
        for owner in sorted({table.schema for table in tables}):
            cursor.execute(_HAS_SINCE, {"owner": owner, "name": SOURCES, "col": SINCE})
            if not (cursor.fetchone() or (0,))[0]:
                continue
            since = read_since(connection, owner)
            found |= {table: since[table.table] for table in tables if table.schema == owner and table.table in since}
    return found


def read_since(connection: oracledb.Connection, owner: str) -> dict[str, int | None]:
    """Of each source of a schema by the table's name, the SCN from which on all its transactions are noted; None while `install`
    has not ended. SY$SOURCES has the column SINCE_SCN. Raises as `codes.classify`."""
    with oracle_errors(f"reading {SOURCES}"), connection.cursor() as cursor:
        rows = cursor.execute(f"SELECT NAME, TO_CHAR({SINCE}) FROM {quoted(owner)}.{quoted(SOURCES)}")
        return {name: None if scn is None else int(scn) for name, scn in rows}


def begin_after(context: CaptureContext, scn: int) -> int:
    """`scn` itself, if a stream that begins after it misses nothing (`Adapter.mine_from`). Where SY$SOURCES says of no
    table whether that is so, a warning is logged. It opens a connection and closes it.

    :raises LogGapError: transactions that were committed after it may be in no log.
    :raises SourceError, PrerequisiteError, ConfigError: connecting or a query failed, or a pattern took too long.
    """
    with closing(context.connect_pdb()) as connection:
        tables = read_table_ids(connection, context.mined, context.database)
        found = noted_since(connection, tables)
    if not found:
        _log.warning(
            "%s does not record from which SCN on all transactions are noted, so SCN %d may lie before it; minercdc"
            " txlog install CONFIG records it",
            SOURCES,
            scn,
        )
    late = {table: since for table, since in found.items() if since is None or since > scn}
    if late:
        listed = ", ".join(
            f"{table} ({'not yet' if since is None else f'from SCN {since} on'})" for table, since in sorted(late.items())
        )
        raise LogGapError(
            f"SCN {scn} lies before the installation of the log of transactions, or before its purged part, so later"
            f" transactions may not be logged: {listed}",
            hint="Begin after that SCN: let the earlier adapter deliver up to it first, or take a snapshot.",
        )
    return scn
