"""Classifies Oracle's and the driver's errors by number: the class says what is done about an error.

The driver's exceptions become ours here and nowhere else, most of them by `oracle_errors`. Only the codes in a message text are
read: the rest is in the client's language.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

import oracledb

from minercdc.errors import (
    LogGapError,
    MiningSessionError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
    UnknownSourceError,
)

# What is done about an error, by its class; the comments at the codes say what happened.
_T, _M, _P, _S = TransientSourceError, MiningSessionError, PrerequisiteError, SourceError
_G, _O = LogGapError, SnapshotTooOldError

Kind: TypeAlias = type[SourceError] | type[PrerequisiteError]


class Known(NamedTuple):
    """What is known of one code.

    :param kind: our error for it, which says what is done.
    :param meaning: what happened, in a few words.
    """

    kind: Kind
    meaning: str


ORA: Final[Mapping[int, Known]] = {
    18: Known(_T, "no free session: the limit SESSIONS is reached"),
    19: Known(_T, "no session licence is free"),
    20: Known(_T, "no free process: the limit PROCESSES is reached"),
    28: Known(_T, "session killed"),
    40: Known(_T, "active time limit exceeded, by the resource manager"),
    51: Known(_T, "time-out waiting for a resource"),
    52: Known(_T, "no enqueue resource is free"),
    53: Known(_T, "no enqueue is free"),
    54: Known(_T, "resource busy, NOWAIT"),
    55: Known(_T, "DML_LOCKS is reached"),
    60: Known(_T, "deadlock: the statement was undone"),
    257: Known(_T, "archiver stuck: no room for archived logs, so that only SYSDBA may log on"),
    308: Known(_M, "archived log cannot be opened"),
    310: Known(_M, "log of another sequence: the online log was overwritten meanwhile"),
    334: Known(_M, "companion of 310, names the archive"),
    353: Known(_G, "a block of the log is corrupt; SKIP_CORRUPTION would leave changes out"),
    368: Known(_G, "checksum of a redo block is wrong"),
    376: Known(_T, "a data file cannot be read at present"),
    445: Known(_T, "a background process did not start"),
    447: Known(_T, "a background process ended by a fatal error"),
    448: Known(_T, "a background process ended"),
    449: Known(_T, "a background process ended by an error"),
    470: Known(_T, "the log writer ended by an error"),
    471: Known(_T, "a database writer ended by an error"),
    472: Known(_T, "a process monitor ended by an error"),
    473: Known(_T, "the archiver ended by an error"),
    474: Known(_T, "the system monitor ended by an error"),
    475: Known(_T, "a trace writer ended by an error"),
    476: Known(_T, "the recovery process ended by an error"),
    477: Known(_T, "a snapshot process ended by an error"),
    480: Known(_T, "a lock process ended by an error"),
    490: Known(_T, "the process monitor ended by an error"),
    600: Known(_M, "internal; the ones LogMiner meets (krvrd..) clear up in a new session"),
    603: Known(_T, "the session was ended by a fatal error"),
    604: Known(_T, "recursive SQL failed"),
    904: Known(_S, "no such column"),
    907: Known(_S, "a parenthesis is missing"),
    911: Known(_S, "invalid character in the statement"),
    920: Known(_S, "relational operator is wrong"),
    933: Known(_S, "the statement is not properly ended"),
    936: Known(_S, "an expression is missing"),
    942: Known(_P, "view or table does not exist, or no grant"),
    1000: Known(_M, "too many open cursors"),
    1001: Known(_M, "invalid cursor"),
    1012: Known(_T, "not logged on"),
    1013: Known(_T, "cancelled, or call timeout"),
    1014: Known(_T, "shutdown in progress"),
    1017: Known(_S, "wrong user or password: never tried again, that would lock the account"),
    1031: Known(_P, "privilege missing"),
    1033: Known(_T, "starting up or shutting down"),
    1034: Known(_T, "not available"),
    1035: Known(_T, "restricted session: open only to DBAs at present"),
    1041: Known(_T, "the client's part of the session is lost"),
    1045: Known(_P, "no CREATE SESSION"),
    1089: Known(_T, "immediate shutdown"),
    1090: Known(_T, "shutdown in progress"),
    1092: Known(_T, "instance terminated"),
    1094: Known(_T, "the database is being closed"),
    1109: Known(_T, "mounted, not open (yet)"),
    1154: Known(_T, "the database is just opened, closed or mounted"),
    1219: Known(_T, "mounted, not open (yet)"),
    1280: Known(_M, "fatal LogMiner error, wrapper"),
    1281: Known(_M, "SCN range invalid"),
    1282: Known(_S, "date range invalid; none is given here"),
    1283: Known(_S, "options that do not go together"),
    1284: Known(_M, "log cannot be opened: moved or deleted after it was listed"),
    1285: Known(_M, "log cannot be read"),
    1286: Known(_S, "a start of the range is needed"),
    1287: Known(_G, "log of another incarnation"),
    1289: Known(_M, "log added twice: the list changed meanwhile"),
    1290: Known(_M, "the log to remove is not in the list"),
    1291: Known(_M, "log missing in the range: a switch is being archived"),
    1292: Known(_M, "no log listed"),
    1293: Known(_S, "the database must be mounted"),
    1294: Known(_S, "error in the dictionary file"),
    1295: Known(_S, "dictionary of another database"),
    1296: Known(_S, "character sets of dictionary and log differ"),
    1297: Known(_S, "redo versions of dictionary and log differ"),
    1298: Known(_S, "two dictionaries were requested"),
    1299: Known(_G, "dictionary of another incarnation"),
    1300: Known(_S, "the database must be writable for these options"),
    1306: Known(_M, "V$LOGMNR_CONTENTS without START_LOGMNR"),
    1307: Known(_M, "no LogMiner session"),
    1315: Known(_M, "logs changed under an open query"),
    1321: Known(_M, "SCN range is not all in the listed logs"),
    1323: Known(_M, "LogMiner in a wrong state"),
    1324: Known(_S, "log of another database"),
    1325: Known(_P, "a dictionary in the redo needs ARCHIVELOG mode"),
    1327: Known(_M, "dictionary is locked"),
    1328: Known(_M, "another dictionary build is under way"),
    1329: Known(_M, "the dictionary build was cut off"),
    1330: Known(_M, "a table of the dictionary build cannot be read"),
    1331: Known(_M, "the dictionary build failed"),
    1332: Known(_M, "internal dictionary error"),
    1333: Known(_M, "dictionary could not be established"),
    1336: Known(_S, "dictionary file cannot be opened"),
    1337: Known(_S, "log of another compatibility version"),
    1341: Known(_M, "LogMiner out of memory"),
    1343: Known(_M, "corruption; also seen when the reader overtakes the writer"),
    1346: Known(_G, "beyond RESETLOGS"),
    1347: Known(_P, "supplemental log data no longer exists; following DDL needs it"),
    1354: Known(_P, "supplemental logging is off"),
    1368: Known(_M, "LogMiner cannot go on with the logs of this session"),
    1371: Known(_M, "the dictionary in the redo is not complete in the listed logs"),
    1466: Known(_O, "table definition changed after the SCN"),
    1507: Known(_T, "not mounted (yet)"),
    1555: Known(_O, "undo is gone"),
    1591: Known(_T, "a row is locked by a transaction in doubt: its two-phase commit is not decided"),
    1652: Known(_T, "no room for a temporary segment"),
    1795: Known(_S, "more than 1000 items in a list"),
    2391: Known(_T, "SESSIONS_PER_USER of the profile is reached"),
    2392: Known(_T, "CPU limit of the session exceeded"),
    2393: Known(_T, "CPU limit of the call exceeded"),
    2394: Known(_T, "read limit of the session exceeded"),
    2395: Known(_T, "read limit of the call exceeded"),
    2396: Known(_T, "idle time exceeded"),
    2397: Known(_T, "PRIVATE_SGA of the profile exceeded"),
    2399: Known(_T, "connect time exceeded"),
    3113: Known(_T, "end of file on communication channel"),
    3114: Known(_T, "not connected"),
    3135: Known(_T, "connection lost contact"),
    3136: Known(_T, "logon timed out in the server"),
    3172: Known(_T, "the standby lags more than STANDBY_MAX_DATA_DELAY"),
    4021: Known(_T, "time-out waiting for a lock"),
    4030: Known(_M, "out of process memory"),
    4031: Known(_T, "out of shared memory"),
    4036: Known(_M, "PGA limit"),
    4063: Known(_T, "a view or program is invalid after DDL"),
    4068: Known(_T, "a package was replaced, and the session had a state of it"),
    6550: Known(_P, "PL/SQL compilation: the package is not granted"),
    7454: Known(_T, "waited too long for its turn, by the resource manager"),
    8180: Known(_S, "that time lies too far back to have an SCN"),
    8181: Known(_O, "the SCN is no longer a valid snapshot"),
    8186: Known(_S, "that time lies in the future and has no SCN"),
    10456: Known(_T, "a standby cannot be opened while media recovery runs"),
    10458: Known(_T, "the standby needs recovery before it opens"),
    10997: Known(_T, "another startup or shutdown is under way"),
    12153: Known(_T, "not connected"),
    12161: Known(_T, "connection lost within data"),
    12170: Known(_T, "connect time-out"),
    12203: Known(_T, "no connection to the destination"),
    12224: Known(_T, "no listener"),
    12500: Known(_T, "the listener could not start a server process"),
    12505: Known(_T, "the listener does not know the SID (yet)"),
    12509: Known(_T, "the listener could not redirect the client"),
    12511: Known(_T, "the handler accepts no connections"),
    12513: Known(_T, "no handler for the protocol (yet)"),
    12514: Known(_T, "service not (yet) registered with the listener"),
    12515: Known(_T, "no handler for the presentation (yet)"),
    12516: Known(_T, "no free handler"),
    12518: Known(_T, "the listener could not hand the connection over"),
    12519: Known(_T, "no free handler"),
    12520: Known(_T, "no free handler"),
    12521: Known(_T, "the listener does not know the instance (yet)"),
    12522: Known(_T, "no instance of the role is there (yet)"),
    12523: Known(_T, "no instance for the client is there (yet)"),
    12525: Known(_T, "the listener got the request too late"),
    12526: Known(_T, "all instances are in restricted mode"),
    12527: Known(_T, "all instances are in restricted mode, or block new connections"),
    12528: Known(_T, "instance blocks new connections"),
    12535: Known(_T, "operation timed out"),
    12537: Known(_T, "connection closed"),
    12540: Known(_T, "limit of connections exceeded"),
    12541: Known(_T, "no listener"),
    12543: Known(_T, "host unreachable"),
    12545: Known(_T, "host unknown, or not there"),
    12547: Known(_T, "lost contact"),
    12549: Known(_T, "quota of the operating system exceeded"),
    12560: Known(_T, "protocol adapter error"),
    12564: Known(_T, "connection refused"),
    12570: Known(_T, "packet reader failure"),
    12571: Known(_T, "packet writer failure"),
    12606: Known(_T, "time-out of the application"),
    12608: Known(_T, "sending timed out"),
    12609: Known(_T, "receiving timed out"),
    12751: Known(_T, "time limit of the server for one call exceeded"),
    16000: Known(_P, "read-only database"),
    16014: Known(_T, "a log is not archived: no destination takes it"),
    16038: Known(_T, "a log cannot be archived"),
    16331: Known(_T, "container is not open (yet)"),
    16456: Known(_T, "switchover is under way, or done"),
    19809: Known(_T, "the recovery area is full"),
    22924: Known(_O, "undo of a large value is gone"),
    25303: Known(_T, "buffered operation on another instance"),
    25400: Known(_T, "failover: the fetch has to be repeated"),
    25401: Known(_T, "failover: fetches cannot go on"),
    25402: Known(_T, "failover: the transaction is lost"),
    25403: Known(_T, "failover: no connection"),
    25404: Known(_T, "the instance is lost"),
    25405: Known(_T, "failover: the end of the transaction is not known"),
    25407: Known(_T, "the connection ended"),
    25408: Known(_T, "replay unsafe after failover"),
    25409: Known(_T, "failover during a network call"),
    26653: Known(_T, "capture has not started yet"),
    27102: Known(_T, "out of memory on the database's host"),
    27300: Known(_T, "the database's host refused a call of the operating system"),
    27301: Known(_T, "companion of 27300, names the error"),
    27302: Known(_T, "companion of 27300, names the place"),
    28000: Known(_S, "account locked"),
    28001: Known(_S, "password expired"),
    28150: Known(_P, "the proxy user may not log on as the user in brackets"),
    28365: Known(_T, "the wallet of encrypted tablespaces is not open"),
    29701: Known(_T, "no connection to the cluster's services"),
    29702: Known(_T, "an error of the cluster's services"),
    29740: Known(_T, "the instance was evicted from its cluster"),
    30006: Known(_T, "resource busy, WAIT time-out"),
    30052: Known(_O, "undo does not reach back to the lower bound of VERSIONS BETWEEN"),
    44609: Known(_P, "CONTINUOUS_MINE desupported"),
    44613: Known(_S, "dictionary files are desupported"),
    56720: Known(_T, "limit of I/O exceeded, by the resource manager"),
    65011: Known(_P, "the pluggable database does not exist"),
    65040: Known(_P, "not allowed in a PDB: before Oracle 19.10, LogMiner needs the root"),
}
"""Oracle's codes that the connector can meet, by number. Codes that python-oracledb reports as DPY-4011 count by their own
number."""

DPY: Final[Mapping[int, Known]] = {
    1001: Known(_T, "not connected"),
    2018: Known(_S, "the wallet's directory has no ewallet.pem"),
    2029: Known(_S, "an HTTP proxy requires TLS"),
    2031: Known(_S, "the token is invalid"),
    2033: Known(_T, "the token has expired: its file is read again at the next attempt"),
    2034: Known(_S, "a token requires TLS"),
    3001: Known(_P, "needs the thick client: native network encryption, for one"),
    3008: Known(_T, "a notice of the server that the driver does not know"),
    3010: Known(_P, "the database is older than 12.1"),
    3012: Known(_P, "national character set other than AL16UTF16"),
    3015: Known(_P, "the user has the password verifier of 10g only"),
    3040: Known(_P, "character set of the database"),
    4000: Known(_S, "no such name in tnsnames.ora"),
    4011: Known(_T, "connection closed by the database"),
    4017: Known(_S, "connect descriptor is not understood"),
    4018: Known(_S, "connect string is not understood"),
    4024: Known(_T, "call timeout"),
    4027: Known(_S, "a name of tnsnames.ora, which is not looked for"),
    4033: Known(_T, "idle time exceeded"),
    5000: Known(_T, "bytes that are not a message"),
    5001: Known(_T, "message too long"),
    5002: Known(_T, "message garbled"),
    5003: Known(_T, "message garbled"),
    5004: Known(_T, "data that was not requested"),
    5005: Known(_T, "the listener refused, in a form of its own"),
    5006: Known(_T, "message cut short"),
    6000: Known(_T, "the listener refused"),
    6001: Known(_T, "the listener does not know the service"),
    6002: Known(_S, "the certificate has a different name"),
    6003: Known(_T, "the listener does not know the SID"),
    6004: Known(_T, "the proxy failed"),
    6005: Known(_T, "cannot connect; its cause decides"),
    6006: Known(_S, "the certificate belongs to another server"),
}
"""Codes of python-oracledb's own (DPY), thin mode, by number."""

