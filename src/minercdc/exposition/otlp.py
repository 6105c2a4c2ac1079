"""The figures of GET /metrics by OpenTelemetry's protocol (OTLP over HTTP), under the same names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from minercdc.errors import ConfigError
from minercdc.exposition import CounterCollector
from minercdc.metrics import Counters

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from prometheus_client.core import Metric

_FRESH_SECONDS = 0.5  # all instruments of one export show the same moment
_LAST_EXPORT_MS = 2_000


@contextmanager
def exporting(counters: Counters, connector: str, endpoint: str, seconds: float) -> Iterator[None]:
    """Send all figures now and then, in a thread, while the context lasts, and once more at its end.

    An endpoint that does not answer is logged by the SDK and tried again.

    :param endpoint: URL of the metrics, `http://HOST:4318/v1/metrics`.
    :param seconds: between two exports.
    :raises ConfigError: the SDK is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
    except ImportError as error:
        raise ConfigError(
            [f"minercdc.opentelemetry.endpoint: OpenTelemetry's SDK is not installed ({error})"],
            hint="pip install 'minercdc[opentelemetry]'",
        ) from None
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=endpoint, timeout=5), seconds * 1000)
    resource = Resource.create({"service.name": "minercdc", "service.instance.id": connector})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    _register(provider.get_meter("minercdc"), CounterCollector(counters, connector))
    try:
        yield
    finally:
        provider.shutdown(_LAST_EXPORT_MS)


class _Families:
    """The families of one moment, by name."""

    def __init__(self, collector: CounterCollector) -> None:
        self._collector = collector
        self._lock = Lock()
        self._at = float("-inf")
        self._found: dict[str, Metric] = {}

    def now(self) -> dict[str, Metric]:
        with self._lock:
            if time.monotonic() - self._at > _FRESH_SECONDS:
                self._found = {family.name: family for family in self._collector.collect()}
                self._at = time.monotonic()
            return self._found


def _register(meter: Meter, collector: CounterCollector) -> None:
    """An observable instrument for each family; of histograms and summaries their count and sum."""
    families = _Families(collector)
    for name, family in families.now().items():
        if family.type in ("histogram", "summary"):
            for part in ("_count", "_sum"):
                read = _reader(families, name, name + part)
                meter.create_observable_counter(name + part, [read], description=family.documentation)
        elif family.type == "counter":
            read = _reader(families, name, name + "_total")
            meter.create_observable_counter(name, [read], description=family.documentation)
        else:
            meter.create_observable_gauge(name, [_reader(families, name, name)], description=family.documentation)


def _reader(families: _Families, name: str, sample_name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def read(_: CallbackOptions) -> Iterable[Observation]:
        from opentelemetry.metrics import Observation

        for sample in families.now()[name].samples:
            if sample.name == sample_name and sample.value == sample.value:
                yield Observation(sample.value, sample.labels)

    return read
