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
    call dbms_sandbox.meet_commits(2)            the next two commits wait for each other and take one SCN
    call dbms_sandbox.hide_addresses('APP')      RS_ID of the undo rows of APP's transactions is all zeros, as of some in the field, until ..
    call dbms_sandbox.show_addresses('APP')
    call dbms_sandbox.close_thread(2)            that instance goes down: its sessions are killed, its redo thread closed
    call dbms_sandbox.open_thread(2)
    call dbms_sandbox.reset_logs()               as after an incomplete recovery: sessions are killed, log sequences begin again at 1
    call dbms_sandbox.jump_clock(3600)           host time moves by as many seconds
    call dbms_sandbox.grow_pga('APP', 1000000)   the views show as many bytes more for each session APP has now
    call dbms_sandbox.crash()                    the server process ends at once, as by kill -9

Only SYS and users with DBA may call it (ORA-01031).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence

from minercdc_sandbox.arguments import Arguments
from minercdc_sandbox.faults import Fault
from minercdc_sandbox.interfaces import Argument, OraError, Procedure, Session
from minercdc_sandbox.storage.commit_meeting import CommitMeeting
from minercdc_sandbox.view_session import as_view_session

_CALL = ("AT", "MATCHING", "USERNAME", "NTH", "TIMES")


def _fault(arguments: Arguments, at: str, *, code: int = 0, drop: bool = False, seconds: float = 0.0) -> Fault:
    def text(name: str) -> str:
        return arguments.text(name) if arguments.has(name) else ""

    nth, times = arguments.integer("NTH"), arguments.integer("TIMES")
    try:
        return Fault(
            text("AT").lower() or at,
            code,
            drop,
            seconds,
            text("MATCHING"),
            text("USERNAME").upper(),
            1 if nth is None else nth,
            1 if times is None else times,
        )
    except ValueError as error:
        raise OraError(20000, str(error)) from None


def _allowed(session: Session) -> None:
    client = as_view_session(session)
    user = client.database.catalog.user(client.container, client.user)
    if user is None or not (client.user == "SYS" or user.has("DBA")):
        raise OraError(1031, "insufficient privileges")


def _fail_call(session: Session, arguments: Arguments) -> None:
    code = arguments.integer("CODE")
    if code is None:
        raise OraError(20000, "FAIL_CALL needs the number of an ORA- error")
    as_view_session(session).database.faults.add(_fault(arguments, "execute", code=abs(code)))


