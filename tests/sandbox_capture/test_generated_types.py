"""Tables with random columns, names and values: a row read by the snapshot is the row that redo holds.

Values go in as bind variables and literals that a random generator of a fixed seed picks, per release and way of mining.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab
from tests.sandbox_capture.test_lobs import merged

from minercdc.errors import ValueDecodeError
from minercdc.schema.table import TableSchema
from minercdc.stream.events import Row
from minercdc.values.codec import CAPTURED_TYPES, UNMINED_TYPES, Codec, ValueHandling, codec_for

Value = tuple[str, Any]  # SQL with `:v` for the bind variable, and that; None: no bind variable

_ALPHABET = "ab '\"\\;,|()\n\t-/*%&:\u00e9\u00df\u20ac\u4e2d\u0301\u200d\uffe6\U0001f600\U00010330\U0002f800\U000e0001"
_NAMES = (
    "plain",
    "With Blank",
    "lower",
    "SELECT",
    "from",
    "a.b",
    "it's",
    "ROWID2",
    "x;--",
    "VALUES",
    "\u00c4",
    "1st",
    "$#_",
)


def text(chance: random.Random, most: int, *, width: int = 4) -> str:
    """Text of at most `most` bytes, of `width` at most for a character."""
    return "".join(chance.choices(_ALPHABET, k=chance.randint(1, max(1, most // width)))) or "x"


def filled(chance: random.Random, most: int) -> str:
    """Text of exactly `most` bytes."""
    found = text(chance, most)
    return found + "x" * (most - len(found.encode()))


def undoubled(chance: random.Random, most: int) -> str:
    """Text of a column in which LogMiner does not double apostrophes: where they end the value must be plain (DBZ-8034)."""
    return re.sub("'(?!b)", "", text(chance, most))


def bound(make: Callable[[random.Random], Any]) -> Callable[[random.Random], Value]:
    return lambda chance: (":v", make(chance))


def number(chance: random.Random) -> Value:
    """Redo has a NUMBER in 40 characters, as TO_CHAR prints it: with a far exponent fewer digits are exact."""
    far = chance.random() < 0.5
    digits = str(chance.randint(1, 10 ** chance.randint(1, 30 if far else 38) - 1))
    at = chance.randint(1, len(digits))
    exponent = f"e{chance.randint(-80, 80)}" if far else ""
    return f"{chance.choice(['', '-'])}{digits[:at]}.{digits[at:]}0{exponent}", None


def moment(chance: random.Random) -> str:
    # 5 to 14 October 1582 never were.
    year = chance.choice([-4711, -44, -1, 1, 1582, 1969, 2024, 9999, chance.randint(1, 9998)])
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{chance.randint(1, 12):02d}-{chance.randint(16, 27):02d}"


def clock(chance: random.Random) -> str:
    return (datetime(2000, 1, 1) + timedelta(seconds=chance.randrange(86_400))).strftime("%H:%M:%S")


def timestamp(chance: random.Random, zone: str = "") -> Value:
    return f"timestamp '{moment(chance)} {clock(chance)}.{chance.randrange(10**9):09d}{zone}'", None


def zone(chance: random.Random) -> str:
    return chance.choice([" +05:30", " -09:45", " +14:00", " UTC", " Europe/Berlin", " America/New_York"])


def rowid(chance: random.Random) -> str:
    """Object 32 bits, file 10, block 22, row 16, in base 64 each."""
    parts = ((32, 6), (10, 3), (22, 6), (16, 3))
    return "".join(_sixty_four(chance.getrandbits(bits), digits) for bits, digits in parts)


def _sixty_four(number: int, digits: int) -> str:
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    return "".join(alphabet[number >> 6 * place & 63] for place in reversed(range(digits)))


def interval(chance: random.Random) -> Value:
    sign = chance.choice(["", "-"])
    return (
        f"{sign}interval '{chance.randrange(10**5)} {clock(chance)}.{chance.randrange(10**9):09d}' day(5) to second(9)",
        None,
    )


@dataclass(frozen=True, slots=True)
class Type:
    """How a column is declared, and a random value of it."""

    declared: str
    value: Callable[[random.Random], Value]


TYPES = (
    Type("number", number),
    Type("number(38)", lambda c: (str(c.randint(-(10**38) + 1, 10**38 - 1)), None)),
    Type("number(12,3)", lambda c: (f"{c.randint(-(10**12) + 1, 10**12 - 1)}e-3", None)),
    Type("number(5,-2)", lambda c: (str(c.randint(-99999, 99999) * 100), None)),
    Type("float(63)", number),
    Type("number(3,40)", lambda c: (f"{c.randint(-999, 999)}e-40", None)),
    Type("float(126)", number),
    Type("integer", lambda c: (str(c.randint(-(10**37), 10**37)), None)),
    Type("long raw", bound(lambda c: c.randbytes(c.choice([1, 1900])))),
    Type("binary_float", lambda c: (c.choice(["binary_float_nan", "1/0f", "-1/0f", "1e-45f", "3.4e38f", "0.1f"]), None)),
    Type(
        "binary_double", lambda c: (c.choice(["binary_double_nan", "1/0d", "4.9e-324d", "-1.7976931348623157e308d"]), None)
    ),
    Type("binary_double", lambda c: (f"{c.uniform(-1e9, 1e9)!r}d", None)),
    Type("date", lambda c: (f"cast(timestamp '{moment(c)} {clock(c)}' as date)", None)),
    Type("timestamp(9)", timestamp),
    Type("timestamp(0)", timestamp),
    Type("timestamp(9) with time zone", lambda c: timestamp(c, zone(c))),
    Type("timestamp(6) with local time zone", lambda c: timestamp(c, zone(c))),
    Type("interval day(5) to second(9)", interval),
    Type("interval year(9) to month", lambda c: (f"numtoyminterval({c.randint(-(10**9), 10**9)},'MONTH')", None)),
    Type("char(40)", bound(lambda c: text(c, 40))),
    Type("char(2000)", bound(lambda c: c.choice([" ", "x ", text(c, 2000), filled(c, 2000)]))),
    Type("char(9 char)", bound(lambda c: "".join(c.choices(_ALPHABET, k=c.randint(1, 9))))),
    Type("nchar(20)", bound(lambda c: text(c, 20, width=2))),
    Type("varchar2(4000)", bound(lambda c: text(c, c.choice([40, 4000])))),
    Type("varchar2(4000)", bound(lambda c: filled(c, c.choice([3999, 4000])))),
    Type("varchar2(1000 char)", bound(lambda c: "".join(c.choices(_ALPHABET, k=1000)))),
    Type("nvarchar2(1000)", bound(lambda c: text(c, 1000, width=2))),
    Type("raw(2000)", bound(lambda c: c.randbytes(c.choice([1, 30, 2000])))),
    Type("varchar2(32767)", bound(lambda c: undoubled(c, c.choice([30, 3990, 4010, 32767])))),
    Type("raw(32767)", bound(lambda c: c.randbytes(c.choice([1, 1990, 4001, 32767])))),
    Type("varchar2(32767)", bound(lambda c: "y" * c.choice([3999, 4000, 4001, 32766, 32767]))),
    Type("rowid", lambda c: (f"chartorowid('{rowid(c)}')", None)),
    Type("long", bound(lambda c: undoubled(c, c.choice([30, 3900])))),
    Type("clob", bound(lambda c: text(c, c.choice([30, 3000, 16_000, 60_000])))),
    Type("nclob", bound(lambda c: text(c, c.choice([30, 3000, 16_000])))),
    Type("blob", bound(lambda c: c.randbytes(c.choice([1, 3999, 4001, 30_000])))),
    Type("clob", lambda c: ("empty_clob()", None)),
    Type("xmltype", bound(lambda c: f"<a b='{c.random()}'>{'<c/>' * c.choice([1, 2000])}\u20ac</a>")),
)


@pytest.fixture(scope="module", params=["19c", "23ai"])
def release(request: pytest.FixtureRequest) -> Iterator[SandboxProcess]:
    running = SandboxProcess((), "--profile", request.param, "--max-string-size", "extended")
    yield running
    code, errors = running.stop()
    assert (code, errors) == (0, "")


@pytest.fixture(params=["buffered", "committed"])
def lab(request: pytest.FixtureRequest, release: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    lab = make_lab(release, tmp_path, committed=request.param == "committed", **{"lob.enabled": True})
    yield lab
    lab.app.close()


def drawn(chance: random.Random, kind: Type, place: int) -> tuple[str, Any]:
    """A value's SQL with a bind variable of its own; sometimes null."""
    if chance.random() < 0.15:
        return "null", None
    sql, bind = kind.value(chance)
    return (sql, None) if bind is None else (f":b{place}", bind)


