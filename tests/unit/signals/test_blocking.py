"""A blocking snapshot of several tables: its rows are marked as Debezium's, and each comes once wherever it is killed."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.fetched import fetched

from minercdc.errors import (
    MiningSessionError,
    PrerequisiteError,
    SnapshotTooOldError,
    SourceError,
    TransientSourceError,
    UnknownSourceError,
    ValueDecodeError,
)
from minercdc.schema.table import Column, TableId, TableNames, TableSchema
from minercdc.snapshot.incremental.blocking import BlockingSnapshots
from minercdc.snapshot.incremental.chunks import Step
from minercdc.snapshot.incremental.known_tables import KnownTables
from minercdc.stream.events import (
    ChangeEvent,
    Event,
    FetchedRows,
    Notification,
    Op,
    Scn,
    SuspensionChange,
    TransactionInfo,
)
from minercdc.stream.offset import AdHocSnapshot, Resumption, SignalState, TableRead

SCN = 100
A = TableId("P", "S", "A")
FAILURES = {
    "BROKEN": SourceError("ORA-00904"),
    "HIDDEN": PrerequisiteError("ORA-00942"),
    "ODD": UnknownSourceError("ORA-54321"),
    "CORRUPT": MiningSessionError("ORA-00600"),
    "GARBLED": ValueDecodeError("not a number"),
}
# of a SELECT that fails at every try: `.. AS OF SCN 1`, a database link to a host that is down
FOR_EVER = {"OLD": SnapshotTooOldError("ORA-08181"), "LINKED": TransientSourceError("ORA-12541")}
Rows = Mapping[str, Sequence[int]]


class Database:
    """Tables with so many keys each; the tables of FAILURES cannot be read to their end.

    :param too_old: rows that can be read before the SCN is too old, once.
    """

    def __init__(self, rows: Rows, too_old: int | None = None) -> None:
        self._rows = rows
        self._too_old = too_old

    def written_scn(self) -> int:
        return SCN

    def rows(self, schema: TableSchema, scn: int, last_row_id: str, select: str) -> Iterator[FetchedRows]:
        for key in self._rows[schema.id.table]:
            if self._too_old == 0:
                self._too_old = None
                raise SnapshotTooOldError("ORA-01466")
            self._too_old = self._too_old and self._too_old - 1
            if f"R{key:03}" > last_row_id:
                yield fetched(schema, [(f"R{key:03}", (str(key),))])
                yield fetched(schema, [])
        if error := (FAILURES | FOR_EVER).get(schema.id.table):
            raise error

    def close(self) -> None:
        pass


def shape(table: TableId) -> TableSchema:
    return TableSchema(table, (Column("ID", "NUMBER"),), (0,))


def asked(rows: Rows) -> SignalState:
    tables = tuple(TableRead(f"S.{name}") for name in rows)
    return SignalState((AdHocSnapshot("b", True, tuple(f"P.{table.table}" for table in tables), tables),))


def steps(database: Database, state: SignalState) -> Iterator[Step]:
    """From one run: what an earlier one left, then until the snapshot is done."""
    seconds = itertools.count()

    def clock() -> int:
        return next(seconds) * 1_000_000

    blocking, stop = (
        BlockingSnapshots(database, KnownTables(shape, lambda _: None, TableNames("P")), clock),
        threading.Event(),
    )
    for step in blocking.resume(state, stop):
        state = step[1]
        yield step
    while state.snapshots:
        for step in blocking.step(state, SCN, SCN, 0, stop):
            state = step[1]
            yield step


def marks(events: Sequence[Event]) -> list[tuple[str, int, str]]:
    return [
        (e.schema.id.table, int(str(e.after[0])), str(e.snapshot)) for e in events if isinstance(e, ChangeEvent) and e.after
    ]


def scanned(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    found = [e.additional_data for e in events if isinstance(e, Notification) and e.type == "TABLE_SCAN_COMPLETED"]
    return [(data["scanned_collection"], data["status"], data["total_rows_scanned"]) for data in found]


def test_rows_are_marked_first_and_last_of_all_and_of_their_tables() -> None:
    rows = {"A": [1, 2, 3], "B": [], "C": [4], "D": [5, 6], "E": []}
    events = [event for step in steps(Database(rows), asked(rows)) for event in step[0]]
    assert marks(events) == [
        ("A", 1, "first"),
        ("A", 2, "true"),
        ("A", 3, "last_in_data_collection"),
        ("C", 4, "last_in_data_collection"),
        ("D", 5, "first_in_data_collection"),
        ("D", 6, "last"),
    ]
    assert sorted(scanned(events)) == [
        ("P.S.A", "SUCCEEDED", "3"),
        ("P.S.B", "EMPTY", "0"),
        ("P.S.C", "SUCCEEDED", "1"),
        ("P.S.D", "SUCCEEDED", "2"),
        ("P.S.E", "EMPTY", "0"),
    ]


@pytest.mark.parametrize("rows", [{"A": [1, 2, 3], "B": [4], "C": []}, {"A": [], "B": [1], "C": [2, 3]}])
def test_each_row_and_each_end_comes_once_wherever_it_is_killed(rows: Rows) -> None:
    whole = [event for step in steps(Database(rows), asked(rows)) for event in step[0]]
    delivered: list[Event] = []
    for events, state in steps(Database(rows), asked(rows)):
        delivered += events
        again = delivered + [event for step in steps(Database(rows), state) for event in step[0]]
        assert [key for _, key, _ in marks(again)] == [key for _, key, _ in marks(whole)]
        assert scanned(again) == scanned(whole)
        of_all = [mark for _, _, mark in marks(again)]
        assert (of_all.count("first"), of_all.count("last")) == (1, 1)


@pytest.mark.parametrize("too_old", range(6))
def test_what_is_left_is_read_at_a_later_scn_when_the_first_is_too_old(too_old: int) -> None:
    rows = {"A": [1, 2, 3], "B": [4, 5]}
    events = [event for step in steps(Database(rows, too_old), asked(rows)) for event in step[0]]
    assert [key for _, key, _ in marks(events)] == [1, 2, 3, 4, 5]
    assert [mark for _, _, mark in marks(events)].count("first") == 1
    assert marks(events)[-1] == ("B", 5, "last")


def test_a_table_that_cannot_be_read_ends_with_its_error_and_the_others_are_read() -> None:
    rows = {"BROKEN": [1, 2], "C": [3]}
    events = [event for step in steps(Database(rows), asked(rows)) for event in step[0]]
    assert [key for _, key, _ in marks(events)] == [1, 2, 3]
    assert scanned(events) == [("P.S.BROKEN", "SQL_EXCEPTION", "2"), ("P.S.C", "SUCCEEDED", "1")]


@pytest.mark.parametrize("broken", FAILURES)
def test_a_table_that_cannot_be_read_fails_alone(broken: str) -> None:
    rows = {"A": [1], broken: [2], "C": [3]}
    taken = list(steps(Database(rows), asked(rows)))
    delivered = [event for events, _ in taken for event in events]
    assert ("P.S." + broken, "SQL_EXCEPTION", "1") in scanned(delivered)
    assert {"P.S.A", "P.S.C"} <= {name for name, status, _ in scanned(delivered) if status == "SUCCEEDED"}
    assert taken[-1][1].snapshots == (), "it is not taken up again at a restart"


@pytest.mark.parametrize("broken", FOR_EVER)
def test_a_select_that_fails_at_every_try_is_given_up(broken: str) -> None:
    rows = {"A": [1], broken: [2], "C": [3]}
    taken = list(itertools.islice(steps(Database(rows), asked(rows)), 1000))
    assert ("P.S." + broken, "SQL_EXCEPTION", "1") in scanned([event for events, _ in taken for event in events])
    assert taken[-1][1].snapshots == ()


def test_a_database_that_went_away_is_not_taken_for_a_failure_of_the_select() -> None:
    class Away(Database):
        reached = False

        def written_scn(self) -> int:
            if self.reached:
                raise TransientSourceError("ORA-12541")
            self.reached = True
            return super().written_scn()

    rows: Rows = {"LINKED": []}
    with pytest.raises(TransientSourceError):
        list(itertools.islice(steps(Away(rows), asked(rows)), 1000))


@pytest.mark.parametrize("initial", [True, False])
def test_a_table_that_was_never_read_is_suspended(initial: bool) -> None:
    """What the initial snapshot left must not be missing without a word; a snapshot of a user's signal is only answered."""
    state = asked({"A": [1], "HIDDEN": []})
    state = replace(state, snapshots=(replace(state.snapshots[0], initial=initial),))
    delivered = [event for events, _ in steps(Database({"A": [1], "HIDDEN": []}), state) for event in events]
    changes = [event for event in delivered if isinstance(event, SuspensionChange)]
    assert [change.table for change in changes] == (["S.HIDDEN"] if initial else [])
    assert all(change.suspended and "resume-table" in change.suspended.fix for change in changes)


