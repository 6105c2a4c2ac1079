"""The status of a connector in one sentence."""

from __future__ import annotations

from math import isnan

from minercdc.observe.prometheus.lag import lag_parts
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import MEANINGS, Cause

_UP_TO_DATE_SECONDS = 10.0
_LONG_SECONDS = 10.0

_WAITS = {
    Cause.SOURCE: "waiting for the database",
    Cause.REDO: "waiting for new redo",
    Cause.APPLY: "waiting for the standby to apply redo",
    Cause.SHIPPING: "waiting for logs to reach the downstream database",
    Cause.LOGMINER: "waiting for LogMiner",
    Cause.FETCH: "waiting for more rows of LogMiner",
    Cause.KAFKA: "waiting for the sink to take records",
}


def seconds_text(seconds: float) -> str:
    """A span of time as people read it: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for large, small, unit, part in ((86400, 3600, "d", "h"), (3600, 60, "h", "min"), (60, 1, "min", "s")):
        if whole >= large:
            rest = whole % large // small
            return f"{whole // large} {unit} {rest} {part}" if rest else f"{whole // large} {unit}"
    return f"{whole} s"


def sentence(counters: Counters, rate: float, snapshot_rate: float, now: float) -> str:
    """What is done at this moment, and what keeps it from being further.

    :param rate: row changes per second.
    :param snapshot_rate: rows of the initial snapshot per second.
    :param now: seconds since the epoch, by our clock.
    """
    phase = counters.phase
    if phase == "starting":
        return "Starting: reading the offset and the schema history, and checking the database."
    if phase == "standby":
        return "Standby: another instance owns the connector; this one takes over if it dies or hangs."
    if phase == "snapshot":
        return _snapshot(counters, snapshot_rate) + _troubles(counters)
    if phase == "reconnecting":
        lag = _lag(counters, now)
        reason = counters.trouble.rstrip(".") or "the stream broke"
        return f"Waiting, and trying again, since {reason}; {lag}, and rising.{_troubles(counters)}"
    if phase == "stopped":
        return "Stopped."
    if counters.paused:
        return f"Paused by a signal, until resume-streaming; {_lag(counters, now)}, and rising.{_troubles(counters)}"
    return _streaming(counters, rate, now) + _troubles(counters)


def _snapshot(counters: Counters, rate: float) -> str:
    if not counters.scans:
        return "Preparing the initial snapshot: reading the structures and planning the tables."
    rows, expected = counters.scanned()
    done = sum(scan.completed for scan in counters.scans)
    reading = [scan.table for scan in counters.scans if not scan.completed][:1]
    of = f" of about {expected:,}" if expected else ""
    text = f"Reading the initial snapshot: {rows:,}{of} rows, {done} of {len(counters.scans)} tables"
    if reading:
        text += f", now {reading[0]}"
    if rate > 0:
        text += f", {rate:,.0f} rows/s"
        if expected and expected > rows:
            text += f", about {seconds_text((expected - rows) / rate)} left"
    return text + "."


def eta_seconds(counters: Counters, rate: float) -> float | None:
    """Seconds until the initial snapshot is read; None when it does not run, or that is not known.

    :param rate: rows of it per second.
    """
    rows, expected = counters.scanned()
    if counters.phase != "snapshot" or not expected or rate <= 0:
        return None
    return max(expected - rows, 0) / rate


def _streaming(counters: Counters, rate: float, now: float) -> str:
    lag = counters.least_lag_seconds(now)
    doing, since = counters.spent.present()
    if isnan(lag) or lag < _UP_TO_DATE_SECONDS:
        moving = f", {rate:,.0f} changes/s" if rate >= 1 else ""
        waits = f", {_WAITS[doing]}" if doing is Cause.REDO and rate < 1 else ""
        return f"Streaming, {_lag(counters, now)}{moving}{waits}."
    parts = lag_parts(counters, now)
    cause = max(parts, key=lambda one: parts[one])
    text = f"Streaming, {_lag(counters, now)}, {100 * parts[cause] / lag:.0f} % of it because {MEANINGS[cause]}"
    if since >= _LONG_SECONDS and doing in _WAITS:
        text += f"; {_WAITS[doing]} for {seconds_text(since)} now"
    return text + (f"; {rate:,.0f} changes/s." if rate >= 1 else ".")


def _lag(counters: Counters, now: float) -> str:
    lag = counters.least_lag_seconds(now)
    if isnan(lag):
        return "the lag is not known yet"
    least = "at least " if isnan(counters.lag_seconds(now)) else ""
    return f"the lag is {least}{seconds_text(lag)}"


def _troubles(counters: Counters) -> str:
    text = ""
    if counters.suspended:
        names = ", ".join(one.table for one in counters.suspended[:3])
        more = f" and {len(counters.suspended) - 3} more" if len(counters.suspended) > 3 else ""
        text += f" Suspended: {names}{more}."
    for scan in counters.requested[:1]:
        paused = ", paused" if scan.paused else ""
        text += f" A requested {scan.kind} snapshot reads {scan.table or 'its tables'} ({scan.rows:,} rows{paused})."
    return text
