"""Elements and methods of collections, and attributes of cursors: `t(i)`, `t.COUNT`, `c%FOUND`, `SQL%ROWCOUNT`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.frame import Frame, Value
from minercdc_sandbox.sql.plsql.variables import (
    BOOLEAN,
    NUMBER,
    TEXT,
    Collection,
    OpenCursor,
    Record,
    RefCursor,
    Scalar,
    Variable,
)

if TYPE_CHECKING:
    from minercdc_sandbox.sql.plsql.expressions import Blocks

Index = Callable[[Frame], Any]


def compiled(parser: Blocks, node: ast.Call) -> tuple[Scalar, Value]:
    """Type and value. Raises PLS-00201, PLS-00302 within ORA-06550."""
    owner = node.args[0]
    assert isinstance(owner, ast.Name)
    if owner.parts == ("SQL",):
        return _of_sql(parser, node)
    variable, _ = parser.variable_of(owner.parts)
    if variable is not None and isinstance(variable.type, Collection):
        return _of_collection(parser, node, variable, variable.type)
    slot = cursor_slot(parser, owner)
    return _of_cursor(parser, node, slot)


def cursor_slot(parser: Blocks, owner: ast.Name) -> int:
    """The place of an explicit cursor, cursor variable or client's cursor."""
    found = parser.visible.find(owner.parts[0])
    slot = getattr(found, "slot", None)
    if isinstance(slot, int) and (not isinstance(found, Variable) or isinstance(found.type, RefCursor)):
        return slot
    raise located(parser.sql, owner.at, f"PLS-00201: identifier '{owner.parts[0]}' must be declared")


def _truth(value: bool | None) -> bytes | None:
    return None if value is None else bytes((int(value),))


def _of_sql(parser: Blocks, node: ast.Call) -> tuple[Scalar, Value]:
    """SQL%..: of the last statement, NULL before the first."""
    if node.name == "%BULK_ROWCOUNT":
        index = _whole(parser, node.args[1])

        def of_one(frame: Frame) -> bytes:
            at = index(frame)
            if not isinstance(at, int) or not 0 < at <= len(frame.bulk):
                raise OraError(6533, "Subscript beyond count")
            return number.encode(frame.bulk[at - 1])

        return NUMBER, of_one
    if node.name.startswith("%BULK_EXCEPTIONS."):
        return _of_bulk_exceptions(parser, node)
    rules: dict[str, tuple[Scalar, Value]] = {
        "%ROWCOUNT": (NUMBER, lambda f: None if f.row_count is None else number.encode(f.row_count)),
        "%FOUND": (BOOLEAN, lambda f: _truth(None if f.row_count is None else f.row_count > 0)),
        "%NOTFOUND": (BOOLEAN, lambda f: _truth(None if f.row_count is None else f.row_count == 0)),
        "%ISOPEN": (BOOLEAN, lambda f: b"\x00"),
    }
    if node.name not in rules:
        raise located(parser.sql, node.at, f"PLS-00208: identifier '{node.name[1:]}' is not a legal cursor attribute")
    return rules[node.name]


def _of_bulk_exceptions(parser: Blocks, node: ast.Call) -> tuple[Scalar, Value]:
    """SQL%BULK_EXCEPTIONS: of the last FORALL .. SAVE EXCEPTIONS; error codes without their minus."""
    name = node.name.partition(".")[2]
    if name == "COUNT" and len(node.args) == 1:
        return NUMBER, lambda frame: number.encode(len(frame.bulk_errors))
    fields = {"ERROR_INDEX": 0, "ERROR_CODE": 1}
    if name not in fields or len(node.args) == 1:
        raise located(parser.sql, node.at, f"PLS-00302: component '{name}' must be declared")
    index, field = _whole(parser, node.args[1]), fields[name]

    def of_one(frame: Frame) -> bytes:
        at = index(frame)
        if not 0 < at <= len(frame.bulk_errors):
            raise OraError(6533, "Subscript beyond count")
        return number.encode(frame.bulk_errors[at - 1][field])

    return NUMBER, of_one


def _of_cursor(parser: Blocks, node: ast.Call, slot: int) -> tuple[Scalar, Value]:
    def opened(frame: Frame) -> OpenCursor:
        cursor = frame.cells[slot]
        if not isinstance(cursor, OpenCursor):
            raise OraError(1001, "invalid cursor")
        return cursor

    rules: dict[str, tuple[Scalar, Value]] = {
        "%ROWCOUNT": (NUMBER, lambda f: number.encode(opened(f).fetched)),
        "%FOUND": (BOOLEAN, lambda f: _truth(opened(f).found)),
        "%NOTFOUND": (BOOLEAN, lambda f: _truth(None if (found := opened(f).found) is None else not found)),
        "%ISOPEN": (BOOLEAN, lambda f: _truth(isinstance(f.cells[slot], OpenCursor))),
    }
    if node.name not in rules:
        raise located(parser.sql, node.at, f"PLS-00208: identifier '{node.name[1:]}' is not a legal cursor attribute")
    return rules[node.name]


