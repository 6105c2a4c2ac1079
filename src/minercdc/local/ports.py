"""TCP ports of this machine."""

from __future__ import annotations

import socket
from collections.abc import Container

EVERYWHERE = ("0.0.0.0", "::")  # addresses to listen on, not to connect to


def free_port(host: str = "127.0.0.1", taken: Container[int] = ()) -> int:
    """A port that no process listens on at the time of the call; another process may take it after that.

    :param taken: ports that are somebody's who does not listen yet.
    """
    while True:
        with socket.socket() as probe:
            probe.bind((host, 0))
            port = int(probe.getsockname()[1])
        if port not in taken:
            return port


def listening(host: str, port: int) -> bool:
    """Whether a process accepts connections there, within half a second."""
    try:
        socket.create_connection((host, port), 0.5).close()
    except OSError:
        return False
    return True
