"""EXECUTE IMMEDIATE: DDL, DML, queries and blocks whose text is known only when they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minercdc_sandbox.interfaces import BindType, OraError, OraType, Result
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.program import Compiled, Target, store_returned, store_rows, types_of
from minercdc_sandbox.sql.plsql.targets import TargetCompiler
from minercdc_sandbox.sql.plsql.variables import OpenCursor
from minercdc_sandbox.sql.types import type_of_wire


@dataclass(slots=True)
class _Using:
    """One argument of USING: `value` when it goes in, `target` when it comes out, both for IN OUT."""

    value: Compiled | None
    target: Target | None

    def bind(self, frame: Frame) -> tuple[Any, BindType]:
        if self.value is not None:
            return self.value.value(frame), self.value.wire_type()
        assert self.target is not None
        column = self.target.scalars[0].column
        return None, BindType(column.type, column.size or 32767, column.national)


class DynamicSql:
    """Compiles EXECUTE IMMEDIATE, whose text is computed and planned when the step runs."""

    def __init__(self, block: Compilation, expressions: ExpressionCompiler, targets: TargetCompiler) -> None:
        self._parser, self._expressions, self._targets = block.parser, expressions, targets

    def execute_immediate(self) -> Step:
        """Read and compile `EXECUTE IMMEDIATE text [[BULK COLLECT] INTO ..] [USING [IN|OUT|IN OUT] ..] [RETURNING [BULK COLLECT]
        INTO ..];`. Raises PLS- errors within ORA-06550.

        The step sets SQL%ROWCOUNT; a query without INTO is not fetched. It raises ORA-06502 for INTO of another statement, which
        has then run, ORA-01006 or ORA-01007 for another number of columns, ORA-06504 for a cursor to a target that is none, as
        `store_rows` and `store_returned`, and what the statement raises.
        """
        self._parser.need("EXECUTE")
        self._parser.need("IMMEDIATE")
        text = self._expressions.expression()
        bulk = self._parser.word("BULK", "COLLECT")
        targets = self._targets.targets() if self._parser.word("INTO") else []
        using = self._parser.listed(self._using) if self._parser.word("USING") else []
        returning: list[Target] = []
        if self._parser.any_word("RETURNING", "RETURN"):
            bulk = self._parser.word("BULK", "COLLECT")
            self._parser.need("INTO")
            returning = self._targets.targets()
            using += [_Using(None, target) for target in returning]
        self._parser.need(";")

        def step(frame: Frame) -> None:
            bound = [one.bind(frame) for one in using]
            result = frame.session.statements.run_inner(
                str(text.value(frame) or ""), [kind for _, kind in bound], [tuple(cell for cell, _ in bound)]
            )
            frame.row_count = result.row_count
            if result.rows is not None:
                _into(frame, result, targets, bulk=bulk)
            elif targets:
                raise OraError(6502, "PL/SQL: numeric or value error: INTO of a statement that is no query")
            if result.return_binds:
                store_returned(frame, returning, result.returned[0] if result.returned else [], bulk=bulk)
            _out(frame, result, using, bound)

        return step

    def _using(self) -> _Using:
        if self._parser.word("OUT"):
            return _Using(None, self._targets.target())
        both = self._parser.word("IN", "OUT")
        if not both:
            self._parser.word("IN")
            return _Using(self._expressions.expression(), None)
        start = self._parser.at
        value = self._expressions.expression()
        self._parser.at = start
        return _Using(value, self._targets.target())


def _into(frame: Frame, result: Result, targets: Sequence[Target], *, bulk: bool) -> None:
    assert result.rows is not None
    if not targets:  # a query without INTO is not executed (PL/SQL Language Reference, EXECUTE IMMEDIATE)
        result.rows.close()
        frame.row_count = 0
        return
    types = types_of(result.columns or ())
    width = sum(target.width for target in targets)
    if width != len(types) and not bulk:
        result.rows.close()
        few = width > len(types)
        raise OraError(1007 if few else 1006, "variable not in select list" if few else "bind variable does not exist")
    store_rows(frame, targets, result.rows, types, bulk=bulk)


def _out(frame: Frame, result: Result, using: Sequence[_Using], bound: Sequence[tuple[Any, BindType]]) -> None:
    """Assign the OUT and IN OUT binds of a block that ran to their targets. Raises ORA-06504 for a cursor to a target that is
    none, and as `Frame.store`."""
    for at, value in result.out.items():
        target = using[at].target
        if target is None:
            continue
        if isinstance(value, Result):
            slot = target.place
            if slot is None or frame.slots.types[slot].type is not OraType.CURSOR:
                raise OraError(6504, "PL/SQL: Return types of Result Set variables or query do not match")
            frame.cells[slot] = OpenCursor(value)
            frame.assigned.add(slot)
        else:
            kind = bound[at][1]
            target.store(frame, (value,), (type_of_wire(kind.type, 0, -127, kind.size, kind.national),))
