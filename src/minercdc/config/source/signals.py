"""Sections for signals, the HTTP port, incremental snapshots and notifications."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from minercdc.config.section import Section, WordList, rule
from minercdc.config.sections import TRANSPORTABLE
from minercdc.config.urls import fits_header, is_http
from minercdc.schema.table_filter import SYSTEM_SCHEMAS

_CHANNELS = ("source", "kafka", "file", "http", "in-process")


class SignalConfig(Section):
    """Signals: requests to a running connector (docs/signals.md); and the HTTP port, which shows status and metrics, too."""

    signal_enabled_channels: WordList = Field(
        ("source",),
        description="Channels from which signals are read: any of `source`, `kafka`, `file`, `http`, `in-process`.",
    )
    signal_data_collection: str | None = Field(
        None,
        description="Signal table, `DATABASE.SCHEMA.TABLE` in the case of the dictionary, with three columns of text: id, type, data. With several pluggable databases it is in one of them and serves all. Required for channel `source` and for marks; mined whether or not it is captured.",
    )
    signal_poll_interval_ms: int = Field(5_000, ge=1, description="Wait between two reads of the other channels.")
    signal_kafka_topic: str | None = Field(
        None,
        description="Topic of channel `kafka`, partition 0, keys equal to `topic.prefix`; default `<topic.prefix>-signal`.",
    )
    signal_kafka_bootstrap_servers: str | None = Field(
        None, description="Brokers of the signal topic; default: those of the data."
    )
    signal_file: Path = Field(
        Path("file-signals.txt"),
        description="File of channel `file`: a JSON document per line; emptied once all signals are executed.",
    )
    minercdc_http_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port for the status page (`/`, its data `/api/status`), /metrics (Prometheus), /health, /snapshots, /notifications, and POST /signals (channel `http`); 0: a free one. Default none.",
    )
    minercdc_http_host: str = Field(
        "127.0.0.1",
        description="Address of that port. If other machines can reach it, everything except /health, /ready, /live and /metrics needs the token; the page shows no data without it.",
    )
    minercdc_http_token: SecretStr | None = Field(
        None,
        min_length=8,
        description="Bearer token of that port, needed for POST in any case. Default: a token that is created once and stored in `minercdc.state.dir` (`http-token-<name>`), where `minercdc signal` finds it.",
    )

    @property
    def answers_while_paused(self) -> bool:
        """Whether there is a channel that does not come with the stream, so that a signal can resume it."""
        return bool(set(self.signal_enabled_channels) - {"source"})

    @field_validator("signal_enabled_channels")
    @classmethod
    def _known_channels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for channel in value:
            if channel == "jmx":
                raise ValueError("JMX is not available: channel http (minercdc.http.port) takes the same signals")
            if channel not in _CHANNELS:
                raise ValueError(f"'{channel}' is not one of {', '.join(_CHANNELS)}")
        return value

    @field_validator("signal_data_collection")
    @classmethod
    def _three_parts(cls, value: str | None) -> str | None:
        if value is not None and (value.count(".") != 2 or not all(value.split("."))):
            raise ValueError(f"'{value}' is not of the form DATABASE.SCHEMA.TABLE")
        if value is not None and value.split(".")[1].upper() in SYSTEM_SCHEMAS:
            raise ValueError(f"'{value}' is in one of Oracle's own schemas, which are not mined")
        return value

    @rule
    def _http(self) -> Iterator[str]:
        if "http" in self.signal_enabled_channels and self.minercdc_http_port is None:
            yield "minercdc.http.port: required, because signal.enabled.channels contains http"
        token = self.minercdc_http_token
        if token is not None and not fits_header(token.get_secret_value(), "latin-1"):
            yield "minercdc.http.token: only printable characters of Latin-1, without blanks at the ends, can be sent in a header"


class IncrementalConfig(Section):
    """Incremental snapshots (docs/snapshots.md)."""

    incremental_snapshot_chunk_size: int = Field(1024, ge=1, le=100_000, description="Rows of a chunk.")
    incremental_snapshot_watermarking_strategy: Literal["scn", "insert_insert", "insert_delete"] = Field(
        "scn",
        description="How the connector detects rows of which the stream has a newer image: by the SCN at which a chunk is read (`scn`, minercdc's own; writes nothing), or by rows that it writes to the signal table before and after the chunk (`insert_insert`; `insert_delete` deletes them).",
    )
    minercdc_snapshot_added_tables: Literal["none", "incremental"] = Field(
        "none",
        description="How existing rows of tables are treated that were added to the configuration since the last start (tables that exist but are not in the schema history). `none`: only their changes are captured. `incremental`: the start requests an incremental snapshot of them; tables that were excluded for a time are read again, too. Tables created while the connector streams are always captured from their first row. With `flashback` added tables are always read.",
    )
    read_only: bool = Field(False, description="`true`: write nothing to the source; the strategy is then always `scn`.")

    @property
    def marks(self) -> Literal["insert", "delete"] | None:
        """How a window is closed: by a second mark in the signal table, or by deleting the first; None without marks."""
        strategy = self.incremental_snapshot_watermarking_strategy
        if self.read_only or strategy == "scn":
            return None
        return "insert" if strategy == "insert_insert" else "delete"


class NotificationConfig(Section):
    """Notifications: reports on snapshots, signals, tables and DDL, and on lag, long transactions and redo that runs out."""

    notification_enabled_channels: WordList = Field(
        (),
        description="Channels of notifications: any of `sink` (a topic, in the Kafka transaction of the rows around them), `log` and `webhook`. `GET /notifications` (`minercdc.http.port`) shows the latest in any case.",
    )
    notification_sink_topic_name: str | None = Field(
        None,
        pattern=f"^{TRANSPORTABLE.pattern}$",
        description="Topic of channel `sink`, with one partition; required for that channel.",
    )

    minercdc_notification_webhook_url: SecretStr | None = Field(
        None,
        description="URL to which channel `webhook` sends each notification, by POST as JSON; required for that channel.",
    )
    minercdc_notification_webhook_authorization: SecretStr | None = Field(
        None, description="Value of the header `Authorization` of these requests. Default none."
    )
    minercdc_notification_lag_threshold_ms: int = Field(
        300_000, ge=0, description="Lag beyond which a notification `LAG_HIGH` is sent; `LAG_NORMAL` at half of it. 0: none."
    )
    minercdc_notification_transaction_threshold_ms: int = Field(
        3_600_000,
        ge=0,
        description="Age of an open transaction with captured rows beyond which a notification `TRANSACTION_LONG` is sent. 0: none.",
    )
    minercdc_notification_redo_threshold_ms: int = Field(
        14_400_000,
        ge=0,
        description="Head-room of archived logs below which a notification `REDO_RUNS_OUT` is sent (docs/metrics.md). 0: none.",
    )
    minercdc_notification_schema_changes: bool = Field(
        True, description="Whether DDL of captured tables sends notifications `CHANGED` of aggregate `Schema`."
    )

    @field_validator("notification_enabled_channels")
    @classmethod
    def _channels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for channel in value:
            if channel == "jmx":
                raise ValueError("JMX is not available: GET /notifications of minercdc.http.port shows them")
            if channel not in ("sink", "log", "webhook"):
                raise ValueError(f"'{channel}' is not one of sink, log, webhook")
        return value

    @rule
    def _topic(self) -> Iterator[str]:
        if "sink" in self.notification_enabled_channels and not self.notification_sink_topic_name:
            yield "notification.sink.topic.name: required, because notification.enabled.channels contains sink"
        if "webhook" in self.notification_enabled_channels and self.minercdc_notification_webhook_url is None:
            yield "minercdc.notification.webhook.url: required, because notification.enabled.channels contains webhook"
        url = self.minercdc_notification_webhook_url
        if url is not None and not is_http(url.get_secret_value()):
            yield "minercdc.notification.webhook.url: http://HOST:PORT/PATH is needed, or https://; this has no such host or port"
        given = self.minercdc_notification_webhook_authorization
        if given is not None and not fits_header(given.get_secret_value(), "ascii"):
            yield "minercdc.notification.webhook.authorization: a header has printable ASCII only, without blanks at the ends"

    @property
    def sink_topic(self) -> str | None:
        """Topic of channel `sink`; None when that is not enabled."""
        return self.notification_sink_topic_name if "sink" in self.notification_enabled_channels else None
