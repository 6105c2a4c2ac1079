"""Schema objects that are not tables: views, synonyms, sequences, stored programs, triggers, jobs; and roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from minercdc_sandbox.tables import Column


@dataclass(slots=True)
class StoredView:
    """A view of CREATE VIEW, in the dictionary; `created` and `last_ddl` are host seconds.

    :param text: the query as typed.
    :param columns: their names; `shape` the columns for the dictionary views.
    :param check: WITH CHECK OPTION; `read_only` WITH READ ONLY.
    :param names: of the objects in its schema that its text names.
    :param broken: FORCE made it although its query has an error; a query that reads it finds out whether it still has.
    """

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
    names: frozenset[str] = frozenset()
    broken: bool = False


@dataclass(slots=True)
class Synonym:
    """A private synonym, or with owner PUBLIC one for all users, of `table_owner`.`table_name`, which need not exist and need be
    no table."""

    container: int
    owner: str
    name: str
    object_id: int
    table_owner: str
    table_name: str
    created: float


@dataclass(slots=True)
class Sequence:
    """A sequence of CREATE SEQUENCE or of an identity column; `created` and `last_ddl` are host seconds.

    :param next: the number that the next NEXTVAL gives; None when a NOCYCLE sequence has none left. Whoever makes a sequence sets
        it.
    :param cache: how many numbers are taken into the cache at once; 0 for NOCACHE.
    :param cached_to: LAST_NUMBER of ALL_SEQUENCES: the first number after those in the cache.
    :param filled: whether the last draw took new numbers into the cache, which a data directory must keep.
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
        """Draw the next number; None when there is none left (ORA-08004). Sets `next`, `filled` and `cached_to`. Under the
        storage lock."""
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
        """Set `next` to the first number after the cached ones, drawn or not, as Oracle does after a restart. An exhausted
        sequence stays so."""
        if self.next is not None:
            self.next = self.cached_to
            if not self.minimum <= self.cached_to <= self.maximum:
                self.next = (self.minimum if self.increment > 0 else self.maximum) if self.cycle else None


@dataclass(slots=True)
class Role:
    """A role of one container; `grants` are `catalog.Grant` values granted to it, `created` is in host seconds."""

    name: str
    created: float
    oracle_maintained: bool = False
    grants: set[object] = field(default_factory=set)


@dataclass(slots=True)
class StoredProgram:
    """A package, package body, function or procedure of CREATE; `created` and `last_ddl` are host seconds.

    :param kind: OBJECT_TYPE of the dictionary views.
    :param text: as typed, from the word PACKAGE, FUNCTION or PROCEDURE on.
    :param stamp: another one for each CREATE OR REPLACE, by which sessions see that their compiled form is old.
    :param names: of the objects in its schema that its text names.
    """

    container: int
    owner: str
    name: str
    object_id: int
    kind: str
    text: str
    created: float
    last_ddl: float
    stamp: int
    names: frozenset[str] = frozenset()


@dataclass(slots=True)
class Trigger(StoredProgram):
    """A trigger on a table; `text` begins with the word TRIGGER.

    :param table_id: OBJECT_ID of its table, which a rename keeps.
    :param events: INSERT, UPDATE, DELETE.
    :param columns: of UPDATE OF; empty for all.
    :param new, old: the names of REFERENCING.
    :param when: text of the condition of WHEN with its parentheses, else None.
    :param enabled: a disabled one does not fire.
    :param timing: BEFORE or AFTER.
    :param of_rows: FOR EACH ROW; else it fires once for a statement.
    """

    table_id: int = 0
    events: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    new: str = "NEW"
    old: str = "OLD"
    when: str | None = None
    enabled: bool = True
    timing: str = "BEFORE"
    of_rows: bool = True


@dataclass(slots=True)
class Job:
    """A job of DBMS_SCHEDULER, in the dictionary.

    :param kind: JOB_TYPE, PLSQL_BLOCK or STORED_PROCEDURE; `action` JOB_ACTION.
    :param created: host seconds.
    :param repeat: REPEAT_INTERVAL as given, None for a job that runs once; `seconds` its length, from the start of a run to that
        of the next.
    :param auto_drop: the scheduler drops it after its only run.
    :param runs, failures: how often it ran, and how often the scheduler's runs had an error; RUN_JOB counts in `runs` only, and
        only without an error.
    :param error: of the scheduler's last run; None when that had none.
    :param last_run: host seconds of the start of the scheduler's last run; None before the first.
    :param running: the scheduler runs it now.
    """

    container: int
    owner: str
    name: str
    object_id: int
    kind: str
    action: str
    created: float
    repeat: str | None = None
    seconds: float | None = None
    enabled: bool = False
    auto_drop: bool = True
    comments: str | None = None
    runs: int = 0
    failures: int = 0
    error: str | None = None
    last_run: float | None = None
    running: bool = False


SchemaObject: TypeAlias = StoredView | Synonym | Sequence | StoredProgram | Job
