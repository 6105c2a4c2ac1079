"""Least privilege: a user with just the grants that `minercdc plan` prints captures; each one taken away is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.examples import every_nth
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.capture.txlog.installation import install
from minercdc.capture.txlog.noted import noted_since
from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import PrerequisiteError
from minercdc.operate.check.examination import examine
from minercdc.operate.check.plan_grants import grants
from minercdc.oracle.connect import connect
from minercdc.oracle.dictionary.tables import read_tables
from minercdc.oracle.finding import Finding, Severity
from minercdc.oracle.grants import MINING_VIEWS, OPTIONAL_VIEWS
from minercdc.pipeline.start_checks import check_prerequisites
from minercdc.schema.table import TableId

USER = "C##LEAST"
ORDERS = TableId("ORCLPDB1", "SHOP", "ORDERS")


def administer(sandbox: SandboxProcess, statement: str, *, root: bool = True) -> None:
    with sandbox.connect(service=sandbox.root_service if root else sandbox.service) as connection:
        connection.cursor().execute(statement.rstrip(";"))


@pytest.fixture(scope="module")
def prepared(sandbox: SandboxProcess) -> SandboxProcess:
    """A logged table of one user, and a connector's user without privileges."""
    sandbox.create_user("shop")
    with sandbox.connect("shop", "shop") as connection, connection.cursor() as cursor:
        cursor.execute("create table orders (id number(9) primary key, note varchar2(40))")
        cursor.execute("alter table orders add supplemental log data (all) columns")
    administer(sandbox, "alter database add supplemental log data")
    administer(sandbox, "alter database force logging")
    administer(sandbox, f"create user {USER} identified by least container=all")
    return sandbox


@pytest.fixture(scope="module")
def config(prepared: SandboxProcess, tmp_path_factory: pytest.TempPathFactory) -> ConnectorConfig:
    directory = tmp_path_factory.mktemp("least")
    return parse_properties(
        {
            "name": "least",
            "topic.prefix": "least",
            "database.hostname": prepared.host,
            "database.port": str(prepared.port),
            "database.user": USER,
            "database.password": "least",
            "database.dbname": prepared.root_service,
            "database.pdb.name": prepared.service,
            "table.include.list": "SHOP.ORDERS",
            "debezium.sink.type": "json",
            "minercdc.sink.path": str(directory / "out"),
            "minercdc.state.dir": str(directory / "state"),
        }
    )


def statements(config: ConnectorConfig) -> Iterator[tuple[str, bool]]:
    """What `minercdc plan` prints, each with whether it is for the root."""
    root = True
    for statement in grants(config, [ORDERS]):
        if statement.startswith("ALTER SESSION"):
            root = False
        else:
            yield statement, root


@pytest.fixture(scope="module")
def granted(prepared: SandboxProcess, config: ConnectorConfig) -> list[tuple[str, bool]]:
    found = list(statements(config))
    for statement, root in found:
        administer(prepared, statement, root=root)
    return found


def answers(config: ConnectorConfig) -> list[Finding]:
    try:
        return list(examine(config))
    except PrerequisiteError as error:
        return [Finding("", Severity.MISSING, error.message, error.hint)]


def taken(statement: str) -> str:
    return statement.replace("GRANT ", "REVOKE ", 1).replace(" TO ", " FROM ", 1).replace(" CONTAINER=ALL", "")


def test_the_grants_of_plan_are_enough(config: ConnectorConfig, granted: list[tuple[str, bool]]) -> None:
    assert not [statement for statement, _ in granted if "ANY" in statement or "CATALOG_ROLE" in statement]
    assert answers(config) == []


def test_each_grant_that_is_taken_away_is_named_with_the_statement_that_gives_it_back(
    prepared: SandboxProcess, config: ConnectorConfig, granted: list[tuple[str, bool]]
) -> None:
    one_by_one = [
        (privilege, root)
        for statement, root in granted
        for privilege in (
            [f"GRANT {name} ON {statement.partition(' ON ')[2]}" for name in ("SELECT", "FLASHBACK")]
            if "SELECT, FLASHBACK" in statement
            else [statement]
        )
    ]
    assert len(one_by_one) == 4 + len(MINING_VIEWS) + len(OPTIONAL_VIEWS) + 2
    wrong: list[str] = []
    for statement, root in every_nth(one_by_one, 4):
        administer(prepared, taken(statement), root=root)
        found = answers(config)
        named = statement.partition(" TO ")[0].replace(" CONTAINER=ALL", "")
        if not any(named.removeprefix("GRANT ").removesuffix(";").lower() in finding.fix.lower() for finding in found):
            wrong.append(f"{statement}: {found}")
        required = not any(view.on in statement for view in OPTIONAL_VIEWS) and '"' not in statement
        if required != any(finding.blocking for finding in found):
            wrong.append(f"{statement} is required: {required}, but {found}")
        administer(prepared, statement, root=root)
    assert not wrong, "\n".join(wrong)
    assert answers(config) == []


