"""The relay on the sandbox: clients fast and slow, chained relays, kills of each. A client's state is the table AS OF its window."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import MinerCdc, write
from tests.e2e.lab import Lab
from tests.e2e.test_replicators import settings
from tests.examples import every_case
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Feed
from tests.olr_server.server import OlrServer

from minercdc.errors import FellOffError
from minercdc.local.ports import free_port
from minercdc.relay.client.checkpoint import Checkpoint, checkpoint_of
from minercdc.relay.client.consumer import Change, MemoryCheckpoints, RelayClient

SEED = int(os.environ.get("MINERCDC_SEED", "20261123"))
KILLS = int(os.environ.get("MINERCDC_RELAY_KILLS", "4" if every_case() else "2"))  # of each process
CONSUMER = Path(__file__).with_name("relay_consumer.py")


def relay_config(lab: Lab, file: str = "relay.yaml", **changes: object) -> Path:
    """A configuration without any property of Kafka. Changes that are None leave a property out."""
    settings: dict[str, object] = {
        "name": file.removesuffix(".yaml"),
        "database.hostname": lab.server.host,
        "database.port": lab.server.port,
        "database.user": "C##MINERCDC",
        "database.password": "minercdc",
        "database.dbname": lab.server.root_service,
        "database.pdb.name": lab.server.service,
        "schema.include.list": lab.schema,
        "minercdc.state.dir": str(lab.directory / "state"),
        "minercdc.relay.port": 0,
        "poll.interval.ms": 50,
        "retriable.restart.connector.wait.ms": 500,
    }
    settings |= {key.replace("_", "."): value for key, value in changes.items()}
    return write({key: value for key, value in settings.items() if value is not None}, lab.directory / file)


@contextmanager
def relay(config: Path, log: str) -> Iterator[tuple[MinerCdc, str]]:
    """A running relay, and its URL."""
    with MinerCdc(["relay", str(config)], config.with_name(log)) as process:
        address = process.await_output(r"ready (\S+:\d+)\n")[1]
        yield process, f"http://{address}"


class Copy:
    """A consumer with the rows by key, as of each window."""

    def __init__(self) -> None:
        self.rows: dict[int | bytes, dict[str, Any]] = {}
        self.windows: list[int] = []
        self.grown = threading.Event()

    def window_start(self, scn: int) -> None:
        self.scn = scn

    def event(self, change: Change) -> None:
        assert change.scn == self.scn
        if change.deleted:
            self.rows.pop(change.key)
        else:
            self.rows[change.key] = dict(change.row)

    def window_end(self, checkpoint: Checkpoint) -> None:
        assert checkpoint.window_scn == self.scn
        self.windows.append(self.scn)
        self.grown.set()


@contextmanager
def reading(url: str, consumer: Copy) -> Iterator[RelayClient]:
    stop = threading.Event()
    client = RelayClient(url, consumer, MemoryCheckpoints())
    thread = threading.Thread(target=client.run, args=(stop,))
    thread.start()
    try:
        yield client
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.loads(answer.read())


def await_true(condition: Callable[[], bool], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


def as_of(lab: Lab, scn: int) -> dict[int, str | None]:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, v FROM t AS OF SCN {scn}")
        return dict(cursor.fetchall())


def work(lab: Lab, stop: threading.Event, pause: float = 0.02) -> None:
    """Transactions of several rows, key changes, deletes and rollbacks."""
    chance, fresh = random.Random(SEED), 10_000
    with lab.connect() as connection, connection.cursor() as cursor:
        while not stop.is_set():
            for _ in range(chance.choice((1, 2, 40))):
                fresh += 1
                cursor.execute("INSERT INTO T VALUES (:1, 'new')", [fresh])
                cursor.execute("UPDATE T SET V = :1 WHERE ID = :2", [f"v{fresh}", chance.randrange(10_000, fresh + 1)])
                if chance.random() < 0.2:
                    cursor.execute("DELETE FROM T WHERE ID = :1", [chance.randrange(10_000, fresh + 1)])
                if chance.random() < 0.1:
                    cursor.execute("UPDATE T SET ID = -ID WHERE ID = :1", [chance.randrange(10_000, fresh + 1)])
            connection.rollback() if chance.random() < 0.1 else connection.commit()
            time.sleep(pause * chance.random())


@contextmanager
def working(lab: Lab) -> Iterator[None]:
    stop = threading.Event()
    worker = threading.Thread(target=work, args=(lab, stop))
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def test_from_ready_on_no_change_is_missed(make_lab: Callable[..., Lab]) -> None:
    lab, copy = make_lab("", ["CREATE TABLE T (ID NUMBER PRIMARY KEY, V VARCHAR2(40))", ALL_LOGGED]), Copy()
    with relay(relay_config(lab), "relay.log") as (process, url):
        lab.execute("INSERT INTO T VALUES (1, 'a')", "INSERT INTO T VALUES (2, 'b')")
        assert get(f"{url}/sources") == [{"id": 101, "name": "minercdc.relay.T"}]
        (schema,) = get(f"{url}/register?sources=101")
        assert (schema["id"], schema["version"], json.loads(schema["schema"])["name"]) == (101, 1, "T_V1")
        with reading(url, copy):
            await_true(lambda: len(copy.rows) == 2)
            lab.execute("UPDATE T SET ID = 3 WHERE ID = 1", "DELETE FROM T WHERE ID = 2")
            await_true(lambda: len(copy.windows) == 2)
        assert copy.rows == {3: {"id": 3, "v": "a"}}
        info = get(f"{url}/bufferInfo/inbound/1/0")
        assert (info["minScn"], info["maxScn"]) == tuple(copy.windows)
        process.stop_in_order()
    text = (lab.directory / "state" / "relay-relay" / "max.scn").read_text()
    assert re.fullmatch(rf"{copy.windows[-1]}:\w{{3}} \w{{3}} \d\d \d\d:\d\d:\d\d UTC \d{{4}}", text)


def test_an_operator_ends_it_and_clients_go_on_afterwards(make_lab: Callable[..., Lab]) -> None:
    lab, copy = make_lab("", ["CREATE TABLE T (ID NUMBER PRIMARY KEY, V VARCHAR2(40))", ALL_LOGGED]), Copy()
    port = free_port()
    config = relay_config(lab, minercdc_relay_commands=True, minercdc_relay_buffer_type="mapped", minercdc_relay_port=port)
    with relay(config, "first.log") as (process, url), reading(url, copy):
        lab.execute("INSERT INTO T VALUES (1, 'a')")
        await_true(lambda: len(copy.windows) == 1)
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            assert f'minercdc_relay_newest_scn{{connector="relay"}} {copy.windows[0]:.1f}' in _plain(answer.read().decode())
        with urllib.request.urlopen(f"{url}/relayCommand/shutdownRelay") as answer:
            assert b"shutting down" in answer.read()
        assert process.await_end().status == 0
        with relay(config, "second.log") as (process, _):
            lab.execute("INSERT INTO T VALUES (2, 'b')")
            await_true(lambda: len(copy.windows) == 2)
            process.stop_in_order()
    assert set(copy.rows) == {1, 2}


def _plain(text: str) -> str:
    """Figures of Prometheus without powers of ten."""
    return re.sub(r"[\d.]+e\+\d+$", lambda found: f"{float(found[0]):.1f}", text, flags=re.MULTILINE)


ALL_LOGGED = "ALTER TABLE T ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


@pytest.mark.parametrize("buffer", ["memory", "mapped"])
def test_killed_anywhere_each_client_equals_the_table_as_of_its_window(buffer: str, make_lab: Callable[..., Lab]) -> None:
    """The relay, a relay chained to it, and a client of each, one of them slow, are killed in turns while the table changes."""
    lab, chance = make_lab(""), random.Random(SEED)
    size = 4 * 1024 * 1024 if buffer == "mapped" else 256 * 1024
    first = relay_config(lab, "first.yaml", minercdc_relay_buffer_type=buffer, minercdc_relay_buffer_bytes=size)
    killed = {"relay": 0, "client": 0}
    ports: dict[str, int] = {}
    with working(lab):
        with relay(first, "first0.log") as (process, url):
            ports["first"] = int(url.rpartition(":")[2])
            process.kill()
        first = relay_config(
            lab,
            "first.yaml",
            minercdc_relay_buffer_type=buffer,
            minercdc_relay_buffer_bytes=size,
            minercdc_relay_port=ports["first"],
        )
        first_url = f"http://127.0.0.1:{ports['first']}"
        second = relay_config(
            lab,
            "second.yaml",
            minercdc_relay_upstream=first_url,
            minercdc_relay_buffer_bytes=size,
            minercdc_relay_buffer_type=buffer,
        )
        for turn in range(KILLS):
            with relay(first, f"first-{turn}.log") as (one, _), relay(second, f"second-{turn}.log") as (two, second_url):
                clients = [
                    consume(lab, first_url, "fast", first, turn),
                    consume(lab, second_url, "chained", first, turn, "--size", "300"),
                    consume(lab, first_url, "slow", first, turn, "--slow", "0.05"),
                ]
                time.sleep(1.5 + chance.random())
                victims: list[MinerCdc | subprocess.Popen[bytes]] = [one, two, *clients]
                for victim in chance.sample(victims, 5):
                    victim.kill()
                    if isinstance(victim, subprocess.Popen):
                        victim.wait()
                    killed["relay" if isinstance(victim, MinerCdc) else "client"] += 1
                    time.sleep(0.1 * chance.random())
                for name in ("fast", "chained", "slow"):
                    compare(lab, name)
    lab.execute("INSERT INTO T VALUES (99, 'the end')")
    with relay(first, "first-last.log") as (one, _), relay(second, "second-last.log") as (two, second_url):
        clients = [consume(lab, url, name, first, 99) for url, name in ((first_url, "fast"), (second_url, "chained"))]
        try:
            for name in ("fast", "chained"):
                await_true(lambda name=name: 99 in compare(lab, name), 60)  # type: ignore[misc]
        finally:
            for client in clients:
                client.kill()
                client.wait()
        one.stop_in_order()
        two.stop_in_order()
    assert killed == {"relay": 2 * KILLS, "client": 3 * KILLS}


def consume(lab: Lab, url: str, name: str, config: Path, turn: int, *options: str) -> subprocess.Popen[bytes]:
    with (lab.directory / f"{name}-{turn}.out").open("wb") as output:
        arguments = [sys.executable, str(CONSUMER), url, str(lab.directory / f"{name}.db"), str(config), *options]
        return subprocess.Popen(arguments, stdout=output, stderr=output)


def compare(lab: Lab, name: str) -> dict[int, str | None]:
    """The rows of a client's copy, which have to be those of the table as of its checkpoint."""
    rows, scn = copied(lab, name)
    if scn:
        assert rows == as_of(lab, scn), name
    return rows


