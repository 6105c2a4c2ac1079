"""Packaged procedures, and the arguments of their calls, by position or by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from minercdc_sandbox.interfaces import Argument, Cell, OraError, OraType, Procedure, Session
from minercdc_sandbox.sql import binary, number, temporal
from minercdc_sandbox.view_session import ViewSession, as_view_session


class Arguments:
    """The arguments of one call of a packaged procedure, read by parameter name. A parameter that is not given is no error until
    a method needs it. The constructor raises PLS-00306 (as ORA-06550) for too many arguments, and for a name that the procedure
    does not have or that an argument by position has taken.

    :param names: of the parameters, upper case, in the order of positions.
    :param given: arguments by position; `named`: those by name.
    """

    def __init__(
        self, procedure: str, names: Sequence[str], given: Sequence[Argument], named: Mapping[str, Argument]
    ) -> None:
        self._procedure = procedure
        if len(given) > len(names) or not set(named) <= set(names[len(given) :]):
            raise self._wrong()
        self._values = dict(zip(names, given, strict=False)) | dict(named)

    def _wrong(self) -> OraError:
        return OraError(6550, f"PLS-00306: wrong number or types of arguments in call to '{self._procedure}'")

    def has(self, name: str) -> bool:
        """Whether the argument is given and not NULL. Raises as `value`."""
        return self.value(name) is not None

    def is_given(self, name: str) -> bool:
        """Whether the argument is in the call, also as NULL: then its default does not count."""
        return name in self._values

    def value(self, name: str) -> Cell:
        """The cell of an argument; None for one that is NULL or not given. Raises PLS-00306 (as ORA-06550) for a collection."""
        found = self._values[name].value if name in self._values else None
        if found is not None and not isinstance(found, (str, bytes)):
            raise self._wrong()
        return found

    def type(self, name: str) -> OraType:
        """The type of the variable or expression given for a parameter, also for NULL. Raises PLS-00306 (as ORA-06550) when none
        is given."""
        if name not in self._values:
            raise self._wrong()
        return self._values[name].type

    def text(self, name: str) -> str:
        """The text of an argument. Raises PLS-00306 (as ORA-06550) for one that is not given, NULL or not of a character type."""
        value = self.value(name)
        if not isinstance(value, str):
            raise self._wrong()
        return value

    def integer(self, name: str) -> int | None:
        """The integer part, towards zero, of a NUMBER or binary float, or of a text that is a number: SCNs may come as text. None
        for an argument that is NULL or not given. Raises as `number`."""
        value = self._number(name)
        return None if value is None else number.to_int(value)

    def number(self, name: str) -> float | None:
        """A NUMBER or binary float, or a text that is a number, as a float; None for an argument that is NULL or not given.
        Raises ORA-01722 for another text and for NaN, ORA-01426 for infinity and numbers too large for NUMBER, PLS-00306 (as
        ORA-06550) for another type."""
        value = self._number(name)
        return None if value is None else float(number.decode(value))

    def _number(self, name: str) -> bytes | None:
        value = self.value(name)
        if value is None or isinstance(value, str):
            return None if value is None else number.parse(value)
        kind = self.type(name)
        if kind in (OraType.BINARY_FLOAT, OraType.BINARY_DOUBLE):
            return binary.to_number(value)
        if kind is not OraType.NUMBER:
            raise self._wrong()
        return value

    def seconds(self, name: str) -> int | None:
        """A DATE or TIMESTAMP as whole seconds since the epoch, rounded down, its time taken as UTC; None for an argument that is
        NULL or not given. Raises ORA-01282 for another type, and as `value`."""
        value = self.value(name)
        if value is None:
            return None
        if self.type(name) not in (OraType.DATE, OraType.TIMESTAMP) or not isinstance(value, bytes):
            raise OraError(1282, "date range specified is invalid")
        return temporal.to_ns(temporal.decode(value)) // 1_000_000_000


Out: TypeAlias = "Mapping[str, Argument] | None"
Body: TypeAlias = Callable[[ViewSession, Arguments], Out]
"""The body of a procedure; it returns the values of its OUT and IN OUT parameters by name, None for none. Raises OraError."""


def procedures(bodies: Mapping[str, tuple[Sequence[str], Body]]) -> dict[str, Procedure]:
    """Make a package's procedures from the parameter names and the body of each; keys, in and out, are `PACKAGE.NAME` in upper
    case. Each procedure raises as `Arguments` and as its body. The keys of its result are the position, from 0, of a parameter
    that was given by position, else the name."""
    return {name: _procedure(name.rpartition(".")[2], *rest) for name, rest in bodies.items()}


def _procedure(name: str, parameters: Sequence[str], body: Body) -> Procedure:
    def call(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> Mapping[int | str, Argument]:
        found = body(as_view_session(session), Arguments(name, parameters, given, named)) or {}
        places = {parameter: at for at, parameter in enumerate(parameters[: len(given)])}
        return {places.get(parameter, parameter): value for parameter, value in found.items()}

    return call
