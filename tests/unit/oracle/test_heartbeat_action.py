"""`heartbeat.action.query`: a failure is reported once for each cause, not at every beat."""

from __future__ import annotations

import logging
from typing import Any, cast

import oracledb
import pytest

from minercdc.errors import SourceError
from minercdc.oracle.heartbeat_action import HeartbeatAction


class Session:
    """A connection whose statements end as the test says: None for success, else the code and text of an error."""

    def __init__(self, ends: list[tuple[int, str] | None], committed: list[str]) -> None:
        self._ends, self._committed = ends, committed

    def cursor(self) -> Session:
        return self

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        end = self._ends.pop(0)
        if end is not None:
            code, text = end
            detail = type("Detail", (), {"code": code, "full_code": f"ORA-{code:05d}", "__str__": lambda _: text})()
            raise oracledb.DatabaseError(detail)
        self._committed.append(sql)

    def commit(self) -> None:
        pass

    def close(self) -> None:
        pass


def beats(*ends: tuple[int, str] | None) -> list[str]:
    """Beat once for each end; what was committed."""
    left, committed = list(ends), list[str]()
    action = HeartbeatAction(lambda: cast(oracledb.Connection, Session(left, committed)), "UPDATE T SET A = 1;")
    for _ in ends:
        action()
    return committed


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]


MISSING = (942, "ORA-00942: table or view does not exist")
LOCKED = (54, "ORA-00054: resource busy (session {})")


def test_one_cause_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert beats(MISSING, MISSING, MISSING) == []
    (line,) = warnings(caplog)
    assert "ORA-00942" in line


def test_a_text_that_varies_with_the_same_code_is_the_same_cause(caplog: pytest.LogCaptureFixture) -> None:
    beats(*((code, text.format(number)) for number, (code, text) in enumerate([LOCKED] * 3)))
    assert len(warnings(caplog)) == 1


def test_each_change_of_the_cause_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    beats(MISSING, LOCKED, LOCKED, MISSING)
    assert [line[-20:] for line in warnings(caplog)] == [text[-20:] for _, text in (MISSING, LOCKED, MISSING)]


def test_a_success_is_reported_after_failures_and_a_later_failure_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert beats(None, MISSING, MISSING, None, None, MISSING) == ["UPDATE T SET A = 1"] * 3
    lines = [line.getMessage() for line in caplog.records]
    assert ["failed" in line for line in lines] == [True, False, True]
    assert lines[1] == "heartbeat.action.query succeeds again"


def test_a_database_that_cannot_be_reached_is_one_warning_too(caplog: pytest.LogCaptureFixture) -> None:
    attempts = iter(range(9))

    def refuse() -> Any:
        raise SourceError(f"DPY-6005: cannot connect to database (CONNECTION_ID=a{next(attempts)}==)")

    action = HeartbeatAction(refuse, "SELECT 1 FROM DUAL")
    for _ in range(3):
        action()
    assert len(warnings(caplog)) == 1
