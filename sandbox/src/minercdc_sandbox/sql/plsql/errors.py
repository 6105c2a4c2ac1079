"""Errors of PL/SQL: those of compilation with line and column, named exceptions, SQLCODE and SQLERRM.

compiling   ORA-06550: line l, column c: PLS-.. or PL/SQL: ORA-..   before anything of the block has run
running     the error, then ORA-06512: at line l for the statement that raised it and for each call around it
"""

from __future__ import annotations

from dataclasses import dataclass

from minercdc_sandbox.interfaces import OraError

NAMED = {
    "ACCESS_INTO_NULL": 6530,
    "CASE_NOT_FOUND": 6592,
    "COLLECTION_IS_NULL": 6531,
    "CURSOR_ALREADY_OPEN": 6511,
    "DUP_VAL_ON_INDEX": 1,
    "INVALID_CURSOR": 1001,
    "INVALID_NUMBER": 1722,
    "LOGIN_DENIED": 1017,
    "NO_DATA_FOUND": 1403,
    "NO_DATA_NEEDED": 6548,
    "NOT_LOGGED_ON": 1012,
    "PROGRAM_ERROR": 6501,
    "ROWTYPE_MISMATCH": 6504,
    "SELF_IS_NULL": 30625,
    "STORAGE_ERROR": 6500,
    "SUBSCRIPT_BEYOND_COUNT": 6533,
    "SUBSCRIPT_OUTSIDE_LIMIT": 6532,
    "SYS_INVALID_ROWID": 1410,
    "TIMEOUT_ON_RESOURCE": 51,
    "TOO_MANY_ROWS": 1422,
    "VALUE_ERROR": 6502,
    "ZERO_DIVIDE": 1476,
}
"""Predefined exceptions and their ORA- numbers (PL/SQL Language Reference, Predefined Exceptions)."""
MESSAGES = {
    1: "unique constraint violated",
    51: "timeout occurred while waiting for a resource",
    1001: "invalid cursor",
    1012: "not logged on",
    1017: "invalid username/password; logon denied",
    1403: "no data found",
    1410: "invalid ROWID",
    1422: "exact fetch returns more than requested number of rows",
    1476: "divisor is equal to zero",
    1722: "invalid number",
    6500: "PL/SQL: storage error",
    6501: "PL/SQL: program error",
    6502: "PL/SQL: numeric or value error",
    6504: "PL/SQL: Return types of Result Set variables or query do not match",
    6511: "PL/SQL: cursor already open",
    6530: "Reference to uninitialized composite",
    6531: "Reference to uninitialized collection",
    6532: "Subscript outside of limit",
    6533: "Subscript beyond count",
    6548: "no more rows needed",
    6592: "CASE not found while executing CASE statement",
    30625: "method dispatch on NULL SELF argument is disallowed",
}
"""Messages of the predefined exceptions, for RAISE."""
UNTRAPPED = frozenset((28, 1012, 1013))
"""Errors that no handler handles: of a killed or ended session and a cancelled call."""
_VALUE_ERRORS = {
    1438: "number precision too large",
    1722: "character to number conversion error",
    6502: "",
    12899: "character string buffer too small",
    1465: "hex to raw conversion error",
}


@dataclass(frozen=True, slots=True, eq=False)
class NamedException:
    """A predefined exception or one of `name EXCEPTION`: what a handler names and RAISE raises. Two without a number are
    different even if they have the same name.

    :ivar code: its ORA- number, above 0; None for an exception without a number.
    """

    name: str
    code: int | None = None

    def catches(self, error: OraError) -> bool:
        """Whether a handler of this exception handles the error: by number, a user-defined exception without one by identity."""
        if isinstance(error, UserError):
            return error.exception is self
        return self.code == error.number


class UserError(OraError):
    """A user-defined exception without a number that was raised: ORA-06510 when no handler catches it. `exception`: which one."""

    def __init__(self, exception: NamedException) -> None:
        super().__init__(6510, "PL/SQL: unhandled user-defined exception")
        self.exception = exception


def place(sql: str, at: int) -> tuple[int, int]:
    """Line and column, both from 1, of an offset in characters."""
    return sql.count("\n", 0, at) + 1, at - (sql.rfind("\n", 0, at) + 1) + 1


def located(sql: str, at: int, text: str, *, ignored: str = "Statement") -> OraError:
    """ORA-06550 with PL/SQL's own error `text` at the offset `at`, by line and column, which the caller raises; `ignored` names
    the part that is not compiled."""
    line, column = place(sql, at)
    where = f"line {line}, column {column}:"
    return OraError(6550, f"{where}\n{text}\nORA-06550: {where}\nPL/SQL: {ignored} ignored", at)


def undeclared(sql: str, at: int, name: str) -> OraError:
    """PLS-00201 within ORA-06550, at the offset `at`, which the caller raises."""
    return located(sql, at, f"PLS-00201: identifier '{name}' must be declared")


def in_statement(sql: str, start: int, at: int, error: OraError) -> OraError:
    """The ORA-06550, which the caller raises, for the error of a SQL statement of the block, found at offset `at` of the block
    when the statement was compiled; the statement begins at `start`."""
    line, column = place(sql, at)
    first, its = place(sql, start)
    shown = f"line {line}, column {column}:\nPL/SQL: {error}\nORA-06550: line {first}, column {its}:"
    return OraError(6550, f"{shown}\nPL/SQL: SQL Statement ignored", at)


def value_error(error: OraError) -> OraError:
    """The error ORA-06502 in place of SQL's own error for a value that does not fit a variable; any other error as it is. The
    caller raises it."""
    if error.number not in _VALUE_ERRORS or error.number == 6502:
        return error
    return OraError(6502, f"PL/SQL: numeric or value error: {_VALUE_ERRORS[error.number]}")


def sqlcode(error: OraError | None) -> int:
    """SQLCODE: 0 without an error, 100 for ORA-01403, 1 for a user-defined exception, else minus the number."""
    if error is None:
        return 0
    if isinstance(error, UserError):
        return 1
    return 100 if error.number == 1403 else -error.number


def sqlerrm(error: OraError | None) -> str:
    """SQLERRM: number and text of the error; `User-Defined Exception` for one without a number; `ORA-0000: ..` without an error."""
    if error is None:
        return "ORA-0000: normal, successful completion"
    return "User-Defined Exception" if isinstance(error, UserError) else str(error)


def message_of(code: int) -> str:
    """SQLERRM(code), whose codes are negative: the text of 0, 1, 100 and the numbers of RAISE_APPLICATION_ERROR. For any other
    code the text says that it is no exception of Oracle (above 0) or that it has no message (below 0)."""
    if code == 0:
        return "ORA-0000: normal, successful completion"
    if code == 1:
        return "User-Defined Exception"
    if code == 100:
        return "ORA-01403: no data found"
    if code > 0:
        return f" -{code}: non-ORACLE exception "
    if -20999 <= code <= -20000:
        return f"ORA{code}: "
    return f"ORA-{-code:05d}: Message {-code} not found;  product=RDBMS; facility=ORA"
