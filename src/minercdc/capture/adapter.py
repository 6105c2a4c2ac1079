"""The seam for ways to read changes: each is one package under `capture/` with one factory, listed in `capture.registry`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.contracts import Capture, OpenTransactions
from minercdc.errors import MinerCdcError
from minercdc.events import ChangeEvent, TransactionInfo
from minercdc.metrics import Counters
from minercdc.offset import Position
from minercdc.oracle.prerequisites import CapturePrerequisites
from minercdc.schema.filter import TableFilter
from minercdc.schema.table import TableId, TableSchema
from minercdc.schema.tables import Tables


class Reselect(Protocol):
    """Reads values from the row that the way of reading changes does not deliver."""

    def complete(self, event: ChangeEvent) -> None:
        """Put the values that are missing into the event, as of the commit of its transaction, where they can be read."""

    def close(self) -> None:
        """End its session; safe to call twice."""


@dataclass(frozen=True, slots=True)
class CaptureContext:
    """What a factory is given. Nothing is connected until one of the callables is called.

    :param tables: shapes known so far, from the snapshot or the schema history; the capture keeps them in step with DDL.
    :param mined: filter of the tables to read: the captured ones, and the signal table.
    :param database: name of the captured database, first part of each `TableId`.
    :param connect_root: connects to the root of a container database, or to the database itself.
    :param connect_pdb: connects to where the tables are.
    :param read_table: present shape of a table, None when it does not exist.
    :param time_zone: DBTIMEZONE of where the tables are.
    :param reselect: None: values that are missing stay unavailable.
    :param unread: names of the suspended tables, whose rows in a transaction are not decoded.
    :param unlogged: why redo of a table lacks what decoding needs, '' when it does not.
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


@dataclass(frozen=True, slots=True)
class Adapter:
    """One way to read changes, opened for one pipeline.

    :param start_position: where streaming begins after a snapshot: (SCN of the snapshot, SCN at or below the start of every
        transaction that commits later) -> position.
    :param unreadable: why the stream cannot go on from a position, None when it can.
    :param open_transactions: None when this way of reading does not know them.
    """

    capture: Capture
    start_position: Callable[[int, int], Position]
    unreadable: Callable[[Position], MinerCdcError | None]
    open_transactions: OpenTransactions | None = None


class AdapterFactory(Protocol):
    """What a package under `capture/` offers.

    :ivar family: adapters of one family go on from each other's positions.
    :ivar prerequisites: what it needs of the database.
    """

    @property
    def family(self) -> str: ...

    @property
    def prerequisites(self) -> CapturePrerequisites: ...

    def open(self, context: CaptureContext) -> Adapter:
        """An adapter that has connected to nothing yet."""

    def own_tables(self, config: ConnectorConfig) -> frozenset[tuple[str, str]]:
        """Tables (schema, name) that the adapter itself writes to, which are never captured."""
