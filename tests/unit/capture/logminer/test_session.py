"""What a mining session sends to LogMiner, and when."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, cast

import oracledb

from minercdc.capture.logminer.logs import LogFile
from minercdc.capture.logminer.session import MiningSession


class Recorder:
    """A connection and cursor that records its calls."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def cursor(self) -> Recorder:
        return self

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def fetchone(self) -> tuple[int]:
        return (1,)  # the session's container: the root

    def execute(self, sql: str, binds: Any = None) -> None:
        call = sql.partition("DBMS_LOGMNR.")[2].partition("(")[0]
        if not call:
            return
        option = sql.rpartition("DBMS_LOGMNR.")[2].partition(")")[0] if call == "ADD_LOGFILE" else ""
        self.asked.append((f"{call} {option}".strip(), binds))


CURRENT = LogFile("redo1.log", 1, 4, 400, 0, current=True, archived=False)


def test_logs_are_added_again_only_when_they_changed() -> None:
    recorder = Recorder()
    session = MiningSession(cast(oracledb.Connection, recorder), 10)
    archived = LogFile("3.arc", 1, 3, 300, 400)
    assert session.use_logs([archived, CURRENT])
    assert not session.use_logs([archived, CURRENT])
    session.start(300)
    assert recorder.asked == [
        ("ADD_LOGFILE NEW", {"name": "3.arc"}),
        ("ADD_LOGFILE ADDFILE", {"name": "redo1.log"}),
        ("START_LOGMNR", {"scn": 300}),
    ]


def test_file_that_now_holds_another_log_is_added_again() -> None:
    recorder = Recorder()
    session = MiningSession(cast(oracledb.Connection, recorder), 10)
    session.use_logs([CURRENT])
    assert session.use_logs([replace(CURRENT, current=False, next_scn=500)])
    assert session.use_logs([replace(CURRENT, sequence=7, first_scn=700)])
    assert [call for call, _ in recorder.asked] == ["ADD_LOGFILE NEW", *["END_LOGMNR", "ADD_LOGFILE NEW"] * 2]


def test_mining_has_no_end_scn() -> None:
    statements: list[str] = []
    recorder = Recorder()
    recorder.execute = lambda sql, binds=None: statements.append(sql)  # type: ignore[method-assign]
    MiningSession(cast(oracledb.Connection, recorder), 10).start(1)
    assert "ENDSCN" not in statements[-1].upper()
    assert "DICT_FROM_ONLINE_CATALOG" in statements[-1]
