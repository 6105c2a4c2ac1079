"""Python callables that a configuration names, as `module:name`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

from minercdc.errors import ConfigError


def load_callable(name: str, of_property: str, *arguments: str) -> Callable[..., Any]:
    """The callable of that name, given by the property `of_property`. Imports its module.

    :param arguments: names of what it is called with.
    :raises ConfigError: the name is not of this form, is not found, cannot be called with so many arguments, or the code of its
        module raises an error.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigError([f"{of_property}: '{name}' is not of the form package.module:function"])
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        lost = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == module.split(".")[0]
        where = "; PYTHONPATH must contain its directory" if lost else ""
        raise ConfigError([f"{of_property}: {name} cannot be loaded: {error}{where}"]) from error
    except Exception as error:  # the module's own code
        raise ConfigError([f"{of_property}: {name} cannot be loaded: {error!r}"]) from error
    return with_arguments(found, name, of_property, *arguments)


def with_arguments(found: Any, name: str, of_property: str, *arguments: str) -> Callable[..., Any]:
    """`found`, if it can be called with so many arguments; else ConfigError is raised. Compiled code that does not say what it
    takes passes.

    :param name: says what `found` is, in the message.
    """
    if not callable(found):
        raise ConfigError([f"{of_property}: {name} cannot be called"])
    try:
        signature(found).bind(*arguments)
    except TypeError:
        raise ConfigError([f"{of_property}: {name} cannot be called with ({', '.join(arguments)})"]) from None
    except ValueError:  # compiled code does not say what it takes
        pass
    return found  # type: ignore[no-any-return]
