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
        description="Which dictionary LogMiner uses: the database's own (`online_catalog`, `hybrid`), or one that the connector has written to the redo (`redo_log_catalog`, DBMS_LOGMNR_D.BUILD). Rows that it does not fit are decoded with our own schema history in every case.",
    )
    log_mining_archive_log_only_mode: bool = Field(
        False, description="Read archived logs only: changes come when their log has been archived."
    )
    log_mining_archive_log_only_scn_poll_interval_ms: int = Field(
        10_000, ge=1, description="Wait for the next archived log in that mode."
    )
    query_fetch_size: int = Field(10_000, ge=1, le=100_000, description="Rows per fetch from V$LOGMNR_CONTENTS.")
    minercdc_log_mining_pass_interval_ms: int = Field(
        1_000,
        ge=0,
        le=600_000,
        description="Time between the beginnings of two passes of LogMiner, on average, while redo is written; after a quiet time, five may follow each other at once. Less means less latency, and more passes over the same redo.",
    )
    log_mining_session_max_ms: int = Field(
        900_000, ge=0, description="Age at which the LogMiner session is renewed (its PGA grows); 0: at log switches only."
    )
    minercdc_log_mining_session_max_pga_bytes: int = Field(
        1024 * 1024 * 1024,
        ge=0,
        description="PGA of the LogMiner session (`session pga memory`, read after each pass) at which it is renewed; 0: not looked at.",
    )
    log_mining_log_count_min: int = Field(
        8,
        ge=0,
        description="Logs per thread that a pass of LogMiner takes when there are more: twice as many after a pass of less than 10 s, half as many, but not fewer than this, after one of more than 60 s or of more than 16 GiB; 0: all there are. With `lob.enabled`, `logminer_unbuffered` and `redo_log_catalog` a pass takes all.",
    )
    minercdc_log_mining_flush_table: str | None = Field(
        None,
        pattern=r"^[A-Za-z][\w$#]*$",  # a bound in the pattern takes a tenth of a second at every start
        max_length=128,
        description="Table in the schema of `database.user` (in the captured container; created when it is not there) whose one row is changed and committed before each pass, so that the log writer writes. By default there is none, and nothing is written to the source.",
    )
    archive_destination_name: CommaList = Field(
        (),
        description="LOG_ARCHIVE_DEST_n to read from, in order of precedence; default all local ones. Valid ones come first.",
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
        description="Give up open transactions older than this, with a warning: their changes are lost, and the offset moves on. 0: never.",
    )
    log_mining_buffer_transaction_events_threshold: int = Field(
        0,
        ge=0,
        description="Give up open transactions with more changes than this, with a warning: they are lost. 0: never.",
    )
    log_mining_log_query_max_retries: int = Field(
        5, ge=0, description="Tries while the list of logs looks incomplete (a switch is being archived)."
    )
    log_mining_log_backoff_initial_delay_ms: int = Field(1_000, ge=1, description="First wait between such tries.")
    log_mining_log_backoff_max_delay_ms: int = Field(60_000, ge=1, description="Longest wait between such tries.")
    minercdc_log_mining_unknown_transaction_mode: Literal["fail", "warn", "skip"] = Field(
        "warn",
        description="What to do with an open transaction that the database does not know any more and whose end is not in the redo: `fail` stops, `warn` keeps waiting, `skip` gives it up. Not looked for with `log.mining.archive.log.only.mode`.",
    )
    minercdc_log_mining_buffer_memory_max_bytes: int = Field(
        192 * 1024 * 1024,
        ge=64 * 1024,
        alias="minercdc.log.mining.buffer.memory.max.bytes",
        description="Memory for rows of open transactions; beyond it the largest transactions wait on disk.",
    )

    minercdc_log_mining_buffer_durable: Literal["disk", "topic", "none"] = Field(
        "disk",
        description="Where the rows of open transactions are kept over a restart, so that archived logs that hold only their beginning are not needed: files in `minercdc.state.dir` (`disk`); these, with a copy in a topic, from which a start on another machine makes them again (`topic`); or nowhere (`none`: a restart reads redo from the start of the oldest open transaction; what is kept already stays so until its end). Not with `lob.enabled` and `logminer_unbuffered`, for which LogMiner has to read each transaction from its start.",
    )
    minercdc_log_mining_buffer_durable_topic: str | None = Field(
        None,
        description="Compacted topic of these copies; default `<topic.prefix>-open-transactions`.",
    )
    minercdc_log_mining_buffer_durable_after_ms: int = Field(
        600_000,
        ge=0,
        description="Age, by the time of the redo, from which on an open transaction is kept at the next log switch. 0: all that are open when a pass begins, without waiting for a switch (for tests).",
    )

    @rule
    def _topic_name(self) -> Iterator[str]:
        name = self.minercdc_log_mining_buffer_durable_topic
        if name is not None and not re.fullmatch(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", name):
            yield (
                f"minercdc.log.mining.buffer.durable.topic: {name!r} is no name of a topic: up to 249 letters, digits, '.', '_' and '-'"
            )

    @rule
    def _one_list_of_users(self) -> Iterator[str]:
        if self.log_mining_username_include_list and self.log_mining_username_exclude_list:
            yield "log.mining.username.include.list: give it or log.mining.username.exclude.list, not both"

    @rule
    def _one_list_of_clients(self) -> Iterator[str]:
        if self.log_mining_clientid_include_list and self.log_mining_clientid_exclude_list:
            yield "log.mining.clientid.include.list: give it or log.mining.clientid.exclude.list, not both"
