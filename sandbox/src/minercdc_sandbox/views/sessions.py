"""Sessions, their transactions and statements: V$SESSION, V$TRANSACTION and V$LOCK with their GV$ forms, V$PROCESS, V$SQLAREA."""

from __future__ import annotations

import os
from collections.abc import Iterator

from minercdc_sandbox.interfaces import View
from minercdc_sandbox.sql import date_formats, temporal
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.standby import refuse_view
from minercdc_sandbox.storage.locks import EXCLUSIVE
from minercdc_sandbox.storage.transactions import Transaction
from minercdc_sandbox.view_session import ViewSession, sees
from minercdc_sandbox.views.shape import Row, date, view

_TRANSACTION = (
    "ADDR R8, XIDUSN N, XIDSLOT N, XIDSQN N, UBAFIL N, UBABLK N, UBASQN N, UBAREC N, STATUS V16=ACTIVE, START_TIME V20, "
    "START_SCNB N, START_SCNW N, START_UEXT N, START_UBAFIL N, START_UBABLK N, START_UBASQN N, START_UBAREC N, "
    "SES_ADDR R8, FLAG N, SPACE V3=NO, RECURSIVE V3=NO, NOUNDO V3=NO, PTX V3=NO, NAME V256, PRV_XIDUSN N, PRV_XIDSLT N, "
    "PRV_XIDSQN N, PTX_XIDUSN N, PTX_XIDSLT N, PTX_XIDSQN N, DSCN-B N, DSCN-W N, USED_UBLK N, USED_UREC N, LOG_IO N, "
    "PHY_IO N, CR_GET N, CR_CHANGE N, START_DATE D, DSCN_BASE N, DSCN_WRAP N, START_SCN N, DEPENDENT_SCN N, XID R8, "
    "PRV_XID R8, PTX_XID R8, CON_ID N"
)
_PENDING = (
    "LOCAL_TRAN_ID V22, GLOBAL_TRAN_ID V169, STATE V16=prepared, MIXED V3=no, ADVICE V1, TRAN_COMMENT V255, FAIL_TIME D, "
    "FORCE_TIME D, RETRY_TIME D, OS_USER V64, OS_TERMINAL V255, HOST V128, DB_USER V128, COMMIT# V16"
)
_SERIALIZABLE = 1 << 28
_LOCK = "ADDR R8, KADDR R8, SID N, TYPE V2, ID1 N, ID2 N, LMODE N, REQUEST N, CTIME N, BLOCK N, CON_ID N"
_PROCESS = (
    "ADDR R8, PID N, SOSID V24, SPID V24, STID V24, EXECUTION_TYPE V10=THREAD, PNAME V5, USERNAME V15=oracle, SERIAL# N, "
    "TERMINAL V30=UNKNOWN, PROGRAM V48=oracle@sandbox, BACKGROUND V1, PGA_USED_MEM N, PGA_ALLOC_MEM N, "
    "PGA_FREEABLE_MEM N=0, PGA_MAX_MEM N, CON_ID N"
)
_SESSION = (
    "SADDR R8, SID N, SERIAL# N, AUDSID N, PADDR R8, USER# N, USERNAME V128, COMMAND N, OWNERID N, TADDR V16, "
    "LOCKWAIT V16, STATUS V8, SERVER V9=DEDICATED, SCHEMA# N, SCHEMANAME V128, OSUSER V128, PROCESS V24, MACHINE V64, "
    "PORT N, TERMINAL V30, PROGRAM V48, TYPE V10=USER, SQL_ID V13, MODULE V64, ACTION V64, CLIENT_INFO V64, LOGON_TIME D, "
    "LAST_CALL_ET N, BLOCKING_SESSION_STATUS V11=UNKNOWN, BLOCKING_SESSION N, EVENT V64, WAIT_CLASS V64, STATE V19, "
    "SERVICE_NAME V64, CLIENT_IDENTIFIER V64, CON_ID N"
)
_SQL_AREA = (
    "SQL_TEXT V1000, SQL_ID V13, EXECUTIONS N, FETCHES N, ROWS_PROCESSED N, ELAPSED_TIME N, CPU_TIME N, PARSING_SCHEMA_NAME V128, "
    "MODULE V64, CON_ID N"
)


