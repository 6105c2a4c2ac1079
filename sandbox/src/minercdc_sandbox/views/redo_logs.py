"""V$LOG, V$LOGFILE, V$ARCHIVED_LOG, V$FOREIGN_ARCHIVED_LOG, V$ARCHIVE_DEST_STATUS, V$LOG_HISTORY, V$THREAD and V$DATAGUARD_STATS.
They show all redo threads."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from minercdc_sandbox.redo.threads import BLOCK_SIZE, ArchivedLog
from minercdc_sandbox.sql import date_formats, temporal
from minercdc_sandbox.sql.execution import applied_scn
from minercdc_sandbox.standby import refuse_view
from minercdc_sandbox.view_session import ViewSession
from minercdc_sandbox.views.shape import Row, date, view, yes_no

OPEN_ENDED = 18446744073709551615
"""NEXT_CHANGE# of a log that is still written (19c and later)."""
_DESTINATIONS = 31

_LOG = (
    "GROUP# N, THREAD# N, SEQUENCE# N, BYTES N, BLOCKSIZE N, MEMBERS N, ARCHIVED V3, STATUS V16, FIRST_CHANGE# N, "
    "FIRST_TIME D, NEXT_CHANGE# N, NEXT_TIME D, CON_ID N=0"
)
_LOGFILE = "GROUP# N, STATUS V7, TYPE V7=ONLINE, MEMBER V513, IS_RECOVERY_DEST_FILE V3=NO, CON_ID N=0"
_ARCHIVED_LOG = (
    "RECID N, STAMP N, NAME V513, DEST_ID N, THREAD# N, SEQUENCE# N, RESETLOGS_CHANGE# N, RESETLOGS_TIME D, "
    "RESETLOGS_ID N, FIRST_CHANGE# N, FIRST_TIME D, NEXT_CHANGE# N, NEXT_TIME D, BLOCKS N, BLOCK_SIZE N, CREATOR V7=ARCH, "
    "REGISTRAR V7=ARCH, STANDBY_DEST V3=NO, ARCHIVED V3=YES, APPLIED V9=NO, DELETED V3, STATUS V1, COMPLETION_TIME D, "
    "DICTIONARY_BEGIN V3, DICTIONARY_END V3, END_OF_REDO V3=NO, BACKUP_COUNT N=0, ARCHIVAL_THREAD# N, ACTIVATION# N, "
    "IS_RECOVERY_DEST_FILE V3=NO, COMPRESSED V3=NO, FAL V3=NO, END_OF_REDO_TYPE V10, BACKED_BY_VSS V3=NO, CON_ID N=0"
)
_FOREIGN_LOG = (
    "RECID N, STAMP N, NAME V513, DEST_ID N=0, THREAD# N, SEQUENCE# N, RESETLOGS_CHANGE# N, RESETLOGS_TIME D, "
    "RESETLOGS_ID N, FIRST_CHANGE# N, FIRST_TIME D, NEXT_CHANGE# N, NEXT_TIME D, BLOCKS N, BLOCK_SIZE N, CREATOR V7=ARCH, "
    "REGISTRAR V7=RFS, ARCHIVED V3=YES, APPLIED V3=NO, DELETED V3, STATUS V1, COMPLETION_TIME D, DICTIONARY_BEGIN V3, "
    "DICTIONARY_END V3, END_OF_REDO V3=NO, ARCHIVAL_THREAD# N, IS_RECOVERY_DEST_FILE V3=NO, COMPRESSED V3=NO, FAL V3=NO, "
    "END_OF_REDO_TYPE V10, SOURCE_DBID N, CON_ID N=0"
)
_DEST_STATUS = (
    "DEST_ID N, DEST_NAME V256, STATUS V9, TYPE V16=LOCAL, DATABASE_MODE V15, RECOVERY_MODE V34=IDLE, "
    "PROTECTION_MODE V20=MAXIMUM PERFORMANCE, DESTINATION V256, STANDBY_LOGFILE_COUNT N=0, STANDBY_LOGFILE_ACTIVE N=0, "
    "ARCHIVED_THREAD# N, ARCHIVED_SEQ# N, APPLIED_THREAD# N=0, APPLIED_SEQ# N=0, ERROR V256, SRL V3=NO, "
    "DB_UNIQUE_NAME V30, SYNCHRONIZATION_STATUS V22=CHECK CONFIGURATION, SYNCHRONIZED V3=NO, GAP_STATUS V24, CON_ID N=0"
)
_HISTORY = (
    "RECID N, STAMP N, THREAD# N, SEQUENCE# N, FIRST_CHANGE# N, FIRST_TIME D, NEXT_CHANGE# N, RESETLOGS_CHANGE# N, "
    "RESETLOGS_TIME D, CON_ID N=0"
)
_THREAD = (
    "THREAD# N, STATUS V6, ENABLED V8, GROUPS N, INSTANCE V80, OPEN_TIME D, CURRENT_GROUP# N, SEQUENCE# N, "
    "CHECKPOINT_CHANGE# N, CHECKPOINT_TIME D, ENABLE_CHANGE# N, ENABLE_TIME D, DISABLE_CHANGE# N, DISABLE_TIME D, "
    "LAST_REDO_SEQUENCE# N, LAST_REDO_BLOCK N, LAST_REDO_CHANGE# N, LAST_REDO_TIME D, CON_ID N=0"
)

