"""Headers of each change, of rows and of structures, that name the connector (`extended.headers.enabled`)."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc import native
from minercdc.stream.contracts import EncodedRun, Record, RecordEncoder, RunEncoder
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, ReadRun, SchemaChange, VanishedRow

_PREFIX = "__debezium.context."


class ContextHeaders:
    """Adds the headers of one run of the connector to records.

    :param name: topic.prefix.
    :param run: identifies the run of the connector; a start, or a restart after an error, begins another one.
    """

    def __init__(self, name: str, run: str) -> None:
        facts = {"connectorLogicalName": name, "taskId": "0", "connectorName": "oracle", "runId": run}
        self._headers = tuple((_PREFIX + fact, value.encode()) for fact, value in facts.items())

    def added(self, records: Sequence[Record]) -> list[Record]:
        """The records with the headers, after those that they have."""
        added = self._headers
        return [
            Record(r.topic, r.key, r.value, (*r.headers, *added) if r.headers else added, r.partition, r.timestamp_ms)
            for r in records
        ]

    def encoder(self, encoder: RecordEncoder) -> RecordEncoder:
        """An encoder of the records of `encoder`, those of changes with the headers."""
        return _Adding(encoder, self)

    def run_encoder(self, encode_run: RunEncoder) -> RunEncoder:
        """An encoder of runs whose records have the headers; what `encode_run` gives is changed. Raises as `encode_run`."""

        def adding(run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
            encoded = encode_run(run, begin, most_records, most_bytes)
            if native.rows is not None and isinstance(encoded.records, native.rows.Records):
                encoded.records.headers = self._headers
                return encoded
            return encoded._replace(records=self.added(encoded.records))

        return adding


class _Adding:
    def __init__(self, encoder: RecordEncoder, headers: ContextHeaders) -> None:
        self._encoder = encoder
        self._headers = headers

    def encode(self, event: Event) -> Sequence[Record]:
        """The records of the wrapped encoder, with the headers where the event is a change of a row or a structure, or a
        vanished row."""
        records = self._encoder.encode(event)
        return self._headers.added(records) if isinstance(event, ChangeEvent | SchemaChange | VanishedRow) else records
