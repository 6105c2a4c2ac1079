"""Words of Oracle SQL, with their place in the text so that errors and column headings can point back to it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError


@dataclass(frozen=True, slots=True)
class Token:
    """`kind`: W word (`text` in upper case), Q quoted name, N number, S string, B bind, O operator, E end.

    :param national: of a string written N'..'.
    """

    kind: str
    text: str
    start: int
    end: int
    national: bool = False


_WORD = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<S>[nN]?'(?:[^']|'')*')
      | (?P<alt>[nN]?[qQ]'(?:\[.*?\]'|\{.*?\}'|\(.*?\)'|<.*?>'|(?P<d>[^\s\[{(<]).*?(?P=d)'))
      | (?P<N>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)
      | (?P<Q>"[^"]+")
      | (?P<W>[^\W\d][\w$\#]*)
      | (?P<B>:\s*(?:[\w$\#]+|"[^"]+"))
      | (?P<O>\|\||:=|=>|\.\.|<>|!=|\^=|<=|>=|\*\*|\(\+\)|[-+*/(),.;=<>@%{}\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(sql: str) -> list[Token]:
    """Raises ORA-01756 (open quote), ORA-00911 (foreign character)."""
    found: list[Token] = []
    at, end = 0, len(sql)
    while at < end:
        match = _WORD.match(sql, at)
        if match is None:
            if sql[at] == "'":
                raise OraError(1756, "quoted string not properly terminated", at)
            raise OraError(911, f"invalid character {sql[at]!r}", at)
        kind, text = match.lastgroup, match.group()
        if kind == "d" or kind == "alt":
            body = text[text.index("'") + 2 : -2]
            found.append(Token("S", body, at, match.end(), text[0] in "nN"))
        elif kind == "S":
            body = text[text.index("'") + 1 : -1].replace("''", "'")
            found.append(Token("S", body, at, match.end(), text[0] in "nN"))
        elif kind == "W":
            found.append(Token("W", text.upper(), at, match.end()))
        elif kind == "Q":
            found.append(Token("Q", text[1:-1], at, match.end()))
        elif kind == "B":
            found.append(Token("B", text[1:].strip().strip('"').upper(), at, match.end()))
        elif kind != "space":
            assert kind is not None
            found.append(Token(kind, text, at, match.end()))
        at = match.end()
    found.append(Token("E", "", end, end))
    return found
