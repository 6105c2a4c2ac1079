"""The section of the lake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast, get_args

from pydantic import Field, field_validator

from minercdc.config.section import CommaList, Section, rule
from minercdc.config.target.lake_layout import PartitionField, SortField, partition_field, sort_field, table_entries
from minercdc.schema.patterns import configured_pattern

Mode: TypeAlias = Literal["mirror", "soft_delete", "append", "scd2"]
Format: TypeAlias = Literal["delta", "iceberg"]
CatalogType: TypeAlias = Literal["hadoop", "rest", "jdbc", "hive"]
LakeFeature: TypeAlias = Literal["columnMapping", "typeWidening", "deletionVectors"]

_NUMBER = re.compile(r"text|double|decimal\(38,(\d|[12]\d|3[0-7])\)")


class LakeConfig(Section):
    """The Spark side: lake tables kept equal to the source."""

    minercdc_lake_format: Format = Field(
        "delta",
        description="Format of the lake tables: Delta tables by path, or Iceberg tables in a catalog (`minercdc.lake.catalog.*`).",
    )
    minercdc_lake_catalog_name: str = Field(
        "minercdc",
        pattern=r"^[A-Za-z_]\w*$",
        description="Name of the Iceberg catalog in SQL: a table is `<name>.<SCHEMA>.<TABLE>`, with several pluggable databases `<name>.<PDB>.<SCHEMA>.<TABLE>`, or as `minercdc.lake.catalog.table.name` says.",
    )
    minercdc_lake_catalog_table_name: str | None = Field(
        None,
        description="Template of the names of Iceberg tables in their catalog: namespaces and table with dots between them, such as `bronze.${schema:lower}_${table:lower}`, from `${database}`, `${schema}` and `${table}`, with `:lower` or `:upper`. Default: `${schema}.${table}`, with several pluggable databases `${database}.${schema}.${table}`. A lake that is there keeps the names that it was begun with.",
    )
    minercdc_lake_catalog_type: CatalogType = Field(
        "hadoop",
        description="Type of the Iceberg catalog: directories (`hadoop`), a REST catalog (`rest`), a database (`jdbc`), or a Hive metastore (`hive`).",
    )
    minercdc_lake_catalog_uri: str | None = Field(
        None, description="Address of the Iceberg catalog; every type but `hadoop` needs it."
    )
    minercdc_lake_catalog_warehouse: str | None = Field(
        None,
        description="Warehouse of the Iceberg catalog: where it keeps tables, or its name of that. Default: `minercdc.lake.path`, with `rest` the catalog's own.",
    )
    minercdc_lake_iceberg_format_version: int = Field(
        2,
        ge=2,
        le=3,
        description="Version of Iceberg's table format, of tables that are made: 2, or 3 with deletion vectors, which fewer readers know.",
    )
    minercdc_lake_iceberg_partitions: str = Field(
        "",
        description="Partitions of Iceberg tables that are made: `PATTERN:FIELD,FIELD;PATTERN:FIELD`, with patterns as in `minercdc.lake.table.modes` and fields `COLUMN`, `years(COLUMN)`, `months(COLUMN)`, `days(COLUMN)`, `hours(COLUMN)`, `bucket(N,COLUMN)` or `truncate(N,COLUMN)`. `minercdc lake rebuild` gives them to a table that is there. The first entry that matches a table counts.",
    )
    minercdc_lake_iceberg_sort: str = Field(
        "",
        description="Columns by which maintenance sorts the files of Iceberg tables that it joins, in place of the key: `PATTERN:COLUMN,COLUMN DESC;PATTERN:COLUMN`. The first entry that matches a table counts.",
    )
    minercdc_lake_iceberg_tags: bool = Field(
        False,
        description="Whether each version of an Iceberg table that has all changes up to an SCN gets a tag `scn-<SCN>`, which is kept as long as the version.",
    )

    minercdc_lake_path: str = Field(
        "lake",
        description="Root of the lake: Delta tables at `<path>/<SCHEMA>/<TABLE>`, with several pluggable databases `<path>/<PDB>/<SCHEMA>/<TABLE>`.",
    )
    minercdc_lake_checkpoint: str | None = Field(
        None, description="Checkpoint directory of the stream; default `<path>/_checkpoint`."
    )
    minercdc_lake_mode: Mode = Field(
        "mirror",
        description="How a table is kept: the source's rows (`mirror`); these and deleted rows, marked by `__cdc.deleted` (`soft_delete`); every change as a row (`append`); every version of a row, with the times and SCNs of its validity (`scd2`).",
    )
    minercdc_lake_table_modes: CommaList = Field(
        (),
        description="Modes of single tables: `PATTERN:MODE`, with a pattern of `SCHEMA.TABLE`, which with several pluggable databases may also be of `PDB.SCHEMA.TABLE`. The first entry that matches a table counts.",
    )
    minercdc_lake_truncate: Literal["ignore", "apply"] = Field(
        "apply", description="What TRUNCATE TABLE does to the lake table."
    )
    minercdc_lake_type_change: Literal["text", "new_column"] = Field(
        "text",
        description="How a column is treated if its new type is not a widening for Delta: it becomes text, including its older values; or these move to a column NAME__1 and the column starts empty.",
    )
    minercdc_lake_forbidden_features: CommaList = Field(
        (),
        description="Delta table features that lake tables must not use, for readers without support: any of `columnMapping`, `typeWidening`, `deletionVectors`. DDL that needs one of the first two has all rows of the table written again; a table with a column name that needs the first is quarantined. A feature that a table already has remains.",
    )
    minercdc_lake_merge_rows: int = Field(100_000, ge=1, description="Number of waiting records at which a table is merged.")
    minercdc_lake_merge_interval_ms: int = Field(
        2_000,
        ge=0,
        description="Time from one merge of a table to the next, while few records wait for it; twice as long as the merges before took, where that is more.",
    )
    minercdc_lake_merge_threads: int = Field(
        2, ge=1, le=64, description="Number of tables that are merged at the same time."
    )
    minercdc_lake_retention_ms: int = Field(
        604_800_000,
        ge=0,
        description="How long older versions of the tables, and merged records of the change log, are kept; it limits how far back an SCN can be read. 0 keeps only the present; use it while the lake is stopped.",
    )
    minercdc_lake_maintenance_interval_ms: int = Field(
        21_600_000,
        ge=0,
        description="How often the running lake joins small files and removes what is older than its retention, as `minercdc lake optimize` does; 0 for never.",
    )
    minercdc_lake_cluster: Literal["key", "none"] = Field(
        "key",
        description="Whether maintenance clusters tables by their key, as Delta's CLUSTER BY does; `none` leaves the clustering of each table as it is.",
    )
    minercdc_lake_http_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port of `minercdc lake CONFIG` for /metrics (Prometheus); 0: a free one. Default none.",
    )
    minercdc_lake_http_host: str = Field("127.0.0.1", description="Address of that port.")
    minercdc_lake_number: str = Field(
        "text",
        description="How a NUMBER without precision, or a FLOAT, is kept: `text`, all digits; `decimal(38,S)` with S from 0 to 37, where a value that does not fit is an error; `double`, the nearest one.",
    )
    minercdc_lake_trigger_interval_ms: int = Field(
        2_000, ge=0, description="Minimum time between the starts of two micro-batches."
    )
    minercdc_lake_max_offsets_per_trigger: int = Field(
        200_000, ge=1, description="Maximum number of records in one micro-batch."
    )

    @field_validator("minercdc_lake_table_modes", mode="after")
    @classmethod
    def _known_modes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            pattern, colon, mode = entry.rpartition(":")
            if not colon or not pattern.strip():
                raise ValueError(f"'{entry}' is not of the form PATTERN:MODE")
            if mode.strip() not in get_args(Mode):
                raise ValueError(f"'{entry}': '{mode.strip()}' is not one of {', '.join(get_args(Mode))}")
            configured_pattern(pattern.strip())
        return value

    @field_validator("minercdc_lake_iceberg_partitions", mode="after")
    @classmethod
    def _known_partitions(cls, value: str) -> str:
        list(table_entries(value, partition_field))
        return value

    @field_validator("minercdc_lake_iceberg_sort", mode="after")
    @classmethod
    def _known_sort(cls, value: str) -> str:
        list(table_entries(value, sort_field))
        return value

    @field_validator("minercdc_lake_forbidden_features", mode="after")
    @classmethod
    def _known_features(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        known = {name.lower(): name for name in get_args(LakeFeature)}
        for name in value:
            if name.lower() not in known:
                raise ValueError(f"'{name}' is not one of {', '.join(get_args(LakeFeature))}")
        return tuple(known[name.lower()] for name in value)

    @field_validator("minercdc_lake_catalog_type", mode="before")
    @classmethod
    def _no_unity(cls, value: object) -> object:
        if str(value).strip().lower() == "unity":
            raise ValueError(
                "tables in Unity Catalog are not supported; register the path of a Delta table there, as an external table,"
                " or use an Iceberg catalog of type rest"
            )
        return value

    @rule
    def _catalog_is_iceberg(self) -> Iterator[str]:
        if self.minercdc_lake_catalog_name == "spark_catalog":
            yield "minercdc.lake.catalog.name: spark_catalog is Spark's own; give the Iceberg catalog another name"
        kind, uri = self.minercdc_lake_catalog_type, self.minercdc_lake_catalog_uri
        if self.minercdc_lake_format == "iceberg" and kind != "hadoop" and not uri:
            yield f"minercdc.lake.catalog.uri: missing; a catalog of type {kind} has an address"
        others = (uri, self.minercdc_lake_catalog_warehouse, self.minercdc_lake_catalog_table_name)
        if self.minercdc_lake_format == "delta" and (kind != "hadoop" or any(others)):
            yield "minercdc.lake.catalog: goes with minercdc.lake.format=iceberg; Delta tables are kept by path"

    @rule
    def _layout_is_iceberg(self) -> Iterator[str]:
        if self.minercdc_lake_format != "delta":
            return
        clustered = "Delta tables are clustered: minercdc.lake.cluster"
        if self.minercdc_lake_iceberg_partitions:
            yield f"minercdc.lake.iceberg.partitions: goes with minercdc.lake.format=iceberg; {clustered}"
        if self.minercdc_lake_iceberg_sort:
            yield f"minercdc.lake.iceberg.sort: goes with minercdc.lake.format=iceberg; {clustered}"
        if self.minercdc_lake_iceberg_tags:
            yield (
                "minercdc.lake.iceberg.tags: goes with minercdc.lake.format=iceberg; a Delta table is read by version,"
                " minercdc.lake.tables(spark, config, scn) finds it"
            )

    def partitions(self) -> Iterator[tuple[str, tuple[PartitionField, ...]]]:
        """The entries of minercdc.lake.iceberg.partitions: (pattern, fields), in their order."""
        return table_entries(self.minercdc_lake_iceberg_partitions, partition_field)

    def sort(self) -> Iterator[tuple[str, tuple[SortField, ...]]]:
        """The entries of minercdc.lake.iceberg.sort: (pattern, columns), in their order."""
        return table_entries(self.minercdc_lake_iceberg_sort, sort_field)

    def table_modes(self) -> Iterator[tuple[str, Mode]]:
        """The entries of minercdc.lake.table.modes: (pattern, mode), in their order."""
        for entry in self.minercdc_lake_table_modes:
            pattern, _, mode = entry.rpartition(":")
            yield pattern.strip(), cast(Mode, mode.strip())

    @field_validator("minercdc_lake_number", mode="after")
    @classmethod
    def _known_form(cls, value: str) -> str:
        form = re.sub(r"\s", "", value).lower()
        if not _NUMBER.fullmatch(form):
            raise ValueError(f"'{value}' is not text, double or decimal(38,S) with S from 0 to 37")
        return form
