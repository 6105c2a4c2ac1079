"""Debezium's `olr` client, unmodified, and ours read the same history from test servers: what they write must be equal.

Each has a server of its own, since one serves one client; both servers print the redo of the same sandbox. docs/debezium-parity.md
lists what is not compared, and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.e2e.connector import properties, run, write
from tests.e2e.topics import Read, Topics
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.olr_server.feed import Feed
from tests.olr_server.printing import Style
from tests.olr_server.server import OlrServer
from tests.parity.comparison import differences
from tests.parity.debezium import Debezium, Emitted
from tests.parity.history import LOB_TABLES, MARKER, PARTLY_LOGGED, SNAPSHOT_ROWS, TABLES, prepare
from tests.parity.test_parity import Case, change, connector_settings, has_marker

from minercdc.errors import LocalServiceError
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.schema.table import TableId

# Of a transaction Debezium has the XID only, and the message's place for an SCN.
_NOT_COMPARED = ("scn", "commit_scn", "rs_id", "row_id", "txSeq", "redo_thread", "user_name", "commit_ts_ms", "start_ts_ms")
# As Debezium's manual has OpenLogReplicator set up: dates in nanoseconds, times in milliseconds. Its client refuses messages with b_scn or e_scn.
CASES = {
    "c_scn of the commit": (Style(ends=False, xid=3, times="ms"), Case("olr")),
    "c_scn of the begin": (Style(ends=False, xid=3, times="ms", meaning="begin"), Case("olr")),
    "large values": (Style(ends=False, xid=3, times="ms"), Case("olr", "19c", {"lob.enabled": "true"})),
}

_KNOWN = (
    # Debezium's reader of OpenLogReplicator's intervals does not know this default.
    r"\.PAR\.CONSTANT \d+ value\.schema\.fields\[[01]\]\.fields\[10\]\.default: '\(missing\)'",
    # Of a table that changes its name it has the one name that the message has.
    r" value\.payload\.source\.table: '\w+' != '\w+,\w+'$",
)


class _Topics(Topics):
    """Without the renaming of constraints, which Debezium leaves out."""

    def records(self, topic: str) -> list[Read]:
        return [one for one in super().records(topic) if "rename constraint" not in str((one.value or {}).get("payload"))]


@pytest.fixture(params=CASES)
def named(request: pytest.FixtureRequest) -> tuple[Style, Case]:
    return CASES[request.param]


@pytest.fixture
def source(named: tuple[Style, Case]) -> Iterator[SandboxProcess]:
    running = SandboxProcess((), "--profile", named[1].profile)
    prepare(running, lobs=named[1].lobs)
    yield running
    running.stop()


@pytest.fixture
def servers(source: SandboxProcess, named: tuple[Style, Case], tmp_path: Path) -> Iterator[list[OlrServer]]:
    tables = [*TABLES, *PARTLY_LOGGED, *LOB_TABLES, MARKER]
    with source.connect("par", "par") as session:
        shapes = read_tables(session, [TableId(source.service, "PAR", table) for table in tables])
    opened = [OlrServer(Feed(source, ["par"], tmp_path / name, shapes), style=named[0]) for name in ("theirs", "ours")]
    yield opened
    for server in opened:
        server.close()


def test_the_same_messages_from_openlogreplicator(
    source: SandboxProcess,
    servers: list[OlrServer],
    broker: KafkaBroker,
    tmp_path: Path,
    named: tuple[Style, Case],
    prefix: str,
    request: pytest.FixtureRequest,
) -> None:
    case = named[1]
    common = connector_settings(source, case, prefix)
    theirs, ours = (
        {**common, **{f"openlogreplicator.{key}": str(getattr(server, key)) for key in ("source", "host", "port")}}
        for server in servers
    )
    try:
        debezium = Debezium(theirs, tmp_path)
    except LocalServiceError as error:
        pytest.skip(f"Debezium cannot be had: {error}")
    topics = _Topics(broker.bootstrap_servers, prefix)
    given = properties(source, broker.bootstrap_servers, prefix, tmp_path) | ours
    for part in ("key", "value"):
        given[f"{part}.converter"] = "org.apache.kafka.connect.json.JsonConverter"
        given[f"{part}.converter.schemas.enable"] = "true"
    config = write(given, tmp_path / "connector.yaml")
    request.addfinalizer(debezium.close)
    for turn in (1, 2):
        with run(config, tmp_path / f"run-{turn}.log") as connector:
            debezium.run()
            connector.await_log("streaming", timeout=60)
            debezium.await_records(lambda records: len([r for r in records if r.topic != prefix]) >= SNAPSHOT_ROWS)
            change(source, turn, case)
            debezium.await_records(partial(_has_marker, turn))
            topics.await_records(f"{prefix}.PAR.{MARKER}", turn, timeout=60)
            debezium.stop()
            connector.stop_in_order()
    tables = [*TABLES, *PARTLY_LOGGED, *(LOB_TABLES if case.lobs else ()), MARKER]
    found = differences([_with_our_xid(r) for r in debezium.records], topics, prefix, tables, _NOT_COMPARED)
    found = [line for line in found if not any(re.search(pattern, line) for pattern in _KNOWN)]
    (tmp_path / "differences.txt").write_text("\n".join(found))
    assert not found, "\n".join(sorted(set(found))[:80])


def _has_marker(number: int, records: list[Emitted]) -> bool:
    return has_marker(records, number)


def _with_our_xid(record: Emitted) -> Emitted:
    """The server prints an XID in capitals, and Debezium passes it on."""
    if record.value is None:
        return record
    value = json.loads(record.value)
    origin = value["payload"].get("source")
    if origin and origin.get("txId"):
        origin["txId"] = origin["txId"].lower()
    return record._replace(value=json.dumps(value))
