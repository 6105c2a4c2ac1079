"""What the change log holds of each topic, summed up by this process with no Spark job: a start of the lake asks it.

The queries of `ChangeLog` are the reference, and do it where a log is large, or only Spark reads it. `tests/spark/test_lake_log_records.py`
compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minercdc.lake.stream.log_columns import in_columns, schema_of
from minercdc.lake.table.format import LogTable, RowsAsked

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

_MOST_BYTES = 128 * 1024 * 1024  # of the columns that are read, some 60 a record
_OF_BATCH = (
    "topic",
    "batch",
    "op",
    "scn",
    "commit_scn",
    "seq",
    "commit_time",
    "row_id",
    "initial",
    "partial",
    "long_number",
)


def sums_of_batches(table: LogTable) -> list[Mapping[str, Any]] | None:
    """By topic and batch, what `ChangeLog.arrivals` counts, by the names that it has there; None where Spark has to count.

    :param table: the change log.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if (rows := _read(table, _OF_BATCH)) is None:
        return None
    op, scn, zero = rows["op"], rows["scn"], pa.scalar(0, pa.int64())
    is_op = {name: pc.fill_null(pc.equal(op, name), False) for name in "trd"}
    columns = {
        "topic": rows["topic"],
        "batch": rows["batch"],
        "commit_scn": rows["commit_scn"],
        "scn": scn,
        "truncated": pc.if_else(is_op["t"], scn, zero),
        "snapshot": pc.if_else(pc.fill_null(rows["initial"], False), scn, zero),
        "undecodable": _ones(pc.or_(pc.is_null(op), pc.is_null(scn))),
        "has_partial": pc.fill_null(rows["partial"], False),
        "unplaced": _ones(pc.and_(pc.is_null(rows["row_id"]), pc.fill_null(pc.not_equal(op, "t"), False))),
        "has_read": is_op["r"],
        "has_vanished": pc.and_(is_op["d"], pc.fill_null(pc.equal(rows["seq"], 0), False)),
        "oldest_us": rows["commit_time"].cast(pa.int64()),
        "has_long_number": pc.fill_null(rows["long_number"], True),
    }
    wanted = {
        "rows": ([], "count_all"),
        "lowest": ("commit_scn", "min"),
        "highest": ("commit_scn", "max"),
        "lowest_scn": ("scn", "min"),
        "highest_scn": ("scn", "max"),
        "oldest_us": ("oldest_us", "min"),
        **{name: (name, "max") for name in ("truncated", "snapshot")},
        **{name: (name, "sum") for name in ("undecodable", "unplaced")},
        **{name: (name, "any") for name in ("has_partial", "has_read", "has_vanished", "has_long_number")},
    }
    found = pa.table(columns).group_by(["topic", "batch"], use_threads=False).aggregate(list(wanted.values()))
    names = {"count_all" if not of else f"{of}_{how}": name for name, (of, how) in wanted.items()}
    sums: list[Mapping[str, Any]] = found.rename_columns([names.get(name, name) for name in found.column_names]).to_pylist()
    return sums


def ends_of_partitions(table: LogTable) -> dict[tuple[str, int], int] | None:
    """As `ChangeLog.ends`; None where Spark has to find them.

    :param table: the change log.
    """
    if (rows := _read(table, ("topic", "partition", "offset"))) is None:
        return None
    found = rows.group_by(["topic", "partition"], use_threads=False).aggregate([("offset", "max")]).to_pylist()
    return {(row["topic"], row["partition"]): row["offset_max"] + 1 for row in found}


def _ones(chosen: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return chosen.cast(pa.int64())


def _read(table: LogTable, names: tuple[str, ...]) -> pa.Table | None:
    """Columns of all rows; None where only Spark reads them."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        return None
    import pyarrow as pa

    parts = table.read_here(RowsAsked(_MOST_BYTES, names))
    if parts is None:
        return None
    made = [schema_of(names).empty_table()]
    for part in parts:
        if (rows := in_columns(part, names)) is None:
            return None
        made.append(rows)
    return pa.concat_tables(made)
