"""SQL statements in a block: their text as it stands, but for INTO, and for what only PL/SQL can compute.

    select v into r from t where id = k(i) and n = :b     select v from t where id = "%1" and n = :b      into r; "%1" := k(i)

Names that are no columns of the statement's tables are variables (PL/SQL Language Reference, Resolution of Names in Static SQL
Statements); `Environment.variables` tells where they are among the binds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from minercdc_sandbox.interfaces import BindType, ColumnDescription, OraError, Result
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql import attributes
from minercdc_sandbox.sql.plsql.current_rows import current_row, with_row_id
from minercdc_sandbox.sql.plsql.errors import in_statement, located
from minercdc_sandbox.sql.plsql.expressions import Blocks
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.targets import Target, Targets, assign_all
from minercdc_sandbox.sql.plsql.variables import TEXT, Collection, Names, Record, RefCursor, Scalar, Variable
from minercdc_sandbox.sql.translate.environment import VariableNames
from minercdc_sandbox.sql.types import SqlType, column_type, type_of_wire

_TABLE_FOLLOWS = frozenset(("INTO", "UPDATE", "FROM", "JOIN", "TABLE"))


@dataclass(slots=True)
class Embedded:
    """A statement ready to run.

    :param used: places of the client binds it names, in order.
    :param types: of these, then of all places there were when it was compiled.
    :param targets: INTO's, of a query's columns or of RETURNING; `bulk` when BULK COLLECT stands before it.
    :param columns: of a query.
    :param marked: each row ends with its ROWID.
    """

    text: str
    used: list[int]
    names: VariableNames
    prelude: list[Step]
    types: tuple[BindType, ...] = ()
    targets: list[Target] = field(default_factory=list)
    bulk: bool = False
    columns: tuple[ColumnDescription, ...] | None = None
    marked: bool = False

    def run(self, frame: Frame) -> Result:
        """Run it once, with the values the variables have now."""
        for step in self.prelude:
            step(frame)
        cells = frame.cells
        row = (*(cells[at] for at in self.used), *cells[: len(self.types) - len(self.used)])
        return frame.session.run_statement(self.text, self.types, [row], self.names)


def types_of(columns: Sequence[ColumnDescription]) -> list[SqlType]:
    return [type_of_wire(c.type, c.precision, c.scale, c.size, c.national) for c in columns]


class Static(Targets):
    """Reads and runs static SQL."""

    def embedded(self, *, end: str = ";", into: bool = True, marked: bool = False) -> Embedded:
        """Read a statement up to `end`, which is left, and plan it. Raises ORA-06550 with what planning found.

        :param marked: rows that are locked end with their ROWIDs.
        """
        cut = _Cut(self)
        first = self.token.start
        depth, word = 0, self.token.text
        targets: list[Target] = []
        bulk = False
        returning = False
        while not (self.token.text == end and self.token.kind == "O" and depth == 0):
            token = self.token
            if token.kind == "E" or (token.kind == "O" and token.text == ";"):
                raise self.unexpected()
            if token.kind == "O":
                depth += (token.text == "(") - (token.text == ")")
            top = depth == 0 and token.kind == "W"
            if top and token.text in ("RETURNING", "RETURN") and word in ("INSERT", "UPDATE", "DELETE"):
                returning = True
            opens = token.text == "INTO" or (token.text == "BULK" and self.peek().text == "COLLECT")
            if top and opens and not targets and into and (returning or word in ("SELECT", "WITH")):
                cut.upto(token.start)
                bulk = self.word("BULK", "COLLECT")
                self.need("INTO")
                targets = self.targets()
                if returning:
                    cut.add(" into " + ", ".join(f":{n}" for n in self._return_binds(cut, targets)) + " ")
                cut.resume()
                continue
            self._word(cut)
        cut.upto(self.token.start)
        names = VariableNames(tuple(self._visible(len(cut.used)) + cut.hidden(len(cut.used))))
        types = (*(self.slots.types[at] for at in cut.used), *self.slots.types)
        statement = Embedded(cut.text, cut.used, names, cut.prelude, types, targets, bulk)
        try:
            statement.columns = self.session.check_statement(cut.text, types, names)
        except OraError as error:
            if error.number == 6550:
                raise
            raise in_statement(self.sql, first, cut.origin(error.position), error) from None
        text = with_row_id(cut.text) if marked else None
        if text is not None:
            statement.text, statement.marked = text, True
            statement.columns = self.session.check_statement(text, types, names)
        return statement

    def _return_binds(self, cut: _Cut, targets: list[Target]) -> list[int]:
        """Places for RETURNING's values; each is as wide as a variable can be."""
        found = []
        for target in targets:
            for scalar in target.scalars:
                slot = self.slots.take(scalar)
                cut.used.append(slot)
                found.append(slot)
        return found

    def _word(self, cut: _Cut) -> None:
        """One word of the statement; elements, attributes and records give way to names of places."""
        token, before = self.token, self.tokens[self.at - 1]
        if token.kind == "B":
            index = self.bind(self.take()).index
            cut.used.append(index)
            self.read.add(index)
            return
        if token.kind not in "WQ" or before.text == "." or before.text in _TABLE_FOLLOWS:
            self.at += 1
            return
        if before.text == "WHERE" and self.is_word("CURRENT", "OF"):
            self._current_row(cut)
            return
        variable, _ = self.variable_of((token.text,))
        after = self.peek().text
        if variable is not None and before.text == "VALUES" and _is_record(variable):
            self._record_values(cut, variable)
        elif (variable is not None and isinstance(variable.type, Collection) and after in ("(", ".")) or after == "%":
            cut.upto(token.start)
            node = self._named(token)
            if not isinstance(node, ast.Call):
                raise located(self.sql, token.start, "PLS-00382: expression is of wrong type")
            cut.add(cut.place(*attributes.compiled(self, node)))
            cut.resume()
        elif self.subprogram(token.text) is not None and after == "(":
            raise located(self.sql, token.start, f"PLS-00231: function '{token.text}' may not be used in SQL")
        else:
            self.at += 1

    def _current_row(self, cut: _Cut) -> None:
        """`CURRENT OF cursor`. Raises PLS-00404 for one that is not FOR UPDATE."""
        cut.upto(self.token.start)
        self.at += 2
        name = self.take()
        slot = attributes.cursor_slot(self, ast.Name((name.text,), name.start))
        if not getattr(self.visible.find(name.text), "marked", False):
            text = f"PLS-00404: cursor '{name.text}' must be declared with FOR UPDATE to use with CURRENT OF"
            raise located(self.sql, name.start, text)
        cut.add(f"rowid = {cut.place(TEXT, current_row(slot))}")
        cut.resume()

    def _record_values(self, cut: _Cut, variable: Variable) -> None:
        """`VALUES record`, `VALUES records(i)`."""
        token = self.take()
        cut.upto(token.start)
        places = []
        if isinstance(variable.type, Record):
            for n, (_, scalar) in enumerate(variable.type.fields):
                places.append(cut.place(scalar, _cell_at(variable.slot + n)))
        elif isinstance(variable.type, Collection) and isinstance(variable.type.element, Record):
            self.need("(")
            index = attributes.index_of(self, variable.type, self.expr())
            self.need(")")
            for n, (_, scalar) in enumerate(variable.type.element.fields):
                places.append(cut.place(scalar, _field_at(variable, index, n)))
        cut.add("(" + ", ".join(places) + ")")
        cut.resume()

    def _visible(self, offset: int) -> list[tuple[tuple[str, ...], int]]:
        """Scalars and fields of records by all the names they have here."""
        found: dict[tuple[str, ...], int] = {}
        scope: Names | None = self.visible
        while scope is not None:
            for name, known in scope.known.items():
                if not isinstance(known, Variable):
                    continue
                for path, slot in _scalars(name, known):
                    found.setdefault(path, offset + slot)
                    if scope.label is not None:
                        found.setdefault((scope.label, *path), offset + slot)
            scope = scope.parent
        return list(found.items())

    def sql_statement(self) -> Step:
        """INSERT, UPDATE, DELETE, MERGE, LOCK TABLE, SET TRANSACTION, transaction control."""
        word = self.token.text
        statement = self.embedded()
        self.need(";")
        counted = word in ("INSERT", "UPDATE", "DELETE", "MERGE")

        def run(frame: Frame) -> None:
            result = statement.run(frame)
            frame.row_count = result.row_count if counted else 0
            if result.return_binds:
                returned(frame, statement, result.returned[0] if result.returned else [])

        return run

    def select_into(self) -> Step:
        """`SELECT .. INTO ..`: exactly one row, or any number with BULK COLLECT."""
        at = self.token.start
        statement = self.embedded()
        self.need(";")
        if not statement.targets:
            raise located(self.sql, at, "PLS-00428: an INTO clause is expected in this SELECT statement")
        columns = statement.columns or ()
        self.check_width(statement, len(columns), at)
        types = types_of(columns)

        def run(frame: Frame) -> None:
            rows = statement.run(frame).rows
            assert rows is not None
            found = rows.fetch(1 << 62 if statement.bulk else 2)
            rows.close()
            frame.row_count = len(found)
            if statement.bulk:
                assign_all(frame, statement.targets, found, types)
                return
            store_one(frame, statement.targets, found, types)

        return run

    def check_width(self, statement: Embedded, columns: int, at: int) -> None:
        """Raises ORA-00947 or 00913 within ORA-06550 when INTO does not fit the select list."""
        width = sum(target.width for target in statement.targets)
        if width != columns and not (statement.bulk and width == len(statement.targets) == 1):
            few = width > columns
            error = OraError(947 if few else 913, "not enough values" if few else "too many values")
            raise in_statement(self.sql, at, at, error)


