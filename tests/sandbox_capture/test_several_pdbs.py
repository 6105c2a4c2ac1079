"""One connector over two pluggable databases whose schemas, tables, object ids and XIDs are the same."""

from __future__ import annotations

import itertools
import json
import re
import threading
from contextlib import closing
from typing import Any

import oracledb
import pytest
from tests.sandbox_capture.pdbs import ONE, OTHER, Pdbs, answers, changes, current_scn, running, until, wait_for

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import ConfigError, LogGapError, MinerCdcError
from minercdc.operate.check.examination import examine
from minercdc.operate.check.start_plan import plan
from minercdc.operate.offsets.debezium.importing import look
from minercdc.operate.offsets.read import read_stored, report
from minercdc.oracle.connect import connect
from minercdc.pipeline.connector import Connector
from minercdc.pipeline.databases import SourceDatabases
from minercdc.pipeline.start_checks import check_prerequisites
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial.locks import lock_of
from minercdc.snapshot.initial.snapshot import InitialSnapshot, RowReading, StreamStart
from minercdc.snapshot.initial.snapshot_scn import Fixed, fix_now
from minercdc.stream.events import ChangeEvent, Event, Progress


@pytest.mark.parametrize(
    ("adapter", "after"),
    [("logminer", "logminer"), ("logminer_unbuffered", "logminer_unbuffered"), ("logminer", "logminer_unbuffered")],
)
def test_tables_of_one_name_have_topics_of_their_own_and_one_order_of_commits(pdbs: Pdbs, adapter: str, after: str) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, f"insert into item values (1, 'before in {pdb}')", "commit")
    config = pdbs.config(database_connection_adapter=adapter, provide_transaction_metadata="true")
    with running(Connector(config)) as errors:
        first = wait_for(pdbs, 2, errors)
        assert sorted(first) == [
            (f"shop.{ONE}.SHOP.ITEM", ONE, "r", (1, f"before in {ONE}")),
            (f"shop.{OTHER}.SHOP.ITEM", OTHER, "r", (1, f"before in {OTHER}")),
        ]
        # Interleaved; a savepoint and a rollback in one must not undo what the other has at the same slot and row.
        pdbs.run(ONE, "insert into item values (2, 'kept')", "savepoint s", "insert into item values (3, 'undone')")
        pdbs.run(OTHER, "insert into item values (2, 'other')", "insert into item values (3, 'stays')")
        pdbs.run(ONE, "rollback to s", "update item set name = 'new' where id = 1")
    # The connector is stopped with both transactions open.
    pdbs.run(OTHER, "delete from item where id = 1", "commit")
    with running(Connector(pdbs.config(database_connection_adapter=after, provide_transaction_metadata="true"))) as errors:
        wait_for(pdbs, 5, errors)
        pdbs.run(ONE, "commit", "alter table item add (qty number(5))", "insert into item values (4, 'wide', 7)", "commit")
        pdbs.run(OTHER, "insert into item values (4, 'narrow')", "rollback", "insert into item values (5, 'last')", "commit")
        found = wait_for(pdbs, 9, errors)
    one, other = f"shop.{ONE}.SHOP.ITEM", f"shop.{OTHER}.SHOP.ITEM"
    assert found[2:] == [
        (other, OTHER, "c", (2, "other")),
        (other, OTHER, "c", (3, "stays")),
        (other, OTHER, "d", (1, f"before in {OTHER}")),
        (one, ONE, "c", (2, "kept")),
        (one, ONE, "u", (1, "new")),
        (one, ONE, "c", (4, "wide", 7)),
        (other, OTHER, "c", (5, "last")),
    ]
    by_id: dict[str, set[str]] = {}
    for record in pdbs.records():
        value = record["value"].get("payload", record["value"])
        if value.get("op") and value["source"]["txId"]:
            by_id.setdefault(value["transaction"]["id"], set()).add(value["source"]["db"])
            assert value["source"]["txId"] == value["transaction"]["id"]
    assert {name.partition(":")[0] for name in by_id} == {ONE, OTHER}
    assert all(dbs == {name.partition(":")[0]} for name, dbs in by_id.items())
    own = [{name.partition(":")[2] for name in by_id if name.startswith(pdb)} for pdb in (ONE, OTHER)]
    assert own[0] & own[1], "the same XID came in both"


