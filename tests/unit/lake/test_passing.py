"""Errors of Spark after which the lake's stream is started again, by their text."""

from __future__ import annotations

from minercdc.lake.stream.passing import LateStarts, hides_outcome, started_late

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


def test_late_starts_are_tried_again_until_there_are_too_many_in_a_row() -> None:
    late, text = LateStarts(), f"{OF_QUERY}Python worker failed to connect back."
    assert not late.counts("another error")
    assert all(late.counts(text) for _ in range(29))
    late.forget()
    assert [late.counts(text) for _ in range(31)] == [True] * 30 + [False]
