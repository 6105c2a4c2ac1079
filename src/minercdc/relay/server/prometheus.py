"""A relay's figures in Prometheus' text format, beside those of the connector that fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from minercdc.observe.prometheus.series import Series
from minercdc.relay.buffer.windows import EventBuffer
from minercdc.relay.events.registry import SchemaRegistry
from minercdc.relay.server.open_sockets import Connections
from minercdc.relay.server.statistics import Statistics

_FAMILY = "minercdc_relay_"


class RelayCollector(Collector):
    """Reads the figures at each request of Prometheus.

    :param name: of the relay, value of the label `connector`.
    """

    def __init__(
        self, buffer: EventBuffer, registry: SchemaRegistry, statistics: Statistics, connections: Connections, name: str
    ) -> None:
        self._buffer, self._registry = buffer, registry
        self._statistics, self._connections = statistics, connections
        self._series = Series(name)

    def collect(self) -> Iterable[Metric]:
        """The metrics, with the present values."""
        yield from self._of_buffer()
        yield from self._of_events()
        yield from self._of_clients()

    def _of_buffer(self) -> Iterable[Metric]:
        state, series = self._buffer.state, self._series
        yield series.gauge(f"{_FAMILY}buffer_size_bytes", "Size of the buffer.", self._buffer.size)
        yield series.gauge(f"{_FAMILY}buffer_used_bytes", "Bytes of the windows in the buffer.", state.tail - state.head)
        yield series.gauge(f"{_FAMILY}newest_scn", "SCN of the newest window; -1 before there was one.", state.max_scn)
        text = "SCN of the window before the oldest one: a client before it has to bootstrap."
        yield series.gauge(f"{_FAMILY}dropped_scn", text, state.prev_scn)

    def _of_events(self) -> Iterable[Metric]:
        found, series = self._statistics, self._series
        sources = [(source.name, found.by_source_in.get(source.id)) for source in self._registry.sources()]
        known = [(name, one) for name, one in sources if one is not None]
        yield series.counter(f"{_FAMILY}windows", "Windows that came in.", found.total_in.windows)
        yield series.counters(
            f"{_FAMILY}events", "Events that came in, by source.", ["source"], [([name], one.events) for name, one in known]
        )
        yield series.counters(
            f"{_FAMILY}event_bytes", "Bytes of them.", ["source"], [([name], one.bytes) for name, one in known]
        )

    def _of_clients(self) -> Iterable[Metric]:
        out, series = self._statistics.total_out, self._series
        calls = [(["stream"], out.streams), (["register"], out.registers), (["sources"], out.sources)]
        yield series.gauge(f"{_FAMILY}connections", "Connections that clients have open.", len(self._connections))
        yield series.counters(f"{_FAMILY}requests", "Requests of clients, by kind.", ["call"], calls)
        yield series.counter(f"{_FAMILY}sent_bytes", "Bytes of events in answers.", out.bytes)
        yield series.counter(f"{_FAMILY}errors", "Requests that were answered with an error.", out.errors)
        text = "Requests whose SCN is not in the buffer any more: the client has to bootstrap."
        yield series.counter(f"{_FAMILY}scn_not_found", text, out.scn_not_found)


def figures_of(collector: RelayCollector, more: Callable[[], bytes]) -> Callable[[], bytes]:
    """A function that returns the body of GET /metrics of that moment.

    :param more: figures of what fills the buffer.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    return lambda: more() + generate_latest(registry)
