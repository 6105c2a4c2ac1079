"""Finds the topics to which the records of a topic are routed, if the topic names determine them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from minercdc.config.transforms.chain import Predicate, Transformation
from minercdc.config.transforms.options import (
    LogicalTable,
    Outbox,
    RouteByExpression,
    Router,
    TopicNameMatches,
    Unwrap,
)
from minercdc.messages.transforms.routing import replacing


def routed_topics(topic: str, chain: Sequence[Transformation]) -> set[str]:
    """The topics that transformations route records of `topic` to by its name: RegexRouter, ByLogicalTableRouter. Where a predicate
    looks at more than the name, with and without. Raises ValueDecodeError when a pattern takes too long."""
    found = {topic}
    for one in chain:
        if isinstance(one.options, Router):
            route = replacing(one.options.regex, one.options.replacement)
        elif isinstance(one.options, LogicalTable):
            route = replacing(one.options.topic_regex, one.options.topic_replacement)
        else:
            continue
        found = {new for name in found for new in _after(name, route(name), one.predicate)}
    return found


def _after(name: str, routed: str | None, predicate: Predicate | None) -> set[str]:
    if not routed:
        return {name}
    if predicate is None:
        return {routed}
    if isinstance(predicate.options, TopicNameMatches):
        matches = regex.fullmatch(predicate.options.pattern, name) is not None
        return {routed if matches != predicate.negate else name}
    return {name, routed}


def routes_by_content(chain: Sequence[Transformation]) -> Iterator[str]:
    """Names of the transformations that choose the topic by what is in a record."""
    for one in chain:
        by_field = isinstance(one.options, Unwrap) and one.options.route_by_field
        if by_field or isinstance(one.options, RouteByExpression | Outbox):
            yield one.name
