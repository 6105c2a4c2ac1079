"""The reference to a schema in records: its id in a registry, as bytes before the content or as headers."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from minercdc.errors import RecordSchemaError
from minercdc.messages.formats.converting import Headers
from minercdc.messages.registries.confluent import SchemaRegistry, SchemaText
from minercdc.messages.registries.subjects import Subject

_KEPT_S = 1.0
_CONFLUENT = struct.Struct(">bI").pack


@dataclass(frozen=True, slots=True)
class Identity:
    """A schema of a registry.

    :ivar number: its id.
    :ivar before: bytes before the content of each record.
    :ivar headers: of each record.
    """

    number: int
    before: bytes
    headers: Headers = ()


class Refusals:
    """Keeps the refusal of a schema for a second, so that a registry is not asked at each row of a table that is left out row by row
    (`event.processing.failure.handling.mode` `warn` or `skip`); then it is asked again, for its rules may be others by now.

    :param clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused: dict[tuple[str, str], tuple[float, RecordSchemaError]] = {}

    def asked(self, schema: tuple[str, str], ask: Callable[[], Identity]) -> Identity:
        """What `ask` returns for a schema of a topic. Raises what it raises. A RecordSchemaError is raised again, without
        asking, for `_KEPT_S` seconds."""
        at, known = self._refused.get(schema, (-_KEPT_S, None))
        if known is not None and self._clock() - at < _KEPT_S:
            raise RecordSchemaError(known.message, hint=known.hint)
        try:
            return ask()
        except RecordSchemaError as error:
            self._refused[schema] = (self._clock(), error)
            raise


class RegisteredSchemas(Protocol):
    """The schemas of one side of the records, key or value, in a registry: finds or registers them, and has their ids."""

    @property
    def url(self) -> str:
        """URL of the registry, without user and password; several with commas."""

    @property
    def has_headers(self) -> bool:
        """Whether ids are in headers of the records, and not in keys and values."""

    def identity(self, topic: str, name: str, schema: SchemaText, same: Callable[[str], bool]) -> Identity:
        """What stands for a schema, which is registered where that is configured.

        :param name: full name of the record's schema.
        :param same: whether records of this schema are read by another one in the same way, given its text.
        :raises RecordSchemaError: the registry refuses the schema, or does not have it.
        :raises SinkError: the registry refuses us, or answers as no registry.
        :raises DeliveryError: the registry does not answer.
        """


class ConfluentSchemas:
    """Schemas under subjects; records begin with a zero byte and the id in four bytes.

    :param auto_register: register schemas; else each has to be there. Without effect with `use_latest` or `use_id`.
    :param use_latest: write with the newest schema of the subject, which has to have the same fields.
    :param normalize: have the registry normalize what is registered.
    :param use_id: write with the schema of this id, which has to have the same fields, too; None: with a schema of the subject.
    """

    has_headers = False

    def __init__(
        self,
        registry: SchemaRegistry,
        subject: Subject,
        *,
        auto_register: bool,
        use_latest: bool,
        normalize: bool,
        use_id: int | None = None,
    ) -> None:
        self.registry = registry
        self.auto_register = auto_register
        self._subject = subject
        self._use_latest = use_latest
        self.uses_given = use_latest or use_id is not None  # schemas that are not ours
        self._normalize = normalize
        self._use_id = use_id

    @property
    def url(self) -> str:
        """URL of the registry, without user and password; several with commas."""
        return self.registry.url

    def identity(self, topic: str, name: str, schema: SchemaText, same: Callable[[str], bool]) -> Identity:
        """The id of a schema, before the content. For parameters and errors see `RegisteredSchemas.identity`. Asks the
        registry at each call."""
        number = self._id(self._subject(topic, name), schema, same)
        return Identity(number, _CONFLUENT(0, number))

    def _id(self, subject: str, schema: SchemaText, same: Callable[[str], bool]) -> int:
        if self._use_id is not None:
            if not same(given := self.registry.schema(self._use_id)):
                raise other_fields(f"id {self._use_id}", given, "use.schema.id")
            return self._use_id
        if self._use_latest:
            number, latest = self.registry.latest(subject)
            if not same(latest):
                raise other_fields(f"subject {subject} (id {number})", latest, "use.latest.version")
            return number
        if self.auto_register:
            return self.registry.register(subject, schema, normalize=self._normalize)
        return self.registry.lookup(subject, schema)


def other_fields(what: str, latest: str, property_name: str) -> RecordSchemaError:
    """The error for a registered schema, `latest`, that the table's rows do not fit.

    :param what: the schema's place, and `property_name` the property that chose it; for the message.
    """
    return RecordSchemaError(
        f"the schema of {what} has different fields from the table: {latest}",
        hint=f"Register a schema of the table's fields, or leave {property_name} out.",
    )
