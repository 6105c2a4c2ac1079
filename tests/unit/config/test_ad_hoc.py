"""Signals, the HTTP port, incremental snapshots and notifications."""

from __future__ import annotations

import pytest
from tests.unit.config.test_load import GOOD, problems

from minercdc.config.load import parse_properties


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("minercdc.http.token", "Schlüssel €"),
        ("minercdc.http.token", "hidden-token\n"),
        ("minercdc.notification.webhook.authorization", "Bearer Schlüssel"),
        ("minercdc.notification.webhook.authorization", " Bearer hidden"),
    ],
)
def test_what_no_header_can_have_is_refused(name: str, value: str) -> None:
    (problem,) = problems({**GOOD, name: value})
    assert problem.startswith(f"{name}: ")
    assert value.strip() not in problem
    assert parse_properties({**GOOD, name: "Bearer of what is left?"})


def test_notifications_want_a_topic_and_channels_that_are_there() -> None:
    assert problems({**GOOD, "notification.enabled.channels": "sink"}) == [
        "notification.sink.topic.name: required, because notification.enabled.channels contains sink"
    ]
    (refused,) = problems({**GOOD, "notification.enabled.channels": "log,jmx"})
    assert "GET /notifications" in refused
    chosen = parse_properties(
        {**GOOD, "notification.enabled.channels": "log,sink", "notification.sink.topic.name": "reports"}
    )
    assert chosen.notifications.sink_topic == "reports"


def test_marks_that_are_deleted_again_do_not_go_with_triggers() -> None:
    change = {
        "database.connection.adapter": "txlog",
        "incremental.snapshot.watermarking.strategy": "insert_delete",
        "signal.data.collection": "ORCLPDB1.S.SIGNALS",
    }
    assert any(
        "insert_delete cannot be used with database.connection.adapter=txlog" in line
        for line in problems({**GOOD, **change})
    )
    parse_properties({**GOOD, **change, "incremental.snapshot.watermarking.strategy": "insert_insert"})


def test_marks_that_are_deleted_again_do_not_go_with_the_last_versions_of_a_window() -> None:
    change = {
        "database.connection.adapter": "flashback",
        "incremental.snapshot.watermarking.strategy": "insert_delete",
        "signal.data.collection": "ORCLPDB1.S.SIGNALS",
    }
    parse_properties({**GOOD, **change})
    last = {**GOOD, **change, "minercdc.flashback.versions": "last"}
    assert any("insert_delete cannot be used with minercdc.flashback.versions=last" in line for line in problems(last))
    parse_properties({**last, "incremental.snapshot.watermarking.strategy": "insert_insert"})
