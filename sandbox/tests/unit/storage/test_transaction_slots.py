"""A container has a limited number of transaction slots."""

from __future__ import annotations

import pytest

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.storage.transactions import Transaction, Transactions


def test_the_transaction_after_the_last_slot_is_refused_until_one_ends() -> None:
    transactions = Transactions()

    def begin(container: int = 3) -> Transaction:
        return transactions.begin(scn=1, time=0.0, container=container, sid=1, serial=1, user="APP")

    opened = [begin() for _ in range(340)]
    assert len({transaction.xid for transaction in opened}) == 340
    with pytest.raises(OraError, match="ORA-01554"):
        begin()
    begin(container=4)
    transactions.end(opened[100])
    assert begin().xid[:2] == opened[100].xid[:2]
