"""SQL statements in a block: their text without INTO, and with places for values that only PL/SQL can compute.

    select v into r from t where id = k(i) and n = :b     select v from t where id = "%1" and n = :b      into r; "%1" := k(i)

Names that are no columns of the statement's tables are variables (PL/SQL Language Reference, Resolution of Names in Static SQL
Statements); `Environment.variables` has their places among the binds.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.current_rows import current_row, with_row_id
from minercdc_sandbox.sql.plsql.errors import in_statement
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.parser import BlockParser
from minercdc_sandbox.sql.plsql.program import StaticStatement, Target, store_returned, store_rows, types_of
from minercdc_sandbox.sql.plsql.targets import TargetCompiler
from minercdc_sandbox.sql.plsql.variables import TEXT, Collection, Record, Scalar, Slots, Variable
from minercdc_sandbox.sql.tokens import Token, TokenKind
from minercdc_sandbox.sql.translate.environment import VariableNames

_TABLE_FOLLOWS = frozenset(("INTO", "UPDATE", "FROM", "JOIN", "TABLE"))


class StaticSql:
    """Compiles the SQL statements of a block. Its methods raise PLS- and SQL errors within ORA-06550."""

    def __init__(self, block: Compilation, expressions: ExpressionCompiler, targets: TargetCompiler) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._session, self._read = block.session, block.read
        self._expressions, self._targets = expressions, targets

    def statement(self, *, end: str = ";", into: bool = True, marked: bool = False) -> StaticStatement:
        """Read a statement up to the operator `end`, which is left unread, and plan it, so that its errors show when the block is
        compiled. Raises ORA-06550 with the error of planning, PLS-00103 for a statement without `end`, PLS-00231, PLS-00382 and
        PLS-00404 for names that SQL cannot use, and as `TargetCompiler.targets`.

        :param into: the statement may have INTO, which is read into its `targets`; False for the query of a cursor.
        :param marked: a query FOR UPDATE of one table gets its ROWID as last column.
        """
        cut = _Cut(self._parser, self._slots)
        first = self._parser.token.start
        depth, word = 0, self._parser.token.text
        targets: list[Target] = []
        bulk = False
        returning = False
        while not (self._parser.token.text == end and self._parser.token.kind is TokenKind.OPERATOR and depth == 0):
            token = self._parser.token
            if token.kind is TokenKind.END or (token.kind is TokenKind.OPERATOR and token.text == ";"):
                raise self._parser.unexpected()
            if token.kind is TokenKind.OPERATOR:
                depth += (token.text == "(") - (token.text == ")")
            top = depth == 0 and token.kind is TokenKind.WORD
            if top and token.text in ("RETURNING", "RETURN") and word in ("INSERT", "UPDATE", "DELETE"):
                returning = True
            opens = token.text == "INTO" or (token.text == "BULK" and self._parser.peek().text == "COLLECT")
            if top and opens and not targets and into and (returning or word in ("SELECT", "WITH")):
                cut.upto(token.start)
                bulk = self._parser.word("BULK", "COLLECT")
                self._parser.need("INTO")
                targets = self._targets.targets()
                if returning:
                    cut.add(" into " + ", ".join(f":{n}" for n in self._return_binds(cut, targets)) + " ")
                cut.resume()
                continue
            self._word(cut)
        cut.upto(self._parser.token.start)
        statement = self._planned(cut, first, targets, bulk)
        text = with_row_id(cut.text) if marked else None
        if text is not None:
            statement.text, statement.marked = text, True
            statement.columns = self._session.statements.check(text, statement.types, statement.names)
        return statement

    def _planned(self, cut: _Cut, first: int, targets: list[Target], bulk: bool) -> StaticStatement:
        offset = len(cut.used)
        visible = [(path, offset + slot) for path, slot in self._names.scalars().items()]
        names = VariableNames(tuple(visible + cut.hidden(offset)))
        types = (*(self._slots.types[at] for at in cut.used), *self._slots.types)
        try:
            columns = self._session.statements.check(cut.text, types, names)
        except OraError as error:
            if error.number == 6550:
                raise
            raise in_statement(self._parser.sql, first, cut.origin(error.position), error) from None
        return StaticStatement(cut.text, cut.used, names, cut.prelude, types, targets, bulk, columns)

    def _return_binds(self, cut: _Cut, targets: list[Target]) -> list[int]:
        """New places for RETURNING's values, one for each cell of the targets; they are added to the binds of the statement."""
        found = []
        for target in targets:
            for scalar in target.scalars:
                slot = self._slots.take(scalar)
                cut.used.append(slot)
                found.append(slot)
        return found

    def _word(self, cut: _Cut) -> None:
        """Read one word of the statement; elements, attributes, binds of rows and records give way to names of places. Raises as
        `_bind`, `_packaged`, `_current_row` and `Attributes.compiled`, PLS-00231 for a local function, PLS-00382 for a whole
        collection."""
        token, before = self._parser.token, self._parser.tokens[self._parser.at - 1]
        if token.kind is TokenKind.BIND:
            self._bind(cut)
            return
        if not token.is_name or before.text == "." or before.text in _TABLE_FOLLOWS:
            self._parser.at += 1
            return
        if before.text == "WHERE" and self._parser.is_word("CURRENT", "OF"):
            self._current_row(cut)
            return
        variable, _ = self._names.variable_of((token.text,))
        after = self._parser.peek().text
        if variable is None and after == "." and self._packaged(cut):
            return
        if variable is not None and before.text == "VALUES" and _is_record(variable):
            self._record_values(cut, variable)
        elif (variable is not None and isinstance(variable.type, Collection) and after in ("(", ".")) or after == "%":
            cut.upto(token.start)
            node = self._parser.named(token)
            if not isinstance(node, ast.Call):
                raise self._parser.wrong(token.start, "PLS-00382: expression is of wrong type")
            cut.add(cut.place(*self._expressions.attributes.compiled(node)))
            cut.resume()
        elif (local := self._names.subprogram(token.text)) is not None and after == "(" and local.path:
            cut.upto(token.start)
            cut.add(".".join(f'"{part}"' for part in local.path))
            self._parser.at += 1
            cut.resume()
        elif local is not None and after == "(":
            raise self._parser.wrong(token.start, f"PLS-00231: function '{token.text}' may not be used in SQL")
        else:
            self._parser.at += 1

    def _bind(self, cut: _Cut) -> None:
        """Read a bind, or `:new.column`, which gives way to a place. Raises as `BlockParser.row_field` and `BlockParser.bind`."""
        token = self._parser.token
        cut.upto(token.start)
        field = self._parser.row_field(self._parser.take())
        if field is not None:
            self._row_value(cut, field)
            return
        cut.back(token)
        index = self._parser.bind(token).index
        cut.used.append(index)
        self._read.add(index)

    def _packaged(self, cut: _Cut) -> bool:
        """Read a variable of a package, `package.name`, which gives way to a place; False, with nothing read, for anything else.
        An alias in the statement that has the package's name comes first. Raises ORA-04063 for a package with errors."""
        token, name = self._parser.token, self._parser.peek(2)
        aliased = any(
            one.text == token.text and after.text != "." and before.text != "."
            for before, one, after in zip(
                self._parser.tokens, self._parser.tokens[1:], self._parser.tokens[2:], strict=False
            )
        )
        found = None if aliased else self._session.programs.variable((token.text, name.text))
        if found is None:
            return False
        cut.upto(token.start)
        self._parser.at += 3
        cut.add(cut.place(found.scalar, found.value))
        cut.resume()
        return True

    def _row_value(self, cut: _Cut, field: ast.Name) -> None:
        """Put a place in for `:new.column` of a trigger, which has been read."""
        slot = self._names.slot_of(field.parts, field.at)
        assert slot is not None
        cut.add(cut.place(self._slots.scalars[slot] or TEXT, _cell_at(slot)))
        cut.resume()

    def _current_row(self, cut: _Cut) -> None:
        """Read `CURRENT OF cursor`, which gives way to a comparison with the ROWID. Raises PLS-00404 for a cursor that is not FOR
        UPDATE, PLS-00201 for what is no cursor."""
        cut.upto(self._parser.token.start)
        self._parser.at += 2
        name = self._parser.take()
        slot = self._names.cursor_slot(name.text, name.start)
        if not getattr(self._names.find(name.text), "marked", False):
            text = f"PLS-00404: cursor '{name.text}' must be declared with FOR UPDATE to use with CURRENT OF"
            raise self._parser.wrong(name.start, text)
        cut.add(f"rowid = {cut.place(TEXT, current_row(slot))}")
        cut.resume()

    def _record_values(self, cut: _Cut, variable: Variable) -> None:
        """Read `record` or `records(i)` after VALUES, which gives way to a list of places. Raises PLS-00103, and as
        `Attributes.index_of`."""
        token = self._parser.take()
        cut.upto(token.start)
        places = []
        if isinstance(variable.type, Record):
            for n, (_, scalar) in enumerate(variable.type.fields):
                places.append(cut.place(scalar, _cell_at(variable.slot + n)))
        elif isinstance(variable.type, Collection) and isinstance(variable.type.element, Record):
            self._parser.need("(")
            index = self._expressions.attributes.index_of(variable.type, self._parser.expr())
            self._parser.need(")")
            for n, (_, scalar) in enumerate(variable.type.element.fields):
                places.append(cut.place(scalar, _field_at(variable, index, n)))
        cut.add("(" + ", ".join(places) + ")")
        cut.resume()

    def sql_statement(self) -> Step:
        """Read and compile INSERT, UPDATE, DELETE, MERGE, LOCK TABLE, SET TRANSACTION or transaction control. Raises as
        `statement`.

        The step sets SQL%ROWCOUNT, 0 after other statements than DML, and assigns RETURNING's values; it raises what the
        statement and `store_returned` raise.
        """
        word = self._parser.token.text
        statement = self.statement()
        self._parser.need(";")
        counted = word in ("INSERT", "UPDATE", "DELETE", "MERGE")

        def run(frame: Frame) -> None:
            result = statement.run(frame)
            frame.row_count = result.row_count if counted else 0
            if result.return_binds:
                rows = result.returned[0] if result.returned else []
                store_returned(frame, statement.targets, rows, bulk=statement.bulk)

        return run

    def select_into(self) -> Step:
        """Read and compile `SELECT .. INTO ..`: exactly one row, or any number with BULK COLLECT. Raises PLS-00428 without INTO,
        ORA-06550 with ORA-00913 or ORA-00947 for another number of columns, and as `statement`.

        The step sets SQL%ROWCOUNT; it raises what the query raises, ORA-01403 and ORA-01422 for another number of rows than one,
        with BULK COLLECT ORA-06502 for a target that is no collection, and as `Frame.store`.
        """
        at = self._parser.token.start
        statement = self.statement()
        self._parser.need(";")
        if not statement.targets:
            raise self._parser.wrong(at, "PLS-00428: an INTO clause is expected in this SELECT statement")
        columns = statement.columns or ()
        width = sum(target.width for target in statement.targets)
        if width != len(columns) and not (statement.bulk and width == len(statement.targets) == 1):
            few = width > len(columns)
            error = OraError(947 if few else 913, "not enough values" if few else "too many values")
            raise in_statement(self._parser.sql, at, at, error)
        types = types_of(columns)

        def run(frame: Frame) -> None:
            rows = statement.run(frame).rows
            assert rows is not None
            store_rows(frame, statement.targets, rows, types, bulk=statement.bulk)

        return run


