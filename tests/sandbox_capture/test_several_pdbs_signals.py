"""Signals, ad hoc snapshots and suspended tables of a connector over two pluggable databases."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.sandbox_capture.pdbs import ONE, OTHER, Pdbs, answers, changes, running, until, wait_for

from minercdc.config.load import ConnectorConfig
from minercdc.pipeline.connector import Connector
from minercdc.pipeline.start_checks import check_prerequisites

SIGNALS = "create table signals (id varchar2(42) primary key, type varchar2(32) not null, data varchar2(2048))"
NOTICES = {"notification.enabled.channels": "sink", "notification.sink.topic.name": "notices"}


def signalled(pdbs: Pdbs, **changes: str) -> ConnectorConfig:
    """A configuration with the signal table SHOP.SIGNALS of OTHER, which is also in ONE and nothing special there."""
    return pdbs.config(
        table_include_list=rf"SHOP\.ITEM,{ONE}\.SHOP\.SIGNALS",
        signal_data_collection=f"{OTHER}.SHOP.SIGNALS",
        signal_enabled_channels="source,in-process",
        signal_poll_interval_ms="100",
        incremental_snapshot_chunk_size="2",
        **NOTICES,
        **changes,
    )


def with_signal_tables(pdbs: Pdbs) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, SIGNALS, "alter table signals add supplemental log data (all) columns")


def answered(pdbs: Pdbs) -> list[str]:
    """Ids of the signals that are done."""
    return [one["id"] for one in answers(pdbs, "COMPLETED") if one["aggregate_type"] == "Signal"]


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_a_signal_table_of_one_has_tables_of_all_read_again(pdbs: Pdbs, adapter: str) -> None:
    with_signal_tables(pdbs)
    for pdb in (ONE, OTHER):
        for number in range(1, 6):
            pdbs.run(pdb, f"insert into item values ({number}, '{pdb}')")
        pdbs.run(pdb, "commit")
    config = signalled(pdbs, database_connection_adapter=adapter, snapshot_mode="no_data")
    assert not [one for one in check_prerequisites(config) if one.blocking]
    one, other = f"shop.{ONE}.SHOP.ITEM", f"shop.{OTHER}.SHOP.ITEM"
    connector = Connector(config)
    with running(connector) as errors:
        until(lambda: connector.counters.phase == "streaming", errors)
        for pdb, collection, kind in (
            (ONE, r"SHOP\.ITEM", "incremental"),  # no signal: the signal table is in the other database
            (OTHER, r"SHOP\.ITEM", "incremental"),
            (OTHER, rf"{ONE}\.SHOP\.ITEM", "blocking"),
            (OTHER, rf"{OTHER}\.SHOP\.ITEM", "incremental"),
        ):
            done = len(answered(pdbs))
            data = json.dumps({"data-collections": [collection], "type": kind})
            pdbs.run(pdb, f"insert into signals values ('{pdb} {done}', 'execute-snapshot', '{data}')", "commit")
            if pdb == OTHER:
                until(lambda done=done: len(answered(pdbs)) > done, errors)  # type: ignore[misc]
            pdbs.run(ONE, "update item set name = 'new' where id = 1", "commit")
        found = wait_for(pdbs, 1 + 10 + 5 + 5 + 4, errors)
    assert [change for change in found if change[2] == "c"] == [
        (f"shop.{ONE}.SHOP.SIGNALS", ONE, "c", (f"{ONE} 0", "execute-snapshot", found[0][3][2]))
    ]
    for topic, database, times in ((one, ONE, 2), (other, OTHER, 2)):
        rows = [change[3] for change in found if change[0] == topic and change[2] == "r"]
        assert sorted(rows) == sorted(times * [(n, "new" if (n, database) == (1, ONE) else database) for n in range(1, 6)])
    read = [one["additional_data"]["scanned_collection"] for one in answers(pdbs, "TABLE_SCAN_COMPLETED")]
    assert read == [f"{ONE}.SHOP.ITEM", f"{OTHER}.SHOP.ITEM", f"{ONE}.SHOP.ITEM", f"{OTHER}.SHOP.ITEM"]


def test_ad_hoc_snapshots_go_on_where_they_were_and_leave_a_closed_pdb_out(pdbs: Pdbs) -> None:
    with_signal_tables(pdbs)
    for pdb in (ONE, OTHER):
        with pdbs.sessions[pdb].cursor() as cursor:
            cursor.executemany("insert into item values (:1, :2)", [(number, pdb) for number in range(400)])
        pdbs.run(pdb, "commit")
    config = signalled(pdbs, snapshot_mode="no_data")
    read = 0
    for turn in range(4):
        connector = Connector(config)
        with running(connector) as errors:
            if not turn:
                connector.signal("execute-snapshot", {"data-collections": [r".*\.SHOP\.ITEM"]}, "all")
            read = len(wait_for(pdbs, min(read + 150, 800), errors))
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, f"delete from item where id = {turn}", "commit")
    with running(Connector(config)) as errors:
        until(lambda: "all" in answered(pdbs), errors)
        found = until(
            lambda: len([one for one in changes(pdbs.records()) if one[2] == "d"]) == 8 and changes(pdbs.records()), errors
        )
    rows = [(change[1], change[3]) for change in found if change[2] == "r"]
    assert len(rows) == len(set(rows)), "no row of a snapshot comes twice"
    held: dict[str, set[int]] = {ONE: set(), OTHER: set()}
    for _, database, op, row in found:
        assert row[1] == database
        (held[database].discard if op == "d" else held[database].add)(row[0])
    assert held == {ONE: set(range(4, 400)), OTHER: set(range(4, 400))}
    connector = Connector(config)
    with running(connector) as errors:
        pdbs.run(ONE, "delete from item where id = 4", "commit")
        wait_for(pdbs, len(found) + 1, errors)  # the stream has begun
        with closing(pdbs.sandbox.connect(service=pdbs.sandbox.root_service)) as admin:
            pdbs.sessions.pop(ONE).close()
            admin.cursor().execute(f"alter pluggable database {ONE} close immediate")
        connector.signal("execute-snapshot", {"data-collections": [r".*\.SHOP\.ITEM"]}, "half")
        until(lambda: "half" in answered(pdbs), errors)
        pdbs.run(OTHER, "insert into item values (1, 'after')", "commit")
        again = until(lambda: changes(pdbs.records())[-1][2] == "c" and changes(pdbs.records())[len(found) + 1 :], errors)
    assert [change[3] for change in again] == [*((number, OTHER) for number in range(4, 400)), (1, "after")]


def test_a_table_of_one_is_suspended_and_resumed_without_the_other(pdbs: Pdbs) -> None:
    with_signal_tables(pdbs)
    config = signalled(pdbs, event_processing_failure_handling_mode="suspend")
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, "insert into item values (1, 'a')", "commit")
    connector = Connector(config)
    with running(connector) as errors:
        wait_for(pdbs, 2, errors)
        pdbs.run(OTHER, "alter table item drop supplemental log data (all) columns")
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "update item set name = 'b' where id = 1", "commit")
        until(lambda: answers(pdbs, "SUSPENDED"), errors)
        (notice,) = answers(pdbs, "SUSPENDED")
        assert notice["additional_data"]["data_collections"] == f"{OTHER}.SHOP.ITEM"
        assert f"--collection {OTHER}.SHOP.ITEM" in notice["additional_data"]["fix"]
        assert wait_for(pdbs, 3, errors)[2:] == [(f"shop.{ONE}.SHOP.ITEM", ONE, "u", (1, "b"))]
    connector = Connector(config)
    with running(connector) as errors:
        pdbs.run(ONE, "insert into item values (2, 'c')", "commit")
        wait_for(pdbs, 4, errors)
        assert [one.table for one in connector.counters.suspended] == [f"{OTHER}.SHOP.ITEM"]
        pdbs.run(OTHER, "alter table item add supplemental log data (all) columns")
        connector.signal("resume-table", {"data-collections": [rf"{OTHER}\.SHOP\.ITEM"]}, "resume")
        until(lambda: answers(pdbs, "RESUMED"), errors)
        for pdb in (ONE, OTHER):
            pdbs.run(pdb, "insert into item values (3, 'd')", "commit")
        found = wait_for(pdbs, 7, errors)
    assert found[4] == (f"shop.{OTHER}.SHOP.ITEM", OTHER, "r", (1, "b"))
    assert sorted(found[5:]) == [(f"shop.{pdb}.SHOP.ITEM", pdb, "c", (3, "d")) for pdb in (ONE, OTHER)]


def test_added_tables_of_both_are_read_beside_the_stream(pdbs: Pdbs) -> None:
    for pdb in (ONE, OTHER):
        pdbs.run(pdb, "create table note (id number(9) primary key)")
        pdbs.run(pdb, "alter table note add supplemental log data (all) columns", "insert into note values (1)", "commit")
    with running(Connector(pdbs.config(table_include_list=r"SHOP\.ITEM"))) as errors:
        pdbs.run(ONE, "insert into item values (1, null)", "commit")
        wait_for(pdbs, 1, errors)
    config = pdbs.config(table_include_list=r"SHOP\.ITEM,SHOP\.NOTE", minercdc_snapshot_added_tables="incremental")
    with running(Connector(config)) as errors:
        found = wait_for(pdbs, 3, errors)
    assert sorted(found[1:]) == [(f"shop.{pdb}.SHOP.NOTE", pdb, "r", (1,)) for pdb in (ONE, OTHER)]


@pytest.mark.parametrize("given", ["overrides", "custom"])
def test_an_added_table_is_read_by_the_select_that_is_given_for_it(pdbs: Pdbs, given: str) -> None:
    """Its other rows are not published."""
    pdbs.run(ONE, "create table note (id number(9) primary key)", "alter table note add supplemental log data (all) columns")
    pdbs.run(ONE, "insert into note values (1)", "insert into note values (2)", "commit")
    with pdbs.sandbox.connect(service=ONE) as admin:
        admin.cursor().execute("grant execute on sys.dbms_flashback to c##minercdc")
    with running(Connector(pdbs.config(table_include_list=r"SHOP\.ITEM"))) as errors:
        pdbs.run(ONE, "insert into item values (1, null)", "commit")
        wait_for(pdbs, 1, errors)
    overrides = {
        "snapshot.select.statement.overrides": "SHOP.NOTE",
        "snapshot.select.statement.overrides.SHOP.NOTE": "SELECT * FROM SHOP.NOTE WHERE ID > 1 -- those",
    }
    custom = {"snapshot.query.mode": "custom", "snapshot.query.mode.custom.name": f"{__name__}:later_rows"}
    config = pdbs.config(
        table_include_list=r"SHOP\.ITEM,SHOP\.NOTE",
        minercdc_snapshot_added_tables="incremental",
        **(overrides if given == "overrides" else custom),
    )
    with running(Connector(config)) as errors:
        wait_for(pdbs, 2, errors)
        pdbs.run(ONE, "insert into note values (3)", "commit")
        found = wait_for(pdbs, 3, errors)
    assert found[1:] == [(f"shop.{ONE}.SHOP.NOTE", ONE, op, (key,)) for op, key in (("r", 2), ("c", 3))]


def later_rows(table: str, columns: list[str]) -> str | None:
    """For `snapshot.query.mode.custom.name`."""
    return f"SELECT {', '.join(columns)} FROM {table} WHERE ID > 1" if table == "SHOP.NOTE" else None
