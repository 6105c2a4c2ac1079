"""Reads the changes of one table's rows in a window [start, end).

    versions        VERSIONS BETWEEN SCN start - 1 AND end, those that began in the window: I, U and D, one for each transaction and row
    images before   of rows whose first version in the window is no insert: AS OF SCN start - 1, by ROWID

Of a new table, the versions from SCN MINVALUE on are read, and no images before. A query of versions scans the table: no index
leads to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import oracledb

from minercdc.capture.flashback.version import KeyColumns, Version, places_of_keys
from minercdc.errors import SnapshotTooOldError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.fetching.rows import LARGE_COLUMNS, RowConverter, exact_values, selected_columns
from minercdc.schema.table import TableSchema
from minercdc.stream.events import Row

_ROWIDS = 500
_LARGE_ROWS = 100
_PSEUDO = (
    "VERSIONS_STARTSCN",
    "RAWTOHEX(VERSIONS_XID)",
    "VERSIONS_OPERATION",
    "TO_CHAR(VERSIONS_STARTTIME, 'YYYY-MM-DD HH24:MI:SS')",
)
_NO_XID = "0" * 16


@dataclass(frozen=True, slots=True)
class Window:
    """The commit SCNs that are read at once, for all tables.

    :param start: first SCN.
    :param end: first SCN after it; in the past, so that no later commit can come in.
    :param zone_us: how far the database host's time is ahead of UTC, microseconds.
    """

    start: int
    end: int
    zone_us: int


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a table.

    :param versions: that began in the window, in order of ROWID, then of SCN; [] for a table that is read incrementally.
    :param older: rows of a new table are older than the window, so that these versions are not all of it.
    :param rows: (ROWID, Row) of a table that is read incrementally, else ().
    """

    versions: list[Version]
    older: bool = False
    rows: Sequence[tuple[str, Row]] = ()


