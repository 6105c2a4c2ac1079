"""Reads a table's topic to find keys that are alive there, and that were not written since a mark.

    begin   a thread reads the topic from its beginning to its present end, beside the stream
    gone    records written meanwhile are read, then keys are returned that are alive and have no record at or after the mark

The keys are kept in a file, not in memory. A delete that is written for a returned key is a record after the mark like any
other. So folding again, after a kill or for the next keys, returns what is left.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote
from uuid import uuid4

from minercdc.errors import MinerCdcError, StateDirectoryError
from minercdc.messages.topics import TopicNames
from minercdc.schema.table import TableSchema
from minercdc.stream.state_directory import private_opener

_log = logging.getLogger(__name__)

_ROWS = 2_000
_OP = b'"op":"'
_TABLE = (
    "CREATE TABLE keys (key BLOB PRIMARY KEY, alive INTEGER NOT NULL, touched INTEGER NOT NULL, given INTEGER NOT NULL)"
    " WITHOUT ROWID"
)
_PUT = (
    "INSERT INTO keys VALUES (?, ?, ?, 0) ON CONFLICT (key)"
    " DO UPDATE SET alive = excluded.alive, touched = max(touched, excluded.touched)"
)
_GONE = "SELECT key FROM keys WHERE alive AND NOT touched AND NOT given LIMIT ?"
_GIVEN = "UPDATE keys SET given = 1 WHERE key = ?"
_LEFT = "SELECT count(*) FROM keys WHERE alive AND NOT touched AND given"


def is_alive(value: bytes | None) -> bool:
    """Whether a key has a row after this record: neither a tombstone nor a delete. The envelope's `op` is the last of that
    name; a value without one is of a row."""
    if value is None:
        return False
    _, operation, rest = value.rpartition(_OP)
    return not operation or rest[:1] != b"d"


class TopicRecords(Protocol):
    """What is read: `client.KafkaClient`, or `sinks.segments.topics.SegmentTopics`, either perhaps through `messages.formats.topic_reading`.
    Its methods raise DeliveryError or SinkError when it cannot be read."""

    def ends(self, topic: str) -> tuple[tuple[int, int], ...]:
        """(partition, offset of its next record) of all partitions; () when there is no such topic."""

    def first_offset(self, topic: str, *, partition: int = 0) -> int:
        """Offset of the first record that is left; of the next one where there is none."""

    def read_range(self, topic: str, partition: int, begin: int, end: int) -> Iterator[Any]:
        """Committed messages of a partition from offset `begin` to before `end`."""


class TopicFold:
    """Folds one table's topic at a time; see `snapshot.incremental.resuming_contracts.TopicMemory`.

    :param directory: for the file.
    :param name: of the connector.
    """

    def __init__(self, client: TopicRecords, topics: TopicNames, directory: Path, name: str) -> None:
        self._client = client
        self._topics = topics
        self._directory = directory
        self._prefix = f"keys-{quote(name, safe='')}-"
        self._reading: _Reading | None = None

    def ends(self, table: TableSchema) -> tuple[tuple[int, int], ...]:
        """(partition, offset after the last record) of the table's topic, records of open transactions included; () when there is
        no such topic.

        :raises DeliveryError, SinkError: the sink cannot be read.
        :raises ConfigError, SharedTopicError: as `TopicNames.of_table`.
        """
        return self._client.ends(self._topics.of_table(table.id))

    def begin(self, table: TableSchema, marks: tuple[tuple[int, int], ...]) -> None:
        """Start to read the table's topic in a thread; what was read before, and files of killed processes, are deleted, as far as
        they can be.

        :param marks: (partition, offset); a key with a record at or after its mark is never returned by `gone`. A partition
            without a mark has it at 0.
        :raises ConfigError, SharedTopicError: as `TopicNames.of_table`.
        """
        self.close()
        # By a process that was killed; another connector's name may begin with this one's.
        for left in self._directory.glob(f"{self._prefix}{'[0-9a-f]' * 32}.sqlite"):
            with suppress(OSError):
                left.unlink()
        file = self._directory / f"{self._prefix}{uuid4().hex}.sqlite"
        self._reading = _Reading(self._client, self._topics.of_table(table.id), dict(marks), file)
        self._reading.thread.start()

    def ready(self) -> bool:
        """Whether `gone` may be called: the thread has come to the end; False before `begin`. Raises the MinerCdcError that ended
        it."""
        return self._reading is not None and self._reading.ready()

    def gone(self, most: int) -> list[bytes]:
        """Up to `most` keys that are alive and have no record since the mark; [] when there are no more. To be called only after
        `ready` has returned True.

        Each key is returned once: one whose delete cannot be written is counted by `limits`.

        Records written meanwhile are read first, so our own must be committed before the call.

        :raises DeliveryError, SinkError: the topic cannot be read.
        :raises StateDirectoryError: the file cannot be used.
        """
        assert self._reading is not None
        return self._reading.gone(most)

    def limits(self) -> str:
        """Why some keys could not be found, or not be deleted, '' when all could; final once `gone` has returned []."""
        return self._reading.limits() if self._reading else ""

    def close(self) -> None:
        """Stop, and delete the file; a thread that waits for the broker does so when it ends."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None


