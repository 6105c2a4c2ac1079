"""`minercdc bundle` when what it reads is not as it should be."""

from __future__ import annotations

import socket
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none
from tests.unit.config.test_load import GOOD

from minercdc.config.load import load_config
from minercdc.errors import DeliveryError
from minercdc.operate.bundle import _offset, secret_values, write_bundle
from minercdc.operate.offsets.read import StoredOffset
from minercdc.sinks.kafka.connections import Connections
from minercdc.stream.offset import Offset, Resumption, SignalState, SuspendedTable


@contextmanager
def answering(text: bytes) -> Iterator[int]:
    """A port whose program answers `text` to whatever it is sent."""

    def answer() -> None:
        with suppress(OSError):  # the port is shut down
            while True:
                client, _ = listening.accept()
                with client:
                    client.recv(1000)
                    client.sendall(text)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)  # wakes accept; a close alone leaves it, to fail in another test
        thread.join()


def no_kafka(self: Connections, seconds: float = 20.0) -> Mapping[str, Any]:
    del seconds
    raise DeliveryError(f"reaching Kafka at {self.brokers} failed: no answer")


def test_a_port_of_another_program_takes_its_own_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connections, "list_topics", no_kafka)
    with answering(b"this is no HTTP\r\n\r\n") as port:
        path = tmp_path / "connector.yaml"
        nowhere = {
            "database.hostname": "127.0.0.1",
            "database.port": 1,
            "errors.max.retries": 0,
        }
        settings = {
            **GOOD,
            **nowhere,
            "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:1",
            "minercdc.http.port": port,
        }
        path.write_text("".join(f"{name}: {value!r}\n" for name, value in settings.items()))
        write_bundle(load_config(path), path, tmp_path / "bundle.tar.gz")
    with tarfile.open(tmp_path / "bundle.tar.gz") as archive:
        metrics = archive.extractfile("minercdc-bundle/metrics.txt")
        assert metrics is not None
        assert metrics.read().startswith(b"unavailable: ConnectionError")


def test_kafka_that_does_not_answer_is_waited_for_once_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []

    def silent(self: Connections, seconds: float = 20.0) -> Mapping[str, Any]:
        waited.append(seconds)
        return no_kafka(self)

    monkeypatch.setattr(Connections, "list_topics", silent)
    monkeypatch.setattr("minercdc.oracle.connect.wait_exponential", lambda **_: wait_none())
    path = tmp_path / "connector.yaml"
    settings = {**GOOD, "database.hostname": "127.0.0.1", "database.port": 1}
    path.write_text("".join(f"{name}: {value!r}\n" for name, value in settings.items()))
    write_bundle(load_config(path), path, tmp_path / "bundle.tar.gz")
    assert waited == [10.0]
    failed = "reaching Kafka at kafka:9092 failed: no answer"
    assert [line for line in caplog.messages if line.startswith(failed)]
    with tarfile.open(tmp_path / "bundle.tar.gz") as archive:
        for name in ("offset.json", "tables.json", "topics.txt"):
            found = archive.extractfile(f"minercdc-bundle/{name}")
            assert found is not None
            assert found.read().decode() == f"unavailable: {failed}\n"


def test_texts_that_may_hold_values_of_rows_are_left_out_of_the_offset() -> None:
    suspended = SuspendedTable("S.T", 5, "MC-3401", "value 'of a row'", "fix 'of a row'")
    state = SignalState(resuming=(Resumption("S.T", "signal-1", 5, 6, failure="value 'of a row'"),))
    text = _offset(StoredOffset(Offset("logminer", {}, signals=state, suspended=(suspended,)), "a topic", ()))
    assert "signal-1" in text
    assert "of a row" not in text


def test_queries_of_urls_are_secrets(tmp_path: Path) -> None:
    path = tmp_path / "connector.yaml"
    settings = {
        **GOOD,
        "minercdc.opentelemetry.endpoint": "http://h/v1/metrics?k=s3cret1",
        "value.converter.schema.registry.url": "http://h?k=s3cret2",
        "database.url": "tcps://db:2484/ORCLCDB?retry_count=3",
    }
    path.write_text("".join(f"{name}: {value!r}\n" for name, value in settings.items()))
    found = secret_values(load_config(path))
    assert {"http://h/v1/metrics?k=s3cret1", "k=s3cret1", "k=s3cret2"} <= set(found)
    assert not [one for one in found if "retry" in one]
