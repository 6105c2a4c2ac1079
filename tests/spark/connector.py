"""The writing half of a connector, fed with events by a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.spark.rowids import RowIds

from minercdc.config.load import ConnectorConfig
from minercdc.messages.configured import envelope_encoder
from minercdc.messages.envelope.encoder import OtherEvents
from minercdc.messages.formats.configured import record_converter
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import TableSchema
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.sinks.kafka.schema_history import KafkaSchemaHistory
from minercdc.sinks.kafka.sink import KafkaSink
from minercdc.stream.contracts import Record, RecordEncoder
from minercdc.stream.events import (
    ChangeEvent,
    Op,
    Row,
    SchemaChange,
    Scn,
    SnapshotMark,
    TransactionInfo,
    VanishedRow,
)
from minercdc.stream.offset import Offset, SuspendedTable


class Connector:
    """Encodes events and sends them as a connector does."""

    def __init__(self, config: ConnectorConfig) -> None:
        client = KafkaClient(config.kafka, config.topics, {})
        topics = TopicNames(config)
        self.sink = KafkaSink(client, topics, config.identity.name, Ownership(config.identity.name))
        self.history = KafkaSchemaHistory(
            client, topic=topics.schema_history, server=config.identity.topic_prefix, clock_ms=lambda: 0
        )
        self.encoder: RecordEncoder = envelope_encoder(config, topics, OtherEvents(schema_changes=True))
        if (converter := record_converter(config.converters, timeout=30)) is not None:
            self.encoder = converter.encoder(self.encoder)
        self.scn = 100
        self.time_us: Callable[[int], int] = lambda scn: 0  # SCN -> time of what was committed there
        self.row_ids = RowIds()
        self.table: TableSchema
        self.unsent: list[Record] = []

    def write(self, record: Record) -> None:
        """Have a record delivered by `commit`: Kafka ends a transaction that is open for a minute, and a test may look at tables meanwhile."""
        self.unsent.append(record)

    def send(self) -> None:
        """Give the sink what was written."""
        for record in self.unsent:
            self.sink.write(record)
        self.unsent.clear()

    def structure(self, table: TableSchema, before: TableSchema | None = None, ddl: str = "ddl") -> None:
        self.ddl(SchemaChange(table.id, before, table, ddl, Scn(self.scn), 0))

    def ddl(self, change: SchemaChange) -> None:
        change.time_us = self.time_us(change.scn)
        if change.after is not None:
            self.table = change.after
        self.write(self.history.entry(change, {}))
        for record in self.encoder.encode(change):
            self.write(record)

    def change(
        self,
        op: Op,
        before: Row | None,
        after: Row | None,
        table: TableSchema | None = None,
        row_id: str | None = None,
    ) -> None:
        """A transaction with one change, by default of the table whose structure was written last.

        :param row_id: '' for none; None for the one of the row in a table with a key.
        """
        table = table or self.table
        row_id = self.row_ids.of(before, after, table) if row_id is None else row_id or None
        self.scn += 1
        tx = TransactionInfo(f"{self.scn:016x}", Scn(self.scn), Scn(self.scn), 0, self.time_us(self.scn), 1, "U")
        for record in self.encoder.encode(ChangeEvent(op, table, before, after, Scn(self.scn), 0, tx, 1, row_id=row_id)):
            self.write(record)

    def transaction(self, *changes: tuple[Op, Row | None, Row | None, TableSchema], row_ids: Sequence[str] = ()) -> None:
        """Several changes with one commit SCN; of rows with these ROWIDs, '' for none, or with their own."""
        self.scn += 1
        tx = TransactionInfo(f"{self.scn:016x}", Scn(self.scn), Scn(self.scn), 0, self.time_us(self.scn), 1, "U")
        for seq, (op, before, after, table) in enumerate(changes, 1):
            row_id = (row_ids[seq - 1] or None) if row_ids else self.row_ids.of(before, after, table)
            event = ChangeEvent(op, table, before, after, Scn(self.scn), 0, tx, seq, row_id=row_id)
            for record in self.encoder.encode(event):
                self.write(record)

    def found(self, *tables: TableSchema) -> None:
        """The structures that an initial snapshot reads, whose rows follow as of the present SCN."""
        for table in tables:
            self.ddl(SchemaChange(table.id, None, table, "", Scn(self.scn), 0, snapshot=True, rows=True))

    def read(self, row: Row, table: TableSchema, row_id: str) -> None:
        """A row of the initial snapshot."""
        event = ChangeEvent(
            Op.READ,
            table,
            None,
            row,
            Scn(self.scn),
            self.time_us(self.scn),
            None,
            0,
            row_id=row_id,
            snapshot=SnapshotMark.TRUE,
        )
        for record in self.encoder.encode(event):
            self.write(record)

    def vanish(self, table: TableSchema, key: bytes) -> None:
        """A row that was gone when its suspended table was read again."""
        self.scn += 1
        for record in self.encoder.encode(VanishedRow(table, key, Scn(self.scn), self.time_us(self.scn))):
            self.write(record)

    def truncate(self, table: TableSchema) -> None:
        self.scn += 1
        statement = f'TRUNCATE TABLE "{table.id.schema}"."{table.id.table}"'
        self.ddl(SchemaChange(table.id, table, table, statement, Scn(self.scn), 0, truncate=True))

    def alter(self, before: TableSchema, statement: str, after: TableSchema) -> None:
        """ALTER TABLE, or RENAME."""
        self.scn += 1
        self.ddl(SchemaChange(after.id, before, after, statement, Scn(self.scn), 0))

    def drop(self, table: TableSchema) -> None:
        self.scn += 1
        self.ddl(SchemaChange(table.id, table, None, f'DROP TABLE "{table.id.schema}"."{table.id.table}"', Scn(self.scn), 0))

    def commit(self, complete: int | None = None, suspended: Sequence[SuspendedTable] = ()) -> None:
        """Deliver what was written; all commits up to now are complete, or those up to an SCN."""
        scn = self.scn if complete is None else complete
        self.send()
        self.sink.commit(Offset("test", {}, suspended=tuple(suspended), complete_scn=scn))
