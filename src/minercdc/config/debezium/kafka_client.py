"""Settings of Kafka's Java clients, as librdkafka has them.

Most have the same name. Key stores are read where librdkafka reads them: PEM, and PKCS#12 for the client's own key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from minercdc.config.debezium.ignored import KAFKA_PASS_THROUGH

_LOGIN: Final = re.compile(r"\.(PlainLoginModule|ScramLoginModule)\s+required\b", re.IGNORECASE)
_OPTION: Final = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([^\s;]+))")

_JAVA_ONLY: Final = frozenset(
    {
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "interceptor.classes",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "max.block.ms",
        "auto.include.jmx.reporter",
        "ssl.protocol",
        "ssl.provider",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "transaction.two.phase.commit.enable",
        "max.poll.records",
        "exclude.internal.topics",
        "default.api.timeout.ms",
    }
)
_RENAMED: Final[Mapping[str, str]] = {
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_STORES: Final = "ssl.truststore.", "ssl.keystore."


def take_kafka(rest: dict[str, str], problems: list[str]) -> dict[str, str]:
    """librdkafka's settings of the data, taken out of `rest`; our own spelling wins over those of Java clients.

    :param problems: as of `as_librdkafka`.
    """
    found: dict[str, str] = {}
    for prefix in KAFKA_PASS_THROUGH:
        settings = dict(take_client(rest, (prefix,)))
        found |= settings if prefix.startswith("minercdc.") else as_librdkafka(settings, prefix, problems)
    return found


def take_client(rest: dict[str, str], prefixes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names, without the prefix, and values of the properties that begin with one of the prefixes; each is taken out of `rest`."""
    for name in list(rest):
        for prefix in prefixes:
            if name.startswith(prefix):
                yield name.removeprefix(prefix), rest.pop(name)
                break


def as_librdkafka(settings: Mapping[str, str], prefix: str, problems: list[str]) -> dict[str, str]:
    """librdkafka's settings for those of a Java client; what is Java's own is left out.

    :param prefix: of the settings' names in the configuration, for the messages.
    :param problems: gets what librdkafka has no equal of.
    """
    found: dict[str, str] = {}
    for name, value in settings.items():
        if name in _JAVA_ONLY or name.startswith(_STORES[0]) or name.startswith(_STORES[1]):
            continue
        if name == "buffer.memory":
            found["queue.buffering.max.kbytes"] = str(int(value) // 1024) if value.isdigit() else value
        elif name == "sasl.jaas.config":
            found |= _login(value, prefix, problems)
        elif name == "ssl.endpoint.identification.algorithm":
            found[name] = value.strip().lower() or "none"
        else:
            found[_RENAMED.get(name, name)] = value
    found |= dict(_stores(settings, prefix, problems))
    return found


def given_settings(
    given: Mapping[str, str], prefixes: Sequence[str] = KAFKA_PASS_THROUGH
) -> Iterator[tuple[str, dict[str, str]]]:
    """The properties that are passed on to librdkafka, each with the settings that librdkafka gets for it.

    :param given: all properties of a configuration.
    """
    for name, value in given.items():
        prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), None)
        if prefix is not None:
            bare = name.removeprefix(prefix)
            yield name, {bare: value} if prefix.startswith("minercdc.") else as_librdkafka({bare: value}, prefix, [])


def _login(value: str, prefix: str, problems: list[str]) -> dict[str, str]:
    options = {m[1]: next(filter(None, m.groups()[1:]), "") for m in _OPTION.finditer(value)}
    if not _LOGIN.search(value) or not {"username", "password"} <= options.keys():
        problems.append(
            f"{prefix}sasl.jaas.config: only PlainLoginModule and ScramLoginModule with username and password are"
            f" supported; set minercdc.kafka.client.sasl.* of librdkafka instead"
        )
        return {}
    return {
        "sasl.username": re.sub(r"\\(.)", r"\1", options["username"]),
        "sasl.password": re.sub(r"\\(.)", r"\1", options["password"]),
    }


def _stores(settings: Mapping[str, str], prefix: str, problems: list[str]) -> Iterator[tuple[str, str]]:
    for name in ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"):
        if name in settings:
            yield _RENAMED[name], settings[name]
    for store, kind_of in (("ssl.truststore", _trusted), ("ssl.keystore", _own)):
        location = settings.get(f"{store}.location")
        if location is None:
            continue
        kind = settings.get(f"{store}.type", _by_ending(location)).upper()
        given = dict(kind_of(kind, location, settings.get(f"{store}.password")))
        if not given:
            problems.append(
                f"{prefix}{store}.location: a store of type {kind} cannot be read; give {store}.type=PEM and a PEM file"
            )
        yield from given.items()


def _by_ending(location: str) -> str:
    if location.endswith((".pem", ".crt", ".cer")):
        return "PEM"
    return "PKCS12" if location.endswith((".p12", ".pfx")) else "JKS"


def _trusted(kind: str, location: str, password: str | None) -> Iterator[tuple[str, str]]:
    if kind == "PEM":
        yield "ssl.ca.location", location


def _own(kind: str, location: str, password: str | None) -> Iterator[tuple[str, str]]:
    if kind == "PEM":
        yield "ssl.certificate.location", location
        yield "ssl.key.location", location
    elif kind == "PKCS12":
        yield "ssl.keystore.location", location
        if password is not None:
            yield "ssl.keystore.password", password
