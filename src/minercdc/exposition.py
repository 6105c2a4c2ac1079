"""The counters in Prometheus' text format, for GET /metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from minercdc.metrics import Counters

_PHASES = ("starting", "snapshot", "streaming", "reconnecting", "stopped")


class CounterCollector(Collector):
    """Reads the counters at each request of Prometheus; `connector` is the value of the label of that name."""

    def __init__(self, counters: Counters, connector: str, now: Callable[[], float] = time.time) -> None:
        self._counters = counters
        self._connector = connector
        self._now = now

    def collect(self) -> Iterable[Metric]:
        """The metrics, with the counters' present values."""
        counters = self._counters
        yield self._gauge(
            "minercdc_lag_seconds",
            "Source's present minus the time up to which everything that was committed is delivered; NaN while not known.",
            counters.lag_seconds(self._now()),
        )
        yield self._gauge("minercdc_complete_scn", "Every commit at or below this SCN is delivered.", counters.complete_scn)
        for name, help_text, value in (
            ("minercdc_records", "Kafka records written.", counters.records),
            ("minercdc_transactions", "Source transactions delivered.", counters.transactions),
            ("minercdc_commits", "Kafka transactions committed.", counters.commits),
            ("minercdc_schema_changes", "Schema changes delivered.", counters.schema_changes),
            ("minercdc_restarts", "Restarts from the last offset.", counters.restarts),
            ("minercdc_skipped_rows", "Rows left out because they could not be decoded.", counters.skipped),
            ("minercdc_unknown_lobs", "LOBs that the placeholder stands for.", counters.unknown_lobs),
        ):
            yield self._counter(name, help_text, "", {"": value})
        yield self._counter("minercdc_events", "Row changes delivered, by Debezium's op.", "op", dict(counters.events))
        yield self._counter("minercdc_table_events", "Row changes delivered, by table.", "table", dict(counters.tables))
        suspended = GaugeMetricFamily("minercdc_suspended", "1 for each suspended table.", labels=["connector", "table"])
        for entry in counters.suspended:
            suspended.add_metric([self._connector, entry.table], 1.0)
        yield suspended
        phase = GaugeMetricFamily("minercdc_phase", "1 for what the connector is doing.", labels=["connector", "phase"])
        for name in _PHASES:
            phase.add_metric([self._connector, name], float(counters.phase == name))
        yield phase
        scans = GaugeMetricFamily(
            "minercdc_snapshot_rows", "Rows read by the initial snapshot, by table.", labels=["connector", "table"]
        )
        for scan in list(counters.scans):
            scans.add_metric([self._connector, scan.table], scan.rows)
        yield scans

    def _gauge(self, name: str, help_text: str, value: float) -> Metric:
        gauge = GaugeMetricFamily(name, help_text, labels=["connector"])
        gauge.add_metric([self._connector], value)
        return gauge

    def _counter(self, name: str, help_text: str, label: str, values: dict[str, int]) -> Metric:
        counter = CounterMetricFamily(name, help_text, labels=["connector", *([label] if label else [])])
        for of, value in values.items():
            counter.add_metric([self._connector, *([of] if label else [])], value)
        return counter


def exposition_of(counters: Counters, connector: str) -> Callable[[], bytes]:
    """A function that returns the body of GET /metrics from the counters of that moment."""
    registry = CollectorRegistry()
    registry.register(CounterCollector(counters, connector))
    return lambda: generate_latest(registry)
