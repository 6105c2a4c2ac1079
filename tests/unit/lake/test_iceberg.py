"""The catalog of Iceberg tables, as Spark is told of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from minercdc.config.load import parse_properties
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.table.formats import format_of
from minercdc.lake.table.iceberg.catalog import Catalog, catalog_settings
from minercdc.lake.table.iceberg.tables import Iceberg
from minercdc.schema.table import TableId

NEEDED = {
    "name": "shop",
    "topic.prefix": "shop",
    "database.hostname": "h",
    "database.user": "u",
    "database.password": "p",
    "database.dbname": "d",
    "minercdc.kafka.bootstrap.servers": "b:9092",
    "minercdc.lake.path": "/lake",
    "minercdc.lake.format": "iceberg",
}


def settings(**more: str) -> dict[str, str]:
    given = {f"minercdc.lake.catalog.{name.replace('_', '.')}": value for name, value in more.items()}
    prefix = f"spark.sql.catalog.{more.get('name', 'minercdc')}."
    found = catalog_settings(parse_properties(NEEDED | given))
    return {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)}


def test_directories_are_the_catalog_where_none_is_named() -> None:
    assert settings() == {"type": "hadoop", "warehouse": "/lake", "cache-enabled": "false"}


def test_a_rest_catalog_knows_its_warehouse_itself() -> None:
    assert settings(type="rest", uri="http://c:8181", name="lakehouse") == {
        "type": "rest",
        "uri": "http://c:8181",
        "cache-enabled": "false",
    }


@pytest.mark.parametrize(
    ("there", "member"),
    [
        ({"warehouse": "/other"}, "warehouse is /other"),
        ({"type": "jdbc", "uri": "jdbc:x://u:secret@h/d?password=p"}, "type is jdbc"),
    ],
)
def test_a_session_with_another_catalog_of_that_name_is_refused(there: dict[str, str], member: str) -> None:
    """What the lake writes would be at another place than the configuration says."""
    catalog = Catalog("minercdc", catalog_settings(parse_properties(NEEDED)))
    prefix = "spark.sql.catalog.minercdc"
    of_session = {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{prefix}.{name}": value for name, value in there.items()},
    }
    session: Any = SimpleNamespace(conf=of_session)
    with pytest.raises(
        LakeError, match=f"the Spark session has a catalog minercdc whose {member}, but the configuration"
    ) as refused:
        catalog.open(session)
    assert "secret" not in str(refused.value)
    of_session.update({f"{prefix}.type": "hadoop", f"{prefix}.warehouse": "file:/lake/"})
    with pytest.raises(AttributeError):  # it goes on to ask for the catalog
        catalog.open(session)


def test_what_has_no_property_of_its_own_is_passed_on() -> None:
    found = settings(type="jdbc", uri="jdbc:sqlite:/c.db", credential="id:secret", warehouse="s3://b/w")
    assert found["credential"] == "id:secret"
    assert found["warehouse"] == "s3://b/w"


@pytest.mark.parametrize("kind", ["rest", "jdbc", "hive"])
def test_a_catalog_that_is_a_server_needs_its_address(kind: str) -> None:
    with pytest.raises(ConfigError, match="minercdc.lake.catalog.uri"):
        settings(type=kind)


def test_unity_catalog_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="minercdc.lake.catalog.type.*Unity Catalog are not supported"):
        settings(type="unity", uri="http://c:8080")


@pytest.mark.parametrize("name", ["spark_catalog", "my-lake", "a.b", ""])
def test_a_name_that_sql_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="minercdc.lake.catalog.name"):
        settings(name=name)


def test_the_format_is_the_one_of_the_configuration() -> None:
    assert isinstance(format_of(parse_properties(NEEDED)), Iceberg)
    assert format_of(parse_properties({**NEEDED, "minercdc.lake.format": "delta"})).name == "delta"


def test_a_conflict_of_commits_is_told_from_other_errors() -> None:
    lake = format_of(parse_properties(NEEDED))
    assert lake.is_conflict(RuntimeError("org.apache.iceberg.exceptions.ValidationException: Found conflicting files"))
    assert not lake.is_conflict(RuntimeError("java.io.IOException: no space left"))


def test_the_names_of_tables_are_those_of_the_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Catalog, "open", lambda *_: None)
    given = NEEDED | {"minercdc.lake.catalog.table.name": "bronze.${schema:lower}_${table:lower}"}
    lake = format_of(parse_properties(given))
    spark: Any = None
    assert lake.table(spark, TableId("D", "SHOP", "ORDERS")).name == "`minercdc`.`bronze`.`shop_orders`"
    with pytest.raises(LakeError, match=r"would both be bronze.shop_orders; give minercdc.lake.catalog.table.name"):
        lake.table(spark, TableId("D", "Shop", "ORDERS"))


@pytest.mark.parametrize("more", [{"minercdc.lake.format": "delta"}, {"minercdc.lake.catalog.table.name": "${schema}.x"}])
def test_names_that_cannot_be_are_refused(more: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="minercdc.lake.catalog"):
        parse_properties(NEEDED | {"minercdc.lake.catalog.table.name": "${schema}.${table}"} | more)
