"""Which temporary LOBs a session has: they go with it, or earlier when the client or DBMS_LOB frees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from minercdc_sandbox.lobs.locator import unpack
from minercdc_sandbox.lobs.values import LobStore

_running = local()


class SessionLobs:
    """Temporary LOBs by handle, and the LOBs a session opened by content address."""

    def __init__(self) -> None:
        self.handles: set[int] = set()
        self.opened: dict[object, bool] = {}

    def keep(self, locator: bytes) -> bytes:
        """Note a new temporary LOB as this session's."""
        self.handles.add(unpack(locator).temporary)
        return locator

    def free(self, lobs: LobStore, handle: int) -> None:
        self.handles.discard(handle)
        lobs.free_temporary(handle)

    def free_all(self, lobs: LobStore) -> None:
        """At the end of the session."""
        for handle in self.handles:
            lobs.free_temporary(handle)
        self.handles.clear()
        self.opened.clear()


@contextmanager
def lobs_of(owner: SessionLobs) -> Iterator[None]:
    """Temporary LOBs that SQL functions make in this thread meanwhile are `owner`'s."""
    before = getattr(_running, "owner", None)
    _running.owner = owner
    try:
        yield
    finally:
        _running.owner = before


def is_open_here(cell: bytes) -> bool:
    """Whether the session whose statement runs in this thread has opened the LOB."""
    owner: SessionLobs | None = getattr(_running, "owner", None)
    return owner is not None and unpack(cell).identity in owner.opened


def keep_for_session(locator: bytes) -> bytes:
    """Give a temporary LOB to the session whose statement runs in this thread."""
    owner: SessionLobs | None = getattr(_running, "owner", None)
    return locator if owner is None else owner.keep(locator)
