"""Writes and recognizes marks in the signal table around a chunk: `incremental.snapshot.watermarking.strategy` insert_insert and
insert_delete.

Their rows are Debezium's. Each mark is a transaction of its own; that the stream comes to it says that it has come past
everything committed before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import oracledb

from minercdc.errors import LogGapError, MiningSessionError, PrerequisiteError, SourceError, TransientSourceError
from minercdc.oracle.codes import code_of, oracle_errors
from minercdc.schema.table import TableId
from minercdc.stream.signal import CLOSE_MARK, OPEN_MARK

# What they say is not of the signal table: it passes, or redo is gone.
_NOT_THE_TABLES = (TransientSourceError, MiningSessionError, LogGapError)
_OPEN, _CLOSE = "-open", "-close"
_FIX = "`minercdc check CONFIG` has what the signal table lacks; incremental.snapshot.watermarking.strategy=scn needs none."


def window_of(mark_id: str, type_: str) -> tuple[str, bool] | None:
    """Id of the window that a row of the signal table is a mark of, and whether the row is the one that opens it (True) or
    closes it (False); None for a row that is no mark. The caller knows whether a row that opens a window is inserted, or
    deleted, which closes it.

    :param mark_id, type_: the row's first and second column.
    """
    if type_ == OPEN_MARK and mark_id.endswith(_OPEN):
        return mark_id.removesuffix(_OPEN), True
    if type_ == CLOSE_MARK and mark_id.endswith(_CLOSE):
        return mark_id.removesuffix(_CLOSE), False
    return None


@dataclass(frozen=True, slots=True)
class Marks:
    """Writes marks; each method commits. It raises PrerequisiteError when a mark cannot be written or deleted, and TransientSourceError or
    MiningSessionError when that may pass.

    :param table: the signal table, with three columns.
    :param close_by: `insert` another row, or `delete` that of the opening.
    """

    table: TableId
    close_by: Literal["insert", "delete"]

    def open(self, connection: oracledb.Connection, window: str, now_ms: int) -> None:
        """Write the window's low mark. May be repeated.

        :param now_ms: milliseconds since the epoch.
        """
        data = json.dumps({"openWindowTimestamp": _iso(now_ms)})
        self._insert(connection, window + _OPEN, OPEN_MARK, data)

    def close(
        self, connection: oracledb.Connection, window: str, opened_ms: int, now_ms: int, *, again: bool = False
    ) -> None:
        """Write the window's high mark. May be repeated when it is not known whether the first attempt was committed.

        :param opened_ms: `now_ms` of `open`.
        :param now_ms: milliseconds since the epoch.
        :param again: an earlier attempt may have been committed.
        """
        if self.close_by == "delete":
            with self._marking("deleting a mark from"), connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {self._name} WHERE ID = :id", {"id": window + _OPEN})
                deleted = cursor.rowcount
                connection.commit()
            if not deleted and not again:
                raise PrerequisiteError(f"deleting a mark from {self.table}: it is not there by its ID", hint=_FIX)
            return
        data = json.dumps({"openWindowTimestamp": _iso(opened_ms), "closeWindowTimestamp": _iso(now_ms)})
        self._insert(connection, window + _CLOSE, CLOSE_MARK, data)

    @contextmanager
    def _marking(self, doing: str) -> Iterator[None]:
        """Within the context, Oracle's refusal is a PrerequisiteError: of the signal table, not of the one that is read."""
        try:
            with oracle_errors(f"{doing} {self.table}"):
                yield
        except SourceError as error:
            if type(error) in _NOT_THE_TABLES:
                raise
            raise PrerequisiteError(error.message, hint=_FIX) from error

    @property
    def _name(self) -> str:
        return f'"{self.table.schema}"."{self.table.table}"'

    def _insert(self, connection: oracledb.Connection, mark: str, type_: str, data: str) -> None:
        with self._marking("writing a mark into"), connection.cursor() as cursor:
            try:
                cursor.execute(f"INSERT INTO {self._name} VALUES (:1, :2, :3)", [mark, type_, data])
            except oracledb.IntegrityError as error:
                if code_of(error) != ("ORA", 1):  # it is there: an attempt whose answer was lost
                    raise
            connection.commit()


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
