"""Rewrites records from JSON with schemas into other formats, after they are encoded.

The encoders write `{"schema":{..},"payload":..}`; what a format makes of a schema is compiled once, and kept by the schema's bytes.
Records without schema, such as dead letters, stay as they are. Headers with a key get its JSON payload if keys are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from minercdc import native
from minercdc.errors import DecodeError, MinerCdcError, RecordSchemaError, SinkError
from minercdc.messages.formats.connect import payload_of, split
from minercdc.schema.table import TableId
from minercdc.stream.contracts import EncodedRun, Record, RecordEncoder, RunEncoder
from minercdc.stream.events import ChangeEvent, ChangeRun, Event, ReadRun, SchemaChange, VanishedRow

if TYPE_CHECKING:
    from minercdc.native._rows import HeaderPrint, PayloadWriter

Write: TypeAlias = Callable[[bytes, int, int], bytes]
"""Rewrites the JSON payload that a document has between two bytes."""

KEY_HEADERS = frozenset({"__debezium.newkey", "__debezium.oldkey"})
"""Headers that hold the key that a record had before, or has after, a change of the key."""
Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
MakeHeaders: TypeAlias = Callable[[bytes, int, int], Headers]
"""Headers for the JSON payload that a document has between two bytes."""


class NativeWrite:
    """A `Write` by compiled code; payloads that this does not write are written in Python.

    :ivar writer: the compiled one.
    :param otherwise: writes the others, and raises the errors.
    """

    __slots__ = ("_otherwise", "writer")

    def __init__(self, writer: PayloadWriter, otherwise: Write) -> None:
        self.writer = writer
        self._otherwise = otherwise

    def __call__(self, document: bytes, begin: int, end: int) -> bytes:
        return self.writer.write(document, begin, end) or self._otherwise(document, begin, end)


class NativeHeaders:
    """A `MakeHeaders` by compiled code; Python makes the headers of other payloads.

    :ivar printer: the compiled one.
    :param otherwise: makes the others, and raises the errors.
    """

    __slots__ = ("_otherwise", "printer")

    def __init__(self, printer: HeaderPrint, otherwise: MakeHeaders) -> None:
        self.printer = printer
        self._otherwise = otherwise

    def __call__(self, document: bytes, begin: int, end: int) -> Headers:
        made = self.printer.headers_of(document, begin, end)
        return self._otherwise(document, begin, end) if made is None else made


class Format(Protocol):
    """How keys, or values, are written."""

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that rewrites the JSON payloads of a Connect schema, given as text, in records of a topic.

        It raises DecodeError for a payload that does not fit the schema; where it registers schemas itself, also as this.

        :raises RecordSchemaError: the format has no such schema, or the registry refuses it.
        :raises SinkError: that is so for all tables, or the registry refuses us.
        :raises DeliveryError: the registry does not answer.
        """


@runtime_checkable
class FinishingRuns(Protocol):
    """An encoder of runs that can write JSON without schemas itself, for less than it costs to rewrite its records."""

    def without_schemas(self, finish: Callable[[Record], Record]) -> RunEncoder:
        """An encoder of runs whose keys and values are payloads.

        :param finish: makes such a record of one with schemas; it may raise DecodeError.
        """


@runtime_checkable
class FormatWithHeaders(Format, Protocol):
    """A format whose records may have headers of their own."""

    @property
    def has_headers(self) -> bool:
        """Whether its records have headers."""

    def compile_headers(self, topic: str, schema: bytes) -> MakeHeaders | None:
        """A function that makes the headers of records from their JSON payloads; None where they get none. Raises as `compile`."""


class Side:
    """The keys, or the values, of all records.

    :ivar has_headers: whether records get headers.
    :ivar is_payload: whether the format is the payload as it is.
    :ivar native: topic -> number of the schema -> writer of its payloads, where compiled code writes them; for `rewrite_records`.
    :ivar native_headers: likewise, what makes the headers of values.
    """

    def __init__(self, format: Format) -> None:
        self._format = format
        self.has_headers = isinstance(format, FormatWithHeaders) and format.has_headers
        self.is_payload = bool(getattr(format, "is_payload", False))
        self._headers: dict[tuple[str, bytes], MakeHeaders | None] = {}
        self._heads: dict[str, tuple[bytes, Write]] = {}  # by topic: text before the last record's payload
        self.native: dict[str, dict[int, PayloadWriter]] = {}
        self.native_headers: dict[str, dict[int, HeaderPrint]] = {}
        self._writers: dict[tuple[str, bytes], Write] = {}

    def rewritten(self, topic: str, document: bytes) -> bytes:
        """A document in the format; one without a schema stays as it is. For the errors see `Format.compile`."""
        known = self._heads.get(topic)
        if known is not None and document.startswith(known[0]):
            return known[1](document, len(known[0]), len(document) - 1)
        parts = split(document)
        if parts is None:
            return document
        schema, payload = parts
        write = self._writers.get((topic, schema))
        if write is None:
            write = self._writers[topic, schema] = self._format.compile(topic, schema)
        begin = len(document) - len(payload) - 1
        self._heads[topic] = (document[:begin], write)
        if isinstance(write, NativeWrite) and schema.startswith(b"@"):
            self.native.setdefault(topic, {})[int(schema[1:])] = write.writer
        return write(document, begin, len(document) - 1)

    def headers(self, topic: str, document: bytes) -> Headers:
        """The headers that the record of a document, not rewritten yet, gets; () for a document without a schema, or one whose
        format makes none. With `has_headers` only. Raises as `rewritten`."""
        parts = split(document)
        if parts is None:
            return ()
        schema, payload = parts
        if (topic, schema) not in self._headers:
            assert isinstance(self._format, FormatWithHeaders)
            compiled = self._headers[topic, schema] = self._format.compile_headers(topic, schema)
            if isinstance(compiled, NativeHeaders) and schema.startswith(b"@"):
                self.native_headers.setdefault(topic, {})[int(schema[1:])] = compiled.printer
        made = self._headers[topic, schema]
        return made(document, len(document) - len(payload) - 1, len(document) - 1) if made is not None else ()


