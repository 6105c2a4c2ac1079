"""The capture: pass after pass over the redo logs, from where the last pass ended.

    list logs, prove coverage -> LogMiner session -> rows, prefetched -> whole statements -> committed transactions

What a pass leaves open stays in memory for the next. When a session breaks, the next one goes on after the last whole
row; only a restart mines again, from the oldest open transaction that is not kept. `CommittedAssembly` does so in each pass.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import oracledb

from minercdc.capture.adapter import CaptureContext
from minercdc.capture.database_identity import other_pdbs
from minercdc.capture.logminer.buffer.abandonment import UnknownTransactions, limits_of
from minercdc.capture.logminer.buffer.assembler import Assembly, Pass
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.spill import check_directory
from minercdc.capture.logminer.buffer.transactions import Transaction, shown, transaction_buffer
from minercdc.capture.logminer.buffer.users import user_filter
from minercdc.capture.logminer.database_identity import check_database, identified, with_pdb_ids
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import KeepingRules, load
from minercdc.capture.logminer.logs.mining_database import check_place
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND, switched_scn
from minercdc.capture.logminer.logs.window import LogWindow, PassLogs
from minercdc.capture.logminer.open_at import from_starts
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.capture.logminer.session.containers import containers_of
from minercdc.capture.logminer.session.flush import RedoFlush
from minercdc.capture.logminer.session.host_clock import HostClock
from minercdc.capture.logminer.session.logminer_session import MiningSession, open_session
from minercdc.capture.logminer.session.measuring import Measuring
from minercdc.capture.logminer.session.memory import SessionMemory
from minercdc.capture.logminer.session.query import ContainerNames
from minercdc.capture.logminer.session.redo_dictionary import RedoDictionary
from minercdc.capture.logminer.session.row import ContinuationJoiner, LogMinerRow
from minercdc.capture.logminer.session.table_names import ObjectNames
from minercdc.capture.logminer.session.waiting import PassPause, ticks
from minercdc.capture.logminer.sql_redo.decoding import DecodingOptions, TransactionDecoder
from minercdc.capture.logminer.start import check_lost, with_pdbs
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.position_json import loaded
from minercdc.errors import LogGapError, MiningSessionError
from minercdc.oracle.fetching.prefetch import prefetch
from minercdc.oracle.open_transactions import DatabaseTransactions
from minercdc.oracle.scn import current_scn, host_clock, is_cluster, last_redo
from minercdc.schema.table_filter import SYSTEM_SCHEMAS
from minercdc.stream.contracts import OpenTransaction, StopFlag
from minercdc.stream.counters.lag_causes import Cause
from minercdc.stream.events import Event, Scn
from minercdc.stream.offset import JsonValue, Position

_log = logging.getLogger(__name__)
_IDENTIFY_S: Final = 60.0

_SCN, _TIMESTAMP = map(LogMinerRow._fields.index, ("scn", "timestamp"))


class LogMinerCapture:
    """Reads committed changes through LogMiner; the `contracts.Capture` and `contracts.OpenTransactions` of both adapters,
    for one thread. `stream` opens one LogMiner session at a time, and closes all when it ends.

    :param context: `connect_root` has to lead to where LogMiner runs, unless it runs in `secondary`; by `monotonic` it is decided
        how much a pass reads, when the next one is due, and when a session is renewed.
    :param container: SRC_CON_NAME of the PDB to capture, or of all of `context.pdbs`; None: all rows that LogMiner shows.
    :param committed: let LogMiner hold back what is not committed (COMMITTED_DATA_ONLY), instead of buffering it here.
    :param flush: makes the log writer write before each pass; None: it writes when it does.
    :param files: of transactions that are kept over a restart.
    :param rules: which are kept; None: this way of mining keeps none, and mines those of an earlier one again.
    """

    def __init__(
        self,
        context: CaptureContext,
        container: ContainerNames,
        *,
        committed: bool,
        flush: RedoFlush | None,
        files: KeptFiles,
        rules: KeepingRules | None,
    ) -> None:
        config, shared = context.config.log_mining, context.config.capture
        self._config = config
        self._pdbs = tuple(pdb.database for pdb in context.pdbs)
        self._container = container
        self._inside, self._places = context.containers, context.places
        self._identified_at = context.monotonic()
        self._transactions = DatabaseTransactions(self._inside)
        self._connect, self._monotonic = context.connect_root, context.monotonic
        self._secondary = secondary = context.secondary
        unnamed = secondary is not None and not secondary.is_downstream
        self._excluded_owners = frozenset[str]() if context.mined.schema_include else SYSTEM_SCHEMAS
        self._names = ObjectNames(context, self._excluded_owners) if unnamed else None
        self._flush, self._files, self._rules = flush, files, rules
        self._lobs, self._spill = shared.lob_enabled, shared.minercdc_state_dir / "spill"
        self._reselect = context.reselect if shared.lob_enabled else None
        self._poll = shared.poll_interval_ms / 1000
        interval = config.minercdc_log_mining_pass_interval_ms / 1000
        self._pause = PassPause(self._poll, interval, context.monotonic, self._look)
        self._clock, self._counters = HostClock(), context.counters
        self._measuring = Measuring(self._counters, self._clock)
        self._memory = SessionMemory(self._counters.mining, config.minercdc_log_mining_session_max_pga_bytes)
        self._delivered_us = 0  # source time up to which every commit has been emitted, 0 while that is not known
        self._delivered_scn = 0  # that of the start: rows up to it are read again, and their times say nothing
        self._containers = containers_of(context, partial(self._decoder_of, context))
        self._limits = limits_of(config)
        self._unknown = UnknownTransactions(config.minercdc_log_mining_unknown_transaction_mode)
        self._session: MiningSession | None = None
        self._assembly_of = CommittedAssembly if committed else BufferedAssembly
        self._assembly: Assembly | None = None
        self._dictionary = RedoDictionary() if config.log_mining_strategy == "redo_log_catalog" else None
        self._window = LogWindow(config, lobs=shared.lob_enabled, dictionary=self._dictionary)

    def _decoder_of(self, context: CaptureContext, shapes: ShapeTracker) -> TransactionDecoder:
        return TransactionDecoder(
            shapes,
            self._clock,
            DecodingOptions(
                on_failure=context.config.run.event_processing_failure_handling_mode,
                include_redo_sql=self._config.log_mining_include_redo_sql,
                lobs=self._lobs,
                native=context.runs,
                runs=context.runs and not context.pdbs,
                without_dictionary=self._names is not None,
            ),
            counters=self._counters,
            reselect=self._reselect.complete if self._reselect is not None else None,
            unread=context.unread,
        )

    def load_position(self, saved: Mapping[str, JsonValue]) -> LogMinerPosition:
        """The position that `LogMinerPosition.to_json` made `saved` of. Raises ConfigError for anything else, such as one of
        another adapter, or of other pluggable databases."""
        return with_pdbs(loaded(LogMinerPosition.from_json, saved, "LogMiner"), self._pdbs)

    def stream(self, start: Position, stop: StopFlag) -> Iterator[Event]:
        """Events after `start`, until `stop` is set. See `contracts.Capture`. Open transactions are in memory, and in spill files
        below `minercdc.state.dir`, while it runs.

        :raises TypeError: `start` is of another adapter.
        :raises StateDirectoryError: `minercdc.state.dir` cannot be written.
        :raises DeliveryError, SinkError: copies of kept transactions cannot be written to Kafka, or read.
        :raises LogGapError: redo is gone, or the database is not the one that the position is of (`check_database`).
        :raises LostTransactionError: see `UnknownTransactions.judge`.
        :raises DecodeError: see `TransactionDecoder.events`.
        :raises SourceError, PrerequisiteError, ConfigError: Oracle cannot be used (MiningSessionError: nor by a new session), or
            a pattern took too long.
        """
        if not isinstance(start, LogMinerPosition):
            raise TypeError(f"{type(start).__name__} is not a position of LogMiner")
        check_directory(self._spill)
        most = self._config.minercdc_log_mining_buffer_memory_max_bytes
        keeps = self._rules is not None and (self._rules.after is not None or bool(start.kept))
        files = self._files.begin() if keeps else None
        scans, several = self._containers.scans, self._containers.are_several
        buffer = transaction_buffer(most, self._spill, native_rows=scans, files=files, several=several)
        loaded = load(start, self._files, self._rules, buffer)
        check_lost(self._connect, loaded, self._config, self._secondary)
        start = with_pdb_ids(self._places, identified(self._connect, loaded.position))
        if self._assembly_of.committed or self._lobs:
            start = from_starts(self._connect, start, self._container, self._inside)
        self._delivered_scn = start.delivered_scn
        delivery = Delivery(start, self._containers, self._clock, user_filter(self._config))
        self._assembly = self._assembly_of(start, buffer, delivery, lobs=self._lobs)
        if files is not None and self._rules is not None and isinstance(self._assembly, BufferedAssembly):
            self._assembly.keep(files, self._rules, loaded)
        _log.info("streaming from %s", start)
        try:
            yield from self._sessions(self._assembly, start, stop)
        finally:
            self.close()

    def open_transactions(self) -> list[OpenTransaction]:
        """The open transactions with captured changes; none when LogMiner holds them back itself, or nothing is streamed."""
        return [shown(transaction, self._containers.tx_id(transaction.key)) for transaction in self._open()]

    def drop_transaction(self, xid: str) -> bool:
        """Give the open transaction with this id (`OpenTransaction.xid`) up, with a warning. False when there is none."""
        found = [transaction for transaction in self._open() if self._containers.tx_id(transaction.key) == xid]
        for transaction in found:
            _log.warning("transaction %s is dropped by a signal: its %d changes are lost", xid, transaction.changes)
            assert self._assembly is not None
            self._assembly.give_up(transaction)
        return bool(found)

    def _open(self) -> list[Transaction]:
        return self._assembly.open() if self._assembly is not None else []

    def confirm(self, position: Position) -> None:
        """Remove files of kept transactions that the position, which is durable now, does not need (`KeptFiles.confirm`)."""
        if isinstance(position, LogMinerPosition):
            self._files.confirm(position)

    def close(self) -> None:
        """End the LogMiner session and the other connections, forget open transactions and delete their spill files; safe to
        call twice."""
        self._end_session()
        for one in (self._flush, self._reselect, self._names, self._transactions, self._assembly):
            if one is not None:
                one.close()
        self._assembly = None

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _sessions(self, assembly: Assembly, start: LogMinerPosition, stop: StopFlag) -> Iterator[Event]:
        """Events of one LogMiner session after another, until the stop. A broken one is replaced, and nothing is
        delivered twice; its MiningSessionError is raised when more than `log.mining.log.query.max.retries` in a row
        broke."""
        failures = 0
        while not stop.is_set():
            self._measuring.asks_source()
            try:
                self._session = session = open_session(
                    self._connect,
                    self._secondary,
                    self._config.query_fetch_size,
                    dictionary_in_redo=self._dictionary is not None,
                    native_rows=self._containers.scans,
                )
                self._check_place(session)
                check_database(session.primary, assembly.position())
                self._containers.begin_session(session.primary)
                yield from self._containers.known_partitions(self._delivered_scn)
                self._counters.mining.sessions += 1
                opened = self._monotonic()
                max_age = self._config.log_mining_session_max_ms / 1000 or float("inf")
                while not stop.is_set() and self._monotonic() - opened < max_age:
                    yield from self._pass(session, assembly, start, stop)
                    failures = 0
                    if stop.is_set() or self._memory.outgrown(session.connection):
                        break
            except MiningSessionError as error:
                failures += 1
                if failures > self._config.log_mining_log_query_max_retries:
                    raise
                _log.warning("the LogMiner session failed, opening a new one: %s", error.message)
                yield assembly.idle(self._delivered_us)
                stop.wait(self._backoff(failures))
            finally:
                self._end_session()

    def _check_place(self, session: MiningSession) -> None:
        check_place(session, archived_only=self._config.log_mining_archive_log_only_mode)
        if self._names is not None:
            self._container = self._names.container() if isinstance(self._container, str) else self._container
        self._window.reads_all = session.within_pdb
        self._window.is_cluster = is_cluster(session.primary)

    def _pass(self, session: MiningSession, assembly: Assembly, start: LogMinerPosition, stop: StopFlag) -> Iterator[Event]:
        began = self._monotonic()
        self._check_pdbs(assembly)
        host_time = self._begin(session.primary, assembly)
        logs = yield from self._select(session, assembly, start, stop)
        if logs is None:
            return
        selection = logs.selection
        archived_only = self._config.log_mining_archive_log_only_mode
        lagging = not archived_only and (selection.bound < NO_BOUND or not any(log.current for log in selection.files))
        begun = self._start(session, assembly, logs, lagging=lagging)
        doubted = self._unknown.due(assembly, host_time)
        known = self._transactions.xids(session.primary) if doubted else None
        owners = self._excluded_owners if self._names is None else frozenset[str]()
        sql, binds = assembly.query(self._container, owners)
        assembly.begin_pass(begun)
        held = logs.several_threads or selection.bound < NO_BOUND  # commits that are read may wait for the next pass
        yield from self._assembled(session.rows(sql, binds), session, assembly, stop, held=held)
        if stop.is_set():
            return
        yield from assembly.end_pass(begun)
        if not lagging and not archived_only:
            self._delivered_us = max(self._delivered_us, self._clock.utc_us(host_time))
        self._limits.enforce(assembly, host_time)
        if known is not None and not lagging and not archived_only:  # its end may be in redo that is not archived yet
            self._unknown.judge(assembly, known)
        self._window.read(selection, self._monotonic() - began, assembly)
        self._measuring.end(assembly, (mark.resume_scn for mark in assembly.position().threads.values()))
        yield assembly.idle(self._delivered_us)
        self._measuring.waits_for_redo()
        if not (lagging or selection.is_capped or session.mined):  # its logs are waited for when none is left to read
            for unwritten in self._pause.wait(session.primary, stop):
                if not archived_only:
                    self._delivered_us = max(self._delivered_us, self._clock.utc_us(host_time) + int(unwritten * 1_000_000))
                yield assembly.idle(self._delivered_us)
        self._measuring.asks_source()

    def _check_pdbs(self, assembly: Assembly) -> None:
        """Look once a minute whether the pluggable databases are those of the position: to be closed and opened with RESETLOGS, or
        plugged in again, or renamed, ends no session in the root. Raises LogGapError when one is not."""
        if self._monotonic() - self._identified_at >= _IDENTIFY_S:
            self._identified_at = self._monotonic()
            if gap := other_pdbs(self._places, assembly.position()):
                raise gap

    def _begin(self, connection: oracledb.Connection, assembly: Assembly) -> datetime:
        """Begin a pass, before the logs are listed: have the log writer write, set the clock's offset, and return the
        time of the database's host, without zone; what was committed until then is in the logs."""
        self._measuring.begin(assembly)
        if self._flush is not None:
            self._flush.push(current_scn(connection))
        host_time, self._clock.offset = host_clock(connection)
        self._counters.source_ahead_us = self._clock.utc_us(host_time) - int(time.time() * 1_000_000)
        self._pause.begin(connection)
        self._measuring.asks_source()
        return host_time

    def _start(self, session: MiningSession, assembly: Assembly, logs: PassLogs, *, lagging: bool) -> Pass:
        """Start LogMiner on the logs of a pass; returns what the assembly has to know of the pass.

        :param lagging: there are later logs, which this pass does not read.
        """
        selection = logs.selection
        if session.use_logs(selection.files):
            _log.info("mining %s", ", ".join(f"{log.thread}:{log.sequence}" for log in selection.files))
        reads_open = assembly.committed or (self._lobs and not self._config.log_mining_archive_log_only_mode)
        oldest_scn = self._transactions.oldest_undecided_scn(session.primary) if reads_open else 0
        # With several threads LogMiner may come to the end of one before a commit is written there, and meet in another a
        # later commit of the same row; of one that is opened now it has no log that is written. What is committed from here on
        # is therefore left to the next pass. (Read after the oldest: whatever waits had not ended before it, and is in what
        # the next pass reads.)
        # So is what a thread has committed in a log that is not in the list: it may have switched since that was read.
        bound = selection.bound
        if logs.several_threads:
            bound = min(bound, current_scn(session.connection) + 1)
            bound = min(bound, switched_scn(session.connection, selection.files))
        self._measuring.start(selection.files, logs.complete_scn)
        session.start(selection.start_scn, committed=assembly.committed)
        return Pass(selection.files, selection.complete, bound, 0 if lagging else logs.complete_scn, oldest_scn)

    def _look(self, connection: oracledb.Connection) -> frozenset[tuple[int, Scn]]:
        """The last redo that is written, per thread; raises as `last_redo`. The time of the query counts as lag by the source."""
        self._measuring.asks_source()
        found = last_redo(connection)
        self._measuring.waits_for_redo()
        return found

    def _assembled(
        self,
        batches: Iterator[Sequence[tuple[Any, ...]]],
        session: MiningSession,
        assembly: Assembly,
        stop: StopFlag,
        *,
        held: bool,
    ) -> Iterator[Event]:
        """Events of one query, and idle Progress each time that `poll.interval.ms` has passed; ends early at the stop.

        :param held: not every commit that is read is emitted at once.
        """
        joiner = ContinuationJoiner()
        ticked = time.monotonic()
        with prefetch(batches, tick=self._poll, cancel=session.cancel) as fetched:
            for batch in fetched:
                if stop.is_set():
                    return
                if batch is not None:
                    self._measuring.came()
                    for rows in self._containers.taken(self._named(batch)):
                        yield from assembly.take_fetched(rows, joiner)
                    self._measuring.taken(len(batch), assembly)
                    if not held and batch[-1][_SCN] > self._delivered_scn:
                        self._delivered_us = max(self._delivered_us, self._clock.utc_us(batch[-1][_TIMESTAMP]))
                if time.monotonic() - ticked >= self._poll:
                    yield assembly.idle(self._delivered_us)
                    ticked = time.monotonic()
        if joiner.is_open:
            raise MiningSessionError("the logs ended within a statement")

    def _named(self, batch: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        if self._names is None:
            return batch
        return self._names.named(batch, self._container if isinstance(self._container, int) else None)

    def _select(
        self, session: MiningSession, assembly: Assembly, start: LogMinerPosition, stop: StopFlag
    ) -> Generator[Event, None, PassLogs | None]:
        """The logs of the next pass, at least one; None when stopped. Yields idle Progress while there is none to read. A
        list that looks incomplete, as while a switch is archived, is read again; LogGapError is raised once
        `log.mining.log.query.max.retries` are used up."""
        tries = 0
        while not stop.is_set():
            try:
                logs = self._window.choose(session.primary, assembly, start.start_scn, session.mined)
            except LogGapError as gap:
                tries += 1
                if tries > self._config.log_mining_log_query_max_retries:
                    raise
                _log.warning("the list of logs is incomplete, reading it again: %s", gap.message)
                self._measuring.waits_for_redo(self._waited_for(session, assembly))
                yield assembly.idle(self._delivered_us)
                stop.wait(self._backoff(tries))
                continue
            if logs.selection.files:
                return logs
            yield assembly.idle(self._delivered_us)
            self._measuring.waits_for_redo(self._waited_for(session, assembly))
            for _ in ticks(stop, self._config.log_mining_archive_log_only_scn_poll_interval_ms / 1000, self._poll):
                yield assembly.idle(self._delivered_us)
            self._measuring.asks_source()
        return None

    def _waited_for(self, session: MiningSession, assembly: Assembly) -> Cause:
        """Why there is no log to read: redo is not written or archived (REDO), or not shipped to, or not applied in, the
        database that mines."""
        if session.mined is None or not self._window.is_archived(session.primary, assembly):
            return Cause.REDO
        return Cause.SHIPPING if session.mined.is_downstream else Cause.APPLY

    def _backoff(self, failures: int) -> float:
        first = self._config.log_mining_log_backoff_initial_delay_ms
        return float(min(first * 2 ** (failures - 1), self._config.log_mining_log_backoff_max_delay_ms)) / 1000
