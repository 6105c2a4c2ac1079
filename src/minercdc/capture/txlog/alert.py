"""Waits for alerts on a connection of its own, so that the stream goes on meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

import oracledb

from minercdc.capture.txlog.names import ALERT, SOURCES, quoted
from minercdc.errors import MinerCdcError
from minercdc.oracle.codes import oracle_errors

_log = logging.getLogger(__name__)

_SECONDS = 2  # of one wait: how long `close` may take


class AlertWatch:
    """A daemon thread that calls SYNC_ALERT.waitForEvent again and again, by a connection of its own. The constructor starts
    it, `close` ends it. When connecting or the call fails, the thread logs a warning and ends, and polls go on by time alone.

    :param connect: opens a connection to where the tables are.
    :param owner: of SYNC_ALERT.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], owner: str) -> None:
        self._connect, self._package = connect, f"{quoted(owner)}.{ALERT}"
        self._sources = f"{quoted(owner)}.{quoted(SOURCES)}"
        self._came, self._closed = Event(), Event()
        self._thread = Thread(target=self._run, name="txlog alerts", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until an alert comes, at most so many seconds; True when one came since the last call."""
        came = self._came.wait(seconds)
        self._came.clear()
        return came

    def close(self) -> None:
        """Have the thread end, and wait 3 s for that at most; safe to call twice. The thread closes its connection."""
        self._closed.set()
        self._thread.join(_SECONDS + 1)

    def _run(self) -> None:
        connection: oracledb.Connection | None = None
        try:
            connection = self._connect()
            with oracle_errors("waiting for alerts"), connection.cursor() as cursor:
                cursor.execute(f"SELECT MIN(NAME) FROM {self._sources}")
                (source,) = cursor.fetchone() or (None,)
                cursor.callfunc(f"{self._package}.registerSourceWithVersion", oracledb.DB_TYPE_NUMBER, [source, 1])
                while not self._closed.is_set():
                    if cursor.callfunc(f"{self._package}.waitForEvent", oracledb.DB_TYPE_VARCHAR, [_SECONDS]) is not None:
                        self._came.set()
        except MinerCdcError as error:
            if not self._closed.is_set():
                _log.warning("%s: changes are found by minercdc.txlog.interval.ms only", error.message)
        finally:
            if connection is not None:
                with suppress(oracledb.Error, OSError):
                    connection.close()
