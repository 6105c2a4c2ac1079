"""From a file or mapping to a `ConnectorConfig`, every problem reported at once.

Accepted: YAML (flat or nested), JSON (flat, or Kafka Connect's `{"name", "config"}`), `.properties`. `${env:NAME}`,
`${file:/path:key}` (a properties file), `${file:/path}` (the whole file) and `${dir:/path:name}` are resolved in values.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import javaproperties
import yaml
from pydantic import ValidationError

from minercdc.config import debezium
from minercdc.config.ad_hoc import IncrementalConfig, NotificationConfig, SignalConfig
from minercdc.config.adapters import of_other_adapters
from minercdc.config.converters import AVRO, JSON, ConverterConfig
from minercdc.config.custom_converters import CustomConverter, take_custom_converters
from minercdc.config.flashback import FlashbackConfig
from minercdc.config.heartbeat import HeartbeatConfig
from minercdc.config.lake import LakeConfig
from minercdc.config.log_mining import LogMiningConfig
from minercdc.config.messages import ColumnRule, MessageConfig, take_column_rules
from minercdc.config.post_processors import take_post_processors
from minercdc.config.schema_history import SchemaHistoryConfig
from minercdc.config.section import Section, environment_name
from minercdc.config.sections import (
    CaptureConfig,
    ConnectorIdentity,
    DatabaseConfig,
    KafkaConfig,
    RunConfig,
    SnapshotConfig,
    TableFilterConfig,
    TopicConfig,
    ValueConfig,
)
from minercdc.config.sink import SinkConfig, adapt_to_sink, without_brokers
from minercdc.config.transforms import Transformation, take_transformations
from minercdc.errors import ConfigError

log = logging.getLogger(__name__)

_PLACEHOLDER = re.compile(r"\$\{(env|file|dir):([^}:]*)(?::([^}]*))?\}")
_SELECT_OVERRIDE = "snapshot.select.statement.overrides."


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """A whole configuration, in sections. Beside them: SELECTs by upper-case `SCHEMA.TABLE`, librdkafka's settings for the data
    and for the signal topic, Spark's own (`spark.*`) for the lake, and the properties without effect, with the reason."""

    identity: ConnectorIdentity
    database: DatabaseConfig
    filters: TableFilterConfig
    capture: CaptureConfig
    log_mining: LogMiningConfig
    flashback: FlashbackConfig
    snapshot: SnapshotConfig
    signals: SignalConfig
    incremental: IncrementalConfig
    notifications: NotificationConfig
    values: ValueConfig
    messages: MessageConfig
    converters: ConverterConfig
    topics: TopicConfig
    sink: SinkConfig
    kafka: KafkaConfig
    heartbeat: HeartbeatConfig
    history: SchemaHistoryConfig
    run: RunConfig
    lake: LakeConfig
    transforms: tuple[Transformation, ...]
    column_rules: tuple[ColumnRule, ...]
    custom_converters: tuple[CustomConverter, ...]
    snapshot_selects: Mapping[str, str]
    kafka_client: Mapping[str, str]
    signal_client: Mapping[str, str]
    lake_spark: Mapping[str, str]
    ignored: Mapping[str, str]


SECTIONS: Mapping[str, type[Section]] = {
    "identity": ConnectorIdentity,
    "database": DatabaseConfig,
    "filters": TableFilterConfig,
    "capture": CaptureConfig,
    "log_mining": LogMiningConfig,
    "flashback": FlashbackConfig,
    "snapshot": SnapshotConfig,
    "signals": SignalConfig,
    "incremental": IncrementalConfig,
    "notifications": NotificationConfig,
    "values": ValueConfig,
    "messages": MessageConfig,
    "converters": ConverterConfig,
    "topics": TopicConfig,
    "sink": SinkConfig,
    "kafka": KafkaConfig,
    "heartbeat": HeartbeatConfig,
    "history": SchemaHistoryConfig,
    "run": RunConfig,
    "lake": LakeConfig,
}


_KNOWN = (
    frozenset(p for section in SECTIONS.values() for p in section.properties())
    | debezium.IGNORED.keys()
    | debezium.INERT.keys()
)


