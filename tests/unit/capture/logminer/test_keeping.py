"""Transactions that are kept over restarts: what comes after one is what came without it, and their redo is not read again."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.native_pair import IS_NATIVE
from tests.unit.capture.logminer.redo import ANY_PASS, A, B, C, Miner, Redo, changes, partial, positions, unprinted, xid

from minercdc.capture.logminer.adapter import BUFFERED
from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.kept.files import KeptFile, KeptFiles
from minercdc.capture.logminer.kept.keeping import Keeping, KeepingRules, captured_tables, unusable
from minercdc.capture.logminer.position import LogMinerPosition, RedoAddress
from minercdc.capture.logminer.session.row import LogMinerRow
from minercdc.errors import TransientSourceError
from minercdc.schema.table_filter import TableFilter
from minercdc.stream.events import Event, Progress

ALL = KeepingRules(timedelta(0), "t")
SEEDS, FIRST_SEED = int(os.environ.get("MINERCDC_SEEDS", "8")), int(os.environ.get("MINERCDC_SEED", "0"))
PATHS = [True, False] if IS_NATIVE else [False]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here loses what is not flushed, as those of kills do, nor looks at records."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr("tests.unit.capture.logminer.redo.taken_apart", unprinted)


def miner(directory: Path, start: LogMinerPosition | None = None, *, runs: bool = IS_NATIVE, **other: Any) -> Miner:
    return Miner(directory, start, keep=ALL, runs=runs, on_failure="skip", **other)


def position_of(one: Miner) -> LogMinerPosition:
    return LogMinerPosition.from_json(one.assembly.position().to_json())


def two_passes(directory: Path, redo: Redo, *, runs: bool = IS_NATIVE, **other: Any) -> Miner:
    """The first row of the second pass makes that what came before it is kept."""
    one = miner(directory, runs=runs, **other)
    one.read(redo.rows)
    redo.insert(C, 999)
    one.read(redo.rows)
    return one


def after(rows: list[LogMinerRow], position: LogMinerPosition) -> list[LogMinerRow]:
    """The redo that is left when all before the position is deleted."""
    return [row for row in rows if row.rs_id.strip() >= position.threads[1].resume.rs_id]


@pytest.mark.parametrize("runs", PATHS)
@pytest.mark.parametrize("again", PATHS)
def test_a_kept_transaction_does_not_need_the_redo_of_its_beginning(tmp_path: Path, runs: bool, again: bool) -> None:
    redo = Redo()
    redo.start(A)
    for key in range(5):
        redo.insert(A, key, key)
    one = two_passes(tmp_path, redo, runs=runs)
    position = position_of(one)
    one.assembly.close()
    (kept,) = position.kept
    assert (kept.xid, kept.rows, kept.user, kept.start.rs_id) == (A.hex(), 5, "APP", "0x000001.00000001.0010")
    assert position.threads[1].resume == position.threads[1].kept_to == RedoAddress("0x000001.00000007.0010")
    redo.update(A, 4, 4, 5)
    redo.commit(A)
    two = miner(tmp_path, position, runs=again)
    events = two.read(after(redo.rows, position))
    assert changes(events) == [("c", str(key)) for key in range(5)] + [("u", "4")]
    assert events[-2].tx.user == "APP"  # type: ignore[union-attr]
    assert A.hex() not in [one.xid for one in position_of(two).kept]


def test_without_the_rule_of_waiting_nothing_is_kept_before_a_log_switch(tmp_path: Path) -> None:
    redo = Redo()
    redo.start(A)
    redo.insert(A, 1)
    old, young = KeepingRules(timedelta(seconds=3), "t"), KeepingRules(timedelta(seconds=60), "t")
    for rules, kept in ((old, True), (young, False)):
        one = Miner(tmp_path, keep=rules)
        one.read(redo.rows)
        more = Redo(sequence=1, scn=110, block=9)
        more.insert(B, 2)
        one.read(redo.rows + more.rows)
        assert position_of(one).kept == ()
        more.sequence, more.block = 2, 0
        more.insert(B, 3)
        one.read(redo.rows + more.rows)
        assert [one.xid for one in position_of(one).kept] == ([A.hex()] if kept else [])
        one.assembly.close()


@pytest.mark.parametrize("runs", PATHS)
def test_undo_of_kept_rows_is_kept(tmp_path: Path, runs: bool) -> None:
    redo = Redo()
    for key in range(4):
        redo.insert(A, key)
    one = two_passes(tmp_path, redo, runs=runs, memory_max=1)
    redo.undo_insert(A, 3)
    redo.undo_insert(A, 2)
    redo.insert(A, 7)
    one.read(redo.rows)
    redo.insert(C, 1000)
    one.read(redo.rows)
    position = position_of(one)
    one.assembly.close()
    assert next(kept.rows for kept in position.kept if kept.xid == A.hex()) == 3
    redo.undo_insert(partial(A), 7)
    redo.commit(A)
    two = miner(tmp_path, position, runs=runs)
    assert changes(two.read(after(redo.rows, position))) == [("c", "0"), ("c", "1")]


@pytest.mark.parametrize("runs", PATHS)
def test_the_slots_earlier_transactions_are_not_taken_for_it(tmp_path: Path, runs: bool) -> None:
    """Rows of an older transaction of the same undo slot come by a partial XID, when the redo is read again because of another."""
    older = A[:4] + (900).to_bytes(4, "little")
    redo = Redo()
    redo.insert(older, 1)
    redo.undo_insert(partial(older), 1)
    redo.insert(B, 2)
    redo.rollback(partial(older))
    redo.start(A)
    redo.insert(A, 3)
    redo.insert(A, 4)
    redo.undo_insert(partial(A), 4)
    rules = KeepingRules(timedelta(0), "t")
    one = Miner(tmp_path, keep=rules, runs=runs)
    one.read(redo.rows)
    redo.insert(C, 5)
    one.read(redo.rows)
    position = position_of(one)
    # B is not kept, so the range is mined again from it on.
    position = position.mined_again(lambda kept: kept.xid != A.hex())
    assert position.threads[1].resume.rs_id == redo.rows[2].rs_id.strip()
    redo.commit(A)
    redo.commit(B)
    redo.commit(C)
    again = miner(tmp_path, position, runs=runs)
    assert changes(again.read(redo.rows)) == [("c", "3"), ("c", "2"), ("c", "5")]


@pytest.mark.parametrize("runs", PATHS)
def test_undo_without_address_does_not_wait_for_the_transactions_of_another_thread(tmp_path: Path, runs: bool) -> None:
    first, second = Redo(), Redo(thread=2, scn=200)
    first.insert(B, 1)  # not kept, so both threads are mined from their beginning
    first.insert(A, 2)
    first.insert(A, 3)
    second.insert(xid(4), 4)
    second.insert(xid(5), 5)
    begun = [*first.rows, *second.rows]
    one = miner(tmp_path, runs=runs)
    one.read(begun)
    first.insert(C, 6, scn=300)
    second.insert(xid(6), 7, scn=301)
    floors = [first.rows[-1], second.rows[-1]]
    one.read([*begun, *floors])
    position = position_of(one).mined_again(lambda kept: kept.xid not in (A.hex(), xid(5).hex()))
    one.assembly.close()
    again = miner(tmp_path, position, runs=runs)
    first.undo_insert(partial(A), 3, rs_id=" 0x000000.00000000.0000 ", scn=250)
    early = first.rows[-1]
    first.commit(A, scn=302)
    assert changes(again.read([*begun, early, floors[0], first.rows[-1], floors[1]])) == [("c", "2")]


@pytest.mark.skipif(not IS_NATIVE, reason="of the native path")
def test_records_before_a_sleeping_transaction_wakes_stay_native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redo = Redo()
    redo.insert(B, 1)
    redo.insert(A, 2)
    for key in range(100, 200):
        redo.insert(xid(key), key)
        redo.commit(xid(key))
    position = position_of(two_passes(tmp_path, redo)).mined_again(lambda kept: kept.xid != A.hex())
    met: list[str] = []
    meet = Keeping.meet

    def counted(self: Keeping, row: LogMinerRow, rs_id: str) -> None:
        met.append(rs_id)
        meet(self, row, rs_id)

    monkeypatch.setattr(Keeping, "meet", counted)
    redo.commit(A)
    redo.commit(B)
    again = miner(tmp_path, position)
    assert changes(again.read(redo.rows)) == [("c", "2"), ("c", "1")]
    assert 2 <= len(met) < 6


@pytest.mark.parametrize("runs", PATHS)
def test_a_rolled_back_transaction_goes_with_its_files_once_that_is_stored(tmp_path: Path, runs: bool) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo, runs=runs)
    before = one.assembly.position()
    file = one.files.directory / before.kept[0].files[0].name
    redo.rollback(A)
    one.read(redo.rows)
    one.files.confirm(before)
    assert file.exists()
    now = one.assembly.position()
    assert A.hex() not in [kept.xid for kept in now.kept]
    one.files.confirm(now)
    assert not file.exists()


def test_files_that_no_offset_names_are_removed_by_the_owner(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo)
    position = position_of(one)
    stray = one.files.directory / "0000000000000000.rows"
    stray.write_bytes(b"of a run that stored no offset")
    two = miner(tmp_path, position)
    assert stray.exists()
    two.read(redo.rows)
    two.files.confirm(two.assembly.position())
    assert not stray.exists()
    assert unusable(position, two.files, ALL) == {}


def damage(directory: Path, position: LogMinerPosition) -> Iterator[str]:
    """Each damage to the only file of a position, and back."""
    (file,) = (directory / part.name for part in position.kept[0].files)
    whole = file.read_bytes()
    for place in random.Random(7).sample(range(len(whole)), 12):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        yield f"bit of byte {place}"
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        yield f"cut to {length}"
    file.unlink()
    yield "removed"
    file.write_bytes(whole)


@pytest.mark.parametrize("runs", PATHS)
def test_a_damaged_file_is_noticed_and_its_transaction_mined_again(tmp_path: Path, runs: bool) -> None:
    redo = Redo()
    redo.start(A)
    for key in range(20):
        redo.insert(A, key)
    redo.insert(B, 100)
    redo.commit(B)
    one = two_passes(tmp_path, redo, runs=runs)
    position = position_of(one)
    one.assembly.close()
    redo.commit(A)
    redo.commit(C)
    expected = [("c", str(key)) for key in range(20)] + [("c", "999")]
    for what in damage(one.files.directory, position):
        two = miner(tmp_path, position, runs=runs)
        assert [kept.xid for kept, _ in two.lost] == [A.hex()], what
        assert two.assembly.position().threads[1].resume.rs_id == "0x000001.00000001.0010"
        assert changes(two.read(redo.rows)) == expected, what
        two.assembly.close()
    two = miner(tmp_path, position, runs=runs)
    assert two.lost == ()
    assert changes(two.read(after(redo.rows, position))) == expected


@pytest.mark.parametrize("runs", PATHS)
def test_a_file_that_is_damaged_while_it_is_in_use_makes_a_restart(tmp_path: Path, runs: bool) -> None:
    redo = Redo()
    for key in range(20):
        redo.insert(A, key)
    one = two_passes(tmp_path, redo, runs=runs)
    (file,) = (one.files.directory / part.name for part in position_of(one).kept[0].files)
    file.write_bytes(file.read_bytes()[:-9] + b"x" * 9)
    redo.commit(A)
    with pytest.raises(TransientSourceError, match=file.name):
        one.read(redo.rows)


@pytest.mark.parametrize("runs", PATHS)
def test_a_file_that_is_removed_while_it_is_written_is_named_by_no_position(tmp_path: Path, runs: bool) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo, runs=runs)
    (file,) = (one.files.directory / part.name for part in position_of(one).kept[0].files)
    file.unlink()
    redo.insert(A, 2)
    with pytest.raises(TransientSourceError, match="removed"):
        one.read(redo.rows)


def test_a_run_that_breaks_within_a_transaction_leaves_no_file_open(tmp_path: Path) -> None:
    redo = Redo()
    for key in range(20):
        redo.insert(A, key)
    one = two_passes(tmp_path, redo)
    assert position_of(one).kept
    gc.collect()  # what earlier tests have left open is not closed meanwhile
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    redo.commit(A)
    one.assembly.begin_pass(ANY_PASS)
    events = iter(one.take(redo.rows[-1:]))
    next(events)
    events.close()  # type: ignore[attr-defined]
    one.assembly.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files - 1
    assert list(one.files.directory.glob("*.rows"))


def test_what_was_written_after_the_stored_offset_does_not_count(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo)
    position = position_of(one)
    redo.insert(A, 2)
    one.read(redo.rows)
    redo.insert(C, 1000)
    one.read(redo.rows)
    assert position_of(one).kept[0].files[0].length > position.kept[0].files[0].length
    redo.commit(A)
    two = miner(tmp_path, position)
    assert changes(two.read(after(redo.rows, position))) == [("c", "1"), ("c", "2")]


def test_other_tables_make_it_mined_again(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo)
    other = Miner(tmp_path, position_of(one), keep=KeepingRules(timedelta(0), "other"))
    assert [reason for _, reason in other.lost] == ["the captured tables have changed since its rows were kept"]
    none = Miner(tmp_path, position_of(one))
    assert len(none.lost) == 1


def test_many_restarts_leave_few_files(tmp_path: Path) -> None:
    redo, position = Redo(), None
    for key in range(20):
        redo.insert(A, key)
        one = miner(tmp_path, position)
        one.read(redo.rows)
        redo.insert(C, 1000 + key)
        one.read(redo.rows)
        one.files.confirm(one.assembly.position())
        position = position_of(one)
        one.assembly.close()
    assert position is not None
    assert len(position.kept) == 2
    assert all(len(kept.files) <= 10 for kept in position.kept)
    assert len(list(one.files.directory.iterdir())) <= 20
    redo.commit(A)
    assert changes(miner(tmp_path, position).read(after(redo.rows, position))) == [("c", str(key)) for key in range(20)]


@pytest.mark.parametrize("runs", PATHS)
def test_a_fenced_process_that_still_runs_does_no_harm(tmp_path: Path, runs: bool) -> None:
    """It goes on reading and writing its files; it stores nothing, so nothing is confirmed. What it leaves a later run removes."""
    redo = Redo()
    for key in range(5):
        redo.insert(A, key)
    old = two_passes(tmp_path, redo, runs=runs)
    position = position_of(old)
    new = miner(tmp_path, position, runs=runs)
    redo.undo_insert(A, 4)
    redo.insert(A, 6)
    old.read(redo.rows)
    redo.insert(C, 1000)
    for one in (old, new, old):
        one.read(after(redo.rows, position))
    stored = new.assembly.position()
    new.files.confirm(stored)
    redo.rollback(C)
    redo.commit(A)
    expected = [("c", str(key)) for key in range(4)] + [("c", "6")]
    old.read(redo.rows)
    old.assembly.close()
    third = miner(tmp_path, LogMinerPosition.from_json(stored.to_json()), runs=runs)
    assert third.lost == ()
    assert changes(third.read(after(redo.rows, stored))) == expected
    assert changes(new.read(redo.rows)) == expected


class History:
    """Sessions by turns in a few undo slots, over log switches; with undo, rows without address, rolled back and partial XIDs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.redo = Redo()
        self.done: dict[int, tuple[bytes, list[int]]] = {}
        self.used = 0
        self.key = 0
        self.committed: list[int] = []

    def make(self, steps: int) -> list[LogMinerRow]:
        for _ in range(steps):
            self.step()
        for transaction, keys in self.done.values():
            self.redo.commit(transaction)
            self.committed += keys
        return self.redo.rows

    def step(self) -> None:
        redo, pick, slot = self.redo, self.random.random(), self.random.randrange(5)
        if pick < 0.06:
            redo.sequence, redo.block = redo.sequence + 1, 0
            return
        if slot not in self.done:
            self.used += 1
            self.key += 1
            transaction = xid(slot)[:4] + self.used.to_bytes(4, "little")
            self.done[slot] = (transaction, [self.key])
            if pick < 0.8:
                redo.start(transaction)
            redo.insert(transaction, self.key)
            return
        transaction, keys = self.done[slot]
        if pick < 0.6:
            self.key += 1
            keys.append(self.key)
            last = redo.rows[-1].rs_id
            shared: dict[str, Any] = (
                {"rs_id": last} if self.random.random() < 0.2 and redo.block and last.strip(" 0x.") else {}
            )
            redo.insert(transaction, self.key, **shared)
        elif pick < 0.8 and keys:
            # Of which it is read once more, and has to be recognized.
            other = {"rs_id": " 0x000000.00000000.0000 "} if self.random.random() < 0.2 else {}
            redo.undo_insert(partial(transaction) if self.random.random() < 0.5 else transaction, keys.pop(), **other)
            if self.random.random() < 0.3:  # the end of a ROLLBACK TO SAVEPOINT
                redo.rollback(partial(transaction), rs_id=" 0x000000.00000000.0000 ")
        elif pick < 0.85:
            for key in reversed(keys):
                redo.undo_insert(partial(transaction) if self.random.random() < 0.5 else transaction, key)
            redo.rollback(partial(transaction))
            del self.done[slot]
        elif pick < 0.95:
            redo.commit(transaction)
            self.committed += keys
            del self.done[slot]


