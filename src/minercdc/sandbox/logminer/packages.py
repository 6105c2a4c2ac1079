"""DBMS_LOGMNR as sessions call it: list of log files, range and options per session, with the documented errors.

Option values never persist: each START_LOGMNR replaces range and options of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minercdc.sandbox.arguments import Arguments
from minercdc.sandbox.asking import AskingSession, asking
from minercdc.sandbox.catalog import ROOT
from minercdc.sandbox.interfaces import Argument, OraError, Procedure, Session
from minercdc.sandbox.logminer.logs import LogFile, check_range, find_log, logs_covering
from minercdc.sandbox.logminer.mining import Mining, Option
from minercdc.sandbox.logminer.reading import MiningRange, ReadingMemory

NEW, REMOVEFILE, ADDFILE = 1, 2, 3
NEW_TEXTS_SINCE = 23
"""Release with the newer texts of LOB rows and of undo; which one began is not known (reference: LogMiner facts, F)."""

CONSTANTS: dict[str, int] = {
    "DBMS_LOGMNR.NEW": NEW,
    "DBMS_LOGMNR.REMOVEFILE": REMOVEFILE,
    "DBMS_LOGMNR.ADDFILE": ADDFILE,
    **{f"DBMS_LOGMNR.{option.name}": int(option) for option in Option},
    "DBMS_LOGMNR_D.STORE_IN_FLAT_FILE": 1,
    "DBMS_LOGMNR_D.STORE_IN_REDO_LOGS": 2,
}

_UNSUPPORTED = {
    Option.SKIP_CORRUPTION: "SKIP_CORRUPTION",
    Option.DDL_DICT_TRACKING: "DDL_DICT_TRACKING",
    Option.PRINT_PRETTY_SQL: "PRINT_PRETTY_SQL",
    Option.STRING_LITERALS_IN_STMT: "STRING_LITERALS_IN_STMT",
}


class LogMinerSession:
    """LogMiner's state in one database session.

    :param files: in the order added.
    :param mining: what START_LOGMNR began; None before it and after END_LOGMNR.
    """

    def __init__(self) -> None:
        self.files: list[LogFile] = []
        self.mining: Mining | None = None
        self.memory = ReadingMemory()


def state_of(session: Session) -> LogMinerSession:
    """LogMiner's state in a session, made at first use."""
    state: LogMinerSession = asking(session).state.setdefault("DBMS_LOGMNR", LogMinerSession())
    return state


def active_mining(session: Session) -> Mining:
    """The running mining session. Raises ORA-01306."""
    mining = state_of(session).mining
    if mining is None:
        raise OraError(1306, "dbms_logmnr.start_logmnr() must be invoked before selecting from v$logmnr_contents")
    return mining


def add_logfile(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """ADD_LOGFILE(LogFileName, options := ADDFILE). Raises ORA-01284, 01289, 65040."""
    _in_root(asking(session))
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
    log = find_log(asking(session).database.redo, name)
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
    state.files = kept


def start(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """START_LOGMNR. Raises ORA-01281, 01282, 01283, 01291, 01292, 44609, 44613."""
    names = ("STARTSCN", "ENDSCN", "STARTTIME", "ENDTIME", "DICTFILENAME", "OPTIONS")
    arguments = Arguments("START_LOGMNR", names, given, named)
    client = asking(session)
    database = client.database
    options = _checked_options(arguments.integer("OPTIONS") or 0)
    if arguments.has("DICTFILENAME"):
        raise OraError(44613, "The use of a LogMiner dictionary in a flat file is desupported.")
    wanted = MiningRange(
        arguments.integer("STARTSCN") or None,
        arguments.integer("ENDSCN") or None,
        arguments.seconds("STARTTIME"),
        arguments.seconds("ENDTIME"),
    )
    state = state_of(session)
    container = None if client.container == ROOT else client.container
    if container is None:
        if not state.files:
            raise OraError(1292, "no log file has been specified for the current LogMiner session")
        check_range(database.redo, state.files, wanted)
        files = tuple(state.files)
    else:  # since 19.10 a PDB mines its own changes and Oracle finds the logs
        files = logs_covering(database.redo, wanted)
    state.mining = Mining(
        *(files, wanted, options, database.redo, database.catalog, container, state.memory),
        database.storage.lobs,
        since_23=database.version[0] >= NEW_TEXTS_SINCE,
    )


def end(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """END_LOGMNR: frees the list of files too. Raises ORA-01307."""
    Arguments("END_LOGMNR", (), given, named)
    state = state_of(session)
    if state.mining is None:
        raise OraError(1307, "no LogMiner session is currently active")
    state.mining, state.files = None, []


def _build(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    raise OraError(3001, "unimplemented feature: DBMS_LOGMNR_D.BUILD; mine with DICT_FROM_ONLINE_CATALOG")


def _in_root(client: AskingSession) -> None:
    if client.container != ROOT:
        raise OraError(65040, "operation not allowed from within a pluggable database")


def _checked_options(value: int) -> Option:
    if value < 0 or value & ~sum(Option):
        raise OraError(1283, "Options parameter specified is invalid")
    options = Option(value)
    if Option.CONTINUOUS_MINE in options:
        raise OraError(44609, "CONTINOUS_MINE is desupported for use with DBMS_LOGMNR.START_LOGMNR.")
    if Option.DICT_FROM_REDO_LOGS in options:
        if Option.DICT_FROM_ONLINE_CATALOG in options:
            raise OraError(1296, "two dictionaries specified: online catalog and redo logs")
        raise OraError(1371, "Complete LogMiner dictionary not found")
    for option, name in _UNSUPPORTED.items():
        if option in options:
            raise OraError(1283, f"Options parameter specified is invalid: {name} is not implemented here")
    return options


PROCEDURES: dict[str, Procedure] = {
    "DBMS_LOGMNR.ADD_LOGFILE": add_logfile,
    "DBMS_LOGMNR.REMOVE_LOGFILE": remove_logfile,
    "DBMS_LOGMNR.START_LOGMNR": start,
    "DBMS_LOGMNR.END_LOGMNR": end,
    "DBMS_LOGMNR_D.BUILD": _build,
}
"""The package's procedures by qualified name."""
