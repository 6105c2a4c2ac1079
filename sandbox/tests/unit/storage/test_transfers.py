"""Threads moving money between accounts: no unit of it appears or vanishes, in any read, any past, or in the redo."""

from __future__ import annotations

import random
import threading

from sandbox.tests.unit.sql.client import connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.records import RedoOp
from minercdc_sandbox.sql import number

ACCOUNTS, TOTAL, TRANSFERS, THREADS = 12, 1200, 60, 4


def transfer(db: SandboxDatabase, seed: int, deadlocks: list[int], failures: list[BaseException]) -> None:
    """Random transfers in random lock order; a deadlock's victim starts over."""
    rng = random.Random(seed)
    client = connect(db)
    try:
        for _ in range(TRANSFERS):
            source, target = rng.sample(range(ACCOUNTS), 2)
            amount = rng.randrange(1, 20)
            while True:
                try:
                    client.run("update account set balance = balance - :1 where id = :2", amount, source)
                    if rng.random() < 0.1:
                        client.session.rollback()
                        break
                    client.run("update account set balance = balance + :1 where id = :2", amount, target)
                    client.run("insert into moved values (:1, :2, :3)", source, target, amount)
                    client.session.commit()
                    break
                except OraError as error:
                    if error.number != 60:
                        raise
                    deadlocks.append(seed)
                    client.session.rollback()
            assert client.one("select sum(balance) from account") == TOTAL
    except BaseException as error:
        failures.append(error)
    finally:
        client.session.close()


def test_money_is_neither_made_nor_lost() -> None:
    db = SandboxDatabase(log_bytes=30_000)
    admin = connect(db)
    admin.run("create table account (id number primary key, balance number(10))")
    admin.run("create table moved (a number, b number, amount number)")
    admin.many("insert into account values (:1, :2)", [(n, TOTAL // ACCOUNTS) for n in range(ACCOUNTS)])
    admin.session.commit()
    start = db.clock.current
    deadlocks: list[int] = []
    failures: list[BaseException] = []
    threads = [
        threading.Thread(target=transfer, args=(db, seed, deadlocks, failures), daemon=True) for seed in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []
    for scn in range(start, db.clock.current, 37):
        assert admin.one(f"select sum(balance) from account as of scn {scn}") == TOTAL
    db.redo.switch()
    balances = dict.fromkeys(range(ACCOUNTS), TOTAL // ACCOUNTS)
    committed: set[tuple[int, int, int]] = set()
    moved: dict[tuple[int, int, int], list[list[int]]] = {}
    for log in db.redo.archived():
        for record in db.redo.records(1, log.sequence):
            if record.op is RedoOp.COMMIT:
                committed.add(record.xid)
            elif record.table == "MOVED" and record.op is not RedoOp.DDL:
                assert record.op is RedoOp.INSERT
                assert record.after is not None
                moved.setdefault(record.xid, []).append([number.to_int(c) for c in record.after if isinstance(c, bytes)])
    for xid in committed:
        for source, target, amount in moved.get(xid, []):
            balances[source] -= amount
            balances[target] += amount
    assert admin.rows("select id, balance from account order by id") == sorted(balances.items())
    db.close()