class RecordConverter:
    """Rewrites keys and values of records.

    :param key, value: None for a side that stays as it is.
    """

    def __init__(self, key: Side | None, value: Side | None) -> None:
        self._key = key
        self._value = value
        self._has_headers = any(side is not None and side.has_headers for side in (key, value))

    def record(self, record: Record) -> Record:
        """Rewrite a record in its place, and return it.

        :raises DecodeError: a record does not fit its schema, or cannot have it (RecordSchemaError).
        :raises SinkError, DeliveryError: the registry refuses us, or does not answer.
        """
        try:
            return self._rewritten(record)
        except (MinerCdcError, MemoryError):
            raise
        except Exception as error:  # of Python or of a library, for one record
            raise DecodeError(f"a record of topic {record.topic} cannot be written in the format: {error!r}") from None

    def other(self, record: Record) -> Record:
        """As `record`, for one that is of no table: where it cannot have its schema, no other record of its kind can. Raises SinkError then,
        and as `record`."""
        try:
            return self.record(record)
        except RecordSchemaError as error:
            raise SinkError(error.message, hint=error.hint) from None

    def _rewritten(self, record: Record) -> Record:
        more = self._headers(record) if self._has_headers else ()
        if self._key is not None:
            if record.key is not None:
                record.key = self._key.rewritten(record.topic, record.key)
            if record.headers:
                record.headers = tuple(
                    (name, payload_of(value) if value is not None and name in KEY_HEADERS else value)
                    for name, value in record.headers
                )
        if self._value is not None and record.value is not None:
            record.value = self._value.rewritten(record.topic, record.value)
        if more:
            record.headers += more
        return record

    def _headers(self, record: Record) -> Headers:
        """The headers that the formats of key and value add to a record, those of the key first; () for none."""
        found: Headers = ()
        for side, document in ((self._key, record.key), (self._value, record.value)):
            if side is not None and side.has_headers and document is not None:
                found += side.headers(record.topic, document)
        return found

    def encoder(self, encoder: RecordEncoder) -> RecordEncoder:
        """An encoder whose records are rewritten; `encode` raises as `record`, for records of no table as `other`."""
        return _ConvertingEncoder(encoder, self)

    def run_encoder(self, encode_run: RunEncoder) -> RunEncoder:
        """An encoder of runs whose records are rewritten; see `rewriting`. It raises as `encode_run`, and as `record`."""
        if isinstance(encode_run, FinishingRuns) and all(side and side.is_payload for side in (self._key, self._value)):
            return encode_run.without_schemas(self.record)
        return rewriting(encode_run, self.record, self._at_once)

    def _at_once(self, records: Sequence[Record]) -> Sequence[Record] | None:
        """All records, rewritten by compiled code; None where it does not know one of them. Headers of records that were
        printed natively hold no keys."""
        if native.rows is None or not isinstance(records, native.rows.Records):
            return None
        keys, values = (None if side is None else side.native for side in (self._key, self._value))
        headers = None
        if self._has_headers:
            if self._value is None or (self._key is not None and self._key.has_headers):
                return None
            headers = self._value.native_headers
        return records if native.rows.rewrite_records(records, keys, values, headers) else None


def rewriting(
    encode_run: RunEncoder,
    rewrite: Callable[[Record], Record | None],
    at_once: Callable[[Sequence[Record]], Sequence[Record] | None] = lambda _: None,
) -> RunEncoder:
    """An encoder of runs whose records are rewritten. A run ends before the change of a record that `rewrite` refuses: that
    one is encoded by itself afterwards, where its error is raised. Other errors of `rewrite` are raised.

    :param rewrite: returns the record to send, None to leave it out. It raises DecodeError for one that cannot be rewritten.
    :param at_once: rewrites all records; returns None when it cannot, and leaves them as they are then.
    """

    def rewritten(run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        while most_records > 0:
            encoded = encode_run(run, begin, most_records, most_bytes)
            if (whole := at_once(encoded.records)) is not None:
                return encoded if whole is encoded.records else encoded._replace(records=whole)
            done: list[Record] = []
            fitting = 0
            try:
                for record in encoded.records:
                    if (made := rewrite(record)) is not None:
                        done.append(made)
                    fitting += 1
            except DecodeError:
                most_records = min(fitting, most_records - 1)
            else:
                return encoded._replace(records=done)
        return EncodedRun((), 0, 0, (0, 0, 0, 0), {}, 0)

    return rewritten


class _ConvertingEncoder:
    def __init__(self, encoder: RecordEncoder, converter: RecordConverter) -> None:
        self._encoder = encoder
        self._converter = converter

    def encode(self, event: Event) -> Sequence[Record]:
        """The records of the wrapped encoder, rewritten. A RecordSchemaError names the table."""
        table = _table_of(event)
        if table is None:
            return [self._converter.other(record) for record in self._encoder.encode(event)]
        try:
            return [self._converter.record(record) for record in self._encoder.encode(event)]
        except RecordSchemaError as error:
            if error.where:
                raise
            raise RecordSchemaError(error.message, where=f"table {table}", hint=error.hint) from None


def _table_of(event: Event) -> TableId | None:
    """The table whose rows' schemas the records of an event have; None where they have others."""
    if isinstance(event, (ChangeEvent, VanishedRow)):
        return event.schema.id
    return event.table if isinstance(event, SchemaChange) and event.truncate else None
