"""Properties of another database in which LogMiner runs: a physical standby, or a downstream database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from minercdc.config.section import Section
from minercdc.config.source.database import DatabaseConfig


class SecondaryConfig(Section):
    """Which database LogMiner runs in."""

    capture_mode: Literal["primary", "physical_standby", "downstream"] = Field(
        "primary",
        description="Where LogMiner runs: in the database of `database.*` (`primary`), in a physical standby of it that is open read only (`physical_standby`, [how](how-to/mine-elsewhere.md#a-physical-standby)), or in another database to which its archived logs are shipped (`downstream`, [how](how-to/mine-elsewhere.md#a-downstream-database)); `secondary.*` names the latter two. Everything else is read from `database.*`, which remains the primary.",
    )
    secondary_hostname: str | None = Field(
        None,
        description="Listener host of the standby or the downstream database; needed with `capture.mode=physical_standby` and `downstream` unless `secondary.url` is given. User, password, wallet and time limits are those of `database.*`.",
    )
    secondary_port: int | None = Field(None, ge=1, le=65535, description="Its port; default `database.port`.")
    secondary_dbname: str | None = Field(
        None, description="Service of its root, or of a database without containers; default `database.dbname`."
    )
    secondary_url: str | None = Field(
        None, description="Connect string instead of `secondary.hostname`, `secondary.port` and `secondary.dbname`."
    )

    @property
    def is_mined(self) -> bool:
        """Whether LogMiner runs in the database of `secondary.*`."""
        return self.capture_mode != "primary"

    @property
    def is_downstream(self) -> bool:
        """Whether that is a downstream database, and no standby."""
        return self.capture_mode == "downstream"

    def database(self, primary: DatabaseConfig) -> DatabaseConfig:
        """The configuration of that database: where it is; how to log on is as for the primary."""
        place = {
            "database_hostname": self.secondary_hostname,
            "database_port": self.secondary_port or primary.database_port,
            "database_dbname": self.secondary_dbname or primary.database_dbname,
            "database_url": self.secondary_url,
        }
        return primary.model_copy(update=place)


def contradictions_of_secondary(sections: Mapping[str, Any]) -> Iterator[str]:
    """What does not go with a physical standby or a downstream database, and what is missing for it."""
    secondary, mining = sections["secondary"], sections["log_mining"]
    mode = f"capture.mode={secondary.capture_mode}"
    given = [name for name in ("hostname", "port", "dbname", "url") if getattr(secondary, f"secondary_{name}") is not None]
    if not secondary.is_mined:
        if given:
            yield f"secondary.{given[0]}: takes capture.mode=physical_standby or downstream"
        return
    if not secondary.secondary_hostname and not secondary.secondary_url:
        yield f"secondary.hostname: needed with {mode} (or secondary.url)"
    if sections["database"].database_connection_adapter != "logminer":
        yield f"capture.mode: {secondary.capture_mode} works with database.connection.adapter=logminer only"
    if sections["database"].has_several_pdbs:
        yield f"database.pdb.name: {mode} captures one pluggable database; run a connector for each"
    if not mining.log_mining_archive_log_only_mode:
        yield f"log.mining.archive.log.only.mode: must be true with {mode}, which has only archived logs"
    if mining.log_mining_transaction_retention_ms:
        yield (
            f"log.mining.transaction.retention.ms: cannot be used with {mode}: redo that is not"
            f" {'shipped' if secondary.is_downstream else 'applied'} yet would make transactions look old"
        )
    if mining.minercdc_log_mining_flush_table:
        yield f"minercdc.log.mining.flush.table: has no effect with {mode}, which reads archived logs"
    yield from _of_downstream(sections) if secondary.is_downstream else _of_standby(sections)


def _of_standby(sections: Mapping[str, Any]) -> Iterator[str]:
    if sections["log_mining"].log_mining_strategy == "redo_log_catalog":
        yield "log.mining.strategy: redo_log_catalog requires a writable database (ORA-01300), not a physical standby"
    if sections["capture"].lob_enabled:
        yield "lob.enabled: reading large values from a physical standby is not supported yet: LogMiner has no dictionary there"


def _of_downstream(sections: Mapping[str, Any]) -> Iterator[str]:
    mining = sections["log_mining"]
    if mining.log_mining_strategy != "redo_log_catalog":
        yield (
            "log.mining.strategy: must be redo_log_catalog with capture.mode=downstream: the catalog of the downstream database does"
            " not contain the source's tables (ORA-01295)"
        )
    if mining.archive_destination_name:
        yield "archive.destination.name: has no effect with capture.mode=downstream: logs are listed as the downstream database receives them"
