"""The figures of a connector or lake in Prometheus' text format, for GET /metrics; and by OpenTelemetry's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from minercdc.observe.prometheus.lag import lag_families
from minercdc.observe.prometheus.mining import mining_families
from minercdc.observe.prometheus.series import Series
from minercdc.observe.prometheus.source import source_families
from minercdc.observe.prometheus.stream import stream_families
from minercdc.stream.counters.connector import Counters


class CounterCollector(Collector):
    """Reads the counters at each `collect`; `connector` is the value of the label of that name."""

    def __init__(self, counters: Counters, connector: str, now: Callable[[], float] = time.time) -> None:
        self._counters = counters
        self._series = Series(connector)
        self._now = now

    def collect(self) -> Iterable[Metric]:
        """The metrics, with the counters' present values."""
        yield from lag_families(self._counters, self._series, self._now())
        yield from stream_families(self._counters, self._series, self._now())
        yield from mining_families(self._counters, self._series, self._now())
        yield from source_families(self._counters, self._series, self._now())


def exposition_of(counters: Counters, connector: str) -> Callable[[], bytes]:
    """A function that returns the body of GET /metrics from the counters of that moment."""
    registry = CollectorRegistry()
    registry.register(CounterCollector(counters, connector))
    return lambda: generate_latest(registry)
