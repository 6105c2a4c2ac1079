"""The schema history in a file, one record of Debezium's form a line, exactly in step with the stored offset.

    write line .. flush to disk -> commit of the sink: records + offset with the length of the file

The offset names the length that belongs to it. What a killed connector wrote after that length was not committed: it does not
count, is cut off with the next line, and its DDL is mined again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from minercdc.errors import SchemaHistoryError
from minercdc.sinks.kafka.schema_history import changes_of, document_of
from minercdc.stream.contracts import Record
from minercdc.stream.events import SchemaChange
from minercdc.stream.offset import JsonValue
from minercdc.stream.state_directory import private_opener, sync_directory

_HINT = "Put the file back, or start once with snapshot.mode=recovery, which reads the structures from the database again."


class FileSchemaHistory:
    """History of one connector (contracts.SchemaHistory); no other process may write to its file.

    :param server: topic.prefix.
    :param clock_ms: milliseconds since the epoch.
    """

    def __init__(self, path: Path, *, server: str, clock_ms: Callable[[], int]) -> None:
        self._path = path
        self._server = server
        self._clock_ms = clock_ms
        self._length = 0
        self._hardened = True

    def entry(self, change: SchemaChange, position: Mapping[str, JsonValue]) -> Record | None:
        """Write the line after the last one, and cut off what follows it; `mark` puts it on disk. No record for Kafka. The first
        line of a history makes its directory.

        :raises SchemaHistoryError: the file cannot be written, or its directory cannot be made.
        """
        document = document_of(change, position, server=self._server, ts_ms=self._clock_ms())
        line = json.dumps(document, separators=(",", ":")).encode() + b"\n"
        if not self._length:
            self._make_directory()
        mode = "r+b" if self._path.exists() else "w+b"
        with _file_errors(self._path), open(self._path, mode, opener=private_opener) as file:
            file.seek(self._length)
            file.write(line)
            file.truncate()
        self._length += len(line)
        self._hardened = False
        return None

    def _make_directory(self) -> None:
        with _file_errors(self._path):
            missing = [directory for directory in self._path.parents if not directory.exists()]
            self._path.parent.mkdir(parents=True, exist_ok=True)
            for directory in missing:
                sync_directory(directory.parent)

    def mark(self) -> int | None:
        """Length in bytes of what was written or recovered; all of it is on disk when this returns.

        :raises SchemaHistoryError: the file cannot be flushed.
        """
        if not self._hardened:
            with _file_errors(self._path), self._path.open("rb") as file:
                os.fsync(file.fileno())
                sync_directory(self._path.parent)
            self._hardened = True
        return self._length

    def recover(self, mark: int | None) -> Iterator[SchemaChange]:
        """The changes within the first `mark` bytes, oldest first; the rest is cut off with the next line.

        :param mark: as the offset has it; None for an offset that was stored with another kind of history.
        :raises SchemaHistoryError: `mark` is None, or the file is shorter than it, or it or one of its lines cannot be read.
        """
        if mark is None:
            raise SchemaHistoryError(
                f"the offset was stored with another schema history than the file {self._path}", hint=_HINT
            )
        with _file_errors(self._path):
            content = self._path.read_bytes() if mark or self._path.exists() else b""
        if len(content) < mark:
            raise SchemaHistoryError(
                f"the schema history {self._path} has {len(content)} bytes, but the offset expects {mark}", hint=_HINT
            )
        self._length = mark
        for number, line in enumerate(content[:mark].splitlines(), 1):
            try:
                yield from changes_of(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise SchemaHistoryError(
                    f"line {number} of the schema history {self._path} cannot be read: {error!r}", hint=_HINT
                ) from None

    def forget(self) -> None:
        """Start over with the next entry, at the beginning of the file: what is in it cannot be used."""
        self._length, self._hardened = 0, True


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SchemaHistoryError(
            f"the schema history {path} cannot be used: {error.strerror or error}",
            hint="See schema.history.internal.file.filename: the connector needs to be able to write there.",
        ) from error
