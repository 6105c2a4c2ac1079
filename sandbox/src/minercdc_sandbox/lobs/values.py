"""Contents of LOBs: persistent trees of chunks in SQLite, where every change makes a new value that shares the unchanged chunks.

    root -- node: up to 128 children, 0 is a hole -- .. -- chunk: up to 8132 bytes

Row versions, undo and redo keep the root of the value they mean, so AS OF, rollback and LogMiner see old contents and a piecewise
write costs the chunks it touches and a path of nodes. Each node belongs to the segment it was written for, by its data object id.
When that segment is dropped or truncated, its nodes go once no readable log has changes of them; a temporary LOB's nodes are its
own and go with it.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from typing import Any, cast

import apsw

from minercdc_sandbox.interfaces import LobKind, OraError
from minercdc_sandbox.lobs.locator import LobValue, Locator, as_cell, invalid_locator, pack, unpack

CHUNK_BYTES = 8132
"""Usable bytes of a chunk in a block of 8 KB; even, so no UTF-16 unit is cut."""
FAN_OUT = 128
MAXIMUM = (1 << 32) - 1
"""Units of a LOB: 4 GB - 1 times the block size in Oracle, less here."""
_LOW_SURROGATES = range(0xDC, 0xE0)
_FILLERS = {LobKind.BLOB: b"\x00", LobKind.CLOB: b"\x00\x20", LobKind.NCLOB: b"\x00\x20"}


class LobStore:
    """All LOB contents of a database. A call raises ORA-22275 for a value whose nodes are not there or were freed. Temporary LOBs
    end with the process.

    :param db: where the chunks are kept, in table `lob_node(id, body, owner)`; `lob_gone(owner, scn)` has the segments that are
        dropped. The owner 0 stands for no table. The caller commits and closes it.
    :param lock: a re-entrant lock, taken around calls that need it; None: one of its own.
    """

    def __init__(self, db: apsw.Connection, lock: AbstractContextManager[Any] | None = None) -> None:
        self._db = db
        self._lock: AbstractContextManager[Any] = lock or threading.RLock()
        db.execute(
            "create table if not exists lob_node(id integer primary key autoincrement, body blob not null, owner integer)"
        )
        db.execute("create index if not exists lob_owner on lob_node(owner) where owner>0")
        db.execute("create table if not exists lob_gone(owner integer primary key, scn integer)")
        self._handles = count(1)
        self._temporary: dict[int, LobValue] = {}

    # ---- making values ----

    def create(self, kind: LobKind, data: str | bytes, owner: int = 0) -> LobValue:
        """A new value with this content, for the segment `owner`. Raises as `write`."""
        return self.write(LobValue(kind), 0, data, owner)

    def write(self, value: LobValue, offset: int, data: str | bytes, owner: int = 0) -> LobValue:
        """A value like `value`, but with `data` at the 0-based unit `offset`; a hole before it reads as blanks or zero bytes. Its
        new nodes are for the segment `owner`; `value` stays. Raises ORA-21560 out of range, ORA-00932 for text in a BLOB."""
        raw = encoded(value.kind, data)
        end = offset + len(raw) // value.unit
        if offset < 0 or end > MAXIMUM:
            raise OraError(21560, "argument is null, invalid, or out of range")
        if not raw:
            return value
        with self._lock:
            value = self._reaching(value, end, owner)
            root = self._written(value.root, value.depth, offset * value.unit, raw, _FILLERS[value.kind], owner)
            return replace(value, length=max(value.length, end), root=root)

    def trim(self, value: LobValue, length: int, owner: int = 0) -> LobValue:
        """A value with the first `length` units of `value`, or all it has; its new nodes are for the segment `owner`."""
        if length >= value.length:
            return value
        if length <= 0:
            return LobValue(value.kind)
        with self._lock:
            return replace(value, length=length, root=self._cut(value.root, value.depth, length * value.unit, owner))

    def append(self, value: LobValue, other: LobValue, owner: int = 0) -> LobValue:
        """A value of `value` followed by the content of `other`, both of the same kind of unit; its new nodes are for the segment
        `owner`. Raises as `write`."""
        for at in range(0, other.length, CHUNK_BYTES):
            value = self.write(value, value.length, self.raw(other, at, CHUNK_BYTES), owner)
        return value

    def copy(self, value: LobValue, kind: LobKind | None = None, owner: int = 0) -> LobValue:
        """The same content in nodes of its own for the segment `owner`, of another kind with the same unit if `kind` is given."""
        return self.append(LobValue(kind or value.kind), value, owner)

    # ---- reading ----

    def raw(self, value: LobValue, offset: int = 0, amount: int | None = None) -> bytes:
        """The stored bytes of `amount` units (None: all) from the 0-based `offset` on, as many as there are; b'' after the end.
        An offset or amount below 0 counts as 0."""
        start = min(max(offset, 0), value.length)
        end = value.length if amount is None else min(start + max(amount, 0), value.length)
        if end <= start:
            return b""
        with self._lock:
            parts = self._parts(value, start * value.unit, end * value.unit)
            return b"".join(parts)

    def read(self, value: LobValue, offset: int = 0, amount: int | None = None) -> str | bytes:
        """The content of `amount` units (None: all) from the 0-based `offset` on, as many as there are: text, where half of a
        surrogate pair at either end comes as a lone surrogate, or, of a BLOB, bytes."""
        return decoded(value.kind, self.raw(value, offset, amount))

    def text(self, value: LobValue) -> str:
        """The whole text of a CLOB or NCLOB."""
        return self.raw(value).decode("utf-16-be", "surrogatepass")

    def low_surrogates(self, value: LobValue, units: int, known: dict[int, int]) -> int:
        """How many of the first `units` of a CLOB or NCLOB are second halves of surrogate pairs.

        :param known: counts of whole nodes, by id, which values share, so that a LOB written piece by piece is counted once; they
            are added here.
        """

        def count_in(node: int, depth: int, size: int) -> int:
            if not node or not size:
                return 0
            whole = size >= _span(depth)
            if whole and node in known:
                return known[node]
            if depth == 0:
                body = self._body(node)[:size:2]
                found = sum(map(body.count, _LOW_SURROGATES))
            else:
                span = _span(depth - 1)
                found = sum(
                    count_in(kid, depth - 1, min(size - at * span, span))
                    for at, kid in enumerate(self._kids(node))
                    if size > at * span
                )
            if whole:
                known[node] = found
            return found

        with self._lock:
            return count_in(value.root, value.depth, min(units, value.length) * value.unit)

    # ---- temporary LOBs ----

    def create_temporary(self, value: LobValue) -> bytes:
        """The locator of a new temporary LOB that takes over `value`, whose nodes no other LOB may have. Its caller frees it by
        `free_temporary`."""
        with self._lock:
            handle = next(self._handles)
            self._temporary[handle] = value
        return pack(value, temporary=handle)

    def replace_temporary(self, handle: int, value: LobValue) -> None:
        """Let a temporary LOB, which must not be freed (KeyError), show another value; nodes that only the old one has are
        freed."""
        with self._lock:
            old = self._temporary[handle]
            self._temporary[handle] = value
            self._free(set(self._ids(old)) - set(self._ids(value)))

    def write_temporary(self, handle: int, offset: int, data: str | bytes) -> LobValue:
        """`write` to a temporary LOB, and free the nodes that are replaced; returns its new value. Raises ORA-22275 when it was freed,
        and as `write`."""
        with self._lock:
            old = self.temporary(handle)
            self._replaced: list[int] | None = []
            try:
                value = self.write(old, offset, data)
                self._free(self._replaced)
            finally:
                self._replaced = None
            self._temporary[handle] = value
            return value

    def temporary(self, handle: int) -> LobValue:
        """The value of a temporary LOB. Raises ORA-22275 when it was freed."""
        found = self._temporary.get(handle)
        if found is None:
            raise invalid_locator()
        return found

    def free_temporary(self, handle: int) -> bool:
        """Free a temporary LOB; False when it was freed before."""
        with self._lock:
            value = self._temporary.pop(handle, None)
            if value is not None:
                self._free(self._ids(value))
            return value is not None

    def value(self, cell: bytes | str | None) -> LobValue:
        """The value that a locator shows. Raises ORA-22275 for what is no locator and for a freed temporary LOB, ORA-22285 for a
        BFILE's."""
        return self.shown(unpack(cell))

    def shown(self, locator: Locator) -> LobValue:
        """The value that a locator shows: of a temporary LOB the one written last. Raises ORA-22275 for a temporary LOB that was
        freed."""
        return self.temporary(locator.temporary) if locator.temporary else locator.value

    def stored(self, cell: bytes | str, kind: LobKind, owner: int = 0) -> bytes:
        """The cell that a row of the segment `owner` keeps in a column of this kind: of a text a new value, of the locator of a
        temporary LOB or of another segment's a copy, else the same value. Raises ORA-00932 between BLOB and text, and as `value`."""
        if isinstance(cell, str):
            return as_cell(self.create(kind, cell, owner))
        locator = unpack(cell)
        value = self.shown(locator)
        if (value.kind is LobKind.BLOB) is not (kind is LobKind.BLOB):
            raise OraError(932, f"inconsistent datatypes: expected {kind} got {value.kind}")
        foreign = locator.temporary or (value.root and self._owner(value.root) != owner)
        return as_cell(self.copy(value, kind, owner) if foreign else replace(value, kind=kind))

    # ---- dropped segments ----

    def discard(self, owner: int, scn: int) -> None:
        """Note that the segment with this data object id was dropped or truncated at an SCN: `free_before` frees its nodes."""
        with self._lock:
            if self._db.execute("select 1 from lob_node where owner=? and owner>0 limit 1", (owner,)).fetchone():
                self._db.execute("insert or replace into lob_gone values(?,?)", (owner, scn))

    def free_before(self, scn: int) -> None:
        """Free the nodes of segments that `discard` noted with a lower SCN; values in them raise ORA-22275 then."""
        with self._lock:
            for (owner,) in self._db.execute("select owner from lob_gone where scn<?", (scn,)).fetchall():
                self._db.execute("delete from lob_node where owner=? and owner>0", (owner,))
                self._db.execute("delete from lob_gone where owner=?", (owner,))

    def move(self, owner: int, to: int) -> None:
        """Give a segment's nodes to the data object id `to`; 0: to no segment, which then keeps them. Call under the lock."""
        self._db.execute("update lob_node set owner=? where owner=? and owner>0", (to, owner))

    # ---- the tree ----

    _replaced: list[int] | None = None

    def _body(self, node: int) -> bytes:
        found = self._db.execute("select body from lob_node where id=?", (node,)).fetchone()
        if found is None:  # a client changed a byte of a locator
            raise invalid_locator()
        return bytes(found[0])

    def _owner(self, node: int) -> int:
        found = self._db.execute("select owner from lob_node where id=?", (node,)).fetchone()
        return int(cast(int, found[0])) if found is not None else 0

    def _new(self, body: bytes, owner: int) -> int:
        self._db.execute("insert into lob_node(body,owner) values(?,?)", (body, owner))
        return self._db.last_insert_rowid()

    def _kids(self, node: int) -> list[int]:
        body = self._body(node)
        if len(body) % 8 or len(body) > FAN_OUT * 8:
            raise invalid_locator()
        return list(struct.unpack(f">{len(body) // 8}Q", body))

    def _reaching(self, value: LobValue, units: int, owner: int) -> LobValue:
        """The value under as many levels of nodes as `units` need; its length stays."""
        root, depth = value.root, value.depth
        while _span(depth) < units * value.unit:
            root = self._new(struct.pack(">Q", root), owner) if root else 0
            depth += 1
        return replace(value, root=root, depth=depth)

    def _written(self, node: int, depth: int, start: int, raw: bytes, filler: bytes, owner: int) -> int:
        """Id of a copy of the subtree below `node` (0: a hole) with `raw` at byte `start`; `filler` pads what was not written
        before it."""
        if self._replaced is not None and node:
            self._replaced.append(node)
        if depth == 0:
            old = self._body(node) if node else b""
            if len(old) < start:
                old += filler * ((start - len(old)) // len(filler))
            return self._new(old[:start] + raw + old[start + len(raw) :], owner)
        span = _span(depth - 1)
        kids = self._kids(node) if node else []
        at = 0
        while at < len(raw):
            turn, inside = divmod(start + at, span)
            piece = raw[at : at + span - inside]
            kids += [0] * (turn + 1 - len(kids))
            kids[turn] = self._written(kids[turn], depth - 1, inside, piece, filler, owner)
            at += len(piece)
        return self._new(struct.pack(f">{len(kids)}Q", *kids), owner)

    def _cut(self, node: int, depth: int, size: int, owner: int) -> int:
        if not node:
            return 0
        if depth == 0:
            return self._new(self._body(node)[:size], owner)
        span = _span(depth - 1)
        kids = self._kids(node)
        whole, rest = divmod(size, span)
        kept = kids[:whole]
        if rest and whole < len(kids):
            kept.append(self._cut(kids[whole], depth - 1, rest, owner))
        return self._new(struct.pack(f">{len(kept)}Q", *kept), owner)

    def _parts(self, value: LobValue, start: int, end: int) -> Iterator[bytes]:
        filler = _FILLERS[value.kind]

        def walk(node: int, depth: int, first: int, last: int) -> Iterator[bytes]:
            if not node:
                yield filler * ((last - first) // len(filler))
            elif depth == 0:
                body = self._body(node)[first:last]
                yield body + filler * ((last - first - len(body)) // len(filler))
            else:
                span, kids = _span(depth - 1), self._kids(node)
                for turn in range(first // span, (last - 1) // span + 1):
                    low, high = max(first - turn * span, 0), min(last - turn * span, span)
                    yield from walk(kids[turn] if turn < len(kids) else 0, depth - 1, low, high)

        return walk(value.root, value.depth, start, end)

    def _ids(self, value: LobValue) -> list[int]:
        """Ids of all nodes of a value, chunks too."""
        found, level = [], [value.root] if value.root else []
        for depth in range(value.depth, -1, -1):
            found += level
            if depth:
                level = [kid for node in level for kid in self._kids(node) if kid]
        return found

    def _free(self, ids: Any) -> None:
        self._db.executemany("delete from lob_node where id=?", [(node,) for node in ids])


def _span(depth: int) -> int:
    """Most bytes that a node with `depth` levels below it can hold; 0 levels: a chunk."""
    return CHUNK_BYTES * int(FAN_OUT**depth)


def encoded(kind: LobKind, data: str | bytes) -> bytes:
    """The stored form of a content; bytes for a CLOB or NCLOB are its UTF-16 already. Raises ORA-00932 for text of a BLOB."""
    if isinstance(data, str):
        if kind is LobKind.BLOB:
            raise OraError(932, f"inconsistent datatypes: expected {kind} got CHAR")
        return data.encode("utf-16-be", "surrogatepass")
    return data


def decoded(kind: LobKind, raw: bytes) -> str | bytes:
    """The content of a stored form: text, or bytes of a BLOB."""
    return raw if kind is LobKind.BLOB else raw.decode("utf-16-be", "surrogatepass")
