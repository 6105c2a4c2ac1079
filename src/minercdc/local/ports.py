"""TCP ports of this machine."""

from __future__ import annotations

import socket

EVERYWHERE = ("0.0.0.0", "::")  # addresses to listen on, not to connect to


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on at the moment of asking."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def listening(host: str, port: int) -> bool:
    """Does somebody accept connections there?"""
    try:
        socket.create_connection((host, port), 0.5).close()
    except OSError:
        return False
    return True
