"""A connector changes over between families of adapters at an SCN, is killed in between, and loses and repeats nothing."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.lab import Lab
from tests.e2e.sinks import await_written, sink_config
from tests.fors_server.server import ForsServer
from tests.olr_server.feed import Feed
from tests.olr_server.server import OlrServer
from tests.torture.chain import Chain

from minercdc.sinks.segments.reader import SegmentLog

KILLS = 1  # of each adapter; the seed decides when
QUICK = {"minercdc_flashback_interval_ms": 30}


def work(lab: Lab, stop: threading.Event, deletes: float = 0.2) -> None:
    """:param deletes: how many of the changes are deletes."""
    chance, fresh = random.Random(11), 10_000
    with lab.connect() as connection, connection.cursor() as cursor:
        while not stop.is_set():
            for _ in range(chance.choice((1, 3, 20))):
                fresh, kind, key = fresh + 1, chance.random(), chance.randrange(9_990, fresh + 1)
                if kind < 0.5:
                    cursor.execute("INSERT INTO T VALUES (:1, 'new')", [fresh])
                elif kind < 1 - deletes:
                    cursor.execute("UPDATE T SET V = :1 WHERE ID = :2", [f"v{fresh}", key])
                else:
                    cursor.execute("DELETE FROM T WHERE ID = :1", [key])
            connection.commit()
            time.sleep(0.01 * chance.random())


def offset(path: Any) -> dict[str, Any]:
    """What the connector stored last."""
    return dict(json.loads(SegmentLog(path).last_offset() or "{}"))


def delivered(lab: Lab, config: Path, path: Path, adapter: str, chance: random.Random, turn: int) -> int:
    """Run a connector that is killed and then stopped; the SCN up to which it has delivered."""
    for kill in range(KILLS):
        with lab.run(config, log=f"{turn}-{kill}.log") as connector:
            connector.await_log("streaming: ")
            time.sleep(chance.random() * 0.8)
            connector.kill()
    with lab.run(config, log=f"{turn}-last.log") as connector:
        connector.await_log("streaming: ")
        time.sleep(0.5)  # in which rows come
        connector.stop_in_order()
    stored = offset(path)
    assert stored["adapter"] == adapter
    assert "partial" not in stored
    return int(stored["complete_scn"])


@pytest.mark.parametrize(
    "adapters",
    [
        # Each begins once, and each of the changes between families comes once.
        ("logminer", "flashback", "logminer", "fors_olr", "logminer"),
        ("olr", "flashback", "olr", "logminer", "olr"),
        ("flashback", "logminer"),
        ("fors_olr", "logminer"),
    ],
    ids="-".join,
)
def test_from_one_adapter_to_another_and_back(
    adapters: tuple[str, ...], make_lab: Callable[..., Lab], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lab, chance, stop = make_lab(""), random.Random(7), threading.Event()
    replicators = [OlrServer(Feed(lab.server, [lab.schema], tmp_path / f"feed-{turn}")) for turn in range(len(adapters))]
    fors = [ForsServer(Feed(lab.server, [lab.schema], tmp_path / f"fors-{turn}")) for turn in range(len(adapters))]
    for close in (*(one.close for one in replicators), *(one.close for one in fors)):
        request.addfinalizer(close)
    scn: int | None = None
    worker = threading.Thread(target=work, args=(lab, stop))
    worker.start()
    try:
        for turn, adapter in enumerate(adapters):
            config, path = sink_config(
                lab,
                "segments",
                database_connection_adapter=adapter,
                minercdc_handover_scn=scn,
                tombstones_on_delete=False,
                openlogreplicator_source="ORCL",
                openlogreplicator_host="127.0.0.1",
                openlogreplicator_port=replicators[turn].port,
                minercdc_fors_host="127.0.0.1",
                minercdc_fors_port=fors[turn].port,
                **QUICK,
            )
            scn = delivered(lab, config, path, adapter, chance, turn)
    finally:
        stop.set()
        worker.join()
    lab.execute("INSERT INTO T VALUES (99, 'the end')")
    with lab.run(config, log="last.log") as connector:
        found = await_written("segments", path, lambda seen: any(b"the end" in (one.value() or b"") for one in seen))
        connector.stop_in_order()
    chain = Chain().take(one for one in found if one.topic() == lab.topic())
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, v FROM T")
        rows = {json.dumps({"ID": key}, separators=(",", ":")): {"ID": key, "V": value} for key, value in cursor}
    assert chain.breaks == []
    assert chain.differs_from(rows) == []
    assert {"c", "u", "d", "r"} <= chain.operations.keys()


def folded(envelopes: Sequence[dict[str, Any]]) -> dict[int, str]:
    """The rows that changes from redo, from a log of transactions and from redo again leave; none of them is lost or repeated."""
    rows: dict[int, str] = {}
    came: set[int] | None = None  # from redo, after the log
    for op, before, after in ((value["op"], value["before"], value["after"]) for value in envelopes):
        key = after["ID"]
        is_from_log = op == "u" and before is None
        if is_from_log:
            came = set()
        elif rows.get(key) != (before and before["V"]):
            # The log shows the last image of a row only: one that was changed again before it was read comes from redo.
            assert (op, came is not None and key not in came) == ("u", True), f"{key} is lost or repeated"
        if came is not None and not is_from_log:
            came.add(key)
        rows[key] = after["V"]
    assert came
    return rows


def test_to_a_log_of_transactions_and_back(make_lab: Callable[..., Lab]) -> None:
    """It is installed before the connector that reads redo stops. Nothing is deleted, as `txlog` does not see that."""
    lab, chance, stop = make_lab(""), random.Random(7), threading.Event()
    with lab.server.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"GRANT CREATE SEQUENCE, CREATE VIEW, CREATE PROCEDURE, CREATE TRIGGER, CREATE JOB TO {lab.schema}")
    owner = {
        "database_user": lab.schema,
        "database_password": lab.schema,
        "database_dbname": lab.server.service,
        "database_pdb_name": None,
        "snapshot_locking_mode": "none",
        "minercdc_txlog_interval_ms": 30,
        "minercdc_txlog_chunk_rows": 3,
    }
    table = {"schema_include_list": None, "table_include_list": f"{lab.schema}[.]T"}
    install, path = sink_config(lab, "segments", database_connection_adapter="txlog", **table, **owner)
    scn: int | None = None
    worker = threading.Thread(target=work, args=(lab, stop, 0.0))
    worker.start()
    try:
        assert lab.minercdc("txlog", "install", str(install)).status == 0
        for turn, adapter in enumerate(("logminer", "txlog", "logminer")):
            more = owner if adapter == "txlog" else {}
            settings = {"database_connection_adapter": adapter, "minercdc_handover_scn": scn, **table, **more}
            config, _ = sink_config(lab, "segments", **settings)
            scn = delivered(lab, config, path, adapter, chance, turn)
    finally:
        stop.set()
        worker.join()
    lab.execute("INSERT INTO T VALUES (99, 'the end')")
    with lab.run(config, log="last.log") as connector:
        found = await_written("segments", path, lambda seen: any(b"the end" in (one.value() or b"") for one in seen))
        connector.stop_in_order()
    envelopes = [json.loads(one.value() or b"") for one in found if one.topic() == lab.topic()]
    rows = folded(envelopes)
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, v FROM T")
        assert rows == dict(cursor)
    scns = [int(value["source"]["commit_scn"]) for value in envelopes if value["op"] != "r"]
    assert scns == sorted(scns)
    assert {"c", "u", "r"} <= {value["op"] for value in envelopes}
