"""The rules of the capture, each with a way to take it away; the checker must find every one missing.

What one process and one clock cannot bring about is held by unit tests instead: commits that share a record (test_restarts.py),
a resume point one pass too young (test_committed.py), gaps and copies of logs (test_logs.py), the snapshot's seam (test_restarts.py, test_snapshot.py), a log's
file that is used again under the list of a session (test_session.py), undo rows without address that are shown again, transactions without START
(sandbox_capture/test_capture.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from minercdc.capture.logminer import capture as capture_module
from minercdc.capture.logminer.buffer import transactions as transactions_module
from minercdc.capture.logminer.buffer import undo, undo_doubts, undo_history, undo_update
from minercdc.capture.logminer.buffer.buffered import BufferedAssembly
from minercdc.capture.logminer.buffer.committed import CommittedAssembly
from minercdc.capture.logminer.buffer.delivery import Delivery
from minercdc.capture.logminer.buffer.transactions import TransactionBuffer
from minercdc.capture.logminer.logs.redo_logs import NO_BOUND
from minercdc.capture.logminer.sql_redo.dml import RedoDecoder
from minercdc.capture.logminer.tables.captured_tables import ShapeTracker
from minercdc.capture.logminer.tables.partitions import Partitions
from minercdc.oracle.open_transactions import DatabaseTransactions
from minercdc.oracle.scn import current_scn
from minercdc.schema.table import TableId
from minercdc.schema.tables import Tables


class Mutation(NamedTuple):
    """A rule less.

    :param seed: a history that is known to find it; others follow.
    :param altering: with DDL on partitions and keys.
    :param undoing: with changes that are undone in a later pass than they were read in.
    """

    remove: Callable[[pytest.MonkeyPatch], None]
    seed: int = 0
    altering: bool = False
    undoing: bool = False


# ---- position ----


def _never_delivered_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BufferedAssembly, "_note_commit", lambda *_: False)
    patch.setattr(CommittedAssembly, "_note_commit", lambda *_: False)


def _resume_at_the_last_row(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionBuffer, "oldest", lambda *_: None)


def _begin_at_what_is_open_now(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DatabaseTransactions, "oldest_undecided_scn", lambda _, connection: current_scn(connection))


def _rows_by_scn(patch: pytest.MonkeyPatch) -> None:
    """Select what comes after the newest SCN, as if redo were in the order of SCNs."""
    whole = BufferedAssembly.query

    def query(self: BufferedAssembly, container: str | None, owners: frozenset[str]) -> tuple[str, dict[str, Any]]:
        sql, binds = whole(self, container, owners)
        newest = max((at.scn for at in self._threads.values()), default=0)
        return f"{sql} AND SCN >= {newest}", binds

    patch.setattr(BufferedAssembly, "query", query)


def _marked_record_again(patch: pytest.MonkeyPatch) -> None:
    whole = BufferedAssembly.begin_pass

    def begin_pass(self: BufferedAssembly, begun: Any) -> None:
        whole(self, begun)
        for at in self._threads.values():
            at.skip = 0

    patch.setattr(BufferedAssembly, "begin_pass", begin_pass)


def _threads_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """One thread's mark for all."""
    whole = BufferedAssembly.marks

    def marks(self: BufferedAssembly) -> Any:
        found = whole(self)
        return dict.fromkeys(found, max(found.values())) if found else found

    patch.setattr(BufferedAssembly, "marks", marks)


def _one_mark_of_commits(patch: pytest.MonkeyPatch) -> None:
    """What was committed in one thread counts as delivered in all."""
    whole = Delivery.note_commit

    def note_commit(self: Delivery, thread: int, place: Any, scn: int) -> None:
        for each in self.threads:
            whole(self, each, place, scn)

    patch.setattr(Delivery, "note_commit", note_commit)


def _later_commits_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capture_module, "current_scn", lambda _: NO_BOUND)
    patch.setattr(capture_module, "switched_scn", lambda *_: NO_BOUND)


# ---- transactions ----


def _never_undone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionBuffer, "undo", lambda *_: False)