def copied(lab: Lab, name: str) -> tuple[dict[int, str | None], int]:
    """The rows of a client's copy, and the SCN of its checkpoint; 0 when it has none yet."""
    path = lab.directory / f"{name}.db"
    if not path.exists():
        return {}, 0
    database = sqlite3.connect(path)
    try:
        database.execute("BEGIN")
        found = database.execute("SELECT checkpoint FROM place").fetchone()
        rows = [json.loads(row) for (row,) in database.execute("SELECT row FROM copied")]
    except sqlite3.OperationalError:  # killed before it made its tables
        return {}, 0
    finally:
        database.close()
    if found is None:
        return {}, 0
    return {row["id"]: row["v"] for row in rows}, checkpoint_of(found[0]).window_scn


def test_a_mapped_buffer_serves_old_windows_after_a_kill(make_lab: Callable[..., Lab]) -> None:
    lab, before, after = make_lab(""), Copy(), Copy()
    config = relay_config(lab, minercdc_relay_buffer_type="mapped")
    with relay(config, "one.log") as (process, url):
        lab.insert(100, 50)
        lab.insert(200, 50)
        with reading(url, before):
            await_true(lambda: len(before.rows) == 100)
        process.kill()
    with relay(config, "two.log") as (_, url), reading(url, after):
        lab.insert(300, 1)
        await_true(lambda: 300 in after.rows)
    assert after.windows[: len(before.windows)] == before.windows
    assert len(after.rows) == 101


