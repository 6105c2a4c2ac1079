"""The figures of GET /metrics by OpenTelemetry's protocol (OTLP over HTTP), under the same names."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from minercdc.errors import ConfigError
from minercdc.observe.prometheus import CounterCollector
from minercdc.stream.counters.connector import Counters

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from prometheus_client.core import Metric

_FRESH_SECONDS = 0.5  # all instruments of one export show the same moment
_LAST_EXPORT_MS = 2_000
_LOGGERS: Final = (
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.sdk.metrics._internal.export",
    "urllib3.connectionpool",
)
"""Of the SDK and what it sends with: they log errors whose text has the URL, but for its host."""
_QUERY: Final = re.compile(r"(?<=\S)\?[^\s?]\S*")  # of what an endpoint redirects to, too
_SHORTEST = 4  # characters of what is hidden in their lines


@contextmanager
def exporting(counters: Counters, connector: str, endpoint: str, seconds: float) -> Iterator[None]:
    """Send all figures now and then, in a thread, while the context lasts, and once more at its end.

    An endpoint that does not answer is logged by the SDK and tried again; of its URL these lines have the host only.

    :param endpoint: URL of the metrics, `http://HOST:4318/v1/metrics`; each part of it but the host may be a secret.
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
    # Before there is the reader, whose thread exports at once; and for good, as it may still try once the context has ended.
    _hide(endpoint)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=endpoint, timeout=5), seconds * 1000)
    resource = Resource.create({"service.name": "minercdc", "service.instance.id": connector})
    provider = MeterProvider([reader], resource, shutdown_on_exit=False)
    _register(provider.get_meter("minercdc"), CounterCollector(counters, connector))
    try:
        yield
    finally:
        provider.shutdown(_LAST_EXPORT_MS)


def _hide(url: str) -> None:
    """Have the loggers hide a URL from now on."""
    _HIDING.add(url)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_HIDING)  # once


class _Hiding(logging.Filter):
    """Hides URLs, and each part of them of four characters or more but scheme, host and port, in the lines of a logger, plain
    and URL-encoded."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden: list[str] = []

    def add(self, url: str) -> None:
        """Hide one more."""
        parts = urlsplit(url)
        values = [value for _, value in parse_qsl(parts.query, keep_blank_values=True)]
        plain = {url, parts.path, parts.query, parts.username or "", parts.password or "", *values}
        plain |= {f"{parts.path}?{parts.query}"}
        coded = {form for one in plain for form in (one, unquote(one), quote(one), quote_plus(one), quote(one, "/?=&%"))}
        hidden = {one for one in coded if len(one) >= _SHORTEST}.union(self._hidden)
        self._hidden = sorted(hidden, key=len, reverse=True)  # of two URLs one may be a part of the other

    def filter(self, record: logging.LogRecord) -> bool:
        """Let each record through, changed: its message without what is hidden, of its exception the class's name only."""
        record.msg, record.args = self._without(record.getMessage()), ()
        if record.exc_info:
            failure = record.exc_info[0]
            record.msg += f" ({failure.__name__})" if failure else ""
            record.exc_info = record.exc_text = None
        return True

    def _without(self, text: str) -> str:
        for one in self._hidden:
            text = text.replace(one, "***")
        return _QUERY.sub("?***", text)


_HIDING: Final = _Hiding()


class _Families:
    """The families by name, for any thread: of one moment for all instruments of an export."""

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
