"""The messages of OpenLogReplicator, in one form for all of its formats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from minercdc.oracle.xid import of_number, packed

_XID_HEX: Final = re.compile(r"0x([0-9a-fA-F]{1,4})\.([0-9a-fA-F]{1,4})\.([0-9a-fA-F]{1,8})", re.ASCII)
_XID_DECIMAL: Final = re.compile(r"(\d{1,5})\.(\d{1,5})\.(\d{1,10})", re.ASCII)
_XID_PLAIN: Final = re.compile(r"[0-9a-fA-F]{16}", re.ASCII)
_ISO: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?", re.ASCII)


class Number(str):
    """Text of a number, as the server spelled it; of an integer in protobuf, its decimal digits."""

    __slots__ = ()


class Binary(Number):
    """Text of a number that came as IEEE float or double: the shortest spelling that stands for the same binary value."""

    __slots__ = ()


class Single(Binary):
    """Text of a number that came as IEEE float, of 24 binary digits."""

    __slots__ = ()


class Absent:
    """Type of ABSENT: a value that is named in a protobuf message, without content."""

    __slots__ = ()


ABSENT: Final = Absent()
Value: TypeAlias = str | bytes | Absent | None
"""A column's value: text, a Number, bytes, ABSENT, or None for NULL."""


class Place(NamedTuple):
    """Where a message is in the server's stream: `c_scn` and `c_idx`."""

    scn: int
    idx: int


@dataclass(slots=True)
class Operation:
    """One operation of a message.

    :param op: `begin`, `commit`, `c`, `u`, `d`, `ddl` or `chkpt`.
    :param object_id: 0 when not given.
    :param columns: names that the message's schema lists; None when it lists none.
    :param number: `num`, the operation's number in its transaction; None when not given.
    :param owner, table, row_id, before, after: None when not given; `before` and `after` have values by the names of columns.
    :param sql: text of a `ddl`; '' when not given.
    """

    op: str
    owner: str | None = None
    table: str | None = None
    object_id: int = 0
    columns: frozenset[str] | None = None
    number: int | None = None
    row_id: str | None = None
    before: Mapping[str, Value] | None = None
    after: Mapping[str, Value] | None = None
    sql: str = ""


@dataclass(slots=True)
class Message:
    """One message. SCNs and times are None where it does not have them; times are microseconds since the epoch in UTC.

    :param place: where it is in the server's stream.
    :param begin_scn, begin_us: of the transaction's begin; `commit_scn` and `commit_us` of its commit.
    :param xid: 16 lower-case hex digits, None when not given.
    :param user: who made the change, None when not given.
    :param thread: number of the redo thread, 0 when not given.
    """

    place: Place
    operations: Sequence[Operation]
    scn: int | None = None
    begin_scn: int | None = None
    commit_scn: int | None = None
    time_us: int | None = None
    begin_us: int | None = None
    commit_us: int | None = None
    xid: str | None = None
    user: str | None = None
    thread: int = 0

    @property
    def is_checkpoint(self) -> bool:
        """Whether it holds nothing but checkpoints; True for a message without operations, too."""
        return all(operation.op == "chkpt" for operation in self.operations)


def xid_of(text: str) -> str:
    """XID as LogMiner prints it (RAW, little-endian parts), as 16 lower-case hex digits. `text` is `0xUUUU.SSS.NNNNNNNN` with hex
    parts, the same with decimal parts and no `0x`, or 16 hex digits, which are those of the XID already.

    :raises ValueError: the text has none of these forms.
    """
    if _XID_PLAIN.fullmatch(text):
        return text.lower()
    for pattern, base in ((_XID_HEX, 16), (_XID_DECIMAL, 10)):
        if match := pattern.fullmatch(text):
            undo, slot, sequence = (int(part, base) for part in match.groups())
            return packed(undo, slot, sequence).hex()
    raise ValueError(f"{text[:60]!r} is not an XID")


def xid_of_number(number: int) -> str:
    """XID as `xid_of` gives it, from its number: 16 bits of the undo segment, 16 of the slot, 32 of the sequence, from the
    highest bits down. Raises ValueError for a negative number, and beyond 64 bits."""
    return of_number(number).hex()


def time_of(text: str) -> int:
    """Microseconds since the epoch of a message's time: a date and time of UTC in ISO 8601, or seconds, milliseconds,
    microseconds or nanoseconds since 1970; what is smaller than a microsecond is cut off. Which unit it is shows in the size
    of the number, for the years 1973 to 5138.

    :raises ValueError: the text is neither.
    """
    if text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 25:
        number = int(text)
        for limit, factor in ((10**11, 1_000_000), (10**14, 1_000), (10**17, 1)):
            if abs(number) < limit:
                return number * factor
        return number // 1_000
    match = _ISO.fullmatch(text)
    if not match:
        raise ValueError(f"{text[:60]!r} is not a time")
    moment = datetime.fromisoformat(f"{match[1]} {match[2]}").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000 + int((match[3] or "").ljust(9, "0")[:6])
