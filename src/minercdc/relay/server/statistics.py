"""Statistics of a relay's input and output, by source and by client; the answers of /containerStats and /relayStats."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minercdc.relay.events.event import SOURCE, SOURCE_AT

_CLIENTS = 1_000  # remembered; more come under one name
_OTHERS = "others"


@dataclass(slots=True)
class Inbound:
    """Events of one source, or of all, that came in.

    :param windows: counted for all sources together only.
    :param time_ms: of the last one's window, milliseconds since the epoch; 0 for none.
    """

    events: int = 0
    bytes: int = 0
    windows: int = 0
    max_scn: int = 0
    time_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        """The figures by Databus's names."""
        return {
            "numDataEvents": self.events,
            "sizeDataEvents": self.bytes,
            "numSysEvents": self.windows,
            "maxScn": self.max_scn,
            "timestampMaxScnEvent": self.time_ms,
        }


@dataclass(slots=True)
class Outbound:
    """Answers to one client, about one source, or all of them.

    :param streams, registers, sources: requests of each kind; `errors` those that were refused, `scn_not_found` among them.
    :param bytes: of events.
    :param last_ms: of the last request, milliseconds since the epoch; 0 for none.
    """

    streams: int = 0
    registers: int = 0
    sources: int = 0
    errors: int = 0
    scn_not_found: int = 0
    bytes: int = 0
    last_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        """The figures by Databus's names."""
        return {
            "numStreamCalls": self.streams,
            "numRegisterCalls": self.registers,
            "numSourcesCalls": self.sources,
            "numErrors": self.errors,
            "numScnNotFoundStream": self.scn_not_found,
            "sizeDataEvents": self.bytes,
            "timeLastCall": self.last_ms,
        }


@dataclass(slots=True)
class Statistics:
    """Counts what a relay has taken in and given out since its start; may be used by any thread.

    :ivar total_in, total_out: of all sources, and of all clients.
    :ivar by_source_in, by_source_out: by the id of the source; only those that had an event, or were requested by id. An
        answer about several sources counts for each of them, with all its bytes.
    :ivar by_client: by the client's name; at most 1000, then `others`.
    """

    total_in: Inbound = field(default_factory=Inbound)
    total_out: Outbound = field(default_factory=Outbound)
    by_source_in: dict[int, Inbound] = field(default_factory=dict)
    by_source_out: dict[int, Outbound] = field(default_factory=dict)
    by_client: dict[str, Outbound] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def window(self, scn: int, events: Iterable[bytes], time_ns: int) -> None:
        """Count a window that was published.

        :param events: as bytes, without the window's end.
        :param time_ns: of that end, nanoseconds since the epoch.
        """
        with self._lock:
            time_ms = time_ns // 1_000_000
            for event in events:
                source = int(SOURCE.unpack_from(event, SOURCE_AT)[0])
                of_source = self.by_source_in.setdefault(source, Inbound())
                for one in (of_source, self.total_in):
                    one.events += 1
                    one.bytes += len(event)
                    one.max_scn, one.time_ms = scn, time_ms
            self.total_in.windows += 1
            self.total_in.max_scn = scn

    def answered(
        self,
        call: str,
        client: str,
        sources: Iterable[int] = (),
        size: int = 0,
        *,
        error: str = "",
    ) -> None:
        """Count an answer.

        :param call: `stream`, `register` or `sources`.
        :param client: its name; from the 1001st client on it is counted as `others`.
        :param sources: ids of those requested.
        :param size: bytes of events.
        :param error: Databus's name of it, '' for none.
        """
        with self._lock:
            if client not in self.by_client and len(self.by_client) >= _CLIENTS:
                client = _OTHERS
            found = [self.total_out, self.by_client.setdefault(client, Outbound())]
            found += [self.by_source_out.setdefault(source, Outbound()) for source in sources]
            now = time.time_ns() // 1_000_000
            for one in found:
                one.streams += call == "stream"
                one.registers += call == "register"
                one.sources += call == "sources"
                one.errors += bool(error)
                one.scn_not_found += error == "ScnNotFoundException"
                one.bytes += size
                one.last_ms = now
