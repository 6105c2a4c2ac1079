"""Checks of sections: their values one by one, what contradicts each other within a section, and across sections.

A value that cannot be used is reported once, and hides nothing else: all that does not follow from it is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from minercdc.config.section import Section, Sound, UnreadableVariableError, holds, leaving_out, one_of
from minercdc.config.source.secondary import contradictions_of_secondary
from minercdc.config.target.catalog_names import CatalogNames
from minercdc.config.target.own_topics import topics_of_their_own
from minercdc.config.target.sink import brokers_given, channels_of_sink, history_of_sink

_STANDS_IN: Final = "x"  # for a required text that is missing


def checked(section: type[Section], given: Mapping[str, str], problems: list[str], unusable: set[str]) -> Section:
    """The section, with the defaults of what cannot be used; `x` for a required text that is missing or cannot be used.

    :param given: property -> text.
    :param problems: gets what is wrong with single values, and within the section.
    :param unusable: properties without a value that can be used; gets those that are found here.
    """
    left_out = unusable & section.properties().keys()
    while True:
        values = {name: value for name, value in given.items() if name not in left_out}
        for name in left_out:
            if section.properties()[name].default is PydanticUndefined:
                values[name] = _STANDS_IN
        try:
            with leaving_out(left_out):
                made = section(**values)
            break
        except ValidationError as error:
            found = list(_problem_lines(error))
            if not all(name in section.properties() for name, _ in found):
                raise
        except UnreadableVariableError as error:
            found = [(error.name, str(error))]
        problems.extend(line for _, line in found)
        left_out |= {name for name, _ in found}
    unusable |= left_out
    for check in section.rules():
        problems.extend(holds(check, Sound(made, left_out)))
    return made


def contradictions(sections: Mapping[str, Section], unusable: set[str]) -> Iterator[str]:
    """Contradictions between sections, a line each.

    :param unusable: properties without a value that can be used; what depends on them is not checked.
    """
    seen = {name: Sound(section, unusable) for name, section in sections.items()}
    for check in _RULES:
        yield from holds(check, seen)


def _archived_only(sections: Mapping[str, Any]) -> Iterator[str]:
    archived_only = sections["log_mining"].log_mining_archive_log_only_mode
    if archived_only and sections["database"].database_connection_adapter == "logminer_unbuffered":
        # The transactions that are open now say where a pass begins, not those that were open when the last archived log ended.
        yield "log.mining.archive.log.only.mode: works with database.connection.adapter=logminer only"


def _replicator(sections: Mapping[str, Any]) -> Iterator[str]:
    adapter = sections["database"].database_connection_adapter
    if adapter == "olr":
        yield from sections["olr"].missing()
    if adapter == "fors_olr":
        yield from sections["fors"].missing()


def _redo_sql(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections["capture"].lob_enabled and sections["log_mining"].log_mining_include_redo_sql:
        yield "log.mining.include.redo.sql: cannot be used with lob.enabled, with which an event has many statements"


def _signal_table_of_marks(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections["incremental"].marks and not sections["signals"].signal_data_collection:
        yield "signal.data.collection: required, because incremental.snapshot.watermarking.strategy writes marks (scn writes none)"


def _user_of_marks(sections: Mapping[str, Any]) -> Iterator[str]:
    """Settings that would keep marks of incremental snapshots from being seen."""
    if not sections["incremental"].marks:
        return
    user, mining = sections["database"].session_user.upper(), sections["log_mining"]
    included = [name.upper() for name in mining.log_mining_username_include_list]
    excluded = [name.upper() for name in mining.log_mining_username_exclude_list]
    if user in excluded or (included and user not in included):
        yield (
            "log.mining.username.include.list, .exclude.list: exclude the transactions of database.user, which writes"
            " the marks of incremental.snapshot.watermarking.strategy (scn needs none)"
        )


def _marks_that_are_deleted(sections: Mapping[str, Any]) -> Iterator[str]:
    """Adapters to which a row that is inserted and soon deleted was never there."""
    if sections["incremental"].marks != "delete":
        return
    refused = "incremental.snapshot.watermarking.strategy: insert_delete cannot be used with"
    adapter = sections["database"].database_connection_adapter
    if adapter == "txlog":
        yield f"{refused} database.connection.adapter=txlog, which does not see DELETE; set insert_insert or scn"
    if adapter == "flashback" and sections["flashback"].minercdc_flashback_versions == "last":
        yield f"{refused} minercdc.flashback.versions=last, which leaves out rows that come and go; set insert_insert or scn"


def _names_of_lake_tables(sections: Mapping[str, Any]) -> Iterator[str]:
    try:
        CatalogNames(sections["lake"].minercdc_lake_catalog_table_name, several=sections["database"].has_several_pdbs)
    except ValueError as error:
        yield f"minercdc.lake.catalog.table.name: {error}"


def _texts(sections: Mapping[str, Any]) -> Iterator[str]:
    converters = sections["converters"]
    if sections["sink"].debezium_sink_type == "json" and not converters.is_text():
        given = f"key.converter={converters.key_converter}, value.converter={converters.value_converter}"
        yield f"debezium.sink.type: json writes lines of JSON and supports only JSON converters, not {given}"


def _dead_letters(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections["kafka"].minercdc_kafka_record_too_large == "dead_letter" and not sections["run"].minercdc_dead_letter_topic:
        yield "minercdc.dead.letter.topic: needed with minercdc.kafka.record.too.large=dead_letter"


def _durable_topic(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections["log_mining"].minercdc_log_mining_buffer_durable == "topic" and not sections["sink"].is_kafka:
        sink = sections["sink"].debezium_sink_type
        yield f"minercdc.log.mining.buffer.durable: topic needs debezium.sink.type=kafka, not {sink}; disk works with every sink"


def _several_pdbs(sections: Mapping[str, Any]) -> Iterator[str]:
    """A problem for each property that does not go with several pluggable databases; docs/capture/logminer.md lists them."""
    if not sections["database"].has_several_pdbs:
        return
    several = "several pluggable databases (database.pdb.name)"
    signals, pdbs = sections["signals"].signal_data_collection, [one.strip('"').upper() for one in sections["database"].pdbs]
    if signals and signals.split(".")[0].upper() not in pdbs:
        yield f"signal.data.collection: {signals} is in none of the pluggable databases {', '.join(pdbs)}"
    if sections["incremental"].marks:
        yield f"incremental.snapshot.watermarking.strategy: with {several}, no marks can be written to a table; set scn"
    if sections["capture"].minercdc_handover_scn is not None:
        yield f"minercdc.handover.scn: with {several}, a hand-over from another adapter is not supported"
    if sections["sink"].debezium_sink_type == "relay":
        yield f"debezium.sink.type: relay does not go with {several}"


_RULES: Final[tuple[Callable[[Mapping[str, Any]], Iterator[str]], ...]] = (
    brokers_given,
    channels_of_sink,
    history_of_sink,
    topics_of_their_own,
    _archived_only,
    contradictions_of_secondary,
    _replicator,
    _redo_sql,
    _signal_table_of_marks,
    _user_of_marks,
    _marks_that_are_deleted,
    _names_of_lake_tables,
    _texts,
    _dead_letters,
    _durable_topic,
    _several_pdbs,
)


def _problem_lines(error: ValidationError) -> Iterator[tuple[str, str]]:
    """(Property, problem) of each error; the problem begins with the property. The property is '' for an error of none."""
    for item in error.errors(include_url=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        # Of an enumeration, which holds no secrets, the value is shown.
        is_word = item["type"] == "literal_error"
        message = one_of(str(item["input"]), item["ctx"]["expected"]) if is_word else item["msg"]
        yield name, f"{name}: {message.removeprefix('Value error, ')}"