def load_config(path: Path) -> ConnectorConfig:
    """Read and check a configuration file; warn of environment variables that look misspelt.

    :raises ConfigError: the file cannot be read or has problems; all of them are listed.
    """
    properties = read_properties(path)
    used = {match[2] for value in properties.values() for match in _PLACEHOLDER.finditer(value) if match[1] == "env"}
    for variable, meant in misspelt_variables(os.environ, used):
        log.warning("the environment variable %s sets no property; did you mean %s?", variable, meant)
    return parse_properties(properties, where=str(path))


# Not properties: the cache of jars, and what Kubernetes injects for a service called minercdc.
_OTHER_VARIABLES = re.compile(r"MINERCDC_(CACHE|(\w+_)?SERVICE_(HOST|PORT\w*)|(\w+_)?PORT(_\d+_\w+)?)")


def misspelt_variables(environment: Mapping[str, str], used: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Pairs of a variable that sets no property, and the variable of a property with a similar name.

    :param used: names that a configuration uses itself, by `${env:NAME}`.
    """
    known = [environment_name(name) for section in SECTIONS.values() for name in section.properties()]
    for variable in sorted(environment):
        bare = variable.removesuffix("_FILE")
        ours = variable.startswith("MINERCDC_") and bare not in known and variable not in used
        if ours and not _OTHER_VARIABLES.fullmatch(variable):
            yield from ((variable, near) for near in difflib.get_close_matches(bare, known, 1, 0.85))


def read_properties(path: Path) -> dict[str, str]:
    """The flat properties of a file, placeholders not yet resolved: nested names joined by dots, lists by commas; null is left out.

    :raises ConfigError: it cannot be read, is not of the format of its ending, or gives a property twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"cannot be read: {error}"], where=str(path)) from None
    try:
        if path.suffix == ".properties":
            return dict(_once(javaproperties.loads(text, object_pairs_hook=list)))
        document = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else yaml.load(text, _OnceLoader)
    except (ValueError, yaml.YAMLError) as error:
        kind = path.suffix.lstrip(".") or "YAML"
        raise ConfigError([f"is not valid {kind}: {_without_values(error)}"], where=str(path)) from None
    if not isinstance(document, dict):
        raise ConfigError(["holds no properties (a mapping of property names to values is expected)"], where=str(path))
    if isinstance(document.get("config"), dict):  # Kafka Connect's REST form
        document = {"name": document.get("name", "minercdc"), **document["config"]}
    try:
        return _once(_flatten(document, ""))
    except ValueError as error:  # flat in one place, nested in another
        raise ConfigError([str(error)], where=str(path)) from None


# An alias, anchor or tag is named by the text that follows `*`, `&` or `!`, as of a password without apostrophes.
_NAMED_BY_VALUE = re.compile(r"\b(alias|anchor|tag|tag handle) .*", re.DOTALL)


def _without_values(error: Exception) -> str:
    """Problem and place of an error, without the line of YAML that holds it, which may have a password."""
    if isinstance(error, yaml.MarkedYAMLError):
        what = _NAMED_BY_VALUE.sub(r"\1", error.problem or "not understood")
        mark = error.problem_mark
        return f"{what} in line {mark.line + 1}, column {mark.column + 1}" if mark else what
    return str(error)


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of the pairs. Raises ValueError when a key comes twice, of which the last would win silently."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key} is given twice")
        found[key] = value
    return found


