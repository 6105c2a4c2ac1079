"""ORA_ROWSCN, and VERSIONS BETWEEN with its pseudo-columns.

A version has its SCNs itself (`s` and `e`, storage/store.py); its transaction is found by the commit SCN, and by the version where
several share that SCN. A DELETE makes no version: its row in the result has the values that were deleted (Database Development
Guide, "Using Oracle Flashback Version Query").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.types import NUMBER, TIMESTAMP, Family, SqlType, varchar
from minercdc_sandbox.storage.rowid import ROWS_PER_BLOCK
from minercdc_sandbox.storage.store import LIVE, VERSION_BITS, VERSION_MASK, every_version, history, segment
from minercdc_sandbox.storage.transactions import TENTATIVE
from minercdc_sandbox.tables import Table

Parameter: TypeAlias = Callable[[str], str]

_BLOCK_BITS = VERSION_BITS + ROWS_PER_BLOCK.bit_length() - 1


def row_scn(table: Table, alias: str, snapshot: str) -> Typed:
    """ORA_ROWSCN of a row version of the relation `alias`: of the row in a table with ROWDEPENDENCIES, else the newest of its
    block up to `snapshot`, SQL of an SCN.

    With ROWDEPENDENCIES it is NULL for a row that the own transaction has changed.
    """
    names = (segment(table), history(table)) if table.has_history else (segment(table),)
    if table.row_dependencies:
        found = [
            f"(select case when b.s<{TENTATIVE} then o_int(b.s) end from {name} b where b.vid={alias}.vid)" for name in names
        ]
        sql = found[0] if len(found) == 1 else f"coalesce({','.join(found)})"
    else:
        block = f"b.vid>=(({alias}.vid>>{_BLOCK_BITS})<<{_BLOCK_BITS}) and b.vid<((({alias}.vid>>{_BLOCK_BITS})+1)<<{_BLOCK_BITS})"
        newest = f"max(case when b.e<={snapshot} then b.e else b.s end)"
        found = [f"(select {newest} from {name} b where {block} and b.s<={snapshot})" for name in names]
        several = f"nullif(max({','.join(f'ifnull({one},0)' for one in found)}),0)"
        sql = f"o_int({found[0] if len(found) == 1 else several})"
    return Typed(sql, NUMBER)


def version_rows(table: Table, low: str, high: str, part: str = "") -> str:
    """SQL of the committed versions between two SCNs (SQL of them), ends included, and of the DELETEs after the first, up to the
    second, as a relation without a name.

    Its columns are the version id, the table's, `vs` and `ve`, the SCNs of begin and end or NULL outside the range, and `vo`, the
    operation I, U or D. `part`: a further condition, which begins with AND, on the versions `v`.
    """
    name = every_version(table, "".join(f",c{c.slot}" for c in table.columns))
    columns = "".join(f",v.c{c.slot}" for c in table.columns)
    places = (segment(table), history(table)) if table.has_history else (segment(table),)
    followed = "".join(f" and not exists (select 1 from {n} n where n.vid=v.vid+1 and n.s=v.e)" for n in places)
    begun = f"case when v.s>={low} then v.s end"
    first = f"case when v.s>={low} then case when v.vid&{VERSION_MASK} then 'U' else 'I' end end"
    versions = (
        f"select v.vid{columns},{begun} as vs,case when v.e<={high} then v.e end as ve,{first} as vo"
        f" from {name} v where v.s<={high} and v.s<{TENTATIVE} and v.e>{low}{part}"
    )
    deleted = (
        f"select v.vid{columns},v.e,null,'D' from {name} v where v.e>{low} and v.e<={high} and v.e<{LIVE}{followed}{part}"
    )
    return f"({versions} union all {deleted})"


def version_columns(table: Table, alias: str) -> dict[str, Typed]:
    """The pseudo-columns of VERSIONS BETWEEN over `version_rows`, by name; NULL where `vs` or `ve`, on which they depend, is."""
    return {
        "VERSIONS_STARTSCN": Typed(f"o_int({alias}.vs)", NUMBER),
        "VERSIONS_ENDSCN": Typed(f"o_int({alias}.ve)", NUMBER),
        "VERSIONS_STARTTIME": Typed(f"o_scn_time(o_int({alias}.vs))", TIMESTAMP),
        "VERSIONS_ENDTIME": Typed(f"o_scn_time(o_int({alias}.ve))", TIMESTAMP),
        "VERSIONS_XID": Typed(_xid(table, alias), SqlType(Family.RAW, size=8)),
        "VERSIONS_OPERATION": Typed(f"{alias}.vo", varchar(1)),
    }


def _xid(table: Table, alias: str) -> str:
    shared = f"select xid from shared_commits where segment='{segment(table)}' and scn={alias}.vs and {alias}.vid between first and last"
    return f"coalesce((select xid from commits where scn={alias}.vs),({shared}))"
