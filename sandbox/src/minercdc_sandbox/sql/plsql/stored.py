"""Stored programs as one session has them: compiled at first use, with the session's own values of the variables of packages.

    text -> Compilation in the owner's schema -> Unit: subprograms, and a frame that lasts as long as the session

A program that was replaced, or one that it names, is compiled again at its next use; a package that had variables then lost them, which
the session hears once (ORA-04068; PL/SQL Language Reference, "Package State").
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.objects import StoredProgram
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.parser import BlockParser
from minercdc_sandbox.sql.plsql.program import Subprogram
from minercdc_sandbox.sql.plsql.rights import Rights
from minercdc_sandbox.sql.plsql.statements import Statements
from minercdc_sandbox.sql.plsql.variables import Slots, Variable
from minercdc_sandbox.sql.tokens import TokenKind


class Unit:
    """A package, function or procedure, compiled for one session: `compile` it once before other use. It owns the frame with the
    values of a package's variables, which lasts as long as the unit.

    :param rights: of the session.
    :param body: of a package, None without one.
    :ivar public: the meanings that others may use, by name: of the package's specification, or the one function or procedure.
    :ivar lost: an earlier form had variables whose values are gone; the next call raises ORA-04068.
    """

    def __init__(self, session: SqlSession, rights: Rights, program: StoredProgram, body: StoredProgram | None) -> None:
        self.program, self._body = program, body
        self._session, self._rights = session, rights
        self.public: dict[str, Any] = {}
        self.lost = False
        self._slots = Slots([])
        self._entering: list[Step] = []
        self._frame: Frame | None = None

    @property
    def has_state(self) -> bool:
        """Whether the session has values of the package's variables."""
        return self._frame is not None and bool(self._entering)

    def compile(self) -> None:
        """Compile specification and body with the owner's rights. Raises errors within ORA-06550, as `tokenize`, and ORA-00036
        for programs nested too deep."""
        with self._rights.of(self.program.owner):
            scope = Scope(None, self.program.name)
            if self.program.kind != "PACKAGE":
                self._single(Compilation(self.program.text, self._session, self._slots))
                return
            self._entering = self._section(self.program, scope)
            self.public = dict(scope.known)
            for name, known in self.public.items():
                if isinstance(known, Subprogram):
                    known.home = self
                    known.path = (self.program.owner, self.program.name, name) if known.returns is not None else ()
            if self._body is not None:
                self._entering += self._section(self._body, scope)
                self._all_defined()

    def _single(self, compilation: Compilation) -> None:
        """Compile the text `FUNCTION | PROCEDURE [owner.]name ..`, which becomes public. Raises PLS-00103, and as
        `Declarations.subprogram`."""
        parser = compilation.parser
        if parser.peek(2).text == ".":
            del parser.tokens[1:3]
        scope = Scope()
        with compilation.names.inside(scope):
            Statements(compilation).declarations.subprogram()
        _at_end(parser)
        [found] = scope.known.values()
        assert isinstance(found, Subprogram)
        found.home = self
        found.path = (self.program.owner, self.program.name) if found.returns is not None else ()
        self.public = {found.name: found}

    def _section(self, program: StoredProgram, scope: Scope) -> list[Step]:
        """Compile the text `PACKAGE [BODY] name IS declarations [BEGIN ..] END [name];`; the steps that initialize it, in order.
        Raises PLS-00103, and as `Declarations.read` and `Statements.body`."""
        compilation = Compilation(program.text, self._session, self._slots)
        parser, statements = compilation.parser, Statements(compilation)
        parser.need("PACKAGE")
        of_body = parser.word("BODY")
        parser.qualified()
        parser.word("AUTHID", "DEFINER")
        if parser.is_word("AUTHID"):
            raise parser.refused("AUTHID CURRENT_USER", parser.token.start)
        if not parser.any_word("IS", "AS"):
            raise parser.unexpected("is")
        with compilation.names.inside(scope):
            steps = statements.declarations.read("END")
            if of_body and parser.is_word("BEGIN"):
                steps.append(statements.body())
            else:
                parser.need("END")
        if parser.token.is_name:
            parser.take()
        _at_end(parser)
        return steps

    def _all_defined(self) -> None:
        assert self._body is not None
        for name, known in self.public.items():
            if isinstance(known, Subprogram) and known.body is None:
                text = f"PLS-00323: subprogram or cursor '{name}' is declared in a package specification and must be defined in the package body"
                raise OraError(6550, f"line 1, column 1:\n{text}")

    @contextmanager
    def entered(self, frame: Frame | None) -> Iterator[Frame]:
        """Enter the program for a call; see `program.Home.entered`. A call from its own frame just yields that frame."""
        if frame is not None and frame is self._frame:
            yield frame
            return
        path = f"{self.program.owner}.{self.program.name}"
        if self.lost:
            self.lost = False
            kind = self.program.kind.lower()
            text = f'existing state of packages has been discarded\nORA-04061: existing state of {kind} "{path}" has been invalidated'
            raise OraError(4068, text)
        with self._rights.of(self.program.owner):
            inner = self._initialized(path)
            try:
                yield inner
            except OraError as error:
                stack = inner.stack(error)
                if frame is None:
                    raise OraError(error.number, error.text + stack) from error
                frame.adopt(error, stack)
                raise

    def _initialized(self, path: str) -> Frame:
        if self._frame is None:
            self._frame = frame = Frame(self._session, self._slots, [None] * len(self._slots.types), unit=path)
            try:
                for step in self._entering:
                    step(frame)
            except BaseException:
                self._frame = None
                raise
        return self._frame

    def scalar(self, name: str) -> Variable | None:
        """The public variable of that name, also one that is no scalar; None without one."""
        found = self.public.get(name)
        return found if isinstance(found, Variable) else None


def _at_end(parser: BlockParser) -> None:
    """Read the end of a CREATE: a semicolon and a slash, both may be left out. Raises PLS-00103 for anything after them."""
    parser.op(";")
    parser.op("/")
    if parser.token.kind is not TokenKind.END:
        raise parser.unexpected()
