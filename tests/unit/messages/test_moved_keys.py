"""Rows that give each other their keys within a transaction: the newest record of each key is the row that has it at the end."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.messages.test_envelope import LOG, ORDERS, TX, encoder, event

from minercdc.messages.envelope.encoder import EnvelopeEncoder
from minercdc.messages.moved_keys import MovedKeys, is_checked_late
from minercdc.pipeline.engine import skip_sent
from minercdc.schema.table import Key
from minercdc.stream.contracts import Record
from minercdc.stream.events import UNAVAILABLE, ChangeEvent, Op, Row
from minercdc.stream.offset import PartialTransaction

OTHER = replace(TX, id="0100010047010000")


def row(key: int, status: str) -> Row:
    return (str(key), status, "15", None)


def moved(name: str, old: int, new: int, tx: object = TX) -> ChangeEvent:
    return event(Op.UPDATE, row(old, name), row(new, name), row_id=name, tx=tx)


def gone(name: str, key: int) -> ChangeEvent:
    return event(Op.DELETE, row(key, name), None, row_id=name)


def new(name: str, key: int) -> ChangeEvent:
    return event(Op.CREATE, None, row(key, name), row_id=name)


def records(events: Iterable[ChangeEvent], one: EnvelopeEncoder | None = None) -> list[Record]:
    one = one or encoder()
    return [record for change in events for record in one.encode(change)]


def newest(found: Sequence[Record], start: dict[int, str]) -> dict[int, str]:
    """What a reader has that keeps the newest record of each key."""
    rows = dict(start)
    for record in found:
        key = json.loads(record.key or b"")["ORDER_ID"]
        after = json.loads(record.value)["after"] if record.value else None
        rows.pop(key, None)
        if after is not None:
            rows[key] = after["STATUS"]
    return rows


def test_rows_that_swap_their_keys_are_both_there() -> None:
    found = records([moved("A", 1, 2), moved("B", 2, 1)])
    assert newest(found, {1: "A", 2: "B"}) == {1: "B", 2: "A"}
    assert [(json.loads(r.value)["op"] if r.value else None, r.key) for r in found] == [
        ("d", b'{"ORDER_ID":1}'),
        (None, b'{"ORDER_ID":1}'),
        ("c", b'{"ORDER_ID":2}'),
        ("c", b'{"ORDER_ID":1}'),
    ]
    assert found[-1].headers == (("__debezium.oldkey", b'{"ORDER_ID":2}'),)


def test_a_row_that_redo_does_not_hold_in_whole_says_which_key_it_had() -> None:
    """The lake takes what is missing from the row under the old key."""
    last = event(Op.UPDATE, row(2, "B"), ("1", "B", UNAVAILABLE, None), row_id="B")
    found = records([moved("A", 1, 2), last])
    assert [(r.key, r.value is None) for r in found[3:]] == [(b'{"ORDER_ID":1}', False)]
    assert dict(found[3].headers)["__debezium.oldkey"] == b'{"ORDER_ID":2}'


@pytest.mark.parametrize("order", [range(1, 6), range(5, 0, -1), (3, 1, 5, 2, 4)])
def test_all_keys_counted_up_keep_all_rows(order: Sequence[int]) -> None:
    found = records(moved(f"R{key}", key, key + 1) for key in order)
    assert newest(found, {key: f"R{key}" for key in order}) == {key + 1: f"R{key}" for key in order}


def test_one_row_that_goes_on_leaves_nothing() -> None:
    found = records([moved("A", 1, 2), moved("A", 2, 3), moved("B", 7, 2), gone("B", 2)])
    assert newest(found, {1: "A", 7: "B"}) == {3: "A"}


def test_a_key_that_was_given_up_is_free() -> None:
    changes = [moved("A", 1, 2), gone("A", 2), new("B", 2), moved("B", 2, 5)]
    assert newest(records(changes), {1: "A"}) == {5: "B"}


def test_a_delete_of_the_row_that_had_the_key_before_is_left_out() -> None:
    assert newest(records([moved("A", 1, 2), gone("B", 2)]), {1: "A", 2: "B"}) == {2: "A"}


DEFERRED = replace(ORDERS, keys=(Key("P", ("ORDER_ID",), deferrable=True),))


def test_with_a_deferrable_key_a_row_is_inserted_before_the_other_one_goes() -> None:
    changes = [new("B", 2), gone("A", 2), new("C", 3), gone("C", 3), moved("D", 4, 3)]
    late = [replace(one, schema=DEFERRED) for one in changes]
    assert newest(records(late), {2: "A", 4: "D"}) == {2: "B", 3: "D"}
    first, again = encoder(), MovedKeys(lambda table: table.key)
    late = [replace(one, seq=n) for n, one in enumerate(late, 1)]
    rest = skip_sent(iter(late), PartialTransaction(TX.id, TX.commit_scn, 1), again.pass_over)
    second = encoder(lambda: 1, None, again)
    found = records(late[:1], first) + records([one for one in rest if isinstance(one, ChangeEvent)], second)
    assert newest(found, {2: "A", 4: "D"}) == {2: "B", 3: "D"}


@pytest.mark.parametrize(
    ("keys", "late"),
    [
        ([Key("P", ("ORDER_ID",), deferrable=True)], True),
        ([Key("U", ("STATUS",), deferrable=True)], True),
        ([Key("P", ("ORDER_ID",), deferrable=True), Key("U", ("ORDER_ID", "TOTAL"))], True),
        ([Key("P", ("ORDER_ID",), deferrable=True), Key("U", ("STATUS", "ORDER_ID"))], False),
        ([Key("P", ("ORDER_ID",), deferrable=True), Key("U", ("STATUS",))], True),
        ([Key("P", ("ORDER_ID",), deferrable=True), Key("U", ("STATUS", "ORDER_ID"), enabled=False)], True),
        ([Key("P", ("ORDER_ID",), deferrable=True, validated=False)], False),
        ([Key("P", ("ORDER_ID", "TOTAL"), deferrable=True)], False),
        ([], False),
    ],
)
def test_a_record_key_is_checked_late_by_any_deferrable_key_within_it(keys: list[Key], late: bool) -> None:
    """By message.key.columns it may have more columns than the key that makes it unique."""
    assert is_checked_late(replace(ORDERS, keys=tuple(keys)), (0, 1)) is late


def test_another_transaction_knows_nothing_of_it() -> None:
    found = records([moved("A", 1, 2), moved("B", 2, 3, OTHER)])
    assert [record.key for record in found if record.value is None] == [b'{"ORDER_ID":1}', b'{"ORDER_ID":2}']


def test_a_key_that_is_not_known_is_not_judged() -> None:
    keys = MovedKeys(lambda table: table.key)
    assert keys.frees(event(Op.UPDATE, (UNAVAILABLE, "x", None, None), row(2, "x"), row_id="A"))
    assert keys.frees(event(Op.DELETE, row(2, "x"), None, row_id=None))
    assert keys.holds(ORDERS.id)
    assert not keys.holds(LOG.id)


def test_too_many_keys_are_said_and_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    keys = MovedKeys(lambda table: table.key, most=2)
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            keys.frees(moved(f"R{number}", number, number + 100))
    assert caplog.text.count("more than 2 keys") == 2


def test_what_an_earlier_run_delivered_counts() -> None:
    changes = [replace(one, seq=n) for n, one in enumerate([moved("A", 1, 2), moved("B", 2, 1), moved("C", 9, 8)], 1)]
    for delivered in range(4):
        first, again = encoder(), MovedKeys(lambda table: table.key)
        second = encoder(lambda: 1, None, again)
        partial = PartialTransaction(TX.id, TX.commit_scn, delivered)
        rest = [one for one in skip_sent(iter(changes), partial, again.pass_over) if isinstance(one, ChangeEvent)]
        found = records(changes[:delivered], first) + records(rest, second)
        assert newest(found, {1: "A", 2: "B", 9: "C"}) == {1: "B", 2: "A", 8: "C"}


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, str], list[ChangeEvent], dict[int, str]]:
    """Rows before, the changes of a transaction in which keys are unique at the end of each statement, rows after."""
    rows = {key: f"R{key}" for key in draw(st.sets(st.integers(0, 9), min_size=1))}
    start, changes, names = dict(rows), [], 0
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["move", "insert", "delete", "touch"]))
        if kind == "move" and rows:
            chosen = draw(st.lists(st.sampled_from(sorted(rows)), unique=True, min_size=1))
            free = sorted((set(range(12)) - set(rows)) | set(chosen))
            targets = draw(st.permutations(free))[: len(chosen)]
            pairs = [(old, to) for old, to in zip(chosen, targets, strict=True) if old != to]
            changes += [moved(rows[old], old, to) for old, to in pairs]
            left = {key: name for key, name in rows.items() if key not in dict(pairs)}
            rows = left | {to: rows[old] for old, to in pairs}
        elif kind == "insert" and (free := sorted(set(range(12)) - set(rows))):
            names, key = names + 1, draw(st.sampled_from(free))
            rows[key] = f"N{names}"
            changes.append(new(rows[key], key))
        elif kind == "delete" and rows:
            key = draw(st.sampled_from(sorted(rows)))
            changes.append(gone(rows.pop(key), key))
        elif kind == "touch" and rows:
            key = draw(st.sampled_from(sorted(rows)))
            changes.append(event(Op.UPDATE, row(key, rows[key]), row(key, rows[key]), row_id=rows[key]))
    return start, changes, rows


@given(histories())
def test_any_transaction_leaves_its_rows(history: tuple[dict[int, str], list[ChangeEvent], dict[int, str]]) -> None:
    start, changes, end = history
    assert newest(records(changes), start) == end
