"""Which adapter is opened, and whose position is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minercdc.capture.registry import adapter_factory, adapter_names, adopt
from minercdc.errors import ConfigError
from minercdc.stream.offset import Offset, SnapshotState

FOREIGN = Offset("flashback", position={"window": "7"})


def test_every_adapter_of_ours_is_registered_and_can_be_made() -> None:
    assert adapter_names() == ("flashback", "fors_olr", "logminer", "logminer_unbuffered", "olr", "txlog")
    assert {adapter_factory(name).family for name in adapter_names()} == {
        "flashback",
        "fors_olr",
        "logminer",
        "olr",
        "txlog",
    }


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'xstream' is not one of flashback, fors_olr, logminer,"):
        adapter_factory("xstream")


def test_a_family_shares_its_positions() -> None:
    for offset in (None, Offset("logminer", position={}), Offset("flashback")):  # nothing of the last is stored
        assert adopt(offset, "logminer_unbuffered", handover_scn=None) is offset
        assert adopt(offset, "logminer_unbuffered", handover_scn=5) is offset


def test_the_position_of_another_family_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="logminer cannot continue from the stored position of flashback") as refused:
        adopt(FOREIGN, "logminer", handover_scn=None)
    assert "minercdc.handover.scn" in (refused.value.hint or "")


def test_a_hand_over_drops_the_position_only() -> None:
    assert adopt(replace(FOREIGN, history=3), "logminer", handover_scn=9) == Offset("flashback", history=3)


def test_an_unfinished_snapshot_is_not_handed_over() -> None:
    with pytest.raises(ConfigError, match="unfinished snapshot of flashback"):
        adopt(Offset("flashback", snapshot=SnapshotState(1, {})), "logminer", handover_scn=9)
