"""What the database lacks: `check` lists it with SQL, running that SQL mends it, and `run` refuses until then."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.connector import properties, run, run_to_end, write
from tests.e2e.lab import LOGGED, TABLE, Lab
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.load import load_config
from minercdc.local.kafka_broker import KafkaBroker
from minercdc.operate.check.plan_grants import grants
from minercdc.oracle.grants import DBMS_LOGMNR, LOGMINING, MINING_VIEWS
from minercdc.schema.table import TableId
from minercdc_sandbox.server import SandboxServer


@pytest.fixture
def bare(make_lab: Callable[..., Lab], broker: KafkaBroker, fresh_sandbox: SandboxProcess) -> Lab:
    """A database as it is after installation, with a table."""
    return make_lab(broker.bootstrap_servers, [TABLE, "INSERT INTO T VALUES (1, 'a')"], fresh_sandbox)


def fixes(report: str) -> list[str]:
    """The SQL of a report, one statement each."""
    return [line.strip().rstrip(";") for line in report.splitlines() if re.match(r" +(ALTER|GRANT) ", line)]


def apply(lab: Lab, statement: str) -> None:
    """As the administrator, in the container that the statement is about."""
    service = lab.server.root_service if statement.startswith("ALTER DATABASE") else lab.server.service
    with lab.server.connect(service=service) as connection:
        connection.cursor().execute(statement)


def test_every_fix_that_check_prints_mends_its_finding(bare: Lab) -> None:
    config = bare.config()
    before = bare.minercdc("check", str(config))
    assert before.status == 3, before.errors
    statements = fixes(before.output)
    assert statements == [
        "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA",
        f'ALTER TABLE "{bare.schema}"."T" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS',
        "ALTER DATABASE FORCE LOGGING",
    ]
    lines = before.output.splitlines()
    assert lines[0].startswith("missing ")
    assert lines[1].startswith("         minimal-logging: Otherwise LogMiner cannot assemble the pieces of a row")
    assert lines[3].startswith(f"missing  {bare.schema}.T: supplemental logging is missing")
    apply(bare, statements[0])
    apply(bare, statements.pop())
    advised = bare.minercdc("check", str(config))
    assert (advised.status, fixes(advised.output)) == (0, statements[1:])
    assert "ready, but tables will be suspended" in advised.output
    apply(bare, f'ALTER TABLE "{bare.schema}"."T" ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS')
    assert "advice   " in (partial := bare.minercdc("check", str(config)).output), partial
    apply(bare, statements[1])
    after = bare.minercdc("check", str(config))
    assert (after.status, after.output) == (0, "ready\n")


def test_run_refuses_an_unprepared_database_and_starts_on_a_prepared_one(bare: Lab) -> None:
    refused = bare.run_to_end()
    assert refused.status == 3
    assert refused.message().startswith("MC-2001: not ready for capture")
    assert "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA" in refused.message()
    assert "Traceback" not in refused.errors
    assert bare.topics.records(bare.topic()) == []
    apply(bare, "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    with bare.run(log="again.log") as connector:
        connector.await_log(r"WARNING .*supplemental logging is missing.*ALTER TABLE")
        connector.await_log("streaming:")
        connector.stop_in_order()
    apply(bare, "ALTER DATABASE DROP SUPPLEMENTAL LOG DATA")
    with bare.run(log="later.log") as connector:  # with an offset, too: what is not logged now is lost
        assert connector.await_end().status == 3


def test_a_database_that_does_not_archive_is_refused(database: SandboxProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    with SandboxServer() as server:
        server.database.catalog.log_mode = "NOARCHIVELOG"
        settings = properties(database, broker.bootstrap_servers, "noarchive", tmp_path, database_port=server.port)
        config = write(settings, tmp_path / "c.yaml")
        checked = run_to_end(["check", str(config)], tmp_path / "check.log")
        assert checked.status == 3, checked.errors
        assert "missing  the database is in NOARCHIVELOG mode" in checked.output
        assert "ALTER DATABASE ARCHIVELOG" in checked.output
        with run(config, tmp_path / "run.log") as connector:
            refused = connector.await_end()
        assert refused.status == 3
        assert "ALTER DATABASE ARCHIVELOG" in refused.message()


def test_a_pattern_without_a_table_is_named(lab: Lab) -> None:
    config = lab.config(table_include_list=f"{lab.schema}.T,{lab.schema}.ORDRES")
    finding = f"table.include.list: '{lab.schema}.ORDRES' matches no table"
    checked = lab.minercdc("check", str(config))
    assert (checked.status, finding in checked.output) == (0, True), checked.output
    for log in ("first.log", "again.log"):  # said at every start
        with lab.run(config, log) as connector:
            connector.await_log(re.escape(finding))
            connector.await_log("streaming:")
            lab.topics.await_records(lab.topic(), 3)
            connector.stop_in_order()


def test_an_exclude_pattern_that_leaves_nothing_out_is_named(lab: Lab) -> None:
    lab.execute("CREATE TABLE SECRETS (ID NUMBER PRIMARY KEY)")
    config = lab.config(table_exclude_list=f"{lab.schema}.SECRETS,{lab.schema}.SECERTS")
    checked = lab.minercdc("check", str(config))
    found = re.findall("table.exclude.list: '(.*?)' matches no table", checked.output)
    assert (checked.status, found) == (0, [f"{lab.schema}.SECERTS"]), checked.output


def test_a_first_start_without_a_table_is_refused(lab: Lab) -> None:
    config = lab.config(table_include_list="T", schema_include_list=lab.schema)
    ended = lab.run_to_end(config)
    assert ended.status == 2, ended.errors
    assert f"table.include.list: 'T' matches no table; did you mean {lab.schema}.T?" in ended.message()
    assert "are SCHEMA.TABLE" in ended.message()
    checked = lab.minercdc("check", str(config))
    assert (checked.status, "missing  no table is captured" in checked.output) == (3, True), checked.output


def test_later_no_table_at_all_is_said(lab: Lab) -> None:
    with lab.run(lab.config(), "first.log") as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    config = lab.config(schema_include_list="NOSUCH")
    with lab.run(config) as connector:
        connector.await_log("WARNING no table is captured")
        connector.await_log("streaming:")
        connector.stop_in_order()
    assert "no table is captured" in lab.minercdc("check", str(config)).output
    verified = lab.minercdc("verify", str(config))
    assert verified.status == 1
    assert "MC-9001: no table is captured" in verified.errors
    planned = lab.minercdc("plan", str(config)).output.splitlines()
    assert "  --   GRANT SELECT, FLASHBACK ON schema.table TO C##MINERCDC;" in planned[planned.index("grants, by a DBA:") :]


def test_a_table_that_is_listed_later_is_named_with_the_command_that_reads_it(lab: Lab) -> None:
    lab.execute("CREATE TABLE U (ID NUMBER(9) PRIMARY KEY)", "INSERT INTO U VALUES (1)", LOGGED.format("U"))
    with lab.run(lab.config(table_include_list=f"{lab.schema}.T"), "first.log") as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    _await_next_second(lab)  # CREATED has whole seconds
    lab.execute("ALTER TABLE T RENAME TO T2", "CREATE TABLE AFTER_ALL (ID NUMBER(9) PRIMARY KEY)")
    config = lab.config(signal_enabled_channels="kafka", signal_poll_interval_ms=200)
    for command in ("plan", "check"):
        said = lab.minercdc(command, str(config)).output
        assert said.count("is newly captured") == 1, said
        assert f"execute-snapshot --collection {lab.server.service}.{lab.schema}.U" in said
    with lab.run(config) as connector:
        command = connector.await_log(rf"{lab.schema}\.U is newly captured: .*(execute-snapshot .*)\n")[1]
        connector.await_log("streaming:")
        verified = lab.minercdc("verify", str(config))
        assert f"execute-snapshot --collection {lab.server.service}.{lab.schema}.U" in verified.output + verified.errors
        assert lab.minercdc("signal", str(config), *command.split()).status == 0
        lab.topics.await_records(lab.topic("U"), 1)
        connector.stop_in_order()
    assert connector.text().count("is newly captured") == 1, "not of the renamed table, nor of the new one"
    with lab.run(config, "again.log") as connector:
        connector.await_log("streaming:")
        connector.stop_in_order()
    assert "is newly captured" not in connector.text() + lab.minercdc("plan", str(config)).output


def _await_next_second(lab: Lab) -> None:
    with lab.connect() as connection, connection.cursor() as cursor:
        seconds: set[object] = set()
        while len(seconds) < 2:
            cursor.execute("SELECT SYSDATE FROM DUAL")
            seconds.update(cursor.fetchone() or ())
            time.sleep(0.02)


def test_check_needs_the_database(lab: Lab) -> None:
    ended = lab.minercdc("check", str(lab.config(database_dbname="NOSUCH")))
    assert ended.status == 1
    assert "NOSUCH" in ended.message()
    assert "Traceback" not in ended.errors


def test_the_sandbox_grants_what_the_guide_grants(lab: Lab) -> None:
    """Logging on and checking is possible with docs/how-to/prepare-oracle.md's grants alone."""
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "prepare-oracle.md").read_text(encoding="utf-8")
    statements = [s.strip() for s in re.findall(r"(?m)^(?:CREATE USER|GRANT) [^;]+(?=;)", guide)]
    assert len(statements) > 5
    user = f"C##{lab.schema}"
    with lab.server.connect(service=lab.server.root_service) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.replace("C##MINERCDC", user))
    config = lab.config(database_user=user, database_password="choose_one")
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        lab.topics.await_records(lab.topic(), 3)
        connector.stop_in_order()