_DATAGUARD_STATS = (
    "SOURCE_DBID N, SOURCE_DB_UNIQUE_NAME V32, NAME V32, VALUE V64, UNIT V30=day(2) to second(0) interval, "
    "TIME_COMPUTED V30, DATUM_TIME V30, CON_ID N=0"
)


def _logs(session: ViewSession) -> Iterator[Row]:
    if session.on_standby:
        raise refuse_view("V$LOG")
    redo = session.database.redo
    # As they are now: while rows are taken, a log switch of another session would show two current logs, or none.
    for group in [copy(one) for one in redo.groups()]:
        yield {
            "GROUP#": group.group,
            "THREAD#": group.thread,
            "SEQUENCE#": group.sequence,
            "BYTES": group.bytes,
            "BLOCKSIZE": BLOCK_SIZE,
            "MEMBERS": len(group.members),
            "ARCHIVED": yes_no(group.archived),
            "STATUS": group.status,
            "FIRST_CHANGE#": group.first_change,
            "FIRST_TIME": date(group.first_time) if group.sequence else None,
            "NEXT_CHANGE#": _next(group.next_change, group.status),
            "NEXT_TIME": date(group.next_time),
        }


def _files(session: ViewSession) -> Iterator[Row]:
    if session.on_standby:
        raise refuse_view("V$LOGFILE")
    redo = session.database.redo
    for group in redo.groups():
        for member in group.members:
            yield {"GROUP#": group.group, "MEMBER": member}


def _archived(session: ViewSession) -> Iterator[Row]:
    redo, on_standby = session.database.redo, session.on_standby
    applied = applied_scn(session.database) if on_standby else 0
    for recid, log in enumerate([*redo.former, *redo.archived()], 1):
        if on_standby and log.dest_id != min(redo.destinations):
            continue  # the other local copies are not shipped
        shipped: Row = {"REGISTRAR": "RFS", "APPLIED": "YES" if log.next_change <= applied + 1 else "NO"}
        yield {
            **(shipped if on_standby else {}),
            **_archived_row(recid, log),
            "DEST_ID": log.dest_id,
            "ACTIVATION#": session.database.catalog.dbid,
        }


def _foreign(session: ViewSession) -> Iterator[Row]:
    """V$FOREIGN_ARCHIVED_LOG: what a downstream database has received; a physical standby has no rows (Oracle Database Reference)."""
    received = session.database.received
    for recid, (log, dbid) in enumerate(received.rows() if received is not None else (), 1):
        yield {**_archived_row(recid, log), "SOURCE_DBID": dbid}


def _archived_row(recid: int, log: ArchivedLog) -> Row:
    """The columns of one archived log that V$ARCHIVED_LOG and V$FOREIGN_ARCHIVED_LOG share."""
    return {
        "RECID": recid,
        "STAMP": recid,
        "NAME": log.name,
        "THREAD#": log.thread,
        "SEQUENCE#": log.sequence,
        "RESETLOGS_CHANGE#": log.resetlogs_change,
        "RESETLOGS_TIME": date(log.resetlogs_time),
        "RESETLOGS_ID": log.resetlogs_id,
        "FIRST_CHANGE#": log.first_change,
        "FIRST_TIME": date(log.first_time),
        "NEXT_CHANGE#": log.next_change,
        "NEXT_TIME": date(log.next_time),
        "BLOCKS": log.blocks,
        "BLOCK_SIZE": log.block_size,
        "DELETED": yes_no(log.deleted),
        "STATUS": log.status,
        "COMPLETION_TIME": date(log.completion_time),
        "DICTIONARY_BEGIN": yes_no(log.dictionary_begin),
        "DICTIONARY_END": yes_no(log.dictionary_end),
        "ARCHIVAL_THREAD#": log.thread,
    }


