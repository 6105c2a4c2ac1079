"""Handles properties without a field in the sections (`debezium`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minercdc.config.debezium import ignored as debezium

_OPEN_LINEAGE = "openlineage.integration.enabled"


def take_not_read(rest: dict[str, str], given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Take out of `rest`, and yield with the reason, what Debezium does not read: at all, or beside the other properties.

    :param given: all properties.
    """
    for name in list(rest):
        reason = debezium.NOT_READ.get(name) or _beside(name, given)
        if not reason:
            reason = next((why for prefix, why in debezium.NOT_READ_PREFIXES.items() if name.startswith(prefix)), "")
        if reason:
            del rest[name]
            yield name, reason


def _beside(name: str, given: Mapping[str, str]) -> str:
    """Why Debezium does not read a property beside the others; '' where it does, or has no such property."""

    def word(other: str, default: str) -> str:
        return given.get(other, default).strip().lower()

    if name.startswith("xstream.") and (adapter := word("database.connection.adapter", "logminer")) != "xstream":
        return f"database.connection.adapter is {adapter}"
    if name.startswith("openlineage.") and name != _OPEN_LINEAGE and word(_OPEN_LINEAGE, "false") == "false":
        return f"{_OPEN_LINEAGE} is false"
    if name == "log.mining.path.dictionary" and word("log.mining.strategy", "") != "dictionary_from_file":
        return "log.mining.strategy is not dictionary_from_file"
    sink = word("debezium.sink.type", "")
    is_of_sink = name.startswith(("debezium.sink.kafka.", f"debezium.sink.{sink}."))
    return f"debezium.sink.type is {sink}" if sink and name.startswith("debezium.sink.") and not is_of_sink else ""


def take_known_elsewhere(rest: dict[str, str], problems: list[str]) -> Iterator[tuple[str, str]]:
    """Take known properties without a section out of `rest`: yield the ones without effect; others are problems."""
    for name in list(rest):
        if name in debezium.INERT:
            value, inert = rest.pop(name).strip(), debezium.INERT[name]
            if value.lower() not in map(str.lower, inert):
                problems.append(f"{name}: {value} is not supported yet; only {inert[0]}")
            else:
                yield name, "minercdc always behaves this way"
            continue
        fate, reason = elsewhere(name)
        if fate == "refused":
            problems.append(f"{name}: not supported ({reason})")
        elif fate == "without effect":
            yield name, reason
        else:
            continue
        del rest[name]


def elsewhere(name: str) -> tuple[str, str]:
    """`refused` or `without effect`, by the name or the longest prefix of it, with the reason; `unknown` otherwise."""
    if name in debezium.UNSUPPORTED:
        return "refused", debezium.UNSUPPORTED[name]
    if name in debezium.IGNORED:
        return "without effect", debezium.IGNORED[name]
    found = [prefix for prefix in (*debezium.UNSUPPORTED_PREFIXES, *debezium.IGNORED_PREFIXES) if name.startswith(prefix)]
    if not found:
        return "unknown", ""
    longest = max(found, key=len)
    if longest in debezium.UNSUPPORTED_PREFIXES:
        return "refused", debezium.UNSUPPORTED_PREFIXES[longest]
    return "without effect", debezium.IGNORED_PREFIXES[longest]
