"""The schema history in a Kafka topic, in the form of Debezium's internal history records.

With Kafka transactions, a record is sent in that of the offset that passes its DDL; without, the offset counts the records. So
history and offset are always in step: rows mined again after a kill meet the shape of their time, not a newer one.

    CREATE A .. ALTER A .. (garbage) .. CREATE A, again .. CREATE B ..
                                        '- the structures were read again here: earlier records do not count

Nothing is ever deleted from the topic: it may be shared, and it shows later what went wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any

from minercdc.errors import SchemaHistoryError
from minercdc.messages import table_changes
from minercdc.sinks.kafka.client import KafkaClient
from minercdc.stream.contracts import Record
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import JsonValue

_READ_AGAIN = "structures_read_anew"  # a stored member: the name stays
_ROWS = "rows"  # an initial snapshot reads the table's rows as of the SCN: who keeps a copy knows that older rows are gone
IDS_ONLY = "ids_only"  # nothing but the ids of the table's partitions has changed
TRUNCATED = "truncated"  # name of the table that is empty, which need not be that of the statement
_TIME = "time_us"  # of the source: `ts_ms` is when the record was written, which may be much later
_RECOVERY = "Start once with snapshot.mode=recovery, which reads the structures from the database again."


class KeptRecords:
    """Committed records of a history that were read ahead of time, by a standby. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._records: list[tuple[int, bytes | None]] = []
        self._next = 0
        self._taken = False

    def read_on(self, client: KafkaClient, topic: str) -> int:
        """Read what has come since the last call; returns how many records are kept. After `take` nothing is read: 0. Raises
        DeliveryError or SinkError when the topic cannot be read."""
        with self._lock:
            if self._taken:
                return 0
            if client.end_offset(topic) < self._next:  # the topic was made again
                self._records, self._next = [], 0
            for message in client.read_since(topic, self._next, committed=True):
                self._next = message.offset() + 1
                self._records.append((message.offset(), message.value()))
            return len(self._records)

    def take(self, client: KafkaClient, topic: str) -> list[tuple[int, bytes | None]] | None:
        """All records of the topic by now, as (offset, value); None when none are kept, as after the first call. Raises as
        `read_on`."""
        if not self._records:
            return None
        self.read_on(client, topic)
        with self._lock:
            records, self._records, self._taken = self._records, [], True
        return records


class KafkaSchemaHistory:
    """History of one connector (contracts.SchemaHistory).

    :param server: topic.prefix; records of other connectors in the same topic are passed over.
    :param transactional: whether its records are in the Kafka transaction of the offset; otherwise the offset counts them.
    :param kept: records that need not be read once more; None for none.
    """

    def __init__(
        self,
        client: KafkaClient,
        *,
        topic: str,
        server: str,
        clock_ms: Callable[[], int],
        transactional: bool = True,
        kept: KeptRecords | None = None,
    ) -> None:
        self._kept = kept
        self._transactional = transactional
        self._count = 0
        self._client = client
        self._topic = topic
        self._server = server
        self._clock_ms = clock_ms
        self._starting_over = False

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record:
        """The record that stores `change`, for the sink to write; see `contracts.SchemaHistory`. Nothing is sent here, and it
        is never None."""
        self._count += 1
        begun = dict(position) | ({_READ_AGAIN: True} if self._starting_over else {})
        self._starting_over = False
        document = document_of(change, begun, server=self._server, ts_ms=self._clock_ms())
        return Record(self._topic, None, json.dumps(document, separators=(",", ":")).encode(), partition=0)

    def mark(self) -> int | None:
        """None: the offset needs no mark, since the records are in its Kafka transaction; without one, how many there are."""
        return None if self._transactional else self._count

    def forget(self) -> None:
        """Start over with the next entry: a reader leaves out the records before it, readable or not."""
        self._starting_over = True

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        """This connector's changes since its structures were last read again, oldest first.

        :param mark: how many of this connector's records belong to the offset, None or 0 for all. Those after them were sent
            before a kill: their DDL comes again, and then they count, too, before the same once more.
        :raises SchemaHistoryError: a record is not of our form, or the first ones were deleted.
        :raises DeliveryError, SinkError: the topic does not exist, or cannot be read.
        """
        records: list[tuple[int, bytes]] = []
        begins, self._count = self._client.first_offset(self._topic), 0
        kept = self._kept.take(self._client, self._topic) if self._kept else None
        for offset, value in self._client.read_all(self._topic) if kept is None else kept:
            if value is None:
                continue
            if not self._transactional or mark:
                self._count += self._is_own(value)
            if mark and self._count > mark:
                continue
            if starts_over(value, self._server):
                records.clear()
                begins = 0
            records.append((offset, value))
        if begins > 0:
            raise SchemaHistoryError(
                f"the first {begins} records of the schema history {self._topic} were deleted",
                hint=f"Set its retention.ms and retention.bytes to -1. {_RECOVERY}",
            )
        for offset, value in records:
            try:
                document = json.loads(value)
                if document["source"]["server"] == self._server:
                    yield from changes_of(document)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise SchemaHistoryError(
                    f"record {offset} of the schema history {self._topic} cannot be read: {error!r}",
                    hint=f"It was not written by minercdc, or by another version. {_RECOVERY}",
                ) from None

    def _is_own(self, value: bytes) -> bool:
        try:
            return bool(json.loads(value)["source"]["server"] == self._server)
        except (ValueError, KeyError, TypeError):
            return False


