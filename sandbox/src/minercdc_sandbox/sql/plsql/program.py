"""Parts of a compiled block: expressions, targets of assignments, SQL statements, cursors, local subprograms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from minercdc_sandbox.interfaces import BindType, ColumnDescription, OraError, Result, Rows
from minercdc_sandbox.sql.declare import declared_like
from minercdc_sandbox.sql.plsql.frame import Frame, Leave, Step, Value
from minercdc_sandbox.sql.plsql.variables import Collection, Record, Scalar, Variable
from minercdc_sandbox.sql.translate.environment import VariableNames
from minercdc_sandbox.sql.types import SqlType, column_type, type_of_wire

Store: TypeAlias = Callable[[Frame, Sequence[Any], Sequence[SqlType]], None]
_DEEPEST = 100
"""Calls within calls; Python's own stack ends soon after."""


@dataclass(slots=True)
class Compiled:
    """A compiled expression; `value` computes its cell, or a whole record, collection or cursor, from the frame.

    :ivar type: of its value; NULL's type for a record, collection or cursor.
    :ivar slot: the place, when the expression is nothing but one place, or the first place of `variable`.
    :ivar variable: the record, collection or cursor variable that it is, else None.
    """

    value: Value
    type: SqlType
    slot: int | None = None
    variable: Variable | None = None

    def wire_type(self) -> BindType:
        """The type that its value is bound as, with room for at least 4000 bytes."""
        described = self.type.describe("")
        return BindType(described.type, max(described.size, 4000), described.national)


@dataclass(slots=True)
class Target:
    """A target of assignments.

    :ivar scalars: types of the cells that it takes.
    :ivar store: assigns cells, given with their types, one for each of `scalars`; raises as `Frame.store`, for an element of a
        collection also ORA-06502 for a NULL index, ORA-06531, and, unless it is INDEX BY, ORA-06532 and ORA-06533.
    :ivar variable: of a whole record, collection or cursor variable, else None.
    :ivar slot: of a target that is one place, else None.
    """

    scalars: list[Scalar]
    store: Store
    variable: Variable | None = None
    slot: int | None = None

    @property
    def width(self) -> int:
        """How many cells it takes; of a collection, how many for each element."""
        return len(self.scalars)

    @property
    def place(self) -> int | None:
        """The one place it is, or the first place of a whole variable; None for an element of a collection and a variable of a
        package."""
        return self.variable.slot if self.variable is not None else self.slot


def assign_all(frame: Frame, targets: Sequence[Target], rows: Sequence[Sequence[Any]], types: Sequence[SqlType]) -> None:
    """BULK COLLECT INTO: each target, a collection, is replaced by cells of the rows, with keys from 1 on; the targets take the
    columns in turn. Raises ORA-06502 for other targets, and as `Frame.fitted`."""
    at = 0
    for target in targets:
        variable = target.variable
        if variable is None or not isinstance(variable.type, Collection):
            raise OraError(6502, "PL/SQL: numeric or value error: BULK COLLECT into what is no collection")
        found: dict[Any, tuple[Any, ...]] = {}
        for n, row in enumerate(rows, 1):
            cells = zip(target.scalars, row[at : at + target.width], types[at : at + target.width], strict=True)
            found[n] = tuple([frame.fitted(scalar, cell, type_) for scalar, cell, type_ in cells])
        frame.cells[variable.slot] = found
        at += target.width


def types_of(columns: Sequence[ColumnDescription]) -> list[SqlType]:
    """Types of the columns of a result. Raises as `type_of_wire`."""
    return [type_of_wire(c.type, c.precision, c.scale, c.size, c.national) for c in columns]


