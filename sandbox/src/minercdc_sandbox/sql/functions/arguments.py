"""Checks the number of a function's arguments, and finds the common type of several values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, types
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.types import INTERVALS, NULL, NUMERIC, TEMPORAL, TEXT, Family, SqlType, inconsistent, varchar


def count_arguments(expr: ast.Call, args: Sequence[Typed], low: int, high: int | None = None) -> None:
    """Raises ORA-00909 when there is no argument and `low` is 1, ORA-00938 for fewer than another `low`, ORA-00939 for more than
    `high`. `high` None: any number."""
    if len(args) < low == 1:
        raise OraError(909, "invalid number of arguments", expr.at)
    if len(args) < low:
        raise OraError(938, "not enough arguments for function", expr.at)
    if high is not None and len(args) > high:
        raise OraError(939, "too many arguments for function", expr.at)


def common_type(args: Sequence[Typed], at: int) -> SqlType:
    """The type that the results of CASE, the columns of UNPIVOT and those of set operations are converted to: a text, RAW or
    interval with the greatest size or precision of all, ROWIDs with texts a VARCHAR2(4000), numbers as they are calculated, dates
    and timestamps as the most precise; the NULL type if all values are NULL. Raises, with `at` as position, ORA-00932 for types
    that do not match, ORA-03001 for CLOB with NCLOB."""
    known = [arg.type for arg in args if arg.type.family is not Family.NULL]
    if not known:
        return NULL
    families = {kind.family for kind in known}
    if len(set(known)) == 1:
        return known[0]
    if families <= TEXT:
        national = any(kind.national for kind in known)
        return replace(varchar(max(kind.size for kind in known)), national=national)
    if families <= NUMERIC:
        return types.calculated(families)
    if len(families) == 1 and families <= INTERVALS:
        family = known[0].family
        return SqlType(family, max(kind.precision for kind in known), max(kind.scale for kind in known))
    if families <= TEMPORAL:
        if families & types.INSTANTS:
            return types.ZONED
        return types.TIMESTAMP if Family.TIMESTAMP in families else types.DATE
    if families <= {Family.RAW}:
        return SqlType(Family.RAW, size=max(kind.size for kind in known))
    if families <= {Family.ROWID, *TEXT}:
        return varchar(4000)
    other = next((kind.family for kind in known if kind.family is not known[0].family), None)
    if other is None:
        raise OraError(3001, f"unimplemented feature: {known[0].family} of two character sets in one expression", at)
    raise inconsistent(known[0].family, other, at)


def first_type(args: Sequence[Typed], at: int) -> SqlType:
    """The type of NVL, COALESCE, DECODE, GREATEST: of the first argument that is not a literal NULL; the NULL type if all are.

    A text becomes a VARCHAR2 (or NVARCHAR2, by the first) with the greatest size of all texts; a number gets the type in which
    all arguments are calculated. Never raises, `at` has no effect: the conversion of the other arguments fails later if they do
    not match.
    """
    first = next((arg.type for arg in args if arg.type.family is not Family.NULL), NULL)
    if first.family in TEXT:
        size = max([arg.type.size for arg in args if arg.type.family in TEXT] or [4000])
        return replace(varchar(size), national=first.national)
    if first.family in NUMERIC:
        return types.calculated({arg.type.family for arg in args})
    return first
