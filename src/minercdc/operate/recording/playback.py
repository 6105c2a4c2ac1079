"""Provides connections that answer from a recording, in place of the database.

A statement is answered by the same text: of those of the pass that the stream is in, the next one; when all are used, the last
answer is given again: a replay may ask more often than the recording did. A pass begins where the clock of the database's host is
read. Statements of a PDB go by their binds, too, and in no order: they come when a row needs them. Redo is given in the order of
the recording, whatever the statement's text is: so a recording can be replayed by a release that reads in another way.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self, cast

import oracledb

from minercdc.errors import ConfigError
from minercdc.operate.recording import faults, values
from minercdc.operate.recording.file import lines_of
from minercdc.operate.recording.tap import MINED, ROOT
from minercdc.oracle.scn import HOST_CLOCK


class RecordingEnd(BaseException):
    """The stream has come to the end of the recording. No Exception: nothing may take it for a fault of the database and go
    on."""


@dataclass(slots=True)
class _Call:
    """A recorded statement.

    :param group: number of the pass, from 1; 0 before the first.
    :param rows: byte and length in the spool of each line with rows of it.
    :param has_ended: its last row is in the recording, and no error came.
    :param error: that it ended with, as `faults.to_json` has it; None for none.
    :param healthy: whether the connection could be used after it.
    :param columns: their names, where the statement's text does not say them.
    """

    group: int
    rows: list[tuple[int, int]] = field(default_factory=list)
    has_ended: bool = False
    error: dict[str, Any] | None = None
    healthy: bool = True
    columns: tuple[str, ...] = ()

    def finish(self) -> None:
        """To be called when all its rows are taken: raises the error that it ended with, or RecordingEnd where the recording
        ended within it; else nothing."""
        if self.error is not None:
            raise faults.from_json(self.error)
        if not self.has_ended:
            raise RecordingEnd


class Player:
    """A recording, and how far it is played. The constructor reads the whole file, into a temporary file; the owner calls
    `close`. For one thread, except `rows_of`.

    :ivar head: document of its first line.
    :ivar end: document of its last line.
    :raises ConfigError, OSError: see `file.lines_of`; ConfigError also for lines of another form.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spool = TemporaryFile()  # noqa: SIM115 closed with this object
        self._calls: dict[tuple[str, str], list[_Call]] = defaultdict(list)
        self._used: dict[tuple[str, str], int] = defaultdict(int)
        self._connects: dict[str, list[dict[str, Any] | None]] = defaultdict(list)
        self._clocks: list[float] = []
        self._group = 0
        try:
            lines = lines_of(path, self._spool)
            self.head, _, _ = next(lines)
            self.end = self._load(lines)
            self._spool.flush()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the temporary file of its lines; safe to call twice. Rows cannot be taken after it."""
        self._spool.close()

    def _load(self, lines: Iterator[tuple[dict[str, Any], int, int]]) -> dict[str, Any]:
        group, by_number = 0, dict[int, _Call]()
        end: dict[str, Any] = {}
        try:
            for line, at, length in lines:
                match line["kind"]:
                    case "call":
                        group += HOST_CLOCK in line["sql"]
                        call = by_number[line["call"]] = _Call(group)
                        self._calls[_key(line["on"], line["sql"], line["binds"])].append(call)
                    case "rows":
                        by_number[line["call"]].rows.append((at, length))
                    case "columns":
                        by_number[line["call"]].columns = tuple(map(str, line["names"]))
                    case "end of rows":
                        by_number[line["call"]].has_ended = True
                    case "error":
                        call = by_number[line["call"]]
                        call.error, call.healthy = line["error"], line["healthy"]
                    case "connect":
                        self._connects[line["to"]].append(line.get("error"))
                    case "clock":
                        self._clocks.append(float(line["seconds"]))
                    case "end":
                        end = line
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError([f"{self._path} is not a recording that can be replayed: {error!r}"]) from None
        self._clocks.reverse()
        for faults_met in self._connects.values():
            faults_met.reverse()
        return end

    def monotonic(self) -> float:
        """The next value that the monotonic clock had in the recording, in seconds. Raises RecordingEnd when there is none
        any more."""
        if not self._clocks:
            raise RecordingEnd
        return self._clocks.pop()

    def connect(self, to: str) -> oracledb.Connection:
        """A PlayedConnection. Raises the MinerCdcError that the next recorded attempt to connect there had; attempts beyond
        the recorded ones succeed.

        :param to: as of `tap.ROOT`.
        """
        waiting = self._connects[to]
        if waiting and (error := waiting.pop()) is not None:
            raise faults.connecting_from_json(error)
        return cast(oracledb.Connection, PlayedConnection(self, to))

    def call(self, to: str, sql: str, binds: Mapping[str, Any]) -> _Call:
        """The recorded call that answers a statement, which may be one that was given before. A block of PL/SQL that was
        never recorded is answered by a call without rows.

        :param to: as of `connect`.
        :raises RecordingEnd: no call of this statement, or of this pass, is left.
        :raises ConfigError: this statement was never recorded.
        """
        key = _key(to, sql, _noted(binds))
        found, used = self._calls.get(key, []), self._used[key]
        if HOST_CLOCK in sql:
            self._group += 1
        elif to == ROOT:
            while used < len(found) and found[used].group < self._group:
                used += 1
        if not found:
            if sql.startswith("BEGIN"):
                return _Call(self._group, has_ended=True)
            made = self.head.get("minercdc")
            raise ConfigError(
                [f"{self._path} does not hold the answer to: {sql}"],
                hint=f"It was recorded by minercdc {made}; it does not contain additional queries of this release.",
            )
        if used < len(found) and (to != ROOT or found[used].group == self._group):
            self._used[key] = used + 1
            return found[used]
        before = found[used - 1] if used else None
        if before is not None and (to != ROOT or before.group == self._group):
            return before
        raise RecordingEnd

    def rows_of(self, call: _Call) -> Iterator[tuple[Any, ...]]:
        """The rows of a call, in order; any thread may take them, until `close`."""
        for at, length in call.rows:
            for row in json.loads(os.pread(self._spool.fileno(), length, at))["rows"]:
                yield tuple(values.from_json(value) for value in row)


def _key(to: str, sql: str, binds: Mapping[str, Any] | None) -> tuple[str, str]:
    if MINED in sql:
        return to, MINED
    return to, sql if to == ROOT or binds is None else sql + json.dumps(binds, sort_keys=True)


def _noted(binds: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if any(isinstance(one, _Variable) for one in binds.values()):
        return None
    return {name: values.to_json(one) for name, one in binds.items()}


class _Variable:
    """As oracledb.Var, of a bind whose value nothing reads: what is set is dropped."""

    def setvalue(self, *_: object) -> None:
        pass


class PlayedConnection:
    """As oracledb.Connection, as far as a capture needs it; its statements are answered by `player`.

    :param to: where it leads to, see `tap.ROOT`.
    """

    def __init__(self, player: Player, to: str) -> None:
        self.player, self.to = player, to
        self.call_timeout, self.healthy = 0, True

    def cursor(self) -> PlayedCursor:
        """A new cursor that answers from the recording."""
        return PlayedCursor(self)

    def fetch_df_batches(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Always raises oracledb.NotSupportedError, when it is iterated over: a recording has rows, not columns."""
        raise oracledb.NotSupportedError("a recording has rows")
        yield

    def is_healthy(self) -> bool:
        """Whether the recorded connection could be used after the statement that was executed last."""
        return self.healthy

    def cancel(self) -> None:
        """No effect: no statement takes time."""

    def close(self) -> None:
        """No effect: the recording stays open, and the connection can be used."""