@dataclass(slots=True)
class StaticStatement:
    """A compiled SQL statement of a block.

    :ivar text: the statement: a query without INTO, RETURNING with INTO of new binds; with names of places for what SQL does not
        have.
    :ivar used: places of its binds, in order, those of RETURNING too.
    :ivar names: the variables it may name, by their places among the values it runs with.
    :ivar prelude: steps that fill places before it runs.
    :ivar types: of the places in `used`, then of all places there were when it was compiled.
    :ivar targets: INTO's, of a query's columns or of RETURNING.
    :ivar bulk: BULK COLLECT stands before INTO.
    :ivar columns: of a query, else None.
    :ivar marked: each row ends with its ROWID.
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
        """Run it once, with the present values of its binds and variables. The caller closes the result of a query, and sets
        SQL%ROWCOUNT. Raises what the statement raises."""
        for step in self.prelude:
            step(frame)
        cells = frame.cells
        row = (*(cells[at] for at in self.used), *cells[: len(self.types) - len(self.used)])
        return frame.session.statements.run_inner(self.text, self.types, [row], self.names)


def store_row(frame: Frame, targets: Sequence[Target], row: Sequence[Any], types: Sequence[SqlType]) -> None:
    """Assign the cells of one row, which the targets take in turn; `types`: of the cells. Raises as `Frame.store`."""
    at = 0
    for target in targets:
        target.store(frame, row[at : at + target.width], types[at : at + target.width])
        at += target.width


def store_one(frame: Frame, targets: Sequence[Target], rows: Sequence[Sequence[Any]], types: Sequence[SqlType]) -> None:
    """Assign the one row there must be. Raises ORA-01403 without a row, ORA-01422 for more, with SQL%ROWCOUNT set to 0 or 1, and
    as `Frame.store`."""
    if len(rows) != 1:
        missing = not rows
        frame.row_count = 0 if missing else 1
        text = "no data found" if missing else "exact fetch returns more than requested number of rows"
        raise OraError(1403 if missing else 1422, text)
    store_row(frame, targets, rows[0], types)


def store_rows(frame: Frame, targets: Sequence[Target], rows: Rows, types: Sequence[SqlType], *, bulk: bool) -> None:
    """INTO of an open query, which is closed: as `store_one`, with BULK COLLECT as `assign_all`. Sets SQL%ROWCOUNT to the number
    of rows. Raises as these, and as `Rows.fetch`."""
    found = rows.fetch(1 << 62 if bulk else 2)
    rows.close()
    frame.row_count = len(found)
    (assign_all if bulk else store_one)(frame, targets, found, types)


def store_returned(frame: Frame, targets: Sequence[Target], rows: Sequence[Sequence[Any]], *, bulk: bool) -> None:
    """RETURNING INTO: the values of one row, nothing when there is none, with BULK COLLECT those of all rows. Raises ORA-01422
    for more than one row without BULK COLLECT, and as `store_row` and `assign_all`."""
    types = [column_type(scalar.column) for target in targets for scalar in target.scalars]
    if bulk:
        assign_all(frame, targets, rows, types)
        return
    if len(rows) > 1:
        raise OraError(1422, "exact fetch returns more than requested number of rows")
    if rows:
        store_row(frame, targets, rows[0], types)


@dataclass(frozen=True, slots=True, eq=False)
class DeclaredCursor:
    """`CURSOR name(parameters) IS query`: parameters in order with their defaults, None without one. `slot`: the place of the
    open cursor."""

    name: str
    slot: int
    statement: StaticStatement
    parameters: tuple[tuple[Variable, Compiled | None], ...]

    @property
    def marked(self) -> bool:
        """Whether CURRENT OF can name its rows: its query is FOR UPDATE with one table or view, and nothing else, in FROM. The
        statement's rows end with their ROWID then."""
        return self.statement.marked

    @property
    def columns(self) -> tuple[ColumnDescription, ...]:
        """The query's columns, without the ROWID of a marked one."""
        columns = self.statement.columns or ()
        return columns[:-1] if self.marked else columns


def record_of(columns: Sequence[ColumnDescription]) -> Record:
    """%ROWTYPE of a query with these columns. Raises as `type_of_wire`."""
    fields = []
    for column in columns:
        kind = type_of_wire(column.type, column.precision, column.scale, column.size, column.national)
        fields.append((column.name, Scalar(declared_like(column.name, kind))))
    return Record(tuple(fields))


