"""Metrics of the redo that LogMiner reads, its writers, and the transactions that wait for their COMMIT."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from minercdc.observe.prometheus.series import Series
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.mining import MiningFigures


def mining_families(counters: Counters, series: Series, now: float) -> Iterator[Metric]:
    """Figures of LogMiner; all 0, or without samples, with other adapters.

    :param now: seconds since the epoch, by our clock.
    """
    yield from _redo_by_table(counters, series)
    yield from _passes(counters.mining, series)
    yield from _open_transactions(counters, series, now)


def _redo_by_table(counters: Counters, series: Series) -> Iterator[Metric]:
    tables = counters.redo.tables()
    for name, text, values in (
        ("minercdc_redo_rows", "Rows that LogMiner showed, of captured tables and others.", [one.rows for one in tables]),
        ("minercdc_redo_bytes", "Length of their SQL_REDO.", [one.bytes for one in tables]),
    ):
        yield series.counters(
            name,
            f"Who writes the redo: {text}",
            ("schema", "table", "captured"),
            [((t.schema, t.table, str(t.captured).lower()), value) for t, value in zip(tables, values, strict=True)],
        )


def _passes(figures: MiningFigures, series: Series) -> Iterator[Metric]:
    yield from series.durations("minercdc_pass", "Passes over redo.", figures.passes)
    yield from series.durations("minercdc_logminer_start", "Starts of LogMiner, up to its first rows.", figures.starts)
    for name, text, value in (
        (
            "minercdc_redo_read_bytes",
            "Length of the redo that was read through, shown by LogMiner or not.",
            figures.redo_bytes,
        ),
        ("minercdc_fetched_rows", "Rows fetched from V$LOGMNR_CONTENTS.", figures.rows),
        ("minercdc_fetched_batches", "Batches that they came in.", figures.batches),
        ("minercdc_log_switches", "Log switches that passes met.", figures.log_switches),
        ("minercdc_logminer_sessions", "LogMiner sessions that were opened.", figures.sessions),
    ):
        yield series.counter(name, text, value)
    for name, text, value in (
        ("minercdc_pass_logs", "Logs of the latest pass.", len(figures.logs)),
        ("minercdc_pass_logs_min", "Logs of the pass with the fewest.", figures.fewest_logs),
        ("minercdc_pass_logs_max", "Logs of the pass with the most.", figures.most_logs),
        (
            "minercdc_source_complete_scn",
            "Every commit up to it was in redo when the latest pass began.",
            figures.complete_scn,
        ),
        ("minercdc_resume_scn", "SCN at which a restart begins to read redo.", figures.resume_scn),
        ("minercdc_session_pga_bytes", "PGA that the LogMiner session held after the latest pass.", figures.session_pga),
        ("minercdc_session_pga_max_bytes", "PGA that a LogMiner session held at most.", figures.most_session_pga),
    ):
        yield series.gauge(name, text, value)


def _open_transactions(counters: Counters, series: Series, now: float) -> Iterator[Metric]:
    figures = counters.mining
    for name, text, value in (
        ("minercdc_open_transactions", "Open transactions that have captured rows.", figures.open_count),
        ("minercdc_open_transaction_rows", "Captured rows that wait for their COMMIT.", figures.open_changes),
        ("minercdc_spilled_bytes", "Length of the rows that wait on disk.", figures.spilled_bytes),
        ("minercdc_kept_transactions", "Open transactions whose rows are kept over a restart.", figures.kept_count),
        ("minercdc_kept_bytes", "Length of their files.", figures.kept_bytes),
    ):
        yield series.gauge(name, text, value)
    oldest = figures.open[0] if figures.open else None
    age = None if oldest is None else max(now + (counters.source_ahead_us - oldest.began_us) / 1e6, 0.0)
    yield series.gauges(
        "minercdc_oldest_captured_transaction_seconds",
        "Age of the oldest open transaction that has captured rows, as redo shows it.",
        ("user", "xid"),
        [] if oldest is None or age is None else [((oldest.user, oldest.xid), age)],
    )
