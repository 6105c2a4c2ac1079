"""Which adapter is opened, and whose position is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from minercdc.capture.registry import ADAPTERS, adapter_factory, adopt
from minercdc.config.sections import DatabaseConfig
from minercdc.errors import ConfigError
from minercdc.stream.offset import Offset, SnapshotState

FOREIGN = Offset("flashback", position={"window": "7"})


def test_every_configurable_adapter_is_there() -> None:
    assert set(get_args(DatabaseConfig.model_fields["database_connection_adapter"].annotation)) == set(ADAPTERS)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'xstream' is unknown; known are logminer"):
        adapter_factory("xstream")


def test_a_family_shares_its_positions() -> None:
    for offset in (None, Offset("logminer", position={}), Offset("flashback")):  # nothing of the last is stored
        assert adopt(offset, "logminer_unbuffered", handover_scn=None) is offset
        assert adopt(offset, "logminer_unbuffered", handover_scn=5) is offset


def test_the_position_of_another_family_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="logminer cannot go on from the stored position of flashback") as refused:
        adopt(FOREIGN, "logminer", handover_scn=None)
    assert "minercdc.handover.scn" in (refused.value.hint or "")


def test_a_hand_over_drops_the_position_only() -> None:
    assert adopt(replace(FOREIGN, history=3), "logminer", handover_scn=9) == Offset("flashback", history=3)


def test_an_unfinished_snapshot_is_not_handed_over() -> None:
    with pytest.raises(ConfigError, match="unfinished snapshot of flashback"):
        adopt(Offset("flashback", snapshot=SnapshotState(1, {})), "logminer", handover_scn=9)
