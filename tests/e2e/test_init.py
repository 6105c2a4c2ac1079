"""`minercdc init` on the sandbox: what is not given and cannot be asked is named; the file it writes is one that captures."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.connector import run_to_end
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.load import load_config


def test_a_file_and_its_grants_are_made_of_what_the_database_has(
    sandbox: SandboxProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.create_user("INIT1")
    with sandbox.connect("INIT1", "INIT1") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE A (ID NUMBER(9) PRIMARY KEY)")
        cursor.execute("CREATE TABLE B (ID NUMBER(9) PRIMARY KEY)")
    file, password = tmp_path / "first.yaml", {"MINERCDC_PASSWORD": "minercdc"}
    asked = ["init", str(file), "--host", sandbox.host, "--port", str(sandbox.port), "--service", sandbox.root_service]
    missing = run_to_end(asked, tmp_path / "missing.log", environment=password)
    assert (missing.status, file.exists()) == (2, False)
    assert "--user: required, as there is no terminal" in missing.errors
    whole = [*asked, "--pdb", sandbox.service, "--user", "C##MINERCDC", "--table", "init1.b"]
    ended = run_to_end(whole, tmp_path / "init.log", environment=password)
    assert ended.status == 0, ended.errors
    assert "INIT1: 2 tables" in ended.output
    assert 'GRANT SELECT, FLASHBACK ON "INIT1"."B" TO' in ended.output
    assert ended.output.splitlines()[-1].endswith(f"minercdc check {file}")
    monkeypatch.setenv("MINERCDC_PASSWORD", "minercdc")
    assert load_config(file).filters.table_include_list == (r"INIT1\.B",)
    again = run_to_end(whole, tmp_path / "again.log", environment=password)
    assert again.status == 2
    assert "is there already" in again.errors
