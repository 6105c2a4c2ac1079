"""Merges the last changes of rows that this process has into a Delta table, with no Spark job: the rows that change are marked as deleted
(`deletion_vectors`), what they are then is a new file, and Delta's own transaction commits both.

Spark's MERGE of `merge.modes.Mirror` and `SoftDelete` is the reference, and does what is left to it: a table of many rows that may match, partitions,
constraints, columns that the source does not have, keys of floating point. `tests/spark/test_native_delta.py` compares both.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from minercdc.lake.spark.hadoop_files import HadoopFiles
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
from minercdc.lake.table.native.small_files import MOST_ROWS, to_join
from minercdc.lake.table.native_delta.data_file import added
from minercdc.lake.table.native_delta.deletion_vectors import UnknownVector, read_vector, write_vectors
from minercdc.lake.table.native_delta.log import DataFile, LiveFiles, UnknownLog
from minercdc.lake.table.native_delta.schema import statistics_of
from minercdc.lake.table.native_delta.transaction import DeltaTransaction

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyroaring import BitMap64

log = logging.getLogger(__name__)

_WRITER = "minercdc"


class DeltaMerge:
    """One merge.

    :param files: of the table's directory.
    :param live: what is known of the table's log.
    :param marking: properties by which the table marks rows as deleted; it gets those that it lacks with the first row that goes. None where
        that is forbidden.
    :param codec: one of `native.parquet.CODECS`.
    :param spark: its version.
    """

    def __init__(
        self,
        transaction: DeltaTransaction,
        files: HadoopFiles,
        live: LiveFiles,
        marking: Mapping[str, str] | None,
        *,
        codec: str,
        spark: str,
    ) -> None:
        self._transaction, self._files, self._live, self._marking = transaction, files, live, marking
        self._codec, self._spark = codec, spark

    def run(self, changes: LastChanges, said: str) -> bool:
        """Merge, in one commit; False where Spark has to.

        :param said: the commit's `userMetadata`.
        """
        import pyarrow as pa

        fields = self._transaction.plain_fields()
        taken = None if fields is None else as_written(fields, changes)
        if fields is None or taken is None:
            return False
        if changes.mode == "append":
            self._transaction.reads_all()  # one that makes the table again meanwhile has them, too
            self._transaction.commit([self._added(taken)], _WRITER, 0, said)
            return True
        if (identity := identity_of(fields, changes)) is None:
            return False
        try:
            found = self._live.at(self._files, self._transaction.version)
            candidates = list(_candidates(found, identity, changes.rows))
            if sum(one.records for one in candidates) > MOST_ROWS:
                return False
            vectors = {
                number: read_vector(self._files, one.vector)
                for number, one in enumerate(candidates)
                if one.vector is not None
            }
            matches = matches_of(list(self._keys(fields, identity, candidates, vectors)), identity, changes)
        except (UnknownLog, UnknownVector, pa.ArrowException, OSError) as error:
            log.debug("Spark merges: %s", error)
            return False
        if matches is None or (matches.deleted and not self._marks_rows()):
            return False
        joined = to_join(found)
        rows = [taken.filter(inserted(changes, matches))]
        try:
            rows += self._live_rows(fields, joined, _by_path(candidates, matches.deleted))
        except (UnknownLog, UnknownVector, pa.ArrowException, OSError) as error:
            log.debug("small files are not joined: %s", error)
            joined, rows = [], rows[:1]
        paths = {one.path for one in joined}
        actions: list[Mapping[str, Any]] = [{"remove": _removed(one, _now())} for one in joined]
        rest = {number: gone for number, gone in matches.deleted.items() if candidates[number].path not in paths}
        actions += self._marked(candidates, vectors, rest)
        if (whole := pa.concat_tables(rows)).num_rows:
            actions.append(self._added(whole))
        if actions:
            self._transaction.reads_all()
            self._transaction.commit(actions, _WRITER, 0, said)
        return True

    def begin(self, changes: LastChanges | None, said: str) -> bool:
        """Make the table, in the transaction's one commit, with the rows that changes make; False where Spark has to.

        :param said: the commit's `userMetadata`.
        """
        actions = []
        if changes is not None:
            fields = self._transaction.plain_fields()
            rows = None if fields is None else as_written(fields, changes)
            if rows is None:
                return False
            if (rows := rows.filter(makes_row(changes))).num_rows:
                actions.append(self._added(rows))
        self._transaction.commit(actions, _WRITER, 0, said)
        return True

    def _added(self, rows: pa.Table) -> Mapping[str, Any]:
        return {"add": added(self._files, rows, statistics_of(rows), self._codec, dictionaries=True, spark=self._spark)}

    def _marks_rows(self) -> bool:
        """Whether the table may mark rows as deleted, from this commit on."""
        if self._transaction.properties().get("delta.enableDeletionVectors") != "true":
            if self._marking is None:
                return False
            self._transaction.give(self._marking)
        return True

    def _keys(
        self,
        fields: Sequence[FileField],
        identity: Identity,
        candidates: Sequence[DataFile],
        vectors: Mapping[int, BitMap64],
    ) -> Iterator[pa.Table]:
        """See `keys_in`."""
        paths = key_paths(fields, identity)
        for number, one in enumerate(candidates):
            rows = self._read(one, [".".join(path) for path in paths])
            try:
                found = keys_in(rows, number, paths, identity, vectors.get(number, ()))
            except KeyError as error:
                raise UnknownLog(f"{one.path} lacks {error.args[0]}") from error
            if found is not None:
                yield found

    def _marked(
        self, candidates: Sequence[DataFile], vectors: Mapping[int, BitMap64], deleted: Mapping[int, list[int]]
    ) -> Iterator[Mapping[str, Any]]:
        """The log's actions for files some of whose rows go."""
        from pyroaring import BitMap64

        kept: list[tuple[DataFile, BitMap64]] = []
        for number, rows in sorted(deleted.items()):
            one = candidates[number]
            gone = BitMap64(rows) | vectors.get(number, BitMap64())
            if len(gone) < one.records:
                kept.append((one, gone))
            yield {"remove": _removed(one, _now())}
        for (one, _), descriptor in zip(kept, write_vectors(self._files, [gone for _, gone in kept]), strict=True):
            statistics = json.dumps({**one.statistics, "tightBounds": False}, separators=(",", ":"))
            yield {"add": {**one.action, "dataChange": True, "stats": statistics, "deletionVector": descriptor}}

    def _live_rows(
        self, fields: Sequence[FileField], joined: Iterable[DataFile], deleted: Mapping[str, list[int]]
    ) -> Iterator[pa.Table]:
        """The rows of files that are to be joined, but those that are deleted, now or before."""
        names = [field.physical for field in fields]
        for one in joined:
            gone = set(deleted.get(one.path, ()))
            if one.vector is not None:
                gone.update(read_vector(self._files, one.vector))
            yield whole_rows(self._read(one, names), fields, gone)

    def _read(self, one: DataFile, columns: Sequence[str]) -> pa.Table:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        with (
            self._files.source(unquote(one.path)) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit="us") as parquet,
        ):
            rows = parquet.read(columns=columns)
        if rows.num_rows != one.records:
            raise UnknownLog(f"{one.path} has {rows.num_rows} rows in place of {one.records}")
        return rows


def _by_path(candidates: Sequence[DataFile], deleted: Mapping[int, list[int]]) -> dict[str, list[int]]:
    return {candidates[number].path: rows for number, rows in deleted.items()}


def _now() -> int:
    return int(time.time() * 1000)


def _removed(one: DataFile, now: int) -> dict[str, Any]:
    kept = ("path", "partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion", "tags")
    members = {name: one.action[name] for name in kept if name in one.action}
    return {**members, "deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}


def _candidates(found: Iterable[DataFile], identity: Identity, rows: pa.Table) -> Iterator[DataFile]:
    """The files that may have rows of the changes, by the statistics of the first column of an integer key."""
    bounds = bounds_of(identity, rows)
    if not bounds:
        yield from found
        return
    ((name, (first, last)),) = bounds.items()
    for one in found:
        least, greatest = (one.statistics.get(which, {}).get(name) for which in ("minValues", "maxValues"))
        if least is None or greatest is None or (least <= last and greatest >= first):
            yield one