def _destinations(session: ViewSession) -> Iterator[Row]:
    redo = session.database.redo
    newest = redo.archived()[-1:]
    for number in range(1, _DESTINATIONS + 1):
        place = redo.destinations.get(number)
        latest = newest[0] if place and newest else None
        yield {
            "DEST_ID": number,
            "DEST_NAME": f"LOG_ARCHIVE_DEST_{number}",
            "STATUS": "VALID" if place else "INACTIVE",
            "DATABASE_MODE": "OPEN" if place else "UNKNOWN",
            "DESTINATION": place,
            "ARCHIVED_THREAD#": latest.thread if latest else 0,
            "ARCHIVED_SEQ#": latest.sequence if latest else 0,
            "DB_UNIQUE_NAME": session.database.catalog.database_name if place else "NONE",
        }


def _history(session: ViewSession) -> Iterator[Row]:
    if session.on_standby:
        raise refuse_view("V$LOG_HISTORY")
    redo = session.database.redo
    copies = [log for log in (*redo.former, *redo.archived()) if log.dest_id == min(redo.destinations)]
    for recid, log in enumerate(copies, 1):
        yield {
            "RECID": recid,
            "STAMP": recid,
            "THREAD#": log.thread,
            "SEQUENCE#": log.sequence,
            "FIRST_CHANGE#": log.first_change,
            "FIRST_TIME": date(log.first_time),
            "NEXT_CHANGE#": log.next_change,
            "RESETLOGS_CHANGE#": log.resetlogs_change,
            "RESETLOGS_TIME": date(log.resetlogs_time),
        }


def _threads(session: ViewSession) -> Iterator[Row]:
    if session.on_standby:
        raise refuse_view("V$THREAD")
    database = session.database
    redo = database.redo
    with database.storage.lock:
        redo.background_write(database.clock.current)
    for number, thread in sorted(redo.threads.items()):
        yield {
            "THREAD#": number,
            "STATUS": "OPEN" if thread.is_open else "CLOSED",
            "ENABLED": thread.enabled,
            "GROUPS": len(thread.groups),
            "INSTANCE": thread.instance,
            "OPEN_TIME": date(thread.open_time),
            "CURRENT_GROUP#": thread.current.group,
            "SEQUENCE#": thread.current.sequence,
            "CHECKPOINT_CHANGE#": thread.current.first_change if thread.is_open else thread.checkpoint_change,
            "CHECKPOINT_TIME": date(thread.current.first_time),
            "ENABLE_CHANGE#": thread.enabled_change,
            "ENABLE_TIME": date(thread.enabled_time),
            "DISABLE_CHANGE#": thread.disabled_change,
            "DISABLE_TIME": date(thread.disabled_time),
            "LAST_REDO_SEQUENCE#": thread.current.sequence,
            "LAST_REDO_BLOCK": thread.last_block,
            "LAST_REDO_CHANGE#": thread.last_change,
            "LAST_REDO_TIME": date(thread.last_time),
        }


def _dataguard_stats(session: ViewSession) -> Iterator[Row]:
    """V$DATAGUARD_STATS, on a standby only: apply and transport lag, here since the redo that was applied, or shipped, last. No
    rows elsewhere."""
    database = session.database
    if not session.on_standby:
        return
    clock, logs = database.clock, database.redo.archived()
    now = clock.now()
    applied = applied_scn(database)
    times = {"apply lag": clock.time_of(applied) if applied else now}
    times["transport lag"] = max([log.next_time for log in logs], default=now)
    computed = date_formats.to_char(temporal.from_ns(int(now) * 1_000_000_000), "MM/DD/YYYY HH24:MI:SS")
    for name, reached in times.items():
        minutes, seconds = divmod(max(0, int(now - reached)), 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        yield {
            "SOURCE_DBID": database.catalog.dbid,
            "SOURCE_DB_UNIQUE_NAME": database.catalog.database_name,
            "NAME": name,
            "VALUE": f"+{days:02} {hours:02}:{minutes:02}:{seconds:02}",
            "TIME_COMPUTED": computed,
            "DATUM_TIME": computed,
        }


def _next(scn: int | None, status: str) -> int | None:
    if scn is not None:
        return scn
    return 0 if status == "UNUSED" else OPEN_ENDED


VIEWS = (
    view("V$LOG", _LOG, _logs),
    view("V$LOGFILE", _LOGFILE, _files),
    view("V$ARCHIVED_LOG", _ARCHIVED_LOG, _archived),
    view("V$FOREIGN_ARCHIVED_LOG", _FOREIGN_LOG, _foreign),
    view("V$ARCHIVE_DEST_STATUS", _DEST_STATUS, _destinations),
    view("V$LOG_HISTORY", _HISTORY, _history),
    view("V$THREAD", _THREAD, _threads),
    view("V$DATAGUARD_STATS", _DATAGUARD_STATS, _dataguard_stats),
)
