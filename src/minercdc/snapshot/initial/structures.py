"""Reads the structures of the tables and no rows: `no_data`, `recovery`, and streaming from a given SCN or time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

import oracledb

from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.notices import InitialNotices
from minercdc.snapshot.initial.snapshot_scn import Fixed, describe
from minercdc.stream.contracts import StopFlag
from minercdc.stream.events import Event, Progress, Scn
from minercdc.stream.offset import Position, SnapshotState

_log = logging.getLogger(__name__)


class StructureSnapshot:
    """The `contracts.Snapshot` without rows: emits the tables' structures, then the position to stream from.

    :param connect: opens a connection to where the tables are; it is closed before anything is emitted.
    :param tables: filled with the structures found.
    :param fix: fixes the SCN, and reads the structures.
    :param position: position that streaming starts from; with `recovery` the stored one.
    :param now: reads the clock: seconds since the epoch.
    """

    def __init__(
        self,
        connect: Callable[[], oracledb.Connection],
        tables: Tables,
        fix: Callable[[oracledb.Connection], Fixed],
        position: Callable[[Fixed], Position],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._connect = connect
        self._tables = tables
        self._fix = fix
        self._position = position
        self._now = now

    def take(self, state: SnapshotState | None, stop: StopFlag) -> Iterator[Event]:
        """Yields a SchemaChange per table between notifications, then a Progress with the position that streaming starts
        from. `state` and `stop` are not used: it is short, and an interrupted one starts again. Raises what `connect`, `fix`
        and `position` raise."""
        connection = self._connect()
        try:
            fixed = self._fix(connection)
        finally:
            connection.close()
        position = self._position(fixed)
        time_us = int(self._now() * 1_000_000)
        notices = InitialNotices(now=self._now)
        yield notices.started()
        yield from describe(self._tables, fixed.schemas, fixed.scn, time_us, ddl=fixed.ddl)
        _log.info("structures of %d tables are read; streaming will start from %s", len(fixed.schemas), position)
        yield from (notices.completed(), Progress(position, Scn(0), 0))  # the position may lie in the past
