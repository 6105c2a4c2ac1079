"""What `minercdc lake snapshot` hands over to the connector, and what it refuses; without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.lab import LOGGED, Lab

from minercdc.config.load import ConnectorConfig, load_config
from minercdc.errors import ConfigError, LogGapError
from minercdc.operate.offsets.handover import hand_over
from minercdc.sinks.kafka.sink import KafkaSink


def loaded(lab: Lab, **changes: object) -> ConnectorConfig:
    return load_config(lab.config("connector.yaml", **changes))


def scn_of(lab: Lab) -> int:
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        (scn,) = cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE").fetchone()
    return int(scn)


def ops(lab: Lab) -> list[tuple[str, int]]:
    return [(r.value["op"], r.key["ID"]) for r in lab.topics.records(lab.topic()) if r.value]


class Killed(Exception):
    """Takes the place of a kill."""


def killed(commit: Callable[..., None], *, after: bool) -> Callable[..., None]:
    def ended(*args: Any) -> None:
        if after:
            commit(*args)
        raise Killed

    return ended


def test_the_connector_streams_from_the_scn_that_was_handed_over(lab: Lab) -> None:
    config = loaded(lab)
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (10, 'open')")
        first = hand_over(config)
        assert first.scn is not None
        assert first.since == {f"{lab.schema}.T": first.scn}
        assert first.refusal(f"{lab.schema}.T", first.scn) == ""
        again = hand_over(config)
        assert (again.scn, again.since) == (None, first.since)
        cursor.execute("INSERT INTO T VALUES (11, 'open')")
        connection.commit()
    with lab.run() as connector:  # snapshot.mode is `initial`, and no row is read
        lab.topics.await_records(lab.topic(), 2)
        connector.stop_in_order()
    assert ops(lab) == [("c", 10), ("c", 11)]


@pytest.mark.parametrize("after", [False, True], ids=["before the commit", "after the commit"])
def test_a_hand_over_that_is_killed_is_repeated(lab: Lab, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    config = loaded(lab)
    with monkeypatch.context() as patch:
        patch.setattr(KafkaSink, "commit", killed(KafkaSink.commit, after=after))
        with pytest.raises(Killed):
            hand_over(config)
    scn = scn_of(lab)
    lab.execute("INSERT INTO T VALUES (10, 'between')")
    begun = hand_over(config)
    assert (begun.scn is None) == after
    assert after == (begun.since[f"{lab.schema}.T"] < scn)
    lab.execute("INSERT INTO T VALUES (11, 'afterwards')")
    with lab.run() as connector:
        lab.topics.await_records(lab.topic(), 2 if after else 1)
        connector.stop_in_order()
    assert ops(lab) == ([("c", 10)] if after else []) + [("c", 11)]


def test_a_past_scn_is_handed_over_with_what_was_open_there(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO T VALUES (10, 'open')")
        scn = scn_of(lab)
        lab.execute("INSERT INTO T VALUES (11, 'later')")
        connection.commit()
    begun = hand_over(loaded(lab), scn)
    assert begun.scn == scn
    with lab.run() as connector:
        lab.topics.await_records(lab.topic(), 2)
        connector.stop_in_order()
    assert ops(lab) == [("c", 11), ("c", 10)]


def test_it_refuses_what_the_stream_would_not_cover(lab: Lab) -> None:
    before = scn_of(lab)
    config = loaded(lab)
    hand_over(config)
    name = f"{lab.schema}.T"
    later = hand_over(config, before)
    assert f"but {before} is earlier" in later.refusal(name, before)
    lab.execute("CREATE TABLE NEW (ID NUMBER(9) PRIMARY KEY)", LOGGED.format("NEW"))
    assert "snapshot.mode=recovery" in hand_over(config).refusal(f"{lab.schema}.NEW", scn_of(lab))
    with lab.run() as connector:
        connector.await_log("streaming:")
        lab.execute("INSERT INTO NEW VALUES (1)")
        lab.topics.await_records(lab.topic("NEW"), 1)
        connector.stop_in_order()
    assert hand_over(config).refusal(f"{lab.schema}.NEW", scn_of(lab)) == ""
    lab.purge_logs()
    with pytest.raises(LogGapError):
        hand_over(config)


def test_a_suspended_table_is_refused(lab: Lab) -> None:
    lab.execute("CREATE TABLE BARE (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(9))", "INSERT INTO BARE VALUES (1, 'v')")
    config = loaded(lab)
    hand_over(config)
    with lab.run() as connector:
        connector.await_log("streaming:")
        lab.execute("UPDATE BARE SET V = 'w' WHERE ID = 1")
        connector.await_log("IS SUSPENDED")
        connector.stop_in_order()
    assert "resume-table" in hand_over(config).refusal(f"{lab.schema}.BARE", scn_of(lab))


def test_a_configuration_that_does_not_stream_is_refused(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="initial_only does not stream"):
        hand_over(loaded(lab, snapshot_mode="initial_only"))
    file = {"schema_history_internal": "file", "schema_history_internal_file_filename": str(tmp_path / "history")}
    with pytest.raises(ConfigError, match="a file is not supported"):
        hand_over(loaded(lab, **file))
