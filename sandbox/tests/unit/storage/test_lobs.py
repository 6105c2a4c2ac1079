"""LOB contents: piecewise changes against a plain bytearray, old values kept, temporary LOBs freed, rows locked."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minercdc_sandbox.database import SandboxDatabase
from minercdc_sandbox.interfaces import Cell, LobKind, OraError, Session
from minercdc_sandbox.lobs import dbms_lob
from minercdc_sandbox.lobs.locator import LobValue, at_row, pack, unpack
from minercdc_sandbox.lobs.values import CHUNK_BYTES, LobStore
from minercdc_sandbox.views.families import ALL_VIEWS

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


@settings(max_examples=60)
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


@settings(max_examples=40)
@given(CHANGES)
def test_a_temporary_lob_leaves_no_rows(changes: list[tuple[str, int, int]]) -> None:
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


def test_a_session_takes_its_temporary_lobs_with_it() -> None:
    database = SandboxDatabase(views=ALL_VIEWS, procedures=dbms_lob.PROCEDURES)
    session = database.open_session("SYSTEM", "ORCLPDB1", {})
    lobs = database.storage.lobs
    session.execute("create table doc (c clob)")
    session.execute("insert into doc values ('kept' || to_clob('x'))")
    [(cell,)] = rows_of(session, "select c || 'y' from doc")
    created = session.lob_calls.create_temporary(LobKind.BLOB)
    session.lob_calls.write(created, 1, bytes(20_000))
    assert isinstance(cell, bytes)
    assert session.lob_calls.read(cell, 1, 100) == "keptxy"
    session.commit()
    session.lob_calls.free_temporary(created)
    with pytest.raises(OraError, match="ORA-22275"):
        session.lob_calls.length(created)
    session.close()
    with pytest.raises(OraError, match="ORA-22275"):
        lobs.value(cell)
    assert counted(lobs, "count(*)") == 1  # what the row has
    database.close()


def test_a_locator_writes_the_row_it_is_of() -> None:
    database = SandboxDatabase(views=ALL_VIEWS)
    session, other = (database.open_session("SYSTEM", "ORCLPDB1", {}) for _ in range(2))
    session.execute("create table doc (id number, c clob)")
    session.execute("insert into doc values (1, 'abc')")
    [(mine,)] = rows_of(session, "select c from doc")
    assert isinstance(mine, bytes)
    mine = session.lob_calls.write(mine, 4, "def")
    assert session.lob_calls.read(mine, 1, 10) == "abcdef"
    session.commit()
    with pytest.raises(OraError, match="ORA-22920"):
        session.lob_calls.write(mine, 1, "x")
    [(locked,)] = rows_of(session, "select c from doc for update")
    [(seen,)] = rows_of(other, "select c from doc")
    assert isinstance(locked, bytes)
    assert isinstance(seen, bytes)
    with pytest.raises(OraError, match="ORA-22920"):
        other.lob_calls.write(seen, 1, "x")
    first = session.lob_calls.write(locked, 1, "X")
    second = session.lob_calls.write(locked, 2, "Y")  # on what the row has now
    assert [session.lob_calls.read(cell, 1, 10) for cell in (locked, first, second)] == ["abcdef", "Xbcdef", "XYcdef"]
    assert other.lob_calls.read(seen, 1, 10) == "abcdef"
    session.rollback()
    [(left,)] = rows_of(other, "select c from doc")
    assert isinstance(left, bytes)
    assert other.lob_calls.read(left, 1, 10) == "abcdef"
    database.close()


def rows_of(session: Session, sql: str) -> list[tuple[Cell, ...]]:
    found = session.execute(sql).rows
    assert found is not None
    return found.fetch(100)
