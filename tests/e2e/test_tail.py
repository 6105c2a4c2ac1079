"""`minercdc tail`: readable messages of the topics, to a count or until stopped."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab


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
    assert (ended.status, f"captured are: {lab.schema}.T" in ended.errors) == (2, True)
    assert lab.minercdc("tail", str(lab.config()), "--since", "yesterday").status == 2