def _nothing_without_address(patch: pytest.MonkeyPatch) -> None:
    whole = BufferedAssembly.query

    def query(self: BufferedAssembly, container: str | None, owners: frozenset[str]) -> tuple[str, dict[str, Any]]:
        sql, binds = whole(self, container, owners)
        return sql, {name: " nowhere " if name == "nowhere" else value for name, value in binds.items()}

    patch.setattr(BufferedAssembly, "query", query)


def _partial_xids_are_strangers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transactions_module, "PARTIAL_XID", b"")


def _all_containers(patch: pytest.MonkeyPatch) -> None:
    for assembly in (BufferedAssembly, CommittedAssembly):
        whole: Any = assembly.query
        patch.setattr(assembly, "query", lambda self, _, owners, whole=whole: whole(self, None, owners))


# ---- shapes ----


def _forget_ddl(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ShapeTracker, "follow", lambda *_: iter(()))


def _follow_ddl_twice(patch: pytest.MonkeyPatch) -> None:
    whole = Delivery.ddl

    def again(self: Delivery, row: Any, address: Any, _: bool, position: Any) -> Any:
        return whole(self, row, address, False, position)

    patch.setattr(Delivery, "ddl", again)


def _stored_bytes_are_left_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RedoDecoder, "decode_images", lambda self, sql, encoding: None)


def _partitions_are_strangers(patch: pytest.MonkeyPatch) -> None:
    """Rows of an object that is gone are of no captured table, unless it was a table."""

    def find_object(self: Tables, database: str, object_id: int) -> TableId | None:
        same = (table.id for table in self if table.id.database == database and table.object_id == object_id)
        return next(same, None)

    patch.setattr(Tables, "find_object", find_object)
    patch.setattr(Partitions, "is_unknown", lambda *_: False)


# ---- large values ----


def _large_values_from_the_mark(patch: pytest.MonkeyPatch) -> None:
    """LogMiner is not made to read a transaction from its START."""
    patch.setattr(BufferedAssembly, "begins", BufferedAssembly.marks)
    patch.setattr(TransactionBuffer, "oldest_untouched", lambda *_: None)


def _undo_of_pieces_by_row(patch: pytest.MonkeyPatch) -> None:
    """A change that consists of several rows is undone as if it were one."""
    for module in (undo, undo_doubts, undo_history, undo_update):
        patch.setattr(module, "has_row_id", lambda row: row.row_id is not None)
    for module in (undo_doubts, undo_history, undo_update):
        patch.setattr(module, "LARGE_CODES", frozenset[int]())


def _undo_of_what_is_seen(patch: pytest.MonkeyPatch) -> None:
    """What is undone is taken for the latest change of the row that was seen."""
    patch.setattr(undo_update.UndoneUpdate, "_fits", lambda *_: True)


MUTATIONS: dict[str, Mutation] = {
    "delivered commits are not known": Mutation(_never_delivered_before),
    "open transactions do not hold the offset back": Mutation(_resume_at_the_last_row, 1),
    "open transactions do not hold the beginning of committed mode back": Mutation(_begin_at_what_is_open_now, 16),
    "rows are selected by SCN": Mutation(_rows_by_scn),
    "rows of the marked record are taken again": Mutation(_marked_record_again, undoing=True),
    "redo addresses of threads are compared": Mutation(_threads_mixed_up),
    "one thread's commits count as delivered in all": Mutation(_one_mark_of_commits),
    "what is committed after a pass began does not wait": Mutation(_later_commits_do_not_wait, 4),
    "undo rows take nothing out": Mutation(_never_undone),
    "rows without address are not selected": Mutation(_nothing_without_address, 2),
    "partial XIDs are strangers": Mutation(_partial_xids_are_strangers, 5, undoing=True),
    "all containers are one": Mutation(_all_containers, 1),
    "DDL is not followed": Mutation(_forget_ddl),
    "DDL is followed again after a restart": Mutation(_follow_ddl_twice),
    "rows of an older shape are left out": Mutation(_stored_bytes_are_left_out),
    "partitions that went are strangers": Mutation(_partitions_are_strangers, 1, altering=True),
    "large values are read from the mark on": Mutation(_large_values_from_the_mark, 8),
    "pieces of a change are undone one by one": Mutation(_undo_of_pieces_by_row, 1),
    "what was not seen is undone in what was": Mutation(_undo_of_what_is_seen, undoing=True),
}
