"""Drives one LogMiner session: a list of logs, a range, a query. Its state is kept by the database session that opened it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

import oracledb

from minercdc import native
from minercdc.capture.adapter import Secondary
from minercdc.capture.logminer.logs.redo_logs import LogFile, MinedElsewhere
from minercdc.capture.logminer.session.row import COLUMNS
from minercdc.errors import MinerCdcError, MiningSessionError, PrerequisiteError
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import close_unless_lost
from minercdc.oracle.scn import ROOT, container_id

_log = logging.getLogger(__name__)

_ADD = "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :name, OPTIONS => {option}); END;"
# No ENDSCN, ever: a transaction's rows may still be written after it with lower SCNs; and of a transaction whose COMMIT
# lies after it, COMMITTED_DATA_ONLY shows nothing.
_START = (
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :scn, OPTIONS => {dictionary}"
    "DBMS_LOGMNR.NO_ROWID_IN_STMT + DBMS_LOGMNR.NO_SQL_DELIMITER{more}); END;"
)
_ONLINE = "DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG"
_IN_REDO = "DBMS_LOGMNR.DICT_FROM_REDO_LOGS + DBMS_LOGMNR.DDL_DICT_TRACKING"
_END = "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;"


# Types of columns can be requested since 3.4 of the driver.
_GIVES_COLUMNS: Final = tuple(int(part) for part in oracledb.__version__.split(".")[:2]) >= (3, 4)


class MiningSession:
    """Mines on a connection that it owns from then on, and closes. Oracle's errors are raised as `codes.classify` makes them.
    First `use_logs`, then `start`, then `rows`; for one thread, but `cancel` may be called by another.

    Within a PDB (Oracle 19.10 and later) no logs are added, which is ORA-65040 there: Oracle finds those of the range by
    itself, up to the newest, and shows the rows of that PDB only (docs/reference/logminer-facts.md#b-1-1).

    :param fetch_size: rows per fetch.
    :param dictionary_in_redo: LogMiner uses the dictionary in the listed logs, and follows DDL; otherwise the database's own.
    :param native_rows: fetch the rows of `row.COLUMNS` as the native path reads them, where the driver can.
    :param primary: connection to the database that writes the redo, when `connection` is to another one; it is closed, too.
    :param downstream: `connection` is then to a downstream database; else to a physical standby, where LogMiner has no
        dictionary.
    :ivar within_pdb: Oracle chooses the logs.
    :ivar primary: to the database that writes the redo: the session's own, or the given one.
    :ivar mined: says how the session's own `connection` mines when it is to another database; else None.
    :raises PrerequisiteError: `dictionary_in_redo` or `downstream`, and the connection is within a PDB.
    """

    def __init__(
        self,
        connection: oracledb.Connection,
        fetch_size: int,
        *,
        dictionary_in_redo: bool = False,
        native_rows: bool = False,
        primary: oracledb.Connection | None = None,
        downstream: bool = False,
    ) -> None:
        has_dictionary = primary is None or downstream
        self._native_rows = native_rows and _GIVES_COLUMNS and has_dictionary
        self.connection = connection
        self.primary = primary or connection
        self.mined = MinedElsewhere(connection, downstream) if primary is not None else None
        self.within_pdb = container_id(connection) > ROOT
        if self.within_pdb and downstream:
            raise PrerequisiteError(
                "secondary.*: LogMiner must run in the root of the downstream database, but this is a pluggable database",
                hint="Set secondary.dbname to the service of its root.",
            )
        if self.within_pdb and dictionary_in_redo:
            raise PrerequisiteError(
                "log.mining.strategy=redo_log_catalog: within a PDB, LogMiner uses the online catalog only",
                hint="Leave log.mining.strategy out, or mine in the root: database.pdb.name, and a common user.",
            )
        self._options = f"{_IN_REDO if dictionary_in_redo else _ONLINE} + " if has_dictionary else ""
        self._fetch_size = fetch_size
        self._listed: tuple[LogFile, ...] = ()
        self._reading = False

    def use_logs(self, logs: Sequence[LogFile]) -> bool:
        """Make these the session's logs; False when they are so already. After a True, `start` has to be called.

        Names alone are not enough: an online log's file is used again for a later sequence, and LogMiner remembers what it
        read in the file's header when it was added.
        """
        if tuple(logs) == self._listed:
            return False
        with oracle_errors("adding logs to the LogMiner session"), self.connection.cursor() as cursor:
            if self._listed:
                cursor.execute(_END)
            self._listed = ()
            for i, log in enumerate(() if self.within_pdb else logs):
                # NEW drops whatever an earlier list held.
                option = "DBMS_LOGMNR.ADDFILE" if i else "DBMS_LOGMNR.NEW"
                cursor.execute(_ADD.format(option=option), {"name": log.name})
        self._listed = tuple(logs)
        return True

    def start(self, scn: int, *, committed: bool = False) -> None:
        """Begin to mine at `scn`, without an end; replaces an earlier range.

        :param committed: whole committed transactions only.
        """
        more = " + DBMS_LOGMNR.COMMITTED_DATA_ONLY" if committed else ""
        with oracle_errors(f"starting LogMiner at SCN {scn}"), self.connection.cursor() as cursor:
            cursor.execute(_START.format(dictionary=self._options, more=more), {"scn": scn})

    def rows(self, sql: str, binds: Mapping[str, Any]) -> Iterator[Sequence[tuple[Any, ...]]]:
        """Batches of the rows that a query on V$LOGMNR_CONTENTS finds, to the end of the logs; none is empty. A text that is
        no UTF-8 is a MiningSessionError. One query at a time."""
        if self._native_rows:
            yield from self._columns(sql, binds)
            return
        with oracle_errors("reading V$LOGMNR_CONTENTS"), self.connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = self._fetch_size
            self._reading = True
            try:
                cursor.execute(sql, dict(binds))
                while batch := _fetched(cursor):
                    yield batch
            finally:
                self._reading = False

    def _columns(self, sql: str, binds: Mapping[str, Any]) -> Iterator[Sequence[tuple[Any, ...]]]:
        """As `rows`, by the native path, without an object for each value; where the driver cannot do that, by `rows` from
        then on."""
        assert native.rows is not None
        wanted = native.rows.RowSchema(COLUMNS, native.rows.MINED_FORMATS)
        try:
            with oracle_errors("reading V$LOGMNR_CONTENTS"):
                self._reading = True
                frames = self.connection.fetch_df_batches(sql, dict(binds), self._fetch_size, requested_schema=wanted)
                batches = (native.rows.ArrowBatch(frame) for frame in frames if frame.num_rows())
                try:
                    first = next(batches, None)
                except (TypeError, oracledb.NotSupportedError) as error:
                    _log.info("the driver cannot fetch V$LOGMNR_CONTENTS column by column: %s", error)
                    self._native_rows = False
                else:
                    if first is not None:
                        yield first
                        yield from batches
        finally:
            self._reading = False
        if not self._native_rows:
            yield from self.rows(sql, binds)

    def cancel(self) -> None:
        """Break a call that another thread is waiting in, if there is one; raises nothing of Oracle's."""
        if self.connection.is_healthy():
            with suppress(oracledb.Error):
                self.connection.cancel()

    def close(self) -> None:
        """End LogMiner and close the connections; raises nothing of Oracle's. Safe to call twice.

        The driver crashes when a time limit is set on a connection it has lost, or when two threads use one at a time: such a
        connection is left alone. Its socket goes with the process, or when the call that still waits runs into its limit.
        """
        if self.mined is not None:
            with suppress(oracledb.Error):
                self.primary.close()
        if self._reading or not self.connection.is_healthy():
            return
        try:
            with oracle_errors("ending LogMiner"), self.connection.cursor() as cursor:
                self.connection.call_timeout = 5_000
                cursor.execute(_END)
        except MinerCdcError as error:
            _log.debug("%s", error.message)
        with suppress(oracledb.Error):
            self.connection.close()


def open_session(
    connect: Callable[[], oracledb.Connection],
    secondary: Secondary | None,
    fetch_size: int,
    *,
    dictionary_in_redo: bool,
    native_rows: bool,
) -> MiningSession:
    """A session on new connections, which the caller closes by `MiningSession.close`; an error leaves none of them open. The
    other parameters are those of `MiningSession`.

    :param connect: opens a connection to where LogMiner runs; with `secondary`, in which it runs then, to the database that
        writes the redo.
    :raises MinerCdcError: as `connect` and `secondary.connect`, and as `MiningSession`.
    """
    with ExitStack() as opened:
        mined, primary = (secondary.connect if secondary is not None else connect)(), None
        opened.callback(close_unless_lost, mined)
        if secondary is not None:
            primary = connect()
            opened.callback(close_unless_lost, primary)
        session = MiningSession(
            mined,
            fetch_size,
            dictionary_in_redo=dictionary_in_redo,
            native_rows=native_rows,
            primary=primary,
            downstream=secondary is not None and secondary.is_downstream,
        )
        opened.pop_all()
        return session


def _fetched(cursor: oracledb.Cursor) -> list[tuple[Any, ...]]:
    """The next batch, [] at the end."""
    try:
        batch: list[tuple[Any, ...]] = cursor.fetchmany()
        return batch
    except UnicodeDecodeError as error:
        raise MiningSessionError(f"LogMiner returned text that is not valid UTF-8: {error}") from error
