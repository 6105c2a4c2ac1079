"""Properties of a physical standby or a downstream database: where it is, and what does not go with it."""

from __future__ import annotations

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError
from minercdc.oracle.connect import dsn_of

GOOD = {
    "topic.prefix": "p",
    "database.hostname": "primary",
    "database.port": "1522",
    "database.user": "C##CDC",
    "database.password": "x",
    "database.dbname": "CDB",
    "database.pdb.name": "PDB",
    "minercdc.kafka.bootstrap.servers": "b:1",
}
STANDBY = {
    **GOOD,
    "capture.mode": "physical_standby",
    "secondary.hostname": "standby",
    "log.mining.archive.log.only.mode": "true",
}
DOWNSTREAM = {
    **STANDBY,
    "capture.mode": "downstream",
    "log.mining.strategy": "redo_log_catalog",
}


def test_the_standby_is_reached_as_the_primary_but_for_its_place() -> None:
    config = parse_properties(STANDBY)
    standby = config.secondary.database(config.database)
    assert (config.secondary.is_mined, config.secondary.is_downstream) == (True, False)
    assert (dsn_of(config.database), dsn_of(standby)) == ("primary:1522/CDB", "standby:1522/CDB")
    assert (standby.database_user, standby.database_pdb_name) == ("C##CDC", "PDB")
    other = parse_properties(
        {**STANDBY, "secondary.port": "1600", "secondary.dbname": "STBY", "database.url": "//primary:1/X"}
    )
    assert dsn_of(other.secondary.database(other.database)) == "standby:1600/STBY"
    by_url = parse_properties({**STANDBY, "secondary.url": "//elsewhere:1700/STBY"})
    assert dsn_of(by_url.secondary.database(by_url.database)) == "elsewhere:1700/STBY"


def test_debeziums_former_names_are_taken() -> None:
    given = {name: value for name, value in STANDBY.items() if name != "secondary.hostname"}
    for name in ("log.mining.readonly.hostname", "database.standby.hostname"):
        assert parse_properties({**given, name: "standby"}).secondary.secondary_hostname == "standby"


def test_without_it_nothing_changes() -> None:
    assert not parse_properties({**GOOD, "capture.mode": "primary"}).secondary.is_mined


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"capture.mode": "primary"}, "secondary.hostname: takes capture.mode=physical_standby"),
        ({"secondary.hostname": ""}, "secondary.hostname: needed with capture.mode=physical_standby"),
        ({"database.connection.adapter": "logminer_unbuffered"}, "database.connection.adapter=logminer only"),
        ({"database.connection.adapter": "flashback"}, "database.connection.adapter=logminer only"),
        ({"database.connection.adapter": "txlog"}, "database.connection.adapter=logminer only"),
        ({"log.mining.archive.log.only.mode": "false"}, "log.mining.archive.log.only.mode: must be true"),
        ({"log.mining.strategy": "redo_log_catalog"}, "ORA-01300"),
        ({"log.mining.transaction.retention.ms": "60000"}, "log.mining.transaction.retention.ms: cannot be used with"),
        ({"minercdc.log.mining.flush.table": "F"}, "minercdc.log.mining.flush.table: has no effect"),
        ({"database.pdb.name": "A,B"}, "captures one pluggable database"),
        ({"lob.enabled": "true"}, "lob.enabled: reading large values from a physical standby is not supported yet"),
    ],
)
def test_what_does_not_go_with_it_is_refused_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_properties({**STANDBY, **given})


def test_a_downstream_database_has_a_dictionary_and_so_less_that_does_not_go_with_it() -> None:
    config = parse_properties({**DOWNSTREAM, "lob.enabled": "true"})
    assert (config.secondary.is_mined, config.secondary.is_downstream) == (True, True)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"secondary.hostname": ""}, "secondary.hostname: needed with capture.mode=downstream"),
        ({"database.connection.adapter": "logminer_unbuffered"}, "capture.mode: downstream works with"),
        ({"database.connection.adapter": "flashback"}, "capture.mode: downstream works with"),
        (
            {"log.mining.archive.log.only.mode": "false"},
            "log.mining.archive.log.only.mode: must be true with capture.mode=down",
        ),
        ({"log.mining.strategy": "online_catalog"}, "log.mining.strategy: must be redo_log_catalog"),
        ({"log.mining.strategy": "hybrid"}, "log.mining.strategy: must be redo_log_catalog"),
        ({"log.mining.transaction.retention.ms": "60000"}, "redo that is not shipped yet would make"),
        (
            {"minercdc.log.mining.flush.table": "F"},
            "minercdc.log.mining.flush.table: has no effect with capture.mode=downstream",
        ),
        ({"archive.destination.name": "LOG_ARCHIVE_DEST_1"}, "archive.destination.name: has no effect"),
        ({"database.pdb.name": "A,B"}, "capture.mode=downstream captures one pluggable database"),
    ],
)
def test_what_does_not_go_with_a_downstream_database_is_refused_by_name(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_properties({**DOWNSTREAM, **given})
