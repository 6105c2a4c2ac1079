"""Signals as users send them: into the signal table, a topic, a file, by HTTP and by `minercdc signal`."""

from __future__ import annotations

import json
import re
import signal
import time
from typing import Any
from urllib.request import urlopen

import pytest
from tests.e2e.lab import LOGGED, Lab
from tests.e2e.proxy import Proxy
from tests.e2e.topics import Read

from minercdc.local.ports import free_port

ROWS = 900
SLOW = {"incremental_snapshot_chunk_size": 1, "poll_interval_ms": 500}  # 64 chunks a pass


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
        **{name.replace("_", "."): value for name, value in changes.items()},
    }


def signalling_again(lab: Lab, **changes: object) -> dict[str, Any]:
    """The same configuration, when the signal table is there already."""
    with lab.server.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE SIGNAL_{lab.schema}")
    return signalling(lab, **changes)


def insert_signal(lab: Lab, identity: str, kind: str, **data: object) -> None:
    with lab.server.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO SIGNAL_{lab.schema} VALUES (:1, :2, :3)", [identity, kind, json.dumps(data)])
        connection.commit()


def answers_to(records: list[Read], identity: str) -> list[tuple[str, str]]:
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
            f"{lab.name}-notifications", lambda found: ("Signal", "COMPLETED") in answers_to(found, "ad-hoc-1")
        )
        reads = [r.value for r in lab.topics.records(lab.topic()) if r.value and r.value["op"] == "r"]
        connector.stop_in_order()
    assert answers_to(records, "ad-hoc-1")[:2] == [("Signal", "ACCEPTED"), ("Incremental Snapshot", "STARTED")]
    keys = [read["after"]["ID"] for read in reads]
    assert {*range(3), *range(10, 10 + ROWS)} <= set(keys)
    assert len(keys) == len(set(keys))
    assert {read["source"]["snapshot"] for read in reads} == {"incremental"}
    changes = [record.value["source"]["table"] for record in lab.topics.records(lab.name)]
    assert changes == ["T"], "the signal table is not captured, so its structure is not published"


def read_keys(lab: Lab) -> list[int]:
    return [r.value["after"]["ID"] for r in lab.topics.records(lab.topic()) if r.value and r.value["op"] == "r"]


def await_answers(lab: Lab, identity: str, *expected: tuple[str, str]) -> list[Read]:
    """Until these notifications of a signal are there; all notifications."""
    topic = f"{lab.name}-notifications"
    return lab.topics.await_records(topic, lambda found: set(expected) <= set(answers_to(found, identity)))


def data_of(records: list[Read], identity: str, type_: str) -> dict[str, str]:
    found = [r.value for r in records if r.value and r.value["id"] == identity and r.value["type"] == type_]
    data: dict[str, str] = found[-1]["additional_data"]
    return data


DONE = ("Signal", "COMPLETED")


def test_a_snapshot_is_paused_resumed_and_stopped_by_minercdc_signal(lab: Lab) -> None:
    lab.insert(10, ROWS)
    config = lab.config(**signalling(lab, **SLOW), file="c.yaml")
    with lab.run(config) as connector:
        connector.await_log("streaming: ")

        def send(*arguments: str) -> str:
            ended = lab.minercdc("signal", str(config), *arguments)
            assert ended.status == 0, ended.errors
            return ended.output.strip()

        snapshot = send("execute-snapshot", "--collection", f"ORCLPDB1.{lab.schema}.T")
        await_answers(lab, snapshot, ("Incremental Snapshot", "IN_PROGRESS"))
        paused = send("pause-snapshot")
        await_answers(lab, paused, DONE)
        held = len(read_keys(lab))
        assert held < ROWS
        lab.insert(200_000, 5)
        lab.topics.await_records(lab.topic(), lambda found: any(r.value["after"]["ID"] == 200_004 for r in found if r.value))
        assert len(read_keys(lab)) == held, "rows came though it was paused"
        await_answers(lab, send("resume-snapshot"), DONE)
        await_answers(lab, snapshot, DONE)
        again = send("execute-snapshot", "--id", "again", "--collection", ".*")
        assert again == "again"
        await_answers(lab, again, ("Incremental Snapshot", "STARTED"))
        await_answers(lab, send("stop-snapshot", "--collection", ".*"), DONE)
        records = await_answers(lab, again, ("Incremental Snapshot", "ABORTED"))
        connector.stop_in_order()
    assert set(read_keys(lab)) >= {*range(3), *range(10, 10 + ROWS)}
    assert answers_to(records, snapshot)[-1] == DONE


