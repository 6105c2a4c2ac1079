"""What an adapter asks of the database, and a clock that only its waiting moves."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from typing import Any

import oracledb

_SOURCES = re.compile(r"\b(?:FROM|JOIN)\s+([\w$#\".]+)", re.I)


class Clock:
    """In place of `monotonic` and of the stop flag: nothing but a wait takes time, and a statement as long as `takes` says.

    :ivar takes: seconds of each statement that has this text.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.takes: dict[str, float] = {}
        self._lock = Lock()

    def __call__(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return False

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout or 0
        return False

    def executed(self, sql: str) -> None:
        """A statement was executed, perhaps beside others."""
        with self._lock:
            self.now += sum(seconds for text, seconds in self.takes.items() if text in sql)


class Asked:
    """The statements of connections that it listens to, in order, without those that prepare a session.

    :ivar statements: seconds of the clock, and text.
    """

    def __init__(self) -> None:
        self.statements: list[tuple[float, str]] = []
        self.clock = Clock()

    def listen(self, connection: oracledb.Connection) -> oracledb.Connection:
        """The connection, whose statements count from now on."""
        batches = connection.fetch_df_batches

        def fetched(statement: str, *arguments: Any, **named: Any) -> Any:
            self.noted(statement)
            return batches(statement, *arguments, **named)

        setattr(connection, "cursor", lambda: _Cursor(connection, self.noted))  # noqa: B010
        setattr(connection, "fetch_df_batches", fetched)  # noqa: B010
        return connection

    def noted(self, sql: str) -> None:
        self.statements.append((self.clock.now, sql))
        self.clock.executed(sql)

    def times(self, text: str) -> list[float]:
        """When statements with this text were executed."""
        return [at for at, sql in self.statements if text in sql]

    def sources(self) -> set[str]:
        """What the queries read, as they name it."""
        return {name for _, sql in self.statements for name in _SOURCES.findall(sql)}


class _Cursor(oracledb.Cursor):
    def __init__(self, connection: oracledb.Connection, noted: Callable[[str], None]) -> None:
        super().__init__(connection)
        self._noted = noted

    def execute(self, statement: Any, *arguments: Any, **named: Any) -> Any:
        self._noted(str(statement))
        return super().execute(statement, *arguments, **named)
