"""How long Delta is told to keep what it takes to read older versions."""

from __future__ import annotations

import pytest

from minercdc.config.target.lake import LakeConfig
from minercdc.lake.table.delta_retention import kept_by_delta, to_be_set

CLEANUP, GONE, LOG = "delta.enableExpiredLogCleanup", "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
CHECKPOINTS = {"delta.checkpointInterval": "100"}


@pytest.mark.parametrize(
    ("days", "hours"), [(7, 169), (60, 1441), (1 / 24, 24), (0, 24), (23.5 / 24, 25)], ids=["7", "60", "1/24", "0", "part"]
)
def test_a_version_stays_an_hour_longer_than_the_lake_reads_it(days: float, hours: int) -> None:
    lake = LakeConfig.model_validate({"minercdc_lake_path": "/x", "minercdc_lake_retention_ms": int(days * 86_400_000)})
    assert kept_by_delta(lake) == {CLEANUP: "false", **CHECKPOINTS, **dict.fromkeys((GONE, LOG), f"interval {hours} hours")}


def test_what_others_set_stays() -> None:
    wanted = {CLEANUP: "false", **CHECKPOINTS, GONE: "interval 25 hours", LOG: "interval 25 hours"}
    assert to_be_set({}, wanted) == wanted
    assert to_be_set(wanted, wanted) == {}
    there = {
        CLEANUP: "true",
        "delta.checkpointInterval": "20",
        GONE: "interval 169 hours",
        LOG: "interval 90 days",
        "other": "x",
    }
    assert to_be_set(there, wanted) == {GONE: "interval 25 hours"}
