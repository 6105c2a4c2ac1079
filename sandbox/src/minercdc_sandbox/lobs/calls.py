"""The calls that a client makes with LOB locators, see `interfaces.LobCalls`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from minercdc_sandbox.interfaces import LobKind
from minercdc_sandbox.lobs import access
from minercdc_sandbox.sql.execution import SqlSession


class SessionLobCalls:
    """The LOB calls of one session, from its client; see `interfaces.LobCalls`.

    :param in_call: makes the context in which `write` and `trim` run, the same as for a statement.
    """

    def __init__(self, session: SqlSession, in_call: Callable[[], AbstractContextManager[None]]) -> None:
        self._session, self._in_call = session, in_call

    def length(self, locator: bytes) -> int:
        return access.length(self._session, locator)

    def read(self, locator: bytes, offset: int, amount: int) -> str | bytes:
        return access.read(self._session, locator, offset, amount)

    def write(self, locator: bytes, offset: int, data: str | bytes) -> bytes:
        with self._in_call():
            return access.write(self._session, locator, offset, data)

    def trim(self, locator: bytes, length: int) -> bytes:
        with self._in_call():
            return access.trim(self._session, locator, length)

    def create_temporary(self, kind: LobKind) -> bytes:
        return access.create_temporary(self._session, kind)

    def free_temporary(self, locator: bytes) -> None:
        access.free_temporary(self._session, locator)

    def open(self, locator: bytes, *, read_only: bool = False) -> bytes:
        return access.open_lob(self._session, locator, read_only=read_only)

    def close(self, locator: bytes) -> bytes:
        return access.close_lob(self._session, locator)

    def is_open(self, locator: bytes) -> bool:
        return access.is_open(self._session, locator)

    def chunk_size(self, locator: bytes) -> int:
        return access.chunk_size(self._session, locator)
