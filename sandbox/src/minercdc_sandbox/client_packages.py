"""Packages that clients and setup scripts call: DBMS_OUTPUT, DBMS_APPLICATION_INFO, DBMS_SESSION, DBMS_LOCK, DBMS_STATS, ..

Parameters have the names of the PL/SQL Packages and Types Reference; most have no effect, and those that `_BODIES` does not list
raise PLS-00306. A procedure of these packages that it does not list is unknown (PLS-00201).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from minercdc_sandbox.arguments import Arguments, Body, Out, procedures
from minercdc_sandbox.interfaces import Argument, Cell, OraError, OraType
from minercdc_sandbox.sql import number, zones
from minercdc_sandbox.sql.convert import to_text
from minercdc_sandbox.sql.dml.error_log import default_name, error_log_ddl
from minercdc_sandbox.sql.nls import Nls
from minercdc_sandbox.sql.types import type_of_wire
from minercdc_sandbox.tables import Table
from minercdc_sandbox.view_session import ViewSession

_LONGEST_LINE = 32767
_TICK = 0.05


@dataclass(slots=True)
class _Output:
    """A session's DBMS_OUTPUT, from ENABLE to DISABLE: finished lines, which GET_LINE takes from the left, None for an empty one.

    :param limit: bytes that all lines together may have; None is unlimited.
    :param begun: the line that PUT began and no NEW_LINE has ended; None for none.
    """

    limit: int | None = 20000
    lines: deque[str | None] = field(default_factory=deque)
    begun: str | None = None

    def add(self, text: str) -> None:
        line = (self.begun or "") + text
        if len(line.encode()) > _LONGEST_LINE:
            raise OraError(20000, "ORU-10028: line length overflow, limit of 32767 bytes per line")
        used = sum(len((one or "").encode()) for one in self.lines)
        if self.limit is not None and used + len(line.encode()) > self.limit:
            raise OraError(20000, f"ORU-10027: buffer overflow, limit of {self.limit} bytes")
        self.begun = line

    def end(self) -> None:
        self.lines.append(self.begun or None)
        self.begun = None


def _disable(session: ViewSession, arguments: Arguments) -> None:
    session.state.pop("DBMS_OUTPUT", None)


def _output(session: ViewSession) -> _Output | None:
    return cast("_Output | None", session.state.get("DBMS_OUTPUT"))


def _text(value: Cell, kind: OraType, nls: Nls) -> str:
    """The text that PUT shows for a value: as of TO_CHAR; '' for NULL. Raises as `convert.to_text`."""
    return "" if value is None else to_text(value, type_of_wire(kind, 0, 6, 4000), nls)


def _enable(session: ViewSession, arguments: Arguments) -> None:
    limit = arguments.integer("BUFFER_SIZE")
    known = session.state.setdefault("DBMS_OUTPUT", _Output())
    known.limit = None if limit is None else min(max(limit, 2000), 1_000_000)


def _put(session: ViewSession, arguments: Arguments) -> None:
    output = _output(session)
    if output is not None:
        output.add(_text(arguments.value("A"), arguments.type("A"), session.settings.nls))


def _put_line(session: ViewSession, arguments: Arguments) -> None:
    _put(session, arguments)
    _new_line(session, arguments)


def _new_line(session: ViewSession, arguments: Arguments) -> None:
    output = _output(session)
    if output is not None:
        output.end()


def _get_line(session: ViewSession, arguments: Arguments) -> Out:
    output = _output(session)
    there = output is not None and bool(output.lines)
    line = output.lines.popleft() if output is not None and there else None
    return {"LINE": Argument(line, OraType.VARCHAR2), "STATUS": _number(int(not there))}


def _get_lines(session: ViewSession, arguments: Arguments) -> Out:
    output, wanted = _output(session), arguments.integer("NUMLINES") or 0
    found: list[Cell] = []
    while output is not None and output.lines and len(found) < wanted:
        found.append(output.lines.popleft())
    lines = cast(Cell, tuple(found))  # an array, which only these calls hand out
    return {"LINES": Argument(lines, OraType.VARCHAR2), "NUMLINES": _number(len(found))}


def _number(value: int) -> Argument:
    return Argument(number.encode(value), OraType.NUMBER)


# ---- module, action and client info ----


def _name_work(session: ViewSession, **names: Cell) -> None:
    session.set_metrics(**{name: str(value)[:64] if value else None for name, value in names.items()})


def _read_module(session: ViewSession, arguments: Arguments) -> Out:
    names = {"MODULE_NAME": session.settings.module, "ACTION_NAME": session.settings.action}
    return {name: Argument(value, OraType.VARCHAR2) for name, value in names.items()}


def _run(session: ViewSession, sql: str) -> None:
    session.statements.run_inner(sql)


def _set_nls(session: ViewSession, arguments: Arguments) -> None:
    """DBMS_SESSION.SET_NLS: run ALTER SESSION SET PARAM = VALUE with the arguments as they are: a value that must be quoted there
    brings its quotes. Raises as that statement."""
    _run(session, f"alter session set {arguments.text('PARAM')} = {arguments.text('VALUE')}")


def _sleep(session: ViewSession, arguments: Arguments) -> None:
    """Sleep for SECONDS; a cancel ends it within 0.05 seconds (ORA-01013). Raises ORA-38148 for NULL and a negative number, and
    as `Arguments.number`."""
    seconds = arguments.number("SECONDS")
    if seconds is None or seconds < 0:
        raise OraError(38148, "invalid time limit specified")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(_TICK, left))
        session.client.check()


def _create_error_log(session: ViewSession, arguments: Arguments) -> None:
    given = [_identifier(part) for part in arguments.text("DML_TABLE_NAME").split(".")]
    place, name = (given[0] if len(given) == 2 else session.schema), given[-1]
    table = session.database.catalog.table(session.container, place, name)
    if table is None:
        raise OraError(942, "table or view does not exist")
    owner, log = place, default_name(name)
    if arguments.has("ERR_LOG_TABLE_OWNER"):
        owner = _identifier(arguments.text("ERR_LOG_TABLE_OWNER"))
    if arguments.has("ERR_LOG_TABLE_NAME"):
        log = _identifier(arguments.text("ERR_LOG_TABLE_NAME"))
    skipping = bool(arguments.integer("SKIP_UNSUPPORTED"))
    _run(session, error_log_ddl(table, owner, log, skip_unsupported=skipping))


def _db_version(session: ViewSession, arguments: Arguments) -> Out:
    text = ".".join(map(str, session.database.version))
    return {"VERSION": Argument(text, OraType.VARCHAR2), "COMPATIBILITY": Argument(text, OraType.VARCHAR2)}


def _zone_transitions(session: ViewSession, arguments: Arguments) -> Out:
    region = zones.region_of(arguments.integer("REGIONID") or 0)
    return {"TRANSITIONS": Argument(zones.transitions(region), OraType.RAW)}


# ---- DBMS_STATS: nothing visible but LAST_ANALYZED and NUM_ROWS ----


def _analyze(session: ViewSession, tables: Iterable[Table]) -> None:
    storage = session.database.storage
    with storage.lock:
        for table in tables:
            if not table.temporary:
                table.analyzed = (session.database.clock.now(), _row_count(session, table))


def _row_count(session: ViewSession, table: Table) -> int:
    result = session.statements.run_inner(f'select count(*) from "{table.owner}"."{table.name}"')
    assert result.rows is not None
    ((count,),) = result.rows.fetch(1)
    result.rows.close()
    return number.to_int(cast(bytes, count))


def _owner(session: ViewSession, arguments: Arguments) -> str:
    return _identifier(arguments.text("OWNNAME")) if arguments.has("OWNNAME") else session.schema


def _identifier(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.upper()


def _gather_table(session: ViewSession, arguments: Arguments) -> None:
    owner, name = _owner(session, arguments), _identifier(arguments.text("TABNAME"))
    table = session.database.catalog.table(session.container, owner, name)
    if table is None:
        raise OraError(20000, f'Unable to analyze TABLE "{owner}"."{name}", insufficient privileges or does not exist')
    _analyze(session, [table])


def _gather_schema(session: ViewSession, arguments: Arguments) -> None:
    owner = _owner(session, arguments)
    _analyze(session, [t for t in session.database.catalog.tables(session.container) if t.owner == owner])


def _delete_table(session: ViewSession, arguments: Arguments) -> None:
    owner, name = _owner(session, arguments), _identifier(arguments.text("TABNAME"))
    table = session.database.catalog.table(session.container, owner, name)
    if table is not None:
        table.analyzed = None


# ---- DBMS_METADATA ----

_TRANSFORMS = frozenset(
    [
        *("PRETTY", "SQLTERMINATOR", "STORAGE", "SEGMENT_ATTRIBUTES", "TABLESPACE", "CONSTRAINTS", "REF_CONSTRAINTS"),
        *("CONSTRAINTS_AS_ALTER", "SIZE_BYTE_KEYWORD", "PARTITIONING", "FORCE", "EMIT_SCHEMA", "DEFAULT"),
    ]
)
"""Known parameters of SET_TRANSFORM_PARAM. Only SQLTERMINATOR, CONSTRAINTS and REF_CONSTRAINTS change a DDL text; DEFAULT sets
these three back."""


def _set_transform(session: ViewSession, arguments: Arguments) -> None:
    name = arguments.text("NAME").upper()
    if name not in _TRANSFORMS:
        raise OraError(31600, f"invalid input value {name} for parameter NAME in function SET_TRANSFORM_PARAM")
    known: dict[str, bool] = session.state.setdefault("DBMS_METADATA", {})
    if name == "DEFAULT":
        known.clear()
    elif arguments.type("VALUE") is OraType.NUMBER:
        known[name] = arguments.integer("VALUE") != 0


_STATS = (
    *("PARTNAME", "ESTIMATE_PERCENT", "BLOCK_SAMPLE", "METHOD_OPT", "DEGREE", "GRANULARITY", "CASCADE", "STATTAB"),
    "STATID",
)
_BODIES: dict[str, tuple[tuple[str, ...], Body]] = {
    "DBMS_APPLICATION_INFO.SET_MODULE": (
        ("MODULE_NAME", "ACTION_NAME"),
        lambda s, a: _name_work(s, module=a.value("MODULE_NAME"), action=a.value("ACTION_NAME")),
    ),
    "DBMS_APPLICATION_INFO.SET_ACTION": (("ACTION_NAME",), lambda s, a: _name_work(s, action=a.value("ACTION_NAME"))),
    "DBMS_APPLICATION_INFO.SET_CLIENT_INFO": (
        ("CLIENT_INFO",),
        lambda s, a: _name_work(s, client_info=a.value("CLIENT_INFO")),
    ),
    "DBMS_APPLICATION_INFO.READ_MODULE": (("MODULE_NAME", "ACTION_NAME"), _read_module),
    "DBMS_APPLICATION_INFO.READ_CLIENT_INFO": (
        ("CLIENT_INFO",),
        lambda s, a: {"CLIENT_INFO": Argument(s.settings.client_info, OraType.VARCHAR2)},
    ),
    "DBMS_LOCK.SLEEP": (("SECONDS",), _sleep),
    "DBMS_METADATA.SET_TRANSFORM_PARAM": (("TRANSFORM_HANDLE", "NAME", "VALUE", "OBJECT_TYPE"), _set_transform),
    "DBMS_OUTPUT.DISABLE": ((), _disable),
    "DBMS_OUTPUT.ENABLE": (("BUFFER_SIZE",), _enable),
    "DBMS_OUTPUT.GET_LINE": (("LINE", "STATUS"), _get_line),
    "DBMS_OUTPUT.GET_LINES": (("LINES", "NUMLINES"), _get_lines),
    "DBMS_OUTPUT.NEW_LINE": ((), _new_line),
    "DBMS_OUTPUT.PUT": (("A",), _put),
    "DBMS_OUTPUT.PUT_LINE": (("A",), _put_line),
    "DBMS_ERRLOG.CREATE_ERROR_LOG": (
        ("DML_TABLE_NAME", "ERR_LOG_TABLE_NAME", "ERR_LOG_TABLE_OWNER", "ERR_LOG_TABLE_SPACE", "SKIP_UNSUPPORTED"),
        _create_error_log,
    ),
    "DBMS_SESSION.CLEAR_IDENTIFIER": ((), lambda s, a: _name_work(s, client_id=None)),
    "DBMS_SESSION.SET_IDENTIFIER": (("CLIENT_ID",), lambda s, a: _name_work(s, client_id=a.value("CLIENT_ID"))),
    "DBMS_SESSION.SET_NLS": (("PARAM", "VALUE"), _set_nls),
    "DBMS_SESSION.SET_ROLE": (("ROLE_CMD",), lambda s, a: _run(s, f"set role {a.text('ROLE_CMD')}")),
    "DBMS_SESSION.SLEEP": (("SECONDS",), _sleep),
    "DBMS_STATS.DELETE_TABLE_STATS": (("OWNNAME", "TABNAME", "PARTNAME"), _delete_table),
    "DBMS_STATS.GATHER_DATABASE_STATS": (
        ("ESTIMATE_PERCENT",),
        lambda s, a: _analyze(s, list(s.database.catalog.tables(s.container))),
    ),
    "DBMS_STATS.GATHER_INDEX_STATS": (("OWNNAME", "INDNAME", *_STATS), lambda s, a: None),
    "DBMS_STATS.GATHER_SCHEMA_STATS": (("OWNNAME", *_STATS[1:]), _gather_schema),
    "DBMS_STATS.GATHER_TABLE_STATS": (("OWNNAME", "TABNAME", *_STATS), _gather_table),
    "DBMS_UTILITY.DB_VERSION": (("VERSION", "COMPATIBILITY"), _db_version),
    "DBMS_UTILITY.EXEC_DDL_STATEMENT": (("PARSE_STRING",), lambda s, a: _run(s, a.text("PARSE_STRING"))),
    "DBMS_UTILITY.GET_TZ_TRANSITIONS": (("REGIONID", "TRANSITIONS"), _zone_transitions),
}
"""Parameters and body of each procedure, by qualified name."""


PROCEDURES = procedures(_BODIES)
"""The packages' procedures by qualified name."""

CONSTANTS = {"DBMS_METADATA.SESSION_TRANSFORM": -1, "DBMS_STATS.AUTO_SAMPLE_SIZE": 0, "DBMS_STATS.AUTO_DEGREE": 32768}
"""Their constants."""
