"""Commands, answers and operations, bit for bit; and bytes that are none of them."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fors_server import wire
from tests.fors_server.wire import Cell, Writer

from minercdc.capture.fors_olr.operations import (
    Begin,
    Chunk,
    ColumnValue,
    Commit,
    Head,
    RowChange,
    read_operation,
    xid_of,
)
from minercdc.capture.fors_olr.protocol import (
    ByteOrder,
    Command,
    CommandCode,
    Data,
    NoMore,
    Ok,
    Refusal,
    SavedScn,
    ServerStatus,
    Status,
    read_answer,
)
from minercdc.stream.events import Op

ORDERS: Sequence[Literal["little", "big"]] = ("little", "big")
HEAD = Head(0x0102030405060708, 0x1112131415161718, xid_of(0xAABBCCDD00000001), 0x21222324)
NUMBERS = (HEAD.scn, HEAD.commit_scn, 0xAABBCCDD00000001, HEAD.timestamp)


@pytest.mark.parametrize(
    ("command", "little"),
    [
        (Command(CommandCode.TABLE_LIST, sql="SELECT"), "0100" + b"SELECT".hex()),
        (Command(CommandCode.START_SCN, scn=0x0102030405060708), "0200" + "0807060504030201"),
        (Command(CommandCode.LAST_COMMITED_SCN, scn=1), "0300" + "0100000000000000"),
        (Command(CommandCode.BACK_TO_SCN, scn=2**64 - 1), "0400" + "ff" * 8),
        (Command(CommandCode.LOG_OFF), "0500"),
        (Command(CommandCode.GET_STATUS), "0600"),
        (Command(CommandCode.GET_SAVED_SCN), "0700"),
    ],
    ids=lambda one: one.name if isinstance(one, Command) else "",
)
def test_each_command(command: Command, little: str) -> None:
    assert command.encoded("little").hex() == little
    big = command.encoded("big")
    assert big[:2] == command.encoded("little")[:2][::-1]
    if command.scn is not None:
        assert big[2:] == command.encoded("little")[2:][::-1]


@pytest.mark.parametrize("order", ORDERS)
def test_each_answer(order: ByteOrder) -> None:
    writer = Writer(order)

    def read(frame: bytes) -> Any:
        assert int.from_bytes(frame[:4], order) == len(frame) - 4  # MessageSize counts what follows it
        return read_answer(frame[4:], order)

    assert read(writer.frame(wire.OK)) == Ok()
    assert read(writer.frame(wire.NO_MORE)) == NoMore()
    assert read(writer.error(0x01020304, "Ошибка")) == Refusal(0x01020304, "Ошибка")
    assert read(writer.frame(wire.DATA, b"abc")) == Data(memoryview(b"abc"))
    assert [read(writer.status(n)) for n in (1, 2, 3)] == [*map(Status, ServerStatus)]
    assert read(writer.saved(None)) == SavedScn(None)
    assert read(writer.saved(2**63)) == SavedScn(2**63)


def test_answers_as_they_are_printed_in_the_text() -> None:
    assert Writer().frame(wire.OK).hex() == "020000000100"
    assert Writer("big").frame(wire.OK).hex() == "000000020001"
    assert Writer().status(3).hex() == "0400000005000300"
    assert Writer().saved(1).hex() == "0c00000006000100" + "0100000000000000"


@pytest.mark.parametrize(
    "frame", ["", "01", "0000", "0700", "0300", "030001", "0500", "05000000", "0500040000", "0600" + "00" * 9]
)
def test_bytes_that_are_no_answer(frame: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_answer(bytes.fromhex(frame), "little")


def test_saved_scn_has_no_other_flags() -> None:
    with pytest.raises(ValueError, match="flag 2"):
        read_answer(struct.pack("<HHQ", 6, 2, 1), "little")


CELLS = (
    Cell("ID", 2, b"\xc1\x02", precision=9, scale=0),
    Cell("ИМЯ", 1, "Ада".encode(), charset=873, form=1),
    Cell("GONE", 12, None),
    Cell("TEXT", 112, None, charset=873, form=1, chunked=True),
)
VALUES = {
    "ID": ColumnValue(2, 9, 0, None, None, False, b"\xc1\x02"),
    "ИМЯ": ColumnValue(1, None, None, 873, 1, False, "Ада".encode()),
    "GONE": ColumnValue(12, None, None, None, None, False, None),
    "TEXT": ColumnValue(112, None, None, 873, 1, True, None),
}
ROW_ID = "AAAR3sAAEAAAACXAAA"


@pytest.mark.parametrize("order", ORDERS)
def test_each_operation_has_the_length_of_the_text(order: ByteOrder) -> None:
    writer = Writer(order)

    def read(payload: bytes) -> Any:
        return read_operation(memoryview(payload), order)

    begin, commit = writer.begin(*NUMBERS, serial=9, session=10), writer.commit(*NUMBERS)
    assert (len(begin), len(commit)) == (35, 29)
    assert read(begin) == Begin(HEAD, 9, 10)
    assert read(commit) == Commit(HEAD)
    names = (b"SHOP", b"ORDERS", ROW_ID.encode())
    for code, op in ((4, Op.CREATE), (5, Op.DELETE), (6, Op.UPDATE)):
        images = [CELLS] * (2 if op is Op.UPDATE else 1)
        row = writer.row(writer.head(code, *NUMBERS), 77, names, images)
        assert len(row) == 36 + 4 + 6 + 18 + sum(len(writer.columns(image)) for image in images)
        before = None if op is Op.CREATE else VALUES
        after = None if op is Op.DELETE else VALUES
        assert read(row) == RowChange(HEAD, op, 77, "SHOP", "ORDERS", ROW_ID, before, after)
    for flags in range(4):
        chunk = writer.chunk(writer.head(7, *NUMBERS), "TEXT", 112, flags, b"abc")
        assert len(chunk) == 42 + 4 + 3
        assert read(chunk) == Chunk(HEAD, "TEXT", 112, bool(flags & 1), bool(flags & 2), b"abc")


def test_an_update_may_have_an_image_without_columns() -> None:
    row = Writer().row(Writer().head(6, *NUMBERS), 0, (b"A", b"B", b""), [(), CELLS[:1]])
    found = read_operation(memoryview(row), "little")
    assert isinstance(found, RowChange)
    assert (found.before, found.row_id) == ({}, None)


def test_a_row_id_of_other_bytes_is_shown_in_hex() -> None:
    row = Writer().row(Writer().head(4, *NUMBERS), 0, (b"A", b"B", b"\x00\xff"), [()])
    found = read_operation(memoryview(row), "little")
    assert isinstance(found, RowChange)
    assert found.row_id == "00ff"


def test_the_xid_is_as_logminer_prints_it() -> None:
    assert xid_of(0x0008_0012_00001F2A) == "080012002a1f0000"


WHOLE = Writer().row(Writer().head(6, *NUMBERS), 1, (b"SHOP", b"T", ROW_ID.encode()), [CELLS[:2], CELLS])


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_an_operation_that_is_cut_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_operation(memoryview(WHOLE[:length]), "little")


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (WHOLE + b"\0", "1 bytes follow"),
        (Writer().head(3, *NUMBERS), "3 is not an operation code"),
        (Writer().head(0, *NUMBERS), "0 is not an operation code"),
        (Writer().chunk(Writer().head(7, *NUMBERS), "C", 112, 4, b""), "flags 4"),
        (Writer().row(Writer().head(4, *NUMBERS), 1, (b"A", b"B", b""), [CELLS[:1] * 2]), "two columns ID"),
        (Writer().row(Writer().head(4, *NUMBERS), 1, (b"", b"B", b""), [()]), "without name"),
        (Writer().row(Writer().head(4, *NUMBERS), 1, (b"A", b"\xff", b""), [()]), "utf-8"),
        (Writer().row(Writer().head(4, *NUMBERS), 1, (b"A", b"B", b""), [[Cell("", 2, None)]]), "column without name"),
        (
            Writer().row(Writer().head(4, *NUMBERS), 1, (b"A", b"B", b""), [[Cell("C", 112, b"x", chunked=True)]]),
            "comes in pieces",
        ),
    ],
)
def test_what_is_no_operation_is_named(payload: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_operation(memoryview(payload), "little")


@given(st.binary(max_size=300), st.sampled_from(ORDERS))
def test_any_bytes_are_an_answer_or_refused(data: bytes, order: ByteOrder) -> None:
    with contextlib.suppress(ValueError):
        read_answer(data, order)


@given(st.data(), st.sampled_from(ORDERS))
def test_damaged_operations_are_read_or_refused(data: st.DataObject, order: ByteOrder) -> None:
    writer = Writer(order)
    payload = bytearray(writer.row(writer.head(6, *NUMBERS), 1, (b"SHOP", b"T", ROW_ID.encode()), [CELLS[:2], CELLS]))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        read_operation(memoryview(bytes(payload)), order)


_CELL = st.builds(
    Cell,
    st.text(min_size=1, max_size=20),
    st.integers(0, 2**16 - 1),
    st.none() | st.binary(min_size=1, max_size=50),
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
    st.none() | st.integers(0, 2**64 - 2),
    st.none() | st.integers(0, 254),
)
_U64 = st.integers(0, 2**64 - 1)


@given(
    st.sampled_from(ORDERS),
    st.tuples(_U64, _U64, _U64, st.integers(0, 2**32 - 1)),
    st.lists(_CELL, max_size=6, unique_by=lambda cell: cell.name),
    st.lists(_CELL, max_size=6, unique_by=lambda cell: cell.name),
)
def test_every_row_comes_through(
    order: ByteOrder, numbers: tuple[int, int, int, int], before: list[Cell], after: list[Cell]
) -> None:
    writer = Writer(order)
    row = writer.row(writer.head(6, *numbers), 5, ("Ж".encode(), b"T", b""), [before, after])
    found = read_operation(memoryview(row), order)
    assert isinstance(found, RowChange)
    assert (found.head.scn, found.head.commit_scn, found.head.timestamp) == (numbers[0], numbers[1], numbers[3])
    for cells, image in ((before, found.before), (after, found.after)):
        assert image is not None
        assert list(image) == [cell.name for cell in cells]
        for cell, value in zip(cells, image.values(), strict=True):
            assert (cell.type, cell.value, cell.precision) == (value.type, value.value, value.precision)
            assert (cell.scale, cell.charset, cell.form) == (value.scale, value.charset, value.form)
