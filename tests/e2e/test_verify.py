"""`minercdc verify`: what the topics say, compared with Oracle."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.e2e.lab import LOGGED, Lab
from tests.e2e.topics import Read

from minercdc.config.load import load_config
from minercdc.sinks.kafka.client import KafkaClient

TABLES = (
    "CREATE TABLE KEYLESS (A NUMBER, B DATE)",
    LOGGED.format("KEYLESS"),
    "CREATE TABLE LARGE (ID NUMBER(5) PRIMARY KEY, TEXT CLOB, BYTES RAW(8), N NUMBER(5))",
    LOGGED.format("LARGE"),
    "CREATE TABLE EMPTIED (ID NUMBER(5) PRIMARY KEY)",
    LOGGED.format("EMPTIED"),
    "CREATE TABLE WIDER (ID NUMBER(5) PRIMARY KEY, V VARCHAR2(10))",
    LOGGED.format("WIDER"),
    "INSERT INTO WIDER VALUES (1, 'old')",
    "INSERT INTO KEYLESS VALUES (1.5, DATE '2026-01-01')",
    "INSERT INTO KEYLESS VALUES (1.5, DATE '2026-01-01')",
    "INSERT INTO LARGE VALUES (1, RPAD('x', 3000, 'x'), HEXTORAW('00FF'), 1)",
    "INSERT INTO EMPTIED VALUES (1)",
    "CREATE TABLE PARTS (ID NUMBER(5) PRIMARY KEY, N NUMBER(5), V VARCHAR2(9))",
    "ALTER TABLE PARTS ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    "INSERT INTO PARTS VALUES (1, 7, 'a')",
)
CHANGES = (
    ("UPDATE PARTS SET V = 'b'",),  # N is not in redo, and null in the record
    ("UPDATE T SET ID = ID + 1",),  # each key but the first was another row's
    ("DELETE FROM T WHERE ID = 2", "INSERT INTO T VALUES (20, 'it''s new')", "DELETE FROM KEYLESS WHERE ROWNUM = 1"),
    ("UPDATE LARGE SET N = 2", "INSERT INTO LARGE VALUES (2, 'short', NULL, NULL)"),  # TEXT of the first row is not in redo
    ("ALTER TABLE LARGE RENAME COLUMN N TO M",),
    ("ALTER TABLE LARGE MODIFY (M NUMBER(9))",),
    (  # redo has no ROWID of an INSERT with a large value
        "DECLARE c CLOB := RPAD('c', 30000, 'c'); BEGIN INSERT INTO LARGE VALUES (3, c, NULL, 1); INSERT INTO LARGE VALUES (4, c, NULL, 1); END;",
        "DELETE FROM LARGE WHERE ID = 3",
        "UPDATE LARGE SET ID = 5 WHERE ID = 4",
        "DELETE FROM LARGE WHERE ID = 5",
    ),
    ("ALTER TABLE T RENAME COLUMN ID TO NUM",),
    ("ALTER TABLE T ADD (MORE NUMBER(3) DEFAULT 7)",),
    ("ALTER TABLE WIDER MODIFY (V VARCHAR2(20))",),
    ("TRUNCATE TABLE EMPTIED",),
    ("INSERT INTO EMPTIED VALUES (5)", "INSERT INTO T VALUES (30, 'last', 1)"),
)


def is_last(record: Read) -> bool:
    return record.value is not None and (record.value["after"] or {}).get("V") == "last"


def await_stored(lab: Lab, scn: int) -> None:
    """Wait until the offset is seen, too: the broker marks the partitions of a committed transaction one after the other."""
    deadline = time.monotonic() + 30
    while (offset := lab.topics.offset()) is None or offset.complete_scn < scn:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_topics_equal_oracle_after_every_kind_of_change_and_what_does_not_is_shown(lab: Lab) -> None:
    config = lab.config(lob_enabled="true")
    lab.execute(*TABLES)
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        for statements in CHANGES:
            lab.execute(*statements)
        found = lab.topics.await_records(lab.topic(), lambda found: any(is_last(record) for record in found))
        await_stored(lab, next(int(record.value["source"]["commit_scn"]) for record in found if is_last(record)))
        running = lab.minercdc("verify", str(config))
        connector.stop_in_order()
    for ended in (running, lab.minercdc("verify", str(config))):
        assert ended.status == 0, ended.errors
        assert "verified: 6 tables, 10 rows, 0 differences" in ended.output

    (last,) = [record for record in lab.topics.records(lab.topic()) if is_last(record)]
    wrong: dict[str, Any] = {**last.value, "op": "u", "after": {**last.value["after"], "V": "wrong"}}
    loaded = load_config(config)
    client = KafkaClient(loaded.kafka, loaded.topics, loaded.kafka_client)
    (wider,) = lab.topics.records(lab.topic("WIDER"))  # the row did not change after its column was made wider
    client.produce(
        lab.topic("WIDER"),
        json.dumps(wider.key).encode(),
        json.dumps({**wider.value, "after": {**wider.value["after"], "V": "new"}}).encode(),
    )
    ended = lab.minercdc("verify", str(config), "--table", f"{lab.schema}.WIDER")
    assert f'{lab.schema}.WIDER ID=1\n    V: Oracle "old", topic "new"' in ended.errors
    client.produce(lab.topic(), json.dumps(last.key).encode(), json.dumps(wrong).encode())
    client.produce(lab.topic(), json.dumps({"NUM": 99}).encode(), json.dumps(wrong).encode())
    ended = lab.minercdc("verify", str(config), "--table", f"{lab.schema}.T")
    assert ended.status == 1
    assert f'{lab.schema}.T NUM=30\n    V: Oracle "last", topic "wrong"' in ended.errors
    assert f"{lab.schema}.T NUM=99\n    Oracle lacks this row" in ended.errors
    assert "verified: 1 tables, 5 rows, 2 differences" in ended.output


def test_what_cannot_be_compared_is_said(lab: Lab) -> None:
    """The schema history is in a file, as after a move from Debezium Server: there is no topic of it to wait for."""
    file = lab.directory / "history"
    config = lab.config(schema_history_internal="file", schema_history_internal_file_filename=file)
    nothing = lab.minercdc("verify", str(config))
    assert nothing.status == 1
    assert "MC-9001" in nothing.errors
    assert f"has no offset of connector {lab.name}" in nothing.errors
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    unknown = lab.minercdc("verify", str(config), "--table", "NO.TABLE")
    assert unknown.status == 1
    assert "MC-9001: NO.TABLE is not among the captured tables" in unknown.errors
    whole = lab.minercdc("verify", str(config))
    assert (whole.status, "verified: 1 tables" in whole.output) == (0, True), whole.errors
    loaded = load_config(config)
    KafkaClient(loaded.kafka, loaded.topics, loaded.kafka_client).produce(lab.topic(), b"{}", b'{"foreign": 1}')
    foreign = lab.minercdc("verify", str(config))
    assert foreign.status == 1
    assert "not compared: " in foreign.errors  # of that table: others are still compared
    assert "the record is not a change event of minercdc" in foreign.errors
