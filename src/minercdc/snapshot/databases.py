"""Connects to the databases that the captured tables are in: one, or several pluggable ones of a container database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby

import oracledb

from minercdc.schema.table import TableNames, TableSchema


class TableDatabases:
    """Connects to the databases of a snapshot. It keeps no connection.

    :param connects: opens a connection to each, by the first part of a TableId; at least one; called by several threads.
    :ivar names: how the state names their tables.
    """

    def __init__(self, connects: Mapping[str, Callable[[], oracledb.Connection]]) -> None:
        self._connects = dict(connects)
        self._first = next(iter(self._connects))
        self.names = TableNames.among(self._connects)

    def connect(self, database: str) -> oracledb.Connection:
        """A new connection to one of the databases, which the caller closes. Raises what connecting raises."""
        return self._connects[database]()

    def connect_first(self) -> oracledb.Connection:
        """A new connection to the first of the databases, which the caller closes. Raises what connecting raises."""
        return self.connect(self._first)

    @contextmanager
    def _within(self, database: str, first: oracledb.Connection) -> Iterator[oracledb.Connection]:
        if database == self._first:
            yield first
            return
        with closing(self.connect(database)) as connection:
            yield connection

    def by_database(
        self, first: oracledb.Connection, schemas: Sequence[TableSchema]
    ) -> Iterator[tuple[oracledb.Connection, list[TableSchema]]]:
        """The tables of each database in turn, with a connection to it, which is closed before the next one is opened;
        `first` stays open. Raises what connecting raises.

        :param first: connection to the first database.
        :param schemas: those of each database follow each other.
        """
        for database, some in groupby(schemas, lambda schema: schema.id.database):
            with self._within(database, first) as connection:
                yield connection, list(some)
