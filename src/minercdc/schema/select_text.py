"""Takes off what may follow a statement, and may not follow a subquery."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/|;)"""
    r"""|[nN]?[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<mark>[^\s\[{(<']).*?(?P=mark))'"""
    r"""|'(?:[^']|'')*'|"[^"]*"|\w+|.""",
    re.DOTALL,
)


def without_end(select: str) -> str:
    """The text of a SELECT without blanks, comments and semicolons at its end, as it may stand in parentheses. A comment that is not
    closed stays, for Oracle to refuse."""
    end = 0
    for token in _TOKEN.finditer(select):
        if token["blank"] is None:
            end = token.end()
    return select[:end]
