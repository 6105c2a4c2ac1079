"""Properties of the initial snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from minercdc.config.section import CommaList, PatternList, Section, rule


def _moment(value: str | None) -> str | None:
    if value is not None:
        datetime.fromisoformat(value)
    return value


def _named(section: object, kind: str) -> Iterator[str]:
    """A problem when `custom` is without the name of its callable, or that name is given without `custom`."""
    name = f"snapshot_{kind}_custom_name"
    if (getattr(section, f"snapshot_{kind}") == "custom") != (getattr(section, name) is not None):
        wanted = name.replace("_", ".")
        yield f"{wanted}: set it if, and only if, snapshot.{kind.replace('_', '.')}=custom"


class SnapshotConfig(Section):
    """The initial snapshot.

    When it is taken, of what, by how many connections, and where streaming begins."""

    snapshot_mode: Literal[
        "initial", "initial_only", "no_data", "always", "recovery", "when_needed", "configuration_based", "custom"
    ] = Field(
        "initial",
        description="`initial`: snapshot if there is no offset, then stream; `initial_only`: stop after the snapshot; `no_data` (old `schema_only`): structures only; `always`: at every start; `recovery` (old `schema_only_recovery`): read the structures again and go on from the offset; `when_needed`: `initial`, and a new snapshot if redo of the offset no longer exists; `configuration_based`: as the five properties below specify; `custom`: as a Python callable decides.",
    )
    snapshot_mode_configuration_based_snapshot_data: bool = Field(False, description="Read the tables' rows at every start.")
    snapshot_mode_configuration_based_snapshot_schema: bool = Field(
        False, description="Read the tables' structures at every start."
    )
    snapshot_mode_configuration_based_start_stream: bool = Field(False, description="Stream changes afterwards.")
    snapshot_mode_configuration_based_snapshot_on_schema_error: bool = Field(
        False, description="Read the structures again when the schema history cannot be used."
    )
    snapshot_mode_configuration_based_snapshot_on_data_error: bool = Field(
        False, description="Take a new snapshot if redo of the offset no longer exists."
    )
    snapshot_mode_custom_name: str | None = Field(
        None,
        description="For `custom`: `package.module:function`, called with a `minercdc.SnapshotStart`, returns `minercdc.SnapshotSteps`.",
    )
    snapshot_query_mode: Literal["select_all", "custom"] = Field(
        "select_all", description="`select_all`: whole tables are read; `custom`: what a Python callable selects."
    )
    snapshot_query_mode_custom_name: str | None = Field(
        None,
        description="For `custom`: `package.module:function`, called with `SCHEMA.TABLE` and the names of its columns, returns a SELECT as in `snapshot.select.statement.overrides`, which wins over it; or None for the whole table.",
    )
    snapshot_locking_mode: Literal["shared", "none", "custom"] = Field(
        "shared",
        description="`shared`: LOCK TABLE ... IN ROW SHARE MODE while structures are read; `none`: DDL at that moment may be missed; `custom`: a Python callable locks the tables.",
    )
    snapshot_locking_mode_custom_name: str | None = Field(
        None,
        description="For `custom`: `package.module:function`, called with a connection and the tables, returns a context manager.",
    )
    snapshot_lock_timeout_ms: int = Field(10_000, ge=0, description="How long to wait for each table's lock.")
    snapshot_fetch_size: int = Field(10_000, ge=1, le=100_000, description="Rows per fetch of the scan.")
    snapshot_max_threads: int = Field(
        1,
        ge=1,
        le=255,
        description="Connections that read side by side; large tables are cut into ranges of ROWIDs, which takes SELECT on DBA_EXTENTS.",
    )
    snapshot_max_threads_multiplier: int = Field(
        1, ge=1, le=255, description="Number of ranges per thread into which a table is divided."
    )
    legacy_snapshot_max_threads: bool = Field(False, description="Do not divide tables: one thread reads each table.")
    snapshot_tables_order_by_row_count: Literal["disabled", "ascending", "descending"] = Field(
        "disabled", description="Read the smallest, or the largest, tables first; otherwise by name."
    )
    snapshot_database_errors_max_retries: int = Field(
        0,
        ge=0,
        description="Number of attempts for a range that could not be read as of the snapshot's SCN (ORA-01555, ORA-01466); each attempt continues after the last row.",
    )
    snapshot_delay_ms: int = Field(0, ge=0, description="Wait before the snapshot.")
    streaming_delay_ms: int = Field(0, ge=0, description="Wait between the snapshot and streaming.")
    snapshot_include_collection_list: PatternList = Field(
        (), description="Patterns of `SCHEMA.TABLE`: rows of these tables are read; of other tables only the structures."
    )
    snapshot_select_statement_overrides: CommaList = Field(
        (),
        description="Tables, `SCHEMA.TABLE`, that are read by a SELECT of yours, given as `snapshot.select.statement.overrides.SCHEMA.TABLE`. It returns all columns by name; it reads as of the snapshot's SCN, which takes EXECUTE on DBMS_FLASHBACK.",
    )
    minercdc_start_scn: int | None = Field(
        None,
        ge=1,
        description="With `no_data`: stream changes committed after this SCN. Redo is read from the start of the oldest transaction that was open at the SCN, and must still exist.",
    )
    minercdc_start_timestamp: Annotated[str | None, AfterValidator(_moment)] = Field(
        None, description="The same for an ISO 8601 time, in UTC unless it has an offset."
    )

    @field_validator("snapshot_mode", mode="before")
    @classmethod
    def _old_names(cls, value: object) -> object:
        old = {"schema_only": "no_data", "schema_only_recovery": "recovery"}
        return old.get(value.lower(), value) if isinstance(value, str) else value

    @rule
    def _mode_named(self) -> Iterator[str]:
        yield from _named(self, "mode")

    @rule
    def _locking_named(self) -> Iterator[str]:
        yield from _named(self, "locking_mode")

    @rule
    def _query_named(self) -> Iterator[str]:
        yield from _named(self, "query_mode")

    @rule
    def _one_start(self) -> Iterator[str]:
        if self.minercdc_start_scn is not None and self.minercdc_start_timestamp is not None:
            yield "minercdc.start.scn: set either this or minercdc.start.timestamp"

    @rule
    def _start_fits(self) -> Iterator[str]:
        given = [n for n in ("minercdc_start_scn", "minercdc_start_timestamp") if getattr(self, n) is not None]
        if given and self.snapshot_mode != "no_data":
            yield f"{given[0].replace('_', '.')}: earlier rows are not read, so it requires snapshot.mode=no_data"
