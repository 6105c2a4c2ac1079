"""Aggregates over cells, as SQLite steps them."""

from __future__ import annotations

from decimal import Decimal

from minercdc.sandbox.interfaces import Cell, OraError
from minercdc.sandbox.sql import binary, number
from minercdc.sandbox.sql.number import ARITHMETIC, decode, encode


class Sum:
    """SUM and, with `average`, AVG."""

    def __init__(self, average: bool) -> None:
        self.total: Decimal | None = None
        self.count = 0
        self.average = average

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            value = decode(args[0])
            self.total = value if self.total is None else number.ARITHMETIC_WIDE.add(self.total, value)
            self.count += 1

    def final(self) -> Cell:
        if self.total is None:
            return None
        return encode(ARITHMETIC.divide(self.total, self.count) if self.average else self.total)


class FloatSum:
    """SUM and AVG of BINARY_DOUBLEs."""

    def __init__(self, average: bool) -> None:
        self.total, self.count, self.average = 0.0, 0, average

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            self.total += binary.decode(args[0])
            self.count += 1

    def final(self) -> Cell:
        if not self.count:
            return None
        return binary.encode(self.total / self.count if self.average else self.total, 8)


class Single:
    """The one row of a scalar subquery. Raises ORA-01427 for a second."""

    def __init__(self) -> None:
        self.rows = 0
        self.value: Cell = None

    def step(self, *args: Cell) -> None:
        if self.rows:
            raise OraError(1427, "single-row subquery returns more than one row")
        self.rows, self.value = 1, args[0]

    def final(self) -> Cell:
        return self.value


class Listed:
    """LISTAGG in scan order."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.mark = ""

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            self.parts.append(str(args[0]))
            self.mark = str(args[1] or "")

    def final(self) -> Cell:
        return self.mark.join(self.parts) or None
