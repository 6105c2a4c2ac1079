"""A statement that is run in the source at each heartbeat (`heartbeat.action.query`)."""

from __future__ import annotations

import logging
from collections.abc import Callable

import oracledb

from minercdc.errors import MinerCdcError
from minercdc.oracle.codes import oracle_errors

_log = logging.getLogger(__name__)


class HeartbeatAction:
    """Runs the statement, and commits. A failure is logged: it is tried again at the next heartbeat, in a new session.

    :param connect: to the database that the statement is for.
    :param statement: SQL; a `;` at its end is dropped.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], statement: str) -> None:
        self._connect = connect
        self._statement = statement.strip().rstrip(";")
        self._connection: oracledb.Connection | None = None

    def __call__(self) -> None:
        """Run the statement once, and commit; raises no error of Oracle."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            with oracle_errors("running it"), self._connection.cursor() as cursor:
                cursor.execute(self._statement)
                self._connection.commit()
        except MinerCdcError as error:
            self._failed(error.message)

    def _failed(self, why: str) -> None:
        _log.warning("heartbeat.action.query failed: %s", why)
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except oracledb.Error as error:
                _log.info("its session was not closed: %s", error)
