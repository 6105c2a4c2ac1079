"""A connection that is opened when it is needed, and kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import oracledb


class KeptConnection:
    """Keeps a connection that is opened when it is first needed, and after `close` when it is needed again. Not for two
    threads at once.

    :param connect: opens it.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection]) -> None:
        self._connect = connect
        self._connection: oracledb.Connection | None = None

    def get(self) -> oracledb.Connection:
        """The connection; opened if there is none, without a look whether it is still alive. Raises what `connect` raises."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def close(self) -> None:
        """Close the connection, if there is one; safe to call twice. An error is not raised: the connection may be lost
        already."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(oracledb.Error, OSError):
                connection.close()
