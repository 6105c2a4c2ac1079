"""Properties that belong to one adapter have no effect with another, so that a connector changes over by one property."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from minercdc.config.section import property_of

_SECTIONS = {"log_mining": "logminer", "flashback": "flashback", "olr": "olr", "fors": "fors_olr", "txlog": "txlog"}


def of_other_adapters(sections: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(Property, why it has no effect) of each given property of an adapter other than `database.connection.adapter`."""
    adapter = sections["database"].database_connection_adapter
    for section, family in _SECTIONS.items():
        if not adapter.startswith(family):
            for name in sorted(sections[section].model_fields_set):
                field = type(sections[section]).model_fields[name]
                yield field.alias or property_of(name), f"database.connection.adapter is {adapter}"
