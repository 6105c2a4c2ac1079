"""SIGTERM and SIGINT end the connector in every phase within seconds, with status 0 and an offset that loses nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest
from tests.e2e.connector import STOP_SECONDS, Ended, MinerCdc, properties, run_to_end, write
from tests.e2e.lab import LOGGED, TABLE, Lab
from tests.e2e.proxy import Proxy
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.cli.stopping import UNFINISHED
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.local.ports import free_port

ROWS = 6_000
SIGNALS = (signal.SIGTERM, signal.SIGINT)
MakeLab = Callable[..., Lab]


def in_order(ended: Ended) -> None:
    assert (ended.status, ended.message()) in ((0, ""), (0, "stopped")), ended.errors  # the latter during its imports
    assert ended.seconds < STOP_SECONDS
    assert "Traceback" not in ended.errors
    assert ended.errors.splitlines()[-1].endswith(("stopped", "Nothing is lost")), ended.errors


def test_while_reading_the_snapshot(make_lab: MakeLab, broker: KafkaBroker) -> None:
    lab = make_lab(broker.bootstrap_servers, [TABLE, LOGGED.format("T")])
    lab.insert(1, ROWS)
    config = lab.config(snapshot_fetch_size=50)
    for number in SIGNALS:
        with lab.run(config, f"{number.name}.log") as connector:
            connector.await_log("reading ")
            in_order(connector.stop(number))
            assert "snapshot is complete" not in connector.text()
    with lab.run(config, "again.log") as connector:
        connector.await_log("streaming:", 60)
        connector.stop_in_order()
    assert [record.key["ID"] for record in lab.topics.records(lab.topic())] == list(range(1, ROWS + 1))


def test_while_idle(lab: Lab) -> None:
    for count, number in enumerate(SIGNALS):
        with lab.run(log=f"{number.name}.log") as connector:
            connector.await_log("streaming:")
            lab.execute(f"INSERT INTO T VALUES ({10 + count}, 'x')")
            records = lab.topics.await_records(lab.topic(), 4 + count)
            in_order(connector.stop(number))
        offset = lab.topics.offset()
        assert offset is not None
        assert offset.position is not None
    assert [record.key["ID"] for record in records] == [0, 1, 2, 10, 11]


def test_while_busy(lab: Lab) -> None:
    config = lab.config(minercdc_kafka_transaction_max_records=100, query_fetch_size=100)
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        lab.insert(11, ROWS)
        lab.topics.await_records(lab.topic(), 5)
        in_order(connector.stop(signal.SIGTERM))
    with lab.run(config, "second.log") as connector:
        connector.await_log("streaming:")
        in_order(connector.stop(signal.SIGINT))
    stopped_at = len(lab.topics.records(lab.topic()))
    with lab.run(lab.config(), "again.log") as connector:
        records = lab.topics.await_records(lab.topic(), ROWS + 3, 60)
        connector.stop_in_order()
    assert stopped_at <= len(records)
    assert [record.key["ID"] for record in records[3:]] == list(range(11, ROWS + 11))


@pytest.mark.usefixtures("own_interpreters")
def test_before_anything_was_done(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("starting:")
        in_order(connector.stop())


@pytest.mark.parametrize("number", SIGNALS)
def test_while_waiting_for_the_broker(make_lab: MakeLab, number: signal.Signals) -> None:
    lab = make_lab(f"127.0.0.1:{free_port()}")
    with lab.run() as connector:
        connector.await_log("starting:")
        in_order(connector.stop(number))


def test_while_reconnecting(lab: Lab) -> None:
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        config = lab.config(database_port=proxy.port, retriable_restart_connector_wait_ms=600_000)
        with lab.run(config) as connector:
            connector.await_log("streaming:")
            proxy.refuse()
            connector.await_log("reconnecting:")
            in_order(connector.stop())
    assert lab.topics.offset() is not None


@pytest.mark.parametrize("phase", ["starting", "streaming"])
def test_while_the_network_swallows_everything(lab: Lab, phase: str) -> None:
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        if phase == "starting":
            proxy.freeze()
        with lab.run(lab.config(database_port=proxy.port)) as connector:
            connector.await_log(f"{phase}:")
            if phase == "streaming":
                lab.execute("INSERT INTO T VALUES (10, 'x')")
                lab.topics.await_records(lab.topic(), 4)
                proxy.freeze()
            else:
                connector.await_log("created topic .*-schema-history")
            in_order(connector.stop())


def test_a_second_instance_of_the_machine_does_not_begin(lab: Lab) -> None:
    with lab.run(log="first.log") as first:
        first.await_log("streaming:")
        second = lab.run_to_end(lab.config(), "second.log")
        assert (second.status, second.message().partition(" (pid ")[0]) == (
            *(4, f"MC-6201: connector {lab.name} runs here already"),
        )
        assert f"(pid {first.process.pid})" in second.message()
        first.stop_in_order()


def test_a_second_instance_of_another_working_directory_does_not_begin(lab: Lab) -> None:
    """A relative state directory is another one there."""
    config, places = (
        lab.config(minercdc_state_dir="state", minercdc_http_port=0),
        [lab.directory / "one", lab.directory / "two"],
    )
    for place in places:
        place.mkdir()
    with lab.run(config, "first.log", limit=partial(os.chdir, places[0])) as first:
        first.await_log("streaming:")
        first.await_log(r"status: http://127\.0\.0\.1:[1-9]\d+/ in a browser")
        second = lab.run_to_end(config, "second.log", limit=partial(os.chdir, places[1]))
        assert (second.status, second.message().partition("\n")[0]) == (
            *(4, f"MC-6201: connector {lab.name} runs here already (pid {first.process.pid})"),
        )
        reset = run_to_end(
            ["offsets", "reset", str(config), "--yes"], lab.directory / "reset.log", limit=partial(os.chdir, places[1])
        )
        assert "is running; stop it first" in reset.errors
        first.stop_in_order()


def test_a_second_instance_elsewhere_ends_the_first(lab: Lab) -> None:
    elsewhere = lab.config("elsewhere.yaml", minercdc_state_dir=lab.directory / "elsewhere")
    with lab.run(log="first.log") as first, lab.run(elsewhere, log="second.log") as second:
        first.await_log("streaming:|MC-6201")
        second.await_log("streaming:|MC-6201")
        lab.execute("INSERT INTO T VALUES (10, 'x')")
        records = lab.topics.await_records(lab.topic(), 4)
        fenced, going_on = await_first_end(first, second)
        ended = fenced.await_end()
        assert ended.status == 4
        assert ended.message().startswith("MC-6201: ")
        assert "another instance" in ended.message()
        assert "Traceback" not in ended.errors
        going_on.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, 10]


def await_first_end(first: MinerCdc, second: MinerCdc) -> tuple[MinerCdc, MinerCdc]:
    """The one that ended, and the other: which claims the connector last is not in the test's hands."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for one, other in ((first, second), (second, first)):
            if one.process.poll() is not None:
                return one, other
        time.sleep(0.02)
    raise AssertionError(f"both still run:\n{first.story()}\n{second.story()}")