def test_a_client_that_fell_off_stops_or_bootstraps(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config = relay_config(lab, minercdc_relay_buffer_bytes=8_192)
    with relay(config, "relay.log") as (_, url):
        lab.insert(100, 10)
        await_true(lambda: get(f"{url}/bufferInfo/inbound/1/0")["minScn"] > 0)
        oldest = get(f"{url}/bufferInfo/inbound/1/0")["minScn"]
        for number in range(20):
            lab.insert(1000 + 20 * number, 20)
        await_true(lambda: get(f"{url}/bufferInfo/inbound/1/0")["minScn"] > oldest)
        client = RelayClient(url, Copy(), MemoryCheckpoints(Checkpoint(oldest - 1)))
        with pytest.raises(FellOffError, match="does not hold the client's place"):
            client.run(threading.Event())
        process = consume(lab, url, "fallen", config, 0)
        try:
            await_true(lambda: len(compare(lab, "fallen")) > 400)
        finally:
            process.kill()
            process.wait()


def test_a_client_that_does_not_read_hurts_no_other(make_lab: Callable[..., Lab]) -> None:
    """Its connection is stuck with an answer half read, while windows go round the buffer several times and others read all."""
    import socket

    lab, copy = make_lab(""), Copy()
    config = relay_config(lab, minercdc_relay_buffer_bytes=2 * 1024 * 1024, minercdc_relay_client_timeout_ms=2000)
    with relay(config, "relay.log") as (_, url), reading(url, copy):
        lab.insert(0 + 1000, 20_000)
        await_true(lambda: len(copy.rows) == 20_000)
        stuck = []
        for _ in range(5):
            one = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(b"GET /stream?size=2000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stuck.append(one)
        begun = time.monotonic()
        for number in range(5):
            lab.insert(100_000 + 10_000 * number, 10_000)
        await_true(lambda: len(copy.rows) == 70_000, 120)
        assert time.monotonic() - begun < 120
        await_true(lambda: get(f"{url}/health")["status"] == "UP")
        for one in stuck:
            one.close()


@pytest.mark.parametrize("adapter", ["olr", "fors_olr"])
def test_a_replicator_fills_a_relay(adapter: str, make_lab: Callable[..., Lab], tmp_path: Path) -> None:
    lab, copy = make_lab(""), Copy()
    feed = Feed(lab.server, [lab.schema], tmp_path / "feed")
    with (
        closing(OlrServer(feed) if adapter == "olr" else ForsServer(feed)) as server,
        relay(relay_config(lab, snapshot_locking_mode="none", **settings(server)), "relay.log") as (_, url),
        reading(url, copy),
    ):
        lab.execute("INSERT INTO T VALUES (7, 'a')", "INSERT INTO T VALUES (8, 'b')")
        lab.execute("UPDATE T SET V = 'c' WHERE ID = 8", "DELETE FROM T WHERE ID = 7")
        await_true(lambda: copy.rows == {8: {"id": 8, "v": "c"}})


def test_a_log_of_transactions_fills_a_relay(make_lab: Callable[..., Lab]) -> None:
    """A row that is deleted stays: nothing says so."""
    lab, copy = make_lab(""), Copy()
    with lab.server.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"GRANT CREATE SEQUENCE, CREATE VIEW, CREATE PROCEDURE, CREATE TRIGGER, CREATE JOB TO {lab.schema}")
    names = {"user": lab.schema, "password": lab.schema, "dbname": lab.server.service, "connection.adapter": "txlog"}
    changes: dict[str, object] = {f"database.{name}": value for name, value in names.items()}
    changes |= {"table.include.list": f"{lab.schema}[.]T", "snapshot.locking.mode": "none"}
    changes |= {"database.pdb.name": None, "schema.include.list": None}
    config = relay_config(lab, "relay.yaml", **{"debezium.sink.type": "relay", **changes})
    assert lab.minercdc("txlog", "install", str(config)).status == 0
    with relay(config, "relay.log") as (_, url), reading(url, copy):
        lab.execute("INSERT INTO T VALUES (7, 'a')", "INSERT INTO T VALUES (8, 'b')")
        await_true(lambda: len(copy.rows) == 2)
        lab.execute("UPDATE T SET V = 'c' WHERE ID = 8", "DELETE FROM T WHERE ID = 7")
        await_true(lambda: [(row["id"], row["v"]) for row in copy.rows.values()] == [(7, "a"), (8, "c")])


@pytest.mark.parametrize("adapter", ["flashback", "logminer_unbuffered"])
def test_other_adapters_fill_a_relay(adapter: str, make_lab: Callable[..., Lab]) -> None:
    lab, copy = make_lab(""), Copy()
    config = relay_config(lab, database_connection_adapter=adapter, snapshot_locking_mode="none")
    with relay(config, "relay.log") as (process, url), reading(url, copy):
        lab.execute("INSERT INTO T VALUES (7, 'a')", "INSERT INTO T VALUES (8, 'b')")
        lab.execute("UPDATE T SET V = 'c' WHERE ID = 8", "DELETE FROM T WHERE ID = 7")
        await_true(lambda: copy.rows == {8: {"id": 8, "v": "c"}})
        process.stop_in_order()
    assert len(copy.windows) == 2


def test_nothing_gets_past_a_truncate_without_a_bootstrap(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config = relay_config(lab)
    with relay(config, "relay.log") as (process, url):
        lab.insert(100, 10)
        await_true(lambda: get(f"{url}/bufferInfo/inbound/1/0")["minScn"] > 0)
        consumer = consume(lab, url, "copy", config, 0)
        try:
            await_true(lambda: len(compare(lab, "copy")) == 13)
            lab.execute("TRUNCATE TABLE T")
            lab.insert(500, 3)
            await_true(lambda: sorted(copied(lab, "copy")[0]) == [500, 501, 502])
            compare(lab, "copy")
        finally:
            consumer.kill()
            consumer.wait()
        process.stop_in_order()


def test_schemas_are_generated(make_lab: Callable[..., Lab]) -> None:
    """The command, with the table of Databus's documentation; and another version after DDL."""
    person = (
        "CREATE TABLE SY$PERSON (TXN NUMBER, KEY NUMBER NOT NULL, FIRST_NAME VARCHAR2(120), LAST_NAME VARCHAR2(120),"
        " BIRTH_DATE DATE, DELETED VARCHAR2(5), CONSTRAINT PERSON_PK PRIMARY KEY (KEY))"
    )
    lab = make_lab("", [person, "ALTER TABLE SY$PERSON ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"])
    name = "com.linkedin.events.example.person"
    config = relay_config(lab, minercdc_relay_schemas_namespace=name, minercdc_relay_schemas_path=lab.directory / "schemas")
    ended = lab.minercdc("relay", "schemas", str(config))
    assert ended.status == 0, ended.errors
    assert "Processing column" in ended.output
    made = json.loads((lab.directory / "schemas" / f"{name}.Person.1.avsc").read_text())
    assert re.fullmatch(r"Auto-generated Avro schema for sy\$person\. Generated at .*", made.pop("doc"))
    assert made == {
        "name": "Person_V1",
        "type": "record",
        "meta": "dbFieldName=sy$person;",
        "namespace": name,
        "fields": [
            {"name": field, "type": [kind, "null"], "meta": f"dbFieldName={column};dbFieldPosition={i};"}
            for i, (field, kind, column) in enumerate(
                (
                    ("txn", "long", "TXN"),
                    ("key", "long", "KEY"),
                    ("firstName", "string", "FIRST_NAME"),
                    ("lastName", "string", "LAST_NAME"),
                    ("birthDate", "long", "BIRTH_DATE"),
                    ("deleted", "string", "DELETED"),
                )
            )
        ],
    }
    assert lab.minercdc("relay", "schemas", str(config)).status == 0
    assert not (lab.directory / "schemas" / f"{name}.Person.2.avsc").exists()
    copy = Copy()
    with relay(config, "relay.log") as (_, url), reading(url, copy):
        lab.execute("INSERT INTO SY$PERSON (KEY, FIRST_NAME) VALUES (1, 'Ann')")
        await_true(lambda: 1 in copy.rows)
        lab.execute("ALTER TABLE SY$PERSON ADD (NICK VARCHAR2(10))")
        lab.execute("INSERT INTO SY$PERSON (KEY, FIRST_NAME, NICK) VALUES (2, 'Bob', 'b')")
        await_true(lambda: 2 in copy.rows)
        assert "nick" not in copy.rows[1]
        assert copy.rows[2]["nick"] == "b"
    assert json.loads((lab.directory / "schemas" / f"{name}.Person.2.avsc").read_text())["name"] == "Person_V2"


def test_what_is_wrong_is_said(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config = relay_config(lab, minercdc_relay_sources="x", minercdc_relay_upstream="nowhere")
    ended = lab.minercdc("relay", str(config))
    assert ended.status == 2
    assert "minercdc.relay.sources: 'x' is not of the form" in ended.errors
    assert "minercdc.relay.upstream: 'nowhere' is not of the form" in ended.errors
    good = relay_config(lab)
    with relay(good, "relay.log") as (process, url):
        again = lab.minercdc("relay", str(good))
        assert (again.status, "belongs to another process" in again.errors) == (4, True)
        taken = relay_config(lab, "other.yaml", minercdc_relay_port=int(url.rpartition(":")[2]))
        ended = lab.minercdc("relay", str(taken))
        assert (ended.status, "cannot be listened on" in ended.errors) == (1, True)
        process.stop_in_order()