def test_patterns_name_tables_of_all_pdbs_or_of_one(pdbs: Pdbs) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(
            pdb, "create table note (id number(9) primary key)", "alter table note add supplemental log data (all) columns"
        )
        pdbs.run(pdb, "insert into item values (1, null)", "insert into note values (1)", "commit")
    with running(Connector(pdbs.config(table_include_list=rf"SHOP\.ITEM,{OTHER}\.SHOP\.NOTE,SHOP\.NONE"))) as errors:
        wait_for(pdbs, 3, errors)
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "insert into note values (2)", "insert into item values (2, null)", "commit")
        found = wait_for(pdbs, 6, errors)
    tables = [f"shop.{ONE}.SHOP.ITEM", f"shop.{OTHER}.SHOP.ITEM", f"shop.{OTHER}.SHOP.NOTE"]
    assert sorted(topic for topic, *_ in found[:3]) == sorted(topic for topic, *_ in found[3:]) == tables
    missing = check_prerequisites(pdbs.config(table_include_list=rf"SHOP\.ITEM,{OTHER}\.SHOP\.NOTE,SHOP\.NONE"))
    assert [finding.problem for finding in missing] == [
        r"table.include.list: 'SHOP\.NONE' matches no table; did you mean SHOP.NOTE?"
    ]


def test_what_one_pdb_lacks_is_named_with_it(pdbs: Pdbs) -> None:
    pdbs.run(OTHER, "alter table item drop supplemental log data (all) columns")
    config = pdbs.config(table_include_list=r"SHOP\.ITEM")
    (finding,) = check_prerequisites(config)
    assert finding.problem.startswith(f"{OTHER}: SHOP.ITEM: supplemental logging is missing")
    assert finding.fix.startswith(f"In {OTHER}: ALTER TABLE")
    assert [one.rule for one in examine(config) if one.rule == "table-logging"] == ["table-logging"]


def test_a_pdb_that_is_not_there_or_not_open_is_named(pdbs: Pdbs) -> None:
    with pytest.raises(MinerCdcError, match=r"container STOCK: ORA-65011"):
        check_prerequisites(pdbs.config(database_pdb_name=f"{ONE},STOCK"))
    with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
        admin.cursor().execute(f"alter pluggable database {OTHER} close immediate")
    (finding,) = check_prerequisites(pdbs.config())
    assert finding.problem == f"{OTHER}: it is not open, so its tables cannot be read"
    assert f"ALTER PLUGGABLE DATABASE {OTHER} OPEN" in finding.fix
    (finding,) = check_prerequisites(pdbs.config(database_pdb_name=OTHER, table_include_list="SHOP.ITEM"))
    assert (finding.problem, finding.blocking) == (f"{OTHER}: it is not open, so its tables cannot be read", True)
    assert (finding.fix, finding.rule) == (f"ALTER PLUGGABLE DATABASE {OTHER} OPEN;", "pdb-open")


def test_a_start_waits_for_a_pdb_that_is_not_open_yet(pdbs: Pdbs, caplog: pytest.LogCaptureFixture) -> None:
    with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
        admin.cursor().execute(f"alter pluggable database {OTHER} close immediate")
        with running(Connector(pdbs.config(table_include_list=r"SHOP\.ITEM"))) as errors:
            until(lambda: f"{OTHER}: it is not open" in caplog.text, errors)
            admin.cursor().execute(f"alter pluggable database {OTHER} open")
            pdbs.run(ONE, "insert into item values (1, 'first')", "commit")
            wait_for(pdbs, 1, errors)


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_redo_of_another_pdb_that_was_dropped_does_not_end_a_connector(pdbs: Pdbs, adapter: str) -> None:
    given = {"database_pdb_name": ONE, "table_include_list": r"SHOP\.ITEM", "database_connection_adapter": adapter}
    with running(Connector(pdbs.config(**given))) as errors:
        pdbs.run(ONE, "insert into item values (1, 'first')", "commit")
        wait_for(pdbs, 1, errors)
    pdbs.run(OTHER, "insert into item values (1, 'gone')", "commit")
    with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
        admin.cursor().execute(f"alter pluggable database {OTHER} close immediate")
        admin.cursor().execute(f"drop pluggable database {OTHER} including datafiles")
    pdbs.run(ONE, "insert into item values (2, 'second')", "commit")
    with running(Connector(pdbs.config(**given))) as errors:
        found = wait_for(pdbs, 2, errors)
    assert [row for *_, row in found] == [(1, "first"), (2, "second")]


