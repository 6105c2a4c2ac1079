"""The figures of a running lake in Prometheus' text format."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from minercdc.errors import ConfigError
from minercdc.observe.prometheus.series import Series
from minercdc.stream.counters.lake import LakeFigures, LakeTableFigures


class LakeCollector(Collector):
    """Reads the figures at each request of Prometheus; `connector` is the value of the label of that name."""

    def __init__(self, figures: LakeFigures, connector: str, now: Callable[[], float] = time.time) -> None:
        self._figures = figures
        self._series = Series(connector)
        self._now = now

    def collect(self) -> Iterable[Metric]:
        """The metrics, with the present values."""
        figures, series = self._figures, self._series
        yield series.gauge("minercdc_lake_complete_scn", "The change log has every commit up to it.", figures.complete_scn)
        yield series.gauge("minercdc_lake_lag_seconds", "The greatest lag of a lake table.", figures.lag(self._now()))
        yield series.counter("minercdc_lake_records", "Records that the stream has read.", figures.records)
        yield from series.durations("minercdc_lake_trigger", "Micro-batches of the stream.", figures.triggers)
        yield from self._tables(list(figures.tables.items()), self._now())

    def _tables(self, tables: list[tuple[str, LakeTableFigures]], now: float) -> Iterator[Metric]:
        gauges: list[tuple[str, str, Callable[[LakeTableFigures], float]]] = [
            ("scn", "The lake table has every commit up to it.", lambda one: one.scn),
            ("lag_seconds", "Age of the oldest commit of the change log that is not merged.", lambda one: one.lag(now)),
            ("waiting_records", "Records of the change log that are not merged.", lambda one: one.waiting),
            ("quarantined", "1 while it cannot be merged.", lambda one: bool(one.failure)),
        ]
        for name, text, value in gauges:
            values = [((table,), value(one)) for table, one in tables]
            yield self._series.gauges(f"minercdc_lake_table_{name}", text, ("table",), values)
        counters: list[tuple[str, str, Callable[[LakeTableFigures], float]]] = [
            ("merged_records", "Records that were merged into it.", lambda one: one.merged),
            ("merges", "Its merges.", lambda one: one.merges.count),
            ("merge_seconds", "Time of its merges.", lambda one: one.merges.total),
            ("failures", "Merges that failed.", lambda one: one.failures),
        ]
        for name, text, value in counters:
            values = [((table,), value(one)) for table, one in tables]
            yield self._series.counters(f"minercdc_lake_table_{name}", text, ("table",), values)


def serve_lake(figures: LakeFigures, connector: str, host: str, port: int) -> tuple[WSGIServer, Thread]:
    """Serve the figures on every path of an address. `shutdown` of the server ends the thread, `server_close` frees the
    port.

    :param port: 0 for a free one.
    :raises ConfigError: the address cannot be listened on.
    """
    registry = CollectorRegistry()
    registry.register(LakeCollector(figures, connector))
    try:
        return start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigError([f"minercdc.lake.http.port: {host}:{port} cannot be listened on: {error.strerror}"]) from None