def _drop_connection(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.faults.add(_fault(arguments, "execute", drop=True))


def _delay_call(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.faults.add(_fault(arguments, "execute", seconds=arguments.number("SECONDS") or 0.0))


def _clear_faults(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.faults.clear()


def _log(arguments: Arguments) -> tuple[int, int]:
    thread, sequence = arguments.integer("THREAD"), arguments.integer("SEQUENCE")
    if thread is None or sequence is None:
        raise OraError(20000, "a log is named by thread and sequence")
    return thread, sequence


def _corrupt_log(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.redo.corrupt.add(_log(arguments))


def _purge_log(session: Session, arguments: Arguments) -> None:
    database = as_view_session(session).database
    with database.storage.lock:
        database.redo.delete_archived(*_log(arguments))
        database.storage.free_lobs()


def _remove_log(session: Session, arguments: Arguments) -> None:
    database = as_view_session(session).database
    with database.storage.lock:
        database.redo.remove_archived(*_log(arguments))
        database.storage.free_lobs()


def _hold_strand(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.storage.strands.holding.add(arguments.text("USERNAME").upper())


def _release_strand(session: Session, arguments: Arguments) -> None:
    storage = as_view_session(session).database.storage
    with storage.lock:
        storage.strands.release(arguments.text("USERNAME").upper())


def _start_late(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.storage.strands.starting_late.add(arguments.text("USERNAME").upper())


def _start_phantom(session: Session, arguments: Arguments) -> None:
    storage = as_view_session(session).database.storage
    with storage.lock:
        storage.strands.start_phantom(as_view_session(session).client)


def _meet_commits(session: Session, arguments: Arguments) -> None:
    storage = as_view_session(session).database.storage
    with storage.lock:
        storage.meeting = CommitMeeting(storage.lock, arguments.integer("COMMITS") or 0)


def _hide_addresses(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.redo.addressless.add(arguments.text("USERNAME").upper())


def _show_addresses(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.redo.addressless.discard(arguments.text("USERNAME").upper())


def _jump_clock(session: Session, arguments: Arguments) -> None:
    as_view_session(session).database.clock.jump(arguments.number("SECONDS") or 0.0)


def _grow_pga(session: Session, arguments: Arguments) -> None:
    username, count = arguments.text("USERNAME").upper(), arguments.integer("BYTES")
    for other in list(as_view_session(session).database.sessions.values()):
        if other.user == username:
            other.pga += count or 0


def _close_thread(session: Session, arguments: Arguments) -> None:
    database = as_view_session(session).database
    thread = arguments.integer("THREAD") or 0
    for other in list(database.sessions.values()):
        if other.client.thread == thread:
            other.kill()
    with database.storage.lock:
        database.redo.close_thread(thread)


def _open_thread(session: Session, arguments: Arguments) -> None:
    database = as_view_session(session).database
    with database.storage.lock:
        database.redo.open_thread(arguments.integer("THREAD") or 0)


def _reset_logs(session: Session, arguments: Arguments) -> None:
    database = as_view_session(session).database
    if as_view_session(session).in_transaction():
        raise OraError(20000, "commit or roll back first")
    for other in list(database.sessions.values()):
        if other.sid != session.sid:
            other.kill()
    with database.storage.lock:
        database.redo.reset_logs()
        database.storage.free_lobs()


def _crash(session: Session, arguments: Arguments) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


_PROCEDURES: dict[str, tuple[tuple[str, ...], Callable[[Session, Arguments], None]]] = {
    "FAIL_CALL": (("CODE", *_CALL), _fail_call),
    "DROP_CONNECTION": (_CALL, _drop_connection),
    "DELAY_CALL": (("SECONDS", *_CALL), _delay_call),
    "CLEAR_FAULTS": ((), _clear_faults),
    "CORRUPT_LOG": (("THREAD", "SEQUENCE"), _corrupt_log),
    "PURGE_LOG": (("THREAD", "SEQUENCE"), _purge_log),
    "REMOVE_LOG": (("THREAD", "SEQUENCE"), _remove_log),
    "HOLD_STRAND": (("USERNAME",), _hold_strand),
    "RELEASE_STRAND": (("USERNAME",), _release_strand),
    "START_LATE": (("USERNAME",), _start_late),
    "START_PHANTOM": ((), _start_phantom),
    "MEET_COMMITS": (("COMMITS",), _meet_commits),
    "HIDE_ADDRESSES": (("USERNAME",), _hide_addresses),
    "SHOW_ADDRESSES": (("USERNAME",), _show_addresses),
    "GROW_PGA": (("USERNAME", "BYTES"), _grow_pga),
    "CLOSE_THREAD": (("THREAD",), _close_thread),
    "OPEN_THREAD": (("THREAD",), _open_thread),
    "JUMP_CLOCK": (("SECONDS",), _jump_clock),
    "RESET_LOGS": ((), _reset_logs),
    "CRASH": ((), _crash),
}


def _procedure(name: str) -> Procedure:
    names, run = _PROCEDURES[name]

    def call(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
        _allowed(session)
        run(session, Arguments(name, names, given, named))

    return call


PROCEDURES: dict[str, Procedure] = {f"DBMS_SANDBOX.{name}": _procedure(name) for name in _PROCEDURES}
"""The package's procedures by qualified name."""
