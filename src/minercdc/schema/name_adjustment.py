"""Makes names that Avro takes, by `schema.name.adjustment.mode` and `field.name.adjustment.mode`.

none            as it is
avro            _ for each character that is neither letter, digit nor _; a _ before a leading digit
avro_unicode    _uXXXX, its code in UTF-16, for each such character, for _ itself and for a leading digit
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

Mode: TypeAlias = Literal["none", "avro", "avro_unicode"]

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The pattern of a name that Avro takes, and Protobuf; for `fullmatch`."""
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_OTHER_OR_UNDERSCORE = re.compile(r"[^A-Za-z0-9]")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"_u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def _avro(name: str) -> str:
    valid = _OTHER.sub("_", name)
    return f"_{valid}" if valid[:1].isdigit() else valid


def _avro_unicode(name: str) -> str:
    valid = _OTHER_OR_UNDERSCORE.sub(_escaped, name)
    return f"_u{ord(valid[0]):04x}{valid[1:]}" if valid[:1].isdigit() else valid


_ADJUSTMENTS: Mapping[Mode, Callable[[str], str]] = {
    "none": lambda name: name,
    "avro": _avro,
    "avro_unicode": _avro_unicode,
}


def field_name(mode: Mode) -> Callable[[str], str]:
    """A function that adjusts the name of a field as the mode says; two names may become one."""
    return _ADJUSTMENTS[mode]


def schema_name(mode: Mode) -> Callable[[str], str]:
    """A function that adjusts the name of a schema as the mode says, part by part between the dots, which stay."""
    part = field_name(mode)
    return lambda name: ".".join(map(part, name.split(".")))