def run(lab: Lab, sql: str, binds: dict[str, Any]) -> None:
    with lab.app.cursor() as cursor:
        cursor.execute(sql, binds)


def make_history(lab: Lab, table: str, columns: list[tuple[str, Type]], chance: random.Random) -> None:
    for key in range(5):
        values = [drawn(chance, kind, i) for i, (_, kind) in enumerate(columns)]
        binds = {f"b{i}": bind for i, (sql, bind) in enumerate(values) if sql.startswith(":")}
        run(lab, f"insert into {table} values ({key}, {', '.join(sql for sql, _ in values)})", binds)
    for _ in range(6):
        i = chance.randrange(len(columns))
        name, kind = columns[i]
        sql, bind = drawn(chance, kind, i)
        binds = {f"b{i}": bind} if sql.startswith(":") else {}
        run(lab, f'update {table} set "{name}" = {sql} where id = {chance.randrange(5)}', binds)
    lab.app.commit()


def columns_of(types: Sequence[Type], seed: int, names: list[str]) -> list[tuple[str, Type]]:
    """As many of the types as there are names; seeds that follow each other take them all. A table can have but one LONG."""
    begin = seed * len(names)
    found = [types[(begin + i) % len(types)] for i in range(len(names))]
    longs = [i for i, kind in enumerate(found) if kind.declared.startswith("long")]
    for i in longs[1:]:
        found[i] = types[0]
    return list(zip(names, found, strict=True))


