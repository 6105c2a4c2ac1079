"""The relay's requests over HTTP, and the client's library, against a server in threads."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.unit.relay.filling import Filling, T, change, insert

from minercdc.errors import FellOffError, RelayDataError, RelayError
from minercdc.relay.buffer.chain import ChainedFeed
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.client.connection import Connection, SourceInfo
from minercdc.relay.client.consumer import (
    BootstrapConsumer,
    Change,
    ClientOptions,
    FileCheckpoints,
    MemoryCheckpoints,
    RelayClient,
)
from minercdc.relay.events.event import events_in
from minercdc.relay.server.commands import Commands
from minercdc.relay.server.http import serve
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.prometheus import RelayCollector, figures_of
from minercdc.relay.server.requests import Requests
from minercdc.relay.server.statistics import Statistics
from minercdc.stream.events import Op, SchemaChange, Scn

Get = Callable[[str], tuple[dict[str, str], bytes]]


@contextmanager
def serving(
    filling: Filling,
    statistics: Statistics | None = None,
    port: int = 0,
    most: int = 50,
    done: list[str] | None = None,
) -> Iterator[str]:
    """:param done: what commands have called; None: there are none."""
    known, connections = statistics or Statistics(), Connections()
    commands = None
    if done is not None:
        commands = Commands(filling.buffer, connections, lambda: done.append("saved"), lambda: done.append("ended"))
    requests = Requests(filling.buffer, filling.registry, known, "it", commands)
    figures = figures_of(RelayCollector(filling.buffer, filling.registry, known, connections, "it"), lambda: b"m 1\n")
    with serve("127.0.0.1", port, requests, connections, figures, most_clients=most, timeout=1.0) as address:
        yield f"http://{address}"


@pytest.fixture
def filling(tmp_path: Path) -> Filling:
    """Windows 10, 20 and 30, of keys 1 to 6."""
    made = Filling(tmp_path)
    made.buffer.start_after(5)
    made.put(*(insert(key, 10 * ((key + 1) // 2)) for key in range(1, 7)))
    made.commit(complete=30)
    return made


@pytest.fixture
def get(filling: Filling) -> Iterator[Get]:
    with serving(filling) as url:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=10)

        def answer(path: str) -> tuple[dict[str, str], bytes]:
            connection.request("GET", path)
            response = connection.getresponse()
            return {**{k.lower(): v for k, v in response.headers.items()}, "status": str(response.status)}, response.read()

        yield answer
        connection.close()


def stream(get: Get, place: Checkpoint, **options: object) -> tuple[dict[str, str], list[tuple[int, int | bytes | str]]]:
    more = "".join(f"&{name}={quote(str(value))}" for name, value in options.items())
    headers, data = get(f"/stream?checkPoint={quote(place.to_json())}{more}")
    return headers, [(e.sequence, "end" if e.is_end_of_window else e.key) for e in events_in(data)]


def test_sources_and_schemas(get: Get) -> None:
    assert json.loads(get("/sources")[1]) == [{"id": 101, "name": "a.T"}]
    for version in ("2", "3", "4"):
        headers, content = get(f"/register?sources=101&protocolVersion={version}")
        found = json.loads(content)
        assert headers["x-dbus-protocol-version"] == version
        (schema,) = found if version != "4" else found["sourceSchemas"]
        assert (schema["id"], schema["version"], json.loads(schema["schema"])["name"]) == (101, 1, "T_V1")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/register?sources=7", "InvalidRequestParamValueException"),
        ("/register?sources=%C2%B2", "InvalidRequestParamValueException"),
        ("/register?sources=--1", "InvalidRequestParamValueException"),
        ("/register?protocolVersion=5", "UnsupportedProtocolVersionException"),
        ("/stream?size=x", "InvalidRequestParamValueException"),
        ("/stream?size=0", "InvalidRequestParamValueException"),
        ("/stream?output=xml", "InvalidRequestParamValueException"),
        ("/stream?checkPoint=%7B", "InvalidRequestParamValueException"),
        ("/stream?checkPoint=" + quote('{"windowScn":-5}'), "InvalidRequestParamValueException"),
        ("/stream?filters=%7B", "InvalidRequestParamValueException"),
        ("/stream?subs=x", "InvalidRequestParamValueException"),
        ("/stream?checkPoint=" + quote(Checkpoint(4).to_json()), "ScnNotFoundException"),
        ("/stream?checkPoint=" + quote(Checkpoint(5, 1).to_json()), "ScnNotFoundException"),
        ("/containerStats/inbound/events/source/9", "InvalidRequestParamValueException"),
    ],
)
def test_errors_are_headers(path: str, kind: str, get: Get) -> None:
    headers, content = get(path)
    assert (headers["status"], headers["x-dbus-error"], content) == ("200", kind, b"")
    assert headers["x-dbus-error-cause"].endswith(f".{kind}")
    assert headers["x-dbus-error-message"]


def test_the_serving_table(get: Get) -> None:
    everything = [(scn, key) for scn, keys in ((10, (1, 2)), (20, (3, 4)), (30, (5, 6))) for key in (*keys, "end")]
    for place, begin in ((Checkpoint(), 0), (Checkpoint(5), 0), (Checkpoint(7), 0), (Checkpoint(7, 3), 0)):
        assert stream(get, place)[1] == everything[begin:]
    for place, begin in ((Checkpoint(10), 3), (Checkpoint(15), 3), (Checkpoint(10, 0), 0), (Checkpoint(10, 1), 1)):
        assert stream(get, place)[1] == everything[begin:]
    assert stream(get, Checkpoint(10, 3))[1] == everything[3:]
    assert stream(get, Checkpoint(30))[1] == stream(get, Checkpoint(40))[1] == []
    assert stream(get, Checkpoint(1), streamFromLatestScn="true")[1] == everything[6:]
    assert stream(get, Checkpoint(), maxev=2)[1] == everything


def test_the_size_is_kept_and_a_larger_event_is_announced(get: Get) -> None:
    (_, one), (_, two) = stream(get, Checkpoint(), size=80), stream(get, Checkpoint(), size=330)
    assert (one, two) == ([(10, 1)], [(10, 1), (10, 2), (10, "end")])
    headers, events = stream(get, Checkpoint(), size=50)
    assert (events, int(headers["x-dbus-pending-event-size"])) == ([], 66)


def test_filters_let_ends_of_windows_pass(get: Get) -> None:
    filters = {"101": {"partitionType": "MOD", "filters": [{"numBuckets": 3, "bktRange": {"start": 0, "end": 1}}]}}
    _, events = stream(get, Checkpoint(), sources=101, filters=json.dumps(filters))
    assert events == [(10, "end"), (20, 3), (20, "end"), (30, 6), (30, "end")]
    headers, events = stream(get, Checkpoint(), filters=json.dumps(filters), size=70)
    assert events == [(10, "end")]
    headers, events = stream(get, Checkpoint(10), filters=json.dumps(filters), size=70)
    assert (events, headers["x-minercdc-window-offset"]) == ([(20, 3)], "20:2")
    assert stream(get, Checkpoint(20, 2), filters=json.dumps(filters), size=70)[1] == [(20, "end")]


def test_json(get: Get) -> None:
    lines = get("/stream?output=json_plain_value")[1].splitlines()
    first, _, end = map(json.loads, lines[:3])
    assert (first["opcode"], first["key"], first["sequence"], first["srcId"]) == ("UPSERT", 1, 10, 101)
    assert (first["valueEnc"], json.loads(first["value"])) == ("JSON_PLAIN_VALUE", {"id": 1, "v": "x"})
    assert "endOfPeriod" not in first
    assert (end["endOfPeriod"], end["srcId"], "opcode" in end) == (True, -2, False)
    plain = json.loads(get("/stream?output=json")[1].splitlines()[0])
    assert (plain["valueEnc"], plain["value"]) == ("JSON", "AAIAAng=")  # 00 02: branch 0, 1; 00 02 78: branch 0, "x"


def test_an_answer_waits_for_a_window_and_for_more(filling: Filling) -> None:
    with serving(filling) as url:
        connection = Connection(url)
        begun = time.monotonic()
        assert connection.stream(Checkpoint(30), 1 << 20, wait_ms=300).data == b""
        assert time.monotonic() - begun >= 0.3

        def window(scn: int) -> None:
            filling.put(insert(scn, scn))
            filling.commit(complete=scn)

        def windows_after(scn: int, linger_ms: int) -> list[int]:
            data = connection.stream(Checkpoint(scn), 1 << 20, wait_ms=60_000, linger_ms=linger_ms).data
            return [one.sequence for one in events_in(data) if one.is_end_of_window]

        timer = threading.Timer(0.1, window, (40,))
        timer.start()
        assert windows_after(30, 0) == [40]
        timer.join()
        window(50)
        begun = time.monotonic()
        assert windows_after(40, 300) == [50]
        assert time.monotonic() - begun >= 0.3
        connection.close()


def test_buffer_and_statistics(filling: Filling, tmp_path: Path) -> None:
    statistics = Statistics()
    with serving(filling, statistics) as url:
        connection = Connection(url, name="me")
        info = connection.buffer_info()
        assert (info["minScn"], info["maxScn"], info["prevScn"]) == (10, 30, 5)
        assert info["bytes"] == len(connection.stream(Checkpoint(), 1 << 20, [101]).data)
        assert connection._json("/containerStats/outbound/events/clients", {}) == ["me"]
        total = connection._json("/relayStats/outbound/http/client/me", {})
        assert (total["numStreamCalls"], total["sizeDataEvents"]) == (1, info["bytes"])
        assert connection._json("/containerStats/outbound/events/source/101", {})["numStreamCalls"] == 1
        assert connection._json("/physicalBuffers", {})[0]["size"] == filling.size
        connection.close()


def answered(url: str, path: str) -> tuple[str | None, str]:
    """Databus's name of the error, and the text."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    found = response.headers.get("x-dbus-error"), response.read().decode()
    connection.close()
    return found


