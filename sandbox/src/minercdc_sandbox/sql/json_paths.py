"""SQL/JSON paths, the basic steps: `$.name`, `$."any name"`, `$[0]` (SQL Language Reference, JSON_VALUE and JSON_QUERY).

A name on an array looks into its elements, as lax paths do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import number, oson

_STEP = re.compile(r'\s*(?:\.\s*(?P<name>[A-Za-z_][\w$]*)|\.\s*"(?P<quoted>[^"]*)"|\[\s*(?P<index>\d+)\s*\])\s*')
_BEYOND = re.compile(r"\s*(?:\.\.|\.\s*\*|\[|\?|\.\s*[A-Za-z_]\w*\()")


@lru_cache(maxsize=256)
def steps(path: str) -> tuple[str | int, ...]:
    """The steps after `$`: names as str, indexes from 0 as int. Raises ORA-40442 for bad syntax, ORA-03001 for modes and steps
    not read here. Remembered."""
    text = path.strip()
    if text.startswith(("lax ", "strict ")):
        raise OraError(3001, "unimplemented feature: JSON path modes")
    if not text.startswith("$"):
        raise OraError(40442, f"JSON path expression syntax error ('{path}')")
    at, found = 1, []
    while at < len(text):
        match = _STEP.match(text, at)
        after = _BEYOND.match(text, at)
        if match is None or text[match.end() : match.end() + 1] == "(":
            if after is not None:
                raise OraError(3001, f"unimplemented feature: JSON path {path}")
            raise OraError(40442, f"JSON path expression syntax error ('{path}')")
        index = match["index"]
        found.append(int(index) if index is not None else match["name"] or match["quoted"])
        at = match.end()
    return tuple(found)


def _found(value: Any, path: tuple[str | int, ...]) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = value if isinstance(value, list) else [value]
        if step < len(items):
            yield from _found(items[step], rest)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _found(item, path)
    elif isinstance(value, dict) and step in value:
        yield from _found(value[step], rest)


def _document(text: str) -> Any:
    return oson.decode(oson.parse_json(text))


def _returned(text: str, path: str, on_error: str, result: Callable[[Any], Cell]) -> Cell:
    """The cell that `result` makes of the one value that a path leads to in a JSON text. An error, also of `result`, is NULL
    unless `on_error` is ERROR; errors of the path are always raised."""
    wanted = steps(path)
    try:
        values = list(_found(_document(text), wanted))
        if len(values) > 1:
            raise OraError(40470, "JSON path evaluated to multiple values")
        if not values:
            raise OraError(40462, "JSON path evaluated to no value")
        return result(values[0])
    except OraError:
        if on_error == "ERROR":
            raise
        return None


def json_value(text: str, path: str, kind: str, on_error: str) -> Cell:
    """JSON_VALUE: a scalar as text (`kind` T) or NUMBER (N); JSON null and '' are NULL. With `on_error` ERROR it raises, else
    errors are NULL:

    ORA-40441 for a text that is no JSON, ORA-40462 without a value, ORA-40470 for several, ORA-40456 for an object or array,
    ORA-01722 for a text that is no number. The errors of the path itself (`steps`) are always raised.
    """

    def result(value: Any) -> Cell:
        if isinstance(value, dict | list):
            raise OraError(40456, "JSON_VALUE evaluated to non-scalar value")
        if value is None:
            return None
        shown = value if isinstance(value, str) else oson.text_of(value)
        if kind == "T":
            return shown or None
        return number.encode(value) if isinstance(value, Decimal) else number.parse(shown)

    return _returned(text, path, on_error, result)


def json_query(text: str, path: str, on_error: str) -> Cell:
    """JSON_QUERY: an object or array as JSON text without blanks. As `json_value` it raises, or makes NULL, ORA-40441, ORA-40462
    and ORA-40470, and raises the errors of the path; with `on_error` ERROR also ORA-40480 for a scalar, which is NULL otherwise."""

    def result(value: Any) -> Cell:
        if not isinstance(value, dict | list):
            raise OraError(40480, "result cannot be returned without array wrapper")
        return oson.text_of(value)

    return _returned(text, path, on_error, result)


def json_exists(text: str, path: str) -> int:
    """JSON_EXISTS: 1 when a path leads to a value, else 0, also for a text that is no JSON. Raises the errors of `steps`."""
    wanted = steps(path)
    try:
        return int(any(True for _ in _found(_document(text), wanted)))
    except OraError:
        return 0
