"""All cases, by family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from minercdc.operate.qualify.case import Case
from minercdc.operate.qualify.cases import ddl, large, numbers, partitions, redo, texts, times, transactions

FAMILIES: Final[Mapping[str, Sequence[Case]]] = {
    "numbers": numbers.CASES,
    "texts and bytes": texts.CASES,
    "times": times.CASES,
    "large values": large.CASES,
    "transactions": transactions.CASES,
    "DDL": ddl.CASES,
    "partitions": partitions.CASES,
    "redo logs": redo.CASES,
}
