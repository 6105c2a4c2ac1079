"""Remembers notifications and the state of signals of a process, for HTTP and in-process readers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isnan
from threading import Lock

from minercdc.stream.counters.connector import Counters, RequestedScan
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.offset import AdHocSnapshot, JsonValue, SignalState, TableRead

_REMEMBERED = 1000
_HUNG_SECONDS = 1800.0
_STEPS = (Cause.SOURCE, Cause.LOGMINER, Cause.KAFKA)  # each has an end; `redo` may be waited for all night


class Watch:
    """Keeps the latest notifications and the present state, over all runs of the process; any thread may read them, and call
    `notify`. The stream's thread calls `observe` and `pausing`.

    :param counters: of the connector; `observe` writes into them.
    :ivar instance: identity of this process, as in its claim of the connector's name.
    :ivar standby: a function that returns what a standby says of itself, and whether it could take over; None while this
        process is no standby.
    """

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._notifications: deque[Mapping[str, JsonValue]] = deque(maxlen=_REMEMBERED)
        self._state = SignalState()
        self._lock = Lock()
        self.instance = ""
        self.standby: Callable[[], tuple[dict[str, JsonValue], bool]] | None = None

    def notify(self, document: Mapping[str, JsonValue]) -> None:
        """Remember a notification; the latest thousand are kept."""
        with self._lock:
            self._notifications.append(document)

    def observe(self, state: SignalState) -> None:
        """Take `state` as the present one, and its snapshots into the counters."""
        self._state = state
        self._counters.paused = state.streaming_paused
        self._counters.requested = [_requested_scan(snapshot, state.paused) for snapshot in state.snapshots]

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Within the context time counts as spent on a pause; the caller does the pausing."""
        with self._counters.spent.during(Cause.PAUSED):
            yield

    def notifications(self) -> list[JsonValue]:
        """The last thousand notifications of this process, oldest first, as copies; [] when there was none."""
        with self._lock:
            return [dict(document) for document in self._notifications]

    def snapshots(self) -> dict[str, JsonValue]:
        """Content of /snapshots: whether incremental snapshots are paused, the ad hoc snapshots that are not complete, and
        how far the initial one is in each table."""
        state = self._state
        return {
            "paused": state.paused,
            "snapshots": [_snapshot(snapshot) for snapshot in state.snapshots],
            "initial": [
                {"table": scan.table, "rows": scan.rows, "expected_rows": scan.expected_rows, "completed": scan.completed}
                for scan in self._counters.scans
            ],
        }

    def health(self) -> dict[str, JsonValue]:
        """Content of /health; `status` is STANDBY while another instance has the connector, else DOWN while reconnecting or
        stopped, else DEGRADED while a table is suspended or resumed, else UP."""
        counters = self._counters
        down = counters.phase in ("reconnecting", "stopped")
        lag = counters.lag_seconds(time.time())
        resuming = [one for one in self._state.resuming if one.phase != "done"]
        degraded = bool(counters.suspended or resuming)
        suspended: list[JsonValue] = [
            {
                "table": one.table,
                "since_scn": str(one.since_scn),
                "code": one.code,
                "reason": one.reason,
                "fix": one.fix,
                "rows_left_out": counters.left_out[one.table],
            }
            for one in counters.suspended
        ]
        waits = self.standby
        return {
            "status": "STANDBY" if waits else "DOWN" if down else "DEGRADED" if degraded else "UP",
            "instance": self.instance,
            **({"standby": waits()[0]} if waits else {}),
            "phase": counters.phase,
            "paused": counters.paused,
            "trouble": counters.trouble,
            "complete_scn": str(counters.complete_scn),
            "lag_seconds": None if isnan(lag) else round(lag, 3),
            "records": counters.records,
            "restarts": counters.restarts,
            "suspended": suspended,
            "resuming": [{"table": one.table, "signal": one.signal, "phase": one.phase} for one in resuming],
        }

    def ready(self) -> dict[str, JsonValue]:
        """Content of /ready; `status` is DOWN unless this process captures, or could take over within seconds."""
        phase, waits = self._counters.phase, self.standby
        good = waits()[1] if waits else phase in ("snapshot", "streaming")
        return {"status": "UP" if good else "DOWN", "phase": phase}

    def live(self) -> dict[str, JsonValue]:
        """Content of /live; `status` is DOWN when, while streaming, one step with an end (`_STEPS`) has taken the stream's thread
        half an hour: to start again may help then. A database or Kafka that does not answer is no such step, since each attempt
        ends."""
        phase = self._counters.phase
        doing, seconds = self._counters.spent.present()
        hangs = phase == "streaming" and not self._counters.paused and doing in _STEPS and seconds > _HUNG_SECONDS
        return {"status": "DOWN" if hangs else "UP", "phase": phase, "doing": doing.value, "seconds": round(seconds, 1)}


def _snapshot(snapshot: AdHocSnapshot) -> JsonValue:
    return {
        "id": snapshot.id,
        "type": _kind(snapshot),
        "data_collections": list[JsonValue](snapshot.collections),
        "tables": [
            {
                "table": table.table,
                "rows": table.rows,
                "chunks": table.chunks,
                "last_key": list[JsonValue](table.last),
                "maximum_key": list[JsonValue](table.maximum),
            }
            for table in snapshot.tables
        ],
    }


def _requested_scan(snapshot: AdHocSnapshot, paused: bool) -> RequestedScan:
    table = snapshot.tables[0] if snapshot.tables else TableRead("")
    return RequestedScan(
        id=snapshot.id,
        kind=_kind(snapshot),
        table=table.table,
        rows=table.rows,
        chunks=table.chunks,
        last=",".join(table.last),
        maximum=",".join(table.maximum),
        tables_left=max(len(snapshot.tables) - 1, 0),
        paused=paused and not snapshot.blocking,
    )


def _kind(snapshot: AdHocSnapshot) -> str:
    return "blocking" if snapshot.blocking else "incremental"
