"""go-ora, unmodified, against both profiles: `goora/main.go` runs the checks, what it found is compared here."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

PROGRAM = Path(__file__).parent / "goora"
BUILD_SECONDS = 240
RUN_SECONDS = 90
FOUND: dict[str, Any] = {
    "version": [["APP", "ORCLPDB1"]],
    "types": [
        [
            *("1", "-5", "123456789012345.678", "1.5", "2.25", "h\u00e9", "ab   ", "\u4e2d\U0001f600"),
            *("2024-02-29T01:02:03Z", "2024-02-29T01:02:03.123456789Z", "2024-02-29T01:02:03.123456+05:30", "cafe"),
        ]
    ],
    "nulls": [["2", *["NULL"] * 11]],
    "fetch in pieces": 1000,
    # go-ora calls every character type NCHAR
    "result metadata": [
        ["ID", "NUMBER", "false"],
        ["N", "NUMBER", "true"],
        ["V", "NCHAR", "true"],
        ["TZ", "TimeStampTZ_DTY", "true"],
    ],
    "named binds": [["5", "v5"], ["6", "v6"]],
    "prepared again": [["v1"], ["v500"], ["v7"]],
    "prepared again after DDL": [],
    "bulk insert": 500,
    "bulk merge": [500, 500],
    "returning": [["3000", "made 3000"], ["3001", "made 3001"]],
    "out parameters": ["42x!", "43x!"],
    "cursor": [["1", "v1"], ["2", "v2"], ["3", "v3"]],
    "long text": True,
    "lobs": ["small small cafe", "long"],
    "empty and null lobs": [["NULL"] * 3],
    "rollback": [10, 10],
    "timeout": True,
    "after timeout": [["9"]],
    "many sessions": True,
}
REFUSED = {
    "wrong password": 1017,
    "unknown user": 1017,
    "unknown service": 12514,
    "missing table": 942,
    "duplicate key": 1,
    "bulk merge of another type": 932,
    "direct path load": 3001,
}


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go-ora: there is no Go compiler on PATH")
    target = tmp_path_factory.mktemp("goora") / "goora"
    built = subprocess.run(
        [go, "build", "-o", str(target), "."],
        cwd=PROGRAM,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if "go-ora" in built.stderr and ("dial" in built.stderr or "lookup" in built.stderr):
        pytest.skip(f"go-ora: the module cannot be fetched: {built.stderr.strip()}")
    assert built.returncode == 0, built.stderr
    return target


@pytest.fixture(scope="module")
def findings(program: Path, server: SandboxProcess) -> dict[str, dict[str, Any]]:
    command = [str(program), server.host, str(server.port), server.service]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return {finding["check"]: finding for finding in map(json.loads, ran.stdout.splitlines())}


def test_every_check_is_compared(findings: dict[str, dict[str, Any]]) -> None:
    assert set(findings) == set(FOUND) | set(REFUSED)


@pytest.mark.parametrize("check", FOUND)
def test_found(findings: dict[str, dict[str, Any]], check: str) -> None:
    finding = findings[check]
    assert "error" not in finding, finding["error"]
    assert finding["value"] == FOUND[check]


@pytest.mark.parametrize("check", REFUSED)
def test_refused(findings: dict[str, dict[str, Any]], check: str) -> None:
    assert findings[check]["code"] == REFUSED[check]
