"""Placeholders in values, `${PROVIDER:PATH:KEY}` and `${PROVIDER:KEY}`, as Kafka's configuration providers have them.

`env`, `file` and `dir` are there without being configured. `config.providers` names others, or the same with limits:

    config.providers=secrets,vault
    config.providers.secrets.class=org.apache.kafka.common.config.provider.FileConfigProvider
    config.providers.secrets.param.allowed.paths=/run/secrets
    config.providers.vault.class=vault                     an entry point of the group `minercdc.config_providers`

Debezium Server's `${NAME}` and `${NAME:default}` stand for an environment variable, in files of its form only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

from minercdc.config.files import read_java_properties

ENTRY_POINTS: Final = "minercdc.config_providers"
Provider: TypeAlias = Callable[[str, str], str]
"""Called with path and key of a placeholder; raises KeyError, OSError or ValueError."""
ProviderFactory: TypeAlias = Callable[[Mapping[str, str]], Provider]
"""What an entry point names: called with the provider's `param.*`."""

_PLACEHOLDER = re.compile(r"\$\{([^${}:]*):(?:([^${}:]*):)?([^${}:]*)\}")
_OF_SERVER = re.compile(r"\$\{([A-Za-z_][\w.-]*)(?::([^${}]*))?\}")
_SETTING = "config.providers"


def variables_used(text: str) -> Iterator[str]:
    """Names of the environment variables that `${env:NAME}` in a value stands for."""
    for match in _PLACEHOLDER.finditer(text):
        if match[1] == "env":
            yield match[3] or match[2] or ""


class Providers:
    """Resolves the placeholders in the values of one configuration.

    :param providers: by name.
    :param of_server: whether `${NAME}` and `${NAME:default}` are resolved, too.
    """

    def __init__(self, providers: Mapping[str, Provider], *, of_server: bool = False) -> None:
        self._providers = providers
        self._of_server = of_server

    def resolved(self, value: str) -> str:
        """The value with its placeholders replaced; those of unknown providers are left as they are, as Kafka does.

        :raises KeyError: a variable is not set, or a file lacks the key.
        :raises OSError, ValueError: a file cannot be read, or a file or variable must not be.
        :raises Exception: what a provider that is a plug-in raises.
        """
        value = _PLACEHOLDER.sub(self._lookup, value)
        return _OF_SERVER.sub(self._variable, value) if self._of_server else value

    def _lookup(self, match: re.Match[str]) -> str:
        provider = self._providers.get(match[1])
        if provider is None:
            return match[0]
        path, key = match[2] or "", match[3]
        if match[1] == "env" and match[2] is None:
            return provider("", key)
        return provider(path, key) if match[2] is not None else provider(key, "")

    def _variable(self, match: re.Match[str]) -> str:
        name, default = match.groups()
        if name in os.environ:
            return os.environ[name]
        spelled = re.sub(r"\W", "_", name).upper()
        if spelled in os.environ:
            return os.environ[spelled]
        if default is None:
            raise KeyError(name)
        return str(default)


def take_providers(properties: dict[str, str], problems: list[str], *, of_server: bool = False) -> Providers:
    """The providers of a configuration, whose `config.providers*` are taken out of it.

    :param problems: gets what is wrong with them.
    :param of_server: see `Providers`.
    """
    found: dict[str, Provider] = {"env": _environment({}), "file": _file({}), "dir": _directory({})}
    listed = [name.strip() for name in properties.pop(_SETTING, "").split(",") if name.strip()]
    for name in listed:
        head = f"{_SETTING}.{name}."
        own = {key.removeprefix(head): properties.pop(key) for key in list(properties) if key.startswith(head)}
        kind = own.pop("class", "").strip()
        parameters = {key.removeprefix("param."): value for key, value in own.items() if key.startswith("param.")}
        problems += [
            f"{head}{key}: unknown property; parameters begin with {head}param."
            for key in own
            if not key.startswith("param.")
        ]
        if not kind:
            problems.append(f"{head}class: needed, since {_SETTING} lists {name}")
            continue
        try:
            found[name] = _factory(kind)(parameters)
        except Exception as error:  # a plug-in's own code
            problems.append(f"{head}class: {kind} cannot be used: {error}")
    for key in [key for key in properties if key.startswith(f"{_SETTING}.")]:
        del properties[key]
        problems.append(f"{key}: {_SETTING} does not list this provider")
    return Providers(found, of_server=of_server)


def _environment(parameters: Mapping[str, str]) -> Provider:
    allowed = re.compile(parameters.get("allowlist.pattern", ".*"))

    def look_up(path: str, key: str) -> str:
        name = key or path
        if not allowed.fullmatch(name):
            raise ValueError(f"param.allowlist.pattern does not allow the variable {name}")
        return os.environ[name]

    return look_up


def _file(parameters: Mapping[str, str]) -> Provider:
    allowed = _allowed(parameters)

    def look_up(path: str, key: str) -> str:
        text = allowed(path).read_text(encoding="utf-8")
        return read_java_properties(text)[key] if key else text.rstrip("\r\n")

    return look_up


def _directory(parameters: Mapping[str, str]) -> Provider:
    allowed = _allowed(parameters)

    def look_up(path: str, key: str) -> str:
        if "/" in key or key == "..":
            raise ValueError(f"{key} is not a file name")
        return (allowed(path) / key).read_text(encoding="utf-8").rstrip("\r\n")

    return look_up


def _allowed(parameters: Mapping[str, str]) -> Callable[[str], Path]:
    roots = [Path(root.strip()).resolve() for root in parameters.get("allowed.paths", "").split(",") if root.strip()]

    def check(path: str) -> Path:
        full = Path(path).resolve()
        if roots and not any(full == root or root in full.parents for root in roots):
            raise ValueError(f"param.allowed.paths does not allow {path}")
        return Path(path)

    return check


_OF_KAFKA: Mapping[str, ProviderFactory] = {
    "EnvVarConfigProvider": _environment,
    "FileConfigProvider": _file,
    "DirectoryConfigProvider": _directory,
}


def _factory(kind: str) -> ProviderFactory:
    """What makes providers of a class."""
    package, _, name = kind.rpartition(".")
    if package == "org.apache.kafka.common.config.provider" and name in _OF_KAFKA:
        return _OF_KAFKA[name]
    installed = metadata.entry_points(group=ENTRY_POINTS)
    if kind in installed.names:
        factory: ProviderFactory = installed[kind].load()
        return factory
    known = ", ".join((*_OF_KAFKA, *sorted(installed.names)))
    raise ValueError(f"it is neither one of Kafka's providers nor an entry point of {ENTRY_POINTS}; known are {known}")
