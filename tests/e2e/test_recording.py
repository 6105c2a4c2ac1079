"""`minercdc record` and `replay`: what the connector delivers, without its database; and nothing of the rows with --replace-values."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import Ended
from tests.e2e.lab import LOGGED, WITH_ROWS, Lab

ROWS = (
    "CREATE TABLE W (ID NUMBER(9) NOT NULL, N NUMBER(12,3), T VARCHAR2(4000), U NVARCHAR2(40), D DATE, S TIMESTAMP(6) WITH TIME ZONE,"
    " R RAW(40), F BINARY_DOUBLE, I INTERVAL DAY TO SECOND, C CLOB, CONSTRAINT W_PK PRIMARY KEY (ID))"
)
SECRET = "Ägypten hat 4711 Pyramiden"


def work(lab: Lab) -> None:
    long = "it''s long " * 180
    lab.execute(
        f"INSERT INTO W VALUES (1001, -17.25, '{SECRET}', N'Ωmega', DATE '2026-02-28', TIMESTAMP '2026-03-01 12:13:14.5 +02:00',"
        f" HEXTORAW('C0FFEE'), 1.5, INTERVAL '3 04:05:06' DAY TO SECOND, 'a clob of {SECRET}')",
        f"INSERT INTO W (ID, T) VALUES (1002, '{long}')",
    )
    lab.execute("UPDATE W SET N = 4711.001, T = NULL WHERE ID = 1001", f"UPDATE W SET T = '{long}2' WHERE ID = 1002")
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (50, 'kept')")
        cursor.execute("SAVEPOINT A")
        cursor.execute("INSERT INTO T VALUES (51, 'undone')")
        cursor.execute("ROLLBACK TO SAVEPOINT A")
        cursor.execute("INSERT INTO T VALUES (52, 'kept, too')")
        connection.commit()
    lab.execute("INSERT INTO T VALUES (53, 'before the ALTER')")
    lab.execute("ALTER TABLE T ADD (M NUMBER(5))")
    lab.execute(
        "INSERT INTO T VALUES (54, 'after it', 7)", "UPDATE T SET ID = 55 WHERE ID = 50", "DELETE FROM T WHERE ID = 1"
    )
    lab.execute("DELETE FROM W WHERE ID = 1002")


def parsed(text: str) -> list[tuple[str, Any, Any]]:
    """Topic, key and value of the printed records, without the times at which they were made."""
    found = []
    for line in text.splitlines():
        topic, key, value = line.split("\t")
        found.append((topic, json.loads(key or "null"), timeless(json.loads(value or "null"))))
    return found


def timeless(value: Any) -> Any:
    return value and {name: one for name, one in value.items() if name not in ("ts_ms", "ts_us", "ts_ns")}


def delivered(lab: Lab, before: dict[str, int]) -> dict[str, list[tuple[Any, Any]]]:
    return {
        topic: [(one.key, timeless(one.value)) for one in lab.topics.records(topic)[before[topic] :]] for topic in before
    }


def by_topic(records: list[tuple[str, Any, Any]]) -> dict[str, list[tuple[Any, Any]]]:
    found: dict[str, list[tuple[Any, Any]]] = {}
    for topic, key, value in records:
        found.setdefault(topic, []).append((key, value))
    return found


def ran(lab: Lab, *arguments: str, status: int = 0) -> Ended:
    ended = lab.minercdc(*arguments)
    assert ended.status == status, ended.errors
    assert "Traceback" not in ended.errors
    return ended


@pytest.fixture(params=["logminer", "lobs", "logminer_unbuffered"])
def stopped(request: pytest.FixtureRequest, make_lab: Callable[..., Lab]) -> tuple[Lab, Path]:
    """A connector that has an offset, and redo after it."""
    lab = make_lab(request.getfixturevalue("broker").bootstrap_servers, (*WITH_ROWS, ROWS, LOGGED.format("W")))
    lobs = request.param == "lobs"
    config = lab.config(lob_enabled=lobs, database_connection_adapter="logminer" if lobs else request.param)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()
    work(lab)
    return lab, config


def test_a_replay_makes_what_the_connector_delivers(stopped: tuple[Lab, Path]) -> None:
    lab, config = stopped
    before = {topic: len(lab.topics.records(topic)) for topic in (lab.topic("T"), lab.topic("W"), lab.name)}
    plain, replaced = lab.directory / "plain.gz", lab.directory / "replaced.gz"
    ran(lab, "record", str(config), "-o", str(plain))
    said = json.loads(ran(lab, "record", str(config), "-o", str(replaced), "--replace-values", "--json").output)
    assert (said["file"], said["complete"], said["error"]) == (str(replaced), True, None)
    with lab.run(config, log="again.log") as connector:
        lab.topics.await_records(lab.topic("W"), lambda seen: bool(seen) and seen[-1].value is None)
        connector.stop_in_order()
    expected = delivered(lab, before)
    assert {topic.rpartition(".")[2]: len(records) for topic, records in expected.items()} == {"T": 9, "W": 6, lab.name: 1}
    config.unlink()  # the file is all that is needed
    printed = ran(lab, "replay", str(plain)).output
    assert by_topic(parsed(printed)) == expected
    other = by_topic(parsed(ran(lab, "replay", str(replaced)).output))
    assert {topic: len(records) for topic, records in other.items()} == {topic: len(r) for topic, r in expected.items()}
    content = gzip.decompress(replaced.read_bytes()).decode()
    for word in ("Ägypten", "Pyramiden", "4711", "kept", "Ωmega", "C0FFEE", "c0ffee", "2026-02-28", "it''s long"):
        # An SCN may have the digits of a number in it.
        assert not re.search(rf"(?<!\d){word}(?!\d)", content), word
    assert "minercdc" in gzip.decompress(plain.read_bytes()).decode()
    assert '"database.password"' not in content


def test_statements_of_tables_that_are_not_captured_are_not_in_it(lab: Lab) -> None:
    lab.execute("CREATE TABLE X (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(60))", LOGGED.format("X"))
    config = lab.config(table_include_list=f"{lab.schema}.T")
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    lab.execute(f"INSERT INTO X VALUES (1, '{SECRET}')", "INSERT INTO T VALUES (80, 'captured')", "DELETE FROM X")
    lab.execute("ALTER TABLE T RENAME TO TT", "ALTER TABLE TT RENAME TO T")
    lab.execute("INSERT INTO T VALUES (81, 'after it')")
    file = lab.directory / "some.gz"
    ran(lab, "record", str(config), "-o", str(file))
    content = gzip.decompress(file.read_bytes()).decode()
    assert SECRET not in content
    assert content.count('"X"') > 1, "its rows are there"
    found = [
        value["after"]["ID"] for topic, _, value in parsed(ran(lab, "replay", str(file)).output) if topic == lab.topic()
    ]
    assert found == [80, 81]


def test_a_recorded_error_comes_again(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    lab.execute("INSERT INTO T VALUES (60, 'lost')")
    lab.purge_logs()
    file = lab.directory / "gap.gz"
    made = ran(lab, "record", str(lab.config(log_mining_log_query_max_retries=1)), "-o", str(file))
    assert "MC-3301" in made.output
    ended = ran(lab, "replay", str(file), status=1)
    assert "MC-3301" in ended.message()
    assert "not as recorded" not in ended.errors


def test_a_table_that_is_suspended_is_so_in_the_replay(make_lab: Callable[..., Lab], request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue("broker").bootstrap_servers
    lab = make_lab(
        broker, (*WITH_ROWS, "CREATE TABLE B (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(9))", "INSERT INTO B VALUES (1, 'x')")
    )
    with lab.run() as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    lab.execute("UPDATE B SET V = 'y' WHERE ID = 1", "INSERT INTO T VALUES (70, 'goes on')")
    file = lab.directory / "suspended.gz"
    ran(lab, "record", str(lab.config()), "-o", str(file))
    ended = ran(lab, "replay", str(file))
    assert "B IS SUSPENDED" in ended.errors
    assert [(topic, value["after"]) for topic, _, value in parsed(ended.output)] == [
        (lab.topic(), {"ID": 70, "V": "goes on"})
    ]


def test_what_cannot_be_recorded_or_replayed_is_said(lab: Lab) -> None:
    nothing = ran(lab, "record", str(lab.config()), "-o", str(lab.directory / "none.gz"), status=2)
    assert "has no offset" in nothing.errors
    other = ran(lab, "replay", str(lab.config()), status=2)
    assert "is not a recording" in other.errors
    assert not list(lab.directory.glob("*.part"))


def test_notifications_are_no_part_of_it(lab: Lab) -> None:
    notes = f"{lab.name}-notes"
    config = lab.config(notification_enabled_channels="log,sink", notification_sink_topic_name=notes)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()
    lab.execute("ALTER TABLE T ADD (M NUMBER(5))")
    lab.execute("INSERT INTO T VALUES (54, 'after it', 7)")
    file = str(lab.directory / "r.gz")
    recorded = ran(lab, "record", str(config), "-o", file)
    assert "notification: " not in recorded.errors
    replayed = ran(lab, "replay", file)
    assert "not as recorded" not in replayed.errors
    assert {topic for topic, _, _ in parsed(replayed.output)} == {lab.topic(), lab.name}
    with lab.run(config, log="again.log") as connector:
        lab.topics.await_records(lab.topic(), 4)
        connector.await_log('notification: .*"CHANGED"')
        connector.stop_in_order()
    assert any(record.value["type"] == "CHANGED" for record in lab.topics.records(notes)), "the connector itself sends them"


def test_a_file_that_cannot_be_is_an_error_with_its_name(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    file = lab.directory / "nowhere" / "r.gz"
    refused = ran(lab, "record", str(lab.config()), "-o", str(file), status=2)
    assert f"--output: {file} cannot be written: No such file or directory" in refused.errors
    assert "MC-1001" in refused.errors
