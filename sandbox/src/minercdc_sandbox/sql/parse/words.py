"""A cursor over the words of a statement: what every grammar reads with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.reserved import NOT_A_COLUMN
from minercdc_sandbox.sql.tokens import Token, TokenKind, tokenize

T = TypeVar("T")


class Words:
    """A cursor over the words of one statement. SQL numbers binds by occurrence, PL/SQL by name (`by_name`)."""

    def __init__(self, sql: str, *, by_name: bool = False) -> None:
        self.sql = sql
        self.tokens = tokenize(sql)
        self.at = 0
        self.binds: list[str] = []
        self._by_name = by_name

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind is not TokenKind.END:
            self.at += 1
        return token

    def is_word(self, *words: str) -> bool:
        """Whether the next words are these, in this order."""
        tokens, at = self.tokens, self.at  # END comes after every word, so no index is too high
        return all(tokens[at + n].text == word and tokens[at + n].kind is TokenKind.WORD for n, word in enumerate(words))

    def word(self, *words: str) -> bool:
        """Read these words if they come next."""
        if self.is_word(*words):
            self.at += len(words)
            return True
        return False

    def any_word(self, *words: str) -> str | None:
        if self.token.kind is TokenKind.WORD and self.token.text in words:
            return self.take().text
        return None

    def op(self, *ops: str) -> str | None:
        if self.token.kind is TokenKind.OPERATOR and self.token.text in ops:
            return self.take().text
        return None

    def expect_word(self, word: str, number: int = 905, text: str = "missing keyword") -> None:
        if not self.word(word):
            raise OraError(number, text, self.token.start)

    def expect_op(self, op: str) -> None:
        if not self.op(op):
            known = {"(": (906, "missing left parenthesis"), ")": (907, "missing right parenthesis")}
            number, text = known.get(
                op, (936 if op != "=" else 927, "missing expression" if op != "=" else "missing equal sign")
            )
            raise OraError(number, text, self.token.start)

    def name(self, number: int = 903, text: str = "invalid table name") -> str:
        """An identifier. Raises the given error."""
        token = self.token
        if token.kind is TokenKind.QUOTED or (token.kind is TokenKind.WORD and token.text not in NOT_A_COLUMN):
            self.at += 1
            if len(token.text.encode()) > 128:
                raise OraError(972, "identifier is too long", token.start)
            return token.text
        raise OraError(number, text, token.start)

    def qualified(self) -> tuple[str | None, str]:
        """[owner.]name."""
        first = self.name()
        if self.op("."):
            return first, self.name()
        return None, first

    def listed(self, read: Callable[[], T]) -> list[T]:
        """A list with commas, of elements that `read` reads."""
        found = [read()]
        while self.op(","):
            found.append(read())
        return found

    def names(self) -> list[str]:
        return self.listed(lambda: self.name(904, "invalid identifier"))

    def end(self) -> None:
        """Nothing but an optional `;` may be left. Raises ORA-00933."""
        if self.token.kind is not TokenKind.END:
            if self.token.text == ";" and self.peek().kind is TokenKind.END:
                raise OraError(933, "SQL command not properly ended", self.token.start)
            raise OraError(933, "SQL command not properly ended", self.token.start)

    def integer(self) -> int:
        token = self.take()
        if token.kind is not TokenKind.NUMBER or not token.text.isdigit():
            raise OraError(2017, "integer value required", token.start)
        return int(token.text)

    def bind(self, token: Token) -> ast.Bind:
        if self._by_name and token.text in self.binds:
            return ast.Bind(self.binds.index(token.text), token.text, token.start)
        self.binds.append(token.text)
        return ast.Bind(len(self.binds) - 1, token.text, token.start)
