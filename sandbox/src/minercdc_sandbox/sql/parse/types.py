"""Names of types with their sizes, and interval literals, whose fields are declared alike."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.parse.words import Words
from minercdc_sandbox.sql.tokens import Token, TokenKind

_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


class TypeGrammar(Words):
    """Reads types."""

    def type_name(self) -> ast.TypeName:
        """A declared type. The name joins the words: `TIMESTAMP WITH TIME ZONE`."""
        at = self.token.start
        name = self.name(902, "invalid datatype")
        if name == "DOUBLE" and self.word("PRECISION"):
            name = "DOUBLE PRECISION"
        if name in ("CHARACTER", "CHAR") and self.word("VARYING"):
            name = "VARCHAR2"
        if name == "LONG" and self.word("RAW"):
            name = "LONG RAW"
        if name == "INTERVAL":
            return self._interval_type(at)
        if name == "NATIONAL":
            if not self.any_word("CHAR", "CHARACTER"):
                raise OraError(902, "invalid datatype", at)
            name = "NVARCHAR2" if self.word("VARYING") else "NCHAR"
        if name == "NCHAR" and self.word("VARYING"):
            name = "NVARCHAR2"
        numbers: list[int | None] = []
        unit = None
        if self.op("("):
            while True:
                if self.op("*"):
                    numbers.append(None)
                elif name == "VECTOR" and numbers and self.token.kind is TokenKind.WORD:
                    unit = self.take().text
                else:
                    negative = bool(self.op("-"))
                    numbers.append(-self.integer() if negative else self.integer())
                if not self.op(","):
                    break
            unit = unit or self.any_word("BYTE", "CHAR")
            self.expect_op(")")
        if name == "TIMESTAMP" and self.word("WITH"):
            local = self.word("LOCAL")
            self.expect_word("TIME")
            self.expect_word("ZONE")
            name = "TIMESTAMP WITH LOCAL TIME ZONE" if local else "TIMESTAMP WITH TIME ZONE"
        return ast.TypeName(name, numbers, unit, at)

    def interval(self, token: Token) -> ast.Expr:
        """`INTERVAL '..' DAY [(p)] TO SECOND [(f)]`."""
        self.at += 1
        text = self.take().text
        first = self.any_word("YEAR", "MONTH", *_UNITS)
        if first is None:
            raise OraError(30089, "missing or invalid <datetime field>", self.token.start)
        lead, digits = self._interval_digits(first == "SECOND")
        last = first
        if self.word("TO"):
            after = ("MONTH",) if first == "YEAR" else _UNITS[_UNITS.index(first) + 1 :] if first in _UNITS else ()
            found = self.any_word(*after)
            if found is None:
                raise OraError(30089, "missing or invalid <datetime field>", self.token.start)
            last = found
            if last == "SECOND" and self.op("("):
                digits = self.integer()
                self.expect_op(")")
        if lead > 9 or digits > 9:
            raise OraError(30088, "datetime/interval precision is out of range", token.start)
        return ast.IntervalLiteral(text, first, last, lead, digits, token.start)

    def _interval_digits(self, seconds: bool) -> tuple[int, int]:
        """`(lead)`, of SECOND `(lead, digits)`; 2 and 6 when left out."""
        lead, digits = 2, 6
        if self.op("("):
            lead = self.integer()
            if seconds and self.op(","):
                digits = self.integer()
            self.expect_op(")")
        return lead, digits

    def _interval_type(self, at: int) -> ast.TypeName:
        """`INTERVAL YEAR [(p)] TO MONTH`, `INTERVAL DAY [(p)] TO SECOND [(f)]`."""
        months = self.word("YEAR")
        if not months:
            self.expect_word("DAY")
        lead, digits = self._interval_digits(False)
        self.expect_word("TO")
        self.expect_word("MONTH" if months else "SECOND")
        if not months and self.op("("):
            digits = self.integer()
            self.expect_op(")")
        if months:
            return ast.TypeName("INTERVAL YEAR TO MONTH", [lead], None, at)
        return ast.TypeName("INTERVAL DAY TO SECOND", [lead, digits], None, at)
