"""A record as the transformations see it: key, value and headers with their schemas, as in Kafka Connect.

The encoders print JSON; a payload stays the text that it is until a transformation looks into it. Schemas are the JSON of Connect's
converter (messages/envelope/connect_schema.py), without `field` where they are no member of a struct. What is made of a schema is kept by its
identity, so a transformation makes each schema once (`BySchema`), and never changes one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from minercdc.errors import RecordSchemaError, ValueDecodeError
from minercdc.messages.formats.connect import Schema

T = TypeVar("T")
_NOT_READ: Final = object()
ENVELOPE: Final = ".Envelope"


class Typed:
    """A key, value or header with its schema. It does not change.

    :param text: the payload's JSON; None where only its value is known.
    :ivar schema: of the payload.
    """

    __slots__ = ("_text", "_value", "schema")

    def __init__(self, schema: Schema, text: bytes | None, value: Any = _NOT_READ) -> None:
        self.schema = schema
        self._text = text
        self._value = value

    @property
    def value(self) -> Any:
        """The payload, as `json.loads` gives it; not to be changed."""
        if self._value is _NOT_READ:
            assert self._text is not None
            self._value = json.loads(self._text)
        return self._value

    @property
    def text(self) -> bytes:
        """The payload's JSON. Raises ValueDecodeError for a text with half a surrogate pair."""
        if self._text is None:
            self._text = to_json(self._value)
        return self._text


def to_json(value: Any) -> bytes:
    """JSON without blanks. Raises ValueDecodeError for a text with half a surrogate pair."""
    return utf8(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def utf8(text: str) -> bytes:
    """A text in UTF-8. Raises ValueDecodeError for half a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueDecodeError("a text holds half a surrogate pair, which is not valid in UTF-8") from None


def floating(number: float) -> float | str:
    """A number as our JSON has it: NaN and the infinities, which JSON has not, are texts, as Jackson writes them."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def typed(schema: Schema, value: Any) -> Typed:
    """A value with its schema; its text is made when it is read first."""
    return Typed(schema, None, value)


Headers: TypeAlias = tuple[tuple[str, "Typed | bytes"], ...]
"""Names and values; bytes stand for text that has no schema."""


@dataclass(slots=True)
class ConnectRecord:
    """A record with schemas. Key and value are None where there are none.

    :param partition, timestamp_ms: as in `contracts.Record`.
    """

    topic: str
    key: Typed | None
    value: Typed | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None

    # As dataclasses.replace, in a third of its time.

    def with_topic(self, topic: str) -> ConnectRecord:
        """A copy in another topic; all else is as here."""
        return ConnectRecord(topic, self.key, self.value, self.headers, self.partition, self.timestamp_ms)

    def with_key(self, key: Typed | None) -> ConnectRecord:
        """A copy with another key; all else is as here."""
        return ConnectRecord(self.topic, key, self.value, self.headers, self.partition, self.timestamp_ms)

    def with_value(self, value: Typed | None) -> ConnectRecord:
        """A copy with another value; all else is as here."""
        return ConnectRecord(self.topic, self.key, value, self.headers, self.partition, self.timestamp_ms)

    @property
    def is_envelope(self) -> bool:
        """Whether the value is Debezium's envelope of a row change."""
        return self.value is not None and str(self.value.schema.get("name") or "").endswith(ENVELOPE)


Transform: TypeAlias = Callable[[ConnectRecord], ConnectRecord | None]
"""A transformation: None for a record that is left out. Raises DecodeError, or an error of Python, for one that it does not fit;
the outbox may raise ConfigError (`outbox.event_router`)."""


class BySchema(Generic[T]):
    """Keeps what `make` makes of each schema, or the RecordSchemaError that it raises, by the schema's identity: `make` is called
    once for each, and again after any other error."""

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._made: dict[int, tuple[Schema, T]] = {}  # with the schema, whose address is taken as long as it is there
        self._refused: dict[int, tuple[Schema, RecordSchemaError]] = {}

    def __call__(self, schema: Schema) -> T:
        found = self._made.get(id(schema))
        if found is None:
            found = self._made[id(schema)] = (schema, self._first(schema))
        return found[1]

    def _first(self, schema: Schema) -> T:
        if id(schema) in self._refused:
            _, known = self._refused[id(schema)]
            raise RecordSchemaError(known.message, hint=known.hint)
        try:
            return self._make(schema)
        except RecordSchemaError as error:
            self._refused[id(schema)] = (schema, error)
            raise
