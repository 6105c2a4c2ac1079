"""What the local port shows while a snapshot, a stream and outages happen, against what is known to have happened."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, TABLE, Lab
from tests.e2e.proxy import Proxy
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.ports import free_port

TOKEN = "a token of ours"
NOISE = "CREATE TABLE NOISE (ID NUMBER(9), TEXT VARCHAR2(100))"
EVIL = '"<img src=x>"'
ROWS = 15_000


class Port:
    """The connector's port."""

    def __init__(self) -> None:
        self.number = free_port()

    def get(self, path: str) -> tuple[int, str, str]:
        connection = HTTPConnection("127.0.0.1", self.number, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", ""), answer.read().decode()
        finally:
            connection.close()

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.get("/api/status")[2])
        return found

    def metrics(self) -> dict[str, float]:
        """Samples by name and labels, without the label `connector`."""
        found = {}
        for name, labels, value in re.findall(r"^(\w+)\{(.*)\} (\S+)$", self.get("/metrics")[2], re.M):
            rest = ",".join(part for part in re.findall(r'\w+="[^"]*"', labels) if not part.startswith("connector="))
            found[f"{name}{{{rest}}}" if rest else name] = float(value)
        return found

    def until(self, condition: Callable[[dict[str, Any]], bool], connector: MinerCdc, seconds: float = 40) -> dict[str, Any]:
        """The first status that is as wanted."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.status()
                if condition(found):
                    return found
            except OSError:
                found = {}
            assert connector.process.poll() is None, connector.story()
            assert time.monotonic() < deadline, (found.get("sentence"), found.get("notices"), connector.story())
            time.sleep(0.02)


def causes(metrics: dict[str, float]) -> dict[str, float]:
    return {
        key[len("minercdc_lag_cause_seconds{cause=") + 1 : -2]: value for key, value in metrics.items() if "lag_cause" in key
    }


def is_up_to_date(status: dict[str, Any]) -> bool:
    return bool(status["phase"] == "streaming" and status["lag"]["known"] and status["lag"]["seconds"] < 1.5)


@pytest.fixture
def watched(make_lab: Callable[..., Lab], tmp_path: Path) -> Lab:
    """Without a broker: segments take the records."""
    lab = make_lab(
        "nowhere:1",
        [TABLE, LOGGED.format("T"), NOISE, f"CREATE TABLE {EVIL} (ID NUMBER(9) PRIMARY KEY)", LOGGED.format(EVIL)],
    )
    with lab.connect() as connection, connection.cursor() as cursor:
        for first in range(0, ROWS, 5_000):
            cursor.executemany("INSERT INTO T VALUES (:1, 'row')", [(n,) for n in range(first, first + 5_000)])
            connection.commit()
    return lab


def test_page_status_and_metrics_while_a_snapshot_a_stream_and_an_outage_happen(watched: Lab) -> None:
    lab, port = watched, Port()
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        config = lab.config(
            database_port=proxy.port,
            minercdc_kafka_bootstrap_servers=None,
            debezium_sink_type="segments",
            minercdc_sink_path=lab.directory / "segments",
            minercdc_http_port=port.number,
            minercdc_http_token=TOKEN,
            table_exclude_list=f"{lab.schema}.NOISE",
            snapshot_fetch_size=12,  # so that it takes its time
            database_query_timeout_ms=1500,
            database_connection_timeout_ms=1500,
        )
        began = time.monotonic()
        with lab.run(config) as connector:
            # the snapshot
            during = port.until(lambda s: s["snapshot"]["running"] and s["snapshot"]["rows"] > 0, connector)
            metrics = port.metrics()
            assert time.monotonic() - began < 120, "figures are there from the start"
            assert 0 < metrics["minercdc_lag_seconds"] < 60
            assert metrics["minercdc_lag_known"] == 0
            assert sum(causes(metrics).values()) == pytest.approx(metrics["minercdc_lag_seconds"], abs=0.5)
            assert during["sentence"].startswith("Reading the initial snapshot")
            assert during["snapshot"]["expected_rows"] >= ROWS
            # the stream
            port.until(lambda s: is_up_to_date(s) and s["mining"]["passes"] > 2, connector)
            before = port.metrics()
            noise, ours = (
                f'captured="false",schema="{lab.schema}",table="NOISE"',
                f'captured="true",schema="{lab.schema}",table="T"',
            )
            lab.execute(*(f"INSERT INTO NOISE VALUES ({n}, 'some text')" for n in range(70)))
            lab.execute(*(f"INSERT INTO T VALUES ({10**6 + n}, 'new')" for n in range(30)), f"INSERT INTO {EVIL} VALUES (1)")
            events = sum(n for key, n in before.items() if key.startswith("minercdc_events_total")) + 31

            def grown(name: str, labels: str) -> float:
                found = f"{name}{{{labels}}}"
                return port.metrics().get(found, 0) - before.get(found, 0)

            def rows_of(status: dict[str, Any]) -> bool:  # they are counted after each pass, when its events may be out
                return [grown("minercdc_redo_rows_total", of) for of in (noise, ours)] == [70, 30] and status["lag"][
                    "seconds"
                ] < 5

            port.until(lambda s: s["events"] == events and rows_of(s), connector)
            after = port.metrics()
            assert (
                grown("minercdc_redo_bytes_total", noise)
                > 70 * len('insert into "S"."NOISE"("ID","TEXT") values (\'1\',\'some text\')') - 100
            )
            assert sum(causes(after).values()) == pytest.approx(after["minercdc_lag_seconds"], abs=0.5)
            shown = port.status()
            tables = {one["table"]: one for one in shown["tables"]}
            assert tables[f"{lab.schema}.T"]["events"] == ROWS + 30
            status, kind, page = port.get("/")
            assert (status, kind) == (200, "text/html; charset=utf-8")
            assert "<img" not in page
            assert "Streaming, the lag is" in page
            assert TOKEN not in page + port.get("/api/configuration")[2] + port.get("/api/status")[2]
            # an open transaction, by user and program
            with lab.connect() as held, held.cursor() as cursor:
                cursor.executemany("INSERT INTO T VALUES (:1, 'open')", [(2 * 10**6 + n,) for n in range(5)])
                found = port.until(
                    lambda s: any(one["user"] == lab.schema for one in s["transactions"]["source"]), connector
                )
                (one,) = [one for one in found["transactions"]["source"] if one["user"] == lab.schema]
                assert "python" in one["program"]
            # an outage of the database
            proxy.freeze()
            out = port.until(lambda s: s["lag"]["seconds"] > 6 and s["phase"] == "reconnecting", connector)
            assert out["lag"]["largest"] == "source", out["lag"]
            assert out["sentence"].startswith("Waiting, and trying again, since")
            assert sum(out["lag"]["causes"].values()) == pytest.approx(out["lag"]["seconds"], abs=0.1)
            assert port.get("/health")[0] == 503
            lag, seen = port.metrics()["minercdc_lag_seconds"], time.monotonic()
            while (later := port.metrics()["minercdc_lag_seconds"]) < lag + 1.5:
                assert time.monotonic() < seen + 60, f"it stays at {later} s"
                time.sleep(0.02)
            assert later - lag == pytest.approx(time.monotonic() - seen, abs=0.7)
            proxy.accept()
            port.until(lambda s: s["phase"] == "streaming" and s["lag"]["seconds"] < 5, connector)
            port.until(lambda s: [n["type"] for n in s["notices"]][:2] == ["RECOVERED", "RECONNECTING"], connector)
            # the terminal
            ended = lab.minercdc("status", str(config))
            assert ended.status == 0, ended.errors
            assert "Streaming, the lag is" in ended.output
            assert json.loads(lab.minercdc("status", str(config), "--json").output)["phase"] == "streaming"
            connector.stop_in_order()
        ended = lab.minercdc("status", str(config))
        assert ended.status == 1
        assert "no connector answers" in ended.errors


def test_a_database_that_hangs_makes_the_lag_rise_and_is_its_cause(watched: Lab, database: SandboxProcess) -> None:
    lab, port = watched, Port()
    config = lab.config(
        minercdc_kafka_bootstrap_servers=None,
        debezium_sink_type="segments",
        minercdc_sink_path=lab.directory / "segments",
        minercdc_http_port=port.number,
        minercdc_http_token=TOKEN,
        minercdc_log_format="json",
        minercdc_notification_lag_threshold_ms=4000,
        snapshot_mode="no_data",
    )
    with lab.run(config) as connector:
        port.until(is_up_to_date, connector)
        database.process.send_signal(signal.SIGSTOP)
        try:
            out = port.until(lambda s: s["lag"]["seconds"] > 6, connector)
        finally:
            database.process.send_signal(signal.SIGCONT)
        waits = {
            cause: seconds for cause, seconds in out["lag"]["causes"].items() if cause in ("source", "logminer", "fetch")
        }
        assert sum(waits.values()) > 5, out["lag"]
        port.until(lambda s: s["lag"]["seconds"] < 1.9, connector)
        port.until(lambda s: [n["type"] for n in s["notices"]][:2] == ["LAG_NORMAL", "LAG_HIGH"], connector)
        assert connector.stop().status == 0
    for line in connector.text().splitlines():
        assert json.loads(line)["connector"] == lab.name, line
