"""Every file in connectors/ and signals/, and every example of docs/signals.md and docs/snapshots.md, is run as it is; only where
the servers are comes from the environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.e2e.connector import MinerCdc
from tests.e2e.sinks import await_written
from tests.e2e.topics import Read, Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Feed
from tests.olr_server.server import OlrServer

from minercdc.config.load import load_config
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port
from minercdc.stream.signal import ACTIONS

ROOT = Path(__file__).parents[2]
RELAY = ROOT / "connectors" / "relay.yaml"
SEVERAL = ROOT / "connectors" / "several-pdbs.yaml"  # tests/sandbox_capture/test_several_pdbs.py: it takes a second database
TXLOG = ROOT / "connectors" / "txlog.yaml"  # tests/e2e/test_txlog.py: it has to be installed
CONNECTORS = sorted(
    path
    for path in (ROOT / "connectors").iterdir()
    if path.suffix in (".yaml", ".json") and path not in (RELAY, SEVERAL, TXLOG)
)
TYPES = ("incremental", "some", "pause", "resume", "stop", "blocking", "log", "schema", "suspended", "list", "drop")
# The others are refused when there is nothing to pause, resume, stop, drop or read again, which depends on the moment.
ALWAYS_DONE = {"blocking", "log", "schema", "list"}
# Signals that are sent together: one stops the snapshots of those before it, if they are not complete.
DONE_OR_STOPPED = {"incremental", "some"}


@pytest.fixture(scope="module")
def shop() -> Iterator[SandboxProcess]:
    running = SandboxProcess([ROOT / "signals" / "shop.sql"])
    with running.connect(service=running.root_service) as admin:
        admin.cursor().callproc("dbms_sandbox.open_standby")  # for physical-standby.yaml
        admin.cursor().callproc("dbms_sandbox.open_downstream")  # for downstream.yaml
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def replicator(shop: SandboxProcess, tmp_path: Path) -> Iterator[OlrServer]:
    """Reads nothing before a connector connects."""
    running = OlrServer(Feed(shop, ["shop"], tmp_path / "feed"))
    yield running
    running.close()


@pytest.fixture
def fors(shop: SandboxProcess, tmp_path: Path) -> Iterator[ForsServer]:
    """Reads nothing before a connector connects."""
    running = ForsServer(Feed(shop, ["shop"], tmp_path / "fors"), archived=True)
    yield running
    running.close()


@pytest.fixture
def environment(
    shop: SandboxProcess,
    broker: KafkaBroker,
    replicator: OlrServer,
    fors: ForsServer,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, str]:
    """Where the servers of this test are, and a name of its own."""
    name = re.sub(r"\W+", "-", request.node.name).strip("-").lower()
    port = free_port()
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "minercdc"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m minercdc "$@"\n')
    command.chmod(0o755)
    given = {
        "MINERCDC_PASSWORD": "minercdc",
        "MINERCDC_NAME": name,
        "MINERCDC_TOPIC_PREFIX": name,
        "MINERCDC_DATABASE_HOSTNAME": shop.host,
        "MINERCDC_DATABASE_PORT": str(shop.port),
        "MINERCDC_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "MINERCDC_SCHEMA_HISTORY_INTERNAL_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "MINERCDC_SCHEMA_HISTORY_INTERNAL_KAFKA_TOPIC": f"{name}-schema-history",
        "MINERCDC_SINK_PATH": str(tmp_path / "sink"),
        "MINERCDC_STATE_DIR": str(tmp_path / "state"),
        "MINERCDC_SIGNAL_FILE": str(tmp_path / "file-signals.txt"),
        "MINERCDC_SIGNAL_KAFKA_TOPIC": f"{name}-signal",
        "MINERCDC_NOTIFICATION_ENABLED_CHANNELS": "sink",
        "MINERCDC_NOTIFICATION_SINK_TOPIC_NAME": f"{name}-notifications",
        "MINERCDC_HTTP": f"127.0.0.1:{port}",
        "MINERCDC_HTTP_PORT": str(port),
        "MINERCDC_SIGNAL_POLL_INTERVAL_MS": "50",
        "MINERCDC_POLL_INTERVAL_MS": "100",
        "MINERCDC_OPENLOGREPLICATOR_PORT": str(replicator.port),
        "MINERCDC_FORS_PORT": str(fors.port),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    return given


def order(shop: SandboxProcess, number: int) -> None:
    with shop.connect("shop", "shop") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO ORDERS VALUES (:1, 1, 'OPEN')", [number])
        connection.commit()
    with shop.connect(service=shop.root_service) as admin:
        admin.cursor().execute("ALTER SYSTEM SWITCH LOGFILE")  # archive-only.yaml sees it then


def answers(topics: Topics, prefix: str, expected: int) -> dict[str, str]:
    """Last answer to each signal, once there are enough of them."""

    def found(records: list[Read]) -> dict[str, str]:
        given = [r.value for r in records if r.value and r.value["aggregate_type"] == "Signal"]
        return {v["id"].removeprefix(f"{prefix}-"): v["type"] for v in given if v["type"] != "ACCEPTED"}

    records = topics.await_records(f"{topics.prefix}-notifications", lambda seen: len(found(seen)) >= expected, 90)
    return found(records)


@pytest.mark.parametrize("path", CONNECTORS, ids=lambda path: path.stem)
def test_every_connector_runs(path: Path, shop: SandboxProcess, environment: dict[str, str], tmp_path: Path) -> None:
    topics = Topics(environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"], environment["MINERCDC_NAME"])
    number, kind = 1000 + CONNECTORS.index(path), load_config(path).sink.debezium_sink_type
    with MinerCdc(["run", "--log-interval", "0.1", str(path)], tmp_path / "run.log") as connector:
        connector.await_log("streaming: ")
        order(shop, number)
        topic = f"{topics.prefix}.SHOP.ORDERS"
        if kind == "kafka":
            topics.await_records(topic, lambda found: any(str(number) in json.dumps(r.value) for r in found))
        else:
            key = b'{"ORDER_ID":%d}' % number
            await_written(kind, tmp_path / "sink", lambda found: any((r.of_topic, r.of_key) == (topic, key) for r in found))
        connector.stop_in_order()


def test_the_relay_runs(
    shop: SandboxProcess, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINERCDC_RELAY_PORT", "0")
    with MinerCdc(["relay", str(RELAY)], tmp_path / "run.log") as relay:
        url = f"http://{relay.await_output(r'ready (.*)')[1]}"
        order(shop, 999)
        deadline = time.monotonic() + 30
        while b'"key":999,' not in (found := urllib.request.urlopen(f"{url}/stream?output=json").read()):
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        relay.stop_in_order()


def _by_table(shop: SandboxProcess, _: dict[str, str]) -> None:
    with shop.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        for statement in _statements((ROOT / "signals" / "source.sql").read_text()):
            cursor.execute(statement)


def _statements(script: str) -> list[str]:
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    return [text.strip() for text in ("\n".join(lines) + "\n").split(";\n") if text.strip()]


def _by_topic(_: SandboxProcess, environment: dict[str, str]) -> None:
    producer = Producer({"bootstrap.servers": environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"]})
    for line in (ROOT / "signals" / "kafka.txt").read_text().splitlines():
        key, _separator, value = line.partition("|")
        assert key == "shop"
        producer.produce(
            environment["MINERCDC_SIGNAL_KAFKA_TOPIC"], value.encode(), environment["MINERCDC_NAME"].encode(), 0
        )
    producer.flush()


def _by_file(_: SandboxProcess, environment: dict[str, str]) -> None:
    with Path(environment["MINERCDC_SIGNAL_FILE"]).open("a") as file:
        file.write((ROOT / "signals" / "file.jsonl").read_text())


def _by_http(_: SandboxProcess, environment: dict[str, str]) -> None:
    token = Path(environment["MINERCDC_STATE_DIR"]) / f"http-token-{environment['MINERCDC_NAME']}"
    subprocess.run(
        ["sh", ROOT / "signals" / "http.sh"],
        check=True,
        env={**os.environ, "MINERCDC_HTTP_TOKEN": token.read_text().strip()},
    )


def _by_command(_: SandboxProcess, environment: dict[str, str]) -> None:
    subprocess.run(["sh", ROOT / "signals" / "command.sh", ROOT / "connectors" / "http.yaml"], check=True)


CHANNELS = {
    "sql": ("signals-table.yaml", _by_table),
    "kafka": ("signals-kafka.yaml", _by_topic),
    "file": ("signals-file.yaml", _by_file),
    "http": ("http.yaml", _by_http),
    "command": ("http.yaml", _by_command),
}


@pytest.mark.parametrize("prefix", CHANNELS)
def test_every_signal_of_every_channel_is_answered(
    prefix: str, shop: SandboxProcess, environment: dict[str, str], tmp_path: Path
) -> None:
    config, send = CHANNELS[prefix]
    topics = Topics(environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"], environment["MINERCDC_NAME"])
    with MinerCdc(["run", "--log-interval", "0.1", str(ROOT / "connectors" / config)], tmp_path / "run.log") as connector:
        connector.await_log("streaming: ")
        send(shop, environment)
        found = answers(topics, prefix, len(TYPES))
        connector.stop_in_order()
    _judge(found)


def _judge(found: dict[str, str]) -> None:
    assert set(found) == set(TYPES)
    assert {found[name] for name in ALWAYS_DONE} == {"COMPLETED"}
    assert {found[name] for name in DONE_OR_STOPPED} <= {"COMPLETED", "ABORTED"}


def test_a_program_with_a_connector_of_its_own(environment: dict[str, str]) -> None:
    example = ROOT / "signals" / "in_process.py"
    done = subprocess.run(
        [sys.executable, example, ROOT / "connectors" / "in-process.yaml"], check=True, capture_output=True, text=True
    )
    found: dict[str, str] = dict(line.removeprefix("process-").split() for line in done.stdout.splitlines())
    _judge(found)


def test_the_examples_show_every_type_of_signal() -> None:
    text = (ROOT / "signals" / "file.jsonl").read_text()
    shown = {json.loads(line)["type"] for line in text.splitlines()}
    assert shown == set(ACTIONS) - {"pause-streaming", "resume-streaming"}, "these two are in docs/operations.md"


def examples(page: str) -> list[tuple[str, str]]:
    """Fenced blocks of a page: (language, text)."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def example(page: str, language: str) -> str:
    (found,) = (text for name, text in examples(page) if name == language)
    return found


