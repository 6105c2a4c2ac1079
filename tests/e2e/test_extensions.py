"""The page "Write your own": its package is installed and run as it stands there, an adapter, a sink, a format and a transformation."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import oracledb
import pytest
from tests.e2e.connector import PATIENCE_SECONDS, properties, write
from tests.e2e.lab import Lab

PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of a process in which the page's package is installed, as pip installs it into a directory."""
    text, site = PAGE.read_text(), tmp_path / "site"
    for code in re.findall(r"^```python\n# warehouse_cdc/(.*?)^```", text, re.M | re.S):
        name, _, body = code.partition("\n")
        (site / "warehouse_cdc").mkdir(parents=True, exist_ok=True)
        (site / "warehouse_cdc" / name).write_text(body)
    (toml,) = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)
    project = tomllib.loads(toml)["project"]
    info = site / f"warehouse_cdc-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))}


def records(path: Path) -> list[tuple[str, bytes | None, bytes | None]]:
    """What is committed so far; [] before the sink has made its table."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchall():
            return []
        return database.execute("SELECT topic, key, value FROM records ORDER BY rowid").fetchall()


def test_a_package_adds_an_adapter_a_sink_a_format_and_a_transformation(
    make_lab: Callable[..., Lab], tmp_path: Path, environment: dict[str, str]
) -> None:
    lab = make_lab("")
    spool, path = tmp_path / "spool.jsonl", tmp_path / "records.db"
    spool.touch()
    settings = properties(
        lab.server, "", lab.name, lab.directory, schema_include_list=lab.schema, tombstones_on_delete=False
    )
    config = write(
        {name: value for name, value in settings.items() if "kafka" not in name}
        | {
            "database.connection.adapter": "spool",
            "minercdc.adapter.file": spool,
            "debezium.sink.type": "sqlite",
            "debezium.sink.sqlite.path": path,
            "key.converter": "csv",
            "key.converter.separator": ";",
            "transforms": "mine",
            "transforms.mine.type": "only",
            "transforms.mine.topic": lab.topic(),
        },
        tmp_path / "own.yaml",
    )
    changes = [
        {"table": "T", "op": "u", "before": ["1", "initial"], "after": ["1", "changed"]},
        {"table": "T", "op": "d", "before": ["2", "initial"]},
    ]
    keys = [b"0", b"1", b"2"]
    for number in (1, 2):  # the second run goes on where the first one has stopped
        keys += [b"1", b"2"]
        log = tmp_path / f"{number}.log"
        with run_in(environment, config, log) as process:
            if number == 1:
                await_records(path, keys[:3], process, log)
            with lab.server.connect() as connection:
                transaction = {"scn": current_scn(connection), "xid": f"{number:016x}", "changes": changes}
            with spool.open("a") as lines:
                lines.write(json.dumps(transaction) + "\n")
            await_records(path, keys, process, log)
            process.terminate()
            assert process.wait(60) == 0, log.read_text()
    assert [(topic, key) for topic, key, _ in records(path)] == [(lab.topic(), key) for key in keys]
    payloads = [json.loads(value or b"") for _, _, value in records(path)]
    assert [one["op"] for one in payloads] == ["r", "r", "r", "u", "d", "u", "d"]
    assert (payloads[3]["before"], payloads[3]["after"]) == ({"ID": 1, "V": "initial"}, {"ID": 1, "V": "changed"})


@contextmanager
def run_in(environment: dict[str, str], config: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "minercdc", "run", str(config)]
    with log.open("wb") as errors, subprocess.Popen(command, env=environment, stderr=errors) as process:
        try:
            yield process
        finally:
            process.kill()


def current_scn(connection: oracledb.Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE")
        ((scn,),) = cursor.fetchall()
        return int(scn)


def await_records(path: Path, keys: list[bytes], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while [key for _, key, _ in records(path)] != keys:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, (records(path), log.read_text())
        time.sleep(0.02)


def test_what_is_not_installed_is_named(tmp_path: Path, make_lab: Callable[..., Lab], environment: dict[str, str]) -> None:
    lab = make_lab("")
    settings = properties(lab.server, "", lab.name, lab.directory)
    wrong = {
        "database.connection.adapter": "spol",
        "minercdc.adapter.file": "x",
        "transforms": "a",
        "transforms.a.type": "onlz",
    }
    config = write(settings | wrong, tmp_path / "wrong.yaml")
    ended = subprocess.run(
        [sys.executable, "-m", "minercdc", "check", str(config)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert "database.connection.adapter: 'spol' is not one of" in ended.stderr
    assert "did you mean spool?" in ended.stderr
    assert "minercdc.adapter.file: unknown property" in ended.stderr
    assert "transforms.a.type: onlz cannot run here" in ended.stderr