def keep_some(patch: pytest.MonkeyPatch, some: int) -> None:
    """Of so many transactions one is kept: for the others redo is mined again that files have."""
    due = Keeping._is_due

    def is_due(self: Keeping, transaction: Transaction, *given: Any) -> bool:
        return transaction.key[1][4] % some == 0 and due(self, transaction, *given)

    patch.setattr(Keeping, "_is_due", is_due)


def play(directory: Path, seed: int) -> int:
    """Each run reads some passes and stores some of its positions; the next may take the other path, after the redo before the
    position was deleted. How often a stored position named a kept transaction."""
    choose, history = random.Random(seed), History(seed)
    rows = history.make(150)
    expected = [("c", str(key)) for key in history.committed]
    assert changes(Miner(directory, runs=False).read(rows)) == expected
    stored: list[Event] = []
    position: LogMinerPosition | None = None
    met = end = 0
    while end < len(rows):
        one = miner(directory, position, runs=choose.choice(PATHS), memory_max=choose.choice((500, 1 << 30)))
        assert one.lost == (), seed
        pending: list[Event] = []
        for _ in range(choose.randrange(1, 5)):
            end = min(max(end, choose.randrange(len(rows) + 40)) if end else 1, len(rows))
            end = min(end + choose.randrange(20), len(rows))
            available = [row for row in rows[:end] if position is None or not is_gone(row, position)]
            for event in [*one.read(available), one.assembly.idle(0)]:
                pending.append(event)
                if isinstance(event, Progress) and (choose.random() < 0.5 or end == len(rows)):
                    stored += pending
                    pending.clear()
                    assert isinstance(event.position, LogMinerPosition)
                    one.files.confirm(event.position)
                    new = LogMinerPosition.from_json(event.position.to_json())
                    assert position is None or not new.precedes(position)
                    position = new
                    met += len(new.kept)
        one.assembly.close()
    assert changes(stored) == expected, seed
    return met


