"""Each rule of the database, on answers of its views for which it holds, and for which it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import PrerequisiteError
from minercdc.messages.topics import TopicNames
from minercdc.operate.check import access, database
from minercdc.operate.check.catalogue import BY_NAME
from minercdc.operate.check.examination import _examined
from minercdc.operate.check.page import document_of
from minercdc.operate.check.source import ExaminedSource
from minercdc.operate.check.targets import key_findings, registry_findings, state_findings, topic_findings
from minercdc.oracle.finding import Severity
from minercdc.oracle.grants import OPTIONAL_VIEWS, Platform
from minercdc.oracle.prerequisites import SupplementalLogging
from minercdc.schema.table import Column, TableId, TableNames, TableSchema

NOW = datetime(2026, 11, 23, 12)
ORDERS = TableSchema(TableId("PDB", "SHOP", "ORDERS"), (Column("ID", "NUMBER", 9, 0, False),), (0,))
Answers = Mapping[str, list[tuple[Any, ...]] | Exception]


class Cursor:
    """Answers a query by the first view of `answers` that it names."""

    def __init__(self, answers: Answers) -> None:
        self._answers, self._rows = answers, list[tuple[Any, ...]]()

    def execute(self, sql: str, binds: object = None) -> Cursor:
        named = next((name for name in self._answers if re.search(re.escape(name) + r"(?![\w$])", sql)), None)
        found = self._answers[named] if named else []
        if isinstance(found, Exception):
            raise found
        self._rows = list(found)
        return self

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class Connection:
    """The part of a driver's connection that rules use."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def cursor(self) -> Cursor:
        return Cursor(self._answers)

    def rollback(self) -> None:
        return None


def configured(**changes: str) -> ConnectorConfig:
    given = {
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "C##CDC",
        "database.password": "x",
        "database.dbname": "CDB",
        "database.pdb.name": "PDB",
        "minercdc.kafka.bootstrap.servers": "b:1",
    }
    return parse_properties(given | {key.replace("_", "."): value for key, value in changes.items()})


def source(
    answers: Answers, changes: Mapping[str, str] | None = None, *, platform: Platform = Platform.ORACLE
) -> ExaminedSource:
    connection: Any = Connection(answers)
    return ExaminedSource(configured(**(changes or {})), connection, [ORDERS], platform, True, frozenset())


