"""Logon messages: authentication functions 118 and 115, alone or inside fast authentication.

    118 user, client's description   -> challenge
    115 proof, ALTER SESSION text    -> the server's proof and facts about the database
    115 old and new password         -> the password is changed (of an open session)

Fast authentication puts protocol, data types and function 118 into one message and gets one response.
"""

from __future__ import annotations

from collections.abc import Mapping

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.auth import Challenge, Pairs, SessionKey, WrongPassword
from minercdc_sandbox.wire.conversation import MAX_OPEN_CURSORS, Conversation
from minercdc_sandbox.wire.functions import read_function_header, version_number
from minercdc_sandbox.wire.negotiation import Ttc, data_types_reply, protocol_reply, settle_field_version
from minercdc_sandbox.wire.packets import ProtocolError
from minercdc_sandbox.wire.primitives import key_value, ub

PHASE_ONE, PHASE_TWO = 118, 115
_MAX_PAIRS = 200
_CLIENT = {
    "AUTH_PROGRAM_NM": "program",
    "AUTH_MACHINE": "machine",
    "AUTH_SID": "osuser",
    "AUTH_PID": "pid",
    "AUTH_TERMINAL": "terminal",
    "SESSION_CLIENT_DRIVER_NAME": "driver",
}


_SYSDBA = 0x20
_OTHER_ROLES = 0x40 | 0x400000 | 0x1000000 | 0x2000000 | 0x4000000 | 0x8000000
"""SYSOPER, SYSASM, SYSBACKUP, SYSDG, SYSKM, SYSRAC."""
_DENIED = OraError(1017, "invalid credential or not authorized; logon denied")


def _read_pairs(talk: Conversation) -> tuple[str, int, dict[str, str]]:
    """Read user, mode (bits of roles) and pairs of a logon message; the user is '' when none is sent. Raises ProtocolError for
    more than 200 pairs, and as `TtcReader`."""
    r = talk.reader
    has_user, size = r.u8(), r.ub()
    mode = r.ub()
    r.u8()  # pointer (pairs)
    count = r.ub()
    r.raw(2)  # pointers (out pairs, their count)
    if count > _MAX_PAIRS:
        raise ProtocolError(f"{count} pairs in a logon")
    user = talk.text(size) if has_user else ""
    pairs = {}
    for _ in range(count):
        key = r.dalc().rstrip(b"\0").decode("ascii", "replace")
        pairs[key] = r.dalc().decode("utf-8", "replace")
        r.ub()  # flags
    return user, mode, pairs


def _parameters(pairs: Pairs) -> bytes:
    return bytes((Ttc.PARAMETER,)) + ub(len(pairs)) + b"".join(key_value(*pair) for pair in pairs)


def _folded(name: str) -> str:
    return name[1:-1] if name.startswith('"') and name.endswith('"') else name.upper()


