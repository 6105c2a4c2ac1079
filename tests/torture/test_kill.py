"""kill -9 of the connector at random moments, the initial snapshot included, while sessions work on the tables.

`MINERCDC_KILLS` says how often (10; `make torture` 50), `MINERCDC_SEED` repeats a run's choices.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.kafka.consume import read_committed
from tests.torture.chain import Chain

from minercdc.local.demo.processes import Command
from minercdc.local.kafka_broker import KafkaBroker

KILLS = int(os.environ.get("MINERCDC_KILLS", "10"))
SEED = int(os.environ.get("MINERCDC_SEED", "20261121"))
ROWS = 24_000
TABLES = ("A", "B")

pytestmark = pytest.mark.timeout(120 + 20 * KILLS)

SCHEMA = """
CREATE TABLE {t} (id NUMBER(10) NOT NULL, ver NUMBER(9) NOT NULL, tag VARCHAR2(60), amount NUMBER(14,2), CONSTRAINT {t}_pk PRIMARY KEY (id))
/ALTER TABLE {t} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS
"""


@pytest.fixture
def torture_sandbox() -> Iterator[SandboxProcess]:
    server = SandboxProcess()
    try:
        with server.connect(service=server.root_service) as connection, connection.cursor() as cursor:
            cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
        server.create_user("tt")
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("GRANT ALTER SYSTEM TO tt")
        with server.connect("tt", "tt") as connection, connection.cursor() as cursor:
            for table in TABLES:
                for statement in SCHEMA.format(t=table).strip().split("\n/"):
                    cursor.execute(statement)
                rows = [(i, 1, f"initial {i}", i / 4) for i in range(1, ROWS + 1)]
                cursor.executemany(f"INSERT INTO {table} (id, ver, tag, amount) VALUES (:1, :2, :3, :4)", rows)
            connection.commit()
        yield server
    finally:
        server.stop()


def session(server: SandboxProcess, number: int, stop: threading.Event, pause: float = 0.002) -> int:
    """Random transactions over few keys, so that sessions meet; how many were committed.

    :param pause: seconds after each, on average.
    """
    chance = random.Random(SEED + number)
    commits = 0
    with server.connect("tt", "tt") as connection, connection.cursor() as cursor:
        fresh = number * 1_000_000
        while not stop.is_set():
            for step in range(chance.randrange(1, 8)):
                if chance.random() < 0.2:
                    cursor.execute("SAVEPOINT s")
                fresh += 1
                change(cursor, chance, fresh, f"{number}.{commits}.{step}")
                if chance.random() < 0.15:
                    cursor.execute("SAVEPOINT s2")
                    change(cursor, chance, fresh + 500_000, "never seen")
                    cursor.execute("ROLLBACK TO SAVEPOINT s2")
            if chance.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
                commits += 1
            if chance.random() < 0.01:
                cursor.execute("ALTER SYSTEM SWITCH LOGFILE")
            time.sleep(2 * pause * chance.random())
    return commits


def change(cursor: oracledb.Cursor, chance: random.Random, fresh: int, tag: str) -> None:
    # Only one session works on a table's row at a time in ascending order of table and id: they wait, never deadlock.
    table, row = chance.choice(TABLES), chance.randrange(1, 60)
    kind = chance.random()
    try:
        if kind < 0.35:
            cursor.execute(f"INSERT INTO {table} (id, ver, tag) VALUES (:1, 1, :2)", [fresh, tag])
        elif kind < 0.75:
            cursor.execute(f"UPDATE {table} SET ver = ver + 1, tag = :1, amount = NULL WHERE id = :2", [tag, row])
        elif kind < 0.85:
            cursor.execute(f"UPDATE {table} SET id = :1, ver = ver + 1 WHERE id = :2", [fresh, row + 1000])
        elif kind < 0.95:
            cursor.execute(f"DELETE FROM {table} WHERE id = :1", [chance.randrange(60, ROWS)])
        else:
            cursor.execute(f"UPDATE {table} SET tag = :1 WHERE id BETWEEN :2 AND :3", [tag, row + 2000, row + 2020])
    except oracledb.DatabaseError as error:
        if error.args[0].code not in (60, 1):  # a deadlock's victim, a key that is there: the statement alone is undone
            raise


def test_killed_anywhere_every_change_arrives_exactly_once(
    torture_sandbox: SandboxProcess, broker: KafkaBroker, prefix: str, tmp_path: Path
) -> None:
    server, chance = torture_sandbox, random.Random(SEED)
    config = write_config(server, broker, prefix, tmp_path, {"minercdc.log.mining.pass.interval.ms": 100})
    stop = threading.Event()
    phases: dict[str, int] = {}
    with ThreadPoolExecutor(3) as pool:
        sessions = [pool.submit(session, server, number, stop) for number in (1, 2, 3)]
        try:
            for kill in range(KILLS):
                connector = Command(["run", "--log-interval", "0.1", str(config)], tmp_path / f"run{kill}.log")
                if kill < KILLS // 3:  # within the snapshot, a few before it
                    if kill % 4:
                        await_phase(connector, "snapshot", "streaming")
                        time.sleep(chance.random() * 0.6)
                    else:
                        time.sleep(chance.random() * 1.5)
                else:
                    await_phase(connector, "streaming")
                    time.sleep(chance.random() * 2)
                connector.check()
                connector.kill()
                phase = phase_of(connector)
                phases[phase] = phases.get(phase, 0) + 1
        finally:
            stop.set()
        assert all(done.result() > 0 for done in sessions)
    write_end(server)
    last = Command(["run", "--log-interval", "0.1", str(config)], tmp_path / "run.log")
    try:
        await_end(broker, prefix, last)
    finally:
        last.stop()
    print(f"killed while {phases}")
    for table in TABLES:
        judge(server, broker, prefix, table)


def write_config(
    server: SandboxProcess, broker: KafkaBroker, prefix: str, directory: Path, more: Mapping[str, object]
) -> Path:
    config = directory / "torture.yaml"
    properties = {
        "name": prefix,
        "topic.prefix": prefix,
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "C##MINERCDC",
        "database.password": "minercdc",
        "database.dbname": "ORCLCDB",
        "database.pdb.name": "ORCLPDB1",
        "schema.include.list": "TT",
        "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
        "minercdc.kafka.transaction.max.records": 500,
        "minercdc.kafka.transaction.interval.ms": 50,
        "minercdc.state.dir": str(directory / "state"),
        "minercdc.log.mining.buffer.memory.max.bytes": 65536,
        "topic.creation.default.partitions": 2,
        "poll.interval.ms": 100,
        "snapshot.fetch.size": 500,
        "retriable.restart.connector.wait.ms": 1000,
        **more,
    }
    config.write_text("".join(f"{name}: '{value}'\n" for name, value in properties.items()))
    return config


def phase_of(connector: Command) -> str:
    """What this run of the connector was doing last."""
    return connector.last_match(r"INFO +(starting|snapshot|streaming|reconnecting):") or "starting"


def await_phase(connector: Command, *phases: str) -> None:
    deadline = time.monotonic() + 60
    while phase_of(connector) not in phases:
        connector.check()
        assert time.monotonic() < deadline, f"not {phases} in time; see {connector.log.read_text()[-2000:]}"
        time.sleep(0.02)


def write_end(server: SandboxProcess) -> None:
    """The last row of each table."""
    with server.connect("tt", "tt") as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"INSERT INTO {table} (id, ver, tag) VALUES (99999999, 1, 'the end')")
        connection.commit()


def await_end(broker: KafkaBroker, prefix: str, connector: Command) -> None:
    """Until the last row of each table is in its topic."""
    deadline = time.monotonic() + 120
    for table in TABLES:
        while not any(
            b"the end" in (m.value() or b"") for m in read_committed(broker.bootstrap_servers, f"{prefix}.TT.{table}")
        ):
            connector.check()
            assert time.monotonic() < deadline, f"the end of {table} did not arrive; see {connector.log.read_text()[-2000:]}"
            time.sleep(0.5)  # a look reads the whole topic


def judge(server: SandboxProcess, broker: KafkaBroker, prefix: str, table: str) -> None:
    chain = Chain().take(read_committed(broker.bootstrap_servers, f"{prefix}.TT.{table}"))
    assert chain.breaks == []
    with server.connect("tt", "tt") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, ver, tag FROM {table}")
        rows = {
            json.dumps({"ID": row[0]}, separators=(",", ":")): {"ID": row[0], "VER": row[1], "TAG": row[2]} for row in cursor
        }
    left = {key: {name: image[name] for name in ("ID", "VER", "TAG")} for key, image in chain.rows.items()}
    assert Chain(rows=left).differs_from(rows) == []
    assert not any(image["TAG"] == "never seen" for image in left.values())
    assert {"c", "u", "d", "r"} <= chain.operations.keys(), chain.operations
