"""Fixes the SCN of a snapshot, and the SCN from which the stream mines.

    lock tables -> q = current SCN -> open transactions -> s = current SCN -> structures -> unlock
    rows AS OF SCN s; streaming mines from the oldest of q and the open transactions' starts, and drops commits <= s

The order of those three reads matters. A transaction that committed before s is seen by AS OF. One that commits later
began after q, or was open when they were listed: either way it is mined from its first row. None is in both, none in
neither. At an SCN of the past the adapter finds the open transactions in the redo since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.errors import SnapshotTooOldError, SourceError
from minercdc.events import SchemaChange, Scn
from minercdc.oracle.dictionary import read_altered, read_table_ids, read_tables
from minercdc.oracle.present_scn import present_scn
from minercdc.oracle.scn import current_scn, oldest_open_scn, scn_of_time
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.snapshot.locks import Lock
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

MineFrom: TypeAlias = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The point, and the tables' structures: read at the point, or those of now for a point of the past.

    :param scn: commits at or below it are part of the snapshot, later ones of the stream.
    :param mine_from: SCN at or below the start of every transaction that commits later.
    """

    scn: Scn
    mine_from: Scn
    schemas: list[TableSchema]


@dataclass(frozen=True, slots=True)
class Place:
    """A database that tables are captured in.

    :param connection: to it.
    :param database: first part of the TableIds.
    """

    connection: oracledb.Connection
    table_filter: TableFilter
    database: str

    def table_ids(self) -> list[TableId]:
        """The captured tables that exist."""
        return read_table_ids(self.connection, self.table_filter, self.database)


def fix_now(
    connection: oracledb.Connection,
    table_filter: TableFilter,
    database: str,
    lock: Lock,
    *,
    redo: bool = True,
    comments: bool = False,
) -> Fixed:
    """The present SCN, and the tables' structures, read while `lock` is held; without a lock DDL may come between.

    :param redo: the stream comes from redo; else open transactions do not count, and no V$ view is read.
    :param comments: the structures have the comments of tables and columns.
    :raises TransientSourceError: a table was busy for as long as the lock may wait, or the connection broke.
    :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
    :raises ConfigError: a pattern of the filter took too long.
    """
    return fix_now_in([Place(connection, table_filter, database)], lock, redo=redo, comments=comments)


def fix_now_in(places: Sequence[Place], lock: Lock, *, redo: bool = True, comments: bool = False) -> Fixed:
    """As `fix_now`, for the tables of one database, or of several pluggable databases: their SCNs are those of the container
    database, and each shows the open transactions of its own."""
    connection = places[0].connection
    found = [(place.connection, place.table_ids()) for place in places]
    with ExitStack() as locks:
        for inside, ids in found:
            locks.enter_context(lock(inside, ids))
        if redo:
            begun = current_scn(connection)
            oldest = [open_ for inside, _ in found if (open_ := oldest_open_scn(inside))]
            scn = current_scn(connection)
        else:
            scn = begun = present_scn(connection)
            oldest = []
        schemas = [schema for inside, ids in found for schema in read_tables(inside, ids, comments=comments)]
    return Fixed(scn, min(begun, *oldest), schemas) if oldest else Fixed(scn, begun, schemas)


def fix_given(
    connection: oracledb.Connection,
    table_filter: TableFilter,
    database: str,
    config: SnapshotConfig,
    mine_from: MineFrom,
    *,
    comments: bool = False,
) -> Fixed:
    """See `fix_given_in`."""
    return fix_given_in([Place(connection, table_filter, database)], config, mine_from, comments=comments)


def fix_given_in(places: Sequence[Place], config: SnapshotConfig, mine_from: MineFrom, *, comments: bool = False) -> Fixed:
    """The SCN of `minercdc.start.timestamp` (UTC unless it has an offset), else `minercdc.start.scn`. The tables' structures
    are those of now; a warning names tables that had DDL since.

    :param mine_from: see `capture.adapter.Adapter`.
    :raises SourceError: it lies in the future, or the time is too far back for the database to know its SCN. Oracle's
        other errors, and ConfigError, are as of `fix_now`.
    :raises LogGapError: redo from there on, or from the start of the oldest transaction that was open there, is gone.
    """
    if config.minercdc_start_timestamp is not None:
        time = datetime.fromisoformat(config.minercdc_start_timestamp)
        in_utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        scn = scn_of_time(places[0].connection, in_utc.replace(tzinfo=None))
    else:
        scn = Scn(config.minercdc_start_scn or 0)
    given_by = "minercdc.start.scn" if config.minercdc_start_timestamp is None else "minercdc.start.timestamp"
    return _fix_past(places, scn, given_by, mine_from, comments)


def fix_handover(
    connection: oracledb.Connection,
    table_filter: TableFilter,
    database: str,
    scn: int,
    mine_from: MineFrom,
    *,
    comments: bool = False,
) -> Fixed:
    """The SCN up to which another adapter delivered everything. The tables' structures are those of now; a warning names
    tables that had DDL since.

    :param mine_from: see `capture.adapter.Adapter`.
    :raises SourceError: it lies in the future. Oracle's other errors, and ConfigError, are as of `fix_now`.
    :raises LogGapError: redo from there on, or from the start of the oldest transaction that was open there, is gone.
    """
    return _fix_past([Place(connection, table_filter, database)], Scn(scn), "minercdc.handover.scn", mine_from, comments)


def _fix_past(places: Sequence[Place], scn: Scn, given_by: str, mine_from: MineFrom, comments: bool) -> Fixed:
    now = present_scn(places[0].connection)
    if scn > now:
        raise SourceError(f"{given_by}: {scn} lies in the future; the current SCN is {now}")
    schemas: list[TableSchema] = []
    for place in places:
        some = read_tables(place.connection, place.table_ids(), comments=comments)
        _warn_of_ddl(place.connection, some, scn)
        schemas += some
    return Fixed(scn, Scn(mine_from(scn)), schemas)


def _warn_of_ddl(connection: oracledb.Connection, schemas: list[TableSchema], scn: Scn) -> None:
    ids = [schema.id for schema in schemas]
    try:
        altered = read_altered(connection, ids, scn)
    except SnapshotTooOldError:
        altered = ids
    if altered:
        names = ", ".join(map(str, altered))
        _log.warning("DDL since SCN %s on %s: rows from before a change of columns may not be decodable", scn, names)


def describe(
    tables: Tables,
    schemas: list[TableSchema],
    scn: Scn,
    time_us: int,
    *,
    reads: Callable[[TableId], bool] = lambda _: False,
) -> Iterator[SchemaChange]:
    """Put the structures into `tables`, as new versions without unsupported columns, and yield a SchemaChange for each.

    :param reads: whether the snapshot reads the rows of a table, too.
    :param time_us: microseconds since the epoch.
    """
    for schema in schemas:
        before = tables.find(schema.id)
        after = tables.next_version(without_unsupported(schema))
        tables.put(after)
        yield SchemaChange(after.id, before, after, "", scn, time_us, snapshot=True, rows=reads(after.id))
