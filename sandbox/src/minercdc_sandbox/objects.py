"""Schema objects that are not tables: views, synonyms, sequences, roles. Plain values of the dictionary, kept with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.tables import Column


@dataclass(slots=True)
class StoredView:
    """CREATE VIEW. `text` is the query as typed; `check` holds WITH CHECK OPTION, `read_only` WITH READ ONLY."""

    container: int
    owner: str
    name: str
    object_id: int
    text: str
    columns: tuple[str, ...]
    created: float
    last_ddl: float
    check: bool = False
    read_only: bool = False
    shape: list[Column] = field(default_factory=list)


@dataclass(slots=True)
class Synonym:
    """A private synonym, or with owner PUBLIC one for all users; the object it names need not exist."""

    container: int
    owner: str
    name: str
    object_id: int
    table_owner: str
    table_name: str
    created: float


@dataclass(slots=True)
class Sequence:
    """CREATE SEQUENCE.

    :param next: the number the next NEXTVAL gives; None when a NOCYCLE sequence has none left.
    :param cached_to: LAST_NUMBER of ALL_SEQUENCES: the first number not yet cached in the SGA.
    :param filled: whether the last number drawn took a new range into the cache, which the dictionary must keep.
    :param identity: made for an identity column (`ISEQ$$_<object id>`).
    """

    container: int
    owner: str
    name: str
    object_id: int
    created: float
    increment: int = 1
    start: int = 1
    minimum: int = 1
    maximum: int = 10**28 - 1
    cycle: bool = False
    cache: int = 20
    ordered: bool = False
    next: int | None = None
    cached_to: int = 0
    last_ddl: float = 0.0
    identity: bool = False
    filled: bool = False

    def draw(self) -> int | None:
        """The next number; None when it is exhausted (ORA-08004)."""
        value = self.next
        if value is None:
            return None
        following: int | None = value + self.increment
        assert following is not None
        if not self.minimum <= following <= self.maximum:
            following = (self.minimum if self.increment > 0 else self.maximum) if self.cycle else None
        self.next = following
        self.filled = False
        used_up = value >= self.cached_to if self.increment > 0 else value <= self.cached_to
        if used_up:
            self.cached_to = value + self.increment * max(self.cache, 1)
            self.filled = True
        return value

    def resume(self) -> None:
        """After a restart: what was cached and perhaps drawn is lost, as in Oracle."""
        if self.next is not None:
            self.next = self.cached_to
            if not self.minimum <= self.cached_to <= self.maximum:
                self.next = (self.minimum if self.increment > 0 else self.maximum) if self.cycle else None


@dataclass(slots=True)
class Role:
    """A role and what was granted to it; `grants` hold catalog.Grant values."""

    name: str
    created: float
    oracle_maintained: bool = False
    grants: set[object] = field(default_factory=set)


SchemaObject: TypeAlias = StoredView | Synonym | Sequence
