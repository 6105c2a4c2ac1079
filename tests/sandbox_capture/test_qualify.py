"""`minercdc qualify` where something is wrong: what differs is said, and stops nothing else; nothing is left."""

from __future__ import annotations

import threading

import pytest
from pydantic import SecretStr
from tests.fixtures.fix_sandbox import SandboxProcess
from tests.native_pair import parsed

from minercdc.operate.qualify import runner
from minercdc.operate.qualify.case import Case, Step
from minercdc.operate.qualify.place import Access
from minercdc.operate.qualify.runner import Request, qualify

CREATE = "CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))"
CASES = (
    Case("another row than expected", [CREATE], (), [Step(["INSERT INTO {t} VALUES (3, 'x')"], ["c 2"])]),
    Case(
        "a statement fails", [CREATE], (), [Step(["INSERT INTO {t} VALUES (1, 'x')", "INSERT INTO {t} VALUES (1)"], ["c 1"])]
    ),
    Case("no such type", ["CREATE TABLE {t} (ID NUMBER(9) PRIMARY KEY, V NO_SUCH_TYPE)"]),
    Case(
        "a table that redo does not hold in full",
        [CREATE],
        ["INSERT INTO {t} VALUES (1, 'x')"],
        [
            Step(["UPDATE {t} SET ID = 1 WHERE ID = 1"], ["u 1"]),
        ],
        logged=(),
    ),
    Case("all is well", [CREATE], ["INSERT INTO {t} VALUES (1, 'x')"], [Step(["UPDATE {t} SET V = 'y'"], ["u 1"])]),
)


def test_what_differs_is_said_and_stops_nothing_else(sandbox: SandboxProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FAMILIES", {"wrong": CASES})
    with sandbox.connect(service=sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    config = parsed(
        {
            "topic.prefix": "t",
            "database.hostname": sandbox.host,
            "database.port": str(sandbox.port),
            "database.user": "C##MINERCDC",
            "database.password": "minercdc",
            "database.dbname": sandbox.root_service,
            "database.pdb.name": sandbox.service,
            "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
        }
    )
    system = config.database.model_copy(update={"database_user": "system", "database_password": SecretStr("oracle")})
    report = qualify(config, Request(Access(config.database, system, None)), threading.Event())
    assert report is not None
    found = {one.name: (one.outcome, " ".join(one.details)) for one in report.results}
    assert found["another row than expected"][0] == "differs"
    assert "captured while it happened: step 1: expected c 2; came c 3" in found["another row than expected"][1]
    assert "captured later: step 1: expected c 2; came c 3" in found["another row than expected"][1]
    assert found["a statement fails"] == ("differs", found["a statement fails"][1])
    assert "ORA-00947" in found["a statement fails"][1]
    assert found["no such type"] == ("not offered", "ORA-00902, the type is not there")
    assert found["a table that redo does not hold in full"][0] == "differs"
    assert found["all is well"] == ("as expected", "")
    assert report.summary() == "this database: 1 of 4 as expected, 3 differ"
    with sandbox.connect() as admin, admin.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM ALL_USERS WHERE USERNAME LIKE 'MINERCDC!_Q!_%' ESCAPE '!'")
        assert cursor.fetchone() == (0,)