def test_a_killed_snapshot_goes_on_at_its_chunk(lab: Lab) -> None:
    lab.insert(10, ROWS)
    config = lab.config(**signalling(lab, **SLOW))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        insert_signal(lab, "s", "execute-snapshot", **{"data-collections": [f"ORCLPDB1.{lab.schema}.T"]})
        await_answers(lab, "s", ("Incremental Snapshot", "IN_PROGRESS"))
        connector.kill()
    before = len(read_keys(lab))
    assert before < ROWS
    with lab.run(config, log="again.log") as connector:
        records = await_answers(lab, "s", DONE)
        connector.stop_in_order()
    keys = read_keys(lab)
    assert len(keys) == len(set(keys)) == ROWS + 3, "each row once, in spite of the kill"
    assert answers_to(records, "s").count(("Incremental Snapshot", "STARTED")) == 1


@pytest.mark.parametrize("strategy", ["insert_insert", "insert_delete"])
@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_marks_work_in_both_ways_of_mining(lab: Lab, strategy: str, adapter: str) -> None:
    lab.insert(10, 350)
    changes = {"incremental.snapshot.watermarking.strategy": strategy, "database.connection.adapter": adapter}
    with lab.run(lab.config(**signalling(lab, **changes))) as connector:
        connector.await_log("streaming: ")
        insert_signal(lab, "s", "execute-snapshot", **{"data-collections": [f"ORCLPDB1.{lab.schema}.T"]})
        records = await_answers(lab, "s", DONE)
        connector.stop_in_order()
    assert sorted(read_keys(lab)) == [*range(3), *range(10, 360)]
    assert data_of(records, "s", "TABLE_SCAN_COMPLETED")["total_rows_scanned"] == "353"
    with lab.server.connect("C##MINERCDC", "minercdc") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM SIGNAL_{lab.schema}")
        assert cursor.fetchone() == ((9 if strategy == "insert_insert" else 1),)


def test_a_blocking_snapshot_reads_rows_and_streaming_goes_on(lab: Lab) -> None:
    lab.insert(10, ROWS)
    with lab.run(lab.config(**signalling(lab))) as connector:
        connector.await_log("streaming: ")
        select = f"SELECT * FROM {lab.schema}.T WHERE ID < 5"
        condition = {"data-collection": f"ORCLPDB1.{lab.schema}.T", "filter": select}
        collections = {"data-collections": [f"ORCLPDB1.{lab.schema}.T"], "type": "blocking"}
        insert_signal(lab, "all", "execute-snapshot", **collections)
        await_answers(lab, "all", DONE)
        assert sorted(read_keys(lab)) == [*range(3), *range(10, 10 + ROWS)]
        lab.insert(200_000, 5)
        insert_signal(lab, "few", "execute-snapshot", **collections, **{"additional-conditions": [condition]})
        await_answers(lab, "few", DONE)
        lab.insert(300_000, 5)
        lab.topics.await_records(lab.topic(), lambda found: any(r.value["after"]["ID"] == 300_004 for r in found if r.value))
        connector.stop_in_order()
    assert sorted(read_keys(lab)[ROWS + 3 :]) == [0, 1, 2]


def test_signals_come_by_topic_file_and_http_each_once(lab: Lab) -> None:
    file = lab.directory / "signals.jsonl"
    config = lab.config(
        **signalling(
            lab,
            **{
                "signal.enabled.channels": "kafka,file,http",
                "signal.file": file,
                "signal.poll.interval.ms": 50,
                "minercdc.http.port": free_port(),
            },
        )
    )
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        for channel in ("kafka", "file", "http"):
            for text in ("hello", "hello"):
                arguments = ["log", "--channel", channel, f"{text} by {channel} at {{}}"]
                ended = lab.minercdc("signal", str(config), *arguments)
                assert ended.status == 0, ended.errors
                await_answers(lab, ended.output.strip(), DONE)
        ended = lab.minercdc("signal", str(config), "log", "--channel", "source", "hello")
        assert ended.status == 2
        assert "signal.enabled.channels" in ended.errors
        refused = lab.minercdc("signal", str(config), "execute-snapshot", "--channel", "http")
        assert "--collection is needed" in refused.errors
        with file.open("a") as lines:
            lines.write('nonsense\n{"id": "x", "type": "explode"}\n')
        records = await_answers(lab, "x", ("Signal", "REFUSED"))
        connector.stop_in_order()
    with lab.run(config, log="again.log") as connector:
        connector.await_log("streaming: ")
        ended = lab.minercdc("signal", str(config), "log", "--channel", "kafka", "once more")
        await_answers(lab, ended.output.strip(), DONE)
        assert "hello" not in connector.text(), "signals were acted on again after the restart"
        connector.stop_in_order()
    answers = [r.value["type"] for r in records if r.value and r.value["aggregate_type"] == "Signal"]
    assert answers == ["COMPLETED"] * 6 + ["REFUSED"] * 2
    assert file.read_text() == ""


