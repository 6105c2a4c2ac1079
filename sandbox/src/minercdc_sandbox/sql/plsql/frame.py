"""One run of a block: its row of cells, the attributes of SQL%, the error that is being handled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import Cell, LobKind, OraError, OraType, Result
from minercdc_sandbox.lobs import access
from minercdc_sandbox.lobs.locator import is_locator
from minercdc_sandbox.sql import number
from minercdc_sandbox.sql.convert import Conversion, Convert, convert
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.plsql.errors import value_error
from minercdc_sandbox.sql.plsql.variables import Collection, OpenCursor, Scalar, Slots
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.types import TEXT, Family, SqlType, bind_type

_SMALL = 2147483647
_LOBS = {OraType.CLOB: LobKind.CLOB, OraType.BLOB: LobKind.BLOB}


@dataclass(slots=True)
class Frame:
    """The state of one run of a block or trigger, or of a package as long as the session has it. One thread uses it.

    :param cells: values by place: cells, open cursors, dicts of collections; None for NULL and for a closed cursor.
    :param assigned: places of client binds that were assigned, and perhaps others.
    :param row_count: SQL%ROWCOUNT, None before the first statement.
    :param bulk: SQL%BULK_ROWCOUNT, by turn of the last FORALL.
    :param bulk_errors: SQL%BULK_EXCEPTIONS: iteration, from 1, and error number, above 0.
    :param error: the error that a handler is handling, else None.
    :param depth: calls of local subprograms around the statement.
    :param implicit: open queries of DBMS_SQL.RETURN_RESULT, in its order.
    :param unit: `OWNER.NAME` of the stored program, '' of an anonymous block.
    """

    session: SqlSession
    slots: Slots
    cells: list[Any]
    assigned: set[int] = field(default_factory=set)
    row_count: int | None = None
    bulk: list[int] = field(default_factory=list)
    bulk_errors: list[tuple[int, int]] = field(default_factory=list)
    error: OraError | None = None
    depth: int = 0
    implicit: list[Result] = field(default_factory=list)
    unit: str = ""
    _failing: OraError | None = None
    _lines: list[tuple[int, str]] = field(default_factory=list)
    _stores: dict[tuple[int, SqlType], Convert] = field(default_factory=dict)

    def conversion(self) -> Conversion:
        """The session's present settings of implicit conversions, with today's date; a new object at each call."""
        env = self.session.environment
        return Conversion(env.nls, date.fromtimestamp(self.session.storage.clock.now()), env.lobs)

    def store(self, slot: int, cell: Any, source: SqlType) -> None:
        """Assign a cell of the type `source` to a scalar or client's bind; text or bytes for a CLOB or BLOB variable become a new
        temporary LOB. Raises ORA-06502 when the cell does not fit or is no number or hexadecimal digits, ORA-01426 for a
        PLS_INTEGER out of range, ORA-00932 when there is no conversion, else as the conversion."""
        scalar = self.slots.scalars[slot]
        if scalar is None:
            self._store_bind(slot, cell, source)
        else:
            self.cells[slot] = self.fitted(scalar, cell, source)

    def fitted(self, scalar: Scalar, cell: Any, source: SqlType) -> Cell:
        """The cell, of the type `source`, as a variable of type `scalar` holds it. Makes temporary LOBs and raises as `store`."""
        column = scalar.column
        if column.type in _LOBS:
            return self._lob(column.type, cell, source)
        if cell is None:
            if scalar.not_null:
                raise OraError(6502, "PL/SQL: numeric or value error")
            return None
        key = (id(scalar), source)
        fit = self._stores.get(key)
        if fit is None:
            self._stores[key] = fit = storer(source, column, "", self.conversion())
        try:
            found = fit(cell)
        except OraError as error:
            raise value_error(error) from None
        if scalar.small and isinstance(found, bytes) and abs(number.to_int(found)) > _SMALL:
            raise OraError(1426, "numeric overflow")
        return found

    def _lob(self, type_: OraType, cell: Any, source: SqlType) -> Cell:
        """A locator and NULL stay what they are; text and bytes become a new temporary LOB of `type_`. Raises as `convert` and
        its conversion."""
        if cell is None or is_locator(cell):
            return cell
        kind = _LOBS[type_]
        wanted = Family.BLOB if kind is LobKind.BLOB else Family.CLOB
        first = convert(source, wanted if source.family in (*TEXT, Family.RAW) else Family.VARCHAR, self.conversion())
        data = cell if first is None else first(cell)
        locator = access.create_temporary(self.session, kind)
        return access.write(self.session, locator, 1, data) if data else locator

    def _store_bind(self, slot: int, cell: Any, source: SqlType) -> None:
        """Assign a cell to a client's bind, which takes what its type can hold, and mark it as assigned. Raises as `store`."""
        bind = self.slots.types[slot]
        fit = convert(source, bind_type(bind).family, self.conversion())
        try:
            found = cell if fit is None else fit(cell)
        except OraError as error:
            raise value_error(error) from None
        if isinstance(found, str) and 0 < bind.size < len(found.encode()):
            raise OraError(6502, "PL/SQL: numeric or value error: character string buffer too small")
        self.cells[slot] = found
        self.assigned.add(slot)

    def cursor(self, slot: int) -> OpenCursor:
        """The open cursor in a place. Raises ORA-01001 when there is none."""
        found = self.cells[slot]
        if not isinstance(found, OpenCursor):
            raise OraError(1001, "invalid cursor")
        return found

    def elements(self, slot: int) -> dict[Any, Any]:
        """The elements of a collection by key; the dict itself, to be changed. Raises ORA-06531 for a collection that is
        atomically null."""
        found = self.cells[slot]
        if found is None:
            raise OraError(6531, "Reference to uninitialized collection")
        assert isinstance(found, dict)
        return found

    def element(self, slot: int, kind: Collection, key: Any) -> tuple[Any, ...]:
        """The cells of one element, one for each field of a record. Raises ORA-06531 as `elements`; for an element that does not
        exist ORA-01403, of a nested table or varray ORA-06533 for a key above 0, else ORA-06532."""
        found: tuple[Any, ...] | None = self.elements(slot).get(key)
        if found is None:
            if kind.indexed:
                raise OraError(1403, "no data found")
            raise OraError(6533 if key > 0 else 6532, "Subscript beyond count" if key > 0 else "Subscript outside of limit")
        return found

    def note(self, error: OraError, line: int) -> None:
        """Remember, for `stack`, the line of the statement that raised the error, and of each call around that; call it at each
        statement that the error leaves, the innermost first. Another error replaces the one before."""
        place = f'at "{self.unit}", line {line}' if self.unit else f"at line {line}"
        if self._failing is not error:
            self._failing, self._lines = error, [(self.depth, f"\nORA-06512: {place}")]
        elif self.depth < self._lines[-1][0]:
            self._lines.append((self.depth, f"\nORA-06512: {place}"))

    def adopt(self, error: OraError, stack: str) -> None:
        """Take over the ORA-06512 lines, `stack`, of a stored program that this frame called, and in which the error was raised."""
        self._failing, self._lines = error, [(self.depth + 1, stack)]

    def stack(self, error: OraError) -> str:
        """The ORA-06512 lines of an error, each after a newline, the innermost first; '' for an error that was not noted last."""
        if self._failing is not error:
            return ""
        return "".join(line for _, line in self._lines)


Step: TypeAlias = Callable[[Frame], None]
Value: TypeAlias = Callable[[Frame], Any]
Test: TypeAlias = "Callable[[Frame], bool | None]"


class Leave(Exception):
    """EXIT, CONTINUE, GOTO or RETURN, raised up to its loop, label or subprogram.

    :param kind: which of these words.
    :param label: of GOTO and of EXIT and CONTINUE with a label; '' of RETURN; None: the innermost loop.
    """

    def __init__(self, kind: str, label: str | None = None) -> None:
        super().__init__(kind)
        self.kind, self.label = kind, label
