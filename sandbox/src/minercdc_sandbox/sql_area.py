"""The statements that clients have run, text by text, and their cost: the shared SQL area, which V$SQLAREA shows.

Statements that run inside PL/SQL are part of their block here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5
from threading import Lock
from time import perf_counter_ns, thread_time_ns

from minercdc_sandbox.interfaces import Cell, Rows

_REMEMBERED = 2000
_SHOWN = 1000
_ALPHABET = "0123456789abcdfghjkmnpqrstuvwxyz"


@dataclass(slots=True)
class StatementCost:
    """One statement's row of V$SQLAREA (Oracle Database Reference): its calls are counted by their threads without a lock.

    :ivar text: its first 1000 characters.
    :ivar schema: PARSING_SCHEMA_NAME, of the session that ran it first, as are `module` and `container`.
    :ivar executions, fetches: calls that ended without an error.
    :ivar rows: fetched from a query, or changed by DML.
    :ivar elapsed, cpu: nanoseconds in its execute and fetch calls, also failed ones.
    """

    text: str
    sql_id: str
    schema: str
    module: str | None
    container: int
    executions: int = 0
    fetches: int = 0
    rows: int = 0
    elapsed: int = 0
    cpu: int = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Add the time of the context, an execute or fetch call in this thread, to `elapsed` and `cpu`, also when it fails."""
        elapsed, cpu = perf_counter_ns(), thread_time_ns()
        try:
            yield
        finally:
            self.elapsed += perf_counter_ns() - elapsed
            self.cpu += thread_time_ns() - cpu


class SqlArea:
    """The statements that were run last, at most 2000 texts, of all sessions; any thread. A text that was dropped begins at zero
    when it is run again, as in Oracle."""

    def __init__(self) -> None:
        self._costs: OrderedDict[str, StatementCost] = OrderedDict()
        self._lock = Lock()

    def cost_of(self, sql: str, schema: str, module: str | None, container: int) -> StatementCost:
        """The row in which executions of this text are counted, in any schema and container; a new one gets schema, module and
        container from this call."""
        with self._lock:
            if (found := self._costs.get(sql)) is not None:
                self._costs.move_to_end(sql)
                return found
            found = self._costs[sql] = StatementCost(sql[:_SHOWN], sql_id(sql), schema, module, container)
            if len(self._costs) > _REMEMBERED:
                self._costs.popitem(last=False)
            return found

    def costs(self) -> list[StatementCost]:
        """The rows of all remembered statements, the one run last at the end."""
        with self._lock:
            return list(self._costs.values())


class CountedRows:
    """A query's result (interfaces.Rows) whose fetches are counted and timed in `cost`; `before_fetch` is called before each and
    may raise."""

    def __init__(self, rows: Rows, cost: StatementCost, before_fetch: Callable[[], None]) -> None:
        self._rows, self._cost, self._before_fetch = rows, cost, before_fetch

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        """As `fetch` of the rows: the fetch and its rows are counted when it succeeds, its time in any case. Raises as
        `before_fetch`, before any row is read, and as that."""
        self._before_fetch()
        with self._cost.call():
            rows = self._rows.fetch(count)
        self._cost.fetches += 1
        self._cost.rows += len(rows)
        return rows

    def close(self) -> None:
        """Close the rows."""
        self._rows.close()


def sql_id(sql: str) -> str:
    """SQL_ID of a statement: the last 64 bits of the MD5 of its text and a zero byte, in Oracle's base 32: 13 characters."""
    digest = md5(sql.encode() + b"\0", usedforsecurity=False).digest()
    number = int.from_bytes(digest[8:12], "little") << 32 | int.from_bytes(digest[12:], "little")
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(13)))
