"""Turns a file or mapping into a `ConnectorConfig`, and reports all problems at once.

`files` reads, `providers` resolves placeholders, `renaming` has the other spellings of names, `checking` checks the sections.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints

from minercdc.config import extensions
from minercdc.config.checking import checked, contradictions
from minercdc.config.debezium import ignored as debezium
from minercdc.config.debezium.elsewhere import elsewhere, take_known_elsewhere, take_not_read
from minercdc.config.debezium.kafka_client import as_librdkafka, take_client, take_kafka
from minercdc.config.debezium.renaming import Spelled, default_formats, is_of_server, spelled
from minercdc.config.files import FileProperties, read_file
from minercdc.config.messages.content import ColumnRule, MessageConfig, take_column_rules
from minercdc.config.messages.converter_rules import prefix_in_schemas, without_envelope
from minercdc.config.messages.converters import JSON, ConverterConfig
from minercdc.config.messages.custom_converters import CustomConverter, take_custom_converters
from minercdc.config.messages.post_processors import take_post_processors
from minercdc.config.property_places import UNRESOLVED, independent, origin, placed
from minercdc.config.providers import Providers, take_providers, variables_used
from minercdc.config.section import Section, environment_name, no_text
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
from minercdc.config.source.adapters import of_other_adapters
from minercdc.config.source.flashback import FlashbackConfig
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.config.source.olr import OlrConfig
from minercdc.config.source.secondary import SecondaryConfig
from minercdc.config.source.selects import SELECT_OVERRIDE, take_selects, unpaired
from minercdc.config.source.signals import IncrementalConfig, NotificationConfig, SignalConfig
from minercdc.config.source.txlog import TxlogConfig
from minercdc.config.target.heartbeat import HeartbeatConfig
from minercdc.config.target.lake import LakeConfig
from minercdc.config.target.relay import RelayConfig, implied, refused_by_relay
from minercdc.config.target.schema_history import SchemaHistoryConfig
from minercdc.config.target.sink import SinkConfig, adapt_to_sink
from minercdc.config.target.topics import take_creation
from minercdc.config.transforms.chain import Transformation, take_transformations
from minercdc.errors import ConfigError

log = logging.getLogger(__name__)

_FLUSH_TABLE = "minercdc.log.mining.flush.table"
_SCN_TOKEN = "snapshot.enhance.predicate.scn"


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """A whole configuration, in sections, and what belongs to none of them.

    :param snapshot_selects: SELECTs by the names of their tables, as of `selects.plain_name`.
    :param kafka_client, signal_client: librdkafka's settings for the data, and for the signal topic; `lake_spark`: Spark's
        (`spark.*`); `lake_catalog`: those of the Iceberg catalog beside the properties of the lake.
    :param extension_options: properties of adapters, sinks and formats of other packages, by their names in full.
    :param ignored: properties without effect, with the reason; `not_read`: of these, the ones that Debezium does not read either.
    :param notices: by older name, what to change. `origins`: by property, the file and line where it is given.
    :param given: all properties that are given, not of the environment: name -> value, placeholders resolved; with secrets.
    """

    identity: ConnectorIdentity
    database: DatabaseConfig
    filters: TableFilterConfig
    capture: CaptureConfig
    log_mining: LogMiningConfig
    secondary: SecondaryConfig
    flashback: FlashbackConfig
    olr: OlrConfig
    fors: ForsConfig
    txlog: TxlogConfig
    snapshot: SnapshotConfig
    signals: SignalConfig
    incremental: IncrementalConfig
    notifications: NotificationConfig
    values: ValueConfig
    messages: MessageConfig
    converters: ConverterConfig
    topics: TopicConfig
    sink: SinkConfig
    relay: RelayConfig
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
    lake_catalog: Mapping[str, str]
    ignored: Mapping[str, str]
    extension_options: Mapping[str, str] = field(default_factory=dict)
    not_read: frozenset[str] = frozenset()
    notices: Mapping[str, str] = field(default_factory=dict, compare=False)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    given: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def running_identity(self) -> str:
        """What is this connector's only, for `process_lock.owning_name`: where `minercdc.state.dir` is relative, it does not
        say who runs here. '' where it is absolute, since others that differ are meant to, and without Kafka as the sink."""
        if self.capture.minercdc_state_dir.is_absolute() or not self.sink.is_kafka:
            return ""
        brokers = sorted(one.strip() for one in self.kafka.bootstrap_servers.split(","))
        return json.dumps([self.identity.name, self.identity.topic_prefix, brokers])


SECTIONS: Mapping[str, type[Section]] = {
    name: kind
    for name, kind in get_type_hints(ConnectorConfig).items()
    if isinstance(kind, type) and issubclass(kind, Section)
}
"""The sections of a ConnectorConfig, by the names of its attributes."""

_LISTS = ("transforms", "predicates", "converters", "post.processors")  # of names that further properties begin with
_KNOWN = (
    frozenset(_LISTS)
    | frozenset(p for section in SECTIONS.values() for p in section.properties())
    | debezium.IGNORED.keys()
    | debezium.INERT.keys()
    | debezium.UNSUPPORTED.keys()
)
_PASSED_ON = (
    *debezium.KAFKA_PASS_THROUGH,
    *debezium.SIGNAL_PASS_THROUGH,
    *debezium.SPARK_PASS_THROUGH,
    *debezium.CATALOG_PASS_THROUGH,
    SELECT_OVERRIDE,
    *("topic.creation.", "transforms.", "predicates.", "column.mask.", "column.truncate."),
)
_PREFIXES = (*debezium.IGNORED_PREFIXES, *debezium.UNSUPPORTED_PREFIXES, *_PASSED_ON)


def is_known(name: str) -> bool:
    """Whether there is a property of this name, accepted or refused."""
    return name in _KNOWN or name.startswith(_PREFIXES)


def standing(name: str) -> tuple[str, str]:
    """What becomes of a property, by its present name: `implemented`, `refused`, `without effect`, `some values` or `unknown`;
    and the reason, for `some values` a value that is accepted; '' for the first and the last."""
    ours = name in _LISTS or any(name in section.properties() for section in SECTIONS.values())
    if ours or name.startswith(_PASSED_ON):
        return "implemented", ""
    if name in debezium.INERT:
        return "some values", debezium.INERT[name][0]
    return elsewhere(name)


Examination: TypeAlias = Callable[[ConnectorConfig, Collection[str]], Iterator[str]]
"""Further problems of a configuration, a line each that begins with the property. The second argument has the properties without a value
that can be used: what depends on them is not examined."""


def _nothing_more(config: ConnectorConfig, unusable: Collection[str]) -> Iterator[str]:
    return iter(())


def load_config(path: Path | str, examine: Examination = _nothing_more) -> ConnectorConfig:
    """Read and check a configuration file; warn of environment variables that look misspelt.

    :param path: of YAML, JSON (a registration of Kafka Connect, too) or Java properties.
    :param examine: see `Examination`; its problems are listed with the others.
    :raises ConfigError: the file cannot be read or has problems; all of them are listed.
    """
    path = Path(path)
    return _checked_environment(read_file(path), path, examine)


def load_relay_config(path: Path, examine: Examination = _nothing_more) -> ConnectorConfig:
    """As `load_config`, for `minercdc relay`: the sink is the relay, even where the file names another, and what only a topic, or with
    an upstream relay a database, needs may be absent."""
    content = read_file(path)
    return _checked_environment(replace(content, values={**content.values, "debezium.sink.type": "relay"}), path, examine)


def _checked_environment(content: FileProperties, path: Path, examine: Examination) -> ConnectorConfig:
    used = {name for value in content.values.values() for name in variables_used(value)}
    for variable, meant in misspelt_variables(os.environ, used):
        log.warning("the environment variable %s sets no property; did you mean %s?", variable, meant)
    return _parse(content, str(path), examine)


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


def parse_properties(properties: Mapping[str, str], *, where: str = "") -> ConnectorConfig:
    """Resolve the placeholders of flat properties, check them and those of the environment (which win), and make sections of them.

    :param where: origin of the properties, for the message.
    :raises ConfigError: there are problems; all of them are listed.
    """
    return _parse(FileProperties(properties), where)


def _parse(content: FileProperties, where: str, examine: Examination = _nothing_more) -> ConnectorConfig:
    problems = list(content.problems)
    found, unusable = _spelled(_with_implied(content.values), problems)
    rest = {given.name: given.value for given in found}
    post_processed = take_post_processors(rest, problems)
    given = {name: {p: rest.pop(p) for p in section.properties() if p in rest} for name, section in SECTIONS.items()}
    client = take_kafka(rest, problems)
    signal_client = as_librdkafka(dict(take_client(rest, debezium.SIGNAL_PASS_THROUGH)), "signal.consumer.", problems)
    lake_spark = {f"spark.{name}": value for name, value in take_client(rest, debezium.SPARK_PASS_THROUGH)}
    lake_catalog = dict(take_client(rest, debezium.CATALOG_PASS_THROUGH))
    selects = dict(take_selects(rest, rest.get(_SCN_TOKEN)))
    problems += _two_nodes(rest, given["log_mining"])
    creation = {name: rest.pop(name) for name in list(rest) if name.startswith("topic.creation.")}
    transforms = take_transformations(rest, problems)
    column_rules = take_column_rules(rest, problems)
    problems += refused_by_relay({one.name: one.value for one in found}, column_rules)
    problems += _of_another_database(rest.get("connector.class", ""))
    custom_converters = take_custom_converters(rest, problems)
    sections = {name: checked(section, given[name], problems, unusable) for name, section in SECTIONS.items()}
    of_extensions = dict(extensions.take_options(rest, tuple(_beginnings(sections))))
    not_read = dict(take_not_read(rest, {one.name: one.value for one in found}))
    ignored = post_processed | not_read | dict(take_known_elsewhere(rest, problems))
    problems += (_unknown(one.given_as) for one in found if one.name in rest)
    _check_together(sections, creation, selects, transforms, problems, unusable)
    if not problems:
        ignored |= adapt_to_sink(sections) | dict(of_other_adapters(sections))
    rest_of_it: dict[str, Any] = {
        "transforms": transforms,
        "column_rules": column_rules,
        "custom_converters": custom_converters,
        "snapshot_selects": selects,
        "kafka_client": client,
        "signal_client": signal_client,
        "lake_spark": lake_spark,
        "lake_catalog": lake_catalog,
        "ignored": ignored,
        "extension_options": of_extensions,
        "not_read": frozenset(not_read),
        "notices": {one.given_as: one.notice for one in found if one.notice},
        "given": {one.name: one.value for one in found},
        "origins": {one.name: origin(one, content, where) for one in found},
    }
    config = ConnectorConfig(**sections, **rest_of_it)  # type: ignore[arg-type]
    problems.extend(examine(config, unusable))
    _refuse_any(problems, found, content, where)
    return config


def _refuse_any(problems: Collection[str], found: Collection[Spelled], content: FileProperties, where: str) -> None:
    if problems:
        kept = independent(problems, {one.given_as: one.name for one in found})
        raise ConfigError(sorted(set(placed(kept, found, content, where))), where=where)


def _with_implied(values: Mapping[str, str]) -> Mapping[str, str]:
    more = implied(values) if values.get("debezium.sink.type") == "relay" else default_formats(values)
    return more | dict(values)


def _beginnings(sections: Mapping[str, Section]) -> Iterator[str]:
    """How the options of the extensions begin that a configuration uses."""
    database, sink, converters = sections["database"], sections["sink"], sections["converters"]
    assert isinstance(database, DatabaseConfig)
    assert isinstance(sink, SinkConfig)
    assert isinstance(converters, ConverterConfig)
    if extensions.is_foreign(extensions.ADAPTERS, database.database_connection_adapter):
        yield extensions.ADAPTER_OPTIONS
    if extensions.is_foreign(extensions.SINKS, sink.debezium_sink_type):
        yield f"debezium.sink.{sink.debezium_sink_type}."
    for side, converter in (("key", converters.key_converter), ("value", converters.value_converter)):
        if converter in extensions.installed(extensions.FORMATS):
            yield f"{side}.converter."


def _two_nodes(rest: Mapping[str, str], log_mining: Mapping[str, str]) -> Iterator[str]:
    if "rac.nodes" in rest and log_mining.get(_FLUSH_TABLE):
        yield f"rac.nodes: {_FLUSH_TABLE} is written on one node only; leave one of them out"


def _of_another_database(connector_class: str) -> Iterator[str]:
    if connector_class and "oracle" not in connector_class.lower():
        yield f"connector.class: {connector_class} does not read Oracle, as minercdc does; check that this is the right file"


def _unknown(name: str) -> str:
    """The problem of a property that does not exist, with the one that was probably meant. `name` is as it is given."""
    source = "debezium.source."
    head = source if name.startswith(source) else ""
    near = difflib.get_close_matches(name.removeprefix(source), _KNOWN, 1, 0.75)
    return f"{name}: unknown property" + (f"; did you mean {head}{near[0]}?" if near else "")


def _check_together(
    sections: dict[str, Section],
    creation: dict[str, str],
    selects: dict[str, str],
    transforms: Sequence[Transformation],
    problems: list[str],
    unusable: set[str],
) -> None:
    """Complete sections by what others hold, and add what contradicts each other to the problems.

    :param unusable: properties with values that cannot be used.
    """
    sections["values"] = _with_schemas_like_connect(sections["values"], sections["converters"])
    topics = sections["topics"]
    assert isinstance(topics, TopicConfig)
    if not unusable & {"topic.creation.groups"}:
        sections["topics"] = topics.with_creation(take_creation(creation, topics, problems))
    problems.extend(contradictions(sections, unusable))
    if "snapshot.select.statement.overrides" not in unusable:
        problems.extend(unpaired(sections["snapshot"].snapshot_select_statement_overrides, selects))  # type: ignore[attr-defined]
    if "value.converter" not in unusable:
        problems.extend(without_envelope(sections["converters"], transforms))
    if not {"value.converter", "key.converter", "topic.prefix", "schema.name.adjustment.mode"} & unusable:
        problems.extend(prefix_in_schemas(sections, transforms))


def _spelled(properties: Mapping[str, str], problems: list[str]) -> tuple[list[Spelled], set[str]]:
    """The properties under their present names, with placeholders resolved; and the names whose placeholders cannot be."""
    raw = {
        name.removeprefix("debezium.source.") if ".config.providers" in name else name: v for name, v in properties.items()
    }
    providers = take_providers(raw, problems, of_server=is_of_server(raw))
    unresolved: set[str] = set()
    resolved = dict(_resolved(raw, providers, problems, unresolved))
    found = list(spelled(resolved, is_known, problems))
    return found, {given.name for given in found if given.given_as in unresolved}


def _with_schemas_like_connect(values: Section, converters: Section) -> Section:
    """`values`, with schemas on where a converter is not JSON, or is given as JSON and schemas are not (Connect's default)."""
    schemas = {}
    for side in ("key", "value"):
        name, converter = f"{side}_converter_schemas_enable", getattr(converters, f"{side}_converter")
        named = f"{side}_converter" in converters.model_fields_set
        if converter != JSON or (named and name not in values.model_fields_set):
            schemas[name] = True
    return values.model_copy(update=schemas)


def _resolved(
    properties: Mapping[str, str], providers: Providers, problems: list[str], unresolved: set[str]
) -> Iterator[tuple[str, str]]:
    """Name and value of each property, with placeholders resolved.

    :param problems: gets a line for each value that cannot be resolved, or encoded; "1" stands in for it, or '' where names are
        listed.
    :param unresolved: gets the names of these properties.
    """
    for name, value in properties.items():
        try:
            resolved = providers.resolved(value)
            problem = f": {reason}" if (reason := no_text(resolved)) else ""
        except Exception as error:  # a plug-in's own code
            reason = f"{error.args[0]} is not set" if isinstance(error, KeyError) and error.args else str(error)
            problem = f"{UNRESOLVED}{reason}"
        if problem:
            problems.append(f"{name}{problem}")
            unresolved.add(name)
            resolved = "" if name.endswith(_LISTS) else "1"
        yield name, resolved
