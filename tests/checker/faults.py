"""An application and a connector at work, with kills, faults of calls and restarts of the database in between."""

from __future__ import annotations

import random

from tests.checker.connector import Connector
from tests.checker.test_checker import Cluster
from tests.checker.workload import Workload
from tests.sandbox_capture.lab import Lab

PASSING = (28, 1089, 3113, 12528)
"""Errors that a restart of the connector gets over."""


def work_through_faults(
    cluster: Cluster, lab: Lab, workload: Workload, connector: Connector, chance: random.Random, steps: int
) -> None:
    """Take so many steps, then finish the work and have the connector come to the marker 1."""
    faults = cluster.connect()
    try:
        for _ in range(steps):
            workload.step()
            choice = chance.random()
            if choice < 0.15:
                connector.pump(chance.randrange(1, 40))
            elif choice < 0.2:
                connector.kill()
            elif choice < 0.24:
                at = chance.choice(["connect", "execute", "fetch"])
                what = chance.choice([f"fail_call({chance.choice(PASSING)}, ", "drop_connection("])
                call = f"call dbms_sandbox.{what}at => '{at}', username => 'C##MINERCDC', nth => {chance.randrange(1, 9)})"
                faults.cursor().execute(call)
            elif choice < 0.245:
                cluster.restart()
                workload.reconnect()
                lab.app, faults = lab.session(), cluster.connect()
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        faults.cursor().execute(f"call dbms_sandbox.release_strand('{lab.schema}')")
        workload.finish()
        lab.run("insert into marker (n) values (1)")
        lab.app.commit()
        connector.until(1)
    finally:
        faults.cursor().execute("call dbms_sandbox.clear_faults()")
        faults.close()
