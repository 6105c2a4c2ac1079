"""Meanings of names in a block: variables, fields, cursors, exceptions, types, local subprograms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.sql.plsql.errors import NAMED, NamedException, located, undeclared
from minercdc_sandbox.sql.plsql.program import DeclaredCursor, Subprogram
from minercdc_sandbox.sql.plsql.variables import Collection, Record, RefCursor, Type, Variable

Declared: TypeAlias = "Variable | NamedException | Type | DeclaredCursor | Subprogram"


@dataclass(slots=True)
class Scope:
    """Meanings of names in a block, subprogram or loop, whose parent is the one around it. `label` qualifies them, None for no
    label. Later declarations are added to `known`."""

    parent: Scope | None = None
    label: str | None = None
    known: dict[str, Declared] = field(default_factory=dict)

    def find(self, name: str) -> Declared | None:
        """The meaning of a name, declared here or around, the innermost first, or a predefined exception; else None. A predefined
        exception is a new object each time."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.known:
                return scope.known[name]
            scope = scope.parent
        return NamedException(name, NAMED[name]) if name in NAMED else None

    def labelled(self, label: str) -> Scope | None:
        """The innermost scope with this label, here or around; None if there is none."""
        scope: Scope | None = self
        while scope is not None and scope.label != label:
            scope = scope.parent
        return scope


class NameResolver:
    """Resolves names in the present scope, in which the compilers of one text also declare them.

    :param sql: the text of the block, for the places of errors.
    :param stored: finds a stored procedure or function by its name, with package and owner; None for an unknown one.
    :ivar scope: the present scope; `inside` changes it.
    """

    def __init__(self, sql: str, stored: Callable[[tuple[str, ...]], Subprogram | None]) -> None:
        self._sql, self._stored = sql, stored
        self.scope = Scope()

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Within the context, `scope` is the present one."""
        outer, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = outer

    def find(self, name: str) -> Declared | None:
        """The meaning of a name in the present scope or around, or a predefined exception; else None. See `Scope.find`."""
        return self.scope.find(name)

    def labelled(self, label: str) -> Scope | None:
        """The innermost scope with this label, from the present one outwards; None if there is none."""
        return self.scope.labelled(label)

    def declare(self, name: str, at: int, meaning: Declared) -> None:
        """Declare a name in the present scope; `at`: its offset. Raises PLS-00371 for a second declaration."""
        if name in self.scope.known:
            raise located(self._sql, at, f"PLS-00371: at most one declaration for '{name}' is permitted")
        self.scope.known[name] = meaning

    def variable_of(self, parts: Sequence[str]) -> tuple[Variable | None, list[str]]:
        """The variable that a name (`label.v`, `v`, `r.field`) begins with, and the parts that follow; None and all parts when it
        begins with no variable."""
        scope = self.labelled(parts[0]) if len(parts) > 1 else None
        if scope is not None and isinstance(found := scope.known.get(parts[1]), Variable):
            return found, list(parts[2:])
        found = self.find(parts[0])
        return (found, list(parts[1:])) if isinstance(found, Variable) else (None, list(parts))

    def slot_of(self, parts: tuple[str, ...], at: int) -> int | None:
        """The place of a scalar, field or cursor variable; None for a name that begins with no variable. Raises PLS-00302 for an
        unknown field, PLS-00382 for a whole record or collection, at the offset `at`."""
        variable, rest = self.variable_of(parts)
        if variable is None:
            return None
        if isinstance(variable.type, Record) and rest:
            for n, (name, _) in enumerate(variable.type.fields):
                if name == rest[0] and len(rest) == 1:
                    return variable.slot + n
            raise located(self._sql, at, f"PLS-00302: component '{rest[0]}' must be declared")
        if rest or isinstance(variable.type, Record | Collection):
            raise located(self._sql, at, "PLS-00382: expression is of wrong type")
        return variable.slot

    def subprogram(self, name: str) -> Subprogram | None:
        """The local function or procedure of that name, else None."""
        found = self.find(name)
        return found if isinstance(found, Subprogram) else None

    def called(self, parts: Sequence[str]) -> Subprogram | None:
        """The local or stored function or procedure of that name, which may be qualified; else None. A local meaning of any kind
        hides stored ones. Raises ORA-04063 for a stored one with errors."""
        if len(parts) == 1 and (known := self.find(parts[0])) is not None:
            return known if isinstance(known, Subprogram) else None
        scope = self.labelled(parts[0]) if len(parts) == 2 else None
        if scope is not None and isinstance(found := scope.known.get(parts[1]), Subprogram):
            return found
        return self._stored(tuple(parts))

    def cursor_slot(self, name: str, at: int) -> int:
        """The place of an explicit cursor or cursor variable. Raises PLS-00201, at the offset `at`, for any other name."""
        found = self.find(name)
        if isinstance(found, DeclaredCursor) or (isinstance(found, Variable) and isinstance(found.type, RefCursor)):
            return found.slot
        raise undeclared(self._sql, at, name)

    def scalars(self) -> dict[tuple[str, ...], int]:
        """Places of scalars and fields of records by all the names they have in the present scope, qualified by labels too; inner
        ones hide outer ones."""
        found: dict[tuple[str, ...], int] = {}
        scope: Scope | None = self.scope
        while scope is not None:
            for name, known in scope.known.items():
                if not isinstance(known, Variable):
                    continue
                for path, slot in _scalars(name, known):
                    found.setdefault(path, slot)
                    if scope.label is not None:
                        found.setdefault((scope.label, *path), slot)
            scope = scope.parent
        return found


def _scalars(name: str, variable: Variable) -> list[tuple[tuple[str, ...], int]]:
    if isinstance(variable.type, Record):
        return [((name, one), variable.slot + n) for n, (one, _) in enumerate(variable.type.fields)]
    return [] if isinstance(variable.type, Collection | RefCursor) else [((name,), variable.slot)]
