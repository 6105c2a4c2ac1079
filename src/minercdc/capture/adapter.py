"""Interface of adapters. Each package under `capture/` has one factory class; `capture.registry` has a factory for each adapter
name."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError
from minercdc.oracle.dictionary.object_ids import ObjectIds
from minercdc.oracle.prerequisites import CapturePrerequisites
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.contracts import Capture, KeyedTopic, OpenTransactions
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import ChangeEvent, TransactionInfo
from minercdc.stream.offset import Position


class Reselect(Protocol):
    """Reads from the row itself values that an adapter does not deliver. It connects when it first needs to, and keeps its
    connections until `close`."""

    def complete(self, event: ChangeEvent) -> None:
        """Replace UNAVAILABLE values of large columns in `event.after` by those as of the commit of its transaction, and if
        some are replaced, set `event.reselected_scn` to that SCN; not in changes for which that is not wanted. What cannot
        be read stays UNAVAILABLE, with a warning once per table.

        :raises TransientSourceError: the database is not reachable; the change has to be delivered again.
        """

    def close(self) -> None:
        """End its sessions; safe to call twice. A later `complete` connects again."""


@dataclass(frozen=True, slots=True)
class CapturedPdb:
    """One of several pluggable databases whose tables are captured; the fields as of `CaptureContext`.

    :param connect: opens a connection to it at each call; the caller closes it.
    """

    database: str
    mined: TableFilter
    connect: Callable[[], oracledb.Connection]
    time_zone: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Secondary:
    """Another database in which LogMiner runs, in place of the source.

    :param connect: opens a connection to its root at each call; the caller closes it.
    :param is_downstream: it is a downstream database, to which archived logs are shipped; else a physical standby.
    """

    connect: Callable[[], oracledb.Connection]
    is_downstream: bool = False


@dataclass(frozen=True, slots=True)
class CaptureContext:
    """What an adapter works with. Nothing is connected until one of the callables is called. Those that connect, or read the
    database, raise SourceError, PrerequisiteError or ConfigError; `unlogged` logs errors and returns ''.

    :param tables: shapes known so far, from the snapshot or the schema history; the capture keeps them in step with DDL.
    :param mined: filter of the tables to read: the captured ones, and the signal table.
    :param database: name of the captured database, first part of each `TableId`.
    :param connect_root: opens a connection to the root of a container database, or to the database itself, at each call; the
        caller closes it.
    :param connect_pdb: opens a connection to where the tables are; likewise.
    :param secondary: the database in which LogMiner runs; None: it runs in the source itself.
    :param read_table: present shape of a table, None when it does not exist.
    :param time_zone: DBTIMEZONE of where the tables are.
    :param reselect: reads values that redo does not hold; None: they stay unavailable.
    :param counters: what the adapter counts for metrics.
    :param unread: names (`TableNames`) of tables whose rows in a transaction need not be decoded (`pipeline.suspension`).
    :param split: id of the source transaction that an earlier run delivered in part, '' for none; known once events are taken
        from `stream`.
    :param runs: whether the capture may emit ChangeRuns; only where the native path is in use.
    :param unlogged: why redo of a table lacks what decoding needs, '' when it lacks nothing.
    :param record_key: positions of the columns of a table's record key, () for none; it may raise ConfigError.
    :param pdbs: all pluggable databases, when there are several: `database`, `mined`, `connect_pdb` and `time_zone` are of the
        first one then; `read_table` and `unlogged` go by the database in the TableId. () for one.
    :param object_ids: object ids as the dictionary has them now; None: they are not read, and a row whose object is gone is
        left out.
    :param open_transactions_topic: where rows of open transactions are copied; None: nowhere.
    :param monotonic: seconds of a clock that never goes back, by which an adapter decides how much it reads at a time.
    """

    config: ConnectorConfig
    tables: Tables
    mined: TableFilter
    database: str
    connect_root: Callable[[], oracledb.Connection]
    connect_pdb: Callable[[], oracledb.Connection]
    read_table: Callable[[TableId], TableSchema | None]
    time_zone: Callable[[], str]
    counters: Counters
    reselect: Reselect | None
    unread: Callable[[TransactionInfo], frozenset[str]]
    unlogged: Callable[[TableId], str]
    record_key: Callable[[TableSchema], tuple[int, ...]]
    split: Callable[[], str] = lambda: ""
    runs: bool = False
    pdbs: tuple[CapturedPdb, ...] = ()
    monotonic: Callable[[], float] = time.monotonic
    secondary: Secondary | None = None
    open_transactions_topic: KeyedTopic | None = None
    object_ids: ObjectIds | None = None

    @property
    def places(self) -> dict[str, Callable[[], oracledb.Connection]]:
        """What opens a connection to where the captured tables are, by the name of the database."""
        return {pdb.database: pdb.connect for pdb in self.pdbs} or {self.database: self.connect_pdb}

    @property
    def containers(self) -> tuple[Callable[[], oracledb.Connection], ...]:
        """What opens a connection to each pluggable database that is captured from the root; () where `connect_root` leads to
        where the tables are."""
        return tuple(self.places.values()) if self.config.database.database_pdb_name else ()


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter opened for one pipeline.

    :param start_position: where streaming begins after a snapshot: (SCN of the snapshot, SCN at or below the start of every
        transaction that commits later) -> position.
    :param mine_from: an SCN at or below the start of every transaction that was open at an SCN of the past and committed
        later, or is open still; that SCN itself for an adapter that does not read redo. Raises LogGapError when redo, or what
        was noted of transactions, does not reach back far enough.
    :param unreadable: the error that says why the stream cannot go on from a position, returned and not raised; None when it can,
        or when that shows at the start of the stream only. Errors of the database are raised.
    :param open_transactions: None when the adapter does not know them.
    """

    capture: Capture
    start_position: Callable[[int, int], Position]
    mine_from: Callable[[int], int]
    unreadable: Callable[[Position], MinerCdcError | None]
    open_transactions: OpenTransactions | None = None


class AdapterFactory(Protocol):
    """Opens one kind of adapter. It keeps no state: `open` may be called once per pipeline."""

    @property
    def family(self) -> str:
        """Name of its family: adapters of one family go on from each other's positions."""

    @property
    def reads_redo(self) -> bool:
        """Whether changes come from redo: then a snapshot looks at open transactions and at how far redo is written, and what is
        read for that has to be granted."""

    @property
    def prerequisites(self) -> CapturePrerequisites:
        """Checks before streaming begins what the adapter needs of the database: its settings, grants and tables."""

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter for the pipeline of `context`, which owns it and closes its capture. It has connected to nothing yet."""

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """Tables (schema, name; `*` for any schema) that the adapter itself writes to, never captured; empty for none."""