class _OnceLoader(yaml.SafeLoader):
    """Refuses a key that comes twice in a mapping (YAML 1.2, 3.2.1.3: keys are unique)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int | float | bool) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key} is given twice", key_node.start_mark)
            seen.add(str(key) if isinstance(key, list | dict) else key)
        return super().construct_mapping(node, deep)


def _flatten(node: Mapping[object, object], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flatten(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ",".join(map(str, value))
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif value is not None:
            yield name, str(value)


def parse_properties(properties: Mapping[str, str], *, where: str = "") -> ConnectorConfig:
    """Resolve the placeholders of flat properties, check them and those of the environment (which win), and sort them into sections.

    :param where: origin of the properties, for the message.
    :raises ConfigError: there are problems; all of them are listed.
    """
    problems: list[str] = []
    rest = dict(_resolved(_plain_names(properties, problems), problems))
    _default_schemas_like_connect(rest)
    post_processed = take_post_processors(rest, problems)
    given = {name: {p: rest.pop(p) for p in section.properties() if p in rest} for name, section in SECTIONS.items()}
    client = dict(_take_client(rest, debezium.KAFKA_PASS_THROUGH))
    signal_client = dict(_take_client(rest, debezium.SIGNAL_PASS_THROUGH))
    lake_spark = {f"spark.{name}": value for name, value in _take_client(rest, debezium.SPARK_PASS_THROUGH)}
    selects = dict(_take_selects(rest))
    transforms = take_transformations(rest, problems)
    column_rules = take_column_rules(rest, problems)
    custom_converters = take_custom_converters(rest, problems)
    ignored = post_processed | dict(_take_known_elsewhere(rest, problems))
    for name in rest:
        near = difflib.get_close_matches(name, _KNOWN, 1, 0.75)
        problems.append(f"{name}: unknown property" + (f"; did you mean {near[0]}?" if near else ""))
    sections: dict[str, Section] = {}
    for name, section in SECTIONS.items():
        try:
            sections[name] = section(**given[name])
        except ValidationError as error:
            problems.extend(_problem_lines(error))
        except OSError as error:
            problems.append(f"a file named by the environment cannot be read: {error}")
    problems.extend(without_brokers(sections))
    if not problems:
        ignored |= adapt_to_sink(sections) | dict(of_other_adapters(sections))
        problems.extend(_contradictions(sections))
        problems.extend(_unpaired(sections["snapshot"].snapshot_select_statement_overrides, selects))  # type: ignore[attr-defined]
    if problems:
        raise ConfigError(sorted(problems), where=where)
    rest_of_it: dict[str, Any] = {
        "transforms": transforms,
        "column_rules": column_rules,
        "custom_converters": custom_converters,
        "snapshot_selects": selects,
        "kafka_client": client,
        "signal_client": signal_client,
        "lake_spark": lake_spark,
        "ignored": ignored,
    }
    return ConnectorConfig(**sections, **rest_of_it)  # type: ignore[arg-type]


def _contradictions(sections: Mapping[str, Any]) -> Iterator[str]:
    """Contradictions between sections."""
    archived_only = sections["log_mining"].log_mining_archive_log_only_mode
    if archived_only and sections["database"].database_connection_adapter == "logminer_unbuffered":
        # The transactions that are open now say where a pass begins, not those that were open when the last archived log ended.
        yield "log.mining.archive.log.only.mode: works with database.connection.adapter=logminer only"
    if sections["capture"].lob_enabled and sections["log_mining"].log_mining_include_redo_sql:
        yield "log.mining.include.redo.sql: does not go with lob.enabled, whose events have many statements"
    if sections["incremental"].marks:
        yield from _without_marks(sections)
    if sections["sink"].debezium_sink_type == "json" and sections["converters"].uses_registry():
        yield "debezium.sink.type: json writes texts, and goes with JSON converters only"


def _without_marks(sections: Mapping[str, Any]) -> Iterator[str]:
    """Settings that would keep marks of incremental snapshots from being written or seen."""
    if not sections["signals"].signal_data_collection:
        yield "signal.data.collection: needed, since incremental.snapshot.watermarking.strategy writes marks (scn does not)"
    user, mining = sections["database"].database_user.upper(), sections["log_mining"]
    included = [name.upper() for name in mining.log_mining_username_include_list]
    excluded = [name.upper() for name in mining.log_mining_username_exclude_list]
    if user in excluded or (included and user not in included):
        yield (
            "log.mining.username.include.list, .exclude.list: leave out the transactions of database.user, which writes the"
            " marks of incremental.snapshot.watermarking.strategy (scn does without)"
        )


def _plain_names(properties: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in properties.items():
        plain = name.removeprefix("debezium.source.")
        if plain.removeprefix("internal.") in _KNOWN:
            plain = plain.removeprefix("internal.")  # Debezium gives some of its properties this prefix
        if plain in found:
            problems.append(f"{plain}: given twice, as {name} too")
        found[plain] = value
    return found


def _default_schemas_like_connect(properties: dict[str, str]) -> None:
    """Connect's JsonConverter writes schemas by default: a configuration that names it expects them. Other formats need them."""
    for side in ("key", "value"):
        if properties.get(f"{side}.converter") == JSON:
            properties.setdefault(f"{side}.converter.schemas.enable", "true")
        elif properties.get(f"{side}.converter") == AVRO:
            properties[f"{side}.converter.schemas.enable"] = "true"


