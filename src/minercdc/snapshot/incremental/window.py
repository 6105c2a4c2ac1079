"""Finds which rows of a chunk are out of date: the stream has emitted newer changes of them.

A chunk is read as of some SCN s. It is delivered once the stream has emitted every commit before s, except rows whose key
changed in the stream after s. So no older image ever follows a newer one:

    a change before s  was emitted before the chunk, which has it
    a change at s      is what the chunk has, whichever is emitted first
    a change after s   was emitted before the chunk: its row is left out; or is emitted later: it is newer than the row

Where such a change does not say which row it was of (no key, and no ROWID either), the chunk is read again at a later SCN.

That holds with several redo threads as well, whose commits do not come in order of SCN. Between marks in the signal table s is
not known exactly: `floor` is an earlier SCN, `ceiling` the one before the commit SCN of the mark after the chunk. Nor is it where
no redo is written up to s: an instance that dies gives SCNs after its last redo again. `floor` is never higher than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from minercdc.schema.table import TableId, TableSchema
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, FetchedRows, Op, Row, SchemaChange


@dataclass(slots=True)
class Chunk:
    """Some rows of a table, all read at one SCN.

    :param rows: in order, with the version of the table they were read in.
    :param last: Row text of the ordering columns of the last row that was read up to here, which an empty chunk has from the one
        before.
    :param floor: a row that a commit after this SCN changed is out of date.
    :param ceiling: SCN that the stream has to come to before delivery; 0 while that is of a mark which has not come yet.
    :param window: id of its marks, '' without marks.
    :param time_us: when it was read, microseconds since the epoch in UTC.
    :param final: no chunk follows it.
    :param size: bytes it holds, roughly.
    :param closed_scn: an SCN at or after its high mark; 0 while that is not written, and without marks.
    """

    rows: FetchedRows
    last: tuple[str, ...]
    floor: int
    ceiling: int
    time_us: int
    final: bool
    window: str = ""
    size: int = 0
    closed_scn: int = 0


class Changes:
    """Keeps the keys that the stream has changed in the tables that are being read, with the last commit SCN of each. Its
    length is the number of keys.

    :ivar floor: changes committed at or before this SCN are not noted.
    """

    def __init__(self) -> None:
        self._keys: dict[TableId, dict[object, int]] = {}
        self._emptied: dict[TableId, int] = {}
        self._unidentified: dict[TableId, int] = {}  # changes of which the row is not known
        self._by_row_id: dict[TableId, int] = {}  # changes of which it is known by its ROWID only
        self._key_of: dict[tuple[TableId, int], Callable[[Row], Any] | None] = {}
        self._pruned = 0
        self.floor = 0

    def follow(self, table: TableId) -> None:
        """Note changes of this table from now on; those noted before stay."""
        self._keys.setdefault(table, {})

    def follows(self, tables: Iterable[TableId]) -> bool:
        """Whether changes of one of these tables are noted."""
        return bool(self._keys) and any(table in self._keys for table in tables)

    def forget(self) -> None:
        """Note no changes from now on, and forget those already noted; `floor` stays."""
        self._keys.clear()
        self._emptied.clear()
        self._unidentified.clear()
        self._by_row_id.clear()
        self._pruned = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is noted: no row that is read can be out of date."""
        return not (len(self) or self._emptied or self._unidentified)

    def tell_rows(self, table: TableId, floor: int, *, row_ids: bool = True) -> bool:
        """Whether each noted change of a table with a commit SCN above `floor` says which row it was of. Else it is not known which rows
        that were read at `floor` are current.

        :param row_ids: these rows have their ROWIDs.
        """
        unknown = self._unidentified.get(table, 0)
        return max(unknown, 0 if row_ids else self._by_row_id.get(table, 0)) <= floor

    def __len__(self) -> int:
        return sum(map(len, self._keys.values()))

    def note(self, event: ChangeEvent) -> None:
        """Note the change of a row, if its table is followed and its commit SCN is above `floor`. Of a row that a capture has
        read without its transaction, the SCN it was read at counts."""
        scn = event.tx.commit_scn if event.tx is not None else event.scn
        keys = self._keys.get(event.schema.id)
        if keys is None or scn <= self.floor:
            return
        identities = [*self._identities(event)]
        for identity in identities:
            if keys.get(identity, 0) < scn:
                keys[identity] = scn
        by_row_id = any(isinstance(identity, RowId) for identity in identities)
        if event.op is not Op.CREATE and (by_row_id or not identities):  # a new row has no older image
            unsure, table = self._by_row_id if by_row_id else self._unidentified, event.schema.id
            unsure[table] = max(scn, unsure.get(table, 0))

    def note_schema(self, change: SchemaChange) -> None:
        """Note that a followed table was truncated or dropped: all rows read before are out of date. Other DDL is not noted."""
        if change.table in self._keys and (change.truncate or change.after is None):
            self._emptied[change.table] = max(change.scn, self._emptied.get(change.table, 0))

    def _identities(self, event: ChangeEvent) -> Iterator[object]:
        """What the row is recognized by: its keys before and after the change; and its ROWID, when redo holds no key, the
        table has none, or the image before is missing."""
        key_of = self._key(event.schema)
        identified = False
        for row in (event.before, event.after):
            if row is None or key_of is None:
                continue
            key = key_of(row)
            if key is not UNAVAILABLE and not (isinstance(key, tuple) and UNAVAILABLE in key):
                identified = True
                yield key
        if (not identified or event.before is None) and event.row_id:
            yield RowId(event.row_id)

    def _key(self, schema: TableSchema) -> Callable[[Row], Any] | None:
        known = (schema.id, schema.version)
        if known not in self._key_of:
            self._key_of[known] = itemgetter(*schema.key) if schema.key else None
        return self._key_of[known]

    def current(self, rows: FetchedRows, floor: int) -> FetchedRows:
        """Those of the rows that have no noted change with a commit SCN above `floor`; none when the table was emptied after
        it. The same object when all are current. Raises ValueDecodeError when a key's value does not fit its type."""
        table = rows.schema.id
        if self._emptied.get(table, 0) > floor:
            return rows.only([])
        keys = self._keys.get(table)
        if not keys or not len(rows):
            return rows
        key = [rows.convert.values(rows.rows, column) for column in rows.schema.key]
        identities: Iterable[object] = (
            [RowId("")] * len(rows) if not key else key[0] if len(key) == 1 else zip(*key, strict=True)
        )
        kept = [
            place
            for place, (row_id, identity) in enumerate(zip(rows.row_ids(), identities, strict=True))
            if keys.get(identity, 0) <= floor and (not row_id or keys.get(RowId(row_id), 0) <= floor)
        ]
        return rows if len(kept) == len(rows) else rows.only([rows.rows[place] for place in kept])

    def prune(self, floor: int) -> None:
        """Raise `floor` of this object to the SCN `floor`, if it is lower, and sometimes forget the changes up to it. No
        chunk that is read, or will be, has a lower floor."""
        self.floor = max(self.floor, floor)
        if len(self) < 2 * self._pruned + 1000:
            return
        for table, keys in self._keys.items():
            self._keys[table] = {key: scn for key, scn in keys.items() if scn > self.floor}
        self._pruned = len(self)


@dataclass(frozen=True, slots=True)
class RowId:
    """A ROWID as a key of `Changes`: never equal to the text of a table's key."""

    text: str
