"""Kafka Connect's schemas, as our encoders write them in front of each payload, and the text that holds both.

A record of `schemas.enable=true` is `{"schema":{..},"payload":..}`. Other formats take the schema out of it: one form of it
stands for all records of a table version, so what is made of it is kept by its bytes. Where it is taken out anyway, a number
stands for it (`{"schema":@7,"payload":..}`), which is printed and compared sooner.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

_HEAD, _BETWEEN, _TAIL = b'{"schema":', b',"payload":', b"}"

WITHOUT_SCHEMA = b'{"schema":null,"payload":'
"""Begins the key of a record that was read back from a format whose schemas are elsewhere."""

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


_numbered: list[Schema] = []
_numbers: dict[str, int] = {}  # by the schema's text: a pipeline that is opened again has the same schemas


def numbered(schema: Schema) -> tuple[str, str]:
    """(text before a payload, text after it), with a number in place of the schema, which is known in this process only."""
    number = _numbers.setdefault(json.dumps(schema), len(_numbered))
    if number == len(_numbered):
        _numbered.append(schema)
    return f'{{"schema":@{number},"payload":', "}"


def split(document: bytes) -> tuple[bytes, bytes] | None:
    """(schema, payload) of a document with both, as they are written; None for a document that does not begin with a schema.

    A schema has no member `payload`, and in its texts quotation marks are escaped: so the first `,"payload":` ends it.
    """
    if not document.startswith(_HEAD):
        return None
    end = document.index(_BETWEEN)
    return document[len(_HEAD) : end], document[end + len(_BETWEEN) : -len(_TAIL)]


def payload_of(document: bytes) -> bytes:
    """The payload of a document with a schema; a document without one as it is."""
    parts = split(document)
    return document if parts is None else parts[1]


def schema_of(text: bytes) -> Schema:
    """A schema from its text, or from the number that `numbered` gave it (`@7`)."""
    if text.startswith(b"@"):
        return _numbered[int(text[1:])]
    found: Schema = json.loads(text)
    return found
