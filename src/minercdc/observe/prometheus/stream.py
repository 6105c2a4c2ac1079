"""Metrics of delivery, of the progress of snapshots, and of the duration of the sink's commits."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from minercdc.observe.prometheus.series import Series
from minercdc.stream.counters.commits import BOUNDS
from minercdc.stream.counters.connector import Counters

_PHASES = ("starting", "standby", "snapshot", "streaming", "reconnecting", "stopped")


def stream_families(counters: Counters, series: Series, now: float) -> Iterator[Metric]:
    """Figures of the stream of records.

    :param now: seconds since the epoch, by our clock.
    """
    yield series.gauge("minercdc_complete_scn", "Every commit at or below this SCN is delivered.", counters.complete_scn)
    for name, text, value in (
        ("minercdc_records", "Kafka records committed.", counters.records),
        ("minercdc_transactions", "Source transactions delivered.", counters.transactions),
        ("minercdc_commits", "Kafka transactions committed.", counters.commits),
        ("minercdc_schema_changes", "Schema changes delivered.", counters.schema_changes),
        ("minercdc_restarts", "Restarts from the last offset.", counters.restarts),
        ("minercdc_skipped_rows", "Rows left out because they could not be decoded.", counters.skipped),
        ("minercdc_unknown_lobs", "LOBs that the placeholder stands for.", counters.unknown_lobs),
    ):
        yield series.counter(name, text, value)
    yield from _rows(counters, series)
    yield series.gauges(
        "minercdc_phase",
        "1 for the present state of the connector.",
        ("phase",),
        [((name,), float(counters.phase == name)) for name in _PHASES],
    )
    latest = now + counters.source_ahead_us / 1e6 - counters.source_us / 1e6 if counters.source_us else None
    yield series.gauge(
        "minercdc_latest_event_age_seconds", "Time since the latest change that was written was made.", latest
    )
    yield from _snapshot(counters, series)
    yield from _commits(counters, series)
    yield series.gauge(
        "minercdc_schema_history_recovered", "Schema changes read from the schema history.", counters.history_recovered
    )


def _rows(counters: Counters, series: Series) -> Iterator[Metric]:
    yield series.counters(
        "minercdc_events",
        "Row changes delivered, by Debezium's op.",
        ("op",),
        [((op,), n) for op, n in dict(counters.events).items()],
    )
    yield series.counters(
        "minercdc_table_events",
        "Row changes delivered, by table.",
        ("table",),
        [((table,), n) for table, n in dict(counters.tables).items()],
    )
    yield series.counters(
        "minercdc_table_left_out",
        "Rows left out, by table.",
        ("table",),
        [((table,), n) for table, n in dict(counters.left_out).items()],
    )
    yield series.gauges(
        "minercdc_suspended", "1 for each suspended table.", ("table",), [((one.table,), 1.0) for one in counters.suspended]
    )


def _commits(counters: Counters, series: Series) -> Iterator[Metric]:
    times = counters.commit_times
    yield series.histogram(
        "minercdc_kafka_commit_seconds", "Duration of commits of the sink.", BOUNDS, list(times.counts), times.total
    )
    yield series.gauge("minercdc_kafka_commit_last_seconds", "Duration of the latest commit of the sink.", times.last)
    yield series.gauge("minercdc_kafka_commit_max_seconds", "Duration of the longest commit of the sink.", times.longest)


def _snapshot(counters: Counters, series: Series) -> Iterator[Metric]:
    scans = list(counters.scans)
    yield series.gauges(
        "minercdc_snapshot_rows",
        "Rows read by the initial snapshot, by table.",
        ("table",),
        [((scan.table,), scan.rows) for scan in scans],
    )
    yield series.gauges(
        "minercdc_snapshot_expected_rows",
        "Rows that the initial snapshot expects, by table, where that is known.",
        ("table",),
        [((scan.table,), scan.expected_rows) for scan in scans if scan.expected_rows is not None],
    )
    yield series.gauge("minercdc_snapshot_tables", "Tables of the initial snapshot.", len(scans))
    yield series.gauge(
        "minercdc_snapshot_remaining_tables",
        "Tables of the initial snapshot that are not read to their end.",
        sum(not scan.completed for scan in scans),
    )
    requested = list(counters.requested)
    for name, text, values in (
        ("minercdc_requested_snapshot_rows", "Rows read of the table that is read now.", [one.rows for one in requested]),
        ("minercdc_requested_snapshot_chunks", "Chunks of it that were read.", [one.chunks for one in requested]),
        ("minercdc_requested_snapshot_tables_left", "Tables that follow it.", [one.tables_left for one in requested]),
        ("minercdc_requested_snapshot_paused", "1 while it is paused.", [int(one.paused) for one in requested]),
    ):
        yield series.gauges(
            name,
            f"Snapshots that a signal requested: {text}",
            ("id", "kind", "table"),
            [((one.id, one.kind, one.table), float(value)) for one, value in zip(requested, values, strict=True)],
        )
