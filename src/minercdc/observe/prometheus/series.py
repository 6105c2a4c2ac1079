"""Makes the families of metrics of one connector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric, SummaryMetricFamily

from minercdc.stream.counters.mining import Duration


class Series:
    """Families with the label `connector`, and others where they are given.

    :param connector: value of that label.
    """

    def __init__(self, connector: str) -> None:
        self._connector = connector

    def gauge(self, name: str, text: str, value: float | None) -> Metric:
        """A gauge of one value, without labels; no sample when it is None."""
        return self.gauges(name, text, (), [] if value is None else [((), value)])

    def gauges(self, name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
        """One sample for each of `values`: (values of `labels`, value). The label `connector` comes before them."""
        family = GaugeMetricFamily(name, text, labels=["connector", *labels])
        for label_values, value in values:
            family.add_metric([self._connector, *label_values], value)
        return family

    def counter(self, name: str, text: str, value: float) -> Metric:
        """One value that only grows; `_total` is added to the name."""
        return self.counters(name, text, (), [((), value)])

    def counters(self, name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
        """As `gauges`, of values that only grow; `_total` is added to the name."""
        family = CounterMetricFamily(name, text, labels=["connector", *labels])
        for label_values, value in values:
            family.add_metric([self._connector, *label_values], value)
        return family

    def durations(self, name: str, text: str, taken: Duration) -> Iterable[Metric]:
        """Count and sum as a summary `NAME_seconds`, and the gauges `NAME_last_seconds` and `NAME_max_seconds`."""
        family = SummaryMetricFamily(f"{name}_seconds", text, labels=["connector"])
        family.add_metric([self._connector], taken.count, taken.total)
        yield family
        yield self.gauge(f"{name}_last_seconds", f"{text} The latest.", taken.last)
        yield self.gauge(f"{name}_max_seconds", f"{text} The longest.", taken.longest)

    def histogram(self, name: str, text: str, bounds: Sequence[float], counts: Sequence[int], total: float) -> Metric:
        """A histogram of which `total` is the sum of all that was counted.

        :param counts: one more than bounds, each without those before.
        """
        family = HistogramMetricFamily(name, text, labels=["connector"])
        buckets, sum_of = [], 0
        for bound, count in zip((*map(str, bounds), "+Inf"), counts, strict=True):
            sum_of += count
            buckets.append((bound, float(sum_of)))
        family.add_metric([self._connector], buckets, total)
        return family
