"""Local procedures and functions. Their variables have places in the block's row, saved around each call so that they may recurse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step, Value
from minercdc_sandbox.sql.plsql.variables import Scalar, Variable
from minercdc_sandbox.sql.types import column_type

if TYPE_CHECKING:
    from minercdc_sandbox.sql.plsql.expressions import Blocks

_DEEPEST = 100
"""Calls within calls; Python's own stack ends not far behind."""


@dataclass(slots=True)
class Parameter:
    variable: Variable
    mode: str
    default: Value | None = None


@dataclass(slots=True, eq=False)
class Subprogram:
    """`body` is None until it has been read; `first` and `last` are its places."""

    name: str
    parameters: list[Parameter]
    returns: Scalar | None
    body: Step | None = None
    first: int = 0
    last: int = 0
    result: int = field(default=0)

    def call(self, parser: Blocks, given: Sequence[ast.Expr], at: int) -> Value:
        """A call with arguments by position. Raises PLS-00306."""
        if len(given) > len(self.parameters):
            raise located(parser.sql, at, f"PLS-00306: wrong number or types of arguments in call to '{self.name}'")
        incoming: list[tuple[Parameter, Any]] = []
        outgoing: list[tuple[Parameter, int]] = []
        for n, parameter in enumerate(self.parameters):
            if n >= len(given) and parameter.default is None:
                raise located(parser.sql, at, f"PLS-00306: wrong number or types of arguments in call to '{self.name}'")
            if n >= len(given):
                incoming.append((parameter, None))
                continue
            value = parser.compiled(given[n])
            if "OUT" in parameter.mode:
                if value.slot is None:
                    text = "PLS-00363: expression cannot be used as an assignment target"
                    raise located(parser.sql, given[n].at, text)
                outgoing.append((parameter, value.slot))
            incoming.append((parameter, value))
        return lambda frame: self._run(frame, incoming, outgoing)

    def _run(
        self, frame: Frame, incoming: Sequence[tuple[Parameter, Any]], outgoing: Sequence[tuple[Parameter, int]]
    ) -> Any:
        if frame.depth >= _DEEPEST or self.body is None:
            raise OraError(6500, "PL/SQL: storage error")
        values = [(p, v if v is None else (v.value(frame), v.type)) for p, v in incoming]
        saved = frame.cells[self.first : self.last]
        frame.cells[self.first : self.last] = [None] * (self.last - self.first)
        frame.depth += 1
        try:
            for parameter, given in values:
                slot = parameter.variable.slot
                if given is None and parameter.default is not None:
                    parameter.default(frame)
                elif given is not None and parameter.mode != "OUT":
                    frame.store(slot, *given)
            result = self._returned(frame)
            handed = [(slot, frame.cells[p.variable.slot], p.variable.type) for p, slot in outgoing]
        finally:
            frame.depth -= 1
            frame.cells[self.first : self.last] = saved
        for slot, cell, kind in handed:
            assert isinstance(kind, Scalar)
            frame.store(slot, cell, column_type(kind.column))
        return result

    def _returned(self, frame: Frame) -> Any:
        assert self.body is not None
        try:
            self.body(frame)
        except Leave as leave:
            if leave.kind != "RETURN":
                raise
            return frame.cells[self.result]
        if self.returns is not None:
            raise OraError(6503, "PL/SQL: Function returned without value")
        return None
