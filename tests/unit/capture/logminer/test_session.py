"""The connections of a mining session, when it cannot be opened."""

from __future__ import annotations

from typing import Any

import pytest

from minercdc.capture.adapter import Secondary
from minercdc.capture.logminer.session.logminer_session import open_session
from minercdc.errors import PrerequisiteError


class Connection:
    """A driver's connection to a container with this CON_ID."""

    def __init__(self, container: int) -> None:
        self._container, self.closed = container, False

    def cursor(self) -> Connection:
        return self

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, *_: object) -> None: ...

    def fetchone(self) -> tuple[int]:
        return (self._container,)

    def fetchall(self) -> list[tuple[int]]:
        return [(self._container,)]

    def is_healthy(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True


def test_a_session_that_cannot_be_opened_leaves_no_connection() -> None:
    mined: Any = Connection(3)
    with pytest.raises(PrerequisiteError, match="redo_log_catalog"):
        open_session(lambda: mined, None, 100, dictionary_in_redo=True, native_rows=False)
    assert mined.closed


def test_a_primary_that_cannot_be_reached_leaves_no_connection_to_the_standby() -> None:
    standby: Any = Connection(1)

    def unreachable() -> Any:
        raise PrerequisiteError("ORA-01017")

    with pytest.raises(PrerequisiteError, match="ORA-01017"):
        open_session(unreachable, Secondary(lambda: standby), 100, dictionary_in_redo=False, native_rows=False)
    assert standby.closed


def test_a_session_keeps_its_connections_open() -> None:
    mined, primary = Connection(1), Connection(1)
    given: Any = primary
    connections: Any = iter([given])
    given_standby: Any = mined
    standby = Secondary(lambda: given_standby)
    session = open_session(lambda: next(connections), standby, 100, dictionary_in_redo=False, native_rows=True)
    assert session.primary is given
    assert not mined.closed
    assert not primary.closed


def test_a_downstream_database_is_mined_in_its_root_with_a_dictionary() -> None:
    source: Any = Connection(1)
    inside: Any = Connection(3)
    with pytest.raises(PrerequisiteError, match="in the root of the downstream database"):
        open_session(lambda: source, Secondary(lambda: inside, True), 100, dictionary_in_redo=True, native_rows=False)
    assert inside.closed
    assert source.closed
    mined: Any = Connection(1)
    mining = Secondary(lambda: mined, is_downstream=True)
    session = open_session(lambda: source, mining, 100, dictionary_in_redo=True, native_rows=False)
    assert (session.connection, session.primary) == (mined, source)
    assert session.mined is not None
    assert session.mined.is_downstream
