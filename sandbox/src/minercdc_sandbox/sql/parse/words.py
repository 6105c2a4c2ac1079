"""The cursor over the words of a statement, on which every grammar builds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.reserved import NOT_A_COLUMN
from minercdc_sandbox.sql.tokens import Token, TokenKind, tokenize

T = TypeVar("T")
_MISSING = {
    "(": (906, "missing left parenthesis"),
    ")": (907, "missing right parenthesis"),
    "=": (927, "missing equal sign"),
}


class Words:
    """A cursor over the words of one statement; the layer of `Parser` below all grammars. Creating one raises as `tokenize`.

    :param by_name: a bind that occurs again keeps its index, as in PL/SQL; else each occurrence has its own, as in SQL.
    :ivar sql: text of the statement.
    :ivar tokens: its words; the last is END.
    :ivar at: index of the next word in `tokens`.
    :ivar binds: names of the binds that have been read, by index.
    """

    def __init__(self, sql: str, *, by_name: bool = False) -> None:
        self.sql = sql
        self.tokens = tokenize(sql)
        self.at = 0
        self.binds: list[str] = []
        self._by_name = by_name

    @property
    def token(self) -> Token:
        """The next word; it stays the next one."""
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        """The word `ahead` places after the next one, or the last, END."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Read the next word; END stays the next one."""
        token = self.tokens[self.at]
        if token.kind is not TokenKind.END:
            self.at += 1
        return token

    def is_word(self, *words: str) -> bool:
        """Whether the next words are these, in this order; a quoted name is no word."""
        tokens, at = self.tokens, self.at  # END comes after every word, so no index is too high
        return all(tokens[at + n].text == word and tokens[at + n].kind is TokenKind.WORD for n, word in enumerate(words))

    def is_any_word(self, *words: str) -> bool:
        """Whether the next word is one of these; a quoted name is no word. Reads nothing."""
        return self.token.kind is TokenKind.WORD and self.token.text in words

    def word(self, *words: str) -> bool:
        """Read these words if they come next, in this order; returns whether they did. Otherwise nothing is read."""
        found = self.is_word(*words)
        self.at += len(words) if found else 0
        return found

    def any_word(self, *words: str) -> str | None:
        """Read the next word if it is one of these, and return it; None, with nothing read, if it is not."""
        return self.take().text if self.is_any_word(*words) else None

    def one_of(self, *words: str) -> str:
        """Read the next word, which must be one of these, and return it. Raises ORA-00905 for any other."""
        if not self.is_any_word(*words):
            raise OraError(905, "missing keyword", self.token.start)
        return self.take().text

    def op(self, *ops: str) -> str | None:
        """Read the next operator if it is one of these, and return it; None, with nothing read, if it is not."""
        if self.token.kind is TokenKind.OPERATOR and self.token.text in ops:
            return self.take().text
        return None

    def expect_word(self, word: str, number: int = 905, text: str = "missing keyword") -> None:
        """Read this word. Raises the given error, ORA-00905 by default, when another comes next."""
        if not self.word(word):
            raise OraError(number, text, self.token.start)

    def expect_op(self, op: str) -> None:
        """Read this operator. Raises ORA-00906, ORA-00907, ORA-00927 or ORA-00936, by the operator, when another word comes next."""
        if not self.op(op):
            raise OraError(*_MISSING.get(op, (936, "missing expression")), self.token.start)

    def name(self, number: int = 903, text: str = "invalid table name") -> str:
        """Read an identifier: a quoted name as it is, a word in upper case. Raises the given error when none comes next,
        ORA-00972 for one beyond 128 bytes."""
        token = self.token
        if token.kind is not TokenKind.QUOTED and (token.kind is not TokenKind.WORD or token.text in NOT_A_COLUMN):
            raise OraError(number, text, token.start)
        self.at += 1
        if len(token.text.encode()) > 128:
            raise OraError(972, "identifier is too long", token.start)
        return token.text

    def qualified(self) -> tuple[str | None, str]:
        """Read `[owner.]name`; the owner is None when it is not written. Raises ORA-00903, ORA-00972."""
        first = self.name()
        return (first, self.name()) if self.op(".") else (None, first)

    def enclosed(self, read: Callable[[], T]) -> T:
        """Read `(..)`, of which `read` reads the content and returns the result. Raises ORA-00906, ORA-00907 for a missing
        parenthesis, and as `read`."""
        self.expect_op("(")
        return self.closed(read)

    def closed(self, read: Callable[[], T]) -> T:
        """Read the content, by `read`, and its right parenthesis, when the left one has been read; the result of `read`. Raises
        ORA-00907 without the parenthesis, and as `read`."""
        found = read()
        self.expect_op(")")
        return found

    def listed(self, read: Callable[[], T]) -> list[T]:
        """Read one or more elements with commas between them, each by `read`; the list of its results. Raises as `read`."""
        found = [read()]
        while self.op(","):
            found.append(read())
        return found

    def pass_to(self, op: str) -> None:
        """Read up to this operator and the operator itself. Raises as `expect_op` when the statement ends before."""
        while not self.op(op):
            if self.token.kind is TokenKind.END:
                self.expect_op(op)
            self.at += 1

    def names(self) -> list[str]:
        """Read `name, name, ..`. Raises ORA-00904 for what is no name, ORA-00972 for a long one."""
        return self.listed(lambda: self.name(904, "invalid identifier"))

    def end(self) -> None:
        """Check that all words have been read. Raises ORA-00933 when one is left, `;` included."""
        if self.token.kind is not TokenKind.END:
            raise OraError(933, "SQL command not properly ended", self.token.start)

    def integer(self) -> int:
        """Read a number of digits only, without a sign. Raises ORA-02017 for anything else."""
        token = self.take()
        if token.kind is not TokenKind.NUMBER or not token.text.isdecimal():
            raise OraError(2017, "integer value required", token.start)
        return int(token.text)

    def row_field(self, token: Token) -> ast.Name | None:
        """Read the column that a bind, `token`, names in a trigger (`BlockParser` overrides this); None, with nothing read, in
        every other text. The bind itself has been read."""
        return None

    def bind(self, token: Token) -> ast.Bind:
        """The bind that a token of kind BIND stands for, with its index; adds its name to `binds` unless it keeps the index of an
        earlier one. The token itself is read by the caller."""
        if not self._by_name or token.text not in self.binds:
            self.binds.append(token.text)
            return ast.Bind(len(self.binds) - 1, token.text, token.start)
        return ast.Bind(self.binds.index(token.text), token.text, token.start)
