"""Translations of functions on dates, timestamps and intervals."""

from __future__ import annotations

from dataclasses import replace

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.sql import ast, temporal
from minercdc_sandbox.sql.execution import Run
from minercdc_sandbox.sql.functions.rules import Plain, Rule
from minercdc_sandbox.sql.scope import Typed
from minercdc_sandbox.sql.translate.conditions import Conditions
from minercdc_sandbox.sql.types import (
    DATE,
    INTERVAL,
    INTERVALS,
    MONTHS,
    NUMBER,
    TIMESTAMP,
    ZONED,
    Family,
    inconsistent,
    varchar,
)
from minercdc_sandbox.sql.zones import Zone

_ALL_FIELDS = frozenset(["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"])
_ZONE_FIELDS = frozenset(["TIMEZONE_HOUR", "TIMEZONE_MINUTE", "TIMEZONE_REGION"])
_TIME_FIELDS = {
    Family.DATE: frozenset(["YEAR", "MONTH", "DAY"]),
    Family.TIMESTAMP: _ALL_FIELDS,
    Family.ZONED: _ALL_FIELDS | _ZONE_FIELDS,
    Family.LOCAL: _ALL_FIELDS,
    Family.INTERVAL: frozenset(["DAY", "HOUR", "MINUTE", "SECOND"]),
    Family.MONTHS: frozenset(["YEAR", "MONTH"]),
}


def extract(x: Conditions, part: str, operand: Typed, at: int) -> Typed:
    """EXTRACT(part FROM operand): a NUMBER, for TIMEZONE_REGION a VARCHAR2(64). Raises ORA-30076 for a part that the operand's
    type does not have."""
    family = operand.type.family
    if part not in _TIME_FIELDS.get(family, ()):
        raise OraError(30076, "invalid extract field for extract source", at)
    if part == "TIMEZONE_REGION":
        return Typed(f"o_zone_name({operand.sql})", varchar(64))
    if family in INTERVALS:
        return Typed(f"o_extract_interval('{part}',{operand.sql})", NUMBER)
    return Typed(f"o_extract('{part}',{x.wall(operand)})", NUMBER)


def from_tz(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """FROM_TZ(timestamp, zone): TIMESTAMP WITH TIME ZONE, the timestamp as the local time of the zone. Raises ORA-00932 for any
    other type than TIMESTAMP, and as `Conditions.to`; the SQL raises for an unknown zone."""
    if args[0].type.family is not Family.TIMESTAMP:
        raise inconsistent(Family.TIMESTAMP, args[0].type.family, expr.at)
    zone = x.to(args[1], Family.VARCHAR, expr.at)
    return Typed(f"o_retime({args[0].sql},'T','Z',{zone})", replace(ZONED, scale=args[0].type.scale))


def sys_extract_utc(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """SYS_EXTRACT_UTC: the TIMESTAMP in UTC; a value without a time zone is read in the session's. Raises as `Conditions.to`."""
    return Typed(
        f"o_zone_key({x.to(args[0], Family.ZONED, expr.at)},'+00:00')", replace(TIMESTAMP, scale=args[0].type.scale)
    )


def tz_offset(x: Conditions, expr: ast.Call, args: list[Typed]) -> Typed:
    """TZ_OFFSET(zone), a VARCHAR2(7): the offset of the zone from UTC at the start of the run. Raises as `Conditions.to`; the SQL
    raises as `zone_offset`."""
    now = x.parameter("SYS_EXTRACT_UTC", lambda run: moment_of(run, Family.TIMESTAMP, 0))
    return Typed(f"o_zone_offset({x.to(args[0], Family.VARCHAR, expr.at)},{now})", varchar(7))


def moment_of(run: Run, family: Family, zone: Zone) -> Cell:
    """The start of a run, in microseconds, as clocks in `zone` show it. `family`: DATE (whole seconds), TIMESTAMP or ZONED."""
    utc = temporal.from_ns(int(run.now * 1_000_000) * 1000)
    if family is Family.ZONED:
        return temporal.encode_zoned(utc, zone)
    return temporal.encode(temporal.to_wall(utc, zone), fraction=family is Family.TIMESTAMP)


PLAIN: dict[str, Plain] = {
    "LAST_DAY": ("last_day", "D", 1, DATE),
    "NEXT_DAY": ("next_day", "DT", 2, DATE),
    "ADD_MONTHS": ("add_months", "DN", 2, DATE),
    "MONTHS_BETWEEN": ("months_between", "DD", 2, NUMBER),
    "NUMTODSINTERVAL": ("interval", "NT", 2, INTERVAL),
    "NUMTOYMINTERVAL": ("month_interval", "NT", 2, MONTHS),
    "TO_DSINTERVAL": ("text_interval", "T", 1, INTERVAL),
    "TO_YMINTERVAL": ("text_months", "T", 1, MONTHS),
    "SCN_TO_TIMESTAMP": ("scn_time", "N", 1, TIMESTAMP),
    "TIMESTAMP_TO_SCN": ("time_scn", "S", 1, NUMBER),
}


RULES: dict[str, Rule] = {
    "FROM_TZ": (from_tz, 2, 2),
    "SYS_EXTRACT_UTC": (sys_extract_utc, 1, 1),
    "TZ_OFFSET": (tz_offset, 1, 1),
}