def starts_over(value: bytes, server: str) -> bool:
    """Whether this record is the first of structures that were read again, so that those before it do not count. False for
    one that is not of this `server` (topic.prefix), or cannot be read."""
    if _READ_AGAIN.encode() not in value:
        return False
    try:
        document = json.loads(value)
        return bool(document["position"].get(_READ_AGAIN)) and document["source"]["server"] == server
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def document_of(change: SchemaChange, position: Mapping[str, JsonValue], *, server: str, ts_ms: int) -> dict[str, JsonValue]:
    """The record of a change, in Debezium's form.

    :param position: of the source; `scn`, `time_us`, `snapshot`, `rows` and the like of the change replace such members of it.
    :param server: topic.prefix.
    :param ts_ms: when it is written, milliseconds since the epoch.
    """
    return {
        "source": {"server": server},
        "position": dict(position) | _found_by(change),
        "ts_ms": ts_ms,
        "databaseName": change.table.database,
        "schemaName": change.table.schema,
        "ddl": "" if change.snapshot else change.ddl,  # the table is read from its structure, which has all that counts
        "tableChanges": table_changes.remembered(change),
    }


def _found_by(change: SchemaChange) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {"scn": str(change.scn), _TIME: change.time_us, "snapshot": change.snapshot}
    found |= ({_ROWS: True} if change.rows else {}) | ({IDS_ONLY: True} if change.ids_only else {})
    return found | ({TRUNCATED: change.table.table} if change.truncate else {})


def time_of(document: Mapping[str, Any]) -> int:
    """Microseconds since 1970: of the change, or of the record where that has no other. Raises KeyError, ValueError, TypeError or
    AttributeError for another form."""
    time_us = document["position"].get(_TIME)
    return int(document["ts_ms"] * 1000 if time_us is None else time_us)


def changes_of(document: dict[str, Any]) -> Iterator[SchemaChange]:
    """The changes that a record holds. Raises KeyError, ValueError, TypeError or AttributeError for another form."""
    for item in document["tableChanges"]:
        table = table_changes.table_of(item) if item.get("table") else None
        dropped = item["type"] == "DROP"
        # A rename: the table under its old name has to go.
        old = replace(table, id=table_changes.table_id(item["previousId"])) if table and item.get("previousId") else None
        yield SchemaChange(
            table=table_changes.table_id(item["id"]),
            before=table if dropped else old,
            after=None if dropped else table,
            ddl=document.get("ddl") or "",
            scn=Scn(int(document["position"]["scn"])),
            time_us=time_of(document),
            snapshot=bool(document["position"].get("snapshot")),
            rows=bool(document["position"].get(_ROWS)),
        )
