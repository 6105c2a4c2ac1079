"""Which transactions were open at an SCN of the past, by the STARTs and ends of redo."""

from __future__ import annotations

import pytest

from minercdc.capture.logminer.open_at import Begun, End, begun_before
from minercdc.capture.logminer.session.row import ZERO_XID, OpCode

S = 100
A, B = b"\x01" * 8, b"\x02" * 8


def start(scn: int, xid: bytes = A, con_id: int = 3) -> End:
    return End(scn, OpCode.START, xid, con_id, None)


def commit(scn: int, xid: bytes = A, con_id: int = 3, start_scn: int | None = None) -> End:
    return End(scn, OpCode.COMMIT, xid, con_id, start_scn)


def rollback(scn: int, xid: bytes = A) -> End:
    return End(scn, OpCode.ROLLBACK, xid, 3, None)


@pytest.mark.parametrize(
    ("ends", "begun"),
    [
        ([], Begun(None, 0)),
        ([start(90), commit(110)], Begun(90, 0)),
        ([start(90), commit(100)], Begun(None, 0)),  # part of what is seen AS OF
        ([start(101), commit(110)], Begun(None, 0)),
        ([start(100), commit(110)], Begun(100, 0)),
        ([start(90), rollback(110)], Begun(None, 0)),
        ([start(90)], Begun(90, 0)),  # open still
        ([commit(110, start_scn=40)], Begun(40, 0)),
        ([commit(110, start_scn=0)], Begun(None, 1)),
        ([commit(110)], Begun(None, 1)),
        ([commit(90)], Begun(None, 0)),
        ([rollback(110)], Begun(None, 0)),
        ([start(90), start(80, B), commit(110), commit(120, B)], Begun(80, 0)),
        ([start(90), commit(95), start(98), commit(110)], Begun(98, 0)),  # an XID that is used again
        ([start(90, con_id=3), commit(110, con_id=4)], Begun(90, 1)),  # XIDs are unique within a container
        ([start(50, ZERO_XID)], Begun(None, 0)),
    ],
)
def test_what_was_open_at_the_scn(ends: list[End], begun: Begun) -> None:
    assert begun_before(ends, S) == begun
