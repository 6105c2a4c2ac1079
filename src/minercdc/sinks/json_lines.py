"""Writes records as JSON, one a line: to a file, exactly once, or to standard output, at least once.

{"topic": "shop.SHOP.ORDERS", "key": {..}, "value": {..}, "headers": {"name": "text or null"}}

file     lines -> disk, then a file beside it with the offset and the length of the lines -> disk; a start cuts off what is longer
stdout   lines, then the offset: a connector that is killed in between writes them again
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from minercdc import native
from minercdc.errors import SchemaHistoryError, SinkError
from minercdc.sinks.durable_files import OwnerLock, file_errors, make_durable, replace_file, write_all
from minercdc.stream.contracts import Record
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

_BETWEEN = b',"value":'


def json_line(record: Record) -> bytes:
    """The line of a record, with its line end. Keys and values are JSON already, without line breaks; a record without key or
    value has null for it. The partition is not in it."""
    begin, end = _topic_text(record.topic), _headers_text(record.headers)
    return b"%b%b%b%b%b" % (begin, record.key or b"null", _BETWEEN, record.value or b"null", end)


def json_lines(records: Sequence[Record]) -> bytes:
    """The lines of records, as of `json_line`, one after the other; by the native path where that encoded them."""
    if native.rows is not None and isinstance(records, native.rows.Records) and not records.own:
        lines: bytes = records.lines(_topic_text, _BETWEEN, _headers_text(records.headers))
        return lines
    return b"".join(map(json_line, records))


# Records that follow each other mostly have the same topic, and the same headers.
@lru_cache(maxsize=1 << 12)
def _topic_text(topic: str) -> bytes:
    return b'{"topic":%b,"key":' % json.dumps(topic).encode()


@lru_cache(maxsize=1 << 12)
def _headers_text(headers: tuple[tuple[str, bytes | None], ...]) -> bytes:
    if not headers:
        return b"}\n"
    named = {name: None if content is None else content.decode(errors="replace") for name, content in headers}
    return b',"headers":%b}\n' % json.dumps(named, separators=(",", ":")).encode()


def offset_file(beside: Path) -> Path:
    """The file in which the offset is stored, with the length of what is committed: `beside` with `.offset` after its name."""
    return beside.with_name(f"{beside.name}.offset")


def stored_lines_offset(beside: Path) -> Offset | None:
    """The offset that was stored last, None when there is none, or no file. It is read without the lock.

    :param beside: as of `JsonLines`.
    :raises SchemaHistoryError: the file's content is no offset that this version reads.
    :raises SinkError: the file cannot be read.
    """
    file = offset_file(beside)
    with file_errors(f"reading {file}"):
        stored, _ = _parsed(file.read_bytes(), file) if file.exists() else (None, 0)
    return None if stored is None else offset_from_bytes(stored.encode(), str(file))


def _parsed(content: bytes, file: Path) -> tuple[str | None, int]:
    """The stored offset, None for none, and how many bytes of the lines are committed."""
    try:
        document = json.loads(content)
        return document["offset"], int(document["length"])
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaHistoryError(
            f"the offset in {file.absolute()} cannot be read: {error!r}",
            hint="Restore the file; or remove it, and the lines with it, to start over with a snapshot.",
        ) from None


class JsonLines:
    """The `contracts.RecordSink`, OffsetSink and RunSink of a connector that writes JSON lines. Construction locks the place, and
    cuts off what was not committed to a file; `close` gives it up. Records are kept in memory until `commit`.

    :param file: None for standard output.
    :param beside: path of what belongs to the lines: `.offset` and `.lock` are added to it.
    :raises FencedError: another process writes there.
    :raises SchemaHistoryError: the stored offset cannot be read.
    :raises SinkError: the file is shorter than the offset says, is not empty while there is no offset, or cannot be written
        (DeliveryError when the disk is full).
    """

    def __init__(self, file: Path | None, beside: Path) -> None:
        self._file = file
        self._where = str(file.absolute()) if file else "standard output"
        self._offset_file = offset_file(beside)
        self._lines: list[bytes] = []
        self._length = 0
        self._descriptor = -1
        self._lock = OwnerLock(beside.with_name(f"{beside.name}.lock"), self._where)
        try:
            self._offset, self._length = self._stored()
            self._open()
        except BaseException:
            self.close()
            raise

    def _stored(self) -> tuple[str | None, int]:
        """The stored offset, None for none, and how many bytes of the file are committed. Makes the offset's file when
        it is missing."""
        with file_errors(f"reading {self._offset_file}"):
            if not self._offset_file.exists():
                self._begin()
            content = self._offset_file.read_bytes()
        return _parsed(content, self._offset_file)

    def _begin(self) -> None:
        """Make the offset's file for a place that is not ours yet."""
        if self._file is not None and self._file.exists() and self._file.stat().st_size:
            raise SinkError(
                f"{self._where} is not empty, and {self._offset_file} is not there to say what in it is the connector's",
                hint="Name another file in minercdc.sink.path, or put the .offset back.",
            )
        self._save(None)

    def _save(self, offset: str | None) -> None:
        replace_file(self._offset_file, json.dumps({"offset": offset, "length": self._length}).encode())

    def _open(self) -> None:
        if self._file is None:
            self._descriptor = os.dup(sys.stdout.fileno())
            return
        with file_errors(f"opening {self._where}"):
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            size = os.fstat(self._descriptor).st_size
            if size < self._length:
                raise SinkError(
                    f"{self._where} has {size} bytes, but the offset in {self._offset_file} expects {self._length}",
                    hint="Put the file back; or remove the offset, too, to start over with a snapshot.",
                )
            if size > self._length:
                os.ftruncate(self._descriptor, self._length)
                os.fsync(self._descriptor)

    def write(self, record: Record) -> None:
        """Keep the record in memory for the next commit; raises nothing."""
        self._lines.append(json_line(record))

    def write_run(self, records: Sequence[Record]) -> None:
        """Keep the records in memory for the next commit; raises nothing."""
        self._lines.append(json_lines(records))

    def commit(self, offset: Offset) -> None:
        """Write the lines kept since the last commit, and store `offset` with them; durable when this returns. To standard
        output, lines are shown before the offset is stored, so a kill in between repeats them.

        :raises DeliveryError: the disk is full; open the sink again once it is not.
        :raises FencedError: the lock file beside the lines was removed or replaced.
        :raises SinkError: the lines, or the offset, cannot be written.
        """
        self._lock.check()
        data = b"".join(self._lines)
        with file_errors(f"writing to {self._where}"):
            write_all(self._descriptor, data)
            if self._file is not None:
                self._check_length(len(data))
                make_durable(self._descriptor)
                self._length += len(data)
        self._lines.clear()
        self._offset = offset_to_bytes(offset).decode()
        with file_errors(f"writing {self._offset_file}"):
            self._save(self._offset)

    def remove_offset(self) -> None:
        """Remove the stored offset, durably; the lines that are committed stay. Raises as `commit`."""
        self._lock.check()
        self._offset = None
        with file_errors(f"writing {self._offset_file}"):
            self._save(None)

    def _check_length(self, added: int) -> None:
        """Raise SinkError when another program has cut or written the file, and OSError when it is gone.

        :param added: bytes that were written since the last commit.
        """
        assert self._file is not None
        size, expected = os.stat(self._file).st_size, self._length + added
        if size != expected:
            raise SinkError(
                f"{self._where} has {size} bytes, where {expected} were written: another program changed it",
                hint="Only the connector may write the file. Rotate it by naming another one in minercdc.sink.path, and moving its"
                " .offset, .lock and .schema-history to the new name.",
            )

    def check_owner(self) -> None:
        """Raise FencedError when the lock file was removed or replaced, since another process may have taken over; SinkError when it
        cannot be looked at."""
        self._lock.check()

    def load_offset(self) -> Offset | None:
        """The offset that was committed last, None when there is none; as it was read at construction, and committed since.

        :raises SchemaHistoryError: it is in a form that this version does not read.
        """
        return None if self._offset is None else offset_from_bytes(self._offset.encode(), str(self._offset_file))

    def close(self) -> None:
        """Forget what is not committed, and give up the lock; safe to call twice."""
        self._lines.clear()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._lock.release()
