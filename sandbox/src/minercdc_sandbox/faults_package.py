"""Package DBMS_SANDBOX: faults by SQL, so that tests in any language can cause them. Oracle has nothing of the kind.

    call dbms_sandbox.fail_call(1555, at => 'fetch', matching => 'V$LOGMNR_CONTENTS', nth => 3)
    call dbms_sandbox.drop_connection(at => 'commit', username => 'APP')
    call dbms_sandbox.delay_call(0.5, at => 'execute', times => 0)
    call dbms_sandbox.clear_faults()
    call dbms_sandbox.corrupt_log(1, 17)         records from the middle of the log on cannot be read: ORA-00353
    call dbms_sandbox.purge_log(1, 17)           deleted by RMAN: status D, no file
    call dbms_sandbox.remove_log(1, 17)          deleted by hand: the catalog still lists it, ORA-01284 when it is added
    call dbms_sandbox.hold_strand('APP')         APP's redo stays in its private strand until its transaction ends, a log switch, or ..
    call dbms_sandbox.release_strand('APP')
    call dbms_sandbox.start_late('APP')          START of APP's next transaction follows its first change
    call dbms_sandbox.start_phantom()            a START whose XID is all zero, and which nothing ends
    call dbms_sandbox.leave_in_doubt('APP')      APP's open transactions are prepared, and lost by their sessions: COMMIT FORCE ends them
    call dbms_sandbox.meet_commits(2)            the next two commits wait for each other and take one SCN
    call dbms_sandbox.hide_addresses('APP')      RS_ID of the undo rows of APP's transactions is all zeros, as of some in the field, until ..
    call dbms_sandbox.show_addresses('APP')
    call dbms_sandbox.close_thread(2)            that instance goes down: its sessions are killed, its redo thread closed
    call dbms_sandbox.open_thread(2)
    call dbms_sandbox.reset_logs()               as after an incomplete recovery: other sessions killed, log sequences from 1 on
    call dbms_sandbox.reset_pdb('ORCLPDB1')      as after its recovery and OPEN RESETLOGS: its sessions killed, a new incarnation; its rows stay
    call dbms_sandbox.jump_clock(3600)           host time moves by as many seconds
    call dbms_sandbox.grow_pga('APP', 1000000)   the views show as many bytes more for each session APP has now
    call dbms_sandbox.open_standby()             a physical standby, opened read only: service ORCLSTBY of the root
    call dbms_sandbox.open_standby(1)            .. with real-time apply: what is in no archived log yet is applied, too
    call dbms_sandbox.stall_apply()              redo of now on reaches it, and is not applied until ..
    call dbms_sandbox.resume_apply()
    call dbms_sandbox.switch_over()              the roles are exchanged; all other sessions are killed
    call dbms_sandbox.open_downstream()          a downstream database, open read write: service ORCLMINE of its root; logs are shipped to it
    call dbms_sandbox.stall_shipping()           logs that are archived from now on do not reach it until ..
    call dbms_sandbox.resume_shipping()
    call dbms_sandbox.hold_log(1, 17)            this one does not reach it, others do, until shipping is resumed
    call dbms_sandbox.ship_other(1, 17)          it receives a log of a third database, with the numbers and SCNs of this one
    call dbms_sandbox.purge_foreign_log(1, 17)   deleted there by RMAN
    call dbms_sandbox.crash()                    the server process ends at once, as by kill -9

Only SYS and users with DBA or ALL PRIVILEGES may call it (ORA-01031).
"""

from __future__ import annotations

import os
import signal

from minercdc_sandbox.arguments import Arguments, Body, Out, procedures
from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.downstream import ForeignLogs
from minercdc_sandbox.faults import Fault
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.execution import applied_scn
from minercdc_sandbox.view_session import ViewSession

_CALL = ("AT", "MATCHING", "USERNAME", "NTH", "TIMES")


def _add_fault(
    session: ViewSession, arguments: Arguments, *, code: int = 0, drop: bool = False, seconds: float = 0.0
) -> None:
    def text(name: str) -> str:
        return arguments.text(name) if arguments.has(name) else ""

    nth, times = arguments.integer("NTH"), arguments.integer("TIMES")
    call = (text("MATCHING"), text("USERNAME").upper(), 1 if nth is None else nth, 1 if times is None else times)
    try:
        fault = Fault(text("AT").lower() or "execute", code, drop, seconds, *call)
    except ValueError as error:
        raise OraError(20000, str(error)) from None
    session.database.faults.add(fault)


