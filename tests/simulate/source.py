"""A database in memory: sessions that change two tables, and the redo that this writes, as LogMiner shows it.

    session -- START, changes --> strand --flush--> log of its thread            SCNs are given out when a change is made, addresses when it is
               COMMIT, undo -----------------------^                             flushed: rows of one log are not in the order of SCNs

A commit is written at once, after the session's strand. Archived logs are purged as soon as the stored offset does not need them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from tests.simulate.chance import Chance

from minercdc.capture.logminer.session.row import PLACEHOLDER_ROW_ID, LogMinerRow, OpCode

OWNER: Final = "LAB"
EPOCH: Final = datetime(2026, 3, 1, 12, 0, 0)
_ONLINE_LOGS = 3
SIGNALS: Final = "SIGNALS"


@dataclass(frozen=True)
class Table:
    """A table of the model; `VER` is the number of the change that wrote the row.

    :param columns: name, type, length.
    :param key: number of columns of the key, the first ones.
    """

    name: str
    object_id: int
    columns: tuple[tuple[str, str, int], ...]
    key: int

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.columns]


ITEM = Table("ITEM", 77, (("ID", "NUMBER", 10), ("NOTE", "VARCHAR2", 40), ("VER", "NUMBER", 12)), 1)
PAIR = Table("PAIR", 78, (("A", "NUMBER", 5), ("B", "VARCHAR2", 10), ("VER", "NUMBER", 12)), 2)
SIGNAL = Table(SIGNALS, 79, (("ID", "VARCHAR2", 42), ("TYPE", "VARCHAR2", 32), ("DATA", "VARCHAR2", 2048)), 1)
TABLES: Final = {table.name: table for table in (ITEM, PAIR, SIGNAL)}

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row.

    :param number: of all changes of the history.
    """

    number: int
    table: Table
    op: str
    before: Values | None
    after: Values | None
    row_id: str

    def key(self, row: Values) -> Values:
        return row[: self.table.key]


@dataclass(slots=True)
class Committed:
    """A committed transaction."""

    xid: str
    scn: int
    changes: list[Change]


@dataclass(eq=False)
class Tx:
    """A transaction of the source.

    :ivar strand: its rows without address that are not in a log yet.
    :ivar started: address (sequence) of the log with its START.
    """

    xid: bytes
    thread: int
    start_scn: int
    changes: list[Change] = field(default_factory=list)
    strand: list[dict[str, Any]] = field(default_factory=list)
    started: int = 0
    commit_scn: int = 0
    savepoint: int | None = None
    rows: list[tuple[LogMinerRow, Tx]] = field(default_factory=list)


@dataclass
class Session:
    number: int
    thread: int
    tx: Tx | None = None


@dataclass
class Log:
    thread: int
    sequence: int
    first_scn: int
    next_scn: int = 0
    rows: list[tuple[LogMinerRow, Tx]] = field(default_factory=list)
    archived: bool = False
    archive_at: float = 0.0
    purged: bool = False

    @property
    def current(self) -> bool:
        return not self.next_scn

    @property
    def online_name(self) -> str:
        return f"/redo/{self.thread}_{self.sequence % _ONLINE_LOGS}"

    @property
    def archived_name(self) -> str:
        return f"/archive/{self.thread}_{self.sequence}"


@dataclass
class Redo:
    """A thread of redo."""

    number: int
    logs: list[Log]
    block: int = 0
    last_scn: int = 0


