"""SYS_CONTEXT('USERENV', ..): values of a session by name."""

from __future__ import annotations

from minercdc_sandbox.catalog import ROOT
from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.standby import SERVICE


def session_value(session: SqlSession, name: str) -> str | None:
    """The value of one parameter of USERENV, named in upper case; None when it has none. Raises ORA-02003 for an unknown name."""
    container = session.catalog.containers[session.container]
    values: dict[str, str | None] = {
        "CON_NAME": container.name,
        "CON_ID": str(container.con_id),
        "DB_NAME": session.catalog.database_name if session.container == ROOT else container.name,
        "CDB_NAME": session.catalog.database_name,
        "DB_UNIQUE_NAME": SERVICE if session.on_standby else session.catalog.database_name,
        "INSTANCE_NAME": session.catalog.instance_name,
        "INSTANCE": "1",
        "SERVICE_NAME": session.service,
        "SESSION_USER": session.user,
        "CURRENT_USER": session.user,
        "PROXY_USER": session.details.get("proxy"),
        "SESSION_USERID": str(user_id(session)),
        "CURRENT_SCHEMA": session.schema,
        "SID": str(session.sid),
        "SESSIONID": str(100_000 + session.sid),
        "AUDITED_CURSORID": None,
        "HOST": session.details.get("machine"),
        "OS_USER": session.details.get("osuser"),
        "TERMINAL": session.details.get("terminal"),
        "MODULE": session.settings.module or session.details.get("program"),
        "ACTION": session.settings.action,
        "CLIENT_INFO": session.settings.client_info,
        "CLIENT_IDENTIFIER": session.client.client_id,
        "CLIENT_PROGRAM_NAME": session.details.get("program"),
        "CLOUD_SERVICE": None,
        "DATABASE_ROLE": "PHYSICAL STANDBY" if session.on_standby else "PRIMARY",
        "ISDBA": "TRUE" if session.user == "SYS" else "FALSE",
        "LANGUAGE": "AMERICAN_AMERICA.AL32UTF8",
        "LANG": "US",
        "NLS_DATE_FORMAT": session.settings.nls.date_format,
        "NLS_TERRITORY": session.settings.nls.territory,
        "SERVER_HOST": "sandbox",
        "IP_ADDRESS": "127.0.0.1",
        "NETWORK_PROTOCOL": "tcp",
    }
    if name not in values:
        raise OraError(2003, "invalid USERENV parameter")
    return values[name]


def user_id(session: SqlSession) -> int:
    """USER_ID of the session's user; -1 when the user is gone."""
    user = session.catalog.user(session.container, session.user)
    return user.user_id if user is not None else -1
