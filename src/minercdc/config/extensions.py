"""Adapters, sinks, formats and transformations of other packages, found by their entry points; docs/extensions.md has an example of each.

    group                  name                            object
    minercdc.adapters      database.connection.adapter     a `capture.adapter.AdapterFactory`
    minercdc.sinks         debezium.sink.type              (config, client, topics, ownership) -> `stream.contracts.OffsetSink`
    minercdc.formats       key.converter, value.converter  (side, options) -> `messages.formats.converting.Format`
    minercdc.transforms    transforms.NAME.type            (options) -> function of a `messages.transforms.record.ConnectRecord`

Our adapters and sinks are registered in the same way (pyproject.toml).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def unknown(group: str, name: str) -> str:
    """What is wrong with the name of an extension that is not installed, and which are."""
    known = ", ".join(f"'{one}'" for one in installed(group))
    return (
        one_of(name, known)
        if known
        else f"'{name}' is not installed: reinstall minercdc, whose entry points {group} are missing"
    )


def take_options(properties: dict[str, str], used: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The options of the extensions that a configuration uses, which are taken out of flat properties.

    :param used: beginnings of the names of options, by the extension whose they are.
    """
    beginnings = tuple(used)
    for name in [name for name in properties if beginnings and name.startswith(beginnings)]:
        yield name, properties.pop(name)
