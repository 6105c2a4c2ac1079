"""The temporary LOBs of sessions: freed at the session's end, or earlier by the client or DBMS_LOB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local

from minercdc_sandbox.lobs.locator import unpack
from minercdc_sandbox.lobs.values import LobStore


class _Running(local):
    owner: SessionLobs | None = None


_running = _Running()


class SessionLobs:
    """Temporary and opened LOBs of one session, which frees them at its end by `free_all`.

    :ivar handles: of its temporary LOBs.
    :ivar opened: LOBs it has opened by `Locator.identity`; True for reading only.
    """

    def __init__(self) -> None:
        self.handles: set[int] = set()
        self.opened: dict[object, bool] = {}

    def keep(self, locator: bytes) -> bytes:
        """Note a new temporary LOB as this session's; returns the same locator."""
        self.handles.add(unpack(locator).temporary)
        return locator

    def free(self, lobs: LobStore, handle: int) -> None:
        """Free a temporary LOB, also one of another session; nothing for one that was freed."""
        self.handles.discard(handle)
        lobs.free_temporary(handle)

    def free_all(self, lobs: LobStore) -> None:
        """Free all temporary LOBs, and close all LOBs."""
        for handle in self.handles:
            lobs.free_temporary(handle)
        self.handles.clear()
        self.opened.clear()


@contextmanager
def lobs_of(owner: SessionLobs) -> Iterator[None]:
    """Until the context ends, temporary LOBs that SQL functions make in this thread are `owner`'s; then those of the owner
    before, if any."""
    before, _running.owner = _running.owner, owner
    try:
        yield
    finally:
        _running.owner = before


def is_open_here(cell: bytes) -> bool:
    """Whether the session of `lobs_of` in this thread has opened the LOB; False without one. Raises ORA-22275 for no locator
    while there is one."""
    owner = _running.owner
    return owner is not None and unpack(cell).identity in owner.opened


def keep_for_session(locator: bytes) -> bytes:
    """Give a temporary LOB to the session of `lobs_of` in this thread, without which nothing frees it; returns the same locator."""
    owner = _running.owner
    return locator if owner is None else owner.keep(locator)
