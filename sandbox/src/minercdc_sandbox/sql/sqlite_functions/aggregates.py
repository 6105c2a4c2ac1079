"""Aggregates over cells, an object for each group. SQLite calls `step` with the arguments of each row and then `final`; for a
moving window also `inverse`, with the oldest row, and `value` at each row. NULLs are None; results are cells, None for NULL, if
nothing else is said."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal
from typing import Any

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import binary, number
from minercdc_sandbox.sql.number import ARITHMETIC, decode, encode

_WIDE = number.ARITHMETIC_WIDE
_TEXT_LIMIT = 4000


class Sum:
    """SUM or, when `average`, AVG of NUMBERs; NULL without a value. `total` and `count` are of the values that are not NULL. A
    result beyond NUMBER raises ORA-01426."""

    def __init__(self, average: bool) -> None:
        self.total = Decimal(0)
        self.count = 0
        self.average = average

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            self.total = _WIDE.add(self.total, decode(args[0]))
            self.count += 1

    def inverse(self, *args: Cell) -> None:
        if args[0] is not None:
            assert isinstance(args[0], bytes)
            self.total = _WIDE.subtract(self.total, decode(args[0]))
            self.count -= 1

    def value(self) -> Cell:
        if not self.count:
            return None
        return encode(ARITHMETIC.divide(self.total, self.count) if self.average else self.total)

    final = value


class Listing:
    """An aggregate that `result` computes from the list of all rows without NULL, in their order: of values, or of tuples for
    several arguments. For aggregates whose result cannot be carried on from row to row. Raises as `result`."""

    def __init__(self, result: Callable[[list[Any]], Cell]) -> None:
        self.rows: deque[Any] = deque()
        self.result = result

    def step(self, *args: Any) -> None:
        self.rows.append(args)

    def inverse(self, *args: Any) -> None:
        self.rows.popleft()

    def value(self) -> Cell:
        return self.result([row if len(row) > 1 else row[0] for row in self.rows if None not in row])

    final = value


class CountDistinct:
    """COUNT(DISTINCT ..) OVER (..): the number of different cells that are not NULL, as an integer of SQLite. `seen`: how often
    each cell is in the window."""

    def __init__(self) -> None:
        self.seen: Counter[Any] = Counter()

    def step(self, *args: Any) -> None:
        if args[0] is not None:
            self.seen[args[0]] += 1

    def inverse(self, *args: Any) -> None:
        if args[0] is not None:
            self.seen[args[0]] -= 1
            if not self.seen[args[0]]:
                del self.seen[args[0]]

    def value(self) -> int:
        return len(self.seen)

    final = value


class Single:
    """The value of a scalar subquery, its only row's; NULL without a row. A second row raises ORA-01427."""

    def __init__(self) -> None:
        self.rows = 0
        self.found: Cell = None

    def step(self, *args: Cell) -> None:
        if self.rows:
            raise OraError(1427, "single-row subquery returns more than one row")
        self.rows, self.found = 1, args[0]

    def final(self) -> Cell:
        return self.found


class Listed:
    """LISTAGG(text, separator) in the order of the rows, of each text once, at its first place, when `distinct`; NULL without a
    text. NULL texts are left out; the separator of the last text counts. Raises ORA-01489 beyond 4000 bytes of UTF-8, and where
    Oracle would cut (`truncates`) ORA-03001."""

    def __init__(self, distinct: bool, truncates: bool = False) -> None:
        self.parts: deque[str] = deque()
        self.mark = ""
        self.distinct, self.truncates = distinct, truncates

    def step(self, *args: Cell) -> None:
        if args[0] is not None:
            self.parts.append(str(args[0]))
            self.mark = str(args[1] or "")

    def inverse(self, *args: Cell) -> None:
        if args[0] is not None:
            self.parts.popleft()

    def value(self) -> Cell:
        text = self.mark.join(dict.fromkeys(self.parts) if self.distinct else self.parts)
        if len(text.encode()) > _TEXT_LIMIT and self.truncates:
            raise OraError(3001, "unimplemented feature: LISTAGG .. ON OVERFLOW TRUNCATE of a text beyond 4000 bytes")
        if len(text.encode()) > _TEXT_LIMIT:
            raise OraError(1489, "result of string concatenation is too long")
        return text or None

    final = value


