"""Where the captured tables are: one database, or several pluggable ones, each with its connections and its filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Literal, TypeAlias

import oracledb

from minercdc.capture.adapter import CapturedPdb
from minercdc.capture.table_selection import captured_by, table_filters
from minercdc.config.load import ConnectorConfig
from minercdc.config.sections import DatabaseConfig
from minercdc.oracle.connect import of_database
from minercdc.oracle.scn import database_time_zone
from minercdc.schema.table import TableId, TableNames
from minercdc.schema.table_filter import TableFilter
from minercdc.signals.stage_builder import mined_tables, signal_table
from minercdc.snapshot.databases import TableDatabases
from minercdc.snapshot.initial.snapshot_scn import Place

Connect: TypeAlias = Callable[[DatabaseConfig, Literal["root", "pdb"]], oracledb.Connection]


class SourceDatabases:
    """The databases of one connector. Nothing is connected until a method connects; it raises as `connect` then.

    :param connect: to the `root` or `pdb` of a database.
    :ivar first: name of the first, which is the only one where there are not several.
    :ivar names: how stored state names tables.
    :ivar filters: of the captured tables of each.
    :ivar signals: the signal table, None without one.
    """

    def __init__(self, config: ConnectorConfig, connect: Connect) -> None:
        self._config = config.database
        self._connect = connect
        self.filters: Mapping[str, TableFilter] = table_filters(config)
        self.first = next(iter(self.filters))
        self.are_several = len(self.filters) > 1
        self.names = TableNames.among(self.filters)
        self.signals = signal_table(config)
        self._captured = captured_by(self.filters)

    @property
    def filter(self) -> TableFilter:
        """The filter of the captured tables of the first database."""
        return self.filters[self.first]

    def captured(self, table: TableId) -> bool:
        """Whether a table is captured; not the signal table for its signals. Raises as `TableFilter.includes`."""
        return self._captured(table)

    def mined(self, database: str) -> TableFilter:
        """The filter of the tables of a database that are read from redo: the captured ones, and the signal table where it is there."""
        signals = self.signals
        return mined_tables(self.filters[database], signals if signals and signals.database == database else None)

    def connect_root(self) -> oracledb.Connection:
        """A connection to the root of a container database, or to the database itself."""
        return self._connect(self._config, "root")

    def connect(self, database: str = "") -> oracledb.Connection:
        """A connection to where the tables of a database are; '' for the first."""
        return self._connect(of_database(self._config, database or self.first), "pdb")

    def connect_first(self) -> oracledb.Connection:
        """A connection to where the tables of the first database are."""
        return self.connect()

    def connections(self) -> dict[str, Callable[[], oracledb.Connection]]:
        """What opens a connection to where the tables of each database are, by its name."""
        return {name: partial(self.connect, name) for name in self.filters}

    def time_zone(self, database: str = "") -> str:
        """DBTIMEZONE of a database, `+02:00` or the name of a region; read on a connection of its own.

        :param database: its name; '' means the first.
        """
        with closing(self.connect(database)) as connection:
            return database_time_zone(connection)

    def pdbs(self) -> tuple[CapturedPdb, ...]:
        """The pluggable databases when there are several; else ()."""
        if not self.are_several:
            return ()
        return tuple(
            CapturedPdb(name, self.mined(name), partial(self.connect, name), partial(self.time_zone, name))
            for name in self.filters
        )

    def of_tables(self) -> TableDatabases:
        """The databases of the tables, as the initial snapshot takes them."""
        return TableDatabases({name: partial(self.connect, name) for name in self.filters})

    @contextmanager
    def places(self, connection: oracledb.Connection) -> Iterator[list[Place]]:
        """The place of each database, connected while the context lasts; the first one's comes first.

        :param connection: to the first.
        """
        with ExitStack() as stack:
            found = [Place(connection, self.filter, self.first)]
            for name, wanted in list(self.filters.items())[1:]:
                found.append(Place(stack.enter_context(closing(self.connect(name))), wanted, name))
            yield found
