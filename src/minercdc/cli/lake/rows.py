"""Rows of a lake table, for `minercdc lake show`: as a table for people, or a JSON document a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from minercdc.errors import LakeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from minercdc.lake.read.reader import LakeTables

_OURS = "__cdc"  # of the last change of a row; only in JSON


def rows_of(found: LakeTables, name: str) -> DataFrame:
    """The rows of one table.

    :raises LakeError: there is no such table, or it is not complete at this SCN.
    """
    try:
        return found[name]
    except KeyError as error:
        said = str(error.args[0])
        problem = said if said != name else f"{name} is not in the lake at SCN {found.scn}"
        raise LakeError(problem, hint=f"Tables there: {', '.join(sorted(found)) or 'none'}.") from None


def json_lines(rows: DataFrame, most: int) -> Iterator[str]:
    """At most so many rows, a JSON object each, in Spark's form of it."""
    from pyspark.sql.functions import struct, to_json

    columns = [rows[f"`{name}`"] for name in rows.columns]
    for (line,) in rows.select(to_json(struct(*columns), {"ignoreNullFields": "false"})).limit(most).collect():
        yield line


def show(rows: DataFrame, most: int, console: Console) -> int:
    """Print at most so many rows, in no order. Returns how many there are in the table."""
    from pyspark.sql.functions import hex as as_hex
    from pyspark.sql.types import BinaryType

    wanted = [field for field in rows.schema.fields if field.name != _OURS]
    columns = [rows[f"`{field.name}`"] for field in wanted]
    texts = [
        as_hex(column) if isinstance(field.dataType, BinaryType) else column.cast("string")
        for field, column in zip(wanted, columns, strict=True)
    ]
    table = Table(box=None, header_style="bold")
    for field in wanted:
        table.add_column(Text(field.name))
    for row in rows.select(*texts).limit(most).collect():
        table.add_row(*(Text("NULL", style="dim") if value is None else Text(value) for value in row))
    console.print(table)
    count: int = rows.count()
    return count