def play_all(directory: Path, seeds: Iterable[int]) -> None:
    assert sum(play(directory, seed) for seed in seeds)


@pytest.mark.parametrize("some", [1, 2, 3])
def test_restarts_anywhere_miss_and_repeat_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some: int) -> None:
    keep_some(monkeypatch, some)
    play_all(tmp_path, range(3 * FIRST_SEED + some, 3 * (FIRST_SEED + SEEDS), 3))


# ---- one rule is taken away at a time, and missed ----


def _awake_at_once(patch: pytest.MonkeyPatch) -> None:
    former = Keeping.__init__

    def init(self: Keeping, *given: Any) -> None:
        former(self, *given)
        for thread in list(self._asleep):
            self._wake(thread)

    patch.setattr(Keeping, "__init__", init)


class _Nothing(dict[int, Any]):
    def get(self, key: int, default: Any = None) -> Any:
        return default


def _no_floor(patch: pytest.MonkeyPatch) -> None:
    former = Keeping.__init__

    def init(self: Keeping, *given: Any) -> None:
        former(self, *given)
        self.floors = _Nothing(self.floors)

    patch.setattr(Keeping, "__init__", init)


def _not_named(patch: pytest.MonkeyPatch) -> None:
    former = LogMinerPosition.to_json

    def to_json(self: LogMinerPosition) -> Any:
        saved = former(self)
        saved.pop("kept", None)
        return saved

    patch.setattr(LogMinerPosition, "to_json", to_json)


