"""A transaction that is open while the connector is killed and the redo of its beginning is deleted."""

from __future__ import annotations

import re
import time
from contextlib import closing
from typing import Any

import pytest
from tests.e2e.lab import Lab
from tests.kafka.consume import read_committed


def await_deleted(lab: Lab) -> None:
    """Until all copies in Kafka are deleted: that comes after the commit which delivers their rows."""
    deadline = time.monotonic() + 120
    while True:
        copied = {one.key(): one.value() for one in read_committed(lab.brokers, f"{lab.name}-open-transactions")}
        assert copied
        if not any(copied.values()):
            return
        assert time.monotonic() < deadline, f"copies are left: {list(copied)}"
        time.sleep(0.02)


@pytest.mark.parametrize("durable", ["disk", "topic"])
def test_its_rows_survive_a_kill_and_the_deletion_of_their_redo(lab: Lab, durable: str) -> None:
    """With copies in a topic, the start after the kill is on another machine."""
    settings: dict[str, Any] = {
        "minercdc_log_mining_buffer_durable": durable,
        "minercdc_log_mining_buffer_durable_after_ms": 1,
    }
    config = lab.config(poll_interval_ms=50, **settings)
    with closing(lab.connect()) as session, closing(lab.server.connect(service=lab.server.root_service)) as admin:
        cursor, switch = session.cursor(), admin.cursor()
        with lab.run(config) as connector:
            connector.await_log("streaming: ")
            cursor.executemany("INSERT INTO T VALUES (:1, 'long')", [(n,) for n in range(100, 200)])
            shown, key = "", 1000
            while "kept transaction: " not in shown:
                assert key < 1060, shown
                for _ in range(3):
                    key += 1
                    lab.execute(f"INSERT INTO T VALUES ({key}, 'short')")
                    switch.execute("ALTER SYSTEM SWITCH LOGFILE")
                    lab.topics.await_records(lab.topic(), 3 + key - 1000)
                shown = lab.minercdc("offsets", "show", str(config)).output
            connector.kill()
        assert f"user {lab.schema}, " in shown
        assert "100 rows in " in shown
        shown = lab.minercdc("offsets", "show", str(config)).output
        at = re.search(r"reads on from: thread 1 at redo address 0x([0-9a-f]+)\.", shown)
        assert at
        switch.execute("SELECT SEQUENCE# FROM V$ARCHIVED_LOG WHERE DELETED = 'NO' AND SEQUENCE# < :1", [int(at[1], 16)])
        for (sequence,) in switch.fetchall():
            switch.callproc("DBMS_SANDBOX.PURGE_LOG", [1, sequence])
        cursor.execute("UPDATE T SET V = 'end' WHERE ID = 150")
        session.commit()
        if durable == "topic":
            state = lab.directory / "state of another machine"
            config = lab.config("another.yaml", poll_interval_ms=50, minercdc_state_dir=state, **settings)
        with lab.run(config, log="again.log") as connector:
            lab.topics.await_records(lab.topic(), 3 + key - 1000 + 101)
            if durable == "topic":
                connector.await_log("restored from its copy in Kafka")
                await_deleted(lab)
            connector.stop_in_order()
    found = [(one.value["op"], one.key["ID"]) for one in lab.topics.records(lab.topic()) if one.key["ID"] < 1000]
    assert found[3:] == [*(("c", n) for n in range(100, 200)), ("u", 150)]