class Keep:
    """KEEP (DENSE_RANK FIRST | LAST ORDER BY ..): an aggregate of the rows with the first or last key.

    Arguments: name of the aggregate, 1 for FIRST, value; then of each key the cell, 1 for descending, 1 for NULLs first. The
    result of COUNT is an integer of SQLite. Raises ORA-03001 in a moving window, ORA-01426 for a result beyond NUMBER.

    :ivar best: the first or last key so far; None before the first row.
    :ivar kept: values of the rows with that key.
    """

    def __init__(self) -> None:
        self.name = ""
        self.best: tuple[Any, ...] | None = None
        self.kept: list[Any] = []

    def step(self, *args: Any) -> None:
        self.name, first, found = args[0], args[1], args[2]
        key = tuple(_Key(args[n], bool(args[n + 1]), bool(args[n + 2])) for n in range(3, len(args), 3))
        if self.best is not None and key == self.best:
            self.kept.append(found)
        elif self.best is None or (key < self.best if first else key > self.best):
            self.best, self.kept = key, [found]

    def inverse(self, *args: Any) -> None:
        raise OraError(3001, "unimplemented feature: KEEP over a moving window")

    def value(self) -> Any:
        values = [one for one in self.kept if one is not None]
        if self.name == "COUNT":
            return len(values)
        if self.name in ("MIN", "MAX"):
            return (min if self.name == "MIN" else max)(values, default=None)
        if self.name in ("SUM", "AVG"):
            total = Sum(self.name == "AVG")
            for one in values:
                total.step(one)
            return total.value()
        return STATISTICS[self.name.lower()](values)

    final = value


class _Key:
    """One key of a row in `Keep`, which compares in the order of ORDER BY: by direction and the place of NULLs. Equal cells, also
    NULLs, are equal."""

    def __init__(self, cell: Any, descending: bool, nulls_first: bool) -> None:
        self.cell, self.descending, self.nulls_first = cell, descending, nulls_first

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.cell == other.cell

    def __hash__(self) -> int:
        return hash(self.cell)

    def __lt__(self, other: _Key) -> bool:
        if self.cell is None or other.cell is None:
            return self.cell != other.cell and (self.cell is None) == self.nulls_first
        return bool(self.cell > other.cell if self.descending else self.cell < other.cell)

    def __gt__(self, other: _Key) -> bool:
        return other < self


def _float_sum(values: list[bytes], average: bool) -> Cell:
    if not values:
        return None
    total = sum(binary.decode(cell) for cell in values)
    return binary.encode(total / len(values) if average else total, 8)


def _variance(values: list[bytes], sample: bool, *, single: Decimal | None) -> Decimal | None:
    """Variance of NUMBER cells, of a population or, when `sample`, of a sample; None without values. A sample of one value has
    the variance `single`."""
    numbers = [decode(cell) for cell in values]
    if not numbers:
        return None
    if sample and len(numbers) == 1:
        return single
    mean = _WIDE.divide(_total(numbers), len(numbers))
    squares = _total([_WIDE.multiply(_WIDE.subtract(x, mean), _WIDE.subtract(x, mean)) for x in numbers])
    return _WIDE.divide(squares, len(numbers) - sample)


def _total(numbers: list[Decimal]) -> Decimal:
    total = Decimal(0)
    for one in numbers:
        total = _WIDE.add(total, one)
    return total


def _cell(value: Decimal | None) -> Cell:
    return None if value is None else encode(ARITHMETIC.plus(value))


def _root(value: Decimal | None) -> Cell:
    return None if value is None else encode(ARITHMETIC.plus(_WIDE.sqrt(value)))


def _covariance(pairs: list[tuple[bytes, bytes]], sample: bool) -> Decimal | None:
    count = len(pairs)
    if count <= sample:
        return None
    xs, ys = ([decode(pair[n]) for pair in pairs] for n in (0, 1))
    mean_x, mean_y = (_WIDE.divide(_total(side), count) for side in (xs, ys))
    products = [_WIDE.multiply(_WIDE.subtract(x, mean_x), _WIDE.subtract(y, mean_y)) for x, y in zip(xs, ys, strict=True)]
    return _WIDE.divide(_total(products), count - sample)