class Source:
    """The database.

    :ivar committed: transactions with changes, in order of commit.
    :ivar versions: table -> key -> (commit SCN, ROWID, values or None), oldest first.
    :ivar done: nothing is changed any more.
    """

    def __init__(self, seed: int, transactions: int, signals: int, now: Any, note: Any) -> None:
        self._chance = Chance(seed, "source")
        self._now, self._note = now, note
        self.scn = 1000
        self.threads = {n: Redo(n, [Log(n, 1, 1)]) for n in range(1, 1 + (1, 1, 2, 3)[self._chance.below(4)])}
        self.sessions = [Session(n, 1 + n % len(self.threads)) for n in range(2 + self._chance.below(3))]
        self.committed: list[Committed] = []
        self.signals: list[tuple[str, int, str]] = []
        self.versions: dict[str, dict[Values, list[tuple[int, str, Values | None]]]] = {name: {} for name in TABLES}
        self._left, self._signals_left = transactions, signals
        self._signals_after = transactions // 2
        self._locked: dict[tuple[str, Values], Session] = {}
        self._numbers = self._row_ids = self._xids = 0
        self.done = False
        self._beat = 0.0
        self._initial()

    # ---- what the connector's queries see ----

    def next_scn(self) -> int:
        self.scn += 1
        return self.scn

    def time(self) -> datetime:
        return EPOCH + timedelta(seconds=self._now())

    def open_transactions(self) -> list[Tx]:
        return [session.tx for session in self.sessions if session.tx is not None]

    def rows_at(self, table: str, scn: int | None) -> Iterator[tuple[str, Values]]:
        """(ROWID, values) of a table, as of an SCN."""
        for versions in self.versions[table].values():
            for at, row_id, values in reversed(versions):
                if scn is None or at <= scn:
                    if values is not None:
                        yield row_id, values
                    break

    def logs(self) -> list[Log]:
        return [log for thread in self.threads.values() for log in thread.logs]

    # ---- what happens ----

    def step(self) -> None:
        """One thing happens."""
        if self.done:
            return
        session = self.sessions[self._chance.below(len(self.sessions))]
        choice = self._chance.below(100)
        # The first session's transactions are long.
        ends = 2 if session.number == 0 else 16
        if choice < 5:
            self._switch(self.threads[session.thread])
        elif choice < 5 + ends:
            self._end(session, rolled_back=self._chance.hits(0.12))
        elif choice < 30:
            self._flush(session)
        elif choice < 38:
            self._savepoint(session)
        else:
            self._change(session)
        if self._left <= 0:
            self._finish()

    def passed(self, time: float) -> None:
        """The clock has moved."""
        if time - self._beat >= 3.0:
            self._beat = time
            for thread in self.threads.values():
                thread.last_scn = max(thread.last_scn, self.scn)
        for log in self.logs():
            if log.next_scn and not log.archived and log.archive_at <= time:
                log.archived = True

    def purge(self, begins: dict[int, int], scn: int) -> None:
        """Delete archived logs that no one needs.

        :param begins: per thread, sequence number of the first log that is needed.
        :param scn: least SCN from which logs are needed: of all threads, from the start of the log that holds it.
        """
        holding = [log for log in self.logs() if log.first_scn <= scn and (log.current or scn < log.next_scn)]
        first = min(
            log.first_scn for log in (*holding, *(one for one in self.logs() if one.sequence == begins.get(one.thread)))
        )
        for log in self.logs():
            online = self.threads[log.thread].logs[-_ONLINE_LOGS:]
            if (
                log.archived
                and not log.purged
                and log not in online
                and log.sequence < begins.get(log.thread, 0)
                and log.next_scn <= first
            ):
                log.purged = True
                self._note(f"source purges log {log.thread}:{log.sequence}")

    def _initial(self) -> None:
        """Rows that are there before the connector, written by one transaction."""
        session = self.sessions[0]
        for key in range(self._chance.below(9)):
            self._insert(session, ITEM, (str(key), "first"))
        for key in range(self._chance.below(4)):
            self._insert(session, PAIR, (str(key), "b"))
        self._end(session)
        self.committed.clear()  # the snapshot has them
        self.next_scn()

    def _begin(self, session: Session) -> Tx:
        if session.tx is None:
            self._xids += 1
            xid = (session.number + 1).to_bytes(2, "little") + b"\x07\x00" + (1000 + self._xids).to_bytes(4, "little")
            session.tx = tx = Tx(xid, session.thread, self.next_scn())
            tx.strand.append(
                {"code": OpCode.START, "scn": tx.start_scn, "sql": "set transaction read write;", "user": "APP"}
            )
        return session.tx

    def _flush(self, session: Session) -> None:
        tx = session.tx
        if tx is None or not tx.strand:
            return
        thread = self.threads[tx.thread]
        shared = False
        for place, given in enumerate(tx.strand):
            # A START and the first change may share a record.
            shared = place == 1 and self._chance.hits(0.5) and given["code"] != OpCode.COMMIT
            self._write(thread, tx, given, shared=shared)
        tx.strand.clear()
        thread.last_scn = self.scn

    def _write(self, thread: Redo, tx: Tx, given: dict[str, Any], *, shared: bool = False) -> None:
        log = thread.logs[-1]
        if not shared:
            thread.block += 1
        if given["code"] == OpCode.START:
            tx.started = log.sequence
        values: dict[str, Any] = {
            "thread": thread.number,
            "rs_id": f" 0x{log.sequence:06x}.{thread.block:08x}.0010 ",
            "ssn": 1 if shared else 0,
            "xid": tx.xid,
            "con_id": 0,
            "owner": None,
            "table": None,
            "row_id": PLACEHOLDER_ROW_ID,
            "rollback": 0,
            "csf": 0,
            "status": 0,
            "info": None,
            "timestamp": self.time().replace(microsecond=0),
            "user": None,
            "client_id": None,
            "object_id": 0,
            "start_scn": None,
            "sql": None,
        }
        values.update(given)
        entry = LogMinerRow(**values), tx
        log.rows.append(entry)
        tx.rows.append(entry)

    def _switch(self, thread: Redo) -> None:
        """Strands are written before a switch."""
        for session in self.sessions:
            if session.thread == thread.number:
                self._flush(session)
        old = thread.logs[-1]
        old.next_scn = self.next_scn()
        old.archive_at = self._now() + self._chance.between(0, 1.5)
        if len(thread.logs) >= _ONLINE_LOGS:
            thread.logs[-_ONLINE_LOGS + 1].archived = True  # or its file could not be used again
            thread.logs[-_ONLINE_LOGS].archived = True
        thread.logs.append(Log(thread.number, old.sequence + 1, old.next_scn))
        thread.block = 0
        thread.last_scn = self.scn
        self._note(f"source switches to log {thread.number}:{old.sequence + 1}")

    def _change(self, session: Session) -> None:
        if self._signals_left and self._left <= self._signals_after and session.tx is None:
            self._signal(session)
            return
        table = ITEM if self._chance.hits(0.7) else PAIR
        key: Values = (str(self._chance.below(12)),)
        if table is PAIR:
            key = (str(self._chance.below(3)), "bc"[self._chance.below(2)])
        holder = self._locked.get((table.name, key))
        if holder is not None and holder is not session:
            return
        row = self._row(session, table, key)
        note = (None, "it's", "plain")[self._chance.below(3)]
        if row is None:
            self._insert(session, table, key + ((note,) if table is ITEM else ()))
        elif self._chance.hits(0.25):
            self._dml(session, table, "d", row[0], row[1], None)
        else:
            other = key
            if self._chance.hits(0.25):
                other = (str(self._chance.below(12)), *key[1:]) if table is ITEM else (key[0], "bc"[self._chance.below(2)])
                holder = self._locked.get((table.name, other))
                if other != key and (
                    self._row(session, table, other) is not None or (holder is not None and holder is not session)
                ):
                    return
            after = (*other, *((note,) if table is ITEM else ()), "")
            self._dml(session, table, "u", row[0], row[1], after)

    def _signal(self, session: Session) -> None:
        self._signals_left -= 1
        number = len(self.signals)
        tables = ("ITEM", "PAIR")[self._chance.below(2)], "ITEM"
        wanted = sorted(set(tables))
        collections = ", ".join(f'"DB.LAB.{name}"' for name in wanted)
        data = f'{{"data-collections": [{collections}], "type": "incremental"}}'
        self._begin(session)
        self._dml(session, SIGNAL, "c", self._new_row_id(), None, (f"s{number}", "execute-snapshot", data))
        self._end(session)
        self._note(f"source signals {data}")

    def _row(self, session: Session, table: Table, key: Values) -> tuple[str, Values] | None:
        """ROWID and values as the session sees them."""
        if session.tx is not None:
            for change in reversed(session.tx.changes):
                if change.table is table:
                    if change.after is not None and change.key(change.after) == key:
                        return change.row_id, change.after
                    if change.before is not None and change.key(change.before) == key:
                        return None
        versions = self.versions[table.name].get(key)
        if not versions or versions[-1][2] is None:
            return None
        return versions[-1][1], versions[-1][2]

    def _insert(self, session: Session, table: Table, values: Values) -> None:
        self._dml(session, table, "c", self._new_row_id(), None, (*values, ""))

    def _new_row_id(self) -> str:
        self._row_ids += 1
        return f"AAASvbAAEAAA{self._row_ids:06d}"

    def _dml(
        self, session: Session, table: Table, op: str, row_id: str, before: Values | None, after: Values | None
    ) -> None:
        tx = self._begin(session)
        self._numbers += 1
        if after is not None and table is not SIGNAL:
            after = (*after[:-1], str(self._numbers))
        change = Change(self._numbers, table, op, before, after, row_id)
        tx.changes.append(change)
        for row in (before, after):
            if row is not None:
                self._locked[table.name, change.key(row)] = session
        code = {"c": OpCode.INSERT, "u": OpCode.UPDATE, "d": OpCode.DELETE}[op]
        self._redo(tx, change, code, statement(change), 0)
        if self._chance.hits(0.3):
            self._flush(session)

    def _redo(self, tx: Tx, change: Change, code: OpCode, sql: str, rollback: int) -> None:
        table = change.table
        tx.strand.append(
            {
                "code": code,
                "scn": self.next_scn(),
                "owner": OWNER,
                "table": table.name,
                "object_id": table.object_id,
                "row_id": change.row_id,
                "sql": sql,
                "rollback": rollback,
            }
        )

    def _undo(self, tx: Tx, keep: int) -> None:
        while len(tx.changes) > keep:
            change = tx.changes.pop()
            code = {"c": OpCode.DELETE, "u": OpCode.UPDATE, "d": OpCode.INSERT}[change.op]
            self._redo(tx, change, code, undoing(change), 1)

    def _savepoint(self, session: Session) -> None:
        tx = session.tx
        if tx is None or not tx.changes:
            return
        if tx.savepoint is None or self._chance.hits(0.3):
            tx.savepoint = len(tx.changes)
        else:
            self._undo(tx, tx.savepoint)

    def _end(self, session: Session, *, rolled_back: bool = False) -> None:
        tx = session.tx
        if tx is None:
            return
        if rolled_back:
            self._undo(tx, 0)
        self._flush(session)
        code, sql = (OpCode.ROLLBACK, "rollback;") if rolled_back else (OpCode.COMMIT, "commit;")
        scn, thread = self.next_scn(), self.threads[tx.thread]
        session.tx = None
        self._locked = {place: holder for place, holder in self._locked.items() if holder is not session}
        if not rolled_back:
            tx.commit_scn = scn
            self._commit(tx, scn)
        self._write(thread, tx, {"code": code, "scn": scn, "sql": sql})
        thread.last_scn = scn

    def _commit(self, tx: Tx, scn: int) -> None:
        for change in tx.changes:
            versions = self.versions[change.table.name]
            if change.before is not None and (change.after is None or change.key(change.after) != change.key(change.before)):
                versions.setdefault(change.key(change.before), []).append((scn, change.row_id, None))
            if change.after is not None:
                versions.setdefault(change.key(change.after), []).append((scn, change.row_id, change.after))
            if change.table is SIGNAL and change.after is not None:
                self.signals.append((str(change.after[0]), scn, str(change.after[2])))
        kept = [change for change in tx.changes if change.table is not SIGNAL]
        if kept:
            self.committed.append(Committed(tx.xid.hex(), scn, kept))
            self._left -= 1
            self._note(f"source commits {tx.xid.hex()} at {scn}: {len(kept)} changes")

    def _finish(self) -> None:
        for session in self.sessions:
            self._end(session, rolled_back=self._chance.hits(0.3))
        while self._signals_left:
            self._signal(self.sessions[-1])
        self.done = True
        self._note("source is done")


