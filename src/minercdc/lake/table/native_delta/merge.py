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
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from minercdc.lake.spark.hadoop_files import HadoopFiles
from minercdc.lake.table.columns import CDC
from minercdc.lake.table.format import LastChanges
from minercdc.lake.table.native_delta.data_file import added
from minercdc.lake.table.native_delta.deletion_vectors import UnknownVector, read_vector, write_vectors
from minercdc.lake.table.native_delta.log import DataFile, LiveFiles, UnknownLog
from minercdc.lake.table.native_delta.schema import DeltaField, statistics_of
from minercdc.lake.table.native_delta.transaction import DeltaTransaction

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyroaring import BitMap64

log = logging.getLogger(__name__)

_MOST_ROWS = 4_000_000  # of the files that may have rows of the changes: their keys are read, some 40 bytes a row
_MOST_SMALL = 32  # files; a merge that finds more joins them, since each is opened by each merge
_SMALL = 50_000  # rows
_MOST_JOINED_ROWS = 250_000
_MOST_JOINED_BYTES = 64 * 1024 * 1024
_WRITER = "minercdc"


class _Identity(NamedTuple):
    """What identifies a row, in a data file: paths of the columns; and in the changes: their names."""

    paths: tuple[tuple[str, ...], ...]
    types: tuple[pa.DataType, ...]
    names: tuple[str, ...]


class _Matches(NamedTuple):
    """What the changes find.

    :param deleted: numbers of the rows that go, by file.
    :param known: of each change, whether the table has its row.
    :param newer: of each change, whether it is newer than that row.
    """

    deleted: Mapping[int, list[int]]
    known: pa.Array
    newer: pa.Array


class DeltaMerge:
    """One merge.

    :param files: of the table's directory.
    :param live: what is known of the table's log.
    :param marking: properties by which the table marks rows as deleted; it gets those that it lacks with the first row that goes. None where
        that is forbidden.
    :param codec: one of `data_file.CODECS`.
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
        taken = None if fields is None else _as_written(fields, changes)
        if fields is None or taken is None:
            return False
        if changes.mode == "append":
            self._transaction.reads_all()  # one that makes the table again meanwhile has them, too
            self._transaction.commit([self._added(taken)], _WRITER, 0, said)
            return True
        if (identity := _identity(fields, changes)) is None:
            return False
        try:
            found = self._live.at(self._files, self._transaction.version)
            candidates = list(_candidates(found, identity, changes.rows))
            if sum(one.records for one in candidates) > _MOST_ROWS:
                return False
            vectors = {
                number: read_vector(self._files, one.vector)
                for number, one in enumerate(candidates)
                if one.vector is not None
            }
            matches = _matches(list(self._keys(fields, identity, candidates, vectors)), identity, changes)
        except (UnknownLog, UnknownVector, pa.ArrowException, OSError) as error:
            log.debug("Spark merges: %s", error)
            return False
        if matches is None or (matches.deleted and not self._marks_rows()):
            return False
        joined = _small(found)
        rows = [taken.filter(_inserted(changes, matches))]
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
            rows = None if fields is None else _as_written(fields, changes)
            if rows is None:
                return False
            if (rows := rows.filter(_makes_row(changes))).num_rows:
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
        fields: Sequence[DeltaField],
        identity: _Identity,
        candidates: Sequence[DataFile],
        vectors: Mapping[int, BitMap64],
    ) -> Iterator[pa.Table]:
        """Of the rows of each file, but those that are deleted: columns `file`, `row`, `t_scn`, `t_seq`, `t_op`, and `k0`, .."""
        import pyarrow as pa

        cdc = next(field for field in fields if field.name == CDC)
        names = {member.name: member.physical for member in cdc.members}
        of_change = [(cdc.physical, names[name]) for name in ("commit_scn", "seq", "op")]
        paths = [*of_change, *identity.paths]
        for number, one in enumerate(candidates):
            rows = self._read(one, [".".join(path) for path in paths])
            columns = [_column(rows, path) for path in paths]
            if any(column is None for column in columns[:3]):
                raise UnknownLog(f"{one.path} lacks {CDC}")
            if any(column is None for column in columns):  # a column of the key that was added later: it is null here
                continue
            typed = [column.cast(kind) for column, kind in zip(columns[3:], identity.types, strict=True)]
            place = pa.array(range(rows.num_rows), pa.int64())
            file = pa.repeat(pa.scalar(number, pa.int32()), rows.num_rows)
            names_here = ["file", "row", "t_scn", "t_seq", "t_op", *identity.names]
            table = pa.table([file, place, *columns[:3], *typed], names_here)
            yield _without(table, vectors.get(number, ()))

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
        self, fields: Sequence[DeltaField], joined: Iterable[DataFile], deleted: Mapping[str, list[int]]
    ) -> Iterator[pa.Table]:
        """The rows of files that are to be joined, but those that are deleted, now or before."""
        import pyarrow as pa

        schema = pa.schema([field.arrow() for field in fields])
        for one in joined:
            rows = self._read(one, schema.names)
            columns = [
                rows.column(field.name).cast(field.type)
                if field.name in rows.column_names
                else pa.nulls(rows.num_rows, field.type)
                for field in schema
            ]
            gone = set(deleted.get(one.path, ()))
            if one.vector is not None:
                gone.update(read_vector(self._files, one.vector))
            yield _without(pa.table(columns, schema=schema), gone)

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


def _without(rows: pa.Table, gone: Iterable[int]) -> pa.Table:
    """The rows of a file but those of these numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if not gone:
        return rows
    places = pa.array(range(rows.num_rows), pa.int64())
    return rows.filter(pc.invert(pc.is_in(places, value_set=pa.array(gone, pa.int64()))))


