"""A transaction that stays open: its rows are kept, and the redo of its beginning may be deleted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader

from minercdc.errors import LogGapError

KEEPS: dict[str, Any] = {"minercdc.log.mining.buffer.durable": "disk", "minercdc.log.mining.buffer.durable.after.ms": 1}
SWITCHES, RESTARTS = 200, 3


def lab_of(sandbox: SandboxProcess, schema: str, directory: Path, **more: Any) -> Lab:
    lab = Lab(sandbox, schema, directory, **{"poll.interval.ms": 5, **KEEPS, **more})
    for table in ("item (id number(10) primary key, note varchar2(40))", "marker (n number(10) primary key)"):
        lab.run(f"create table {table}")
    lab.run("alter table item add supplemental log data (all) columns")
    return lab


def purge(lab: Lab, before: int) -> int:
    """Delete the archived logs before a sequence number; how many there were."""
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("select sequence# from v$archived_log where deleted = 'NO' and thread# = 1")
        old = sorted({int(sequence) for (sequence,) in cursor.fetchall() if int(sequence) < before})
        for sequence in old:
            cursor.callproc("dbms_sandbox.purge_log", [1, sequence])
    return len(old)


def begun(lab: Lab) -> tuple[Any, Reader]:
    """A session whose transaction has a row that is more than a second old, and a connector that has kept it."""
    session, reader = lab.session(), Reader(lab).take_snapshot(snapshot_mode="no_data")
    session.cursor().execute("insert into item values (1, 'first')")
    reader.until_marker(1)
    for number in range(2, 100):
        lab.switch_log()
        reader.until_marker(number)
        assert reader.position is not None
        if reader.position.kept:
            return session, reader
    raise AssertionError("it was not kept")


def test_a_transaction_over_200_log_switches_and_3_restarts_comes_whole(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = lab_of(sandbox, "long1", tmp_path)
    session, reader = begun(lab)
    assert reader.position is not None
    started = reader.position.kept[0].start.sequence
    events, purged, row = reader.events, 0, 1
    with session.cursor() as cursor:
        for block in range(RESTARTS + 1):
            cursor.execute("savepoint s")
            cursor.execute("insert into item values (:1, 'undone')", [10_000 + block])
            for _ in range(SWITCHES // (RESTARTS + 1)):
                row += 1
                cursor.execute("insert into item values (:1, 'row')", [row])
                lab.switch_log()
                if row % 25 == 0:
                    reader.until_marker(1000 + row)
            cursor.execute("rollback to savepoint s" if block == 1 else "update item set note = 'last' where id = 1")
            reader.until_marker(5000 + block)
            assert reader.position is not None
            assert reader.position.threads[1].resume.sequence > started + 40 * (block + 1)
            purged += purge(lab, reader.position.threads[1].resume.sequence)
            if block < RESTARTS:
                reader = Reader(lab, reader.position, reader.tables)
                reader.events = events
    assert purged >= SWITCHES - 5
    session.commit()
    reader.until_marker(9999)
    step = SWITCHES // (RESTARTS + 1)
    rows = [1, *range(2, step + 2), *range(2 * step + 2, row + 1)]
    inserted = [change for change in reader.changes("ITEM") if change[0] == "c" and int(change[2][0]) < 10_000]  # type: ignore[index, arg-type]
    assert [int(after[0]) for _, _, after in inserted if after] == rows  # type: ignore[arg-type]
    assert [tuple(map(str, row)) for row in reader.replica("ITEM")] == lab.rows("item")
    assert list(lab.files.directory.glob("*.rows")) == []


@pytest.mark.parametrize("how", ["removed", "cut", "flipped"])
def test_lost_rows_are_mined_again_while_their_redo_is_there(sandbox: SandboxProcess, tmp_path: Path, how: str) -> None:
    lab = lab_of(sandbox, f"long2{how}", tmp_path)
    session, reader = begun(lab)
    (file,) = lab.files.directory.glob("*.rows")
    whole = file.read_bytes()
    if how == "removed":
        file.unlink()
    else:
        file.write_bytes(whole[:-1] if how == "cut" else whole[:-20] + bytes([whole[-20] ^ 4]) + whole[-19:])
    again = Reader(lab, reader.position, reader.tables)
    again.events = reader.events
    session.commit()
    again.until_marker(9999)
    assert [after for _, _, after in again.changes("ITEM")] == [("1", "first")]


@pytest.mark.parametrize("how", ["removed", "flipped"])
def test_lost_rows_whose_redo_is_gone_are_an_error_with_names(sandbox: SandboxProcess, tmp_path: Path, how: str) -> None:
    lab = lab_of(sandbox, f"long3{how}", tmp_path)
    session, reader = begun(lab)
    assert reader.position is not None
    (file,) = lab.files.directory.glob("*.rows")
    whole = file.read_bytes()
    if how == "removed":
        file.unlink()
    else:
        file.write_bytes(whole[:-20] + bytes([whole[-20] ^ 4]) + whole[-19:])
    kept = reader.position.kept[0]
    for _ in range(5):
        lab.switch_log()
    assert lab.unreadable(reader.position) is None
    purge(lab, reader.position.threads[1].resume.sequence)
    assert "mined again from their start" in str(lab.unreadable(reader.position))  # snapshot.mode=when_needed takes one
    with pytest.raises(LogGapError) as caught:
        Reader(lab, reader.position, reader.tables).until_marker(9998)
    for part in (
        kept.xid,
        file.name,
        f"user {lab.schema}",
        "mined again from their start",
    ):
        assert part in caught.value.message
    # From where the transaction began to before where mining goes on: one log or several, as other sessions wrote.
    assert re.search(rf"log sequences? {kept.start.sequence} ", caught.value.message)
    assert "minercdc offsets set" in caught.value.hint
    if how == "flipped":
        file.write_bytes(whole)
        assert lab.unreadable(reader.position) is None
    session.close()


def test_unbuffered_mode_mines_it_again(sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = lab_of(sandbox, "long4", tmp_path)
    session, reader = begun(lab)
    lab.committed = True
    again = Reader(lab, reader.position, reader.tables)
    again.events = reader.events
    session.commit()
    again.until_marker(9999)
    assert [after for _, _, after in again.changes("ITEM")] == [("1", "first")]