def store_one(frame: Frame, targets: Sequence[Target], rows: Sequence[Sequence[Any]], types: Sequence[SqlType]) -> None:
    """Raises ORA-01403, ORA-01422."""
    if len(rows) != 1:
        missing = not rows
        frame.row_count = 0 if missing else 1
        text = "no data found" if missing else "exact fetch returns more than requested number of rows"
        raise OraError(1403 if missing else 1422, text)
    at = 0
    for target in targets:
        target.store(frame, rows[0][at : at + target.width], types[at : at + target.width])
        at += target.width


def returned(frame: Frame, statement: Embedded, rows: Sequence[Sequence[Any]]) -> None:
    """RETURNING INTO: at most one row, NULLs when none was affected; with BULK COLLECT all."""
    types = [column_type(scalar.column) for target in statement.targets for scalar in target.scalars]
    if statement.bulk:
        assign_all(frame, statement.targets, rows, types)
        return
    if len(rows) > 1:
        raise OraError(1422, "exact fetch returns more than requested number of rows")
    if rows:
        store_one(frame, statement.targets, rows, types)


def _is_record(variable: Variable) -> bool:
    kind = variable.type
    return isinstance(kind, Record) or (isinstance(kind, Collection) and isinstance(kind.element, Record))


def _cell_at(slot: int) -> Any:
    return lambda frame: frame.cells[slot]


