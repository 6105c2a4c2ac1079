"""Checks texts from outside: JSON, and predicates that are put into a statement of ours. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from minercdc.stream.offset import JsonValue

_DEEPEST = 50  # levels of JSON; `tableChanges` have 6


def parsed(text: str | bytes) -> Any:
    """The value of JSON text from outside.

    :raises ValueError: it is no JSON, is nested so deeply that a Python function may fail on it, or holds text that cannot be
        encoded.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _is_deeper(found, _DEEPEST):
        raise ValueError("it is nested too deeply")
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds one half of a surrogate pair") from None
    return found


def _is_deeper(value: JsonValue, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not levels or any(_is_deeper(one, levels - 1) for one in inner)


def is_closed(predicate: str) -> bool:
    """Whether each parenthesis in a predicate has its counterpart in it; those in literals, quoted names and comments do not
    count. `A) OR (B` would get out of the parentheses that are put around it."""
    depth = 0
    for part in re.findall(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|[()]", predicate, re.DOTALL):
        depth += (part == "(") - (part == ")")
        if depth < 0:
            return False
    return depth == 0
