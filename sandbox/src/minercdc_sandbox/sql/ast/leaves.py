"""Parts of a statement that contain no expression: literals, binds, names, type names, FOR UPDATE."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class LiteralKind(Enum):
    """Kinds of literals. NATIONAL is a string N'..'; DEFAULT is the word in VALUES and SET."""

    NUMBER = "N"
    STRING = "S"
    NATIONAL = "U"
    DATE = "D"
    TIMESTAMP = "T"
    NULL = "0"
    DEFAULT = "P"


@dataclass(slots=True)
class Literal:
    """A literal; `text` is its content, without quotes or the word before it, doubled quotes being single. `at`: its offset."""

    kind: LiteralKind
    text: str
    at: int


@dataclass(slots=True)
class IntervalLiteral:
    """`INTERVAL 'text' first(lead) TO last(digits)` or `INTERVAL 'text' SECOND(lead, digits)`; without TO, `last` is `first`.
    `lead` is 2 and `digits` 6 where they are left out. `at`: its offset."""

    text: str
    first: str
    last: str
    lead: int
    digits: int
    at: int


@dataclass(slots=True)
class Bind:
    """`:name`; `index` is its place, from 0, among the binds of the text, see `Words`. `at`: its offset."""

    index: int
    name: str
    at: int


@dataclass(slots=True)
class Name:
    """A column, pseudo-column, sequence value or function without parentheses, by its `parts` between the points; `quoted`: a
    part is; `outer`: `(+)` follows it. `at`: its offset."""

    parts: tuple[str, ...]
    at: int
    quoted: bool = False
    outer: bool = False


@dataclass(slots=True)
class TypeName:
    """A declared type: name, numbers in parentheses (`*` is None), and BYTE, CHAR or a vector's format as `unit`. `at`: its offset."""

    name: str
    numbers: list[int | None]
    unit: str | None
    at: int


@dataclass(slots=True)
class LockWait:
    """How FOR UPDATE or LOCK TABLE waits: `seconds` None without limit, 0 not at all; `of`: the columns of FOR UPDATE OF."""

    seconds: float | None = None
    skip_locked: bool = False
    of: list[Name] = field(default_factory=list)
