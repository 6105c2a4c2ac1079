"""Translates other spellings of properties: files of Debezium Server and of the engine, names from before Debezium 2.0, Kafka's Java clients.

debezium.source.X                  X
debezium.format.value=avro         value.converter, with debezium.format.value.X as value.converter.X
debezium.sink.kafka.producer.X     a setting of the Kafka client; bootstrap.servers is minercdc.kafka.bootstrap.servers
database.server.name               topic.prefix, as `RENAMED` and `RENAMED_PREFIXES` have it
internal.X                         X, where X is known; but for internal.key.converter and internal.value.converter
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from minercdc.config.messages.content import without_salt
from minercdc.config.messages.converters import (
    APICURIO_AVRO,
    APICURIO_JSON,
    AVRO,
    CLOUD_EVENTS,
    JSON,
    PROTOBUF,
    STRING,
)
from minercdc.config.section import environment_name

SERVER: Final = "debezium."
_SOURCE: Final = "debezium.source."
_FORMAT: Final = "debezium.format."
_PRODUCER: Final = "debezium.sink.kafka.producer."
_BROKERS: Final = "minercdc.kafka.bootstrap.servers"

# Older name -> present name.
RENAMED: Mapping[str, str] = {
    "database.server.name": "topic.prefix",
    "database.history": "schema.history.internal",
    "database.history.store.only.monitored.tables.ddl": "schema.history.internal.store.only.captured.tables.ddl",
    "schema.whitelist": "schema.include.list",
    "schema.blacklist": "schema.exclude.list",
    "table.whitelist": "table.include.list",
    "table.blacklist": "table.exclude.list",
    "column.whitelist": "column.include.list",
    "column.blacklist": "column.exclude.list",
    "database.out.server.name": "xstream.out.server.name",
    "log.mining.archive.log.hours": "archive.log.hours",
    "log.mining.archive.destination.name": "archive.destination.name",
    "log.mining.readonly.hostname": "secondary.hostname",
    "log.mining.view.fetch.size": "query.fetch.size",
    "log.mining.buffer.memory.legacy.transaction.start": "log.mining.buffer.deferred.transaction.start",
    "log.mining.transaction.retention.hours": "log.mining.transaction.retention.ms",
    "sanitize.field.names": "field.name.adjustment.mode",
    "key.converter.schema.registry.basic.auth.user.info": "key.converter.basic.auth.user.info",
    "value.converter.schema.registry.basic.auth.user.info": "value.converter.basic.auth.user.info",
    "bootstrap.servers": _BROKERS,
}
# Properties of the JDBC driver -> ours.
DRIVER: Mapping[str, str] = {
    "driver.oracle.net.wallet_location": "minercdc.database.wallet.location",
    "driver.oracle.net.wallet_password": "minercdc.database.wallet.password",
    "driver.oracle.net.tns_admin": "minercdc.database.config.dir",
    "driver.oracle.net.ssl_server_dn_match": "minercdc.database.ssl.server.dn.match",
    "driver.oracle.net.ssl_server_cert_dn": "minercdc.database.ssl.server.cert.dn",
    "driver.oracle.net.httpsProxyHost": "minercdc.database.https.proxy.host",
    "driver.oracle.net.httpsProxyPort": "minercdc.database.https.proxy.port",
    "driver.oracle.jdbc.tokenLocation": "minercdc.database.token.location",
}
RENAMED_PREFIXES: Mapping[str, str] = {
    "database.history.": "schema.history.internal.",
    "database.standby.": "secondary.",
}
_SAME: Callable[[str], str] = str.strip


def _hours(value: str) -> str:
    return str(int(value) * 3_600_000)


_DIRECTORY: Final = re.compile(r"\(\s*DIRECTORY\s*=\s*([^)]*?)\s*\)", re.IGNORECASE)


def _directory(value: str) -> str:
    """The directory in a wallet's location as the JDBC driver takes it:
    `(SOURCE=(METHOD=FILE)(METHOD_DATA=(DIRECTORY=/wallet)))`, `file:/wallet` or a path."""
    found = _DIRECTORY.search(value)
    return found[1] if found else value.strip().removeprefix("file:")


def _yes(value: str) -> str:
    return {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(value.strip().lower(), value.strip())


def _adjustment(value: str) -> str:
    return "avro" if value.strip().lower() == "true" else "none"


# By older name: its value as that of the present one.
_VALUES: Mapping[str, Callable[[str], str]] = {
    "log.mining.transaction.retention.hours": _hours,
    "sanitize.field.names": _adjustment,
    "driver.oracle.net.wallet_location": _directory,
    "driver.oracle.net.ssl_server_dn_match": _yes,
}
_AVRO_OF_EVENTS: Final = "value.converter.avro."  # of a CloudEvent's data
# Kafka Connect's own, and no spelling of key.converter and value.converter.
_OF_WORKERS: Final = ("internal.key.converter", "internal.value.converter")
_FORMATS: Mapping[str, str] = {
    "json": JSON,
    "jsonbytearray": JSON,
    "avro": AVRO,
    "protobuf": PROTOBUF,
    "cloudevents": CLOUD_EVENTS,
    "simplestring": STRING,
}
_WITH_APICURIO: Mapping[str, str] = {"json": APICURIO_JSON, "jsonbytearray": APICURIO_JSON, "avro": APICURIO_AVRO}
_APICURIO_OF: Mapping[str, frozenset[str]] = {
    side: frozenset({f"{_FORMAT}{side}.apicurio.registry.url", f"{_FORMAT}apicurio.registry.url"})
    for side in ("key", "value")
}


class Spelled(NamedTuple):
    """A property under its present name.

    :param given_as: the name in the file.
    :param notice: what to change in the file; '' for nothing.
    """

    name: str
    value: str
    given_as: str
    notice: str = ""


def is_of_server(properties: Collection[str]) -> bool:
    """Whether these are the properties of a file of Debezium Server."""
    return any(name.startswith(_SOURCE) for name in properties)


def default_formats(properties: Mapping[str, str]) -> dict[str, str]:
    """The formats that Debezium Server gives keys and values where its file names none: Connect's JSON, whose schemas are on. {} for
    another file, and for a sink that Debezium Server does not have."""
    if not is_of_server(properties) or properties.get("debezium.sink.type", "kafka").strip().lower() != "kafka":
        return {}
    bare = {name.removeprefix(_SOURCE) for name in properties}
    return {
        f"{_FORMAT}{side}": "json"
        for side in ("key", "value")
        if not bare & {f"{_FORMAT}{side}", f"{side}.converter"} and environment_name(f"{side}.converter") not in os.environ
    }


def spelled(properties: Mapping[str, str], known: Callable[[str], bool], problems: list[str]) -> Iterator[Spelled]:
    """The properties by their present names; a name that is given twice comes once, with its first value.

    :param known: whether a name is one of a property.
    :param problems: gets what is given twice with two values, or cannot be converted.
    """
    found: dict[str, Spelled] = {}
    with_apicurio = {side for side in ("key", "value") if _APICURIO_OF[side] & properties.keys()}
    for name, value in properties.items():
        for new in _present(name, value, known, with_apicurio, problems):
            if (earlier := found.get(new.name)) is None:
                found[new.name] = new
            elif earlier.value != new.value or earlier.name == earlier.given_as == new.given_as:
                problems.append(without_salt(f"{new.name}: given twice, as {earlier.given_as} and as {name}"))
    yield from found.values()


def _present(
    given_as: str, value: str, known: Callable[[str], bool], with_apicurio: Collection[str], problems: list[str]
) -> Iterable[Spelled]:
    name = _without_server(given_as)
    if name.startswith(_AVRO_OF_EVENTS):
        return [Spelled(_of_events(name), value, given_as)]
    if given_as.startswith(_FORMAT):
        formats = _format(given_as.removeprefix(_FORMAT), value, with_apicurio)
        return [Spelled(_of_events(new), text, given_as) for new, text in formats]
    if name.startswith(_OF_WORKERS):
        return [Spelled(name, value, given_as)]
    if known(name.removeprefix("internal.")) and name not in DRIVER:
        return [Spelled(name.removeprefix("internal."), value, given_as)]
    name = name.removeprefix("internal.") if name.removeprefix("internal.") in RENAMED else name
    new = _renamed(name)
    if new is None:
        return [Spelled(name, value, given_as)]
    try:
        converted = _VALUES.get(name, _SAME)(value)
    except ValueError:
        problems.append(f"{given_as}: {value} is not a number")
        return []
    return [Spelled(new, converted, given_as, f"{given_as} is taken as {new}")]


def _without_server(name: str) -> str:
    if name.startswith(_SOURCE):
        return name.removeprefix(_SOURCE)
    if name == _PRODUCER + "bootstrap.servers":
        return _BROKERS
    if name.startswith((f"{SERVER}transforms", f"{SERVER}predicates")):
        return name.removeprefix(SERVER)
    return name


def _renamed(name: str) -> str | None:
    if name in RENAMED or name in DRIVER:
        return RENAMED.get(name) or DRIVER[name]
    for old, new in RENAMED_PREFIXES.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return None


def _of_events(name: str) -> str:
    """`value.converter.avro.X`, which configures the Avro data of CloudEvents, becomes `value.converter.X`; any other name is returned
    as it is."""
    bare = name.removeprefix(_AVRO_OF_EVENTS)
    return name if bare == name else f"value.converter.{bare}"


def _format(name: str, value: str, with_apicurio: Collection[str]) -> Iterator[tuple[str, str]]:
    """(Property, value) of each property that `debezium.format.NAME` stands for: NAME is `value`, `key` or `header`, `.X` after
    it or not, or X for key and value.

    :param with_apicurio: sides with the URL of Apicurio's registry, whose converters they have then.
    """
    side, _, rest = name.partition(".")
    if side == "header":
        yield "header.converter" + (f".{rest}" if rest else ""), value
    elif side not in ("key", "value"):
        yield f"key.converter.{name}", value
        yield f"value.converter.{name}", value
    elif rest:
        yield f"{side}.converter.{rest}", value
    else:
        word = value.strip().lower()
        converter = _WITH_APICURIO.get(word) if side in with_apicurio else None
        yield f"{side}.converter", converter or _FORMATS.get(word, value)
