"""Signals as users send them: into the signal table, a topic, a file, by HTTP and by `minercdc signal`."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.lab import LOGGED, Lab
from tests.e2e.topics import Read

ROWS = 2_500


def signalling(lab: Lab, **changes: object) -> dict[str, Any]:
    """A signal table of the connector's user, and a topic for notifications."""
    with lab.server.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE SIGNAL_{lab.schema} (ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32) NOT NULL, DATA VARCHAR2(2048))"
        )
        cursor.execute(LOGGED.format(f"SIGNAL_{lab.schema}"))
    return {
        "signal.data.collection": f"{lab.server.service}.C##MINERCDC.SIGNAL_{lab.schema}",
        "incremental.snapshot.chunk.size": 100,
        "notification.enabled.channels": "sink,log",
        "notification.sink.topic.name": f"{lab.name}-notifications",
        "snapshot.mode": "no_data",
        **changes,
    }


def insert_signal(lab: Lab, identity: str, kind: str, **data: object) -> None:
    with lab.server.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO SIGNAL_{lab.schema} VALUES (:1, :2, :3)", [identity, kind, json.dumps(data)])
        connection.commit()


def told(records: list[Read], identity: str) -> list[tuple[str, str]]:
    """Notifications of one signal, in order."""
    found = [r.value for r in records if r.value and r.value["id"] == identity]
    return [(value["aggregate_type"], value["type"]) for value in found]


def test_a_signal_in_the_table_brings_read_events(lab: Lab) -> None:
    lab.insert(10, ROWS)
    config = lab.config(**signalling(lab))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.insert(100_000, 5)
        insert_signal(lab, "ad-hoc-1", "execute-snapshot", **{"data-collections": [f"ORCLPDB1.{lab.schema}.T"]})
        lab.insert(200_000, 5)
        records = lab.topics.await_records(
            f"{lab.name}-notifications", lambda found: ("Signal", "COMPLETED") in told(found, "ad-hoc-1")
        )
        reads = [r.value for r in lab.topics.records(lab.topic()) if r.value and r.value["op"] == "r"]
        connector.stop_in_order()
    assert told(records, "ad-hoc-1")[:2] == [("Signal", "ACCEPTED"), ("Incremental Snapshot", "STARTED")]
    keys = [read["after"]["ID"] for read in reads]
    assert {*range(3), *range(10, 10 + ROWS)} <= set(keys)
    assert len(keys) == len(set(keys))
    assert {read["source"]["snapshot"] for read in reads} == {"incremental"}