def test_a_user_of_the_pdb_cannot_go_to_the_root_and_the_hint_says_what_can_be_done(
    prepared: SandboxProcess, config: ConnectorConfig, granted: list[tuple[str, bool]]
) -> None:
    administer(prepared, f"revoke set container from {USER}")
    try:
        with pytest.raises(PrerequisiteError, match=r"going to container .*ORA-01031") as refused:
            closing(connect(config.database, "pdb"))
        assert "GRANT SET CONTAINER" in refused.value.hint
        assert "leave database.pdb.name out" in refused.value.hint
    finally:
        administer(prepared, f"grant set container to {USER}")


def test_the_page_has_every_grant_that_plan_prints(granted: list[tuple[str, bool]]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
    for statement, _ in granted:
        object_ = statement.partition(" ON ")[2].partition(" TO ")[0]
        assert '"' in object_ or (object_ or statement.split(" TO ")[0].removeprefix("GRANT ")) in page


def test_a_reader_of_the_log_of_transactions_needs_no_more_than_plan_prints(
    prepared: SandboxProcess, tmp_path: Path
) -> None:
    administer(prepared, "create user logged identified by logged", root=False)
    for privilege in ("session", "table", "sequence", "view", "procedure", "trigger", "job"):
        administer(prepared, f"grant create {privilege} to logged", root=False)
    administer(prepared, "grant unlimited tablespace to logged", root=False)
    administer(prepared, "grant execute on dbms_alert to logged", root=False)
    administer(prepared, "create user reads identified by reads", root=False)
    table = TableId("ORCLPDB1", "LOGGED", "ORDERS")
    settings = {
        "name": "reads",
        "topic.prefix": "reads",
        "database.connection.adapter": "txlog",
        "database.hostname": prepared.host,
        "database.port": str(prepared.port),
        "database.user": "reads",
        "database.password": "reads",
        "database.dbname": prepared.service,
        "table.include.list": "LOGGED.ORDERS",
        "minercdc.txlog.alerts": "true",
        "debezium.sink.type": "json",
        "minercdc.sink.path": str(tmp_path / "out"),
        "minercdc.state.dir": str(tmp_path / "state"),
    }
    config = parse_properties(settings)
    with prepared.connect("logged", "logged") as owner:
        owner.cursor().execute("create table orders (id number(9) primary key, note varchar2(40))")
        install(owner, read_tables(owner, [table]), lambda _: None)
    printed = [one for one in grants(config, [table]) if not one.startswith("--")]
    for statement in printed:
        administer(prepared, statement, root=False)
    assert check_prerequisites(config) == []
    with closing(connect(config.database, "pdb")) as reader:
        assert noted_since(reader, [table])[table] is not None
        assert reader.cursor().callfunc("LOGGED.SYNC_CORE.GETSCN", int, [5, 7]) == 5
    for statement in printed:
        if "SY$" in statement or "SYNC_CORE" in statement:
            administer(prepared, taken(statement), root=False)
            assert [one for one in check_prerequisites(config) if one.blocking], f"{statement} is needed"
            administer(prepared, statement, root=False)
    assert not [one for one in grants(parse_properties(settings | {"database.user": "logged"}), [table]) if "SY$" in one]


@pytest.mark.parametrize(("pdb", "said"), [({}, True), ({"database.pdb.name": "ORCLPDB1"}, False)])
def test_the_root_has_no_tables_where_the_pluggable_database_is_not_named(
    prepared: SandboxProcess, pdb: dict[str, str], said: bool
) -> None:
    settings = {
        "name": "root",
        "topic.prefix": "root",
        "database.hostname": prepared.host,
        "database.port": str(prepared.port),
        "database.user": "C##MINERCDC",
        "database.password": "minercdc",
        "database.dbname": prepared.root_service,
        "table.include.list": "NOSUCH.ORDERS",
        "minercdc.kafka.bootstrap.servers": "127.0.0.1:1",
    }
    (found,) = [one for one in check_prerequisites(parse_properties(settings | pdb)) if one.rule == "captured-tables"]
    assert ("which database.pdb.name names" in found.problem) is said


def test_the_flush_table_and_several_instances_have_grants_of_their_own(config: ConnectorConfig) -> None:
    plain = set(grants(config, [ORDERS]))
    several = [one for one in grants(config, [ORDERS], several_instances=True) if one not in plain]
    assert several == [f"GRANT SELECT ON SYS.GV_${name} TO {USER} CONTAINER=ALL;" for name in ("TRANSACTION", "SESSION")]
    mining = config.log_mining.model_copy(update={"minercdc_log_mining_flush_table": "flushed"})
    flushing = list(grants(replace(config, log_mining=mining), [ORDERS]))
    assert [one for one in flushing if one not in plain] == [
        "-- For FLUSHED, which the connector creates in the user's default tablespace; the user needs a quota there:",
        f"GRANT CREATE TABLE TO {USER};",
    ]
    assert flushing.index(f"GRANT CREATE TABLE TO {USER};") > flushing.index("ALTER SESSION SET CONTAINER = ORCLPDB1;")