def test_commands_are_off_unless_they_are_wanted(filling: Filling) -> None:
    with serving(filling) as url:
        kind, text = answered(url, "/relayCommand/shutdownRelay")
        assert (kind, text) == ("RequestProcessingException", "")


def test_commands(filling: Filling) -> None:
    done: list[str] = []
    with serving(filling, done=done) as url:
        assert answered(url, "/relayCommand/validateRelayBuffer")[1].startswith(
            "Command validateRelayBuffer completed: 3 windows, 9 events, up to SCN 30"
        )
        assert json.loads(answered(url, "/relayCommand/printRelayInfo")[1])["maxScn"] == 30
        answered(url, "/relayCommand/saveMetaInfo")
        answered(url, "/relayCommand/shutdownRelay")
        assert done == ["saved", "ended"]
        assert "is invalid. Valid commands are: saveMetaInfo|" in answered(url, "/relayCommand/x")[1]
        assert "is not there in this relay" in answered(url, "/relayCommand/resetRelayBuffer/it/0?prevScn=1")[1]
        assert "is invalid" in answered(url, "/relayCommand")[1]


def test_a_damaged_buffer_is_reported(filling: Filling) -> None:
    data = filling.buffer._data
    data[40] ^= 1
    with serving(filling, done=[]) as url:
        assert answered(url, "/relayCommand/validateRelayBuffer")[0] == "RequestProcessingException"


