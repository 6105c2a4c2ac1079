"""What a session inherits, and what hides rows from queries: no setting of the database makes a snapshot differ from the stream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab
from tests.sandbox_capture.test_chunks import next_outcome

from minercdc.oracle.connect import connect
from minercdc.snapshot.incremental.reader import ChunkReader, Pace
from minercdc.snapshot.incremental.window import Chunk
from minercdc.stream.offset import TableRead

ARCHIVED = (
    "create table a (id number primary key, v number) row archival",
    "alter table a add supplemental log data (all) columns",
    "insert into a values (1, 10)",
    "insert into a values (2, 20)",
    "update a set ora_archive_state = '1' where id = 2",
    "commit",
)


@pytest.fixture
def lab(sandbox: SandboxProcess, tmp_path: Path) -> Iterator[Lab]:
    made = make_lab(sandbox, tmp_path)
    yield made
    made.app.close()


def test_archived_rows_are_rows(lab: Lab) -> None:
    """They are in redo as others are (VLDB and Partitioning Guide, "In-Database Archiving")."""
    lab.run(*ARCHIVED)
    reader = Reader(lab).take_snapshot()
    assert reader.replica("A") == [("1", "10"), ("2", "20")]
    lab.run("alter session set row archival visibility = all", "update a set v = v + 1", "commit")
    reader.until_marker(1)
    assert reader.replica("A") == [("1", "11"), ("2", "21")]


def test_a_chunk_has_archived_rows(lab: Lab) -> None:
    lab.run(*ARCHIVED)
    table = lab.table("A")
    schema = lab.read_table(table)
    found = ChunkReader(lambda _: connect(lab.config, "pdb"), lambda _: schema, Pace(10))
    found.start(table, TableRead("A"), "", 0)
    outcomes = [next_outcome(found), next_outcome(found)]
    found.stop()
    assert isinstance(outcomes[1], Chunk)
    assert len(outcomes[1].rows) == 2


@pytest.mark.parametrize("container", ["root", "pdb"])
def test_a_session_has_its_own_settings_in_either_container(lab: Lab, container: Literal["root", "pdb"]) -> None:
    """As where parameters of the instance say otherwise, which sessions inherit."""
    inherited = "alter session set nls_calendar = 'Thai Buddha' nls_numeric_characters = ',.'"
    config = lab.config.model_copy(update={"database_initial_statements": inherited})
    with connect(config, container) as session, session.cursor() as cursor:
        found = dict(cursor.execute("select parameter, value from nls_session_parameters").fetchall())
    assert (found["NLS_CALENDAR"], found["NLS_NUMERIC_CHARACTERS"]) == ("GREGORIAN", ".,")
    assert (found["NLS_COMP"], found["NLS_SORT"]) == ("BINARY", "BINARY")
