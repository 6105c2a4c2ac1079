"""Transactions that V$TRANSACTION of the root does not show: those of pluggable databases, by CONTAINER_DATA, and those in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import oracledb
import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.errors import TransientSourceError
from minercdc.oracle.connect import connect
from minercdc.oracle.open_transactions import DatabaseTransactions
from minercdc.schema.tables import Tables

LATE = [("c", None, ("1", None, None, None))]


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path, committed: bool) -> Iterator[Lab]:
    made = make_lab(sandbox, tmp_path, committed=committed)
    yield made
    made.app.close()


def begin(lab: Lab) -> oracledb.Connection:
    """A session with an open transaction of one row."""
    other = lab.session()
    other.cursor().execute("insert into item (id) values (1)")
    return other


def doubt(lab: Lab) -> str:
    """Leave a transaction of one row in doubt; its LOCAL_TRAN_ID."""
    other = begin(lab)
    with lab.sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"call dbms_sandbox.leave_in_doubt('{lab.schema}')")
        other.close()
        cursor.execute(f"select local_tran_id from dba_2pc_pending where db_user = '{lab.schema}'")
        [(found,)] = cursor.fetchall()
    return str(found)


def end(lab: Lab, how: str, local_id: str) -> None:
    with lab.sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"{how} force '{local_id}'")


def later(lab: Lab, reader: Reader, number: int) -> None:
    """Stream over the ends of several logs, and then some passes, so that the position moves on as far as it may."""
    with closing(reader.stream()) as stream:  # type: ignore[type-var]
        for one in range(3):
            reader.go_on_to_marker(stream, 10 * number + one)
            lab.switch_log()
    passes, begun = lab.counters.mining.passes, lab.counters.mining.passes.count
    written = [begun]

    def read_on(_: Reader) -> bool:
        if passes.count > written[-1]:  # a pass waits for new redo
            lab.run(f"insert into marker values ({10 * number + 2 + len(written)})", "commit")
            written.append(passes.count)
        return passes.count >= begun + 3

    reader.until(read_on)


def test_the_root_shows_the_capture_user_no_transaction_of_the_pluggable_database(lab: Lab) -> None:
    sql = "select count(*) from v$transaction"
    with closing(begin(lab)), connect(lab.config, "root") as root, connect(lab.config, "pdb") as inside:
        assert root.cursor().execute(sql).fetchone() == (0,)
        assert inside.cursor().execute(sql).fetchone() == (1,)


def test_what_was_open_while_logs_went_by_comes_after_a_restart(lab: Lab) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    with closing(begin(lab)) as other:
        later(lab, reader, 1)
        again = Reader(lab, reader.position, reader.tables)
        later(lab, again, 2)
        other.commit()
        assert again.until_marker(6).changes() == LATE


def test_what_was_open_at_an_scn_of_the_past_is_mined_from_its_start(lab: Lab) -> None:
    with closing(begin(lab)) as other:
        for _ in range(2):
            lab.switch_log()
        with connect(lab.config, "root") as root:
            [(scn,)] = root.cursor().execute("select current_scn from v$database").fetchall()
        assert lab.mine_from(scn) < scn
        reader = Reader(lab, lab.start_position(scn, lab.mine_from(scn)), Tables())
        other.commit()
    assert reader.until_marker(1).changes() == LATE


def test_an_open_transaction_of_the_pluggable_database_is_known(lab: Lab) -> None:
    transactions = DatabaseTransactions([lambda: connect(lab.config, "pdb")])
    with connect(lab.config, "root") as root, closing(begin(lab)), closing(transactions):
        open_now = transactions.xids(root)
        assert open_now is not None
        assert len(open_now) == 1


@pytest.mark.parametrize(("how", "changes"), [("commit", LATE), ("rollback", [])])
def test_a_transaction_in_doubt_comes_once_it_is_committed(lab: Lab, how: str, changes: list[object]) -> None:
    reader = Reader(lab).take_snapshot(with_rows=False)
    local_id = doubt(lab)
    later(lab, reader, 1)
    again = Reader(lab, reader.position, reader.tables)
    later(lab, again, 2)
    assert again.changes() == []
    end(lab, how, local_id)
    assert again.until_marker(6).changes() == changes


@pytest.mark.parametrize("rows", [True, False], ids=["snapshot", "structures"])
def test_no_stream_begins_while_a_transaction_is_in_doubt(lab: Lab, rows: bool) -> None:
    local_id = doubt(lab)
    with pytest.raises(TransientSourceError, match=f"in doubt.* {local_id}"):
        Reader(lab).take_snapshot(with_rows=rows)
    with pytest.raises(TransientSourceError, match=f"in doubt.* {local_id}"):
        lab.mine_from(1)
    end(lab, "rollback", local_id)
    assert Reader(lab).take_snapshot(with_rows=rows).until_marker(1).changes() == []


def test_a_transaction_in_doubt_counts_as_open(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    local_id = doubt(lab)
    transactions = DatabaseTransactions([lambda: connect(lab.config, "pdb")])
    with connect(lab.config, "root") as root, closing(transactions):
        usn, slot, sequence = map(int, local_id.split("."))
        xid = usn.to_bytes(2, "little") + slot.to_bytes(2, "little") + sequence.to_bytes(4, "little")
        assert transactions.xids(root) == {xid}
        assert [transactions.oldest_undecided_scn(root) for _ in range(3)] == [0, 0, 0]
        assert [record.levelname for record in caplog.records if "holds the position back" in record.message] == ["WARNING"]
        end(lab, "rollback", local_id)
        assert transactions.xids(root) == set()
        assert transactions.oldest_undecided_scn(root) > 0


def test_a_closed_database_does_not_say_what_is_open(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(fresh_sandbox, tmp_path)
    transactions = DatabaseTransactions([lambda: connect(lab.config, "pdb")])
    with connect(lab.config, "root") as root, closing(transactions):
        assert transactions.xids(root) == set()
        with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
            admin.cursor().execute(f"alter pluggable database {fresh_sandbox.service} close immediate")
            assert transactions.xids(root) is None
            assert transactions.oldest_undecided_scn(root) == 0
            admin.cursor().execute(f"alter pluggable database {fresh_sandbox.service} open")
        assert transactions.xids(root) == set()
