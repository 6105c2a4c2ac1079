"""The DECLARE section: variables, constants, types, exceptions, cursors, local procedures and functions, pragmas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql.declare import LONGEST, declare
from minercdc_sandbox.sql.plsql.calls import Calls
from minercdc_sandbox.sql.plsql.cursors import DeclaredCursor, record_of
from minercdc_sandbox.sql.plsql.errors import NamedException, located, undeclared
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.subprograms import Parameter, Subprogram
from minercdc_sandbox.sql.plsql.targets import Target
from minercdc_sandbox.sql.plsql.variables import (
    BOOLEAN,
    INTEGER,
    TEXT,
    Collection,
    Names,
    Record,
    RefCursor,
    Scalar,
    Type,
    Variable,
)
from minercdc_sandbox.sql.translate.environment import VariableNames
from minercdc_sandbox.tables import Column

_OWN_TYPES: dict[str, Type] = {
    **dict.fromkeys(("PLS_INTEGER", "BINARY_INTEGER", "SIMPLE_INTEGER", "NATURAL", "POSITIVE", "SIGNTYPE"), INTEGER),
    "BOOLEAN": BOOLEAN,
    "SYS_REFCURSOR": RefCursor(),
    "STRING": TEXT,
    "LONG": TEXT,
}
"""Types that only PL/SQL has, or has differently."""
_PACKAGED_TYPES = {"DBMS_OUTPUT.CHARARR": Collection(TEXT, True), "DBMSOUTPUT_LINESARRAY": Collection(TEXT, False)}
_SIZED = frozenset(("VARCHAR2", "VARCHAR", "STRING", "NVARCHAR2", "RAW"))


class Declarations(Calls):
    """Reads declarations into `names`."""

    autonomous: bool = False

    def block_of(self, names: Names) -> Step:
        """`[DECLARE ..] BEGIN .. END`, which the next grammar knows."""
        raise NotImplementedError

    def declarations(self) -> list[Step]:
        """Up to BEGIN; what is to be done when the block is entered."""
        steps: list[Step] = []
        while not self.is_word("BEGIN"):
            step = self._declaration()
            if step is not None:
                steps.append(step)
        return steps

    def _declaration(self) -> Step | None:
        word = self.token.text if self.token.kind == "W" else ""
        if word == "PRAGMA":
            return self._pragma()
        if word in ("TYPE", "SUBTYPE"):
            return self._type_declaration()
        if word == "CURSOR":
            return self._cursor_declaration()
        if word in ("PROCEDURE", "FUNCTION"):
            return self._subprogram_declaration()
        if self.token.kind not in "WQ":
            raise self.unexpected("begin function pragma procedure")
        return self._variable_declaration()

    def _declare(self, name: str, at: int, meaning: Any) -> None:
        if name in self.visible.known:
            raise located(self.sql, at, f"PLS-00371: at most one declaration for '{name}' is permitted")
        self.visible.known[name] = meaning

    def _variable_declaration(self) -> Step | None:
        token = self.take()
        if self.word("EXCEPTION"):
            self.need(";")
            self._declare(token.text, token.start, NamedException(token.text))
            return None
        constant = self.word("CONSTANT")
        kind = self.datatype()
        not_null = self.word("NOT", "NULL")
        if not_null and isinstance(kind, Scalar):
            kind = replace(kind, not_null=True)
        variable = Variable(token.text, kind, self.slots.take(kind))
        initial: Step | None = None
        if self.op(":=") or self.word("DEFAULT"):
            initial = self.assigning(self._whole_target(variable))
        elif constant or not_null:
            text = f"PLS-00322: declaration of a constant '{token.text}' must contain an initialization assignment"
            if not_null:
                text = "PLS-00218: a variable declared NOT NULL must have an initialization assignment"
            raise located(self.sql, token.start, text)
        self.need(";")
        self._declare(token.text, token.start, replace(variable, constant=constant))
        return _entering(variable, initial)

    def _whole_target(self, variable: Variable) -> Target:
        """The variable as a target while it has no name yet."""
        outer, self.visible = self.visible, Names(self.visible, None, {variable.name: variable})
        tokens, at = self.tokens, self.at
        try:
            self.tokens = [
                replace(self.tokens[at], kind="Q", text=variable.name, end=self.tokens[at].start),
                self.tokens[-1],
            ]
            self.at = 0
            return self.target()
        finally:
            self.tokens, self.at, self.visible = tokens, at, outer

    # ---- types ----

    def datatype(self) -> Type:
        """A type's name, with size, %TYPE or %ROWTYPE. Raises PLS-00201, PLS-00215."""
        token = self.token
        parts = self._path()
        if self.op("%"):
            return self._like(parts, token.start)
        known = self.visible.find(parts[0]) if len(parts) == 1 else None
        if isinstance(known, Scalar | Record | Collection | RefCursor):
            return known
        if ".".join(parts[-2:]) in _PACKAGED_TYPES:
            return _PACKAGED_TYPES[".".join(parts[-2:])]
        if len(parts) == 1 and parts[0] in _OWN_TYPES and self.token.text != "(":
            return _OWN_TYPES[parts[0]]
        self.at -= 2 * len(parts) - 1
        if parts[0] == "STRING":
            self.tokens[self.at] = replace(self.tokens[self.at], text="VARCHAR2")
        try:
            named = self.type_name()
            if named.name in _SIZED and not named.numbers:
                raise located(
                    self.sql, token.start, f"PLS-00215: String length constraints must be in range (1 .. {LONGEST})"
                )
            return Scalar(declare(parts[0], named))
        except OraError as error:
            if error.number == 6550:
                raise
            raise undeclared(self.sql, token.start, ".".join(parts)) from None

    def _path(self) -> list[str]:
        parts = [self.take().text]
        while self.token.text == "." and self.token.kind == "O":
            self.at += 1
            parts.append(self.take().text)
        return parts

    def _like(self, parts: list[str], at: int) -> Type:
        """`variable%TYPE`, `table.column%TYPE`, `cursor%ROWTYPE`, `table%ROWTYPE`."""
        word = self.take().text
        if word == "TYPE":
            variable, rest = self.variable_of(parts)
            if variable is not None and not rest:
                return variable.type
            if variable is not None:
                slot = self.slot_of(tuple(parts), at)
                assert slot is not None
                return self.slots.scalars[slot] or TEXT
            *path, column = parts
            return self._row(path, at, column).fields[0][1] if path else self._missing(parts, at)
        if word != "ROWTYPE":
            raise self.unexpected()
        cursor = self.visible.find(parts[0])
        if isinstance(cursor, DeclaredCursor):
            return record_of(cursor.columns)
        if isinstance(cursor, Variable) and isinstance(cursor.type, Record):
            return cursor.type
        return self._row(parts, at)

    def _missing(self, parts: list[str], at: int) -> Any:
        raise undeclared(self.sql, at, ".".join(parts))

    def _row(self, path: list[str], at: int, column: str | None = None) -> Record:
        """The columns of a table or view, or one of them."""
        table = ".".join(f'"{part}"' for part in path)
        wanted = "*" if column is None else f'"{column}"'
        try:
            columns = self.session.check_statement(f"select {wanted} from {table}", (), VariableNames())
        except OraError:
            raise undeclared(self.sql, at, ".".join([*path, *([column] if column else [])])) from None
        return record_of(columns or ())

    def _type_declaration(self) -> Step | None:
        subtype = self.take().text == "SUBTYPE"
        name = self.take()
        self.need("IS")
        if subtype:
            kind: Type = self.datatype()
        elif self.word("RECORD"):
            kind = self._record_type()
        elif self.word("TABLE"):
            self.need("OF")
            element = self._element_type()
            kind = Collection(element, False)
            if self.word("INDEX", "BY"):
                index = self.datatype()
                text = isinstance(index, Scalar) and index.column.type is OraType.VARCHAR2
                kind = Collection(element, True, text)
        elif self.any_word("VARRAY", "VARYING"):
            self.word("ARRAY")
            self.need("(")
            limit = self.integer()
            self.need(")")
            self.need("OF")
            kind = Collection(self._element_type(), False, limit=limit)
        elif self.word("REF", "CURSOR"):
            if self.word("RETURN"):
                self.datatype()
            kind = RefCursor()
        else:
            raise self.refused(f"TYPE {name.text} IS {self.token.text}", self.token.start)
        self.need(";")
        self._declare(name.text, name.start, kind)
        return None

    def _element_type(self) -> Scalar | Record:
        at = self.token.start
        kind = self.datatype()
        self.word("NOT", "NULL")
        if not isinstance(kind, Scalar | Record):
            raise self.refused("collections of collections", at)
        return kind

    def _record_type(self) -> Record:
        self.need("(")
        fields: list[tuple[str, Scalar]] = []
        while True:
            token = self.take()
            kind = self.datatype()
            if not isinstance(kind, Scalar):
                raise self.refused("records within records", token.start)
            if self.token.text in (":=", "DEFAULT", "NOT"):
                raise self.refused("defaults of a record's fields", self.token.start)
            fields.append((token.text, kind))
            if not self.op(","):
                break
        self.need(")")
        return Record(tuple(fields))

    # ---- cursors, subprograms, pragmas ----

    def _cursor_declaration(self) -> Step | None:
        self.need("CURSOR")
        name = self.take()
        outer, self.visible = self.visible, Names(self.visible)
        parameters = []
        if self.op("("):
            while True:
                token = self.take()
                self.word("IN")
                kind = self.datatype()
                default = self.expression() if self.op(":=") or self.word("DEFAULT") else None
                variable = Variable(token.text, kind, self.slots.take(kind))
                self.visible.known[token.text] = variable
                parameters.append((variable, default))
                if not self.op(","):
                    break
            self.need(")")
        if self.word("RETURN"):
            self.datatype()
        self.need("IS")
        statement = self.embedded(into=False, marked=True)
        self.need(";")
        self.visible = outer
        slot = self.slots.take(RefCursor())
        self._declare(name.text, name.start, DeclaredCursor(name.text, slot, statement, tuple(parameters)))

        def enter(frame: Frame) -> None:
            frame.cells[slot] = None

        return enter

    def _subprogram_declaration(self) -> Step | None:
        function = self.take().text == "FUNCTION"
        name = self.take()
        outer, first = self.visible, len(self.slots.types)
        self.visible = Names(outer, name.text)
        parameters = self._parameters() if self.token.text == "(" else []
        returns: Scalar | None = None
        if function:
            self.need("RETURN")
            at = self.token.start
            kind = self.datatype()
            if not isinstance(kind, Scalar):
                raise self.refused("functions that return records, collections or cursors", at)
            returns = kind
        forward = outer.known.get(name.text)
        if forward is not None and (not isinstance(forward, Subprogram) or forward.body is not None):
            text = f"PLS-00305: previous use of '{name.text}' conflicts with this use"
            raise located(self.sql, name.start, text)
        subprogram = forward if isinstance(forward, Subprogram) else Subprogram(name.text, [], returns)
        subprogram.parameters, subprogram.first = parameters, first
        outer.known[name.text] = subprogram
        if returns is not None:
            subprogram.result = self.slots.take(returns)
        if not self.op(";"):
            if not self.any_word("IS", "AS"):
                raise self.unexpected("is")
            autonomous, self.autonomous = self.autonomous, False
            inner, self.within = self.within, subprogram
            gotos, self.gotos = self.gotos, []
            body = self.block_of(self.visible)
            self.check_gotos()
            self.gotos = gotos
            if self.autonomous:
                body = in_own_transaction(body)
            self.within, self.autonomous = inner, autonomous
            subprogram.body = body
        subprogram.last = len(self.slots.types)
        self.visible = outer
        return None

    within: Subprogram | None = None
    """The local subprogram whose body is being read."""

    def _parameters(self) -> list[Parameter]:
        self.need("(")
        found = []
        while True:
            token = self.take()
            mode = "IN OUT" if self.word("IN", "OUT") else (self.any_word("IN", "OUT") or "IN")
            self.word("NOCOPY")
            at = self.token.start
            kind = self._unsized()
            if not isinstance(kind, Scalar):
                raise self.refused("parameters that are records, collections or cursors", at)
            variable = Variable(token.text, kind, self.slots.take(kind), constant=mode == "IN")
            default = self.assigning(self._whole_target(replace(variable, constant=False))) if self._default() else None
            self._declare(token.text, token.start, variable)
            found.append(Parameter(variable, mode, default))
            if not self.op(","):
                break
        self.need(")")
        return found

    def _default(self) -> bool:
        return bool(self.op(":=")) or self.word("DEFAULT")

    def _unsized(self) -> Type:
        """A parameter's type, which has no size."""
        if self.token.text in _SIZED and self.peek().text != "(":
            national = self.token.text == "NVARCHAR2"
            raw = self.take().text == "RAW"
            kind = OraType.RAW if raw else OraType.VARCHAR2
            return Scalar(Column("PARAMETER", kind, size=LONGEST, char_length=LONGEST, national=national))
        return self.datatype()

    def _pragma(self) -> Step | None:
        self.need("PRAGMA")
        token = self.take()
        if token.text == "AUTONOMOUS_TRANSACTION":
            self.autonomous = True
        elif token.text == "EXCEPTION_INIT":
            self.need("(")
            name = self.take()
            self.need(",")
            negative = bool(self.op("-"))
            if self.token.kind == "S":
                self.tokens[self.at] = replace(self.token, kind="N", text=self.token.text.lstrip("-"))
                negative = True
            code = self.integer()
            self.need(")")
            if not isinstance(self.visible.known.get(name.text), NamedException):
                raise undeclared(self.sql, name.start, name.text)
            self.visible.known[name.text] = NamedException(name.text, code if negative else 1403 if code == 100 else None)
        elif token.text in ("INLINE", "UDF"):
            while self.token.text != ";":
                self.take()
        else:
            raise self.refused(f"PRAGMA {token.text}", token.start)
        self.need(";")
        return None


def in_own_transaction(body: Step) -> Step:
    """PRAGMA AUTONOMOUS_TRANSACTION."""

    def step(frame: Frame) -> None:
        with frame.session.run_autonomously():
            body(frame)

    return step


def _entering(variable: Variable, initial: Step | None) -> Step:
    """A variable begins anew each time its block is entered; associative arrays are empty, not null."""
    first, last = variable.slot, variable.slot + variable.width
    empty = isinstance(variable.type, Collection) and variable.type.indexed

    def enter(frame: Frame) -> None:
        frame.cells[first:last] = [{} if empty else None] * (last - first)
        if initial is not None:
            initial(frame)

    return enter
