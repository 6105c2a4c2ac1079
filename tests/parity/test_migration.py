"""Debezium runs under writes and is stopped; minercdc imports its offset and goes on: the topics hold every change once.

The steps are those of docs/migrate-from-debezium.md, literally.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import oracledb
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.e2e.connector import MinerCdc, run_to_end
from tests.e2e.topics import Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.parity.debezium import Debezium

from minercdc.errors import LocalServiceError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.offsets.debezium.offset_file import read_offsets

PAGE = Path(__file__).parents[2] / "docs" / "migrate-from-debezium.md"
PASSWORD = {"MINERCDC_PASSWORD": "minercdc"}
ORDERS, NOISE = "ORDERS", "NOISE"


@dataclass
class Writer:
    """Writes without end, in two sessions: inserts, updates, key changes, deletes, rollbacks, transactions of many rows.

    :ivar expected: (op, id, v) of every event of ORDERS that was committed; `v` is unique for each write.
    :ivar commits: how many transactions were committed.
    """

    source: SandboxProcess
    expected: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)
    commits: int = 0
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._number = 100
        self._rows: dict[int, int] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert self.failure is None, self.failure

    def await_commits(self, count: int) -> None:
        target, waited = self.commits + count, threading.Event()
        for _ in range(600):
            assert self.failure is None, self.failure
            if self.commits >= target:
                return
            waited.wait(0.1)
        raise AssertionError(f"{self.commits} of {target} transactions")

    def _run(self) -> None:
        try:
            with self.source.connect("shop", "shop") as one, self.source.connect("shop", "shop") as other:
                while not self._stop.wait(0.02):
                    self._transaction(one, other)
        except BaseException as error:
            self.failure = error

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _transaction(self, one: oracledb.Connection, other: oracledb.Connection) -> None:
        done: list[tuple[str, int, int | None]] = []
        new = [self._next() for _ in range(1 + self._number % 7)]
        with one.cursor() as cursor, other.cursor() as second:
            for number in new:
                cursor.execute("insert into orders (id, v) values (:n, :n)", {"n": number})
                cursor.execute("insert into noise values (:1)", [number])
                done.append(("c", number, number))
            rolled_back = self._next()
            second.execute("insert into orders (id, v) values (:n, :n)", {"n": rolled_back})
            if len(self._rows) > 3:
                updated, moved, deleted = sorted(self._rows)[:3]
                value, key = self._next(), self._next()
                cursor.execute("update orders set v = :1 where id = :2", [value, updated])
                self._rows[updated] = value
                done.append(("u", updated, value))
                cursor.execute("update orders set id = :1 where id = :2", [key, moved])
                self._rows[key] = self._rows.pop(moved)
                done += [("d", moved, None), ("c", key, self._rows[key])]
                cursor.execute("delete from orders where id = :1", [deleted])
                del self._rows[deleted]
                done.append(("d", deleted, None))
        one.commit()
        other.rollback()
        self._rows |= {number: number for number in new}
        self.expected.update(done)
        self.commits += 1


def page() -> tuple[dict[str, object], list[list[str]]]:
    """The registration and the commands of the page, in order."""
    text = PAGE.read_text()
    (registration,) = re.findall(r"(?ms)^```json\n(.*?)^```", text)
    commands = [shlex.split(line) for block in re.findall(r"(?ms)^```sh\n(.*?)^```", text) for line in block.splitlines()]
    return json.loads(registration), commands


@pytest.fixture
def source() -> Iterator[SandboxProcess]:
    server = SandboxProcess()
    try:
        yield prepared(server)
    finally:
        server.stop()


def prepared(server: SandboxProcess) -> SandboxProcess:
    with server.connect(service=server.root_service) as admin:
        admin.cursor().execute("alter database add supplemental log data")
    server.create_user("shop")
    with server.connect("shop", "shop") as session, session.cursor() as cursor:
        for table, columns in ((ORDERS, "id number(10) primary key, v number(10)"), (NOISE, "n number(10)")):
            cursor.execute(f"create table {table} ({columns})")
            cursor.execute(f"alter table {table} add supplemental log data (all) columns")
        for number in (1, 2):
            cursor.execute("insert into orders values (:n, :n)", {"n": number})
        session.commit()
    return server


def to_kafka(debezium: Debezium, brokers: str, directory: Path, prefix: str) -> None:
    """What Kafka Connect would have written: records, offsets, schema history."""
    names = {record.topic for record in debezium.records} | {"connect-offsets", f"schema-changes.{prefix}"}
    admin = AdminClient({"bootstrap.servers": brokers})
    wanted = [
        NewTopic(name, 3 if name == "connect-offsets" else 1, 1) for name in names if name not in admin.list_topics().topics
    ]
    for created in admin.create_topics(wanted).values() if wanted else ():
        created.result()
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random"})
    for record in debezium.records:
        key, value = (None if text is None else text.encode() for text in (record.key, record.value))
        producer.produce(record.topic, value, key)
    for key, value in read_offsets((directory / "offsets.dat").read_bytes()).items():
        named = json.dumps(["shop", json.loads(key)[1]]).encode()
        older = json.dumps({"scn": "1", "snapshot": "INITIAL", "snapshot_completed": False}).encode()
        producer.produce("connect-offsets", older, named)
        producer.produce("connect-offsets", value, named)
        producer.produce("connect-offsets", b'{"pos":4}', b'["mysql",{"server":"other"}]')
    for line in (directory / "history.dat").read_bytes().splitlines():
        producer.produce(f"schema-changes.{prefix}", line, partition=0)
    assert producer.flush(30) == 0


@pytest.mark.parametrize(
    ("adapter", "kept", "streamed"),
    [("LogMiner", "topic", True), ("LogMiner_Unbuffered", "file", True), ("LogMiner", "file", False)],
    ids=["topic", "file, unbuffered", "after the snapshot"],
)
def test_every_change_comes_once(
    source: SandboxProcess, broker: KafkaBroker, tmp_path: Path, prefix: str, adapter: str, kept: str, streamed: bool
) -> None:
    registration, commands = page()
    settings = {
        **registration["config"],  # type: ignore[dict-item]
        "topic.prefix": prefix,
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.connection.adapter": adapter,
        "schema.history.internal.kafka.bootstrap.servers": broker.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"schema-changes.{prefix}",
        "table.exclude.list": f"SHOP.{NOISE}",
        "minercdc.state.dir": str(tmp_path / "state"),
    }
    own = {
        name: value
        for name, value in settings.items()
        if not name.startswith(("schema.history", "key.", "value.", "minercdc"))
    }
    try:
        debezium = Debezium({**own, "database.password": "minercdc"}, tmp_path)
    except LocalServiceError as error:
        pytest.skip(f"Debezium cannot be had: {error}")
    writer = Writer(source)
    with source.connect("shop", "shop") as long, long.cursor() as cursor:
        debezium.run()
        debezium.await_records(lambda records: len([r for r in records if r.topic.endswith(f".{ORDERS}")]) >= 2)
        if streamed:
            writer.start()
            debezium.await_records(lambda records: len(records) > 40)
        cursor.execute("insert into orders values (10, 10)")
        cursor.execute("insert into orders values (11, 11)")
        if streamed:
            writer.await_commits(10)
            least = len(debezium.records) + 20
            debezium.await_records(lambda records: len(records) > least)
        debezium.stop()
        debezium.close()
        to_kafka(debezium, broker.bootstrap_servers, tmp_path, prefix)
        if not streamed:
            writer.start()
        writer.await_commits(10)
        long.commit()
    writer.expected.update({("c", 10, 10): 1, ("c", 11, 11): 1})
    with source.connect("shop", "shop") as session:
        writer.stop()
        session.cursor().execute("alter table orders add (w number(5))")
    writer = _again(writer)

    offsets = str(tmp_path / "offsets.dat") if kept == "file" else "connect-offsets"
    if kept == "file":
        settings |= {
            "minercdc.kafka.bootstrap.servers": broker.bootstrap_servers,
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(tmp_path / "history.dat"),
        }
    config = tmp_path / "shop.json"
    config.write_text(json.dumps({"name": "shop", "config": settings}))
    named = {"shop.json": str(config), "connect-offsets": offsets}
    (show, check, look, store, run, verify) = ([named.get(word, word) for word in line[1:]] for line in commands)
    for number, line in enumerate((show, check, look)):
        ended = run_to_end(line, tmp_path / f"{number}.log", environment=PASSWORD)
        assert ended.status == 0, ended.errors
    assert "Nothing is stored yet" in ended.output
    assert "1 of them from Debezium's schema history" in ended.output
    assert f"{prefix}-offsets" not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics().topics
    ended = run_to_end(store, tmp_path / "store.log", environment=PASSWORD)
    assert ended.status == 0, ended.errors
    again = run_to_end(store, tmp_path / "again.log", environment=PASSWORD)
    assert (again.status, "has an offset already" in again.errors) == (2, True)

    topics = Topics(broker.bootstrap_servers, prefix)
    with MinerCdc(run, tmp_path / "run.log", environment=PASSWORD) as connector:
        writer.start()
        connector.await_log("streaming", timeout=60)
        writer.await_commits(20)
        writer.stop()
        with source.connect("shop", "shop") as session:
            session.cursor().execute("insert into orders (id, v) values (999999, 0)")
            session.commit()
        writer.expected["c", 999999, 0] += 1
        topics.await_records(
            f"{prefix}.SHOP.{ORDERS}",
            lambda found: any(r.value and (r.value["payload"]["after"] or {}).get("ID") == 999999 for r in found),
            timeout=90,
        )
        connector.stop_in_order()
    found = Counter(_events(topics, prefix))
    found -= Counter({("r", 1, 1): 1, ("r", 2, 2): 1})
    assert found - writer.expected == Counter(), "repeated"
    assert writer.expected - found == Counter(), "lost"
    if kept == "file":
        assert (tmp_path / "history.dat.debezium").exists()
    ended = run_to_end(verify, tmp_path / "verify.log", environment=PASSWORD)
    assert ended.status == 0, ended.output + ended.errors


def _again(writer: Writer) -> Writer:
    """One that goes on where this one stopped."""
    more = Writer(writer.source, writer.expected)
    more.__dict__ |= {name: writer.__dict__[name] for name in ("_number", "_rows")}
    return more


def _events(topics: Topics, prefix: str) -> Iterator[tuple[str, int, int | None]]:
    """(op, id, v) of each record that is no tombstone."""
    for record in topics.records(f"{prefix}.SHOP.{ORDERS}"):
        if record.value is not None:
            payload = record.value["payload"]
            row = payload["after"] or payload["before"]
            yield payload["op"], row["ID"], None if payload["op"] == "d" else row["V"]
