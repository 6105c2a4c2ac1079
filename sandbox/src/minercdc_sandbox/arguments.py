"""Arguments of a packaged procedure's call, by position or by name, as the procedure wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minercdc_sandbox.interfaces import Argument, Cell, OraError, OraType
from minercdc_sandbox.sql import number, temporal


class Arguments:
    """Arguments of one call by name. Raises PLS-00306 as ORA-06550 when they do not fit the procedure."""

    def __init__(
        self, procedure: str, names: Sequence[str], given: Sequence[Argument], named: Mapping[str, Argument]
    ) -> None:
        if len(given) > len(names) or not set(named) <= set(names[len(given) :]):
            raise OraError(6550, f"PLS-00306: wrong number or types of arguments in call to '{procedure}'")
        self._values = dict(zip(names, given, strict=False)) | dict(named)
        self._procedure = procedure

    def has(self, name: str) -> bool:
        argument = self._values.get(name)
        return argument is not None and argument.value is not None

    def value(self, name: str) -> Cell:
        """None for an argument that is NULL or not given."""
        return self._values[name].value if name in self._values else None

    def type(self, name: str) -> OraType:
        """Of the variable or expression given. Raises PLS-00306 when it is not there."""
        if name not in self._values:
            raise OraError(6550, f"PLS-00306: wrong number or types of arguments in call to '{self._procedure}'")
        return self._values[name].type

    def text(self, name: str) -> str:
        value = self._values[name].value if name in self._values else None
        if not isinstance(value, str):
            raise OraError(6550, f"PLS-00306: wrong number or types of arguments in call to '{self._procedure}'")
        return value

    def integer(self, name: str) -> int | None:
        """SCNs may come as text."""
        argument = self._values.get(name)
        if argument is None or argument.value is None:
            return None
        value = argument.value
        return number.to_int(number.parse(value) if isinstance(value, str) else value)

    def seconds(self, name: str) -> int | None:
        """A DATE as seconds since the epoch, host time being UTC."""
        argument = self._values.get(name)
        if argument is None or argument.value is None:
            return None
        if argument.type not in (OraType.DATE, OraType.TIMESTAMP) or not isinstance(argument.value, bytes):
            raise OraError(1282, "date range specified is invalid")
        return temporal.to_ns(temporal.decode(argument.value)) // 1_000_000_000

    def number(self, name: str) -> float | None:
        """A NUMBER that need not be whole."""
        argument = self._values.get(name)
        if argument is None or argument.value is None:
            return None
        value = argument.value
        return float(number.decode(number.parse(value) if isinstance(value, str) else value))
