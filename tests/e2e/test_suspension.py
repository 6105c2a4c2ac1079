"""A table that cannot be decoded, from its first bad row to the last delete of its re-read: the topic is the table again."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

import pytest
from tests.e2e.lab import LOGGED, Lab
from tests.e2e.test_signals import answers_to, data_of, insert_signal, signalling
from tests.e2e.topics import Read

from minercdc.local.ports import free_port

OTHER = ("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))", LOGGED.format("U"))
UNLOG = "ALTER TABLE T DROP SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


def folded(records: list[Read]) -> dict[int, str | None]:
    """What a reader of the topic holds."""
    rows: dict[int, str | None] = {}
    for record in records:
        if record.value is None or record.value["op"] == "d":
            rows.pop(record.key["ID"], None)
        else:
            rows[record.key["ID"]] = record.value["after"]["V"]
    return rows


def source(lab: Lab, table: str = "T") -> dict[int, str | None]:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT ID, V FROM {table}")
        return dict(cursor.fetchall())


def await_equal(lab: Lab, table: str = "T", timeout: float = 40) -> None:
    lab.topics.await_records(lab.topic(table), lambda records: folded(records) == source(lab, table), timeout)


def await_notice(lab: Lab, type_: str, identity: str = "") -> dict[str, Any]:
    """A notification about a table."""

    def found(records: list[Read]) -> list[dict[str, Any]]:
        values = [r.value for r in records if r.value and r.value["aggregate_type"] == "Table"]
        return [v for v in values if v["type"] == type_ and identity in ("", v["id"])]

    return found(lab.topics.await_records(f"{lab.name}-notifications", lambda records: bool(found(records))))[-1]


def health(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_a_suspended_table_is_read_again_with_its_deletes(lab: Lab, adapter: str) -> None:
    lab.execute(*OTHER, "INSERT INTO U VALUES (1, 'u')")
    port = free_port()
    config = lab.config(
        **signalling(
            lab,
            **{
                "database.connection.adapter": adapter,
                "signal.enabled.channels": "source,http",
                "signal.poll.interval.ms": 100,
                "snapshot.mode": "initial",
                "minercdc.http.port": port,
                "minercdc.dead.letter.topic": f"{lab.name}-dead",
            },
        )
    )
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        await_equal(lab)
        lab.execute(UNLOG)
        connector.await_log(rf"WARNING .*{lab.schema}\.T: supplemental logging is missing.*ADD SUPPLEMENTAL LOG DATA")
        lab.execute(
            "INSERT INTO T VALUES (7, 'known')",
            "UPDATE T SET V = 'unknown' WHERE ID = 1",
            "INSERT INTO T VALUES (8, 'left out')",
            "INSERT INTO U VALUES (2, 'goes on')",
        )
        lab.execute("DELETE FROM T WHERE ID IN (0, 7)", "INSERT INTO U VALUES (3, 'goes on')")
        await_equal(lab, "U")
        notice = await_notice(lab, "SUSPENDED")
        assert notice["additional_data"]["code"] == "MC-4302"
        assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in notice["additional_data"]["fix"]
        assert folded(lab.topics.records(lab.topic())) == {0: "initial", 1: "initial", 2: "initial", 7: "known"}
        shown = health(port)
        assert shown["status"] == "DEGRADED"
        assert [one["table"] for one in shown["suspended"]] == [f"{lab.schema}.T"]
        insert_signal(lab, "early", "resume-table", **{"data-collections": [f"{lab.schema}.T"]})
        records = lab.topics.await_records(
            f"{lab.name}-notifications", lambda found: ("Signal", "REFUSED") in answers_to(found, "early")
        )
        assert "ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS" in data_of(records, "early", "REFUSED")["reason"]
        insert_signal(lab, "refused", "execute-snapshot", **{"data-collections": [f"{lab.schema}.T"]})
        lab.topics.await_records(
            f"{lab.name}-notifications", lambda found: ("Signal", "REFUSED") in answers_to(found, "refused")
        )
        connector.kill()
    with lab.run(config, log="again.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("UPDATE T SET V = 'while suspended' WHERE ID = 2")
        lab.execute(LOGGED.format("T"))
        resumed = await_notice(lab, "RESUMED")
        assert resumed["additional_data"]["vanished_rows"] == "2", "redo of 0 and 7 holds no more than a ROWID"
        await_equal(lab)
        lab.execute("INSERT INTO T VALUES (9, 'new')", "DELETE FROM T WHERE ID = 8")
        await_equal(lab)
        assert health(port)["status"] == "UP"
        connector.stop_in_order()
    letters = [r.value for r in lab.topics.records(f"{lab.name}-dead") if r.value]
    assert len(letters) >= 4
    assert all(letter["redo_sql"] or letter.get("after") or letter.get("before") for letter in letters)
    deletes = [
        r
        for r in lab.topics.records(lab.topic())
        if r.value and r.value["op"] == "d" and r.value["source"]["snapshot"] == "incremental"
    ]
    assert sorted(r.key["ID"] for r in deletes) == [0, 7]
    assert all(r.value["before"] == {"ID": r.key["ID"], "V": None} and r.value["after"] is None for r in deletes)


BEYOND = "TIMESTAMP '9999-12-31 23:59:59.000000001'"  # no 64 bits hold its nanoseconds


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_a_transaction_that_was_open_during_the_repair_is_not_lost(lab: Lab, adapter: str) -> None:
    """A row of it cannot be decoded, and it is committed when the table has been read again: it is read once more."""
    lab.execute("ALTER TABLE T ADD (AT TIMESTAMP(9))")
    config = lab.config(**signalling(lab, **{"snapshot.mode": "initial", "database.connection.adapter": adapter}))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        await_equal(lab)
        with lab.connect() as slow, slow.cursor() as cursor:
            lab.execute(f"INSERT INTO T VALUES (50, 'bad', {BEYOND})")
            await_notice(lab, "SUSPENDED")
            lab.execute("DELETE FROM T WHERE ID = 50")
            cursor.execute(f"INSERT INTO T VALUES (60, 'bad', {BEYOND})")
            cursor.execute("UPDATE T SET V = 'by the slow one' WHERE ID = 1")
            cursor.execute("DELETE FROM T WHERE ID IN (2, 60)")
            insert_signal(lab, "resume", "resume-table", **{"data-collections": [f"{lab.schema}.T"]})
            await_notice(lab, "RESUMED", "resume")
            lab.execute("INSERT INTO T (ID, V) VALUES (5, 'later')")
            await_equal(lab)
            slow.commit()
        await_equal(lab)
        connector.await_log("written before the repair")
        lab.execute(f"INSERT INTO T VALUES (70, 'bad', {BEYOND})")
        connector.await_log("(?s)IS SUSPENDED.*IS SUSPENDED")
        text = connector.text()
        connector.stop_in_order()
    assert text.count("IS SUSPENDED") == 2, "once for the first bad row, once for the last"


def test_a_connector_that_is_killed_again_and_again_while_it_reads_a_table_again_ends_equal(lab: Lab) -> None:
    lab.insert(1000, 400)
    lab.execute(UNLOG)
    given = {
        "snapshot.mode": "initial",
        "incremental.snapshot.chunk.size": 5,
        "minercdc.kafka.transaction.max.records": 50,
    }
    config = lab.config(**signalling(lab, **given))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        await_equal(lab)
        lab.execute("DELETE FROM T WHERE ID BETWEEN 1000 AND 1099", "UPDATE T SET V = 'u' WHERE ID > 1300")
        await_notice(lab, "SUSPENDED")
        lab.execute(LOGGED.format("T"))
        connector.await_log("is read again, for SCN")
        connector.kill()
    for run in range(2):
        with lab.run(config, log=f"{run}.log") as connector:
            connector.await_log("streaming from")
            lab.execute(f"UPDATE T SET V = 'run {run}' WHERE ID = 1350", f"DELETE FROM T WHERE ID = {1200 + run}")
            time.sleep(0.15 * run)
            connector.kill()
    with lab.run(config, log="last.log") as connector:
        await_notice(lab, "RESUMED")
        await_equal(lab)
        connector.stop_in_order()