def _literal(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _equal(name: str, value: str | None) -> str:
    return f'"{name}" IS NULL' if value is None else f"\"{name}\" = '{value}'"


def _redo_text(value: str | None) -> str | None:
    return None if value is None else value.replace("'", "''")


def statement(change: Change) -> str:
    """SQL_REDO, as LogMiner prints it."""
    table = change.table
    name = f'"{OWNER}"."{table.name}"'
    before = [_redo_text(value) for value in change.before or ()]
    after = [_redo_text(value) for value in change.after or ()]
    where = " and ".join(_equal(n, v) for n, v in zip(table.names, before, strict=False))
    if change.op == "c":
        columns = ",".join(f'"{n}"' for n in table.names)
        return f"insert into {name}({columns}) values ({','.join(map(_literal, after))});"
    if change.op == "d":
        return f"delete from {name} where {where};"
    changed = [f'"{n}" = {_literal(v)}' for n, v, old in zip(table.names, after, before, strict=True) if v != old]
    return f"update {name} set {', '.join(changed)} where {where};"


def undoing(change: Change) -> str:
    """SQL_REDO of the row that undoes a change."""
    name = f'"{OWNER}"."{change.table.name}"'
    if change.op == "c":
        return f"delete from {name} where ROWID = '{change.row_id}'"
    if change.op == "d":
        columns = ",".join(f'"{n}"' for n in change.table.names)
        values = ",".join(_literal(_redo_text(value)) for value in change.before or ())
        return f"insert into {name}({columns}) values ({values})"
    names = change.table.names
    changed = [f'"{n}" = {_literal(_redo_text(v))}' for n, v in zip(names, change.before or (), strict=True)]
    return f"update {name} set {', '.join(changed)}"
