"""Properties of the adapters `logminer` and `logminer_unbuffered`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from minercdc.config.section import CommaList, Section, rule


class LogMiningConfig(Section):
    """How LogMiner reads redo."""

    log_mining_strategy: Literal["online_catalog", "hybrid", "redo_log_catalog"] = Field(
        "online_catalog",
        description="Dictionary that LogMiner uses: the database's own (`online_catalog`, `hybrid`), or one that the connector writes to the redo (`redo_log_catalog`, DBMS_LOGMNR_D.BUILD). Rows of other table versions are always decoded with the connector's own schema history.",
    )
    log_mining_archive_log_only_mode: bool = Field(
        False, description="Read archived logs only: changes arrive when their log has been archived."
    )
    log_mining_archive_log_only_scn_poll_interval_ms: int = Field(
        10_000, ge=1, description="Wait between checks for the next archived log in that mode."
    )
    query_fetch_size: int = Field(10_000, ge=1, le=100_000, description="Rows per fetch from V$LOGMNR_CONTENTS.")
    minercdc_log_mining_pass_interval_ms: int = Field(
        1_000,
        ge=0,
        le=600_000,
        description="Average time between the starts of two LogMiner passes while redo is written; after a quiet time, five passes may follow each other immediately. A shorter time reduces latency, and reads the same redo more often.",
    )
    log_mining_session_max_ms: int = Field(
        900_000, ge=0, description="Age at which the LogMiner session is renewed (its PGA grows); 0: at log switches only."
    )
    minercdc_log_mining_session_max_pga_bytes: int = Field(
        1024 * 1024 * 1024,
        ge=0,
        description="PGA of the LogMiner session (`session pga memory`, read after each pass) at which it is renewed; 0: never.",
    )
    log_mining_log_count_min: int = Field(
        8,
        ge=0,
        description="Smallest number of logs per thread in a LogMiner pass, if more are waiting. The number doubles after a pass of less than 10 s, and is halved after one of more than 60 s or more than 16 GiB. 0: all logs. With `lob.enabled`, `logminer_unbuffered` and `redo_log_catalog` a pass reads all logs.",
    )
    minercdc_log_mining_flush_table: str | None = Field(
        None,
        pattern=r"^[A-Za-z][\w$#]*$",  # a bound in the pattern takes a tenth of a second at every start
        max_length=128,
        description="Table in the schema of `database.user` (in the captured container; created if it does not exist). Its one row is changed and committed before each pass, so that the log writer writes. By default there is no such table, and nothing is written to the source.",
    )
    archive_destination_name: CommaList = Field(
        (),
        description="LOG_ARCHIVE_DEST_n to read from, in order of precedence; valid ones come first. Default: all local ones.",
    )
    log_mining_include_redo_sql: bool = Field(False, description="Copy SQL_REDO into `source.redo_sql`.")
    log_mining_username_include_list: CommaList = Field((), description="Capture only transactions of these users.")
    log_mining_username_exclude_list: CommaList = Field((), description="Leave out transactions of these users.")
    log_mining_clientid_include_list: CommaList = Field(
        (),
        description="Capture only transactions of these CLIENT_IDs (`client_identifier` of a driver), not of sessions without one.",
    )
    log_mining_clientid_exclude_list: CommaList = Field((), description="Leave out transactions of these CLIENT_IDs.")
    log_mining_transaction_retention_ms: int = Field(
        0,
        ge=0,
        description="Drop open transactions older than this, with a warning: their changes are lost, and the offset advances. 0: never.",
    )
    log_mining_buffer_transaction_events_threshold: int = Field(
        0,
        ge=0,
        description="Drop open transactions with more changes than this, with a warning: their changes are lost. 0: never.",
    )
    log_mining_log_query_max_retries: int = Field(
        5, ge=0, description="Number of attempts while the list of logs looks incomplete (a switch is being archived)."
    )
    log_mining_log_backoff_initial_delay_ms: int = Field(1_000, ge=1, description="First wait between such attempts.")
    log_mining_log_backoff_max_delay_ms: int = Field(60_000, ge=1, description="Longest wait between such attempts.")
    minercdc_log_mining_unknown_transaction_mode: Literal["fail", "warn", "skip"] = Field(
        "warn",
        description="How to treat an open transaction that the database no longer knows and of which redo contains no end: `fail` stops, `warn` keeps waiting, `skip` drops it. Not checked with `log.mining.archive.log.only.mode`.",
    )
    minercdc_log_mining_buffer_memory_max_bytes: int = Field(
        192 * 1024 * 1024,
        ge=64 * 1024,
        alias="minercdc.log.mining.buffer.memory.max.bytes",
        description="Memory for rows of open transactions; beyond it, the largest transactions are spilled to disk.",
    )

    minercdc_log_mining_buffer_durable: Literal["disk", "topic", "none"] = Field(
        "disk",
        description="Where rows of open transactions are kept across restarts, so that the archived logs of their beginning are not needed. `disk`: files in `minercdc.state.dir`. `topic`: these files, with a copy in a topic from which a start on another machine restores them. `none`: nowhere; a restart reads redo from the start of the oldest open transaction, but transactions already kept remain until they end. Without effect with `lob.enabled` and `logminer_unbuffered`, for which LogMiner must read each transaction from its start.",
    )
    minercdc_log_mining_buffer_durable_topic: str | None = Field(
        None,
        description="Compacted topic of these copies; default `<topic.prefix>-open-transactions`.",
    )
    minercdc_log_mining_buffer_durable_after_ms: int = Field(
        600_000,
        ge=0,
        description="Age, by redo time, at which an open transaction is kept at the next log switch. 0: keep all transactions that are open at the start of a pass, without waiting for a switch (for tests).",
    )

    @rule
    def _topic_name(self) -> Iterator[str]:
        name = self.minercdc_log_mining_buffer_durable_topic
        if name is not None and not re.fullmatch(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", name):
            yield (
                f"minercdc.log.mining.buffer.durable.topic: {name!r} is not a topic name: up to 249 letters, digits, '.', '_' and '-'"
            )

    @rule
    def _one_list_of_users(self) -> Iterator[str]:
        if self.log_mining_username_include_list and self.log_mining_username_exclude_list:
            yield "log.mining.username.include.list: set either this or log.mining.username.exclude.list"

    @rule
    def _one_list_of_clients(self) -> Iterator[str]:
        if self.log_mining_clientid_include_list and self.log_mining_clientid_exclude_list:
            yield "log.mining.clientid.include.list: set either this or log.mining.clientid.exclude.list"
