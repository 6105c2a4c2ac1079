"""Which dictionary in the redo is used, and which logs have to be listed for it."""

from __future__ import annotations

from minercdc.capture.logminer.logs.redo_logs import LogFile
from minercdc.capture.logminer.position import RedoAddress, log_start
from minercdc.capture.logminer.session.redo_dictionary import (
    DictionaryLogs,
    dictionary_for,
    marks_from,
    whole_dictionaries,
)

ROWS = [
    (1, 3, 300, "YES", "YES"),
    (1, 5, 500, "YES", "NO"),  # over three logs
    (1, 7, 700, "NO", "YES"),
    (1, 8, 800, "YES", "NO"),  # cut off
    (1, 9, 900, "YES", "YES"),
    (2, 4, 450, "NO", "YES"),  # its beginning is purged
    (2, 6, 650, "YES", "YES"),
]
WHOLE = [
    DictionaryLogs(300, 1, 3, 3),
    DictionaryLogs(500, 1, 5, 7),
    DictionaryLogs(650, 2, 6, 6),
    DictionaryLogs(900, 1, 9, 9),
]


def test_only_whole_dictionaries_count() -> None:
    assert whole_dictionaries(ROWS) == WHOLE
    assert whole_dictionaries([]) == []


def test_the_newest_before_the_rows_is_used_else_the_next_after_them() -> None:
    assert dictionary_for(WHOLE, 300) == WHOLE[0]
    assert dictionary_for(WHOLE, 899) == WHOLE[2]
    assert dictionary_for(WHOLE, 299) == WHOLE[0]
    assert dictionary_for([], 299) is None


def test_logs_are_listed_from_the_dictionary_on_in_every_thread() -> None:
    logs = [LogFile("", 1, n, 100 * n, 100 * n + 100) for n in range(3, 9)]
    logs += [LogFile("", 2, n, 250 * n, 250 * n + 250) for n in range(1, 4)]
    logs.append(LogFile("", 3, 1, 850, 0, current=True))
    marks = {1: RedoAddress("0x000008.00000002.0010", 3), 2: log_start(3), 3: log_start(1)}
    assert marks_from(logs, marks, 520) == {1: log_start(5), 2: log_start(2), 3: log_start(1)}
    assert marks_from(logs, marks, 999) == marks
