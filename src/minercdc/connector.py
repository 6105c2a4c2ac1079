"""A connector inside a Python program: run it, signal it, look at it.

    connector = Connector(load_config(Path("connector.yaml")))
    threading.Thread(target=connector.run, args=(stop,)).start()
    connector.signal("execute-snapshot", {"data-collections": ["ORCLPDB1.SHOP.ORDERS"]})

`minercdc run` is nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from uuid import uuid4

from minercdc.config.load import ConnectorConfig
from minercdc.contracts import StopFlag
from minercdc.engine import run
from minercdc.errors import ConfigError
from minercdc.exposition import exposition_of
from minercdc.metrics import Counters
from minercdc.offset import JsonValue
from minercdc.signalling import http_token
from minercdc.signals.channels import SignalJournal
from minercdc.signals.http import serve
from minercdc.signals.signal import Signal
from minercdc.signals.watch import Watch
from minercdc.state_directory import make_private
from minercdc.wiring import build

_log = logging.getLogger(__name__)

_HTTP, _IN_PROCESS = "http", "in-process"


class Connector:
    """One connector; its methods may be called from any thread.

    :ivar counters: what it has done so far.
    :ivar address: of its HTTP port, '' while there is none.
    """

    def __init__(self, config: ConnectorConfig) -> None:
        self._config = config
        self._enabled = config.signals.signal_enabled_channels
        directory, name = config.capture.minercdc_state_dir, config.identity.name
        journals = {channel: SignalJournal(directory, name, channel) for channel in (_HTTP, _IN_PROCESS)}
        self._journals = {channel: journal for channel, journal in journals.items() if channel in self._enabled}
        for channel, journal in journals.items():
            if channel not in self._enabled and journal.is_waiting:
                _log.warning("signals of channel %s wait, which signal.enabled.channels does not have any more", channel)
        self.counters = Counters()
        self.address = ""
        self._watch = Watch(self.counters)
        self._parts = build(config, self.counters, self._watch, tuple(self._journals.values()))

    def run(self, stop: StopFlag) -> None:
        """Capture until `stop` is set, or to the end of the snapshot when `snapshot.mode` does not stream.

        :raises MinerCdcError: an error that a restart does not help, or that the allowed restarts did not.
        """
        signals = self._config.signals
        make_private(self._config.capture.minercdc_state_dir)
        with ExitStack() as stack:
            if signals.minercdc_http_port is not None:
                serving = serve(
                    *(signals.minercdc_http_host, signals.minercdc_http_port, self._watch, self._journals.get(_HTTP)),
                    *(http_token(self._config), exposition_of(self.counters, self._config.identity.name)),
                )
                self.address = stack.enter_context(serving)
            run(self._parts, stop)

    def signal(self, type: str, data: Mapping[str, JsonValue] | None = None, id: str = "") -> str:
        """Send a signal over channel `in-process`. It survives a kill of the process: it is acted on once the connector runs again.

        :param type: execute-snapshot, stop-snapshot, ...; see docs/signals.md.
        :returns: its id, which its notifications carry.
        :raises ConfigError: the channel is not enabled.
        :raises StateDirectoryError: the signal cannot be kept in `minercdc.state.dir`, and is not taken.
        """
        journal = self._journals.get(_IN_PROCESS)
        if journal is None:
            raise ConfigError([f"signal.enabled.channels: needs {_IN_PROCESS} for signals of this process"])
        identity = id or str(uuid4())
        journal.put(Signal(identity, type, dict(data or {}), _IN_PROCESS))
        return identity

    def notifications(self) -> list[JsonValue]:
        """The latest thousand, oldest first, in Debezium's form."""
        return self._watch.notifications()

    def snapshots(self) -> dict[str, JsonValue]:
        """Snapshots that are under way."""
        return self._watch.snapshots()
