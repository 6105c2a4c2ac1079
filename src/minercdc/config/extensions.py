"""Adapters, sinks, formats and transformations of other packages, found by their entry points; docs/extensions.md has an example of each.

    group                  name                            object
    minercdc.adapters      database.connection.adapter     a `capture.adapter.AdapterFactory`
    minercdc.sinks         debezium.sink.type              (config, client, topics, ownership) -> `stream.contracts.OffsetSink`
    minercdc.formats       key.converter, value.converter  (side, options) -> `messages.formats.converting.Format`
    minercdc.transforms    transforms.NAME.type            (options) -> function of a `messages.transforms.record.ConnectRecord`

Our adapters and sinks are registered in the same way (pyproject.toml). Our formats and transformations are not: their options are typed, and
checked with the rest of the configuration before any of their code is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any, Final

from minercdc.config.section import one_of
from minercdc.errors import ConfigError

ADAPTERS: Final = "minercdc.adapters"
SINKS: Final = "minercdc.sinks"
FORMATS: Final = "minercdc.formats"
TRANSFORMS: Final = "minercdc.transforms"

ADAPTER_OPTIONS: Final = "minercdc.adapter."
"""Properties that an adapter of another package defines itself begin so; those of sinks, formats and transformations begin as in
Debezium: `debezium.sink.TYPE.`, `key.converter.`, `value.converter.`, `transforms.NAME.`."""


@cache
def installed(group: str) -> Mapping[str, metadata.EntryPoint]:
    """The entry points of a group by their names, in the order of these; the first of a name counts."""
    found: dict[str, metadata.EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=group), key=lambda one: one.name):
        found.setdefault(point.name, point)
    return found


@cache
def loaded(group: str, name: str, of_property: str) -> Any:
    """What the entry point of this name stands for; its module is imported.

    :param of_property: names it; the message of an error begins with that.
    :raises ConfigError: there is none, or it cannot be imported.
    """
    points = installed(group)
    if name not in points:
        raise ConfigError([f"{of_property}: {unknown(group, name)}"])
    try:
        return points[name].load()
    except Exception as error:  # code of another package
        raise ConfigError([f"{of_property}: {name} ({points[name].value}) cannot be loaded: {error!r}"]) from error


def is_foreign(group: str, name: str) -> bool:
    """Whether an extension is of another package."""
    found = installed(group).get(name)
    return found is not None and not found.value.startswith("minercdc.")


def chosen(group: str, value: object, built_in: Sequence[str] = ()) -> object:
    """The name of an extension as it is installed, by a name in any case; what is no text stays as it is.

    :param built_in: names of those that need no entry point.
    :raises ValueError: there is none of this name.
    """
    if not isinstance(value, str):
        return value
    names = {name.lower(): name for name in (*installed(group), *built_in)}
    found = names.get(value.strip().lower())
    if found is None:
        raise ValueError(unknown(group, value, built_in))
    return found


def unknown(group: str, name: str, built_in: Sequence[str] = ()) -> str:
    """What is wrong with a name that is neither `built_in` nor installed, and which names there are: those of `built_in`, if any."""
    known = ", ".join(f"'{one}'" for one in built_in or installed(group))
    return (
        one_of(name, known)
        if known
        else f"'{name}' is not installed: reinstall minercdc, whose entry points {group} are missing"
    )


def take_options(properties: dict[str, str], beginnings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options of the extensions that a configuration uses, which are taken out of flat properties.

    :param beginnings: of the names of these options.
    """
    for name in [name for name in properties if name.startswith(beginnings)]:
        yield name, properties.pop(name)
