"""Which recorded answer a statement gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import oracledb
import pytest

from minercdc.errors import ConfigError, TransientSourceError
from minercdc.operate.recording.file import RecordingWriter
from minercdc.operate.recording.playback import Player, RecordingEnd
from minercdc.operate.recording.tap import Tap
from minercdc.oracle.scn import HOST_CLOCK

LOOK = "SELECT LOOK FROM DUAL"
MINED = "SELECT SCN FROM V$LOGMNR_CONTENTS WHERE {}"


class Script:
    """Writes a recording, statement by statement."""

    def __init__(self, path: Path) -> None:
        self._path, self._calls = path, 0
        self.players: list[Player] = []
        self._writer = RecordingWriter(path, {"minercdc": "0", "replaced": False})

    def connect(self, to: str, **more: Any) -> Script:
        self._writer.write({"kind": "connect", "to": to, **more})
        return self

    def clock(self, seconds: float) -> Script:
        self._writer.write({"kind": "clock", "seconds": repr(seconds)})
        return self

    def call(
        self, sql: str, rows: Sequence[Any] = (), *, to: str = "root", binds: Any = None, ended: bool = True, **more: Any
    ) -> Script:
        self._calls += 1
        self._writer.write({"kind": "call", "call": self._calls, "on": to, "sql": sql, "binds": binds or {}})
        if rows:
            self._writer.write({"kind": "rows", "call": self._calls, "rows": [[row] for row in rows]})
        if ended:
            self._writer.write({"kind": "end of rows", "call": self._calls})
        if more:
            self._writer.write({"kind": "error", "call": self._calls, **more})
        return self

    def player(self) -> Player:
        self._writer.finish({"error": ""})
        self.players.append(Player(self._path))
        return self.players[-1]


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    made = Script(tmp_path / "r.gz")
    yield made
    for player in made.players:
        player.close()


def test_a_file_that_is_none_leaves_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "none.gz").write_text("none")
    with pytest.raises(ConfigError):
        Player(tmp_path / "none.gz")


def got(connection: oracledb.Connection, sql: str, **binds: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, binds)
        return [value for (value,) in cursor.fetchall()]


def test_a_look_that_is_repeated_more_often_gives_the_last_answer_of_its_pass(script: Script) -> None:
    script.call(HOST_CLOCK, ["t1"]).call(LOOK, [1]).call(LOOK, [2]).call(HOST_CLOCK, ["t2"]).call(LOOK, [3])
    root = script.player().connect("root")
    assert got(root, HOST_CLOCK) == ["t1"]
    assert [got(root, LOOK) for _ in range(4)] == [[1], [2], [2], [2]]
    assert got(root, HOST_CLOCK) == ["t2"]
    assert got(root, LOOK) == [3]
    with pytest.raises(RecordingEnd):
        got(root, HOST_CLOCK)


def test_a_look_that_is_not_repeated_as_often_is_passed_over(script: Script) -> None:
    script.call(HOST_CLOCK, ["t1"]).call(LOOK, [1]).call(LOOK, [2]).call(HOST_CLOCK, ["t2"]).call(LOOK, [3])
    root = script.player().connect("root")
    got(root, HOST_CLOCK)
    got(root, HOST_CLOCK)
    assert got(root, LOOK) == [3]


def test_redo_comes_whatever_its_statement_is(script: Script) -> None:
    script.call(HOST_CLOCK, ["t"]).call(MINED.format("A = 1"), [5, 6])
    root = script.player().connect("root")
    got(root, HOST_CLOCK)
    assert got(root, MINED.format("B = :b"), b=7) == [5, 6]


def test_statements_of_the_pdb_go_by_their_binds(script: Script) -> None:
    script.call(LOOK, ["a"], to="pdb", binds={"n": 1}).call(HOST_CLOCK, ["t"]).call(LOOK, ["b"], to="pdb", binds={"n": 2})
    pdb = script.player().connect("pdb")
    assert [got(pdb, LOOK, n=n) for n in (2, 1, 2)] == [["b"], ["a"], ["b"]]


def test_rows_of_before_an_error_come_before_it(script: Script) -> None:
    error = {"kind": "DatabaseError", "code": 310, "full_code": "ORA-00310", "text": "ORA-00310: x", "isrecoverable": False}
    script.call(HOST_CLOCK, ["t"]).call(MINED, [1, 2, 3], ended=False, error=error, healthy=False)
    root = script.player().connect("root")
    got(root, HOST_CLOCK)
    with root.cursor() as cursor:
        cursor.arraysize = 2
        cursor.execute(MINED)
        assert [cursor.fetchmany(), cursor.fetchmany()] == [[(1,), (2,)], [(3,)]]
        with pytest.raises(oracledb.DatabaseError, match="ORA-00310"):
            cursor.fetchmany()
    assert not root.is_healthy()


def test_a_recording_that_was_stopped_within_a_pass_ends_there(script: Script) -> None:
    script.call(HOST_CLOCK, ["t"]).call(MINED, [1], ended=False)
    root = script.player().connect("root")
    got(root, HOST_CLOCK)
    with root.cursor() as cursor:
        cursor.execute(MINED)
        assert cursor.fetchmany() == [(1,)]
        with pytest.raises(RecordingEnd):
            cursor.fetchmany()


def test_a_statement_that_selects_all_columns_has_their_names(tmp_path: Path) -> None:
    class Real:
        description = (("TABLE_NAME", None), ("INTERVAL", None))

        def cursor(self) -> Real:
            return self

        def execute(self, *_: object) -> None: ...

        def fetchall(self) -> list[tuple[str, str]]:
            return [("T", "1")]

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    writer = RecordingWriter(tmp_path / "r.gz", {"minercdc": "0", "replaced": False})
    tap = Tap(writer, None, lambda *_: True, lambda _: None)
    recorded = tap.connect("pdb", lambda: cast(oracledb.Connection, Real())).cursor()
    recorded.execute("SELECT * FROM ALL_PART_TABLES")
    assert recorded.fetchall() == [("T", "1")]
    writer.finish({"error": ""})
    with closing(Player(tmp_path / "r.gz")) as player:
        played = player.connect("pdb").cursor()
        played.execute("SELECT * FROM ALL_PART_TABLES")
        assert [column[0] for column in played.description or ()] == ["TABLE_NAME", "INTERVAL"]
        assert played.fetchall() == [("T", "1")]


def test_what_was_never_recorded_is_named(script: Script) -> None:
    root = script.player().connect("root")
    with pytest.raises(ConfigError, match="SELECT NEW FROM DUAL"):
        got(root, "SELECT NEW FROM DUAL")
    assert got(root, "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;") == []


def test_connecting_fails_where_it_failed(script: Script) -> None:
    error = {"kind": "TransientSourceError", "message": "away", "hint": "", "ora_code": 12541}
    player = script.connect("root").connect("root", error=error).connect("pdb").player()
    player.connect("pdb")
    player.connect("root")
    with pytest.raises(TransientSourceError, match="away"):
        player.connect("root")
    player.connect("root")


def test_the_clock_says_what_it_said_and_then_all_is_over(script: Script) -> None:
    player = script.clock(1.5).clock(2.5).player()
    assert [player.monotonic(), player.monotonic()] == [1.5, 2.5]
    with pytest.raises(RecordingEnd):
        player.monotonic()
