"""Reads tables as a snapshot does, and encodes their rows as the connector does: what a record of each row has to look like."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.errors import SnapshotTooOldError
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.encoder import EnvelopeEncoder, OtherEvents
from minercdc.messages.formats.connect import payload_of
from minercdc.messages.topics import TopicNames
from minercdc.operate.qualify.comparison import TableRow
from minercdc.oracle.connect import database_name
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.present_scn import present_scn
from minercdc.schema.table import TableId, TableSchema
from minercdc.snapshot.scan import Scan
from minercdc.stream.events import ChangeEvent, Op, Scn, SnapshotMark
from minercdc.stream.offset import ChunkProgress
from minercdc.values.supported import large_names, without_unsupported

_AGAIN_SECONDS = 3.0  # that precisely a database knows the time of an SCN: it may take one for older than the last DDL
_ATTEMPTS = 4
_FETCHED = 1000


class TableRows:
    """Reads tables of one schema.

    :param connection: of the capture's user, not closed here.
    """

    def __init__(self, config: ConnectorConfig, schema: str, connection: oracledb.Connection) -> None:
        self._schema, self._connection = schema, connection
        self._database = database_name(config.database)
        self._config = config
        self._known: dict[str, tuple[TableSchema, EnvelopeEncoder]] = {}

    def of(self, tables: Sequence[str], *, afresh: bool) -> Mapping[str, TableRow]:
        """The rows of the tables, by ID.

        :param afresh: the tables had DDL since the last call.
        :raises SourceError, PrerequisiteError: Oracle refuses.
        """
        found: dict[str, TableRow] = {}
        for table in tables:
            if afresh or table not in self._known:
                wanted = TableId(self._database, self._schema, table)
                shape = without_unsupported(read_tables(self._connection, [wanted])[0])
                # One encoder for each shape: it takes a table's version for its shape, and all are version 1 here.
                self._known[table] = shape, self._new_encoder()
            found |= self._read(*self._known[table])
        return found

    def large(self, tables: Sequence[str]) -> frozenset[str]:
        """The columns of tables that were read whose values redo holds only where a statement sets them."""
        return frozenset(name for table in tables for name in large_names(self._known[table][0]))

    def _new_encoder(self) -> EnvelopeEncoder:
        return envelope_encoder(self._config, TopicNames(self._config), OtherEvents(schema_changes=False))

    def _read(self, schema: TableSchema, encoder: EnvelopeEncoder) -> dict[str, TableRow]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._read_once(schema, encoder)
            except SnapshotTooOldError:
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(_AGAIN_SECONDS)
        raise AssertionError("unreachable")

    def _read_once(self, schema: TableSchema, encoder: EnvelopeEncoder) -> dict[str, TableRow]:
        scn = present_scn(self._connection)
        found = {}
        for batch in Scan(schema, scn, _FETCHED).batches(self._connection, ChunkProgress()):
            for row_id, row in batch.convert(batch.rows):
                event = ChangeEvent(
                    Op.READ, schema, None, row, Scn(scn), 0, None, 0, row_id=row_id, snapshot=SnapshotMark.TRUE
                )
                (record,) = encoder.encode(event)
                assert record.value is not None
                image = json.loads(payload_of(record.value))["after"]
                key = json.loads(payload_of(record.key)) if record.key is not None else None
                found[str(image["ID"])] = TableRow(key, image)
        return found
