"""Histories of several tables, told beside each other: one lake follows them all, so that a restart is paid once for all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.connector import Connector
from tests.spark.reading import TABLE

if TYPE_CHECKING:
    from minercdc.schema.table import TableSchema

Rows = Callable[["TableSchema"], list[dict[str, Any]]]
"""The rows of a lake table, without `__cdc`."""
History = Callable[[Connector, Rows], Iterator[None]]
"""Writes what happens to its tables. Each time it yields, the lake reads that; then it looks at the rows. It delivers nothing itself."""


class Killed(Exception):
    """Takes the place of a kill."""


@contextmanager
def killed(monkeypatch: pytest.MonkeyPatch, owner: type, method: str, *, after: bool) -> Iterator[list[object]]:
    """Ends the first call of a method, of each lake table, before its work or after it; yields the tables with which that happened."""
    calls: list[object] = []
    original: Callable[..., Any] = getattr(owner, method)

    def ended(*args: Any, **kwargs: Any) -> Any:
        of_table = getattr(args[0], "name", None)
        if of_table in calls:
            return original(*args, **kwargs)
        calls.append(of_table)
        if after:
            original(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, ended)
        yield calls


@contextmanager
def counted_ways(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Counts, by lake table, what the driver's process makes or merges by itself, and what Spark does."""
    driver: Counter[str] = Counter()
    spark: Counter[str] = Counter()

    def counting(original: Callable[..., Any], *, asked: bool) -> Callable[..., Any]:
        def called(table: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(table, *args, **kwargs)
            name = re.split("[/`]", table.name.strip("`"))[-1]  # of a path, or quoted names
            if not asked:
                spark[name] += 1
            elif found:
                driver[name] += 1
            return found

        return called

    with monkeypatch.context() as patch:
        for method in ("create_of", "merge_rows"):
            patch.setattr(TABLE, method, counting(getattr(TABLE, method), asked=True))
        for method in ("merge", "replace"):
            patch.setattr(TABLE, method, counting(getattr(TABLE, method), asked=False))
        yield driver, spark


class Telling:
    """Histories that are told phase by phase.

    :ivar failures: by history, what it ended with; it is not told further.
    """

    def __init__(self, histories: Mapping[str, History], connector: Connector, rows: Rows) -> None:
        self.failures: dict[str, Exception] = {}
        self._connector = connector
        self._under_way = {name: history(connector, rows) for name, history in histories.items()}
        self._tables: dict[str, TableSchema] = {}

    def go_on(self) -> bool:
        """Each looks at what the lake has read since, and writes its next phase, which is delivered; False when all are over."""
        for name, history in list(self._under_way.items()):
            if name in self._tables:
                self._connector.table = self._tables[name]  # the default of `change`
            try:
                next(history)
            except StopIteration:
                del self._under_way[name]
            except Exception as error:
                self.failures[name] = error
                del self._under_way[name]
            else:
                self._tables[name] = self._connector.table
        if self._under_way:
            self._connector.commit()
        return bool(self._under_way)
