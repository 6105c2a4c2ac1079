"""The output of `minercdc config FILE`: each property in force, its value, where it comes from, and what it does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from minercdc.config.debezium import ignored as debezium
from minercdc.config.load import SECTIONS, ConnectorConfig
from minercdc.config.messages.content import without_salt
from minercdc.config.section import Section, environment_name, property_of
from minercdc.config.urls import HIDDEN as HIDDEN
from minercdc.config.urls import without_secrets

_DEFAULT: Final = "default"
# Ends of names whose values are secrets; `custom.sanitize.pattern` adds to them.
_SECRET: Final = re.compile(
    r".*(secret|password|sasl\.jaas\.config|basic\.auth\.user\.info|credentials\.json|connection\.?string|token|\.pem"
    r"|ssl\.keystore\.key|secret\.key|private\.key|account\.key\..*|\.sas\..*"  # the last ones are of stores that Spark writes to
    r"|credential|\.authorization|secret-access-key)",  # of an Iceberg catalog
    re.IGNORECASE,
)


class InForce(NamedTuple):
    """One property.

    :param value: secrets hidden.
    :param origin: file and line, environment variable, `default`, or that it follows from other properties.
    :param effect: its meaning; or why it has none.
    :param default: what it would be if it were not given; None where there is no default.
    """

    name: str
    value: str
    origin: str
    effect: str
    default: str | None = None


def in_force(config: ConnectorConfig) -> Iterator[InForce]:
    """Every property in force: those of the sections, in their order, SELECTs of tables, those that are passed on, those of groups
    such as `transforms`, then those without effect."""
    secret = _secret_names(config.run.custom_sanitize_pattern)
    for name in SECTIONS:
        section: Section = getattr(config, name)
        for field_name, field in type(section).model_fields.items():
            yield _of_field(config, section, field_name, field, secret)
    for table, select in config.snapshot_selects.items():
        given = f"snapshot.select.statement.overrides.{table}"
        yield InForce(given, select, _origin(config.origins, given), "The SELECT that reads this table.")
    for settings, prefixes, client in (
        (config.kafka_client, debezium.KAFKA_PASS_THROUGH, "librdkafka"),
        (config.signal_client, debezium.SIGNAL_PASS_THROUGH, "librdkafka"),
        (config.lake_spark, debezium.SPARK_PASS_THROUGH, "Spark"),
        (config.lake_catalog, debezium.CATALOG_PASS_THROUGH, "the Iceberg catalog"),
    ):
        for name, value in settings.items():
            yield _passed_on(config.origins, name, value, prefixes, client, secret)
    for name, value in config.given.items():
        if (effect := _effect_in_group(name)) and name not in config.ignored:
            yield InForce(without_salt(name), _shown(name, value, secret), _origin(config.origins, name), effect)
    for name, reason in sorted(config.ignored.items()):
        if name not in _FIELDS:
            value = _shown(name, config.given.get(name, ""), secret)
            yield InForce(name, value, _origin(config.origins, name), f"no effect: {reason}")


def _shown(name: str, value: str, secret: re.Pattern[str]) -> str:
    return HIDDEN if secret.fullmatch(name) else _text(value)


def _effect_in_group(name: str) -> str:
    """What a property does that belongs to a group of properties with names of the user's; '' for properties of sections,
    those that are passed on, and SELECTs."""
    if name in _FIELDS or name.startswith((*debezium.KAFKA_PASS_THROUGH, *debezium.SIGNAL_PASS_THROUGH)):
        return ""
    if name.startswith(
        (*debezium.SPARK_PASS_THROUGH, *debezium.CATALOG_PASS_THROUGH, "snapshot.select.statement.overrides.")
    ):
        return ""
    return next((effect for prefix, effect in _GROUPS.items() if name.startswith(prefix)), _OF_A_CLASS)


_OF_A_CLASS: Final = "An option of one of `converters` or `post.processors` (docs/messages.md)."
_GROUPS: Final[Mapping[str, str]] = {
    "transforms": "Options of transformations of records (docs/transforms.md).",
    "predicates": "Conditions of transformations (docs/transforms.md).",
    "column.mask.": "Values of these columns are masked (docs/how-to/mask-columns.md).",
    "column.truncate.": "Values of these columns are cut (docs/how-to/mask-columns.md).",
    "converters": "Classes that convert columns (docs/messages.md).",
    "post.processors": "Classes that complete rows (docs/messages.md).",
    "topic.creation.": "Settings of topics that are created (docs/reference/topics.md).",
}


_FIELDS: Final = frozenset(name for section in SECTIONS.values() for name in section.properties())


def _secret_names(more: str | None) -> re.Pattern[str]:
    return re.compile(f"(?:{_SECRET.pattern})|(?:{more})", re.IGNORECASE) if more else _SECRET


def _of_field(
    config: ConnectorConfig, section: Section, field_name: str, field: FieldInfo, secret: re.Pattern[str]
) -> InForce:
    name = field.alias or property_of(field_name)
    value = getattr(section, field_name)
    effect = f"no effect: {config.ignored[name]}" if name in config.ignored else field.description or ""
    hidden = (isinstance(value, SecretStr) and bool(value.get_secret_value())) or (secret.fullmatch(name) and value)
    default = None if hidden or field.is_required() else _text(field.default)
    return InForce(name, HIDDEN if hidden else _text(value), _of_value(config, section, field_name, name), effect, default)


def _of_value(config: ConnectorConfig, section: Section, field_name: str, name: str) -> str:
    variable = environment_name(name)
    if variable in os.environ:
        return f"environment {variable}"
    if os.environ.get(variable + "_FILE"):
        return f"environment {variable}_FILE"
    if name in config.origins:
        return config.origins[name]
    default = type(section).model_fields[field_name].default
    return _DEFAULT if getattr(section, field_name) == default else "follows from other properties"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(without_secrets(str(one)) for one in value)
    return _without_credentials(str(value))


def _without_credentials(text: str) -> str:
    """Without user, password and query of URLs, and without user and password of connect strings: `user/password@host`,
    `password=...`."""
    text = without_secrets(text)
    text = re.sub(r"(?i)(password\s*=\s*)(\"[^\"]*\"|[^)&\s]+)", rf"\1{HIDDEN}", text)
    return re.sub(r"^((?:jdbc:oracle:thin:)?[^/@]*/).*@", rf"\1{HIDDEN}@", text) if "@" in text else text


def _passed_on(
    origins: Mapping[str, str], name: str, value: str, prefixes: tuple[str, ...], client: str, secret: re.Pattern[str]
) -> InForce:
    bare = name.removeprefix("spark.") if client == "Spark" else name
    given = next((prefix + bare for prefix in reversed(prefixes) if prefix + bare in origins), "")
    origin = _origin(origins, given) if given else "follows from a setting of the Java client"
    shown = HIDDEN if secret.fullmatch(name) else _text(value)
    return InForce(given or prefixes[-1] + bare, shown, origin, f"passed on to {client} as {name}")


def _origin(origins: Mapping[str, str], name: str) -> str:
    return next((place for given, place in origins.items() if given.upper() == name.upper()), _DEFAULT)


def report(config: ConnectorConfig, path: Path, *, given: bool = False) -> str:
    """The text of `minercdc config FILE`: `NAME = VALUE` for each property, and a comment with its origin and effect.

    :param given: only properties that differ from their default, or are given all the same, with that default.
    """
    found = list(in_force(config))
    lines = [f"# {path}: {sum(one.origin != _DEFAULT for one in found)} properties are given, {len(found)} are in force", ""]
    lines += [f"# {notice}" for notice in config.notices.values()]
    for one in found:
        if given and one.origin == _DEFAULT:
            continue
        instead = "" if not given or one.default is None else f"in place of {one.default or 'nothing'}: "
        lines += [f"{one.name} = {one.value}".rstrip(), f"    # {one.origin}: {instead}{one.effect}"]
    return "\n".join(lines) + "\n"


def as_document(config: ConnectorConfig, *, given: bool = False) -> dict[str, dict[str, str | None]]:
    """The same as a JSON object: property -> `value`, `origin`, `effect` and `default`, null where there is none."""
    return {
        one.name: {"value": one.value, "origin": one.origin, "effect": one.effect, "default": one.default}
        for one in in_force(config)
        if not (given and one.origin == _DEFAULT)
    }
