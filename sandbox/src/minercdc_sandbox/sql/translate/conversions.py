"""Parameters of a translated statement, and Oracle's implicit conversions between translated values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

from minercdc_sandbox.interfaces import BindType, OraError
from minercdc_sandbox.sql import ast, temporal
from minercdc_sandbox.sql.convert import model_of
from minercdc_sandbox.sql.execution import Parameter
from minercdc_sandbox.sql.scope import Scope, Typed
from minercdc_sandbox.sql.translate.environment import Environment, quote
from minercdc_sandbox.sql.types import (
    BINARY_SIZES,
    INTERVALS,
    KIND,
    LARGE,
    NUMERIC,
    TEMPORAL,
    TEXT,
    Family,
    SqlType,
    calculated,
    inconsistent,
    varchar,
)

_NOT_PLAIN = LARGE | {Family.BOOLEAN, Family.LONG, Family.LONG_RAW}


@dataclass(slots=True)
class Conversions:
    """Collects the parameters of one statement and converts translated values.

    :param sequences: how often the statement names each sequence, by OBJECT_ID.
    :param drawn: sequences that it takes NEXTVAL of: the first mention in a row draws, whichever it is.
    """

    env: Environment
    bind_types: Sequence[BindType] = ()
    parameters: list[Parameter] = field(default_factory=list)
    _keys: dict[object, str] = field(default_factory=dict)
    subquery: Callable[[ast.Query, Scope | None], tuple[str, list[Typed]]] | None = None
    aggregates_allowed: bool = False
    analytic_allowed: bool = False
    sequences_allowed: bool = True
    sequences: dict[int, int] = field(default_factory=dict)
    drawn: set[int] = field(default_factory=set)

    @contextmanager
    def nested(self, *, analytic: bool, aggregates: bool | None = None) -> Iterator[None]:
        """While arguments are translated: which functions may stand among them."""
        before = self.aggregates_allowed, self.analytic_allowed
        self.analytic_allowed = analytic
        if aggregates is not None:
            self.aggregates_allowed = aggregates
        try:
            yield
        finally:
            self.aggregates_allowed, self.analytic_allowed = before

    @contextmanager
    def without_sequences(self, forbidden: bool) -> Iterator[None]:
        """While expressions are translated where NEXTVAL may not be (ORA-02287)."""
        before = self.sequences_allowed
        self.sequences_allowed = before and not forbidden
        try:
            yield
        finally:
            self.sequences_allowed = before

    def parameter(self, key: object, value: Parameter) -> str:
        """`?n` for a value known when the statement runs; one number per key."""
        if key not in self._keys:
            self.parameters.append(value)
            self._keys[key] = f"?{len(self.parameters)}"
        return self._keys[key]

    @property
    def snapshot(self) -> str:
        return self.parameter("snapshot", lambda run: run.snapshot)

    @property
    def own(self) -> str:
        return self.parameter("own", lambda run: run.own)

    @property
    def today(self) -> str:
        return self.parameter("today", lambda run: date(*temporal.from_ns(int(run.now) * 10**9)[:3]).isoformat())

    def to(self, typed: Typed, family: Family, at: int) -> str:
        """SQL of the value in another family, by Oracle's implicit conversions. Raises ORA-00932."""
        have = typed.type.family
        if have is family or have is Family.NULL or (have in TEXT and family in TEXT):
            return typed.sql
        if have in _NOT_PLAIN or family in _NOT_PLAIN:
            return self._large(typed, family, at)
        point = quote(self.env.nls.numeric_characters[0])
        if have in NUMERIC and family in NUMERIC:
            if family is Family.NUMBER:
                return f"o_float_number({typed.sql})"
            name = "float_of_number" if have is Family.NUMBER else "float_resized"
            return f"o_{name}({typed.sql},{BINARY_SIZES[family]})"
        if have in TEXT and family in BINARY_SIZES:
            return f"o_float_of_text({typed.sql},{BINARY_SIZES[family]},{point})"
        if have in TEXT and family in INTERVALS:
            return f"o_text_{'interval' if family is Family.INTERVAL else 'months'}({typed.sql})"
        if have in TEXT and family is Family.NUMBER:
            return f"o_to_num({typed.sql},{point})"
        if have in TEXT and family in TEMPORAL:
            model = self.model(family)
            return f"o_text_date({typed.sql},{quote(model)},'{KIND[family]}',{self.zone},{self.today})"
        if have in TEXT and family is Family.RAW:
            return f"o_hex_raw({typed.sql})"
        if have in TEXT and family is Family.ROWID:
            return typed.sql
        if family in TEXT:
            if have is Family.NUMBER:
                return f"o_num_text({typed.sql},{point})"
            if have in BINARY_SIZES:
                return f"o_float_text({typed.sql},{point})"
            if have is Family.INTERVAL:
                return f"o_interval_text({typed.sql},{typed.type.precision},{typed.type.scale})"
            if have is Family.MONTHS:
                return f"o_months_text({typed.sql},{typed.type.precision})"
            if have is Family.RAW:
                return f"o_raw_hex({typed.sql})"
            if have is Family.ROWID:
                return typed.sql
            if have in TEMPORAL:
                return self.date_text(typed, quote(self.model(have)))
        if have in TEMPORAL and family in TEMPORAL:
            return f"o_retime({typed.sql},'{KIND[have]}','{KIND[family]}',{self.zone})"
        raise inconsistent(family, have, at)

    def _large(self, typed: Typed, family: Family, at: int) -> str:
        """Between LOBs, XML, BOOLEAN and the other types; LONG is nothing else."""
        have = typed.type.family
        if have in (Family.LONG, Family.LONG_RAW):
            raise OraError(997, "illegal use of LONG datatype", at)
        if have in (Family.CLOB, Family.XML) and family in TEXT:
            return f"o_lob_short_text({typed.sql})"
        if have is Family.CLOB and family not in (*LARGE, Family.BOOLEAN):
            return self.to(Typed(f"o_lob_short_text({typed.sql})", varchar()), family, at)
        if have is Family.BLOB and family is Family.RAW:
            return f"o_lob_short_raw({typed.sql})"
        if family is Family.CLOB and have is Family.XML:
            return typed.sql
        if family in (Family.CLOB, Family.XML) and have not in LARGE:
            kind = "NCLOB" if typed.type.national else "CLOB"
            text = f"o_to_lob({self.to(typed, Family.VARCHAR, at)},'{kind}')"
            return f"o_xml({text})" if family is Family.XML else text
        if family is Family.XML and have is Family.CLOB:
            return f"o_xml({typed.sql})"
        if family is Family.JSON and have in (*TEXT, Family.CLOB):
            return f"o_json({self.whole_text(typed, at)})"
        if family is Family.VECTOR and have in (*TEXT, Family.CLOB):
            return f"o_vector({self.whole_text(typed, at)})"
        if family is Family.BLOB and have in (Family.RAW, *TEXT):
            return f"o_to_lob({self.to(typed, Family.RAW, at)},'BLOB')"
        if have is Family.BOOLEAN and family in TEXT:
            return f"case {typed.sql} when x'01' then 'TRUE' when x'00' then 'FALSE' end"
        if have is Family.BOOLEAN and family is Family.NUMBER:
            return f"o_int({typed.sql}=x'01')"
        raise inconsistent(family, have, at)

    def whole_text(self, typed: Typed, at: int) -> str:
        """SQL of a text of any length: of a CLOB all of it."""
        if typed.type.family is Family.CLOB:
            return f"o_lob_text({typed.sql})"
        return self.to(typed, Family.VARCHAR, at)

    def json_text(self, typed: Typed, at: int) -> str:
        """SQL of a JSON document's text: of JSON, a CLOB or text."""
        return f"o_json_text({typed.sql})" if typed.type.family is Family.JSON else self.whole_text(typed, at)

    def to_type(self, typed: Typed, target: SqlType, at: int) -> str:
        if typed.type.family is target.family:
            return typed.sql
        return self.to(typed, target.family, at)

    def model(self, family: Family) -> str:
        """The session's default format."""
        return model_of(family, self.env.nls)

    @property
    def zone(self) -> str:
        """SQL of the session's time zone."""
        return quote(self.env.nls.time_zone)

    def date_text(self, typed: Typed, model: str) -> str:
        digits = typed.type.scale if 0 <= typed.type.scale <= 9 else 6
        return f"o_date_text({typed.sql},{model},{digits},{self.zone},'{KIND[typed.type.family]}')"

    def wall(self, typed: Typed) -> str:
        """A date or timestamp with its fields as the session sees them."""
        return f"o_retime({typed.sql},'L','T',{self.zone})" if typed.type.family is Family.LOCAL else typed.sql

    def instant(self, typed: Typed) -> str:
        """UTC fields of a date or timestamp."""
        return typed.sql if typed.type.family is Family.LOCAL else f"o_zone_key({typed.sql},{self.zone})"

    def comparable(self, typed: Typed) -> str:
        """The key a value sorts and groups by: zoned timestamps by instant, the rest by its bytes."""
        if typed.type.family in LARGE:
            raise inconsistent("-", typed.type.family)
        if typed.type.family in (Family.LONG, Family.LONG_RAW):
            raise OraError(997, "illegal use of LONG datatype")
        return self.instant(typed) if typed.type.family is Family.ZONED else typed.sql

    def numeric(self, *operands: Typed) -> SqlType:
        """The type in which values are calculated and compared as numbers."""
        return calculated({operand.type.family for operand in operands})

    def ordering(self, typed: Typed, item: ast.OrderItem) -> str:
        """SQL of a term of ORDER BY. Raises ORA-00932 for LOBs, ORA-00997 for LONG."""
        sql = typed.vid[1] if typed.vid is not None else self.comparable(typed)
        text = f"+{sql} desc" if item.descending else sql  # a descending index scan could show a row twice: `+` forbids it
        return f"{text} nulls {'first' if item.nulls_first else 'last'}" if typed.nullable else text
