"""`minercdc plan`: what a start would do, before and after there is an offset; nothing is written."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka.admin import AdminClient
from tests.e2e.lab import Lab


def _topics(lab: Lab) -> set[str]:
    found = AdminClient({"bootstrap.servers": lab.brokers}).list_topics(timeout=10).topics
    return {topic for topic in found if topic == lab.name or topic.startswith((f"{lab.name}.", f"{lab.name}-"))}


def test_a_first_start_and_a_later_one(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.callproc("DBMS_STATS.GATHER_TABLE_STATS", [lab.schema, "T"])
    _archive_seconds(lab)
    assert _topics(lab) == set()
    versions = _row_versions(lab)
    first = lab.minercdc("plan", str(lab.config()))
    assert first.status == 0, first.errors
    assert _topics(lab) == set()
    assert _row_versions(lab) == versions, "nothing was written"
    for line in (
        f"connector {lab.name}, adapter logminer",
        "start: it is the first one: there is no offset; snapshot.mode=initial: it reads rows, reads structures, streams",
        f"  {lab.schema}.T -> {lab.topic()}, to be created; key ID; about 3 rows",
        "    ID  NUMBER(9,0) NOT NULL  ->  int32",
        "    V  VARCHAR2(40)  ->  string",
        "snapshot: 3 rows; about 0.0 s at 10,000 rows/s of one core (snapshot.max.threads=1)",
        "  GRANT LOGMINING TO C##MINERCDC CONTAINER=ALL;",
        f'  GRANT SELECT, FLASHBACK ON "{lab.schema}"."T" TO C##MINERCDC;',
    ):
        assert line in first.output.splitlines(), first.output
    assert "MB/s on average" in first.output
    document = json.loads(lab.minercdc("plan", str(lab.config()), "--json").output)
    (table,) = document["tables"]
    assert (table["topic"], table["topic_exists"], table["key"], table["rows"]) == (lab.topic(), False, ["ID"], 3)
    assert document["start"]["reads_rows"] is True
    assert document["snapshot"]["rows"] == 3
    assert "GRANT LOGMINING TO C##MINERCDC CONTAINER=ALL;" in document["grants"]
    with lab.run() as connector:
        connector.await_log("streaming: ")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()
    later = lab.minercdc("plan", str(lab.config())).output
    assert "start: it goes on from its offset; snapshot.mode=initial: it streams" in later
    assert f"  {lab.schema}.T -> {lab.topic()}; key ID" in later
    assert "snapshot: " not in later


def _archive_seconds(lab: Lab) -> None:
    """Switch logs until the archived ones cover seconds, which their times are in."""
    with lab.server.connect(service=lab.server.root_service) as connection, connection.cursor() as cursor:
        while True:
            cursor.execute("ALTER SYSTEM SWITCH LOGFILE")
            cursor.execute("SELECT SUM(NEXT_TIME - FIRST_TIME) FROM V$ARCHIVED_LOG")
            if cursor.fetchone()[0]:
                return


def _row_versions(lab: Lab) -> list[str]:
    """The SCN of each row of the captured table, which any write would change."""
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT TO_CHAR(ORA_ROWSCN) FROM T ORDER BY ID")
        return [text for (text,) in cursor]


def test_a_user_without_a_session_gets_the_grants_for_one(lab: Lab) -> None:
    user = f"C##BARE{lab.schema}"
    config = str(lab.config(database_user=user, database_password="bare"))
    first = [f"  GRANT {one} TO {user} CONTAINER=ALL;" for one in ("CREATE SESSION", "SET CONTAINER")]
    with lab.server.connect(service=lab.server.root_service) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {user} IDENTIFIED BY bare CONTAINER=ALL")
        for statement in first:
            refused = lab.minercdc("plan", config)
            assert refused.status == 3, refused.errors
            assert [line for line in refused.output.splitlines() if "GRANT" in line] == first
            cursor.execute(statement.strip().rstrip(";"))
    planned = lab.minercdc("plan", config)
    assert planned.status == 0, planned.errors
    granted = [line for line in planned.output.split("grants, by a DBA:")[1].splitlines() if "GRANT" in line]
    assert granted[:2] == first
    assert len(granted) == len(set(granted)) > 10


def test_kafka_that_does_not_answer_is_a_finding(lab: Lab) -> None:
    settings: dict[str, Any] = {"minercdc_kafka_bootstrap_servers": "127.0.0.1:1", "minercdc_kafka_timeout_ms": 5000}
    ended = lab.minercdc("plan", str(lab.config(**settings)))
    begin, taken = ended.output.splitlines()[1:3]
    assert begin.startswith("start: the stored state cannot be read: reaching Kafka at 127.0.0.1:1 failed")
    assert taken.startswith("start: it is taken for the first one; snapshot.mode=initial")
    assert "missing: reaching Kafka at 127.0.0.1:1 failed" in ended.output
    assert "GRANT LOGMINING" in ended.output
