"""The sandbox with two pluggable databases, and connectors over both."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.files import read_file
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.connector import Connector
from minercdc.errors import MinerCdcError

ONE, OTHER = "ORCLPDB1", "SALES"
_EXAMPLE = read_file(Path(__file__).parents[2] / "connectors" / "several-pdbs.yaml").values
_PATIENCE_SECONDS = 60.0


class Pdbs:
    """The sandbox with a second pluggable database, and schema SHOP with the same tables in both."""

    def __init__(self, sandbox: SandboxProcess, directory: Path) -> None:
        self.sandbox, self.directory = sandbox, directory
        with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
            cursor.execute("alter database add supplemental log data")
            cursor.execute(f"create pluggable database {OTHER} admin user boss identified by boss")
            cursor.execute(f"alter pluggable database {OTHER} open")
        self.sessions = {pdb: self._made(pdb) for pdb in (ONE, OTHER)}

    def _made(self, pdb: str) -> oracledb.Connection:
        with self.sandbox.connect(service=pdb) as admin, admin.cursor() as cursor:
            cursor.execute("create user shop identified by shop")
            cursor.execute("grant connect, resource, unlimited tablespace to shop")
        shop = self.sandbox.connect("shop", "shop", pdb)
        with shop.cursor() as cursor:
            cursor.execute("create table item (id number(9) primary key, name varchar2(40))")
            cursor.execute("alter table item add supplemental log data (all) columns")
        return shop

    def run(self, pdb: str, *statements: str) -> None:
        """Statements of the application in a pluggable database."""
        with self.sessions[pdb].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def config(self, **changes: str) -> ConnectorConfig:
        """connectors/several-pdbs.yaml, with lines of JSON as its sink; `a_b` is the property `a.b`."""
        given = {
            **_EXAMPLE,
            "database.hostname": self.sandbox.host,
            "database.port": str(self.sandbox.port),
            "database.password": "minercdc",
            "minercdc.state.dir": str(self.directory / "state"),
            "debezium.sink.type": "json",
            "minercdc.sink.path": str(self.directory / "changes.jsonl"),
            "poll.interval.ms": "50",
            "minercdc.log.mining.pass.interval.ms": "0",
            "include.schema.changes": "false",
            "tombstones.on.delete": "false",
        }
        del given["minercdc.kafka.bootstrap.servers"], given["signal.enabled.channels"]
        return parse_properties(given | {name.replace("_", "."): value for name, value in changes.items()})

    def records(self) -> list[dict[str, Any]]:
        """What was committed so far."""
        path = self.directory / "changes.jsonl"
        offset = path.with_name(f"{path.name}.offset")
        length = json.loads(offset.read_bytes())["length"] if offset.exists() else 0
        return [json.loads(line) for line in path.read_bytes()[:length].splitlines()] if length else []


def changes(records: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, Any]]:
    """(Topic, `source.db`, operation, the row after or before) of each record of a table."""
    return [
        (record["topic"], value["source"]["db"], value["op"], tuple((value["after"] or value["before"]).values()))
        for record in records
        if (value := record["value"].get("payload", record["value"])).get("op")
    ]


@contextmanager
def running(connector: Connector) -> Iterator[list[BaseException]]:
    """The connector runs while the context lasts; its error is in the list."""
    stop, errors = threading.Event(), list[BaseException]()

    def capture() -> None:
        try:
            connector.run(stop)
        except MinerCdcError as error:
            errors.append(error)

    thread = threading.Thread(target=capture)
    thread.start()
    try:
        yield errors
    finally:
        stop.set()
        thread.join(_PATIENCE_SECONDS)
        assert not thread.is_alive()


def wait_for(pdbs: Pdbs, count: int, errors: list[BaseException]) -> list[tuple[str, str, str, Any]]:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while len(found := changes(pdbs.records())) < count:
        assert not errors, errors
        assert time.monotonic() < deadline, f"not in time: {found}"
        time.sleep(0.05)
    return found


def answers(pdbs: Pdbs, kind: str) -> list[dict[str, Any]]:
    """What the notifications of signals say, oldest first."""
    found = [record["value"].get("payload", record["value"]) for record in pdbs.records() if record["topic"] == "notices"]
    return [one for one in found if one["type"] == kind]


def until(holds: Callable[[], Any], errors: list[BaseException]) -> Any:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (found := holds()):
        assert not errors, errors
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
    return found
