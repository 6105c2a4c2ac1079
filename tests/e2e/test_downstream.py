"""A connector whose redo is mined in a downstream database, as its users run it: what was delivered is the table."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.lab import Lab
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.kafka_broker import KafkaBroker


class DownstreamLab:
    """A lab in a database of its own, which ships its archived logs."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.call("open_downstream")

    def call(self, procedure: str, *values: object) -> None:
        with self.lab.server.connect(service=self.lab.server.root_service) as admin, admin.cursor() as cursor:
            cursor.callproc(f"dbms_sandbox.{procedure}", list(values))

    def switch(self) -> int:
        """Archive the log that is written; its sequence number."""
        with self.lab.server.connect(service=self.lab.server.root_service) as admin, admin.cursor() as cursor:
            ((sequence,),) = cursor.execute("select sequence# from v$log where status = 'CURRENT'").fetchall()
            cursor.execute("alter system switch logfile")
        return int(sequence)

    def config(self, **changes: object) -> Path:
        given: dict[str, object] = {
            "capture_mode": "downstream",
            "secondary_hostname": self.lab.server.host,
            "secondary_port": self.lab.server.port,
            "secondary_dbname": "ORCLMINE",
            "log_mining_strategy": "redo_log_catalog",
            "log_mining_archive_log_only_mode": "true",
            "log_mining_archive_log_only_scn_poll_interval_ms": 50,
        }
        return self.lab.config(**(given | changes))  # type: ignore[arg-type]

    def rows(self) -> dict[int, tuple[str | None, ...]]:
        with self.lab.connect() as connection, connection.cursor() as cursor:
            return {row[0]: row[1:] for row in cursor.execute("SELECT * FROM T").fetchall()}

    def folded(self) -> dict[int, tuple[str | None, ...]]:
        """What a reader of the topic holds. Fails at a change that does not follow from what came before."""
        found: dict[int, tuple[str | None, ...]] = {}
        for one in self.lab.topics.records(self.lab.topic()):
            if one.value is None:
                continue
            before, after = one.value["before"], one.value["after"]
            if before is not None:
                assert found.pop(before["ID"])[0] == before["V"]
            if after is not None:
                assert after["ID"] not in found
                found[after["ID"]] = tuple(value for name, value in after.items() if name != "ID")
        return found


@pytest.fixture
def downstream(make_lab: Callable[..., Lab], broker: KafkaBroker, fresh_sandbox: SandboxProcess) -> DownstreamLab:
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
        admin.cursor().execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    return DownstreamLab(make_lab(broker.bootstrap_servers, server=fresh_sandbox))


def test_snapshot_and_stream_over_ddl_kills_and_stalled_shipping_amount_to_the_table(downstream: DownstreamLab) -> None:
    lab, chance = downstream.lab, random.Random(3)
    config, number, deleted = downstream.config(), 10, 0
    for turn in range(4):
        with lab.run(config, f"run{turn}.log") as connector:
            connector.await_log("streaming: ")
            for _ in range(4):
                number += 1
                lab.execute(f"INSERT INTO T (ID, V) VALUES ({number}, 'row')", f"UPDATE T SET V = 'v{number}' WHERE ID = 1")
                if chance.random() < 0.4:
                    deleted += 1
                    lab.execute(f"DELETE FROM T WHERE ID = {10 + deleted}")
                downstream.switch()
                downstream.call(chance.choice(["stall_shipping", "resume_shipping"]))
            if turn == 1:
                lab.execute("ALTER TABLE T ADD (MORE VARCHAR2(9) DEFAULT 'm')")
            connector.kill()
    downstream.call("resume_shipping")
    with lab.run(config, "last.log") as connector:
        lab.execute("INSERT INTO T (ID, V) VALUES (1000, 'last')")
        downstream.switch()
        lab.topics.await_records(lab.topic(), lambda found: bool(found) and found[-1].key == {"ID": 1000})
        connector.stop_in_order()
    held = downstream.folded()
    of_table = downstream.rows()
    assert held.keys() == of_table.keys()
    assert {key: row[0] for key, row in held.items()} == {key: row[0] for key, row in of_table.items()}
    assert all(held[key] == row for key, row in of_table.items() if key > 18), "after the ALTER TABLE"


def test_a_log_that_does_not_arrive_ends_the_connector_and_one_that_has_arrived_lets_it_go_on(
    downstream: DownstreamLab,
) -> None:
    lab = downstream.lab
    config = downstream.config(log_mining_log_backoff_initial_delay_ms=50, log_mining_log_backoff_max_delay_ms=50)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.insert(10, 1)
        downstream.switch()
        lab.topics.await_records(lab.topic(), 4)  # the dictionary is written, which has switched logs, too
        missing = downstream.switch() + 1
        downstream.call("hold_log", 1, missing)
        for first in (20, 30, 40):
            lab.insert(first, 1)
            downstream.switch()
        ended = connector.await_end()
    assert ended.status == 1
    assert f"MC-3301: redo thread 1: log sequence {missing} " in ended.message()
    assert "may still be shipped" in ended.message()
    checked = lab.minercdc("check", str(config))
    assert f"logs are missing in the downstream database, although later ones exist: {missing}" in checked.output
    downstream.call("resume_shipping")
    with lab.run(config, "again.log") as connector:
        lab.topics.await_records(lab.topic(), 7)
        connector.stop_in_order()
    assert downstream.folded() == downstream.rows()


def test_a_downstream_database_that_is_not_prepared_refuses_the_start(downstream: DownstreamLab) -> None:
    lab = downstream.lab
    with lab.server.connect(service="ORCLMINE") as admin, admin.cursor() as cursor:
        cursor.execute("revoke logmining from c##minercdc")
    ended = lab.run_to_end(downstream.config())
    assert ended.status == 3
    assert "On the downstream database: GRANT LOGMINING TO C##MINERCDC CONTAINER=ALL;" in ended.message()
    ended = lab.run_to_end(downstream.config(secondary_dbname=lab.server.root_service))
    assert ended.status == 3
    assert "it is that database or a copy of it, not a downstream database" in ended.message()
