"""The two queries of Databus for Oracle: rows whose transaction was committed after an SCN, of all transactions or of a chunk of them.

    since < SCN <= until        SCN: of the log's row once it is coalesced, before that its ORA_ROWSCN

A chunk ends at an SCN, not at a number of rows: transactions that share the SCN of its last one belong to it. So the next chunk, which
begins after that SCN, leaves none out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import oracledb

from minercdc.capture.txlog.names import COLUMN, CORE, LOG, SOURCES, quoted, view_of
from minercdc.events import Row
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.rows import LARGE_COLUMNS, RowConverter, exact_values, selected_columns
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableSchema

_LARGE_ROWS = 100
_EPOCH = datetime(1970, 1, 1)
_FACTS = ('TO_CHAR("SY$SCN")', 'TO_CHAR("SY$TXN")', '"SY$TS"')


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row as it is now, under the last transaction that changed it.

    :param noted_us: when that transaction was noted in the log, microseconds since the epoch by the clock of the database host.
    """

    scn: int
    txn: int
    noted_us: int
    row: Row


class LogReader:
    """Reads the tables of one schema.

    :param owner: the schema.
    :param lobs: read large values; else they are UNAVAILABLE.
    """

    def __init__(self, owner: str, fetch_size: int, *, lobs: bool) -> None:
        self._owner = quoted(owner)
        self._log = f"{self._owner}.{quoted(LOG)}"
        self._scn = f"{self._owner}.{CORE}.getScn(TX.SCN, TX.ORA_ROWSCN)"
        self._fetch_size, self._lobs = fetch_size, lobs

    def chunk_end(self, connection: oracledb.Connection, since: int, rows: int) -> int | None:
        """SCN of the last of the next `rows` transactions, None when no more than these wait."""
        numbered = (
            f"SELECT {self._scn} SCN, ROW_NUMBER() OVER (ORDER BY {self._scn}) R FROM {self._log} TX"
            " WHERE TX.SCN > :since AND TX.ORA_ROWSCN > :since"
        )
        sql = f"SELECT TO_CHAR(MAX(CASE WHEN R <= :most THEN SCN END)), COUNT(*) FROM ({numbered}) WHERE R <= :most + 1"
        last, count = one_row(connection, sql, "counting transactions", since=since, most=rows)
        return int(last) if int(count) > rows else None

    def bits(self, connection: oracledb.Connection) -> dict[str, int]:
        """The bit of each source, by its name."""
        with oracle_errors(f"reading {SOURCES}"), connection.cursor() as cursor:
            rows = cursor.execute(f"SELECT NAME, BITNUM FROM {self._owner}.{quoted(SOURCES)}")
            return {name: int(bit) for name, bit in rows}

    def read(self, connection: oracledb.Connection, schema: TableSchema, since: int, until: int | None) -> list[ChangedRow]:
        """The rows of one table, in order of SCN, TXN and key. Raises as `codes.classify`."""
        columns = ", ".join([*_FACTS, selected_columns(schema, "NULL", self._lobs)])
        key = "".join(f", {quoted(schema.columns[place].name)}" for place in schema.key)
        sql = f'SELECT {columns} FROM ({self._query(schema, until)}) ORDER BY "SY$SCN", "SY$TXN"{key}'
        binds: dict[str, int] = {"since": since} | ({} if until is None else {"until": until})
        convert = RowConverter(schema, lobs=self._lobs)
        found: list[ChangedRow] = []
        for batch in self._batches(connection, sql, f"reading the changed rows of {schema.id}", binds, schema):
            for (scn, txn, noted, *_), (_, row) in zip(batch, convert([one[len(_FACTS) :] for one in batch]), strict=True):
                found.append(ChangedRow(int(scn), int(txn), microseconds(noted), row))
        return found

    def _query(self, schema: TableSchema, until: int | None) -> str:
        ends = "" if until is None else f" AND {self._scn} <= :until"
        return (
            f'SELECT /*+ first_rows LEADING(TX) */ {self._scn} "SY$SCN", TX.TXN "SY$TXN", TX.TS "SY$TS", SRC.*'
            f" FROM {self._owner}.{quoted(view_of(schema.id.table))} SRC, {self._log} TX"
            f" WHERE SRC.{COLUMN} = TX.TXN AND TX.SCN > :since AND TX.ORA_ROWSCN > :since{ends}"
        )

    def _batches(
        self, connection: oracledb.Connection, sql: str, doing: str, binds: dict[str, int], schema: TableSchema
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        large = self._lobs and any(column.type_name in LARGE_COLUMNS for column in schema.columns)
        with oracle_errors(doing), connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = min(self._fetch_size, _LARGE_ROWS) if large else self._fetch_size
            cursor.outputtypehandler = exact_values
            cursor.execute(sql, binds)
            yield from iter(cursor.fetchmany, [])


def microseconds(moment: datetime) -> int:
    """Of a time without zone, since the epoch in that zone."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
