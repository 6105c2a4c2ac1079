"""Captured tables that the stream does not know: which of them have rows of before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minercdc.oracle.dictionary.captured_later import captured_later
from minercdc.schema.table import Column, TableId, TableSchema


class Objects:
    """A connection to a database with these tables of schema S, by name, all of them older than the stream."""

    def __init__(self, **ids: int) -> None:
        self._ids = ids

    def cursor(self) -> Objects:
        return self

    def __enter__(self) -> Objects:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, binds: dict[str, Any]) -> None:
        assert (binds["owner"], "ALL_OBJECTS" in sql) == ("S", True)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._ids.items())


def table(database: str, name: str, object_id: int) -> TableSchema:
    return TableSchema(TableId(database, "S", name), (Column("ID", "NUMBER"),), (0,), object_id=object_id)


def test_a_table_of_another_pluggable_database_is_none_that_was_renamed() -> None:
    known = [table("SALES", "T", 70), table("STOCK", "OLD", 71)]
    new, renamed = TableId("STOCK", "S", "NEW"), TableId("STOCK", "S", "RENAMED")
    connection: Any = Objects(NEW=70, RENAMED=71)
    assert captured_later(connection, [new, renamed], known, 5) == [new]
