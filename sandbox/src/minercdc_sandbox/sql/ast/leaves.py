"""Parts of a statement that contain no expression: literals, binds, names, type names, FOR UPDATE."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class LiteralKind(Enum):
    NUMBER = "N"
    STRING = "S"
    NATIONAL = "U"
    DATE = "D"
    TIMESTAMP = "T"
    NULL = "0"
    DEFAULT = "P"


@dataclass(slots=True)
class Literal:
    kind: LiteralKind
    text: str
    at: int


@dataclass(slots=True)
class IntervalLiteral:
    """`INTERVAL 'text' first(lead) TO last(digits)`, units as written: YEAR, MONTH, DAY, HOUR, MINUTE, SECOND."""

    text: str
    first: str
    last: str
    lead: int
    digits: int
    at: int


@dataclass(slots=True)
class Bind:
    index: int
    name: str
    at: int


@dataclass(slots=True)
class Name:
    """A column, pseudo-column or function without arguments; `outer` when `(+)` follows it."""

    parts: tuple[str, ...]
    at: int
    quoted: bool = False
    outer: bool = False


@dataclass(slots=True)
class TypeName:
    """A declared type: name and the numbers in parentheses (`*` is None)."""

    name: str
    numbers: list[int | None]
    unit: str | None
    at: int


@dataclass(slots=True)
class LockWait:
    """FOR UPDATE or LOCK TABLE: `seconds` None waits for ever, 0 is NOWAIT; `of` the columns of FOR UPDATE OF."""

    seconds: float | None = None
    skip_locked: bool = False
    of: list[Name] = field(default_factory=list)