def _transactions(session: ViewSession) -> Iterator[Row]:
    """V$TRANSACTION: transactions that have changed or locked a row, of the containers that the session `sees`. Raises ORA-03001 on a standby."""
    if session.on_standby:
        raise refuse_view("V$TRANSACTION")
    for transaction in session.database.transactions.open():
        if not sees(session, transaction.container):
            continue
        usn, slot, sequence = transaction.xid
        start = temporal.from_ns(int(transaction.start_time) * 1_000_000_000)
        yield {
            "ADDR": transaction.stamp.to_bytes(8, "big"),
            "XIDUSN": usn,
            "XIDSLOT": slot,
            "XIDSQN": sequence,
            "START_TIME": date_formats.to_char(start, "MM/DD/YY HH24:MI:SS"),
            "START_SCNB": transaction.start_scn & 0xFFFFFFFF,
            "START_SCNW": transaction.start_scn >> 32,
            "SES_ADDR": transaction.sid.to_bytes(8, "big"),
            "FLAG": _SERIALIZABLE if transaction.snapshot is not None else 0,
            "NAME": transaction.name,
            "USED_UBLK": 1 + len(transaction.undo) // 64,
            "USED_UREC": len(transaction.undo),
            "START_DATE": date(transaction.start_time),
            "START_SCN": transaction.start_scn,
            "XID": transaction.xid_bytes,
            "PRV_XID": bytes(8),
            "PTX_XID": bytes(8),
            "CON_ID": transaction.container,
        }


def _in_doubt(session: ViewSession) -> Iterator[Row]:
    """DBA_2PC_PENDING: the transactions of the session's container that are in doubt."""
    for transaction in session.database.transactions.in_doubt(session.container):
        began = date(transaction.start_time)
        yield {
            "LOCAL_TRAN_ID": transaction.local_id,
            "GLOBAL_TRAN_ID": f"SANDBOX.{transaction.stamp:x}.{transaction.local_id}",
            "FAIL_TIME": began,
            "RETRY_TIME": began,
            "DB_USER": transaction.user,
        }


def _locks(session: ViewSession) -> Iterator[Row]:
    """V$LOCK, of the containers that the session `sees`. TM: a table; ID1 is its object. TX: a transaction; ID1
    and ID2 are its XID, and who waits for it requests it."""
    now = session.database.clock.now()
    with session.database.storage.lock:
        waits = session.database.storage.locks.waiting()
        held = session.database.storage.locks.all_held()
        open_ = list(session.database.transactions.open())
    found: list[tuple[Transaction, str, int, int, int, int]] = [
        (one, "TM", object_id, 0, mode, 0) for object_id, one, mode in held
    ]
    for transaction in open_:
        if transaction.active:
            found.append((transaction, "TX", *_enqueue(transaction), EXCLUSIVE, 0))
    found += [(waiter, "TX", *_enqueue(blocker), 0, EXCLUSIVE) for waiter, blocker in waits]
    blocking = {blocker.stamp for _, blocker in waits}
    for transaction, kind, first, second, mode, request in found:
        if not sees(session, transaction.container):
            continue
        yield {
            "ADDR": transaction.stamp.to_bytes(8, "big"),
            "KADDR": transaction.stamp.to_bytes(8, "big"),
            "SID": transaction.sid,
            "TYPE": kind,
            "ID1": first,
            "ID2": second,
            "LMODE": mode,
            "REQUEST": request,
            "CTIME": max(0, int(now - transaction.start_time)),
            "BLOCK": int(kind == "TX" and not request and transaction.stamp in blocking),
            "CON_ID": transaction.container,
        }


def _enqueue(transaction: Transaction) -> tuple[int, int]:
    usn, slot, sequence = transaction.xid
    return usn << 16 | slot, sequence


