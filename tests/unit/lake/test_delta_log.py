"""A Delta table's log, as this process reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from minercdc.errors import LakeError
from minercdc.lake.table.delta import DeltaTable
from minercdc.lake.table.format import Applied, RowsAsked
from minercdc.lake.table.native_delta.log import LiveFiles, UnknownLog
from minercdc.lake.table.native_delta.rows import rows_within


class LocalFiles:
    """A table's directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []

    def read(self, name: str) -> bytes | None:
        self.asked.append(name)
        file = self.root / name
        return file.read_bytes() if file.exists() else None

    def source(self, name: str) -> Any:
        return pa.OSFile(str(self.root / name))


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    (tmp_path / "_delta_log").mkdir()
    return LocalFiles(tmp_path)


def add(path: str, rows: int = 5, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "stats": json.dumps({"numRecords": rows}), **more}}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, **more}}


def vector(number: int) -> dict[str, Any]:
    return {"storageType": "u", "pathOrInlineDv": "x" * 20, "offset": number, "sizeInBytes": 1, "cardinality": 1}


def commit(files: LocalFiles, version: int, *actions: dict[str, Any]) -> None:
    text = "\n".join(map(json.dumps, ({"commitInfo": {}}, *actions)))
    (files.root / "_delta_log" / f"{version:020}.json").write_text(text)


def paths(live: LiveFiles, files: LocalFiles, version: int) -> list[str]:
    return sorted(one.path for one in live.at(files, version))


def test_the_files_are_those_that_were_added_and_not_removed(files: LocalFiles) -> None:
    commit(files, 0, add("a"), add("b"))
    commit(files, 1, add("c"), remove("a"))
    live = LiveFiles()
    assert paths(live, files, 0) == ["a", "b"]
    assert paths(live, files, 1) == ["b", "c"]


def test_each_commit_is_read_twice_at_most(files: LocalFiles) -> None:
    """The last one again, to see that the log is still the same."""
    live = LiveFiles()
    for version in range(4):
        commit(files, version, add(str(version)))
        live.at(files, version)
    assert len([name for name in files.asked if name.endswith(".json")]) == 4 + 3


def test_a_table_that_was_made_again_is_another_one(files: LocalFiles) -> None:
    """Or of which an older copy was put back. Its versions have the numbers of those that are gone."""
    for version in range(3):
        commit(files, version, add(f"old {version}"))
    live = LiveFiles()
    assert paths(live, files, 2) == ["old 0", "old 1", "old 2"]
    for version in range(5):
        commit(files, version, add(f"new {version}"))
    assert paths(live, files, 4) == [f"new {version}" for version in range(5)]
    commit(files, 4, add("other"))
    assert paths(live, files, 4) == [*(f"new {version}" for version in range(4)), "other"]


def test_a_damaged_log_is_not_guessed(files: LocalFiles) -> None:
    commit(files, 0, add("a"))
    (files.root / "_delta_log" / f"{1:020}.json").write_text('{"add": {"path"')
    live = LiveFiles()
    with pytest.raises(UnknownLog, match="the log is not read"):
        live.at(files, 1)
    commit(files, 1, add("b"))
    assert paths(live, files, 1) == ["a", "b"]


def test_a_file_whose_deleted_rows_change_stays(files: LocalFiles) -> None:
    """The log adds it with its new vector before it removes it with the old one, or the other way round."""
    commit(files, 0, add("a"))
    commit(files, 1, add("a", deletionVector=vector(1)), remove("a"))
    commit(files, 2, remove("a", deletionVector=vector(1)), add("a", deletionVector=vector(9)))
    live = LiveFiles()
    for version, offset in ((1, 1), (2, 9)):
        (found,) = live.at(files, version)
        assert found.vector == vector(offset)
    commit(files, 3, remove("a", deletionVector=vector(9)))
    assert live.at(files, 3) == []


def checkpoint(files: LocalFiles, version: int, *adds: dict[str, Any], **last: Any) -> None:
    rows = [{"add": one["add"]} for one in adds] + [{"add": None}]
    pq.write_table(pa.Table.from_pylist(rows), files.root / "_delta_log" / f"{version:020}.checkpoint.parquet")
    (files.root / "_delta_log" / "_last_checkpoint").write_text(json.dumps({"version": version, "size": 1, **last}))


