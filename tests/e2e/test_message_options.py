"""Transaction metadata across kill -9, context headers, masks and the heartbeat's statement, all processes real."""

from __future__ import annotations

import time
from typing import Any

from tests.e2e.lab import LOGGED, Lab
from tests.e2e.topics import Read

OTHER = ("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))", LOGGED.format("U"))


def ended(records: list[Read]) -> list[Any]:
    return [record.value for record in records if record.value["status"] == "END"]


def test_a_split_transaction_is_numbered_once_across_kills(lab: Lab) -> None:
    lab.execute(*OTHER)
    options: dict[str, Any] = {
        "provide.transaction.metadata": True,
        "snapshot.mode": "no_data",
        "extended.headers.enabled": True,
        "column.mask.with.3.chars": r".*[.]U[.]V",
        "minercdc.kafka.transaction.max.records": 100,
    }
    config = lab.config(**options)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        with lab.connect() as connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO T VALUES (:1, 'row')", [(number,) for number in range(100, 3100)])
            cursor.executemany("INSERT INTO U VALUES (:1, 'secret')", [(number,) for number in range(500)])
            connection.commit()
        lab.topics.await_records(lab.topic(), 300)
        connector.process.kill()
        connector.process.wait()
    for count in (900, 2000):
        with lab.run(config, log=f"run-{count}.log") as connector:
            lab.topics.await_records(lab.topic(), count)
            connector.process.kill()
            connector.process.wait()
    with lab.run(config, log="last.log") as connector:
        marks = lab.topics.await_records(f"{lab.name}.transaction", lambda found: bool(ended(found)), 60)
        lab.execute("INSERT INTO U VALUES (1000, 'secret')")
        marks = lab.topics.await_records(f"{lab.name}.transaction", lambda found: len(ended(found)) == 2, 60)
        connector.stop_in_order()
    assert [mark.value["status"] for mark in marks] == ["BEGIN", "END", "BEGIN", "END"]
    assert ended(marks)[0]["event_count"] == 3500
    names = {name: f"{lab.server.service}.{lab.schema}.{name}" for name in ("T", "U")}
    assert ended(marks)[0]["data_collections"] == [
        {"data_collection": names["T"], "event_count": 3000},
        {"data_collection": names["U"], "event_count": 500},
    ]
    rows = {name: lab.topics.records(lab.topic(name)) for name in names}
    first = marks[0].value["id"]
    for name, begin, count in (("T", 1, 3000), ("U", 3001, 500)):
        blocks = [record.value["transaction"] for record in rows[name] if record.value["transaction"]["id"] == first]
        assert blocks == [{"id": first, "total_order": begin + i, "data_collection_order": 1 + i} for i in range(count)]
    assert {record.value["after"]["V"] for record in rows["U"]} == {"***"}
    assert all(r.headers["__debezium.context.connectorLogicalName"] == lab.name for name in rows for r in rows[name])


def test_a_statement_is_run_at_each_heartbeat(lab: Lab) -> None:
    lab.execute(*OTHER, "INSERT INTO U VALUES (1, '0')", "GRANT UPDATE, SELECT ON U TO C##MINERCDC")
    beat = f"UPDATE {lab.schema}.U SET V = TO_CHAR(TO_NUMBER(V) + 1) WHERE ID = 1"

    def options(statement: str) -> dict[str, Any]:
        return {"heartbeat.interval.ms": 200, "snapshot.mode": "no_data", "heartbeat.action.query": statement}

    def beats() -> int:
        with lab.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT V FROM U")
            ((text,),) = cursor.fetchall()
            return int(text)

    with lab.run(lab.config(**options(beat))) as connector:
        connector.await_log("streaming: ")
        deadline = time.monotonic() + 30
        while beats() < 5:
            assert time.monotonic() < deadline, connector.story()
            time.sleep(0.02)
        lab.topics.await_records(lab.topic("U"), lambda read: len(read) >= 3)
        connector.stop_in_order()
    found = [int(record.value["after"]["V"]) for record in lab.topics.records(lab.topic("U"))]
    assert found == list(range(1, len(found) + 1))
    with lab.run(lab.config(**options("UPDATE NOTHING SET A = 1")), log="second.log") as connector:
        connector.await_log(r"heartbeat.action.query failed.*ORA-00942")
        connector.stop_in_order()


