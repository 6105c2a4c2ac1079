"""A configuration that cannot work is refused at once, with everything that is wrong and exit status 2."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.e2e.connector import MinerCdc, properties, run_to_end, write
from tests.fixtures.fix_sandbox import SandboxProcess

GOOD = {
    "topic.prefix": "p",
    "database.hostname": "127.0.0.1",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
}


@pytest.mark.parametrize("command", ["run", "check", "lake"])
def test_a_misspelt_property_is_named_with_the_right_one(command: str, tmp_path: Path) -> None:
    config = write(GOOD | {"table.include.lists": "A.B", "poll.interval.ms": "soon"}, tmp_path / "c.yaml")
    ended = run_to_end([command, str(config)], tmp_path / "log")
    assert ended.status == 2
    assert "MC-1001: 2 problems in" in ended.errors
    assert "table.include.lists: unknown property; did you mean table.include.list?" in ended.errors
    assert "poll.interval.ms: " in ended.errors
    assert "Traceback" not in ended.errors


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.yaml", None, "No such file"),
        ("broken.yaml", b"a: [1, 2\nb: }", "is not valid yaml"),
    ],
)
def test_an_unreadable_file_is_named(name: str, content: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    ended = run_to_end(["run", str(path)], tmp_path / "log")
    assert ended.status == 2
    assert str(path) in ended.errors
    assert says in ended.errors
    assert "Traceback" not in ended.errors


def test_a_directory_instead_of_a_file(tmp_path: Path) -> None:
    ended = run_to_end(["run", str(tmp_path)], tmp_path / "log")
    assert (ended.status, "Traceback" in ended.errors) == (2, False)
    assert str(tmp_path) in ended.errors


def test_a_wrong_command_line_is_status_2(tmp_path: Path) -> None:
    for arguments in (["run"], ["run", "--fast", "c.yaml"], ["capture"]):
        ended = run_to_end(arguments, tmp_path / "log")
        assert (ended.status, "Traceback" in ended.errors) == (2, False), ended.errors


def test_the_password_never_shows(database: SandboxProcess, tmp_path: Path) -> None:
    settings = properties(database, "127.0.0.1:1", "secret", tmp_path, database_password="s3cr3t!", poll_interval_ms="x")
    ended = run_to_end(["run", "-v", str(write(settings, tmp_path / "c.yaml"))], tmp_path / "log")
    assert ended.status == 2
    assert "s3cr3t!" not in ended.errors + ended.output


@pytest.mark.parametrize("command", ["sandbox", "kafka"])
def test_a_port_in_use_is_one_line(command: str, tmp_path: Path, database: SandboxProcess) -> None:
    arguments = [command, "--port", str(database.port)]
    if command == "kafka":
        arguments += ["--data", str(tmp_path / "kafka")]
    ended = run_to_end(arguments, tmp_path / "log")
    assert ended.status == 1
    assert str(database.port) in ended.errors
    assert "in use" in ended.errors
    assert "Traceback" not in ended.errors
    assert len(ended.errors.strip().splitlines()) <= 2  # the message, and what to do


def test_a_broker_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = run_to_end(["kafka", "--port", "0", "--data", str(tmp_path / "file" / "data")], tmp_path / "log")
    assert (ended.status, "Traceback" in ended.errors) == (1, False)
    assert str(tmp_path / "file") in ended.errors


def test_sandbox_and_broker_end_in_order(tmp_path: Path) -> None:
    for arguments in (["sandbox", "--port", "0"], ["kafka", "--port", "0", "--data", str(tmp_path / "kafka")]):
        with MinerCdc(arguments, tmp_path / f"{arguments[0]}.log") as server:
            server.await_output(r"ready 127\.0\.0\.1:\d+")
            ended = server.stop()
            assert (ended.status, ended.errors) == (0, "stopped\n")


@pytest.mark.usefixtures("own_interpreters")
def test_arguments_and_names_of_files_are_utf_8_where_the_locale_is_ascii(tmp_path: Path) -> None:
    place = {"LC_ALL": "C", "PYTHONUTF8": "0"}
    signals = tmp_path / "Signäle.jsonl"
    given = GOOD | {"name": "n", "signal.enabled.channels": "file", "signal.file": signals}
    config = write(given, tmp_path / "KÄSE.yaml")
    sent = ["signal", str(config), "execute-snapshot", "--collection", "SHOP.KÄSE"]
    ended = run_to_end(sent, tmp_path / "log", environment=place)
    assert (ended.status, ended.errors) == (0, "")
    assert "SHOP.KÄSE" in json.dumps(json.loads(signals.read_text()), ensure_ascii=False)
    refused = run_to_end([*sent[:-1], os.fsdecode(b"SHOP.K\xc4SE")], tmp_path / "log", environment=place)
    assert refused.status == 2
    assert r"argument 5: SHOP.K\xc4SE is not valid text in utf-8" in refused.errors
