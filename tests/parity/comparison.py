"""Two streams of messages, compared field by field."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tests.e2e.topics import Read, Topics
from tests.parity.debezium import Emitted

from minercdc.messages.formats.converting import KEY_HEADERS

# What is not compared; docs/debezium-parity.md explains each.
_SOURCE = ("version", "start_scn", "ssn")
_CLOCK = ("ts_ms", "ts_us", "ts_ns")
# Of a schema change Debezium has the transaction that it delivered before.
_STALE = ("txId", "txSeq", "commit_scn", "commit_ts_ms", "start_ts_ms", "rs_id")


def differences(
    theirs: Sequence[Emitted],
    topics: Topics,
    prefix: str,
    tables: Sequence[str],
    not_compared: Sequence[str] = (),
    also: Sequence[str] = (),
) -> list[str]:
    """One line for each difference.

    :param not_compared: fields of `source`, besides those that never are.
    :param also: topics besides those of schema changes and tables, without the prefix.
    """
    found: list[str] = []
    left_out = {*_SOURCE, *not_compared}
    for topic in (prefix, *(f"{prefix}.PAR.{table}" for table in tables), *(f"{prefix}.{one}" for one in also)):
        expected = [(_parsed(r.key), _parsed(r.value), _their_headers(r)) for r in theirs if r.topic == topic]
        if topic.removeprefix(f"{prefix}.") in also:  # Debezium repeats the last one when it starts again
            bare = [_normal(value, ()) for _, value, _ in expected]
            expected = [one for i, one in enumerate(expected) if i == 0 or bare[i] != bare[i - 1]]
        came = [(one.key, one.value, _our_headers(one)) for one in topics.records(topic)]
        if len(expected) != len(came):
            found.append(f"{topic}: Debezium has {len(expected)} messages, minercdc {len(came)}")
        for number, (their, our) in enumerate(zip(expected, came, strict=False)):
            for part, one, other in zip(
                ("key", "value", "headers"),
                *([_normal(part, left_out) for part in pair] for pair in (their, our)),
                strict=True,
            ):
                found += [f"{topic} {number} {part}{path}: {a!r} != {b!r}" for path, a, b in _unequal(one, other)]
    return found


def _their_headers(record: Emitted) -> dict[str, Any]:
    return {name: _header(name, json.loads(text)["payload"]) for name, text in record.headers.items()}


def _our_headers(record: Read) -> dict[str, Any]:
    """Without headers of our own, which Debezium's readers pass over."""
    own = "__minercdc."
    return {name: _header(name, value) for name, value in record.headers.items() if not name.startswith(own)}


def _header(name: str, value: Any) -> Any:
    """What is compared of a header: each run has an identity of its own. Keys are texts in ours."""
    if name in KEY_HEADERS:
        return json.loads(value) if isinstance(value, str) else value
    return value if name.startswith("__debezium.context.") and not name.endswith("runId") else "there"


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _normal(message: Any, left_out: Collection[str]) -> Any:
    """Without what is not compared."""
    if not isinstance(message, dict) or not isinstance(message.get("payload"), dict):
        return message
    if "source" not in message["payload"]:
        payload = {name: value for name, value in message["payload"].items() if name != "ts_ms"}
        if payload.get("data_collections"):  # in the order of a Java HashMap
            payload["data_collections"] = sorted(payload["data_collections"], key=str)
        return {**message, "payload": payload}
    payload = {name: value for name, value in message["payload"].items() if name not in _CLOCK}
    source = {name: value for name, value in payload["source"].items() if name not in left_out}
    if "ddl" in payload:
        source = {name: value for name, value in source.items() if name not in _CLOCK}
        source = {name: value for name, value in source.items() if name not in _STALE}
        if source["snapshot"] != "false":
            source["scn"] = None
    elif payload["op"] == "r":
        source = {name: value for name, value in source.items() if name not in (*_CLOCK, "scn", "row_id")}
    return {**message, "payload": {**payload, "source": source}}


def _unequal(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            yield from _unequal(one.get(name, "(missing)"), other.get(name, "(missing)"), f"{path}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from _unequal(a, b, f"{path}[{number}]")
    elif one != other:
        yield path, one, other