class Logon:
    """One client's logon, from its first call to the open session, and later changes of the password.

    :param service: that CONNECT named, upper case.
    """

    def __init__(self, talk: Conversation, service: str) -> None:
        self._talk = talk
        self._service = service
        self._user = ""
        self._client: Mapping[str, str] = {}
        self._challenge: Challenge | None = None
        self._key: SessionKey | None = None

    def fast(self) -> None:
        """Fast authentication: read the message after its first byte, agree on protocol and data types, and answer all of it at
        once with the challenge. Raises ProtocolError, and as `TtcReader`."""
        talk = self._talk
        r, offered = talk.reader, talk.agreed.field_version
        r.raw(3)
        if r.u8() != Ttc.PROTOCOL:
            raise ProtocolError("fast authentication without a protocol request")
        protocol = protocol_reply(r, talk.agreed)
        r.raw(5)
        talk.agreed.field_version = r.u8()  # of the embedded logon only
        if r.u8() != Ttc.DATA_TYPES:
            raise ProtocolError("fast authentication without data types")
        data_types = data_types_reply(r, talk.agreed)
        if r.u8() != Ttc.FUNCTION or read_function_header(talk) != PHASE_ONE:
            raise ProtocolError("fast authentication without a logon")
        user, _, pairs = _read_pairs(talk)
        talk.agreed.field_version = offered
        settle_field_version(talk.agreed)
        reply = talk.reply()
        reply.add(protocol, data_types)
        talk.finish(reply, self._begin(user, pairs))

    def phase_one(self) -> None:
        """Function 118: read user and client's description, and answer with a challenge, also for an unknown user. Raises
        ProtocolError for too many pairs, and as `TtcReader`."""
        user, _, pairs = _read_pairs(self._talk)
        body = self._begin(user, pairs)
        self._talk.finish(self._talk.reply(), body)

    def _begin(self, user: str, pairs: Mapping[str, str]) -> bytes:
        self._user = _folded(user)
        self._client = {name: pairs[key] for key, name in _CLIENT.items() if key in pairs}
        self._challenge = Challenge.begin(self._user, self._talk.database.password_of(self._user, self._service))
        return _parameters(self._challenge.pairs()) + replies.error(self._talk.call_end())

    def phase_two(self) -> None:
        """Function 115: open the session, unless it is open, set the new password, if there is one, and answer. Raises OraError
        when the password is wrong, when the logon is refused (the password then stays), and, with the session open, of the
        ALTER SESSION text; ConnectionLost as `Database.open_session`; ProtocolError for a proof without challenge and for too
        many pairs; and as `TtcReader`."""
        talk = self._talk
        _, mode, pairs = _read_pairs(talk)
        if talk.logged_on:
            self._change_password(pairs)
            return
        if self._challenge is None:
            raise ProtocolError("a proof before the challenge")
        challenge, self._challenge = self._challenge, None
        try:
            self._key = challenge.accept(pairs)
            new = self._key.password(pairs, "AUTH_NEWPASSWORD") if "AUTH_NEWPASSWORD" in pairs else None
        except WrongPassword:
            raise _DENIED from None
        self._check_wishes(mode, pairs)
        proved = self._user
        if client := pairs.get("PROXY_CLIENT_NAME", "").rstrip(
            "\0"
        ):  # this user's password was given; the session is the client's
            self._client = {**self._client, "proxy": proved}
            self._user = _folded(client)
        talk.session = talk.database.open_session(self._user, self._service, self._client, renewed=new is not None)
        if new is not None:
            talk.database.change_password(proved, self._service, new)
        alter = pairs.get("AUTH_ALTER_SESSION", "").rstrip("\0").strip()
        if alter:
            talk.session.execute(alter)
        talk.finish(talk.reply(), _parameters(self._facts(self._key.answer())) + replies.error(talk.call_end()))

    def _check_wishes(self, mode: int, pairs: Mapping[str, str]) -> None:
        """Refuse what the sandbox does not have, and SYS without AS SYSDBA. Only SYS is in the password file. Raises ORA-03001,
        ORA-01017, ORA-28009, and ORA-38802 for an unknown edition."""
        if mode & _OTHER_ROLES:
            raise OraError(3001, "unimplemented feature: administrative privileges other than SYSDBA")
        if mode & _SYSDBA and self._user != "SYS":
            raise _DENIED
        if self._user == "SYS" and not mode & _SYSDBA:
            raise OraError(28009, "connection as SYS should be as SYSDBA or SYSOPER")
        if any(name.startswith("AUTH_APPCTX") for name in pairs):
            raise OraError(3001, "unimplemented feature: application context at logon")
        edition = pairs.get("AUTH_ORA_EDITION", "").rstrip("\0")
        if edition and edition.upper() != "ORA$BASE":
            raise OraError(38802, f"edition {edition} does not exist")

    def _change_password(self, pairs: Mapping[str, str]) -> None:
        talk = self._talk
        known = talk.database.password_of(self._user, self._service)
        try:
            if self._key is None or known is None or not self._key.proves(pairs, known):
                raise WrongPassword
            new = self._key.password(pairs, "AUTH_NEWPASSWORD")
        except WrongPassword:
            raise OraError(28008, "invalid old password") from None
        talk.database.change_password(self._user, self._service, new)
        talk.finish(talk.reply(), _parameters([]) + replies.error(talk.call_end()))

    def _facts(self, proof: str) -> Pairs:
        talk = self._talk
        service = self._service.lower()
        facts = {
            "AUTH_VERSION_STRING": "- Production",
            "AUTH_VERSION_SQL": "25",
            "AUTH_XACTION_TRAITS": "3",
            "AUTH_VERSION_NO": str(version_number(talk.database.version)),
            "AUTH_VERSION_STATUS": "0",
            "AUTH_CAPABILITY_TABLE": "",
            "AUTH_LAST_LOGIN": "",
            "AUTH_DBNAME": self._service,
            "AUTH_DB_MOUNT_ID": "0" * 16,
            "AUTH_DB_ID\0": "1",
            "AUTH_USER_ID": "100",
            "AUTH_SESSION_ID": str(talk.session.sid),
            "AUTH_SERIAL_NUM": str(talk.session.serial),
            "AUTH_INSTANCE_NO": "1",
            "AUTH_FAILOVER_ID": "",
            "AUTH_SERVER_PID": str(talk.session.sid),
            "AUTH_SC_SERVER_HOST": "sandbox",
            "AUTH_SC_DBUNIQUE_NAME": talk.database.name,
            "AUTH_SC_REAL_DBUNIQUE_NAME": talk.database.name,
            "AUTH_SC_INSTANCE_NAME": talk.database.instance,
            "AUTH_SC_INSTANCE_ID": "1",
            "AUTH_SC_SERVICE_NAME": service,
            "AUTH_SC_DB_DOMAIN": "",
            "AUTH_INSTANCENAME": talk.database.instance,
            "AUTH_MAX_OPEN_CURSORS": str(MAX_OPEN_CURSORS),
            "AUTH_MAX_IDEN_LENGTH": "128",
            "AUTH_SVR_RESPONSE": proof,
            "AUTH_NLS_LXLAN": "AMERICAN",
            "AUTH_NLS_LXCTERRITORY": "AMERICA",
        }
        return [(key, value, 0) for key, value in facts.items()]
