"""A conversation with the server, one command and one answer at a time; and how it begins, by the answer to GetStatus.

GetStatus   WaitTableList, WaitStartSCN   the server has begun again: TableList, then StartSCN with the SCN at which the oldest transaction
                                          that is not delivered began. A connector that was killed in between left its list there.
            Replicating                   it runs on: BackToSCN, so that what was sent and is not stored comes again

BackToSCN names the SCN before that of the last transaction: another one with the same SCN may be not stored.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from time import monotonic
from typing import Final, TypeAlias

from minercdc.capture.fors_olr.position import ForsPosition
from minercdc.capture.fors_olr.protocol import (
    Answer,
    ByteOrder,
    Command,
    CommandCode,
    Data,
    NoMore,
    Ok,
    Refusal,
    SavedScn,
    ServerStatus,
    Status,
    read_answer,
)
from minercdc.capture.fors_olr.table_list import TableList
from minercdc.capture.framed_connection import FramedConnection
from minercdc.config.source.fors_olr import ForsConfig
from minercdc.errors import SourceError, TransientSourceError, UnknownSourceError
from minercdc.stream.contracts import StopFlag

_log = logging.getLogger(__name__)

_OTHER_ORDER_SECONDS: Final = 5.0
_ANSWERS: Final[dict[CommandCode, tuple[type[Answer], ...]]] = {
    CommandCode.TABLE_LIST: (Ok,),
    CommandCode.START_SCN: (Ok,),
    CommandCode.LAST_COMMITED_SCN: (Data, NoMore),
    CommandCode.BACK_TO_SCN: (Data, NoMore),
    CommandCode.GET_STATUS: (Status,),
    CommandCode.GET_SAVED_SCN: (SavedScn,),
}
_HINTS: Final = {
    CommandCode.TABLE_LIST: "See minercdc.fors.table.list.sql, and whether the server replicates tables of these types.",
    CommandCode.START_SCN: "If the archived logs of that SCN no longer exist, remove the offset and take a new snapshot.",
}


class RefusedError(UnknownSourceError):
    """The server answered a command by Error, that is by `Refusal`."""


Waiting: TypeAlias = Generator[None, None, Answer | None]
"""Yields every `tick` seconds while it waits; returns the answer, None when the stop came first."""


class Session:
    """One connection to the server; the constructor connects, and the owner calls `close`.

    :param timeout: seconds for the connection, and for each answer; as the attribute `timeout` it may be set later, for answers.
    :param tick: seconds after which `ask` yields while it waits.
    :param stop: once it is set, `ask` ends without an answer.
    :raises TransientSourceError: the server is not reachable.
    """

    def __init__(self, config: ForsConfig, order: ByteOrder, timeout: float, tick: float, stop: StopFlag) -> None:
        host, port = config.minercdc_fors_host, config.minercdc_fors_port
        assert host is not None
        assert port is not None
        self.name = f"FORS Oracle Logical Replicator at {host}:{port}"
        self.order = order
        self.timeout = timeout
        self._tick = tick
        self._stop = stop
        self._connection = FramedConnection(
            self.name,
            (host, port),
            timeout,
            config.minercdc_fors_message_max_bytes,
            "minercdc.fors.message.max.bytes",
            order,
        )

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._connection.close()

    def send(self, command: Command) -> None:
        """Send a command without waiting for an answer. Raises TransientSourceError when the connection broke."""
        self._connection.send(command.encoded(self.order))

    def ask(self, command: Command) -> Waiting:
        """Send a command and take its answer. Nothing is sent until it is iterated over. After a stop the connection is of no
        more use, since the answer may still come.

        :raises TransientSourceError: the connection broke, or the answer did not come in time.
        :raises SourceError: the answer is longer than `minercdc.fors.message.max.bytes`.
        :raises UnknownSourceError: the server answered by Error, by another answer than belongs to the command, or by other
            bytes.
        """
        self.send(command)
        deadline = monotonic() + self.timeout
        while (frame := self._connection.receive(self._tick)) is None:
            if self._stop.is_set():
                return None
            if monotonic() >= deadline:
                raise TransientSourceError(
                    f"{self.name} did not answer {command.name} in {self.timeout:g} s",
                    hint="If it never answers, its byte order may differ: see minercdc.fors.byte.order.",
                )
            yield None
        return self._checked(command, frame)

    def _checked(self, command: Command, frame: bytes) -> Answer:
        try:
            answer = read_answer(frame, self.order)
        except ValueError as error:
            raise UnknownSourceError(
                f"{self.name} answered {command.name} with bytes that are not an answer ({error}): {frame[:60]!r}"
            ) from error
        if isinstance(answer, Refusal):
            what = command.name if command.scn is None else f"{command.name} {command.scn}"
            raise RefusedError(
                f"{self.name} answered {what} by error {answer.code}: {answer.text[:1000]}",
                hint=_HINTS.get(command.code, "See the server's log."),
            )
        if not isinstance(answer, _ANSWERS[command.code]):
            raise UnknownSourceError(f"{self.name} answered {command.name} by {type(answer).__name__}")
        return answer


def connected(config: ForsConfig, tick: float, stop: StopFlag) -> Generator[None, None, tuple[Session, ServerStatus] | None]:
    """A session in the server's byte order, and the server's state; None when the stop came first. Yields every `tick`
    seconds while it waits. The caller closes the session; after an error none is open. With `minercdc.fors.byte.order`
    `auto`, little is tried first, with a timeout of 5 s at most.

    :raises TransientSourceError, UnknownSourceError: the server is not reachable, does not answer GetStatus, or not as it should.
    :raises SourceError: the answer is too long, as with another byte order than the configured one.
    """
    timeout = config.minercdc_fors_timeout_ms / 1000
    given = config.minercdc_fors_byte_order
    orders: tuple[ByteOrder, ...] = ("little", "big") if given == "auto" else (given,)
    for order in orders:
        is_last = order == orders[-1]
        session = Session(config, order, timeout if is_last else min(timeout, _OTHER_ORDER_SECONDS), tick, stop)
        try:
            answer = yield from session.ask(Command(CommandCode.GET_STATUS))
        except SourceError as error:
            session.close()
            if is_last:
                raise
            _log.info("%s; trying the other byte order", error.message)
            continue
        except GeneratorExit:
            session.close()
            raise
        session.timeout = timeout
        if answer is None:
            session.close()
            return None
        assert isinstance(answer, Status)
        if given == "auto":
            _log.info("%s: its byte order is %s", session.name, order)
        return session, answer.status
    raise AssertionError


class Opening:
    """Has the server send from a position on; for one session, whose state `connected` found. `run` once, then see the
    attributes.

    :param log_off: `minercdc.fors.log.off`.
    :ivar answer: to BackToSCN, which is the first request for data; None where the server was started instead.
    :ivar restarted: the server was started here, and has read its dictionary; `listed` is `TableList.digest` of its tables, ''
        where that is not known.
    """

    def __init__(self, session: Session, position: ForsPosition, tables: TableList, *, log_off: bool) -> None:
        self._session = session
        self._position = position
        self._tables = tables
        self._log_off = log_off
        self.answer: Answer | None = None
        self.restarted = False
        self.listed = ""

    def run(self, status: ServerStatus) -> Generator[None, None, bool]:
        """Request the stream; yields every `tick` seconds while it waits.

        :param status: of the server, as `connected` gave it.
        :returns: True once the server sends changes, False when the stop came first.
        :raises SourceError: the server replicates other tables, and `log_off` is not set; or an answer is too long.
        :raises TransientSourceError: it went away or does not answer; or it replicates other tables and got LogOff.
        :raises UnknownSourceError: it refused a command, or its answer is not as it should be.
        """
        session, position = self._session, self._position
        if status is ServerStatus.REPLICATING:
            self._check_list()
            scn = max(position.scn - 1, 0)
            _log.info("%s: BackToSCN %d", session.name, scn)
            self.answer = yield from session.ask(Command(CommandCode.BACK_TO_SCN, scn=scn))
            return self.answer is not None
        saved = yield from session.ask(Command(CommandCode.GET_SAVED_SCN))
        if saved is None:
            return False
        assert isinstance(saved, SavedScn)
        _log.info(
            "%s: StartSCN %d; its own saved SCN is %s", session.name, position.begun, saved.scn if saved.scn else "missing"
        )
        try:
            if (yield from session.ask(Command(CommandCode.TABLE_LIST, sql=self._tables.sql))) is None:
                return False
            self.listed = self._tables.digest
        except RefusedError as error:
            if status is not ServerStatus.WAIT_START_SCN:
                raise
            _log.warning(
                "%s; it already has a list of tables; the connector assumes that it sent this list before its last restart",
                error.message,
            )
        if (yield from session.ask(Command(CommandCode.START_SCN, scn=position.begun))) is None:
            return False
        self.restarted = True
        return True

    def _check_list(self) -> None:
        """Check that the server, which replicates already, was started with the present list of tables; where the
        position does not say with which, only log a warning."""
        listed = self._position.listed
        if not listed:
            _log.warning(
                "%s is already replicating, and the offset does not say which tables; the connector"
                " assumes that the server is its own",
                self._session.name,
            )
            return
        if listed == self._tables.digest:
            return
        if self._log_off:
            self._session.send(Command(CommandCode.LOG_OFF))
            raise TransientSourceError(
                f"{self._session.name} received LogOff because it was started with a different list of tables"
            )
        raise SourceError(
            f"{self._session.name} was started with a list of tables that differs from the captured tables",
            hint="Restart the server, then the connector, which sends the new list. With minercdc.fors.log.off=true the"
            " connector sends LogOff by itself.",
        )
