"""A connector inside a Python program: run it, signal it, look at it.

    connector = Connector(load_config(Path("connector.yaml")))  # with in-process in signal.enabled.channels
    stop = threading.Event()
    threading.Thread(target=connector.run, args=(stop,)).start()
    connector.signal("execute-snapshot", {"data-collections": ["ORCLPDB1.SHOP.ORDERS"]})

`minercdc run` does the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from threading import Event
from uuid import uuid4

import oracledb

from minercdc.config.in_force import in_force
from minercdc.config.load import ConnectorConfig
from minercdc.errors import ConfigError, FencedError
from minercdc.native import PATH
from minercdc.observe.http.server import Site, serve
from minercdc.observe.http.token import http_token
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.notifications.posting import Posting
from minercdc.observe.notifications.thresholds import StreamNotices
from minercdc.observe.notifications.webhook import webhook_of
from minercdc.observe.prometheus import exposition_of
from minercdc.observe.prometheus.otlp import exporting
from minercdc.observe.status.history import SECONDS, History
from minercdc.observe.status.looking import SourceLook, every
from minercdc.observe.status.model import Status
from minercdc.observe.status.page import Page
from minercdc.oracle.connect import connect, database_names, of_database
from minercdc.pipeline.engine import run
from minercdc.pipeline.factory import build
from minercdc.pipeline.filter_reload import Reload
from minercdc.pipeline.pipeline import Target
from minercdc.pipeline.process import Instance
from minercdc.pipeline.standby.group import StandbyGroup
from minercdc.pipeline.standby.prepared import Prepared
from minercdc.pipeline.standby.waiting import refuse_without_fence
from minercdc.pipeline.start_checks import check_prerequisites, refuse_unprepared
from minercdc.pipeline.table_plan import check_tables
from minercdc.signals.channels import SignalJournal
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.stream.contracts import StopFlag
from minercdc.stream.counters.connector import Counters
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.events import Notification
from minercdc.stream.offset import JsonValue
from minercdc.stream.process_lock import owning, owning_name, running
from minercdc.stream.signal import Signal
from minercdc.stream.state_directory import make_private

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0  # between two looks at the source's views
_HTTP, _IN_PROCESS = "http", "in-process"


class Connector:
    """One connector, with its counters, notifications and signals over all runs of the process. The other methods may be
    called from any thread, while `run` is in one; `run` only by one thread at a time. Construction connects nothing; it
    logs properties without effect, and signals that wait in a channel that is not enabled.

    :param target: where changes go instead of the configured sink, never as a standby then; None: to that sink.
    :raises ConfigError: as `factory.build`.
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
                _log.warning("signals of channel %s are waiting, but signal.enabled.channels no longer lists it", channel)
        self.counters = Counters()
        self.address = ""
        self._watch = Watch(self.counters)
        self._history = History(self.counters)
        posting = Posting(config.notifications, config.identity.topic_prefix, self._watch, webhook_of(config.notifications))
        self._notices = StreamNotices(config.notifications, self.counters, posting.post)
        self._posting = posting
        self._target = target
        self._reload = Event()
        self._group = StandbyGroup(config) if target is None else None
        self._own()

    def _own(self) -> None:
        """Give this instance a new identity, and build the parts of its stream with it."""
        self._prepared = Prepared()
        self._ownership = Ownership(self._config.identity.name, member=self._group is not None and self._group.exists)
        self._watch.instance = self._ownership.instance
        self._make_parts()

    def _make_parts(self) -> None:
        self._parts = build(
            self._config,
            Instance(
                self.counters,
                self._watch,
                self._posting,
                self._ownership,
                tuple(self._journals.values()),
                self._prepared,
            ),
            target=self._target,
        )

    def run(self, stop: StopFlag, *, standby: bool = False, served: Callable[[str], None] = lambda _: None) -> None:
        """Capture until `stop` is set, or to the end of the snapshot when `snapshot.mode` does not stream. Meanwhile the HTTP
        port, if there is one, is served, and `minercdc.state.dir` is marked as in use; both end with it. It may be called
        again then.

        :param standby: wait until the instance that has the connector is dead, then capture; after another one has taken over,
            wait again. Not with `target`.
        :param served: called with `address`, once it is set.
        :raises ConfigError: with `standby`, the sink is not Kafka with transactions.
        :raises MinerCdcError: it cannot start (LocalServiceError: the port is taken), a restart does not help, or the allowed
            restarts are used up.
        """
        if standby:
            refuse_without_fence(self._config)
            self.counters.phase = "standby"
        with self._served(standby=standby):
            served(self.address)
            if standby:
                self._stand_by(stop)
            else:
                self._capture(stop)

    def reload_filters(self, config: ConnectorConfig) -> None:
        """Go on with the tables and columns that another configuration selects; its other properties have no effect.

        The database is checked first; an error leaves the stream and its filters as they were. This returns before the stream,
        in the thread of `run`, ends as at a stop and begins again from its offset as at a start; without a run, the next one
        has the filters.

        :raises PrerequisiteError: the database is not ready for these tables, or refuses a check.
        :raises ConfigError: the record key of one of them has a column that it does not have, one gets no topic name, or a
            pattern took too long.
        :raises SharedTopicError: two of them have the same topic, and tables are not suspended.
        :raises SourceError: the database cannot be read.
        """
        wanted = replace(self._config, filters=config.filters)
        refuse_unprepared(check_prerequisites(wanted))
        check_tables(wanted)
        self._config = wanted
        self._reload.set()

    def _stream(self, stop: StopFlag) -> None:
        """Run the stream until it ends; build its parts and run it again each time `reload_filters` has ended it."""
        while True:
            if self._reload.is_set():
                self._reload.clear()
                self._make_parts()
            run(self._parts, Reload(stop, self._reload))
            if stop.is_set() or not self._reload.is_set():
                return
            _log.warning("restarting the stream with the new filters")

    def _capture(self, stop: StopFlag) -> None:
        self.counters.since_us = time.time_ns() // 1000
        with ExitStack() as stack:
            if self._group is not None and self._group.exists:
                stack.enter_context(self._group.shown(self._ownership))
            self._stream(stop)

    def _stand_by(self, stop: StopFlag) -> None:
        """Wait for the turn, then capture; wait again when another instance has taken over. Ends when `stop` is set, or the
        snapshot is complete and `snapshot.mode` does not stream."""
        assert self._group is not None
        while not stop.is_set():
            with closing(self._group.wait(self._ownership, self._prepared)) as wait:
                self.counters.phase, self._watch.standby = "standby", lambda wait=wait: (wait.document(), wait.is_warm)
                reason, since = wait.until_turn(stop), time.time_ns() // 1000
                self._watch.standby = None
                if not reason:
                    return
                _log.warning("taking over connector %s: %s", self._config.identity.name, reason)
                former = wait.owner.instance if wait.owner else ""
                data = {"instance": self._ownership.instance, "former": former, "reason": reason}
                self._posting.post(Notification(str(uuid4()), "Streaming", "TAKEN_OVER", since, data))
                self.counters.since_us, self.counters.phase = since, "starting"
                self.counters.spent.enter(Cause.STARTING)
                try:
                    with self._owned(refuse=False):
                        self._stream(stop)
                    return
                except FencedError as error:
                    self.counters.phase = "standby"
                    _log.warning("%s; this one is a standby again", error.message)
                    self._forget()
                    self._own()
                    self._ownership.address = self._group.address(self.address)

    def _forget(self) -> None:
        """Reset the counters of the stream's present state, since another instance goes on with it; sums of the process stay."""
        counters = self.counters
        counters.since_us = counters.progress_us = counters.source_us = 0
        counters.suspended, counters.trouble, counters.requested = (), "", []
        counters.scans.clear()

    @contextmanager
    def _served(self, *, standby: bool) -> Iterator[None]:
        """While the context lasts: mark `minercdc.state.dir` as in use, look after notices, export figures, look at the
        source's views and serve the HTTP port, as far as they are configured. Each has a thread, which ends with the
        context. Sets `address`.

        :param standby: the connector is another process's for now.
        """
        signals = self._config.signals
        make_private(self._config.capture.minercdc_state_dir)
        with ExitStack() as stack:
            if not standby:
                stack.enter_context(self._owned())
            stack.enter_context(running(self._config.capture.minercdc_state_dir, self._config.identity.name))
            stack.enter_context(every(SECONDS, self._notices.look, "notices"))
            if endpoint := self._config.run.minercdc_opentelemetry_endpoint:
                seconds = self._config.run.minercdc_opentelemetry_interval_ms / 1000
                stack.enter_context(
                    exporting(self.counters, self._config.identity.name, endpoint.get_secret_value(), seconds)
                )
            if signals.minercdc_http_port is not None or self._config.notifications.notification_enabled_channels:
                look = SourceLook(self._connect_tables, self.counters)
                stack.callback(look.close)
                stack.enter_context(every(_LOOK_SECONDS, look.look, "source look"))
            if signals.minercdc_http_port is not None:
                serving = serve(
                    signals.minercdc_http_host,
                    signals.minercdc_http_port,
                    self._watch,
                    self._journals.get(_HTTP),
                    http_token(self._config),
                    exposition_of(self.counters, self._config.identity.name),
                    self._site(),
                )
                self.address = stack.enter_context(serving)
                stack.enter_context(every(SECONDS, self._history.sample, "samples"))
                if self._group is not None:
                    self._ownership.address = self._group.address(self.address)
            yield

    @contextmanager
    def _owned(self, *, refuse: bool = True) -> Iterator[None]:
        config = self._config
        directory, name = config.capture.minercdc_state_dir, config.identity.name
        with ExitStack() as stack:
            stack.enter_context(owning(directory, name, refuse=refuse))
            if self._target is None and (identity := config.running_identity):
                stack.enter_context(owning_name(identity, name, refuse=refuse))
            yield

    def _connect_tables(self) -> oracledb.Connection:
        config = self._config.database
        return connect(of_database(config, database_names(config)[0]), "pdb")

    def _site(self) -> Site:
        config, name = self._config, self._config.identity.name
        adapter = config.database.database_connection_adapter
        facts = {"name": name, "version": version("minercdc"), "path": PATH, "adapter": adapter}
        facts["database"] = ", ".join(database_names(config.database))
        configuration = [one._asdict() for one in in_force(config)]
        status = Status(self.counters, self._watch, self._history, facts, configuration, signals=_HTTP in self._enabled)

        def data() -> dict[str, JsonValue]:
            return {"status": status.document(), "history": status.history(), "configuration": status.configuration()}

        page = Page(name, data)
        return Site(page.render, page.headers, status.pages())

    def signal(self, type: str, data: Mapping[str, JsonValue] | None = None, id: str = "") -> str:
        """Send a signal over channel `in-process`. It is on disk then: if the process is killed, the next run acts on it.

        Nothing is checked here: the run answers a wrong type, or wrong data, with a notification REFUSED.

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
