"""What an Oracle or driver error means for us: one table, keyed by number.

Foreign exceptions become ours here and nowhere else; `oracle_errors` wraps every call that can raise them. Message texts
are never looked at: they come in the client's language.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import oracledb

from minercdc.errors import (
    LogGapError,
    MiningSessionError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
)

_T, _M, _P = TransientSourceError, MiningSessionError, PrerequisiteError

_ORA: dict[int, type[SourceError] | type[PrerequisiteError]] = {
    28: _T,  # session killed
    54: _T,  # resource busy, NOWAIT
    308: _M,  # archived log cannot be opened
    310: _M,  # log of another sequence: the online log was overwritten meanwhile
    334: _M,  # companion of 310, names the archive
    600: _M,  # internal; LogMiner's krvrd.. clear up in a new session
    604: _T,  # recursive SQL failed
    942: _P,  # view or table not there, or no grant
    1001: _M,  # invalid cursor
    1012: _T,  # not logged on
    1013: _T,  # cancelled, or call timeout
    1014: _T,  # shutdown in progress
    1017: SourceError,  # wrong user or password: never tried again, that would lock the account
    1031: _P,  # privilege missing
    1033: _T,  # starting up or shutting down
    1034: _T,  # not available
    1045: _P,  # no CREATE SESSION
    1089: _T,  # immediate shutdown
    1090: _T,  # shutdown in progress
    1092: _T,  # instance terminated
    1280: _M,  # fatal LogMiner error, wrapper
    1281: _M,  # SCN range invalid
    1284: _M,  # log cannot be opened: moved or deleted after it was listed
    1285: _M,  # log cannot be read
    1287: LogGapError,  # log of another incarnation
    1289: _M,  # log added twice: the list changed meanwhile
    1290: _M,  # log to remove is not listed
    1291: _M,  # log missing in the range: a switch is being archived
    1292: _M,  # no log listed
    1306: _M,  # V$LOGMNR_CONTENTS without START_LOGMNR
    1307: _M,  # no LogMiner session
    1315: _M,  # logs changed under an open query
    1323: _M,  # LogMiner in a wrong state
    1327: _M,  # dictionary is locked
    1332: _M,  # internal dictionary error
    1333: _M,  # dictionary could not be established
    1341: _M,  # LogMiner out of memory
    1343: _M,  # corruption; also seen when the reader overtakes the writer
    1346: LogGapError,  # beyond RESETLOGS
    1354: _P,  # supplemental logging is off
    1466: SnapshotTooOldError,  # table definition changed after the SCN
    1555: SnapshotTooOldError,  # undo is gone
    2396: _T,  # idle time exceeded
    3113: _T,  # end of file on communication channel
    3114: _T,  # not connected
    3135: _T,  # connection lost contact
    4021: _T,  # time-out waiting for a lock
    4030: _M,  # out of process memory
    4036: _M,  # PGA limit
    6550: _P,  # PL/SQL compilation: the package is not granted
    8181: SnapshotTooOldError,  # SCN is no snapshot any more
    12170: _T,  # connect time-out
    12514: _T,  # service not (yet) registered with the listener
    12516: _T,  # no free handler
    12519: _T,  # no free handler
    12520: _T,  # no free handler
    12528: _T,  # instance blocks new connections
    12537: _T,  # connection closed
    12541: _T,  # no listener
    12543: _T,  # host unreachable
    12547: _T,  # lost contact
    12570: _T,  # packet reader failure
    12571: _T,  # packet writer failure
    16000: _P,  # read-only database
    25408: _T,  # replay unsafe after failover
    28000: SourceError,  # account locked
    28001: SourceError,  # password expired
    30006: _T,  # resource busy, WAIT time-out
    44609: _P,  # CONTINUOUS_MINE desupported
    65040: _P,  # not allowed in a PDB: LogMiner needs the root
}
_DPY: dict[int, type[SourceError]] = {
    1001: _T,  # not connected
    4011: _T,  # connection closed by the database
    4024: _T,  # call timeout
    6000: _T,  # cannot connect: listener refused
    6003: _T,  # SID not registered
    6001: _T,  # service not registered
    6005: _T,  # cannot connect
}
_SERVICE = (
    "Does the listener know the service? See database.dbname and `lsnrctl services`; a starting instance registers late."
)
_DPY_HINTS = {
    6001: _SERVICE,
    6003: _SERVICE,
    6005: "Is the database up, and database.hostname and database.port right?",
}
_HINTS = {
    942: "Grant SELECT on the object, or SELECT_CATALOG_ROLE.",
    1031: "Run `minercdc check` for the grants that are needed.",
    1017: "Check database.user and database.password.",
    1045: "Grant CREATE SESSION (in a container database: SET CONTAINER too, both with CONTAINER=ALL).",
    1354: "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA",
    12514: _SERVICE,
    1555: "Raise UNDO_RETENTION, or read fewer or smaller tables in the snapshot.",
    28000: "ALTER USER ... ACCOUNT UNLOCK, once it is known who locked it.",
    28001: "ALTER USER ... IDENTIFIED BY a new password, and correct database.password.",
    65011: "Correct database.pdb.name.",
    65040: "Set database.pdb.name and connect as a common user to the root container.",
}


def text_of(error: BaseException) -> str:
    """A driver's message on one line, without its link to Oracle's error pages."""
    return " ".join(line for line in str(error).splitlines() if not line.startswith("Help: "))


def code_of(error: oracledb.Error) -> tuple[str, int]:
    """Prefix (`ORA`, `DPY`) and number of a driver exception; ('', 0) when it carries none."""
    detail = error.args[0] if error.args else None
    prefix, _, number = str(getattr(detail, "full_code", "") or "").partition("-")
    return (prefix, int(number)) if number.isdigit() else ("", 0)


def classify(error: oracledb.Error, doing: str = "") -> SourceError | PrerequisiteError:
    """Our error for a driver's.

    :param doing: what was attempted, for the message.
    """
    prefix, number = code_of(error)
    message = f"{doing}: {text_of(error)}" if doing else text_of(error)
    table: dict[int, type[SourceError] | type[PrerequisiteError]] = {**_DPY} if prefix == "DPY" else _ORA
    kind = table.get(number)
    if kind is None:
        detail = error.args[0] if error.args else None
        kind = TransientSourceError if getattr(detail, "isrecoverable", False) else SourceError
    hint = _hint(error)
    if issubclass(kind, PrerequisiteError):
        return kind(message, hint=hint)
    return kind(message, hint=hint, ora_code=number)


def _hint(error: oracledb.Error) -> str:
    """DPY-6005 (cannot connect) holds what happened as its cause, of which more can be said."""
    cause = error.__cause__
    prefix, number = code_of(error)
    deeper = _hint(cause) if isinstance(cause, oracledb.Error) and cause is not error else ""
    return deeper or (_DPY_HINTS if prefix == "DPY" else _HINTS).get(number, "")


@contextmanager
def oracle_errors(doing: str = "") -> Iterator[None]:
    """Turn driver exceptions, and sockets that break, into ours."""
    try:
        yield
    except oracledb.Error as error:
        raise classify(error, doing) from error
    except OSError as error:
        raise TransientSourceError(f"{doing}: {error}" if doing else str(error)) from error
