"""Splits a DDL statement into tokens, which are read with a cursor."""

from __future__ import annotations

import re
from typing import Final

from minercdc.schema.ddl.statements import TableName

_TOKEN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<q>[nN]?[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<mark>[^\s\[{(<']).*?(?P=mark))')"""
    r"""|"(?P<quoted>[^"]+)"|(?P<word>[^\W\d][\w$\#]*)|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<text>'(?:[^']|'')*')|(?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_MOST_DIGITS: Final = 9


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

    def words_ahead(self, count: int) -> list[str]:
        """The next words and signs, at most `count`; '' for a token of another kind; the cursor stays."""
        return [text if kind in ("word", "other") else "" for kind, text in self.items[self.at : self.at + count]]

    def ends_item(self, ahead: int = 0) -> bool:
        """Whether the token so many after the next one ends the definition of a column or constraint: a comma, a closing
        parenthesis, the end of the text."""
        return self.peek(ahead) in (("other", ","), ("other", ")"), ("end", ""))

    def at_clause(self) -> bool:
        """Whether a further clause of ALTER TABLE comes next, or the text ends; the words are reserved, no names."""
        word, following = self.word(), self.peek(1)[1]
        if word in ("ENABLE", "DISABLE"):
            if following in ("VALIDATE", "NOVALIDATE"):  # not those of an inline constraint's own state
                return self.peek(2)[1] in ("CONSTRAINT", "PRIMARY") or (self.peek(2)[1], self.peek(3)[1]) == ("UNIQUE", "(")
            return following in ("CONSTRAINT", "PRIMARY", "UNIQUE", "ALL", "TABLE", "ROW")
        if word == "SET":  # not that of ON DELETE SET NULL
            return following == "UNUSED"
        return self.peek()[0] == "end" or word in ("ADD", "DROP", "MODIFY", "RENAME")

    def after_balanced(self, ahead: int = 0) -> int:
        """How many tokens after the next one the parenthesis ends that opens so many after it; `ahead` itself where none does."""
        depth, at = 0, ahead
        while self.peek(at)[0] != "end":
            depth += (self.peek(at) == ("other", "(")) - (self.peek(at) == ("other", ")"))
            if depth <= 0:
                break
            at += 1
        return at + 1 if at > ahead else ahead

    def names_in_parentheses(self) -> tuple[str, ...]:
        """Step over names between parentheses, one at least, with commas between them."""
        self.expect("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        self.expect(")")
        return tuple(names)
