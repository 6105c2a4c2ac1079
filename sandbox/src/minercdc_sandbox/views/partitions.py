"""Dictionary views of partitioned tables: PART_TABLES, TAB_PARTITIONS and PART_KEY_COLUMNS."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.tables import Table
from minercdc_sandbox.views.family import family, forms
from minercdc_sandbox.views.shape import Row

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
            "DEF_TABLESPACE_NAME": table.tablespace,
            "INTERVAL": by.interval.text or None if by.interval is not None else None,
            "AUTOLIST": "YES" if by.method == "LIST" and by.interval is not None else "NO",
        }


def _tab_partitions(table: Table) -> Iterator[Row]:
    for place, partition in enumerate(table.partitioning.partitions if table.partitioning else (), 1):
        yield {
            "TABLE_OWNER": table.owner,
            "TABLE_NAME": table.name,
            "PARTITION_NAME": partition.name,
            "HIGH_VALUE": partition.bound,
            "HIGH_VALUE_LENGTH": len(partition.bound or ""),
            "PARTITION_POSITION": place,
            "TABLESPACE_NAME": table.tablespace,
            "INTERVAL": "YES" if partition.automatic else "NO",
        }


def _key_columns(catalog: Catalog, container: int) -> Iterator[Row]:
    for table in catalog.tables(container):
        for place, column in enumerate(table.partitioning.columns if table.partitioning else (), 1):
            yield {
                "OWNER": table.owner,
                "NAME": table.name,
                "COLUMN_NAME": column,
                "COLUMN_POSITION": place,
            }


VIEWS: tuple[View, ...] = (
    *family("PART_TABLES", _PART_TABLES, _part_tables),
    *family("TAB_PARTITIONS", _TAB_PARTITIONS, _tab_partitions, owner="TABLE_OWNER"),
    *forms("PART_KEY_COLUMNS", _KEY_COLUMNS, _key_columns, named="NAME"),
)
