"""Export by OpenTelemetry's protocol, to a receiver that decodes it."""

from __future__ import annotations

import builtins
import gzip
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from minercdc.errors import ConfigError
from minercdc.observe.prometheus import otlp
from minercdc.observe.prometheus.otlp import exporting
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import Cause

_Points = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def points(body: bytes) -> _Points:
    found: _Points = {}
    request = ExportMetricsServiceRequest.FromString(body)
    for metric in (m for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics):
        for point in (*metric.gauge.data_points, *metric.sum.data_points):
            labels = sorted((a.key, a.value.string_value) for a in point.attributes if a.key != "connector")
            found[metric.name, tuple(labels)] = point.as_double or point.as_int
    return found


def test_every_figure_arrives_under_its_name() -> None:
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    counters = Counters(progress_us=int((time.time() - 100) * 1e6))
    counters.tables["S.T"] = 7
    counters.commit_times.add(0.25)
    with exporting(counters, "c", f"http://127.0.0.1:{server.server_port}/v1/metrics", 0.1):
        deadline = time.monotonic() + 20
        while not bodies:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        counters.tables["S.T"] = 8
        while points(bodies[-1])["minercdc_table_events", (("table", "S.T"),)] != 8:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    found = points(bodies[-1])
    assert found["minercdc_table_events", (("table", "S.T"),)] == 8
    assert 99 < found["minercdc_lag_seconds", ()] < 130
    parts = sum(value for (name, _), value in found.items() if name == "minercdc_lag_cause_seconds")
    assert parts == pytest.approx(found["minercdc_lag_seconds", ()], abs=0.1)
    assert ("minercdc_lag_cause_seconds", (("cause", Cause.KAFKA.value),)) in found
    assert (found["minercdc_kafka_commit_seconds_count", ()], found["minercdc_kafka_commit_seconds_sum", ()]) == (1, 0.25)
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_that_is_gone_delays_the_end_by_little(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "_LAST_EXPORT_MS", 200)
    began = time.monotonic()
    with exporting(Counters(), "c", "http://127.0.0.1:9/v1/metrics", 0.05):
        while not any("metrics batch" in one for one in caplog.messages):
            assert time.monotonic() - began < 30
            time.sleep(0.02)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("status", [None, 400, 503])
def test_of_the_url_only_the_host_is_logged(
    status: int | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "_LAST_EXPORT_MS", 200)

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status or 200, f"no {self.path} here")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    port = server.server_port
    if status is None:
        server.server_close()
    else:
        thread.start()
    url = f"http://us3r:s3cret1@127.0.0.1:{port}/s3cret2/v1/metrics?k=s3cret3%2B4 x&l=s3cret5"
    with exporting(Counters(), "c", url, 0.05):
        deadline = time.monotonic() + 20
        while not (failed := [one for one in caplog.messages if "metrics batch" in one]):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert ("127.0.0.1" in failed[0] and "refused" in failed[0]) if status is None else "here" in failed[0]
    assert "s3cret" not in caplog.text
    assert "us3r" not in caplog.text
    logger = logging.getLogger("urllib3.connectionpool")
    logger.warning("%s once more", url)  # as the thread may that did not end in time
    assert caplog.messages[-1] == "*** once more"
    if status is not None:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_missing_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return imported(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="minercdc.opentelemetry.endpoint"), exporting(Counters(), "c", "http://x", 1):
        pass
