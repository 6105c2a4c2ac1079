"""Signals as they come: rows, records, lines; tables that patterns name; the stored state."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from minercdc.errors import SchemaHistoryError
from minercdc.schema.table import TableId
from minercdc.schema.table_filter import names
from minercdc.signals.channels import SignalFile, SignalJournal, append
from minercdc.stream.offset import AdHocSnapshot, Offset, SignalState, TableRead
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes
from minercdc.stream.signal import ExecuteSnapshot, Signal, SignalRefused, action_of, signal_of_json, signal_of_row

ORDERS = TableId("ORCLPDB1", "C##SHOP", "ORDERS$1")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ORCLPDB1.C##SHOP.ORDERS$1", True),
        ("orclpdb1.c##shop.orders$1", True),
        ("C##SHOP.ORDERS$1", True),
        (r"ORCLPDB1\.C##SHOP\.ORDERS.*", True),
        (r".*", True),
        ("ORDERS.*", False),
        ("ORCLPDB1.C##SHOP.ORDERS", False),
    ],
)
def test_patterns_are_anchored_and_plain_names_need_no_escapes(pattern: str, expected: bool) -> None:
    assert names(pattern, ORDERS) is expected


def test_conditions_and_surrogate_key_are_debeziums() -> None:
    data = {
        "data-collections": ["A.B.C"],
        "type": "BLOCKING",
        "surrogate-key": "N",
        "additional-conditions": [{"data-collection": "S.T", "filter": "color='blue'"}],
        "additional-condition": "old = 1",
    }
    action = action_of(Signal("1", "execute-snapshot", json.dumps(data), "source"))
    assert isinstance(action, ExecuteSnapshot)
    assert action.blocking
    assert action.surrogate_key == "N"
    assert action.condition(TableId("P", "S", "T")) == "color='blue'"
    assert action.condition(TableId("P", "S", "U")) == "old = 1"


def test_a_row_is_read_by_position_and_a_document_by_name() -> None:
    assert signal_of_row(("7", "log", None)) == Signal("7", "log", "", "source")
    assert signal_of_json('{"type": "log", "data": {"message": "m"}}', "kafka").id == ""
    with pytest.raises(SignalRefused, match="three columns"):
        signal_of_row(("7", "log"))
    for text in ("nonsense", "[]", '{"id": "1"}', '{"type": "log", "data": 5}'):
        with pytest.raises(SignalRefused):
            signal_of_json(text, "kafka")


@pytest.mark.parametrize(
    "value",
    ["[" * 2_000, "[" * 500 + "]" * 500, "[" * 100_000 + "]" * 100_000, r'"\ud800"', '{"a":' * 1_500 + "1" + "}" * 1_500],
)
def test_json_that_python_cannot_carry_on_is_refused(value: str) -> None:
    with pytest.raises(SignalRefused, match="not JSON"):
        signal_of_json(f'{{"id": "1", "type": "log", "data": {{"message": {value}}}}}', "kafka")
    with pytest.raises(SignalRefused, match="not JSON"):
        action_of(Signal("1", "log", f'{{"message": {value}}}', "source"))


def line(identity: str) -> str:
    return json.dumps({"id": identity, "type": "list-transactions", "data": {}})


def ids(found: object) -> list[str]:
    assert isinstance(found, list)
    return [item.id for item in found]


def test_a_signal_file_is_emptied_only_when_all_of_it_is_durable(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    append(path, line("a"))
    channel = SignalFile(path)
    found, mark = channel.poll("")
    assert ids(found) == ["a"]
    append(path, line("b"))
    channel.stored(mark)
    assert path.read_text().count("\n") == 2, "what came meanwhile is not lost"
    found, mark = channel.poll(mark)
    assert ids(found) == ["b"]
    assert SignalFile(path).poll(mark) == ((), mark), "after a kill nothing is acted on twice"
    channel.stored(mark)
    assert path.read_text() == ""
    append(path, line("a"))
    append(path, line("b"))
    found, _ = channel.poll(mark)
    assert ids(found) == ["a", "b"], "the same lines once more are signals once more"


def test_the_same_line_after_a_stop_is_a_signal_once_more(tmp_path: Path) -> None:
    """The process ended after it had emptied the file, and before it had stored that its mark is not needed any more."""
    path = tmp_path / "signals"
    append(path, line("a"))
    os.utime(path, ns=(7, 7))
    channel = SignalFile(path)
    found, mark = channel.poll("")
    assert (ids(found), SignalFile(path).poll(mark)) == (["a"], ((), mark))
    channel.stored(mark)
    assert path.read_text() == ""
    append(path, line("a"))
    found, again = SignalFile(path).poll(mark)
    assert (ids(found), again != mark) == (["a"], True)
    last = SignalFile(path)
    assert last.poll(again) == ((), again)
    last.stored(again)
    assert path.read_text() == ""


@pytest.mark.parametrize("known", [True, False], ids=["whole", "of an earlier version"])
def test_what_follows_the_taken_lines_is_read_whenever_it_was_written(known: bool, tmp_path: Path) -> None:
    path = tmp_path / "signals"
    append(path, line("a"))
    os.utime(path, ns=(7, 7))
    _, mark = SignalFile(path).poll("")
    mark = mark if known else mark.rpartition(" ")[0]
    assert SignalFile(path).poll(mark) == ((), mark)
    append(path, line("b"))
    found, _ = SignalFile(path).poll(mark)
    assert ids(found) == ["b"]


def test_lines_of_a_file_that_are_no_signals_are_reported_and_half_a_line_waits(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    path.write_text("nonsense\n\n" + line("a") + "\n" + line("b"))
    found, mark = SignalFile(path).poll("")
    assert [type(item).__name__ for item in found] == ["SignalRefused", "Signal"]
    with path.open("a") as file:
        file.write("\n")
    found, _ = SignalFile(path).poll(mark)
    assert ids(found) == ["b"]


def test_a_line_that_a_killed_writer_left_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / "signals"
    path.write_text('{"id": "torn", "ty')
    append(path, line("a"))
    found, _ = SignalFile(path).poll("")
    assert ids(found) == ["", "a"]
    assert isinstance(found[0], SignalRefused)


def test_a_journal_outlives_its_process_and_gives_each_signal_once(tmp_path: Path) -> None:
    pause = Signal("p", "pause-snapshot", {}, "http")

    def journal(name: str = "shop/1") -> SignalJournal:
        return SignalJournal(tmp_path / "state", name, "http")

    assert journal().poll("") == ((), "")
    journal().put(pause)
    found, mark = journal().poll("")
    assert found == [pause]
    assert journal().poll("") == (found, mark), "until it is stored that it was acted on"
    assert journal().poll(mark) == ((), mark)
    assert journal("shop/2").poll("") == ((), "")
    last = journal()
    last.poll("")
    last.stored(mark)
    journal().put(pause)
    found, _ = journal().poll(mark)
    assert found == [pause], "the same signal once more, though it was killed before the first was forgotten"


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        (
            "execute-snapshot",
            {"data-collections": ["S.T"], "additional-condition ": "A = 1"},
            "data has additional-condition ;",
        ),
        (
            "stop-snapshot",
            {"data-colections": ["S.T"]},
            "data has data-colections; stop-snapshot knows data-collections, type",
        ),
        ("list-transactions", {"x": 1}, "data has x"),
        (
            "execute-snapshot",
            {
                "data-collections": ["S.T"],
                "additional-conditions": [{"data-collection": "S.T", "filter": "A", "where": "B"}],
            },
            "nothing else",
        ),
        (
            "execute-snapshot",
            {"data-collections": ["S.T"], "additional-condition": "1=1) OR (1=1"},
            "parentheses of filter 1=1)",
        ),
        ("execute-snapshot", {"data-collections": ["S.T"], "additional-condition": "(A = ')'"}, "parentheses"),
        ("execute-snapshot", {"data-collections": ["S.T"], "additional-condition": " -- all"}, "no condition and no SELECT"),
        (
            "execute-snapshot",
            {
                "data-collections": ["S.T"],
                "type": "blocking",
                "additional-conditions": [{"data-collection": "S.T", "filter": "/* later */ ;"}],
            },
            "no condition and no SELECT",
        ),
    ],
)
def test_what_would_request_something_else_than_was_meant_is_refused(
    kind: str, data: dict[str, object], reason: str
) -> None:
    with pytest.raises(SignalRefused) as refused:
        action_of(Signal("1", kind, json.dumps(data), "source"))
    assert reason in refused.value.reason


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_what_follows_a_filter_is_taken_off(kind: str) -> None:
    conditions = [{"data-collection": "S.T", "filter": "A = ';' /* red */ ; -- later"}]
    data = {"data-collections": ["S.T"], "type": kind, "additional-conditions": conditions}
    action = action_of(Signal("1", "execute-snapshot", json.dumps(data), "source"))
    assert isinstance(action, ExecuteSnapshot)
    assert action.condition(TableId("P", "S", "T")) == "A = ';'"


@pytest.mark.parametrize("text", ["A IN (1, (2))", "A = ':-)'", "A = 1 -- a note)\nAND B = 2", '"B)" = 1 /* ( */ OR B = 2'])
def test_parentheses_in_texts_names_and_comments_are_none(text: str) -> None:
    data = {"data-collections": ["S.T"], "additional-condition": text}
    action = action_of(Signal("1", "execute-snapshot", json.dumps(data), "source"))
    assert isinstance(action, ExecuteSnapshot)
    assert action.conditions == ((".*", text),)


def test_members_that_debeziums_manual_sends_with_a_pause_are_taken() -> None:
    data = {"data-collections": ["A.B.C"], "type": "incremental"}
    for kind in ("pause-snapshot", "resume-snapshot", "stop-snapshot"):
        action_of(Signal("1", kind, json.dumps(data), "source"))


STATE = SignalState(
    snapshots=(
        AdHocSnapshot(
            "i", False, ("P.S.T",), (TableRead("S.T", "A > 1", ("A", "ROWID"), ("1", "AAA"), ("9", "AAB"), 5, 2),), "A"
        ),
        AdHocSnapshot("b", True, ("P.S.T",), (), "", 2**60, True, 7),
    ),
    paused=True,
    drops=(("d", "0" * 16),),
    taken={"kafka": "17"},
)


def test_the_state_is_stored_with_the_offset_and_comes_back() -> None:
    offset = Offset("logminer", {"x": 1}, signals=STATE)
    assert offset_from_bytes(offset_to_bytes(offset), "here") == offset
    assert b"signals" not in offset_to_bytes(Offset("logminer", {"x": 1}))


def test_a_state_of_a_newer_program_is_refused_rather_than_lost() -> None:
    document = json.loads(offset_to_bytes(Offset("logminer", {"x": 1}, signals=STATE)))
    document["signals"]["snapshots"][0]["priority"] = 1
    with pytest.raises(SchemaHistoryError, match="priority"):
        offset_from_bytes(json.dumps(document).encode(), "here")
