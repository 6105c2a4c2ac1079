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
_OF_TEXT = {
    Family.NUMBER: "o_to_num({sql},{point})",
    **{family: f"o_float_of_text({{sql}},{size},{{point}})" for family, size in BINARY_SIZES.items()},
    Family.INTERVAL: "o_text_interval({sql})",
    Family.MONTHS: "o_text_months({sql})",
    Family.RAW: "o_hex_raw({sql})",
    Family.ROWID: "{sql}",
}
_TO_TEXT = {
    Family.NUMBER: "o_num_text({sql},{point})",
    **dict.fromkeys(BINARY_SIZES, "o_float_text({sql},{point})"),
    Family.INTERVAL: "o_interval_text({sql},{precision},{scale})",
    Family.MONTHS: "o_months_text({sql},{precision})",
    Family.RAW: "o_raw_hex({sql})",
    Family.ROWID: "{sql}",
}


@dataclass(slots=True)
class Conversions:
    """Collects the parameters of one statement and converts translated values; the first layer of `Expressions`.

    :ivar parameters: `?1` is the first.
    :ivar subquery: translates a subquery; the translator of queries sets it. None where there may be none.
    :ivar aggregates_allowed, analytic_allowed, sequences_allowed: what may stand where translation is now.
    :ivar sequences: how often each sequence has been translated, by OBJECT_ID.
    :ivar drawn: OBJECT_IDs of sequences whose NEXTVAL the statement takes; the first mention draws, CURRVAL or NEXTVAL.
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
        """Within the context, analytic functions and aggregates are allowed or not; `aggregates` None changes nothing for those."""
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
        """Within the context, if `forbidden`, NEXTVAL and CURRVAL raise ORA-02287; False changes nothing."""
        before = self.sequences_allowed
        self.sequences_allowed = before and not forbidden
        try:
            yield
        finally:
            self.sequences_allowed = before

    def parameter(self, key: object, value: Parameter) -> str:
        """`?n` for a value that `value` takes from each run. A key that was used before has the parameter of that time, and
        `value` is not used."""
        if key not in self._keys:
            self.parameters.append(value)
            self._keys[key] = f"?{len(self.parameters)}"
        return self._keys[key]

    @property
    def snapshot(self) -> str:
        """`?n`, the SCN that the run sees."""
        return self.parameter("snapshot", lambda run: run.snapshot)

    @property
    def own(self) -> str:
        """`?n`, the stamp of the run's transaction, `runtime.NO_TRANSACTION` without one."""
        return self.parameter("own", lambda run: run.own)

    @property
    def today(self) -> str:
        """`?n`, the UTC date of the run, as ISO text."""
        return self.parameter("today", lambda run: date(*temporal.from_ns(int(run.now) * 10**9)[:3]).isoformat())

    def to(self, typed: Typed, family: Family, at: int) -> str:
        """SQL of the value, converted implicitly to a family, NULL to NULL. Raises ORA-00932 if it cannot be, ORA-00997 for LONG,
        with `at` as position; the SQL raises for a value that cannot be converted."""
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
        if have in TEXT and family in _OF_TEXT:
            return _OF_TEXT[family].format(sql=typed.sql, point=point)
        if have in TEXT and family in TEMPORAL:
            return f"o_text_date({typed.sql},{quote(self.model(family))},'{KIND[family]}',{self.zone},{self.today})"
        if family in TEXT and have in _TO_TEXT:
            kind = typed.type
            return _TO_TEXT[have].format(sql=typed.sql, point=point, precision=kind.precision, scale=kind.scale)
        if family in TEXT and have in TEMPORAL:
            return self.date_text(typed, quote(self.model(have)))
        if have in TEMPORAL and family in TEMPORAL:
            return f"o_retime({typed.sql},'{KIND[have]}','{KIND[family]}',{self.zone})"
        raise inconsistent(family, have, at)

    def _large(self, typed: Typed, family: Family, at: int) -> str:
        """SQL of a conversion between LOBs, XML, BOOLEAN and the other types. Raises ORA-00997 for LONG, which becomes nothing
        else, ORA-00932."""
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
        """SQL of the value as a text, which of a CLOB may be longer than a VARCHAR2. Raises as `to`."""
        if typed.type.family is Family.CLOB:
            return f"o_lob_text({typed.sql})"
        return self.to(typed, Family.VARCHAR, at)

    def json_text(self, typed: Typed, at: int) -> str:
        """SQL of the text of a JSON document: of a value of type JSON, or as `whole_text`. Raises as `to`."""
        return f"o_json_text({typed.sql})" if typed.type.family is Family.JSON else self.whole_text(typed, at)

    def to_type(self, typed: Typed, target: SqlType, at: int) -> str:
        """SQL of the value, converted to the family of a type; its sizes do not count. Raises as `to`."""
        if typed.type.family is target.family:
            return typed.sql
        return self.to(typed, target.family, at)

    def model(self, family: Family) -> str:
        """The session's default format of dates or timestamps of a family."""
        return model_of(family, self.env.nls)

    @property
    def zone(self) -> str:
        """SQL literal of the session's time zone."""
        return quote(self.env.nls.time_zone)

    def date_text(self, typed: Typed, model: str) -> str:
        """SQL of TO_CHAR of a date or timestamp, which shows fractions by its type. `model`: SQL of the format."""
        digits = typed.type.scale if 0 <= typed.type.scale <= 9 else 6
        return f"o_date_text({typed.sql},{model},{digits},{self.zone},'{KIND[typed.type.family]}')"

    def wall(self, typed: Typed) -> str:
        """SQL of a date or timestamp; one with local time zone becomes a TIMESTAMP of the session's zone."""
        return f"o_retime({typed.sql},'L','T',{self.zone})" if typed.type.family is Family.LOCAL else typed.sql

    def instant(self, typed: Typed) -> str:
        """SQL of the UTC fields of a date or timestamp, to compare; one without a time zone is of the session's."""
        return typed.sql if typed.type.family is Family.LOCAL else f"o_zone_key({typed.sql},{self.zone})"

    def comparable(self, typed: Typed) -> str:
        """SQL by which a value sorts and groups; a zoned one does by its instant. Raises ORA-00932 for LOBs, ORA-00997 for LONG."""
        if typed.type.family in LARGE:
            raise inconsistent("-", typed.type.family)
        if typed.type.family in (Family.LONG, Family.LONG_RAW):
            raise OraError(997, "illegal use of LONG datatype")
        return self.instant(typed) if typed.type.family is Family.ZONED else typed.sql

    def numeric(self, *operands: Typed) -> SqlType:
        """The type in which values are calculated and compared as numbers."""
        return calculated({operand.type.family for operand in operands})

    def ordering(self, typed: Typed, item: ast.OrderItem) -> str:
        """SQL of a term of ORDER BY, with DESC and NULLS. Raises ORA-00932 for LOBs, ORA-00997 for LONG."""
        sql = typed.vid[1] if typed.vid is not None else self.comparable(typed)
        text = f"+{sql} desc" if item.descending else sql  # a descending index scan could show a row twice: `+` forbids it
        return f"{text} nulls {'first' if item.nulls_first else 'last'}" if typed.nullable else text
