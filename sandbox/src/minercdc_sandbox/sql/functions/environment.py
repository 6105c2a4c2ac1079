"""Functions of the session: SYSDATE, USER, SYS_CONTEXT, .."""

from __future__ import annotations

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, binary, number
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Rule
from minercdc_sandbox.sql.functions.times import moment_of
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import blob
from minercdc_sandbox.sql.types import (
    BINARY_SIZES,
    CLOB,
    DATE,
    DOUBLE,
    FLOAT,
    NUMBER,
    TIMESTAMP,
    ZONED,
    Family,
    SqlType,
    varchar,
)
from minercdc_sandbox.sql.userenv import session_value, user_id


def sys_context(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 2, 3)
    space, name = args[0].literal, args[1].literal
    if space is None or name is None:
        raise OraError(3001, "unimplemented feature: SYS_CONTEXT with names that are not literals", expr.at)
    if space.upper() != "USERENV":
        return Typed("null", varchar(256))
    key = name.upper()
    sql = x.parameter(("userenv", key), lambda run: session_value(run.session, key))
    return Typed(sql, varchar(256))


def userenv(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """USERENV(name): the value of SYS_CONTEXT('USERENV', name), of an older set of names. Raises ORA-02003."""
    count_arguments(expr, args, 1, 1)
    name = (args[0].literal or "").upper()
    if name not in ("CLIENT_INFO", "INSTANCE", "ISDBA", "LANG", "LANGUAGE", "SESSIONID", "SID", "TERMINAL"):
        raise OraError(2003, "invalid USERENV parameter", expr.at)
    return Typed(x.parameter(("userenv", name), lambda run: session_value(run.session, name)), varchar(256))


def sys_guid(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """16 bytes that come once; a new value for each row."""
    count_arguments(expr, args, 0, 0)
    return Typed("o_sys_guid()", SqlType(Family.RAW, size=16), False)


def niladic(x: Conditions, name: str) -> Typed | None:
    """SYSDATE, USER, ..; None when there is no such word."""
    if name in _BINARY_CONSTANTS:
        kind = DOUBLE if "DOUBLE" in name else FLOAT
        cell = binary.encode(float(_BINARY_CONSTANTS[name]), BINARY_SIZES[kind.family])
        return Typed(f"x'{cell.hex()}'", kind, False)
    if name == "SYSDATE":
        return Typed(x.parameter(name, lambda run: moment_of(run, DATE, 0)), DATE, False)
    if name == "SYSTIMESTAMP":
        return Typed(x.parameter(name, lambda run: moment_of(run, ZONED, 0)), ZONED, False)
    zone = x.env.nls.zone
    if name == "CURRENT_DATE":
        return Typed(x.parameter(name, lambda run: moment_of(run, DATE, zone)), DATE, False)
    if name == "CURRENT_TIMESTAMP":
        return Typed(x.parameter(name, lambda run: moment_of(run, ZONED, zone)), ZONED, False)
    if name == "LOCALTIMESTAMP":
        return Typed(
            x.parameter(name, lambda run: moment_of(run, TIMESTAMP, zone)), SqlType(Family.TIMESTAMP, scale=6), False
        )
    if name == "USER":
        return Typed(x.parameter(name, lambda run: run.session.user), varchar(128), False)
    if name == "UID":
        return Typed(x.parameter(name, lambda run: number.integer(user_id(run.session))), NUMBER, False)
    if name == "SESSIONTIMEZONE":
        return Typed(x.parameter(name, lambda run: run.session.settings.nls.time_zone), varchar(64), False)
    if name == "DBTIMEZONE":
        return Typed("'+00:00'", varchar(6), False)
    return None


_BINARY_CONSTANTS = {
    **dict.fromkeys(("BINARY_FLOAT_NAN", "BINARY_DOUBLE_NAN"), "nan"),
    **dict.fromkeys(("BINARY_FLOAT_INFINITY", "BINARY_DOUBLE_INFINITY"), "inf"),
}


_TRUE = b"\1"


def current_scn(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER; each statement that calls it moves the clock."""
    count_arguments(expr, args, 0, 0)
    return Typed(x.parameter(expr.name, lambda run: number.integer(run.session.storage.clock.read())), NUMBER, False)


def local_transaction_id(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_TRANSACTION.LOCAL_TRANSACTION_ID [(create_transaction)]: `usn.slot.sequence` of the open transaction, else NULL."""
    count_arguments(expr, args, 0, 1)
    flag = expr.args[0] if expr.args else None
    known = args[0].sql if args else ""

    def begins(run: Run) -> bool:
        return run.binds[flag.index] == _TRUE if isinstance(flag, ast.Bind) else known == blob(_TRUE)

    if args:
        x.to(args[0], Family.BOOLEAN, expr.at)
        if not isinstance(flag, ast.Bind) and known not in (blob(_TRUE), blob(b"\0"), "null"):
            raise OraError(3001, f"unimplemented feature: {expr.name} of an expression", expr.at)

    def text(run: Run) -> str | None:
        if begins(run):
            run.session.storage.start(run.session.client)
        transaction = run.session.client.transaction
        return ".".join(map(str, transaction.xid)) if transaction is not None and transaction.active else None

    return Typed(x.parameter((expr.name, known), text), varchar(200))


def get_ddl(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_METADATA.GET_DDL(type, name [, schema]): a CLOB."""
    count_arguments(expr, args, 2, 3)
    parts = [x.to(arg, Family.VARCHAR, expr.at) for arg in args] + ["null"] * (3 - len(args))
    return Typed(f"o_to_lob(o_ddl({','.join(parts)}),'CLOB')", CLOB, False)


def get_time(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_UTILITY.GET_TIME: hundredths of a second since some moment."""
    count_arguments(expr, args, 0, 0)
    return Typed(x.parameter(expr.name, lambda run: number.integer(int(run.now * 100) % (1 << 31))), NUMBER, False)


def mined(function: str) -> Rule:
    """DBMS_LOGMNR.MINE_VALUE or COLUMN_PRESENT (value handle, 'schema.table.column')."""

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 2, 2)
        handle, name = x.to(args[0], Family.NUMBER, expr.at), x.to(args[1], Family.VARCHAR, expr.at)
        return Typed(f"o_{function}({handle},{name})", varchar(4000) if function == "mine_value" else NUMBER)

    return rule


def random_number(function: str) -> Rule:
    """DBMS_RANDOM.VALUE [(low, high)], RANDOM and NORMAL: another one for each row."""

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        if args or function != "value":
            count_arguments(expr, args, 2 if function == "value" else 0, 2 if function == "value" else 0)
        operands = ",".join(x.to(arg, Family.NUMBER, expr.at) for arg in args)
        return Typed(f"o_random_{function}({operands})", NUMBER, False)

    return rule


def random_text(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_RANDOM.STRING(kind, length)."""
    count_arguments(expr, args, 2, 2)
    kind, length = x.to(args[0], Family.VARCHAR, expr.at), x.to(args[1], Family.NUMBER, expr.at)
    return Typed(f"o_random_text({kind},{length})", varchar(4000))


def row_id_part(place: int) -> Rule:
    """DBMS_ROWID.ROWID_OBJECT, ROWID_RELATIVE_FNO, ROWID_BLOCK_NUMBER, ROWID_ROW_NUMBER (rowid)."""

    def rule(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        count_arguments(expr, args, 1, 2)
        return Typed(f"o_row_id_part({x.to(args[0], Family.ROWID, expr.at)},{place})", NUMBER)

    return rule


_ROW_ID_PARTS = ("ROWID_OBJECT", "ROWID_RELATIVE_FNO", "ROWID_BLOCK_NUMBER", "ROWID_ROW_NUMBER")

PACKAGED: dict[str, Rule] = {
    "DBMS_RANDOM.VALUE": random_number("value"),
    "DBMS_RANDOM.RANDOM": random_number("whole"),
    "DBMS_RANDOM.NORMAL": random_number("normal"),
    "DBMS_UTILITY.GET_TIME": get_time,
    "DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER": current_scn,
    "DBMS_TRANSACTION.LOCAL_TRANSACTION_ID": local_transaction_id,
}
"""Functions of packages that are called without parentheses, too."""

RULES: dict[str, Rule] = {
    **PACKAGED,
    "DBMS_RANDOM.STRING": random_text,
    **{f"DBMS_ROWID.{name}": row_id_part(place) for place, name in enumerate(_ROW_ID_PARTS)},
    "DBMS_METADATA.GET_DDL": get_ddl,
    "DBMS_LOGMNR.MINE_VALUE": mined("mine_value"),
    "DBMS_LOGMNR.COLUMN_PRESENT": mined("column_present"),
    "SYS_CONTEXT": sys_context,
    "USERENV": userenv,
    "SYS_GUID": sys_guid,
}