def _status(session: SqlSession) -> str:
    if session.client.killed:
        return "KILLED"
    return "ACTIVE" if session.client.running else "INACTIVE"


def _sessions(session: ViewSession) -> Iterator[Row]:
    open_by_sid = {transaction.sid: transaction for transaction in session.database.transactions.open()}
    for other in list(session.database.sessions.values()):
        if not sees(session, other.container):
            continue
        transaction = open_by_sid.get(other.sid)
        yield {
            "SADDR": other.sid.to_bytes(8, "big"),
            "PADDR": _process_address(other),
            "SID": other.sid,
            "SERIAL#": other.serial,
            "AUDSID": 100_000 + other.sid,
            "USERNAME": other.user,
            "TADDR": f"{transaction.stamp:016X}" if transaction is not None else None,
            "STATUS": _status(other),
            "SCHEMANAME": other.schema,
            "OSUSER": other.details.get("osuser"),
            "PROCESS": other.details.get("pid"),
            "MACHINE": other.details.get("machine"),
            "TERMINAL": other.details.get("terminal"),
            "PROGRAM": other.details.get("program"),
            "MODULE": other.settings.module or other.details.get("program"),
            "ACTION": other.settings.action,
            "CLIENT_INFO": other.settings.client_info,
            "LOGON_TIME": date(other.logon_time),
            "SERVICE_NAME": other.service,
            "CLIENT_IDENTIFIER": other.client.client_id,
            "CON_ID": other.container,
        }


def _processes(session: ViewSession) -> Iterator[Row]:
    """V$PROCESS: one server process for each session, of all containers."""
    for other in list(session.database.sessions.values()):
        yield {
            "ADDR": _process_address(other),
            "PID": other.sid,
            "SOSID": str(os.getpid()),
            "SPID": str(os.getpid()),
            "STID": str(other.sid),
            "PNAME": None,
            "SERIAL#": other.serial,
            "BACKGROUND": None,
            "PGA_USED_MEM": other.pga,
            "PGA_ALLOC_MEM": other.pga,
            "PGA_MAX_MEM": other.pga,
            "CON_ID": other.container,
        }


def _statements(session: ViewSession) -> Iterator[Row]:
    """V$SQLAREA. Times are microseconds. Of statements that were first run in a container that the session `sees`."""
    for cost in session.database.sql_area.costs():
        if sees(session, cost.container):
            yield {
                "SQL_TEXT": cost.text,
                "SQL_ID": cost.sql_id,
                "EXECUTIONS": cost.executions,
                "FETCHES": cost.fetches,
                "ROWS_PROCESSED": cost.rows,
                "ELAPSED_TIME": cost.elapsed // 1000,
                "CPU_TIME": cost.cpu // 1000,
                "PARSING_SCHEMA_NAME": cost.schema,
                "MODULE": cost.module,
                "CON_ID": cost.container,
            }


def _process_address(session: SqlSession) -> bytes:
    """The address that joins V$SESSION.PADDR to V$PROCESS.ADDR."""
    return (1 << 32 | session.sid).to_bytes(8, "big")


def _with_instance(rows: Iterator[Row]) -> Iterator[Row]:
    return ({"INST_ID": 1, **row} for row in rows)


VIEWS: tuple[View, ...] = (
    view("V$SQLAREA", _SQL_AREA, _statements),
    view("V$PROCESS", _PROCESS, _processes),
    view("V$TRANSACTION", _TRANSACTION, _transactions),
    view("GV$TRANSACTION", "INST_ID N, " + _TRANSACTION, lambda session: _with_instance(_transactions(session))),
    view("DBA_2PC_PENDING", _PENDING, _in_doubt),
    view("V$SESSION", _SESSION, _sessions),
    view("V$LOCK", _LOCK, _locks),
    view("GV$LOCK", "INST_ID N, " + _LOCK, lambda session: _with_instance(_locks(session))),
    view("GV$SESSION", "INST_ID N, " + _SESSION, lambda session: _with_instance(_sessions(session))),
)
