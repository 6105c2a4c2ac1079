"""What docs/capture/txlog.md has one type, typed, and a connector that is killed again and again: its topic is the table."""

from __future__ import annotations

import json
import random
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.e2e.connector import MinerCdc, run_to_end
from tests.e2e.sinks import written
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.load import load_config
from minercdc.local.ports import free_port

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "capture" / "txlog.md").read_text(encoding="utf-8")


@pytest.fixture
def shop() -> Iterator[SandboxProcess]:
    """The examples' tables, and the rights that the page has an administrator grant."""
    running = SandboxProcess([ROOT / "signals" / "shop.sql"])
    try:
        with running.connect() as admin, admin.cursor() as cursor:
            for statement in _block("sql").split(";"):
                if statement.strip():
                    cursor.execute(statement)
        yield running
    finally:
        running.stop()


def _block(language: str) -> str:
    found = re.search(rf"(?ms)^```{language}\n(.*?)^```", PAGE.partition("\n## Install\n")[2])
    assert found is not None
    return found[1]


class Example:
    """connectors/txlog.yaml with a sink of segments, where the servers are, and its own directory."""

    def __init__(self, shop: SandboxProcess, directory: Path) -> None:
        self.shop, self.directory = shop, directory
        self.config, self.segments = directory / "txlog.yaml", directory / "segments"
        text = (ROOT / "connectors" / "txlog.yaml").read_text(encoding="utf-8")
        more = {
            "minercdc.state.dir": directory / "state",
            "debezium.sink.type": "segments",
            "minercdc.sink.path": self.segments,
            "minercdc.txlog.interval.ms": 30,
            "minercdc.txlog.soft.delete": "STATUS:GONE",
        }
        kept = [
            line for line in text.splitlines() if line.partition(":")[0] not in (*more, "minercdc.kafka.bootstrap.servers")
        ]
        self.config.write_text("\n".join([*kept, *(f"{name}: {value}" for name, value in more.items())]) + "\n")
        self.environment = {
            "MINERCDC_PASSWORD": "shop",
            "MINERCDC_DATABASE_HOSTNAME": shop.host,
            "MINERCDC_DATABASE_PORT": str(shop.port),
        }

    def arguments(self, line: str) -> list[str]:
        words = shlex.split(line.replace("connectors/txlog.yaml", str(self.config)), comments=True)
        return words[words.index("minercdc") + 1 :]

    def command(self, line: str) -> str:
        ended = run_to_end(self.arguments(line), self.directory / "command.log", environment=self.environment)
        assert ended.status == 0, ended
        return ended.output

    def orders(self) -> dict[int, tuple[Any, ...]]:
        """What a reader of the topic holds."""
        found: dict[int, tuple[Any, ...]] = {}
        for one in written("segments", self.segments):
            if one.topic() != "shop.SHOP.ORDERS":
                continue
            key, value = json.loads(one.key() or b"{}")["ORDER_ID"], json.loads(one.value() or b"null")
            after = value["after"] if value is not None else None
            if after is None or after["STATUS"] == "GONE":  # the snapshot reads marked rows as they are
                found.pop(key, None)
            else:
                found[key] = (after["ORDER_ID"], after["CUSTOMER_ID"], after["STATUS"])
        return found

    def table(self) -> dict[int, tuple[Any, ...]]:
        with closing(self.shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
            cursor.execute("select order_id, customer_id, status from orders where status <> 'GONE'")
            return {row[0]: row for row in cursor}

    def await_equal(self, connector: MinerCdc) -> None:
        deadline = time.monotonic() + 40
        while (found := self.orders()) != (meant := self.table()):
            assert time.monotonic() < deadline, f"the table is {meant}, its topic {found}\n{connector.story()}"
            time.sleep(0.02)


def test_the_example_is_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_PASSWORD", "x")
    loaded = load_config(ROOT / "connectors" / "txlog.yaml")
    assert loaded.database.database_connection_adapter == "txlog"
    assert not loaded.ignored


def test_the_page_line_by_line(shop: SandboxProcess, tmp_path: Path) -> None:
    example = Example(shop, tmp_path)
    prints, install, check, run, remove = _block("sh").splitlines()
    script = example.command(prints)
    assert "CREATE OR REPLACE PACKAGE BODY SYNC_CORE" in script
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        before = set(cursor.execute("select object_type, object_name from user_objects"))
        assert not any(name.startswith("SY") and "SYS_" not in name for _, name in before), "--print changes nothing"
        example.command(install)
        assert "exist, valid and current" in example.command(check)
        with MinerCdc(example.arguments(run), tmp_path / "run.log", environment=example.environment) as connector:
            connector.await_log("streaming", 60)
            cursor.execute("insert into orders values (13, 1, 'NEW')")
            connection.commit()
            cursor.execute("update orders set status = 'GONE' where order_id = 10")
            connection.commit()
            example.await_equal(connector)
            connector.stop_in_order()
        unread = tmp_path / "unread.yaml"
        unread.write_text(example.config.read_text().replace(str(example.segments), str(tmp_path / "unread")))
        both = example.arguments(f"minercdc txlog purge connectors/txlog.yaml {unread}")
        refused = run_to_end(both, tmp_path / "purge.log", environment=example.environment)
        assert refused.status != 0
        assert "has no offset yet" in refused.errors, refused
        purged = example.command("minercdc txlog purge connectors/txlog.yaml")
        assert re.fullmatch(r"removed [12] transactions up to SCN \d+, which \S+ delivered\n", purged)
        example.command(remove)
        assert set(cursor.execute("select object_type, object_name from user_objects")) == before


def test_the_printed_script_makes_what_install_makes(shop: SandboxProcess, tmp_path: Path) -> None:
    example = Example(shop, tmp_path)
    script = example.command("minercdc txlog install --print connectors/txlog.yaml")
    _run_script(shop, script)
    assert "nothing to do" in example.command("minercdc txlog install connectors/txlog.yaml")


def _run_script(shop: SandboxProcess, script: str) -> None:
    """As SQL*Plus reads it: statements end with `;`, blocks with a line `/`; WHENEVER is a command of its own."""
    assert "WHENEVER SQLERROR EXIT FAILURE ROLLBACK\n" in script
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        lines: list[str] = []
        for line in script.splitlines():
            if not lines and (not line.strip() or line.startswith(("--", "WHENEVER "))):
                continue
            block = lines and re.match(r"BEGIN|CREATE OR REPLACE (PACKAGE|TRIGGER)", lines[0])
            if block and line == "/":
                cursor.execute("\n".join(lines))
                lines = []
                continue
            lines.append(line)
            if not re.match(r"BEGIN|CREATE OR REPLACE (PACKAGE|TRIGGER)", lines[0]) and line.endswith(";"):
                cursor.execute("\n".join(lines)[:-1])
                lines = []


def test_the_script_that_is_printed_without_a_database_works(shop: SandboxProcess, tmp_path: Path) -> None:
    example = Example(shop, tmp_path)
    with example.config.open("a") as file:
        file.write("table.include.list: SHOP.ORDERS,SHOP.CUSTOMERS\n")
    away = {**example.environment, "MINERCDC_DATABASE_PORT": str(free_port())}
    line = example.arguments("minercdc txlog install --print connectors/txlog.yaml")
    ended = run_to_end(line, tmp_path / "print.log", environment=away)
    assert ended.status == 0, ended
    _run_script(shop, ended.output)
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        cursor.execute("insert into orders values (13, 1, 'NEW')")
        assert cursor.execute("select txn, order_id, status from sy$orders where txn is not null").fetchall() == [
            (1000, 13, "NEW")
        ]
        connection.commit()
    made = example.command("minercdc txlog install connectors/txlog.yaml")
    assert made.splitlines() == [
        *(f"view SY${name}: another version: the table's columns changed" for name in ("CUSTOMERS", "ORDERS")),
        "installed",
    ]
    assert "exist, valid and current" in example.command("minercdc txlog check connectors/txlog.yaml")


def test_the_script_ends_at_a_column_that_is_the_tables_own(shop: SandboxProcess, tmp_path: Path) -> None:
    example = Example(shop, tmp_path)
    script = example.command("minercdc txlog install --print connectors/txlog.yaml")
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        cursor.execute("alter table orders add (txn number)")
        with pytest.raises(oracledb.DatabaseError, match="ORA-01430"):
            _run_script(shop, script)
        assert cursor.execute("select name from sy$sources where name = 'ORDERS'").fetchall() == []


def test_killed_again_and_again_the_topic_is_the_table(shop: SandboxProcess, tmp_path: Path) -> None:
    example, chance = Example(shop, tmp_path), random.Random(4)
    example.command("minercdc txlog install connectors/txlog.yaml")
    arguments = [*example.arguments("minercdc run connectors/txlog.yaml"), "--log-interval", "0.2"]
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        for number in range(5):
            with MinerCdc(arguments, tmp_path / f"run{number}.log", environment=example.environment) as connector:
                connector.await_log("streaming: ", 60)
                until = time.monotonic() + chance.random()
                while time.monotonic() < until:
                    _work(cursor, chance)
                    connection.commit() if chance.random() < 0.8 else connection.rollback()
                if number < 4:
                    connector.kill()
                else:
                    example.await_equal(connector)
                    connector.stop_in_order()
    places: list[tuple[int, str]] = []
    for one in written("segments", example.segments):
        value = json.loads(one.value() or b"null") if one.topic() == "shop.SHOP.ORDERS" else None
        if value is not None and value["op"] != "r":
            places.append((int(value["source"]["commit_scn"]), value["source"]["txId"] + (one.key() or b"").decode()))
    assert len(places) == len(set(places)), "a row came twice under one transaction"
    assert [scn for scn, _ in places] == sorted(scn for scn, _ in places)


@pytest.mark.parametrize("strategy", ["scn", "insert_insert"])
def test_a_signal_in_the_table_brings_rows(shop: SandboxProcess, tmp_path: Path, strategy: str) -> None:
    example = Example(shop, tmp_path)
    more = {
        "table.include.list": "SHOP.ORDERS",
        "signal.data.collection": f"{shop.service}.SHOP.SIGNALS",
        "incremental.snapshot.watermarking.strategy": strategy,
        "snapshot.mode": "no_data",
    }
    with example.config.open("a") as file:
        file.write("".join(f"{name}: {value}\n" for name, value in more.items()))
    data = json.dumps({"data-collections": [f"{shop.service}.SHOP.ORDERS"]})
    with closing(shop.connect("shop", "shop")) as connection, connection.cursor() as cursor:
        cursor.execute("create table signals (id varchar2(42) primary key, type varchar2(32) not null, data varchar2(2048))")
        assert "view SY$SIGNALS" in example.command("minercdc txlog install connectors/txlog.yaml")
        arguments = example.arguments("minercdc run connectors/txlog.yaml")
        with MinerCdc(arguments, tmp_path / "run.log", environment=example.environment) as connector:
            connector.await_log("streaming", 60)
            assert example.orders() == {}
            cursor.execute("insert into signals values ('one', 'execute-snapshot', :1)", [data])
            connection.commit()
            example.await_equal(connector)
            connector.stop_in_order()


def _work(cursor: oracledb.Cursor, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 4)):
        order = chance.randrange(100, 140)
        cursor.execute(
            "update orders set status = :1, customer_id = :2 where order_id = :3",
            [chance.choice(("NEW", "SENT", "GONE")), chance.randrange(9), order],
        )
        if not cursor.rowcount:
            cursor.execute("insert into orders values (:1, :2, 'NEW')", [order, chance.randrange(9)])
