"""Splits a DDL statement into tokens, which are read with a cursor."""

from __future__ import annotations

import re
from typing import Final

from minercdc.schema.ddl import TableName

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<q>[nN]?[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<mark>[^\s\[{(<']).*?(?P=mark))')"""
    r"""|"(?P<quoted>[^"]+)"|(?P<word>[^\W\d][\w$\#]*)|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<text>'(?:[^']|'')*')|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_MOST_DIGITS: Final = 9
_PARTITIONS: Final = frozenset(["PARTITION", "PARTITIONS", "SUBPARTITION", "SUBPARTITIONS"])


class Unknown(Exception):
    """The text is beyond the grammar; its message says where."""


class Tokens:
    """A statement's tokens without blanks, comments and semicolons at the end; `at` is the cursor.

    A token is (kind, text): a `word` in upper case, `quoted` without its quotes, `number`, `text`, `q` (a q'..' text), a
    sign (`other`), or `end`. Methods that read raise Unknown when something else is there.
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._spans: list[tuple[int, int]] = []
        self.items: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(sql):
            kind = match.lastgroup or "other"
            if kind != "blank":
                self.items.append((kind, match[kind].upper() if kind == "word" else match[kind]))
                self._spans.append(match.span())
        while self.items and self.items[-1] == ("other", ";"):
            self.items.pop()
        self.at = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        """The token that many after the next one, ("end", "") beyond the last; the cursor stays."""
        i = self.at + ahead
        return self.items[i] if i < len(self.items) else ("end", "")

    def word(self) -> str:
        """Text of the next token when it is an unquoted word or a sign, else ''; the cursor stays."""
        kind, text = self.peek()
        return text if kind in ("word", "other") else ""

    def take(self, *words: str) -> bool:
        """Step over these words or signs and return True if all of them come next; else stay and return False."""
        if all(self.peek(i) in (("word", word), ("other", word)) for i, word in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        """Step over these words or signs, which must come next."""
        if not self.take(*words):
            raise Unknown(f"{' '.join(words)} was expected before {self.peek()[1]!r}")

    def name(self) -> str:
        """Step over a name, and return it as the dictionary spells it."""
        kind, text = self.peek()
        if kind not in ("word", "quoted"):
            raise Unknown(f"a name was expected before {text!r}")
        self.at += 1
        return text

    def table_name(self) -> TableName:
        """Step over the name of a table, with or without its schema."""
        first = self.name()
        return TableName(first, self.name()) if self.take(".") else TableName(None, first)

    def number(self) -> int:
        """Step over a whole number of nine digits at most, with or without a minus sign."""
        negative = self.take("-")
        kind, text = self.peek()
        if kind != "number" or not text.isdigit() or len(text) > _MOST_DIGITS:
            raise Unknown(f"a whole number was expected before {text[:60]!r}")
        self.at += 1
        return -int(text) if negative else int(text)

    def text(self) -> str:
        """Step over a text literal, of any of its forms, and return its characters; '' for the empty one."""
        self.take("N")  # of N'..', a token of its own
        kind, text = self.peek()
        if kind not in ("text", "q"):
            raise Unknown(f"a text was expected before {text[:60]!r}")
        self.at += 1
        return text[1:-1].replace("''", "'") if kind == "text" else text[text.index("'") + 2 : -2]

    def text_since(self, start: int) -> str:
        """The SQL from token number `start` up to the cursor, '' when there is nothing between."""
        return self._sql[self._spans[start][0] : self._spans[self.at - 1][1]] if start < self.at else ""

    def skip_balanced(self) -> None:
        """Step over one token; from an opening parenthesis up to the closing one. Raises Unknown when the text ends before
        that."""
        depth = 0
        while True:
            if self.peek()[0] == "end":
                raise Unknown("a parenthesis is not closed") if depth else Unknown("the text ends early")
            depth += (self.word() == "(") - (self.word() == ")")
            self.at += 1
            if depth <= 0:
                return

    def at_definition_end(self) -> bool:
        """Whether a column's or constraint's definition ends here: the next item, the list's end, another clause."""
        if self.peek() == ("word", "SET"):  # not that of ON DELETE SET NULL
            return self.peek(1) == ("word", "UNUSED")
        return self.peek()[0] == "end" or self.word() in (",", ")", "ADD", "DROP", "MODIFY", "RENAME")

    def takes_partitions_away(self) -> bool:
        """Whether TRUNCATE, DROP or EXCHANGE of a partition comes next: there is no redo of the rows that it takes or brings;
        the cursor stays."""
        return self.word() in ("TRUNCATE", "DROP", "EXCHANGE") and self.peek(1)[1] in _PARTITIONS

    def moves_rows(self) -> bool:
        """Whether a clause comes next that gives rows other ROWIDs: MOVE, SHRINK, or SPLIT, MERGE, COALESCE of a partition;
        the cursor stays."""
        merges = self.word() in ("SPLIT", "MERGE", "COALESCE") and self.peek(1)[1] in _PARTITIONS
        return merges or self.word() in ("MOVE", "SHRINK")

    def names_in_parentheses(self) -> tuple[str, ...]:
        """Step over names between parentheses, one at least, with commas between them."""
        self.expect("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.expect(")")
        return tuple(names)
