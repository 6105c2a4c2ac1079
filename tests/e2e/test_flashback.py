"""The adapter `flashback` as a user with nothing but SELECT and FLASHBACK runs it, without broker: what was delivered is the table."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab
from tests.e2e.sinks import Written, sink_config, written

PARENT = "CREATE TABLE T (ID NUMBER(9) NOT NULL, V VARCHAR2(40), CONSTRAINT T_PK PRIMARY KEY (ID))"
CHILD = "CREATE TABLE A (ID NUMBER(9) PRIMARY KEY, T NUMBER(9) REFERENCES T (ID), BODY CLOB)"


class FlashbackLab:
    """A schema with a parent and a child, and a reader that may read their versions only."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.reader = f"{lab.schema}_READER"
        with lab.server.connect() as admin, admin.cursor() as cursor:
            cursor.execute(f"create user {self.reader} identified by reader")
            cursor.execute(f"grant create session to {self.reader}")
        self.grant("T")
        self.grant("A")
        self.path = Path()

    def grant(self, table: str) -> None:
        self.lab.execute(f"GRANT SELECT, FLASHBACK ON {table} TO {self.reader}")

    def await_readable(self, seconds: float = 30) -> None:
        """Until the SCN of a time, which is up to three seconds late, is after the DDL so far: tables are in the first window then."""
        deadline = time.monotonic() + seconds
        with self.lab.server.connect("c##minercdc", "minercdc") as admin, admin.cursor() as cursor:
            made = cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE").fetchone()[0]
            while cursor.execute("SELECT TIMESTAMP_TO_SCN(SYSTIMESTAMP) FROM DUAL").fetchone()[0] <= made:
                assert time.monotonic() < deadline, f"no time has an SCN after {made}"
                time.sleep(0.02)

    def config(self, **changes: object) -> Path:
        given: dict[str, object] = {
            "database_connection_adapter": "flashback",
            "database_user": self.reader,
            "database_password": "reader",
            "database_dbname": self.lab.server.service,
            "database_pdb_name": None,
            "snapshot_locking_mode": "none",
            "lob_enabled": True,
            "minercdc_flashback_interval_ms": 50,
            "signal_poll_interval_ms": 100,
            "notification_enabled_channels": "log",
        }
        config, self.path = sink_config(self.lab, "segments", **(given | changes))
        return config

    def rows(self, table: str) -> dict[int, tuple[Any, ...]]:
        with self.lab.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {table}")
            return {row[0]: tuple(v.read() if hasattr(v, "read") else v for v in row) for row in cursor.fetchall()}

    def values(self, table: str) -> list[dict[str, Any]]:
        return [json.loads(one.value() or b"null") for one in self._records(table) if one.value()]

    def folded(self, table: str) -> dict[int, tuple[Any, ...]]:
        """What a reader of the topic holds."""
        found: dict[int, tuple[Any, ...]] = {}
        for one in self._records(table):
            key, value = json.loads(one.key() or b"{}")["ID"], json.loads(one.value() or b"null")
            if value is None or value["op"] == "d":
                found.pop(key, None)
            else:
                found[key] = tuple(value["after"].values())
        return found

    def await_equal(self, *tables: str, connector: MinerCdc, seconds: float = 40) -> None:
        deadline = time.monotonic() + seconds
        for table in tables:
            while (found := self.folded(table)) != (meant := self.rows(table)):
                assert time.monotonic() < deadline, f"{table} is {meant}, its topic {found}:\n{connector.story()}"
                time.sleep(0.02)

    def _records(self, table: str) -> list[Written]:
        topic = self.lab.topic(table)
        return [one for one in written("segments", self.path) if one.topic() == topic]


@pytest.fixture
def flashback(make_lab: Callable[..., Lab]) -> FlashbackLab:
    rows = (
        "INSERT INTO T VALUES (1, 'initial')",
        "INSERT INTO A VALUES (1, 1, 'body')",
        "INSERT INTO T VALUES (2, 'initial')",
    )
    return FlashbackLab(make_lab("", (PARENT, CHILD, *rows)))


def test_select_and_flashback_are_enough(flashback: FlashbackLab) -> None:
    lab = flashback.lab
    config = flashback.config()
    lab.execute(f"REVOKE FLASHBACK ON A FROM {flashback.reader}")
    unprepared = lab.minercdc("check", str(config))
    assert unprepared.status == 3
    assert f'GRANT SELECT, FLASHBACK ON "{lab.schema}"."A" TO {flashback.reader}' in unprepared.output + unprepared.errors
    document = json.loads(lab.minercdc("check", str(config), "--json").output)
    assert document["ready"] is False
    assert ("grant-flashback", "missing") in {(one["rule"], one["severity"]) for one in document["findings"]}
    flashback.grant("A")
    assert lab.minercdc("check", str(config)).status == 0
    flashback.await_readable()
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        flashback.await_equal("T", "A", connector=connector)
        lab.execute(
            "INSERT INTO T VALUES (3, 'new')", "INSERT INTO A VALUES (3, 3, 'of new')", "UPDATE T SET V = 'b' WHERE ID = 1"
        )
        lab.execute("DELETE FROM A WHERE ID = 1", "DELETE FROM T WHERE ID = 1", "UPDATE T SET ID = 20 WHERE ID = 2")
        flashback.await_equal("T", "A", connector=connector)
        connector.stop_in_order()
    changes = [value for value in flashback.values("T") if value["op"] in "cud"]
    assert {value["source"]["txId"] for value in changes} == {
        value["source"]["txId"] for value in flashback.values("A") if value["op"] in "cd"
    }
    assert all(len(value["source"]["txId"]) == 16 and int(value["source"]["commit_scn"]) > 0 for value in changes)
    update = next(value for value in changes if value["op"] == "u")
    assert (update["before"], update["after"]) == ({"ID": 1, "V": "initial"}, {"ID": 1, "V": "b"})
    assert update["source"]["redo_thread"] is None
    order = [
        (one.topic().rpartition(".")[2], value["op"], json.loads(one.key() or b"{}")["ID"])
        for one in written("segments", flashback.path)
        if one.topic().count(".") == 2 and (value := json.loads(one.value() or b"null")) and value["op"] in "cd"
    ]
    assert order.index(("T", "c", 3)) < order.index(("A", "c", 3)), "a parent before its child"
    assert order.index(("A", "d", 1)) < order.index(("T", "d", 1)), "a child goes before its parent"


