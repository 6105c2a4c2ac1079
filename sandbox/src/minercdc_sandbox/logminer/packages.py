"""DBMS_LOGMNR as sessions call it: list of log files, range and options per session, with the documented errors.

Option values never persist: each START_LOGMNR replaces range and options of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from minercdc_sandbox.arguments import Arguments
from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.interfaces import Argument, Cell, OraError, Procedure, Restriction, RowTest, Session
from minercdc_sandbox.logminer.dictionary import (
    DICTIONARY_INFO,
    LookUp,
    dictionary_text,
    no_dictionary,
    online_catalog,
    read_dictionary,
)
from minercdc_sandbox.logminer.logs import LogFile, check_range, find_log, logs_covering, missing_logs
from minercdc_sandbox.logminer.mining import Mining, Option
from minercdc_sandbox.logminer.reading import MiningRange, ReadingMemory
from minercdc_sandbox.logminer.sql_text import Shapes
from minercdc_sandbox.view_session import ViewSession, as_view_session

NEW, REMOVEFILE, ADDFILE = 1, 2, 3
STORE_IN_REDO_LOGS = 2
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
    """LogMiner's state in one database session.

    :param files: in the order added.
    :param missing: thread, first and last sequence of what the last START_LOGMNR missed.
    :param changes: how often the list of files changed.
    :param mining: what START_LOGMNR began; None before it and after END_LOGMNR.
    :param refused: range, options and error of the last START_LOGMNR if it failed.
    """

    def __init__(self) -> None:
        self.files: list[LogFile] = []
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
    """The mining that START_LOGMNR began. Raises ORA-01306 when there is none."""
    mining = state_of(session).mining
    if mining is None:
        raise OraError(1306, "dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents")
    return mining


def mined_rows(session: Session, restriction: Restriction | None = None) -> Iterator[tuple[Cell, ...]]:
    """V$LOGMNR_CONTENTS. Raises ORA-01306, and ORA-01315 when the list of files changes meanwhile."""
    state, mining = state_of(session), active_mining(session)
    changes = state.changes
    for row in mining.rows(as_view_session(session).settings.nls, restriction):
        if state.changes != changes:
            raise OraError(1315, "Log files have been added or removed during select")
        yield row


def picked_rows(
    session: Session, restriction: Restriction, picked: Sequence[int], test: RowTest
) -> Iterator[list[tuple[Cell, ...]]]:
    """`mined_rows` of the columns at `picked`, of rows that pass the test, in batches."""
    state, mining = state_of(session), active_mining(session)
    changes = state.changes
    for rows in mining.picked_rows(as_view_session(session).settings.nls, restriction, picked, test):
        if state.changes != changes:
            raise OraError(1315, "Log files have been added or removed during select")
        yield rows


def add_logfile(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """ADD_LOGFILE(LogFileName, options := ADDFILE). Raises ORA-01283, 01284, 01287, 01289, 01290, 65040."""
    _in_root(as_view_session(session))
    arguments = Arguments("ADD_LOGFILE", ("LOGFILENAME", "OPTIONS"), given, named)
    name, option = arguments.text("LOGFILENAME"), arguments.integer("OPTIONS")
    state = state_of(session)
    if option == NEW:
        state.files, state.mining = [], None
    elif option == REMOVEFILE:
        _remove(session, name)
        return
    elif option not in (None, ADDFILE):
        raise OraError(1283, "Options parameter specified is invalid")
    state.missing = []
    state.changes += 1
    log = find_log(as_view_session(session).database.redo, name)
    if any((log.thread, log.sequence) == (other.thread, other.sequence) for other in state.files):
        raise OraError(1289, f"cannot add duplicate logfile {name}")
    state.files.append(log)


def remove_logfile(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """REMOVE_LOGFILE(LogFileName). Raises ORA-01290."""
    _remove(session, Arguments("REMOVE_LOGFILE", ("LOGFILENAME",), given, named).text("LOGFILENAME"))


def _remove(session: Session, name: str) -> None:
    state = state_of(session)
    kept = [log for log in state.files if log.name != name]
    if len(kept) == len(state.files):
        raise OraError(1290, f"cannot remove unlisted logfile {name}")
    state.files, state.missing = kept, []
    state.changes += 1


def start(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """START_LOGMNR. Raises ORA-01281, 01282, 01283, 01291, 01292, 01296, 01347, 01371, 44609, 44613.

    Its range and options then stay visible in V$LOGMNR_PARAMETERS.
    """
    names = ("STARTSCN", "ENDSCN", "STARTTIME", "ENDTIME", "DICTFILENAME", "OPTIONS")
    arguments = Arguments("START_LOGMNR", names, given, named)
    state = state_of(session)
    scns = arguments.integer("STARTSCN") or None, arguments.integer("ENDSCN") or None
    wanted = MiningRange(*scns, arguments.seconds("STARTTIME"), arguments.seconds("ENDTIME"))
    try:
        _start(session, state, arguments, wanted)
    except OraError as error:
        state.refused = (wanted, arguments.integer("OPTIONS") or 0, error.text)
        raise
    state.refused = None


def _start(session: Session, state: LogMinerSession, arguments: Arguments, wanted: MiningRange) -> None:
    client = as_view_session(session)
    database = client.database
    options = _checked_options(arguments.integer("OPTIONS") or 0)
    if arguments.has("DICTFILENAME"):
        raise OraError(44613, "The use of a LogMiner dictionary in a flat file is desupported.")
    _check_times(arguments)
    container = None if client.container == ROOT else client.container
    if container is None:
        if not state.files:
            raise OraError(1292, "no log file has been specified for the current LogMiner session")
        state.missing = []
        try:
            check_range(database.redo, state.files, wanted)
        except OraError as error:
            if error.number == 1291:
                state.missing = missing_logs(database.redo, state.files, wanted)
            raise
        files = tuple(state.files)
    else:  # since 19.10 a PDB mines its own changes and Oracle finds the logs
        files = logs_covering(database.redo, wanted)
    state.mining = Mining(
        *(files, wanted, options, database.redo, database.catalog, container, state.memory),
        *(_dictionary(client, options, files), database.storage.lobs),
        since_23=database.version[0] >= NEW_TEXTS_SINCE,
        shapes=state.shapes,
    )


def _check_times(arguments: Arguments) -> None:
    """Raises ORA-01282."""
    first, last = arguments.seconds("STARTTIME"), arguments.seconds("ENDTIME")
    if first is not None and last is not None and last < first:
        raise OraError(1282, "date range specified is invalid")


def end(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """END_LOGMNR: frees the list of files too. Raises ORA-01307."""
    Arguments("END_LOGMNR", (), given, named)
    state = state_of(session)
    if state.mining is None:
        raise OraError(1307, "no LogMiner session is currently active")
    state.mining, state.files, state.missing, state.refused = None, [], [], None
    state.changes += 1


def _dictionary(client: ViewSession, options: Option, files: Sequence[LogFile]) -> LookUp:
    """Raises ORA-01371, and ORA-01347 when DDL cannot be followed for want of supplemental logging."""
    catalog = client.database.catalog
    tracking = Option.DDL_DICT_TRACKING in options
    if tracking and catalog.logging.minimal_status == "NO":
        raise OraError(1347, "Supplemental log data no longer found")
    if Option.DICT_FROM_REDO_LOGS in options:
        return read_dictionary(client.database.redo, catalog, files, tracking=tracking)
    return online_catalog(catalog) if Option.DICT_FROM_ONLINE_CATALOG in options else no_dictionary


def build(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """DBMS_LOGMNR_D.BUILD(options => STORE_IN_REDO_LOGS). Raises ORA-01354, ORA-44613."""
    names = ("DICTIONARY_FILENAME", "DICTIONARY_LOCATION", "OPTIONS", "DICTIONARY_TABLESPACE")
    arguments = Arguments("BUILD", names, given, named)
    option = arguments.integer("OPTIONS")
    if arguments.has("DICTIONARY_FILENAME") or option != STORE_IN_REDO_LOGS:
        raise OraError(44613, "The use of a LogMiner dictionary in a flat file is desupported.")
    client = as_view_session(session)
    catalog, storage = client.database.catalog, client.database.storage
    if catalog.logging.minimal_status == "NO":
        raise OraError(1354, "Supplemental log data must be added to run this command")
    with storage.lock:
        storage.log_dictionary(client.client, dictionary_text(catalog), DICTIONARY_INFO)


def _in_root(client: ViewSession) -> None:
    if client.container != ROOT:
        raise OraError(65040, "operation not allowed from within a pluggable database")


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


PROCEDURES: dict[str, Procedure] = {
    "DBMS_LOGMNR.ADD_LOGFILE": add_logfile,
    "DBMS_LOGMNR.REMOVE_LOGFILE": remove_logfile,
    "DBMS_LOGMNR.START_LOGMNR": start,
    "DBMS_LOGMNR.END_LOGMNR": end,
    "DBMS_LOGMNR_D.BUILD": build,
}
"""The package's procedures by qualified name."""