def test_the_grants_that_plan_prints_are_enough_for_snapshot_and_stream(lab: Lab) -> None:
    user = f"C##LEAST{lab.schema}"
    config = lab.config(database_user=user, database_password="least", table_include_list=f"{lab.schema}.T")
    with lab.server.connect(service=lab.server.root_service) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {user} IDENTIFIED BY least CONTAINER=ALL")
        for statement in grants(load_config(config), [TableId(lab.server.service, lab.schema, "T")]):
            cursor.execute(statement.rstrip(";"))
    with lab.run(config) as connector:
        connector.await_log("streaming:")
        lab.insert(100, 3)
        records = lab.topics.await_records(lab.topic(), 6)
        connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, 100, 101, 102]
    assert "missing" not in lab.minercdc("check", str(config)).output


def test_a_start_names_each_privilege_of_mining_that_is_missing(lab: Lab) -> None:
    user = f"C##NEW{lab.schema}"
    with lab.server.connect(service=lab.server.root_service) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {user} IDENTIFIED BY new CONTAINER=ALL")
        cursor.execute(f"GRANT CREATE SESSION, SET CONTAINER TO {user} CONTAINER=ALL")
    refused = lab.run_to_end(lab.config(database_user=user, database_password="new"))
    assert refused.status == 3
    for grant in (LOGMINING, DBMS_LOGMNR, *MINING_VIEWS):
        assert grant.statement(user, everywhere=True) in refused.message()
        assert grant.purpose in refused.message()
