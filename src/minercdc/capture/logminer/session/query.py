"""Builds the queries on V$LOGMNR_CONTENTS.

Rows that may not be committed are selected by redo address, not by SCN: `THREAD# = t AND RS_ID >= mark`; without upper bound.
Conditions must be constant over the pieces of a statement (CSF), and must let START, COMMIT and ROLLBACK pass, which have no
owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from minercdc.capture.logminer.position import RedoAddress
from minercdc.capture.logminer.session.row import COLUMNS, LARGE_CODES, PLACEHOLDER_ROW_ID, OpCode

ContainerNames: TypeAlias = str | tuple[str, ...] | int | None
"""SRC_CON_NAME of the rows, or several; SRC_CON_ID where there is no dictionary; None for all rows."""

_CODES: Final = [code for code in OpCode if code != OpCode.INTERNAL]
_PLAIN_CODES: Final = ", ".join(str(int(code)) for code in _CODES if code not in LARGE_CODES)
_ALL_CODES: Final = ", ".join(str(int(code)) for code in _CODES)
# Other rows of code 0, such as those of indexes, have an owner and a table, or no ROW_ID.
_STATEMENT_END: Final = (
    f"(OPERATION_CODE = {int(OpCode.INTERNAL)} AND ROLLBACK = 0 AND SEQUENCE# > 1 AND SEG_OWNER IS NULL"
    f" AND TABLE_NAME IS NULL AND ROW_ID <> '{PLACEHOLDER_ROW_ID}')"
)


def build_query(
    marks: Mapping[int, RedoAddress], container: ContainerNames, excluded_owners: frozenset[str], *, lobs: bool = False
) -> tuple[str, dict[str, str | int]]:
    """SQL and binds for rows in redo order, those of transactions that were rolled back included, and the rows that end a
    statement with LOBs outside the row: they name its ROWID.

    :param marks: per thread, the record to begin at; threads without one are read from the start.
    :param container: of the rows; by its SRC_CON_ID also rows that do not say it.
    :param excluded_owners: schemas whose rows are not wanted; they are dictionary noise, most of redo's rows.
    :param lobs: select the rows that carry large values, too.
    """
    conditions, binds = _wanted(container, excluded_owners, lobs)
    if marks:
        threads = ", ".join(str(thread) for thread in sorted(marks))
        places = [f"THREAD# NOT IN ({threads})", "THREAD# IS NULL", "RS_ID = :nowhere"]
        # Rows without an address (no thread, or all zeros) cannot be placed: they always come, and are recognized afterwards.
        binds["nowhere"] = " 0x000000.00000000.0000 "
        for thread, mark in sorted(marks.items()):
            places.append(f"(THREAD# = {thread} AND RS_ID >= :mark{thread})")
            # RS_ID has a blank on either side; without the trailing one the bound is below the record itself.
            binds[f"mark{thread}"] = f" {mark.rs_id}"
        conditions.append(f"({' OR '.join(places)})")
    return _select(conditions, container), binds


def committed_query(
    from_scn: int, container: ContainerNames, excluded_owners: frozenset[str], *, lobs: bool = False
) -> tuple[str, dict[str, str | int]]:
    """SQL and binds for whole transactions, for a session started with COMMITTED_DATA_ONLY; rows and other parameters as for
    `build_query`.

    :param from_scn: no transaction that is still wanted began before it. DDL, and the START before it, have no COMMIT_SCN.
    """
    conditions, binds = _wanted(container, excluded_owners, lobs)
    conditions.append("(COMMIT_SCN IS NULL OR COMMIT_SCN >= :from_scn)")
    binds["from_scn"] = from_scn
    return _select(conditions, container), binds


def within(container: ContainerNames) -> tuple[list[str], dict[str, str | int]]:
    """Conditions in SQL, one or none, for the rows of these containers; and their binds. [] and {} for None, where all rows
    are of one database."""
    if not container:
        return [], {}
    if isinstance(container, int):
        return ["(SRC_CON_ID = :container OR SRC_CON_ID IS NULL)"], {"container": container}
    if isinstance(container, str):
        return ["SRC_CON_NAME = :container"], {"container": container}
    binds: dict[str, str | int] = {f"container{number}": name for number, name in enumerate(container)}
    return [f"SRC_CON_NAME IN ({', '.join(f':{bind}' for bind in binds)})"], binds


def _wanted(
    container: ContainerNames, excluded_owners: frozenset[str], lobs: bool
) -> tuple[list[str], dict[str, str | int]]:
    """Conditions and binds, also for the rows that end a statement with LOBs outside the row."""
    codes = f"OPERATION_CODE IN ({_ALL_CODES if lobs else _PLAIN_CODES})"
    conditions = [f"({codes} OR {_STATEMENT_END})"]
    those, binds = within(container)
    conditions += those
    if excluded_owners:
        owners = ", ".join(f"'{owner}'" for owner in sorted(excluded_owners))
        conditions.append(f"(SEG_OWNER IS NULL OR SEG_OWNER NOT IN ({owners}))")
    return conditions, binds


def _select(conditions: list[str], container: ContainerNames) -> str:
    """The SELECT of `row.COLUMNS` where all conditions hold; with several containers, SRC_CON_NAME is the last column, which
    says of which a row is (`containers.Containers`)."""
    columns = (*COLUMNS, "SRC_CON_NAME") if isinstance(container, tuple) else COLUMNS
    return f"SELECT {', '.join(columns)} FROM V$LOGMNR_CONTENTS WHERE {' AND '.join(conditions)}"
