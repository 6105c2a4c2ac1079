"""The sections of a connector's configuration; each field's description is the property's documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator

from minercdc.config.section import PatternList, Section, WordList, rule
from minercdc.config.source.database import DatabaseConfig as DatabaseConfig
from minercdc.config.source.snapshot import SnapshotConfig as SnapshotConfig
from minercdc.config.target.lake import LakeConfig as LakeConfig
from minercdc.config.target.topics import TRANSPORTABLE as TRANSPORTABLE
from minercdc.config.target.topics import TopicConfig as TopicConfig
from minercdc.config.urls import is_http
from minercdc.schema.patterns import configured_pattern


class ConnectorIdentity(Section):
    """Who this connector is.

    The name that owns the offset, and the prefix of all topics."""

    name: str = Field(
        "minercdc",
        min_length=1,
        description="Name of the connector. The offset and the Kafka transactional id are stored under this name.",
    )
    topic_prefix: str = Field(
        description="Logical server name: root of every topic name. Letters, digits, dot, hyphen, underscore."
    )

    @field_validator("topic_prefix")
    @classmethod
    def _topic_characters(cls, value: str) -> str:
        if not TRANSPORTABLE.fullmatch(value):
            raise ValueError(
                f"'{value}' has characters that a topic name cannot hold; use letters, digits, '.', '_' and '-'"
            )
        return value


def _one_list(section: object, kind: str) -> Iterator[str]:
    if getattr(section, f"{kind}_include_list") and getattr(section, f"{kind}_exclude_list"):
        yield f"{kind}.include.list: set either this or {kind}.exclude.list"


class TableFilterConfig(Section):
    """Which schemas, tables and columns are captured, and by which keys. Patterns are anchored and ignore case."""

    schema_include_list: PatternList = Field(
        (), description="Patterns of schemas to capture; default: all except Oracle's own."
    )
    schema_exclude_list: PatternList = Field((), description="Patterns of schemas to leave out.")
    table_include_list: PatternList = Field((), description="Patterns of `SCHEMA.TABLE` to capture.")
    table_exclude_list: PatternList = Field((), description="Patterns of `SCHEMA.TABLE` to leave out.")
    column_include_list: PatternList = Field(
        (), description="Patterns of `SCHEMA.TABLE.COLUMN` to publish; key columns always stay in the key."
    )
    column_exclude_list: PatternList = Field((), description="Patterns of `SCHEMA.TABLE.COLUMN` not to publish.")
    message_key_columns: str = Field(
        "", description="`SCHEMA.TABLE:COL1,COL2;...`: columns of the record key instead of the primary key."
    )
    minercdc_keyless_table_key: Literal["none", "rowid"] = Field(
        "none", description="Key of tables without a key: a null key (`none`), or a struct with the ROWID (`rowid`)."
    )

    @rule
    def _schemas(self) -> Iterator[str]:
        yield from _one_list(self, "schema")

    @rule
    def _tables(self) -> Iterator[str]:
        yield from _one_list(self, "table")

    @rule
    def _columns(self) -> Iterator[str]:
        yield from _one_list(self, "column")

    @field_validator("message_key_columns", mode="after")
    @classmethod
    def _key_columns(cls, value: str) -> str:
        for part in filter(None, value.split(";")):
            if part.count(":") != 1:
                raise ValueError(f"'{part}' is not of the form SCHEMA.TABLE:COL1,COL2")
            configured_pattern(part.partition(":")[0].strip())
        return value


class CaptureConfig(Section):
    """What every way of reading changes shares."""

    minercdc_handover_scn: int | None = Field(
        None,
        ge=1,
        description="Continue from the offset of another family of adapters, after this SCN: the earlier adapter has delivered every commit up to it. Redo is read from the start of the oldest transaction that was open at the SCN. Without this property a position of another family is refused.",
    )

    lob_enabled: bool = Field(
        False,
        description="Read CLOB, NCLOB, BLOB, XMLTYPE and JSON values, and strings beyond 4000 bytes; without it `unavailable.value.placeholder` stands for them, in snapshots too. LogMiner shows large values only of transactions that it reads from their start, so redo of long transactions is read repeatedly.",
    )
    minercdc_lob_reselect: Literal["key_change", "unavailable", "none"] = Field(
        "key_change",
        description="With `lob.enabled`: selects the large values missing in redo that are read from the row, as of the commit of its transaction: those of rows with a changed key (`key_change`), all missing ones (`unavailable`, a query for each such row), or `none`. The header `__minercdc.reselect.scn` has the SCN. If undo or the row no longer exists, the placeholder remains.",
    )
    poll_interval_ms: int = Field(
        500,
        ge=1,
        description="For adapters that poll: longest wait after a read that found nothing. LogMiner reads when redo was written, or"
        " after 5 s at the latest. Idle ticks are emitted at least this often.",
    )
    minercdc_state_dir: Path = Field(
        Path(".minercdc"),
        description="Directory for rows of large and of long open transactions (docs/explanation/long-transactions.md), and for signals received by HTTP or in process, until they are executed.",
    )


class ValueConfig(Section):
    """How values, keys and deletes are represented, and which operations are published."""

    decimal_handling_mode: Literal["precise", "string", "double"] = Field(
        "precise", description="NUMBER as exact bytes, text, or float64."
    )
    time_precision_mode: Literal[
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = Field("adaptive", description="Unit and type of dates and timestamps.")
    interval_handling_mode: Literal["numeric", "string"] = Field(
        "numeric", description="Intervals as microseconds or ISO text."
    )
    binary_handling_mode: Literal["bytes", "base64", "base64-url-safe", "hex"] = Field(
        "bytes", description="RAW as bytes or text."
    )
    unavailable_value_placeholder: str = Field(
        "__debezium_unavailable_value", description="Stands for a value that redo does not hold."
    )
    tombstones_on_delete: bool = Field(True, description="A record with null value after each delete.")
    skipped_operations: WordList = Field(
        ("t",), description="Operations that are not published, of c, u, d, t; `none` publishes all."
    )
    value_converter_schemas_enable: bool = Field(
        False,
        description="Wrap values as {schema, payload}. Default: off, or on if `value.converter` names Connect's JsonConverter.",
    )
    key_converter_schemas_enable: bool = Field(False, description="The same for keys.")
    schema_name_adjustment_mode: Literal["none", "avro", "avro_unicode"] = Field(
        "none",
        description="Adjusts names of schemas for Avro: characters other than letters, digits and _ become _, or _uXXXX.",
    )
    field_name_adjustment_mode: Literal["none", "avro", "avro_unicode"] = Field(
        "none", description="The same for names of columns."
    )

    @field_validator("skipped_operations", mode="after")
    @classmethod
    def _operations(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value == ("none",):
            return ()
        if unknown := [v for v in value if v not in ("c", "u", "d", "t")]:
            raise ValueError(f"'{unknown[0]}' is not one of c, u, d, t, none")
        return value

    @field_validator("time_precision_mode", mode="before")
    @classmethod
    def _no_structured_times(cls, value: object) -> object:
        if isinstance(value, str) and value.strip().lower() == "structured":
            raise ValueError(
                "structured is not supported yet: Debezium 3.7 is not released, and its development versions differ in"
                " the structs; isostring and nanoseconds keep all digits"
            )
        return value


class KafkaConfig(Section):
    """The Kafka client, its transactions, the topics of offset and schema history, and records that are too large."""

    minercdc_kafka_bootstrap_servers: str | None = Field(
        None,
        description="Brokers; default `schema.history.internal.kafka.bootstrap.servers`. Needed with `debezium.sink.type=kafka`.",
    )
    schema_history_internal_kafka_bootstrap_servers: str | None = Field(
        None, description="Brokers of the schema history; the same as the data's."
    )
    schema_history_internal_kafka_topic: str | None = Field(
        None, description="Topic of the schema history; default `<topic.prefix>-schema-history`."
    )
    minercdc_offset_topic: str | None = Field(
        None, description="Compacted topic of the offset; default `<topic.prefix>-offsets`."
    )
    minercdc_kafka_transaction_max_records: int = Field(
        50_000, ge=1, description="Number of records after which a Kafka transaction is committed."
    )
    minercdc_kafka_transaction_max_bytes: int = Field(
        32 * 1024 * 1024, ge=1024, description="Number of bytes after which a Kafka transaction is committed."
    )
    minercdc_kafka_transaction_interval_ms: int = Field(
        200,
        ge=0,
        description="Age at which a Kafka transaction is committed. Source transactions are not split unless they exceed the two bounds above.",
    )
    minercdc_kafka_timeout_ms: int = Field(
        60_000, ge=1_000, description="How long one Kafka request may take before the connector restarts from its offset."
    )

    minercdc_kafka_transactional: bool = Field(
        True,
        description="`false`: do not use Kafka transactions, for clusters that do not allow them. Delivery is then at least once: after a kill, records may be repeated, in the same order.",
    )
    minercdc_kafka_large_transaction: Literal["split", "hold"] = Field(
        "split",
        description="How a source transaction beyond these bounds is delivered: in several Kafka transactions (`split`), or in one, invisible to `read_committed` readers until it is complete (`hold`), up to the limit of the next property. With `hold` a Kafka transaction may last 15 minutes.",
    )
    minercdc_kafka_large_transaction_hold_max_bytes: int = Field(
        1024 * 1024 * 1024, ge=1024, description="Size above which a source transaction is split even with `hold`."
    )
    minercdc_kafka_record_too_large: Literal["fail", "dead_letter", "claim_check"] = Field(
        "fail",
        description="What happens to a record larger than `minercdc.kafka.record.max.bytes`. `fail`: send it, and stop if the client or the broker refuses it. `dead_letter`: replace it by a record with the cause in `minercdc.dead.letter.topic`, and store its value in `minercdc.claim.check.path` if that is set. `claim_check`: store its value in a file of that directory, and send the file's name as value and as header `__minercdc.claim.check`.",
    )
    minercdc_kafka_record_max_bytes: int = Field(
        1_000_000,
        ge=1024,
        description="Largest size of key and value, before compression, of records that are sent unchanged.",
    )
    minercdc_claim_check_path: Path | None = Field(
        None, description="Directory for values that are too large. Readers need access to it; files are never deleted."
    )

    @rule
    def _claims(self) -> Iterator[str]:
        if self.minercdc_kafka_record_too_large == "claim_check" and self.minercdc_claim_check_path is None:
            yield "minercdc.claim.check.path: needed with minercdc.kafka.record.too.large=claim_check"

    @rule
    def _held_by_transactions(self) -> Iterator[str]:
        if self.minercdc_kafka_large_transaction == "hold" and not self.minercdc_kafka_transactional:
            yield (
                "minercdc.kafka.large.transaction: hold needs Kafka transactions, which minercdc.kafka.transactional=false turns"
                " off; set split, or leave that out"
            )

    @rule
    def _one_cluster(self) -> Iterator[str]:
        data, history = self.minercdc_kafka_bootstrap_servers, self.schema_history_internal_kafka_bootstrap_servers
        if data and history and data != history:
            yield (
                "schema.history.internal.kafka.bootstrap.servers: must equal minercdc.kafka.bootstrap.servers; "
                "history and data share a Kafka transaction"
            )

    @property
    def longest_transaction(self) -> float:
        """Seconds after which Kafka aborts a transaction: 60, and 900 where large ones are held, which is the most that brokers
        allow by default."""
        return 900.0 if self.minercdc_kafka_large_transaction == "hold" else 60.0

    @property
    def bootstrap_servers(self) -> str:
        """The brokers, by either property that names them; '' when none does."""
        return self.minercdc_kafka_bootstrap_servers or self.schema_history_internal_kafka_bootstrap_servers or ""


def _expression(value: str | None) -> str | None:
    """The value, if it is a regular expression or None."""
    try:
        re.compile(value or "")
    except re.error as error:
        raise ValueError(f"'{value}' is not a regular expression: {error}") from None
    return value


class RunConfig(Section):
    """Errors, restarts and dead letters, the log, and the export of metrics."""

    errors_max_retries: int = Field(
        -1,
        ge=-1,
        description="Number of restarts after transient failures before the connector stops; -1: no limit. Progress resets the count.",
    )
    retriable_restart_connector_wait_ms: int = Field(
        10_000, ge=1, description="Longest wait before such a restart; the first wait is a tenth of it."
    )
    event_processing_failure_handling_mode: Literal["suspend", "fail", "warn", "skip"] = Field(
        "suspend",
        description="A redo row that cannot be decoded, or that LogMiner does not support (BOOLEAN, JSON, VECTOR, object types): suspend its table until the table is repaired and read again (`resume-table`), while all other tables continue; stop; or leave the row out, with a warning or silently.",
    )
    custom_sanitize_pattern: Annotated[str | None, AfterValidator(_expression)] = Field(
        None,
        description="Regular expression of property names. `minercdc config FILE` hides their values, in addition to those of names that end in password, secret, token and similar words.",
    )
    minercdc_opentelemetry_endpoint: SecretStr | None = Field(
        None,
        description="Address to which all metrics are sent by OTLP over HTTP, such as `http://collector:4318/v1/metrics`; needs `pip install 'minercdc[opentelemetry]'`. The variables `OTEL_EXPORTER_OTLP_*` set headers and certificates. Default: none.",
    )
    minercdc_opentelemetry_interval_ms: int = Field(15_000, ge=100, description="Wait between two such exports.")
    minercdc_log_format: Literal["text", "json"] = Field(
        "text",
        description="Form of log lines: text, or a JSON document with time, level, logger, message and connector, for log collectors.",
    )
    minercdc_dead_letter_topic: str | None = Field(
        None,
        pattern=TRANSPORTABLE.pattern,
        description="Topic for rows that are left out, those of suspended tables included: SQL_REDO, redo address and error, in the same Kafka transaction as the neighbouring records. Default: none.",
    )

    @rule
    def _endpoint(self) -> Iterator[str]:
        endpoint = self.minercdc_opentelemetry_endpoint
        if endpoint is not None and not is_http(endpoint.get_secret_value()):
            yield "minercdc.opentelemetry.endpoint: http://HOST:PORT/v1/metrics is needed, or https://; this has no such host or port"