def _removed_at_once(patch: pytest.MonkeyPatch) -> None:
    def retire(self: KeptFiles, names: Sequence[str]) -> None:
        for name in () if self.closing else names:
            self.remove(name)

    patch.setattr(KeptFiles, "retire", retire)


def _undo_is_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeptFile, "_cut", lambda self: None)


RULES = {
    "a transaction sleeps until the redo after its files": _awake_at_once,
    "a restart mines from where the files end": _no_floor,
    "a position names what is kept": _not_named,
    "files stay until an offset without them is stored": _removed_at_once,
    "what is taken back is taken back in the file": _undo_is_not_kept,
}


@pytest.mark.parametrize("rule", RULES)
def test_a_missing_rule_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr("tests.unit.capture.logminer.test_keeping.PATHS", [False])
    keep_some(monkeypatch, 2)
    RULES[rule](monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        play_all(tmp_path, range(40))


def is_gone(row: LogMinerRow, position: LogMinerPosition) -> bool:
    """Whether its log was deleted. Rows without address lie in some log; here they stay."""
    mark = position.threads.get(row.thread)
    return (
        mark is not None and bool(row.rs_id.strip(" 0x.")) and RedoAddress(row.rs_id.strip()).sequence < mark.resume.sequence
    )


def test_positions_have_what_is_looked_for(tmp_path: Path) -> None:
    redo = Redo()
    redo.insert(A, 1)
    one = two_passes(tmp_path, redo)
    assert positions([one.assembly.idle(0)])[0].kept


def test_rows_are_kept_for_the_signal_table_of_any_pluggable_database() -> None:
    """Where it is another one now, a transaction may have had rows of it that were left out."""
    usual, signals = TableFilter(table_include=["S.T"]), frozenset({("S", "SIGNALS")})
    config = SimpleNamespace(
        log_mining=SimpleNamespace(
            minercdc_log_mining_buffer_durable="files", minercdc_log_mining_buffer_durable_after_ms=0
        ),
        capture=SimpleNamespace(lob_enabled=False),
    )
    found = {}
    for place in ((), ("A",), ("B",), ("A", "B")):
        filters = {name: replace(usual, also=signals if name in place else frozenset(), database=name) for name in "AB"}
        pdbs = [SimpleNamespace(database=name, mined=mined) for name, mined in filters.items()]
        context: Any = SimpleNamespace(config=config, mined=filters["A"], pdbs=pdbs)
        rules = BUFFERED._rules(context, ("A", "B"))
        assert rules is not None
        found[place] = rules.tables
    assert found[()] != found["A",] == found["B",] == found["A", "B"]
    assert captured_tables(usual, ("A", "B")) == found[()], "without one the digits are those of before"


def test_an_instance_that_stood_still_after_a_commit_removes_no_file_of_its_successor(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, "c")
    files.directory.mkdir(parents=True)
    left, made = files.directory / "left.rows", files.directory / "made.rows"
    left.touch()
    files.begin()
    # It has stored its first offset and stands still. Another instance takes over and keeps a transaction.
    made.touch()
    files.confirm(LogMinerPosition())
    assert made.exists()
    assert not left.exists()