def _resolved(properties: Mapping[str, str], problems: list[str]) -> Iterator[tuple[str, str]]:
    for name, value in properties.items():
        try:
            yield name, _PLACEHOLDER.sub(_lookup, value)
        except (KeyError, OSError, ValueError) as error:
            reason = f"{error.args[0]} is not set" if isinstance(error, KeyError) else str(error)
            problems.append(f"{name}: placeholder cannot be resolved: {reason}")
            yield name, "1"  # stands in, so that the other checks still run


def _lookup(match: re.Match[str]) -> str:
    kind, first, second = match.groups()
    if kind == "env":
        return os.environ[first]
    if kind == "dir":
        return (Path(first) / (second or "")).read_text(encoding="utf-8").rstrip("\r\n")
    text = Path(first).read_text(encoding="utf-8")
    return str(javaproperties.loads(text)[second]) if second else text.rstrip("\r\n")


def _take_client(rest: dict[str, str], prefixes: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in list(rest):
        for prefix in prefixes:
            if name.startswith(prefix):
                yield name.removeprefix(prefix), rest.pop(name)
                break


def _take_selects(rest: dict[str, str]) -> Iterator[tuple[str, str]]:
    """SELECT by upper-case `SCHEMA.TABLE`."""
    for name in [name for name in rest if name.startswith(_SELECT_OVERRIDE)]:
        yield name.removeprefix(_SELECT_OVERRIDE).upper(), rest.pop(name).strip().rstrip(";")


def _unpaired(listed: Sequence[str], selects: Mapping[str, str]) -> Iterator[str]:
    tables = {table.upper() for table in listed}
    for table in sorted(tables - selects.keys()):
        yield f"{_SELECT_OVERRIDE}{table}: needed, since snapshot.select.statement.overrides lists the table"
    for table in sorted(selects.keys() - tables):
        yield f"{_SELECT_OVERRIDE}{table}: snapshot.select.statement.overrides does not list the table"


def _take_known_elsewhere(rest: dict[str, str], problems: list[str]) -> Iterator[tuple[str, str]]:
    """Properties that are accepted without effect are yielded with the reason; refused ones become problems."""
    for name in list(rest):
        reason = debezium.IGNORED.get(name) or _by_prefix(debezium.IGNORED_PREFIXES, name)
        if reason or name.startswith(debezium.IGNORED_PREFIXES_KAFKA):
            yield name, reason or "one client serves data and history"
            del rest[name]
        elif name in debezium.INERT:
            value, inert = rest.pop(name).strip(), debezium.INERT[name]
            if value.lower() not in map(str.lower, inert):
                problems.append(f"{name}: {value} is not supported yet; only {inert[0]}")
            else:
                yield name, "this value holds here anyway"
        elif reason := debezium.UNSUPPORTED.get(name) or _by_prefix(debezium.UNSUPPORTED_PREFIXES, name):
            problems.append(f"{name}: not supported ({reason})")
            del rest[name]


def _by_prefix(table: Mapping[str, str], name: str) -> str | None:
    return next((reason for prefix, reason in table.items() if name.startswith(prefix)), None)


def _problem_lines(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False):
        message = item["msg"].removeprefix("Value error, ")
        name = ".".join(str(part) for part in item["loc"])
        yield f"{name}: {message}" if name else message
