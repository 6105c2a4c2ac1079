"""Least privilege: a user with just the grants that `minercdc plan` prints captures; each one taken away is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import PrerequisiteError
from minercdc.oracle.connect import connect
from minercdc.oracle.grants import MINING_VIEWS, OPTIONAL_VIEWS
from minercdc.oracle.prerequisites import Finding
from minercdc.plan import grants
from minercdc.rules.examination import examine
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
        return [Finding(error.message, error.hint, blocking=True)]


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
    for statement, root in one_by_one:
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
