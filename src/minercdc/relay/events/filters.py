"""Filters of /stream: by source, and within a source by buckets (MOD) or ranges (RANGE) of the key."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from minercdc.errors import RelayError
from minercdc.relay.events.event import RelayEvent

KeyFilter: TypeAlias = Callable[[int | bytes], bool]

_INT = 1 << 32


def source_filter(sources: Collection[int], keys: Mapping[int, KeyFilter]) -> Callable[[RelayEvent], bool]:
    """A function that says whether an event is of one of `sources`, and its key passes the filter that `keys` has for the source, if
    any."""

    def passes(event: RelayEvent) -> bool:
        if event.source not in sources:
            return False
        of_key = keys.get(event.source)
        return of_key is None or of_key(event.key)

    return passes


def key_filters(text: str) -> dict[int, KeyFilter]:
    """The filters of the parameter `filters`, by source id. Without `partitionType`, or with NONE, every key passes. Ranges have
    their `start`, and not their `end`; one that fits is enough.

        {"101": {"partitionType": "MOD", "filters": [{"numBuckets": 10, "bktRange": {"start": 0, "end": 2}}]}}
        {"101": {"partitionType": "RANGE", "filters": [{"keyRange": {"start": 0, "end": 1000}}]}}

    :raises RelayError: they cannot be used.
    """
    try:
        found = json.loads(text)
        return {int(source): _of_source(one) for source, one in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RelayError(f"filters={text[:300]} cannot be used: {error!r}") from None


def _of_source(one: Mapping[str, Any]) -> KeyFilter:
    kind = one.get("partitionType", "NONE")
    if kind == "NONE":
        return lambda _: True
    if kind not in ("MOD", "RANGE"):
        raise ValueError(f"partitionType {kind!r} is none of MOD, RANGE, NONE")
    parts = list(_parts(kind, one["filters"]))
    return lambda key: any(part(key) for part in parts)


def _parts(kind: str, filters: Collection[Mapping[str, Any]]) -> Iterator[KeyFilter]:
    for part in filters:
        if kind == "MOD":
            buckets, start, end = int(part["numBuckets"]), int(part["bktRange"]["start"]), int(part["bktRange"]["end"])
            if buckets < 1:
                raise ValueError(f"numBuckets {buckets} is not 1 or more")
            yield _modulo(buckets, start, end)
        else:
            yield _range(int(part["keyRange"]["start"]), int(part["keyRange"]["end"]))


def _modulo(buckets: int, start: int, end: int) -> KeyFilter:
    return lambda key: start <= abs(number_of(key)) % buckets < end


def _range(start: int, end: int) -> KeyFilter:
    def within(key: int | bytes) -> bool:
        number = _number(key)
        return number is not None and start <= number < end

    return within


def _number(key: int | bytes) -> int | None:
    """A key as the whole number that it is; None for another text."""
    if isinstance(key, int):
        return key
    try:
        return int(key)
    except ValueError:
        return None


def number_of(key: int | bytes) -> int:
    """What MOD divides: the key's number; of a text that is none, the hash that Java's String.hashCode gives."""
    number = _number(key)
    return java_hash(bytes(key).decode(errors="replace")) if number is None else number


def java_hash(text: str) -> int:
    """`String.hashCode()`: over UTF-16 code units, in 32 bits with a sign."""
    made, units = 0, text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        made = (31 * made + (units[at] << 8 | units[at + 1])) % _INT
    return made - _INT if made >= _INT >> 1 else made
