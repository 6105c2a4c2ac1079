"""The post processor that reselects columns, as a property of our own."""

from __future__ import annotations

import pytest
from tests.unit.config.test_load import GOOD, problems

from minercdc.config.load import parse_properties

RESELECT = {"post.processors": "r", "r.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor"}


def test_the_reselect_post_processor_is_our_own_property() -> None:
    assert parse_properties({**GOOD, **RESELECT}).capture.minercdc_lob_reselect == "unavailable"
    never = parse_properties(
        {**GOOD, **RESELECT, "r.reselect.unavailable.values": "false", "r.reselect.null.values": "true"}
    )
    assert never.capture.minercdc_lob_reselect == "none"
    assert "a null in redo is the value" in never.ignored["r.reselect.null.values"]
    manuals = {f"post.processors.{name}" if name.startswith("r.") else name: value for name, value in RESELECT.items()}
    assert parse_properties({**GOOD, **manuals}).capture.minercdc_lob_reselect == "unavailable"
    mixed = {**RESELECT, "post.processors.r.reselect.unavailable.values": "false"}
    assert parse_properties({**GOOD, **mixed}).capture.minercdc_lob_reselect == "none"
    assert parse_properties({**GOOD, **RESELECT, **manuals}).capture.minercdc_lob_reselect == "unavailable"
    ours = {"minercdc.lob.reselect": "key_change"}
    assert parse_properties({**GOOD, **RESELECT, **ours}).capture.minercdc_lob_reselect == "key_change"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"r.type": "io.debezium.processors.S3"}, "r.type: io.debezium.processors.S3 is no post processor that is built in"),
        (
            {"r.reselect.columns.include.list": "A.B:C"},
            "r.reselect.columns.include.list: not supported; minercdc.lob.reselect",
        ),
        ({"r.reselect.error.handling.mode": "FAIL"}, "r.reselect.error.handling.mode: only WARN is supported"),
        (
            {"r.reselect.null.values": "true", "post.processors.r.reselect.null.values": "false"},
            "post.processors.r.reselect.null.values: given twice, as r.reselect.null.values and as post.processors.r.",
        ),
        ({"r.x": "1"}, "r.x: this post processor has no such option"),
    ],
)
def test_what_the_reselect_post_processor_cannot_do_is_refused(change: dict[str, str], problem: str) -> None:
    (found,) = problems({**GOOD, **RESELECT, **change})
    assert found.startswith(problem)


LISTED = RESELECT["r.type"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"r.type": LISTED, "r.reselect.null.values": "true"}, "r.*: post.processors is not given, and has to list r"),
        ({"post.processors.r.reselect.null.values": "true"}, "post.processors.r.*: post.processors is not given"),
        ({**RESELECT, "s.type": LISTED, "s.x": "1"}, "s.*: post.processors does not list s"),
        ({**RESELECT, "post.processors.s.type": "a.B"}, "post.processors.s.*: post.processors does not list s"),
    ],
)
def test_a_post_processor_that_is_not_listed_is_named_once(given: dict[str, str], problem: str) -> None:
    (found,) = problems({**GOOD, **given})
    assert found.startswith(problem)
