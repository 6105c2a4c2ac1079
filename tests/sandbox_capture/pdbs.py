"""The sandbox with two pluggable databases, and connectors over both."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.files import read_file
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import MinerCdcError
from minercdc.pipeline.connector import Connector

ONE, OTHER = "ORCLPDB1", "SALES"
_EXAMPLE = read_file(Path(__file__).parents[2] / "connectors" / "several-pdbs.yaml").values
_PATIENCE_SECONDS = 120.0


@contextmanager
def two_pdbs(sandbox: SandboxProcess, directory: Path) -> Iterator[Pdbs]:
    """The sandbox, just started, with a second pluggable database while the context lasts."""
    made = Pdbs(sandbox, directory)
    yield made
    for session in made.sessions.values():
        with suppress(oracledb.Error):  # its database may be closed
            session.close()


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
        given = self._properties(**changes)
        del given["minercdc.kafka.bootstrap.servers"]
        lines = {"debezium.sink.type": "json", "minercdc.sink.path": str(self.directory / "changes.jsonl")}
        return parse_properties(lines | given)

    def on_kafka(self, brokers: str, **changes: str) -> Path:
        """A file with the same, but Kafka as its sink, for commands."""
        given = {**self._properties(**changes), "minercdc.kafka.bootstrap.servers": brokers}
        file = self.directory / "connector.json"
        file.write_text(json.dumps(given))
        return file

    def _properties(self, **changes: str) -> dict[str, str]:
        given = {
            **_EXAMPLE,
            "database.hostname": self.sandbox.host,
            "database.port": str(self.sandbox.port),
            "database.password": "minercdc",
            "minercdc.state.dir": str(self.directory / "state"),
            "poll.interval.ms": "50",
            "minercdc.log.mining.pass.interval.ms": "0",
            "include.schema.changes": "false",
            "tombstones.on.delete": "false",
        }
        del given["signal.enabled.channels"]
        return given | {name.replace("_", "."): value for name, value in changes.items()}

    def records(self) -> list[dict[str, Any]]:
        """What was committed so far."""
        path = self.directory / "changes.jsonl"
        offset = path.with_name(f"{path.name}.offset")
        length = json.loads(offset.read_bytes())["length"] if offset.exists() else 0
        return [json.loads(line) for line in path.read_bytes()[:length].splitlines()] if length else []


def with_items(pdbs: Pdbs) -> None:
    """Rows of ITEM in both, which has another column in OTHER; and a table NOTE in OTHER alone."""
    note = (
        "create table note (code varchar2(5) primary key)",
        "alter table note add supplemental log data (all) columns",
    )
    pdbs.run(OTHER, *note, "insert into note values ('a')", "alter table item add (qty number(5))")
    pdbs.run(ONE, "insert into item values (1, 'one')", "insert into item values (2, 'two')", "commit")
    pdbs.run(OTHER, "insert into item values (1, 'other', 7)", "insert into item values (3, 'three', 8)", "commit")


def change_items(pdbs: Pdbs) -> None:
    """After `with_items`: changes and DDL in either, which would change the rows of the other one if they were mixed. The last row is
    ITEM 9 of OTHER; then comes NOTE b."""
    pdbs.run(OTHER, "truncate table item", "insert into item values (1, 'after', 9)", "commit")
    pdbs.run(ONE, "update item set name = 'changed' where id = 1", "commit")
    pdbs.run(ONE, "alter table item rename column name to title", "alter table item add (price number(8) default 15)")
    pdbs.run(ONE, "insert into item values (4, 'priced', 225)", "delete from item where id = 2", "commit")
    pdbs.run(OTHER, "insert into item values (9, 'last', null)", "insert into note values ('b')", "commit")


def current_scn(pdbs: Pdbs) -> int:
    """An SCN that everything which is committed by now is at or below."""
    with pdbs.sandbox.connect(service=pdbs.sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("select current_scn from v$database")
        (scn,) = cursor.fetchone()
        return int(scn)


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
        time.sleep(0.02)
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
        time.sleep(0.02)
    return found