@pytest.mark.parametrize("by", ["port", "topic"])
def test_the_command_waits_for_the_answer_and_prints_it(lab: Lab, by: str) -> None:
    """Without --channel: source is enabled, but has no table, so the next one is used."""
    options: dict[str, Any] = {"signal.enabled.channels": "source,kafka", "signal.poll.interval.ms": 50}
    if by == "port":
        options["minercdc.http.port"] = free_port()
    else:
        options |= {"notification.enabled.channels": "sink", "notification.sink.topic.name": f"{lab.name}.reports"}
    config = lab.config(**{name.replace(".", "_"): value for name, value in options.items()})
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        done = lab.minercdc("signal", str(config), "execute-snapshot", "--collection", f".*{lab.schema}[.]T", "--wait")
        refused = lab.minercdc("signal", str(config), "execute-snapshot", "--collection", "P.S.NOPE", "--wait")
        logged = lab.minercdc("signal", "log", str(config), "a line", "--wait", "--json")
        failed = lab.minercdc(
            "signal",
            str(config),
            "execute-snapshot",
            "--collection",
            f".*{lab.schema}[.]T",
            "--wait",
            "--condition",
            f".*{lab.schema}[.]T=NO_SUCH_COLUMN = 1",
        )
        incomplete = lab.minercdc("signal", str(config), "execute-snapshot")
        connector.stop_in_order()
    identity, *answers = done.output.splitlines()
    assert (done.status, identity.count("-")) == (0, 4), done.errors
    assert [line.partition(" {")[0] for line in (answers[0], answers[-1])] == ["Signal ACCEPTED", "Signal COMPLETED"]
    assert (refused.status, refused.output.splitlines()[1].partition(" {")[0]) == (1, "Signal REFUSED")
    assert "no captured table matches P.S.NOPE" in refused.output
    said, *others = map(json.loads, logged.output.splitlines())
    assert (logged.status, list(said), others[-1]["type"]) == (0, ["id"], "COMPLETED"), logged.errors
    assert (failed.status, "SQL_EXCEPTION" in failed.output) == (1, True)
    assert (incomplete.status, incomplete.output) == (2, "")
    assert "--collection is needed" in incomplete.errors


def test_a_signal_that_was_accepted_by_http_outlives_a_kill(lab: Lab) -> None:
    given = {"signal.enabled.channels": "http", "minercdc.http.port": free_port()}
    config = lab.config(**signalling(lab, **given, signal_poll_interval_ms=3_600_000))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.insert(10, 1)
        lab.topics.await_records(lab.topic(), 1)  # so it has looked once, and will not again
        for identity in ("a", "b"):
            ended = lab.minercdc("signal", str(config), "log", "--id", identity, f"kept {identity}")
            assert ended.status == 0, ended.errors
        assert "kept" not in connector.text()
        connector.kill()
    for log in ("again.log", "once-more.log"):
        with lab.run(lab.config("fast.yaml", **signalling_again(lab, **given)), log=log) as connector:
            await_answers(lab, "b", DONE)
            connector.await_log("streaming: ")
            connector.stop_in_order()
    records = lab.topics.records(f"{lab.name}-notifications")
    assert answers_to(records, "a") == answers_to(records, "b") == [DONE], "each once"


def test_shapes_are_given_by_hand_from_the_schema_change_topic(lab: Lab) -> None:
    lab.insert(10, 3)
    with lab.run(lab.config(**signalling(lab))) as connector:
        connector.await_log("streaming: ")
        (first,) = (record.value["tableChanges"][0] for record in lab.topics.records(lab.name))
        for identity, change in (("same", {**first, "type": "ALTER"}), ("gone", {"type": "DROP", "id": first["id"]})):
            insert_signal(lab, identity, "schema-changes", changes=[change])
            await_answers(lab, identity, DONE)
        insert_signal(lab, "again", "schema-changes", changes=[{"type": "DROP", "id": first["id"]}])
        await_answers(lab, "again", ("Signal", "REFUSED"))
        lab.insert(20, 1)
        lab.topics.await_records(lab.topic(), 1)
        insert_signal(lab, "all", "execute-snapshot", **{"data-collections": [f"{lab.schema}.T"]})
        await_answers(lab, "all", DONE)
        connector.stop_in_order()
    types = [record.value["tableChanges"][0]["type"] for record in lab.topics.records(lab.name)]
    assert types == ["CREATE", "ALTER", "DROP", "CREATE"], "the database has it still, so its next row brings it back"
    assert sorted(read_keys(lab)) == [*range(3), 10, 11, 12, 20]


