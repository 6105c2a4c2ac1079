"""A schema and the connector that captures it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import oracledb
from tests.e2e.connector import Database, Ended, MinerCdc, properties, run, run_to_end, write
from tests.e2e.topics import Topics

TABLE = "CREATE TABLE T (ID NUMBER(9) NOT NULL, V VARCHAR2(40), CONSTRAINT T_PK PRIMARY KEY (ID))"
LOGGED = "ALTER TABLE {} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
WITH_ROWS = (TABLE, LOGGED.format("T"), *(f"INSERT INTO T VALUES ({number}, 'initial')" for number in range(3)))

# The processes of a test run share a broker.
_numbers = itertools.count(1 + 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")))


@dataclass(frozen=True, slots=True)
class Lab:
    """A schema with table T of a few rows, and a connector that captures the schema.

    :ivar schema: its name; also the password of its user.
    :ivar brokers: Kafka's address; `server` is the database.
    """

    server: Database
    brokers: str
    schema: str
    directory: Path

    @property
    def name(self) -> str:
        return self.schema.lower()

    def connect(self) -> oracledb.Connection:
        return self.server.connect(self.schema, self.schema)

    def execute(self, *statements: str) -> None:
        """Statements of one transaction."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def insert(self, first: int, count: int) -> None:
        """Rows of T in one transaction."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO T VALUES (:1, 'row')", [(number,) for number in range(first, first + count)])
            connection.commit()

    def purge_logs(self) -> None:
        """Delete all redo but the current log's, as RMAN does."""
        with self.server.connect(service=self.server.root_service) as admin, admin.cursor() as cursor:
            for _ in range(5):  # more than there are online groups
                cursor.execute("ALTER SYSTEM SWITCH LOGFILE")
            cursor.execute(
                "SELECT SEQUENCE# FROM V$ARCHIVED_LOG WHERE DELETED = 'NO' AND NEXT_CHANGE# <= (SELECT MIN(FIRST_CHANGE#) FROM V$LOG)"
            )
            for (sequence,) in cursor.fetchall():
                cursor.callproc("DBMS_SANDBOX.PURGE_LOG", [1, sequence])

    def config(self, file: str = "connector.yaml", **changes: object) -> Path:
        settings = properties(self.server, self.brokers, self.name, self.directory, schema_include_list=self.schema)
        return write(settings | {key.replace("_", "."): value for key, value in changes.items()}, self.directory / file)

    def run(self, config: Path | None = None, log: str = "run.log", **options: object) -> MinerCdc:
        return run(config or self.config(), self.directory / log, **options)  # type: ignore[arg-type]

    def run_to_end(self, config: Path | None = None, log: str = "run.log", **options: object) -> Ended:
        with self.run(config, log, **options) as connector:
            return connector.await_end()

    def minercdc(self, *arguments: str, log: str = "command.log") -> Ended:
        """Another command, to its end."""
        return run_to_end(arguments, self.directory / log)

    @property
    def topics(self) -> Topics:
        return Topics(self.brokers, self.name)

    def topic(self, table: str = "T") -> str:
        return f"{self.name}.{self.schema}.{table}"


def made_lab(server: Database, brokers: str, directory: Path, statements: Sequence[str]) -> Lab:
    """A new schema, filled by `statements`."""
    lab = Lab(server, brokers, f"E{next(_numbers)}", directory)
    server.create_user(lab.schema)
    with server.connect(service=server.root_service) as connection:
        connection.cursor().execute("ALTER SYSTEM SWITCH LOGFILE")  # the redo of earlier tests is not mined
    lab.execute(*statements)
    return lab
