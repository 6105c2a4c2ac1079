"""Structures without rows: where the stream begins, and what is announced."""

from __future__ import annotations

import threading
from typing import Any, cast
from unittest import mock

import oracledb
import pytest

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.config.sections import SnapshotConfig
from minercdc.errors import SourceError
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.snapshot.initial import snapshot_scn
from minercdc.snapshot.initial.notices import deferred_started
from minercdc.snapshot.initial.snapshot_scn import Fixed, Place, fix_given
from minercdc.snapshot.initial.structures import StructureSnapshot
from minercdc.stream.events import Progress, Scn
from minercdc.stream.offset import AdHocSnapshot


def test_a_start_in_the_past_claims_no_delivered_time() -> None:
    """Lag would look small while the stream catches up."""
    position = LogMinerPosition(start_scn=5)
    snapshot = StructureSnapshot(
        lambda: cast(oracledb.Connection, mock.Mock()), Tables(), lambda _: Fixed(Scn(5), Scn(5), []), lambda _: position
    )
    last = list(snapshot.take(None, threading.Event()))[-1]
    assert last == Progress(position, Scn(0), 0)


@pytest.mark.parametrize("given", [{"minercdc.start.scn": 9}, {"minercdc.start.timestamp": "2026-01-01T00:00:00"}])
def test_a_start_in_the_future_names_its_property(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_scn, "present_scn", lambda _: Scn(8))
    monkeypatch.setattr(snapshot_scn, "scn_of_time", lambda *_: Scn(9))
    config = SnapshotConfig(**{"snapshot.mode": "no_data", **given})
    with pytest.raises(SourceError, match=next(iter(given)).replace(".", r"\.")):
        fix_given([Place(cast(oracledb.Connection, None), TableFilter(), "DB")], config, lambda scn: scn)


@pytest.mark.parametrize(("blocking", "aggregate"), [(False, "Incremental Snapshot"), (True, "Initial Snapshot")])
def test_what_the_initial_snapshot_left_is_announced_by_its_kind(blocking: bool, aggregate: str) -> None:
    notification = deferred_started(AdHocSnapshot("id", blocking, ("DB.S.T",), ()), 7)
    assert (notification.aggregate_type, notification.type) == (aggregate, "STARTED")
    assert notification.additional_data.get("snapshot_type") == ("blocking" if blocking else None)
