"""Signals, snapshots and suspended tables over adapters that read from a server: `olr` and `fors_olr`. Writers work, the connector is killed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.lab import Lab
from tests.e2e.test_signals import answers_to, insert_signal, signalling
from tests.e2e.test_suspension import await_equal, await_notice
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Feed
from tests.olr_server.server import OlrServer

Server = OlrServer | ForsServer
ROWS = 60


@pytest.fixture
def serve(lab: Lab, tmp_path: Path) -> Iterator[Callable[[str], Server]]:
    """Makes the server of an adapter, which reads the lab's schema and that of the signal table."""
    made: list[Server] = []

    def make(adapter: str) -> Server:
        feed = Feed(lab.server, [lab.schema, "C##MINERCDC"], tmp_path / "feed")
        made.append(OlrServer(feed) if adapter == "olr" else ForsServer(feed))
        return made[-1]

    yield make
    for server in made:
        server.close()


def settings(server: Server) -> dict[str, str]:
    if isinstance(server, ForsServer):
        return {"database.connection.adapter": "fors_olr", **server.properties()}
    given = {"source": server.source, "host": server.host, "port": str(server.port)}
    return {"database.connection.adapter": "olr", **{f"openlogreplicator.{name}": value for name, value in given.items()}}


@contextmanager
def working(lab: Lab) -> Iterator[None]:
    """Rows of T come, change and go meanwhile."""
    stop, chance = threading.Event(), random.Random(3)

    def work() -> None:
        with lab.connect() as connection, connection.cursor() as cursor:
            for fresh in range(10_000, 1_000_000):
                if stop.is_set():
                    return
                old = chance.randrange(10, 10 + ROWS)
                cursor.execute("INSERT INTO T (ID, V) VALUES (:1, 'new')", [fresh])
                cursor.execute("UPDATE T SET V = :1 WHERE ID = :2", [f"v{fresh}", old])
                if chance.random() < 0.1:
                    cursor.execute("DELETE FROM T WHERE ID = :1", [chance.randrange(10, fresh)])
                connection.rollback() if chance.random() < 0.1 else connection.commit()
                time.sleep(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


@pytest.mark.parametrize("adapter", ["olr", "fors_olr"])
def test_snapshots_by_signal_while_writers_work_and_the_connector_is_killed(
    adapter: str, lab: Lab, serve: Callable[[str], Server]
) -> None:
    lab.insert(10, ROWS)
    more = {"incremental.snapshot.chunk.size": 5, "snapshot.mode": "initial", **settings(serve(adapter))}
    config = lab.config(**signalling(lab, **more))
    tables = {"data-collections": [f"{lab.server.service}.{lab.schema}.T"]}
    chance = random.Random(5)
    with working(lab):
        with lab.run(config, log="first.log") as connector:
            connector.await_log("streaming: ")
            insert_signal(lab, "incremental", "execute-snapshot", **tables)
            connector.await_log('"id": "incremental"')
            time.sleep(chance.random())
            connector.kill()
        with lab.run(config, log="second.log") as connector:
            _await_done(lab, "incremental")
            insert_signal(lab, "blocking", "execute-snapshot", **tables, type="blocking")
            _await_done(lab, "blocking")
            connector.kill()
    with lab.run(config, log="third.log") as connector:
        await_equal(lab)
        connector.stop_in_order()


def _await_done(lab: Lab, identity: str) -> None:
    lab.topics.await_records(
        f"{lab.name}-notifications", lambda found: ("Signal", "COMPLETED") in answers_to(found, identity), timeout=60
    )


def test_a_table_that_was_altered_is_read_again_with_its_deletes(lab: Lab, serve: Callable[[str], Server]) -> None:
    """FORS OLR takes for granted that there is no DDL: the table is suspended, and read again once the server was restarted."""
    server = serve("fors_olr")
    assert isinstance(server, ForsServer)
    lab.insert(10, ROWS)
    config = lab.config(**signalling(lab, **{"snapshot.mode": "initial", **settings(server)}))
    with lab.run(config, log="first.log") as connector:
        connector.await_log("streaming: ")
        lab.execute("UPDATE T SET V = 'before' WHERE ID = 11")
        await_equal(lab)
        lab.execute("ALTER TABLE T ADD (N NUMBER)")
        lab.execute("UPDATE T SET V = 'after' WHERE ID = 12", "DELETE FROM T WHERE ID IN (0, 13)")
        await_notice(lab, "SUSPENDED")
        connector.kill()
    with working(lab), lab.run(config, log="second.log") as connector:
        connector.await_log("streaming: ")
        server.restart()
        insert_signal(lab, "resume", "resume-table", **{"data-collections": [f"{lab.schema}.T"]})
        assert int(await_notice(lab, "RESUMED")["additional_data"]["vanished_rows"]) >= 2
        connector.kill()
    with lab.run(config, log="third.log") as connector:
        await_equal(lab)
        connector.stop_in_order()


@pytest.mark.parametrize("adapter", ["olr", "fors_olr"])
def test_three_views_and_the_tables_are_enough(adapter: str, lab: Lab, serve: Callable[[str], Server]) -> None:
    """As docs/capture/olr.md and fors_olr.md say."""
    user = f"C##FEW_{lab.schema}"
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE USER {user} IDENTIFIED BY few CONTAINER=ALL")
        cursor.execute(f"GRANT CREATE SESSION, SET CONTAINER TO {user} CONTAINER=ALL")
        for view in ("DATABASE", "THREAD", "TRANSACTION"):
            cursor.execute(f"GRANT SELECT ON SYS.V_${view} TO {user} CONTAINER=ALL")
    lab.execute(f"GRANT SELECT, FLASHBACK ON T TO {user}")
    changes = {"database.user": user, "database.password": "few", "snapshot.mode": "initial", **settings(serve(adapter))}
    config = lab.config(**{name.replace(".", "_"): value for name, value in changes.items()})
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO T VALUES (7, 'new')", "DELETE FROM T WHERE ID = 0")
        await_equal(lab)
        connector.stop_in_order()
