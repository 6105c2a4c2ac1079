"""V$LOGMNR_CONTENTS, V$LOGMNR_LOGS and V$LOGMNR_PARAMETERS: what the asking session's LogMiner shows."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc.sandbox.asking import asking
from minercdc.sandbox.interfaces import Cell, ColumnDescription, OraType, Session, View
from minercdc.sandbox.logminer import contents
from minercdc.sandbox.logminer.contents import date_cell
from minercdc.sandbox.logminer.logs import log_ranges
from minercdc.sandbox.logminer.packages import active_mining, state_of
from minercdc.sandbox.redo.threads import BLOCK_SIZE
from minercdc.sandbox.sql.number import integer

_LAST_SCN = 18446744073709551615
_WILL_BE_READ = 0


def _column(name: str, kind: OraType, size: int = 0) -> ColumnDescription:
    sizes = {OraType.NUMBER: 22, OraType.DATE: 7}
    return ColumnDescription(name, kind, 0, -127 if kind is OraType.NUMBER else 0, size or sizes[kind])


_N, _D, _V = OraType.NUMBER, OraType.DATE, OraType.VARCHAR2
_LOG_COLUMNS = (
    *(_column("LOG_ID", _N), _column("FILENAME", _V, 513), _column("LOW_TIME", _D), _column("HIGH_TIME", _D)),
    *(_column("DB_ID", _N), _column("DB_NAME", _V, 9), _column("RESET_SCN", _N), _column("RESET_SCN_TIME", _D)),
    *(_column("COMPATIBLE", _V, 17), _column("THREAD_ID", _N), _column("THREAD_SQN", _N), _column("LOW_SCN", _N)),
    *(_column("NEXT_SCN", _N), _column("DICTIONARY_BEGIN", _V, 3), _column("DICTIONARY_END", _V, 3)),
    *(_column("TYPE", _V, 7), _column("BLOCKSIZE", _N), _column("FILESIZE", _N), _column("INFO", _V, 32)),
    *(_column("STATUS", _N), _column("CON_ID", _N)),
)
_PARAMETER_COLUMNS = (
    *(_column("START_DATE", _D), _column("REQUIRED_START_DATE", _D), _column("END_DATE", _D)),
    *(_column("START_SCN", _N), _column("REQUIRED_START_SCN", _N), _column("END_SCN", _N)),
    *(_column("OPTIONS", _N), _column("INFO", _V, 32), _column("STATUS", _N), _column("CON_ID", _N)),
)


def _logs(session: Session) -> Iterator[tuple[Cell, ...]]:
    redo, catalog = asking(session).database.redo, asking(session).database.catalog
    ranges = log_ranges(redo)
    groups = {(group.thread, group.sequence): group for group in redo.groups()}
    archived = {(log.thread, log.sequence): log for log in redo.archived()}
    for file in state_of(session).files:
        key = (file.thread, file.sequence)
        log = ranges.get(key)
        old, group = archived.get(key), groups.get(key)
        first_time = old.first_time if old else group.first_time if group else 0.0
        next_time = old.next_time if old else group.next_time if group else None
        size = old.blocks * old.block_size if old else group.bytes if group else 0
        yield (
            *(integer(file.sequence), file.name, date_cell(first_time), date_cell(next_time) if next_time else None),
            *(integer(catalog.dbid), catalog.database_name, integer(redo.resetlogs_change)),
            *(date_cell(redo.resetlogs_time), "23.0.0", integer(file.thread), integer(file.sequence)),
            *(integer(log.first) if log else None, integer((log.next if log else None) or _LAST_SCN)),
            *("NO", "NO", "ARCHIVE" if file.name == (old.name if old else None) else "ONLINE", integer(BLOCK_SIZE)),
            *(integer(size), None, integer(_WILL_BE_READ), integer(1)),
        )


def _parameters(session: Session) -> Iterator[tuple[Cell, ...]]:
    mining = state_of(session).mining
    if mining is None:
        return
    wanted = mining.wanted
    start, end = wanted.start_time, wanted.end_time
    yield (
        *(date_cell(start) if start else None, None, date_cell(end) if end else None),
        *(integer(wanted.start or 0), integer(0), integer(wanted.end or 0)),
        *(integer(int(mining.options)), None, integer(0), integer(1)),
    )


VIEWS = (
    View(
        "V$LOGMNR_CONTENTS",
        contents.COLUMNS,
        lambda session: active_mining(session).rows(asking(session).nls),
        lambda session, restriction: active_mining(session).rows(asking(session).nls, restriction),
    ),
    View("V$LOGMNR_LOGS", _LOG_COLUMNS, _logs),
    View("V$LOGMNR_PARAMETERS", _PARAMETER_COLUMNS, _parameters),
)