def test_ddl_demotes_a_table_and_it_joins_again_with_its_deletes(flashback: FlashbackLab) -> None:
    lab = flashback.lab
    with lab.run(flashback.config()) as connector:
        connector.await_log("streaming: ")
        flashback.await_equal("T", connector=connector)
        # DELETE and ALTER come within one window or two: the first is read, or found when the table is read again
        lab.execute("DELETE FROM A", "DELETE FROM T WHERE ID = 2", "ALTER TABLE T ADD (MORE NUMBER(3) DEFAULT 7)")
        lab.execute("INSERT INTO T VALUES (5, 'five', 5)")
        connector.await_log("joins|PROMOTED")
        flashback.await_equal("T", "A", connector=connector)
        lab.execute("UPDATE T SET MORE = 8 WHERE ID = 5", "DELETE FROM T WHERE ID = 1")
        flashback.await_equal("T", connector=connector)
        lab.execute("TRUNCATE TABLE A")
        lab.execute("INSERT INTO A VALUES (9, 5, NULL)")
        flashback.await_equal("A", connector=connector)
        lab.execute("CREATE INDEX T_MORE ON T (MORE)", "UPDATE T SET V = 'indexed'")
        flashback.await_equal("T", connector=connector)
        connector.stop_in_order()


SIGNALS = "CREATE TABLE DEBEZIUM_SIGNAL (ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048))"


def test_signals_by_table_and_ad_hoc_snapshots(flashback: FlashbackLab) -> None:
    lab = flashback.lab
    lab.execute(SIGNALS)
    flashback.grant("DEBEZIUM_SIGNAL")
    flashback.await_readable()
    table = f"{lab.server.service}.{lab.schema}"
    config = flashback.config(
        signal_data_collection=f"{table}.DEBEZIUM_SIGNAL", snapshot_mode="no_data", incremental_snapshot_chunk_size=1
    )
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        for kind in ("incremental", "blocking"):
            data = json.dumps({"data-collections": [f"{table}.T"], "type": kind})
            lab.execute(f"INSERT INTO DEBEZIUM_SIGNAL VALUES ('{kind}', 'execute-snapshot', '{data}')")
            connector.await_log(f'"id": "{kind}", "type": "COMPLETED", "aggregate_type": "Signal"')
            lab.execute(f"INSERT INTO T VALUES ({len(kind)}, '{kind}')")
            flashback.await_equal("T", connector=connector)
        connector.stop_in_order()
    assert [value["op"] for value in flashback.values("T")] == ["r", "r", "c", "r", "r", "r", "c"]


def test_a_table_that_is_created_later(flashback: FlashbackLab) -> None:
    lab = flashback.lab
    with lab.run(flashback.config()) as connector:
        connector.await_log("streaming: ")
        lab.execute("CREATE TABLE LATER (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(9))", "INSERT INTO LATER VALUES (1, 'a')")
        flashback.grant("LATER")
        lab.execute("INSERT INTO LATER VALUES (2, 'b')", "UPDATE LATER SET V = 'c' WHERE ID = 1")
        flashback.await_equal("LATER", connector=connector)
        lab.execute("DROP TABLE LATER")
        lab.execute("INSERT INTO T VALUES (7, 'on')")
        flashback.await_equal("T", connector=connector)
        connector.stop_in_order()


def test_killed_anywhere_the_topics_are_the_tables(flashback: FlashbackLab) -> None:
    """Work goes on, DDL comes now and then, undo is short, and the connector is killed."""
    lab, chance, stop = flashback.lab, random.Random(4), threading.Event()
    config = flashback.config(minercdc_kafka_transaction_max_records=7, incremental_snapshot_chunk_size=5)

    def work() -> None:
        number = 100
        while not stop.is_set():
            number += 1
            some = [f"INSERT INTO T VALUES ({number}, 'n')", f"INSERT INTO A VALUES ({number}, {number}, NULL)"]
            if chance.random() < 0.4:
                gone = chance.randrange(100, number)
                some += [f"DELETE FROM A WHERE T = {gone}", f"DELETE FROM T WHERE ID = {gone}"]
            if chance.random() < 0.3:
                some += [f"UPDATE T SET V = 'u{number}' WHERE ID > {number - 20}"]
            if chance.random() < 0.05:
                some += [
                    chance.choice(["ALTER TABLE A MODIFY (BODY DEFAULT NULL)", "ALTER TABLE T MODIFY (V VARCHAR2(50))"])
                ]
            lab.execute(*some)
            time.sleep(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for kill in range(6):
            with lab.run(config, log=f"run{kill}.log") as connector:
                connector.await_log("(snapshot|streaming): " if kill < 2 else "streaming: ")
                time.sleep(chance.random() * 1.5)
                connector.kill()
    finally:
        stop.set()
        worker.join()
    with lab.run(config, log="last.log") as connector:
        flashback.await_equal("T", "A", connector=connector)
        connector.stop_in_order()
