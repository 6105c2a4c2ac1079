"""DBMS_ALERT: messages between sessions that a COMMIT delivers (PL/SQL Packages and Types Reference, DBMS_ALERT).

    SIGNAL: the transaction takes the alert's lock, others that signal it wait -> COMMIT: each registered session has the message

A session sees the last message of each alert that it is registered for. A rollback, also to a savepoint, takes signals back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from minercdc_sandbox.arguments import Arguments, Out, procedures
from minercdc_sandbox.interfaces import Argument, OraError, OraType
from minercdc_sandbox.sql import number
from minercdc_sandbox.storage.transactions import Transaction
from minercdc_sandbox.view_session import ViewSession

_FOREVER = 86_400_000.0
_LONGEST = {"NAME": 30, "MESSAGE": 1800}


@dataclass(slots=True)
class Alerts:
    """The alerts of one container: who is registered for which, and the messages that wait for them. They are lost with the
    server process. Call its methods with the storage locked.

    :param registered: by session id, then by name of an alert: the one message that waits, None for NULL; an empty list for none.
    :param signalling: by name of an alert, the open transaction that has signalled it last; it holds the alert's lock.
    """

    registered: dict[int, dict[str, list[str | None]]] = field(default_factory=dict)
    signalling: dict[str, Transaction] = field(default_factory=dict)

    def deliver(self, transaction: Transaction, *, committed: bool) -> None:
        """At the end of a transaction: with `committed` its signals replace the messages that wait in the registered sessions,
        otherwise they are lost. The alerts that it held are free again. The caller wakes the threads that wait."""
        for _, name, message in transaction.signals if committed else ():
            for names in self.registered.values():
                if name in names:
                    names[name] = [message]
        for name in [name for name, one in self.signalling.items() if one is transaction]:
            del self.signalling[name]

    def forget(self, sid: int) -> None:
        """Forget a session that has ended. Does nothing for an unknown one."""
        self.registered.pop(sid, None)


def _alerts(session: ViewSession) -> Alerts:
    found = session.storage.alerts.setdefault(session.container, Alerts())
    assert isinstance(found, Alerts)
    return found


def _name(arguments: Arguments) -> str:
    name = arguments.text("NAME").upper()
    if len(name.encode()) > _LONGEST["NAME"]:
        raise OraError(6502, "PL/SQL: numeric or value error: character string buffer too small")
    return name


def _register(session: ViewSession, arguments: Arguments) -> None:
    session.programs.check_command("COMMIT")
    with session.storage.lock:
        session.commit()
        _alerts(session).registered.setdefault(session.sid, {}).setdefault(_name(arguments), [])


def _remove(session: ViewSession, arguments: Arguments) -> None:
    session.programs.check_command("COMMIT")
    with session.storage.lock:
        session.commit()
        _alerts(session).registered.get(session.sid, {}).pop(_name(arguments), None)


def _remove_all(session: ViewSession, arguments: Arguments) -> None:
    session.programs.check_command("COMMIT")
    with session.storage.lock:
        session.commit()
        _alerts(session).registered.pop(session.sid, None)


def _signal(session: ViewSession, arguments: Arguments) -> None:
    name = _name(arguments)
    message = arguments.value("MESSAGE")
    text = None if message is None else str(message)
    if text is not None and len(text.encode()) > _LONGEST["MESSAGE"]:
        raise OraError(6502, "PL/SQL: numeric or value error: character string buffer too small")
    storage, client = session.storage, session.client
    with storage.lock:
        alerts = _alerts(session)
        storage.start(client)
        transaction = client.transaction
        assert transaction is not None
        while (other := alerts.signalling.get(name)) is not None and other is not transaction:
            storage.locks.wait(client, other, None)
        alerts.signalling[name] = transaction
        transaction.signals.append((len(transaction.undo), name, text))


def _wait(session: ViewSession, arguments: Arguments, only: str | None) -> tuple[str | None, str | None, int]:
    """Commit the session's transaction, then wait for a message of one alert, or of any that the session is registered for with
    `only` None.

    Returns name, message and status: 0 for a message, which is then gone, 1 after TIMEOUT seconds, with name and message None.
    Without TIMEOUT it waits 1000 days. It never gets a message of an alert that the session is not registered for. Raises
    ORA-20000 (ORU-10024) for any alert without a registration, ORA-01013 on cancel, ORA-00028 when the session is killed, and as
    COMMIT and `Arguments.number`.
    """
    seconds = arguments.number("TIMEOUT")
    deadline = time.monotonic() + (_FOREVER if seconds is None else seconds)
    storage = session.storage
    session.programs.check_command("COMMIT")
    with storage.lock:
        session.commit()
        names = _alerts(session).registered.get(session.sid, {})
        if only is None and not names:
            raise OraError(20000, "ORU-10024: there are no alerts registered.")
        while True:
            for name, waiting in names.items():
                if waiting and only in (None, name):
                    return name, waiting.pop(), 0
            left = deadline - time.monotonic()
            if left <= 0:
                return None, None, 1
            session.client.check()
            session.check_alive()
            storage.lock.wait(min(left, 1.0))


def _text(value: str | None) -> Argument:
    return Argument(value, OraType.VARCHAR2)


def _wait_one(session: ViewSession, arguments: Arguments) -> Out:
    _, message, status = _wait(session, arguments, _name(arguments))
    return {"MESSAGE": _text(message), "STATUS": Argument(number.integer(status), OraType.NUMBER)}


def _wait_any(session: ViewSession, arguments: Arguments) -> Out:
    name, message, status = _wait(session, arguments, None)
    return {"NAME": _text(name), "MESSAGE": _text(message), "STATUS": Argument(number.integer(status), OraType.NUMBER)}


PROCEDURES = procedures(
    {
        "DBMS_ALERT.REGISTER": (("NAME", "CLEANUP"), _register),
        "DBMS_ALERT.REMOVE": (("NAME",), _remove),
        "DBMS_ALERT.REMOVEALL": ((), _remove_all),
        "DBMS_ALERT.SET_DEFAULTS": (("SENSITIVITY",), lambda session, arguments: None),
        "DBMS_ALERT.SIGNAL": (("NAME", "MESSAGE"), _signal),
        "DBMS_ALERT.WAITANY": (("NAME", "MESSAGE", "STATUS", "TIMEOUT"), _wait_any),
        "DBMS_ALERT.WAITONE": (("NAME", "MESSAGE", "STATUS", "TIMEOUT"), _wait_one),
    }
)
"""The package's procedures by qualified name."""

CONSTANTS = {"DBMS_ALERT.MAXWAIT": int(_FOREVER)}
