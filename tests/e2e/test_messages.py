"""What is in the topics, field by field, as Debezium documents it for these properties.

Two connectors read the same history: `documented` with Debezium's defaults, `changed` with the properties turned. What
differs from run to run (SCN, times, ROWID, transaction id) is checked for its form and then left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from tests.e2e.lab import LOGGED, Lab, made_lab
from tests.e2e.topics import Read
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.kafka_broker import KafkaBroker

TABLES = [
    "CREATE TABLE ORDERS (ID NUMBER(9) NOT NULL, CODE VARCHAR2(10), AMOUNT NUMBER(10,2), ANYTHING NUMBER, PLACED DATE,"
    " SECRET VARCHAR2(20), CONSTRAINT ORDERS_PK PRIMARY KEY (ID))",
    LOGGED.format("ORDERS"),
    "CREATE TABLE NOTES (TEXT VARCHAR2(40))",
    LOGGED.format("NOTES"),
    "CREATE TABLE PARTS (MAKER VARCHAR2(5) NOT NULL, NO NUMBER(4) NOT NULL, V NUMBER(1), CONSTRAINT PARTS_PK PRIMARY KEY (MAKER, NO))",
    LOGGED.format("PARTS"),
    "INSERT INTO ORDERS VALUES (1, 'a', 12.5, 0.125, DATE '2026-11-20', 'hidden')",
]
CHANGES = [
    ["INSERT INTO ORDERS VALUES (2, 'b', -0.01, 1000, DATE '1969-12-31', 'hidden')"],
    ["UPDATE ORDERS SET AMOUNT = 13, ANYTHING = NULL WHERE ID = 1"],
    ["UPDATE ORDERS SET ID = 3 WHERE ID = 2"],
    ["DELETE FROM ORDERS WHERE ID = 3"],
    ["INSERT INTO NOTES VALUES ('one')", "UPDATE NOTES SET TEXT = 'two'", "DELETE FROM NOTES"],
    ["INSERT INTO PARTS VALUES ('m', 7, 1)", "UPDATE PARTS SET V = NULL"],
    ["TRUNCATE TABLE NOTES"],
    ["INSERT INTO NOTES VALUES ('the end')"],
]


@dataclass(frozen=True, slots=True)
class Written:
    """The topics of both connectors."""

    lab: Lab
    documented: dict[str, list[Read]]
    changed: dict[str, list[Read]]


@pytest.fixture(scope="module")
def written(database: SandboxProcess, broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Written:
    lab = made_lab(database, broker.bootstrap_servers, tmp_path_factory.mktemp("messages"), TABLES)
    schema = lab.schema
    changed = lab.config(
        "changed.yaml",
        name="changed",
        topic_prefix="changed",
        message_key_columns=f"{schema}.ORDERS:CODE,ID;{schema}.PARTS:NO",
        column_exclude_list=f"{schema}.ORDERS.SECRET,{schema}.ORDERS.CODE",
        minercdc_keyless_table_key="rowid",
        skipped_operations="none",
        tombstones_on_delete="false",
        decimal_handling_mode="string",
        value_converter_schemas_enable="true",
        key_converter_schemas_enable="true",
    )
    with lab.run(log="documented.log") as one, lab.run(changed, log="changed.log") as other:
        one.await_log("streaming:")
        other.await_log("streaming:")
        for transaction in CHANGES:
            lab.execute(*transaction)
        for prefix in (lab.name, "changed"):
            lab.topics.await_records(f"{prefix}.{schema}.NOTES", lambda found: "the end" in str(found))
        one.stop_in_order()
        other.stop_in_order()

    def read(prefix: str) -> dict[str, list[Read]]:
        return {table: lab.topics.records(f"{prefix}.{schema}.{table}") for table in ("ORDERS", "NOTES", "PARTS")}

    return Written(lab, read(lab.name), read("changed"))


Row = dict[str, Any]


def row(number: int, code: str, amount: str, anything: Row | None, placed: int) -> Row:
    return {"ID": number, "CODE": code, "AMOUNT": amount, "ANYTHING": anything, "PLACED": placed, "SECRET": "hidden"}


# 12.5 -> 1250 = 0x04E2; -0.01 -> -1 = 0xFF; 13 -> 1300 = 0x0514; all big-endian two's complement, base64
FIRST = row(1, "a", "BOI=", {"scale": 3, "value": "fQ=="}, 1795132800000)
SECOND = row(2, "b", "/w==", {"scale": 0, "value": "A+g="}, -86400000)


def test_keys_operations_and_rows(written: Written) -> None:
    paid, third = FIRST | {"AMOUNT": "BRQ=", "ANYTHING": None}, SECOND | {"ID": 3}
    assert [
        (r.key, r.value and (r.value["op"], r.value["before"], r.value["after"])) for r in written.documented["ORDERS"]
    ] == [
        ({"ID": 1}, ("r", None, FIRST)),
        ({"ID": 2}, ("c", None, SECOND)),
        ({"ID": 1}, ("u", FIRST, paid)),
        ({"ID": 2}, ("d", SECOND, None)),
        ({"ID": 2}, None),
        ({"ID": 3}, ("c", None, third)),
        ({"ID": 3}, ("d", third, None)),
        ({"ID": 3}, None),
    ]


def test_a_changed_key_is_in_headers(written: Written) -> None:
    headers = [
        {name: value for name, value in record.headers.items() if name in ("__debezium.newkey", "__debezium.oldkey")}
        for record in written.documented["ORDERS"]
    ]
    new, old = {"__debezium.newkey": '{"ID":3}'}, {"__debezium.oldkey": '{"ID":2}'}
    assert headers == [{}, {}, {}, new, new, old, {}, {}]


def test_envelope_and_source(written: Written) -> None:
    update = written.documented["ORDERS"][2].value
    assert update.keys() == {"before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns"}
    assert update["transaction"] is None
    assert update["ts_ms"] == update["ts_us"] // 1000 == update["ts_ns"] // 1_000_000
    source = dict(update["source"])
    forms = {
        "txId": "[0-9a-f]{16}",
        "scn": r"\d+",
        "commit_scn": r"\d+",
        "start_scn": r"\d+",
        "rs_id": r"0x[0-9a-f]{6}\.[0-9a-f]{8}\.[0-9a-f]{4}",
        "row_id": "[A-Za-z0-9+/]{18}",
    }
    for name, form in forms.items():
        assert re.fullmatch(form, source.pop(name)), name
    assert int(update["source"]["start_scn"]) <= int(update["source"]["scn"]) < int(update["source"]["commit_scn"])
    assert source["ts_ms"] * 1000 == source.pop("ts_us")
    assert source["ts_ms"] * 1_000_000 == source.pop("ts_ns")
    assert source["ts_ms"] % 1000 == 0  # LogMiner has whole seconds
    assert source.pop("ts_ms") <= source.pop("commit_ts_ms")
    assert source.pop("start_ts_ms") % 1000 == 0
    assert source == {
        "version": source["version"],
        "connector": "oracle",
        "name": written.lab.name,
        "snapshot": "false",
        "db": "ORCLPDB1",
        "sequence": None,
        "schema": written.lab.schema,
        "table": "ORDERS",
        "lcr_position": None,
        "ssn": source["ssn"],
        "redo_thread": 1,
        "user_name": written.lab.schema,
        "redo_sql": None,
        "txSeq": 1,
    }


def test_the_snapshot_row_has_no_transaction(written: Written) -> None:
    source = written.documented["ORDERS"][0].value["source"]
    assert source["snapshot"] in ("first", "last")  # the only row of all tables is both
    assert source["scn"].isdigit()
    empty = ("txId", "commit_scn", "rs_id", "user_name", "commit_ts_ms", "start_scn", "start_ts_ms", "txSeq")
    assert {name: source[name] for name in empty} == dict.fromkeys(empty)


def test_a_table_without_a_key_has_null_keys_and_no_tombstones(written: Written) -> None:
    one, two, end = {"TEXT": "one"}, {"TEXT": "two"}, {"TEXT": "the end"}
    assert [(r.key, r.value["op"], r.value["before"], r.value["after"]) for r in written.documented["NOTES"]] == [
        (None, "c", None, one),
        (None, "u", one, two),
        (None, "d", two, None),
        (None, "c", None, end),
    ]  # no `t`: skipped.operations is `t` by default
    assert [r.value["source"]["txSeq"] for r in written.documented["NOTES"][:3]] == [1, 2, 3]


def test_a_key_of_two_columns_keeps_their_order(written: Written) -> None:
    assert [list(r.key.items()) for r in written.documented["PARTS"]] == [[("MAKER", "m"), ("NO", 7)]] * 2


def test_key_columns_may_be_chosen_and_stay_though_excluded(written: Written) -> None:
    records = written.changed["ORDERS"]
    assert [r.key["payload"] for r in records] == [
        {"CODE": "a", "ID": "1"},
        {"CODE": "b", "ID": "2"},
        {"CODE": "a", "ID": "1"},
        {"CODE": "b", "ID": "2"},
        {"CODE": "b", "ID": "3"},
        {"CODE": "b", "ID": "3"},
    ]
    assert [r.key["payload"] for r in written.changed["PARTS"]] == [{"NO": "7"}] * 2


def test_no_tombstones_when_they_are_off(written: Written) -> None:
    assert [r.value["payload"]["op"] for r in written.changed["ORDERS"]] == ["r", "c", "u", "d", "c", "d"]


def test_numbers_as_text_and_columns_left_out(written: Written) -> None:
    rows = [r.value["payload"]["after"] for r in written.changed["ORDERS"]]
    assert rows[:3] == [
        {"ID": "1", "AMOUNT": "12.50", "ANYTHING": "0.125", "PLACED": 1795132800000},
        {"ID": "2", "AMOUNT": "-0.01", "ANYTHING": "1000", "PLACED": -86400000},
        {"ID": "1", "AMOUNT": "13.00", "ANYTHING": None, "PLACED": 1795132800000},
    ]


def test_keyless_rows_keyed_by_rowid(written: Written) -> None:
    records = [r for r in written.changed["NOTES"] if r.value["payload"]["op"] != "t"]
    keys = [r.key["payload"] for r in records]
    assert all(re.fullmatch("[A-Za-z0-9+/]{18}", value) for key in keys for value in key.values())
    assert keys[0] == keys[1] == keys[2]
    assert [r.value["payload"]["source"]["row_id"] for r in records] == [next(iter(key.values())) for key in keys]


def test_truncate_is_published_when_it_is_not_skipped(written: Written) -> None:
    records = written.changed["NOTES"]
    assert [r.value["payload"]["op"] for r in records] == ["c", "u", "d", "t", "c"]
    truncate = records[3]
    assert truncate.key is None
    assert (truncate.value["payload"]["before"], truncate.value["payload"]["after"]) == (None, None)
    assert truncate.value["payload"]["source"]["table"] == "NOTES"


def test_schemas_are_those_of_connect(written: Written) -> None:
    lab, record = written.lab, written.changed["ORDERS"][1]
    topic = f"changed.{lab.schema}.ORDERS"
    schema = record.value["schema"]
    assert (schema["type"], schema["optional"], schema["name"], schema["version"]) == (
        "struct",
        False,
        f"{topic}.Envelope",
        2,
    )
    fields = {field["field"]: field for field in schema["fields"]}
    assert fields["before"]["name"] == fields["after"]["name"] == f"{topic}.Value"
    assert fields["before"]["optional"] is True
    assert fields["after"]["fields"] == [
        {"field": "ID", "type": "string", "optional": False},
        {"field": "AMOUNT", "type": "string", "optional": True},
        {"field": "ANYTHING", "type": "string", "optional": True},
        {"field": "PLACED", "type": "int64", "optional": True, "name": "io.debezium.time.Timestamp", "version": 1},
    ]
    source = fields["source"]
    assert (source["name"], source["optional"]) == ("io.debezium.connector.oracle.Source", False)
    assert [f["field"] for f in source["fields"]] == list(record.value["payload"]["source"])
    assert fields["transaction"]["name"] == "event.block"
    assert fields["op"]["type"] == "string"
    assert [(fields[n]["type"], fields[n]["optional"]) for n in ("ts_ms", "ts_us", "ts_ns")] == [("int64", True)] * 3
    assert record.key["schema"]["name"] == f"{topic}.Key"
    assert record.key["schema"]["optional"] is False
    assert [f["field"] for f in record.key["schema"]["fields"]] == ["CODE", "ID"]


def test_schema_changes_of_the_snapshot(written: Written) -> None:
    records = written.lab.topics.records(written.lab.name)
    assert {r.key["databaseName"] for r in records} == {"ORCLPDB1"}
    creates = {r.value["tableChanges"][0]["id"]: r.value for r in records if r.value["source"]["snapshot"] != "false"}
    found = creates[f'"ORCLPDB1"."{written.lab.schema}"."ORDERS"']
    assert found["schemaName"] == written.lab.schema
    change = found["tableChanges"][0]
    assert (change["type"], change["table"]["primaryKeyColumnNames"]) == ("CREATE", ["ID"])
    columns = {c["name"]: c for c in change["table"]["columns"]}
    names = ("jdbcType", "typeName", "length", "scale", "position", "optional")
    assert {name: columns["AMOUNT"][name] for name in names} == {
        "jdbcType": 2,
        "typeName": "NUMBER",
        "length": 10,
        "scale": 2,
        "position": 3,
        "optional": True,
    }
    assert (columns["PLACED"]["jdbcType"], columns["ID"]["optional"]) == (93, False)
