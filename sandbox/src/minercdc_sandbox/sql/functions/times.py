"""Functions on dates, timestamps and intervals."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import ast, temporal
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.functions.arguments import count_arguments
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import (
    DATE,
    INTERVAL,
    INTERVALS,
    MONTHS,
    NUMBER,
    TEMPORAL,
    TIMESTAMP,
    ZONED,
    Family,
    SqlType,
    inconsistent,
    varchar,
)
from minercdc_sandbox.sql.zones import Zone

_TIME_FIELDS = {
    Family.DATE: frozenset(["YEAR", "MONTH", "DAY"]),
    Family.INTERVAL: frozenset(["DAY", "HOUR", "MINUTE", "SECOND"]),
    Family.MONTHS: frozenset(["YEAR", "MONTH"]),
}


_ALL_FIELDS = frozenset(["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"])


_ZONE_FIELDS = frozenset(["TIMEZONE_HOUR", "TIMEZONE_MINUTE", "TIMEZONE_REGION"])


def extract(x: Conditions, part: str, operand: Typed, at: int) -> Typed:
    """EXTRACT(part FROM operand). Raises ORA-30076 for a part the operand has not."""
    family = operand.type.family
    fields = _TIME_FIELDS.get(family, _ALL_FIELDS if family in TEMPORAL else frozenset())
    if part not in fields and not (family is Family.ZONED and part in _ZONE_FIELDS):
        raise OraError(30076, "invalid extract field for extract source", at)
    if part == "TIMEZONE_REGION":
        return Typed(f"o_zone_name({operand.sql})", varchar(64))
    if family in INTERVALS:
        return Typed(f"o_extract_interval('{part}',{operand.sql})", NUMBER)
    return Typed(f"o_extract('{part}',{x.wall(operand)})", NUMBER)


def from_tz(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """A TIMESTAMP on the wall of a zone."""
    count_arguments(expr, args, 2, 2)
    if args[0].type.family is not Family.TIMESTAMP:
        raise inconsistent(Family.TIMESTAMP, args[0].type.family, expr.at)
    zone = x.to(args[1], Family.VARCHAR, expr.at)
    return Typed(f"o_retime({args[0].sql},'T','Z',{zone})", replace(ZONED, scale=args[0].type.scale))


def sys_extract_utc(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(
        f"o_zone_key({x.to(args[0], Family.ZONED, expr.at)},'+00:00')", replace(TIMESTAMP, scale=args[0].type.scale)
    )


def tz_offset(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    now = x.parameter("SYS_EXTRACT_UTC", lambda run: moment_of(run, TIMESTAMP, 0))
    return Typed(f"o_zone_offset({x.to(args[0], Family.VARCHAR, expr.at)},{now})", varchar(7))


def scn_to_timestamp(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"o_scn_time({x.to(args[0], Family.NUMBER, expr.at)})", TIMESTAMP)


def timestamp_to_scn(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    count_arguments(expr, args, 1, 1)
    return Typed(f"o_time_scn({x.to(args[0], Family.TIMESTAMP, expr.at)})", NUMBER)


def moment_of(run: Run, kind: SqlType, zone: Zone) -> Cell:
    utc = temporal.from_ns(int(run.now * 1_000_000) * 1000)
    if kind.family is Family.ZONED:
        return temporal.encode_zoned(utc, zone)
    return temporal.encode(temporal.to_wall(utc, zone), fraction=kind.family is Family.TIMESTAMP)


PLAIN: dict[str, Plain] = {
    "LAST_DAY": ("last_day", "D", 1, DATE),
    "NEXT_DAY": ("next_day", "DT", 2, DATE),
    "ADD_MONTHS": ("add_months", "DN", 2, DATE),
    "MONTHS_BETWEEN": ("months_between", "DD", 2, NUMBER),
    "NUMTODSINTERVAL": ("interval", "NT", 2, INTERVAL),
    "NUMTOYMINTERVAL": ("month_interval", "NT", 2, MONTHS),
    "TO_DSINTERVAL": ("text_interval", "T", 1, INTERVAL),
    "TO_YMINTERVAL": ("text_months", "T", 1, MONTHS),
}


RULES: dict[str, Rule] = {
    "FROM_TZ": from_tz,
    "SYS_EXTRACT_UTC": sys_extract_utc,
    "TZ_OFFSET": tz_offset,
    "SCN_TO_TIMESTAMP": scn_to_timestamp,
    "TIMESTAMP_TO_SCN": timestamp_to_scn,
}