# These wrap the error that counts: recursive SQL failed; fatal LogMiner error.
_WRAPPERS = frozenset([604, 1280])
_IN_TEXT = re.compile(r"\bORA-(\d{5})\b")

_SERVICE = "Check database.dbname and `lsnrctl services`: the listener may not know the service yet, because a starting instance registers late."
_TCPS = "Set minercdc.database.protocol=tcps, and database.port to the TCPS port."
_WALLET = "minercdc.database.wallet.location must name a directory with an ewallet.pem that contains the authority of the server's certificate."
_DPY_HINTS = {
    2018: _WALLET,
    2029: _TCPS,
    2031: "minercdc.database.token.location names a file with an OAuth 2.0 token, or a directory with the token and key of OCI IAM.",
    2033: "Renew the file of minercdc.database.token.location before the token expires.",
    2034: _TCPS,
    3001: "minercdc uses the driver's thin mode: accept connections without native network encryption (sqlnet.ora:"
    " SQLNET.ENCRYPTION_SERVER=ACCEPTED), and encrypt by TCPS instead.",
    3015: "Set the password again: ALTER USER ... IDENTIFIED BY ..., with SQLNET.ALLOWED_LOGON_VERSION_SERVER of 12 or less.",
    4000: "Write host:port/service, or a whole (DESCRIPTION=..), in database.url.",
    4027: "Write host:port/service, or a whole (DESCRIPTION=..), in database.url.",
    6001: _SERVICE,
    6003: _SERVICE,
    6005: "Check that the database is running, that database.hostname and database.port are right, and that minercdc.database.protocol fits the port.",
}
IN_DOUBT: Final = (
    "DBA_2PC_PENDING lists them. Oracle (RECO) ends them once it reaches the coordinator; else COMMIT FORCE or ROLLBACK FORCE, or"
    " DBMS_TRANSACTION.PURGE_LOST_DB_ENTRY for an entry whose transaction has gone."
)
"""What to do about transactions in doubt."""
_MORE_SESSIONS = "Free some, or raise the limit (PROCESSES, SESSIONS, SESSIONS_PER_USER of the user's profile); the connector takes some sessions, more with snapshot.max.threads."
_HINTS = {
    18: _MORE_SESSIONS,
    20: _MORE_SESSIONS,
    257: "Make room for archived logs, in the recovery area or another destination.",
    2391: _MORE_SESSIONS,
    942: "Grant SELECT on the object, or SELECT_CATALOG_ROLE.",
    4063: "Recompile it; for objects of the adapter txlog, run `minercdc txlog install CONFIG`.",
    1031: "Run `minercdc check CONFIG` for the grants that are needed.",
    1591: IN_DOUBT,
    1017: "Check database.user and database.password.",
    1045: "Grant CREATE SESSION (in a container database: SET CONTAINER too, both with CONTAINER=ALL).",
    353: "Restore an intact copy of the log that the message names, or take a new snapshot.",
    368: "Restore an intact copy of the log that the message names, or take a new snapshot.",
    1287: "The logs are of another incarnation: take a new snapshot.",
    1299: "The dictionary is of another incarnation: take a new snapshot.",
    8180: "Oracle knows the SCNs of times for some days only: give a later time, or an SCN (minercdc.start.scn, `--scn`).",
    1325: "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;",
    1346: "The logs are of another incarnation: take a new snapshot.",
    1347: "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA",
    1354: "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA",
    30052: "Raise UNDO_RETENTION.",
    6550: "Grant EXECUTE on DBMS_LOGMNR, and on DBMS_LOGMNR_D with log.mining.strategy=redo_log_catalog.",
    12514: _SERVICE,
    1555: "Raise UNDO_RETENTION, or read fewer or smaller tables in the snapshot.",
    28150: "ALTER USER the user in brackets GRANT CONNECT THROUGH the proxy user.",
    28000: "ALTER USER ... ACCOUNT UNLOCK, once it is known who locked it.",
    28001: "ALTER USER ... IDENTIFIED BY a new password, and correct database.password.",
    65011: "Correct database.pdb.name.",
    65040: "LogMiner within a PDB requires Oracle 19.10 or later. With earlier releases, set database.pdb.name and connect as a common user to the root container.",
}


