"""Transaction control of one session: COMMIT, ROLLBACK, savepoints, autonomous transactions, deferred constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from minercdc_sandbox.interfaces import Cell, OraError
from minercdc_sandbox.storage.engine import Storage
from minercdc_sandbox.storage.locks import Client


@dataclass(frozen=True, slots=True)
class Deferred:
    """A key that must be checked again when the transaction commits: `constraint` of the table with OBJECT_ID `table_id`."""

    table_id: int
    constraint: str
    key: tuple[Cell, ...]


class TransactionControl:
    """Ends and divides the transactions of one session, for statements and client calls; each method but `mark` takes the storage
    lock unless it says otherwise. `commit` may wait, as `Storage.commit`.

    :param settle: reads open cursors that see the transaction's own changes to their end.
    :param verify: checks the deferred keys; raises OraError for one that is violated.
    :param ended: called after a commit or rollback, for temporary tables.
    :ivar deferred: keys to check at commit.
    :ivar alone: the present transaction is an autonomous one.
    :ivar constraint_modes: by owner and name, None for all others, whether SET CONSTRAINTS made a constraint deferred.
    """

    def __init__(
        self,
        client: Client,
        storage: Storage,
        settle: Callable[[], None],
        verify: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._client, self._storage = client, storage
        self._settle, self._verify, self._ended = settle, verify, ended
        self.deferred: set[Deferred] = set()
        self.constraint_modes: dict[tuple[str, str] | None, bool] = {}
        self.alone = False

    def before_change(self) -> None:
        """Before a row changes: read open cursors that show the transaction's own changes to their end, so that they do not see
        the new change. Call it with the storage locked. Raises ORA-01013 when the session was cancelled."""
        self._client.check()
        self._settle()

    def mark(self) -> int:
        """The length of the transaction's undo, to which a statement rollback goes back; 0 without a transaction."""
        return len(self._client.transaction.undo) if self._client.transaction is not None else 0

    def commit(self) -> None:
        """COMMIT, also without a transaction: check the deferred keys, and end the transaction. Rolls back and raises ORA-02091
        when a deferred constraint is violated; raises ORA-01013 as `Storage.commit`."""
        with self._storage.lock:
            self._settle()
            self._verify_deferred()
            self._storage.commit(self._client)
            self._ended()

    def _verify_deferred(self) -> None:
        try:
            if self.deferred:
                self._verify()
        except OraError as error:
            self._storage.rollback(self._client)
            raise OraError(2091, f"transaction rolled back\n{error}") from None
        finally:
            self.deferred, self.constraint_modes = set(), {}

    def rollback(self) -> None:
        """ROLLBACK of the whole transaction; nothing to undo without one. SET CONSTRAINTS and keys to check are forgotten."""
        with self._storage.lock:
            self._undo()
            self._ended()

    def _undo(self) -> None:
        with self._storage.lock:
            self._settle()
            self.deferred, self.constraint_modes = set(), {}
            self._storage.rollback(self._client)

    def savepoint(self, name: str) -> None:
        """SAVEPOINT, which begins a transaction if there is none and replaces one of the same name (upper case). Raises as
        `Storage.begin`."""
        with self._storage.lock:
            transaction = self._storage.begin(self._client)
            transaction.savepoints = [s for s in transaction.savepoints if s[0] != name]
            transaction.savepoints.append((name, len(transaction.undo), len(transaction.signals)))

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO a savepoint, which stays; later ones go. Raises ORA-01086 for one that the transaction does not have."""
        with self._storage.lock:
            transaction = self._client.transaction
            found = [s for s in transaction.savepoints if s[0] == name] if transaction is not None else []
            if not found:
                raise OraError(1086, f"savepoint '{name}' never established in this session or is invalid")
            self._settle()
            [(_, mark, signals)] = found
            self._storage.undo_to(self._client, mark)
            assert transaction is not None
            del transaction.signals[signals:]  # also those that were raised since with no change before them

    @contextmanager
    def autonomous(self) -> Iterator[None]:
        """Within the context, the session has a transaction of its own, with keys to check and SET CONSTRAINTS of its own; then
        the one around it goes on. What is left open is rolled back, and raises ORA-06519 if it has changed or locked rows and the
        context ends without an error."""
        with self._storage.lock:
            self._settle()
            outer, self._client.transaction = self._client.transaction, None
        around, self.alone = self.alone, True
        kept = self.deferred, self.constraint_modes
        self.deferred, self.constraint_modes = set(), {}
        try:
            yield
            if self._client.transaction is not None and self._client.transaction.active:
                raise OraError(6519, "active autonomous transaction detected and rolled back")
        finally:
            self._undo()
            self._client.transaction, self.alone = outer, around
            self.deferred, self.constraint_modes = kept
