"""The query of Databus for Oracle: rows whose transaction was committed after an SCN, of all transactions or of a chunk of them.

    coalesce -> since < SCN <= until        SCN: of the log's row, which stays once it is written

ORA_ROWSCN of a row may differ between two queries, so it is never read here: the poll has the log coalesced first. What was
committed before the present SCN was read is coalesced then; any other transaction has a higher SCN, and waits for the next poll.
A chunk ends at an SCN, not at a number of rows: transactions that share the SCN of its last one belong to it. So the next chunk,
which begins after that SCN, leaves none out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import oracledb

from minercdc.capture.txlog.names import COLUMN, CORE, INFINITY, LOG, SOURCES, quoted, view_of
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.fetching.rows import LARGE_COLUMNS, RowConverter, exact_values, selected_columns
from minercdc.oracle.scn import one_row
from minercdc.schema.table import TableSchema
from minercdc.stream.events import Row

_LARGE_ROWS = 100
_EPOCH = datetime(1970, 1, 1)
_FACTS = ('TO_CHAR("SY$SCN")', 'TO_CHAR("SY$TXN")', '"SY$TS"')


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row as it is at the poll, under the last transaction that changed it.

    :param scn, txn: commit SCN and TXN of that transaction.
    :param noted_us: when it was noted in the log, by the clock of the database host: microseconds since 1970 by that clock.
    """

    scn: int
    txn: int
    noted_us: int
    row: Row


class LogReader:
    """Reads the changed rows of the tables of one schema. It keeps no connection. Its queries of one poll belong in one read-only
    transaction, after `coalesce`.

    :param owner: the schema.
    :param fetch_size: rows of one fetch; with `lobs` 100 at most for a table with large values.
    :param lobs: read large values; else they are UNAVAILABLE.
    """

    def __init__(self, owner: str, fetch_size: int, *, lobs: bool) -> None:
        self._owner = quoted(owner)
        self._log = f"{self._owner}.{quoted(LOG)}"
        self._core = f"{self._owner}.{CORE}"
        self._fetch_size, self._lobs = fetch_size, lobs

    def coalesce(self, connection: oracledb.Connection) -> None:
        """Have commit SCNs of the transactions that ended written into the log, as the job does. Commits. Raises as
        `codes.classify`."""
        with oracle_errors("coalescing the log of transactions"), connection.cursor() as cursor:
            cursor.execute(f"BEGIN {self._core}.coalesce_log; END;")

    def chunk_end(self, connection: oracledb.Connection, since: int, until: int, rows: int) -> int | None:
        """Commit SCN of the last of the next `rows` transactions in the log after `since` and up to `until`; None when there
        are not more than `rows`. Raises as `codes.classify`."""
        numbered = f"SELECT TX.SCN, ROW_NUMBER() OVER (ORDER BY TX.SCN) R FROM {self._log} TX WHERE TX.SCN > :since AND TX.SCN <= :until"
        sql = f"SELECT TO_CHAR(MAX(CASE WHEN R <= :most THEN SCN END)), COUNT(*) FROM ({numbered}) WHERE R <= :most + 1"
        last, count = one_row(connection, sql, "counting transactions", since=since, until=until, most=rows)
        return int(last) if int(count) > rows else None

    def newest(self, connection: oracledb.Connection) -> int:
        """The highest commit SCN in the log, 0 for none. The database has come to it. Raises as `codes.classify`."""
        sql = f"SELECT TO_CHAR(MAX(TX.SCN)) FROM {self._log} TX WHERE TX.SCN < {INFINITY}"
        return int(one_row(connection, sql, "reading the newest SCN of the log")[0] or 0)

    def bits(self, connection: oracledb.Connection) -> dict[str, int]:
        """The bit of each source in SY$SOURCES, by the table's name. Raises as `codes.classify`."""
        with oracle_errors(f"reading {SOURCES}"), connection.cursor() as cursor:
            rows = cursor.execute(f"SELECT NAME, BITNUM FROM {self._owner}.{quoted(SOURCES)}")
            return {name: int(bit) for name, bit in rows}

    def read(self, connection: oracledb.Connection, schema: TableSchema, since: int, until: int) -> list[ChangedRow]:
        """The rows of one table whose last change was committed after `since` and at or before `until`, in order of SCN, TXN
        and key. Raises as `codes.classify`, and ValueDecodeError for a value that does not fit its column's type."""
        columns = ", ".join([*_FACTS, selected_columns(schema, "NULL", self._lobs)])
        key = "".join(f", {quoted(schema.columns[place].name)}" for place in schema.key)
        sql = f'SELECT {columns} FROM ({self._query(schema)}) ORDER BY "SY$SCN", "SY$TXN"{key}'
        binds = {"since": since, "until": until}
        convert = RowConverter(schema, lobs=self._lobs)
        found: list[ChangedRow] = []
        for batch in self._batches(connection, sql, f"reading the changed rows of {schema.id}", binds, schema):
            for (scn, txn, noted, *_), (_, row) in zip(batch, convert([one[len(_FACTS) :] for one in batch]), strict=True):
                found.append(ChangedRow(int(scn), int(txn), microseconds(noted), row))
        return found

    def _query(self, schema: TableSchema) -> str:
        return (
            f'SELECT /*+ first_rows LEADING(TX) */ TX.SCN "SY$SCN", TX.TXN "SY$TXN", TX.TS "SY$TS", SRC.*'
            f" FROM {self._owner}.{quoted(view_of(schema.id.table))} SRC, {self._log} TX"
            f" WHERE SRC.{COLUMN} = TX.TXN AND TX.SCN > :since AND TX.SCN <= :until"
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
    """Microseconds from the beginning of 1970 to `moment`, both by the same clock; `moment` has no zone."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