@pytest.mark.parametrize("command", ["run", "lake", "sandbox", "kafka"])
@pytest.mark.parametrize("module", ["typer", "rich.console"])
def test_during_our_imports(command: str, module: str, tmp_path: Path) -> None:
    """Python reports every import on standard error, which shows where the process is."""
    arguments = [sys.executable, "-X", "importtime", "-m", "minercdc", command, str(tmp_path / "c.yaml")]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if f" {module}\n" in line)
        process.send_signal(signal.SIGINT)
        ours = [line for line in process.stderr if not line.startswith("import time:")]
    assert (process.returncode, ours) == (0, ["stopped\n"])


@pytest.mark.parametrize("arguments", [["sandbox"], ["kafka", "--data", "data"]], ids=lambda arguments: arguments[0])
def test_servers_while_they_serve(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "minercdc", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready ")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "stopped\n")


def await_gateway(process: int, seconds: float = 60) -> None:
    """Wait until the JVM below a process listens for Python: Spark starts then."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            below = psutil.Process(process).children(recursive=True)
            if any(one.status == psutil.CONN_LISTEN for child in below for one in child.net_connections("tcp")):
                return
        time.sleep(0.02)
    raise AssertionError("no JVM listens")


@pytest.mark.parametrize(
    ("moment", "number"), [("Spark starts", signal.SIGINT), ("Delta table per source table", signal.SIGTERM)]
)
def test_the_lake(lab: Lab, moment: str, number: signal.Signals) -> None:
    config, temporary = lab.config(minercdc_lake_path=lab.directory / "lake"), lab.directory / "temporary"
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    with MinerCdc(["lake", str(config)], lab.directory / "lake.log", environment=environment) as lake:
        if moment == "Spark starts":
            await_gateway(lake.process.pid)
        else:
            lake.await_log(moment, 60)
        said = len(lake.text().splitlines())
        os.killpg(lake.process.pid, number)  # as a terminal and systemd do: Spark's JVM gets it, too
        ended = lake.await_end()
    assert ended.status == 0, ended.errors
    lines = [line for line in ended.errors.splitlines()[said:] if "INFO    waiting: " not in line]
    assert [line.endswith("stopped") for line in lines] == [True], ended.errors
    deadline = time.monotonic() + 10
    while list(temporary.iterdir()):  # of a JVM that was killed, a moment later
        assert time.monotonic() < deadline, list(temporary.rglob("*"))
        time.sleep(0.02)


@pytest.mark.parametrize("silent", ["broker", "database"])
@pytest.mark.parametrize("command", ["check", "signal"])
def test_a_command_that_waits_for_a_server(
    command: str, silent: str, database: SandboxProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The server accepts the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        brokers = broker.bootstrap_servers
        address = {"brokers": f"127.0.0.1:{port}"} if silent == "broker" else {"brokers": brokers, "database_port": port}
        channel = "kafka" if silent == "broker" else "source"
        settings = properties(
            database,
            name="waiting",
            directory=tmp_path,
            signal_enabled_channels=channel,
            signal_data_collection="ORCLPDB1.C##MINERCDC.DEBEZIUM_SIGNAL",
            notification_enabled_channels="sink",
            notification_sink_topic_name="waiting-notifications",
            **address,
        )
        arguments = [
            command,
            str(write(settings, tmp_path / "c.yaml")),
            *(["log", "hello", "--wait"] if command == "signal" else []),
        ]
        for number in SIGNALS:
            with MinerCdc(arguments, tmp_path / f"{number.name}.log") as waiting:
                server.settimeout(30)
                with server.accept()[0]:
                    ended = waiting.stop(number)
            assert (ended.status, ended.errors) == (UNFINISHED, "stopped\n")
            assert ended.seconds < STOP_SECONDS
