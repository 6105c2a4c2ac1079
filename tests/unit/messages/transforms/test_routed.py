"""`minercdc tail` follows the topics that transformations choose by name, and says of the others that it does not."""

from __future__ import annotations

import logging

import pytest
from tests.unit.messages.transforms.made import DEBEZIUM, KAFKA, UNWRAP, chain, configured

from minercdc.config.transforms.chain import Transformation
from minercdc.messages.transforms.routed import routed_topics
from minercdc.operate.tail import followed

ROUTER = (f"{KAFKA}RegexRouter", {"regex": r"shop\.(.*)\.(.*)", "replacement": "$2"})
LOGICAL = (f"{DEBEZIUM}ByLogicalTableRouter", {"topic.regex": r"(.*)_\d+", "topic.replacement": "$1"})
TABLES = {
    "shop.SALES.ORDERS_1": "SALES.ORDERS_1",
    "shop.SALES.ORDERS_2": "SALES.ORDERS_2",
    "shop.SALES.ITEMS": "SALES.ITEMS",
}


def steps(*given: tuple[str, dict[str, str]], **predicates: tuple[str, dict[str, str]]) -> tuple[Transformation, ...]:
    return configured(chain(*given, **predicates)).transforms


def test_routers_by_name_are_followed_in_their_order() -> None:
    assert followed(TABLES, ()) == TABLES
    found = followed(TABLES, steps((UNWRAP, {}), ROUTER, LOGICAL))
    assert found == {"ORDERS": "ORDERS", "ITEMS": "SALES.ITEMS"}, "a topic with messages of two tables is shown by its name"


@pytest.mark.parametrize(
    ("kind", "options", "negate", "expected"),
    [
        ("TopicNameMatches", {"pattern": ".*ITEMS"}, "false", {"ITEMS"}),
        ("TopicNameMatches", {"pattern": ".*ITEMS"}, "true", {"shop.SALES.ITEMS"}),
        ("TopicNameMatches", {"pattern": "ITEMS"}, "false", {"shop.SALES.ITEMS"}),
        ("RecordIsTombstone", {}, "false", {"ITEMS", "shop.SALES.ITEMS"}),
    ],
)
def test_predicates_decide_by_the_name_or_leave_it_open(
    kind: str, options: dict[str, str], negate: str, expected: set[str]
) -> None:
    step = (ROUTER[0], {**ROUTER[1], "predicate": "p", "negate": negate})
    made = steps(step, p=(f"{KAFKA}predicates.{kind}", options))
    assert routed_topics("shop.SALES.ITEMS", made) == expected


@pytest.mark.parametrize(
    "step",
    [
        (f"{DEBEZIUM}ContentBasedRouter", {"language": "cel", "topic.expression": "''"}),
        (f"{DEBEZIUM}outbox.EventRouter", {}),
        (UNWRAP, {"route.by.field": "STATUS"}),
    ],
)
def test_routers_by_content_are_named(step: tuple[str, dict[str, str]], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert followed(TABLES, steps(step)) == TABLES
    assert "transforms.t0 selects topics by message content" in caplog.text
    assert "minercdc tail CONFIG TOPIC" in caplog.text
