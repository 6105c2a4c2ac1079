"""The form in which row versions are read, ordered and emitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from minercdc.schema.table import TableSchema
from minercdc.stream.events import Row

KeyColumns: TypeAlias = Callable[[TableSchema], tuple[int, ...]]
"""Positions of the columns of a table's record key; () for none. Raises ConfigError as `messages.configured.key_columns`."""


@dataclass(slots=True)
class Version:
    """What one transaction made of one row: a row version, or the delete of the row.

    :param scn: of the commit.
    :param xid: 16 lower-case hex digits; zeros when not known.
    :param op: VERSIONS_OPERATION: I, U or D.
    :param before: the row as the transaction before left it, or as it was before the window where only last versions are
        read; None of an insert, and until `VersionReader` has set it.
    :param after: None of a delete.
    :param time_us: of the commit, microseconds since the epoch in UTC, exact to three seconds; 0 when not known.
    """

    schema: TableSchema
    scn: int
    xid: str
    op: str
    row_id: str
    before: Row | None
    after: Row | None
    time_us: int


def places_of_keys(schema: TableSchema, record_key: KeyColumns) -> tuple[tuple[int, ...], ...]:
    """Positions of what readers know the table's rows by: its own key, and the record key where that is another one."""
    return tuple(dict.fromkeys(key for key in (schema.key, record_key(schema)) if key))
