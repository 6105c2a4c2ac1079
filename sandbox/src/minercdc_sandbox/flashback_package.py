"""DBMS_FLASHBACK: a session's queries see the database as of an SCN until DISABLE."""

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
    """Raises ORA-08181, 08183, 08184, 01555."""
    scn = arguments.integer("QUERY_SCN")
    if scn is None or not 0 < scn <= session.database.clock.current:
        raise OraError(8181, "specified number is not a valid system change number")
    _enable(session, scn)


def _enable_at_time(session: ViewSession, arguments: Arguments) -> None:
    """Raises ORA-01282, 08180, 08183, 08184, 08186, 01555."""
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
