"""A database of canned answers under the real wire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

import oracledb
import pytest

from minercdc_sandbox.interfaces import BindType, Cell, ColumnDescription, OraError, Result, Session
from minercdc_sandbox.wire.listener import Listener

Answer = Callable[["CannedSession", Sequence[BindType], Sequence[tuple[Cell, ...]]], Result]


class CannedRows:
    """Rows of a list."""

    def __init__(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        self._rows = iter(rows)
        self.closed = False

    def fetch(self, count: int) -> list[tuple[Cell, ...]]:
        return list(islice(self._rows, count))

    def close(self) -> None:
        self.closed = True


class CannedSession:
    """Answers by the statement's text; remembers what it was given."""

    def __init__(self, database: CannedDatabase, user: str) -> None:
        self.sid = 7
        self.serial = 3
        self.user = self.schema = user
        self.module: str | None = None
        self.action: str | None = None
        self.client_info: str | None = None
        self.client_id: str | None = None
        self.cancelled = threading.Event()
        self.open_transaction = False
        self.closed = False
        self._database = database

    def set_metrics(self, **names: str | None) -> None:
        for name, value in names.items():
            setattr(self, name, value)

    def execute(
        self,
        sql: str,
        bind_types: Sequence[BindType] = (),
        bind_rows: Sequence[tuple[Cell, ...]] = ((),),
        *,
        batch_errors: bool = False,
        row_counts: bool = False,
        commit: bool = False,
    ) -> Result:
        self.cancelled.clear()
        self._database.seen.append((sql, list(bind_types), list(bind_rows), batch_errors, row_counts, commit))
        if sql.startswith("ALTER SESSION"):
            return Result()
        answer = self._database.answers.get(sql)
        if answer is None:
            raise OraError(942, f'table or view "{sql}" does not exist', 14)
        return answer(self, bind_types, bind_rows)

    def describe(self, sql: str) -> tuple[ColumnDescription, ...] | None:
        return self._database.answers[sql](self, (), ((),)).columns

    def check_alive(self) -> None:
        pass

    def commit(self) -> None:
        self.open_transaction = False

    def rollback(self) -> None:
        self.open_transaction = False

    def in_transaction(self) -> bool:
        return self.open_transaction

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.closed = True


@dataclass
class CannedDatabase:
    """What the wire needs from a database."""

    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[tuple[object, ...]] = field(default_factory=list)
    sessions: list[CannedSession] = field(default_factory=list)
    passwords: dict[str, str] = field(default_factory=lambda: {"SCOTT": "tiger"})
    name: str = "CANNED"
    instance: str = "canned"
    banner: str = "Canned Database 23ai Free Release 23.0.0.0.0"
    version: tuple[int, int, int, int, int] = (23, 26, 1, 2, 3)

    def password_of(self, user: str, service: str) -> str | None:
        return self.passwords.get(user)

    def change_password(self, user: str, service: str, password: str) -> None:
        self.passwords[user] = password

    def services(self) -> Sequence[str]:
        return ("FREEPDB1",)

    def open_session(self, user: str, service: str, client: Mapping[str, str], *, renewed: bool = False) -> Session:
        session = CannedSession(self, user)
        self.sessions.append(session)
        return cast(Session, session)  # but for LOBs, which come with a database

    def close(self) -> None:
        pass

    def canned(self, sql: str, columns: Sequence[ColumnDescription], rows: Sequence[tuple[Cell, ...]]) -> None:
        """Answer a query with these rows."""
        self.answers[sql] = lambda *_: Result(columns=tuple(columns), rows=CannedRows(rows))


@pytest.fixture
def database() -> CannedDatabase:
    return CannedDatabase()


@pytest.fixture(params=["19c", "23ai"])
def listener(request: pytest.FixtureRequest, database: CannedDatabase) -> Iterator[Listener]:
    listener = Listener(database, "127.0.0.1", 0, request.param)
    listener.start()
    yield listener
    listener.stop()


@pytest.fixture
def dsn(listener: Listener) -> str:
    return f"127.0.0.1:{listener.address[1]}/freepdb1"


@pytest.fixture
def connection(dsn: str) -> Iterator[oracledb.Connection]:
    with oracledb.connect(user="scott", password="tiger", dsn=dsn) as connection:
        yield connection
