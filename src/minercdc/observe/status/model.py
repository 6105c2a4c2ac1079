"""The state of a connector as one document: what /api/status, the page and `minercdc status` show."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import isnan

from minercdc.observe.latest_notifications import Watch
from minercdc.observe.prometheus.lag import lag_parts
from minercdc.observe.status.history import History
from minercdc.observe.status.sentence import eta_seconds, sentence
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import MEANINGS, Cause
from minercdc.stream.offset import JsonValue

_MOST_NOTICES = 50
_MOST_REDO = 50

Document = dict[str, JsonValue]


class Status:
    """Makes the documents about one connector, of the moment of each call; any thread may call it.

    :param facts: of the process: name, version, ...; shown as they are.
    :param configuration: properties in force, secrets hidden.
    :param signals: whether POST /signals takes any.
    """

    def __init__(
        self,
        counters: Counters,
        watch: Watch,
        history: History,
        facts: Mapping[str, str],
        configuration: Sequence[Mapping[str, str]] = (),
        *,
        signals: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._counters = counters
        self._watch = watch
        self._history = history
        self._facts = dict(facts)
        self._configuration: list[JsonValue] = [dict(one) for one in configuration]
        self._signals = signals
        self._now = now

    def pages(self) -> dict[str, Callable[[], JsonValue]]:
        """Path under /api -> the function that makes its document."""
        parts: dict[str, Callable[[], JsonValue]] = {
            "lag": self.lag,
            "tables": self.tables,
            "redo": self.redo,
            "transactions": self.transactions,
            "snapshot": self.snapshot,
            "notices": self.notices,
            "configuration": self.configuration,
            "history": self.history,
        }
        return {"/api/status": self.document, **{f"/api/{name}": part for name, part in parts.items()}}

    def document(self) -> Document:
        """Everything but the history and the configuration."""
        counters, now = self._counters, self._now()
        rate, snapshot_rate = self._history.rates()
        health = self._watch.health()
        return {
            **self._facts,
            "time": _iso(now * 1e6),
            "started": _iso(counters.since_us) if counters.since_us else None,
            "status": health["status"],
            "phase": counters.phase,
            "paused": counters.paused,
            "sentence": sentence(counters, rate, snapshot_rate, now),
            "trouble": counters.trouble if counters.phase == "reconnecting" else "",
            "complete_scn": str(counters.complete_scn),
            "resume_scn": str(counters.mining.resume_scn),
            "events": sum(counters.events.values()),
            "events_per_second": round(rate, 1),
            "records": counters.records,
            "transactions_delivered": counters.transactions,
            "restarts": counters.restarts,
            "signals": self._signals,
            "lag": self.lag(),
            "tables": self.tables(),
            "redo": self.redo(),
            "transactions": self.transactions(),
            "snapshot": self.snapshot(),
            "headroom": self._headroom(),
            "mining": self._mining(),
            "sink": self._sink(),
            "suspended": health["suspended"],
            "resuming": health["resuming"],
            "notices": self.notices(),
        }

    def lag(self) -> Document:
        """The lag in seconds, at least 0, and what it is spent on; None for the lag while nothing is known of it."""
        counters, now = self._counters, self._now()
        lag = counters.least_lag_seconds(now)
        parts = lag_parts(counters, now)
        largest = max(parts, key=lambda cause: parts[cause])
        return {
            "seconds": None if isnan(lag) else round(sum(parts.values()), 3),
            "known": not isnan(counters.lag_seconds(now)),
            "causes": {cause.value: round(parts[cause], 3) for cause in Cause},
            "largest": largest.value if parts[largest] else None,
            "meanings": {cause.value: MEANINGS[cause] for cause in Cause},
            "doing": counters.spent.doing.value,
        }

    def tables(self) -> list[JsonValue]:
        """What is known of each captured table that was seen, by name: its state, events, rows left out, and redo."""
        counters, rates, changed = self._counters, self._history.table_rates(), self._history.last_changes()
        redo = {f"{one.schema}.{one.table}": one for one in counters.redo.tables() if one.captured}
        suspended = {one.table: one for one in counters.suspended}
        scans = {scan.table: scan for scan in list(counters.scans)}
        requested = {scan.table for scan in counters.requested}
        shown: list[JsonValue] = []
        for name in sorted({*counters.tables, *suspended, *scans, *redo}):
            scan, written = scans.get(name), redo.get(name)
            state = "streaming"
            if name in suspended:
                state = "suspended"
            elif counters.phase == "snapshot" and scan is not None:
                state = "read" if scan.completed else "reading" if scan.rows else "waiting"
            elif name in requested:
                state = "read again"
            shown.append(
                {
                    "table": name,
                    "state": state,
                    "reason": suspended[name].reason if name in suspended else "",
                    "events": counters.tables[name],
                    "events_per_second": round(rates.get(name, 0.0), 1),
                    "last_change": _iso(changed[name]) if changed.get(name) else None,
                    "left_out": counters.left_out[name],
                    "redo_rows": written.rows if written else 0,
                    "redo_bytes": written.bytes if written else 0,
                }
            )
        return shown

    def redo(self) -> list[JsonValue]:
        """Who writes the redo: the 50 tables with the most bytes, captured or not, those with more first; `share` is of all
        that was counted."""
        tables = self._counters.redo.tables()
        total = sum(one.bytes for one in tables) or 1
        return [
            {
                "schema": one.schema,
                "table": one.table,
                "captured": one.captured,
                "rows": one.rows,
                "bytes": one.bytes,
                "share": round(one.bytes / total, 4),
            }
            for one in tables[:_MOST_REDO]
        ]

    def transactions(self) -> Document:
        """The 20 oldest open transactions, and how many there are in all: of the database, where V$TRANSACTION and V$SESSION may
        be read, and those with captured rows, from redo; as of the last look at each."""
        counters, now = self._counters, self._now()
        source, mining = counters.source, counters.mining
        return {
            "looked_at": _iso(source.looked_at * 1e6) if source.looked_at else None,
            "missing": list(source.missing),
            "source_count": source.open_count,
            "source": [
                {
                    "xid": one.xid,
                    "user": one.user,
                    "program": one.program,
                    "machine": one.machine,
                    "sid": one.sid,
                    "start_scn": str(one.start_scn),
                    "age_seconds": round(one.age_seconds + max(now - source.looked_at, 0.0), 1),
                    "undo_records": one.undo_records,
                }
                for one in source.open
            ],
            "captured_count": mining.open_count,
            "captured_rows": mining.open_changes,
            "spilled_bytes": mining.spilled_bytes,
            "captured": [
                {
                    "xid": one.xid,
                    "user": one.user,
                    "start_scn": str(one.start_scn),
                    "age_seconds": round(max(now + (counters.source_ahead_us - one.began_us) / 1e6, 0.0), 1),
                    "rows": one.changes,
                    "spilled_bytes": one.spilled_bytes,
                }
                for one in mining.open
            ],
        }

    def snapshot(self) -> Document:
        """The initial snapshot, and those that signals requested."""
        counters = self._counters
        rate = self._history.rates()[1]
        rows, expected = counters.scanned()
        eta = eta_seconds(counters, rate)
        return {
            "running": counters.phase == "snapshot",
            "rows": rows,
            "expected_rows": expected,
            "rows_per_second": round(rate, 1),
            "eta_seconds": None if eta is None else round(eta, 1),
            "tables": [
                {"table": scan.table, "rows": scan.rows, "expected_rows": scan.expected_rows, "completed": scan.completed}
                for scan in list(counters.scans)
            ],
            "requested": [
                {
                    "id": one.id,
                    "kind": one.kind,
                    "table": one.table,
                    "rows": one.rows,
                    "chunks": one.chunks,
                    "last": one.last,
                    "maximum": one.maximum,
                    "tables_left": one.tables_left,
                    "paused": one.paused,
                }
                for one in list(counters.requested)
            ],
        }

    def notices(self) -> list[JsonValue]:
        """The latest 50 notifications, newest first."""
        return self._watch.notifications()[-_MOST_NOTICES:][::-1]

    def configuration(self) -> list[JsonValue]:
        """Properties in force: name, value, origin, effect, as of construction."""
        return self._configuration

    def history(self) -> list[JsonValue]:
        """Samples of the last hour, oldest first: lag, its parts, events since the process began."""
        return [
            {"time": round(one.at, 1), "lag": one.lag, "causes": dict(one.parts), "events": one.events}
            for one in self._history.samples()
        ]

    def _headroom(self) -> Document:
        source = self._counters.source
        return {
            "archive_seconds": _rounded(source.archive_headroom_seconds),
            "archive_reach_seconds": _rounded(source.archive_reach_seconds),
            "archive_deletes": source.deletes,
            "needed_redo_seconds": _rounded(source.needed_seconds),
            "undo_seconds": _rounded(source.undo_headroom_seconds),
            "undo_retention_seconds": _rounded(source.undo_seconds),
        }

    def _mining(self) -> Document:
        figures = self._counters.mining
        return {
            "passes": figures.passes.count,
            "pass_last_seconds": round(figures.passes.last, 3),
            "pass_max_seconds": round(figures.passes.longest, 3),
            "logs": list[JsonValue](figures.logs),
            "log_switches": figures.log_switches,
            "redo_read_bytes": figures.redo_bytes,
            "fetched_rows": figures.rows,
            "session_pga_bytes": figures.session_pga,
        }

    def _sink(self) -> Document:
        times, commits = self._counters.commit_times, self._counters.commits
        return {
            "commits": commits,
            "commit_last_seconds": round(times.last, 4),
            "commit_max_seconds": round(times.longest, 4),
            "commit_average_seconds": round(times.total / commits, 4) if commits else None,
        }


def _rounded(value: float | None) -> JsonValue:
    return None if value is None else round(value, 1)


def _iso(us: float) -> str:
    return datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="seconds")
