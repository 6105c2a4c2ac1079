"""The schema history in a file is exactly as long as the offset says, whatever was written when the connector was killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minercdc.config.target.schema_history import SchemaHistoryConfig
from minercdc.errors import SchemaHistoryError
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.schema.tables import Tables
from minercdc.sinks.file_schema_history import FileSchemaHistory
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_from_bytes, offset_to_bytes

TABLE = TableSchema(TableId("DB", "LAB", "T"), (Column("ID", "NUMBER", 10, 0, nullable=False),), (0,), 1, object_id=7)
WIDER = replace(TABLE, version=2, columns=(*TABLE.columns, Column("C", "DATE")))


def change(before: TableSchema | None, after: TableSchema, scn: int) -> SchemaChange:
    return SchemaChange(after.id, before, after, "ddl", Scn(scn), 0)


CREATED, ALTERED = change(None, TABLE, 1), change(TABLE, WIDER, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


def history_of(path: Path) -> FileSchemaHistory:
    return FileSchemaHistory(path, server="s", clock_ms=lambda: 1)


def recovered(path: Path, mark: int | None) -> tuple[FileSchemaHistory, list[TableSchema]]:
    history, tables = history_of(path), Tables()
    for found in history.recover(mark):
        tables.apply(found)
    return history, list(tables)


def written(path: Path, *changes: SchemaChange) -> list[int]:
    """The mark before, and after each change."""
    history, marks = recovered(path, 0)[0], [0]
    for each in changes:
        assert history.entry(each, {}) is None
        marks.append(history.mark() or 0)
    return marks


def test_tables_come_back_as_far_as_the_offset_counts(path: Path) -> None:
    marks = written(path, CREATED, ALTERED)
    assert [recovered(path, mark)[1] for mark in marks] == [[], [TABLE], [WIDER]]


def test_a_new_file_is_the_owners_alone(path: Path) -> None:
    written(path, CREATED)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_file_is_durable_with_its_directory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("minercdc.sinks.file_schema_history.sync_directory", synced.append)
    written(path, CREATED)
    assert synced == [path.parent]


def test_what_was_not_committed_is_cut_off(path: Path) -> None:
    marks = written(path, CREATED, ALTERED)
    with path.open("ab") as file:
        file.write(b'{"half a li')
    history, tables = recovered(path, marks[1])
    assert tables == [TABLE]
    assert history.mark() == marks[1]
    history.entry(ALTERED, {})
    assert path.stat().st_size == history.mark() == marks[2]
    assert recovered(path, marks[2])[1] == [WIDER]


@pytest.mark.parametrize("mark", [10**6, None])
def test_an_offset_that_counts_on_more_stops(path: Path, mark: int | None) -> None:
    written(path, CREATED)
    with pytest.raises(SchemaHistoryError, match=r"snapshot\.mode=recovery"):
        recovered(path, mark)


def test_a_file_that_is_gone_or_spoilt_stops(path: Path) -> None:
    mark = written(path, CREATED)[1]
    path.write_bytes(b"x" * mark)
    with pytest.raises(SchemaHistoryError, match="line 1"):
        recovered(path, mark)
    foreign = b'{"tableChanges":["x"]}'
    path.write_bytes(foreign)
    with pytest.raises(SchemaHistoryError, match="line 1"):
        recovered(path, len(foreign))
    path.unlink()
    with pytest.raises(SchemaHistoryError, match="No such file"):
        recovered(path, mark)


def test_it_can_start_over(path: Path) -> None:
    path.write_bytes(b"spoilt\n" * 100)
    history = history_of(path)
    history.forget()
    history.entry(CREATED, {})
    assert recovered(path, history.mark())[1] == [TABLE]


def test_a_directory_that_is_not_there_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("minercdc.sinks.file_schema_history.sync_directory", synced.append)
    path = tmp_path / "of" / "shop" / "h"
    (_, mark) = written(path, CREATED)
    assert recovered(path, mark)[1] == [TABLE]
    assert {tmp_path, tmp_path / "of", path.parent} <= set(synced), "the directories are durable, too"


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SchemaHistoryError, match=r"file/h(.|\n)*schema.history.internal.file.filename"):
        history_of(tmp_path / "file" / "h").entry(CREATED, {})


def test_the_offset_remembers_the_mark() -> None:
    for offset in (Offset("logminer", {}, history=17), Offset("logminer", {})):
        assert offset_from_bytes(offset_to_bytes(offset), "here") == offset


def test_it_is_chosen_by_debeziums_class_name() -> None:
    name = "io.debezium.storage.file.history.FileSchemaHistory"
    chosen = {"schema.history.internal": name, "schema.history.internal.file.filename": "h"}
    assert SchemaHistoryConfig.model_validate(chosen).file == Path("h")
    assert SchemaHistoryConfig.model_validate({}).file is None
    with pytest.raises(ValueError, match=r"file\.filename: needed"):
        SchemaHistoryConfig.model_validate({"schema.history.internal": name})
    with pytest.raises(ValueError, match="MemorySchemaHistory is not supported"):
        SchemaHistoryConfig.model_validate({"schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory"})
