"""Requests, answers and protobuf messages, against bytes that Google's protobuf library wrote for the same messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.olr_server import wire

from minercdc.capture.olr.json_format import read_json
from minercdc.capture.olr.message import ABSENT, Message, Place, time_of, xid_of, xid_of_number
from minercdc.capture.olr.protobuf import field, fields, signed, varint
from minercdc.capture.olr.protobuf_format import read_protobuf
from minercdc.capture.olr.protocol import LAST_INDEX, Request, RequestCode, ResponseCode, read_response

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
XID = "0a001f00e9030000"


def recorded(kind: str, name: str) -> bytes:
    return bytes.fromhex(RECORDED[kind][name])


def test_requests_are_the_recorded_bytes() -> None:
    requests = {
        "info": Request(RequestCode.INFO, "ORCL"),
        "start": Request(RequestCode.START, "ORCL", scn=12345678901234),
        "continue": Request(RequestCode.CONTINUE, "ORCL", place=Place(4711, LAST_INDEX)),
        "confirm": Request(RequestCode.CONFIRM, "ORCL", place=Place(2**63 + 5, 0)),
    }
    assert {name: request.encoded().hex() for name, request in requests.items()} == RECORDED["requests"]


def test_answers_are_read() -> None:
    found = {name: read_response(recorded("responses", name)) for name in RECORDED["responses"]}
    assert found["ready"].code is ResponseCode.READY
    assert found["starting"].code is ResponseCode.STARTING
    assert (found["replicate"].scn, found["replicate"].confirmed) == (900, Place(901, 7))
    assert found["replicate_from_the_start"].scn == 2**64 - 1
    assert found["replicate_from_the_start"].confirmed is None


def test_an_update_in_protobuf() -> None:
    message = read_protobuf(recorded("messages", "update"))
    (operation,) = message.operations
    assert (message.place, message.scn, message.xid, message.time_us) == (Place(1000, 3), 1001, XID, 1_700_000_000_000_000)
    assert (operation.op, operation.owner, operation.table, operation.object_id) == ("u", "SHOP", "ORDERS", 73326)
    assert (operation.number, operation.row_id) == (2, "AAAR5vAAMAAAACXAAA")
    assert operation.before == {"ID": "-42", "NOTE": ABSENT}
    assert operation.after == {
        "ID": str(2**62),
        "PRICE": "12.34",
        "RATE": "0.1",
        "BIG": "12345678901234567890.12",
        "CODE": b"\x00\xff",
        "STATUS": "grün",
    }


def test_ends_and_checkpoints_in_protobuf() -> None:
    begin, commit, checkpoint, ddl, whole = (
        read_protobuf(recorded("messages", name)) for name in ("begin", "commit", "checkpoint", "ddl", "whole")
    )
    assert [(one.op, message.scn) for message in (begin, commit, checkpoint, ddl) for one in message.operations] == [
        ("begin", 1001),
        ("commit", 1005),
        ("chkpt", 1010),
        ("ddl", 1004),
    ]
    assert begin.xid == commit.xid == ddl.xid == XID
    assert begin.time_us == 1_700_000_000_000_000
    assert ddl.operations[0].sql == "alter table orders add x number"
    assert [(one.op, one.number) for one in whole.operations] == [("begin", None), ("c", 0), ("d", 1), ("commit", None)]


def test_an_answer_among_the_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="INVALID_COMMAND among the changes"):
        read_protobuf(wire.encode(wire.RESPONSE, {"code": 7}))


def test_every_spelling_of_an_xid() -> None:
    number = 10 << 48 | 31 << 32 | 1001
    assert {xid_of("0x000a.01f.000003e9"), xid_of("10.31.1001"), xid_of(XID.upper()), xid_of_number(number)} == {XID}
    for text in ("", "0x1", "1.2", "70000.1.1", "x" * 16):
        with pytest.raises(ValueError, match="not an XID"):
            xid_of(text)


@pytest.mark.parametrize(
    "text", ["1700000000", "1700000000000", "1700000000000000", "1700000000000000000", "2023-11-14T22:13:20Z"]
)
def test_every_unit_of_a_time(text: str) -> None:
    assert time_of(text) == 1_700_000_000_000_000


def test_json_keeps_digits_and_takes_inf_and_nan() -> None:
    message = read_json(
        b'{"scns":"0x00000000000003e9","e_scn":1005,"c_scn":1000,"c_idx":1,"xid":"10.31.1001","payload":[{"op":"c","num":0,'
        b'"schema":{"owner":"S","table":"T"},"after":{"A":1234567890123456789012345678901234567890,"B":inf,"C":-inf,"D":nan,'
        b'"E":"a nan, -inf \\" inf","F":1E-130,"G":null}}]}'
    )
    assert (message.scn, message.commit_scn, message.xid) == (1001, 1005, XID)
    assert message.operations[0].after == {
        "A": "1234567890123456789012345678901234567890",
        "B": "Infinity",
        "C": "-Infinity",
        "D": "NaN",
        "E": 'a nan, -inf " inf',
        "F": "1E-130",
        "G": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"c_scn":1}',
        '{"c_scn":1,"c_idx":0}',
        '{"c_scn":1.5,"c_idx":0,"payload":[]}',
        '{"c_scn":1,"c_idx":0,"payload":[1]}',
        '{"c_scn":1,"c_idx":0,"payload":[{"op":"merge"}]}',
        '{"c_scn":1,"c_idx":0,"payload":[{"op":"c","after":{"A":[1]}}]}',
        '{"c_scn":1,"c_idx":0,"payload":[{"op":"c","after":{"A":true}}]}',
        '{"c_scn":1,"c_idx":0,"payload":[{"op":"c","schema":{"columns":[1]}}]}',
        '{"c_scn":1,"c_idx":0,"xid":"?","payload":[]}',
        '{"c_scn":1,"c_idx":0,"scns":"zz","payload":[]}',
        '{"c_scn":1,"c_idx":0,"payload":[{"op":["c"]}]}',
        '{"payload":' + "[" * 100_000,
        '{"a":inf,"payload":' + "[" * 100_000,
    ],
)
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text.encode())


@settings(max_examples=examples(150), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_json, read_protobuf, read_response):
        try:
            assert read(data) is not None
        except ValueError:
            continue


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(RECORDED["messages"])), st.data())
def test_damaged_bytes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    whole = bytearray(recorded("messages", name))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        assert isinstance(read_protobuf(bytes(whole[: data.draw(st.integers(at, len(whole)))])), Message)
    except ValueError:
        return


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(-(2**63), 2**64 - 1), st.binary(max_size=40))
def test_fields_come_back(number: int, data: bytes) -> None:
    found = list(fields(field(7, number) + field(19, data)))
    assert found == [(7, 0, number % 2**64), (19, 2, data)]
    assert signed(number % 2**64) % 2**64 == number % 2**64
    assert len(varint(number)) <= 10


@settings(max_examples=examples(100), deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "scn": st.integers(1, 2**64 - 1),
            "tms": st.just("2023-11-14T22:13:20Z"),
            "xidn": st.integers(1, 2**64 - 1),
            "payload": st.lists(
                st.fixed_dictionaries(
                    {"op": st.integers(0, 6)}, optional={"rid": st.text(max_size=20), "ddl": st.text(max_size=20)}
                ),
                max_size=3,
            ),
        },
    ),
    st.integers(1, 2**63),
)
def test_another_encoder_is_understood(given_fields: dict[str, object], c_scn: int) -> None:
    message = read_protobuf(wire.encode(wire.RESPONSE, {"code": 5, **given_fields, "c_scn": c_scn, "c_idx": 3}))
    assert message.place == (c_scn, 3)
    assert message.scn == given_fields.get("scn")
    payload = given_fields.get("payload", [])
    assert isinstance(payload, list)
    assert [one.sql for one in message.operations] == [one.get("ddl", "") for one in payload]


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(list(RequestCode)), st.text(max_size=20), st.integers(0, 2**64 - 1), st.integers(0, 2**63 - 1))
def test_requests_are_understood_by_another_decoder(code: RequestCode, source: str, scn: int, index: int) -> None:
    found = wire.decode(wire.REQUEST, Request(code, source, scn=scn, place=Place(scn, index)).encoded())
    assert found.get("code", 0) == code
    assert found["database_name"] == source
    assert (found["scn"], found["c_scn"], found["c_idx"]) == (scn, scn, index)
