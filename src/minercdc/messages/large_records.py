"""Records that are too large for Kafka: a dead letter with the cause, or a claim check, in their place.

    claim check   value -> <directory>/<SHA-256 of it>, on disk before the record is sent; the record's value names it

The same value has the same file, so that one that is sent again after a kill is not stored twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from minercdc.errors import SinkError
from minercdc.stream.contracts import Record
from minercdc.stream.offset import JsonValue
from minercdc.stream.state_directory import sync_directory

CLAIM_CHECK: Final = "__minercdc.claim.check"
_SHOWN: Final = 200


def shown_key(key: bytes | None) -> str:
    """A record's key as text for a message, at most 200 characters of it; `none` for a record without."""
    if key is None:
        return "none"
    text = key.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class LargeRecords:
    """What is sent in place of records that are too large.

    :param most: bytes of key and value together; a record with more is too large.
    :param directory: where the values are stored; None: they are not, and `dead_letters` is given.
    :param dead_letters: topic; None: the record itself becomes a claim check.
    """

    most: int
    directory: Path | None
    dead_letters: str | None

    def is_large(self, key: bytes | None, value: bytes | None) -> bool:
        """Whether a record with this key and value is too large; never without a value."""
        return value is not None and len(value) + len(key or b"") > self.most

    def replaced(self, record: Record) -> Record:
        """The record in place of one that is too large: a dead letter, or, without a topic for these, one with its topic,
        key and headers. The value is on disk, where there is a directory, and the record names the file.

        :raises SinkError: the value cannot be stored.
        """
        value = record.value or b""
        document: dict[str, JsonValue] = {"size": len(value), "sha256": hashlib.sha256(value).hexdigest()}
        if self.directory is not None:
            document[CLAIM_CHECK] = str(self._stored(value))
        headers = tuple(record.headers)
        if self.dead_letters is None:
            headers = (*headers, (CLAIM_CHECK, str(document[CLAIM_CHECK]).encode()))
            return Record(record.topic, record.key, _json(document), headers, record.partition, record.timestamp_ms)
        document |= {
            "topic": record.topic,
            "key": None if record.key is None else record.key.decode("utf-8", "backslashreplace"),
            "error": f"a record of {len(value)} bytes is larger than minercdc.kafka.record.max.bytes={self.most}",
        }
        return Record(self.dead_letters, record.key, _json(document), headers, 0)

    def _stored(self, value: bytes) -> Path:
        assert self.directory is not None
        path = self.directory.absolute() / hashlib.sha256(value).hexdigest()
        if path.exists():  # renamed when it is complete
            return path
        partly = path.with_name(f".{uuid4().hex}")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with partly.open("wb") as file:
                file.write(value)
                file.flush()
                os.fsync(file.fileno())
            partly.replace(path)
            sync_directory(self.directory)
        except OSError as error:
            with suppress(OSError):
                partly.unlink()
            raise SinkError(
                f"a record of {len(value)} bytes cannot be stored in {self.directory}: {error.strerror or error}",
                hint="See minercdc.claim.check.path.",
            ) from error
        return path


def _json(document: dict[str, JsonValue]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