def _small(found: Sequence[DataFile]) -> list[DataFile]:
    """The small files that are to be joined, the smallest first: where these are too many; else none."""
    small = sorted((one for one in found if one.records <= _SMALL), key=lambda one: one.records)
    if len(small) <= _MOST_SMALL:
        return []
    joined, rows, size = [], 0, 0
    for one in small:
        rows, size = rows + one.records, size + int(one.action["size"])
        if rows > _MOST_JOINED_ROWS or size > _MOST_JOINED_BYTES:
            break
        joined.append(one)
    return joined


def _by_path(candidates: Sequence[DataFile], deleted: Mapping[int, list[int]]) -> dict[str, list[int]]:
    return {candidates[number].path: rows for number, rows in deleted.items()}


def _now() -> int:
    return int(time.time() * 1000)


def _removed(one: DataFile, now: int) -> dict[str, Any]:
    kept = ("path", "partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion", "tags")
    members = {name: one.action[name] for name in kept if name in one.action}
    return {**members, "deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}


def _identity(fields: Sequence[DeltaField], changes: LastChanges) -> _Identity | None:
    """What identifies rows; None where equality of it is more than that of values."""
    import pyarrow as pa

    of_name = {field.name: field for field in fields}
    if CDC not in of_name:
        return None
    if not changes.key:
        member = next((member for member in of_name[CDC].members if member.name == "row_id"), None)
        if member is None or changes.rows.column("row_id").null_count:
            return None
        return _Identity(((of_name[CDC].physical, member.physical),), (member.type,), ("row_id",))
    names = {column.id: column.name for column in changes.target}
    found = [of_name.get(names.get(part, "")) for part in changes.key]
    places = tuple(f"k{i}" for i in range(len(found)))
    if any(field is None or pa.types.is_floating(field.type) or field.members for field in found):
        return None
    if any(changes.rows.column(place).null_count for place in places):
        return None
    parts = [field for field in found if field is not None]
    return _Identity(tuple((part.physical,) for part in parts), tuple(part.type for part in parts), places)


def _as_written(fields: Sequence[DeltaField], changes: LastChanges) -> pa.Table | None:
    """The changes as rows of the table; None where it has other columns, or a value is of another type."""
    import pyarrow as pa

    places = {column.name: f"c{i}" for i, column in enumerate(changes.target)}
    if {field.name for field in fields} != {*places, CDC}:
        return None
    rows, columns = changes.rows, []
    for field in fields:
        if field.name == CDC:
            column = _cdc(field, changes)
        else:
            try:
                column = rows.column(places[field.name]).cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                return None
        if column is None:
            return None
        columns.append(column)
    return pa.table(columns, schema=pa.schema([field.arrow() for field in fields]))


def _cdc(field: DeltaField, changes: LastChanges) -> pa.Array | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, members = changes.rows, []
    for member in field.members:
        if member.name == "deleted":
            if changes.mode == "mirror":
                members.append(pa.repeat(pa.scalar(False), rows.num_rows))
            else:
                members.append(pc.equal(rows.column("op"), "d").combine_chunks())
        elif member.name in rows.column_names:
            members.append(rows.column(member.name).cast(member.type).combine_chunks())
        else:
            return None
    return pa.StructArray.from_arrays(members, fields=[member.arrow() for member in field.members])


def _candidates(found: Iterable[DataFile], identity: _Identity, rows: pa.Table) -> Iterator[DataFile]:
    """The files that may have rows of the changes, by the statistics of the first column of an integer key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(identity.paths[0]) > 1 or not pa.types.is_integer(identity.types[0]):
        yield from found
        return
    bounds = pc.min_max(rows.column(identity.names[0])).as_py()
    (name,) = identity.paths[0]
    for one in found:
        least, greatest = (one.statistics.get(which, {}).get(name) for which in ("minValues", "maxValues"))
        if least is None or greatest is None or (least <= bounds["max"] and greatest >= bounds["min"]):
            yield one


def _column(rows: pa.Table, path: Sequence[str]) -> Any:
    """A column of a file by its path; None where the file lacks it."""
    if path[0] not in rows.column_names:
        return None
    column = rows.column(path[0]).combine_chunks()
    for name in path[1:]:
        if column.type.get_field_index(name) < 0:
            return None
        column = column.field(name)
    return column


def _matches(parts: Sequence[pa.Table], identity: _Identity, merged: LastChanges) -> _Matches | None:
    """What the changes find among the rows of files; None where a row is found by more than one key, or a row that is kept would become one
    with another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    changes = merged.rows
    count = changes.num_rows
    nothing = pa.repeat(pa.scalar(False), count)
    if not parts:
        return _Matches({}, nothing, nothing)
    there = pa.concat_tables(parts)
    wanted = [changes.column(name).cast(kind) for name, kind in zip(identity.names, identity.types, strict=True)]
    numbers = pa.array(range(count), pa.int32())
    asked = pa.table(
        [numbers, changes.column("commit_scn"), changes.column("seq"), *wanted],
        ["change", "c_scn", "c_seq", *identity.names],
    )
    names = list(identity.names)
    found = there.join(asked, keys=names, join_type="inner", use_threads=False)
    later = pc.greater(found.column("c_scn"), found.column("t_scn"))
    same = pc.equal(found.column("c_scn"), found.column("t_scn"))
    if merged.mode == "mirror":
        next_ = pc.greater_equal(found.column("c_seq"), found.column("t_seq"))
    else:  # as `merge.modes.soft_clauses` has it: what is there has values that the change itself may lack
        next_ = pc.or_(pc.greater(found.column("c_seq"), found.column("t_seq")), pc.equal(found.column("t_op"), "t"))
        if pc.count_distinct(found.column("change")).as_py() < found.num_rows:
            return None
    newer = found.filter(pc.or_(later, pc.and_(same, next_)))
    deleted: dict[int, list[int]] = {}
    for file, row in zip(newer.column("file").to_pylist(), newer.column("row").to_pylist(), strict=True):
        deleted.setdefault(file, []).append(row)
    if any(len(set(rows)) < len(rows) for rows in deleted.values()):
        return None
    of = [pc.is_in(numbers, value_set=one.column("change").combine_chunks()) for one in (found, newer)]
    return _Matches(deleted, *of)


def _makes_row(changes: LastChanges) -> pa.Array:
    """Which changes are rows of a table that has none of them: in a mirror all but deletes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if changes.mode == "mirror":
        return pc.not_equal(changes.rows.column("op"), "d")
    return pa.repeat(pa.scalar(True), changes.rows.num_rows)


def _inserted(changes: LastChanges, matches: _Matches) -> pa.Array:
    """Which changes become rows, where the table does not have a later state of the row."""
    import pyarrow.compute as pc

    wanted = pc.or_(pc.invert(matches.known), matches.newer)
    return pc.and_(_makes_row(changes), wanted)
