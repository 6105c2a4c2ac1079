"""A cursor that a client executes again by its number after DDL has changed the columns: its query is described again, and the
rows come as that client takes them then. The drivers differ where there are LOBs:

    python-oracledb   defines LOBs that it finds in the new description; in the place of a text or RAW they come as LONG or LONG RAW
    go-ora            defines nothing again: all LOBs come with their content
    ojdbc             defines nothing again: as it did before, else the locator alone; it has no room for a LOB in a column that
                      was not there, so that is ORA-01007, as of any define without its column
"""

from __future__ import annotations

from collections.abc import Sequence

from minercdc_sandbox.interfaces import ColumnDescription, OraError, OraType
from minercdc_sandbox.wire.binds import PREFETCH_LOBS, Oac
from minercdc_sandbox.wire.lob_values import LOB_TYPES
from minercdc_sandbox.wire.negotiation import Negotiated

_WHOLE = 0x7FFFFFFF
_LONG_INSTEAD = {
    OraType.CLOB: (OraType.LONG, OraType.VARCHAR2, OraType.CHAR),
    OraType.XMLTYPE: (OraType.LONG, OraType.VARCHAR2, OraType.CHAR),
    OraType.BLOB: (OraType.LONG_RAW, OraType.RAW),
}


def defines_again(
    before: Sequence[ColumnDescription],
    defined: Sequence[Oac] | None,
    columns: Sequence[ColumnDescription],
    agreed: Negotiated,
) -> list[Oac] | None:
    """Defines for the rows of `columns`, one each; None when the client will send its own. Raises ORA-01007, see the module.

    :param defined: the client's defines of the columns `before`; None or empty when it had none.
    :param agreed: by which the drivers are known.
    """
    known = list(defined or [_plain(column) for column in before])
    found = [
        _lob(column, known[at] if at < len(known) else None, agreed) if column.type in LOB_TYPES else _plain(column)
        for at, column in enumerate(columns)
    ]
    return None if None in found else [define for define in found if define is not None]


def _plain(column: ColumnDescription) -> Oac:
    return Oac(int(column.type), 0, 0, 2 if column.national else 1, 0)


def _lob(column: ColumnDescription, known: Oac | None, agreed: Negotiated) -> Oac | None:
    if not agreed.wide_scale:  # python-oracledb
        longs = _LONG_INSTEAD.get(column.type, ())
        return _plain(column)._replace(kind=int(longs[0])) if known is not None and known.kind in longs else None
    if known is not None and known.kind in LOB_TYPES:
        return known
    if agreed.prefixed_text:  # go-ora
        return _plain(column)._replace(max_chars=_WHOLE, cont_flags=PREFETCH_LOBS)
    if known is None:
        raise OraError(1007, "variable not in select list")
    return _plain(column)