def _fail_call(session: ViewSession, arguments: Arguments) -> None:
    code = arguments.integer("CODE")
    if code is None:
        raise OraError(20000, "FAIL_CALL needs the number of an ORA- error")
    _add_fault(session, arguments, code=abs(code))


def _user(arguments: Arguments) -> str:
    return arguments.text("USERNAME").upper()


def _log(arguments: Arguments) -> tuple[int, int]:
    thread, sequence = arguments.integer("THREAD"), arguments.integer("SEQUENCE")
    if thread is None or sequence is None:
        raise OraError(20000, "a log is named by thread and sequence")
    return thread, sequence


def _delete_log(session: ViewSession, arguments: Arguments, *, by_rman: bool) -> None:
    if session.database.shipped is not None:
        session.database.shipped.receive()
    with session.storage.lock:
        session.database.redo.delete_archived(*_log(arguments), by_rman=by_rman)
        session.storage.free_lobs()


def _locked(body: Body) -> Body:
    def run(session: ViewSession, arguments: Arguments) -> Out:
        with session.storage.lock:
            return body(session, arguments)

    return run


def _meet_commits(session: ViewSession, arguments: Arguments) -> None:
    session.storage.meet(arguments.integer("COMMITS") or 0)


def _leave_in_doubt(session: ViewSession, arguments: Arguments) -> None:
    """As after a crash between the two phases of a commit. A query shows rows as they were before (Oracle: ORA-01591)."""
    username = _user(arguments)
    for other in list(session.database.sessions.values()):
        transaction = other.client.transaction
        if other.user == username and transaction is not None and transaction.active:
            session.storage.strands.bind(transaction)
            transaction.in_doubt, other.client.transaction = True, None


def _grow_pga(session: ViewSession, arguments: Arguments) -> None:
    username, count = _user(arguments), arguments.integer("BYTES")
    for other in list(session.database.sessions.values()):
        if other.user == username:
            other.pga += count or 0


def _close_thread(session: ViewSession, arguments: Arguments) -> None:
    thread = arguments.integer("THREAD") or 0
    for other in list(session.database.sessions.values()):
        if other.client.thread == thread:
            other.kill()
    with session.storage.lock:
        session.database.redo.close_thread(thread)


def _open_standby(session: ViewSession, arguments: Arguments) -> None:
    standby = session.database.standby
    standby.is_open, standby.real_time = True, bool(arguments.integer("REAL_TIME"))


def _stall_apply(session: ViewSession, arguments: Arguments) -> None:
    session.database.standby.stalled_at = applied_scn(session.database)


def _resume_apply(session: ViewSession, arguments: Arguments) -> None:
    session.database.standby.stalled_at = None


def _switch_over(session: ViewSession, arguments: Arguments) -> None:
    standby = session.database.standby
    if not standby.is_open:
        raise OraError(20000, "OPEN_STANDBY first: there is no standby")
    for other in list(session.database.sessions.values()):
        if other.sid != session.sid:
            other.kill()
    standby.switched = not standby.switched


def _open_downstream(session: ViewSession, arguments: Arguments) -> None:
    with session.storage.lock:
        session.database.open_downstream()


def _shipped(session: ViewSession) -> ForeignLogs:
    if session.database.shipped is None:
        raise OraError(20000, "OPEN_DOWNSTREAM first: there is no downstream database")
    session.database.shipped.receive()
    return session.database.shipped


def _stall_shipping(session: ViewSession, arguments: Arguments) -> None:
    _shipped(session).stalled = True


def _resume_shipping(session: ViewSession, arguments: Arguments) -> None:
    shipped = _shipped(session)
    shipped.stalled = False
    shipped.held.clear()


def _reset_logs(session: ViewSession, arguments: Arguments) -> None:
    if session.in_transaction():
        raise OraError(20000, "commit or roll back first")
    for other in list(session.database.sessions.values()):
        if other.sid != session.sid:
            other.kill()
    with session.storage.lock:
        session.database.redo.reset_logs()
        session.storage.free_lobs()