def test_clients_are_disconnected_and_go_on(filling: Filling) -> None:
    with serving(filling, done=[]) as url:
        client = Connection(url, name="me")
        assert client.sources()
        assert "1 connections" in answered(url, "/relayCommand/disconnectClients")[1]
        with pytest.raises(OSError, match="closed|reset|ended|pipe|gone|response|bytes"):
            client.sources()
        assert client.sources()
        client.close()


def test_the_relays_figures(filling: Filling) -> None:
    statistics = Statistics()
    statistics.window(30, [insert_event(filling)], 0)
    with serving(filling, statistics) as url:
        client = Connection(url, name="me")
        client.stream(Checkpoint(), 1 << 20, [101])
        text = answered(url, "/metrics")[1]
        client.close()
    for line in (
        "m 1",
        'minercdc_relay_newest_scn{connector="it"} 30.0',
        'minercdc_relay_dropped_scn{connector="it"} 5.0',
        'minercdc_relay_events_total{connector="it",source="a.T"} 1.0',
        'minercdc_relay_requests_total{call="stream",connector="it"} 1.0',
        'minercdc_relay_connections{connector="it"} 2.0',
    ):
        assert line in text.splitlines()


def insert_event(filling: Filling) -> bytes:
    """Bytes of the oldest event in the buffer."""
    state = filling.buffer.state
    return filling.buffer.read(state.head, filling.buffer.end_of_event(state.head))


