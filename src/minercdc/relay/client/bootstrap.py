"""Bootstrap of a client whose position the relay no longer holds: reads the tables as of an SCN, and continues with later windows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.errors import RelayError, SnapshotTooOldError
from minercdc.messages.configured import key_columns
from minercdc.oracle.connect import connect, database_name
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.present_scn import PresentScn
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.client.connection import Connection, SchemaInfo, SourceInfo
from minercdc.relay.client.consumer import BootstrapConsumer, Change
from minercdc.relay.events.encoding import key_of
from minercdc.relay.events.schemas import AvroSchema, column_of
from minercdc.relay.events.values import NotLongError, row_reader, row_writer
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import Row
from minercdc.stream.offset import ChunkProgress
from minercdc.values.supported import without_unsupported

_log = logging.getLogger(__name__)

_FETCH = 1_000
_TRIES = 3


class SnapshotBootstrap:
    """Reads the sources' tables AS OF SCN from their database (`consumer.Bootstrap`).

    The SCN is the database's present one: a window after it is in the relay's buffer, or will be, unless the relay is overtaken
    once more while the tables are read; then this is done again.

    :param config: how to connect to the database; the relay's own configuration fits.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config

    def __call__(self, connection: Connection, sources: Sequence[SourceInfo], consumer: BootstrapConsumer) -> Checkpoint:
        """Hand over all rows of the sources that have a schema; again, from the beginning, when DDL comes in between or
        undo is gone, each time with a warning in the log, three times in all. Returns the checkpoint of the rows.

        :raises RelayError: the relay does not say of which table a source is, or there is no such table; or it refuses.
        :raises OSError: the relay does not answer.
        :raises SourceError, PrerequisiteError: Oracle refuses, or the third try failed (SnapshotTooOldError).
        :raises DecodeError: a value does not fit its column or schema.
        :raises ConfigError: as `oracle.connect.connect` and `messages.configured.key_columns`.
        :raises Exception: what the consumer raises.
        """
        for _ in range(_TRIES - 1):
            try:
                return self._snapshot(connection, sources, consumer)
            except SnapshotTooOldError as error:
                _log.warning("%s; the snapshot begins again", error.message)
        return self._snapshot(connection, sources, consumer)

    def _snapshot(self, connection: Connection, sources: Sequence[SourceInfo], consumer: BootstrapConsumer) -> Checkpoint:
        tables, schemas = connection.tables(), connection.schemas([source.id for source in sources])
        newest = {schema.source: schema for schema in sorted(schemas, key=lambda schema: schema.version)}
        with closing(connect(self._config.database, "pdb")) as database:
            scn = PresentScn().read(database)
            _log.info("bootstrap: %d sources are read as of SCN %d", len(sources), scn)
            consumer.bootstrap_start(scn)
            for source in sources:
                table = self._table(database, source, tables.get(source.id, ""))
                if source.id in newest:
                    self._read(database, source, table, newest[source.id], scn, consumer)
            checkpoint = Checkpoint(scn)
            consumer.bootstrap_end(checkpoint)
        return checkpoint

    def _table(self, database: oracledb.Connection, source: SourceInfo, name: str) -> TableSchema:
        owner, _, table = name.partition(".")
        found = read_tables(database, [TableId(database_name(self._config.database), owner, table)]) if table else []
        if not found:
            raise RelayError(
                f"source {source.name} cannot be read from the database: "
                + (f"there is no table {name}" if name else "the relay does not say of which table it is"),
                hint="Subscribe only to sources whose tables exist.",
            )
        return without_unsupported(found[0])

    def _read(
        self,
        database: oracledb.Connection,
        source: SourceInfo,
        table: TableSchema,
        schema: SchemaInfo,
        scn: int,
        consumer: BootstrapConsumer,
    ) -> None:
        convert = _Rows(table, schema, self._config.values.unavailable_value_placeholder)
        key = key_of(table, key_columns(self._config.filters)(table))
        scan = Scan(table, scn, _FETCH)
        for batch in scan.batches(database, ChunkProgress()):
            for row_id, row in batch.convert(batch.rows):
                values = convert(row)
                consumer.event(Change(source.name, key(row, row_id), False, values, scn, 0, convert.schema))


class _Rows:
    """Turns rows of a table into what the relay's clients get of them.

    :ivar schema: of the rows so far; a column of numbers becomes a string where a row has one that is no long.
    """

    def __init__(self, table: TableSchema, schema: SchemaInfo, unavailable: str) -> None:
        self._table = table
        self._unavailable = unavailable
        places = table.positions()
        fields = [field for field in schema.schema["fields"] if column_of(field) in places]
        self._positions = [places[column_of(field)] for field in fields]
        self.schema: AvroSchema = {**json.loads(schema.text), "fields": fields}
        self._compile()

    def _compile(self) -> None:
        self._write: Callable[[Row], bytes] = row_writer(self._table, self._positions, self.schema, self._unavailable)
        self._values: Callable[[bytes], dict[str, Any]] = row_reader(self.schema)

    def __call__(self, row: Row) -> dict[str, Any]:
        try:
            return self._values(self._write(row))
        except NotLongError as error:
            self.schema = {**self.schema, "fields": list(_widened(self.schema["fields"], error.column))}
            self._compile()
            return self(row)


def _widened(fields: Sequence[dict[str, Any]], column: str) -> Iterator[dict[str, Any]]:
    for field in fields:
        yield {**field, "type": ["string", "null"]} if column_of(field) == column else field
