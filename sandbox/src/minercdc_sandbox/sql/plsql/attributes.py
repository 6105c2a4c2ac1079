"""Elements and methods of collections, and attributes of cursors: `t(i)`, `t.COUNT`, `c%FOUND`, `SQL%ROWCOUNT`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, number
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.frame import Frame, Value
from minercdc_sandbox.sql.plsql.names import NameResolver
from minercdc_sandbox.sql.plsql.program import Compiled
from minercdc_sandbox.sql.plsql.variables import BOOLEAN, NUMBER, TEXT, Collection, OpenCursor, Record, Scalar, Variable

Index = Callable[[Frame], Any]
Rules: TypeAlias = dict[str, tuple[Scalar, Value]]


class Attributes:
    """Compiles elements and methods of collections, and attributes of cursors, to functions that compute their values.

    :param sql: text of the block, for the places of errors.
    :param compiled: compiles an expression, such as the index of an element.
    """

    def __init__(self, sql: str, names: NameResolver, compiled: Callable[[ast.Expr], Compiled]) -> None:
        self._sql, self._names, self._compiled = sql, names, compiled

    def compiled(self, node: ast.Call) -> tuple[Scalar, Value]:
        """Type and value of an element, method or attribute; `node`: as `BlockParser.named` reads it. Raises PLS-00201,
        PLS-00208, PLS-00302, PLS-00382 within ORA-06550. The value raises as `Frame.element` and `Frame.elements`, ORA-01001
        for a cursor not open, ORA-06533 for an index beyond SQL%BULK_ROWCOUNT or SQL%BULK_EXCEPTIONS, ORA-06502 for a NULL one."""
        owner = node.args[0]
        assert isinstance(owner, ast.Name)
        if owner.parts == ("SQL",):
            return self._of_sql(node)
        variable, _ = self._names.variable_of(owner.parts)
        if variable is not None and isinstance(variable.type, Collection):
            return self._of_collection(node, variable, variable.type)
        return self._of_cursor(node, self._names.cursor_slot(owner.parts[0], owner.at))

    def _of_sql(self, node: ast.Call) -> tuple[Scalar, Value]:
        """SQL%..: of the last statement, NULL before the first; BULK_ROWCOUNT and BULK_EXCEPTIONS of the last FORALL; ISOPEN is
        always false. Raises PLS-00208 for an unknown attribute."""
        if node.name == "%BULK_ROWCOUNT":
            return self._at(node.args[1], lambda frame: frame.bulk)
        if node.name.startswith("%BULK_EXCEPTIONS."):
            return self._of_bulk_exceptions(node)
        rules: Rules = {
            "%ROWCOUNT": (NUMBER, lambda f: None if f.row_count is None else number.encode(f.row_count)),
            "%FOUND": (BOOLEAN, lambda f: _truth(None if f.row_count is None else f.row_count > 0)),
            "%NOTFOUND": (BOOLEAN, lambda f: _truth(None if f.row_count is None else f.row_count == 0)),
            "%ISOPEN": (BOOLEAN, lambda f: b"\x00"),
        }
        return self._attribute(rules, node)

    def _at(self, expr: ast.Expr, numbers: Callable[[Frame], Sequence[int]]) -> tuple[Scalar, Value]:
        """Type and value of one of these numbers, by an index from 1. The value raises ORA-06533 for another index, ORA-06502 for
        NULL."""
        index = self._whole(expr)

        def of_one(frame: Frame) -> bytes:
            at, found = index(frame), numbers(frame)
            if not 0 < at <= len(found):
                raise OraError(6533, "Subscript beyond count")
            return number.encode(found[at - 1])

        return NUMBER, of_one

    def _attribute(self, rules: Rules, node: ast.Call) -> tuple[Scalar, Value]:
        if node.name not in rules:
            raise located(self._sql, node.at, f"PLS-00208: identifier '{node.name[1:]}' is not a legal cursor attribute")
        return rules[node.name]

    def _of_bulk_exceptions(self, node: ast.Call) -> tuple[Scalar, Value]:
        """SQL%BULK_EXCEPTIONS: of the last FORALL; error codes without their minus. Raises PLS-00302 for an unknown component."""
        name = node.name.partition(".")[2]
        if name == "COUNT" and len(node.args) == 1:
            return NUMBER, lambda frame: number.encode(len(frame.bulk_errors))
        fields = {"ERROR_INDEX": 0, "ERROR_CODE": 1}
        if name not in fields or len(node.args) == 1:
            raise located(self._sql, node.at, f"PLS-00302: component '{name}' must be declared")
        return self._at(node.args[1], lambda frame: [error[fields[name]] for error in frame.bulk_errors])

    def _of_cursor(self, node: ast.Call, slot: int) -> tuple[Scalar, Value]:
        rules: Rules = {
            "%ROWCOUNT": (NUMBER, lambda f: number.encode(f.cursor(slot).fetched)),
            "%FOUND": (BOOLEAN, lambda f: _truth(f.cursor(slot).found)),
            "%NOTFOUND": (BOOLEAN, lambda f: _truth(None if (found := f.cursor(slot).found) is None else not found)),
            "%ISOPEN": (BOOLEAN, lambda f: _truth(isinstance(f.cells[slot], OpenCursor))),
        }
        return self._attribute(rules, node)

    def _whole(self, expr: ast.Expr) -> Index:
        key = self._key(NUMBER, expr)
        return lambda frame: int(number.rounded(number.decode(key(frame)), 0))

    def index_of(self, collection: Collection, expr: ast.Expr) -> Index:
        """Compile the key of an element. The result computes an int, rounded if need be, or, for an index by VARCHAR2, a str; it
        raises ORA-06502 for NULL and for a value that cannot be converted."""
        return self._key(TEXT, expr) if collection.text else self._whole(expr)

    def _key(self, kind: Scalar, expr: ast.Expr) -> Index:
        value = self._compiled(expr)

        def key(frame: Frame) -> Any:
            cell = frame.fitted(kind, value.value(frame), value.type)
            if cell is None:
                raise OraError(6502, "PL/SQL: numeric or value error: NULL index table key value")
            return cell

        return key

    def _of_collection(self, node: ast.Call, variable: Variable, kind: Collection) -> tuple[Scalar, Value]:
        if node.name == "%ELEMENT":
            return self._element(node, variable, kind)
        slot = variable.slot
        key = TEXT if kind.text else NUMBER

        def shown(found: Any) -> Any:
            return found if found is None or kind.text else number.encode(found)

        if node.name in ("%NEXT", "%PRIOR", "%EXISTS") and len(node.args) == 2:
            index = self.index_of(kind, node.args[1])
            beside: Rules = {
                "%EXISTS": (BOOLEAN, lambda f: _truth(f.cells[slot] is not None and index(f) in f.cells[slot])),
                "%NEXT": (key, lambda f: shown(min((k for k in f.elements(slot) if k > index(f)), default=None))),
                "%PRIOR": (key, lambda f: shown(max((k for k in f.elements(slot) if k < index(f)), default=None))),
            }
            return beside[node.name]
        rules: Rules = {
            "%COUNT": (NUMBER, lambda f: number.encode(len(f.elements(slot)))),
            "%FIRST": (key, lambda f: shown(min(f.elements(slot), default=None))),
            "%LAST": (key, lambda f: shown(max(f.elements(slot), default=None))),
            "%LIMIT": (NUMBER, lambda f: None if kind.limit is None else number.encode(kind.limit)),
        }
        if node.name not in rules or len(node.args) > 1:
            raise located(self._sql, node.at, f"PLS-00302: component '{node.name[1:]}' must be declared")
        return rules[node.name]

    def _element(self, node: ast.Call, variable: Variable, kind: Collection) -> tuple[Scalar, Value]:
        """Type and value of `t(i)` of scalars, `t(i).field` of records. Raises PLS-00302 for an unknown field, PLS-00382 for a
        whole record; the value raises as `Frame.element` for an element that is not there, and ORA-06502 for a NULL index."""
        index, slot = self.index_of(kind, node.args[1]), variable.slot
        field, scalar = 0, kind.element
        if isinstance(kind.element, Record):
            name = node.args[2] if len(node.args) > 2 else None
            if not isinstance(name, ast.Literal):
                raise located(self._sql, node.at, "PLS-00382: expression is of wrong type")
            names = [one for one, _ in kind.element.fields]
            if name.text not in names:
                raise located(self._sql, node.at, f"PLS-00302: component '{name.text}' must be declared")
            field = names.index(name.text)
            scalar = kind.element.fields[field][1]
        assert isinstance(scalar, Scalar)

        def value(frame: Frame) -> Any:
            return frame.element(slot, kind, index(frame))[field]

        return scalar, value


def _truth(value: bool | None) -> bytes | None:
    return None if value is None else bytes((int(value),))