def test_each_page_has_the_examples_that_are_run_here() -> None:
    assert [language for language, _ in examples("signals.md")] == ["", "sql", "python"]
    assert [language for language, _ in examples("snapshots.md")] == ["python", "yaml"]


def test_the_table_and_the_command_of_the_page_of_signals(
    shop: SandboxProcess, environment: dict[str, str], tmp_path: Path
) -> None:
    topics = Topics(environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"], environment["MINERCDC_NAME"])
    config = tmp_path / "connector.yaml"
    config.write_text((ROOT / "connectors" / "signals-table.yaml").read_text())
    create, log, insert, commit = _statements(example("signals.md", "sql"))
    with shop.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE C##MINERCDC.DEBEZIUM_SIGNAL")
        cursor.execute(create)
        cursor.execute(log)
        with MinerCdc(["run", "--log-interval", "0.1", str(config)], tmp_path / "run.log") as connector:
            connector.await_log("streaming: ")
            cursor.execute(insert)
            cursor.execute(commit)
            command = example("signals.md", "").split()
            sent = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
            assert answers(topics, "page", 2) == {"ad-hoc-1": "COMPLETED", sent.stdout.strip(): "COMPLETED"}
            connector.stop_in_order()


def test_the_program_of_the_page_of_signals(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "connector.yaml").write_text((ROOT / "connectors" / "in-process.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    topics = Topics(environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"], environment["MINERCDC_NAME"])
    names: dict[str, Any] = {}
    exec(example("signals.md", "python"), names)
    try:
        assert answers(topics, "page", 1) == {names["signal_id"]: "COMPLETED"}
    finally:
        names["stop"].set()
        while names["connector"].counters.phase != "stopped":
            time.sleep(0.02)
    assert any(notice["id"] == names["signal_id"] for notice in names["connector"].notifications())


def test_the_properties_and_the_callable_of_the_page_of_snapshots(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weekdays.py").write_text(example("snapshots.md", "python"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    config = tmp_path / "connector.yaml"
    custom = "snapshot.mode: custom\nsnapshot.mode.custom.name: weekdays:weekdays_only\n"
    config.write_text((ROOT / "connectors" / "sandbox.yaml").read_text() + custom + example("snapshots.md", "yaml"))
    topics = Topics(environment["MINERCDC_KAFKA_BOOTSTRAP_SERVERS"], environment["MINERCDC_NAME"])
    with MinerCdc(["run", "--log-interval", "0.1", str(config)], tmp_path / "run.log") as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    read = [r.value["after"] for r in topics.records(f"{topics.prefix}.SHOP.ORDERS") if r.value]
    assert {row["STATUS"] for row in read} == {"OPEN"}
    assert topics.records(f"{topics.prefix}.SHOP.CUSTOMERS"), "the other table is read as a whole"
