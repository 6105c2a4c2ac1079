"""`minercdc tail`: readable messages of the topics, to a count or until stopped."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import partial

from tests.e2e.connector import MinerCdc
from tests.e2e.lab import LOGGED, Lab
from tests.e2e.topics import Read


def ends_with(key: object, seen: list[Read]) -> bool:
    return bool(seen) and seen[-1].key == key


def lines(lab: Lab, *arguments: str, status: int = 0) -> list[str]:
    ended = lab.minercdc("tail", str(lab.config()), *arguments)
    assert ended.status == status, ended.errors
    return ended.output.splitlines()


def test_messages_are_lines(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("streaming: ")
        between = datetime.now(UTC)
        lab.execute("UPDATE T SET V = 'a' || CHR(27) || '[31m' WHERE ID = 1", "DELETE FROM T WHERE ID = 2")
        lab.topics.await_records(lab.topic(), 6)
        connector.stop_in_order()
    shown = lines(lab, "--count", "6")
    table = f"{lab.schema}.T"
    assert [re.sub(r"^\S+Z | SCN \d+$", "", line) for line in shown] == [
        *(f'{table} read {{"ID": {key}}} {{"ID": {key}, "V": "initial"}}' for key in range(3)),
        f'{table} update {{"ID": 1}} {{"ID": 1, "V": "a\\u001b[31m"}} was {{"V": "initial"}}',
        f'{table} delete {{"ID": 2}} {{"ID": 2, "V": "initial"}}',
        f'{table} tombstone {{"ID": 2}}',
    ]
    later = lines(lab, "t", "--since", between.isoformat(), "--count", "3", "--json")
    assert [json.loads(line)["value"] and json.loads(line)["value"]["op"] for line in later] == ["u", "d", None]
    assert all(json.loads(line)["topic"] == lab.topic() for line in later)


def test_the_latest_of_several_tables_are_shown_in_order_of_time(lab: Lab) -> None:
    lab.execute("CREATE TABLE A (ID NUMBER(9) PRIMARY KEY)", LOGGED.format("A"))
    with lab.run() as connector:
        connector.await_log("streaming: ")
        for number in range(100, 104):
            lab.execute(f"INSERT INTO {'AT'[number % 2]} (ID) VALUES ({number})")
            lab.topics.await_records(lab.topic("AT"[number % 2]), partial(ends_with, {"ID": number}))
        connector.stop_in_order()
    shown = lines(lab, "--count", "3")
    assert [re.findall(r"\.(\w) insert .*?(\d+)", line) for line in shown] == [
        [("T", "101")],
        [("A", "102")],
        [("T", "103")],
    ]
    assert len(lines(lab, "--count", "7")) == 7


def test_it_follows_until_it_is_stopped(lab: Lab) -> None:
    with lab.run() as connector:
        connector.await_log("streaming: ")
        lab.topics.await_records(lab.topic(), 3)
        with MinerCdc(["tail", str(lab.config())], lab.directory / "tail.log") as tail:
            tail.await_output(r"(?s)(read.*){3}")
            lab.execute("INSERT INTO T VALUES (10, 'new')")
            tail.await_output(r'insert \{"ID": 10\}')
            tail.stop_in_order()
        connector.stop_in_order()


def test_what_is_not_there_is_named(lab: Lab) -> None:
    assert "has captured no table yet" in lab.minercdc("tail", str(lab.config())).errors
    with lab.run() as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    ended = lab.minercdc("tail", str(lab.config()), "NONE")
    assert (ended.status, f"captured tables: {lab.schema}.T" in ended.errors) == (2, True)
    assert lab.minercdc("tail", str(lab.config()), "--since", "yesterday").status == 2
