"""Translations of functions of the session and of supplied packages: SYSDATE, USER, SYS_CONTEXT, DBMS_RANDOM.VALUE, .."""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.sql import ast, binary, number, types
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Rule, Translate
from minercdc_sandbox.sql.functions.times import moment_of
from minercdc_sandbox.sql.privileges import may_execute
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.translate.environment import blob
from minercdc_sandbox.sql.types import BINARY_SIZES, NUMBER, Family, SqlType, varchar
from minercdc_sandbox.sql.userenv import session_value, user_id
from minercdc_sandbox.sql.zones import Zone


def sys_context(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """SYS_CONTEXT(namespace, name), a VARCHAR2(256) that each run reads once; NULL for another namespace than USERENV. Raises
    ORA-03001 for names that are not literals; the run raises ORA-02003 for a name that USERENV does not have. A third argument
    has no effect."""
    space, name = args[0].literal, args[1].literal
    if space is None or name is None:
        raise OraError(3001, "unimplemented feature: SYS_CONTEXT with names that are not literals", expr.at)
    if space.upper() != "USERENV":
        return Typed("null", varchar(256))
    key = name.upper()
    sql = x.parameter(("userenv", key), lambda run: session_value(run.session, key))
    return Typed(sql, varchar(256))


def userenv(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """USERENV(name): SYS_CONTEXT('USERENV', name) for eight names, a VARCHAR2(256) that each run reads once. Raises ORA-02003 for
    other names, and for one that is not a literal."""
    name = (args[0].literal or "").upper()
    if name not in ("CLIENT_INFO", "INSTANCE", "ISDBA", "LANG", "LANGUAGE", "SESSIONID", "SID", "TERMINAL"):
        raise OraError(2003, "invalid USERENV parameter", expr.at)
    return Typed(x.parameter(("userenv", name), lambda run: session_value(run.session, name)), varchar(256))


def sys_guid(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """SYS_GUID(): SQL of 16 random bytes, different ones at each evaluation."""
    return Typed("o_sys_guid()", SqlType(Family.RAW, size=16), False)


_CONSTANTS = {
    "DBTIMEZONE": Typed("'+00:00'", varchar(6), False),
    **{
        f"{kind.family}_{word}": Typed(blob(binary.encode(float(value), BINARY_SIZES[kind.family])), kind, False)
        for kind in (types.FLOAT, types.DOUBLE)
        for word, value in (("NAN", "nan"), ("INFINITY", "inf"))
    },
}
_OF_RUN: dict[str, tuple[SqlType, Callable[[Run, Zone], object]]] = {
    "SYSDATE": (types.DATE, lambda run, zone: moment_of(run, Family.DATE, 0)),
    "SYSTIMESTAMP": (types.ZONED, lambda run, zone: moment_of(run, Family.ZONED, 0)),
    "CURRENT_DATE": (types.DATE, lambda run, zone: moment_of(run, Family.DATE, zone)),
    "CURRENT_TIMESTAMP": (types.ZONED, lambda run, zone: moment_of(run, Family.ZONED, zone)),
    "LOCALTIMESTAMP": (SqlType(Family.TIMESTAMP, scale=6), lambda run, zone: moment_of(run, Family.TIMESTAMP, zone)),
    "USER": (varchar(128), lambda run, zone: run.session.user),
    "UID": (NUMBER, lambda run, zone: number.integer(user_id(run.session))),
    "SESSIONTIMEZONE": (varchar(64), lambda run, zone: run.session.settings.nls.time_zone),
}
"""Type and value of words that each run evaluates; `zone`: of the session."""


def niladic(x: Conditions, name: str) -> Typed | None:
    """The word `name`, in upper case, if it is SYSDATE, USER or another function that takes no parentheses; None for any other
    name. Times, user and time zone are parameters that each run evaluates once."""
    if name in _CONSTANTS or name not in _OF_RUN:
        return _CONSTANTS.get(name)
    (kind, value), zone = _OF_RUN[name], x.env.nls.zone
    return Typed(x.parameter(name, lambda run: value(run, zone)), kind, False)


_TRUE = b"\1"


def current_scn(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER: read from the storage's clock once for each run of the statement. Raises ORA-00904
    where the user may not execute the package."""
    if not may_execute(x.env.catalog, x.env.container, x.env.user, "DBMS_FLASHBACK"):
        raise OraError(904, f'"{expr.name.replace(".", chr(34) + "." + chr(34))}": invalid identifier', expr.at)
    return Typed(x.parameter(expr.name, lambda run: number.integer(run.session.storage.clock.read())), NUMBER, False)


def local_transaction_id(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_TRANSACTION.LOCAL_TRANSACTION_ID [(create_transaction)], a VARCHAR2: `usn.slot.sequence` of the open transaction, NULL
    if none is. Each run evaluates it once.

    With TRUE the run begins a transaction if none is open. Raises ORA-03001 for an argument other than TRUE, FALSE, NULL or a
    bind, and as `Conditions.to`.
    """
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
    """DBMS_METADATA.GET_DDL('TABLE', name [, schema]): SQL of a new temporary CLOB with the DDL of the table and its indexes.
    Raises as `Conditions.to`; the SQL raises ORA-31603 for a table that is not there or not seen, ORA-03001 for other types."""
    parts = [x.to(arg, Family.VARCHAR, expr.at) for arg in args] + ["null"] * (3 - len(args))
    return Typed(f"o_to_lob(o_ddl({','.join(parts)}),'CLOB')", types.CLOB, False)


def get_time(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_UTILITY.GET_TIME: the start of the run in hundredths of a second since 1970, modulo 2**31; the same for all rows of a run."""
    return Typed(x.parameter(expr.name, lambda run: number.integer(int(run.now * 100) % (1 << 31))), NUMBER, False)


def mined(function: str, result: SqlType) -> Rule:
    """The rule of DBMS_LOGMNR.MINE_VALUE or COLUMN_PRESENT (value handle, 'schema.table.column'), which calls SQLite's
    `o_<function>`; `result`: its type. Translating raises as `Conditions.to`."""

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        handle, name = x.to(args[0], Family.NUMBER, expr.at), x.to(args[1], Family.VARCHAR, expr.at)
        return Typed(f"o_{function}({handle},{name})", result)

    return translate, 2, 2


def random_number(function: str) -> Translate:
    """The translation of a function of DBMS_RANDOM that returns a NUMBER, another one at each evaluation, by SQLite's
    `o_random_<function>`. It takes no argument, or a lower and an upper bound; translating raises ORA-00938 for only one, and as
    `Conditions.to`."""

    def translate(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
        if args:
            count_arguments(expr, args, 2)
        operands = ",".join(x.to(arg, Family.NUMBER, expr.at) for arg in args)
        return Typed(f"o_random_{function}({operands})", NUMBER, False)

    return translate


def random_text(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """DBMS_RANDOM.STRING(kind, length), a VARCHAR2(4000), another one at each evaluation. Raises as `Conditions.to`."""
    kind, length = x.to(args[0], Family.VARCHAR, expr.at), x.to(args[1], Family.NUMBER, expr.at)
    return Typed(f"o_random_text({kind},{length})", varchar(4000))


def row_id_part(place: int) -> Rule:
    """The rule of the function of DBMS_ROWID that returns the part at `place` of `_ROW_ID_PARTS`, counted from 0, as a NUMBER; a
    second argument has no effect. Translating raises as `Conditions.to`."""
    return lambda x, expr, args: Typed(f"o_row_id_part({x.to(args[0], Family.ROWID, expr.at)},{place})", NUMBER), 1, 2


_ROW_ID_PARTS = ("ROWID_OBJECT", "ROWID_RELATIVE_FNO", "ROWID_BLOCK_NUMBER", "ROWID_ROW_NUMBER")

PACKAGED: dict[str, Rule] = {
    "DBMS_RANDOM.VALUE": (random_number("value"), 0, 2),
    "DBMS_RANDOM.RANDOM": (random_number("whole"), 0, 0),
    "DBMS_RANDOM.NORMAL": (random_number("normal"), 0, 0),
    "DBMS_UTILITY.GET_TIME": (get_time, 0, 0),
    "DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER": (current_scn, 0, 0),
    "DBMS_TRANSACTION.LOCAL_TRANSACTION_ID": (local_transaction_id, 0, 1),
}
"""Functions of packages that may be called without parentheses."""

RULES: dict[str, Rule] = {
    **PACKAGED,
    "DBMS_RANDOM.STRING": (random_text, 2, 2),
    **{f"DBMS_ROWID.{name}": row_id_part(place) for place, name in enumerate(_ROW_ID_PARTS)},
    "DBMS_METADATA.GET_DDL": (get_ddl, 2, 3),
    "DBMS_LOGMNR.MINE_VALUE": mined("mine_value", varchar()),
    "DBMS_LOGMNR.COLUMN_PRESENT": mined("column_present", NUMBER),
    "SYS_CONTEXT": (sys_context, 2, 3),
    "USERENV": (userenv, 1, 1),
    "SYS_GUID": (sys_guid, 0, 0),
}
