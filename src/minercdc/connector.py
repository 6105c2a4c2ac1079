"""A connector inside a Python program: run it, signal it, look at it.

    connector = Connector(load_config(Path("connector.yaml")))  # with in-process in signal.enabled.channels
    stop = threading.Event()
    threading.Thread(target=connector.run, args=(stop,)).start()
    connector.signal("execute-snapshot", {"data-collections": ["ORCLPDB1.SHOP.ORDERS"]})

`minercdc run` does the same.
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
from minercdc.pipeline import Target
from minercdc.signalling import http_token
from minercdc.signals.channels import SignalJournal
from minercdc.signals.http import serve
from minercdc.signals.signal import Signal
from minercdc.signals.watch import Watch
from minercdc.state_directory import make_private, running
from minercdc.wiring import build

_log = logging.getLogger(__name__)

_HTTP, _IN_PROCESS = "http", "in-process"


class Connector:
    """One connector; its methods may be called from any thread.

    :param target: where changes go instead of the configured sink.
    :raises ConfigError: `snapshot.mode.custom.name` names nothing that can be called.
    :ivar counters: what it has done so far, over all its runs.
    :ivar address: of its HTTP port, set by `run`; '' before, and without `minercdc.http.port`.
    """

    def __init__(self, config: ConnectorConfig, target: Target | None = None) -> None:
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
        self._parts = build(config, self.counters, self._watch, tuple(self._journals.values()), target=target)

    def run(self, stop: StopFlag) -> None:
        """Capture until `stop` is set, or to the end of the snapshot when `snapshot.mode` does not stream.

        :raises MinerCdcError: it cannot start (LocalServiceError: the port is taken), a restart does not help, or the allowed
            restarts are used up.
        """
        signals = self._config.signals
        make_private(self._config.capture.minercdc_state_dir)
        with ExitStack() as stack:
            stack.enter_context(running(self._config.capture.minercdc_state_dir, self._config.identity.name))
            if signals.minercdc_http_port is not None:
                serving = serve(
                    *(signals.minercdc_http_host, signals.minercdc_http_port, self._watch, self._journals.get(_HTTP)),
                    *(http_token(self._config), exposition_of(self.counters, self._config.identity.name)),
                )
                self.address = stack.enter_context(serving)
            run(self._parts, stop)

    def signal(self, type: str, data: Mapping[str, JsonValue] | None = None, id: str = "") -> str:
        """Send a signal over channel `in-process`. It is on disk then: if the process is killed, the next run acts on it.

        Nothing is checked here: a wrong type, or wrong data, is answered with a notification REFUSED.

        :param type: execute-snapshot, stop-snapshot, ...; see docs/signals.md.
        :param data: its members, None for none.
        :param id: of the signal; '' for a new UUID.
        :returns: that id, which its notifications carry.
        :raises ConfigError: the channel is not enabled.
        :raises StateDirectoryError: it cannot be written to `minercdc.state.dir`, and will not be acted on.
        """
        journal = self._journals.get(_IN_PROCESS)
        if journal is None:
            raise ConfigError([f"signal.enabled.channels: needs {_IN_PROCESS} for signals of this process"])
        identity = id or str(uuid4())
        journal.put(Signal(identity, type, dict(data or {}), _IN_PROCESS))
        return identity

    def notifications(self) -> list[JsonValue]:
        """The latest thousand notifications of this process, oldest first, as Debezium's JSON."""
        return self._watch.notifications()

    def snapshots(self) -> dict[str, JsonValue]:
        """Ad hoc snapshots that are not complete, and how far the initial one is; the answer of GET /snapshots."""
        return self._watch.snapshots()
