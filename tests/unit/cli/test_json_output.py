"""`--json` of commands whose work takes Spark or a database: what they did, as one document on the standard output, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from minercdc.capture.txlog.installation import Object
from minercdc.cli import app
from minercdc.cli.groups import txlog
from minercdc.cli.lake import commands
from minercdc.lake.maintain.maintenance import Maintained, Maintenance
from minercdc.lake.maintain.rebuild import Rebuilt
from minercdc.lake.source.snapshot import Loaded, Snapshot


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    @contextmanager
    def no_spark(*_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(commands, "_spark", no_spark)
    path = tmp_path / "c.yaml"
    path.write_text(
        "name: c\ntopic.prefix: p\ndatabase.hostname: x\ndatabase.user: u\ndatabase.password: p\ndatabase.dbname: d\n"
        "minercdc.kafka.bootstrap.servers: x:1\n"
    )
    return str(path)


def ran(*arguments: str) -> tuple[int, Any]:
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, json.loads(done.stdout)


def test_tables_that_were_maintained(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Maintained("A.T", (9, 1), (900, 100)), Maintained("A.U", (0, 0), (0, 0), "why")]
    monkeypatch.setattr(Maintenance, "__init__", lambda *_: None)
    monkeypatch.setattr(Maintenance, "run", lambda self, table, done: [one for one in found if not done(one)])
    assert ran("lake", "optimize", file, "--json") == (
        1,
        [
            {"table": "A.T", "files": [9, 1], "bytes": [900, 100], "error": None},
            {"table": "A.U", "files": [0, 0], "bytes": [0, 0], "error": "why"},
        ],
    )


def test_tables_that_were_made_again(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(*_: object, **__: object) -> Iterator[Rebuilt]:
        yield Rebuilt("A.T", 77, 5, "the change log")

    monkeypatch.setattr("minercdc.lake.maintain.rebuild.rebuild_given", again)
    assert ran("lake", "rebuild", file, "--table", "A.T", "--json") == (
        0,
        [{"table": "A.T", "rows": 5, "scn": "77", "source": "the change log"}],
    )


def test_tables_that_were_read(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = (Loaded("A.T", 77, 5, 1.0), Loaded("A.U", 77, 0, 1.0, "why"))
    monkeypatch.setattr("minercdc.operate.offsets.handover.hand_over", lambda *_: SimpleNamespace(scn=77))
    monkeypatch.setattr("minercdc.lake.source.snapshot.snapshot", lambda *_, **__: Snapshot(77, loaded))
    tables = [{"table": "A.T", "rows": 5, "error": None}, {"table": "A.U", "rows": 0, "error": "why"}]
    assert ran("lake", "snapshot", file, "--json") == (1, {"scn": "77", "tables": tables})


@pytest.mark.parametrize(("problem", "status"), [("", 0), ("is invalid", 3)])
def test_objects_of_the_trigger_capture(file: str, monkeypatch: pytest.MonkeyPatch, problem: str, status: int) -> None:
    def objects(*_: object) -> Sequence[Object]:
        return [Object("table SY$TXLOG", ""), Object("trigger T", problem)]

    monkeypatch.setattr(txlog, "_loaded", lambda config: config)
    monkeypatch.setattr(txlog, "_connected", lambda config: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(txlog, "_tables", lambda connection, config: ())
    monkeypatch.setattr("minercdc.capture.txlog.dictionary.read_existing", lambda connection: None)
    monkeypatch.setattr("minercdc.capture.txlog.installation.objects", objects)
    found = [{"object": "table SY$TXLOG", "problem": None}, {"object": "trigger T", "problem": problem or None}]
    assert ran("txlog", "check", file, "--json") == (status, found)
