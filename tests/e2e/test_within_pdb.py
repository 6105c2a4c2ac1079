"""LogMiner within a pluggable database: a user of that PDB alone, no common user, no database.pdb.name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracledb
import pytest
from tests.e2e.connector import properties, write
from tests.e2e.lab import Lab

from minercdc.oracle.grants import MINING_VIEWS


@pytest.fixture
def miner(lab: Lab) -> str:
    """A user of the PDB with what docs/capture/logminer.md grants, on single objects where that does."""
    name = f"MINER{lab.schema}"
    views = [grant.on for grant in MINING_VIEWS]
    with lab.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {name} IDENTIFIED BY {name}")
        cursor.execute(f"GRANT CREATE SESSION, LOGMINING TO {name}")
        cursor.execute(f"GRANT EXECUTE ON SYS.DBMS_LOGMNR TO {name}")
        for view in views:
            cursor.execute(f"GRANT SELECT ON {view} TO {name}")
        cursor.execute(f"GRANT SELECT, FLASHBACK ON {lab.schema}.T TO {name}")
    return name


def config(lab: Lab, miner: str, **changes: Any) -> Path:
    given = {
        "database_user": miner,
        "database_password": miner,
        "database_dbname": lab.server.service,
        "database_pdb_name": None,
        "schema_include_list": lab.schema,
        "minercdc_kafka_transaction_interval_ms": 1,
    }
    return write(properties(lab.server, lab.brokers, lab.name, lab.directory, **given | changes), lab.directory / "pdb.yaml")


@pytest.mark.parametrize("adapter", ["logminer", "logminer_unbuffered"])
def test_every_change_comes_once_over_kills_and_log_switches(lab: Lab, miner: str, adapter: str) -> None:
    file = config(lab, miner, database_connection_adapter=adapter)
    last = 100
    for number in range(4):
        with lab.run(file, f"{number}.log") as connector:
            connector.await_log("streaming:")
            for _ in range(5):
                lab.insert(last, 40)
                last += 40
            with lab.server.connect(service=lab.server.root_service) as admin:
                admin.cursor().execute("ALTER SYSTEM SWITCH LOGFILE")
            lab.insert(last, 40)
            last += 40
            lab.topics.await_records(lab.topic(), 3 + (last - 100) // 2)
            connector.kill()
    with lab.run(file, "last.log") as connector:
        records = lab.topics.await_records(lab.topic(), 3 + last - 100)
        connector.stop_in_order()
    keys = [record.key["ID"] for record in records]
    assert keys == [0, 1, 2, *range(100, last)]
    assert {record.value["source"]["db"] for record in records} == {lab.server.service}


def test_other_pdbs_do_not_come(lab: Lab, miner: str) -> None:
    """A table of the same name in another PDB: its rows are not shown."""
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        cursor.execute(f"CREATE PLUGGABLE DATABASE N{lab.schema} ADMIN USER boss IDENTIFIED BY boss")
        cursor.execute(f"ALTER PLUGGABLE DATABASE N{lab.schema} OPEN")
        with lab.server.connect("boss", "boss", f"N{lab.schema}") as boss, boss.cursor() as other:
            other.execute(f"CREATE USER {lab.schema} IDENTIFIED BY x")
            other.execute(f"CREATE TABLE {lab.schema}.T (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))")
            with lab.run(config(lab, miner)) as connector:
                connector.await_log("streaming:")
                other.execute(f"INSERT INTO {lab.schema}.T VALUES (999, 'other')")
                boss.commit()
                lab.insert(100, 1)
                records = lab.topics.await_records(lab.topic(), 4)
                connector.stop_in_order()
    assert [record.key["ID"] for record in records] == [0, 1, 2, 100]


def test_check_finds_nothing_that_capture_needs_and_names_what_is_taken_away(lab: Lab, miner: str) -> None:
    file = str(config(lab, miner))
    ready = lab.minercdc("check", file)
    assert (ready.status, "\nmissing" in f"\n{ready.output}") == (0, False), ready.output
    assert "GRANT SELECT ON SYS.V_$MYSTAT TO" in ready.output
    with lab.server.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"REVOKE SELECT ON SYS.V_$THREAD FROM {miner}")
        lacking = lab.minercdc("check", file)
        assert lacking.status == 3
        assert f"GRANT SELECT ON SYS.V_$THREAD TO {miner};" in lacking.output
        assert "CONTAINER=ALL" not in lacking.output


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"log_mining_strategy": "redo_log_catalog"}, "log.mining.strategy=redo_log_catalog: within a PDB"),
        ({"log_mining_archive_log_only_mode": "true"}, "log.mining.archive.log.only.mode: within a PDB"),
    ],
)
def test_what_does_not_work_within_a_pdb_is_refused_by_name(
    lab: Lab, miner: str, changes: dict[str, str], named: str
) -> None:
    with lab.server.connect() as admin:
        admin.cursor().execute(f"GRANT EXECUTE ON SYS.DBMS_LOGMNR_D TO {miner}")
    ended = lab.run_to_end(config(lab, miner, **changes))
    assert ended.status == 3
    assert named in ended.message()


def test_amazons_statements_are_printed_where_its_administrator_is(lab: Lab, miner: str) -> None:
    with lab.server.connect() as admin, admin.cursor() as cursor:
        cursor.execute("CREATE USER RDSADMIN IDENTIFIED BY x")
        try:
            cursor.execute(f"REVOKE SELECT ON SYS.V_$LOG FROM {miner}")
            output = lab.minercdc("check", str(config(lab, miner))).output
            assert f"EXEC rdsadmin.rdsadmin_util.grant_sys_object('V_$LOG', '{miner}', 'SELECT');" in output
        finally:
            cursor.execute("DROP USER RDSADMIN")


def test_the_driver_sees_that_the_user_is_of_the_pdb_alone(lab: Lab, miner: str) -> None:
    with pytest.raises(oracledb.DatabaseError):
        lab.server.connect(miner, miner, lab.server.root_service)
