"""Reads the text of CREATE TABLE of tables that exist, from DBMS_METADATA: what schema changes of a snapshot have as `ddl`.

The parameters are Debezium's: no STORAGE and segment attributes, each statement ended by `;`. A text may hold several statements,
as those that create the table's indexes. Tables of other users are shown with SELECT_CATALOG_ROLE only; without it they do not
exist (ORA-31603; PL/SQL Packages and Types Reference, DBMS_METADATA, Security Model).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

import oracledb

from minercdc.errors import MinerCdcError, TransientSourceError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.fetching.rows import exact_values
from minercdc.schema.table import TableId

_log = logging.getLogger(__name__)

_SET: Final = "BEGIN DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, '{name}', {value}); END;"
_PARAMETERS: Final = (("STORAGE", "FALSE"), ("SEGMENT_ATTRIBUTES", "FALSE"), ("SQLTERMINATOR", "TRUE"))
_GET: Final = "SELECT DBMS_METADATA.GET_DDL('TABLE', :name, :owner) FROM DUAL"
_NOT_FOUND: Final = 31603
_MOST_NAMES: Final = 5


def read_ddl(connection: oracledb.Connection, ids: Iterable[TableId]) -> dict[TableId, str]:
    """The text of each table, by its id; those whose text cannot be read are missing, and a message in the log names them,
    the error and the grant. Sets parameters of DBMS_METADATA in the session, and sets them back.

    :raises TransientSourceError: the connection broke.
    """
    found: dict[TableId, str] = {}
    refused: dict[TableId, MinerCdcError] = {}
    wanted = list(ids)
    if wanted:
        with connection.cursor() as cursor:
            cursor.outputtypehandler = exact_values
            _read(cursor, wanted, found, refused)
        _report(refused)
    return found


def _read(
    cursor: oracledb.Cursor, ids: list[TableId], found: dict[TableId, str], refused: dict[TableId, MinerCdcError]
) -> None:
    try:
        for name, value in _PARAMETERS:
            _execute(cursor, _SET.format(name=name, value=value))
        for table in ids:
            try:
                with oracle_errors("reading the text of CREATE TABLE"):
                    cursor.execute(_GET, {"name": table.table, "owner": table.schema})
                    ((text,),) = cursor.fetchall()
                found[table] = text or ""
            except TransientSourceError:
                raise
            except MinerCdcError as error:
                refused[table] = error
        _execute(cursor, _SET.format(name="DEFAULT", value="TRUE"))
    except TransientSourceError:
        raise
    except MinerCdcError as error:
        refused.update(dict.fromkeys((table for table in ids if table not in found), error))


def _execute(cursor: oracledb.Cursor, statement: str) -> None:
    with oracle_errors("setting the parameters of DBMS_METADATA"):
        cursor.execute(statement)


def _report(refused: dict[TableId, MinerCdcError]) -> None:
    if not refused:
        return
    more = f" and {len(refused) - _MOST_NAMES} more" if len(refused) > _MOST_NAMES else ""
    names = ", ".join(map(str, list(refused)[:_MOST_NAMES])) + more
    # Without the role it is as the user has granted it: `minercdc plan` leaves the role out.
    is_warning = any(getattr(error, "ora_code", 0) != _NOT_FOUND for error in refused.values())
    _log.log(
        logging.WARNING if is_warning else logging.INFO,
        "the schema change of %s has no ddl: %s; if readers need the text, GRANT SELECT_CATALOG_ROLE to database.user",
        names,
        next(iter(refused.values())).message,
    )
