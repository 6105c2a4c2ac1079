"""The snapshots of an Iceberg table, and what their summaries say of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from minercdc.errors import LakeError
from minercdc.lake.spark.jvm import elements, java_class
from minercdc.lake.table.format import READERS_TIME, Applied
from minercdc.lake.table.iceberg.layout import TAG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In the summaries of snapshots.
APPLIED: Final = "minercdc.applied"
MODE: Final = "minercdc.mode"
WRITER: Final = "minercdc.writer"
NUMBER: Final = "minercdc.number"
COLUMNS: Final = "minercdc.columns"
"""Of a snapshot that changes columns alone."""
REWRITE: Final = "replace"
"""Operation of a snapshot that has the rows of the one before."""


_ID_BITS: Final = 31


class _Version(NamedTuple):
    """A snapshot as a version.

    :param is_rewrite: it has the rows of the one before it.
    :param before: the version of that one; None where it is not kept.
    """

    version: int
    is_rewrite: bool
    before: int | None


def version_of(snapshot: Any) -> int:
    """The version of a snapshot: its sequence number, and after that a part of its id. A table that is replaced takes the place of what others
    have committed since that began, and their numbers."""
    return int(snapshot.sequenceNumber()) << _ID_BITS | int(snapshot.snapshotId()) & (1 << _ID_BITS) - 1


def _number_of(version: int) -> int:
    """The sequence number of a version, which older records of the lake have in its place."""
    return version >> _ID_BITS if version >> _ID_BITS else version


def _is_version(version: int, snapshot: Any) -> bool:
    return version in (version_of(snapshot), int(snapshot.sequenceNumber()))


class Snapshots:
    """The snapshots of one Iceberg table, as its newest metadata has them; read once.

    :ivar newest: the current snapshot; None for none.
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        session: Any = spark
        activate(spark)
        self.table = java_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(session._jsparkSession, name)
        self.newest = self.table.currentSnapshot()

    def back(self, version: int | None = None) -> Iterator[Any]:
        """The snapshots that were the table's, the newest first, as far as they are kept. That of a table that was replaced has no
        parent, so the table's history says which they are; where one was removed, Iceberg ends the history with the one after it."""
        seen: set[int] = set()
        oldest = None
        for entry in reversed(self.table.history()):  # fetched one after the other: the newest few say what is looked for
            one = self.table.snapshot(entry.snapshotId())
            if one is not None and int(entry.snapshotId()) not in seen:
                seen.add(int(entry.snapshotId()))
                oldest = min(int(one.sequenceNumber()), oldest or int(one.sequenceNumber()))
                if version is None or int(one.sequenceNumber()) <= _number_of(version):
                    yield one
        if oldest is not None:
            yield from self._before_history(oldest if version is None else min(oldest, _number_of(version) + 1), seen)

    def _before_history(self, before: int, of_history: Collection[int]) -> Iterator[Any]:
        """The snapshots that are kept of those before a version, but for those of branches of others, the newest first."""
        kept = {int(one.snapshotId()): one for one in elements(self.table.snapshots())}
        elsewhere: set[int] = set()
        for name, ref in dict(self.table.refs()).items():
            at = int(ref.snapshotId()) if ref.isBranch() and str(name) != "main" else None
            while at in kept and at not in of_history and not _is_ours(kept[at]):
                elsewhere.add(at)
                at = kept[at].parentId()
        numbers = {at: int(one.sequenceNumber()) for at, one in kept.items() if at not in elsewhere}
        for at in sorted(numbers, key=lambda at: numbers[at], reverse=True):
            if numbers[at] < before:
                yield kept[at]

    def said(self, member: str, version: int | None = None) -> str | None:
        """What the newest snapshot up to a version says that has this member in its summary; None for none. One that joined files repeats
        what was said when it began, so that it counts only where no other is kept: a merge may have been committed meanwhile.

        :param version: None for the newest one.
        """
        return _said(self.back(version), member)

    def up_to(self, applied: Applied) -> Any:
        """The newest snapshot that has nothing after `applied`, as far as the snapshots say it; the newest one where all have. There is one."""
        found = None
        for one in self.back():
            found = found or one
            said = None if str(one.operation()) == REWRITE else Applied.from_json(one.summary().get(APPLIED))
            if said is not None and said.scn <= applied.scn:
                return found
            if said is not None:
                found = None
        return found or self.newest

    def first_of(self, applied: Applied) -> Any:
        """The first snapshot that says `applied`, of those since another one was said; the newest one where none does. There is one."""
        found = None
        for one in self.back():
            said = Applied.from_json(one.summary().get(APPLIED))
            if said == applied:
                found = one
            elif said is not None and str(one.operation()) != REWRITE:
                break
        return found or self.newest

    def rewritten(self, version: int) -> int:
        """See `LakeTable`."""
        return _rewritten(map(self._version, self.back()), version)

    def _version(self, one: Any) -> _Version:
        parent = None if one.parentId() is None else self.table.snapshot(one.parentId())
        before = None if parent is None else version_of(parent)
        return _Version(version_of(one), str(one.operation()) == REWRITE, before)

    def of_version(self, version: int) -> Any:
        """The snapshot of a version. Raises LakeError when it is not kept."""
        found = next((one for one in self.back() if _is_version(version, one)), None)
        if found is None:
            raise LakeError(
                f"version {_number_of(version)} of Iceberg table {self.table.name()} is not kept any more",
                hint="Another program expired its snapshots. Read a later SCN, or the newest one.",
            )
        return found

    def expire(self, age: timedelta, spoken: Sequence[str], kept: Collection[int] | None = None) -> None:
        """Remove the snapshots that were replaced longer ago than `age`, but for the newest one that has what is said last (`said`) by each of
        some members.

        :param kept: versions of which the rows are needed, of the younger ones; None for all.
        """
        now = datetime.now(UTC)
        until, readers = (int((now - one).timestamp() * 1000) for one in (age, min(age, READERS_TIME)))
        line = list(self.back())
        numbers = list(map(self._version, line)) if kept else []
        # A version that was joined long ago has gone: what has its rows is needed in its place.
        needed = {found for one in kept or () if one > 0 for found in (one, _rewritten(numbers, one))}
        said = {name: _said(line, name) for name in spoken}
        spoken_at = {next((i for i, one in enumerate(line) if one.summary().get(name) == said[name]), 0) for name in spoken}
        tagged: dict[int, list[str]] = {}
        for name, ref in dict(self.table.refs()).items():
            tagged.setdefault(int(ref.snapshotId()), []).append(str(name))
        going = []
        for i, one in enumerate(line[1:], 1):
            replaced = int(line[i - 1].timestampMillis())
            is_needed = kept is None or any(_is_version(version, one) for version in needed)
            if any(not name.startswith(TAG) for name in tagged.get(int(one.snapshotId()), ())):
                continue  # a tag or a branch of others
            if i not in spoken_at and (replaced < until or (replaced < readers and not is_needed)):
                going.append(one)
        if ours := [name for one in going for name in tagged.get(int(one.snapshotId()), ())]:
            changed = self.table.manageSnapshots()
            for name in ours:
                changed = changed.removeTag(name)
            changed.commit()
        if going:
            expiry = self.table.expireSnapshots()
            for one in going:
                expiry = expiry.expireSnapshotId(one.snapshotId())
            expiry.cleanExpiredFiles(True).commit()


