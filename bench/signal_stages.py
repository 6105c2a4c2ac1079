"""Reading a table again while the connector streams.

incremental   a million rows by an incremental snapshot (strategy scn, chunks of 1024), with and without other changes to stream
              meanwhile; only when named
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.capacity_stages import Peak, Seen
from bench.processes import Connector, Sandbox
from bench.report import Measure
from bench.tables import SCANNED, STREAMED, load
from minercdc.signals.channels import append

_ROWS = 1_000_000
_CHANGES = 50_000
_SIGNAL = '{"id": "bench", "type": "execute-snapshot", "data": {"data-collections": ["BENCH.SCANNED"]}}'


def incremental(sandbox: Sandbox, directory: Path, broker: str) -> Iterator[Measure]:
    """The same changes streamed alone, then while the rows are read."""
    app, file = sandbox.connect(), directory / "signals.jsonl"
    load(app, SCANNED, 0, _ROWS)
    more = (
        "snapshot.mode: no_data",
        "signal.enabled.channels: file",
        f"signal.file: {file}",
        "signal.poll.interval.ms: 100",
    )
    with Connector(directory, "incremental", "BENCH.(SCANNED|STREAMED)", sandbox, broker, more) as connector:
        connector.await_text("streaming from", 60)
        streamed = Seen(broker, "incremental.BENCH.STREAMED")
        load(app, STREAMED, 0, 1)
        streamed.until(1, connector)
        alone = _changes(sandbox, streamed, connector, 1)
        yield Measure("changes streamed alone", "connector", _CHANGES, alone, 0.0)

        before, peak, cpu, server = connector.memory(), Peak(connector.memory), connector.cpu(), sandbox.cpu()
        begun = time.monotonic()
        append(file, _SIGNAL)
        scanned = Seen(broker, "incremental.BENCH.SCANNED", "bench-scanned")
        scanned.until(1, connector)
        beside = _changes(sandbox, streamed, connector, 1 + _CHANGES)
        scanned.until(_ROWS, connector)
        wall = time.monotonic() - begun
        peak.stop()
        memory = f"memory {before / 2**20:.0f} MiB before, {peak.bytes / 2**20:.0f} MiB at most"
        yield Measure(
            f"changes streamed beside it: {100 * (1 - alone / beside):.0f} % slower", "connector", _CHANGES, beside, 0.0
        )
        yield Measure(f"incremental snapshot; {memory}", "connector", _ROWS, wall, connector.cpu() - cpu)
        yield Measure("the same", "sandbox", _ROWS, wall, sandbox.cpu() - server)
        streamed.close()
        scanned.close()


def _changes(sandbox: Sandbox, seen: Seen, connector: Connector, first: int) -> float:
    """Seconds from the first commit until a reader has the last change."""
    begun = time.monotonic()
    load(sandbox.connect(), STREAMED, first, _CHANGES)
    seen.until(first + _CHANGES, connector)
    return time.monotonic() - begun


SIGNAL_STAGES: dict[str, Callable[[Sandbox, Path, str], Iterator[Measure]]] = {"incremental": incremental}
