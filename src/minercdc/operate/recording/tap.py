"""Wraps connections so that what the database answers is noted; the connector works on them as on the driver's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Self, TypeAlias, cast

import oracledb

from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.errors import MinerCdcError
from minercdc.operate.recording import faults, values
from minercdc.operate.recording.file import RecordingWriter
from minercdc.operate.recording.replacement import MinedText, Replacement
from minercdc.schema.table import TableId

MINED = "V$LOGMNR_CONTENTS"
"""What the text of a statement that reads redo has in it."""
ROOT: Final = "root"
"""The place that a connection leads to: `root` here; else `pdb`, or where several pluggable databases are captured, the name
of one."""
IsWanted: TypeAlias = Callable[[TableId, int], bool]
"""Name and DATA_OBJ# of a row of redo -> whether its table may be a captured one. The database is '' where only one is
captured."""
_OWNER, _TABLE, _OBJECT = (LogMinerRow._fields.index(name) for name in ("owner", "table", "object_id"))
_SQL, _CODE = LogMinerRow._fields.index("sql"), LogMinerRow._fields.index("code")
_CONTAINER = len(LogMinerRow._fields)  # SRC_CON_NAME follows, where several pluggable databases are mined
_ALL_COLUMNS = "SELECT * "  # begins a statement whose columns differ between releases of Oracle
_OF_ROWS = " AS OF SCN "  # in a statement that reads rows of a captured table


class Tap:
    """Notes connections, statements and clock of one session in a file. Several threads may execute statements, but one at a
    time; any may fetch meanwhile.

    :param writer: of the file; not ended here.
    :param replacement: of the values of rows; None: they are noted as they are.
    :param is_wanted: rows of redo of other tables, but for DDL, are noted without statements: the capture does not read these.
    :param mined: called with the number of rows of redo whenever some came.
    """

    def __init__(
        self,
        writer: RecordingWriter,
        replacement: Replacement | None,
        is_wanted: IsWanted,
        mined: Callable[[int], None],
    ) -> None:
        self._writer, self._replacement, self._mined = writer, replacement, mined
        self._is_wanted = is_wanted
        self._calls = 0

    def connect(self, to: str, make: Callable[[], oracledb.Connection]) -> oracledb.Connection:
        """A connection on which everything is noted, around the one that `make` opens; closing it closes that. Raises what
        `make` raises; a MinerCdcError is noted.

        :param to: where it leads: `root`, `pdb`, or the name of one of several pluggable databases.
        """
        try:
            made = make()
        except MinerCdcError as error:
            self._writer.write({"kind": "connect", "to": to, "error": faults.connecting_to_json(error)})
            raise
        self._writer.write({"kind": "connect", "to": to})
        return cast(oracledb.Connection, TappedConnection(made, to, self))

    def monotonic(self, clock: Callable[[], float]) -> float:
        """The seconds that `clock` says, which are noted."""
        now = clock()
        self._writer.write({"kind": "clock", "seconds": repr(now)})
        return now

    def called(self, to: str, sql: str, binds: Mapping[str, Any]) -> Answer:
        """Note a statement that is about to be executed.

        :param to: as of `connect`.
        :returns: what notes the statement's rows and end, to be called as they come.
        :raises ConfigError: a bind variable cannot be recorded.
        """
        self._calls += 1
        # Keys of rows are within variables; such statements are known by their text and order.
        known = None if any(isinstance(one, oracledb.Var) for one in binds.values()) else binds
        noted = None if known is None else {name: values.to_json(one) for name, one in known.items()}
        self._writer.write({"kind": "call", "call": self._calls, "on": to, "sql": sql, "binds": noted})
        if MINED in sql:
            text = MinedText(self._replacement) if self._replacement else None
            return Answer(self._writer, self._calls, lambda rows: self._redo(rows, text), self._mined)
        replacement = self._replacement
        if replacement is not None and _OF_ROWS in sql:
            return Answer(self._writer, self._calls, lambda rows: [replacement.row(row) for row in rows])
        return Answer(self._writer, self._calls)

    def _redo(self, rows: Sequence[Sequence[Any]], text: MinedText | None) -> Sequence[Sequence[Any]]:
        """Rows of V$LOGMNR_CONTENTS as they are noted: without statement where that is not wanted, with values replaced by
        `text`, which may hold pieces of a statement back for the next call."""
        noted = [row if self._has_text(row) else (*row[:_SQL], None, *row[_SQL + 1 :]) for row in rows]
        return noted if text is None else list(text.whole(noted))

    def _has_text(self, row: Sequence[Any]) -> bool:
        """Whether a row of redo is noted with its statement. DDL of any table is: it may make the table a captured one, by a new
        name."""
        owner, table = row[_OWNER], row[_TABLE]
        if owner is None or row[_CODE] == OpCode.DDL:
            return True
        database = str(row[_CONTAINER]) if len(row) > _CONTAINER else ""
        return self._is_wanted(TableId(database, owner, table or ""), row[_OBJECT] or 0)


class Answer:
    """Notes what one statement gives: `gave` for each batch of rows, then `ended` or `failed`.

    :param call: number of the statement in the recording.
    :param noted: makes of rows what is noted of them now; it may hold some back for the next call.
    :param mined: called with the number of rows of each batch.
    """

    def __init__(
        self,
        writer: RecordingWriter,
        call: int,
        noted: Callable[[Sequence[Sequence[Any]]], Sequence[Sequence[Any]]] = lambda rows: rows,
        mined: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._writer, self._call, self._noted, self._mined = writer, call, noted, mined

    def gave(self, rows: Sequence[Sequence[Any]]) -> None:
        """Note rows that were fetched, perhaps none. Raises ConfigError for a value that cannot be recorded."""
        if found := self._noted(rows):
            noted = [[values.to_json(value) for value in row] for row in found]
            self._writer.write({"kind": "rows", "call": self._call, "rows": cast(Any, noted)})
        self._mined(len(rows))

    def named(self, columns: Sequence[str]) -> None:
        """Note the names of the columns, of a statement whose text does not say them."""
        self._writer.write({"kind": "columns", "call": self._call, "names": list(columns)})

    def ended(self) -> None:
        """Note that there are no more rows."""
        self._writer.write({"kind": "end of rows", "call": self._call})

    def failed(self, error: BaseException, healthy: bool) -> None:
        """Note that the statement, or a fetch of it, failed.

        :param healthy: the connection can still be used.
        """
        self._writer.write({"kind": "error", "call": self._call, "error": faults.to_json(error), "healthy": healthy})


class TappedConnection:
    """As oracledb.Connection, as far as a capture needs it: the driver's own connection `real`, on which statements and rows
    are noted. `Tap.connect` makes it."""

    def __init__(self, real: oracledb.Connection, to: str, tap: Tap) -> None:
        self._real, self._to, self._tap = real, to, tap

    @property
    def call_timeout(self) -> int:
        """As of the driver's connection: milliseconds that a call may take, 0 for no limit."""
        return self._real.call_timeout

    @call_timeout.setter
    def call_timeout(self, milliseconds: int) -> None:
        self._real.call_timeout = milliseconds

    def cursor(self) -> TappedCursor:
        """A new cursor whose statements and rows are noted."""
        return TappedCursor(self._real, self._to, self._tap)

    def fetch_df_batches(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Always raises oracledb.NotSupportedError, when it is iterated over: rows are noted one by one."""
        raise oracledb.NotSupportedError("rows are noted one by one")
        yield

    def is_healthy(self) -> bool:
        """Whether the driver's connection can be used."""
        return self._real.is_healthy()

    def cancel(self) -> None:
        """Break the call that another thread waits in. Raises the driver's error."""
        self._real.cancel()

    def close(self) -> None:
        """Close the driver's connection, which is not noted. Raises the driver's error."""
        self._real.close()


class TappedCursor:
    """As oracledb.Cursor, as far as a capture needs it: a cursor of the driver, whose attributes it has, with statements and
    rows noted."""

    def __init__(self, connection: oracledb.Connection, to: str, tap: Tap) -> None:
        self._connection, self._real, self._to, self._tap = connection, connection.cursor(), to, tap
        self._answer: Answer | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._real, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._real.close()

    def execute(self, sql: str, binds: Mapping[str, Any] | None = None) -> Self:
        """Note a statement and execute it; returns this cursor. Raises the driver's error, which is noted, too, and
        ConfigError as `Tap.called`."""
        self._answer = self._tap.called(self._to, sql, binds or {})
        self._noted(lambda: self._real.execute(sql, binds or {}))
        if sql.startswith(_ALL_COLUMNS):
            self._answer.named([column[0] for column in self._real.description or ()])
        return self

    def fetchone(self) -> Any:
        """The next row, None at the end; either is noted. Raises as `Answer.gave`, and the driver's error, which is noted,
        too."""
        row = self._noted(self._real.fetchone)
        self._gave([] if row is None else [row], ended=row is None)
        return row

    def fetchmany(self, size: int | None = None) -> Any:
        """The next rows, `size` at most, else `arraysize`; [] at the end. Noted, and raises, as `fetchone`."""
        rows = self._noted(lambda: self._real.fetchmany() if size is None else self._real.fetchmany(size))
        self._gave(rows, ended=not rows)
        return rows

    def fetchall(self) -> Any:
        """All rows that are left. Noted, and raises, as `fetchone`."""
        rows = self._noted(self._real.fetchall)
        self._gave(rows, ended=True)
        return rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())

    def _gave(self, rows: Sequence[Any], *, ended: bool) -> None:
        assert self._answer is not None
        self._answer.gave(rows)
        if ended:
            self._answer.ended()

    def _noted(self, call: Callable[[], Any]) -> Any:
        assert self._answer is not None
        try:
            return call()
        except (oracledb.Error, OSError, UnicodeDecodeError) as error:
            self._answer.failed(error, self._connection.is_healthy())
            raise