@pytest.mark.parametrize("given", [{}, {"database_pdb_name": OTHER}])
def test_a_pdb_that_was_made_again_is_not_streamed_from(pdbs: Pdbs, given: dict[str, str]) -> None:
    """Its tables have the object ids of others of before."""
    config = pdbs.config(table_include_list=r"SHOP\..*", **given)
    pdbs.run(OTHER, "insert into item values (1, 'first')", "commit")
    with running(Connector(config)) as errors:
        wait_for(pdbs, 1, errors)
    pdbs.sessions.pop(OTHER).close()
    with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
        admin.cursor().execute(f"alter pluggable database {OTHER} close immediate")
        admin.cursor().execute(f"drop pluggable database {OTHER} including datafiles")
        admin.cursor().execute(f"create pluggable database {OTHER} admin user boss identified by boss")
        admin.cursor().execute(f"alter pluggable database {OTHER} open")
    with pytest.raises(LogGapError, match=r"dropped and created again"):
        Connector(config).run(threading.Event())


def test_the_list_of_an_offset_does_not_grow(pdbs: Pdbs) -> None:
    pdbs.run(OTHER, "insert into item values (1, null)", "commit")
    with running(Connector(pdbs.config())) as errors:
        wait_for(pdbs, 1, errors)
    with pytest.raises(ConfigError, match="topic names change"):
        Connector(pdbs.config(database_pdb_name=OTHER)).run(threading.Event())
    with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
        admin.cursor().execute("create pluggable database stock admin user boss identified by boss")
        admin.cursor().execute("alter pluggable database stock open")
    with pytest.raises(ConfigError, match="STOCK: added since the offset was stored"):
        Connector(pdbs.config(database_pdb_name=f"{ONE},{OTHER},STOCK")).run(threading.Event())


def test_a_strategy_by_which_tables_would_share_a_topic_is_refused(pdbs: Pdbs) -> None:
    strategy = "io.debezium.schema.SchemaRegexTopicNamingStrategy"
    given = {"topic.regex": r"(shop)\..*\.SHOP\.(.*)", "topic.replacement": "$1.$2", "topic.key.enforce.uniqueness": "false"}
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, "insert into item values (1, null)", "commit")
    share = rf"{ONE}\.SHOP\.ITEM and {OTHER}\.SHOP\.ITEM would share the topic shop\.ITEM"
    with pytest.raises(MinerCdcError, match=share):
        Connector(pdbs.config(topic_naming_strategy=strategy, event_processing_failure_handling_mode="fail", **given)).run(
            threading.Event()
        )
    connector = Connector(pdbs.config(topic_naming_strategy=strategy, **given))
    with running(connector) as errors:
        assert wait_for(pdbs, 1, errors) == [("shop.ITEM", ONE, "r", (1, None))]
        (suspended,) = until(lambda: connector.counters.suspended, errors)
        pdbs.run(OTHER, "insert into item values (2, null)", "commit")
        pdbs.run(ONE, "insert into item values (3, null)", "commit")
        assert wait_for(pdbs, 2, errors)[1:] == [("shop.ITEM", ONE, "c", (3, None))]
    assert suspended.table == f"{OTHER}.SHOP.ITEM"
    assert re.search(share, suspended.reason)


