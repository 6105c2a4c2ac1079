"""Notifications about the stream: the lag is high, a transaction is open for long, redo that is needed will be deleted soon, the
stream is restarted after an error.

Each is sent once when its threshold is passed, or the stream breaks, and once more when it is normal again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

from minercdc.config.source.signals import NotificationConfig
from minercdc.observe.prometheus.lag import lag_parts
from minercdc.stream.counters.connector import Counters
from minercdc.stream.events import Notification

STREAMING = "Streaming"

_NORMAL_AT = 0.5  # of the threshold: a figure that goes up and down about it makes one notification
_FEW = 0.2  # of a log's reach: a log that was needed a moment ago is not about to be deleted


class StreamNotices:
    """Compares the figures of one connector with their thresholds, and remembers which are passed; for one thread.

    :param post: takes the notifications.
    :param now: seconds since the epoch, by our clock.
    """

    def __init__(
        self,
        config: NotificationConfig,
        counters: Counters,
        post: Callable[[Notification], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lag = config.minercdc_notification_lag_threshold_ms / 1000
        self._age = config.minercdc_notification_transaction_threshold_ms / 1000
        self._headroom = config.minercdc_notification_redo_threshold_ms / 1000
        self._counters = counters
        self._post = post
        self._now = now
        self._high = False
        self._low = False
        self._long: set[str] = set()
        self._restarts = 0
        self._stood_at: tuple[int, int, int] | None = None  # where the stream was in an outage

    def look(self) -> None:
        """Compare the counters with the thresholds once, and notify of what is new; to be called every few seconds."""
        now = self._now()
        if self._lag:
            self._look_at_lag(now)
        if self._age:
            self._look_at_transactions(now)
        if self._headroom:
            self._look_at_redo(now)
        self._look_at_restarts(now)

    def _look_at_lag(self, now: float) -> None:
        lag = self._counters.least_lag_seconds(now)
        if not self._high and lag > self._lag:
            self._high = True
            parts = lag_parts(self._counters, now)
            cause = max(parts, key=lambda one: parts[one])
            self._notify("LAG_HIGH", now, lag_seconds=f"{lag:.0f}", cause=cause.value, cause_seconds=f"{parts[cause]:.0f}")
        elif self._high and lag < self._lag * _NORMAL_AT:
            self._high = False
            self._notify("LAG_NORMAL", now, lag_seconds=f"{lag:.1f}")

    def _look_at_transactions(self, now: float) -> None:
        counters = self._counters
        sessions = {one.xid: one for one in counters.source.open}
        open_now = set()
        for one in counters.mining.open:
            open_now.add(one.xid)
            age = now + (counters.source_ahead_us - one.began_us) / 1e6
            if age <= self._age or one.xid in self._long:
                continue
            self._long.add(one.xid)
            session = sessions.get(one.xid)
            data = {"program": session.program, "machine": session.machine, "sid": str(session.sid)} if session else {}
            data |= {"xid": one.xid, "user": one.user, "age_seconds": f"{age:.0f}", "rows": str(one.changes)}
            self._notify("TRANSACTION_LONG", now, **data)
        for xid in sorted(self._long - open_now):
            self._long.discard(xid)
            self._notify("TRANSACTION_ENDED", now, xid=xid)

    def _look_at_redo(self, now: float) -> None:
        source = self._counters.source
        left, reach, needed = source.archive_headroom_seconds, source.archive_reach_seconds, source.needed_seconds
        if left is None or reach is None or needed is None:
            return
        if not self._low and source.deletes and left < self._headroom and needed > reach * _FEW:
            self._low = True
            self._notify(
                "REDO_RUNS_OUT", now, headroom_seconds=f"{left:.0f}", resume_scn=str(self._counters.mining.resume_scn)
            )
        elif self._low and (left > self._headroom or needed < reach * _FEW * _NORMAL_AT):
            self._low = False
            self._notify("REDO_IS_KEPT", now, headroom_seconds=f"{left:.0f}")

    def _look_at_restarts(self, now: float) -> None:
        """Notify of an outage, once, and of its end: the stream has moved then, since a new attempt alone may fail again."""
        counters = self._counters
        moved = (counters.progress_us, counters.commits, counters.mining.passes.count)
        restarted, self._restarts = counters.restarts > self._restarts, counters.restarts
        if restarted or counters.phase == "reconnecting":
            if self._stood_at is None:
                self._notify("RECONNECTING", now, reason=counters.latest_trouble)
            self._stood_at = moved
        elif self._stood_at is not None and moved != self._stood_at:
            self._stood_at = None
            self._notify("RECOVERED", now)

    def _notify(self, kind: str, now: float, **data: str) -> None:
        self._post(Notification(str(uuid4()), STREAMING, kind, int(now * 1e6), data))
