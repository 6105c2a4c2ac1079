"""Between encoder and formats: records with the numbers of their schemas (formats.connect) become others of the same form."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from minercdc import native
from minercdc.errors import DecodeError, RecordSchemaError, ValueDecodeError
from minercdc.messages.formats.connect import Schema, numbered, schema_of, split
from minercdc.messages.formats.converting import KEY_HEADERS, rewriting
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.messages.transforms.chain import Chain
from minercdc.messages.transforms.header_values import printed
from minercdc.messages.transforms.record import BySchema, ConnectRecord, Headers, Typed, typed
from minercdc.messages.transforms.schemas import OPTIONAL_STRING
from minercdc.messages.transforms.whole_runs import WholeRuns
from minercdc.stream.contracts import EncodedRun, Record, RecordEncoder, RunEncoder
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, ReadRun

_log = logging.getLogger(__name__)
_HEAD = len(b'{"schema":')
_BETWEEN = b',"payload":'
_NULL = typed(OPTIONAL_STRING, None)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


class RecordTransformer:
    """Applies the chain of a configuration to records whose keys and values have schemas, or the numbers of such.

    :param reserved: topics that no record may be routed to, each with the property that names it.
    :param refused: topics that Kafka refused; None for none.
    """

    def __init__(
        self, chain: Chain, reserved: Mapping[str, str] | None = None, refused: RefusedTopics | None = None
    ) -> None:
        self._chain, self._refused = chain, refused or RefusedTopics()
        self._reserved = reserved or {}
        self._topics: set[str] = set()  # that records were routed to
        self._schemas: dict[bytes, Schema] = {}
        self._heads = BySchema(lambda schema: numbered(schema)[0].encode())
        self._warned: set[tuple[str, str]] = set()

    def records(self, records: Iterable[Record]) -> list[Record]:
        """The transformed records, without those that are left out. Raises as `record`."""
        return [done for record in records if (done := self.record(record)) is not None]

    def record(self, record: Record) -> Record | None:
        """A transformed record; None when it is left out. One without schemas, as a dead letter, stays as it is.

        :raises DecodeError: a transformation does not fit it, or its new topic is none that a record may go to.
        :raises ConfigError: as `Chain.__call__`.
        """
        key, value = self.typed(record.key), self.typed(record.value)
        if (key is None and record.key is not None) or (value is None and record.value is not None):
            return record
        headers: Headers = ()
        if record.headers:
            headers = tuple((name, _NULL if text is None else self.typed(text) or text) for name, text in record.headers)
        given = None if record.key is None else record.partition
        done = self._chain(ConnectRecord(record.topic, key, value, headers, given))
        if done is None:
            return None
        if done.topic != record.topic:
            self.check_topic(done.topic)
        partition = done.partition
        if done.key is None and partition == given:  # not chosen: rows without a key keep their order, as before
            partition = 0
        return Record(
            done.topic,
            record.key if done.key is key else self._document(done.key),
            record.value if done.value is value else self._document(done.value),
            tuple((name, _header(name, content)) for name, content in done.headers) if done.headers else (),
            partition,
            done.timestamp_ms,
        )

    def check_topic(self, topic: str) -> None:
        """Raises DecodeError for a topic that no record may be routed to."""
        if (refusal := self._refused.refusal(topic, "")) is not None:
            raise refusal
        if topic in self._topics:
            return
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise ValueDecodeError(f"a record is routed to {topic!r}, which cannot be the name of a topic")
        if topic in self._reserved:
            names = self._reserved[topic]
            raise ValueDecodeError(f"a record is routed to {topic}, where the connector keeps its own state ({names})")
        self._topics.add(topic)

    def other(self, record: Record) -> Record | None:
        """As `record`, for one that is not of a row: where a transformation does not fit, that record goes on as it is,
        with a warning, once for each topic and cause. None when a transformation leaves the record out. Raises
        ConfigError as `record`."""
        try:
            return self.record(record)
        except DecodeError as error:
            if (record.topic, error.message) not in self._warned:
                self._warned.add((record.topic, error.message))
                _log.warning(
                    "records of topic %s, which are not of rows, go on without transformation: %s; a predicate leaves them out",
                    record.topic,
                    error.message,
                )
            return record

    def encoder(self, encoder: RecordEncoder) -> RecordEncoder:
        """An encoder of the records of `encoder`, transformed, without those that are left out; see
        `_TransformingEncoder.encode`."""
        return _TransformingEncoder(encoder, self)

    def run_encoder(self, encode_run: RunEncoder) -> RunEncoder:
        """An encoder of runs whose records are transformed. A run ends before the change of a record that does not fit: the
        publisher encodes that change by itself then, where its error is raised. Raises as `encode_run`, and ConfigError
        as `record`."""
        return _TransformingRuns(encode_run, self, self._chain)

    def typed(self, document: bytes | None) -> Typed | None:
        """A key or value with its schema; None for one without."""
        if document is None:
            return None
        if not document.startswith(b'{"schema":@'):
            return self._typed_by_text(document)
        end = document.index(_BETWEEN)
        schema = self._schema(document[_HEAD:end])
        return Typed(schema, document[end + len(_BETWEEN) : -1])

    def _typed_by_text(self, document: bytes) -> Typed | None:
        parts = split(document)
        return None if parts is None else Typed(self._schema(parts[0]), parts[1])

    def _schema(self, text: bytes) -> Schema:
        found = self._schemas.get(text)
        if found is None:
            found = self._schemas[text] = schema_of(text)
        return found

    def head(self, schema: Schema) -> bytes:
        """What a key or value of a schema begins with, up to its payload; `}` ends it."""
        return self._heads(schema)

    def _document(self, content: Typed | None) -> bytes | None:
        return None if content is None else self._heads(content.schema) + content.text + b"}"


class _TransformingRuns:
    """An encoder of runs whose records are transformed (converting.FinishingRuns)."""

    def __init__(self, encode_run: RunEncoder, transformer: RecordTransformer, chain: Chain) -> None:
        self._encode_run, self._transformer, self._chain = encode_run, transformer, chain
        self._rewritten = rewriting(encode_run, transformer.record, self._whole(None))

    def __call__(self, run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        return self._rewritten(run, begin, most_records, most_bytes)

    def without_schemas(self, finish: Callable[[Record], Record]) -> RunEncoder:
        """See `FinishingRuns`."""

        def finished(record: Record) -> Record | None:
            done = self._transformer.record(record)
            return None if done is None else finish(done)

        return rewriting(self._encode_run, finished, self._whole(finish))

    def _whole(self, finish: Callable[[Record], Record] | None) -> Callable[[Sequence[Record]], Sequence[Record] | None]:
        if native.rows is None or not self._chain.is_drawn:
            return lambda _: None
        return WholeRuns(self._transformer, self._chain, finish).transformed


class _TransformingEncoder:
    def __init__(self, encoder: RecordEncoder, transformer: RecordTransformer) -> None:
        self._encoder = encoder
        self._transformer = transformer

    def encode(self, event: Event) -> Sequence[Record]:
        """The records of the wrapped encoder, transformed, without those that are left out."""
        records = self._encoder.encode(event)
        if not isinstance(event, ChangeEvent):
            return [done for record in records if (done := self._transformer.other(record)) is not None]
        try:
            return self._transformer.records(records)
        except DecodeError as error:
            table = f"table {event.schema.id}"
            if isinstance(error, RecordSchemaError):  # of all its rows
                raise RecordSchemaError(error.message, where=f"{table}, topic {records[0].topic}", hint=error.hint) from None
            where = f"{table}, key {_key(records)}, scn {event.scn}"
            raise ValueDecodeError(error.message, where=where, hint=error.hint) from None


def _key(records: Sequence[Record]) -> str:
    parts = None if not records or records[0].key is None else split(records[0].key)
    return "none" if parts is None else parts[1].decode()


def _header(name: str, content: Typed | bytes | None) -> bytes | None:
    """A header as Connect's SimpleHeaderConverter writes it; one that holds a record's key as the key's JSON, which it
    is without transformations, too."""
    if not isinstance(content, Typed):
        return content
    return content.text if name in KEY_HEADERS else printed(content)
