"""A seeded history: what several sessions do to a schema, and what of it was committed.

Steps are taken one after another in one thread, so a seed always gives the same history. Each session has keys of its own, so
none waits for another. `expected` is told by the statements alone, without a look at redo.
"""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import oracledb
from tests.fixtures.fix_sandbox import SandboxProcess

TABLES = {
    "ITEM": "id number(10) primary key, name varchar2(80), qty number(12,3)",
    "PAIR": "a number(5), b varchar2(10), note varchar2(100), primary key (a, b)",
    "WIDE": "id number(10) primary key, t1 varchar2(4000), t2 varchar2(4000)",
}
_KEYS = 12


class Change(NamedTuple):
    """One row change: table, operation, key before, key after."""

    table: str
    op: str
    before: tuple[str, ...] | None
    after: tuple[str, ...] | None


@dataclass
class _Session:
    number: int
    connection: oracledb.Connection
    sid: int
    done: list[Change] = field(default_factory=list)
    savepoint: int | None = None


class Workload:
    """The history under way.

    :param services: the service each session connects to; one on another instance writes another redo thread.
    :ivar expected: changes of each committed transaction that has any, by XID, in order of commit.
    :ivar script: the steps so far, one line each.
    """

    def __init__(self, sandbox: SandboxProcess, schema: str, seed: int, services: list[str]) -> None:
        self.chance = random.Random(seed)
        self.schema = schema.upper()
        self.expected: dict[str, list[Change]] = {}
        self.script: list[str] = []
        self._admin = sandbox.connect()
        self._held = False
        self._added = 0
        self.tables = dict(TABLES)
        owner = sandbox.connect(schema, schema)
        for table, columns in TABLES.items():
            owner.cursor().execute(f"create table {table} ({columns})")
            owner.cursor().execute(f"alter table {table} add supplemental log data (all) columns")
        owner.close()
        self._sessions = [self._open(sandbox, schema, n, service) for n, service in enumerate(services)]

    def step(self) -> None:
        """One thing happens."""
        session = self.chance.choice(self._sessions)
        choice = self.chance.random()
        if choice < 0.62:
            self._change(session)
        elif choice < 0.76:
            self._commit(session)
        elif choice < 0.80:
            self._say(f"s{session.number}: rollback")
            session.connection.rollback()
            session.done, session.savepoint = [], None
        elif choice < 0.86:
            self._savepoint(session)
        elif choice < 0.91:
            self._run_admin("alter system switch logfile")
        elif choice < 0.96:
            verb = "release" if self._held else "hold"
            self._held = not self._held
            self._run_admin(f"call dbms_sandbox.{verb}_strand('{self.schema}')")
        else:
            self._ddl(session)

    def finish(self) -> None:
        """Every session commits."""
        for session in self._sessions:
            self._commit(session)

    def close(self) -> None:
        for session in self._sessions:
            with suppress(oracledb.Error):
                session.connection.close()
        self._admin.close()

    def contents(self, table: str) -> list[dict[str, str]]:
        """What the table holds now: columns that are not null, as text."""
        with self._sessions[0].connection.cursor() as cursor:
            cursor.execute(f"select * from {table}")
            names = [column[0] for column in cursor.description or ()]
            return [
                {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in zip(names, row, strict=True) if value is not None}
                for row in cursor
            ]  # fmt: skip

    # ---- steps ----

    def _open(self, sandbox: SandboxProcess, schema: str, number: int, service: str) -> _Session:
        connection = sandbox.connect(schema, schema, service)
        ((sid,),) = connection.cursor().execute("select sys_context('userenv', 'sid') from dual").fetchall()
        return _Session(number, connection, int(sid))

    def _say(self, line: str) -> None:
        self.script.append(line)

    def _run_admin(self, statement: str) -> None:
        self._say(f"admin: {statement}")
        self._admin.cursor().execute(statement)

    def _run(self, session: _Session, statement: str) -> int:
        """How many rows it changed; 0 when a constraint refused it, which leaves traces in redo all the same."""
        self._say(f"s{session.number}: {statement if len(statement) < 200 else statement[:200] + '..'}")
        with session.connection.cursor() as cursor:
            try:
                cursor.execute(statement)
            except oracledb.IntegrityError:
                return 0
            return int(cursor.rowcount)

    def _commit(self, session: _Session) -> None:
        self._say(f"s{session.number}: commit")
        found = self._admin.cursor().execute(
            "select t.xid from v$transaction t, v$session s where t.ses_addr = s.saddr and s.sid = :1", [session.sid]
        )
        xids = [xid.hex() for (xid,) in found]
        session.connection.commit()
        if session.done:
            assert len(xids) == 1
            self.expected[xids[0]] = session.done
        session.done, session.savepoint = [], None

    def _savepoint(self, session: _Session) -> None:
        if session.savepoint is None or self.chance.random() < 0.3:
            self._run(session, "savepoint s")
            session.savepoint = len(session.done)
        else:
            self._run(session, "rollback to savepoint s")
            del session.done[session.savepoint :]

    def _change(self, session: _Session) -> None:
        table = self.chance.choice(["ITEM", "ITEM", "ITEM", "PAIR", "WIDE"])
        key = 100 * session.number + self.chance.randrange(_KEYS)
        kind = self.chance.random()
        if table == "ITEM":
            self._change_item(session, key, kind)
        elif table == "PAIR":
            self._change_pair(session, f"k{self.chance.randrange(_KEYS)}", kind)
        elif kind < 0.6:
            text = "".join(self.chance.choices("ab'\u00e9\u0416", k=self.chance.choice([3, 900, 1900])))
            doubled = text.replace("'", "''")
            if self._run(session, f"insert into wide (id, t1, t2) values ({key}, '{doubled}', '{doubled}')"):
                session.done.append(Change("WIDE", "c", None, (str(key),)))
        elif self._run(session, f"delete from wide where id = {key}"):
            session.done.append(Change("WIDE", "d", (str(key),), None))

    def _change_item(self, session: _Session, key: int, kind: float) -> None:
        at = (str(key),)
        if kind < 0.40:
            name = self.chance.choice(["null", "'n'", "'it''s'", "'a,\"b'"])
            if self._run(session, f"insert into item (id, name, qty) values ({key}, {name}, {self.chance.randrange(99)})"):
                session.done.append(Change("ITEM", "c", None, at))
        elif kind < 0.65:
            if self._run(session, f"update item set qty = nvl(qty, 0) + 1 where id = {key}"):
                session.done.append(Change("ITEM", "u", at, at))
        elif kind < 0.80:
            other = 100 * session.number + self.chance.randrange(_KEYS)
            if other != key and self._run(session, f"update item set id = {other} where id = {key}"):
                session.done.append(Change("ITEM", "u", at, (str(other),)))
        elif self._run(session, f"delete from item where id = {key}"):
            session.done.append(Change("ITEM", "d", at, None))

    def _change_pair(self, session: _Session, b: str, kind: float) -> None:
        a, at = session.number, (str(session.number), b)
        if kind < 0.5:
            if self._run(session, f"insert into pair (a, b, note) values ({a}, '{b}', null)"):
                session.done.append(Change("PAIR", "c", None, at))
        elif kind < 0.8:
            if self._run(session, f"update pair set note = note || 'x' where a = {a} and b = '{b}'"):
                session.done.append(Change("PAIR", "u", at, at))
        elif self._run(session, f"delete from pair where a = {a} and b = '{b}'"):
            session.done.append(Change("PAIR", "d", at, None))

    def _ddl(self, session: _Session) -> None:
        """DDL waits for the others' transactions, so all commit first."""
        self.finish()
        table = self.chance.choice(["item", "pair"])
        choice = self.chance.random()
        if choice < 0.5:
            self._added += 1
            default = self.chance.choice(["", " default 7"])
            self._run(session, f"alter table {table} add (x{self._added} number{default})")
        elif choice < 0.7 and self._added:
            with suppress(oracledb.DatabaseError):  # the column may be the other table's, or gone
                self._run(session, f"alter table {table} drop column x{self.chance.randrange(self._added) + 1}")
        elif choice < 0.85:
            self._run(session, "truncate table wide")
        else:
            self._run(session, f"comment on table {table} is 'c{self._added}'")
