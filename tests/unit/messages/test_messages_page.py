"""The examples of docs/messages.md work as they stand there."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from tests.unit.messages.test_column_changes import encoded
from tests.unit.messages.test_envelope import ORDERS, event

from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.stream.events import Op

PAGE = (Path(__file__).parents[3] / "docs" / "messages.md").read_text()


def example(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    return str(found)


def test_the_converters_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_converters")
    exec(example("python"), module.__dict__)
    monkeypatch.setitem(sys.modules, "my_converters", module)
    table = TableSchema(
        TableId("SHOPPDB", "SHOP", "ORDERS"),
        (ORDERS.columns[0], Column("IS_PAID", "NUMBER", 1, 0), Column("ISBN", "VARCHAR2", 20)),
        key=(0,),
        stored=("ORDER_ID", "IS_PAID", "ISBN"),
    )
    (record,) = encoded(yaml.safe_load(example("yaml")), event(Op.CREATE, None, ("1", "1", "978"), table))
    assert json.loads(record.value or b"")["after"] == {"ORDER_ID": 1, "IS_PAID": True, "ISBN": "ISBN 978"}
