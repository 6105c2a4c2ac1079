"""Runs a statement in the source at each heartbeat (`heartbeat.action.query`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

import oracledb

from minercdc.errors import MinerCdcError
from minercdc.oracle.codes import oracle_errors

_log = logging.getLogger(__name__)
# A message may name a connection, a time or a place of the statement: by its codes a cause is the same at the next beat.
_CODE = re.compile(r"\b(?:ORA|PLS|DPY|TNS)-\d+")


class HeartbeatAction:
    """Runs the statement, and commits, at each call. The session is opened at the first call, and kept until the process ends;
    after a failure the statement is tried again at the next call, in a new session. A failure is logged as a warning, unless the
    call before failed for the same cause.

    :param connect: opens a connection to the database that the statement is for.
    :param statement: SQL; a `;` at its end is dropped.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection], statement: str) -> None:
        self._connect = connect
        self._statement = statement.strip().rstrip(";")
        self._connection: oracledb.Connection | None = None
        self._cause = ""  # of the last failure, '' after a success

    def __call__(self) -> None:
        """Run the statement once, and commit; raises no MinerCdcError, but logs it."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            with oracle_errors("running it"), self._connection.cursor() as cursor:
                cursor.execute(self._statement)
                self._connection.commit()
        except MinerCdcError as error:
            self._failed(error)
        else:
            if self._cause:
                _log.info("heartbeat.action.query succeeds again")
                self._cause = ""

    def _failed(self, error: MinerCdcError) -> None:
        cause = " ".join(_CODE.findall(error.message)) or error.message
        if cause != self._cause:
            _log.warning("heartbeat.action.query failed, and is tried again at each heartbeat: %s", error.message)
            self._cause = cause
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except oracledb.Error as failure:
                _log.info("its session was not closed: %s", failure)