def test_what_is_no_request(filling: Filling) -> None:
    with serving(filling) as url:
        host, port = url.removeprefix("http://").split(":")
        for text, status in (
            (b"POST /stream HTTP/1.1\r\n\r\n", b"405"),
            (b"nonsense\r\n\r\n", b"400"),
            (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
            (b"GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"421"),
            (b"GET /x HTTP/1.1\r\nHost: localhost:1\r\n\r\n", b"404"),
            (b"GET /health HTTP/1.0\r\n\r\n", b"200"),
            (b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n", b"200"),
        ):
            with socket.create_connection((host, int(port)), 5) as connection:
                connection.sendall(text)
                assert connection.recv(100).split(b" ")[1] == status


def test_more_clients_than_are_served_are_refused_with_503(filling: Filling) -> None:
    with serving(filling, most=1) as url:
        first, second = Connection(url), Connection(url)
        assert first.sources()
        with pytest.raises(OSError, match="503"):
            second.sources()
        first.close()
        second.close()


class Seen:
    """A consumer that keeps what it gets."""

    def __init__(self, stop_at: int) -> None:
        self.stop = threading.Event()
        self.calls: list[object] = []
        self._stop_at = stop_at

    def window_start(self, scn: int) -> None:
        self.calls.append(("start", scn))

    def event(self, change: Change) -> None:
        self.calls.append((change.key, change.deleted, dict(change.row)))

    def window_end(self, checkpoint: Checkpoint) -> None:
        self.calls.append(("end", checkpoint.window_scn))
        if checkpoint.window_scn >= self._stop_at:
            self.stop.set()

    def bootstrap_start(self, scn: int) -> None:
        self.calls = [("snapshot", scn)]

    def bootstrap_end(self, checkpoint: Checkpoint) -> None:
        self.calls.append(("bootstrapped", checkpoint.window_scn))


def run(url: str, stop_at: int = 30, **options: Any) -> list[object]:
    seen = Seen(stop_at)
    store = options.pop("store", None) or MemoryCheckpoints()
    named = {name: options.pop(name) for name in ("sources", "filters", "bootstrap") if name in options}
    RelayClient(url, seen, store, **named, options=ClientOptions(**options)).run(seen.stop)
    return seen.calls


@pytest.mark.parametrize("size", [1, 70, 130, 1 << 20])
def test_a_client_gets_each_window_whole_with_any_buffer(size: int, filling: Filling) -> None:
    with serving(filling) as url:
        calls = run(url, buffer_bytes=size)
    assert [call[1] for call in calls if call[0] in ("start", "end")] == [10, 10, 20, 20, 30, 30]  # type: ignore[index]
    assert [call[0] for call in calls if call[0] not in ("start", "end")] == [1, 2, 3, 4, 5, 6]  # type: ignore[index]


def test_a_client_goes_on_from_the_end_of_its_last_window(filling: Filling, tmp_path: Path) -> None:
    store = FileCheckpoints(tmp_path / "place")
    with serving(filling) as url:
        assert len(run(url, stop_at=20, store=store)) == 8
        assert store.load() == Checkpoint(20, -1, 10, time_ns=store.load().time_ns)  # type: ignore[union-attr]
        assert run(url, store=store)[0] == ("start", 30)


def test_two_clients_share_the_work_by_filters(filling: Filling) -> None:
    keys = []
    with serving(filling) as url:
        for bucket in (0, 1):
            part = {"numBuckets": 2, "bktRange": {"start": bucket, "end": bucket + 1}}
            calls = run(url, filters={"101": {"partitionType": "MOD", "filters": [part]}}, buffer_bytes=70)
            keys.append([call[0] for call in calls if call[0] not in ("start", "end")])  # type: ignore[index]
    assert keys == [[2, 4, 6], [1, 3, 5]]


def test_a_bootstrap_has_the_rows_that_pass_the_filters(filling: Filling) -> None:
    """Of another row the client would never hear again."""

    def snapshot(_: object, sources: Sequence[SourceInfo], consumer: BootstrapConsumer) -> Checkpoint:
        consumer.bootstrap_start(30)
        schema = filling.registry.versions(filling.registry.sources()[0])[0].schema
        for key in (1, 2, 3):
            consumer.event(Change(sources[0].name, key, False, {}, 30, 0, schema))
        consumer.bootstrap_end(Checkpoint(30))
        seen.stop.set()
        return Checkpoint(30)

    part = {"partitionType": "RANGE", "filters": [{"keyRange": {"start": 2, "end": 4}}]}
    with serving(filling) as url:
        for filters, keys in (({"101": part}, [2, 3]), ({"102": part}, [1, 2, 3]), (None, [1, 2, 3])):
            seen = Seen(30)
            options = ClientOptions(bootstrap_first=True)
            RelayClient(url, seen, MemoryCheckpoints(), filters=filters, bootstrap=snapshot, options=options).run(seen.stop)
            assert seen.calls == [("snapshot", 30), *((key, False, {}) for key in keys), ("bootstrapped", 30)]


def test_a_source_that_is_not_there(filling: Filling) -> None:
    with serving(filling) as url, pytest.raises(RelayError, match=r"no source 7, a\.X"):
        run(url, sources=["a.X", 7, "a.T"])


def test_a_client_that_fell_off(filling: Filling) -> None:
    with serving(filling) as url:
        with pytest.raises(FellOffError):
            run(url, store=MemoryCheckpoints(Checkpoint(3)))

        def snapshot(_: object, sources: object, consumer: Seen) -> Checkpoint:
            consumer.bootstrap_start(15)
            consumer.bootstrap_end(Checkpoint(15))
            return Checkpoint(15)

        store = MemoryCheckpoints(Checkpoint(3))
        calls = run(url, store=store, bootstrap=snapshot)
        assert calls[:3] == [("snapshot", 15), ("bootstrapped", 15), ("start", 20)]
        assert run(url, bootstrap=snapshot, bootstrap_first=True)[:2] == [("snapshot", 15), ("bootstrapped", 15)]


def test_damaged_bytes_end_the_client_after_some_tries(filling: Filling) -> None:
    with serving(filling) as url:
        state = filling.buffer.state
        at = state.head + 3 * 61 + 70  # in the second window
        filling.buffer._data[at] ^= 1
        with pytest.raises(RelayDataError, match="damaged|version|says"):
            run(url)


def test_a_client_waits_for_a_relay_that_is_away(filling: Filling, caplog: pytest.LogCaptureFixture) -> None:
    with serving(filling) as url:
        port = int(url.rpartition(":")[2])
    calls: list[object] = []
    thread = threading.Thread(target=lambda: calls.extend(run(url, longest_wait=0.1)))
    thread.start()
    await_true(lambda: sum("again in" in one for one in caplog.messages) >= 2)
    with serving(filling, port=port):
        thread.join(20)
    assert calls[-1] == ("end", 30)


def test_another_version_of_a_schema_is_fetched(filling: Filling) -> None:
    seen = Seen(50)
    with serving(filling) as url:
        thread = threading.Thread(target=RelayClient(url, seen, MemoryCheckpoints()).run, args=(seen.stop,))
        thread.start()
        await_true(lambda: ("end", 30) in seen.calls)
        wider = change(Op.CREATE, None, ("9", "y", "z"), 50)
        columns = (*T.columns, T.columns[1].__class__("MORE", "VARCHAR2", 5))
        wider.schema = T.__class__(T.id, columns, T.key, version=2)
        filling.put(wider)
        filling.commit(complete=50)
        thread.join(20)
    assert seen.calls[-2] == (9, False, {"id": 9, "v": "y", "more": "z"})


class Creating(Seen):
    """At the end of window 30 another table gets its first row."""

    def __init__(self, filling: Filling) -> None:
        super().__init__(50)
        self._filling = filling

    def window_end(self, checkpoint: Checkpoint) -> None:
        super().window_end(checkpoint)
        if checkpoint.window_scn == 30:
            other = replace(T, id=T.id._replace(table="U"))
            self._filling.put(change(Op.CREATE, None, ("9", "new"), 50, table=other))
            self._filling.commit(complete=50)


@pytest.mark.parametrize("sources", [(), ("a.T",)], ids=["all", "one"])
def test_a_client_of_all_sources_gets_a_table_that_is_new(sources: tuple[str, ...], filling: Filling) -> None:
    seen = Creating(filling)
    with serving(filling) as url:
        RelayClient(url, seen, MemoryCheckpoints(), sources=sources).run(seen.stop)
    assert seen.calls[-1] == ("end", 50)
    assert ((9, False, {"id": 9, "v": "new"}) in seen.calls) is not bool(sources)


class Truncating(Creating):
    """And then a table is truncated."""

    def window_end(self, checkpoint: Checkpoint) -> None:
        super().window_end(checkpoint)
        if checkpoint.window_scn == 30:
            for record in self._filling.encoder.encode(SchemaChange(T.id, T, T, "", Scn(55), 0, truncate=True)):
                self._filling.sink.write(record)
        self.stop.clear()

    def bootstrap_end(self, checkpoint: Checkpoint) -> None:
        super().bootstrap_end(checkpoint)
        self.stop.set()


def test_a_bootstrap_has_the_tables_that_came_since_the_client_began(filling: Filling) -> None:
    def snapshot(_: object, sources: Sequence[SourceInfo], consumer: BootstrapConsumer) -> Checkpoint:
        consumer.bootstrap_start(60)
        seen.calls += [source.name for source in sources]
        consumer.bootstrap_end(Checkpoint(60))
        return Checkpoint(60)

    seen = Truncating(filling)
    with serving(filling) as url:
        RelayClient(url, seen, MemoryCheckpoints(), bootstrap=snapshot).run(seen.stop)
    assert seen.calls == [("snapshot", 60), "a.T", "a.U", ("bootstrapped", 60)]


def test_a_chained_relay_has_the_same_bytes_also_after_it_was_overtaken(filling: Filling, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second, stop, ready = Filling(tmp_path / "second"), threading.Event(), threading.Event()
    with serving(filling) as url:
        feed = ChainedFeed(Connection(url), second.store, second.registry, ready.set)
        thread = threading.Thread(target=feed.run, args=(stop,))
        thread.start()
        try:
            await_true(lambda: second.buffer.state.max_scn == 30)
            assert second.events() == filling.events()
            assert second.buffer.state.prev_scn == 5
            assert [one.name for one in second.registry.sources()] == ["a.T"]
            filling.buffer.clear(100)  # as if windows went that it had not read
            filling.put(insert(7, 120))
            filling.commit(complete=120)
            await_true(lambda: second.buffer.state.max_scn == 120)
            assert (second.buffer.state.prev_scn, second.shown()) == (100, [(120, 7), (120, "end")])
        finally:
            stop.set()
            thread.join(20)
    assert second.max_scn.load() == 120


def await_true(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("url", ["relay:1", "ftp://relay:1", "http://relay:port", "http://relay:99999", "http://[::1"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(RelayError, match="is not of the form http://HOST:PORT"):
        Connection(url)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/sources", b'[{"id": "x", "name": "a.T"}]'),
        ("/sources", b"7"),
        ("/register", b'[{"id": 1}]'),
        ("/register", b'[{"id": 1, "version": 1, "schema": "{"}]'),
        ("/bufferInfo/inbound/1/0", b'{"minScn": 1}'),
        ("/bufferInfo/inbound/1/0", b"[]"),
        ("/tables", b'{"a": "b"}'),
        ("/tables", b'"t"'),
    ],
)
def test_an_answer_of_another_service_names_itself(path: str, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Connection("http://localhost:1")
    monkeypatch.setattr(connection, "_get", lambda *_: (None, answer))
    calls: dict[str, Callable[[], object]] = {
        "/sources": connection.sources,
        "/register": lambda: connection.schemas(()),
        "/bufferInfo/inbound/1/0": connection.buffer_info,
        "/tables": connection.tables,
    }
    with pytest.raises(RelayDataError, match=f"http://localhost:1{path} did not answer as a relay does"):
        calls[path]()
