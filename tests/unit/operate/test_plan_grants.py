"""The grants that `minercdc plan` prints are those of the configuration."""

from __future__ import annotations

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.operate.check.plan_grants import grants
from minercdc.schema.table import TableId

TABLE = TableId("ORCLPDB1", "S", "T")


def configured(**changes: str) -> ConnectorConfig:
    return parse_properties(
        {
            "topic.prefix": "p",
            "database.hostname": "h",
            "database.user": "C##MINERCDC",
            "database.password": "p",
            "database.dbname": "ORCLCDB",
            "database.pdb.name": "ORCLPDB1",
            "minercdc.kafka.bootstrap.servers": "k",
            **{name.replace("_", "."): value for name, value in changes.items()},
        }
    )


def test_a_miner_gets_what_mining_and_its_signals_take() -> None:
    mining = list(grants(configured(signal_data_collection="ORCLPDB1.S.SIGNALS"), [TABLE]))
    assert "GRANT SELECT ON SYS.V_$ARCHIVED_LOG TO C##MINERCDC CONTAINER=ALL;" in mining
    assert not [one for one in mining if "CATALOG_ROLE" in one or "LOCK" in one]  # SELECT on a table allows its lock
    assert 'GRANT SELECT, FLASHBACK ON "S"."SIGNALS" TO C##MINERCDC;' in mining
    assert not [one for one in mining if "INSERT" in one or "DBMS_FLASHBACK" in one or "SELECT ANY" in one]


def test_a_reader_by_flashback_gets_nothing_of_mining() -> None:
    changes = {"database_user": "READER", "database_connection_adapter": "flashback", "snapshot_locking_mode": "none"}
    reading = list(grants(configured(**changes), [TABLE]))
    assert [one for one in reading if "LOGM" in one or "CATALOG" in one or "LOCK" in one or "CONTAINER=ALL" in one] == []
    assert 'GRANT SELECT, FLASHBACK ON "S"."T" TO READER;' in reading
