"""Rows of large transactions wait on disk: a disk that takes none ends in one message, and nothing is lost."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tests.e2e.connector import Ended
from tests.e2e.lab import Lab

ROWS = 3_000


def no_files_over_16k() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))


def names_the_directory(ended: Ended, directory: Path) -> None:
    assert ended.status == 1, ended.errors
    assert "Traceback" not in ended.errors
    assert ended.message().startswith("MC-7101: ")
    assert str(directory) in ended.message()
    assert "minercdc.state.dir" in ended.message()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_directory_that_cannot_be_used_is_found_at_the_start(lab: Lab, place: str) -> None:
    (lab.directory / "file").write_text("in the way")
    names_the_directory(lab.run_to_end(lab.config(minercdc_state_dir=lab.directory / place)), lab.directory / place)
    with lab.run(log="again.log") as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    assert [record.key["ID"] for record in lab.topics.records(lab.topic())] == [0, 1, 2]


def test_a_full_disk_in_the_middle_loses_nothing(lab: Lab) -> None:
    # The limit of one file's size stands for a full disk: both fail the write() of a spill file.
    config = lab.config(minercdc_log_mining_buffer_memory_max_bytes=65536, query_fetch_size=500)
    with lab.run(config, limit=no_files_over_16k, log_interval=60) as connector:
        lab.topics.await_records(lab.topic(), 3)
        lab.execute("INSERT INTO T VALUES (9, 'before')")
        lab.topics.await_records(lab.topic(), 4)
        lab.insert(100, ROWS)
        lab.execute("INSERT INTO T VALUES (10, 'after')")
        names_the_directory(connector.await_end(), lab.directory / "state")
    with lab.run(config, "again.log") as connector:
        records = lab.topics.await_records(lab.topic(), 5 + ROWS)
        connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, 9, *range(100, 100 + ROWS), 10]
