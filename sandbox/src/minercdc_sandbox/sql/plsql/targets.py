"""Targets of assignments: variables, fields, whole records, elements of collections, binds, cursor variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.sql import ast
from minercdc_sandbox.sql.plsql.compilation import Compilation
from minercdc_sandbox.sql.plsql.expressions import ExpressionCompiler
from minercdc_sandbox.sql.plsql.frame import Frame, Step
from minercdc_sandbox.sql.plsql.program import Compiled, PackagedVariable, Target
from minercdc_sandbox.sql.plsql.variables import TEXT, Collection, Record, RefCursor, Scalar, Variable
from minercdc_sandbox.sql.tokens import TokenKind
from minercdc_sandbox.sql.types import SqlType, column_type


class TargetCompiler:
    """Compiles the targets of assignments, and assignments. Its methods raise PLS- errors within ORA-06550."""

    def __init__(self, block: Compilation, expressions: ExpressionCompiler) -> None:
        self._parser, self._names, self._slots = block.parser, block.names, block.slots
        self._expressions, self._session = expressions, block.session

    def targets(self) -> list[Target]:
        """Read targets, `a, :b, r.c, t(i)`, in this order. Raises as `target`."""
        return self._parser.listed(self.target)

    def target(self) -> Target:
        """Read one target. Raises PLS-00103 for what begins none, PLS-00201 for an unknown name, PLS-00302 for an unknown field,
        PLS-00363 for a constant, ORA-04085 for `:old.column`, ORA-01008 for a bind that the client has not given; and as
        `BlockParser.row_field` and `BlockParser.named`."""
        token = self._parser.token
        if token.kind is TokenKind.BIND:
            field = self._parser.row_field(self._parser.take())
            return self._at_place(self._parser.bind(token).index) if field is None else self._row_target(field)
        if not token.is_name:
            raise self._parser.unexpected()
        node = self._parser.named(token)
        if isinstance(node, ast.Call) and node.name == "%ELEMENT":
            return self._element_target(node)
        if not isinstance(node, ast.Name):
            raise self._parser.wrong(token.start, f"PLS-00201: identifier '{token.text}' must be declared")
        variable, rest = self._names.variable_of(node.parts)
        if variable is None and (packaged := self._session.programs.variable(node.parts)) is not None:
            return _packaged_target(packaged, self._parser.wrong(token.start, _NO_TARGET.format(".".join(node.parts))))
        if variable is None:
            raise self._parser.wrong(token.start, f"PLS-00201: identifier '{'.'.join(node.parts)}' must be declared")
        if variable.constant:
            text = f"PLS-00363: expression '{variable.name}' cannot be used as an assignment target"
            raise self._parser.wrong(token.start, text)
        if not rest or isinstance(variable.type, Collection | RefCursor):
            return self.of_variable(variable)
        slot = self._names.slot_of(node.parts, node.at)
        assert slot is not None
        return self._at_place(slot)

    def _row_target(self, field: ast.Name) -> Target:
        """The target `:new.column` of a trigger. Raises ORA-04085 for a column of `:old`, which cannot be changed."""
        variable, _ = self._names.variable_of(field.parts)
        slot = self._names.slot_of(field.parts, field.at)
        assert variable is not None
        assert slot is not None
        if variable.constant:
            raise OraError(4085, "cannot change the value of an OLD reference variable")
        return self._at_place(slot)

    def of_variable(self, variable: Variable) -> Target:
        """The target that is a whole variable. Storing cells in a collection or cursor variable raises ORA-06502: those are
        assigned by `assigning` and `assign_all`."""
        if isinstance(variable.type, Record):
            return self._record(variable, variable.type)
        if isinstance(variable.type, Collection | RefCursor):
            return _whole(variable)
        return self._at_place(variable.slot)

    def _at_place(self, slot: int) -> Target:
        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            frame.store(slot, cells[0], types[0])

        return Target([self._slots.scalars[slot] or self._client_scalar(slot)], store, slot=slot)

    def _client_scalar(self, slot: int) -> Scalar:
        """The type of a client's bind, which has no declared type: texts of its size, or 32767."""
        bind = self._slots.types[slot]
        size = bind.size or 32767
        column = replace(TEXT.column, type=bind.type, size=size, char_length=size, national=bind.national, precision=0)
        return Scalar(replace(column, scale=-127 if bind.type is OraType.NUMBER else 9))

    def _record(self, variable: Variable, kind: Record) -> Target:
        first = variable.slot

        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            for n, (cell, type_) in enumerate(zip(cells, types, strict=True)):
                frame.store(first + n, cell, type_)

        return Target([scalar for _, scalar in kind.fields], store, variable)

    def _collection_of(self, node: ast.Call) -> tuple[Variable, Collection]:
        owner = node.args[0]
        assert isinstance(owner, ast.Name)
        variable, _ = self._names.variable_of(owner.parts)
        assert variable is not None
        assert isinstance(variable.type, Collection)
        return variable, variable.type

    def _element_target(self, node: ast.Call) -> Target:
        variable, kind = self._collection_of(node)
        index = self._expressions.attributes.index_of(kind, node.args[1])
        fields = kind.element.fields if isinstance(kind.element, Record) else (("", kind.element),)
        chosen = range(len(fields))
        if len(node.args) > 2:
            wanted = node.args[2]
            assert isinstance(wanted, ast.Literal)
            names = [name for name, _ in fields]
            if wanted.text not in names:
                raise self._parser.wrong(node.at, f"PLS-00302: component '{wanted.text}' must be declared")
            chosen = range(names.index(wanted.text), names.index(wanted.text) + 1)
        slot = variable.slot

        def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
            key = index(frame)
            if not kind.indexed:
                frame.element(slot, kind, key)
            if frame.cells[slot] is None:
                raise OraError(6531, "Reference to uninitialized collection")
            row = list(frame.cells[slot].get(key) or (None,) * len(fields))
            for n, cell, type_ in zip(chosen, cells, types, strict=True):
                row[n] = frame.fitted(fields[n][1], cell, type_)
            frame.cells[slot][key] = tuple(row)

        return Target([fields[n][1] for n in chosen], store)

    def assignment(self) -> Step:
        """Read `target := value;`; the step that assigns. Raises PLS-00103, and as `target` and `assigning`."""
        target = self.target()
        if not (self._parser.token.kind is TokenKind.OPERATOR and self._parser.token.text == ":="):
            raise self._parser.unexpected()
        self._parser.at += 1
        store = self.assigning(target)
        self._parser.need(";")
        return store

    def assigning(self, target: Target) -> Step:
        """Read a value; the step that assigns it to the target: whole records and collections as copies, a cursor as the same
        one. Raises PLS-00382 for a value of another kind, and as `ExpressionCompiler.compiled`; the step as `Target.store`."""
        at = self._parser.token.start
        constructed = self._constructor(target)
        if constructed is not None:
            return constructed
        expr = self._parser.expression_tree()
        if isinstance(expr, ast.Call) and expr.name == "%ELEMENT" and len(target.scalars) > 1:
            return self._record_of_element(target, expr)
        value = self._expressions.compiled(expr, whole=True)
        types = [value.type]
        wanted = target.variable
        given = value.variable
        if wanted is not None and isinstance(wanted.type, Record):
            if given is None or not isinstance(given.type, Record) or given.width != wanted.width:
                raise self._parser.wrong(at, "PLS-00382: expression is of wrong type")
            return _record_copy(target, given, [self._expressions.type_of(given.slot + n) for n in range(given.width)])
        array = self._array_copy(target, value)
        if array is not None:
            return array
        if wanted is not None and isinstance(wanted.type, Collection):
            if given is None or not isinstance(given.type, Collection):
                raise self._parser.wrong(at, "PLS-00382: expression is of wrong type")
            return _collection_copy(wanted.slot, given.slot)
        if given is not None and isinstance(given.type, Record | Collection):
            raise self._parser.wrong(at, "PLS-00382: expression is of wrong type")
        if self._is_cursor(target) or (given is not None and isinstance(given.type, RefCursor)):
            return self._cursor_copy(target, value.slot, at)
        return lambda frame: target.store(frame, (value.value(frame),), types)

    def _array_copy(self, target: Target, value: Compiled) -> Step | None:
        """The step that copies between a collection and a client's index-by table bind; None if neither side is such a bind.
        Raises PLS-00382 when the other side is no collection."""
        to = target.place
        source = value.slot
        arrays = [slot is not None and self._slots.types[slot].elements for slot in (to, source)]
        if not any(arrays):
            return None
        collections = [one is not None and isinstance(one.type, Collection) for one in (target.variable, value.variable)]
        if not all(array or collection for array, collection in zip(arrays, collections, strict=True)):
            raise self._parser.wrong(self._parser.token.start, "PLS-00382: expression is of wrong type")
        assert to is not None
        assert source is not None
        kind = target.variable.type if target.variable is not None else None
        types = [self._expressions.type_of(source)] if self._slots.types[source].elements else None

        def copy(frame: Frame) -> None:
            found = dict(frame.cells[source] or {})
            if types is not None and isinstance(kind, Collection) and isinstance(kind.element, Scalar):
                found = {key: (frame.fitted(kind.element, cells[0], types[0]),) for key, cells in found.items()}
            frame.cells[to] = found
            frame.assigned.add(to)

        return copy

    def _is_cursor(self, target: Target) -> bool:
        slot = target.place
        return slot is not None and self._slots.types[slot].type is OraType.CURSOR

    def _cursor_copy(self, target: Target, source: int | None, at: int) -> Step:
        slot = target.place
        cursors = [place is not None and self._slots.types[place].type is OraType.CURSOR for place in (slot, source)]
        if slot is None or source is None or not all(cursors):
            raise self._parser.wrong(at, "PLS-00382: expression is of wrong type")

        def copy(frame: Frame) -> None:
            frame.cells[slot] = frame.cells[source]
            frame.assigned.add(slot)

        return copy

    def _record_of_element(self, target: Target, expr: ast.Call) -> Step:
        """The step of `record := records(i);`. Raises PLS-00382 for a record of another width; the step raises as `Frame.element`
        and `Frame.store`."""
        source = self._element_target(expr)
        variable, kind = self._collection_of(expr)
        index = self._expressions.attributes.index_of(kind, expr.args[1])
        if source.width != target.width:
            raise self._parser.wrong(expr.at, "PLS-00382: expression is of wrong type")
        types = [column_type(scalar.column) for scalar in source.scalars]
        slot = variable.slot
        return lambda frame: target.store(frame, frame.element(slot, kind, index(frame)), types)

    def _constructor(self, target: Target) -> Step | None:
        """Read `type(a, b, ..)` of a nested table or varray, for a target that is a whole variable: the step that assigns the new
        collection. None, with nothing read, when no constructor comes next. Raises PLS-00382 for another type than the target's."""
        kind = (
            self._names.find(self._parser.token.text)
            if self._parser.token.is_name and self._parser.peek().text == "("
            else None
        )
        wanted = target.variable
        if not isinstance(kind, Collection) or wanted is None:
            return None
        if kind is not wanted.type or kind.indexed or not isinstance(kind.element, Scalar):
            raise self._parser.wrong(self._parser.token.start, "PLS-00382: expression is of wrong type")
        self._parser.at += 1
        values = [self._expressions.compiled(expr) for expr in self._parser.call_arguments()]
        element, slot = kind.element, wanted.slot

        def build(frame: Frame) -> None:
            cells = [(frame.fitted(element, value.value(frame), value.type),) for value in values]
            frame.cells[slot] = dict(enumerate(cells, 1))

        return build


_NO_TARGET = "PLS-00363: expression '{}' cannot be used as an assignment target"
LARGE_TYPES = frozenset(
    (OraType.CLOB, OraType.BLOB, OraType.JSON, OraType.VECTOR, OraType.XMLTYPE, OraType.LONG, OraType.LONG_RAW)
)
"""Types whose values lie outside the row."""


def _packaged_target(packaged: PackagedVariable, constant: OraError) -> Target:
    """The target that is a variable of a package. Raises `constant` for one that cannot be assigned; its `store` raises as
    `Home.entered`."""
    if packaged.variable.constant:
        raise constant

    def store(frame: Frame, cells: Sequence[Any], types: Sequence[SqlType]) -> None:
        with packaged.home.entered(frame) as inner:
            inner.store(packaged.variable.slot, cells[0], types[0])

    return Target([packaged.scalar], store)


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