DELETED: Answers = {"A.DELETED": [(3,)], "MIN(A.FIRST_TIME)": [(NOW - timedelta(hours=2),)], "SYSDATE FROM DUAL": [(NOW,)]}
DATABASE = {**database.OF_REDO, **database.OF_TABLES}
GIB = 1 << 30
BROKEN: list[tuple[str, Answers, dict[str, str], str, str]] = [
    ("force-logging", {"V$DATABASE": [("NO",)]}, {}, "NOLOGGING", "ALTER DATABASE FORCE LOGGING;"),
    (
        "nologging-tables",
        {"ALL_TABLES": [("ORDERS",), ("OTHER",)]},
        {},
        "SHOP.ORDERS",
        'ALTER TABLE "SHOP"."ORDERS" LOGGING;',
    ),
    ("archive-destination", {}, {}, "there is no valid local archive destination", "SET LOG_ARCHIVE_DEST_1"),
    (
        "archive-destination",
        {"V$ARCHIVE_DEST_STATUS": [("LOG_ARCHIVE_DEST_1", "VALID", "LOCAL", None)]},
        {"archive_destination_name": "LOG_ARCHIVE_DEST_2"},
        "LOG_ARCHIVE_DEST_2 is not a valid local destination; valid ones: LOG_ARCHIVE_DEST_1",
        "Name one of these",
    ),
    (
        "archive-destination",
        {
            "V$ARCHIVE_DEST_STATUS": [
                ("LOG_ARCHIVE_DEST_1", "VALID", "LOCAL", None),
                ("LOG_ARCHIVE_DEST_2", "ERROR", "LOCAL", "ORA-00270"),
            ]
        },
        {},
        "LOG_ARCHIVE_DEST_2 is ERROR: ORA-00270",
        "SET LOG_ARCHIVE_DEST_STATE_2 = ENABLE",
    ),
    ("archive-retention", DELETED, {}, "began 2.0 h ago", "RMAN"),
    ("recovery-area", {"V$RECOVERY_FILE_DEST": [("/fra", 10 * GIB, 9 * GIB, 0)]}, {}, "90% of 10.0 GiB", "= 20G;"),
    (
        "archive-lag",
        {"V$THREAD": [(1,)], "V$PARAMETER": [("0",)]},
        {"log_mining_archive_log_only_mode": "true"},
        "ARCHIVE_LAG_TARGET is 0",
        "ARCHIVE_LAG_TARGET = 900",
    ),
    ("archive-lag", {"V$THREAD": [(1,), (2,)], "V$PARAMETER": []}, {}, "2 redo threads", "ARCHIVE_LAG_TARGET = 900"),
    (
        "log-switches",
        {"V$LOG_HISTORY": [(1, "2026-11-23 10", 40), (1, "2026-11-23 09", 30)], "V$LOG": [(200 << 20,)]},
        {},
        "40 times in the hour from 2026-11-23 10:00; its logs have 200 MiB",
        "THREAD 1 SIZE 2000M",
    ),
    ("log-groups", {"V$LOG": [(1, 3, GIB), (2, 2, GIB)]}, {}, "thread 2 has 2 groups", "THREAD 2 SIZE 1024M"),
    (
        "old-transactions",
        {
            "FETCH FIRST": [(b"\1\2", 7, NOW - timedelta(hours=3), NOW, "APP", "job", "host", 42, 9)],
            "COUNT(*) FROM V$THREAD": [(1,)],
            "COUNT(*) FROM V$TRANSACTION": [(1,)],
            **DELETED,
        },
        {},
        "of APP (job), session 42, is open for 3.0 h",
        "KILL SESSION '42,",
    ),
    (
        "undo-retention",
        {"V$UNDOSTAT": [(900,)], "ALL_TABLES": [("ORDERS", 50_000_000)]},
        {},
        "undo is kept for 900 s, and a snapshot of SHOP.ORDERS with 50,000,000 rows takes about 5000 s",
        "UNDO_RETENTION = 7500",
    ),
    (
        "undo-errors",
        {"V$UNDOSTAT": [(2, 1)]},
        {},
        "2 queries ended with ORA-01555, and 1 transactions",
        "RETENTION GUARANTEE",
    ),
    ("pga-limit", {"V$PARAMETER": [(str(GIB),)]}, {}, "PGA_AGGREGATE_LIMIT is 1024 MiB", "PGA_AGGREGATE_LIMIT = 2048M"),
    ("character-set", {"NLS_CHARACTERSET": [("TH8TISASCII9",)]}, {}, "TH8TISASCII9", "redo_log_catalog"),
    (
        "pdb-open",
        {"V$PDBS": [("PDB", "READ ONLY", "NO")], "SYS_CONTEXT": [(3,)]},
        {},
        "PDB is open READ ONLY",
        "ALTER PLUGGABLE DATABASE PDB OPEN READ WRITE FORCE;",
    ),
    (
        "grant-flush-table",
        {},
        {"minercdc_log_mining_flush_table": "FLUSH"},
        "no table FLUSH and may not create it",
        "GRANT CREATE TABLE TO C##CDC; ALTER USER C##CDC QUOTA",
    ),
]
HOLDING: list[tuple[str, Answers, dict[str, str]]] = [
    ("force-logging", {"V$DATABASE": [("YES",)]}, {}),
    ("archive-destination", {"V$ARCHIVED_LOG": [(1,)]}, {}),  # a service that hides the destinations
    ("archive-destination", {"V$ARCHIVED_LOG": [(1,)]}, {"archive_destination_name": "LOG_ARCHIVE_DEST_1"}),
    ("nologging-tables", {"FORCE_LOGGING = 'YES'": [(1,)], "ALL_TABLES": [("ORDERS",)]}, {}),
    ("nologging-tables", {"ALL_TABLES": [("OTHER",)]}, {}),
    ("archive-destination", {"V$ARCHIVE_DEST_STATUS": [("LOG_ARCHIVE_DEST_1", "VALID", "LOCAL", None)]}, {}),
    ("archive-retention", {**DELETED, "A.DELETED": [(0,)]}, {}),
    ("archive-retention", {**DELETED, "MIN(A.FIRST_TIME)": [(NOW - timedelta(hours=30),)]}, {}),
    ("recovery-area", {"V$RECOVERY_FILE_DEST": [("/fra", 10 * GIB, 9 * GIB, 2 * GIB)]}, {}),
    ("recovery-area", {"V$RECOVERY_FILE_DEST": [(None, 0, 0, 0)]}, {}),
    ("archive-lag", {"V$THREAD": [(1,)], "V$PARAMETER": [("0",)]}, {}),
    ("archive-lag", {"V$THREAD": [(1,), (2,)], "V$PARAMETER": [("900",)]}, {}),
    ("log-switches", {"V$LOG_HISTORY": [(1, "2026-11-23 10", 12)]}, {}),
    ("log-groups", {"V$LOG": [(1, 3, GIB)]}, {}),
    ("old-transactions", {"A.DELETED": [(0,)]}, {}),
    ("undo-retention", {"V$UNDOSTAT": [(900,)], "ALL_TABLES": [("ORDERS", 8_000_000)]}, {}),
    ("undo-retention", {"V$UNDOSTAT": [(900,)], "ALL_TABLES": [("ORDERS", None)]}, {}),
    ("undo-errors", {"V$UNDOSTAT": [(None, None)]}, {}),
    ("pga-limit", {"V$PARAMETER": [(str(2 * GIB),)]}, {}),
    ("pga-limit", {"V$PARAMETER": [("0",)]}, {}),
    ("character-set", {"NLS_CHARACTERSET": [("AL32UTF8",)]}, {}),
    ("pdb-open", {"V$PDBS": [("PDB", "READ WRITE", "NO")], "SYS_CONTEXT": [(3,)]}, {}),
    ("grant-flush-table", {"USER_TABLES": [(1,)]}, {"minercdc_log_mining_flush_table": "FLUSH"}),
]
EXAMINED = {**DATABASE, **access.OF_TABLES}