def test_figures_reports_and_signals_name_the_database(pdbs: Pdbs) -> None:
    notices = {"notification.enabled.channels": "sink", "notification.sink.topic.name": "notices"}
    config = pdbs.config(
        table_include_list=r"SHOP\.ITEM", signal_enabled_channels="in-process", signal_poll_interval_ms="100", **notices
    )
    shown = [line for line in plan(config) if "SHOP" in line or "CONTAINER" in line]
    for pdb in (ONE, OTHER):
        assert any(line.startswith(f"  {pdb}.SHOP.ITEM -> shop.{pdb}.SHOP.ITEM") for line in shown)
        assert f"  ALTER SESSION SET CONTAINER = {pdb};" in shown
        pdbs.run(pdb, "insert into item values (1, null)", "commit")
    connector = Connector(config)
    with running(connector) as errors:
        wait_for(pdbs, 2, errors)
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "insert into item values (9, 'open')")
        with pdbs.sandbox.connect(service=pdbs.sandbox.root_service) as admin:
            admin.cursor().execute("alter system switch logfile")  # which brings the redo of open transactions into the log

        sent: list[str] = []

        def in_both() -> list[str]:
            if not sent:
                sent.append(connector.signal("list-transactions"))
            of_all = [one["additional_data"].get("transactions") for one in answers(pdbs, "COMPLETED")]
            listed = next(filter(None, reversed(of_all)), "")
            if listed:
                sent.clear()
            found = [one["transaction-id"] for one in json.loads(listed or "[]")]
            return found if len(found) == 2 else []

        lost, kept = sorted(until(in_both, errors))
        assert (lost.partition(":")[0], kept.partition(":")[0]) == (ONE, OTHER)
        connector.signal("drop-transaction", {"transaction-id": lost.partition(":")[2]}, "bare")
        until(lambda: answers(pdbs, "REFUSED"), errors)
        (bare,) = (one["additional_data"]["reason"] for one in answers(pdbs, "REFUSED"))
        assert f"give {ONE}:" in bare
        connector.signal("drop-transaction", {"transaction-id": lost}, "drop")
        until(lambda: [one for one in answers(pdbs, "COMPLETED") if one["additional_data"].get("xid") == lost], errors)
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "commit")
        assert wait_for(pdbs, 3, errors)[2:] == [(f"shop.{OTHER}.SHOP.ITEM", OTHER, "c", (9, "open"))]
    assert dict(connector.counters.tables) == {f"{ONE}.SHOP.ITEM": 1, f"{OTHER}.SHOP.ITEM": 2}
    stored = read_stored(config)
    assert stored is not None
    lines = dict(report(config, stored))
    assert lines["database"].endswith("all redo that is needed exists")
    assert lines["schema history"] == "2 tables"


def test_a_snapshot_that_is_killed_goes_on_in_both_as_of_one_scn(pdbs: Pdbs) -> None:
    for pdb in (ONE, OTHER):
        with pdbs.sessions[pdb].cursor() as cursor:
            cursor.executemany("insert into item values (:1, :2)", [(number, pdb) for number in range(500)])
        pdbs.run(pdb, "commit")
    config = pdbs.config(snapshot_fetch_size="50", snapshot_max_threads="3", table_include_list=r"SHOP\.ITEM")
    databases = SourceDatabases(config, connect)
    tables, events, state = Tables(), list[Event](), None

    def fix(connection: oracledb.Connection) -> Fixed:
        with databases.places(connection) as places:
            return fix_now(places, lock_of(config.snapshot))

    def snapshot() -> InitialSnapshot:
        return InitialSnapshot(
            databases.of_tables(),
            tables,
            config.snapshot,
            StreamStart(
                fix,
                lambda scn, begun: LogMinerPosition(start_scn=begun, snapshot_scn=scn, pdbs=(ONE, OTHER)),
                LogMinerPosition.from_json,
            ),
            RowReading(),
        )

    for turn in range(3):
        stop, read = threading.Event(), 0
        for event in snapshot().take(state, stop):
            events.append(event)
            read += isinstance(event, ChangeEvent)
            if isinstance(event, Progress) and event.snapshot is not None:
                state = event.snapshot
            if turn < 2 and read == 220:
                stop.set()
        # Both go on changing, which the snapshot does not see.
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, f"delete from item where id = {turn}", "commit")
    assert state is not None
    assert state.completed
    assert {(table.table, table.rows) for table in state.tables} == {(f"{pdb}.SHOP.ITEM", 500) for pdb in (ONE, OTHER)}
    rows = [(event.schema.id.database, event.after) for event in events if isinstance(event, ChangeEvent)]
    assert len(rows) == len(set(rows)) == 1000
    assert all(after is not None and after[1] == database for database, after in rows)


