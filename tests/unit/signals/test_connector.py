"""A connector that is not run yet: what becomes of the signals it is given."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, StateDirectoryError
from minercdc.pipeline.connector import Connector


def configured(directory: Path, channels: str) -> ConnectorConfig:
    return parse_properties(
        {
            "name": "c",
            "topic.prefix": "c",
            "database.hostname": "nowhere",
            "database.user": "U",
            "database.password": "p",
            "database.dbname": "D",
            "minercdc.kafka.bootstrap.servers": "nowhere:1",
            "minercdc.state.dir": str(directory),
            "signal.enabled.channels": channels,
        }
    )


def test_a_signal_that_waits_is_reported_where_its_channel_is_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Connector(configured(tmp_path, "in-process")).signal("pause-snapshot")
    Connector(configured(tmp_path, "in-process"))
    assert "signals of channel" not in caplog.text
    Connector(configured(tmp_path, "file"))
    assert "signals of channel in-process are waiting" in caplog.text


def test_a_signal_is_refused_where_its_channel_is_off_or_it_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="in-process"):
        Connector(configured(tmp_path, "file")).signal("pause-snapshot")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateDirectoryError, match=r"making .*file failed"):
        Connector(configured(tmp_path / "file", "in-process")).signal("pause-snapshot")


def test_the_state_directory_and_its_files_are_private(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    Connector(configured(state, "in-process")).signal("pause-snapshot")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in state.iterdir()] == [0o600]