def test_an_open_transaction_is_listed_and_dropped(lab: Lab) -> None:
    config = lab.config(**signalling(lab))
    with lab.run(config) as connector, lab.connect() as holding, holding.cursor() as cursor:
        connector.await_log("streaming: ")
        cursor.execute("INSERT INTO T VALUES (777, 'never seen')")
        with lab.server.connect() as admin:
            admin.cursor().execute(f"call dbms_sandbox.release_strand('{lab.schema}')")  # or it is not in the logs yet
        lab.insert(50, 1)
        lab.topics.await_records(lab.topic(), 1)
        insert_signal(lab, "l", "list-transactions")
        records = await_answers(lab, "l", DONE)
        (listed,) = json.loads(data_of(records, "l", "COMPLETED")["transactions"])
        assert listed["changes"] == 1
        insert_signal(lab, "d", "drop-transaction", **{"transaction-id": listed["transaction-id"]})
        await_answers(lab, "d", DONE)
        connector.stop_in_order()
        with lab.run(config, log="again.log") as again:
            again.await_log("streaming: ")
            holding.commit()
            lab.insert(51, 1)
            found = lab.topics.await_records(lab.topic(), 2)
            again.stop_in_order()
    assert [r.value["after"]["ID"] for r in found] == [50, 51]


def test_check_says_what_is_wrong_with_the_signal_table(lab: Lab) -> None:
    given = {"signal.data.collection": f"{lab.server.service}.{lab.schema}.S"}
    marks = {"incremental.snapshot.watermarking.strategy": "insert_delete"}
    config = lab.config(**given, **marks)
    missing = lab.minercdc("check", str(config))
    assert "there is no table" in missing.output
    assert "CREATE TABLE" in missing.output
    lab.execute("CREATE TABLE S (ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32), DATA NUMBER)")
    assert "three columns of text" in lab.minercdc("check", str(config)).output
    lab.execute(
        "DROP TABLE S", "CREATE TABLE S (SIGNAL_ID VARCHAR2(42) PRIMARY KEY, TYPE VARCHAR2(32), DATA VARCHAR2(2048))"
    )
    assert 'RENAME COLUMN "SIGNAL_ID" TO ID' in lab.minercdc("check", str(config)).output
    lab.execute("ALTER TABLE S RENAME COLUMN SIGNAL_ID TO ID")
    found = lab.minercdc("check", str(config))
    assert "not all columns are logged" in found.output
    lab.execute(LOGGED.format("S"), "GRANT SELECT, INSERT, DELETE ON S TO C##MINERCDC")
    assert f"{lab.schema}.S" not in lab.minercdc("check", str(config)).output


def test_a_table_that_is_captured_from_now_on_is_read_though_the_stream_never_had_it(lab: Lab) -> None:
    lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, OLD NUMBER)", LOGGED.format("U"), "INSERT INTO U VALUES (1, 2)")
    given = signalling(lab)
    with lab.run(lab.config(**given, table_include_list=f"{lab.schema}.T")) as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    lab.execute("INSERT INTO U VALUES (3, 4)")
    both = lab.config("both.yaml", **given, table_include_list=f"{lab.schema}.(T|U)")
    with lab.run(both, log="both.log") as connector:
        connector.await_log("streaming: ")
        insert_signal(lab, "u", "execute-snapshot", **{"data-collections": [f"{lab.schema}.U"]})
        await_answers(lab, "u", DONE)
        lab.execute("ALTER TABLE U DROP COLUMN OLD", "INSERT INTO U VALUES (5)")
        insert_signal(lab, "v", "execute-snapshot", **{"data-collections": [f"{lab.schema}.U"]})
        await_answers(lab, "v", DONE)
        connector.stop_in_order()
    found = [r.value["after"] for r in lab.topics.records(lab.topic("U")) if r.value and r.value["op"] == "r"]
    assert {"ID", "OLD"} == found[0].keys()
    assert found[-3:] == [{"ID": 1}, {"ID": 3}, {"ID": 5}]


