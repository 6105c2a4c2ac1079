"""Custom converters of columns: `converters=a,b` with `a.type` and the converter's own options, `a.*`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_ORACLE = "io.debezium.connector.oracle.converters."
ONE_TO_BOOLEAN = f"{_ORACLE}NumberOneToBooleanConverter"
TO_ZERO_SCALE = f"{_ORACLE}NumberToZeroScaleConverter"
RAW_TO_STRING = f"{_ORACLE}RawToStringConverter"
BUILT_IN: Mapping[str, frozenset[str]] = {
    ONE_TO_BOOLEAN: frozenset({"selector"}),
    TO_ZERO_SCALE: frozenset({"decimal.mode"}),
    RAW_TO_STRING: frozenset({"selector", "charset"}),
}
"""Debezium's classes that are built in, with their options."""


@dataclass(frozen=True, slots=True)
class CustomConverter:
    """One of `converters`.

    :param name: in `converters`. `options` are its own, by name without the prefix.
    :param type: a class that is built in, or `package.module:name` of a Python callable.
    """

    name: str
    type: str
    options: Mapping[str, str]


def take_custom_converters(properties: dict[str, str], problems: list[str]) -> tuple[CustomConverter, ...]:
    """The converters of flat properties, which are taken out; what is wrong is added to the problems."""
    return tuple(_converters(properties, problems))


def _converters(properties: dict[str, str], problems: list[str]) -> Iterator[CustomConverter]:
    for name in [name.strip() for name in properties.pop("converters", "").split(",") if name.strip()]:
        prefix = f"{name}."
        options = {full.removeprefix(prefix): properties.pop(full) for full in list(properties) if full.startswith(prefix)}
        kind = options.pop("type", "").strip()
        if not kind:
            problems.append(f"{name}.type: needed, since converters lists {name}")
        elif kind in BUILT_IN:
            if unknown := sorted(options.keys() - BUILT_IN[kind]):
                problems.append(f"{name}.{unknown[0]}: this converter has no such option")
            yield CustomConverter(name, kind, options)
        elif ":" not in kind:
            problems.append(
                f"{name}.type: {kind} is a Java class, which cannot run here; name a Python class as package.module:Class"
            )
        else:
            yield CustomConverter(name, kind, options)
