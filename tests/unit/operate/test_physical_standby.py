"""Rules of a physical standby: on answers of both databases for which they hold, and for which they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.operate.test_rules import Answers, Connection, source

from minercdc.capture.logminer.logs.physical_standby import Identity, role_findings
from minercdc.errors import SnapshotTooOldError
from minercdc.operate.check.catalogue import BY_NAME
from minercdc.operate.check.physical_standby import OF_STANDBY

PRIMARY = Identity(7, "PRIMARY", "READ WRITE")
STANDBY = Identity(7, "PHYSICAL STANDBY", "READ ONLY WITH APPLY")


def found(rule: str, primary: Answers, standby: Answers) -> list[Any]:
    connection: Any = Connection(standby)
    return list(OF_STANDBY[rule](replace(source(primary), secondary=connection)))


@pytest.mark.parametrize(
    ("rule", "primary", "standby", "problem", "fix"),
    [
        (
            "standby-apply",
            {},
            {"OPEN_MODE": [("READ ONLY",)]},
            "READ ONLY: it does not apply redo",
            "RECOVER MANAGED STANDBY",
        ),
        (
            "standby-transport",
            {"V$ARCHIVED_LOG": [(1, 9), (2, 5)]},
            {"V$ARCHIVED_LOG": [(1, 6), (2, 4)]},
            "thread 1: the logs up to 9 are archived, but none after 6 has reached",
            "LOG_ARCHIVE_DEST_STATE_n = ENABLE",
        ),
        ("standby-lag", {"DUAL": [(7200,)]}, {"CURRENT_SCN": [(500,)]}, "SCN 500, of 2.0 h ago", "ARCHIVE_LAG_TARGET"),
        (
            "standby-lag",
            {"DUAL": SnapshotTooOldError("ORA-08181")},
            {"CURRENT_SCN": [(500,)]},
            "SCN 500, of days ago",
            "ARCHIVE_LAG_TARGET",
        ),
    ],
)
def test_a_rule_that_does_not_hold_is_found(rule: str, primary: Answers, standby: Answers, problem: str, fix: str) -> None:
    (finding,) = found(rule, primary, standby)
    assert (finding.rule, finding.blocking) == (rule, False)
    assert problem in finding.problem
    assert fix in finding.fix
    assert rule in BY_NAME


@pytest.mark.parametrize(
    ("rule", "primary", "standby"),
    [
        ("standby-apply", {}, {"OPEN_MODE": [("READ ONLY WITH APPLY",)]}),
        ("standby-transport", {"V$ARCHIVED_LOG": [(1, 9)]}, {"V$ARCHIVED_LOG": [(1, 8)]}),
        ("standby-lag", {"DUAL": [(3600,)]}, {"CURRENT_SCN": [(500,)]}),
    ],
)
def test_a_rule_that_holds_says_nothing(rule: str, primary: Answers, standby: Answers) -> None:
    assert found(rule, primary, standby) == []


@pytest.mark.parametrize(
    ("primary", "standby", "problem"),
    [
        (STANDBY, PRIMARY, "database.* is a PHYSICAL STANDBY (READ ONLY WITH APPLY): it must be the primary"),
        (PRIMARY, PRIMARY, "secondary.* is a PRIMARY (READ WRITE), not a physical standby"),
        (PRIMARY, STANDBY._replace(role="SNAPSHOT STANDBY", mode="READ WRITE"), "secondary.* is a SNAPSHOT STANDBY"),
        (PRIMARY, STANDBY._replace(dbid=8), "a standby of another database: its DBID is 8, that of database.* 7"),
        (PRIMARY, STANDBY._replace(mode="MOUNTED"), "is MOUNTED"),
    ],
)
def test_roles_that_do_not_fit_block_capture(primary: Identity, standby: Identity, problem: str) -> None:
    (finding,) = role_findings(primary, standby)
    assert finding.blocking
    assert problem in finding.problem


@pytest.mark.parametrize("mode", ["READ ONLY", "READ ONLY WITH APPLY"])
def test_a_standby_that_is_open_can_be_mined(mode: str) -> None:
    assert list(role_findings(PRIMARY, STANDBY._replace(mode=mode))) == []