@dataclass(slots=True)
class Parameter:
    """A parameter of a subprogram.

    :ivar mode: IN, OUT or IN OUT.
    :ivar default: assigns its default to the variable; None without one.
    """

    variable: Variable
    mode: str
    default: Value | None = None


class Home(Protocol):
    """The stored program that a subprogram or public variable belongs to, as one session has it; `stored.Unit` is the only one."""

    def entered(self, frame: Frame | None) -> AbstractContextManager[Frame]:
        """A context for a call from `frame`, None for one from SQL: yields the program's own frame, initialized at the first
        call, and gives its owner's rights. An error that leaves gets the program's ORA-06512 lines. Raises ORA-00036 for programs
        nested too deep, once ORA-04068 when values of its variables were lost, and what the initialization raises."""


@dataclass(frozen=True, slots=True, eq=False)
class PackagedVariable:
    """A scalar variable or constant of a package's specification, with its type and the program that holds its value."""

    variable: Variable
    scalar: Scalar
    home: Home

    def value(self, frame: Frame) -> Any:
        """The variable's cell in the session of that frame, read at each call. Raises as `Home.entered`."""
        with self.home.entered(frame) as inner:
            return inner.cells[self.variable.slot]


@dataclass(slots=True, eq=False)
class Subprogram:
    """A procedure or function, local or stored.

    :ivar parameters: in the order of declaration.
    :ivar returns: type of a function's result, None of a procedure.
    :ivar body: None until it has been read.
    :ivar first: the first of its places, which are saved around each call; `last`: the first one after them.
    :ivar result: the place of a function's result.
    :ivar home: of a stored one, called from elsewhere; None of a local one.
    :ivar path: names by which SQL can call it; () of a procedure, and of a function that only its block or package knows.
    """

    name: str
    parameters: list[Parameter]
    returns: Scalar | None
    body: Step | None = None
    first: int = 0
    last: int = 0
    result: int = 0
    home: Home | None = None
    path: tuple[str, ...] = ()

    def run(
        self, frame: Frame, incoming: Sequence[tuple[Parameter, Compiled | None]], outgoing: Sequence[tuple[Parameter, int]]
    ) -> Any:
        """Call it. Returns a function's result, None of a procedure. Raises ORA-04067 for a stored one without a body, ORA-06500
        for a local one without a body and for calls nested deeper than 100, ORA-06503 for a function that ends without RETURN, as
        `Home.entered`, as `Frame.store` for arguments and OUT parameters, and what its statements raise.

        :param incoming: the argument of each parameter, None for its default.
        :param outgoing: the place that each OUT parameter is assigned to after the call.
        """
        values = [(p, v if v is None else (v.value(frame), v.type)) for p, v in incoming]
        if self.home is not None and self.body is None:
            path = '"' + ".".join(self.path[:-1] or (self.name,)) + '"'
            raise OraError(4067, f"not executed, package body {path} does not exist")
        if self.home is None:
            result, handed = self.call(frame, values, [(p, slot) for p, slot in outgoing])
        else:
            with self.home.entered(frame) as inner:
                result, handed = self.call(inner, values, [(p, slot) for p, slot in outgoing])
        for slot, cell, kind in handed:
            assert isinstance(kind, Scalar)
            frame.store(slot, cell, column_type(kind.column))
        return result

    def call(
        self,
        frame: Frame,
        values: Sequence[tuple[Parameter, tuple[Any, SqlType] | None]],
        outgoing: Sequence[tuple[Parameter, int]] = (),
    ) -> tuple[Any, list[tuple[int, Any, Any]]]:
        """Run the body in `frame`, the one it belongs to, with places of its own for this call. Raises ORA-06500 and ORA-06503 as
        `run`, as `Frame.store` for arguments, and what its statements raise.

        :param values: cell and type for each parameter, None for its default.
        :param outgoing: the place that each OUT parameter is assigned to by the caller.
        :return: a function's result, None of a procedure, and of each OUT parameter the place, value and type.
        """
        if frame.depth >= _DEEPEST or self.body is None:
            raise OraError(6500, "PL/SQL: storage error")
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
        return result, handed

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
