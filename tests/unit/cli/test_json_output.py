"""`--json`: what a command did or knows, as one document on the standard output, and the exit status."""

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
from minercdc.schema.table import TableId
from minercdc.stream.contracts import Record


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
    monkeypatch.setattr(Maintenance, "refuse_absent", lambda _: None)
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


def test_objects_that_were_made_and_removed(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def done(*given: Any) -> int:
        given[-1]("table SY$TXLOG")
        return 1

    monkeypatch.setattr(txlog, "_loaded", lambda config: config)
    monkeypatch.setattr(txlog, "_connected", lambda config: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(txlog, "_tables", lambda connection, config: ())
    monkeypatch.setattr("minercdc.capture.txlog.installation.install", done)
    monkeypatch.setattr("minercdc.capture.txlog.installation.remove", done)
    assert ran("txlog", "install", file, "--json") == (0, {"installed": ["table SY$TXLOG"]})
    assert ran("txlog", "remove", file, "--json") == (0, {"removed": ["table SY$TXLOG"]})


def test_the_sql_of_objects(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(txlog, "_loaded", lambda config: config)
    monkeypatch.setattr(txlog, "_script", lambda config: "CREATE TABLE T (ID NUMBER);\n")
    assert ran("txlog", "install", file, "--print", "--json") == (0, {"sql": "CREATE TABLE T (ID NUMBER);\n"})


def test_rows_of_the_log_that_were_purged(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SimpleNamespace(identity=SimpleNamespace(name="c"))
    monkeypatch.setattr(txlog, "_loaded", lambda config: reader)
    monkeypatch.setattr(txlog, "_read_up_to", lambda config: 900)
    monkeypatch.setattr(txlog, "_owner", lambda config: "SHOP")
    monkeypatch.setattr(txlog, "_connected", lambda config: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr("minercdc.capture.txlog.purge.purge", lambda connection, owner, scn: 7)
    assert ran("txlog", "purge", file, "--json") == (0, {"transactions": 7, "scn": "900", "readers": ["c"]})


def test_the_archive_of_a_bug_report(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minercdc.operate.bundle.write_bundle", lambda config, given, output: ["config.txt", "plan.txt"])
    assert ran("bundle", file, "--output", "b.tar.gz", "--json") == (
        0,
        {"file": "b.tar.gz", "members": ["config.txt", "plan.txt"]},
    )


def test_records_of_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(file: Path, take: Any) -> Any:
        take(Record("p.A.T", b'{"ID":1}', b'{"op":"c"}'))
        take(Record("p.A.T", b'{"ID":1}', None))
        return SimpleNamespace(differences=[], tally=SimpleNamespace(topics={"p.A.T": 2}), error=None)

    monkeypatch.setattr("minercdc.operate.recording.replaying.replay", decode)
    done = CliRunner().invoke(app, ["replay", str(tmp_path / "r.gz"), "--json"])
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"topic": "p.A.T", "key": '{"ID":1}', "value": '{"op":"c"}'},
        {"topic": "p.A.T", "key": '{"ID":1}', "value": None},
    ]


def test_a_first_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_PASSWORD", "x")
    there = {TableId("PDB", "SHOP", "ORDERS"): 12}
    monkeypatch.setattr("minercdc.operate.first_configuration.tables_there", lambda *_: there)
    path = tmp_path / "orders.yaml"
    given = ["--host", "h", "--service", "ORCLCDB", "--pdb", "PDB", "--user", "C##M", "--brokers", "b:1", "--json"]
    status, document = ran("init", str(path), *given)
    assert status == 0
    assert document["file"] == str(path)
    assert document["schemas"] == [{"schema": "SHOP", "tables": 1, "rows": 12}]
    assert any("ORDERS" in statement for statement in document["grants"])
    assert path.exists()


def test_properties_types_codes_and_rules() -> None:
    status, properties = ran("config", "--json")
    assert status == 0
    by_name = {one["property"]: one for one in properties}
    assert by_name["topic.prefix"]["required"]
    assert by_name["decimal.handling.mode"]["default"] == "precise"
    _, types = ran("types", "--json")
    assert {"oracle": "NUMBER(4)", "topic": "int16", "example": "1234", "spark": "SMALLINT"}.items() <= {
        one["oracle"]: one for one in types
    }["NUMBER(4)"].items()
    _, codes = ran("errors", "--json")
    assert {"code": "ORA-01291", "becomes": "MC-3201"}.items() <= {one["code"]: one for one in codes["oracle"]}[
        "ORA-01291"
    ].items()
    assert "MC-3301" in {one["code"] for one in codes["codes"]}
    _, rules = ran("check", "--rules", "--json")
    assert all(one["rule"] and one["repair"] for one in rules)
