"""`snapshot.mode`, and the hand-over from the snapshot to the stream."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.lab import LOGGED, Lab
from tests.e2e.proxy import Proxy


def ops(lab: Lab) -> list[tuple[str, int]]:
    return [(r.value["op"], r.key["ID"]) for r in lab.topics.records(lab.topic()) if r.value]


SNAPSHOT = [("r", 0), ("r", 1), ("r", 2)]


def test_initial_only_ends_after_the_snapshot_and_does_nothing_the_next_time(lab: Lab) -> None:
    config = lab.config(snapshot_mode="initial_only")
    first = lab.run_to_end(config)
    assert (first.status, first.message()) == (0, "")
    lab.execute("INSERT INTO T VALUES (10, 'later')")
    second = lab.run_to_end(config, "second.log")
    assert second.status == 0
    assert "snapshot.mode does not stream" in second.errors
    assert ops(lab) == SNAPSHOT
    with lab.run(log="third.log") as connector:  # with `initial`, it goes on from there
        lab.topics.await_records(lab.topic(), 4)
        connector.stop_in_order()
    assert ops(lab) == [*SNAPSHOT, ("c", 10)]


def test_no_data_begins_with_the_changes_after_its_start(lab: Lab) -> None:
    with lab.run(lab.config(snapshot_mode="no_data")) as connector:
        connector.await_log("streaming:")
        lab.execute("INSERT INTO T VALUES (10, 'x')", "DELETE FROM T WHERE ID = 0")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()
    assert ops(lab) == [("c", 10), ("d", 0)]
    structures = [r.value["tableChanges"][0]["type"] for r in lab.topics.records(lab.name)]
    assert structures == ["CREATE"]


def test_always_takes_one_at_every_start_and_not_at_every_restart(lab: Lab) -> None:
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        config = lab.config(snapshot_mode="always", database_port=proxy.port)
        for number in range(2):
            with lab.run(config, f"run{number}.log") as connector:
                lab.topics.await_records(lab.topic(), 3 + 5 * number)
                connector.await_log("mining 1:")  # its session is open
                proxy.drop()
                connector.await_log(r"(?s)going on from the last offset.*streaming from")
                lab.execute(f"INSERT INTO T VALUES ({10 + number}, 'x')")
                lab.topics.await_records(lab.topic(), 4 + 5 * number)
                connector.stop_in_order()
    assert ops(lab) == [*SNAPSHOT, ("c", 10), *SNAPSHOT, ("r", 10), ("c", 11)]


def test_a_transaction_open_at_the_snapshot_comes_whole_afterwards(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (10, 'before')")
        cursor.execute("UPDATE T SET V = 'open' WHERE ID = 1")
        with lab.connect() as other, other.cursor() as undone:
            undone.execute("INSERT INTO T VALUES (11, 'rolled back')")
            with lab.run(lab.config(snapshot_locking_mode="none")) as connector:
                connector.await_log("streaming:")
                undone.execute("INSERT INTO T VALUES (12, 'rolled back')")
                other.rollback()
                cursor.execute("INSERT INTO T VALUES (13, 'after')")
                connection.commit()
                records = lab.topics.await_records(lab.topic(), 6)
                connector.stop_in_order()
    assert ops(lab) == [*SNAPSHOT, ("c", 10), ("u", 1), ("c", 13)]
    assert len({r.value["source"]["txId"] for r in records[3:]}) == 1
    assert [r.value["source"]["txSeq"] for r in records[3:]] == [1, 2, 3]


def test_a_transaction_that_was_open_when_the_connector_stopped(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        with lab.run() as connector:
            connector.await_log("streaming:")
            cursor.execute("INSERT INTO T VALUES (10, 'open')")
            lab.execute("INSERT INTO T VALUES (11, 'committed')")
            lab.topics.await_records(lab.topic(), 4)
            connector.stop_in_order()
        cursor.execute("INSERT INTO T VALUES (12, 'open')")
        connection.commit()
    with lab.run(log="again.log") as connector:
        lab.topics.await_records(lab.topic(), 6)
        connector.stop_in_order()
    assert ops(lab) == [*SNAPSHOT, ("c", 11), ("c", 10), ("c", 12)]


def test_a_split_transaction_survives_a_kill_between_its_parts(lab: Lab) -> None:
    rows = 3_000
    config = lab.config(minercdc_kafka_transaction_max_records=100, query_fetch_size=500)
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        lab.insert(100, rows)
        lab.topics.await_records(lab.topic(), 3 + 100)
        connector.kill()
    offset = lab.topics.offset()
    delivered = len(lab.topics.records(lab.topic()))
    for number in range(3):
        if offset is None or offset.partial is None:
            break
        with lab.run(config, f"run{number}.log") as connector:
            lab.topics.await_records(lab.topic(), min(delivered + 100, rows + 3))
            connector.kill()
        offset, delivered = lab.topics.offset(), len(lab.topics.records(lab.topic()))
    lab.execute("INSERT INTO T VALUES (9, 'the end')")
    with lab.run(config, "last.log") as connector:
        records = lab.topics.await_records(lab.topic(), rows + 4)
        connector.stop_in_order()
    assert [r.key["ID"] for r in records] == [0, 1, 2, *range(100, 100 + rows), 9]
    assert [r.value["source"]["txSeq"] for r in records[3:-1]] == list(range(1, rows + 1))


def stream_some(lab: Lab, config: Path, log: str, rows: int) -> None:
    """Run until so many records are in the topic."""
    with lab.run(config, log) as connector:
        lab.topics.await_records(lab.topic(), rows)
        connector.stop_in_order()


def test_recovery_reads_the_structures_again_and_goes_on_from_the_offset(lab: Lab) -> None:
    stream_some(lab, lab.config(), "first.log", 3)
    lab.topics.delete(f"{lab.name}-schema-history")
    lab.execute("INSERT INTO T VALUES (10, 'meanwhile')")
    stream_some(lab, lab.config(snapshot_mode="recovery"), "second.log", 4)
    assert ops(lab) == [*SNAPSHOT, ("c", 10)]
    history = [r.value["tableChanges"][0]["type"] for r in lab.topics.records(f"{lab.name}-schema-history")]
    assert history == ["CREATE"]
    lab.execute("INSERT INTO T VALUES (11, 'later')")
    stream_some(lab, lab.config(), "third.log", 5)
    assert ops(lab)[-1] == ("c", 11)


@pytest.mark.parametrize(("how", "says"), [("corrupt", "record 2 .* cannot be read"), ("truncate", "were deleted")])
def test_recovery_rebuilds_a_schema_history_that_cannot_be_read(lab: Lab, how: str, says: str) -> None:
    history = f"{lab.name}-schema-history"
    stream_some(lab, lab.config(), "first.log", 3)
    getattr(lab.topics, how)(history)
    lab.execute("INSERT INTO T VALUES (10, 'meanwhile')")
    ended = lab.run_to_end(lab.config(), "broken.log")
    assert (ended.status, ended.message()[:7]) == (1, "MC-5001")
    assert re.search(says, ended.message())
    assert "snapshot.mode=recovery" in ended.message()
    stream_some(lab, lab.config(snapshot_mode="recovery"), "second.log", 4)
    lab.execute("ALTER TABLE T ADD W NUMBER(5)", "INSERT INTO T VALUES (11, 'later', 1)")
    stream_some(lab, lab.config(), "third.log", 5)  # any mode can read it again
    assert ops(lab) == [*SNAPSHOT, ("c", 10), ("c", 11)]


def test_when_needed_takes_a_new_snapshot_once_redo_is_gone(lab: Lab) -> None:
    stream_some(lab, lab.config(), "first.log", 3)
    lab.execute("INSERT INTO T VALUES (10, 'in lost redo')")
    lab.purge_logs()
    stopped = lab.run_to_end(lab.config(log_mining_log_query_max_retries=1), "second.log")
    assert stopped.status == 1
    assert "MC-3301" in stopped.message()
    stream_some(lab, lab.config(snapshot_mode="when_needed"), "third.log", 7)
    assert ops(lab) == [*SNAPSHOT, *SNAPSHOT, ("r", 10)]


def test_configuration_based_streams_without_any_snapshot(lab: Lab) -> None:
    config = lab.config(snapshot_mode="configuration_based", **{"snapshot_mode_configuration_based_start_stream": "true"})
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        lab.execute("INSERT INTO T VALUES (10, 'x')")
        lab.topics.await_records(lab.topic(), 1)
        connector.stop_in_order()
    assert ops(lab) == [("c", 10)]


def test_a_given_scn_is_where_streaming_begins(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (10, 'before')")
        connection.commit()
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        (scn,) = cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE").fetchone()
    lab.execute("INSERT INTO T VALUES (11, 'after')")
    stream_some(lab, lab.config(snapshot_mode="no_data", minercdc_start_scn=scn), "run.log", 1)
    assert ops(lab) == [("c", 11)]


def scn_of(lab: Lab) -> int:
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        (scn,) = cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE").fetchone()
    return int(scn)


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_transactions_open_at_a_given_scn_come_whole(lab: Lab, adapter: str) -> None:
    with lab.connect() as first, lab.connect() as second, lab.connect() as third:
        first.cursor().execute("INSERT INTO T VALUES (10, 'before')")
        second.cursor().execute("INSERT INTO T VALUES (20, 'before')")
        third.cursor().execute("INSERT INTO T VALUES (30, 'rolled back')")
        with lab.server.connect(service=lab.server.root_service) as admin:
            admin.cursor().execute("ALTER SYSTEM SWITCH LOGFILE")
        lab.execute("INSERT INTO T VALUES (11, 'committed before')")
        scn = scn_of(lab)
        first.cursor().execute("INSERT INTO T VALUES (12, 'after')")
        first.commit()
        third.rollback()
        config = lab.config(snapshot_mode="no_data", minercdc_start_scn=scn, database_connection_adapter=adapter)
        with lab.run(config) as connector:
            lab.topics.await_records(lab.topic(), 2)
            second.cursor().execute("INSERT INTO T VALUES (22, 'after')")
            second.commit()
            lab.topics.await_records(lab.topic(), 4)
            connector.stop_in_order()
    assert ops(lab) == [("c", 10), ("c", 12), ("c", 20), ("c", 22)]


def test_a_given_scn_whose_open_transaction_began_in_lost_redo_is_refused(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (10, 'before')")
        lab.purge_logs()
        scn = scn_of(lab)
        cursor.execute("INSERT INTO T VALUES (11, 'after')")
        connection.commit()
    config = lab.config(snapshot_mode="no_data", minercdc_start_scn=scn, log_mining_log_query_max_retries=1)
    ended = lab.run_to_end(config)
    assert (ended.status, ended.message()[:7]) == (1, "MC-3301"), ended.errors
    assert f"from SCN {scn} on; a transaction that was open then needs redo from SCN" in ended.message()
    assert "choose a later SCN" in ended.message()
    assert ops(lab) == []


def test_notifications_report_on_the_snapshot(lab: Lab) -> None:
    topic = f"{lab.name}-notices"
    config = lab.config(notification_enabled_channels="sink,log", notification_sink_topic_name=topic)
    stream_some(lab, config, "first.log", 3)
    with lab.run(config, "second.log") as connector:
        lab.topics.await_records(topic, 5)
        connector.stop_in_order()
    notices = [record.value for record in lab.topics.records(topic)]
    assert [notice["type"] for notice in notices] == [
        "STARTED",
        "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED",
        "COMPLETED",
        "SKIPPED",
    ]
    assert {notice["aggregate_type"] for notice in notices} == {"Initial Snapshot"}
    assert notices[2]["additional_data"] == {
        "connector_name": lab.name,
        "scanned_collection": f"{lab.server.service.upper()}.{lab.schema}.T",
        "data_collections": f"{lab.server.service.upper()}.{lab.schema}.T",
        "total_rows_scanned": "3",
        "status": "SUCCEEDED",
    }
    assert "notification:" in (lab.directory / "first.log").read_text()


def test_a_table_that_cannot_be_read_at_the_scn_comes_by_an_incremental_snapshot(lab: Lab) -> None:
    lab.insert(100, 200)
    with lab.server.connect() as admin, admin.cursor() as cursor:
        cursor.execute(
            "call dbms_sandbox.fail_call(1555, at => 'fetch', matching => 'AS OF SCN', username => 'C##MINERCDC', nth => 2)"
        )
    with lab.run(lab.config(snapshot_fetch_size=50, incremental_snapshot_chunk_size=32)) as connector:
        connector.await_log("ORA-01555.*read by an incremental snapshot during the stream")
        lab.execute("UPDATE T SET V = 'later' WHERE ID = 150", "DELETE FROM T WHERE ID = 151")
        connector.await_log("is done, SUCCEEDED")
        lab.execute("INSERT INTO T VALUES (9, 'the end')")
        records = lab.topics.await_records(lab.topic(), lambda found: any(r.key["ID"] == 9 for r in found))
        connector.stop_in_order()
    rows = {}
    for record in records:
        rows[record.key["ID"]] = record.value["after"]["V"] if record.value and record.value["after"] else None
    assert rows.pop(151) is None
    assert rows == {0: "initial", 1: "initial", 2: "initial", **dict.fromkeys({*range(100, 300)} - {151}, "row")} | {
        150: "later",
        9: "the end",
    }


def test_a_snapshot_over_four_connections_goes_on_after_a_kill_and_is_what_was_there(lab: Lab) -> None:
    lab.execute("CREATE TABLE BIG (ID NUMBER(9) PRIMARY KEY, PAD VARCHAR2(100))", LOGGED.format("BIG"))
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO BIG VALUES (:1, :2)", [(number, "x" * 100) for number in range(40_000)])
        connection.commit()
    config = lab.config(snapshot_max_threads=4, snapshot_fetch_size=100, poll_interval_ms=100)
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("call dbms_sandbox.delay_call(0.1, at => 'fetch', matching => 'BIG', times => 0)")
        with lab.run(config) as connector:
            lab.topics.await_records(lab.topic("BIG"), 1)
            connector.kill()
        cursor.execute("call dbms_sandbox.clear_faults()")
    lab.execute("DELETE FROM BIG WHERE ID < 6000", "INSERT INTO BIG VALUES (50000, 'new')")
    before = len(lab.topics.records(lab.topic("BIG")))
    with lab.run(config, log="again.log") as connector:
        found = lab.topics.await_records(
            lab.topic("BIG"), lambda records: any(r.key["ID"] == 50_000 for r in records), timeout=90
        )
        assert "going on with the snapshot at SCN" in connector.text()
        connector.stop_in_order()
    assert 0 < before < 40_000, "killed in the middle"
    read = [r.key["ID"] for r in found if r.value and r.value["op"] == "r"]
    assert sorted(read) == list(range(40_000))
    assert read != sorted(read), "several ranges were read side by side"


def test_a_callable_selects_the_rows_of_a_table(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "my_queries.py").write_text(
        "def odd(table, columns):\n"
        "    assert columns == ['ID', 'V'], columns\n"
        "    return f'SELECT * FROM {table} WHERE MOD(ID, 2) = 1;' if table.endswith('.T') else None\n"
    )
    lab.execute(
        "CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))", LOGGED.format("U"), "INSERT INTO U VALUES (2, 'u')"
    )
    config = lab.config(snapshot_query_mode="custom", **{"snapshot.query.mode.custom.name": "my_queries:odd"})
    with lab.run(config, environment={"PYTHONPATH": str(tmp_path)}) as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    assert ops(lab) == [("r", 1)]
    assert [r.key["ID"] for r in lab.topics.records(lab.topic("U"))] == [2]