class _Reading:
    """The keys of one topic, in a file of SQLite: `thread`, which the caller starts, reads the topic to its end; until
    `ready` only it touches the file. Its methods raise StateDirectoryError when the file cannot be used, else as
    `TopicRecords`."""

    def __init__(self, client: TopicRecords, topic: str, marks: Mapping[int, int], file: Path) -> None:
        self._client, self._topic, self._marks, self._file = client, topic, marks, file
        self._next: dict[int, int] = {}
        self._cut = False
        self._keyless = 0
        self._left = 0
        self._database: sqlite3.Connection | None = None
        self._failure: Exception | None = None
        self._abandoned = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"keys of {topic}", daemon=True)

    def ready(self) -> bool:
        if self.thread.is_alive():
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def gone(self, most: int) -> list[bytes]:
        try:
            self._fold()
            assert self._database is not None
            keys = [key for (key,) in self._database.execute(_GONE, [most])]
            self._database.execute("BEGIN")
            self._database.executemany(_GIVEN, [(key,) for key in keys])
            self._database.execute("COMMIT")
            ((self._left,),) = self._database.execute(_LEFT) if not keys else ((0,),)
            return keys
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def limits(self) -> str:
        limits = []
        if self._cut:
            limits.append("the beginning of the topic was deleted by retention: rows last written there cannot be found")
        if self._keyless:
            limits.append("records without a key cannot be matched with rows: rows that vanished are not deleted")
        if self._left:
            limits.append(f"{self._left} keys that cannot be written again were left in the topic as they are")
        return "; ".join(limits)

    def close(self) -> None:
        self._abandoned.set()
        if not self.thread.is_alive():
            self._remove()

    def _run(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            open(self._file, "wb", opener=private_opener).close()
            self._database = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            for statement in ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", _TABLE):
                self._database.execute(statement)
            self._fold()
        except (sqlite3.Error, OSError) as error:
            self._failure = self._unusable(error)
        except MinerCdcError as error:
            self._failure = error
        finally:
            if self._abandoned.is_set():
                self._remove()

    def _fold(self) -> None:
        """Read each partition on, from its begin or the end of the last call, to its present end."""
        for partition, end in self._client.ends(self._topic):
            begin = self._next.get(partition)
            if begin is None:
                begin = self._client.first_offset(self._topic, partition=partition)
                self._cut = self._cut or begin > 0
            if begin < end:
                self._put(self._records(partition, begin, end))
            self._next[partition] = end

    def _records(self, partition: int, begin: int, end: int) -> Iterator[tuple[bytes, bool, bool]]:
        mark = self._marks.get(partition, 0)
        message: Any
        for message in self._client.read_range(self._topic, partition, begin, end):
            if self._abandoned.is_set():
                return
            if message.offset() >= end:
                return  # of a later transaction; it is read the next time
            key = message.key()
            if key is None:
                self._keyless += 1
                continue
            yield key, is_alive(message.value()), message.offset() >= mark

    def _put(self, records: Iterator[tuple[bytes, bool, bool]]) -> None:
        assert self._database is not None
        batch: list[tuple[bytes, bool, bool]] = []
        self._database.execute("BEGIN")
        for record in records:
            batch.append(record)
            if len(batch) >= _ROWS:
                self._database.executemany(_PUT, batch)
                batch.clear()
        self._database.executemany(_PUT, batch)
        self._database.execute("COMMIT")

    def _remove(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None
        with suppress(OSError):
            self._file.unlink()

    def _unusable(self, error: Exception) -> StateDirectoryError:
        return StateDirectoryError(
            f"keeping the keys of topic {self._topic} in {self._file.absolute()} failed: {error}",
            hint="Free disk space there, or set minercdc.state.dir to another directory.",
        )
