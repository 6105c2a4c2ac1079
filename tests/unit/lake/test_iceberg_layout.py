"""Partitions, order and tags of Iceberg tables, as properties have them."""

from __future__ import annotations

import pytest

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.config.target.lake_layout import PartitionField, SortField, partition_field, sort_field
from minercdc.errors import ConfigError, LakeError
from minercdc.lake.table.columns import TableColumn
from minercdc.lake.table.iceberg.layout import Layout, layout_of
from minercdc.schema.table import TableId

ORDERS, LINES = TableId("D", "SHOP", "ORDERS"), TableId("D", "SHOP", "LINES")
COLUMNS = [TableColumn("ID", "INT", "ID@1"), TableColumn("CREATED", "TIMESTAMP_NTZ", "CREATED@1")]


def config(form: str = "iceberg", **more: str) -> ConnectorConfig:
    return parse_properties(
        {
            "name": "shop",
            "topic.prefix": "shop",
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "p",
            "database.dbname": "d",
            "minercdc.kafka.bootstrap.servers": "b:9092",
            "minercdc.lake.format": form,
            **{f"minercdc.lake.iceberg.{name}": value for name, value in more.items()},
        }
    )


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("REGION", PartitionField("REGION")),
        ("months(CREATED)", PartitionField("CREATED", "months")),
        ("Bucket( 16 , ID )", PartitionField("ID", "bucket", 16)),
        ("truncate(4,Order No)", PartitionField("Order No", "truncate", 4)),
    ],
)
def test_fields_of_partitions(text: str, field: PartitionField) -> None:
    assert partition_field(text) == field


@pytest.mark.parametrize(
    "text", ["bucket(ID)", "bucket(0,ID)", "days(3,CREATED)", "weeks(CREATED)", "years()", "A(B", "a(b(c))"]
)
def test_other_fields_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="minercdc.lake.iceberg.partitions"):
        config(partitions=f"SHOP[.].*:{text}")


@pytest.mark.parametrize("text", ["ID", "SHOP[.](:ID", ":ID", "SHOP[.]X:", "SHOP[.]X:A,,B"])
def test_other_entries_are_refused(text: str) -> None:
    for name in ("partitions", "sort"):
        with pytest.raises(ConfigError, match=f"minercdc.lake.iceberg.{name}"):
            config(**{name: text})


def test_columns_of_an_order() -> None:
    assert [sort_field(text) for text in ("ID", "ID desc", "Order No", "Order No ASC")] == [
        SortField("ID"),
        SortField("ID", descending=True),
        SortField("Order No"),
        SortField("Order No"),
    ]


def test_the_first_entry_that_matches_a_table_counts() -> None:
    found = layout_of(
        config(
            partitions=r"SHOP\.ORDERS:months(CREATED),bucket(16,ID);.*:bucket(4,ID)",
            sort="shop.orders:CREATED DESC",
            tags="true",
        )
    )
    assert found(ORDERS) == Layout(
        (PartitionField("CREATED", "months"), PartitionField("ID", "bucket", 16)),
        (SortField("CREATED", descending=True),),
        tags=True,
    )
    assert found(LINES) == Layout((PartitionField("ID", "bucket", 4),), (), tags=True)
    assert layout_of(config())(ORDERS) == Layout()


def test_the_clause_of_a_table() -> None:
    parts = (PartitionField("CREATED", "months"), PartitionField("ID", "bucket", 16), PartitionField("ID"))
    assert (
        Layout(parts).partitioned_by("SHOP.ORDERS", COLUMNS) == "PARTITIONED BY (months(`CREATED`), bucket(16, `ID`), `ID`)"
    )
    assert Layout().partitioned_by("SHOP.ORDERS", COLUMNS) == ""
    with pytest.raises(LakeError, match=r"SHOP.ORDERS has no column REGION, which minercdc.lake.iceberg.partitions names"):
        Layout((PartitionField("REGION"),)).partitioned_by("SHOP.ORDERS", COLUMNS)


def test_the_order_of_a_table_is_that_of_its_key_where_none_is_configured() -> None:
    assert Layout().order(COLUMNS, ["ID"]) == [SortField("ID")]
    assert Layout(sort=(SortField("REGION"), SortField("CREATED", descending=True))).order(COLUMNS, ["ID"]) == [
        SortField("CREATED", descending=True)
    ]


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("partitions", "SHOP[.]ORDERS:ID", "minercdc.lake.cluster"),
        ("sort", "SHOP[.]ORDERS:ID", "minercdc.lake.cluster"),
        ("tags", "true", "a Delta table is read by version"),
    ],
)
def test_delta_refuses_it_by_name(name: str, value: str, instead: str) -> None:
    with pytest.raises(ConfigError, match=f"minercdc.lake.iceberg.{name}: goes with minercdc.lake.format=iceberg") as raised:
        config("delta", **{name: value})
    assert instead in str(raised.value)
