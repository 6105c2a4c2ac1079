"""The record of a row that is left out."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.unit.messages.test_envelope import ORDERS, encoder

from minercdc.messages.dead_letter import dead_letter
from minercdc.schema.table import TableId
from minercdc.stream.events import UNAVAILABLE, Scn, TransactionInfo, UndecodableRow

TX = TransactionInfo("0a00070084220000", Scn(90), Scn(120), 1, 2, 1, "APP")
ROW = UndecodableRow(
    TableId("DB", "LAB", "ITEM"), "UPDATE", "MC-4101: no end", "update \ud83d 'x", Scn(101), 5, TX, 3, "r1", "0x1.2.3", 1
)


def test_it_holds_what_was_in_redo_and_where() -> None:
    record = dead_letter("letters", ROW)
    assert (record.topic, record.partition) == ("letters", 0)
    assert record.key is not None
    assert record.value is not None
    key, value = json.loads(record.key), json.loads(record.value)
    assert key == {"scn": "101", "redo_thread": 1, "rs_id": "0x1.2.3", "ssn": 1, "txId": TX.id}
    assert value == key | {
        "commit_scn": "120",
        "txSeq": 3,
        "row_id": "r1",
        "db": "DB",
        "schema": "LAB",
        "table": "ITEM",
        "operation": "UPDATE",
        "error": "MC-4101: no end",
        "redo_sql": "update \ud83d 'x",
        "ts_us": 5,
    }


def test_a_row_that_was_decoded_has_its_images() -> None:
    images = replace(ROW, redo_sql=None, images=(ORDERS, ("1", UNAVAILABLE, "2.50", None), None))
    value = json.loads(dead_letter("letters", images).value or b"")
    assert (value["before"], "after" in value) == ({"ORDER_ID": "1", "TOTAL": "2.50", "CREATED": None}, False)


def test_without_a_topic_there_is_none() -> None:
    assert encoder().encode(ROW) == ()
