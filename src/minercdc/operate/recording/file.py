"""Writes and reads the file of a recording: gzip, and in it lines of JSON.

    head        kind, version, who made it, properties, offset with the structures of its tables
    connect     a connection was made, or could not be: to `root`, `pdb`, or of several pluggable databases to one of that name
    call        a statement: connection, text, binds
    columns     their names, of a statement that says * for them
    rows        that it gave, some at a time; `end of rows`: there were no more; `error`: it, or a fetch, failed
    clock       what the clock said
    end         how the recording ended, and the SHA-256 of all lines before

Lines stand in the order in which the answers came. A file without its last line was not finished, and is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from minercdc.errors import ConfigError
from minercdc.stream.offset import JsonValue
from minercdc.stream.state_directory import private_opener

KIND: Final = "minercdc-recording"
VERSION: Final = 2
"""The newest version of the form; it rises when a line means something else than before, and all earlier versions are read
for ever. A recording has the earliest that has all its lines: 1 has one pluggable database only."""
WITH_PDBS: Final = 2
_HINT = "It must be a file that `minercdc record` wrote; record again."


class RecordingWriter:
    """Writes a recording beside its place, as `<name>.part`, and puts it there when it is complete: `finish` or `abandon`
    ends it. Any thread may write.

    :raises OSError: the file cannot be written, here and in the methods.
    """

    def __init__(self, path: Path, head: Mapping[str, JsonValue]) -> None:
        """Make the file, and write its first line. Raises ConfigError when there can be no such file.

        :param path: where the recording is to be; one that is there is replaced by `finish`.
        :param head: members of the first line beside its kind; `version` is 1 unless given.
        """
        self._path, self._part = path, path.with_name(path.name + ".part")
        try:
            self._raw = open(self._part, "wb", opener=private_opener)  # noqa: SIM115 closed by `finish` or `abandon`
        except OSError as error:
            raise ConfigError(
                [f"--output: {path} cannot be written: {error.strerror}"],
                hint="Name a file in a directory that exists and can be written to.",
            ) from None
        self._raw.truncate()
        self._file = gzip.GzipFile(filename="", mode="wb", fileobj=self._raw, mtime=0)
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self.write({"kind": KIND, "version": 1, **head})

    def write(self, line: Mapping[str, JsonValue]) -> None:
        """Append a line; it is on disk after `finish`. What comes after `finish` or `abandon`, of a thread that was left
        alone, is dropped."""
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            if not self._file.closed:
                self._digest.update(data)
                self._file.write(data)

    def finish(self, end: Mapping[str, JsonValue]) -> None:
        """Write the last line, with `end` and the checksum, make the file durable, and put it in its place. To be called once."""
        self.write({"kind": "end", **end, "sha256": self._digest.hexdigest()})
        with self._lock:
            self._file.close()
            self._raw.flush()
            os.fsync(self._raw.fileno())
            self._raw.close()
        os.replace(self._part, self._path)

    def abandon(self) -> None:
        """Remove what is written so far; without effect after `finish`, except for a file that was left beside its place."""
        with self._lock, suppress(OSError, ValueError):
            self._file.close()
            self._raw.close()
        self._part.unlink(missing_ok=True)


def lines_of(path: Path, spool: IO[bytes]) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The lines of a recording: document, and the byte where the line begins in `spool` and its length; each line is written
    to `spool`, which is empty before. The first is the head; the last ends the file, and its checksum is compared before it
    is yielded.

    :raises ConfigError: the file cannot be read, is no recording, of a newer version, not complete, or damaged; at the line
        that shows it.
    :raises OSError: `spool` cannot be written.
    """
    digest, ended, at = hashlib.sha256(), False, 0
    for number, line in enumerate(_raw_lines(path), 1):
        try:
            document = json.loads(line)
            if not isinstance(document, dict):
                raise ValueError("no object")
        except ValueError as error:
            raise _unusable(path, f"line {number}: {error}") from None
        if number == 1:
            _check_head(path, document)
        if ended:
            raise _unusable(path, "there are lines after its end")
        if document.get("kind") == "end":
            ended = True
            if document.get("sha256") != digest.hexdigest():
                raise _unusable(path, "its checksum differs: it is damaged")
        digest.update(line)
        spool.write(line)
        yield document, at, len(line)
        at += len(line)
    if not ended:
        raise _unusable(path, "its end is missing: it was not finished, or cut off")


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path, "rb") as file:
            yield from file
    except (OSError, EOFError, zlib.error) as error:
        raise _unusable(path, str(error)) from None


def _check_head(path: Path, head: Mapping[str, Any]) -> None:
    if head.get("kind") != KIND:
        raise _unusable(path, f"its first line is of kind {head.get('kind')!r}")
    version = head.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ConfigError(
            [f"{path} is a recording of version {version}, but this release reads at most {VERSION}"],
            hint=f"minercdc {head.get('minercdc')} wrote it: replay it with that release, or a later one.",
        )


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError([f"{path} is not a recording that can be replayed: {why}"], hint=_HINT)
