"""Makes JSON of errors of the driver, and of connecting, and errors of that JSON."""

from __future__ import annotations

from typing import Any, Final

import oracledb

from minercdc import errors
from minercdc.errors import MinerCdcError, PrerequisiteError, SourceError
from minercdc.stream.offset import JsonValue


class _Detail:
    """In place of what the driver puts into an exception, as far as `oracle.codes` reads it."""

    def __init__(self, saved: dict[str, Any]) -> None:
        self.code, self.full_code = int(saved["code"]), str(saved["full_code"])
        self.message, self.isrecoverable = str(saved["text"]), bool(saved["isrecoverable"])

    def __str__(self) -> str:
        return self.message


_KINDS: Final = ("DatabaseError", "OperationalError", "InterfaceError", "InternalError", "NotSupportedError", "DataError")


def to_json(error: BaseException) -> dict[str, JsonValue]:
    """A driver's error, an OSError or a UnicodeDecodeError as JSON: what classifies it, its text, and its cause if that is
    one of the driver; of a UnicodeDecodeError the reason."""
    if isinstance(error, UnicodeDecodeError):
        return {"kind": "UnicodeDecodeError", "text": error.reason}
    detail = error.args[0] if error.args else None
    saved: dict[str, JsonValue] = {
        "kind": "OSError" if isinstance(error, OSError) else type(error).__name__,  # its subclasses are classified alike
        "code": int(getattr(detail, "code", 0) or 0),
        "full_code": str(getattr(detail, "full_code", "") or ""),
        "text": str(error),
        "isrecoverable": bool(getattr(detail, "isrecoverable", False)),
    }
    if isinstance(error.__cause__, oracledb.Error):
        saved["cause"] = to_json(error.__cause__)
    return saved


def from_json(saved: dict[str, Any]) -> Exception:
    """An error that `codes.oracle_errors` takes as the one of which `to_json` made `saved`: a driver's error that is classified
    alike, an OSError or a UnicodeDecodeError. It is returned, not raised. Raises KeyError or ValueError for no such document."""
    kind = saved["kind"]
    if kind == "UnicodeDecodeError":
        return UnicodeDecodeError("utf-8", b"?", 0, 1, str(saved["text"]))
    if kind == "OSError":
        return OSError(saved["text"])
    made: Exception = getattr(oracledb, kind if kind in _KINDS else "DatabaseError")(_Detail(saved))
    if "cause" in saved:
        made.__cause__ = from_json(saved["cause"])
    return made


def connecting_to_json(error: MinerCdcError) -> dict[str, JsonValue]:
    """An error of `oracle.connect` as JSON: its class, message, hint and ORA- number."""
    code = error.ora_code if isinstance(error, SourceError) else 0
    return {"kind": type(error).__name__, "message": error.message, "hint": error.hint, "ora_code": code}


def connecting_from_json(saved: dict[str, Any]) -> MinerCdcError:
    """The error of which `connecting_to_json` made `saved`, returned, not raised; a SourceError for a class that is none of
    SourceError and PrerequisiteError. Raises KeyError or ValueError when `saved` is no such document."""
    kind = getattr(errors, str(saved["kind"]), None)
    if isinstance(kind, type) and issubclass(kind, PrerequisiteError):
        return kind(saved["message"], hint=saved["hint"])
    if not (isinstance(kind, type) and issubclass(kind, SourceError)):
        kind = SourceError
    return kind(saved["message"], hint=saved["hint"], ora_code=int(saved["ora_code"]))
