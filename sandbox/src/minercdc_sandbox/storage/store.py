"""Row versions in SQLite.

A segment is a table `seg_<data object id>(vid, s, e, x, c0, c1, ..)` with one line per version of a row:

    vid  row number << 26 | version number, so scan order is ROWID order and the versions of a row lie together
    s    commit SCN that made the version, or the stamp of the transaction that has not committed it yet
    e    commit SCN that ended it, else LIVE
    x    stamp of the open transaction that ended it, else 0

Versions that ended long enough ago lie in `old_<data object id>`, see `storage.history`.
A reader at SCN n with stamp m sees lines with (s <= n or s = m) and e > n and x <> m. Commits change s and e only from
something above every open reader's n to something else above it, so an open cursor never notices them.
A unique index ends in e: the current version of a much updated row is found without walking its history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import cast

import apsw

from minercdc_sandbox.interfaces import Cell
from minercdc_sandbox.tables import Index, Table

LIVE = (1 << 63) - 1
VERSION_BITS = 26
VERSION_MASK = (1 << VERSION_BITS) - 1


def segment(table: Table) -> str:
    """SQL name of the table with its versions but those that have moved to `history`."""
    return f"seg_{table.data_object_id}"


def history(table: Table) -> str:
    """SQL name of the table with its old versions, which is there only if `table.has_history`; see `storage.history`."""
    return f"old_{table.data_object_id}"


def tables_of(table: Table) -> tuple[str, ...]:
    """SQL names of the tables with its versions: the segment, then the history if it has one."""
    return (segment(table), history(table)) if table.has_history else (segment(table),)


def every_version(table: Table, columns: str) -> str:
    """SQL of a FROM clause with all versions of a table, old ones too, with vid, s, e, x and at least the columns in `columns`
    (`,c0,c1`)."""
    if not table.has_history:
        return segment(table)
    return f"(select vid,s,e,x{columns} from {segment(table)} union all select vid,s,e,x{columns} from {history(table)})"


def visible(snapshot: str, own: str) -> str:
    """SQL condition: the version is seen at `snapshot` by the transaction with stamp `own` (both SQL expressions)."""
    return f"(s<={snapshot} or s={own}) and e>{snapshot} and x<>{own}"


def open_store() -> apsw.Connection:
    """A new private SQLite database that spills to an unnamed file and ends with the process; the caller closes it.

    Its journal is off, and one SQLite transaction lasts as long as the database: the sandbox has undo of its own.
    """
    connection = apsw.Connection("", statementcachesize=1000)
    for pragma in ("journal_mode=off", "synchronous=off", "temp_store=file", "cache_size=-131072", "locking_mode=exclusive"):
        connection.execute(f"pragma {pragma}").fetchall()
    connection.execute("begin")
    return connection


@lru_cache(maxsize=1024)
def _holders_of(name: str, slots: tuple[int, ...]) -> str:
    where = " and ".join(f"c{slot} is ?" for slot in slots)
    return f"select vid,s,x from {name} where {where} and e={LIVE}"


@lru_cache(maxsize=1024)
def _insert_version(name: str, slots: tuple[int, ...]) -> str:
    columns = "".join(f",c{slot}" for slot in slots)
    return f"insert into {name}(vid,s,e,x{columns}) values(?,?,{LIVE},0{',?' * len(slots)})"


class Segments:
    """The stored versions of all tables, by vid, without locks, undo and redo, which callers keep. Methods write to `db`, whose
    commit is the caller's. Call under the storage lock."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._dead: list[str] = []

    def create(self, table: Table) -> None:
        """Create a table's empty segment and its indexes; it must not be there."""
        columns = "".join(f",c{c.slot}" for c in table.columns)
        self.db.execute(f"create table {segment(table)}(vid integer primary key,s,e,x{columns})")
        for index in table.indexes:
            self.create_index(table, index)

    def create_index(self, table: Table, index: Index) -> None:
        """Index the segment with what it has, and for a unique index the history if there is one; no uniqueness is checked."""
        columns = ",".join(f"c{table.columns[at].slot}" for at in table.positions(index.columns))
        tail = ",e" if index.unique else ""
        name = f"ix_{table.data_object_id}_{index.object_id}"
        self.db.execute(f"create index {name} on {segment(table)}({columns}{tail})")
        if table.has_history:
            self._index_history(table, index)

    def _index_history(self, table: Table, index: Index) -> None:
        if index.unique:
            columns = ",".join(f"c{table.columns[at].slot}" for at in table.positions(index.columns))
            name = f"old_ix_{table.data_object_id}_{index.object_id}"
            self.db.execute(f"create index {name} on {history(table)}({columns},e)")

    def drop_index(self, table: Table, index: Index) -> None:
        """Drop an index of the segment, and that of the history, now or by a later `bury`."""
        name = f"ix_{table.data_object_id}_{index.object_id}"
        self._dead += [f"index {name}", f"index if exists old_{name}"]
        self.bury()

    def add_column(self, table: Table, slot: int, default: Cell) -> None:
        """Add column `c<slot>` to the versions; those that are there get `default`."""
        text = "null" if default is None else apsw.format_sql_value(default)
        for name in tables_of(table):
            self.db.execute(f"alter table {name} add column c{slot} default {text}")

    def fill(self, table: Table, rid: int, slot: int, cell: Cell) -> None:
        """Set column `c<slot>` in all versions of one row."""
        versions = (rid << VERSION_BITS, (rid << VERSION_BITS) | VERSION_MASK)
        for name in tables_of(table):
            self.db.execute(f"update {name} set c{slot}=? where vid between ? and ?", (cell, *versions))

    def drop(self, name: str) -> None:
        """Drop the segment of this SQL name and its history: now, or in a later `bury` if cursors still read it."""
        self._dead += [f"table {name}", f"table if exists {name.replace('seg_', 'old_')}"]
        self.bury()

    def bury(self) -> None:
        """Try again to drop the tables and indexes that open cursors were reading; those that still do are left for the next call."""
        left = []
        for name in self._dead:
            try:
                self.db.execute(f"drop {name}")
            except (apsw.LockedError, apsw.SQLError):
                left.append(name)
        self._dead = left

    # ---- history ----

    def create_history(self, table: Table) -> None:
        """Create the table of old versions: all columns of the segment, also dropped ones, and an index for each unique index of
        the table. There must be none yet; the caller sets `table.history_of` afterwards."""
        names = [str(row[1]) for row in self.db.execute(f"pragma table_info({segment(table)})")]
        self.db.execute(f"create table {history(table)}(vid integer primary key,{','.join(names[1:])})")
        for index in table.indexes:
            self._index_history(table, index)

    def move(self, table: Table, scn: int) -> int:
        """Move the versions that ended up to `scn`, itself included, to the history, which there must be; returns how many."""
        self.db.execute(f"insert into {history(table)} select * from {segment(table)} where e<={scn}")
        self.db.execute(f"delete from {segment(table)} where e<={scn}")
        return self.db.changes()

    # ---- lines ----

    def insert(self, table: Table, first_rid: int, rows: Sequence[tuple[Cell, ...]], stamp: int) -> None:
        """Insert the first versions of rows numbered from `first_rid` on, made by the transaction with this stamp."""
        self.insert_versions(table, [((first_rid + n) << VERSION_BITS, row) for n, row in enumerate(rows)], stamp)

    def insert_version(self, table: Table, vid: int, row: tuple[Cell, ...], stamp: int) -> None:
        """Insert a version made by the transaction with this stamp, or by the commit with this SCN; `row` has all stored columns."""
        sql = _insert_version(segment(table), tuple([c.slot for c in table.columns]))
        self.db.execute(sql, (vid, stamp, *row))

    def insert_versions(self, table: Table, rows: Sequence[tuple[int, tuple[Cell, ...]]], stamp: int) -> None:
        """As `insert_version` for many rows, given with their version ids, all made by the same stamp or SCN."""
        if rows:
            sql = _insert_version(segment(table), tuple([c.slot for c in table.columns]))
            self.db.executemany(sql, [(vid, stamp, *row) for vid, row in rows])

    def mark_all(self, table: Table, vids: Sequence[int], stamp: int) -> None:
        """As `mark` for many versions, with the same stamp."""
        if vids:
            # the text is the same for every transaction, so it is compiled once
            self.db.executemany(f"update {segment(table)} set x=? where vid=?", [(stamp, vid) for vid in vids])

    def overwrite(self, table: Table, vid: int, row: tuple[Cell, ...]) -> None:
        """Set all columns of the version `vid`; s, e and x stay."""
        assignments = ",".join(f"c{c.slot}=?" for c in table.columns)
        self.db.execute(f"update {segment(table)} set {assignments} where vid=?", (*row, vid))

    def mark(self, table: Table, vid: int, stamp: int) -> None:
        """Note in the version `vid` the stamp of the transaction that ends it; 0 takes it back."""
        self.db.execute(f"update {segment(table)} set x=? where vid=?", (stamp, vid))

    def remove(self, table: Table, first: int, count: int = 1) -> None:
        """Delete the version `first`; with a `count`, all versions with a vid from it to that of the same version number of the
        last of as many rows."""
        last = first + ((count - 1) << VERSION_BITS)
        self.db.execute(f"delete from {segment(table)} where vid between ? and ?", (first, last))

    def read(self, table: Table, first: int, count: int, stamp: int) -> list[tuple[Cell, ...]]:
        """(vid, *row) of those versions of `count` rows, from the version `first` on, that the transaction with this stamp made,
        by vid."""
        slots = "".join(f",c{c.slot}" for c in table.columns)
        last = first + ((count - 1) << VERSION_BITS)
        sql = f"select vid{slots} from {segment(table)} where vid between ? and ? and s=?"
        return cast(list[tuple[Cell, ...]], self.db.execute(sql, (first, last, stamp)).fetchall())

    def versions(self, table: Table, rid: int) -> list[tuple[int, int, int, int, tuple[Cell, ...]]]:
        """(vid, s, e, x, row) of the versions of one row, newest last, without those moved to the history; [] when there is none."""
        slots = "".join(f",c{c.slot}" for c in table.columns)
        first = rid << VERSION_BITS
        sql = f"select vid,s,e,x{slots} from {segment(table)} where vid between ? and ? order by vid"
        found = self.db.execute(sql, (first, first | VERSION_MASK)).fetchall()
        return [(*cast("tuple[int, int, int, int]", row[:4]), cast("tuple[Cell, ...]", tuple(row[4:]))) for row in found]

    def stamp_new(self, name: str, ranges: Iterable[tuple[int, int]], stamp: int, scn: int) -> None:
        """Let the versions in these ranges of vids, ends included, that the transaction with this stamp made begin at its
        commit's SCN; `name` is the segment's SQL name."""
        self.db.executemany(f"update {name} set s={scn} where vid between ? and ? and s={stamp}", list(ranges))

    def stamp_ended(self, name: str, vids: Iterable[int], stamp: int, scn: int) -> None:
        """Let those of these versions that the transaction with this stamp ended end at its commit's SCN; `name` is the segment's
        SQL name."""
        self.db.executemany(f"update {name} set e={scn},x=0 where vid=? and x={stamp}", [(vid,) for vid in vids])

    def purge(self, table: Table, scn: int) -> None:
        """Delete the versions that no snapshot from `scn` on can see, from the segment and the history."""
        for name in tables_of(table):
            self.db.execute(f"delete from {name} where e<={scn}")

    def holders(self, table: Table, index: Index, key: tuple[Cell, ...]) -> list[tuple[int, int, int]]:
        """(vid, s, x) of versions with this key, compared also where it has NULLs, that no commit has ended, with those of open
        transactions."""
        slots = tuple([table.columns[at].slot for at in table.positions(index.columns)])
        sql = _holders_of(segment(table), slots)
        return cast(list[tuple[int, int, int]], self.db.execute(sql, key).fetchall())
