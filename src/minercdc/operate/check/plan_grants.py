"""The grants that `minercdc plan` prints: the narrowest ones that are enough for a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from minercdc.capture.adapter import AdapterFactory
from minercdc.capture.registry import adapter_factory
from minercdc.capture.txlog.names import ALERT, CORE, LOG, SOURCES, quoted, view_of
from minercdc.config.load import ConnectorConfig
from minercdc.oracle.connect import database_names
from minercdc.oracle.grants import (
    CREATE_SESSION,
    CREATE_TABLE,
    DBMS_FLASHBACK,
    DBMS_LOGMNR,
    DBMS_LOGMNR_D,
    DOWNSTREAM_VIEWS,
    EXTENT_VIEWS,
    LOGMINING,
    MINING_VIEWS,
    OPTIONAL_VIEWS,
    SERVER_VIEWS,
    SET_CONTAINER,
    SEVERAL_INSTANCES,
    Grant,
)
from minercdc.schema.table import TableId


def grants(config: ConnectorConfig, tables: Sequence[TableId], *, several_instances: bool = False) -> Iterator[str]:
    """SQL that gives the connector's user single grants for this configuration, in the order in which a DBA runs it: grants,
    ALTER SESSION between containers, and comments where another database begins, objects have to be made first, or there are no
    tables. With LogMiner the optional views are among them.

    :param several_instances: of RAC, whose open transactions are then read in all of them.
    """
    database = config.database
    user = database.session_user.upper()
    yield from grants_of_session(config)
    yield from _statements(user, _of_views(config, several_instances=several_instances))
    names = database_names(database)
    for number, (container, name) in enumerate(zip(database.pdbs or (None,), names, strict=True)):
        if container:
            yield f"ALTER SESSION SET CONTAINER = {container};"
        if not number:
            yield from _of_flush_table(config, user)
        inside = name if database.has_several_pdbs else None
        found = [one for one in tables if inside in (None, one.database)]
        if not found:
            yield "-- No table to capture is visible. The user needs this on each captured table; a plan then names them:"
            yield f"--   GRANT SELECT, FLASHBACK ON schema.table TO {user};"
        yield from _in_database(config, user, found, inside)
    if config.secondary.is_downstream:
        yield "-- In the downstream database, where the user has the same name:"
        yield from _statements(user, [CREATE_SESSION, LOGMINING, DBMS_LOGMNR, *DOWNSTREAM_VIEWS])


def grants_of_session(config: ConnectorConfig) -> Iterator[str]:
    """The statements without which the user does not log on, or does not come to where its tables are."""
    user = config.database.session_user.upper()
    goes_on_to_pdb = _is_common(user) and _adapter(config).family == "logminer"
    yield from _statements(user, [CREATE_SESSION, SET_CONTAINER] if goes_on_to_pdb else [CREATE_SESSION])


def _statements(user: str, wanted: Iterable[Grant]) -> Iterator[str]:
    return (grant.statement(user, everywhere=_is_common(user)) for grant in wanted)


def _is_common(user: str) -> bool:
    return user.startswith("C##")


def _adapter(config: ConnectorConfig) -> AdapterFactory:
    return adapter_factory(config.database.database_connection_adapter)


def _of_views(config: ConnectorConfig, *, several_instances: bool) -> Iterator[Grant]:
    """What is granted once, where LogMiner runs: views, packages and LOGMINING."""
    adapter = _adapter(config)
    if adapter.family == "logminer":
        yield from (LOGMINING, DBMS_LOGMNR, *MINING_VIEWS)
        if config.log_mining.log_mining_strategy == "redo_log_catalog":
            yield DBMS_LOGMNR_D
        yield from OPTIONAL_VIEWS
    elif adapter.reads_redo:
        yield from SERVER_VIEWS
    if adapter.reads_redo and several_instances:
        yield from SEVERAL_INSTANCES
    if config.snapshot.snapshot_max_threads > 1:
        yield from EXTENT_VIEWS


def _of_flush_table(config: ConnectorConfig, user: str) -> Iterator[str]:
    if _adapter(config).family == "logminer" and (table := config.log_mining.minercdc_log_mining_flush_table):
        yield f"-- For {table.upper()}, which the connector creates in the user's default tablespace; the user needs a quota there:"
        yield CREATE_TABLE.statement(user)


def _in_database(config: ConnectorConfig, user: str, tables: Sequence[TableId], inside: str | None) -> Iterator[str]:
    """The grants of one database's tables.

    :param inside: its name, where there are several.
    """
    snapshot, adapter = config.snapshot, config.database.database_connection_adapter
    signal = config.signals.signal_data_collection
    if signal and inside not in (None, signal.split(".")[0].upper()):
        signal = None
    named = [f'"{one.schema}"."{one.table}"' for one in tables]
    if signal:
        name = ".".join(f'"{part}"' for part in signal.split(".")[-2:])
        named += [] if name in named else [name]
        if config.incremental.marks:
            yield f"GRANT INSERT, DELETE ON {name} TO {user};"
    for name in named:
        yield f"GRANT SELECT, FLASHBACK ON {name} TO {user};"
    if adapter == "txlog":
        yield from _of_txlog(config, user, tables)
    reads_past = snapshot.snapshot_select_statement_overrides or snapshot.snapshot_query_mode == "custom"
    if reads_past or adapter == "flashback":
        yield DBMS_FLASHBACK.statement(user)


def _of_txlog(config: ConnectorConfig, user: str, tables: Sequence[TableId]) -> Iterator[str]:
    """What a user reads of the log of transactions, where the owner of the tables is another one."""
    others = [table for table in tables if table.schema != user.strip('"')]
    for owner in sorted({table.schema for table in others}):
        yield f"-- Once minercdc txlog install CONFIG has made them, as {owner}:"
        read = [LOG, SOURCES, *(view_of(table.table) for table in others if table.schema == owner)]
        yield from (f"GRANT SELECT ON {quoted(owner)}.{quoted(name)} TO {user};" for name in read)
        called = [CORE, *([ALERT] if config.txlog.minercdc_txlog_alerts else [])]
        yield from (f"GRANT EXECUTE ON {quoted(owner)}.{name} TO {user};" for name in called)
