"""Words of Oracle SQL with their places in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from minercdc_sandbox.interfaces import OraError


class TokenKind(StrEnum):
    """Kinds of words of SQL; QUOTED is a name in double quotes, STRING a text literal, END the end of the text."""

    WORD = "W"
    QUOTED = "Q"
    NUMBER = "N"
    STRING = "S"
    BIND = "B"
    OPERATOR = "O"
    END = "E"


@dataclass(frozen=True, slots=True)
class Token:
    """A word from `start` up to, not including, `end` in the text. `text` is as `tokenize` says; `national`: a string written N'..'."""

    kind: TokenKind
    text: str
    start: int
    end: int
    national: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it is a word, a keyword or not, or a quoted name."""
        return self.kind is TokenKind.WORD or self.kind is TokenKind.QUOTED


_KINDS = {kind.value: kind for kind in TokenKind}
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
    """The words of a text without comments, then END; WORD and BIND (without its colon) in upper case, texts and quoted names
    without quotes.

    Raises ORA-01756 for an open single quote, ORA-00911 for a character that begins no word.
    """
    found: list[Token] = []
    at, end = 0, len(sql)
    while at < end:
        match = _WORD.match(sql, at)
        if match is None:
            if sql[at] == "'":
                raise OraError(1756, "quoted string not properly terminated", at)
            raise OraError(911, f"invalid character {sql[at]!r}", at)
        kind, text = match.lastgroup or "", match.group()
        if kind == "d" or kind == "alt":
            body = text[text.index("'") + 2 : -2]
            found.append(Token(TokenKind.STRING, body, at, match.end(), text[0] in "nN"))
        elif kind == "S":
            body = text[text.index("'") + 1 : -1].replace("''", "'")
            found.append(Token(TokenKind.STRING, body, at, match.end(), text[0] in "nN"))
        elif kind == "W":
            found.append(Token(TokenKind.WORD, text.upper(), at, match.end()))
        elif kind == "Q":
            found.append(Token(TokenKind.QUOTED, text[1:-1], at, match.end()))
        elif kind == "B":
            found.append(Token(TokenKind.BIND, text[1:].strip().strip('"').upper(), at, match.end()))
        elif kind != "space":
            found.append(Token(_KINDS[kind], text, at, match.end()))
        at = match.end()
    found.append(Token(TokenKind.END, "", end, end))
    return found