def _correlation(pairs: list[tuple[bytes, bytes]]) -> Cell:
    covariance = _covariance(pairs, False)
    sides = [_variance([pair[n] for pair in pairs], False, single=None) for n in (0, 1)]
    if covariance is None or not sides[0] or not sides[1]:
        return None
    return encode(ARITHMETIC.plus(_WIDE.divide(covariance, _WIDE.sqrt(_WIDE.multiply(sides[0], sides[1])))))


def _interpolated(values: list[Decimal], share: Decimal) -> Cell:
    """PERCENTILE_CONT of sorted values, as a NUMBER: the row share * (n - 1), counted from 0, linearly between its two
    neighbours; `share`: 0 to 1. None without values."""
    if not values:
        return None
    place = _WIDE.multiply(share, Decimal(len(values) - 1))
    low = int(place)
    high = min(low + 1, len(values) - 1)
    part = _WIDE.multiply(_WIDE.subtract(values[high], values[low]), _WIDE.subtract(place, Decimal(low)))
    return encode(ARITHMETIC.plus(_WIDE.add(values[low], part)))


def _median(values: list[bytes]) -> Cell:
    return _interpolated(sorted(decode(cell) for cell in values), Decimal("0.5"))


def _percentile(rows: list[tuple[bytes, bytes, int]], discrete: bool) -> Cell:
    if not rows:
        return None
    share = decode(rows[0][1])
    if not 0 <= share <= 1:
        raise OraError(30498, "PERCENTILE value should be between 0 and 1")
    values = sorted((decode(row[0]) for row in rows), reverse=bool(rows[0][2]))
    if not discrete:
        return _interpolated(values, share)
    place = int((share * len(values)).to_integral_value(ROUND_CEILING))
    return encode(values[max(0, place - 1)])


def _mode(values: list[bytes]) -> Cell:
    return Counter(values).most_common(1)[0][0] if values else None


def _bits(name: str) -> Callable[[list[bytes]], Cell]:
    def result(values: list[bytes]) -> Cell:
        if not values:
            return None
        numbers = [number.to_int(cell) for cell in values]
        total = numbers[0]
        for one in numbers[1:]:
            total = total & one if name == "and" else total | one if name == "or" else total ^ one
        return number.integer(total)

    return result


STATISTICS: dict[str, Callable[[list[Any]], Cell]] = {
    "float_sum": lambda values: _float_sum(values, False),
    "float_avg": lambda values: _float_sum(values, True),
    "median": _median,
    "variance": lambda values: _cell(_variance(values, True, single=Decimal(0))),
    "var_samp": lambda values: _cell(_variance(values, True, single=None)),
    "var_pop": lambda values: _cell(_variance(values, False, single=None)),
    "stddev": lambda values: _root(_variance(values, True, single=Decimal(0))),
    "stddev_samp": lambda values: _root(_variance(values, True, single=None)),
    "stddev_pop": lambda values: _root(_variance(values, False, single=None)),
    "covar_pop": lambda pairs: _cell(_covariance(pairs, False)),
    "covar_samp": lambda pairs: _cell(_covariance(pairs, True)),
    "corr": _correlation,
    "stats_mode": _mode,
    "percentile_cont": lambda rows: _percentile(rows, False),
    "percentile_disc": lambda rows: _percentile(rows, True),
    "bit_and_agg": _bits("and"),
    "bit_or_agg": _bits("or"),
    "bit_xor_agg": _bits("xor"),
    "first_known": lambda pairs: pairs[pairs[0][1] - 1][0] if pairs and 0 < pairs[0][1] <= len(pairs) else None,
    "last_known": lambda pairs: pairs[-pairs[0][1]][0] if pairs and 0 < pairs[0][1] <= len(pairs) else None,
    "first_value_known": lambda values: values[0] if values else None,
    "last_value_known": lambda values: values[-1] if values else None,
}
"""Results for `Listing`, by the name without `o_`."""