def test_a_checkpoint_is_gone_on_from(files: LocalFiles) -> None:
    """The commits before it may be gone."""
    checkpoint(files, 10, add("a", partitionValues=None), add("b", partitionValues=None, deletionVector=vector(3)))
    commit(files, 11, remove("a"), add("c"))
    live = LiveFiles()
    assert paths(live, files, 11) == ["b", "c"]
    (with_vector,) = (one for one in live.at(files, 11) if one.vector is not None)
    assert with_vector.vector == vector(3)
    assert with_vector.records == 5
    commit(files, 12, remove("b", deletionVector=vector(3)))
    assert paths(live, files, 12) == ["c"]


def test_a_reader_that_lags_far_begins_with_the_checkpoint(files: LocalFiles) -> None:
    commit(files, 0, add("a"))
    live = LiveFiles()
    assert paths(live, files, 0) == ["a"]
    checkpoint(files, 20, add("z", partitionValues=None))
    commit(files, 21)
    assert paths(live, files, 21) == ["z"]  # commits 1 to 19 are gone


@pytest.mark.parametrize(
    "actions",
    [
        [add("a", stats=None)],
        [add("a", stats='{"minValues": {}}')],
        [add("file:/elsewhere/a")],
        [add("/elsewhere/a")],
        [add("x=1/a", partitionValues={"x": "1"})],
    ],
    ids=["no statistics", "no count", "another URI", "another directory", "partition"],
)
def test_what_is_not_read_here_is_not_guessed(files: LocalFiles, actions: list[dict[str, Any]]) -> None:
    commit(files, 0, *actions)
    with pytest.raises(UnknownLog):
        LiveFiles().at(files, 0)


def test_a_commit_that_is_not_there_is_not_guessed(files: LocalFiles) -> None:
    commit(files, 0, add("a"))
    commit(files, 2, add("c"))
    live = LiveFiles()
    with pytest.raises(UnknownLog, match="no commit 1"):
        live.at(files, 2)
    commit(files, 1, remove("a"))
    assert paths(live, files, 2) == ["c"]


@pytest.mark.parametrize("last", [{"parts": 2}, {"v2Checkpoint": {"path": "x"}}])
def test_a_checkpoint_of_several_files_is_not_read(files: LocalFiles, last: dict[str, Any]) -> None:
    checkpoint(files, 1, add("a", partitionValues=None), **last)
    with pytest.raises(UnknownLog, match="several files"):
        LiveFiles().at(files, 1)


def test_rows_that_are_marked_as_deleted_are_not_read(files: LocalFiles) -> None:
    """Whoever has given the lake's own records deletion vectors: Spark reads them."""
    pq.write_table(pa.table({"n": [1, 2]}), files.root / "a")
    commit(files, 0, add("a", 2))
    assert [part.to_pydict() for part in rows_within(files, LiveFiles().at(files, 0), RowsAsked(1000))] == [{"n": [1, 2]}]
    commit(files, 1, remove("a"), add("a", 2, deletionVector=vector(1)))
    with pytest.raises(UnknownLog, match="rows of a are marked as deleted"):
        list(rows_within(files, LiveFiles().at(files, 1), RowsAsked(1000)))


def test_a_table_that_another_program_restores_is_as_far_as_the_version_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest commit of the lake is still in the log; what counts is that of the version, which may be a restored one itself."""

    def restore(**to: str) -> dict[str, Any]:
        return {"operation": "RESTORE", "operationParameters": to}

    commits = [
        {"operation": "CREATE TABLE", "userMetadata": Applied().to_json()},
        {"operation": "MERGE", "userMetadata": Applied(10, 1).to_json()},
        {"operation": "MERGE", "userMetadata": Applied(20, 1).to_json()},
        {"operation": "OPTIMIZE"},
        restore(version="1"),
        restore(version="3"),
        restore(version="4"),
        {"operation": "MERGE", "userMetadata": Applied(30, 1).to_json()},
        restore(timestamp="2026-01-02 03:04:05"),
    ]
    table: Any = DeltaTable.__new__(DeltaTable)
    table.path = "/lake/t"

    def applied(newest: int) -> Applied | None:
        versions = [(version, commits[version]) for version in range(newest, -1, -1)]
        monkeypatch.setattr(DeltaTable, "_commits", lambda _: iter(versions))
        found: Applied | None = table.applied()
        return found

    assert [applied(newest) for newest in range(8)] == [
        Applied(scn, int(scn > 0)) for scn in (0, 10, 20, 20, 10, 20, 10, 30)
    ]
    with pytest.raises(LakeError, match="was set back to a time by another program in version 8: RESTORE"):
        applied(8)
