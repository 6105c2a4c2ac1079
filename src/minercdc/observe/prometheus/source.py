"""Metrics from the source's views, which are read now and then (`observe/status/looking.py`): open transactions, archived logs, undo."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from minercdc.observe.prometheus.series import Series
from minercdc.stream.counters.connector import Counters


def source_families(counters: Counters, series: Series, now: float) -> Iterator[Metric]:
    """Open transactions, and for how long redo and undo are kept; no samples where views are not granted.

    :param now: seconds since the epoch, by our clock.
    """
    found = counters.source
    yield series.gauge(
        "minercdc_source_look_age_seconds",
        "Time since the source's views were read.",
        now - found.looked_at if found.looked_at else None,
    )
    yield series.gauge(
        "minercdc_source_open_transactions", "Open transactions of the database, V$TRANSACTION.", found.open_count
    )
    yield series.gauges(
        "minercdc_oldest_transaction_seconds",
        "Age of the oldest open transaction of the database, with its session's user and program.",
        ("user", "program", "xid"),
        [((one.user, one.program, one.xid), one.age_seconds) for one in found.open[:1]],
    )
    yield series.gauge(
        "minercdc_archive_headroom_seconds",
        "Time until the log in which a restart would begin is deleted, if logs continue to be deleted at the present age.",
        found.archive_headroom_seconds,
    )
    yield series.gauge(
        "minercdc_archive_reach_seconds", "Age of the oldest existing archived log.", found.archive_reach_seconds
    )
    yield series.gauge(
        "minercdc_archive_deletes",
        "1 if archived logs have been deleted; 0: the head-room is a lower bound.",
        None if found.archive_reach_seconds is None else float(found.deletes),
    )
    yield series.gauge(
        "minercdc_needed_redo_seconds", "Age of the log in which a restart would begin.", found.needed_seconds
    )
    yield series.gauge("minercdc_undo_retention_seconds", "How long undo is kept, V$UNDOSTAT.", found.undo_seconds)
    yield series.gauge(
        "minercdc_undo_headroom_seconds",
        "How much longer the initial snapshot can read as of its SCN; no sample when none runs.",
        found.undo_headroom_seconds,
    )