def _is_record(variable: Variable) -> bool:
    kind = variable.type
    return isinstance(kind, Record) or (isinstance(kind, Collection) and isinstance(kind.element, Record))


def _cell_at(slot: int) -> Any:
    return lambda frame: frame.cells[slot]


def _field_at(variable: Variable, index: Any, field_: int) -> Any:
    kind = variable.type
    assert isinstance(kind, Collection)
    return lambda frame: frame.element(variable.slot, kind, index(frame))[field_]


class _Cut:
    """The statement's text as it is put together, in order, and where its pieces come from.

    :ivar used: places of the statement's binds, in order.
    :ivar prelude: steps that fill places before the statement runs.
    """

    def __init__(self, parser: BlockParser, slots: Slots) -> None:
        self._parser, self._slots = parser, slots
        self._start = parser.token.start
        self._pieces: list[str] = []
        self._length = 0
        self._origins: list[tuple[int, int]] = []
        self._places: list[int] = []
        self.used: list[int] = []
        self.prelude: list[Step] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def upto(self, at: int) -> None:
        """Take the block's text from the beginning of the statement, or the last `resume` or `back`, up to the offset `at`."""
        self._origins.append((self._length, self._start))
        self._append(self._parser.sql[self._start : at])

    def back(self, token: Token) -> None:
        """Go on with the block's text at `token`, a word that was cut off but belongs to the statement."""
        self._start = token.start

    def add(self, text: str) -> None:
        self._origins.append((self._length, self._parser.token.start))
        self._append(text)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def resume(self) -> None:
        """Leave out the block's text up to the parser's next word; a blank stands for it."""
        self._start = self._parser.token.start
        self._append(" ")

    def origin(self, at: int) -> int:
        """Offset in the block of the offset `at` in the statement, for the place of an error."""
        n = bisect_right([place for place, _ in self._origins], at) - 1
        return self._origins[n][1] + at - self._origins[n][0] if n >= 0 else self._start

    def place(self, kind: Scalar, value: Any) -> str:
        """A name, for the statement's text, of a new place whose value is computed before the statement runs; `value`: computes
        it from the frame."""
        slot = self._slots.take(kind)

        def fill(frame: Frame) -> None:
            frame.cells[slot] = value(frame)

        self.prelude.append(fill)
        self._places.append(slot)
        return f'"%{slot}"'

    def hidden(self, offset: int) -> list[tuple[tuple[str, ...], int]]:
        return [((f"%{slot}",), offset + slot) for slot in self._places]
