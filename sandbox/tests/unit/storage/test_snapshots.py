"""Open cursors under other sessions' changes: each must show exactly the rows of the moment it was opened."""

from __future__ import annotations

import random

import pytest
from sandbox.tests.unit.sql.client import SqlClient, connect

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import Rows
from minercdc_sandbox.sql import number

Model = dict[int, tuple[int, int]]

QUERIES = (
    "select id, code, grp from t",
    "select id, code, grp from t order by id",
    "select id, code, grp from t order by id desc",
    "select id, code, grp from t order by rowid",
    "select id, code, grp from t where id >= 0 order by id",
    "select id, code, grp from t where code > 0 order by code",
    "select id, code, grp from t where grp between 0 and 9 order by grp",
    "select a.id, a.code, b.grp from t a, t b where b.id = a.id and a.grp >= 0",
)


class OpenCursor:
    """A cursor half read, and the rows it must amount to."""

    def __init__(self, client: SqlClient, sql: str, expected: Model) -> None:
        self.sql, self.expected = sql, dict(expected)
        rows = client.run(sql).rows
        assert rows is not None
        self._rows: Rows = rows
        self._found: list[tuple[int, ...]] = []

    def read(self, count: int) -> None:
        for row in self._rows.fetch(count):
            self._found.append(tuple(number.to_int(cell) for cell in row if isinstance(cell, bytes)))

    def check(self) -> None:
        self.read(100_000)
        assert sorted(self._found) == sorted((key, *row) for key, row in self.expected.items()), self.sql


def change(client: SqlClient, model: Model, rng: random.Random, fresh: list[int]) -> None:
    """Change rows, keys and unique codes included."""
    kind = rng.random()
    keys = rng.sample(sorted(model), min(len(model), 3))
    if kind < 0.35 or not keys:
        for _ in range(4):
            fresh[0] += 1
            key = rng.choice([fresh[0], -fresh[0] % 977 + 100_000 + fresh[0] * 1000])
            client.run("insert into t values (:1, :2, :3)", key, fresh[0], rng.randrange(10))
            model[key] = (fresh[0], model_group(client, key))
    elif kind < 0.6:
        for key in keys:
            group = rng.randrange(10)
            client.run("update t set grp = :1 where id = :2", group, key)
            model[key] = (model[key][0], group)
    elif kind < 0.75:
        for key in keys:
            fresh[0] += 1
            client.run("update t set id = :1, code = :2 where id = :3", key + 1_000_000, fresh[0], key)
            model[key + 1_000_000] = (fresh[0], model.pop(key)[1])
    else:
        for key in keys:
            client.run("delete from t where id = :1", key)
            del model[key]


def model_group(client: SqlClient, key: int) -> int:
    return int(client.one("select grp from t where id = :1", key))


@pytest.mark.parametrize("seed", range(8))
def test_cursors_show_the_moment_they_were_opened(seed: int) -> None:
    rng = random.Random(seed)
    db = SandboxDatabase()
    reader, writer = connect(db), connect(db)
    writer.run("create table t (id number primary key, code number unique, grp number)")
    writer.run("create index t_grp on t (grp)")
    fresh = [0]
    committed: Model = {}
    own: Model = {}
    open_cursors: list[OpenCursor] = []
    for _ in range(120):
        change(writer, own, rng, fresh)
        roll = rng.random()
        if roll < 0.4:
            writer.session.commit()
            committed = dict(own)
        elif roll < 0.55:
            writer.session.rollback()
            own = dict(committed)
        open_cursors.append(OpenCursor(reader, rng.choice(QUERIES), committed))
        if rng.random() < 0.3:
            open_cursors.append(OpenCursor(writer, rng.choice(QUERIES), own))
        for cursor in open_cursors:
            cursor.read(rng.randrange(0, 12))
        while len(open_cursors) > 12:
            open_cursors.pop(rng.randrange(len(open_cursors))).check()
    for cursor in open_cursors:
        cursor.check()
    db.close()


def test_without_retention_every_scn_can_be_read() -> None:
    db = SandboxDatabase()
    client = connect(db)
    client.run("create table t (id number)")
    client.run("insert into t values (0)")
    client.session.commit()
    scn = db.clock.read()
    for _ in range(200):
        client.run("update t set id = id + 1")
        client.session.commit()
    assert client.one(f"select id from t as of scn {scn}") == 0
    client.fails(8181, f"select id from t as of scn {db.clock.current + 1000}")
    db.close()


def test_past_the_retention_a_snapshot_is_too_old() -> None:
    db = SandboxDatabase(undo_retention=50)
    client, reader = connect(db), connect(db)
    client.run("create table t (id number)")
    client.many("insert into t values (:1)", [(n,) for n in range(10)])
    client.session.commit()
    scn = db.clock.read()
    rows = reader.run("select id from t").rows
    assert rows is not None
    rows.fetch(2)
    for _ in range(60):
        client.run("update t set id = id + 1")
        client.session.commit()
    client.fails(1555, f"select id from t as of scn {scn}")
    with pytest.raises(Exception, match="ORA-01555"):
        rows.fetch(100)
    near = db.clock.read()
    client.run("update t set id = id + 1")
    client.session.commit()
    assert client.one(f"select min(id) from t as of scn {near}") == 60
    assert len(db.storage.db.execute("select 1 from seg_73201").fetchall()) < 1000
    db.close()
