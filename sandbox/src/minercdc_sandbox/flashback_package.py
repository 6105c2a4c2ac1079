"""DBMS_FLASHBACK: a session's queries see the database as of an SCN until DISABLE; it may change nothing until then
(`execution.check_writable`)."""

from __future__ import annotations

from minercdc_sandbox.arguments import Arguments, procedures
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.view_session import ViewSession


def _enable(session: ViewSession, scn: int) -> None:
    if session.settings.flashback_scn is not None:
        raise OraError(8184, "attempting to re-enable Flashback while in Flashback mode")
    if session.in_transaction():
        raise OraError(8183, "Flashback cannot be enabled in the middle of a transaction")
    session.database.storage.check_snapshot(scn)
    session.settings.flashback_scn = scn


def _enable_at_scn(session: ViewSession, arguments: Arguments) -> None:
    """ENABLE_AT_SYSTEM_CHANGE_NUMBER. Raises ORA-08181 for NULL, an SCN below 1 and a future one, ORA-08184 in Flashback mode,
    ORA-08183 in a transaction, ORA-01555 for an SCN before the undo retention, and as `Arguments.integer`."""
    scn = arguments.integer("QUERY_SCN")
    if scn is None or not 0 < scn <= session.database.clock.current:
        raise OraError(8181, "specified number is not a valid system change number")
    _enable(session, scn)


def _enable_at_time(session: ViewSession, arguments: Arguments) -> None:
    """ENABLE_AT_TIME, at the SCN of `ScnClock.scn_at`. Raises ORA-08186 for NULL, ORA-08180 for a time before the database or in
    the future, ORA-08184 in Flashback mode, ORA-08183 in a transaction, ORA-01555 for a time before the undo retention, and as
    `Arguments.seconds`."""
    seconds = arguments.seconds("QUERY_TIME")
    if seconds is None:
        raise OraError(8186, "invalid timestamp specified")
    _enable(session, session.database.clock.scn_at(seconds))


def _disable(session: ViewSession, arguments: Arguments) -> None:
    session.settings.flashback_scn = None


PROCEDURES = procedures(
    {
        "DBMS_FLASHBACK.ENABLE_AT_SYSTEM_CHANGE_NUMBER": (("QUERY_SCN",), _enable_at_scn),
        "DBMS_FLASHBACK.ENABLE_AT_TIME": (("QUERY_TIME",), _enable_at_time),
        "DBMS_FLASHBACK.DISABLE": ((), _disable),
    }
)
"""The package's procedures by qualified name."""
