"""DBMS_LOGMNR and DBMS_LOGMNR_D.BUILD: each session has its list of log files, and the mining that its START_LOGMNR began.

Each START_LOGMNR that succeeds replaces range and options of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minercdc_sandbox.arguments import Arguments, procedures
from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.interfaces import Cell, OraError, Restriction, RowTest, Session
from minercdc_sandbox.logminer.dictionary import (
    DICTIONARY_INFO,
    LookUp,
    dictionary_text,
    no_dictionary,
    online_catalog,
    read_dictionary,
)
from minercdc_sandbox.logminer.logs import LogFile, check_range, logs_covering, missing_logs
from minercdc_sandbox.logminer.mining import Mining, Option
from minercdc_sandbox.logminer.origin import Origin, locate, own
from minercdc_sandbox.logminer.reading import MiningRange, ReadingMemory
from minercdc_sandbox.logminer.sql_text import Shapes
from minercdc_sandbox.standby import read_only
from minercdc_sandbox.view_session import ViewSession, as_view_session

NEW, REMOVEFILE, ADDFILE = 1, 2, 3
STORE_IN_REDO_LOGS = 2
_NEEDS_WRITABLE = Option.DICT_FROM_ONLINE_CATALOG | Option.DICT_FROM_REDO_LOGS | Option.DDL_DICT_TRACKING
"""Options that a database opened read only refuses (docs/reference/logminer-facts.md#a-9)."""
NEW_TEXTS_SINCE = 23
"""Release with the newer texts of LOB rows and of undo; which one began is not known (docs/reference/logminer-facts.md#b-7-3)."""

CONSTANTS: dict[str, int] = {
    "DBMS_LOGMNR.NEW": NEW,
    "DBMS_LOGMNR.REMOVEFILE": REMOVEFILE,
    "DBMS_LOGMNR.ADDFILE": ADDFILE,
    **{f"DBMS_LOGMNR.{option.name}": int(option) for option in Option},
    "DBMS_LOGMNR_D.STORE_IN_FLAT_FILE": 1,
    "DBMS_LOGMNR_D.STORE_IN_REDO_LOGS": STORE_IN_REDO_LOGS,
}


class LogMinerSession:
    """LogMiner's state in one database session, from its first use to the session's end.

    :ivar files: in the order added; all of `origin`, where the last one added is from; None before the first.
    :ivar missing: (thread, first sequence, last sequence) of each gap that made the last START_LOGMNR fail with ORA-01291;
        [] after a later change of the list and after END_LOGMNR.
    :ivar changes: rises with each change of the list of files and with END_LOGMNR.
    :ivar memory, shapes: kept by earlier readings for later ones.
    :ivar mining: the mining that the last START_LOGMNR without an error began; None before, after END_LOGMNR and after
        ADD_LOGFILE with NEW.
    :ivar refused: range, options and error text of the last START_LOGMNR if it failed, else None.
    """

    def __init__(self) -> None:
        self.files: list[LogFile] = []
        self.origin: Origin | None = None
        self.mining: Mining | None = None
        self.refused: tuple[MiningRange, int, str] | None = None
        self.missing: list[tuple[int, int, int]] = []
        self.changes = 0
        self.memory = ReadingMemory()
        self.shapes = Shapes()


def state_of(session: Session) -> LogMinerSession:
    """LogMiner's state in a session, made at first use."""
    state: LogMinerSession = as_view_session(session).state.setdefault("DBMS_LOGMNR", LogMinerSession())
    return state


def active_mining(session: Session) -> Mining:
    """The mining that START_LOGMNR began in the session. Raises ORA-01306 when there is none."""
    mining = state_of(session).mining
    if mining is None:
        raise OraError(1306, "dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents")
    return mining


def mined_rows(session: Session, restriction: Restriction | None = None) -> Iterator[tuple[Cell, ...]]:
    """Rows of V$LOGMNR_CONTENTS, see `Mining.rows`; nothing is read or raised before the first is taken. Raises ORA-01306 without
    a mining, ORA-01315 when the list of files changes meanwhile, and what reading the logs raises."""
    state, mining = state_of(session), active_mining(session)
    changes = state.changes
    for row in mining.rows(as_view_session(session).settings.nls, restriction):
        if state.changes != changes:
            raise OraError(1315, "Log files have been added or removed during select")
        yield row


def picked_rows(
    session: Session, restriction: Restriction, picked: Sequence[int], test: RowTest
) -> Iterator[list[tuple[Cell, ...]]]:
    """`mined_rows` of the columns at `picked`, of rows that pass the test, in batches. Raises as `mined_rows`."""
    state, mining = state_of(session), active_mining(session)
    changes = state.changes
    for rows in mining.picked_rows(as_view_session(session).settings.nls, restriction, picked, test):
        if state.changes != changes:
            raise OraError(1315, "Log files have been added or removed during select")
        yield rows


def add_logfile(session: ViewSession, arguments: Arguments) -> None:
    """ADD_LOGFILE, with REMOVEFILE as REMOVE_LOGFILE; NEW begins another list and ends the mining. A file that is refused leaves
    list and mining as they were. Raises ORA-01283, 01284, 01287, 01289, 01290, 65040 in a PDB, 01324 for a log of another
    database than that of the listed ones, and as `Arguments.text` and `integer`.

    A standby has archived logs only: online ones are files of the primary.
    """
    if session.container != ROOT:
        raise OraError(65040, "operation not allowed from within a pluggable database")
    name, option = arguments.text("LOGFILENAME"), arguments.integer("OPTIONS")
    state = state_of(session)
    if option == REMOVEFILE:
        _remove(session, name)
        return
    if option not in (None, NEW, ADDFILE):
        raise OraError(1283, "Options parameter specified is invalid")
    files = [] if option == NEW else state.files
    received = session.database.received
    if received is not None and received.is_other(name) and files:
        raise OraError(1324, f"cannot add file {name} due to DB_ID mismatch")
    origin, log = locate(session.database, name)
    if files and origin != state.origin:
        raise OraError(1324, f"cannot add file {name} due to DB_ID mismatch")
    if session.on_standby and all(archived.name != name for archived in session.database.redo.archived()):
        raise OraError(1284, f"file {name} cannot be opened")
    if any((log.thread, log.sequence) == (other.thread, other.sequence) for other in files):
        raise OraError(1289, f"cannot add duplicate logfile {name}")
    if option == NEW:
        state.mining = None
    state.files, state.origin, state.missing = [*files, log], origin, []
    state.changes += 1


def remove_logfile(session: ViewSession, arguments: Arguments) -> None:
    """REMOVE_LOGFILE; the mining goes on with its own files. Raises ORA-01290 for a file that is not listed, and as `Arguments.text`."""
    _remove(session, arguments.text("LOGFILENAME"))


def _remove(session: Session, name: str) -> None:
    state = state_of(session)
    kept = [log for log in state.files if log.name != name]
    if len(kept) == len(state.files):
        raise OraError(1290, f"cannot remove unlisted logfile {name}")
    state.files, state.missing = kept, []
    state.changes += 1


def start(session: ViewSession, arguments: Arguments) -> None:
    """START_LOGMNR: begin a mining with the listed files, in a PDB with those that cover the range. Raises ORA-00308, 00353,
    01281, 01282, 01283, 01291, 01292, 01295, 01296, 01300, 01347, 01371, 44609, 44613, and as the methods of `Arguments`.

    A START_LOGMNR that fails leaves the mining before it, and its own range, options and error in V$LOGMNR_PARAMETERS.
    """
    state = state_of(session)
    scns = arguments.integer("STARTSCN") or None, arguments.integer("ENDSCN") or None
    wanted = MiningRange(*scns, arguments.seconds("STARTTIME"), arguments.seconds("ENDTIME"))
    try:
        _start(session, state, arguments, wanted)
    except OraError as error:
        state.refused = (wanted, arguments.integer("OPTIONS") or 0, error.text)
        raise
    state.refused = None


def _start(client: ViewSession, state: LogMinerSession, arguments: Arguments, wanted: MiningRange) -> None:
    database = client.database
    options = _checked_options(arguments.integer("OPTIONS") or 0)
    if arguments.has("DICTFILENAME"):
        raise OraError(44613, "The use of a LogMiner dictionary in a flat file is desupported.")
    if wanted.start_time is not None and wanted.end_time is not None and wanted.end_time < wanted.start_time:
        raise OraError(1282, "date range specified is invalid")
    container = None if client.container == ROOT else client.container
    if container is None:
        if not state.files:
            raise OraError(1292, "no log file has been specified for the current LogMiner session")
        state.missing = []
        origin = state.origin or own(database)
        try:
            check_range(origin.redo, state.files, wanted)
        except OraError as error:
            if error.number == 1291:
                state.missing = missing_logs(origin.redo, state.files, wanted)
            raise
        files = tuple(state.files)
    else:  # since 19.10 a PDB mines its own changes and Oracle finds the logs
        origin, files = own(database), logs_covering(database.redo, wanted)
    state.mining = Mining(
        files,
        wanted,
        options,
        origin.redo,
        origin.catalog,
        container,
        state.memory,
        _dictionary(client, origin, options, files),
        origin.lobs,
        since_23=database.version[0] >= NEW_TEXTS_SINCE,
        shapes=state.shapes,
    )


def end(session: ViewSession, arguments: Arguments) -> None:
    """END_LOGMNR: ends the mining and empties the list of files. Raises ORA-01307 when no mining is active."""
    state = state_of(session)
    if state.mining is None:
        raise OraError(1307, "no LogMiner session is currently active")
    state.mining, state.files, state.missing, state.refused = None, [], [], None
    state.changes += 1


def _dictionary(client: ViewSession, origin: Origin, options: Option, files: Sequence[LogFile]) -> LookUp:
    """The dictionary that the options choose, which knows no table without one. Raises ORA-01300 on a standby, ORA-01295 where
    the online catalog is another database's, ORA-01347 when DDL cannot be followed for want of supplemental logging, and as
    `read_dictionary`."""
    catalog = origin.catalog
    if client.on_standby and options & _NEEDS_WRITABLE:
        raise OraError(1300, "writable database required for specified LogMiner options")
    tracking = Option.DDL_DICT_TRACKING in options
    if tracking and catalog.logging.minimal_status == "NO":
        raise OraError(1347, "Supplemental log data no longer found")
    if Option.DICT_FROM_REDO_LOGS in options:
        return read_dictionary(origin.redo, catalog, files, tracking=tracking)
    if Option.DICT_FROM_ONLINE_CATALOG not in options:
        return no_dictionary
    if origin.is_foreign:
        raise OraError(1295, "DB_ID mismatch between dictionary USE_ONLINE_CATALOG and logfiles")
    return online_catalog(catalog)


def build(session: ViewSession, arguments: Arguments) -> None:
    """DBMS_LOGMNR_D.BUILD(options => STORE_IN_REDO_LOGS): commits, and writes the dictionary into the redo. Raises ORA-01354
    without supplemental logging, ORA-44613 for a flat file, ORA-16000 on a standby, and as `Storage.log_dictionary`."""
    if arguments.has("DICTIONARY_FILENAME") or arguments.integer("OPTIONS") != STORE_IN_REDO_LOGS:
        raise OraError(44613, "The use of a LogMiner dictionary in a flat file is desupported.")
    catalog, storage = session.database.catalog, session.database.storage
    if session.on_standby:
        raise read_only()
    if catalog.logging.minimal_status == "NO":
        raise OraError(1354, "Supplemental log data must be added to run this command")
    with storage.lock:
        storage.log_dictionary(session.client, dictionary_text(catalog), DICTIONARY_INFO)


def _checked_options(value: int) -> Option:
    if value < 0 or value & ~sum(Option):
        raise OraError(1283, "Options parameter specified is invalid")
    options = Option(value)
    if Option.CONTINUOUS_MINE in options:
        raise OraError(44609, "CONTINOUS_MINE is desupported for use with DBMS_LOGMNR.START_LOGMNR.")
    if Option.DICT_FROM_ONLINE_CATALOG in options:
        if Option.DICT_FROM_REDO_LOGS in options:
            raise OraError(1296, "two dictionaries specified: online catalog and redo logs")
        if Option.DDL_DICT_TRACKING in options:
            raise OraError(1283, "Options parameter specified is invalid: DDL_DICT_TRACKING with DICT_FROM_ONLINE_CATALOG")
    return options


PROCEDURES = procedures(
    {
        "DBMS_LOGMNR.ADD_LOGFILE": (("LOGFILENAME", "OPTIONS"), add_logfile),
        "DBMS_LOGMNR.REMOVE_LOGFILE": (("LOGFILENAME",), remove_logfile),
        "DBMS_LOGMNR.START_LOGMNR": (
            ("STARTSCN", "ENDSCN", "STARTTIME", "ENDTIME", "DICTFILENAME", "OPTIONS"),
            start,
        ),
        "DBMS_LOGMNR.END_LOGMNR": ((), end),
        "DBMS_LOGMNR_D.BUILD": (
            ("DICTIONARY_FILENAME", "DICTIONARY_LOCATION", "OPTIONS", "DICTIONARY_TABLESPACE"),
            build,
        ),
    }
)
"""The packages' procedures by qualified name."""
