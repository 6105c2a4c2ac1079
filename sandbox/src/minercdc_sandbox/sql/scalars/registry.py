"""Python functions that SQLite calls while it runs translated SQL. Arguments and results are cells; NULL in, NULL out.

Names start with `o_`. Numbers that are SQLite integers (row counts, positions the planner knows) are marked in the rule that
uses them; everything else is an encoded cell.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, cast

import apsw

from minercdc_sandbox.lobs.files import bfilename
from minercdc_sandbox.sql import binary, number, temporal
from minercdc_sandbox.sql.convert import utf16_units
from minercdc_sandbox.sql.json_paths import json_exists, json_query, json_value
from minercdc_sandbox.sql.number import decode, encode
from minercdc_sandbox.sql.number_formats import char_to_number, number_to_char
from minercdc_sandbox.sql.scalars import analysis, random_values, times
from minercdc_sandbox.sql.scalars.aggregates import STATISTICS, CountDistinct, Keep, Listed, Listing, Single, Sum
from minercdc_sandbox.sql.scalars.numbers import (
    add,
    bits_of,
    ceiling,
    divide,
    modulo,
    multiply,
    negate,
    power,
    remainder,
    round_number,
    sign,
    subtract,
    truncate_number,
    width_bucket,
)
from minercdc_sandbox.sql.scalars.patterns import (
    like,
    regexp_count,
    regexp_instr,
    regexp_like,
    regexp_replace,
    regexp_substr,
)
from minercdc_sandbox.sql.scalars.rowids import part, row_bound, row_text
from minercdc_sandbox.sql.scalars.texts import (
    asciistr,
    dump,
    grown_path,
    hex_to_raw,
    initcap,
    instr,
    instr_bytes,
    pad,
    path_step,
    replace,
    soundex,
    standard_hash,
    substr,
    substr_bytes,
    translate,
    unistr,
)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        return function(*args)

    return call


def _textual(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `_strict`; the empty string is NULL."""

    def call(*args: Any) -> Any:
        for arg in args:
            if arg is None:
                return None
        return function(*args) or None

    return call


_STRICT: dict[str, Callable[..., Any]] = {
    "json_value": json_value,
    "json_query": json_query,
    "json_exists": json_exists,
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
    "power": power,
    "mod": modulo,
    "neg": negate,
    "round": round_number,
    "trunc": truncate_number,
    "abs": lambda a: encode(decode(a).copy_abs()),
    "sign": sign,
    "ceil": ceiling,
    "floor": lambda a: encode(number.floor(decode(a))),
    "sqrt": lambda a: power(a, encode(Decimal("0.5"))),
    "int": number.integer,
    "to_int": number.to_int,
    "range_number": lambda cell: float(decode(cell)),
    "range_time": lambda cell: temporal.to_ns(temporal.decode(cell)),
    "to_num": lambda text, point: number.parse(text if point == "." else text.replace(point, ".")),
    "num_text": number.text,
    "num_char": lambda a, model, characters: number_to_char(decode(a), model, characters),
    "char_num": lambda text, model, characters: encode(char_to_number(text, model, characters)),
    "length": lambda text: number.integer(len(text)),
    "lengthb": lambda text: number.integer(len(text.encode())),
    "instr": instr,
    "ascii": lambda text: number.integer(ord(text[0])),
    "raw_hex": lambda raw: raw.hex().upper(),
    "like": like,
    "regexp_like": regexp_like,
    "regexp_substr": regexp_substr,
    "float_add": binary.add,
    "float_sub": binary.subtract,
    "float_mul": binary.multiply,
    "float_div": binary.divide,
    "float_neg": binary.negate,
    "float_abs": binary.absolute,
    "float_sign": binary.sign,
    "float_ceil": binary.ceiling,
    "float_floor": binary.floor,
    "float_sqrt": binary.square_root,
    "float_power": binary.power,
    "float_mod": binary.modulo,
    "float_round": binary.rounded,
    "float_trunc": lambda a, places: binary.rounded(a, places, "ROUND_DOWN"),
    "float_of_number": binary.of_number,
    "float_of_text": lambda text, size, point: binary.parse(text if point == "." else text.replace(point, "."), size),
    "float_resized": binary.resized,
    "float_number": binary.to_number,
    "float_text": binary.text,
    "is_nan": binary.is_nan,
    "is_infinite": binary.is_infinite,
    "utf16_units": utf16_units,
    "asciistr": asciistr,
    **times.FUNCTIONS,
    **analysis.FUNCTIONS,
    "remainder": remainder,
    "width_bucket": width_bucket,
    "bits_of": bits_of,
    "bitand": lambda a, b: number.integer(number.to_int(a) & number.to_int(b)),
    "regexp_instr": regexp_instr,
    "regexp_count": regexp_count,
    "soundex": soundex,
    "instrb": instr_bytes,
    "standard_hash": standard_hash,
    "dump": dump,
    "vsize": lambda cell: number.integer(len(cell if isinstance(cell, bytes) else cell.encode())),
    "ratio": lambda a, b: divide(a, b) if decode(b) else None,
    "path": grown_path,
    "path_step": path_step,
    "row_text": row_text,
    "row_id_part": part,
    "row_bound": row_bound,
}