def _field_at(variable: Variable, index: Any, field_: int) -> Any:
    kind = variable.type
    assert isinstance(kind, Collection)
    return lambda frame: attributes.element(frame, variable.slot, kind, index(frame))[field_]


def _scalars(name: str, variable: Variable) -> list[tuple[tuple[str, ...], int]]:
    if isinstance(variable.type, Record):
        return [((name, one), variable.slot + n) for n, (one, _) in enumerate(variable.type.fields)]
    return [] if isinstance(variable.type, Collection | RefCursor) else [((name,), variable.slot)]


class _Cut:
    """The statement's text as it is put together, and where its pieces come from."""

    def __init__(self, parser: Blocks) -> None:
        self._parser = parser
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
        """Take what stands before."""
        self._origins.append((self._length, self._start))
        self._append(self._parser.sql[self._start : at])

    def add(self, text: str) -> None:
        self._origins.append((self._length, self._parser.token.start))
        self._append(text)

    def _append(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def resume(self) -> None:
        """Go on with the word the parser is at."""
        self._start = self._parser.token.start
        self._append(" ")

    def origin(self, at: int) -> int:
        """Offset in the block of an offset in the statement."""
        n = bisect_right([place for place, _ in self._origins], at) - 1
        return self._origins[n][1] + at - self._origins[n][0] if n >= 0 else self._start

    def place(self, kind: Scalar, value: Any) -> str:
        """A name for a value that is computed before the statement."""
        slot = self._parser.slots.take(kind)

        def fill(frame: Frame) -> None:
            frame.cells[slot] = value(frame)

        self.prelude.append(fill)
        self._places.append(slot)
        return f'"%{slot}"'

    def hidden(self, offset: int) -> list[tuple[tuple[str, ...], int]]:
        return [((f"%{slot}",), offset + slot) for slot in self._places]