def test_debezium_offsets_are_of_one_database_and_several_are_refused_by_name(pdbs: Pdbs) -> None:
    config = pdbs.config()
    with pytest.raises(ConfigError, match="works with only one pluggable database") as caught:
        look(config, "offsets.dat")
    assert caught.value.hint == "Use a copy of the configuration that names one of them."


def test_large_values_are_read_again_from_their_own_database(pdbs: Pdbs) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, "create table doc (id number(9) primary key, text clob)")
        pdbs.run(pdb, "alter table doc add supplemental log data (all) columns")
        with pdbs.sessions[pdb].cursor() as cursor:
            cursor.execute("insert into doc values (1, :1)", [f"{pdb} " * 2000])
        pdbs.run(pdb, "commit")
    config = pdbs.config(lob_enabled="true", table_include_list=r"SHOP\.DOC")
    with running(Connector(config)) as errors:
        wait_for(pdbs, 2, errors)
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "update doc set id = 2 where id = 1", "commit")
        found = wait_for(pdbs, 6, errors)
    texts = {db: row for _, db, op, row in found if op == "c"}
    assert texts == {pdb: (2, f"{pdb} " * 2000) for pdb in (ONE, OTHER)}


def test_long_transactions_of_both_are_kept_over_a_restart(pdbs: Pdbs) -> None:
    config = pdbs.config(table_include_list=r"SHOP\.ITEM", minercdc_log_mining_buffer_durable_after_ms="0")

    def kept() -> list[tuple[int, str]]:
        stored = read_stored(config)
        listed: Any = (stored.offset.position or {}).get("kept", ()) if stored is not None else ()
        return [(one["container"], one["xid"]) for one in listed]

    def long_ones() -> list[tuple[str, str, str, Any]]:
        return [change for change in changes(pdbs.records()) if change[3][0] < 100]

    def switch() -> None:
        with pdbs.sandbox.connect(service=pdbs.sandbox.root_service) as admin:
            admin.cursor().execute("alter system switch logfile")

    marks = itertools.count(100)
    with running(Connector(config)) as errors, pdbs.sandbox.connect("shop", "shop", ONE) as another:
        pdbs.run(ONE, "insert into item values (1, 'one')")
        pdbs.run(OTHER, "insert into item values (1, 'other')", "insert into item values (2, 'gone')")
        switch()

        def both_are_kept() -> bool:
            another.cursor().execute(
                "insert into item values (:1, null)", [next(marks)]
            )  # kept at the next record of a pass
            another.commit()
            return len(kept()) == 2

        until(both_are_kept, errors)
    (first, xid), (second, same) = sorted(kept())
    assert (first != second, xid) == (True, same), "the same XID in both"
    pdbs.run(OTHER, "delete from item where id = 2", "commit")
    pdbs.run(ONE, "insert into item values (3, 'one')")
    switch()
    with running(Connector(config)) as errors:
        until(lambda: len(long_ones()) == 3, errors)
        pdbs.run(ONE, "commit")
        found = until(lambda: len(found := long_ones()) == 5 and found, errors)
    assert not kept()
    other, one = f"shop.{OTHER}.SHOP.ITEM", f"shop.{ONE}.SHOP.ITEM"
    assert found == [
        (other, OTHER, "c", (1, "other")),
        (other, OTHER, "c", (2, "gone")),
        (other, OTHER, "d", (2, "gone")),
        (one, ONE, "c", (1, "one")),
        (one, ONE, "c", (3, "one")),
    ]


def test_a_stream_from_a_given_scn_has_what_was_open_there_in_either(pdbs: Pdbs) -> None:
    pdbs.run(ONE, "insert into item values (1, 'before')", "commit")
    pdbs.run(OTHER, "insert into item values (1, 'open')")
    scn = current_scn(pdbs)
    pdbs.run(ONE, "insert into item values (2, 'after')", "commit")
    pdbs.run(OTHER, "commit")
    start = {"snapshot.mode": "no_data", "minercdc.start.scn": str(scn)}
    with running(Connector(pdbs.config(table_include_list=r"SHOP\.ITEM", **start))) as errors:
        found = wait_for(pdbs, 2, errors)
    one, other = f"shop.{ONE}.SHOP.ITEM", f"shop.{OTHER}.SHOP.ITEM"
    assert found == [(one, ONE, "c", (2, "after")), (other, OTHER, "c", (1, "open"))]
