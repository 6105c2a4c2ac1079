"""The lag and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from prometheus_client.core import Metric

from minercdc.observe.prometheus.series import Series
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import MEANINGS, Cause


def lag_parts(counters: Counters, now: float) -> dict[Cause, float]:
    """Seconds of the lag by what the stream spent them on; they add up to it. All are 0 while it is not known."""
    lag = counters.least_lag_seconds(now)
    return counters.spent.latest(0.0 if isnan(lag) else lag)


def lag_families(counters: Counters, series: Series, now: float) -> Iterator[Metric]:
    """Lag, parts of it, and the time per cause since the process began.

    :param now: seconds since the epoch, by our clock.
    """
    lag = counters.least_lag_seconds(now)
    yield series.gauge(
        "minercdc_lag_seconds",
        "Source's present minus the time up to which all commits are delivered;"
        " while that is unknown, the time since the process began, as a lower bound.",
        lag,
    )
    yield series.gauge(
        "minercdc_lag_known",
        "1 if the lag is known; 0 before the first pass and during the initial snapshot: the lag is then a lower bound.",
        float(not isnan(counters.lag_seconds(now))),
    )
    meanings = "; ".join(f"{cause}: {text}" for cause, text in MEANINGS.items())
    parts = counters.spent.latest(0.0 if isnan(lag) else lag)
    yield series.gauges(
        "minercdc_lag_cause_seconds",
        f"Causes of the latest minercdc_lag_seconds; the causes add up to the lag. {meanings}.",
        ("cause",),
        [((cause.value,), seconds) for cause, seconds in parts.items()],
    )
    yield series.counters(
        "minercdc_time_seconds",
        "Time that the connector has spent since the process began, by cause as in minercdc_lag_cause_seconds.",
        ("cause",),
        [((cause.value,), seconds) for cause, seconds in counters.spent.totals().items()],
    )
