"""A seeded history: what several sessions do to a schema, and what of it was committed.

Steps are taken one after another in one thread, so a seed always gives the same history. Each session has keys of its own, so
none waits for another. `expected` comes from the statements alone, without a look at redo.
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
# With large values.
LOB_TABLES = {"DOC": "id number(10) primary key, title varchar2(40), body clob, data blob"}
LOB_COLUMNS = ("BODY", "DATA")
_KEYS = 12
_MANY = 25  # changes that fill several fetches
# DBMS_LOB on a value that the same transaction has set: what comes of it is known to LogMiner's reader.
_EDITS = (
    "dbms_lob.writeappend(l, 3, 'xyz')",
    "dbms_lob.write(l, 2, 1, '?q')",
    "dbms_lob.trim(l, greatest(dbms_lob.getlength(l) - 2, 1))",
    "dbms_lob.erase(l, n, 1)",
    "dbms_lob.writeappend(l, 3, 'end'); dbms_lob.write(l, 1, 2, 'w')",
)


_WORDS = ("period", "interval", "partition", "domain", "visible", "key", "move")
_ODD = ('"low.case"', '"\u00c4rger"', '"Select"', '"a b"')
# Partitions of three keys each, four for each session; the last one of all has no bound.
_BOUNDS = {f"P{n}_{part}": 100 * n + high for n in range(4) for part, high in enumerate((3, 6, 9, 100))}
PARTED = {
    "PARTED": "id number(10) primary key, note varchar2(20)) partition by range (id) ("
    + ", ".join(f"partition {name} values less than ({bound})" for name, bound in _BOUNDS.items())
    + ", partition rest values less than (maxvalue)"
}
# Of some histories, by their seed: LOBs without storage in the row, and subpartitions.
_FAR = " lob (body, data) store as {} (disable storage in row"
_DIVIDED = "by range (id) subpartition by hash (id) subpartition template (subpartition s1, subpartition s2) ("
_KEY_DDL = (
    ("alter table item disable primary key", "alter table item enable primary key"),
    ("alter table pair drop primary key", "alter table pair add constraint pair_{} primary key (a, b)"),
    (
        "alter table item modify primary key disable",
        "alter table item enable novalidate primary key",
        "alter table item modify primary key validate",
    ),
)


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
    service: str
    done: list[Change] = field(default_factory=list)
    savepoint: int | None = None
    lobs: set[int] = field(default_factory=set)

    def forget(self) -> None:
        """Its transaction is over."""
        self.done, self.savepoint = [], None
        self.lobs.clear()


class Workload:
    """The history under way.

    :param services: the service each session connects to; one on another instance writes another redo thread.
    :param lobs: with tables of large values, of which all is captured.
    :param altering: with a partitioned table, whose partitions go, with DDL on keys, and with names that have to be quoted.
    :param unseen: with tables of large values that are not captured: their rows are not selected from LogMiner.
    :ivar expected: changes of each committed transaction that has any, by XID, in order of commit.
    :ivar script: the steps so far, one line each.
    """

    def __init__(
        self,
        sandbox: SandboxProcess,
        schema: str,
        seed: int,
        services: list[str],
        *,
        lobs: bool = False,
        unseen: bool = False,
        altering: bool = False,
    ) -> None:
        self.unseen, self.altering = unseen, altering
        self._sandbox, self._login = sandbox, schema
        self.chance = random.Random(seed)
        self.schema = schema.upper()
        self.expected: dict[str, list[Change]] = {}
        self.script: list[str] = []
        self._admin = sandbox.connect()
        self._held = False
        self._added = 0
        self._made = 0
        self._partitions = {n: [name for name in _BOUNDS if name.startswith(f"P{n}_")] for n in range(4)}
        self._words = (*_ODD, *_WORDS) if altering else _WORDS
        self.tables = TABLES | (LOB_TABLES if lobs or unseen else {}) | (PARTED if altering else {})
        # `chance` is not asked, so that a seed's history stays what it was.
        self._divided = altering and seed // 2 % 2 == 1
        if self._divided:
            self.tables["PARTED"] = self.tables["PARTED"].replace("by range (id) (", _DIVIDED)
        storage = (None, "securefile", "basicfile")[seed // 4 % 3]
        if "DOC" in self.tables and storage is not None:
            self.tables["DOC"] += ")" + _FAR.format(storage)
        owner = sandbox.connect(schema, schema)
        for table, columns in self.tables.items():
            owner.cursor().execute(f"create table {table} ({columns})")
            owner.cursor().execute(f"alter table {table} add supplemental log data (all) columns")
        if altering:
            owner.cursor().execute("create table parted_swap (id number(10) primary key, note varchar2(20))")
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
            session.forget()
        elif choice < 0.86:
            self._savepoint(session)
        elif choice < 0.91:
            self._run_admin("alter system switch logfile")
        elif choice < 0.96:
            self._hold()
        else:
            self._ddl(session)

    def fill_log(self, place: int) -> None:
        """A session changes much, commits, and its instance switches logs: whoever reads now is busy with that for a while."""
        session = self._sessions[place]
        for _ in range(_MANY):
            self._change(session)
        self._commit(session)
        self._say(f"admin of s{place}: alter system switch logfile")
        with self._sandbox.connect(service=session.service) as admin:
            admin.cursor().execute("alter system switch logfile")

    def commit_each(self, first: int) -> None:
        """Each session commits a change, in turn from `first` on."""
        for session in self._sessions[first:] + self._sessions[:first]:
            self._change(session)
            self._commit(session)

    def change_after_savepoint(self, place: int) -> None:
        """A session changes something, sets its savepoint, and changes more; a checkpoint has that written, so that redo ends with a
        change which is not committed."""
        session = self._sessions[place]
        self._change(session)
        self._run(session, "savepoint s")
        session.savepoint = len(session.done)
        for _ in range(3):
            self._change(session)
        if self._held:
            self._hold()
        self._run_admin("alter system checkpoint")

    def undo_to_savepoint(self, place: int) -> None:
        """A session takes back what it changed since its savepoint, if it has one."""
        session = self._sessions[place]
        if session.savepoint is not None:
            self._run(session, "rollback to savepoint s")
            del session.done[session.savepoint :]
            session.lobs.clear()

    def undo_unseen(self, place: int) -> None:
        """A session changes a row, then nothing but a large value of it, which is not seen, and takes that back."""
        session = self._sessions[place]
        key = 100 * session.number
        at = (str(key),)
        if self._run(session, f"insert into doc values ({key}, 'doc', :1, null)", "x" * 5000):
            session.done.append(Change("DOC", "c", None, at))
        self._commit(session)
        self._run(session, f"update doc set body = :1 where id = {key}", "y" * 5000)
        if self._run(session, f"update doc set title = 'seen' where id = {key}"):
            session.done.append(Change("DOC", "u", at, at))
        self._run(session, "savepoint t")
        self._edit_doc(session, key)
        self._run(session, "rollback to savepoint t")
        self._commit(session)

    def finish(self) -> None:
        """Every session commits."""
        for session in self._sessions:
            self._commit(session)

    def reconnect(self) -> None:
        """The database was restarted: what was open is rolled back."""
        self._say("the database is killed and started again")
        with suppress(oracledb.Error):
            self._admin.close()
        self._admin, self._held = self._sandbox.connect(), False
        for place, session in enumerate(self._sessions):
            with suppress(oracledb.Error):
                session.connection.close()
            self._sessions[place] = self._open(self._sandbox, self._login, session.number, session.service)

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
            left_out = LOB_COLUMNS if self.unseen else ()
            return [
                {
                    name: _text(value)
                    for name, value in zip(names, row, strict=True)
                    if value is not None and name not in left_out
                }
                for row in cursor
            ]

    # ---- steps ----

    def _open(self, sandbox: SandboxProcess, schema: str, number: int, service: str) -> _Session:
        connection = sandbox.connect(schema, schema, service)
        ((sid,),) = connection.cursor().execute("select sys_context('userenv', 'sid') from dual").fetchall()
        return _Session(number, connection, int(sid), service)

    def _say(self, line: str) -> None:
        self.script.append(line)

    def _hold(self) -> None:
        """Hold the schema's redo back, or have it written that is held."""
        verb = "release" if self._held else "hold"
        self._held = not self._held
        self._run_admin(f"call dbms_sandbox.{verb}_strand('{self.schema}')")

    def _run_admin(self, statement: str) -> None:
        self._say(f"admin: {statement}")
        self._admin.cursor().execute(statement)

    def _run(self, session: _Session, statement: str, *binds: str | bytes | None) -> int:
        """How many rows it changed; 0 when a constraint refused it, which leaves traces in redo all the same."""
        sizes = [None if bind is None else len(bind) for bind in binds]
        self._say(f"s{session.number}: {statement if len(statement) < 200 else statement[:200] + '..'} {sizes or ''}")
        with session.connection.cursor() as cursor:
            try:
                cursor.execute(statement, list(binds))
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
        session.forget()

    def _savepoint(self, session: _Session) -> None:
        if session.savepoint is None or self.chance.random() < 0.3:
            self._run(session, "savepoint s")
            session.savepoint = len(session.done)
        else:
            self.undo_to_savepoint(self._sessions.index(session))

    def _change(self, session: _Session) -> None:
        large = ["DOC"] * 3 if "DOC" in self.tables else []
        table = self.chance.choice(
            ["ITEM", "ITEM", "ITEM", "PAIR", "WIDE", *large, *(["PARTED"] * 2 if self.altering else [])]
        )
        key = 100 * session.number + self.chance.randrange(_KEYS)
        kind = self.chance.random()
        if table == "ITEM":
            self._change_item(session, key, kind)
        elif table == "PAIR":
            self._change_pair(session, f"k{self.chance.randrange(_KEYS)}", kind)
        elif table == "DOC":
            self._change_doc(session, key, kind)
        elif table == "PARTED":
            self._change_parted(session, key, kind)
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
        a = session.number
        inserted, where = f"insert into pair (a, b, note) values ({a}, '{b}', null)", f"a = {a} and b = '{b}'"
        self._change_noted(session, "PAIR", (str(a), b), kind, inserted, where)

    def _change_parted(self, session: _Session, key: int, kind: float) -> None:
        self._change_noted(session, "PARTED", (str(key),), kind, f"insert into parted values ({key}, 'n')", f"id = {key}")

    def _change_noted(
        self, session: _Session, table: str, at: tuple[str, ...], kind: float, inserted: str, where: str
    ) -> None:
        """Insert, update or delete a row of a table whose only other column is NOTE."""
        if kind < 0.5:
            if self._run(session, inserted):
                session.done.append(Change(table, "c", None, at))
        elif kind < 0.8:
            if self._run(session, f"update {table.lower()} set note = note || 'x' where {where}"):
                session.done.append(Change(table, "u", at, at))
        elif self._run(session, f"delete from {table.lower()} where {where}"):
            session.done.append(Change(table, "d", at, None))

    def _change_doc(self, session: _Session, key: int, kind: float) -> None:
        at, body, data = (str(key),), self._large(), self._large()
        if kind < 0.4:
            binds = [body, None if data is None else data.encode()]
            if self._run(session, f"insert into doc values ({key}, 'doc', :1, :2)", *binds):
                self._changed_doc(session, Change("DOC", "c", None, at), body)
        elif kind < 0.50:
            self._write_doc(session, key, body)
        elif kind < 0.60:
            if self._run(session, f"update doc set title = title || '+', body = :1 where id = {key}", body):
                self._changed_doc(session, Change("DOC", "u", at, at), body)
        elif kind < 0.65:
            if self._run(session, f"update doc set title = title || '.' where id = {key}"):
                session.done.append(Change("DOC", "u", at, at))
        elif kind < 0.69:
            if self._run(session, f"update doc set data = empty_blob(), title = 'e' where id = {key}"):
                session.done.append(Change("DOC", "u", at, at))
        elif kind < 0.73:
            other = 100 * session.number + self.chance.randrange(_KEYS)
            if other != key and self._run(session, f"update doc set id = {other} where id = {key}"):
                self._moved_doc(session, key, other)
        elif kind < 0.88:
            if self.unseen:
                self._write_and_undo(session, key, body)
            elif key in session.lobs:
                self._edit_doc(session, key)
                session.done.append(Change("DOC", "u", at, at))
        elif self._run(session, f"delete from doc where id = {key}"):
            self._changed_doc(session, Change("DOC", "d", at, None), None)

    def _edit_doc(self, session: _Session, key: int) -> None:
        edit = self.chance.choice(_EDITS)
        select = f"select body into l from doc where id = {key} for update"
        self._run(session, f"declare l clob; n number := 2; begin {select}; {edit}; end;")

    def _write_and_undo(self, session: _Session, key: int, body: str | None) -> None:
        """Change a row, then nothing but a CLOB, of this row or of another, and mostly take that back."""
        changed = key if self.chance.random() < 0.5 else 100 * session.number + self.chance.randrange(_KEYS)
        if self._run(session, f"update doc set title = title || '-', body = :1 where id = {changed}", body):
            session.done.append(Change("DOC", "u", (str(changed),), (str(changed),)))
        self._run(session, "savepoint t")
        exists = f"select count(*) from doc where id = {key} and dbms_lob.getlength(body) > 0"
        ((there,),) = session.connection.cursor().execute(exists).fetchall()
        if there and self.chance.random() < 0.7:
            self._edit_doc(session, key)
        else:
            self._write_doc(session, key, body)
        if self.chance.random() < 0.8:
            self._run(session, "rollback to savepoint t")

    def _write_doc(self, session: _Session, key: int, body: str | None) -> None:
        """Change nothing but a CLOB: no change at all where these are not seen."""
        at = (str(key),)
        if self._run(session, f"update doc set body = :1 where id = {key}", body) and not self.unseen:
            self._changed_doc(session, Change("DOC", "u", at, at), body)

    @staticmethod
    def _changed_doc(session: _Session, change: Change, body: str | None) -> None:
        """Remember the change, and whether the session's transaction knows the row's whole CLOB now."""
        session.done.append(change)
        (key,) = change.after or change.before or ()
        session.lobs.discard(int(key))
        if body:
            session.lobs.add(int(key))

    @staticmethod
    def _moved_doc(session: _Session, key: int, other: int) -> None:
        """Remember that a row has another key, and with it what the session's transaction knows of its CLOB."""
        session.done.append(Change("DOC", "u", (str(key),), (str(other),)))
        if key in session.lobs:
            session.lobs.remove(key)
            session.lobs.add(other)

    def _large(self) -> str | None:
        """A value that fits into the row, or does not, or is NULL."""
        size = self.chance.choice([None, 5, 300, 5000, 9000])
        return None if size is None else "".join(self.chance.choices("ab'\n\u00e9\u0416", k=size))

    def _ddl(self, session: _Session) -> None:
        """DDL waits for the others' transactions, so all commit first."""
        self.finish()
        if self.altering and self.chance.random() < 0.7:
            self._alter(session)
            return
        table = self.chance.choice(["item", "pair"])
        choice = self.chance.random()
        if choice < 0.5:
            self._added += 1
            default = self.chance.choice(["", " default 7"])
            self._run(session, f"alter table {table} add ({self._name(self._added)} number{default})")
        elif choice < 0.7 and self._added:
            with suppress(oracledb.DatabaseError):  # the column may be the other table's, or gone
                self._run(session, f"alter table {table} drop column {self._name(self.chance.randrange(self._added) + 1)}")
        elif choice < 0.85:
            self._run(session, "truncate table wide")
        else:
            self._run(session, f"comment on table {table} is 'c{self._added}'")

    def _name(self, number: int) -> str:
        """Name of an added column: words that begin clauses, and names that have to be quoted, while there are some."""
        return self._words[number - 1] if number <= len(self._words) else f"x{number}"

    def _alter(self, session: _Session) -> None:
        """DDL on keys, or on a partition of the session's keys, of which redo may not have been read yet. Rows that the DDL itself
        would take away are deleted before. A partition that DDL has made stays: of one that came and went nothing says whose its
        rows were (MC-4303)."""
        self._made += 1
        low, made, names = 100 * session.number, self._made, self._partitions[session.number]
        change = self.chance.choice(["key", "split", "merge", "move", "truncate", "exchange", "drop"])
        if change == "key" or not names:
            for statement in self.chance.choice(_KEY_DDL):
                self._run(session, statement.format(made))
            return
        at = self.chance.randrange(len(names))
        name, bound = names[at], _BOUNDS[names[at]]
        if change == "split":
            self._run(
                session,
                f"alter table parted split partition {name} at ({bound - 1}) into (partition a{made}, partition b{made})",
            )
            names.remove(name)
        elif change == "merge":
            following = f"{name[:-1]}{int(name[-1]) + 1}"
            if following in names:
                self._run(session, f"alter table parted merge partitions {name}, {following} into partition m{made}")
                names.remove(name)
                names.remove(following)
        elif change == "move":
            self._run(session, f"alter table parted move {self._part(name, change)}")
        else:
            self._empty(session, low, bound)
            tail = {"exchange": " with table parted_swap"}.get(change, "")
            self._run(session, f"alter table parted {change} {self._part(name, change)}{tail}")
            if change == "drop":  # its keys go to the next one
                names.remove(name)

    def _part(self, name: str, change: str) -> str:
        """What a change of a partition names: one with subpartitions is neither moved nor exchanged, but these are."""
        return f"subpartition {name}_s2" if self._divided and change in ("move", "exchange") else f"partition {name}"

    def _empty(self, session: _Session, low: int, bound: int) -> None:
        """Delete the session's rows below the bound, and commit."""
        select = f"select id from parted where id >= {low} and id < {bound} order by id"
        keys = session.connection.cursor().execute(select)
        for (key,) in keys.fetchall():
            if self._run(session, f"delete from parted where id = {key}"):
                session.done.append(Change("PARTED", "d", (str(key),), None))
        self._commit(session)


def _text(value: object) -> str:
    if isinstance(value, oracledb.LOB):
        value = value.read() or ""
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:g}" if isinstance(value, float) else str(value)
