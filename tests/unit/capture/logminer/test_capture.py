"""Settings and clock of the capture."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import oracledb
import pytest

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.logminer.buffer.users import Wants, user_filter
from minercdc.capture.logminer.capture import LogMinerCapture
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.config.load import parse_properties
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.errors import ConfigError
from minercdc.schema.table_filter import TableFilter
from minercdc.schema.tables import Tables
from minercdc.stream.counters.connector import Counters

NEEDED = {
    "topic.prefix": "t",
    "database.hostname": "nowhere.invalid",
    "database.user": "U",
    "database.password": "p",
    "database.dbname": "DB",
    "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
}


def users_of(**settings: Any) -> Wants | None:
    return user_filter(LogMiningConfig(**settings))


def capture() -> LogMinerCapture:
    def refuse() -> oracledb.Connection:
        raise AssertionError("nothing is to be connected")

    context = CaptureContext(
        config=parse_properties(NEEDED),
        tables=Tables(),
        mined=TableFilter(),
        database="DB",
        connect_root=refuse,
        connect_pdb=refuse,
        read_table=lambda _: None,
        time_zone=lambda: "+00:00",
        counters=Counters(),
        reselect=None,
        unread=lambda _: frozenset(),
        unlogged=lambda _: "",
        record_key=lambda schema: schema.key,
    )
    files = KeptFiles(Path("state"), "connector")
    return LogMinerCapture(context, None, committed=False, flush=None, files=files, rules=None)


def test_d36_timestamps_of_rows_are_host_time() -> None:
    clock = HostClock()
    clock.offset = timedelta(hours=2)
    assert clock.utc_us(datetime(1970, 1, 1, 2, 0, 1)) == 1_000_000
    clock.offset = -timedelta(hours=5, minutes=30)
    assert clock.utc_us(datetime(1969, 12, 31, 18, 30)) == 0


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, [True, True, True, True]),
        ({"log.mining.username.include.list": "app"}, [True, False, True, True]),
        ({"log.mining.username.exclude.list": "APP"}, [False, True, True, True]),
    ],
)
def test_d26_users_that_are_not_known_pass(settings: dict[str, str], wanted: list[bool]) -> None:
    asked = users_of(**settings)
    assert [asked is None or asked(user, None) for user in ("APP", "OTHER", "UNKNOWN", None)] == wanted


def test_client_ids_are_filtered_likewise() -> None:
    asked = users_of(**{"log.mining.clientid.exclude.list": "batch"})
    assert asked is not None
    assert [asked("APP", client) for client in ("Batch", "web", None)] == [False, True, True]


def test_position_of_another_adapter_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"database\.connection\.adapter"):
        capture().load_position({"c_scn": "1", "c_idx": 2})


def test_position_comes_back_from_its_json() -> None:
    position = LogMinerPosition(start_scn=1, snapshot_scn=2, resetlogs=3)
    assert capture().load_position(position.to_json()) == position


def test_close_is_safe_at_any_time() -> None:
    never_used = capture()
    never_used.close()
    never_used.close()
