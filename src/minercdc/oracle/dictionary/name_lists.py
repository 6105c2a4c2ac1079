"""Queries of the dictionary for lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import oracledb

_T = TypeVar("_T")
# Oracle allows 1000 items in a list (ORA-01795); fewer keep the number of different statements small.
LONGEST: Final = 500


def lists(items: Sequence[_T]) -> Iterable[Sequence[_T]]:
    """The items in lists that a statement takes."""
    return (items[at : at + LONGEST] for at in range(0, len(items), LONGEST))


def listed(cursor: oracledb.Cursor, sql: str, owner: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of a query with the bind `owner` and, at `{names}`, a list of names: one of `lists`. Raises oracledb.Error."""
    binds = {f"n{i}": name for i, name in enumerate(names)}
    cursor.execute(sql.format(names=", ".join(f":{bind}" for bind in binds)), {"owner": owner, **binds})
    return [tuple(row) for row in cursor]
