"""Function 119: a table described by its name, which ojdbc calls before it returns generated keys by column name.

    call   u8, ub n, u8, u8, u8, ub 14, name of n bytes
    reply  08, ub2 0, RECORD(table), status

    RECORD  24 fields, each 00 when it is not there: 1st HEADER, 4th LIST, 5th TABLE, 11th COLUMN
    HEADER  01 01, u8, u8 kind (1 table), 5 more fields
    TABLE   01 01, 3 fields, 01 01 u8 RECORD(list of its columns), ub2 n, 18 more fields, since field version 24 two more
    LIST    01 01, u8, u8, ub2 n, u8, n RECORDs of a column each
    COLUMN  01 01, u8, ub2 size, ub2 type, dalc name, u8 precision, sb scale, u8 nullable, 14 fields, since 24 seven more

The order was found by trying what ojdbc11 23.26 reads of either profile; what the empty fields mean is not known, nor how
they are in field versions between (ORA-03001).
"""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import ColumnDescription, OraError, OraType
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.conversation import Conversation
from minercdc_sandbox.wire.negotiation import Ttc
from minercdc_sandbox.wire.packets import ProtocolError
from minercdc_sandbox.wire.primitives import dalc, sb, ub
from minercdc_sandbox.wire.rows import sent_size

_LIST, _TABLE, _COLUMN = 3, 4, 10
"""Places in a record."""
_KIND_TABLE = 1
_LONGEST_NAME = 1024
_OLD, _NEW = 16, 24
"""Field versions whose fields are known: up to the one, and from the other on."""
_THERE = b"\1\1"
_LARGEST_SIZE = 0xFFFF


def describe_object(talk: Conversation) -> None:
    """Function 119: read the call and answer it with the columns of the table or view. Raises ORA-00942 and ORA-04043 as a query
    on the object would, ORA-03001 for a field version whose fields are not known, ProtocolError for a name that is too long, and
    as `TtcReader`."""
    r = talk.reader
    r.u8()
    size = r.ub()
    r.raw(3)
    r.ub()
    if size > _LONGEST_NAME:
        raise ProtocolError(f"a name of {size} bytes to describe")
    columns = talk.session.describe(f"select * from {talk.text(size)}") or ()
    version = talk.agreed.field_version
    if _OLD < version < _NEW:
        raise OraError(3001, f"unimplemented feature: description of a table by name in field version {version}")
    body = _table(columns, version >= _NEW)
    talk.finish(talk.reply(), bytes((Ttc.PARAMETER, 0)), body, replies.error(talk.call_end()))


def _record(at: int, content: bytes, header: bytes = b"\0") -> bytes:
    return header + bytes(at - 1) + content + bytes(23 - at)


def _table(columns: Sequence[ColumnDescription], is_new: bool) -> bytes:
    entries = b"".join(_record(_COLUMN, _column(column, is_new)) for column in columns)
    listed = _record(_LIST, _THERE + b"\0\0" + ub(len(columns)) + b"\0" + entries)
    content = _THERE + bytes(3) + _THERE + b"\0" + listed + ub(len(columns)) + bytes(20 if is_new else 18)
    return _record(_TABLE, content, _THERE + bytes((0, _KIND_TABLE)) + bytes(5))


def _column(column: ColumnDescription, is_new: bool) -> bytes:
    kind = OraType.CLOB if column.type is OraType.XMLTYPE else column.type
    return b"".join(
        (
            _THERE + b"\0",
            ub(min(sent_size(column), _LARGEST_SIZE)) + ub(kind) + dalc(column.name.encode()),
            bytes((column.precision & 0xFF,)) + sb(column.scale) + bytes((column.nullable,)),
            bytes(21 if is_new else 14),
        )
    )
