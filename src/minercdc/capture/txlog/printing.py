"""Prints the statements of an installation or removal as a script that people read and SQL*Plus runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from minercdc.capture.txlog.installation import Object
from minercdc.schema.table import TableId, TableSchema

_PLAIN = re.compile(r"[\w$#]+\.[\w$#]+")
_BLOCK = re.compile(r"(BEGIN|DECLARE|CREATE OR REPLACE (PACKAGE|TRIGGER))\b")
_COLUMNS = re.compile(r'(AS SELECT )"TXN" FROM ("[^"]+")')
_BEGIN = [
    "-- SQL*Plus ends at the first error; minercdc txlog install goes on from there",
    "WHENEVER SQLERROR EXIT FAILURE ROLLBACK",
]


def script(objects: Sequence[Object], *, without_columns: bool = False) -> str:
    """The script: for each object with a problem, a comment and its statements; '' when no object has one.

    :param without_columns: the tables' columns are not known: their views are made to show all columns.
    """
    lines: list[str] = []
    for one in objects:
        if one.problem:
            lines += ["", f"-- {one.what}", *map(_ended, one.statements)]
    text = "\n".join([*_BEGIN, *lines] if lines else [])
    # The star leaves TXN out, which is INVISIBLE where the script adds it.
    return _COLUMNS.sub(r'\1\2."TXN", \2.* FROM \2', text) if without_columns else text


def _ended(statement: str) -> str:
    return f"{statement}\n/" if _BLOCK.match(statement) else f"{statement};"


def tables_by_name(patterns: Sequence[str], owner: str) -> list[TableSchema]:
    """A TableSchema without columns and key for each pattern, in the same order, when all patterns are plain names
    `OWNER.TABLE` of tables of `owner`; else []. No database is read.

    :param patterns: of `table.include.list`.
    :param owner: in upper case.
    """
    found = []
    for pattern in patterns:
        plain = pattern.replace("\\$", "$").replace("\\.", ".").upper()
        if not _PLAIN.fullmatch(plain) or not plain.startswith(f"{owner}."):
            return []
        found.append(TableSchema(TableId("", owner, plain.partition(".")[2]), (), ()))
    return found
