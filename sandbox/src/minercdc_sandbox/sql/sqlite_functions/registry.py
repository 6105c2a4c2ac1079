"""Functions that SQLite calls while it runs translated SQL, under names that start with `o_`.

Arguments and results are cells; a few are integers and texts of SQLite instead: row counts, ids, sizes, letters of types.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from decimal import Overflow
from functools import cache, partial
from typing import Any, cast

import apsw

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import binary, json_paths, json_texts
from minercdc_sandbox.sql.sqlite_functions import (
    analysis,
    numbers,
    patterns,
    random_values,
    raw_casts,
    rowids,
    texts,
    times,
)
from minercdc_sandbox.sql.sqlite_functions.aggregates import STATISTICS, CountDistinct, Keep, Listed, Listing, Single, Sum


def _strict(name: str, function: Callable[..., Any], *, textual: bool = False) -> Callable[..., Any]:
    """A function for SQLite that returns None without a call when an argument is None, and if it is `textual`, also None for an
    empty result; other calls go through `_guarded`. `name`: for messages."""
    guarded = _guarded(name, function)

    def call(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        found = guarded(*args)
        return found or None if textual else found

    return call


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for SQLite that turns Python's errors for arguments that `function` does not foresee into ORA-01426 for a number
    that is too large, ORA-03001 for all others; an OraError passes. Each ends the statement, where Python's error would end the
    connection. `name`: for messages."""

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except (OverflowError, Overflow):
            raise OraError(1426, "numeric overflow") from None
        except (ValueError, LookupError, ArithmeticError, TypeError, MemoryError, re.error) as error:
            raise OraError(3001, f"unimplemented feature: {name.upper()} of such arguments ({error})") from error

    return call


_STRICT: dict[str, Callable[..., Any]] = {
    "json_value": json_paths.json_value,
    "json_query": json_paths.json_query,
    "json_exists": json_paths.json_exists,
    "is_json": json_texts.is_json,
    **numbers.FUNCTIONS,
    **binary.FUNCTIONS,
    **texts.FUNCTIONS,
    **patterns.FUNCTIONS,
    **times.FUNCTIONS,
    **analysis.FUNCTIONS,
    **raw_casts.FUNCTIONS,
    "row_text": rowids.row_text,
    "row_id_part": rowids.part,
    "row_bound": rowids.row_bound,
}

_RANDOM: dict[str, tuple[Any, int]] = {
    "value": (random_values.value, -1),
    "whole": (random_values.whole, 0),
    "normal": (random_values.normal, 0),
    "text": (random_values.text, 2),
}
"""Not deterministic, so that SQLite calls them again for each row; with their number of arguments."""


@cache
def _deterministic() -> tuple[tuple[str, Callable[..., Any]], ...]:
    """The functions without a state of their own, which all connections share, by their names in SQLite."""
    textual = {**texts.TEXTUAL, **raw_casts.TEXTUAL}
    return (
        *((f"o_{name}", _strict(name, function)) for name, function in _STRICT.items()),
        *((f"o_{name}", _strict(name, function, textual=True)) for name, function in textual.items()),
        ("o_regexp_replace", _guarded("regexp_replace", patterns.regexp_replace)),
        ("o_replace", _guarded("replace", texts.replace)),
    )


def register_sqlite_functions(connection: apsw.Connection) -> None:
    """Create all scalar functions, aggregates and window functions of this package on a connection, once for each connection,
    before translated SQL runs on it."""
    for name, function in _deterministic():
        connection.create_scalar_function(name, function, -1, deterministic=True)
    for name, (maker, count) in _RANDOM.items():
        connection.create_scalar_function(f"o_random_{name}", _guarded(f"dbms_random.{name}", maker), count)
    connection.create_scalar_function("o_sys_guid", cast(Any, lambda: uuid.uuid4().bytes), 0)
    connection.create_aggregate_function("o_single", cast(Any, Single), 1)
    windows: dict[str, tuple[Callable[[], object], int]] = {
        "sum": (lambda: Sum(False), 1),
        "avg": (lambda: Sum(True), 1),
        "count_distinct": (CountDistinct, 1),
        "listagg": (lambda: Listed(False), 2),
        "listagg_distinct": (lambda: Listed(True), 2),
        "listagg_cut": (lambda: Listed(False, truncates=True), 2),
        "listagg_distinct_cut": (lambda: Listed(True, truncates=True), 2),
        "keep": (Keep, -1),
        **{name: (partial(Listing, result), -1) for name, result in STATISTICS.items()},
    }
    for name, (factory, arguments) in windows.items():
        connection.create_window_function(f"o_{name}", cast(Any, factory), arguments)
