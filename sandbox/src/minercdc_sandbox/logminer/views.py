"""V$LOGMNR_CONTENTS, V$LOGMNR_LOGS and V$LOGMNR_PARAMETERS: the LogMiner of the session that reads them."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.interfaces import Cell, Session, View
from minercdc_sandbox.logminer import contents
from minercdc_sandbox.logminer.logs import LogRange, log_ranges, touches
from minercdc_sandbox.logminer.mining import Mining
from minercdc_sandbox.logminer.origin import own
from minercdc_sandbox.logminer.packages import mined_rows, picked_rows, state_of
from minercdc_sandbox.redo.threads import BLOCK_SIZE
from minercdc_sandbox.sql.number import integer
from minercdc_sandbox.view_session import as_view_session
from minercdc_sandbox.views.shape import columns_of, date, yes_no

_LAST_SCN = 18446744073709551615
_WILL_BE_READ, _FIRST_TO_BE_READ, _PRUNED, _MISSING = 0, 1, 2, 4
"""STATUS of V$LOGMNR_LOGS (Oracle Database Reference)."""
_REFUSED = 1


_LOG_COLUMNS = columns_of(
    "LOG_ID N, FILENAME V513, LOW_TIME D, HIGH_TIME D, DB_ID N, DB_NAME V9, RESET_SCN N, RESET_SCN_TIME D, COMPATIBLE V17, "
    "THREAD_ID N, THREAD_SQN N, LOW_SCN N, NEXT_SCN N, DICTIONARY_BEGIN V3, DICTIONARY_END V3, TYPE V7, BLOCKSIZE N, FILESIZE N, "
    "INFO V32, STATUS N, CON_ID N"
)
_PARAMETER_COLUMNS = columns_of(
    "START_DATE D, REQUIRED_START_DATE D, END_DATE D, START_SCN N, REQUIRED_START_SCN N, END_SCN N, OPTIONS N, INFO V32, "
    "STATUS N, CON_ID N"
)


def _status(mining: Mining | None, log: LogRange | None, first: set[tuple[int, int]]) -> int:
    """STATUS of a listed log in V$LOGMNR_LOGS, by its part in the session's reading: before START_LOGMNR all will be read. `log`
    is None for a log that is gone, `first` the first read of each thread."""
    if mining is None or log is None:
        return _WILL_BE_READ
    if (log.thread, log.sequence) in first:
        return _FIRST_TO_BE_READ
    return _WILL_BE_READ if touches(log, mining.wanted) else _PRUNED


def _first_read(mining: Mining | None, listed: list[LogRange]) -> set[tuple[int, int]]:
    """(thread, sequence) of the first of the listed logs of each thread that the mining's range touches; empty without a mining."""
    found: dict[int, int] = {}
    for log in listed if mining is not None else ():
        if mining is not None and touches(log, mining.wanted):
            found[log.thread] = min(found.get(log.thread, log.sequence), log.sequence)
    return set(found.items())


def _missing_rows(session: Session) -> Iterator[tuple[Cell, ...]]:
    """A row of V$LOGMNR_LOGS for each gap that made the last START_LOGMNR fail with ORA-01291."""
    for thread, first, last in state_of(session).missing:
        text = f"MISSING LOG FILE(s) FOR THREAD NUMBER {thread}, SEQUENCE NUMBER(s) {first} TO {last}"
        empty: tuple[Cell, ...] = (None,) * 7
        yield (
            *(None, text, *empty, integer(thread), integer(first), None, None, "NO", "NO"),
            *(None, None, None, "MISSING LOG FILE(s)", integer(_MISSING), integer(1)),
        )


def _logs(session: Session) -> Iterator[tuple[Cell, ...]]:
    state = state_of(session)
    origin = state.origin or own(as_view_session(session).database)
    redo, catalog = origin.redo, origin.catalog
    ranges = log_ranges(redo)
    groups = {(group.thread, group.sequence): group for group in redo.groups()}
    archived = {(log.thread, log.sequence): log for log in redo.archived()}
    found = [ranges[key] for key in ((file.thread, file.sequence) for file in state.files) if key in ranges]
    first = _first_read(state.mining, found)
    for file in sorted(state.files, key=lambda file: (file.thread, file.sequence)):
        key = (file.thread, file.sequence)
        log = ranges.get(key)
        old, group = archived.get(key), groups.get(key)
        first_time = old.first_time if old else group.first_time if group else 0.0
        next_time = old.next_time if old else group.next_time if group else None
        size = old.blocks * old.block_size if old else group.bytes if group else 0
        yield (
            *(integer(file.sequence), file.name, date(first_time), date(next_time)),
            *(integer(catalog.dbid), catalog.database_name, integer(redo.incarnation.resetlogs_change)),
            *(date(redo.incarnation.resetlogs_time), "23.0.0", integer(file.thread), integer(file.sequence)),
            *(integer(log.first) if log else None, integer((log.next if log else None) or _LAST_SCN)),
            *(yes_no(old is not None and old.dictionary_begin), yes_no(old is not None and old.dictionary_end)),
            *("ARCHIVE" if file.name == (old.name if old else None) else "ONLINE", integer(BLOCK_SIZE)),
            *(integer(size), None, integer(_status(state.mining, log, first)), integer(1)),
        )
    yield from _missing_rows(session)


def _parameters(session: Session) -> Iterator[tuple[Cell, ...]]:
    """V$LOGMNR_PARAMETERS: one row for the last START_LOGMNR; one that failed shows its range and options, with STATUS not 0 and
    the begin of the error in INFO. No row before the first, after END_LOGMNR, and after NEW if the last one succeeded.

    The manual gives no meanings of STATUS; clients print it.
    """
    state = state_of(session)
    if state.refused is not None:
        wanted, options, why = state.refused
        info, status = why[:32], _REFUSED
    elif state.mining is not None:
        wanted, options, info, status = state.mining.wanted, int(state.mining.options), None, 0
    else:
        return
    start, end = wanted.start_time, wanted.end_time
    yield (
        *(date(start), None, date(end)),
        *(integer(wanted.start or 0), integer(0), integer(wanted.end or 0)),
        *(integer(options), info, integer(status), integer(1)),
    )


VIEWS = (
    View("V$LOGMNR_CONTENTS", contents.COLUMNS, mined_rows, mined_rows, picked_rows),
    View("V$LOGMNR_LOGS", _LOG_COLUMNS, _logs),
    View("V$LOGMNR_PARAMETERS", _PARAMETER_COLUMNS, _parameters),
)
