"""Merges the last changes of rows that this process has into an Iceberg table, with no Spark job: the rows that change are deleted by position, what
they are then is a new file, and one commit of Iceberg's has both.

Spark's MERGE of `merge.modes.Mirror` and `SoftDelete` is the reference, and does what is left to it: a table of many rows that may match, or in many
files, partitions, format version 3, columns that the source does not have, keys of floating point. `tests/spark_iceberg/test_native_iceberg.py`
compares both.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minercdc.lake.spark.jvm import java_class
from minercdc.lake.table.format import LastChanges
from minercdc.lake.table.native.fields import FileField
from minercdc.lake.table.native.matching import (
    Identity,
    as_written,
    bounds_of,
    identity_of,
    inserted,
    key_paths,
    keys_in,
    makes_row,
    matches_of,
    whole_rows,
)
from minercdc.lake.table.native.parquet import UnknownRows
from minercdc.lake.table.native.small_files import MOST_ROWS, to_join
from minercdc.lake.table.native_iceberg.files import DeletesFile, IcebergFiles, ListedFile, unread
from minercdc.lake.table.native_iceberg.table import commit, plain_fields

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_MOST_FILES = 500  # each is opened
_MOST_MARKED = 64  # files of which rows go: each gets a file of deletes


class _Change(NamedTuple):
    """What a merge makes of a table.

    :param rows: of the new file.
    :param joined: the files whose rows are among them.
    :param marked: of the other files of which rows go, the numbers of all rows that are deleted then.
    """

    rows: pa.Table
    joined: Sequence[ListedFile]
    marked: Mapping[ListedFile, Sequence[int]]


class IcebergMerge:
    """One merge.

    :param table: Iceberg's object.
    :param said: what the commit's summary says.
    """

    def __init__(self, spark: SparkSession, table: Any, said: Mapping[str, str]) -> None:
        self._spark, self._table, self._said = spark, table, said
        self._files = IcebergFiles(spark, table)

    def run(self, changes: LastChanges) -> bool:
        """Merge, in one commit; False where Spark has to."""
        fields = plain_fields(self._spark, self._table)
        taken = None if fields is None else as_written(fields, changes)
        if fields is None or taken is None:
            return False
        try:
            with unread():
                newest = self._table.currentSnapshot()
                change = None if newest is None else self._change(fields, changes, taken)
                if change is None:
                    return False
                update = self._update(change, int(newest.snapshotId()))
        except UnknownRows as error:
            log.debug("Spark merges: %s", error)
            return False
        if update is not None:
            commit(update, self._said)
        return True

    def _change(self, fields: Sequence[FileField], changes: LastChanges, taken: pa.Table) -> _Change | None:
        """What the merge makes of the table; None where Spark has to find that out."""
        import pyarrow as pa

        if changes.mode == "append":
            return _Change(taken, [], {})
        if (identity := identity_of(fields, changes)) is None:
            return None
        candidates = list(self._files.listed(bounds_of(identity, changes.rows)))
        if sum(one.records for one in candidates) > MOST_ROWS or len(candidates) > _MOST_FILES:
            return None
        gone = self._files.positions(_each(candidates))
        matches = matches_of(list(self._keys(fields, identity, candidates, gone)), identity, changes)
        if matches is None or len(matches.deleted) > _MOST_MARKED:
            return None
        deleted = {candidates[number].path: rows for number, rows in matches.deleted.items()}
        joined = to_join(candidates)
        apart = {one.path for one in joined}
        rows = [taken.filter(inserted(changes, matches))]
        for one in joined:
            without = {*gone.get(one.path, ()), *deleted.get(one.path, ())}
            rows.append(whole_rows(self._files.rows(one, fields), fields, without))
        marked = {
            one: [*gone.get(one.path, ()), *deleted[one.path]]
            for one in candidates
            if one.path in deleted and one.path not in apart
        }
        return _Change(pa.concat_tables(rows), joined, marked)

    def _update(self, change: _Change, snapshot: int) -> Any | None:
        """Write the files of a change; Iceberg's update that is to be committed, None for no change.

        :param snapshot: id of that which was read.
        """
        if not (change.rows.num_rows or change.joined or change.marked):
            return None
        files, delta = self._files, self._table.newRowDelta()
        if change.rows.num_rows:
            delta = delta.addRows(files.new_rows(change.rows))
        for one in change.joined:
            delta = delta.removeRows(one.task.file())
        for one, rows in change.marked.items():
            delta = delta.addDeletes(files.new_deletes(one.path, rows))
        # Those of a file that goes, and those whose rows are in the new one.
        for one in [*change.joined, *change.marked]:
            for delete in files.deletes_alone(one):
                delta = delta.removeDeletes(delete)
        everything = java_class(self._spark, "org.apache.iceberg.expressions.Expressions").alwaysTrue()
        delta = delta.validateFromSnapshot(snapshot).conflictDetectionFilter(everything).validateDeletedFiles()
        delta = delta.validateNoConflictingDataFiles().validateNoConflictingDeleteFiles()
        return delta.validateDataFilesExist([one.path for one in change.marked])

    def _keys(
        self,
        fields: Sequence[FileField],
        identity: Identity,
        candidates: Sequence[ListedFile],
        gone: Mapping[str, Sequence[int]],
    ) -> Iterator[pa.Table]:
        """See `keys_in`."""
        paths = key_paths(fields, identity)
        tops = {path[0] for path in paths}
        wanted = [field for field in fields if field.name in tops]
        for number, one in enumerate(candidates):
            rows = self._files.rows(one, wanted, paths)
            found = keys_in(rows, number, paths, identity, gone.get(one.path, ()))
            if found is not None:
                yield found


def first_rows(changes: LastChanges, fields: Sequence[FileField]) -> pa.Table | None:
    """The rows that changes make of a table of these columns that has none; None where Spark has to write them."""
    rows = as_written(fields, changes)
    return None if rows is None else rows.filter(makes_row(changes))


def _each(found: Iterable[ListedFile]) -> Iterable[DeletesFile]:
    """The files of deletes, each once."""
    return {delete.path: delete for one in found for delete in one.deletes}.values()
