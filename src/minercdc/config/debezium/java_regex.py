"""Replacements of regular expressions as Java writes them: `$1` and `${name}` stand for groups, a backslash makes a character plain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import regex

REFERENCE: Final = re.compile(r"\\(.)|\$\{(\w+)\}|\$(\d)", re.DOTALL)
"""Escaped character, name of a group, or its number."""


def group_of(found: re.Match[str]) -> str | int | None:
    """The group that a match of `REFERENCE` stands for; None for an escaped character."""
    escaped, name, number = found.groups()
    if escaped is not None:
        return None
    text = name if name is not None else number
    return int(text) if text.isdigit() else str(text)


def unknown_group(pattern: str, replacement: str) -> str:
    """A group that the replacement names and the pattern does not have, as the replacement writes it; '' when there is none, or the
    pattern cannot be compiled, which is another problem."""
    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return ""
    names: Mapping[str, int] = compiled.groupindex
    for found in REFERENCE.finditer(replacement):
        group = group_of(found)
        if group is None:
            continue
        if group > compiled.groups if isinstance(group, int) else group not in names:
            return found[0]
    return ""
