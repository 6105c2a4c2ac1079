"""JSON of Connect's JsonConverter, of records that have schemas."""

from __future__ import annotations

import json

from minercdc.messages.formats.connect import schema_of
from minercdc.messages.formats.converting import Write


class JsonFormat:
    """JSON of one side of the records, key or value (formats.converting.Format).

    :param schemas: whether the schema is written, too.
    """

    def __init__(self, *, schemas: bool) -> None:
        self._schemas = schemas

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that returns each payload as it is, with `schemas` in `{"schema":..,"payload":..}`. Neither it nor
        this raises."""
        if not self._schemas:
            return lambda document, begin, end: document[begin:end]
        text = json.dumps(schema_of(schema), separators=(",", ":")).encode()
        head = b'{"schema":' + text + b',"payload":'
        return lambda document, begin, end: head + document[begin:end] + b"}"
