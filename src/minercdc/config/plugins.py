"""Python callables that a configuration names, as `module:name`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from minercdc.errors import ConfigError


def load_callable(name: str, of_property: str) -> Callable[..., Any]:
    """The callable of that name, given by the property `of_property`.

    :raises ConfigError: the name is not of this form, is not found, or cannot be called. Other errors of the module's own
        code pass through.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError([f"{of_property}: '{name}' is not of the form package.module:function"])
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError([f"{of_property}: {name} cannot be loaded: {error}"]) from error
    if not callable(found):
        raise ConfigError([f"{of_property}: {name} cannot be called"])
    return found  # type: ignore[no-any-return]
