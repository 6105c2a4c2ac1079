"""JSON of Connect's JsonConverter, of records that have schemas."""

from __future__ import annotations

import json

from minercdc import native
from minercdc.messages.formats.connect import schema_of
from minercdc.messages.formats.converting import NativeWrite, Write


class JsonFormat:
    """JSON of one side of the records, key or value (formats.converting.Format).

    :param schemas: whether the schema is written, too.
    :ivar is_payload: whether it is not.
    """

    def __init__(self, *, schemas: bool) -> None:
        self._schemas = schemas
        self.is_payload = not schemas

    def compile(self, topic: str, schema: bytes) -> Write:
        """A function that returns each payload as it is, with `schemas` in `{"schema":..,"payload":..}`. Neither it nor
        this raises."""
        head, tail = b"", b""
        if self._schemas:
            text = json.dumps(schema_of(schema), separators=(",", ":")).encode()
            head, tail = b'{"schema":' + text + b',"payload":', b"}"

        def written(document: bytes, begin: int, end: int) -> bytes:
            return head + document[begin:end] + tail

        return written if native.rows is None else NativeWrite(native.rows.CutWriter(head, tail), written)
