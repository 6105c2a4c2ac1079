"""SQL/JSON paths, the basic steps: `$.name`, `$."any name"`, `$[0]` (SQL Language Reference, JSON_VALUE and JSON_QUERY).

A name on an array looks into its elements, as lax paths do. What a path cannot say here is ORA-03001, what none can say ORA-40442.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import number, oson

_STEP = re.compile(r'\s*(?:\.\s*(?P<name>[A-Za-z_][\w$]*)|\.\s*"(?P<quoted>[^"]*)"|\[\s*(?P<index>\d+)\s*\])\s*')
_BEYOND = re.compile(r"\s*(?:\.\.|\.\s*\*|\[|\?|\.\s*[A-Za-z_]\w*\()")


@lru_cache(maxsize=256)
def steps(path: str) -> tuple[str | int, ...]:
    """The steps after `$`."""
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
        found.append(int(index) if index is not None else match["quoted"] or match["name"])
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


def _single(text: str, path: str) -> tuple[Any, bool]:
    """The one value a path leads to, and whether there is one. Raises ORA-40441, ORA-40470."""
    values = list(_found(_document(text), steps(path)))
    if len(values) > 1:
        raise OraError(40470, "JSON path evaluated to multiple values")
    return (values[0], True) if values else (None, False)


def json_value(text: str, path: str, kind: str, on_error: str) -> Cell:
    """A scalar as text (kind `T`) or NUMBER (`N`). With `on_error` ERROR raises ORA-40462, 40456, 40470, 01722, 40441."""
    steps(path)
    try:
        value, there = _single(text, path)
        if not there:
            raise OraError(40462, "JSON path evaluated to no value")
        if isinstance(value, dict | list):
            raise OraError(40456, "JSON_VALUE evaluated to non-scalar value")
        if value is None:
            return None
        shown = value if isinstance(value, str) else oson.text_of(value)
        if kind == "T":
            return shown or None
        return number.encode(value) if isinstance(value, Decimal) else number.parse(shown)
    except OraError:
        if on_error == "ERROR":
            raise
        return None


def json_query(text: str, path: str, on_error: str) -> Cell:
    """An object or array as JSON text; a scalar is ORA-40480 with ERROR, else NULL."""
    steps(path)
    try:
        value, there = _single(text, path)
        if not there:
            raise OraError(40462, "JSON path evaluated to no value")
        if not isinstance(value, dict | list):
            raise OraError(40480, "result cannot be returned without array wrapper")
        return oson.text_of(value)
    except OraError:
        if on_error == "ERROR":
            raise
        return None


def json_exists(text: str, path: str) -> int:
    """Whether a path leads anywhere; false for what is no JSON (FALSE ON ERROR)."""
    wanted = steps(path)
    try:
        return int(any(True for _ in _found(_document(text), wanted)))
    except OraError:
        return 0
