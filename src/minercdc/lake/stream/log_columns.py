"""The columns of the change log as this process reads them, in Arrow's types."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

log = logging.getLogger(__name__)

OF_RECORD: Final = (
    *("partition", "offset", "op", "scn", "commit_scn", "seq", "commit_time", "row_id"),
    *("initial", "partial", "long_number", "key", "value", "unavailable", "old_key"),
)
"""All but `batch` and `topic`, in the order of `BatchScan.rows`."""
_ADDED = frozenset(["long_number", "unavailable", "old_key"])  # a log of an older version lacks them


def schema_of(names: Sequence[str]) -> pa.Schema:
    """The types of columns."""
    import pyarrow as pa

    kinds: dict[str, Any] = {
        "partition": pa.int32(),
        **dict.fromkeys(("batch", "offset", "scn", "commit_scn", "seq"), pa.int64()),
        **dict.fromkeys(("topic", "op", "row_id", "key", "value", "unavailable", "old_key"), pa.string()),
        "commit_time": pa.timestamp("us", "UTC"),
        **dict.fromkeys(("initial", "partial", "long_number"), pa.bool_()),
    }
    return pa.schema([(name, kinds[name]) for name in names])


def in_columns(rows: pa.Table, names: Sequence[str]) -> pa.Table | None:
    """Rows of a file in columns of these types, null where the log is of an older version; None where they are no rows of a change log."""
    import pyarrow as pa

    schema, columns = schema_of(names), []
    for field in schema:
        if field.name in rows.column_names:
            try:
                columns.append(rows.column(field.name).cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                log.debug("Spark reads the change log: %s: %s", field.name, error)
                return None
        elif field.name in _ADDED:
            columns.append(pa.nulls(rows.num_rows, field.type))
        else:
            return None
    return pa.table(columns, schema=schema)