def _reset_pdb(session: ViewSession, arguments: Arguments) -> None:
    name = arguments.text("NAME").upper()
    found = [one for one in session.catalog.containers.values() if one.name == name and one.con_id > ROOT]
    if not found:
        raise OraError(65011, f"Pluggable database {name} does not exist.")
    [pdb] = found
    for other in list(session.database.sessions.values()):
        if other.container == pdb.con_id:
            other.kill()
    with session.storage.lock:
        back_to = session.database.clock.current
        pdb.resets.append((back_to, session.database.clock.advance(), session.database.clock.advance()))


_BODIES: dict[str, tuple[tuple[str, ...], Body]] = {
    "FAIL_CALL": (("CODE", *_CALL), _fail_call),
    "DROP_CONNECTION": (_CALL, lambda s, a: _add_fault(s, a, drop=True)),
    "DELAY_CALL": (("SECONDS", *_CALL), lambda s, a: _add_fault(s, a, seconds=a.number("SECONDS") or 0.0)),
    "CLEAR_FAULTS": ((), lambda s, a: s.database.faults.clear()),
    "CORRUPT_LOG": (("THREAD", "SEQUENCE"), lambda s, a: s.database.redo.corrupt.add(_log(a))),
    "PURGE_LOG": (("THREAD", "SEQUENCE"), lambda s, a: _delete_log(s, a, by_rman=True)),
    "REMOVE_LOG": (("THREAD", "SEQUENCE"), lambda s, a: _delete_log(s, a, by_rman=False)),
    "HOLD_STRAND": (("USERNAME",), lambda s, a: s.storage.strands.holding.add(_user(a))),
    "RELEASE_STRAND": (("USERNAME",), _locked(lambda s, a: s.storage.strands.release(_user(a)))),
    "START_LATE": (("USERNAME",), lambda s, a: s.storage.strands.starting_late.add(_user(a))),
    "START_PHANTOM": ((), _locked(lambda s, a: s.storage.strands.start_phantom(s.client))),
    "LEAVE_IN_DOUBT": (("USERNAME",), _locked(_leave_in_doubt)),
    "MEET_COMMITS": (("COMMITS",), _meet_commits),
    "HIDE_ADDRESSES": (("USERNAME",), lambda s, a: s.database.redo.addressless.add(_user(a))),
    "SHOW_ADDRESSES": (("USERNAME",), lambda s, a: s.database.redo.addressless.discard(_user(a))),
    "GROW_PGA": (("USERNAME", "BYTES"), _grow_pga),
    "CLOSE_THREAD": (("THREAD",), _close_thread),
    "OPEN_THREAD": (("THREAD",), _locked(lambda s, a: s.database.redo.open_thread(a.integer("THREAD") or 0))),
    "JUMP_CLOCK": (("SECONDS",), lambda s, a: s.database.clock.jump(a.number("SECONDS") or 0.0)),
    "RESET_LOGS": ((), _reset_logs),
    "RESET_PDB": (("NAME",), _reset_pdb),
    "OPEN_STANDBY": (("REAL_TIME",), _open_standby),
    "STALL_APPLY": ((), _stall_apply),
    "RESUME_APPLY": ((), _resume_apply),
    "SWITCH_OVER": ((), _switch_over),
    "OPEN_DOWNSTREAM": ((), _open_downstream),
    "STALL_SHIPPING": ((), _stall_shipping),
    "RESUME_SHIPPING": ((), _resume_shipping),
    "HOLD_LOG": (("THREAD", "SEQUENCE"), lambda s, a: _shipped(s).held.add(_log(a))),
    "SHIP_OTHER": (("THREAD", "SEQUENCE"), lambda s, a: _shipped(s).receive_other(*_log(a))),
    "PURGE_FOREIGN_LOG": (("THREAD", "SEQUENCE"), lambda s, a: _shipped(s).purge(*_log(a))),
    "CRASH": ((), lambda s, a: os.kill(os.getpid(), signal.SIGKILL)),
}


def _allowed(body: Body) -> Body:
    def run(session: ViewSession, arguments: Arguments) -> Out:
        user = session.catalog.user(session.container, session.user)
        if user is None or not (session.user == "SYS" or user.has("DBA")):
            raise OraError(1031, "insufficient privileges")
        return body(session, arguments)

    return run


PROCEDURES = procedures({f"DBMS_SANDBOX.{name}": (names, _allowed(body)) for name, (names, body) in _BODIES.items()})
"""The package's procedures by qualified name."""
