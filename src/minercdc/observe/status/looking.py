"""Looks at the source's views now and then, in a thread and on a connection of its own, so that it delays nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event, Thread
from typing import Any, TypeVar

import oracledb

from minercdc.errors import MinerCdcError, PrerequisiteError, UnknownSourceError
from minercdc.oracle.activity import (
    age_of_log,
    archive_reach,
    deletes_archived,
    is_in_current_log,
    oldest_transactions,
    undo_retention,
)
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.source import SourceFigures

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MOST_TRANSACTIONS = 20
_CALL_MS = 5_000
_WORKING = ("snapshot", "streaming")  # the connector itself has logged on: this does not try a wrong password once more


class SourceLook:
    """The looks of one process at the views of its database, by one thread and on one connection, which `close` ends; each
    one's figures go into `counters.source`.

    :param connect: to where the captured tables are: the root shows a common user no transactions and no undo of pluggable
        databases (docs/reference/logminer-facts.md#b-1-3).
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], counters: Counters) -> None:
        self._connect = connect
        self._counters = counters
        self._connection: oracledb.Connection | None = None
        self._missing: dict[str, str] = {}
        self._looking = False

    def look(self) -> None:
        """Look once while the connector works, on a connection that is kept, and else closed; an error is logged, and the
        next look connects again."""
        if self._counters.phase not in _WORKING:
            self.close()
            return
        self._looking = True
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._connection.call_timeout = _CALL_MS
            self._counters.source = self._figures(self._connection)
        except (MinerCdcError, oracledb.Error) as error:
            _log.debug("the source's views were not read: %s", error)
            self._looking = False
            self.close()
        finally:
            self._looking = False

    def close(self) -> None:
        """End the connection; safe to call twice. One that a look waits for is left alone, since the driver crashes when two
        threads use a connection at a time: its socket goes with the process."""
        if self._looking:
            return
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(oracledb.Error):
                connection.close()

    def _figures(self, connection: oracledb.Connection) -> SourceFigures:
        counters = self._counters
        found = SourceFigures(looked_at=time.time())
        oldest = self._granted("V$TRANSACTION, V$SESSION", lambda: oldest_transactions(connection, _MOST_TRANSACTIONS))
        if oldest is not None:
            found = replace(found, open=oldest[0], open_count=oldest[1])
        found = replace(
            found,
            archive_reach_seconds=self._granted("V$ARCHIVED_LOG", lambda: archive_reach(connection)),
            deletes=bool(self._granted("V$ARCHIVED_LOG", lambda: deletes_archived(connection))),
            undo_seconds=self._granted("V$UNDOSTAT", lambda: undo_retention(connection)),
        )
        snapshot = counters.snapshot_scn if counters.phase == "snapshot" else 0
        needed = counters.mining.resume_scn or snapshot
        if needed:
            age = self._granted("V$ARCHIVED_LOG, V$LOG", lambda: age_of_log(connection, needed))
            written = self._granted("V$LOG", lambda: is_in_current_log(connection, needed))
            found = replace(found, needed_seconds=0.0 if written else age, snapshot_seconds=age if snapshot else None)
        return replace(found, missing=tuple(sorted(self._missing)))

    def _granted(self, views: str, read: Callable[[], _T]) -> _T | None:
        """What is read of some views; None where they are not granted, which is logged once."""
        if views in self._missing:
            return None
        try:
            return read()
        except (PrerequisiteError, UnknownSourceError) as error:
            self._missing[views] = error.message
            _log.info("figures that need %s are not shown: %s", views, error.message)
            return None


@contextmanager
def every(seconds: float, call: Callable[[], Any], name: str) -> Iterator[None]:
    """Call at once, and again `seconds` after each call, in a thread, while the context lasts. An exception is logged. The end of
    the context waits a second at most for a call that is under way."""
    ended = Event()

    def run() -> None:
        while True:
            try:
                call()
            except Exception:
                _log.exception("%s failed", name)
            if ended.wait(seconds):
                return

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(1.0)  # a call that hangs does not keep the process; the thread goes with it
