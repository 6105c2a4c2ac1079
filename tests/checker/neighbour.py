"""Another pluggable database, in which the same schema and table change: its transactions have the same XIDs (local undo)."""

from __future__ import annotations

import random
from contextlib import suppress

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess

SERVICE = "OTHER"


def make(sandbox: SandboxProcess) -> None:
    """Create the database."""
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute(f"create pluggable database {SERVICE.lower()} admin user boss identified by boss")
        cursor.execute(f"alter pluggable database {SERVICE.lower()} open")


class Neighbour:
    """A schema of the same name over there, changed by one session.

    :param schema: its name, and its password.
    """

    def __init__(self, sandbox: SandboxProcess, schema: str, seed: int) -> None:
        self._sandbox, self._schema = sandbox, schema
        self._chance = random.Random(seed)
        with sandbox.connect(service=SERVICE) as admin, admin.cursor() as cursor:
            cursor.execute(f"create user {schema} identified by {schema}")
            cursor.execute(f"grant connect, resource, unlimited tablespace to {schema}")
        self._connection = self._connect()
        self._connection.cursor().execute(
            "create table item (id number(10) primary key, name varchar2(80), qty number(12,3))"
        )

    def step(self) -> None:
        """One thing happens there."""
        cursor, key, choice = self._connection.cursor(), self._chance.randrange(1000), self._chance.random()
        if choice < 0.6:
            with suppress(oracledb.IntegrityError):
                cursor.execute("insert into item (id, name) values (:1, 'over there')", [key])
        elif choice < 0.9:
            self._connection.commit()
        else:
            self._connection.rollback()

    def reconnect(self) -> None:
        """The server was restarted."""
        with suppress(oracledb.Error):
            self._connection.close()
        with self._sandbox.connect(service=self._sandbox.root_service) as admin, suppress(oracledb.DatabaseError):
            admin.cursor().execute(f"alter pluggable database {SERVICE.lower()} open")  # or it is open: ORA-65019
        self._connection = self._connect()

    def close(self) -> None:
        with suppress(oracledb.Error):
            self._connection.close()

    def _connect(self) -> oracledb.Connection:
        return self._sandbox.connect(self._schema, self._schema, SERVICE)