def test_a_table_with_a_select_that_fails_is_not_said_to_be_read_by_it_again() -> None:
    (snapshot,) = asked({"HIDDEN": []}).snapshots
    tables = (replace(snapshot.tables[0], condition="SELECT ID FROM S.HIDDEN WHERE LIVE = 1"),)
    state = SignalState((replace(snapshot, initial=True, tables=tables),))
    delivered = [event for events, _ in steps(Database({"HIDDEN": []}), state) for event in events]
    (fix,) = [one.suspended.fix for one in delivered if isinstance(one, SuspensionChange) and one.suspended]
    assert "without its SELECT" in fix


def test_a_resumed_table_is_not_read_below_the_changes_that_the_stream_leaves_out() -> None:
    """As where a redo thread was opened meanwhile, which has written nothing for a while."""
    asked = AdHocSnapshot("b", True, (), (TableRead("S.A"),))
    resumed = Resumption("S.A", "r", SCN, SCN + 30, phase="done", answered=True)
    _, state = next(steps(Database({"A": [1]}), SignalState((asked,), resuming=(resumed,))))
    assert state.snapshots[0].scn == SCN + 30


@pytest.mark.parametrize("condition", ["", "SELECT * FROM S.A"], ids=["by ROWID", "by a SELECT"])
def test_rows_that_cannot_be_compared_with_a_newer_change_are_read_after_it(condition: str) -> None:
    """Those of a table without a key: a SELECT reads no ROWID, by which the stream knows the row that went."""
    keyless = replace(shape(A), key=())
    known = KnownTables(lambda _: keyless, lambda _: None, TableNames("P"))
    blocking, stop = BlockingSnapshots(Database({"A": [1]}), known, lambda: 0), threading.Event()
    state = SignalState((AdHocSnapshot("b", True, (), (TableRead("S.A", condition=condition),)),))
    ((_, state),) = blocking.step(state, SCN, SCN, 0, stop)
    assert state.snapshots[0].scn == SCN
    newer = TransactionInfo("x", Scn(0), Scn(SCN + 10), 0, 0, 1, None)
    blocking.changes.note(ChangeEvent(Op.DELETE, keyless, ("1",), None, Scn(SCN), 0, newer, 1, "R001"))
    assert not list(blocking.step(state, SCN - 2, SCN + 10, 0, stop)), "the stream has to come to the SCN"
    made = list(blocking.step(state, SCN + 9, SCN + 10, 0, stop))
    assert made[0][1].snapshots[0].scn == (SCN + 10 if condition else SCN)
    reads = [event for events, _ in made for event in events if isinstance(event, ChangeEvent)]
    assert [event.scn for event in reads] == ([SCN + 10] if condition else [])
    assert made[-1][1] == SignalState()
