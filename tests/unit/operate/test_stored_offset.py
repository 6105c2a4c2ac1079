"""Structures at an SCN, out of a schema history; and whether a connector runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import ConfigError, LogGapError
from minercdc.operate.offsets import read
from minercdc.operate.offsets.read import StoredOffset, from_document, offset_findings
from minercdc.oracle.finding import Severity
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import SchemaChange, Scn
from minercdc.stream.offset import Offset
from minercdc.stream.offset_json import offset_to_bytes
from minercdc.stream.process_lock import is_running, running


def shape(name: str, *columns: str, version: int = 1) -> TableSchema:
    return TableSchema(TableId("DB", "S", name), tuple(Column(one, "NUMBER") for one in columns), version=version)


def change(scn: int, before: TableSchema | None, after: TableSchema | None) -> SchemaChange:
    known = after or before
    assert known is not None
    return SchemaChange(known.id, before, after, "", Scn(scn), 0)


def test_the_structures_of_an_scn_are_those_of_changes_up_to_it() -> None:
    first, second, renamed, other = (
        shape("A", "X"),
        shape("A", "X", "Y", version=2),
        shape("B", "X", "Y"),
        shape("C", "Z"),
    )
    stored = StoredOffset(
        Offset("logminer"),
        "here",
        (
            change(10, None, first),
            change(10, None, other),
            change(20, first, second),
            change(30, second, renamed),
            change(40, other, None),
        ),
    )

    def at(scn: int | None) -> list[TableSchema]:
        return [table.schema for _, table in sorted(stored.tables(scn).items())]

    assert at(9) == []
    assert at(10) == at(19) == [first, other]
    assert at(20) == [second, other]
    assert at(30) == [renamed, other]
    assert at(None) == at(40) == [renamed]


def test_a_connector_runs_until_its_last_process_ends(tmp_path: Path) -> None:
    assert not is_running(tmp_path, "orders/eu")
    with running(tmp_path, "orders/eu"):
        with running(tmp_path, "orders/eu"):
            assert is_running(tmp_path, "orders/eu")
        assert is_running(tmp_path, "orders/eu")
        assert not is_running(tmp_path, "orders")
    assert not is_running(tmp_path, "orders/eu")


EXPORTED: dict[str, Any] = {
    "kind": "minercdc-offset",
    "version": 1,
    "connector": "c",
    "topic.prefix": "p",
    "offset": {"v": 1, "adapter": "logminer", "position": {}},
    "tables": [],
}
TABLE: dict[str, Any] = {"scn": "1", "time_us": 1, "change": {}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({name: ...}, f"FILE is not an exported offset: the member {name} is missing") for name in EXPORTED),
        ({"connector": 1}, "the member connector is a whole number, and has to be a string"),
        ({"offset": []}, "the member offset is an array, and has to be an object"),
        ({"tables": {}}, "the member tables is an object, and has to be an array"),
        ({"tables": [[]]}, "within the member tables[0], an array stands where an object is needed"),
        ({"tables": [TABLE]}, "within the member tables[0], within the member change, the member table is missing"),
        ({"tables": [TABLE | {"scn": 1.5}]}, "within the member tables[0], the member scn is a number, and has to be"),
        (
            {"offset": {"v": 1, "adapter": "logminer"}},
            "the offset stored in FILE cannot be read: the member position is missing",
        ),
    ],
)
def test_what_is_wrong_in_an_exported_offset_is_named(change: dict[str, Any], message: str) -> None:
    assert from_document(json.dumps(EXPORTED), "FILE")[:2] == ("c", "p")
    given = {name: value for name, value in (EXPORTED | change).items() if value is not ...}
    with pytest.raises(ConfigError) as caught:
        from_document(json.dumps(given), "FILE")
    assert message in str(caught.value)
    assert "It must be the output of `minercdc offsets export`." in str(caught.value)


def offset_of(pdbs: list[str], adapter: str = "logminer") -> Offset:
    position = LogMinerPosition({}, 10, 10, 1, pdbs=tuple(pdbs)).to_json()
    return Offset(adapter, position if adapter == "logminer" else {"scn": "10"})


@pytest.mark.parametrize(
    ("stored", "names", "problem"),
    [
        (None, "A", ""),
        (offset_of(["A", "B"]), "A, B", ""),
        (offset_of(["A", "B", "C"]), "A, B", ""),
        (offset_of([]), "A", ""),
        (offset_of(["A", "B"]), "A, B, C", "C: added since the offset was stored"),
        (
            offset_of(["A", "B"]),
            "A",
            "the offset is of A, B: topic names change between one and several pluggable databases",
        ),
        (offset_of([]), "A, B", "the offset is of a single database"),
    ],
)
def test_an_offset_of_other_databases_is_found(tmp_path: Path, stored: Offset | None, names: str, problem: str) -> None:
    config = configured(tmp_path, names)
    if stored is not None:
        store(tmp_path, json.dumps({"offset": offset_to_bytes(stored).decode(), "length": 0}))
    found = list(offset_findings(config))
    assert [(one.blocking, problem in one.problem, "restore the property" in one.fix) for one in found] == (
        [(True, True, True)] if problem else []
    )


def test_an_offset_of_another_adapter_is_found_unless_it_is_handed_over(tmp_path: Path) -> None:
    stored = offset_of([], "flashback")
    store(tmp_path, json.dumps({"offset": offset_to_bytes(stored).decode(), "length": 0}))
    (finding,) = offset_findings(configured(tmp_path, "A"))
    assert finding.blocking
    assert "adapter=logminer cannot continue from the stored position of flashback" in finding.problem
    assert "minercdc.handover.scn" in finding.fix
    assert not list(offset_findings(configured(tmp_path, "A", **{"minercdc.handover.scn": "10"})))


@dataclass
class Began:
    """An adapter that begins at an SCN, and lacks the redo before SCN 50."""

    def start_position(self, scn: int, mine_from: int) -> LogMinerPosition:
        return LogMinerPosition({}, mine_from, scn, 1)

    def unreadable(self, position: LogMinerPosition) -> LogGapError | None:
        return LogGapError("no log has SCN 10", hint="") if position.start_scn < 50 else None


@pytest.mark.parametrize(("scn", "is_there"), [("10", False), ("60", True)])
def test_redo_after_the_scn_of_a_handover_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scn: str, is_there: bool
) -> None:
    """The start refuses it, also where `snapshot.mode` would take a new snapshot of its own adapter's offset."""
    store(tmp_path, json.dumps({"offset": offset_to_bytes(offset_of([], "flashback")).decode(), "length": 0}))
    monkeypatch.setattr(read, "adapter_of", lambda _: Began())
    monkeypatch.setattr(read, "connect", lambda *_: BytesIO())  # something that can be closed
    monkeypatch.setattr(read, "not_reached", lambda *_: None)
    monkeypatch.setattr(read, "other_pdbs", lambda *_: None)
    config = configured(tmp_path, "A", **{"minercdc.handover.scn": scn, "snapshot.mode": "when_needed"})
    found = list(read.position_findings(config))
    assert [(one.rule, one.severity) for one in found] == ([] if is_there else [("stored-offset", Severity.MISSING)])
    for one in found:
        assert "minercdc.handover.scn=10: no log has SCN 10" in one.problem
        assert "up to which flashback has delivered every commit" in one.fix


def test_an_offset_that_cannot_be_read_blocks_and_one_that_cannot_be_reached_is_not_examined(tmp_path: Path) -> None:
    config = configured(tmp_path, "A")
    store(tmp_path, "no JSON")
    (finding,) = offset_findings(config)
    assert (finding.severity, finding.rule) == (Severity.MISSING, "stored-offset")
    assert "Restore the file" in finding.fix
    file = tmp_path / "lines.jsonl.offset"
    file.unlink()
    file.mkdir()
    (finding,) = offset_findings(config)
    assert (finding.severity, finding.rule) == (Severity.UNKNOWN, "stored-offset")


def store(directory: Path, text: str) -> None:
    (directory / "lines.jsonl.offset").write_text(text)


def configured(directory: Path, names: str, **more: str) -> ConnectorConfig:
    given = {
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "C##CDC",
        "database.password": "x",
        "database.dbname": "CDB",
        "database.pdb.name": names,
        "debezium.sink.type": "json",
        "minercdc.sink.path": str(directory / "lines.jsonl"),
    }
    return parse_properties(given | more)