def lag_cause(port: int, cause: str, metric: str = "minercdc_lag_cause_seconds") -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        found = re.search(rf'^{metric}{{cause="{cause}",.*}} (\S+)$', answer.read().decode(), re.M)
    assert found is not None
    return float(found[1])


def test_streaming_is_paused_over_a_restart_and_resumed(lab: Lab) -> None:
    port = free_port()
    config = lab.config(
        signal_enabled_channels="http",
        minercdc_http_port=port,
        minercdc_http_token="a token of some length",
        poll_interval_ms=50,
    )
    with lab.run(config, log="first.log") as connector:
        connector.await_log("streaming: ")
        assert lab.minercdc("signal", str(config), "pause-streaming", "--wait").status == 0
        connector.await_log("paused: ")
        lab.insert(10, 5)
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            assert json.loads(answer.read())["paused"]
        connector.stop_in_order()
    assert len(lab.topics.records(lab.topic())) == 3
    with lab.run(config, log="second.log") as connector:
        connector.await_log("paused: ")
        lab.insert(20, 5)
        again = lab.minercdc("signal", str(config), "pause-streaming", "--wait")
        assert (again.status, "streaming is paused already" in again.output) == (1, True)
        connector.kill()
    with lab.run(config, log="third.log") as connector:
        connector.await_log("paused: ")
        assert len(lab.topics.records(lab.topic())) == 3
        assert "Paused by a signal" in lab.minercdc("status", str(config)).output
        deadline = time.monotonic() + 60
        while lag_cause(port, "paused") < 1.0:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert lab.minercdc("signal", str(config), "resume-streaming", "--wait").status == 0
        records = lab.topics.await_records(lab.topic(), 13)
        before = lag_cause(port, "paused", "minercdc_time_seconds_total")
        time.sleep(0.5)  # in which it would grow
        assert lag_cause(port, "paused", "minercdc_time_seconds_total") == before, "the pause is over"
        connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, *range(10, 15), *range(20, 25)]


def test_streaming_that_nothing_could_resume_is_not_paused(lab: Lab) -> None:
    config = lab.config(**signalling(lab))
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        insert_signal(lab, "p", "pause-streaming")
        connector.await_log("is refused: nothing could resume it")
        connector.stop_in_order()
    for wanted, why in (
        ("pause-streaming", "nothing could resume the stream"),
        ("execute-snapshot", "--collection is needed"),
    ):
        sent = lab.minercdc("signal", str(config), wanted)
        assert (sent.status, sent.output) == (2, "")
        assert why in sent.errors


def await_keys(lab: Lab, table: str, keys: set[int]) -> None:
    lab.topics.await_records(lab.topic(table), lambda found: keys <= {record.key["ID"] for record in found})


@pytest.mark.parametrize("wanted", ["none", "incremental"])
def test_a_table_that_was_added_is_read_if_that_is_wanted(lab: Lab, wanted: str) -> None:
    lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(10))", LOGGED.format("U"))
    lab.execute(*(f"INSERT INTO U VALUES ({key}, 'old')" for key in range(5)))
    only = lab.config("only.yaml", table_include_list=f"{lab.schema}.T")
    with lab.run(only, log="only.log") as connector:
        connector.await_log("streaming: ")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()
    lab.execute("UPDATE U SET V = 'new' WHERE ID = 2")
    both = lab.config("both.yaml", minercdc_snapshot_added_tables=wanted)
    for log in ("killed.log", "whole.log"):
        with lab.run(both, log=log) as connector:
            connector.await_log("streaming: ")
            if log == "killed.log":
                connector.kill()
                continue
            lab.execute("INSERT INTO U VALUES (9, 'later')")
            keys = {0, 1, 2, 3, 4, 9} if wanted == "incremental" else {9}
            await_keys(lab, "U", keys)
            connector.stop_in_order()
    records = lab.topics.records(lab.topic("U"))
    last = {record.key["ID"]: record.value["after"]["V"] for record in records}
    if wanted == "none":
        assert set(last) <= {2, 9}, "changes only"
        return
    assert last == {0: "old", 1: "old", 2: "new", 3: "old", 4: "old", 9: "later"}
    reads = [record.key["ID"] for record in records if record.value["op"] == "r"]
    assert len(reads) == len(set(reads)), "read once"
    with lab.run(both, log="again.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO U VALUES (10, 'last')")
        lab.topics.await_records(lab.topic("U"), len(records) + 1)
        connector.stop_in_order()
    assert len(lab.topics.records(lab.topic("U"))) == len(records) + 1, "it is known now"


