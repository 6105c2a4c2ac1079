"""The files of a Delta table's version, as its log has them, read by this process: Spark's own list of them takes a job of seconds.

Delta's protocol of its log (PROTOCOL.md of delta-io/delta) says what is read here: commits by number, and checkpoints of one file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

_LOG = "_delta_log"
_MOST_COMMITS = 1_000  # since the newest checkpoint; by default Delta makes one after each ten


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a version has.

    :param action: the members of the log's `add`.
    :param statistics: of its `stats`, which has `numRecords`.
    """

    action: Mapping[str, Any]
    statistics: Mapping[str, Any]

    @property
    def path(self) -> str:
        """As the log has it: relative to the table, and quoted as in a URL."""
        return str(self.action["path"])

    @property
    def vector(self) -> Mapping[str, Any] | None:
        """The descriptor of its deletion vector; None where no row is marked as deleted."""
        found: Mapping[str, Any] | None = self.action.get("deletionVector")
        return found

    @property
    def size(self) -> int:
        """Its bytes."""
        return int(self.action["size"])

    @property
    def records(self) -> int:
        """How many rows it has, those that are marked as deleted among them."""
        return int(self.statistics["numRecords"])


class TableFiles(Protocol):
    """The files of a table's directory, as `HadoopFiles` has them."""

    def read(self, name: str) -> bytes | None:
        """What a file has; None where there is none."""

    def source(self, name: str) -> Any:
        """A file that is there, as PyArrow's Parquet reader takes it."""


class UnknownLog(Exception):
    """The log has what is not read here, or a file of it is gone."""


class LiveFiles:
    """Follows the log of one table. Several threads may use it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = -1
        self._files: dict[tuple[str, str], DataFile] = {}
        self._commit = b""  # digest of the version's own

    def at(self, files: TableFiles, version: int) -> list[DataFile]:
        """The files that a version has.

        :param files: of the table's directory.
        :raises UnknownLog: they cannot be told.
        """
        with self._lock:
            return self._at(files, version)

    def _at(self, files: TableFiles, version: int) -> list[DataFile]:
        try:
            if not self._is_same(files, version) or not self._follow(files, version):
                self._begin(files, version)
                if not self._follow(files, version):
                    raise UnknownLog(f"there is no commit {self._version + 1}")
        except Exception as error:
            self._version, self._files = -1, {}
            if isinstance(error, (ValueError, LookupError, TypeError, AttributeError)):  # a damaged file
                raise UnknownLog(f"the log is not read: {error!r}") from error
            raise
        return list(self._files.values())

    def _is_same(self, files: TableFiles, version: int) -> bool:
        """Whether the log is the one that was read. One of another table may be there, as after the table was deleted and made again, or an
        older copy was put back: its versions have the same numbers."""
        if self._version < 0:
            return version < _MOST_COMMITS
        if not 0 <= version - self._version <= _MOST_COMMITS:
            return False
        content = files.read(_commit_name(self._version))
        return content is not None and sha256(content).digest() == self._commit

    def _follow(self, files: TableFiles, version: int) -> bool:
        """Take the commits up to a version; False where one of them is not there."""
        while self._version < version:
            content = files.read(_commit_name(self._version + 1))
            if content is None:
                return False
            self._take([json.loads(line) for line in content.splitlines() if line.strip()])
            self._version, self._commit = self._version + 1, sha256(content).digest()
        return True

    def _begin(self, files: TableFiles, version: int) -> None:
        """Begin with the newest checkpoint, or with the first commit."""
        self._version, self._files, self._commit = -1, {}, b""
        content = files.read(f"{_LOG}/_last_checkpoint")
        if content is None:
            return
        last = json.loads(content)
        number = int(last["version"])
        if number > version:
            raise UnknownLog("a later version has the newest checkpoint")
        if last.get("parts") or last.get("v2Checkpoint"):
            raise UnknownLog("the checkpoint has several files")
        self._take({"add": one} for one in _checkpoint(files, number))
        self._version = number
        if (commit := files.read(_commit_name(number))) is not None:
            self._commit = sha256(commit).digest()

    def _take(self, actions: Iterable[Mapping[str, Any]]) -> None:
        added = []
        for action in actions:
            if "remove" in action:
                self._files.pop(_identity(action["remove"]), None)
            elif "add" in action:
                added.append(action["add"])
        for one in added:  # a commit does not remove what it adds
            self._files[_identity(one)] = _data_file(one)


def _commit_name(version: int) -> str:
    return f"{_LOG}/{version:020}.json"


def info_of(commit: bytes) -> Mapping[str, Any]:
    """What a commit says of itself, as its file in the log has it; {} for nothing."""
    for line in commit.splitlines():
        if b'"commitInfo"' in line and "commitInfo" in (action := json.loads(line)):
            found: Mapping[str, Any] = action["commitInfo"]
            return found
    return {}


def _data_file(action: Mapping[str, Any]) -> DataFile:
    statistics = json.loads(action.get("stats") or "{}")
    if "numRecords" not in statistics or action.get("partitionValues") or ":" in action["path"] or action["path"][:1] == "/":
        raise UnknownLog("a file without a count of its rows, of a partition, or of another directory")
    return DataFile(action, statistics)


def _identity(action: Mapping[str, Any]) -> tuple[str, str]:
    vector = action.get("deletionVector")
    if vector is None:
        return str(action["path"]), ""
    return str(action["path"]), f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset')}"


def _checkpoint(files: TableFiles, version: int) -> list[dict[str, Any]]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    name = f"{_LOG}/{version:020}.checkpoint.parquet"
    try:
        with files.source(name) as source, pq.ParquetFile(source) as parquet:
            if "sidecar" in parquet.schema_arrow.names:
                raise UnknownLog("the checkpoint has several files")
            adds = parquet.read(columns=["add"]).column("add")
    except (OSError, pa.ArrowInvalid) as error:
        raise UnknownLog(f"{name}: {error}") from error
    found = []
    for add in adds.to_pylist():
        if add is not None and add.get("path"):
            one = {member: value for member, value in add.items() if value is not None and not member.endswith("_parsed")}
            one |= {member: dict(one[member]) for member in ("partitionValues", "tags") if member in one}
            found.append(one)
    return found