@pytest.mark.parametrize(("rule", "answers", "changes", "problem", "fix"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_rule_that_does_not_hold_is_found_with_its_repair(
    rule: str, answers: Answers, changes: dict[str, str], problem: str, fix: str
) -> None:
    (finding,) = EXAMINED[rule](source(answers, changes))
    assert finding.rule == rule
    assert problem in finding.problem
    assert fix in finding.fix


@pytest.mark.parametrize(("rule", "answers", "changes"), HOLDING, ids=lambda value: str(value)[:30])
def test_a_rule_that_holds_says_nothing(rule: str, answers: Answers, changes: dict[str, str]) -> None:
    assert list(EXAMINED[rule](source(answers, changes))) == []


def test_every_rule_of_the_database_is_tried_both_ways() -> None:
    assert {rule for rule, *_ in BROKEN} >= set(DATABASE) - {"grant-instances"}
    assert {rule for rule, *_ in HOLDING} >= set(DATABASE) - {"grant-instances"}


@pytest.mark.parametrize(
    ("platform", "fix"),
    [
        (Platform.ORACLE, "GRANT SELECT ON SYS.V_$PARAMETER TO C##CDC CONTAINER=ALL;"),
        (Platform.RDS, "EXEC rdsadmin.rdsadmin_util.grant_sys_object('V_$PARAMETER', 'C##CDC', 'SELECT');"),
    ],
)
def test_a_rule_that_cannot_be_examined_says_so_and_hides_no_other(platform: Platform, fix: str) -> None:
    answers: Answers = {"V$PARAMETER": PrerequisiteError("ORA-00942"), "V$LOG": [(1, 2, GIB)]}
    rules = {name: database.OF_REDO[name] for name in ("pga-limit", "log-groups")}
    unknown, groups = _examined(source(answers, platform=platform), rules)
    assert (unknown.rule, unknown.severity) == ("pga-limit", Severity.UNKNOWN)
    assert "not examined: ORA-00942" in unknown.problem
    assert {"rule", "severity", "problem", "purpose", "fix"} == document_of(unknown).keys()
    assert document_of(unknown)["severity"] == "unknown"
    assert unknown.fix == fix
    assert (groups.rule, groups.severity) == ("log-groups", Severity.ADVICE)


def test_several_instances_need_the_view_of_all() -> None:
    answers: Answers = {"COUNT(*) FROM V$THREAD": [(2,)], "GV$TRANSACTION": PrerequisiteError("ORA-00942")}
    (unknown,) = _examined(source(answers), {"grant-instances": database.grant_instances})
    assert "GRANT SELECT ON SYS.GV_$TRANSACTION" in unknown.fix
    assert list(_examined(source({"COUNT(*) FROM V$THREAD": [(1,)]}), {"grant-instances": database.grant_instances})) == []


def test_statements_for_amazon_are_those_of_rdsadmin() -> None:
    (finding,) = database.force_logging(source({"V$DATABASE": [("NO",)]}, platform=Platform.RDS))
    assert "rdsadmin.rdsadmin_util.force_logging" in finding.fix
    (finding,) = database.archive_retention(source(DELETED, platform=Platform.RDS))
    assert "rdsadmin.rdsadmin_util.set_configuration('archivelog retention hours'" in finding.fix


@pytest.mark.parametrize(
    ("mines", "reads_redo", "views"),
    [
        (True, True, {"MYSTAT", "STATNAME", "SESSION", "UNDOSTAT", "PARAMETER", "RECOVERY_FILE_DEST", "DBA_2PC_PENDING"}),
        (False, True, {"SESSION", "UNDOSTAT", "DBA_2PC_PENDING"}),  # a server reads the redo
        (False, False, {"UNDOSTAT"}),  # row versions, a log of transactions
    ],
)
def test_only_views_that_the_adapter_has_a_use_for_are_wanted(mines: bool, reads_redo: bool, views: set[str]) -> None:
    answers: Answers = {view.view: PrerequisiteError("ORA-00942") for view in OPTIONAL_VIEWS}
    found = access.grant_more_views(replace(source(answers), mines=mines, reads_redo=reads_redo))
    wanted = {re.findall(r"ON SYS\.(?:V_\$)?(\w+)", finding.fix)[0] for finding in found}
    assert wanted == views | {"PDBS", "PDB_INCARNATION"}


def test_an_adapter_without_redo_is_not_warned_of_nologging() -> None:
    nologging = source({"ALL_TABLES": [("ORDERS",)]})
    assert len(list(database.nologging_tables(nologging))) == 1
    assert list(database.nologging_tables(replace(nologging, reads_redo=False))) == []


def test_a_table_without_a_key_is_named() -> None:
    (finding,) = key_findings([ORDERS, ORDERS], [True, False], TableNames("PDB"))
    assert finding.problem.startswith("SHOP.ORDERS has no key")
    assert finding.fix.startswith('ALTER TABLE "SHOP"."ORDERS" ADD PRIMARY KEY')
    (finding,) = key_findings([ORDERS], [False], TableNames.among(["PDB", "SALES"]))
    assert finding.problem.startswith("PDB.SHOP.ORDERS has no key")
    assert finding.fix.startswith('In PDB: ALTER TABLE "SHOP"."ORDERS" ADD PRIMARY KEY')


@pytest.mark.parametrize(
    ("status", "validated", "is_enough"),
    [("ENABLED", "VALIDATED", True), ("DISABLED", "NOT VALIDATED", False), ("ENABLED", "NOT VALIDATED", False)],
)
def test_logging_of_primary_keys_is_enough_for_one_that_holds(status: str, validated: str, is_enough: bool) -> None:
    """Another one is not the key of the rows, so redo would lack the unique key that is."""
    answers: Answers = {
        "V$DATABASE": [("NO", "NO")],
        "ALL_LOG_GROUPS": [("ORDERS", "PRIMARY KEY LOGGING")],
        "ALL_CONSTRAINTS": [("ORDERS", status, validated)],
    }
    connection: Any = Connection(answers)
    [finding] = SupplementalLogging(connection, ["SHOP"]).findings(ORDERS.id)
    assert finding.suspends is not is_enough


class NoTopics:
    """The part of a client that `topic_findings` uses, on a broker without topics."""

    brokers = "b:9092"

    def existing(self, names: Iterable[str]) -> set[str]:
        return set()

    def states(self, names: Sequence[str]) -> dict[str, Any]:
        assert not names
        return {}


def test_a_topic_that_is_not_the_tables_own_blocks_capture() -> None:
    absent = {"topic_creation_enable": "false"}
    regex = {"topic_regex": ".*", "topic_replacement": "p-offsets", "topic_key_enforce_uniqueness": "false"}
    naming = {"topic_naming_strategy": "io.debezium.schema.SchemaRegexTopicNamingStrategy"}
    colliding = configured(**regex, **naming, **absent)
    client: Any = NoTopics()
    (found,) = topic_findings(colliding, client, TopicNames(colliding), [ORDERS], [False])
    assert found.blocking
    assert "minercdc.offset.topic" in found.problem
    assert "topic.regex" in found.fix
    plain = configured(**absent)
    (missing,) = topic_findings(plain, client, TopicNames(plain), [ORDERS], [True])
    assert missing.problem == "topic p.SHOP.ORDERS of SHOP.ORDERS does not exist, and topic.creation.enable=false"


def test_a_state_directory_that_cannot_be_made_is_found(tmp_path: Path) -> None:
    assert list(state_findings(tmp_path / "not" / "there")) == []
    (tmp_path / "file").write_text("")
    (finding,) = state_findings(tmp_path / "file" / "state")
    assert finding.blocking
    assert "minercdc.state.dir" in finding.problem


def test_all_rules_have_a_purpose_and_a_repair() -> None:
    assert all(rule.holds.endswith(".") and rule.purpose.endswith(".") and rule.repair for rule in BY_NAME.values())


@pytest.mark.parametrize(
    "converter", ["io.confluent.connect.avro.AvroConverter", "io.apicurio.registry.utils.converter.AvroConverter"]
)
def test_a_registry_that_does_not_answer_is_found_once(converter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minercdc.operate.check.targets._SECONDS", 0.1)
    url = "apicurio_registry_url" if "apicurio" in converter else "schema_registry_url"
    path = "/apis/registry/v3" if "apicurio" in converter else ""
    given = {f"{side}_converter": converter for side in ("key", "value")}
    given |= {f"{side}_converter_{url}": f"http://127.0.0.1:1{path}" for side in ("key", "value")}
    (finding,) = registry_findings(configured(**given))
    assert (finding.rule, finding.blocking) == ("registry", True)
    assert "127.0.0.1:1" in finding.problem
    assert finding.fix
