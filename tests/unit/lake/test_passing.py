"""Errors of Spark after which the lake's stream is started again, by their text."""

from __future__ import annotations

import traceback
from types import SimpleNamespace
from typing import Any

import pytest

from minercdc.errors import LakeError
from minercdc.lake.stream.app import Lake
from minercdc.lake.stream.passing import LateStarts, hides_outcome, of_another_lake, started_late

OF_QUERY = "[STREAM_FAILED] Query [id = 1] terminated with exception: "


def test_sparks_own_fault_after_a_kill_is_told_from_others() -> None:
    fault = 'Cannot invoke "scala.collection.IterableOps.map(scala.Function1)" because the return value of "scala.Option.get()" is null'
    assert hides_outcome(f"{OF_QUERY}{fault} SQLSTATE: XXKST")
    assert not hides_outcome("[STREAM_FAILED] java.lang.NullPointerException: of another kind")


def test_a_python_process_that_came_late_is_told_from_one_that_failed() -> None:
    assert started_late(f"{OF_QUERY}Python worker failed to connect back. SQLSTATE: XXKST")
    assert not started_late(
        f"{OF_QUERY}[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source latestOffset"
    )


def test_a_second_lake_is_told_from_a_checkpoint_that_cannot_be_written() -> None:
    assert of_another_lake(
        f"{OF_QUERY}Multiple streaming queries are concurrently using file:/lake/_checkpoint/offsets. SQLSTATE: XXKST"
    )
    assert of_another_lake(
        f"{OF_QUERY}[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 4."
    )
    assert not of_another_lake(f"{OF_QUERY}Permission denied: file:/lake/_checkpoint/offsets/4")


def test_a_second_lake_ends_with_what_the_first_one_keeps() -> None:
    lake: Any = Lake.__new__(Lake)
    lake._paths = SimpleNamespace(root="/lake", checkpoint="/lake/_checkpoint")
    error = lake._ended(f"{OF_QUERY}Multiple streaming queries are concurrently using file:/lake/_checkpoint/offsets.")
    assert str(error).startswith(
        "MC-8001: another process keeps the lake at /lake: it has written the checkpoint /lake/_checkpoint"
    )
    assert str(lake._ended(f"{OF_QUERY}no space\n\tat a.B")) == f"MC-8001: the lake's stream ended: {OF_QUERY}no space"


def test_a_micro_batch_that_a_stop_interrupts_fails_with_a_short_text() -> None:
    def append(*_: object) -> None:
        raise ValueError("py4j.protocol.Py4JJavaError: An error occurred while calling o1.commit")

    lake: Any = Lake.__new__(Lake)
    lake._late, lake._append, lake._ending = LateStarts(), append, False
    with pytest.raises(ValueError, match="py4j"):
        lake._append_or_note(None, 7)
    lake._ending = True
    with pytest.raises(LakeError, match="the lake is stopped") as stopped:
        lake._append_or_note(None, 7)
    assert "py4j.protocol" not in "".join(traceback.format_exception(stopped.value))


def test_late_starts_are_tried_again_until_there_are_too_many_in_a_row() -> None:
    late, text = LateStarts(), f"{OF_QUERY}Python worker failed to connect back."
    assert not late.counts("another error")
    assert all(late.counts(text) for _ in range(29))
    late.forget()
    assert [late.counts(text) for _ in range(31)] == [True] * 30 + [False]
