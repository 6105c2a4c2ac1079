"""Rules of a downstream database: on answers of both databases for which they hold, and for which they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.operate.test_rules import Answers, Connection, source

from minercdc.capture.logminer.logs.downstream import downstream_findings
from minercdc.capture.logminer.logs.physical_standby import Identity
from minercdc.config.load import parse_properties
from minercdc.operate.check.catalogue import BY_NAME
from minercdc.operate.check.downstream import OF_DOWNSTREAM
from minercdc.operate.check.plan_grants import grants

SOURCE = Identity(7, "PRIMARY", "READ WRITE")
DOWNSTREAM = Identity(8, "PRIMARY", "READ WRITE")
KIND: Answers = {
    "PLATFORM_NAME": [("Linux x86 64-bit",)],
    "NLS_DATABASE_PARAMETERS": [("AL32UTF8",)],
    "V$INSTANCE": [("19.0.0.0.0",)],
}
OF_SOURCE: Answers = {"RESETLOGS_CHANGE#, CURRENT_SCN": [(7, 1, 900)]}


def found(rule: str, of_source: Answers, downstream: Answers) -> list[Any]:
    connection: Any = Connection(downstream)
    return list(OF_DOWNSTREAM[rule](replace(source(of_source), secondary=connection)))


@pytest.mark.parametrize(
    ("downstream", "problem"),
    [
        (
            {"PLATFORM_NAME": [("AIX-Based Systems (64-bit)",)]},
            "it runs on AIX-Based Systems (64-bit), the source on Linux x86",
        ),
        ({"NLS_DATABASE_PARAMETERS": [("WE8ISO8859P1",)]}, "its character set is WE8ISO8859P1, the source's AL32UTF8"),
        ({"V$INSTANCE": [("12.2.0.1.0",)]}, "its release is 12.2.0.1.0, the source's 19.0.0.0.0"),
    ],
)
def test_another_kind_of_database_is_found(downstream: Answers, problem: str) -> None:
    (finding,) = found("downstream-kind", KIND, {**KIND, **downstream})
    assert (finding.rule, finding.blocking) == ("downstream-kind", False)
    assert problem in finding.problem
    assert finding.rule in BY_NAME


def test_the_same_kind_and_a_later_release_say_nothing() -> None:
    assert found("downstream-kind", KIND, KIND) == []
    assert found("downstream-kind", KIND, {**KIND, "V$INSTANCE": [("23.0.0.0.0",)]}) == []


@pytest.mark.parametrize(
    ("archived", "received", "problems"),
    [
        ([(1, 9)], [(1, 7), (1, 8)], []),
        ([(1, 9)], [(1, 9)], []),
        ([(1, 9)], [(1, 5), (1, 6)], ["the logs up to 9 are archived, but none after 6 has reached"]),
        ([(1, 9)], [(1, 4), (1, 6), (1, 8)], ["although later ones exist: 5, 7"]),
        ([(1, 9)], [(1, 1), (1, 9)], ["although later ones exist: 2, 3, 4, 5, 6 .."]),
        ([(1, 9), (2, 3)], [(1, 8)], ["thread 2: no log of it has reached"]),
    ],
)
def test_logs_that_have_not_arrived_are_found(archived: Any, received: Any, problems: list[str]) -> None:
    findings = found("downstream-transport", {**OF_SOURCE, "V$ARCHIVED_LOG": archived}, {"V$FOREIGN_ARCHIVED_LOG": received})
    assert len(findings) == len(problems)
    for finding, problem in zip(findings, problems, strict=True):
        assert (finding.rule, finding.blocking) == ("downstream-transport", False)
        assert problem in finding.problem
        assert "LOG_ARCHIVE_DEST_STATE_n = ENABLE" in finding.fix


@pytest.mark.parametrize(
    ("of_source", "downstream", "problem"),
    [
        (Identity(7, "PHYSICAL STANDBY", "MOUNTED"), DOWNSTREAM, "database.* is a PHYSICAL STANDBY (MOUNTED)"),
        (SOURCE, SOURCE, "secondary.* has the DBID of database.*, 7"),
        (SOURCE, DOWNSTREAM._replace(role="PHYSICAL STANDBY", mode="READ ONLY"), "is a PHYSICAL STANDBY, READ ONLY"),
    ],
)
def test_databases_that_do_not_fit_block_capture(of_source: Identity, downstream: Identity, problem: str) -> None:
    (finding,) = downstream_findings(of_source, downstream)
    assert (finding.rule, finding.blocking) == ("downstream-role", True)
    assert problem in finding.problem


def test_a_database_of_its_own_can_be_mined_in() -> None:
    assert list(downstream_findings(SOURCE, DOWNSTREAM)) == []


def test_the_plan_has_the_grants_of_both_databases() -> None:
    given = {
        "topic.prefix": "t",
        "database.hostname": "source",
        "database.user": "c##cdc",
        "database.password": "x",
        "database.dbname": "CDB",
        "database.pdb.name": "PDB",
        "minercdc.kafka.bootstrap.servers": "b:1",
        "capture.mode": "downstream",
        "secondary.hostname": "mining",
        "log.mining.strategy": "redo_log_catalog",
        "log.mining.archive.log.only.mode": "true",
    }
    statements = list(grants(parse_properties(given), []))
    begin = statements.index("-- In the downstream database, where the user has the same name:")
    assert "GRANT EXECUTE ON SYS.DBMS_LOGMNR_D TO C##CDC CONTAINER=ALL;" in statements[:begin]
    assert statements[begin + 1 :] == [
        "GRANT CREATE SESSION TO C##CDC CONTAINER=ALL;",
        "GRANT LOGMINING TO C##CDC CONTAINER=ALL;",
        "GRANT EXECUTE ON SYS.DBMS_LOGMNR TO C##CDC CONTAINER=ALL;",
        "GRANT SELECT ON SYS.V_$DATABASE TO C##CDC CONTAINER=ALL;",
        "GRANT SELECT ON SYS.V_$FOREIGN_ARCHIVED_LOG TO C##CDC CONTAINER=ALL;",
        "GRANT SELECT ON SYS.V_$LOGMNR_CONTENTS TO C##CDC CONTAINER=ALL;",
    ]
