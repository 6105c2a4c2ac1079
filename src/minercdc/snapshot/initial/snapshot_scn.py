"""Fixes the SCN of a snapshot, and the SCN from which the stream mines.

    lock tables -> q = current SCN -> open transactions -> s = current SCN -> structures -> unlock
    rows AS OF SCN s; streaming mines from the oldest of q and the open transactions' starts, and drops commits <= s

The order of those three reads matters. A transaction that committed before s is seen by AS OF. One that commits later
began after q, or was open when they were listed: either way it is mined from its first row. None is in both, none in
neither. At an SCN of the past the adapter finds the open transactions in the redo since.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, TypeAlias

import oracledb

from minercdc.config.sections import SnapshotConfig
from minercdc.errors import SnapshotTooOldError, SourceError
from minercdc.oracle.dictionary.create_table_text import read_ddl
from minercdc.oracle.dictionary.tables import read_altered, read_table_ids, read_tables
from minercdc.oracle.open_transactions import oldest_open_scn, refuse_in_doubt
from minercdc.oracle.present_scn import present_scn
from minercdc.oracle.scn import current_scn, scn_of_time
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.locks import Lock
from minercdc.stream.events import SchemaChange, Scn
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

MineFrom: TypeAlias = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The point at which the snapshot and the stream meet, and the tables' structures: read at that point, or those of now
    for a point of the past.

    :param scn: commits at or below it are part of the snapshot, later ones of the stream.
    :param mine_from: SCN at or below the start of every transaction that commits later.
    :param ddl: text of CREATE TABLE of the tables that have one; read with the structures.
    """

    scn: Scn
    mine_from: Scn
    schemas: list[TableSchema]
    ddl: Mapping[TableId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Described:
    """What is read of tables besides their columns and keys.

    :param comments: the comments of tables and columns.
    :param ddl: the text of CREATE TABLE.
    """

    comments: bool = False
    ddl: bool = False

    def read(
        self, connection: oracledb.Connection, ids: Sequence[TableId]
    ) -> tuple[list[TableSchema], Mapping[TableId, str]]:
        """Those of the tables that exist, in the order of `ids`, and the texts of CREATE TABLE by id, {} without `ddl`. Raises as
        `read_tables` and `read_ddl`."""
        schemas = read_tables(connection, ids, comments=self.comments)
        return schemas, read_ddl(connection, [schema.id for schema in schemas]) if self.ddl else {}


COLUMNS_ONLY: Final = Described()


@dataclass(frozen=True, slots=True)
class Place:
    """A database that tables are captured in, with a session there.

    :param connection: to it; the owner closes it.
    :param table_filter: of the captured tables.
    :param database: first part of the TableIds.
    """

    connection: oracledb.Connection
    table_filter: TableFilter
    database: str

    def table_ids(self) -> list[TableId]:
        """The captured tables that exist now, in order of name. Raises as `read_table_ids`."""
        return read_table_ids(self.connection, self.table_filter, self.database)


def fix_now(places: Sequence[Place], lock: Lock, *, redo: bool = True, described: Described = COLUMNS_ONLY) -> Fixed:
    """The present SCN, and the tables' structures, read while `lock` is held; without a lock DDL may come between.

    :param places: one database, or several pluggable databases: their SCNs are those of the container database, and each
        shows the open transactions of its own.
    :param redo: the stream comes from redo; else open transactions do not count, and no V$ view has to be granted.
    :param described: what is read of the tables besides their structures.
    :raises TransientSourceError: a table was busy for as long as the lock may wait, a transaction is in doubt
        (`refuse_in_doubt`), or the connection broke.
    :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
    :raises ConfigError: a pattern of the filter took too long.
    """
    connection = places[0].connection
    found = [(place.connection, place.table_ids()) for place in places]
    with ExitStack() as locks:
        for inside, ids in found:
            locks.enter_context(lock(inside, ids))
        if redo:
            begun = current_scn(connection)
            for inside, _ in found:
                refuse_in_doubt(inside)
            oldest = [open_ for inside, _ in found if (open_ := oldest_open_scn(inside))]
            scn = current_scn(connection)
        else:
            scn = begun = present_scn(connection)
            oldest = []
        schemas, ddl = _described(found, described)
    return Fixed(scn, min(begun, *oldest) if oldest else begun, schemas, ddl)


def _described(
    found: Iterable[tuple[oracledb.Connection, Sequence[TableId]]], described: Described
) -> tuple[list[TableSchema], dict[TableId, str]]:
    """The tables of all databases that exist, and their texts of CREATE TABLE."""
    schemas: list[TableSchema] = []
    texts: dict[TableId, str] = {}
    for connection, ids in found:
        some, ddl = described.read(connection, ids)
        schemas += some
        texts |= ddl
    return schemas, texts


def fix_given(
    places: Sequence[Place], config: SnapshotConfig, mine_from: MineFrom, *, described: Described = COLUMNS_ONLY
) -> Fixed:
    """The SCN of `minercdc.start.timestamp` (UTC unless it has an offset), else `minercdc.start.scn`. The tables' structures
    are those of now; a warning names tables that had DDL since.

    :param mine_from: SCN of the past -> SCN at or below the start of every transaction that was open there (`Adapter.mine_from`).
    :raises SourceError: it lies in the future, or the time is too far back for the database to know its SCN. Oracle's
        other errors, and ConfigError, are as of `fix_now`.
    :raises LogGapError: an adapter that reads redo lacks some from there on, or from the start of a transaction open there.
    """
    if config.minercdc_start_timestamp is not None:
        time = datetime.fromisoformat(config.minercdc_start_timestamp)
        in_utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
        scn = scn_of_time(places[0].connection, in_utc.replace(tzinfo=None))
    else:
        scn = Scn(config.minercdc_start_scn or 0)
    given_by = "minercdc.start.scn" if config.minercdc_start_timestamp is None else "minercdc.start.timestamp"
    return _fix_past(places, scn, given_by, mine_from, described)


def fix_handover(places: Sequence[Place], scn: int, mine_from: MineFrom, *, described: Described = COLUMNS_ONLY) -> Fixed:
    """The SCN up to which another adapter delivered everything. The tables' structures are those of now; a warning names
    tables that had DDL since.

    :param mine_from: SCN of the past -> SCN at or below the start of every transaction that was open there (`Adapter.mine_from`).
    :raises SourceError: it lies in the future. Oracle's other errors, and ConfigError, are as of `fix_now`.
    :raises LogGapError: an adapter that reads redo lacks some from there on, or from the start of a transaction open there.
    """
    return _fix_past(places, Scn(scn), "minercdc.handover.scn", mine_from, described)


def _fix_past(places: Sequence[Place], scn: Scn, given_by: str, mine_from: MineFrom, described: Described) -> Fixed:
    now = present_scn(places[0].connection)
    if scn > now:
        raise SourceError(f"{given_by}: {scn} lies in the future; the current SCN is {now}")
    found = [(place.connection, place.table_ids()) for place in places]
    schemas, ddl = _described(found, described)
    for place in places:
        _warn_of_ddl(place.connection, [schema for schema in schemas if schema.id.database == place.database], scn)
    return Fixed(scn, Scn(mine_from(scn)), schemas, ddl)


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
    ddl: Mapping[TableId, str] = MappingProxyType({}),
    reads: Callable[[TableId], bool] = lambda _: False,
) -> Iterator[SchemaChange]:
    """Put the structures into `tables`, as new versions without unsupported columns, and yield a SchemaChange for each.

    :param ddl: text of CREATE TABLE of the tables that have one.
    :param reads: whether the snapshot reads the rows of a table, too.
    :param time_us: of the changes, microseconds since the epoch in UTC.
    """
    for schema in schemas:
        before = tables.find(schema.id)
        after = tables.next_version(without_unsupported(schema))
        tables.put(after)
        text = ddl.get(after.id, "")
        yield SchemaChange(after.id, before, after, text, scn, time_us, snapshot=True, rows=reads(after.id))