class PlayedCursor:
    """As oracledb.Cursor, as far as a capture needs it; its statements are answered from the recording."""

    def __init__(self, connection: PlayedConnection) -> None:
        self._connection = connection
        self._rows: Iterator[tuple[Any, ...]] = iter(())
        self._call = _Call(0, has_ended=True)
        self.arraysize = self.prefetchrows = 100
        self.outputtypehandler: Callable[..., Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def var(self, *_: Any, **__: Any) -> _Variable:
        """A variable that takes values and keeps none."""
        return _Variable()

    @property
    def description(self) -> list[tuple[str]]:
        """As of oracledb.Cursor, with the names of columns only; [] where the text of the statement says them."""
        return [(name,) for name in self._call.columns]

    def execute(self, sql: str, binds: Mapping[str, Any] | None = None) -> Self:
        """Take the recorded answer to a statement; returns the cursor. Raises as `Player.call`, and the error that the
        statement had before its first row."""
        player, connection = self._connection.player, self._connection
        self._call = call = player.call(connection.to, sql, binds or {})
        connection.healthy = call.healthy
        if call.error is not None and not call.rows:
            raise faults.from_json(call.error)
        self._rows = player.rows_of(call)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, None at the end. Raises as `fetchmany`."""
        row = next(self._rows, None)
        if row is None:
            self._call.finish()
        return row

    def fetchmany(self, size: int | None = None) -> Sequence[tuple[Any, ...]]:
        """The next rows, [] at the end. As with the driver, rows that were fetched before an error come first. Raises as
        `_Call.finish`."""
        found = list(islice(self._rows, size or self.arraysize))
        if not found:
            self._call.finish()
        return found

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        """All rows that are left. Raises as `fetchmany`, also where there are rows before the error."""
        found = list(self._rows)
        self._call.finish()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetchall())
