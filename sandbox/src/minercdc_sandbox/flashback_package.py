"""DBMS_FLASHBACK: a session's queries see the database as of an SCN, until it says otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minercdc_sandbox.arguments import Arguments
from minercdc_sandbox.interfaces import Argument, OraError, Procedure, Session
from minercdc_sandbox.view_session import as_view_session


def _enable(session: Session, scn: int) -> None:
    client = as_view_session(session)
    if client.settings.flashback_scn is not None:
        raise OraError(8184, "attempting to re-enable Flashback while in Flashback mode")
    if client.in_transaction():
        raise OraError(8183, "Flashback cannot be enabled in the middle of a transaction")
    client.database.storage.check_snapshot(scn)
    client.settings.flashback_scn = scn


def _enable_at_scn(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """ENABLE_AT_SYSTEM_CHANGE_NUMBER(query_scn). Raises ORA-08181, 08183, 08184, 01555."""
    scn = Arguments("ENABLE_AT_SYSTEM_CHANGE_NUMBER", ("QUERY_SCN",), given, named).integer("QUERY_SCN")
    current = as_view_session(session).database.clock.current
    if scn is None or not 0 < scn <= current:
        raise OraError(8181, "specified number is not a valid system change number")
    _enable(session, scn)


def _enable_at_time(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """ENABLE_AT_TIME(query_time). Raises ORA-08180, 08183, 08184, 08186, 01555."""
    seconds = Arguments("ENABLE_AT_TIME", ("QUERY_TIME",), given, named).seconds("QUERY_TIME")
    if seconds is None:
        raise OraError(8186, "invalid timestamp specified")
    _enable(session, as_view_session(session).database.clock.scn_at(seconds))


def _disable(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    Arguments("DISABLE", (), given, named)
    as_view_session(session).settings.flashback_scn = None


PROCEDURES: dict[str, Procedure] = {
    "DBMS_FLASHBACK.ENABLE_AT_SYSTEM_CHANGE_NUMBER": _enable_at_scn,
    "DBMS_FLASHBACK.ENABLE_AT_TIME": _enable_at_time,
    "DBMS_FLASHBACK.DISABLE": _disable,
}
"""The package's procedures by qualified name."""
