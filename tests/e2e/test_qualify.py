"""`minercdc qualify` on the sandbox: every offered case is as expected; nothing is left, also after a kill; the report has no names."""

from __future__ import annotations

import gzip
import json
import re
import signal
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.e2e.connector import Ended, MinerCdc, run_to_end
from tests.fixtures.fix_sandbox import SandboxProcess

ADMIN = "C##SECRET_ADMIN"
PASSWORDS = {
    "MINERCDC_ADMIN_PASSWORD": "Hidden_admin1",
    "MINERCDC_SCHEMA_PASSWORD": "given_schema",
    "MINERCDC_PASSWORD": "Hidden_capture1",
}


@pytest.fixture(scope="module")
def prepared(sandbox: SandboxProcess) -> SandboxProcess:
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
        cursor.execute(f"CREATE USER {ADMIN} IDENTIFIED BY {PASSWORDS['MINERCDC_ADMIN_PASSWORD']} CONTAINER=ALL")
        cursor.execute(f"GRANT DBA TO {ADMIN} CONTAINER=ALL")
        cursor.execute(f"ALTER USER C##MINERCDC IDENTIFIED BY {PASSWORDS['MINERCDC_PASSWORD']} CONTAINER=ALL")
    return sandbox


@pytest.fixture
def config(prepared: SandboxProcess, tmp_path: Path) -> Path:
    sandbox = prepared
    file = tmp_path / "orders.yaml"
    file.write_text(
        f"""
name: secret_connector
topic.prefix: secret_prefix
database.hostname: {sandbox.host}
database.port: {sandbox.port}
database.user: C##MINERCDC
database.password: ${{env:MINERCDC_PASSWORD}}
database.dbname: {sandbox.root_service}
database.pdb.name: {sandbox.service}
debezium.sink.type: json
minercdc.sink.path: {tmp_path / "never_written"}
"""
    )
    return file


def qualify(config: Path, *arguments: str) -> Ended:
    log = config.with_name(f"qualify{time.monotonic_ns()}.log")
    return run_to_end(["qualify", str(config), "--admin", ADMIN, *arguments], log, environment=PASSWORDS)


def left(sandbox: SandboxProcess) -> Sequence[str]:
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT USERNAME FROM ALL_USERS WHERE USERNAME LIKE 'MINERCDC!_Q!_%' ESCAPE '!' ORDER BY 1")
        users = [name for (name,) in cursor.fetchall()]
        cursor.execute(
            "SELECT OWNER || '.' || TABLE_NAME FROM ALL_TABLES WHERE TABLE_NAME LIKE 'MQ!_%' ESCAPE '!' ORDER BY 1"
        )
        return [*users, *(name for (name,) in cursor.fetchall())]


def test_every_offered_case_is_as_expected_and_the_report_has_no_names(
    sandbox: SandboxProcess, config: Path, tmp_path: Path
) -> None:
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("CREATE USER OTHERS_SCHEMA IDENTIFIED BY x QUOTA UNLIMITED ON USERS")
        cursor.execute("CREATE TABLE OTHERS_SCHEMA.OTHERS_TABLE (OTHERS_COLUMN NUMBER)")
        cursor.execute("INSERT INTO OTHERS_SCHEMA.OTHERS_TABLE VALUES (4711)")
        admin.commit()
    report = tmp_path / "qualified.zip"
    ended = qualify(config, "--report", str(report))
    lines = ended.output.splitlines()
    assert ended.status == 0, "\n".join(line for line in lines if not line.startswith("as expected"))
    found = re.fullmatch(r"this database: (\d+) of (\d+) as expected, 0 differ", lines[-1])
    assert found is not None
    assert found[1] == found[2]
    assert int(found[1]) >= 50
    assert left(sandbox) == []
    assert not (tmp_path / "never_written").exists()
    with zipfile.ZipFile(report) as archive:
        members = {Path(name).name: archive.read(name) for name in archive.namelist()}
    assert set(members) == {"report.md", "report.json", "recording.gz"}
    document = json.loads(members["report.json"])
    assert document["recording_replays"] is True
    assert document["summary"] == lines[-1]
    members["recording.gz"] = gzip.decompress(members["recording.gz"])
    names = ("C##MINERCDC", ADMIN, sandbox.root_service, sandbox.service, sandbox.host, str(sandbox.port))
    for word in (*names, *PASSWORDS.values(), "secret_", "OTHERS_", "oracle_sandbox"):
        for member, content in members.items():
            assert not re.search(rf"(?<![\w]){re.escape(word)}(?![\w])", content.decode(), re.IGNORECASE), (member, word)
    (tmp_path / "recording.gz").write_bytes(gzip.compress(members["recording.gz"]))
    replayed = run_to_end(["replay", str(tmp_path / "recording.gz"), "--quiet"], tmp_path / "replay.log")
    assert replayed.status == 0, replayed.errors
    assert "not as recorded" not in replayed.errors


