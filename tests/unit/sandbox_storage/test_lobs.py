"""LOB contents: piecewise changes against a plain bytearray, old values kept, temporary LOBs freed, rows locked."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minercdc.sandbox.interfaces import LobKind, OraError
from minercdc.sandbox.lobs.locator import LobValue, at_row, pack, unpack
from minercdc.sandbox.lobs.values import CHUNK_BYTES, LobStore

CHANGES = st.lists(
    st.tuples(st.sampled_from(["write", "trim"]), st.integers(0, 3 * CHUNK_BYTES), st.integers(0, 2 * CHUNK_BYTES)),
    max_size=8,
)


def store() -> LobStore:
    return LobStore(apsw.Connection(":memory:"))


def counted(lobs: LobStore, what: str) -> int:
    ((found,),) = lobs._db.execute(f"select {what} from lob_node").fetchall()
    assert isinstance(found, int)
    return found


def applied(model: bytearray, change: tuple[str, int, int], data: bytes, filler: bytes) -> bytearray:
    op, offset, _ = change
    if op == "trim":
        return model[:offset]
    if not data:
        return model
    model = model + filler * max(0, offset - len(model))
    return model[:offset] + data + model[offset + len(data) :]


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_every_value_stays_what_it_was(changes: list[tuple[str, int, int]]) -> None:
    lobs, value, model = store(), LobValue(LobKind.BLOB), bytearray()
    history = [(value, bytes(model))]
    for n, change in enumerate(changes):
        op, offset, size = change
        data = bytes([n + 1]) * size
        value = lobs.write(value, offset, data) if op == "write" else lobs.trim(value, offset)
        model = applied(model, change, data, b"\0")
        history.append((value, bytes(model)))
    for old, content in history:
        assert old.length == len(content)
        assert lobs.raw(old) == content
        assert lobs.raw(old, 100, 5000) == content[100:5100]


@settings(max_examples=40, deadline=None)
@given(CHANGES)
def test_a_temporary_lob_leaves_nothing_behind(changes: list[tuple[str, int, int]]) -> None:
    lobs = store()
    handle = unpack(lobs.create_temporary(LobValue(LobKind.BLOB))).temporary
    model = bytearray()
    for n, change in enumerate(changes):
        op, offset, size = change
        data = bytes([n + 1]) * size
        if op == "write":
            lobs.write_temporary(handle, offset, data)
        else:
            lobs.replace_temporary(handle, lobs.trim(lobs.temporary(handle), offset))
        model = applied(model, change, data, b"\0")
    assert lobs.raw(lobs.temporary(handle)) == bytes(model)
    assert lobs.free_temporary(handle)
    assert not lobs.free_temporary(handle)
    assert counted(lobs, "count(*)") == 0


def test_a_hole_in_a_clob_is_blank() -> None:
    lobs = store()
    value = lobs.write(lobs.create(LobKind.CLOB, "ab"), 5, "\U0001f600")
    assert value.length == 7
    assert lobs.text(value) == "ab   \U0001f600"
    far = lobs.write(LobValue(LobKind.CLOB), 3 * CHUNK_BYTES, "x")
    assert lobs.text(far) == " " * (3 * CHUNK_BYTES) + "x"


def test_writing_piece_by_piece_takes_nodes_in_proportion() -> None:
    lobs, value, piece = store(), LobValue(LobKind.BLOB), bytes(CHUNK_BYTES)
    for n in range(1000):
        value = lobs.write(value, n * len(piece), piece)
    # A chunk and a path of at most three nodes for each piece.
    assert counted(lobs, "count(*)") < 4 * 1000
    assert counted(lobs, "sum(length(body))") < 1.3 * value.length


def test_storing_a_temporary_lob_copies_it() -> None:
    lobs = store()
    locator = lobs.create_temporary(lobs.create(LobKind.CLOB, "kept"))
    cell = lobs.stored(locator, LobKind.NCLOB)
    lobs.free_temporary(unpack(locator).temporary)
    assert lobs.text(lobs.value(cell)) == "kept"
    assert unpack(cell).value.kind is LobKind.NCLOB
    with pytest.raises(OraError, match="ORA-22275"):
        lobs.value(locator)
    with pytest.raises(OraError, match="ORA-00932"):
        lobs.stored(cell, LobKind.BLOB)


@pytest.mark.parametrize("cell", [None, b"", b"x" * 40, "text"])
def test_what_is_no_locator(cell: bytes | str | None) -> None:
    with pytest.raises(OraError, match="ORA-22275"):
        unpack(cell)


def test_a_locator_says_what_it_was_made_of() -> None:
    value = LobValue(LobKind.NCLOB, 1 << 33, 77, 3)
    found = unpack(at_row(pack(value), 73_500, 1 << 34, 9))
    assert found.value == value
    assert found.address is not None
    assert (found.address.data_object, found.address.rid, found.address.slot) == (73_500, 1 << 34, 9)
    assert unpack(pack(LobValue(LobKind.BLOB), temporary=5)).temporary == 5
