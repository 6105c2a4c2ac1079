"""What can be assigned: variables, fields, whole records, elements of collections, binds, cursor variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql import attributes
from minercdc_sandbox.sql.plsql.errors import located
from minercdc_sandbox.sql.plsql.expressions import Blocks, Compiled
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.variables import TEXT, Collection, Record, RefCursor, Scalar, Variable
from minercdc_sandbox.sql.types import SqlType, column_type

Store: TypeAlias = Callable[[Frame, Sequence[Any], Sequence[SqlType]], None]


@dataclass(slots=True)
class Target:
    """`scalars`: the cells it takes; `variable` when it is a whole variable, `slot` when it is one place."""

    scalars: list[Scalar]
    store: Store
    variable: Variable | None = None
    slot: int | None = None

    @property
    def width(self) -> int:
        return len(self.scalars)


class Targets(Blocks):
    """Reads targets and assignments."""

    def targets(self) -> list[Target]:
        """`a, :b, r.c, t(i)`"""
        found = [self.target()]
        while self.op(","):
            found.append(self.target())
        return found

    def target(self) -> Target:
        """Raises PLS-00201, PLS-00363 for what cannot be assigned."""
        token = self.token
        if token.kind == "B":
            index = self.bind(self.take()).index
            return self._at_place(index)
        if token.kind not in "WQ":
            raise self.unexpected()
        node = self._named(token)
        if isinstance(node, ast.Call) and node.name == "%ELEMENT":
            return self._element_target(node)
        if not isinstance(node, ast.Name):
            raise located(self.sql, token.start, f"PLS-00201: identifier '{token.text}' must be declared")
        variable, rest = self.variable_of(node.parts)
        if variable is None:
            raise located(self.sql, token.start, f"PLS-00201: identifier '{'.'.join(node.parts)}' must be declared")
        if variable.constant:
            text = f"PLS-00363: expression '{variable.name}' cannot be used as an assignment target"
            raise located(self.sql, token.start, text)
        if isinstance(variable.type, Record) and not rest:
            return self._record(variable, variable.type)
        if isinstance(variable.type, Collection | RefCursor):
            return _whole(variable)
        slot = self.slot_of(node.parts, node.at)
        assert slot is not None
        return self._at_place(slot)

    def _at_place(self, slot: int) -> Target:
        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            frame.store(slot, cells[0], types[0])

        return Target([self.slots.scalars[slot] or self.client_scalar(slot)], store, slot=slot)

    def client_scalar(self, slot: int) -> Scalar:
        """A client's bind as RETURNING fills it."""
        bind = self.slots.types[slot]
        size = bind.size or 32767
        column = replace(TEXT.column, type=bind.type, size=size, char_length=size, national=bind.national, precision=0)
        return Scalar(replace(column, scale=-127 if bind.type is OraType.NUMBER else 9))

    def _record(self, variable: Variable, kind: Record) -> Target:
        first = variable.slot

        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            for n, (cell, type_) in enumerate(zip(cells, types, strict=True)):
                frame.store(first + n, cell, type_)

        return Target([scalar for _, scalar in kind.fields], store, variable)

    def _element_target(self, node: ast.Call) -> Target:
        owner = node.args[0]
        assert isinstance(owner, ast.Name)
        variable, _ = self.variable_of(owner.parts)
        assert variable is not None
        kind = variable.type
        assert isinstance(kind, Collection)
        index = attributes.index_of(self, kind, node.args[1])
        fields = kind.element.fields if isinstance(kind.element, Record) else (("", kind.element),)
        chosen = range(len(fields))
        if len(node.args) > 2:
            wanted = node.args[2]
            assert isinstance(wanted, ast.Literal)
            names = [name for name, _ in fields]
            if wanted.text not in names:
                raise located(self.sql, node.at, f"PLS-00302: component '{wanted.text}' must be declared")
            chosen = range(names.index(wanted.text), names.index(wanted.text) + 1)
        slot = variable.slot

        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            key = index(frame)
            if not kind.indexed:
                attributes.element(frame, slot, kind, key)
            if frame.cells[slot] is None:
                raise OraError(6531, "Reference to uninitialized collection")
            row = list(frame.cells[slot].get(key) or (None,) * len(fields))
            for n, cell, type_ in zip(chosen, cells, types, strict=True):
                row[n] = frame.fitted(fields[n][1], cell, type_)
            frame.cells[slot][key] = tuple(row)

        return Target([fields[n][1] for n in chosen], store)

    def assignment(self) -> Step:
        """`target := value;`"""
        target = self.target()
        if not (self.token.kind == "O" and self.token.text == ":="):
            raise self.unexpected()
        self.at += 1
        store = self.assigning(target)
        self.need(";")
        return store

    def assigning(self, target: Target) -> Step:
        """Read the value that goes to a target."""
        at = self.token.start
        constructed = self._constructor(target)
        if constructed is not None:
            return constructed
        expr = self._read()
        if isinstance(expr, ast.Call) and expr.name == "%ELEMENT" and len(target.scalars) > 1:
            return self._record_of_element(target, expr)
        value = self.compiled(expr)
        types = [value.type]
        wanted = target.variable
        given = value.variable
        if wanted is not None and isinstance(wanted.type, Record):
            if given is None or not isinstance(given.type, Record) or given.width != wanted.width:
                raise located(self.sql, at, "PLS-00382: expression is of wrong type")
            return _record_copy(target, given, [self._type_of(given.slot + n) for n in range(given.width)])
        array = self._array_copy(target, value)
        if array is not None:
            return array
        if wanted is not None and isinstance(wanted.type, Collection):
            if given is None or not isinstance(given.type, Collection):
                raise located(self.sql, at, "PLS-00382: expression is of wrong type")
            return _collection_copy(wanted.slot, given.slot)
        if given is not None and isinstance(given.type, Record | Collection):
            raise located(self.sql, at, "PLS-00382: expression is of wrong type")
        if self._is_cursor(target) or (given is not None and isinstance(given.type, RefCursor)):
            return self._cursor_copy(target, value.slot, at)
        return lambda frame: target.store(frame, (value.value(frame),), types)

    def _array_copy(self, target: Target, value: Compiled) -> Step | None:
        """Between a collection and a client's index-by table bind."""
        to = target.variable.slot if target.variable is not None else target.slot
        source = value.slot
        arrays = [slot is not None and self.slots.types[slot].elements for slot in (to, source)]
        if not any(arrays):
            return None
        collections = [one is not None and isinstance(one.type, Collection) for one in (target.variable, value.variable)]
        if not all(array or collection for array, collection in zip(arrays, collections, strict=True)):
            raise located(self.sql, self.token.start, "PLS-00382: expression is of wrong type")
        assert to is not None
        assert source is not None
        kind = target.variable.type if target.variable is not None else None
        types = [self._type_of(source)] if self.slots.types[source].elements else None

        def copy(frame: Frame) -> None:
            found = dict(frame.cells[source] or {})
            if types is not None and isinstance(kind, Collection) and isinstance(kind.element, Scalar):
                found = {key: (frame.fitted(kind.element, cells[0], types[0]),) for key, cells in found.items()}
            frame.cells[to] = found
            frame.assigned.add(to)

        return copy

    def _is_cursor(self, target: Target) -> bool:
        slot = target.variable.slot if target.variable is not None else target.slot
        return slot is not None and self.slots.types[slot].type is OraType.CURSOR

    def _cursor_copy(self, target: Target, source: int | None, at: int) -> Step:
        slot = target.variable.slot if target.variable is not None else target.slot
        if (
            not self._is_cursor(target)
            or slot is None
            or source is None
            or self.slots.types[source].type is not OraType.CURSOR
        ):
            raise located(self.sql, at, "PLS-00382: expression is of wrong type")

        def copy(frame: Frame) -> None:
            frame.cells[slot] = frame.cells[source]
            frame.assigned.add(slot)

        return copy

    def _record_of_element(self, target: Target, expr: ast.Call) -> Step:
        """`record := records(i);`"""
        source = self._element_target(expr)
        owner = expr.args[0]
        assert isinstance(owner, ast.Name)
        variable, _ = self.variable_of(owner.parts)
        assert variable is not None
        assert isinstance(variable.type, Collection)
        kind = variable.type
        index = attributes.index_of(self, kind, expr.args[1])
        if source.width != target.width:
            raise located(self.sql, expr.at, "PLS-00382: expression is of wrong type")
        types = [column_type(scalar.column) for scalar in source.scalars]
        slot = variable.slot
        return lambda frame: target.store(frame, attributes.element(frame, slot, kind, index(frame)), types)

    def _constructor(self, target: Target) -> Step | None:
        """`t := type(a, b, ..)` of a nested table or varray."""
        kind = self.visible.find(self.token.text) if self.token.kind in "WQ" and self.peek().text == "(" else None
        wanted = target.variable
        if not isinstance(kind, Collection) or wanted is None:
            return None
        if kind is not wanted.type or kind.indexed or not isinstance(kind.element, Scalar):
            raise located(self.sql, self.token.start, "PLS-00382: expression is of wrong type")
        self.at += 1
        values = [self.compiled(expr) for expr in self.call_arguments()]
        element, slot = kind.element, wanted.slot

        def build(frame: Frame) -> None:
            cells = [(frame.fitted(element, value.value(frame), value.type),) for value in values]
            frame.cells[slot] = dict(enumerate(cells, 1))

        return build


def _whole(variable: Variable) -> Target:
    def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
        raise OraError(6502, "PL/SQL: numeric or value error")

    kind = variable.type
    element = kind.element if isinstance(kind, Collection) else TEXT
    scalars = [one for _, one in element.fields] if isinstance(element, Record) else [element]
    return Target(scalars, store, variable)


def _record_copy(target: Target, given: Variable, types: Sequence[SqlType]) -> Step:
    return lambda frame: target.store(frame, frame.cells[given.slot : given.slot + given.width], types)


def _collection_copy(target: int, source: int) -> Step:
    def copy(frame: Frame) -> None:
        found = frame.cells[source]
        frame.cells[target] = None if found is None else dict(found)

    return copy


def assign_all(frame: Frame, targets: Sequence[Target], rows: Sequence[Sequence[Any]], types: Sequence[SqlType]) -> None:
    """BULK COLLECT INTO: the collections begin anew, at 1."""
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