def test_what_a_killed_run_left_is_removed_by_the_next_and_nothing_else(sandbox: SandboxProcess, config: Path) -> None:
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("CREATE USER MINERCDC_Q_ABCDEF IDENTIFIED BY x QUOTA UNLIMITED ON USERS")
        cursor.execute("CREATE TABLE MINERCDC_Q_ABCDEF.PAYROLL (ID NUMBER)")
    others = ["MINERCDC_Q_ABCDEF"]
    log = config.with_name("killed.log")
    arguments = ["qualify", str(config), "--admin", ADMIN, "--case", "NUMBER", "--case", "5,000"]
    killed = MinerCdc(arguments, log, environment=PASSWORDS)
    killed.await_log("running")
    killed.stop(signal.SIGKILL)
    assert len(left(sandbox)) > 3
    ended = qualify(config, "--case", "NUMBER(9)", "--json")
    assert ended.status == 0, ended.errors
    assert json.loads(ended.output)["summary"] == "this database: 1 of 1 as expected, 0 differ"
    assert left(sandbox) == others
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("DROP USER MINERCDC_Q_ABCDEF CASCADE")


def test_what_another_run_uses_is_left_alone_and_a_stopped_run_cleans_up(sandbox: SandboxProcess, config: Path) -> None:
    arguments = ["qualify", str(config), "--admin", ADMIN, "--case", "VARCHAR2", "--case", "5,000", "--case", "TIMESTAMP"]
    running = MinerCdc(arguments, config.with_name("running.log"), environment=PASSWORDS)
    running.await_log("preparing")
    ended = qualify(config, "--case", "RAW")
    assert ended.status == 0, ended.errors
    ended = running.stop(signal.SIGTERM)
    assert ended.status in (0, 130), ended.errors
    assert left(sandbox) == []


def test_a_given_schema_gets_tables_and_loses_them(sandbox: SandboxProcess, config: Path) -> None:
    sandbox.create_user("given_schema")
    with sandbox.connect("given_schema", "given_schema") as owner, owner.cursor() as cursor:
        cursor.execute("CREATE TABLE MQ_MINE (ID NUMBER)")
    log = config.with_name("killed.log")
    arguments = [
        "qualify",
        str(config),
        "--schema",
        "given_schema",
        "--case",
        "DATE",
        "--case",
        "5,000",
        "--case",
        "log switch",
    ]
    killed = MinerCdc(arguments, log, environment=PASSWORDS)
    killed.await_log("running")
    killed.stop(signal.SIGKILL)
    assert len(left(sandbox)) > 2
    report = config.with_name("r.zip")
    again = [*arguments[:4], "--case", "DATE", "--report", str(report)]
    ended = run_to_end(again, config.with_name("again.log"), environment=PASSWORDS)
    assert ended.status == 0, ended.output + ended.errors
    with zipfile.ZipFile(report) as archive:
        members = {Path(name).name: archive.read(name) for name in archive.namelist()}
    assert json.loads(members["report.json"])["recording_replays"] is True
    assert b"GIVEN_SCHEMA" not in gzip.decompress(members["recording.gz"])
    assert b"given_schema" not in members["report.md"].lower()
    assert left(sandbox) == ["GIVEN_SCHEMA.MQ_MINE"]
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("DROP USER GIVEN_SCHEMA CASCADE")


def test_who_may_not_create_users_is_told_what_to_do(sandbox: SandboxProcess, config: Path) -> None:
    ended = run_to_end(["qualify", str(config), "--case", "DATE"], config.with_name("not.log"), environment=PASSWORDS)
    assert ended.status == 3
    assert "--admin NAME" in ended.errors
    assert "--schema NAME" in ended.errors
    assert left(sandbox) == []