_TEXTUAL: dict[str, Callable[..., Any]] = {
    "upper": str.upper,
    "lower": str.lower,
    "initcap": initcap,
    "substr": substr,
    "substrb": substr_bytes,
    "reverse": lambda text: text[::-1],
    "compose": lambda text: unicodedata.normalize("NFC", text),
    "decompose": lambda text: unicodedata.normalize("NFD", text),
    "trim": lambda text, chars=" ": text.strip(chars),
    "ltrim": lambda text, chars=" ": text.lstrip(chars),
    "rtrim": lambda text, chars=" ": text.rstrip(chars),
    "lpad": lambda text, width, fill=" ": pad(text, width, fill, True),
    "rpad": lambda text, width, fill=" ": pad(text, width, fill, False),
    "translate": translate,
    "unistr": unistr,
    "bfilename": bfilename,
    "hex_raw": hex_to_raw,
    "chr": lambda code: chr(number.to_int(code)),
}


_RANDOM: dict[str, tuple[Any, int]] = {
    "value": (random_values.value, -1),
    "whole": (random_values.whole, 0),
    "normal": (random_values.normal, 0),
    "text": (random_values.text, 2),
}
"""New values for each call, so SQLite must not take one for another."""


def register_scalars(connection: apsw.Connection) -> None:
    """Make all of them known to a connection."""
    for name, function in _STRICT.items():
        connection.create_scalar_function(f"o_{name}", _strict(function), -1, deterministic=True)
    for name, function in _TEXTUAL.items():
        connection.create_scalar_function(f"o_{name}", _textual(function), -1, deterministic=True)
    connection.create_scalar_function("o_regexp_replace", cast(Any, regexp_replace), -1, deterministic=True)
    for name, (maker, count) in _RANDOM.items():
        connection.create_scalar_function(f"o_random_{name}", maker, count)
    connection.create_scalar_function("o_sys_guid", cast(Any, lambda: uuid.uuid4().bytes), 0)
    connection.create_scalar_function("o_replace", cast(Any, replace), -1, deterministic=True)
    connection.create_aggregate_function("o_single", cast(Any, Single), 1)
    windows: dict[str, tuple[Callable[[], object], int]] = {
        "sum": (lambda: Sum(False), 1),
        "avg": (lambda: Sum(True), 1),
        "count_distinct": (CountDistinct, 1),
        "listagg": (lambda: Listed(False), 2),
        "listagg_distinct": (lambda: Listed(True), 2),
        "keep": (Keep, -1),
        **{name: (partial(Listing, result), -1) for name, result in STATISTICS.items()},
    }
    for name, (factory, arguments) in windows.items():
        connection.create_window_function(f"o_{name}", cast(Any, factory), arguments)