def text_of(error: BaseException) -> str:
    """A driver's message on one line, without its link to Oracle's error pages."""
    return " ".join(line for line in str(error).splitlines() if not line.startswith("Help: "))


def code_of(error: oracledb.Error) -> tuple[str, int]:
    """Prefix (`ORA`, `DPY`) and number of a driver exception; ('', 0) when it carries none.

    python-oracledb reports errors that end a session as DPY-4011, with Oracle's number in `code`: that number is returned, if
    `ORA` has it. Of ORA-00604 and ORA-01280, which wrap another error, it is the number of that one, if `ORA` has it.
    """
    detail = error.args[0] if error.args else None
    hidden = int(getattr(detail, "code", 0))
    if hidden in _WRAPPERS:
        inner = [int(number) for number in _IN_TEXT.findall(str(error)) if int(number) not in _WRAPPERS]
        hidden = next((number for number in inner if number in ORA), hidden)
    if hidden in ORA:
        return "ORA", hidden
    prefix, _, number = str(getattr(detail, "full_code", "") or "").partition("-")
    return (prefix, int(number)) if number.isdigit() else ("", 0)


def classify(error: oracledb.Error, doing: str = "") -> SourceError | PrerequisiteError:
    """Make our error for a driver's, by `ORA` and `DPY`, with a hint for some codes; it is returned, not raised. DPY-6005
    (cannot connect) counts as its cause, if that has a code; a certificate of the server that is not trusted is a
    SourceError; a code that is not in the tables is a TransientSourceError if the driver calls it recoverable, else an
    UnknownSourceError.

    :param doing: what was attempted; it begins the message unless it is ''.
    """
    prefix, number = code_of(error)
    cause = error.__cause__
    if (prefix, number) == ("DPY", 6005) and isinstance(cause, oracledb.Error) and code_of(cause)[1]:
        prefix, number = code_of(cause)
    message = f"{doing}: {text_of(error)}" if doing else text_of(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return SourceError(message, hint=_WALLET, ora_code=number)
    known = (DPY if prefix == "DPY" else ORA).get(number)
    kind: Kind
    if known is not None:
        kind = known.kind
    else:
        detail = error.args[0] if error.args else None
        kind = TransientSourceError if getattr(detail, "isrecoverable", False) else UnknownSourceError
    hint = _hint(error)
    if issubclass(kind, PrerequisiteError):
        return kind(message, hint=hint)
    return kind(message, hint=hint, ora_code=number)


def _hint(error: oracledb.Error) -> str:
    """A sentence on what to do, '' when there is none. The cause's comes first: that of DPY-6005 (cannot connect) says more."""
    cause = error.__cause__
    prefix, number = code_of(error)
    deeper = _hint(cause) if isinstance(cause, oracledb.Error) and cause is not error else ""
    return deeper or (_DPY_HINTS if prefix == "DPY" else _HINTS).get(number, "")


@contextmanager
def oracle_errors(doing: str = "") -> Iterator[None]:
    """Within the context, raise what `classify` makes of a driver's exception in place of it, and TransientSourceError in
    place of an OSError (a socket broke).

    :param doing: what is attempted; it begins the message.
    """
    try:
        yield
    except oracledb.Error as error:
        raise classify(error, doing) from error
    except OSError as error:
        raise TransientSourceError(f"{doing}: {error}" if doing else str(error)) from error
