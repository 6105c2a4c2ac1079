"""The looks at the source's views."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import oracledb
import pytest

from minercdc.errors import TransientSourceError
from minercdc.observe.status.looking import SourceLook, every
from minercdc.stream.counters.connector import Counters

NOW = datetime(2026, 1, 2)


class Connection:
    """Answers the queries of a look by what they read; a view in `hidden` is not granted."""

    def __init__(self, hidden: tuple[str, ...] = (), waits: threading.Event | None = None) -> None:
        self.hidden = hidden
        self.waits = waits
        self.closed = False
        self.call_timeout = 0
        self.rows: list[tuple[Any, ...]] = []
        self.begun = threading.Event()

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str, binds: object = None) -> None:
        self.begun.set()
        if self.waits:
            self.waits.wait(10)
        for view in self.hidden:
            if view in sql:
                raise _ora(942)
        self.rows = next(rows for part, rows in _ANSWERS if part in sql)

    def fetchone(self) -> tuple[Any, ...] | None:
        return self.rows[0] if self.rows else None

    def __iter__(self) -> Any:
        return iter(self.rows)

    def close(self) -> None:
        self.closed = True


def _ora(code: int) -> oracledb.DatabaseError:
    text = f"ORA-{code:05d}: table or view does not exist"
    error = type("E", (), {"code": code, "full_code": f"ORA-{code:05d}", "message": text, "isrecoverable": False})()
    return oracledb.DatabaseError(error)


_ANSWERS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("FROM V$THREAD", [(1,)]),
    ("SELECT T.XID", [(b"\xaa", 5, NOW - timedelta(seconds=90), NOW, "U", "sqlplus", "host", 7, 3)]),
    ("COUNT(*) FROM V$TRANSACTION", [(1,)]),
    ("A.DELETED = 'YES'", [(2,)]),
    ("GROUP BY A.THREAD#", [(NOW - timedelta(hours=5),)]),
    ("STATUS = 'CURRENT'", [(0,)]),
    ("FROM V$ARCHIVED_LOG", [(NOW - timedelta(hours=1),)]),
    ("FROM V$LOG", [(None,)]),
    ("SYSDATE FROM DUAL", [(NOW,)]),
    ("V$UNDOSTAT", [(900,)]),
]


def looked(connection: Connection, phase: str = "streaming") -> Counters:
    counters = Counters(phase=phase)
    counters.mining.resume_scn = 77
    SourceLook(lambda: connection, counters).look()  # type: ignore[arg-type,return-value]
    return counters


def test_a_look_shows_transactions_and_for_how_long_redo_is_kept() -> None:
    source = looked(Connection()).source
    (one,) = source.open
    assert (one.user, one.program, one.age_seconds, source.open_count) == ("U", "sqlplus", 90.0, 1)
    assert (source.archive_headroom_seconds, source.deletes, source.undo_seconds) == (4 * 3600, True, 900)
    assert source.missing == ()


def test_a_view_that_is_not_granted_leaves_the_others() -> None:
    source = looked(Connection(hidden=("V$TRANSACTION", "V$UNDOSTAT"))).source
    assert (source.open, source.open_count, source.undo_seconds) == ((), None, None)
    assert source.archive_reach_seconds == 5 * 3600
    assert source.missing == ("V$TRANSACTION, V$SESSION", "V$UNDOSTAT")


@pytest.mark.parametrize("phase", ["starting", "reconnecting", "stopped"])
def test_nothing_is_connected_while_the_connector_has_not_logged_on(phase: str) -> None:
    def refuse() -> Any:
        raise AssertionError("connected")

    SourceLook(refuse, Counters(phase=phase)).look()


def test_a_database_that_is_gone_is_tried_again_at_the_next_look() -> None:
    connections: list[Any] = [TransientSourceError("gone"), Connection()]

    def connect() -> Any:
        found = connections.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    counters = Counters(phase="streaming")
    look = SourceLook(connect, counters)
    look.look()
    assert counters.source.looked_at == 0
    look.look()
    assert counters.source.looked_at > 0


def test_a_connection_that_a_look_waits_for_is_not_closed() -> None:
    answered = threading.Event()
    connection = Connection(waits=answered)
    look = SourceLook(lambda: connection, Counters(phase="streaming"))  # type: ignore[arg-type,return-value]
    with every(0.01, look.look, "look"):
        connection.begun.wait(10)
        look.close()
        assert not connection.closed
        answered.set()
    look.close()
    assert connection.closed