def comments(change: Any) -> dict[str, Any]:
    """Of a table and its columns, in a schema change."""
    (one,) = change["tableChanges"]
    return {"": one["table"]["comment"]} | {column["name"]: column["comment"] for column in one["table"]["columns"]}


def documented(record: Read) -> dict[str, str | None]:
    """What the schema of a value says of each column."""
    rows = [field for field in record.value["schema"]["fields"] if field["field"] in ("before", "after")]
    before, after = ({field["field"]: field.get("doc") for field in row["fields"]} for row in rows)
    assert before == after
    return after


def test_comments_of_tables_and_columns_come_from_the_dictionary_and_from_ddl(lab: Lab) -> None:
    lab.execute(
        "ALTER TABLE T ADD (N NUMBER)",
        "COMMENT ON TABLE T IS 'it''s \"T\"'",
        "COMMENT ON COLUMN T.ID IS 'its key'",
        "COMMENT ON COLUMN T.N IS 'žádné číslo'",
    )
    options: dict[str, Any] = {f"{part}.converter.schemas.enable": True for part in ("key", "value")}
    options |= {"include.schema.comments": True, "include.schema.changes": True}
    first = {"": 'it\'s "T"', "ID": "its key", "V": None, "N": "žádné číslo"}
    second = {"": None, "ID": None, "V": "alter table t drop column v", "N": "žádné číslo"}
    third = {"": "again", "ID": None, "W": "alter table t drop column v", "N": "žádné číslo"}
    with lab.run(lab.config(**options)) as connector:
        lab.topics.await_records(lab.topic(), 3)
        connector.await_log("streaming: ")
        lab.execute(
            "COMMENT ON COLUMN T.V IS 'alter table t drop column v'",
            f"COMMENT ON COLUMN {lab.schema}.T.ID IS ''",
            "COMMENT ON TABLE T IS ''",
            "INSERT INTO T VALUES (100, 'row', 1.5)",
        )
        lab.topics.await_records(lab.topic(), 4)
        connector.process.kill()
        connector.process.wait()
    with lab.run(lab.config(**options), log="again.log") as connector:
        connector.await_log("streaming: ")
        lab.execute(
            "COMMENT ON TABLE T IS 'again'", "ALTER TABLE T RENAME COLUMN V TO W", "INSERT INTO T VALUES (101, 'row', 1.5)"
        )
        records = lab.topics.await_records(lab.topic(), 5)
        connector.stop_in_order()
    changes = [record.value["payload"] for record in lab.topics.records(lab.name)]
    assert [comments(changes[i]) for i in (0, 3, -1)] == [first, second, third]
    assert [change["tableChanges"][0]["type"] for change in changes] == ["CREATE", *["ALTER"] * 5]
    for record, expected in ((records[0], first), (records[3], second), (records[4], third)):
        assert documented(record) == {name: text for name, text in expected.items() if name}
    assert [records[i].key["schema"]["fields"][0].get("doc") for i in (0, 3)] == ["its key", None]
    with lab.run(lab.config(**options | {"include.schema.comments": False}), log="off.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("COMMENT ON COLUMN T.ID IS 'unseen'", "INSERT INTO T VALUES (102, 'row', 1.5)")
        records = lab.topics.await_records(lab.topic(), 6)
        connector.stop_in_order()
    assert len(lab.topics.records(lab.name)) == len(changes)
    assert documented(records[5]) == dict.fromkeys(("ID", "W"), None) | {"N": "Variable scaled decimal"}
