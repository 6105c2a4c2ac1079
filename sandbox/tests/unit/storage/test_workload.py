"""A random workload of several sessions against a model: tables, AS OF SCN at any commit, and the redo replayed must all agree."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.records import RedoOp, RedoRecord

Rows = dict[int, tuple[str, int]]


class ModelSession:
    """A session and what it should see: committed rows with its own changes on top."""

    def __init__(self, client: SqlClient, committed: Rows) -> None:
        self.client = client
        self.committed = committed
        self.own: dict[int, tuple[str, int] | None] = {}
        self.savepoint: dict[int, tuple[str, int] | None] | None = None

    def sees(self) -> Rows:
        rows = dict(self.committed)
        for key, row in self.own.items():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        return rows


def step(session: ModelSession, others: list[ModelSession], rng: random.Random) -> None:
    """One statement on rows that no other session has touched, so that a single thread never waits."""
    busy = {key for other in others for key in other.own}
    free = [key for key in session.sees() if key not in busy]
    choice = rng.random()
    client = session.client
    if choice < 0.3:
        keys = [key for key in rng.sample(range(200), 8) if key not in session.sees() and key not in busy]
        values: list[tuple[object, ...]] = [(key, f"n{key}", rng.randrange(1000)) for key in keys]
        if values:
            client.many("insert into t values (:1, :2, :3)", values)
            for key, name, number in values:
                session.own[int(str(key))] = (str(name), int(str(number)))
    elif choice < 0.55 and free:
        keys = rng.sample(free, min(len(free), rng.randrange(1, 5)))
        amount = rng.randrange(1, 100)
        marks = ",".join(str(key) for key in keys)
        client.run(f"update t set amount = amount + :1 where id in ({marks})", amount)
        for key in keys:
            name, number = session.sees()[key]
            session.own[key] = (name, number + amount)
    elif choice < 0.65 and free:
        key = rng.choice(free)
        client.run("delete from t where id = :1", key)
        session.own[key] = None
    elif choice < 0.7:
        key = rng.choice([*free, 0])
        if key in session.sees():
            with pytest.raises(OraError):
                client.run("insert into t values (:1, 'dup', 0)", key)
    elif choice < 0.76:
        client.run("savepoint s")
        session.savepoint = dict(session.own)
    elif choice < 0.82 and session.savepoint is not None:
        client.run("rollback to s")
        session.own, session.savepoint = session.savepoint, dict(session.savepoint)
    elif choice < 0.86:
        client.session.rollback()
        session.own, session.savepoint = {}, None
    if rng.random() < 0.3:
        expected = [(key, *row) for key, row in sorted(session.sees().items())]
        assert client.rows("select id, name, amount from t order by id") == expected


def replay(records: Iterator[RedoRecord]) -> dict[str, tuple[Cell, ...]]:
    """Rows by ROWID, from committed transactions only, each in redo order; undo cancels the newest change of its row."""
    rows: dict[str, tuple[Cell, ...]] = {}
    pending: dict[tuple[int, int, int], list[RedoRecord]] = {}
    for record in records:
        if record.op is RedoOp.START:
            pending[record.xid] = []
        elif record.op is RedoOp.COMMIT:
            for change in pending.pop(record.xid):
                apply(rows, change)
        elif record.op is RedoOp.ROLLBACK:
            assert pending.pop(record.xid) == [], "a rolled back transaction must undo itself"
        elif record.undo:
            changes = pending[record.xid]
            newest = max(n for n, change in enumerate(changes) if change.row_id == record.row_id)
            undone = changes.pop(newest)
            assert (undone.before, undone.after) == (record.after, record.before)
        else:
            pending[record.xid].append(record)
    return rows


def apply(rows: dict[str, tuple[Cell, ...]], change: RedoRecord) -> None:
    assert change.row_id is not None
    if change.op is RedoOp.INSERT:
        assert change.row_id not in rows
        assert change.after is not None
        rows[change.row_id] = change.after
    elif change.op is RedoOp.UPDATE:
        assert rows[change.row_id] == change.before
        assert change.after is not None
        rows[change.row_id] = change.after
    elif change.op is RedoOp.DELETE:
        assert rows.pop(change.row_id) == change.before


def all_records(db: SandboxDatabase) -> Iterator[RedoRecord]:
    first = min(log.sequence for log in db.redo.archived())
    for sequence in range(first, db.redo.threads[1].current.sequence + 1):
        yield from db.redo.records(1, sequence)


@pytest.mark.parametrize("seed", range(6))
def test_tables_flashback_and_redo_agree_with_the_model(seed: int) -> None:
    rng = random.Random(seed)
    db = SandboxDatabase(log_bytes=8_000)
    admin = connect(db)
    admin.run("create table t (id number(6) primary key, name varchar2(10), amount number)")
    db.redo.switch()
    first = db.redo.threads[1].current.sequence
    committed: Rows = {}
    sessions = [ModelSession(connect(db), committed) for _ in range(4)]
    history: list[tuple[int, Rows]] = [(db.clock.read(), {})]
    for _ in range(400):
        session = rng.choice(sessions)
        others = [other for other in sessions if other is not session]
        if rng.random() < 0.12:
            session.client.session.commit()
            rows = session.sees()
            committed.clear()
            committed.update(rows)
            session.own, session.savepoint = {}, None
            history.append((db.clock.current, dict(committed)))
        else:
            step(session, others, rng)
        if rng.random() < 0.05:
            scn, rows = rng.choice(history)
            assert admin.rows("select id, name, amount from t as of scn :1 order by id", scn) == [
                (key, *row) for key, row in sorted(rows.items())
            ]
    for session in sessions:
        session.client.session.close()
    for scn, rows in history:
        found = admin.rows(f"select id, name, amount from t as of scn {scn} order by id")
        assert found == [(key, *row) for key, row in sorted(rows.items())]
    stored = admin.run("select rowid, id, name, amount from t").rows
    assert stored is not None
    records = (r for r in all_records(db) if r.sequence >= first)
    assert replay(records) == {str(row[0]): row[1:] for row in stored.fetch(10_000)}
    addresses = [(r.sequence, r.block, r.byte, r.ssn) for r in all_records(db)]
    assert addresses == sorted(set(addresses))
    for log in db.redo.archived():
        assert all(log.first_change <= r.scn < log.next_change for r in db.redo.records(1, log.sequence))
    assert len(db.redo.archived()) > 3
    db.close()


def test_redo_order_is_not_scn_order_when_a_strand_is_bound_late() -> None:
    db = SandboxDatabase()
    one, two = connect(db), connect(db)
    one.run("create table t (id number)")
    one.run("insert into t values (1)")
    two.run("insert into t values (2)")
    two.session.commit()
    one.session.commit()
    inserts = [r for r in db.redo.records(1, 1) if r.op is RedoOp.INSERT]
    assert [r.after for r in inserts] == [(b"\xc1\x03",), (b"\xc1\x02",)]
    assert inserts[0].scn > inserts[1].scn
    db.close()
