"""Headers that name the connector, and members of `source` that are not tracked."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.messages.test_column_changes import configured, encoder
from tests.unit.messages.test_envelope import NEW, ORDERS, PAID, event

from minercdc.messages.envelope.context_headers import ContextHeaders
from minercdc.stream.contracts import EncodedRun
from minercdc.stream.events import ChangeRun, Op, ReadRun, SchemaChange, Scn

CONTEXT = (
    ("__debezium.context.connectorLogicalName", b"shop"),
    ("__debezium.context.taskId", b"0"),
    ("__debezium.context.connectorName", b"oracle"),
    ("__debezium.context.runId", b"a run"),
)
DELETE, MOVED = event(Op.DELETE, PAID, None), event(Op.UPDATE, NEW, ("7", *NEW[1:]))


def test_each_change_and_tombstone_has_the_headers_after_its_own() -> None:
    adding = ContextHeaders("shop", "a run").encoder(encoder({}))
    assert [record.headers for record in adding.encode(DELETE)] == [CONTEXT, CONTEXT]
    moved = [record.headers for record in adding.encode(MOVED)]
    assert [headers[0][0] for headers in moved] == ["__debezium.newkey", "__debezium.newkey", "__debezium.oldkey"]
    assert all(headers[1:] == CONTEXT for headers in moved)


def test_a_change_of_a_table_has_them_too() -> None:
    change = SchemaChange(ORDERS.id, None, ORDERS, "CREATE TABLE ORDERS", Scn(1), 0)
    (record,) = ContextHeaders("shop", "a run").encoder(encoder({})).encode(change)
    assert record.headers == CONTEXT


def test_runs_have_the_same_headers() -> None:
    plain = encoder({}).encode(DELETE)

    def encode_run(run: ChangeRun | ReadRun, begin: int, most_records: int, most_bytes: int) -> EncodedRun:
        return EncodedRun(plain, 1, 0, (0, 1, 0, 0), {}, 0)

    made = ContextHeaders("shop", "a run").run_encoder(encode_run)(ChangeRun(None), 0, 1, 1)  # type: ignore[arg-type]
    assert [(r.topic, r.key, r.value, r.partition) for r in made.records] == [
        (r.topic, r.key, r.value, r.partition) for r in plain
    ]
    assert all(record.headers == CONTEXT for record in made.records)


def source(properties: dict[str, str]) -> Any:
    (record,) = encoder(properties).encode(event(Op.CREATE, None, NEW))
    return json.loads(record.value or b"")["source"]


def test_members_that_are_not_tracked_are_null() -> None:
    members = {
        "rs_id": "log.mining.buffer.track.rs_id",
        "user_name": "log.mining.buffer.track.username",
        "start_ts_ms": "log.mining.buffer.track.start_timestamp",
        "commit_ts_ms": "log.mining.buffer.track.commit_timestamp",
    }
    plain = source({})
    assert all(plain[member] is not None for member in members)
    for member, name in members.items():
        assert source({name: "false"}) == {**plain, member: None}
    assert configured(dict.fromkeys(members.values(), "false")).messages.untracked == members.keys()
