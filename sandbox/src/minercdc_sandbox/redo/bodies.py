"""The records of one log: chunks in the journal, and batches in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.redo.batches import BLOCK_BODY, Packed


@dataclass(slots=True)
class LogBody:
    """Records of one log, in this order: `chunks` (offset, length) in the journal, then `tail` in memory, then `pending`, not yet
    published. Changed with the lock of `RedoLog` held.

    :param tail_rows: rows of `tail`.
    :param position: byte in the log's bodies where the next record begins, see `position_of`.
    """

    chunks: list[tuple[int, int]] = field(default_factory=list)
    tail: list[Packed] = field(default_factory=list)
    tail_rows: int = 0
    pending: list[Packed] = field(default_factory=list)
    position: int = BLOCK_BODY

    def address(self) -> tuple[int, int]:
        """Block and byte where the next record begins."""
        return 1 + self.position // BLOCK_BODY, 16 + self.position % BLOCK_BODY


def corruption(body: LogBody) -> OraError:
    """The error ORA-00353 at the middle block of the log; the caller raises it."""
    block, _ = body.address()
    return OraError(353, f"log corruption near block {block // 2} change 0 time 01/01/1988 00:00:00")
