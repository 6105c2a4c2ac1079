"""Dictionary views of partitioned tables: PART_TABLES, TAB_PARTITIONS, TAB_SUBPARTITIONS, SUBPARTITION_TEMPLATES and the key
columns of partitions and subpartitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.partitioning import Partitioning
from minercdc_sandbox.tables import Table
from minercdc_sandbox.views.family import family, forms
from minercdc_sandbox.views.shape import Row, yes_no

_PART_TABLES = (
    "OWNER V128, TABLE_NAME V128, PARTITIONING_TYPE V13, SUBPARTITIONING_TYPE V9=NONE, PARTITION_COUNT N, "
    "DEF_SUBPARTITION_COUNT N=0, PARTITIONING_KEY_COUNT N, SUBPARTITIONING_KEY_COUNT N=0, STATUS V8=VALID, "
    "DEF_TABLESPACE_NAME V30, INTERVAL V1000, AUTOLIST V3"
)
_TAB_PARTITIONS = (
    "TABLE_OWNER V128, TABLE_NAME V128, COMPOSITE V3=NO, PARTITION_NAME V128, SUBPARTITION_COUNT N=0, HIGH_VALUE L, "
    "HIGH_VALUE_LENGTH N, PARTITION_POSITION N, TABLESPACE_NAME V30, LOGGING V7=YES, COMPRESSION V8=DISABLED, NUM_ROWS N, "
    "BLOCKS N, SEGMENT_CREATED V4=YES, READ_ONLY V4=NO, INTERVAL V3"
)
_TAB_SUBPARTITIONS = (
    "TABLE_OWNER V128, TABLE_NAME V128, PARTITION_NAME V128, SUBPARTITION_NAME V128, HIGH_VALUE L, HIGH_VALUE_LENGTH N, "
    "PARTITION_POSITION N, SUBPARTITION_POSITION N, TABLESPACE_NAME V30, LOGGING V7=YES, COMPRESSION V8=DISABLED, NUM_ROWS N, "
    "BLOCKS N, INTERVAL V3, SEGMENT_CREATED V3=YES, READ_ONLY V3=NO"
)
_TEMPLATES = (
    "USER_NAME V128, TABLE_NAME V128, SUBPARTITION_NAME V132, SUBPARTITION_POSITION N, TABLESPACE_NAME V30, HIGH_BOUND L"
)
_KEY_COLUMNS = "OWNER V128, NAME V128, OBJECT_TYPE V5=TABLE, COLUMN_NAME V4000, COLUMN_POSITION N"


def _part_tables(table: Table) -> Iterator[Row]:
    by = table.partitioning
    if by is not None:
        yield {
            "OWNER": table.owner,
            "TABLE_NAME": table.name,
            "PARTITIONING_TYPE": by.method,
            "PARTITION_COUNT": len(by.partitions),
            "PARTITIONING_KEY_COUNT": len(by.columns),
            **_divided(by),
            "DEF_TABLESPACE_NAME": table.tablespace,
            "INTERVAL": by.interval.text or None if by.interval is not None else None,
            "AUTOLIST": "YES" if by.method == "LIST" and by.interval is not None else "NO",
        }


def _divided(by: Partitioning) -> Row:
    if by.divided is None:
        return {}
    return {
        "SUBPARTITIONING_TYPE": by.divided.method,
        "SUBPARTITIONING_KEY_COUNT": len(by.divided.columns),
        "DEF_SUBPARTITION_COUNT": max(len(by.divided.template), 1),
    }


def _tab_subpartitions(table: Table) -> Iterator[Row]:
    for place, partition in enumerate(table.partitioning.partitions if table.partitioning else (), 1):
        for number, one in enumerate(partition.segments() if partition.subpartitions is not None else (), 1):
            yield {
                "TABLE_OWNER": table.owner,
                "TABLE_NAME": table.name,
                "PARTITION_NAME": partition.name,
                "SUBPARTITION_NAME": one.name,
                "HIGH_VALUE": one.bound,
                "HIGH_VALUE_LENGTH": len(one.bound or ""),
                "PARTITION_POSITION": place,
                "SUBPARTITION_POSITION": number,
                "TABLESPACE_NAME": table.tablespace,
                "INTERVAL": "YES" if partition.automatic else "NO",
            }


def _templates(table: Table) -> Iterator[Row]:
    divided = table.partitioning.divided if table.partitioning is not None else None
    for place, (name, bound, _) in enumerate(divided.template if divided is not None and divided.is_named else (), 1):
        yield {
            "USER_NAME": table.owner,
            "TABLE_NAME": table.name,
            "SUBPARTITION_NAME": name,
            "SUBPARTITION_POSITION": place,
            "HIGH_BOUND": bound,
        }


def _tab_partitions(table: Table) -> Iterator[Row]:
    for place, partition in enumerate(table.partitioning.partitions if table.partitioning else (), 1):
        yield {
            "TABLE_OWNER": table.owner,
            "TABLE_NAME": table.name,
            "PARTITION_NAME": partition.name,
            "COMPOSITE": yes_no(partition.subpartitions is not None),
            "SUBPARTITION_COUNT": 0 if partition.subpartitions is None else len(partition.segments()),
            "SEGMENT_CREATED": "YES" if partition.subpartitions is None else "N/A",
            "HIGH_VALUE": partition.bound,
            "HIGH_VALUE_LENGTH": len(partition.bound or ""),
            "PARTITION_POSITION": place,
            "TABLESPACE_NAME": table.tablespace,
            "INTERVAL": "YES" if partition.automatic else "NO",
        }


def _columns_of_partitions(by: Partitioning) -> tuple[str, ...]:
    return by.columns


def _columns_of_subpartitions(by: Partitioning) -> tuple[str, ...]:
    return by.divided.columns if by.divided is not None else ()


def _key_columns(columns: Callable[[Partitioning], tuple[str, ...]], catalog: Catalog, container: int) -> Iterator[Row]:
    for table in catalog.tables(container):
        for place, column in enumerate(columns(table.partitioning) if table.partitioning else (), 1):
            yield {
                "OWNER": table.owner,
                "NAME": table.name,
                "COLUMN_NAME": column,
                "COLUMN_POSITION": place,
            }


VIEWS: tuple[View, ...] = (
    *family("PART_TABLES", _PART_TABLES, _part_tables),
    *family("TAB_PARTITIONS", _TAB_PARTITIONS, _tab_partitions, owner="TABLE_OWNER"),
    *family("TAB_SUBPARTITIONS", _TAB_SUBPARTITIONS, _tab_subpartitions, owner="TABLE_OWNER"),
    *family("SUBPARTITION_TEMPLATES", _TEMPLATES, _templates, owner="USER_NAME"),
    *forms("PART_KEY_COLUMNS", _KEY_COLUMNS, partial(_key_columns, _columns_of_partitions), named="NAME"),
    *forms("SUBPART_KEY_COLUMNS", _KEY_COLUMNS, partial(_key_columns, _columns_of_subpartitions), named="NAME"),
)
