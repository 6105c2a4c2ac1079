"""Properties of a physical standby whose redo is mined in the primary's place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from minercdc.config.database import DatabaseConfig
from minercdc.config.section import Section


class PhysicalStandbyConfig(Section):
    """Which database LogMiner runs in."""

    capture_mode: Literal["primary", "physical_standby"] = Field(
        "primary",
        description="Where LogMiner runs: in the database of `database.*` (`primary`), or in a physical standby of it that is open read only (`physical_standby`), named by `secondary.*`. All else is read from `database.*`, which stays the primary. [How](capture/logminer.md#a-physical-standby).",
    )
    secondary_hostname: str | None = Field(
        None,
        description="Listener host of the standby; needed with `capture.mode=physical_standby` unless `secondary.url` is given. User, password, wallet and time limits are those of `database.*`.",
    )
    secondary_port: int | None = Field(None, ge=1, le=65535, description="Its port; default `database.port`.")
    secondary_dbname: str | None = Field(
        None, description="Service of the standby's root, or of a standby without containers; default `database.dbname`."
    )
    secondary_url: str | None = Field(
        None, description="Connect string in place of `secondary.hostname`, `secondary.port` and `secondary.dbname`."
    )

    @property
    def is_mined(self) -> bool:
        """Whether LogMiner runs in the standby."""
        return self.capture_mode == "physical_standby"

    def database(self, primary: DatabaseConfig) -> DatabaseConfig:
        """The configuration of the standby: where it is; how to log on is as for the primary."""
        place = {
            "database_hostname": self.secondary_hostname,
            "database_port": self.secondary_port or primary.database_port,
            "database_dbname": self.secondary_dbname or primary.database_dbname,
            "database_url": self.secondary_url,
        }
        return primary.model_copy(update=place)


def contradictions_of_standby(sections: Mapping[str, Any]) -> Iterator[str]:
    """What does not go with a physical standby, and what is missing for it."""
    standby, mining = sections["physical_standby"], sections["log_mining"]
    given = [name for name in ("hostname", "port", "dbname", "url") if getattr(standby, f"secondary_{name}") is not None]
    if not standby.is_mined:
        if given:
            yield (
                f"secondary.{given[0]}: takes capture.mode=physical_standby; mining in a downstream database is not there yet"
            )
        return
    if not standby.secondary_hostname and not standby.secondary_url:
        yield "secondary.hostname: needed with capture.mode=physical_standby (or secondary.url)"
    if sections["database"].database_connection_adapter != "logminer":
        yield "capture.mode: physical_standby works with database.connection.adapter=logminer only"
    if sections["database"].has_several_pdbs:
        yield "database.pdb.name: capture.mode=physical_standby captures one pluggable database; run a connector for each"
    if not mining.log_mining_archive_log_only_mode:
        yield "log.mining.archive.log.only.mode: has to be true with capture.mode=physical_standby, which has archived logs only"
    if mining.log_mining_strategy == "redo_log_catalog":
        yield "log.mining.strategy: redo_log_catalog takes a database that can be written (ORA-01300), and not a physical standby"
    if mining.log_mining_transaction_retention_ms:
        yield (
            "log.mining.transaction.retention.ms: does not go with capture.mode=physical_standby: redo that is not applied yet"
            " would make transactions look old"
        )
    if mining.minercdc_log_mining_flush_table:
        yield "minercdc.log.mining.flush.table: has no use with capture.mode=physical_standby, which reads archived logs"
    if sections["capture"].lob_enabled:
        yield "lob.enabled: large values are not read from a physical standby yet: LogMiner has no dictionary there"
