"""State that the compilers of one block share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.names import NameResolver
from minercdc_sandbox.sql.plsql.parser import BlockParser
from minercdc_sandbox.sql.plsql.program import Subprogram
from minercdc_sandbox.sql.plsql.variables import Slots


@dataclass(slots=True)
class Unit:
    """A block, or a local subprogram, whose text is being read: what its statements share until it has been read.

    :ivar subprogram: None for the block.
    :ivar autonomous: it has PRAGMA AUTONOMOUS_TRANSACTION.
    :ivar gotos: label and offset of each GOTO whose label was not found so far.
    :ivar loops: labels of the loops around what is being read, the innermost last; None for one without label.
    """

    subprogram: Subprogram | None = None
    autonomous: bool = False
    gotos: list[tuple[str, int]] = field(default_factory=list)
    loops: list[str | None] = field(default_factory=list)


class Compilation:
    """What the compilers of one text share: the parser, the meanings of its names, and the places of its row of cells. It lasts
    while the text is compiled. Creating one raises as `tokenize`.

    :param slots: the places that exist already, such as the client's binds; compiling adds more.
    :ivar read: indexes of client binds that are read, not only assigned.
    :ivar unit: the unit whose text is being read.
    """

    def __init__(self, sql: str, session: SqlSession, slots: Slots) -> None:
        self.session, self.slots = session, slots
        self.names = NameResolver(sql, session.programs.subprogram)
        self.parser = BlockParser(sql, self.names, slots.clients)
        self.read: set[int] = set()
        self.unit = Unit()

    @contextmanager
    def reading(self, unit: Unit) -> Iterator[None]:
        """Within the context, the text read belongs to `unit`."""
        outer, self.unit = self.unit, unit
        try:
            yield
        finally:
            self.unit = outer

    def finished(self, body: Step) -> Step:
        """The step of the present unit whose body is `body`: in a transaction of its own if the unit is autonomous, so that the
        step raises as `TransactionControl.autonomous`. Call it when the body has been read. Raises PLS-00375 for a GOTO whose label was
        not found."""
        for label, at in self.unit.gotos:
            text = f"PLS-00375: illegal GOTO statement; this GOTO cannot branch to label '{label}'"
            raise located(self.parser.sql, at, text)
        return _in_own_transaction(body) if self.unit.autonomous else body


def _in_own_transaction(body: Step) -> Step:
    """The step that runs `body` in a transaction of its own, of PRAGMA AUTONOMOUS_TRANSACTION; it raises ORA-06519 for one that
    is left open."""

    def step(frame: Frame) -> None:
        with frame.session.transactions.autonomous():
            body(frame)

    return step
