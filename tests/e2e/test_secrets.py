"""Nothing that any command prints, logs, serves or packs holds a secret of the configuration, which has one at every place."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab

from minercdc.config.load import load_config
from minercdc.errors import MinerCdcError
from minercdc.local.ports import free_port
from minercdc.oracle.connect import connect

TOKEN = "concealed-token-0123456789"
EVERYWHERE = {
    "minercdc.http.token": TOKEN,
    "minercdc.kafka.client.sasl.password": "concealed-sasl",
    "minercdc.kafka.client.sasl.username": "someone",
    "minercdc.kafka.client.ssl.key.password": "concealed-key",
    "minercdc.kafka.client.sasl.oauthbearer.client.secret": "concealed-oauth",
    "signal.consumer.sasl.password": "concealed-signal",
    "signal.consumer.ssl.truststore.password": "concealed-truststore",
    "key.converter.basic.auth.user.info": "registry:concealed-basic",
    "value.converter.schema.registry.url": "http://user:concealed-url@127.0.0.1:1?apikey=concealed-apikey",
    "minercdc.notification.webhook.url": "http://hook:concealed-hook@127.0.0.1:1/concealed-path",
    "minercdc.opentelemetry.endpoint": "http://otel:concealed-otel@127.0.0.1:1/concealed-tenant/v1/metrics?k=concealed-query",
    "minercdc.opentelemetry.interval.ms": "500",
    "minercdc.kafka.client.sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token?key=concealed-endpoint",
    "column.mask.hash.SHA-256.with.salt.concealed-salt": "X.Y.Z",
    "minercdc.lake.spark.hadoop.fs.s3a.secret.key": "concealed-s3",
    "minercdc.lake.spark.hadoop.fs.azure.account.key.store.dfs.core.windows.net": "concealed-azure",
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "CONFIG"),
    ("verify", "CONFIG"),
    ("config", "CONFIG"),
    ("status", "CONFIG"),
    ("status", "CONFIG", "--json"),
    ("tail", "CONFIG", "--count", "1"),
    ("bundle", "CONFIG", "--output", "bundle.tar.gz"),
    ("offsets", "show", "CONFIG"),
    ("offsets", "export", "CONFIG"),
    ("offsets", "reset", "CONFIG"),
    ("signal", "CONFIG", "log", "x"),
    ("plan", "CONFIG"),
    ("txlog", "install", "CONFIG", "--print"),
    ("record", "CONFIG", "--output", "recording.gz"),
    ("replay", "recording.gz"),
)
LAKE: tuple[tuple[str, ...], ...] = (
    ("lake", "status", "CONFIG"),
    ("lake", "status", "CONFIG", "--json"),
    ("lake", "verify", "CONFIG"),
    ("lake", "optimize", "CONFIG"),
    ("lake", "rebuild", "CONFIG", "NONE.SUCH"),
    ("lake", "show", "CONFIG", "NONE.SUCH"),
)


def written(path: Path, settings: dict[str, str]) -> Path:
    path.write_text(json.dumps(settings))
    return path


def settings_of(lab: Lab) -> dict[str, str]:
    found = {}
    for line in lab.config().read_text().splitlines():
        name, _, value = line.partition(": ")
        found[name] = value.strip('"')
    return found


def outputs(lab: Lab, config: Path, commands: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, str]]:
    for number, command in enumerate(commands):
        arguments = [str(config) if one == "CONFIG" else one for one in command]
        arguments = [str(lab.directory / one) if one.endswith(".gz") else one for one in arguments]
        with MinerCdc(arguments, lab.directory / f"command{number}.log") as running:
            ended = running.await_end(120)  # Spark takes its time
        yield " ".join(command), ended.output + ended.errors


def packed(file: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(file) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            yield member.name, content.read().decode()


def clean(found: Iterator[tuple[str, str]]) -> int:
    seen = 0
    for where, text in found:
        lines = [line for line in text.splitlines() if "concealed" in line]
        assert not lines, f"{where}: {lines[:3]}"
        assert "Traceback" not in text, f"{where}: {text[-2000:]}"
        seen += len(text)
    return seen


@pytest.mark.timeout(240)
def test_while_it_runs(lab: Lab) -> None:
    port = free_port()
    settings = settings_of(lab) | EVERYWHERE | {"minercdc.http.port": str(port), "signal.enabled.channels": "http"}
    settings["notification.enabled.channels"] = "log,webhook"
    config = written(lab.directory / "c.json", settings)
    with MinerCdc(["run", "--verbose", str(config)], lab.directory / "run.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO T VALUES (77, 'a value of a row')")
        lab.topics.await_records(lab.topic(), 4)
        assert clean(outputs(lab, config, COMMANDS)) > 10_000
        recording = gzip.decompress((lab.directory / "recording.gz").read_bytes()).decode()
        assert clean(iter([("recording", recording)])) > 1_000
        bundle = lab.directory / "bundle.tar.gz"
        assert clean(packed(bundle)) > 10_000
        assert not [name for name, text in packed(bundle) if "a value of a row" in text or '"initial"' in text]
        assert {name.rpartition("/")[2] for name, text in packed(bundle) if "unavailable: " in text} <= {"check.txt"}
        for page in ("/", "/api/status", "/api/configuration", "/api/notices", "/metrics", "/health", "/notifications"):
            request = Request(f"http://127.0.0.1:{port}{page}", headers={"Authorization": f"Bearer {TOKEN}"})
            with urlopen(request, timeout=10) as answer:
                assert clean(iter([(page, answer.read().decode())]))
        connector.await_log("encountered while exporting metrics batch")
        connector.stop_in_order()
    assert clean(iter([("log of run", connector.text())])) > 1_000


@pytest.mark.timeout(240)
def test_the_relay(lab: Lab) -> None:
    settings = {name: value for name, value in settings_of(lab).items() if "kafka" not in name}
    taken = {name: value for name, value in EVERYWHERE.items() if not name.startswith("column.mask.")}  # a relay refuses it
    config = written(lab.directory / "relay.json", settings | taken | {"minercdc.relay.port": "0"})
    with MinerCdc(["relay", "--verbose", str(config)], lab.directory / "relay.log") as relay:
        address = relay.await_output(r"ready (\S+:\d+)\n")[1]
        lab.execute("INSERT INTO T VALUES (78, 'a value of a row')")
        pages = (
            "sources",
            "register",
            "operation",
            "health",
            "metrics",
            "bufferInfo/inbound",
            "relayStats/outbound/http/total",
            "no-such",
        )
        answers = [(page, answer_of(f"http://{address}/{page}")) for page in pages]
        assert clean(iter(answers)) > 500
        relay.stop_in_order()
    assert clean(iter([("relay", relay.text())])) > 100


def answer_of(url: str) -> str:
    try:
        with urlopen(url, timeout=10) as answer:
            content: bytes = answer.read()
            return f"{answer.headers}" + content.decode("utf-8", "replace")
    except HTTPError as error:
        return f"{error.headers}" + error.read().decode("utf-8", "replace")


@pytest.mark.timeout(400)
def test_the_lake(lab: Lab) -> None:
    port = free_port()
    settings = (
        settings_of(lab)
        | EVERYWHERE
        | {"minercdc.lake.path": str(lab.directory / "lake"), "minercdc.lake.http.port": str(port)}
    )
    for name in ("client.secret", "token.endpoint.url"):  # librdkafka's: the lake, whose client is Java's, refuses them
        del settings[f"minercdc.kafka.client.sasl.oauthbearer.{name}"]
    config = written(lab.directory / "lake.json", settings)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        with MinerCdc(["lake", "--verbose", str(config)], lab.directory / "lake.log") as lake:
            lake.await_log("all tables are at SCN", 180)
            answers = [(page, answer_of(f"http://127.0.0.1:{port}/{page}")) for page in ("", "metrics", "health")]
            assert clean(iter(answers)) > 100
            lake.stop(timeout=60)
        assert clean(iter([("lake", lake.text())])) > 300
        assert clean(outputs(lab, config, LAKE)) > 300
        connector.stop_in_order()


@pytest.mark.timeout(240)
def test_when_nothing_answers_or_all_is_wrong(lab: Lab) -> None:
    nowhere = {
        "minercdc.kafka.bootstrap.servers": f"127.0.0.1:{free_port()}",
        "minercdc.kafka.timeout.ms": "1000",
        "database.port": str(free_port()),
        "database.password": "concealed-database",
        "errors.max.retries": "0",
    }
    config = written(lab.directory / "nowhere.json", settings_of(lab) | EVERYWHERE | nowhere)
    few = (*COMMANDS[:3], COMMANDS[5], COMMANDS[7], ("run", "CONFIG"))
    assert clean(outputs(lab, config, few)) > 1000
    password = written(lab.directory / "password.json", settings_of(lab) | {"database.password": "concealed-database"})
    assert clean(outputs(lab, password, (("check", "CONFIG"), ("run", "CONFIG"), ("run", "--verbose", "CONFIG")))) > 100
    wrong = {name: value for name, value in EVERYWHERE.items() if name != "minercdc.http.token"}
    wrong |= {
        "minercdc.http.token": "concealed",
        "databse.password": "concealed-misspelt",
        "database.port": "x",
        "snapshot.mode": "no",
    }
    bad = written(lab.directory / "wrong.json", settings_of(lab) | wrong)
    assert clean(outputs(lab, bad, COMMANDS[:6])) > 100


def test_help_shows_no_value_of_the_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_DATABASE_PASSWORD", "concealed-environment")
    helps = tuple(
        (*names, "--help")
        for names in ((), ("run",), ("tail",), ("bundle",), ("plan",), ("offsets", "set"), ("lake", "status"))
    )
    assert clean(outputs(lab, lab.config(), helps)) > 1000
    with_environment = load_config(lab.config())
    assert with_environment.database.database_password.get_secret_value() == "concealed-environment"
    with pytest.raises(MinerCdcError) as caught:
        connect(with_environment.database)
    assert "concealed" not in f"{caught.value!r} {caught.value.__cause__!r}"
