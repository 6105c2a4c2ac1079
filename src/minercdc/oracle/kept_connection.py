"""A connection that is opened when it is needed, and kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import oracledb


class KeptConnection:
    """Opens a connection at its first use; after `close` at the next one.

    :param connect: opens it, and raises its errors.
    """

    def __init__(self, connect: Callable[[], oracledb.Connection]) -> None:
        self._connect = connect
        self._connection: oracledb.Connection | None = None

    def get(self) -> oracledb.Connection:
        """The connection. Raises what `connect` raises."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def close(self) -> None:
        """End it; safe to call twice. An error is not raised: the connection may be lost already."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(oracledb.Error, OSError):
                connection.close()
