"""Which changes of one key are of one row, where some of them have no ROWID: as `merge.latest` finds it in SQL, of records that this process
has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_ORDER = ("commit_scn", "seq", "offset")


def homes(batches: Sequence[pa.RecordBatch]) -> list[pa.Array]:
    """The ROWIDs of records of the change log, batch by batch; of a record without one, that of the next record of its key that has one, or of
    the last one before; null where its key has none.

    LogMiner does not know the ROWID of an INSERT with large values. The row's next change has it, under the same key.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    row_ids = [batch.column("row_id") for batch in batches]
    if not any(column.null_count for column in row_ids):
        return row_ids
    whole = pa.table({name: _joined(batches, name) for name in ("key", "row_id", *_ORDER)})
    lacking = whole.filter(pc.is_null(whole.column("row_id"))).column("key")
    # Null is a key of its own, as in the GROUP BY of SQL.
    asked = pc.is_in(whole.column("key"), value_set=pc.unique(lacking.combine_chunks()))
    places = pc.indices_nonzero(asked.combine_chunks())
    found = whole.take(places).append_column("place", places)
    found = found.sort_by([(name, "ascending") for name in ("key", *_ORDER)])
    filled = _filled(found.column("key").to_pylist(), found.column("row_id").to_pylist())
    chosen = dict(zip(found.column("place").to_pylist(), filled, strict=True))
    made, begin = [], 0
    for column in row_ids:
        if column.null_count:
            values = [chosen.get(begin + i, value) for i, value in enumerate(column.to_pylist())]
            column = pa.array(values, pa.string())
        made.append(column)
        begin += len(column)
    return made


def _joined(batches: Sequence[pa.RecordBatch], name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([batch.column(name) for batch in batches])


def _filled(keys: Sequence[str | None], row_ids: Sequence[str | None]) -> list[str | None]:
    """ROWIDs in which those that are lacking are taken from the next ones of their key, else from those before.

    :param keys: sorted, so that those of one row are beside each other.
    """
    made = list(row_ids)
    for step in (-1, 1):  # backwards, what follows is met first
        places = range(len(made))[::step]
        for place, before in zip(places[1:], places, strict=False):
            if made[place] is None and keys[place] == keys[before]:
                made[place] = made[before]
    return made
