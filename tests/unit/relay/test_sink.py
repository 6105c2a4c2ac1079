"""Windows of transactions, and what a kill leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.relay.filling import Filling, T, change, insert

from minercdc.errors import FencedError, RelayError, SinkError
from minercdc.relay.buffer.progress_file import MaxScnFile
from minercdc.relay.buffer.sink import CompletenessCapture
from minercdc.relay.buffer.windows import ScnNotFoundError
from minercdc.relay.client.checkpoint import Checkpoint
from minercdc.relay.events.event import DELETE, UPSERT
from minercdc.relay.events.values import row_reader
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.contracts import Capture, Record
from minercdc.stream.events import UNAVAILABLE, Op, Row, SchemaChange, Scn, SuspensionChange
from minercdc.stream.offset import Position, SuspendedTable


def test_a_transaction_is_a_window_in_the_order_of_the_source(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(2, 10), insert(1, 10), insert(3, 12))
    filling.commit(complete=12, position=7)
    assert filling.shown() == [(10, 2), (10, 1), (10, "end"), (12, 3), (12, "end")]
    assert (filling.position, filling.max_scn.load()) == (7, 12)


def test_operations(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(
        change(Op.CREATE, None, ("1", "a"), 5),
        change(Op.UPDATE, ("1", "a"), ("1", "b"), 5),
        change(Op.UPDATE, ("1", "b"), ("2", "b"), 5),
        change(Op.DELETE, ("2", "b"), None, 5),
        change(Op.TRUNCATE, None, None, 5),
    )
    filling.commit(complete=5)
    events = filling.events()[:-1]
    assert [(one.key, one.attributes) for one in events] == [(1, UPSERT), (1, UPSERT), (1, DELETE), (2, UPSERT), (2, DELETE)]
    read = row_reader(filling.registry.versions(filling.registry.sources()[0])[0].schema)
    assert [read(one.value)["v"] for one in events] == ["a", "b", "b", "b", "b"]


NOT_HELD = "__debezium_unavailable_value"


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (("1", "2", UNAVAILABLE, "5"), ("1", "3", UNAVAILABLE, "5"), [(b"1\t2", 2, NOT_HELD, 5)]),
        (("1", "2", UNAVAILABLE, "5"), ("1", "3", "new", "6"), [(b"1\t2", 2, NOT_HELD, 5)]),
        ((UNAVAILABLE, "2", "x", UNAVAILABLE), ("1", "3", "x", "6"), [(b"1\t2", 2, "x", 6)]),
        (("1", UNAVAILABLE, "x", "5"), ("1", "3", "x", "5"), []),
    ],
)
def test_a_key_that_changes_is_deleted_whatever_else_redo_holds_of_the_row(
    tmp_path: Path, before: Row, after: Row, gone: list[tuple[object, ...]]
) -> None:
    a, b, n = (Column(name, "NUMBER", 9, 0, name == "N") for name in "ABN")
    two = TableSchema(T.id._replace(table="TWO"), (a, b, Column("DOC", "CLOB"), n), (0, 1))
    filling = Filling(tmp_path)
    filling.put(change(Op.UPDATE, before, after, 5, table=two))
    filling.commit(complete=5)
    *deleted, made = filling.events()[:-1]
    assert (made.key, made.is_delete) == (b"1\t3", False)
    read = row_reader(filling.registry.versions(filling.registry.sources()[0])[0].schema)
    rows = [read(one.value) for one in deleted if one.is_delete]
    assert [(one.key, row["b"], row["doc"], row["n"]) for one, row in zip(deleted, rows, strict=True)] == gone


def test_a_row_may_have_several_numbers_that_are_no_long(tmp_path: Path) -> None:
    numbers = replace(T, columns=(T.columns[0], *(Column(name, "NUMBER") for name in "AB")))
    filling = Filling(tmp_path)
    filling.put(change(Op.CREATE, None, ("1", "1.5", "2.5"), 5, table=numbers))
    filling.put(change(Op.UPDATE, ("1", "1.5", "2.5"), ("2", "3", "4"), 5, table=numbers))
    filling.commit(complete=5)
    versions = filling.registry.versions(filling.registry.sources()[0])
    read = row_reader(versions[-1].schema)
    rows = [(one.key, read(one.value)) for one in filling.events()[:-1]]
    assert [(key, row["a"], row["b"]) for key, row in rows] == [(1, "1.5", "2.5"), (1, "1.5", "2.5"), (2, "3", "4")]


def test_transactions_of_one_scn_share_a_window(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(1, 10, xid=1))
    filling.commit(complete=9)
    assert filling.shown() == []
    assert filling.position is None  # after a kill it is read again
    filling.put(insert(2, 10, xid=2))
    filling.commit(complete=10, position=2)
    assert filling.shown() == [(10, 1), (10, 2), (10, "end")]
    assert filling.position == 2


class Confirmed:
    """A capture that keeps what is confirmed."""

    def __init__(self) -> None:
        self.positions: list[Position] = []

    def confirm(self, position: Position) -> None:
        self.positions.append(position)


def test_the_source_may_forget_what_is_stored_only(tmp_path: Path) -> None:
    filling, inner = Filling(tmp_path), Confirmed()
    capture = CompletenessCapture(cast(Capture, inner), filling.complete)
    first, second = cast(Position, "first"), cast(Position, "second")
    filling.put(insert(1, 10, xid=1))
    filling.commit(complete=9, position=1)
    capture.confirm(first)
    assert (filling.position, inner.positions) == (None, [])
    filling.put(insert(2, 11, xid=2))
    filling.commit(complete=11, position=2)
    capture.confirm(second)
    assert (filling.position, inner.positions) == (2, [second])
    filling.put(insert(3, 12, xid=3))
    filling.commit(complete=11, position=3)
    capture.confirm(cast(Position, "third"))
    assert (filling.position, inner.positions) == (2, [second])


def test_the_last_commit_of_an_idle_database_is_held_for_a_while_only(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(1, 10))
    filling.commit(complete=9)
    assert (filling.sink.beat(), filling.shown()) == (None, [])
    filling.now += 0.6
    assert filling.sink.beat() is not None
    filling.commit(complete=9, position=1)
    assert filling.shown() == [(10, 1), (10, "end")]


def test_one_more_transaction_of_a_published_scn_gets_the_next(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(1, 10, xid=1))
    filling.now += 1
    filling.commit(complete=9, position=1)
    filling.put(insert(2, 10, xid=2), insert(3, 10, xid=2), insert(4, 11, xid=3), insert(5, 14, xid=4))
    filling.commit(complete=14, position=2)
    assert filling.shown() == [(10, 1), (10, "end"), (11, 2), (11, 3), (11, 4), (11, "end"), (14, 5), (14, "end")]


@pytest.mark.parametrize("mapped", [True, False])
def test_it_is_not_lost_by_a_kill_either(mapped: bool, tmp_path: Path) -> None:
    filling = Filling(tmp_path, mapped)
    filling.put(insert(1, 10, xid=1))
    filling.now += 1
    filling.commit(complete=9, position=1)
    filling.start()
    filling.put(insert(2, 10, xid=2))
    filling.commit(complete=14)
    assert filling.shown()[-2:] == [(11, 2), (11, "end")]


def test_an_scn_that_goes_back_is_an_error(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(1, 10))
    filling.commit(complete=10)
    with pytest.raises(SinkError, match="SCN 9 comes after window 10"):
        filling.put(insert(1, 9))


def test_a_transaction_larger_than_the_buffer(tmp_path: Path) -> None:
    filling = Filling(tmp_path, size=4_096)
    with pytest.raises(SinkError, match="SCN 10 has more than the 4096 bytes"):
        filling.put(*(insert(n, 10) for n in range(100)))


def test_rows_of_a_snapshot_in_the_stream_get_a_window(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    filling.put(insert(1, 10))
    filling.commit(complete=10, position=1)
    filling.put(change(Op.READ, None, ("7", "r"), 0))
    filling.commit(complete=10, position=2)
    assert filling.position == 1  # its window has to wait
    filling.complete.scn = 15
    assert filling.sink.beat() is not None
    filling.commit(position=3)
    assert (filling.shown()[2:], filling.position) == ([(15, 7), (15, "end")], 3)
    filling.put(change(Op.READ, None, ("8", "r"), 0), insert(9, 20))
    filling.commit(complete=20)
    assert filling.shown()[4:] == [(20, 8), (20, 9), (20, "end")]


def test_truncate_empties_the_buffer(tmp_path: Path) -> None:
    filling = Filling(tmp_path, mapped=True)
    filling.put(insert(1, 10))
    filling.commit(complete=10)
    truncate = SchemaChange(T.id, T, T, "TRUNCATE TABLE T", Scn(12), 0, truncate=True)
    records: list[Record] = list(filling.encoder.encode(truncate))
    for record in records:
        filling.sink.write(record)
    for place in (Checkpoint(10), Checkpoint(11)):
        with pytest.raises(ScnNotFoundError):
            filling.buffer.start_of(place)
    filling.put(insert(2, 15))
    filling.commit(complete=15)
    assert filling.shown() == [(15, 2), (15, "end")]
    filling.start()
    for record in records:  # the same once more
        filling.sink.write(record)
    assert filling.shown() == [(15, 2), (15, "end")]


@pytest.mark.parametrize("covered", [5, 25], ids=["idle", "ahead of the stream"])
def test_a_suspended_table_that_is_read_again_empties_the_buffer(covered: int, tmp_path: Path) -> None:
    """Of rows that left it meanwhile there are no events, in no window up to the SCN up to which its changes are left out."""
    filling = Filling(tmp_path)
    filling.put(insert(1, 10), insert(2, 20))
    filling.commit(complete=20, position=1)
    for record in filling.encoder.encode(SuspensionChange("S.T", None, covered)):
        filling.sink.write(record)
    last = max(covered, 21)
    for place in (Checkpoint(20), Checkpoint(last - 1)):
        with pytest.raises(ScnNotFoundError):
            filling.buffer.start_of(place)
    filling.commit(complete=20, position=2)
    if covered > 22:
        filling.put(insert(3, 22))  # of another table: whoever bootstraps has it
    filling.start()
    if covered > 22:
        filling.put(insert(3, 23))
    filling.put(insert(4, 30))
    filling.commit(complete=30, position=3)
    assert [(one.sequence, one.key) for one in filling.events(Checkpoint(last)) if not one.is_end_of_window] == [(30, 4)]
    with pytest.raises(ScnNotFoundError):
        filling.buffer.start_of(Checkpoint(20))


@pytest.mark.parametrize("entry", [None, SuspendedTable("S.T", 40, "MC-4302", "no key")], ids=["dropped", "suspended"])
def test_other_changes_of_suspensions_leave_the_buffer_as_it_is(entry: SuspendedTable | None, tmp_path: Path) -> None:
    assert list(Filling(tmp_path).encoder.encode(SuspensionChange("S.T", entry))) == []


def test_another_process_is_fenced(tmp_path: Path) -> None:
    filling = Filling(tmp_path)
    (tmp_path / "lock").unlink()
    with pytest.raises(FencedError):
        filling.commit()


def test_the_max_scn_file_as_of_databus(tmp_path: Path) -> None:
    file = MaxScnFile(tmp_path / "max.scn")
    assert file.load() is None
    file.save(5984592768094, 1355360047)
    assert (tmp_path / "max.scn").read_text() == "5984592768094:Thu Dec 13 00:54:07 UTC 2012"
    assert file.load() == 5984592768094
    for wrong in ("", "x", "12"):
        (tmp_path / "max.scn").write_text(wrong)
        with pytest.raises(RelayError, match="does not hold"):
            file.load()


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(["", "commits", "waits"]), st.booleans()),
        min_size=1,
        max_size=25,
    ),
    st.booleans(),
)
def test_kills_anywhere_lose_and_repeat_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, str, bool]], mapped: bool
) -> None:
    """Each step is a transaction: distance of its SCN from the one before (0: the same), rows, whether a commit follows, at once or once nothing
    is held back any more, whether a kill follows. A source that starts from the stored position gives the rest again."""
    history, scn, key = [], 10, 0
    for gap, rows, *_ in steps:
        scn += gap
        history.append((scn, range(key, key + rows)))
        key += rows
    filling = Filling(tmp_path_factory.mktemp("relay"), mapped)
    seen: list[tuple[int, int | bytes | str]] = []

    def pull() -> None:
        """A client that keeps the end of the last window that it has read."""
        ends = [one for one in seen if one[1] == "end"]
        events = filling.events(Checkpoint(ends[-1][0]) if ends else Checkpoint(0))
        seen.extend((one.sequence, "end" if one.is_end_of_window else one.key) for one in events)

    filling.buffer.start_after(0)
    at = 0
    while at < len(history):
        _, _, commits, kills = steps[at]
        scn, keys = history[at]
        filling.put(*(insert(one, scn, xid=at) for one in keys))
        at += 1
        if commits:
            filling.now += commits == "waits"
            filling.commit(complete=scn - 1, position=at)
            pull()
        if kills:
            steps[at - 1] = (0, 0, commits, False)
            at = filling.position or 0
            filling.start()
            if not mapped and filling.offsets.load() is None:
                filling.buffer.start_after(0)
    filling.commit(complete=1000, position=at)
    pull()
    found, wanted = [one for one in seen if one[1] != "end"], [(scn, one) for scn, keys in history for one in keys]
    assert [key for _, key in found] == [key for _, key in wanted]
    # A transaction whose window was there already has a later one.
    assert all(window >= scn for (window, _), (scn, _) in zip(found, wanted, strict=True))
    assert found == wanted or any(commits == "waits" for _, _, commits, _ in steps)
