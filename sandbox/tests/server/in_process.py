"""Connections to a sandbox in the tests' own process."""

from __future__ import annotations

import oracledb

from minercdc_sandbox.server import SandboxServer


def connect(server: SandboxServer, service: str, user: str = "system", password: str = "oracle") -> oracledb.Connection:
    """A connection to one of its services."""
    return oracledb.connect(user=user, password=password, dsn=f"{server.host}:{server.port}/{service}")
