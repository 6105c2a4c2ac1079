"""Names of types with their sizes, and interval literals, which write their fields as the types do."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.words import Words
from minercdc_sandbox.sql.tokens import Token, TokenKind

_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_JOINED = {
    ("DOUBLE", "PRECISION"): "DOUBLE PRECISION",
    ("LONG", "RAW"): "LONG RAW",
    ("CHARACTER", "VARYING"): "VARCHAR2",
    ("CHAR", "VARYING"): "VARCHAR2",
    ("NCHAR", "VARYING"): "NVARCHAR2",
}
"""Type names of two words."""
_OWNERS = ("SYS", "MDSYS")
"""Schemas of Oracle's own object types, as in SYS.XMLTYPE."""


class TypeGrammar(Words):
    """Reads names of types and interval literals; the lowest layer of `Parser`, above its cursor."""

    def type_name(self) -> ast.TypeName:
        """Read a type with its sizes, words joined by blanks; standard names of VARCHAR2, NCHAR and NVARCHAR2 become these.

        Raises ORA-00902 when no name comes next, ORA-00905 and ORA-00907 for missing words, ORA-02017 for a size that is no
        integer, ORA-00972. Whether there is such a type is not checked.
        """
        at = self.token.start
        name = self.name(902, "invalid datatype")
        if name in _OWNERS and self.op("."):
            name = self.name(902, "invalid datatype")
        if name == "INTERVAL":
            return self._interval_type(at)
        if name == "NATIONAL":
            if not self.any_word("CHAR", "CHARACTER"):
                raise OraError(902, "invalid datatype", at)
            name = "NCHAR"
        name = next((joined for (first, second), joined in _JOINED.items() if name == first and self.word(second)), name)
        numbers: list[int | None] = []
        unit = None
        if self.op("("):
            while not numbers or self.op(","):
                if self.op("*"):
                    numbers.append(None)
                elif name == "VECTOR" and numbers and self.token.kind is TokenKind.WORD:
                    unit = self.take().text
                else:
                    negative = bool(self.op("-"))
                    numbers.append(-self.integer() if negative else self.integer())
            unit = unit or self.any_word("BYTE", "CHAR")
            self.expect_op(")")
        if name == "TIMESTAMP" and self.word("WITH"):
            local = self.word("LOCAL")
            self.expect_word("TIME")
            self.expect_word("ZONE")
            name = "TIMESTAMP WITH LOCAL TIME ZONE" if local else "TIMESTAMP WITH TIME ZONE"
        return ast.TypeName(name, numbers, unit, at)

    def interval(self, token: Token) -> ast.Expr:
        """Read `INTERVAL '..' unit [(lead [, digits])] [TO unit [(digits)]]`, whose first word is `token`, the next one; the text
        is not checked.

        Raises ORA-30089 for a unit that may not stand there, ORA-30088 for more than 9 digits, ORA-02017 for digits that are no
        integer, ORA-00907.
        """
        self.at += 1
        text = self.take().text
        first = last = self._unit("YEAR", "MONTH", *_UNITS)
        lead, digits = self._interval_digits(first == "SECOND")
        if self.word("TO"):
            last = self._unit(
                *(("MONTH",) if first == "YEAR" else _UNITS[_UNITS.index(first) + 1 :] if first in _UNITS else ())
            )
            if last == "SECOND" and self.op("("):
                digits = self.closed(self.integer)
        if lead > 9 or digits > 9:
            raise OraError(30088, "datetime/interval precision is out of range", token.start)
        return ast.IntervalLiteral(text, first, last, lead, digits, token.start)

    def _unit(self, *units: str) -> str:
        if not self.is_any_word(*units):
            raise OraError(30089, "missing or invalid <datetime field>", self.token.start)
        return self.take().text

    def _interval_digits(self, seconds: bool) -> tuple[int, int]:
        """Read `(lead)`, of `seconds` also `(lead, digits)`; 2 and 6 when left out. Raises ORA-02017, ORA-00907."""
        lead, digits = 2, 6
        if self.op("("):
            lead = self.integer()
            if seconds and self.op(","):
                digits = self.integer()
            self.expect_op(")")
        return lead, digits

    def _interval_type(self, at: int) -> ast.TypeName:
        """Read `YEAR [(p)] TO MONTH` or `DAY [(p)] TO SECOND [(f)]`, after INTERVAL; `at`: offset of that word. Raises ORA-00905,
        ORA-00907, ORA-02017."""
        months = self.word("YEAR")
        if not months:
            self.expect_word("DAY")
        lead, digits = self._interval_digits(False)
        self.expect_word("TO")
        self.expect_word("MONTH" if months else "SECOND")
        if months:
            return ast.TypeName("INTERVAL YEAR TO MONTH", [lead], None, at)
        if self.op("("):
            digits = self.closed(self.integer)
        return ast.TypeName("INTERVAL DAY TO SECOND", [lead, digits], None, at)
