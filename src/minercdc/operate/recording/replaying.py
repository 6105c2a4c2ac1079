"""Decodes a recorded session again, without its database (`minercdc replay`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minercdc.config.load import ConnectorConfig, parse_properties
from minercdc.errors import MinerCdcError
from minercdc.operate.offsets.read import from_document
from minercdc.operate.recording.playback import Player, RecordingEnd
from minercdc.operate.recording.recording import Tally, offline
from minercdc.operate.recording.session import run_session
from minercdc.stream.contracts import Record
from minercdc.stream.counters.connector import Counters
from minercdc.stream.temporary import temporary_directory

_NOWHERE = {
    "database.hostname": "nowhere.invalid",
    "database.user": "C##MINERCDC",
    "database.password": "-",
    "minercdc.kafka.bootstrap.servers": "nowhere.invalid:9092",
}
"""Properties that a configuration has to have, and a replay does not use."""


class _NoStop:
    """A StopFlag that is never set, and whose waits take no time: the recorded clock says how long each took."""

    def is_set(self) -> bool:
        return False

    def wait(self, timeout: float | None = None) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a replay ended.

    :param tally: of the records that were made.
    :param error: that ended it, None at the recording's end.
    :param differences: from how the recorded session ended, a sentence for each; () for none.
    """

    tally: Tally
    error: MinerCdcError | None
    differences: tuple[str, ...]


def replay(path: Path, take: Callable[[Record], None]) -> Replayed:
    """Decode a recording, to its end or to an error that ends it. Uses temporary files, which are gone afterwards.

    :param take: gets each record, as the connector would send it as JSON.
    :raises ConfigError: the file cannot be replayed, or its properties cannot be used here.
    :raises OSError: a temporary file cannot be written.
    :raises Exception: what `take` raises, other than a MinerCdcError, which is taken for how the session ends.
    """
    player = Player(path)
    try:
        config = _config(player, path)
        _, _, stored = from_document(json.dumps(player.head.get("offset")), str(path))
        tally, error = Tally(), None

        def taken(record: Record) -> None:
            tally.add(record)
            take(record)

        with temporary_directory("minercdc-replay-") as state:
            try:
                run_session(
                    offline(config, Path(state)),
                    stored,
                    player.connect,
                    taken,
                    _NoStop(),
                    counters=Counters(),
                    monotonic=player.monotonic,
                )
            except RecordingEnd as ended:
                if (defect := _hidden_by(ended)) is not None:
                    raise defect from None
            except MinerCdcError as met:
                error = met
        return Replayed(tally, error, tuple(_differences(player, tally, error)))
    finally:
        player.close()


def _hidden_by(ended: BaseException) -> Exception | None:
    """What ended the session before its cleaning up came to the recording's end; None when that came first, or it is an error that
    sessions end with."""
    met: BaseException | None = ended
    while met is not None and not isinstance(met, Exception):
        met = met.__context__
    return None if isinstance(met, MinerCdcError) else met


def _config(player: Player, path: Path) -> ConnectorConfig:
    properties = {**_NOWHERE, **{str(name): str(value) for name, value in player.head["properties"].items()}}
    return parse_properties(properties, where=str(path))


def _differences(player: Player, tally: Tally, error: MinerCdcError | None) -> list[str]:
    """In which ways the replay's result is another than the recording's, a sentence for each; [] for none. More records are no
    difference: a recording that was stopped holds rows that were fetched ahead, too. Keys are compared only where the numbers of
    records are equal and values were not replaced."""
    recorded, now, found = player.end, dict(tally.topics), []
    fewer = {topic: count for topic, count in recorded["records"].items() if count > now.get(topic, 0)}
    if fewer:
        found.append(f"records by topic: {now}, when it was recorded {recorded['records']}")
    elif recorded["records"] == now and recorded["keys"] != tally.keys and not player.head["replaced"]:
        found.append("keys or tombstones differ from the recorded ones")
    if recorded["error"] != (error.code if error else ""):
        found.append(
            f"it ends with {error.code if error else 'no error'}, when it was recorded with {recorded['error'] or 'none'}"
        )
    return found
