"""The protocol of FORS Oracle Logical Replicator 1.2 as the server speaks it, field by field. Nothing of it is the product's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

TABLE_LIST, START_SCN, LAST_COMMITED_SCN, BACK_TO_SCN, LOG_OFF, GET_STATUS, GET_SAVED_SCN = range(1, 8)
OK, NO_MORE, ERROR, DATA, STATUS, SAVED_SCN = range(1, 7)
INSERT, DELETE, UPDATE = 4, 5, 6
Order = Literal["little", "big"]


@dataclass(frozen=True)
class Cell:
    """A column of a row; a value that comes in pieces is not in it."""

    name: str
    type: int
    value: bytes | None
    precision: int | None = None
    scale: int | None = None
    charset: int | None = None
    form: int | None = None
    chunked: bool = False


@dataclass(frozen=True)
class Writer:
    """Makes numbers of so many bits.

    :param order: of their bytes.
    """

    order: Order = "little"

    def u(self, bits: int, number: int) -> bytes:
        return number.to_bytes(bits // 8, self.order)

    def i64(self, number: int | None) -> bytes:
        return (-(2**63) if number is None else number).to_bytes(8, self.order, signed=True)

    def frame(self, code: int, body: bytes = b"") -> bytes:
        """A whole message: its size counts what follows it."""
        return self.u(32, len(body) + 2) + self.u(16, code) + body

    def error(self, code: int, text: str) -> bytes:
        return self.frame(ERROR, self.u(32, code) + text.encode())

    def status(self, status: int) -> bytes:
        return self.frame(STATUS, self.u(16, status))

    def saved(self, scn: int | None) -> bytes:
        return self.frame(SAVED_SCN, self.u(16, int(scn is not None)) + self.u(64, scn or 0))

    def head(self, operation: int, scn: int, commit_scn: int, xid: int, time: int) -> bytes:
        return self.u(8, operation) + self.u(64, scn) + self.u(64, commit_scn) + self.u(64, xid) + self.u(32, time)

    def begin(self, scn: int, commit_scn: int, xid: int, time: int, serial: int = 7, session: int = 70_000) -> bytes:
        return self.head(1, scn, commit_scn, xid, time) + self.u(16, serial) + self.u(32, session)

    def commit(self, scn: int, commit_scn: int, xid: int, time: int) -> bytes:
        return self.head(2, scn, commit_scn, xid, time)

    def row(
        self,
        head: bytes,
        object_id: int,
        names: tuple[bytes, bytes, bytes],
        images: Sequence[Sequence[Cell]],
    ) -> bytes:
        """An Insert, Delete or Update, by `head`. `names`: schema, table, ROWID. An Update has two images."""
        sizes = b"".join(self.u(8, len(name)) for name in names)
        return head + self.u(32, object_id) + sizes + b"".join(names) + b"".join(map(self.columns, images))

    def columns(self, cells: Sequence[Cell]) -> bytes:
        return self.u(16, len(cells)) + b"".join(map(self.cell, cells))

    def cell(self, cell: Cell) -> bytes:
        name, value = cell.name.encode(), cell.value or b""
        return b"".join(
            (
                self.u(8, len(name)),
                self.u(64, len(value)),
                self.u(16, cell.type),
                self.i64(cell.precision),
                self.i64(cell.scale),
                self.u(64, 2**64 - 1 if cell.charset is None else cell.charset),
                self.u(8, 255 if cell.form is None else cell.form),
                self.u(8, int(cell.chunked)),
                name,
                value,
            )
        )

    def chunk(self, head: bytes, column: str, type_: int, flags: int, data: bytes) -> bytes:
        name = column.encode()
        return head + self.u(8, len(name)) + name + self.u(16, type_) + self.u(16, flags) + self.u(64, len(data)) + data


@dataclass
class Requests:
    """Commands out of the bytes that come.

    :ivar violations: a command that was sent before the one before it had its answer.
    """

    order: Order
    violations: int = 0
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> tuple[int, bytes] | None:
        """Code and body of the command, once it is whole."""
        self._buffer += data
        size = int.from_bytes(self._buffer[:4], self.order)
        if len(self._buffer) < 4 or len(self._buffer) < 4 + size:
            return None
        frame = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        self.violations += bool(self._buffer)
        return int.from_bytes(frame[:2], self.order), frame[2:]
