"""Triggers on tables: compiled for a session, run on one row before or after it is written, or once for a statement.

:new.amount     the record `:NEW`, a place for each column of the table       inserting, updating     constants
"""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.objects import Trigger
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.expressions import ASSIGNED
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step, Test
from minercdc_sandbox.sql.plsql.names import Scope
from minercdc_sandbox.sql.plsql.statements import Statements
from minercdc_sandbox.sql.plsql.targets import LARGE_TYPES
from minercdc_sandbox.sql.plsql.variables import BOOLEAN, TEXT, Record, Scalar, Slots, Variable
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.tables import Table

_EVENTS = ("INSERT", "UPDATE", "DELETE")


def read_header(parser: Parser, trigger: Trigger) -> tuple[str | None, str, int]:
    """Read `TRIGGER name BEFORE | AFTER .. ON table .. [WHEN (condition)]` into the trigger: its timing, columns, events, names of
    rows, whether it is for rows and enabled, and the text of WHEN. Returns owner and name of the table, and its offset.

    The owner is None when it is not named. Raises ORA-03001 for every other kind of trigger, by its name, ORA-04071, ORA-04077,
    ORA-04079, ORA-00905 and ORA-00907 for missing words, ORA-00903 and ORA-00904 for names.
    """
    parser.expect_word("TRIGGER")
    parser.qualified()
    at = parser.token.start
    timing = parser.any_word("BEFORE", "AFTER")
    if timing is None:
        kind = " ".join(token.text for token in parser.tokens[parser.at : parser.at + 2])
        if parser.token.text in ("INSTEAD", "FOR"):
            raise OraError(3001, f"unimplemented feature: CREATE TRIGGER {kind}", at)
        raise OraError(4071, "missing BEFORE, AFTER or INSTEAD OF keyword", at)
    events: list[str] = []
    while True:
        event = parser.take().text
        if event not in _EVENTS:
            raise OraError(3001, f"unimplemented feature: CREATE TRIGGER {timing} {event}", at)
        events.append(event)
        if event == "UPDATE" and parser.word("OF"):
            trigger.columns = tuple(parser.names())
        if not parser.word("OR"):
            break
    parser.expect_word("ON", 4079, "invalid trigger specification")
    if parser.token.text in ("DATABASE", "SCHEMA", "NESTED"):
        raise OraError(3001, f"unimplemented feature: CREATE TRIGGER ON {parser.token.text}", parser.token.start)
    place = parser.token.start
    owner, name = parser.qualified()
    if parser.word("REFERENCING"):
        while word := parser.any_word("NEW", "OLD", "PARENT"):
            parser.word("AS")
            alias = parser.name()
            if word == "PARENT":
                raise OraError(3001, "unimplemented feature: CREATE TRIGGER REFERENCING PARENT", at)
            setattr(trigger, word.lower(), alias)
    trigger.of_rows = parser.word("FOR", "EACH", "ROW")
    trigger.timing, trigger.events = timing, tuple(events)
    _rest_of_header(parser, trigger)
    return owner, name, place


def _rest_of_header(parser: Parser, trigger: Trigger) -> None:
    if parser.any_word("FOLLOWS", "PRECEDES"):
        raise OraError(3001, "unimplemented feature: CREATE TRIGGER FOLLOWS or PRECEDES", parser.token.start)
    if word := parser.any_word("ENABLE", "DISABLE"):
        trigger.enabled = word == "ENABLE"
    if not parser.word("WHEN"):
        return
    start = parser.token.start
    if not trigger.of_rows:
        raise OraError(4077, "WHEN clause cannot be used with table level triggers", start)
    parser.expect_op("(")
    depth = 1
    while depth:
        token = parser.take()
        if token.kind is TokenKind.END:
            raise OraError(907, "missing right parenthesis", start)
        depth += (token.text == "(") - (token.text == ")") if token.kind is TokenKind.OPERATOR else 0
    trigger.when = parser.sql[start : parser.tokens[parser.at - 1].end]


