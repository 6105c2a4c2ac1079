"""Reads a stored position from its JSON, with the same error for every adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from minercdc.errors import ConfigError
from minercdc.stream.json_document import WRONG, reason
from minercdc.stream.offset import JsonValue

P = TypeVar("P")


def loaded(from_json: Callable[[Mapping[str, Any]], P], saved: Mapping[str, JsonValue], adapter: str) -> P:
    """The position that `from_json` makes of `saved`.

    :param adapter: its name, for the message.
    :raises ConfigError: `saved` is no position of this adapter, but of another one, say.
    """
    try:
        return from_json(saved)
    except WRONG as error:
        raise ConfigError(
            [f"the stored offset is not a position of {adapter}: {reason(error)}"],
            hint="database.connection.adapter was changed: use another connector name, or remove its offset.",
        ) from error