def create(lab: Lab, table: str, columns: list[tuple[str, Type]]) -> None:
    declared = ", ".join(f'"{name}" {kind.declared}' for name, kind in columns)
    lab.run(
        f"create table {table} (id number(5) primary key, {declared})",
        f"alter table {table} add supplemental log data (all) columns",
    )


@pytest.mark.parametrize("seed", range(8))
def test_snapshot_and_redo_give_the_same(lab: Lab, seed: int) -> None:
    chance = random.Random(seed)
    names = chance.sample(_NAMES, 9)
    columns = columns_of(TYPES, seed, names)
    table = f'"T {seed}"'
    create(lab, table, columns)
    reader = Reader(lab).take_snapshot(with_rows=False)
    make_history(lab, table, columns, chance)
    reader.until_marker(1)
    again = Reader(lab).take_snapshot()
    expected = merged(again, f"T {seed}")
    assert len(expected) == 5
    same_values(merged(reader, f"T {seed}"), expected, columns)
    schema = reader.tables.find(lab.table("x")._replace(table=f"T {seed}"))
    assert schema is not None
    every_mode_writes_or_refuses(schema, expected)


def same_values(mined: list[Row], held: list[Row], columns: list[tuple[str, Type]]) -> None:
    for one, other in zip(mined, held, strict=True):
        for (name, kind), found, wanted in zip([("ID", TYPES[0]), *columns], one, other, strict=False):
            assert found == wanted, f"{name} {kind.declared}"


# Of large values a stored image has a locator only; regions and ROWIDs are refused.
IMAGED = tuple(
    replace(kind, value=lambda c: timestamp(c, c.choice([" +05:30", " -09:45", " +14:00"])))
    if kind.declared.endswith("with time zone")
    else kind
    for kind in TYPES
    if not kind.declared.startswith(("clob", "nclob", "blob", "xmltype", "long", "rowid")) and "32767" not in kind.declared
)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_an_older_shape_give_the_same_by_their_stored_bytes(lab: Lab, seed: int) -> None:
    chance = random.Random(100 + seed)
    columns = columns_of(IMAGED, seed, chance.sample(_NAMES, 8))
    table = f'"O {seed}"'
    create(lab, table, columns)
    reader = Reader(lab).take_snapshot(with_rows=False)
    make_history(lab, table, columns, chance)
    lab.run(f"alter table {table} add newer number(3)")
    reader.until_marker(1)
    expected = merged(Reader(lab).take_snapshot(), f"O {seed}")
    assert len(expected) == 5
    same_values(merged(reader, f"O {seed}"), expected, columns)


def test_every_type_that_is_captured_is_generated() -> None:
    """JSON is in test_json; a column declared VARCHAR is a VARCHAR2."""
    generated = {re.sub(r"\(.*?\)", "", kind.declared).upper() for kind in TYPES}
    assert CAPTURED_TYPES - UNMINED_TYPES - {"VARCHAR", "JSON"} <= generated


def every_mode_writes_or_refuses(schema: TableSchema, rows: list[Any]) -> None:
    """In each mode a value becomes JSON, or is refused with a reason: int64 nanoseconds end in 2262."""
    modes = ("adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds")
    for mode in modes:
        codecs = [codec_for(column, ValueHandling(time_precision=mode)) for column in schema.columns]  # type: ignore[arg-type]
        for row in rows:
            for column, codec, value in zip(schema.columns, codecs, row, strict=True):
                if value is not None and not writes(codec, value):
                    assert column.type_name in ("DATE", "TIMESTAMP")
                    assert mode == "nanoseconds" or (column.scale or 0) > 6


def writes(codec: Codec, value: str) -> bool:
    try:
        return bool(codec.to_json(value))
    except ValueDecodeError:
        return False
