"""The prefetch thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from minercdc.oracle.fetching.prefetch import prefetch


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that the test starts."""
    threads: list[threading.Thread] = []
    start = threading.Thread.start

    def note(thread: threading.Thread) -> None:
        threads.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)
    return threads


def refuse() -> None:
    raise AssertionError("nothing was to be cancelled")


def test_batches_come_in_order() -> None:
    with prefetch(iter([[i] for i in range(100)]), tick=10, cancel=refuse) as batches:
        assert list(batches) == [[i] for i in range(100)]


def test_silence_is_reported() -> None:
    go_on = threading.Event()

    def slow() -> Iterator[list[int]]:
        go_on.wait(10)
        yield [1]

    with prefetch(slow(), tick=0.01, cancel=refuse) as batches:
        assert next(batches) is None
        go_on.set()
        assert [batch for batch in batches if batch] == [[1]]


def test_error_comes_after_the_batches_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ConnectionError("gone")

    with prefetch(failing(), tick=10, cancel=refuse) as batches:
        assert next(batches) == 1
        with pytest.raises(ConnectionError, match="gone"):
            next(batches)


def test_leaving_early_cancels_what_the_thread_waits_for(started: list[threading.Thread]) -> None:
    cancelled, closed = threading.Event(), threading.Event()

    def blocking() -> Iterator[int]:
        try:
            yield 1
            cancelled.wait(10)
            yield 2
        finally:
            closed.set()

    with prefetch(blocking(), tick=10, cancel=cancelled.set) as batches:
        assert next(batches) == 1
    assert cancelled.is_set()
    assert closed.is_set()
    assert [thread.is_alive() for thread in started] == [False]


def test_leaving_early_ends_a_thread_that_cannot_hand_over(started: list[threading.Thread]) -> None:
    with prefetch(iter(range(1000)), tick=10, cancel=lambda: None, depth=1) as batches:
        assert next(batches) == 0
    assert [thread.is_alive() for thread in started] == [False]
