"""What the messages of a transaction say of the server that sends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.unit.capture.olr.context import shapes_of

from minercdc.capture.olr.confirmation import Confirmations
from minercdc.capture.olr.delivery import Delivery
from minercdc.capture.olr.json_format import read_json
from minercdc.capture.olr.message import Place
from minercdc.capture.olr.position import OlrPosition
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import ChangeEvent, Event, Progress, UndecodableRow

T = TableSchema(TableId("PDB", "SHOP", "T"), (Column("ID", "NUMBER"),), (0,), object_id=100)


class Reader:
    """A connection on which messages come, each with a `c_idx` of its own."""

    def __init__(self, table: TableSchema = T, unread: frozenset[str] = frozenset()) -> None:
        self.confirmations = Confirmations("auto", None)
        self._table = table.id
        self._delivery = Delivery(
            OlrPosition(90, begun=40),
            shapes_of(table, present=table),
            self.confirmations,
            on_failure="fail",
            unread=lambda _: unread,
            reselect=None,
        )
        self._index = 0

    def take(self, c_scn: int, heads: Sequence[str], xid: str) -> list[Event]:
        """The events of a transaction of one change.

        :param heads: what its begin, its change and its commit have besides.
        """
        schema = f'{{"owner":"{self._table.schema}","table":"{self._table.table}","obj":100}}'
        change = f'"op":"c","num":0,"schema":{schema},"after":{{"ID":1}}'
        found: list[Event] = []
        for head, operation in zip(heads, ('"op":"begin"', change, '"op":"commit"'), strict=True):
            self._index += 1
            text = f'{{{head}"c_scn":{c_scn},"c_idx":{self._index},"xid":"{xid}","payload":[{{{operation}}}]}}'
            found += self._delivery.take(read_json(text.encode()), 40)
        for event in found:
            if isinstance(event, Progress):
                assert isinstance(event.position, OlrPosition)
                self.confirmations.stored(event.position)
        return found


def test_the_scn_of_a_first_change_is_not_that_of_the_begin() -> None:
    """The transaction began at 100, with changes of other tables; an older one, that began at 50, may still commit."""
    reader = Reader()
    reader.take(100, ('"scn":150,', '"scn":150,', '"scn":160,'), "1.1.1")
    reader.take(110, ('"scn":170,', '"scn":170,', '"scn":180,'), "1.2.1")
    assert reader.confirmations.due(50) is None
    assert len(reader.take(50, ('"scn":60,', '"scn":60,', '"scn":190,'), "1.3.1")) == 2


@pytest.mark.parametrize(
    "heads",
    [
        ('"scn":95,"b_scn":95,"e_scn":101,',) * 3,
        ('"scn":95,', '"scn":95,', '"scn":100,'),
    ],
    ids=["b_scn", "commit"],
)
def test_a_c_scn_of_the_commit_shows(heads: Sequence[str]) -> None:
    reader = Reader()
    reader.take(100, heads, "1.1.1")
    reader.take(110, ('"scn":105,', '"scn":105,', '"scn":112,'), "1.2.1")
    assert reader.confirmations.due(50) == Place(100, 3)


def test_a_table_is_not_suspended_with_one_that_has_its_name_without_quotes() -> None:
    reader = Reader(replace(T, id=TableId("PDB", "A.B", "C")), unread=frozenset({"A.B.C"}))
    found = reader.take(100, ('"e_scn":101,',) * 3, "1.1.1")
    assert [type(event) for event in found] == [ChangeEvent, Progress]
    reader = Reader(replace(T, id=TableId("PDB", "A.B", "C")), unread=frozenset({'"A.B".C'}))
    found = reader.take(100, ('"e_scn":101,',) * 3, "1.1.1")
    assert [type(event) for event in found] == [UndecodableRow, Progress]
