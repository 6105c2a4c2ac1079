"""A server that speaks the protocol of FORS Oracle Logical Replicator 1.2, from a feed. One client at a time; one command, one answer.

    waiting for TableList -> waiting for StartSCN -> replicating

A transaction is ready, then being sent, then sent; what is confirmed is forgotten. The reader of redo waits while the queue is full.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import oracledb
from tests.fors_server import wire
from tests.fors_server.printing import Printer, Style
from tests.olr_server.feed import Committed, Feed
from tests.one_client import OneClient

from minercdc.stream.events import Scn

ARCHIVED = {"log.mining.archive.log.only.mode": "true", "log.mining.archive.log.only.scn.poll.interval.ms": "20"}
WAIT_TABLE_LIST, WAIT_START_SCN, REPLICATING = 1, 2, 3
READY, SENDING, SENT = "ready", "sending", "sent"
_SWITCH_SECONDS = 0.3


@dataclass
class Faults:
    """What goes wrong.

    :param cut_after: the connection is cut after so many bytes of answers, once.
    :param damage: number of a Data answer -> what becomes of its bytes, once.
    :param refuse: code of a command -> error code and text that it is answered by, once.
    :param silent: nothing is answered.
    """

    cut_after: int | None = None
    damage: dict[int, Callable[[bytes], bytes]] = field(default_factory=dict)
    refuse: dict[int, tuple[int, str]] = field(default_factory=dict)
    silent: bool = False


@dataclass
class Transaction:
    """A transaction in the queue; `at` is the operation that is sent next."""

    begin_scn: int
    commit_scn: int
    operations: list[bytes]
    state: str = READY
    at: int = 0


class ForsServer:
    """Listens once it is made.

    :param queue: transactions that wait to be requested (`max-tx-msgs`).
    :param block: commit SCNs are rounded up to a multiple of it, so that transactions share them.
    :param archived: redo counts once it is archived.
    :param switches: a log switch comes every 0.3 s then.
    :ivar requests: codes of all commands, with their SCN.
    :ivar answers: number of answers, `data` of Data answers, `bytes` of all.
    :ivar started: SCNs of StartSCN.
    :ivar listed: tables, of the last TableList.
    :ivar saved: least begin SCN of what is not confirmed, in its file of state.
    :ivar violations: commands that did not wait for an answer.
    """

    def __init__(
        self,
        feed: Feed,
        *,
        style: Style | None = None,
        queue: int = 100,
        block: int = 1,
        archived: bool = False,
        switches: bool = True,
        faults: Faults | None = None,
    ) -> None:
        self.style = style or Style()
        self.faults = faults or Faults()
        self.feed = feed
        self.requests: list[tuple[int, int]] = []
        self.answers = self.data = self.bytes = self.violations = 0
        self.started: list[int] = []
        self.listed: frozenset[tuple[str, str]] = frozenset()
        self.saved: int | None = None
        self.sql = ""
        self._writer = wire.Writer(self.style.order)
        self._printer = Printer(self.style)
        self._status = WAIT_TABLE_LIST
        self._queue_size = queue
        self._block = block
        self._queue: list[Transaction] = []
        self._pulled = 0
        self._start = 0
        self._client = OneClient(self._converse, backlog=4)
        self.host, self.port = self._client.host, self._client.port
        self._switching = threading.Thread(target=self._switch, daemon=True)
        if archived:
            feed.settings = ARCHIVED
        if archived and switches:
            self._switching.start()
        self._client.start()

    def close(self) -> None:
        self._client.close()
        if self._switching.is_alive():
            self._switching.join(30)
        self.feed.close()

    def restart(self) -> None:
        """As the process restarts: connections end, and it waits for TableList again."""
        self._client.between_connections(self._restart)

    def forget(self) -> None:
        """The same, with its file of state removed."""
        self._client.between_connections(self._forget)

    @property
    def unconfirmed(self) -> int:
        """Number of transactions that are kept."""
        return len(self._queue)

    def properties(self) -> Mapping[str, str]:
        """Of a connector."""
        return {
            "minercdc.fors.host": self.host,
            "minercdc.fors.port": str(self.port),
            "minercdc.fors.interval.ms": "5",
            "minercdc.fors.byte.order": self.style.order,
            "minercdc.fors.value.encoding": self.style.values,
            "minercdc.fors.timestamp.unit": self.style.time,
            "minercdc.fors.clob.charset": self.style.clob,
        }

    def _restart(self) -> None:
        self._status, self._queue, self._pulled = WAIT_TABLE_LIST, [], 0
        old = self.feed
        self.feed = Feed(old.sandbox, old.schemas, old.directory, old.shapes, old.settings)
        old.close()

    def _forget(self) -> None:
        self._restart()
        self.saved = None

    def switch(self) -> None:
        """Have what is written archived."""
        with self._admin() as admin, admin.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SWITCH LOGFILE")

    def _switch(self) -> None:
        while not self._client.stopped:
            if self._status == REPLICATING:
                self.switch()
            time.sleep(_SWITCH_SECONDS)

    def _admin(self) -> oracledb.Connection:
        sandbox = self.feed.sandbox
        return oracledb.connect(
            user="system", password="oracle", host=sandbox.host, port=sandbox.port, service_name=sandbox.root_service
        )

    def _converse(self, connection: socket.socket) -> None:
        requests = wire.Requests(self.style.order)
        while not self._client.ends:
            if not self._client.readable(connection):
                continue
            data = connection.recv(65_536)
            if not data:
                return
            found = requests.feed(data)
            self.violations += requests.violations
            if found is None or self.faults.silent:
                continue
            code, body = found
            self.requests.append((code, int.from_bytes(body[:8], self.style.order) if len(body) == 8 else 0))
            if code == wire.LOG_OFF:
                self._restart()
                return
            self._send(connection, self._answer(code, body))

    def _answer(self, code: int, body: bytes) -> bytes:
        if code in self.faults.refuse:
            return self._writer.error(*self.faults.refuse.pop(code))
        sizes = {wire.TABLE_LIST: None, wire.GET_STATUS: 0, wire.GET_SAVED_SCN: 0}
        if code not in range(1, 8) or sizes.get(code, 8) not in (None, len(body)):
            return self._writer.error(400, f"command {code} with {len(body)} bytes")
        if code == wire.GET_STATUS:
            return self._writer.status(self._status)
        if code == wire.GET_SAVED_SCN:
            return self._writer.saved(self.saved)
        if code == wire.TABLE_LIST:
            return (
                self._list(body.decode()) if self._status == WAIT_TABLE_LIST else self._writer.error(409, "has its tables")
            )
        scn = int.from_bytes(body, self.style.order)
        if code == wire.START_SCN:
            return self._begin(scn) if self._status == WAIT_START_SCN else self._writer.error(409, "is not waiting for it")
        if self._status != REPLICATING:
            return self._writer.error(409, "is not replicating")
        if code == wire.BACK_TO_SCN:
            self._back(scn)
        else:
            self._forget_up_to(scn)
        return self._next()

    def _list(self, sql: str) -> bytes:
        sandbox = self.feed.sandbox
        self.sql = sql
        try:
            with (
                oracledb.connect(
                    user="C##MINERCDC",
                    password="minercdc",
                    host=sandbox.host,
                    port=sandbox.port,
                    service_name=sandbox.service,
                ) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute(sql)
                assert [column[0] for column in cursor.description] == ["OWNER", "NAME"]
                self.listed = frozenset((owner, name) for owner, name in cursor)
        except oracledb.Error as error:
            return self._writer.error(942, str(error))
        self._status = WAIT_START_SCN
        return self._writer.frame(wire.OK)

    def _begin(self, scn: int) -> bytes:
        self.started.append(scn)
        self._start, self._status = scn, REPLICATING
        self.feed.start(scn - 1, lambda: None)
        return self._writer.frame(wire.OK)

    def _back(self, scn: int) -> None:
        for transaction in self._queue:
            if transaction.state == SENDING or transaction.commit_scn > scn:
                transaction.state, transaction.at = READY, 0

    def _forget_up_to(self, scn: int) -> None:
        left = [one for one in self._queue if one.state != SENT or one.commit_scn > scn]
        if len(left) < len(self._queue):
            gone = max(one.begin_scn for one in self._queue)
            self._queue = left
            self.saved = min((one.begin_scn for one in left), default=gone)

    def _pull(self) -> None:
        """As the reader of redo does, as far as the queue has room."""
        units = list(self.feed.units)
        room = self._queue_size - sum(one.state == READY for one in self._queue)
        while self._pulled < len(units) and room > 0:
            unit = units[self._pulled]
            self._pulled += 1
            if not isinstance(unit, Committed) or unit.info.start_scn < self._start:
                continue
            kept = [one for one in unit.changes if (one.schema.id.schema, one.schema.id.table) in self.listed]
            if kept:
                commit_scn = -(-unit.info.commit_scn // self._block) * self._block
                info = replace(unit.info, commit_scn=Scn(commit_scn))
                operations = [*self._printer.operations(Committed(info, kept))]
                room -= 1
                self._queue.append(Transaction(info.start_scn, commit_scn, operations))

    def _next(self) -> bytes:
        self._pull()
        if self.feed.error is not None:
            return self._writer.error(500, repr(self.feed.error))
        found = next((one for one in self._queue if one.state == SENDING), None)
        if found is None:
            ready = [one for one in self._queue if one.state == READY]
            if not ready:
                return self._writer.frame(wire.NO_MORE)
            found = min(ready, key=lambda one: one.commit_scn)
            found.state = SENDING
        operation = found.operations[found.at]
        found.at += 1
        if found.at == len(found.operations):
            found.state = SENT
        return self._writer.frame(wire.DATA, operation)

    def _send(self, connection: socket.socket, answer: bytes) -> None:
        self.answers += 1
        if answer[4:6] == self._writer.u(16, wire.DATA):
            damage = self.faults.damage.pop(self.data, None)
            self.data += 1
            if damage is not None:
                answer = damage(answer)
        cut = self.faults.cut_after
        if cut is not None and self.bytes + len(answer) > cut:
            self.faults.cut_after = None
            connection.sendall(answer[: max(cut - self.bytes, 0)])
            raise OSError("cut")
        self.bytes += len(answer)
        connection.sendall(answer)