def _whole(parser: Blocks, expr: ast.Expr) -> Index:
    value = parser.compiled(expr)

    def whole(frame: Frame) -> int:
        cell = frame.fitted(NUMBER, value.value(frame), value.type)
        if not isinstance(cell, bytes):
            raise OraError(6502, "PL/SQL: numeric or value error: NULL index table key value")
        return int(number.rounded(number.decode(cell), 0))

    return whole


def index_of(parser: Blocks, collection: Collection, expr: ast.Expr) -> Index:
    """The key of an element. Raises ORA-06502 for NULL."""
    if not collection.text:
        return _whole(parser, expr)
    value = parser.compiled(expr)

    def text(frame: Frame) -> str:
        cell = frame.fitted(TEXT, value.value(frame), value.type)
        if not isinstance(cell, str):
            raise OraError(6502, "PL/SQL: numeric or value error: NULL index table key value")
        return cell

    return text


def elements(frame: Frame, slot: int) -> dict[Any, Any]:
    """The elements of a collection. Raises ORA-06531 for one that is atomically null."""
    found = frame.cells[slot]
    if found is None:
        raise OraError(6531, "Reference to uninitialized collection")
    assert isinstance(found, dict)
    return found


def _of_collection(parser: Blocks, node: ast.Call, variable: Variable, kind: Collection) -> tuple[Scalar, Value]:
    if node.name == "%ELEMENT":
        return _element(parser, node, variable, kind)
    slot = variable.slot
    key = TEXT if kind.text else NUMBER

    def shown(found: Any) -> Any:
        return found if found is None or kind.text else number.encode(found)

    if node.name in ("%NEXT", "%PRIOR", "%EXISTS") and len(node.args) == 2:
        index = index_of(parser, kind, node.args[1])
        beside: dict[str, tuple[Scalar, Value]] = {
            "%EXISTS": (BOOLEAN, lambda f: _truth(f.cells[slot] is not None and index(f) in f.cells[slot])),
            "%NEXT": (key, lambda f: shown(min((k for k in elements(f, slot) if k > index(f)), default=None))),
            "%PRIOR": (key, lambda f: shown(max((k for k in elements(f, slot) if k < index(f)), default=None))),
        }
        return beside[node.name]
    rules: dict[str, tuple[Scalar, Value]] = {
        "%COUNT": (NUMBER, lambda f: number.encode(len(elements(f, slot)))),
        "%FIRST": (key, lambda f: shown(min(elements(f, slot), default=None))),
        "%LAST": (key, lambda f: shown(max(elements(f, slot), default=None))),
        "%LIMIT": (NUMBER, lambda f: None if kind.limit is None else number.encode(kind.limit)),
    }
    if node.name not in rules or len(node.args) > 1:
        raise located(parser.sql, node.at, f"PLS-00302: component '{node.name[1:]}' must be declared")
    return rules[node.name]


def _element(parser: Blocks, node: ast.Call, variable: Variable, kind: Collection) -> tuple[Scalar, Value]:
    """`t(i)` of scalars, `t(i).field` of records. Raises ORA-01403 or ORA-06533 for an element that is not there."""
    index, slot = index_of(parser, kind, node.args[1]), variable.slot
    field, scalar = 0, kind.element
    if isinstance(kind.element, Record):
        name = node.args[2] if len(node.args) > 2 else None
        if not isinstance(name, ast.Literal):
            raise located(parser.sql, node.at, "PLS-00382: expression is of wrong type")
        names = [one for one, _ in kind.element.fields]
        if name.text not in names:
            raise located(parser.sql, node.at, f"PLS-00302: component '{name.text}' must be declared")
        field = names.index(name.text)
        scalar = kind.element.fields[field][1]
    assert isinstance(scalar, Scalar)

    def value(frame: Frame) -> Any:
        return element(frame, slot, kind, index(frame))[field]

    return scalar, value


def element(frame: Frame, slot: int, kind: Collection, key: Any) -> tuple[Any, ...]:
    """The cells of one element."""
    found: tuple[Any, ...] | None = elements(frame, slot).get(key)
    if found is None:
        if kind.indexed:
            raise OraError(1403, "no data found")
        raise OraError(6533 if key > 0 else 6532, "Subscript beyond count" if key > 0 else "Subscript outside of limit")
    return found
