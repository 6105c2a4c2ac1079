"""What a report says of the database: versions and settings, without names; and the names that it must not hold."""

from __future__ import annotations

import getpass
import platform
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from importlib import metadata
from typing import Any, Final

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import DatabaseConfig
from minercdc.errors import MinerCdcError
from minercdc.native import PATH
from minercdc.operate.bundle import secret_values
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect, dsn_of

_PARAMETERS: Final = (
    "cluster_database",
    "compatible",
    "db_block_size",
    "enable_goldengate_replication",
    "max_string_size",
    "undo_retention",
)
_QUERIES: Final[Mapping[str, str]] = {
    "version": "SELECT BANNER_FULL FROM V$VERSION",
    "database": (
        "SELECT LOG_MODE, FORCE_LOGGING, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_PK, SUPPLEMENTAL_LOG_DATA_ALL, CDB,"
        " DATABASE_ROLE, PLATFORM_NAME FROM V$DATABASE"
    ),
    "character sets": "SELECT PARAMETER, VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER LIKE '%CHARACTERSET' ORDER BY PARAMETER",
    "parameters": f"SELECT NAME, VALUE FROM V$PARAMETER WHERE NAME IN ({', '.join(map(repr, _PARAMETERS))}) ORDER BY NAME",
    "time zone": "SELECT DBTIMEZONE FROM DUAL",
    "redo logs": "SELECT THREAD#, COUNT(*), MIN(BYTES), MAX(BYTES) FROM V$LOG GROUP BY THREAD# ORDER BY THREAD#",
}
_CONTEXT: Final = (
    "CON_NAME",
    "CURRENT_USER",
    "DB_DOMAIN",
    "DB_NAME",
    "DB_UNIQUE_NAME",
    "HOST",
    "INSTANCE_NAME",
    "OS_USER",
    "SERVER_HOST",
    "SERVICE_NAME",
    "SESSION_USER",
    "TERMINAL",
)
_NAMED: Final = (
    "SELECT NAME FROM V$DATABASE",
    "SELECT DB_UNIQUE_NAME FROM V$DATABASE",
    "SELECT INSTANCE_NAME FROM V$INSTANCE",
    "SELECT HOST_NAME FROM V$INSTANCE",
    "SELECT GLOBAL_NAME FROM GLOBAL_NAME",
)


def facts(config: ConnectorConfig) -> dict[str, list[str]]:
    """Versions and settings, by topic; what may not be read says so. Raises SourceError when the database cannot be reached."""
    found: dict[str, list[str]] = {
        "minercdc": [f"{metadata.version('minercdc')} ({PATH}), {config.database.database_connection_adapter}"],
        "client": [
            f"Python {sys.version.split()[0]}, oracledb {metadata.version('oracledb')}, {platform.system()} {platform.machine()}"
        ],
    }
    with closing(connect(config.database, "root")) as connection:
        for what, query in _QUERIES.items():
            try:
                found[what] = [
                    " ".join("-" if one is None else " ".join(str(one).split()) for one in row)
                    for row in _rows(connection, query)
                ]
            except MinerCdcError as error:
                found[what] = [f"not readable: {error.message}"]
    return found


def names(config: ConnectorConfig, *others: DatabaseConfig) -> set[str]:
    """Names of hosts, services, databases and users of these connections, as they are configured and as the sessions say them.

    :param others: with which sessions were opened, too.
    :raises SourceError, PrerequisiteError: the database cannot be reached.
    """
    found = {socket.gethostname(), platform.node(), _os_user()}
    for database in (config.database, *others):
        found |= set(_configured(database))
    if config.secondary.is_mined:
        found |= set(_configured(config.secondary.database(config.database)))
    with closing(connect(config.database, "root")) as root:
        found |= set(_said(root))
    with closing(connect(config.database, "pdb")) as pdb:
        found |= set(_said(pdb))
    parts = {part for name in found for part in (name, name.partition(".")[0])}
    return {name for name in (*found, *parts) if name and not name.isdigit()}


def secrets(config: ConnectorConfig, *others: DatabaseConfig) -> set[str]:
    """Every secret of the configuration, and the passwords of the other sessions."""
    passwords = {one.database_password.get_secret_value() for one in others}
    return {*secret_values(config), *(one for one in passwords if one)}


def _configured(database: DatabaseConfig) -> Iterator[str]:
    yield from (database.database_hostname or "", database.database_dbname, *database.pdbs)
    yield from (database.database_user, database.session_user)
    yield dsn_of(database)
    yield from re.findall(r"(?i)(?:HOST|SERVICE_NAME|SID)\s*=\s*([^)\s]+)", database.database_url or "")
    if url := database.database_url:
        host, _, service = url.rpartition("@")[2].removeprefix("//").partition("/")
        yield from (host.partition(":")[0], service.partition("?")[0])


def _said(connection: oracledb.Connection) -> Iterator[str]:
    queries = [*(f"SELECT SYS_CONTEXT('USERENV', '{name}') FROM DUAL" for name in _CONTEXT), *_NAMED]
    for query in queries:
        with suppress(MinerCdcError):  # not every user may read it, and not every release has it
            yield from (str(row[0]) for row in _rows(connection, query) if row[0] is not None)


def _rows(connection: oracledb.Connection, query: str) -> list[tuple[Any, ...]]:
    with oracle_errors("looking at the database"), connection.cursor() as cursor:
        cursor.execute(query)
        return [tuple(row) for row in cursor]


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return ""
