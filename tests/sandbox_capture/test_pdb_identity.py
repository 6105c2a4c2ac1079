"""A pluggable database that was recovered to a point of the past, and opened with RESETLOGS: redo does not take its changes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.sandbox_capture.lab import Lab, Reader
from tests.sandbox_capture.test_capture import make_lab

from minercdc.capture.database_identity import other_pdbs
from minercdc.capture.logminer import capture
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.errors import LogGapError
from minercdc.oracle.connect import connect
from minercdc.oracle.scn import PdbIdentity


def reset(lab: Lab) -> None:
    with lab.sandbox.connect(service=lab.sandbox.root_service) as admin:
        admin.cursor().execute(f"call dbms_sandbox.reset_pdb('{lab.sandbox.service}')")


def gap_of(lab: Lab, position: LogMinerPosition | None) -> LogGapError | None:
    assert position is not None
    return other_pdbs({lab.table("item").database: lambda: connect(lab.config, "pdb")}, position)


def test_a_stream_ends_when_the_database_was_opened_with_resetlogs(
    fresh_sandbox: SandboxProcess, tmp_path: Path, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "_IDENTIFY_S", 0.0)
    lab = make_lab(fresh_sandbox, tmp_path, committed=committed)
    reader = Reader(lab).take_snapshot(with_rows=False)
    reader.until_marker(1)
    assert gap_of(lab, reader.position) is None
    reset(lab)
    found = gap_of(lab, reader.position)
    assert found is not None
    assert "RESETLOGS" in found.message
    lab.app = lab.session()
    with pytest.raises(LogGapError, match="RESETLOGS"):
        reader.until_marker(2)


def test_a_position_knows_what_it_did_not_say(fresh_sandbox: SandboxProcess, tmp_path: Path) -> None:
    lab = make_lab(fresh_sandbox, tmp_path)
    position = Reader(lab).take_snapshot(with_rows=False).position
    assert position is not None
    assert position.pdb_ids == {}
    position = Reader(lab, position).until_marker(1).position
    assert position is not None
    [one] = position.pdb_ids.values()
    assert all(one)
    reset(lab)
    assert gap_of(lab, position) is not None


def test_ids_of_an_earlier_release_are_read() -> None:
    saved = {**LogMinerPosition().to_json(), "con_dbids": {"A": "7", "B": "8 9 10"}}
    position = LogMinerPosition.from_json(saved)
    assert position.pdb_ids == {"A": PdbIdentity(7), "B": PdbIdentity(8, 9, 10)}
    assert LogMinerPosition.from_json(position.to_json()) == position