class CompiledTrigger:
    """A trigger compiled for one session; create and fire it with the rights of the trigger's owner. Creating one
    raises errors within ORA-06550, as `tokenize`, and as `read_header`.

    :param table: whose columns `:new` and `:old` have; those with values outside the row have no name that a text could use.
    """

    def __init__(self, session: SqlSession, trigger: Trigger, table: Table) -> None:
        self._session, self._trigger, self._width = session, trigger, len(table.columns)
        self._slots = Slots([])
        compilation = Compilation(trigger.text, session, self._slots)
        fields = tuple((f" {c.name}" if c.type in LARGE_TYPES else c.name, Scalar(c)) for c in table.columns)
        self._new, self._old = (self._row(name, fields) for name in (":NEW", ":OLD"))
        self._flags = [
            Variable(word, BOOLEAN, self._slots.take(BOOLEAN), True) for word in ("INSERTING", "UPDATING", "DELETING")
        ]
        self._assigned = Variable(ASSIGNED, TEXT, self._slots.take(TEXT), True)
        scope = Scope()
        scope.known = {one.name: one for one in (self._new, self._old, self._assigned, *self._flags)}
        compilation.parser.rows = {trigger.new: self._new, trigger.old: self._old} if trigger.of_rows else {}
        self._when: Test | None = None
        self._body = self._compiled(compilation, scope)

    def _row(self, name: str, fields: tuple[tuple[str, Scalar], ...]) -> Variable:
        record = Record(fields)
        constant = name == ":OLD" or self._trigger.timing == "AFTER"
        return Variable(name, record, self._slots.take(record), constant=constant)

    def _compiled(self, compilation: Compilation, scope: Scope) -> Step:
        parser, statements = compilation.parser, Statements(compilation)
        header = replace(self._trigger, when=None)
        read_header(parser, header)
        end = parser.at
        with compilation.names.inside(scope):
            if header.when is not None:
                rows = {self._trigger.new: self._new, self._trigger.old: self._old}
                parser.at = next(n for n, token in enumerate(parser.tokens) if token.text == "WHEN") + 1
                parser.need("(")
                with compilation.names.inside(Scope(scope, None, dict(rows))):
                    self._when = statements.expressions.condition()
                parser.need(")")
            parser.at = end
            if parser.is_word("CALL"):
                raise parser.refused("triggers that CALL a procedure", parser.token.start)
            if parser.is_word("COMPOUND"):
                raise parser.refused("COMPOUND TRIGGER", parser.token.start)
            if not parser.word("DECLARE") and not parser.is_word("BEGIN"):
                raise parser.unexpected("begin")
            body = compilation.finished(statements.block_of(Scope(scope, self._trigger.name)))
        parser.op("/")
        if parser.token.kind is not TokenKind.END:
            raise parser.unexpected()
        return body

    def fire(
        self, event: str, before: tuple[Cell, ...] | None, after: tuple[Cell, ...] | None, assigned: frozenset[str]
    ) -> tuple[Cell, ...]:
        """Run the trigger on one row, or once for a statement; returns the row as the trigger leaves it, unchanged where WHEN is not
        true. Raises what the trigger raises, with its lines of ORA-06512 and ORA-04088.

        :param event: INSERT, UPDATE or DELETE.
        :param before: None of an INSERT, `after` of a DELETE, both for a statement.
        :param assigned: names of the columns that the statement assigns.
        """
        width = self._width
        frame = Frame(self._session, self._slots, [None] * len(self._slots.types))
        frame.unit = f"{self._trigger.owner}.{self._trigger.name}"
        frame.cells[self._new.slot : self._new.slot + width] = after if after is not None else (None,) * width
        frame.cells[self._old.slot : self._old.slot + width] = before if before is not None else (None,) * width
        for flag, word in zip(self._flags, _EVENTS, strict=True):
            frame.cells[flag.slot] = bytes((int(event == word),))
        frame.cells[self._assigned.slot] = assigned
        try:
            if self._when is None or self._when(frame):
                self._body(frame)
        except Leave as leave:
            if leave.kind != "RETURN":
                raise
        except OraError as error:
            text = f"{error.text}{frame.stack(error)}\nORA-04088: error during execution of trigger '{frame.unit}'"
            raise OraError(error.number, text) from error
        return tuple(frame.cells[self._new.slot : self._new.slot + width])
