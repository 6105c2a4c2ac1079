"""Masks, hashes and truncates values of columns, and adds source types to schemas."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring

from minercdc.config.messages.content import ColumnRule
from minercdc.errors import ValueDecodeError
from minercdc.schema.patterns import configured_pattern
from minercdc.schema.table import Column, TableId
from minercdc.values import document, lob, text
from minercdc.values.codec import Codec

TEXTS = text.TYPES | document.TYPES | (lob.TYPES - {"BLOB"})
_PARAMETER = "__debezium.source.column."


@dataclass(frozen=True, slots=True)
class ColumnChanges:
    """What the configuration makes of published columns; keys stay as they are. Its methods raise ConfigError when a pattern
    takes too long.

    :param rules: the first one that matches a column counts.
    :param by_name, by_type: patterns of columns, and of `SCHEMA.TABLE.TYPE`, whose schemas name the source's type.
    """

    rules: Sequence[ColumnRule] = ()
    by_name: Sequence[str] = ()
    by_type: Sequence[str] = ()

    def rule_of(self, table: TableId, column: Column) -> ColumnRule | None:
        """What becomes of a column's values; None when they stay.

        :raises ValueDecodeError: they are to be hidden, and are no texts.
        :raises ConfigError: a pattern takes too long.
        """
        name = f"{table.schema}.{table.table}.{column.name}"
        rule = self._matching(name)
        if rule is None or column.type_name in TEXTS:
            return rule
        if rule.kind == "truncate":
            return None
        raise ValueDecodeError(
            f"column {name} of type {column.type_name} is not text and cannot be masked",
            hint="Leave it out by column.exclude.list, or out of column.mask.*.",
        )

    def _matching(self, name: str) -> ColumnRule | None:
        return next((rule for rule in self.rules if rule.matches(name)), None)

    def parameters(self, table: TableId, column: Column) -> dict[str, str]:
        """Parameters of the schema of a column that say what becomes of its values, and name its type; {} where none are
        wanted. Raises ConfigError when a pattern takes too long."""
        name, kind = (f"{table.schema}.{table.table}.{part}" for part in (column.name, column.type_name))
        rule = self._matching(name)
        found = _of_rule(rule) if rule is not None and column.type_name in TEXTS else {}
        if _matches(self.by_name, name) or _matches(self.by_type, kind):
            facts = {"type": column.type_name.upper(), "length": _length(column), "scale": column.scale, "name": column.name}
            found |= {_PARAMETER + fact: str(value) for fact, value in facts.items() if value is not None}
        return found


def _length(column: Column) -> int | None:
    """The length that Oracle's JDBC driver gives: 38 digits for NUMBER(*,s), 0 for NUMBER; None for a type without a length."""
    if column.type_name != "NUMBER" or column.length is not None:
        return column.length
    return 0 if column.scale is None else 38


def _of_rule(rule: ColumnRule) -> dict[str, str]:
    return {"truncateLength": str(rule.length)} if rule.kind == "truncate" else {"masked": "true"}


def _matches(patterns: Sequence[str], name: str) -> bool:
    return any(configured_pattern(pattern).matches(name) for pattern in patterns)


def changed(codec: Codec, column: Column, rule: ColumnRule) -> Codec:
    """The codec of a column whose values are masked, hashed or cut by `rule`; a hash is cut to the length of the column."""
    if rule.kind == "mask":
        mask = f'"{"*" * rule.length}"'
        return replace(codec, to_json=lambda _: mask)
    if rule.kind == "truncate":
        return replace(codec, to_json=lambda value: codec.to_json(value[: rule.length]))
    salt, longest = rule.salt.encode(), column.length or None

    def hashed(value: str) -> str:
        image = value.encode("utf-8", "surrogatepass") if rule.kind == "hash_v2" else java_serialized(value)
        return f'"{hashlib.new(rule.algorithm, salt + image).hexdigest()[:longest]}"'

    return replace(codec, to_json=hashed)


def java_serialized(value: str) -> bytes:
    """What Java's ObjectOutputStream writes of a String (Java Object Serialization Specification, 6.4: TC_STRING,
    TC_LONGSTRING)."""
    image = _modified_utf8(value)
    head = b"\x74" + struct.pack(">H", len(image)) if len(image) < 1 << 16 else b"\x7c" + struct.pack(">Q", len(image))
    return b"\xac\xed\x00\x05" + head + image


def _modified_utf8(value: str) -> bytes:
    """Java's form of UTF-8 (java.io.DataInput): NUL has two bytes, and each half of a surrogate pair three."""
    if value.isascii() and "\0" not in value:
        return value.encode()
    image = value.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(image) // 2}H", image)
    return b"".join(b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass") for unit in units)


def null(rule: ColumnRule, codec: Codec) -> str:
    """JSON of NULL: the mask where values are masked, which does not show which are missing; else `null`. `codec` is `changed`'s."""
    return codec.to_json("") if rule.kind == "mask" else "null"


def unavailable(rule: ColumnRule, codec: Codec, placeholder: str) -> str:
    """JSON of a value that redo does not hold: hidden as all are by `codec`, that of `changed`, but not cut: readers know it so."""
    return encode_basestring(placeholder) if rule.kind == "truncate" else codec.to_json(placeholder)