@pytest.mark.parametrize("wanted", ["none", "incremental"])
def test_a_table_that_was_excluded_for_a_time_is_read_again_or_named(lab: Lab, wanted: str) -> None:
    """Its changes of that time are in no topic, and the schema history knows it."""
    lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(10))", LOGGED.format("U"))
    lab.execute(*(f"INSERT INTO U VALUES ({key}, 'old')" for key in range(3)))
    both = lab.config("both.yaml", minercdc_snapshot_added_tables=wanted)
    only = lab.config("only.yaml", table_include_list=f"{lab.schema}.T")
    with lab.run(both, log="first.log") as connector:
        await_keys(lab, "U", {0, 1, 2})
        connector.await_log("streaming: ")
        connector.stop_in_order()
    with lab.run(only, log="only.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("DELETE FROM U WHERE ID = 0", "UPDATE U SET V = 'new' WHERE ID = 1", "INSERT INTO T VALUES (10, 'x')")
        lab.topics.await_records(lab.topic(), 4)
        connector.stop_in_order()
    said = lab.minercdc("check", str(both)).output
    assert ("U is captured again: its changes since SCN" in said) == (wanted == "none"), said
    with lab.run(both, log="again.log") as connector:
        if wanted == "none":
            assert connector.await_log(rf"{lab.schema}\.U is captured again: .*execute-snapshot --collection \S+\.U")
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO U VALUES (9, 'later')")
        await_keys(lab, "U", {9})
        if wanted == "incremental":
            lab.topics.await_records(
                lab.topic("U"), lambda found: any(one.value and one.value["op"] == "d" for one in found)
            )
        connector.stop_in_order()
    last: dict[int, str] = {}
    for record in lab.topics.records(lab.topic("U")):
        if record.value is None or record.value["op"] == "d":
            last.pop(record.key["ID"], None)
        else:
            last[record.key["ID"]] = record.value["after"]["V"]
    read = {1: "new", 2: "old", 9: "later"}
    assert last == (read if wanted == "incremental" else {0: "old", 1: "old", 2: "old", 9: "later"})
    with lab.run(both, log="known.log") as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    assert "captured again" not in connector.text()


def test_a_table_that_is_made_during_an_outage_comes_by_the_stream_alone(lab: Lab) -> None:
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        config = lab.config(minercdc_snapshot_added_tables="incremental", database_port=proxy.port)
        with lab.run(config) as connector:
            connector.await_log("streaming: ")
            lab.execute("INSERT INTO T VALUES (10, 'x')")
            lab.topics.await_records(lab.topic(), 4)
            proxy.refuse()
            connector.await_log("reconnecting: ")
            lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(10))", LOGGED.format("U"))
            lab.execute(*(f"INSERT INTO U VALUES ({key}, 'u')" for key in range(5)))
            proxy.accept()
            await_keys(lab, "U", set(range(5)))
            lab.execute("INSERT INTO U VALUES (9, 'later')")
            await_keys(lab, "U", {9})
            connector.stop_in_order()
    assert [(one.value["op"], one.key["ID"]) for one in lab.topics.records(lab.topic("U"))] == [
        ("c", key) for key in (*range(5), 9)
    ]


def test_filters_are_read_again_at_sighup(lab: Lab) -> None:
    lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(10))", LOGGED.format("U"))
    options = {"minercdc_snapshot_added_tables": "incremental"}
    config = lab.config(table_include_list=f"{lab.schema}.T", **options)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO U VALUES (1, 'before')", "INSERT INTO T VALUES (10, 'x')")
        lab.topics.await_records(lab.topic(), 4)
        wrong = config.read_text().replace("table.include.list", "table.includes.list")
        config.write_text(wrong)
        connector.process.send_signal(signal.SIGHUP)
        connector.await_log("the filters stay as they are")
        lab.config(table_include_list=f"{lab.schema}.T,{lab.schema}.U", **options)
        connector.process.send_signal(signal.SIGHUP)
        connector.await_log("restarting the stream with the new filters")
        lab.execute("INSERT INTO T VALUES (11, 'x')", "INSERT INTO U VALUES (2, 'after')")
        await_keys(lab, "U", {1, 2})
        records = lab.topics.await_records(lab.topic(), 5)
        connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, 10, 11]