def _said(line: Iterable[Any], member: str) -> str | None:
    """`Snapshots.said`, of the snapshots of `Snapshots.back`."""
    repeated = least = None
    for one in line:
        number = int(one.sequenceNumber())
        if least is not None and number > least:
            continue  # another program has set the table back to one before it
        least = number
        if (text := one.summary().get(member)) is not None:
            if str(one.operation()) != REWRITE:
                return str(text)
            repeated = repeated or str(text)
    return repeated


def _rewritten(line: Iterable[_Version], version: int) -> int:
    """`Snapshots.rewritten`, of the snapshots of `Snapshots.back`."""
    later: list[_Version] = []
    for one in line:
        if _number_of(one.version) <= _number_of(version):
            break
        later.append(one)
    for one in reversed(later):
        if not one.is_rewrite or (one.before is not None and not _leads_to(one.before, version)):
            break
        version = one.version
    return version


def _leads_to(before: int, version: int) -> bool:
    """Whether what joined the files of the version `before` may have the rows of a version: not where another program had set the table back
    to an earlier one, or another process had written over it."""
    if (before >> _ID_BITS) == _number_of(version):
        return version in (before, _number_of(version))
    return before >> _ID_BITS > _number_of(version)


def _is_ours(snapshot: Any) -> bool:
    """Whether the lake has made a snapshot."""
    summary = snapshot.summary()
    return any(summary.get(member) is not None for member in (APPLIED, WRITER, COLUMNS))


def activate(spark: SparkSession) -> None:
    """Make a session the thread's active one: a catalog is loaded with the settings of that."""
    session: Any = spark
    java_class(spark, "org.apache.spark.sql.SparkSession").setActiveSession(session._jsparkSession)
