"""Runs the cases in the database, one after the other, and notes what their tables hold after each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Final

import oracledb

from minercdc.config.load import ConnectorConfig
from minercdc.errors import MinerCdcError, SourceError
from minercdc.operate.qualify.case import LOGGED, Case, Statement, Step, Who, named
from minercdc.operate.qualify.comparison import Seen, SeenStep, TableRow
from minercdc.operate.qualify.place import Place
from minercdc.operate.qualify.table_rows import TableRows
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect
from minercdc.stream.contracts import StopFlag

_DDL = re.compile(r"\s*(?:CREATE|ALTER|DROP|TRUNCATE|RENAME)\b", re.IGNORECASE)
_LARGE: Final = {"CLOB": oracledb.DB_TYPE_CLOB, "NCLOB": oracledb.DB_TYPE_NCLOB, "BLOB": oracledb.DB_TYPE_BLOB}

# What says that a database does not have something: a case that meets it is not offered, and not failed.
_NOT_OFFERED: Final[Mapping[int, str]] = {
    406: "COMPATIBLE is too low",
    439: "the option is not there",
    902: "the type is not there",
    910: "the length is not allowed",
    1031: "not granted",
    3001: "not implemented",
    12754: "the feature is switched off",
    43853: "the tablespace does not allow it",
    65040: "not allowed within a pluggable database",
}


class StoppedError(Exception):
    """The run was stopped between two statements; nothing failed."""


@dataclass(slots=True)
class CaseRun:
    """A case that was run, or begun.

    :ivar not_offered: why the database does not offer it, '' when it does.
    :ivar failure: the statement that failed, and how; '' for none.
    """

    number: int
    family: str
    case: Case
    seen: Seen = field(default_factory=Seen)
    not_offered: str = ""
    failure: str = ""

    @property
    def counts(self) -> bool:
        """Whether its events can be judged."""
        return not self.not_offered and not self.failure


class History:
    """The sessions of a run. Closing it closes them.

    :param capture: the configuration that captures the tables.
    :param log_switching: opens a session that may switch logs, in the root.
    :param stop: looked at between statements.
    """

    def __init__(
        self, place: Place, capture: ConnectorConfig, log_switching: Callable[[], oracledb.Connection], stop: StopFlag
    ) -> None:
        self._place, self._stop, self._log_switching = place, stop, log_switching
        self._sessions: dict[Who, oracledb.Connection] = {}
        self._closing = ExitStack()
        self._rows = TableRows(capture, place.schema, self._closing.enter_context(closing(connect(capture.database))))

    def close(self) -> None:
        """Close all sessions; what is open in them is rolled back."""
        self._closing.close()

    def prepare(self, run: CaseRun) -> None:
        """Make the tables of a case, and the rows of before the capture. What goes wrong is noted in the run."""
        case, names = run.case, self._place.names(run.number)
        logged = [LOGGED.replace("{t}", table) for table in case.logged]
        self._attempted(run, Step([*case.create, *logged], ends="commit"), names)
        if run.counts and case.rows:
            self._attempted(run, Step(case.rows), names)
        if run.counts:
            with _noted(run):
                self._grant(names)
                run.seen.rows = self._read(run, names, afresh=True)
        if not run.counts:
            self._roll_back()

    def run(self, run: CaseRun) -> None:
        """Run the steps of a case, up to one that fails; what goes wrong is noted in the run."""
        names = self._place.names(run.number)
        for step in run.case.steps:
            self._attempted(run, step, names)
            if run.counts:
                self._look(run, step, names)
            if not run.counts:
                self._roll_back()
                return

    def _look(self, run: CaseRun, step: Step, names: Mapping[str, str]) -> None:
        """Note what the tables hold after a step."""
        is_ddl = any(isinstance(one, str) and _DDL.match(one) for one in step.statements)
        with _noted(run):
            if is_ddl and step.who != "admin":
                self._grant(names)
            rows = None if step.ends == "open" else self._read(run, names, afresh=is_ddl)
            run.seen.steps.append(SeenStep(tuple(step.events), rows, step.clears))

    def _read(self, run: CaseRun, names: Mapping[str, str], *, afresh: bool) -> Mapping[str, TableRow]:
        tables = self._tables(names)
        found = self._rows.of(tables, afresh=afresh)
        run.seen.large |= self._rows.large(tables)
        return found

    def _roll_back(self) -> None:
        for session in self._sessions.values():
            session.rollback()

    def mark_end(self, table: str) -> None:
        """Commit the row that comes after all others. Raises SourceError."""
        session = self._session("owner")
        with oracle_errors("marking the end"), session.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} VALUES (1)")
            session.commit()

    def make_end(self, table: str) -> None:
        """Make the table of `mark_end`. Raises SourceError or PrerequisiteError."""
        with oracle_errors("making a table"), self._session("owner").cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} (ID NUMBER(9) PRIMARY KEY)")
            cursor.execute(LOGGED.replace("{t}", table))
            cursor.execute(f"GRANT SELECT, FLASHBACK ON {table} TO {self._place.capture_user}")

    def _attempted(self, run: CaseRun, step: Step, names: Mapping[str, str]) -> None:
        with _noted(run):
            session = self._session(step.who)
            with session.cursor() as cursor:
                for statement in step.statements:
                    if self._stop.is_set():
                        raise StoppedError
                    self._execute(cursor, statement, names)
            if step.ends != "open":
                (session.commit if step.ends == "commit" else session.rollback)()

    @staticmethod
    def _execute(cursor: oracledb.Cursor, statement: Statement, names: Mapping[str, str]) -> None:
        sql, binds, kind = named(statement, dict(names))
        if kind:
            cursor.setinputsizes(v=_LARGE[kind])
        cursor.execute(sql, binds)

    def _session(self, who: Who) -> oracledb.Connection:
        if who not in self._sessions:
            made = self._log_switching() if who == "admin" else connect(self._place.owner)
            self._sessions[who] = self._closing.enter_context(closing(made))
        return self._sessions[who]

    def _tables(self, names: Mapping[str, str]) -> list[str]:
        with self._session("owner").cursor() as cursor:
            cursor.execute("SELECT TABLE_NAME FROM USER_TABLES WHERE TABLE_NAME IN (:t, :u)", dict(names))
            return sorted(name for (name,) in cursor.fetchall())

    def _grant(self, names: Mapping[str, str]) -> None:
        """Let the capture's user read the tables that are there; one that was dropped and made again anew."""
        for table in self._tables(names):
            with self._session("owner").cursor() as cursor:
                cursor.execute(f"GRANT SELECT, FLASHBACK ON {table} TO {self._place.capture_user}")


@contextmanager
def _noted(run: CaseRun) -> Iterator[None]:
    """A context whose errors of the database are noted in the run: that it does not offer the case, or that a statement failed."""
    try:
        with oracle_errors():
            yield
    except MinerCdcError as error:
        code = error.ora_code if isinstance(error, SourceError) else 0
        code = code or int(found[1] if (found := re.search(r"ORA-(\d{5})", error.message)) else 0)
        if code in _NOT_OFFERED:
            run.not_offered = f"ORA-{code:05d}, {_NOT_OFFERED[code]}"
        else:
            first_line = error.message.partition("\n")[0]
            run.failure = f"a statement failed: {first_line}"
