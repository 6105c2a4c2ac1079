"""The DECLARE section: variables, constants, types, exceptions, cursors, local procedures and functions, pragmas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from minercdc_sandbox.sql.plsql.compilation import Compilation, Unit
from minercdc_sandbox.sql.plsql.embedded import StaticSql
from minercdc_sandbox.sql.plsql.errors import NamedException, undeclared
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.program import Compiled, DeclaredCursor, Parameter, Subprogram
from minercdc_sandbox.sql.plsql.targets import TargetCompiler
from minercdc_sandbox.sql.plsql.types import TypeReader
from minercdc_sandbox.sql.plsql.variables import Collection, RefCursor, Scalar, Variable
from minercdc_sandbox.sql.tokens import TokenKind


class Declarations:
    """Compiles declarations of blocks, subprograms and packages into the present scope; raises PLS- errors within ORA-06550.

    :param block_of: compiles the declarations and `BEGIN .. END` of a local subprogram.
    """

    def __init__(
        self,
        block: Compilation,
        expressions: ExpressionCompiler,
        targets: TargetCompiler,
        sql: StaticSql,
        block_of: Callable[[Scope], Step],
    ) -> None:
        self._block, self._block_of = block, block_of
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._expressions, self._targets, self._sql = expressions, targets, sql
        self._types = types = TypeReader(block)
        self._without_step: dict[str, Callable[[], None]] = {
            "PRAGMA": self._pragma,
            **dict.fromkeys(("TYPE", "SUBTYPE"), types.declaration),
            **dict.fromkeys(("PROCEDURE", "FUNCTION"), self.subprogram),
        }

    def read(self, *ends: str) -> list[Step]:
        """Read declarations up to BEGIN or one of the words `ends`, which is left unread; returns the steps that run, in this
        order, each time the block is entered. Raises PLS-00103, PLS-00218 and PLS-00322 for a missing initial value, PLS-00371
        for a name declared twice, PLS-00201 for EXCEPTION_INIT of no exception, and as `TypeReader.datatype`,
        `TypeReader.declaration`, `subprogram`, `StaticSql.statement` and `TargetCompiler.assigning`."""
        steps: list[Step] = []
        while not any(self._parser.is_word(word) for word in ("BEGIN", *ends)):
            step = self._declaration()
            if step is not None:
                steps.append(step)
        return steps

    def _declaration(self) -> Step | None:
        """Read one declaration; the step that runs when the block is entered, None for nothing to run. Raises as `read`."""
        word = self._parser.token.text if self._parser.token.kind is TokenKind.WORD else ""
        if word in self._without_step:
            self._without_step[word]()
            return None
        if word == "CURSOR":
            return self._cursor_declaration()
        if not self._parser.token.is_name:
            raise self._parser.unexpected("begin function pragma procedure")
        return self._variable_declaration()

    def _variable_declaration(self) -> Step | None:
        token = self._parser.take()
        if self._parser.word("EXCEPTION"):
            self._parser.need(";")
            self._names.declare(token.text, token.start, NamedException(token.text))
            return None
        constant = self._parser.word("CONSTANT")
        kind = self._types.datatype()
        not_null = self._parser.word("NOT", "NULL")
        if not_null and isinstance(kind, Scalar):
            kind = replace(kind, not_null=True)
        variable = Variable(token.text, kind, self._slots.take(kind))
        initial: Step | None = None
        if self._defaults():
            initial = self._targets.assigning(self._targets.of_variable(variable))
        elif constant or not_null:
            text = f"PLS-00322: declaration of a constant '{token.text}' must contain an initialization assignment"
            if not_null:
                text = "PLS-00218: a variable declared NOT NULL must have an initialization assignment"
            raise self._parser.wrong(token.start, text)
        self._parser.need(";")
        self._names.declare(token.text, token.start, replace(variable, constant=constant))
        return _entering(variable, initial)

    def _cursor_declaration(self) -> Step:
        self._parser.need("CURSOR")
        name = self._parser.take()
        with self._names.inside(Scope(self._names.scope)):
            parameters = self._cursor_parameters() if self._parser.op("(") else []
            if self._parser.word("RETURN"):
                self._types.datatype()
            self._parser.need("IS")
            statement = self._sql.statement(into=False, marked=True)
            self._parser.need(";")
        slot = self._slots.take(RefCursor())
        self._names.declare(name.text, name.start, DeclaredCursor(name.text, slot, statement, tuple(parameters)))

        def enter(frame: Frame) -> None:
            frame.cells[slot] = None

        return enter

    def _cursor_parameters(self) -> list[tuple[Variable, Compiled | None]]:
        """Read `name [IN] type [:= value], ..)`, after the left parenthesis; each parameter with its default, None without one.
        Raises PLS-00103, and as `TypeReader.datatype`."""
        parameters = self._parser.listed(self._cursor_parameter)
        self._parser.need(")")
        return parameters

    def _cursor_parameter(self) -> tuple[Variable, Compiled | None]:
        token = self._parser.take()
        self._parser.word("IN")
        kind = self._types.datatype()
        default = self._expressions.expression() if self._defaults() else None
        variable = Variable(token.text, kind, self._slots.take(kind))
        self._names.scope.known[token.text] = variable
        return variable, default

    def subprogram(self) -> None:
        """Read a procedure or function, or a forward declaration without body, into the present scope. Raises PLS-00305 for a
        name that has another meaning already, PLS-00371 for two parameters of one name, PLS-00103 for clauses and types that the
        sandbox does not have, and as `Compilation.finished`, `TypeReader.unsized`, `Statements.block_of` and
        `TargetCompiler.assigning`."""
        function = self._parser.take().text == "FUNCTION"
        name = self._parser.take()
        outer, first = self._names.scope, len(self._slots.types)
        with self._names.inside(Scope(outer, name.text)):
            parameters = self._parameters() if self._parser.token.text == "(" else []
            returns = self._returned_type() if function else None
            forward = outer.known.get(name.text)
            if forward is not None and (not isinstance(forward, Subprogram) or forward.body is not None):
                raise self._parser.wrong(name.start, f"PLS-00305: previous use of '{name.text}' conflicts with this use")
            subprogram = forward if isinstance(forward, Subprogram) else Subprogram(name.text, [], returns)
            subprogram.parameters, subprogram.first = parameters, first
            outer.known[name.text] = subprogram
            if returns is not None:
                subprogram.result = self._slots.take(returns)
            while self._parser.any_word("DETERMINISTIC", "PARALLEL_ENABLE") or self._parser.word("AUTHID", "DEFINER"):
                pass
            if self._parser.token.text in ("AUTHID", "PIPELINED", "RESULT_CACHE", "AGGREGATE"):
                raise self._parser.refused(self._parser.token.text, self._parser.token.start)
            if not self._parser.op(";"):
                if not self._parser.any_word("IS", "AS"):
                    raise self._parser.unexpected("is")
                with self._block.reading(Unit(subprogram)):
                    subprogram.body = self._block.finished(self._block_of(self._names.scope))
            subprogram.last = len(self._slots.types)

    def _returned_type(self) -> Scalar:
        self._parser.need("RETURN")
        at = self._parser.token.start
        kind = self._types.unsized()
        if not isinstance(kind, Scalar):
            raise self._parser.refused("functions that return records, collections or cursors", at)
        return kind

    def _parameters(self) -> list[Parameter]:
        self._parser.need("(")
        found = self._parser.listed(self._parameter)
        self._parser.need(")")
        return found

    def _parameter(self) -> Parameter:
        token = self._parser.take()
        mode = "IN OUT" if self._parser.word("IN", "OUT") else (self._parser.any_word("IN", "OUT") or "IN")
        self._parser.word("NOCOPY")
        at = self._parser.token.start
        kind = self._types.unsized()
        if not isinstance(kind, Scalar):
            raise self._parser.refused("parameters that are records, collections or cursors", at)
        variable = Variable(token.text, kind, self._slots.take(kind), constant=mode == "IN")
        default = self._targets.assigning(self._targets.of_variable(variable)) if self._defaults() else None
        self._names.declare(token.text, token.start, variable)
        return Parameter(variable, mode, default)

    def _defaults(self) -> bool:
        return bool(self._parser.op(":=")) or self._parser.word("DEFAULT")

    def _pragma(self) -> None:
        self._parser.need("PRAGMA")
        token = self._parser.take()
        if token.text == "AUTONOMOUS_TRANSACTION":
            self._block.unit.autonomous = True
        elif token.text == "EXCEPTION_INIT":
            self._parser.need("(")
            name = self._parser.take()
            self._parser.need(",")
            negative = bool(self._parser.op("-"))
            if self._parser.token.kind is TokenKind.STRING:
                self._parser.tokens[self._parser.at] = replace(
                    self._parser.token, kind=TokenKind.NUMBER, text=self._parser.token.text.lstrip("-")
                )
                negative = True
            code = self._parser.integer()
            self._parser.need(")")
            if not isinstance(self._names.scope.known.get(name.text), NamedException):
                raise undeclared(self._parser.sql, name.start, name.text)
            self._names.scope.known[name.text] = NamedException(
                name.text, code if negative else 1403 if code == 100 else None
            )
        elif token.text in ("INLINE", "UDF"):
            while self._parser.token.text != ";" and self._parser.token.kind is not TokenKind.END:
                self._parser.take()
        else:
            raise self._parser.refused(f"PRAGMA {token.text}", token.start)
        self._parser.need(";")


def _entering(variable: Variable, initial: Step | None) -> Step:
    """The step that initializes a variable each time its block is entered: NULL, then `initial`, None without one; associative
    arrays are empty, not null."""
    first, last = variable.slot, variable.slot + variable.width
    empty = isinstance(variable.type, Collection) and variable.type.indexed

    def enter(frame: Frame) -> None:
        frame.cells[first:last] = [{} if empty else None] * (last - first)
        if initial is not None:
            initial(frame)

    return enter