class VersionReader:
    """Reads one table in one shape, by a connection that each call is given.

    :param fetch_size: rows of one fetch; with `lobs` 100 at most for a table with large values.
    :param lobs: read large values; else they are UNAVAILABLE.
    :param last: only the last version of each row, none if it came and went; but all where a key or the ROWID's row changed.
    :param record_key: of the table's records, which may be another key than the table's.
    """

    def __init__(
        self,
        schema: TableSchema,
        fetch_size: int,
        *,
        lobs: bool,
        last: bool,
        record_key: KeyColumns = lambda schema: schema.key,
    ) -> None:
        self._schema = schema
        self._key = frozenset(place for key in places_of_keys(schema, record_key) for place in key) if last else frozenset()
        large = lobs and any(column.type_name in LARGE_COLUMNS for column in schema.columns)
        self._fetch_size = min(fetch_size, _LARGE_ROWS) if large else fetch_size
        self._lobs = lobs
        self._last = last
        self._table = f'"{schema.id.schema}"."{schema.id.table}"'
        self._convert = RowConverter(schema, lobs=lobs)

    def read(self, connection: oracledb.Connection, window: Window) -> Found:
        """The versions that began in the window, each with the row before it; by ROWID, those of a row in the order of their
        commits.

        :raises SnapshotTooOldError: undo does not reach back to the window's start, or DDL lies between.
        :raises SourceError, PrerequisiteError: Oracle's other errors, as `codes.classify` makes them.
        :raises ValueDecodeError: a value does not fit its column's type.
        """
        between = f"SCN {window.start - 1} AND {window.end}"
        where = f" WHERE VERSIONS_STARTSCN >= {window.start} AND VERSIONS_STARTSCN < {window.end}"
        rows = defaultdict[str, list[Version]](list)
        for version in self._fetched(connection, between, where, window):
            rows[version.row_id].append(version)
        for versions in rows.values():
            versions.sort(key=lambda version: (version.scn, version.xid))
        changed = [row_id for row_id, versions in rows.items() if versions[0].op != "I"]
        before = self._as_of(connection, window.start - 1, sorted(changed))
        return Found([version for row_id in sorted(rows) for version in self._linked(rows[row_id], before.get(row_id))])

    def read_new(self, connection: oracledb.Connection, window: Window) -> Found:
        """The versions, in the window, of a table that was not known before: its first version of each row has to be an
        insert. Where that is not so, or rows are older than the window, `Found.older` is set. Errors as of `read`."""
        rows, older = defaultdict[str, list[Version]](list), False
        for version in self._fetched(connection, f"SCN MINVALUE AND {window.end}", "", window):
            if version.scn < window.start:
                older = True
            elif version.scn < window.end:
                rows[version.row_id].append(version)
        for versions in rows.values():
            versions.sort(key=lambda version: (version.scn, version.xid))
            older |= versions[0].op != "I"
        return Found([version for row_id in sorted(rows) for version in self._linked(rows[row_id], None)], older)

    def _fetched(self, connection: oracledb.Connection, between: str, where: str, window: Window) -> Iterator[Version]:
        """Versions in the order that Oracle gives them, without the row before; one that began before the lower bound
        has SCN 0.

        :param between: the bounds of VERSIONS BETWEEN; `where` is a WHERE clause, or ''.
        """
        columns = ", ".join([*_PSEUDO, selected_columns(self._schema, "ROWID", self._lobs)])
        sql = f"SELECT {columns} FROM {self._table} VERSIONS BETWEEN {between}{where}"
        for batch in self._batches(connection, sql, f"reading the versions of {self._schema.id} between {between}", {}):
            times: dict[str | None, int] = {}
            rows = self._convert([row[len(_PSEUDO) :] for row in batch])
            for (scn, xid, op, time, *_), (row_id, row) in zip(batch, rows, strict=True):
                if time not in times:
                    times[time] = _microseconds(time) - window.zone_us if time else 0
                yield Version(
                    self._schema,
                    int(scn or 0),
                    (xid or _NO_XID).lower(),
                    op or "",
                    row_id,
                    None,
                    None if op == "D" else row,
                    times[time],
                )

    def _as_of(self, connection: oracledb.Connection, scn: int, row_ids: Sequence[str]) -> dict[str, Row]:
        found: dict[str, Row] = {}
        columns = selected_columns(self._schema, "ROWID", self._lobs)
        for at in range(0, len(row_ids), _ROWIDS):
            some = row_ids[at : at + _ROWIDS]
            binds = {f"r{n}": row_id for n, row_id in enumerate(some)}
            listed = ", ".join(f":{name}" for name in binds)
            sql = f"SELECT {columns} FROM {self._table} AS OF SCN {scn} WHERE ROWID IN ({listed})"
            for batch in self._batches(connection, sql, f"reading rows of {self._schema.id} as of SCN {scn}", binds):
                found.update(self._convert(batch))
        return found

    def read_as_of(self, connection: oracledb.Connection, scn: int, where: str) -> list[tuple[str, Row]]:
        """(ROWID, Row) of the rows that meet the condition `where` as of `scn`, in order of ROWID. Errors as of `read`."""
        columns = selected_columns(self._schema, "ROWID", self._lobs)
        sql = f"SELECT {columns} FROM {self._table} AS OF SCN {scn} WHERE {where} ORDER BY ROWID"
        doing = f"reading rows of {self._schema.id} as of SCN {scn}"
        return [row for batch in self._batches(connection, sql, doing, {}) for row in self._convert(batch)]

    def _batches(
        self, connection: oracledb.Connection, sql: str, doing: str, binds: dict[str, str]
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        with oracle_errors(doing), connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = self._fetch_size
            cursor.outputtypehandler = exact_values
            cursor.execute(sql, binds)
            yield from iter(cursor.fetchmany, [])

    def _linked(self, versions: list[Version], before: Row | None) -> Iterator[Version]:
        """Versions of one row, each with `before` set to the row as the version before it left it. With `last`, they are
        merged into one or none (`_merged`), unless a key changed or an insert came later than first.

        :param versions: in order of SCN; they are changed.
        :param before: the row before the first, None when it was not there.
        """
        each = list(self._each_linked(versions, before))
        merges = self._last and not any(map(self._changes_key, each)) and all(version.op != "I" for version in each[1:])
        return iter(_merged(each) if merges else each)

    def _each_linked(self, versions: list[Version], before: Row | None) -> Iterator[Version]:
        for version in versions:
            if version.op == "I":
                before = None
            elif before is None:
                raise SnapshotTooOldError(
                    f"{self._schema.id}: the row {version.row_id} has a version {version.op} at SCN {version.scn}, and no earlier version"
                )
            version.before = before
            yield version
            before = version.after

    def _changes_key(self, version: Version) -> bool:
        """Whether a version is an update that changes a key. All versions of such a row are kept: between them other rows may
        have its keys."""
        before, after = version.before, version.after
        return before is not None and after is not None and any(before[place] != after[place] for place in self._key)


def _merged(versions: list[Version]) -> list[Version]:
    """The last version of a row alone, changed so that it leads from the row before the first version to its own; [] when the
    row came and went."""
    before, last = versions[0].before, versions[-1]
    if last.after is None and before is None:
        return []
    last.op, last.before = ("D" if last.after is None else "I" if before is None else "U"), before
    return [last]


def _microseconds(time: str) -> int:
    moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000
