"""The connector without Kafka: killed at random moments, each change is in segments, and in lines of JSON, exactly once.

`MINERCDC_SINK_KILLS` says how often (5), `MINERCDC_SEED` repeats a run's choices.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable

import pytest
from tests.e2e.lab import Lab
from tests.e2e.sinks import await_written, sink_config
from tests.torture.chain import Chain

KILLS = int(os.environ.get("MINERCDC_SINK_KILLS", "5"))
SEED = int(os.environ.get("MINERCDC_SEED", "20261121"))
KINDS = ("segments", "json")


def work(lab: Lab, stop: threading.Event) -> None:
    """Transactions over few keys, and now and then one that is larger than a commit of the sink."""
    chance, fresh = random.Random(SEED), 10_000
    with lab.connect() as connection, connection.cursor() as cursor:
        while not stop.is_set():
            for _ in range(chance.choice((1, 3, 60))):
                fresh, kind, key = fresh + 1, chance.random(), chance.randrange(9_000, fresh + 1)
                if kind < 0.5:
                    cursor.execute("INSERT INTO T VALUES (:1, 'new')", [fresh])
                elif kind < 0.8:
                    cursor.execute("UPDATE T SET V = :1 WHERE ID = :2", [f"v{fresh}", key])
                else:
                    cursor.execute("DELETE FROM T WHERE ID = :1", [key])
            if chance.random() < 0.1:
                connection.rollback()
            else:
                connection.commit()
            time.sleep(0.01 * chance.random())


@pytest.mark.parametrize("kind", KINDS)
def test_killed_anywhere_every_change_is_written_exactly_once(kind: str, make_lab: Callable[..., Lab]) -> None:
    lab, chance, stop = make_lab(""), random.Random(SEED), threading.Event()
    lab.insert(100, 3000)
    config, path = sink_config(
        lab,
        kind,
        minercdc_kafka_transaction_max_records=20,
        minercdc_sink_segment_bytes=100_000,
        snapshot_fetch_size=50,
        tombstones_on_delete=False,
    )
    worker = threading.Thread(target=work, args=(lab, stop))
    worker.start()
    try:
        for kill in range(KILLS):
            with lab.run(config, log=f"run{kill}.log") as connector:
                connector.await_log(r"(snapshot|streaming): " if kill < 2 else "streaming: ")
                time.sleep(chance.random() * (0.3 if kill < 2 else 1.0))
                connector.kill()
    finally:
        stop.set()
        worker.join()
    lab.execute("INSERT INTO T VALUES (99, 'the end')")
    with lab.run(config, log="last.log") as connector:
        found = await_written(kind, path, lambda seen: any(b"the end" in (one.value() or b"") for one in seen))
        connector.stop_in_order()
    chain = Chain().take(one for one in found if one.topic() == lab.topic())
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, v FROM T")
        rows = {json.dumps({"ID": key}, separators=(",", ":")): {"ID": key, "V": value} for key, value in cursor}
    assert chain.breaks == []
    assert chain.differs_from(rows) == []
    assert {"c", "u", "d", "r"} <= chain.operations.keys()
    if kind == "segments":
        assert len(list(path.glob("*.segment"))) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_connector_is_fenced(kind: str, make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config, path = sink_config(lab, kind)
    with lab.run(config) as first:
        first.await_log("streaming: ")
        other, _ = sink_config(lab, kind, minercdc_state_dir=lab.directory / "elsewhere")
        ended = lab.run_to_end(other, log="second.log")
        assert (ended.status, ended.message()[:7]) == (4, "MC-6201")
        assert "belongs to another process, pid" in ended.errors
        lab.execute("INSERT INTO T VALUES (7, 'x')")
        await_written(kind, path, lambda seen: any(one.key() == b'{"ID":7}' for one in seen))
        first.stop_in_order()


def test_lines_on_standard_output(make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config, _ = sink_config(lab, "json", minercdc_sink_path="-")
    with lab.run(config) as connector:
        connector.await_output(r'"ID":2')
        connector.stop_in_order()
    lab.execute("INSERT INTO T VALUES (7, 'x')")
    with lab.run(config, log="again.log") as connector:
        connector.await_output(r'"op":"c"')
        connector.stop_in_order()
    lines = [json.loads(line) for line in (lab.directory / "again.out").read_text().splitlines()]
    assert [(line["topic"], line["key"], line["value"]["op"]) for line in lines] == [(lab.topic(), {"ID": 7}, "c")]


@pytest.mark.parametrize(
    ("command", "kind"),
    [(["lake"], "json"), (["lake", "verify"], "json"), (["lake", "snapshot"], "segments"), (["verify"], "segments")],
)
def test_what_needs_kafka_says_so(command: list[str], kind: str, make_lab: Callable[..., Lab]) -> None:
    lab = make_lab("")
    config, _ = sink_config(lab, kind)
    ended = lab.minercdc(*command, str(config))
    assert ended.status == 2
    assert "debezium.sink.type: `minercdc" in ended.errors
    assert f"needs kafka, not {kind}" in ended.errors


def test_rows_that_exchange_their_keys_are_all_there_after_kills(make_lab: Callable[..., Lab]) -> None:
    """A statement gives each row the key of another one; it is delivered in parts, by processes that are killed."""
    lab, chance = make_lab(""), random.Random(SEED)
    lab.insert(10, 300)
    config, path = sink_config(lab, "segments", minercdc_kafka_transaction_max_records=7)
    with lab.run(config, log="snapshot.log") as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    lab.execute(
        "UPDATE T SET V = 'row ' || ID",
        "UPDATE T SET ID = ID + 1",
        "UPDATE T SET ID = 470 - ID WHERE ID BETWEEN 200 AND 270",
        "DELETE FROM T WHERE ID = 100",
    )
    for kill in range(KILLS):
        with lab.run(config, log=f"run{kill}.log") as connector:
            connector.await_log("streaming: ")
            time.sleep(chance.random() * 0.1)
            connector.kill()
    lab.execute("INSERT INTO T VALUES (9999, 'the end')")
    with lab.run(config, log="last.log") as connector:
        found = await_written("segments", path, lambda seen: any(b"the end" in (one.value() or b"") for one in seen))
        connector.stop_in_order()
    rows: dict[int, str] = {}
    for one in found:
        if one.topic() == lab.topic():
            key, value = json.loads(one.key() or b"")["ID"], json.loads(one.value() or b"null")
            rows.pop(key, None)
            if value is not None and value["after"] is not None:
                rows[key] = value["after"]["V"]
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT ID, V FROM T")
        assert rows == dict(cursor.fetchall())
