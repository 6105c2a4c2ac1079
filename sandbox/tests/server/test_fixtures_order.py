"""Fixtures E68 to E71 and E77 (docs/reference/logminer-facts.md#e-68): transactions whose records come in an unusual order or number. What real
servers do by chance, package DBMS_SANDBOX does on call."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import oracledb
import pytest
from sandbox.tests.server.mining_lab import Lab, add_all_logs, opened, start_mining
from tests.fixtures.fix_sandbox import SandboxProcess

ALL_OF_IT = "operation_code, scn, rawtohex(xid)"


@pytest.fixture
def lab(fresh_sandbox: SandboxProcess) -> Iterator[Lab]:
    lab = opened(fresh_sandbox)
    lab.run("create table item (id number primary key)")
    lab.mark()
    yield lab
    lab.close()


def test_e68_a_start_that_never_ends(lab: Lab) -> None:
    with lab.sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.start_phantom()")
    lab.run("insert into item values (1)")
    lab.commit()
    rows = lab.mined("operation_code, rawtohex(xid)", "1 = 1")
    assert rows[0] == (6, "0" * 16)
    assert [code for code, _ in rows[1:]] == [6, 1, 7]
    assert "0" * 16 not in {xid for _, xid in rows[1:]}


@pytest.mark.parametrize("options", ["", " + dbms_logmnr.committed_data_only"])
def test_e69_start_follows_the_first_change(lab: Lab, options: str) -> None:
    with lab.sandbox.connect() as admin:
        admin.cursor().execute("call dbms_sandbox.start_late('LAB')")
    lab.run("insert into item values (1)", "insert into item values (2)")
    lab.commit()
    rows = lab.mined(ALL_OF_IT, "1 = 1", options=options)
    if options:
        assert [row[0] for row in rows] == [6, 1, 1, 7]
    else:
        assert sorted(row[0] for row in rows) == [1, 1, 6, 7]
        assert rows[0][0] == 1
    starts = [scn for code, scn, _ in rows if code == 6]
    assert starts == [scn for code, scn, _ in rows if code == 1][:1]
    assert len({xid for _, _, xid in rows}) == 1


def test_e70_one_xid_in_two_containers(fresh_sandbox: SandboxProcess) -> None:
    fresh_sandbox.create_user("lab")
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
        admin.cursor().execute("create pluggable database sales admin user boss identified by boss")
        admin.cursor().execute("alter pluggable database sales open")
        admin.cursor().execute("alter user c##minercdc set container_data = all container = current")  # for V$TRANSACTION
    with (
        fresh_sandbox.connect("lab", "lab") as here,
        fresh_sandbox.connect("boss", "boss", "sales") as there,
        fresh_sandbox.connect("c##minercdc", "minercdc", fresh_sandbox.root_service) as miner,
    ):
        for session in (here, there):
            session.cursor().execute("create table item (id number)")
        begun = _with_one_xid(miner, here, there)
        with fresh_sandbox.connect() as admin:  # both strands reach the log
            admin.cursor().execute("call dbms_sandbox.release_strand('LAB')")
        there.rollback()
        here.commit()
        mining = miner.cursor()
        add_all_logs(mining)
        start_mining(mining, startscn=begun)
        rows = mining.execute(
            "select operation_code, rollback, src_con_id, rawtohex(xid) from v$logmnr_contents"
            " where operation_code in (1, 2, 7, 36)"
        ).fetchall()
    [last] = {xid for code, _, con_id, xid in rows if (code, con_id) == (36, 4)}
    assert [row[:3] for row in rows if row[3] == last] == [(1, 0, 3), (1, 0, 4), (2, 1, 4), (36, 0, 4), (7, 0, 3)]


def _with_one_xid(miner: oracledb.Connection, here: oracledb.Connection, there: oracledb.Connection) -> int:
    """Insert in both, in transactions that have one XID; an SCN before both."""
    xids = "select con_id, rawtohex(xid) from v$transaction"
    for session in (here, there):
        session.cursor().execute("insert into item values (1)")
    mining = miner.cursor()
    for _ in range(1000):
        by_container = dict(mining.execute(xids).fetchall())
        first, second = (bytes.fromhex(by_container[con_id]) for con_id in (3, 4))
        if first == second:
            break
        later = here if _turn(first) < _turn(second) else there
        later.rollback()
        later.cursor().execute("insert into item values (1)")
    for session in (here, there):
        session.rollback()
    (begun,) = mining.execute("select current_scn from v$database").fetchone()
    for session in (here, there):
        session.cursor().execute("insert into item values (1)")
    return int(begun)


def _turn(xid: bytes) -> tuple[int, int, int]:
    """In the order in which XIDs come: slots of all segments in turn, sequences when all slots were used."""
    segment, slot, sequence = (int.from_bytes(part, "little") for part in (xid[:2], xid[2:4], xid[4:]))
    return sequence - 17 * segment, slot, segment


def test_e71_commits_of_one_scn(lab: Lab) -> None:
    with lab.sandbox.connect() as admin, lab.sandbox.connect("lab", "lab") as other:
        admin.cursor().execute("call dbms_sandbox.meet_commits(2)")
        lab.run("insert into item values (1)")
        other.cursor().execute("insert into item values (2)")
        waiting = threading.Thread(target=other.commit)
        waiting.start()
        lab.commit()
        waiting.join(10)
        assert not waiting.is_alive()
        assert lab.cursor.execute("select count(distinct ora_rowscn) from item").fetchall() == [(1,)]
        lab.run("insert into item values (3)")
        lab.commit()
    commits = lab.mined(ALL_OF_IT, "operation_code = 7")
    assert len({xid for _, _, xid in commits}) == 3
    scns = [scn for _, scn, _ in commits]
    assert scns[0] == scns[1] < scns[2]


def test_e77_a_row_after_later_ones(lab: Lab) -> None:
    lab.sandbox.create_user("early")
    lab.run("grant insert on item to early")
    lab.mark()
    with lab.sandbox.connect() as admin, lab.sandbox.connect("early", "early") as early:
        admin.cursor().execute("call dbms_sandbox.hold_strand('EARLY')")
        early.cursor().execute("insert into lab.item values (1)")
        lab.run("insert into item values (2)")
        lab.commit()
        first = lab.mined("scn, rs_id, operation_code")
        early.commit()
        second = lab.mined("scn, rs_id, operation_code")
    [(seen, _, _)] = first
    assert len(second) == 2
    assert second[0] == first[0]
    assert second[1][0] < seen, "an older SCN .."
    assert second[1][1] > second[0][1], ".. at a later address"
